"""Tests POST /v1/responses of a real server with OpenAI's own Python client.

openai_responses_client.py SERVER MODEL PACKAGES AGENTS: see begin() of
chat_server.py. AGENTS keeps `openai-agents`; its part is skipped if it cannot be
had.
"""

import json
import os
import pathlib
import subprocess
import sys
import typing
import unittest

import chat_server

# An agent that must call a tool, and then fills a form.
AGENT = """
import sys
import typing
import agents
import openai
import pydantic

agents.set_tracing_disabled(True)
cities = []

@agents.function_tool
def weather(city: typing.Literal["Bern", "Oslo"]) -> str:
    cities.append(city)
    return "It rains."

class Report(pydantic.BaseModel):
    rain: bool

client = openai.AsyncOpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
agent = agents.Agent(
    name="guide", instructions="Be kind.", tools=[weather],
    output_type=Report, model=agents.OpenAIResponsesModel("plain", client),
    model_settings=agents.ModelSettings(
        temperature=0, max_tokens=200, tool_choice="weather",
        parallel_tool_calls=False))
result = agents.Runner.run_sync(agent, "Hello you", max_turns=4)
assert len(cities) >= 1, cities
kinds = [item.type for item in result.new_items]
assert kinds[:2] == ["tool_call_item", "tool_call_output_item"], kinds
assert kinds[-1] == "message_output_item", kinds
assert isinstance(result.final_output, Report)
"""
HELLO = [{"role": "user", "content": "Hello you"}]


class ResponsesTest(chat_server.ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = openai.OpenAI(base_url=cls.url + "/v1", api_key="none",
                                   timeout=60, max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        super().tearDownClass()

    def create(self, **options):
        return self.client.responses.create(**{
            "model": "chat", "temperature": 0, "max_output_tokens": 8,
            "input": "Hello you", **options})

    def check(self, response):
        """The client builds its types unchecked, so check them here."""
        return openai.types.responses.Response.model_validate(
            response.model_dump(mode="json", by_alias=True))

    def test_answers_are_those_of_chats(self):
        chat = self.client.chat.completions.create(
            model="chat", temperature=0, max_completion_tokens=8, messages=HELLO)
        for given in ("Hello you", HELLO, [
                {"type": "message", "role": "user", "content": [
                    {"type": "input_text", "text": "Hello you"}]}]):
            response = self.create(input=given)
            self.check(response)
            self.assertEqual(response.output_text, chat.choices[0].message.content)
            self.assertEqual(response.usage.input_tokens, chat.usage.prompt_tokens)
            self.assertEqual(response.usage.output_tokens, 8)
            self.assertEqual(response.status, "incomplete")
            self.assertEqual(response.incomplete_details.reason, "max_output_tokens")

    def test_tokens_are_counted(self):
        answer = self.client.responses.create(
            model="chat", temperature=0, max_output_tokens=2, input=HELLO,
            instructions="Be kind.")
        count = self.client.responses.input_tokens.count(
            model="chat", input=HELLO, instructions="Be kind.")
        self.assertEqual(count.input_tokens, answer.usage.input_tokens)
        self.assertEqual(count.object, "response.input_tokens")

    def test_streams_are_the_whole(self):
        whole = self.create()
        checked = pydantic.TypeAdapter(openai.types.responses.ResponseStreamEvent)
        text, events = "", list(self.create(stream=True))
        for number, event in enumerate(events):
            checked.validate_python(event.model_dump(mode="json", by_alias=True))
            self.assertEqual(event.sequence_number, number)
            if event.type == "response.output_text.delta":
                text += event.delta
        self.assertEqual(text, whole.output_text)
        self.assertEqual(events[0].type, "response.created")
        self.assertEqual(events[-1].type, "response.incomplete")
        self.assertEqual(events[-1].response.output_text, text)

    def test_answers_go_back_as_input(self):
        first = self.create(instructions="Be kind.")
        second = self.create(
            instructions="Be kind.",
            input=HELLO + [item.model_dump(exclude_none=True)
                           for item in first.output] +
            [{"role": "user", "content": "And?"}])
        chat = self.client.chat.completions.create(
            model="chat", temperature=0, max_completion_tokens=8,
            messages=[{"role": "system", "content": "Be kind."}] + HELLO +
            [{"role": "assistant", "content": first.output_text},
             {"role": "user", "content": "And?"}])
        self.assertEqual(second.output_text, chat.choices[0].message.content)
        self.assertEqual(second.usage.input_tokens, chat.usage.prompt_tokens)

    def test_texts_of_a_form(self):
        class City(pydantic.BaseModel):
            name: typing.Literal["Paris", "Bern"]
            hills: list[typing.Literal[1, 2, 3]] = pydantic.Field(max_length=3)
            capital: bool

        options = dict(model="plain", temperature=0, max_output_tokens=500,
                       input="Hello you")
        parsed = self.client.responses.parse(**options, text_format=City)
        self.assertEqual(parsed.status, "completed")
        self.assertIsInstance(parsed.output_parsed, City)
        with self.client.responses.stream(**options, text_format=City) as stream:
            for _ in stream:
                pass
            streamed = stream.get_final_response()
        self.assertEqual(streamed.output_parsed, parsed.output_parsed)
        with self.assertRaises(openai.BadRequestError) as caught:
            self.create(text={"format": {"type": "json_schema", "name": "x",
                                         "schema": {"not": {"format": "date"}}}})
        self.assertEqual(caught.exception.param, "text.format.schema")

    def test_a_loop_with_a_tool(self):
        tool = {"type": "function", "name": "weather", "strict": True,
                "description": "The weather of a city.",
                "parameters": {
                    "type": "object",
                    "properties": {"city": {"type": "string",
                                            "enum": ["Bern", "Oslo"]}},
                    "required": ["city"], "additionalProperties": False}}
        options = dict(model="plain", tools=[tool], max_output_tokens=300,
                       parallel_tool_calls=False, tool_choice="required")
        first = self.create(**options)
        self.check(first)
        [call] = first.output
        self.assertEqual((call.type, call.name), ("function_call", "weather"))
        self.assertIn(json.loads(call.arguments)["city"], ("Bern", "Oslo"))
        with self.client.responses.stream(
                temperature=0, input="Hello you", **options) as stream:
            kinds = {event.type for event in stream}
            [same] = stream.get_final_response().output
        self.assertIn("response.function_call_arguments.delta", kinds)
        self.assertEqual(same.arguments, call.arguments)
        last = self.create(
            model="plain", tools=[tool], tool_choice="none",
            input=[*HELLO, call.model_dump(exclude_none=True),
                   {"type": "function_call_output", "call_id": call.call_id,
                    "output": "It rains."}])
        self.check(last)
        self.assertEqual([item.type for item in last.output], ["message"])

    def test_an_agent(self):
        if not chat_server.have_packages(AGENTS, "openai-agents"):
            self.skipTest("openai-agents is not there")
        subprocess.run([sys.executable, "-B", "-c", AGENT,
                        str(self.client.base_url)], check=True, timeout=300,
                       env={**os.environ, "PYTHONPATH": str(AGENTS)})

    def test_thoughts(self):
        # The mark of a thought in chats/tokenizer.json.
        options = dict(max_output_tokens=6,
                       extra_body={"logit_bias": {"267": 100}})
        response = self.create(**options)
        self.check(response)
        [item] = response.output
        self.assertEqual(item.type, "reasoning")
        self.assertGreater(
            response.usage.output_tokens_details.reasoning_tokens, 0)
        deltas = [event.delta for event in self.create(stream=True, **options)
                  if event.type == "response.reasoning_text.delta"]
        self.assertEqual("".join(deltas), item.content[0].text)

    def test_logprobs(self):
        response = self.create(top_logprobs=2,
                               include=["message.output_text.logprobs"])
        self.check(response)
        logprobs = response.output[0].content[0].logprobs
        self.assertEqual(len(logprobs), 8)
        self.assertEqual(len(logprobs[0].top_logprobs), 2)

    def test_refusals(self):
        for options, place in (
                ({"previous_response_id": "resp_1"}, "previous_response_id"),
                ({"background": True}, "background"),
                ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
                ({"reasoning": {"depth": 1}}, "reasoning.depth")):
            with self.assertRaises(openai.BadRequestError) as caught:
                self.create(**options)
            self.assertEqual(caught.exception.param, place)
        with self.assertRaises(openai.BadRequestError) as caught:
            self.create(input="Hello " * 3000)
        self.assertEqual(caught.exception.code, "context_length_exceeded")
        self.assertEqual(caught.exception.param, "input")

    def test_nothing_is_stored(self):
        response = self.create(store=True)
        self.assertIs(response.store, False)
        for call in (self.client.responses.retrieve, self.client.responses.delete,
                     self.client.responses.cancel):
            with self.assertRaisesRegex(openai.NotFoundError, "stored"):
                call(response.id)


if __name__ == "__main__":
    chat_server.begin("openai")
    AGENTS = pathlib.Path(sys.argv[4]).absolute()
    os.environ.pop("OPENAI_BASE_URL", None)
    import openai
    import pydantic
    unittest.main(argv=sys.argv[:1])
