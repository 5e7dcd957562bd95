"""Tests a real server with Anthropic's own Python client.

anthropic_client.py SERVER MODEL PACKAGES: see begin() of chat_server.py.
"""

import json
import os
import sys
import typing
import unittest

import chat_server

HELLO = [{"role": "user", "content": "Hello you"}]
# The client has no option for it since its version 2.
GREEDY = {"temperature": 0}
WEATHER = {
    "name": "weather", "description": "Tells the weather.",
    "input_schema": {
        "type": "object", "properties": {
            "city": {"enum": ["Paris", "Bern", "Oslo"]},
            "days": {"type": "integer", "minimum": 1, "maximum": 14}},
        "required": ["city", "days"], "additionalProperties": False}}
TIME = {
    "name": "time",
    "input_schema": {
        "type": "object", "properties": {"utc": {"type": "boolean"}},
        "required": ["utc"], "additionalProperties": False}}


class AnthropicClientTest(chat_server.ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = anthropic.Anthropic(base_url=cls.url, api_key="none",
                                         timeout=60, max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        super().tearDownClass()

    def create(self, **options):
        return self.client.messages.create(**{
            "model": "chat", "max_tokens": 8, "messages": HELLO,
            "extra_body": GREEDY, **options})

    def test_a_message(self):
        message = self.create(system="Be kind.")
        self.assertEqual(message.type, "message")
        self.assertEqual(message.role, "assistant")
        self.assertEqual(message.model, "chat")
        self.assertIsInstance(message, anthropic.types.Message)
        self.assertEqual([block.type for block in message.content], ["text"])
        self.assertEqual(message.stop_reason, "max_tokens")
        self.assertIsNone(message.stop_sequence)
        self.assertEqual(message.usage.output_tokens, 8)
        # The same prompt again is cached but for its end.
        again = self.create(system="Be kind.")
        self.assertEqual(again.content, message.content)
        self.assertEqual(
            again.usage.input_tokens + again.usage.cache_read_input_tokens,
            message.usage.input_tokens + message.usage.cache_read_input_tokens)

    def test_a_stream_is_the_whole(self):
        whole = self.create(max_tokens=100)
        with self.client.messages.stream(
                model="chat", max_tokens=100, messages=HELLO,
                extra_body=GREEDY) as stream:
            text = "".join(stream.text_stream)
            streamed = stream.get_final_message()
        self.assertEqual(text, whole.content[0].text)
        self.assertEqual(streamed.content[0].text, text)
        self.assertEqual(streamed.stop_reason, whole.stop_reason)
        self.assertEqual(streamed.usage.output_tokens, whole.usage.output_tokens)
        names = [event.type for event in self.create(max_tokens=100, stream=True)]
        self.assertEqual(names[:2], ["message_start", "content_block_start"])
        self.assertEqual(names[-3:],
                         ["content_block_stop", "message_delta", "message_stop"])

    def test_counts_tokens(self):
        for more in ({}, {"system": "Be kind."},
                     {"thinking": {"type": "enabled", "budget_tokens": 1024}}):
            counted = self.client.messages.count_tokens(
                model="chat", messages=HELLO, **more)
            usage = self.create(**more).usage
            self.assertEqual(counted.input_tokens,
                             usage.input_tokens + usage.cache_read_input_tokens)

    def test_models(self):
        models = list(self.client.models.list())
        self.assertEqual([model.id for model in models], ["en-de", "chat", "plain"])
        model = self.client.models.retrieve("chat")
        self.assertEqual(model, models[1])
        self.assertEqual(model.type, "model")
        with self.assertRaises(anthropic.NotFoundError):
            self.client.models.retrieve("none")

    def test_documents_are_text(self):
        def count(content):
            return self.client.messages.count_tokens(
                model="chat", messages=[{"role": "user", "content": content}]
            ).input_tokens

        document = {"type": "document", "title": "Towns", "source": {
            "type": "text", "media_type": "text/plain", "data": "Bern is a town."}}
        question = {"type": "text", "text": "Which town?"}
        self.assertEqual(count([document, question]),
                         count("Towns\n\nBern is a town.\n\nWhich town?"))
        with self.assertRaisesRegex(anthropic.BadRequestError, "media_type"):
            count([{"type": "document", "source": {
                "type": "base64", "media_type": "application/pdf", "data": "SGk="}}])

    def test_an_answer_is_continued(self):
        whole = self.create(max_tokens=40).content[0].text
        stop = whole[10:14]
        begin = self.create(max_tokens=40, stop_sequences=["none of it", stop])
        self.assertEqual(begin.stop_reason, "stop_sequence")
        self.assertEqual(begin.stop_sequence, stop)
        self.assertTrue(whole.startswith(begin.content[0].text))
        continued = self.create(
            messages=[*HELLO, {"role": "assistant", "content": "I am"}])
        self.assertEqual(continued.role, "assistant")
        # Shorter by what would begin another answer.
        counts = [self.client.messages.count_tokens(
            model="chat", messages=messages).input_tokens for messages in (
                [*HELLO, {"role": "assistant", "content": "I am"}],
                [*HELLO, {"role": "assistant", "content": "I am"}, *HELLO])]
        self.assertLess(counts[0], counts[1])

    def test_a_tool_loop(self):
        options = dict(model="plain", tools=[WEATHER, TIME], max_tokens=500,
                       tool_choice={
                           "type": "any", "disable_parallel_tool_use": True})
        message = self.create(**options)
        self.assertEqual(message.stop_reason, "tool_use")
        calls = [block for block in message.content if block.type == "tool_use"]
        self.assertEqual(calls, message.content)
        for call in calls:
            self.check_call(call)
        with self.client.messages.stream(
                messages=HELLO, extra_body=GREEDY, **options) as stream:
            streamed = stream.get_final_message()
        self.assertEqual([(block.name, block.input) for block in streamed.content],
                         [(block.name, block.input) for block in calls])
        self.assertEqual(streamed.stop_reason, "tool_use")
        # The client sends the blocks back as they came.
        messages = [*HELLO, {"role": "assistant", "content": message.content},
                    {"role": "user", "content": [
                        {"type": "tool_result", "tool_use_id": call.id,
                         "content": [{"type": "text", "text": "It is 9."}]}
                        for call in calls]}]
        answer = self.create(model="plain", messages=messages,
                             tools=[WEATHER, TIME])
        self.assertGreater(answer.usage.output_tokens, 0)
        counted = self.client.messages.count_tokens(
            model="plain", messages=messages, tools=[WEATHER, TIME])
        self.assertEqual(
            counted.input_tokens,
            answer.usage.input_tokens + answer.usage.cache_read_input_tokens)

    def check_call(self, call):
        self.assertTrue(call.id)
        if call.name == "time":
            self.assertEqual(list(call.input), ["utc"])
            self.assertIsInstance(call.input["utc"], bool)
        else:
            self.assertEqual(call.name, "weather")
            self.assertIn(call.input["city"], ["Paris", "Bern", "Oslo"])
            self.assertIn(call.input["days"], range(1, 15))

    def test_the_clients_own_loop(self):
        cities = []

        @anthropic.beta_tool
        def weather(city: typing.Literal["Bern", "Oslo"]) -> str:
            """Tells the weather.

            Args:
                city: Where it is.
            """
            cities.append(city)
            return "It rains."

        runner = self.client.beta.messages.tool_runner(
            model="plain", max_tokens=300, messages=HELLO, tools=[weather],
            tool_choice={"type": "tool", "name": "weather",
                         "disable_parallel_tool_use": True},
            extra_body=GREEDY, max_iterations=2)
        reasons = [message.stop_reason for message in runner]
        self.assertEqual(reasons[0], "tool_use")
        self.assertEqual(len(reasons), 2)
        self.assertIn(cities[0], ("Bern", "Oslo"))

    def test_a_tool_is_chosen(self):
        for name in ("weather", "time"):
            message = self.create(
                model="plain", tools=[WEATHER, TIME], max_tokens=500, tool_choice={
                    "type": "tool", "name": name,
                    "disable_parallel_tool_use": True})
            self.assertEqual([block.name for block in message.content], [name])
            self.check_call(message.content[0])
        with self.assertRaisesRegex(anthropic.BadRequestError, "tool_choice.name"):
            self.create(model="plain", tools=[TIME], tool_choice={"type": "tool", "name": "none"})
        message = self.create(model="plain", tools=[WEATHER], tool_choice={"type": "none"})
        self.assertEqual(message.stop_reason, "max_tokens")

    def test_a_call_that_is_cut(self):
        message = self.create(model="plain", tools=[TIME], max_tokens=35,
                              tool_choice={
                           "type": "any", "disable_parallel_tool_use": True})
        self.assertEqual(message.stop_reason, "max_tokens")

    def test_an_answer_of_a_form(self):
        form = {"type": "json_schema", "schema": {
            "type": "object", "properties": {"city": {"enum": ["Paris", "Bern"]}},
            "required": ["city"], "additionalProperties": False}}
        message = self.create(model="plain", max_tokens=200, output_config={"format": form})
        self.assertEqual(message.stop_reason, "end_turn")
        self.assertIn(json.loads(message.content[0].text)["city"],
                      ["Paris", "Bern"])

    def test_errors(self):
        with self.assertRaises(anthropic.NotFoundError) as caught:
            self.create(model="none")
        self.assertEqual(caught.exception.body["error"]["type"], "not_found_error")
        self.assertTrue(caught.exception.request_id)
        with self.assertRaises(anthropic.BadRequestError) as caught:
            self.create(messages=[{"role": "user", "content": [{
                "type": "image", "source": {
                    "type": "base64", "media_type": "image/png", "data": ""}}]}])
        error = caught.exception.body["error"]
        self.assertEqual(error["type"], "invalid_request_error")
        self.assertIn("messages[0].content[0].type", error["message"])
        with self.assertRaisesRegex(anthropic.BadRequestError, "max_tokens"):
            self.create(max_tokens=1020)
        with self.assertRaisesRegex(anthropic.BadRequestError, "tools"):
            self.create(tools=[{"type": "web_search_20250305",
                                "name": "web_search"}])
        with self.assertRaisesRegex(anthropic.BadRequestError, "messages"):
            self.create(model="en-de")

    def test_a_stream_that_is_left(self):
        stream = self.create(max_tokens=900, stream=True)
        next(iter(stream))
        stream.close()
        self.assertEqual(self.create().stop_reason, "max_tokens")


if __name__ == "__main__":
    chat_server.begin("anthropic")
    for variable in ("ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN"):
        os.environ.pop(variable, None)
    import anthropic
    unittest.main(argv=sys.argv[:1])
