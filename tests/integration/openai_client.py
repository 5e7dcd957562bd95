"""Tests a real server with OpenAI's own Python client.

openai_client.py SERVER MODEL PACKAGES: see begin() of chat_server.py.
"""

import json
import os
import sys
import typing
import unittest

import chat_server

TEXT = "The house is big."
# Thoughts may be of any length, also where an answer is held to a form. This is
# a bias against <think> and its first letter.
NO_THOUGHTS = {"267": -100, "27": -100}


class OpenAiClientTest(chat_server.ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = openai.OpenAI(base_url=cls.url + "/v1", api_key="none",
                                   timeout=60, max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        super().tearDownClass()

    def test_models(self):
        self.assertEqual([model.id for model in self.client.models.list()],
                         ["en-de", "chat", "plain"])
        self.assertEqual(self.client.models.retrieve("chat").id, "chat")
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("none")

    def test_embeddings(self):
        # Without a format the client requests base64 and decodes it.
        ours = self.client.embeddings.create(model="en-de", input=[TEXT, "Hi."])
        floats = self.client.embeddings.create(model="en-de", input=TEXT,
                                               encoding_format="float")
        self.assertEqual(len(ours.data), 2)
        self.assertEqual(len(ours.data[0].embedding), len(floats.data[0].embedding))
        for one, other in zip(ours.data[0].embedding, floats.data[0].embedding):
            self.assertAlmostEqual(one, other, delta=1e-6)
        self.assertGreater(ours.usage.total_tokens, 0)
        with self.assertRaises(openai.BadRequestError):
            self.client.embeddings.create(model="en-de", input=TEXT,
                                          dimensions=100000)

    def test_completions(self):
        options = dict(model="en-de", prompt=TEXT, temperature=0)
        whole = self.client.completions.create(**options)
        self.assertIn("Haus", whole.choices[0].text)
        self.assertEqual(whole.choices[0].finish_reason, "stop")
        pieces = list(self.client.completions.create(
            **options, stream=True, stream_options={"include_usage": True}))
        self.assertEqual("".join(choice.text for piece in pieces
                                 for choice in piece.choices),
                         whole.choices[0].text)
        self.assertEqual(pieces[-1].usage, whole.usage)

    def test_logprobs_have_texts_and_bytes(self):
        prompt = "Hello \u20ac"
        whole = self.client.completions.create(
            model="chat", prompt=prompt, temperature=0, max_tokens=0, echo=True,
            logprobs=1)
        choice = whole.choices[0]
        self.assertEqual(choice.text, prompt)
        self.assertIsNone(choice.logprobs.token_logprobs[0])
        self.assertEqual(len(choice.logprobs.text_offset), len(choice.logprobs.tokens))
        self.assertTrue("".join(choice.logprobs.tokens).startswith("Hello "))
        chat = self.client.chat.completions.create(
            model="chat", temperature=0, max_completion_tokens=8, logprobs=True,
            messages=[{"role": "user", "content": "Hello you"}])
        content = chat.choices[0].logprobs.content
        said = b"".join(bytes(token.bytes) for token in content)
        text = chat.choices[0].message.content
        if "\ufffd" not in text:
            self.assertTrue(said.startswith(text.encode()))

    def test_errors_have_codes(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.chat.completions.create(
                model="chat", messages=[{"role": "user", "content": "Hello " * 3000}])
        self.assertEqual(caught.exception.code, "context_length_exceeded")
        self.assertEqual(caught.exception.param, "messages")

    def test_chats(self):
        options = dict(model="chat", temperature=0, max_completion_tokens=8,
                       messages=[{"role": "user", "content": "Hello you"}])
        whole = self.client.chat.completions.create(
            **options, logprobs=True, top_logprobs=2)
        self.assertEqual(whole.choices[0].message.role, "assistant")
        self.assertEqual(len(whole.choices[0].logprobs.content[0].top_logprobs), 2)
        text = "".join(piece.choices[0].delta.content or "" for piece in
                       self.client.chat.completions.create(**options, stream=True))
        self.assertEqual(text, whole.choices[0].message.content)
        alike = self.client.chat.completions.create(**options, n=2)
        self.assertEqual([choice.message.content for choice in alike.choices],
                         [text, text])
        drawn = self.client.chat.completions.create(**{
            **options, "temperature": 0.8, "n": 2, "seed": 3})
        self.assertEqual(len(drawn.choices), 2)

    def test_a_loop_with_a_tool(self):
        tool = {"type": "function", "function": {
            "name": "weather", "description": "The weather of a city.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "enum": ["Bern", "Oslo"]}},
                "required": ["city"], "additionalProperties": False},
            "strict": True}}
        options = dict(model="chat", temperature=0, max_completion_tokens=300,
                       tools=[tool], parallel_tool_calls=False,
                       logit_bias=NO_THOUGHTS)
        messages = [{"role": "user", "content": "Hello you"}]
        named = {"type": "function", "function": {"name": "weather"}}
        whole = self.client.chat.completions.create(
            **options, messages=messages, tool_choice=named)
        self.assertEqual(whole.choices[0].finish_reason, "tool_calls")
        message = whole.choices[0].message
        self.assertIsNone(message.content)
        [call] = message.tool_calls
        self.assertEqual(call.function.name, "weather")
        self.assertIn(json.loads(call.function.arguments)["city"], ("Bern", "Oslo"))

        # The client joins the deltas of a stream, and reads the arguments.
        with self.client.chat.completions.stream(
                **options, messages=messages, tool_choice="required") as stream:
            kinds = {event.type for event in stream}
            streamed = stream.get_final_completion()
        self.assertIn("tool_calls.function.arguments.delta", kinds)
        self.assertIn("tool_calls.function.arguments.done", kinds)
        self.assertEqual(streamed.choices[0].finish_reason, "tool_calls")
        [same] = streamed.choices[0].message.tool_calls
        self.assertEqual(same.function.arguments, call.function.arguments)
        self.assertEqual(same.function.parsed_arguments,
                         json.loads(call.function.arguments))

        # The plain stream's first delta of a call names it.
        chunks = list(self.client.chat.completions.create(
            **options, messages=messages, tool_choice="required", stream=True))
        deltas = [part for chunk in chunks for choice in chunk.choices
                  for part in choice.delta.tool_calls or []]
        self.assertEqual((deltas[0].index, deltas[0].type, deltas[0].function.name),
                         (0, "function", "weather"))
        self.assertTrue(deltas[0].id.startswith("call_"))
        self.assertEqual([part.id for part in deltas[1:]], [None] * len(deltas[1:]))
        self.assertEqual("".join(part.function.arguments for part in deltas),
                         call.function.arguments)
        self.assertEqual(chunks[-1].choices[0].finish_reason, "tool_calls")

        # The tool's answer goes back, after the very message that called it.
        messages += [message, {"role": "tool", "tool_call_id": call.id,
                               "content": "It rains."}]
        answered = dict(options, messages=messages, tool_choice="none",
                        max_completion_tokens=8)
        end = self.client.chat.completions.create(**answered).choices[0]
        self.assertTrue(end.message.content)
        self.assertIsNone(end.message.tool_calls)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in
                       self.client.chat.completions.create(**answered, stream=True))
        self.assertEqual(text, end.message.content)

        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.chat.completions.create(
                **options, messages=messages, tool_choice={
                    "type": "function", "function": {"name": "sing"}})
        self.assertEqual(caught.exception.param, "tool_choice.function.name")
        with self.assertRaisesRegex(openai.BadRequestError, "use tools"):
            self.client.chat.completions.create(
                model="chat", messages=messages[:1], functions=[tool["function"]])

    def test_thoughts(self):
        # A bias for <think>, which the template knows.
        options = dict(model="chat", temperature=0, max_completion_tokens=6,
                       messages=[{"role": "user", "content": "Hello you"}],
                       logit_bias={"267": 100})
        whole = self.client.chat.completions.create(**options).choices[0].message
        self.assertTrue(whole.reasoning_content)
        self.assertEqual(whole.content, "")
        thoughts = "".join(
            getattr(chunk.choices[0].delta, "reasoning_content", None) or ""
            for chunk in self.client.chat.completions.create(**options, stream=True))
        self.assertEqual(thoughts, whole.reasoning_content)
        self.client.chat.completions.create(**options, reasoning_effort="none")

    def test_answers_with_a_form(self):
        class City(pydantic.BaseModel):
            name: typing.Literal["Paris", "Bern"]
            hills: list[typing.Literal[1, 2, 3]] = pydantic.Field(max_length=3)
            capital: bool

        options = dict(model="chat", temperature=0, max_completion_tokens=500,
                       messages=[{"role": "user", "content": "Hello you"}],
                       logit_bias=NO_THOUGHTS)
        parsed = self.client.chat.completions.parse(
            **options, response_format=City)
        self.assertEqual(parsed.choices[0].finish_reason, "stop")
        self.assertIsInstance(parsed.choices[0].message.parsed, City)
        with self.client.chat.completions.stream(
                **options, response_format=City) as stream:
            for _ in stream:
                pass
            streamed = stream.get_final_completion()
        self.assertEqual(streamed.choices[0].message.parsed,
                         parsed.choices[0].message.parsed)
        chosen = self.client.chat.completions.create(
            **options, extra_body={"structured_outputs": {"choice": ["left"]}})
        self.assertEqual(chosen.choices[0].message.content, "left")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.chat.completions.create(
                **options, response_format={"type": "json_schema", "json_schema": {
                    "name": "x", "schema": {"not": {"format": "date"}}}})
        self.assertEqual(caught.exception.param,
                         "response_format.json_schema.schema")

    def test_a_stream_that_is_left(self):
        stream = self.client.chat.completions.create(
            model="chat", stream=True, max_tokens=900,
            messages=[{"role": "user", "content": "Hello you"}])
        next(iter(stream))
        stream.close()
        self.assertIn("Haus", self.client.completions.create(
            model="en-de", prompt=TEXT, temperature=0).choices[0].text)


if __name__ == "__main__":
    chat_server.begin("openai")
    os.environ.pop("OPENAI_BASE_URL", None)
    import openai
    import pydantic
    unittest.main(argv=sys.argv[:1])
