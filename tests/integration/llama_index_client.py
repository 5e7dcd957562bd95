"""Tests a real server with LlamaIndex's clients of servers like OpenAI's.

llama_index_client.py SERVER MODEL PACKAGES: see begin() of chat_server.py.
"""

import sys
import typing
import unittest

import chat_server

TEXT = "The house is big."


class LlamaIndexTest(chat_server.ServerTest):
    def model(self, name, **options):
        return OpenAILike(**{"api_base": self.url + "/v1", "api_key": "none",
                             "temperature": 0, "max_retries": 0, "model": name,
                             "is_chat_model": True, "additional_kwargs": {
                                 "logit_bias": chat_server.no_spaces()}, **options})

    def test_completions(self):
        completions = self.model("en-de", max_tokens=64, is_chat_model=False,
                                 additional_kwargs={})
        whole = completions.complete(TEXT).text
        self.assertIn("Haus", whole)
        self.assertEqual([piece.text for piece in completions.stream_complete(TEXT)]
                         [-1], whole)

    def test_chats(self):
        chat = self.model("chat", max_tokens=8)
        messages = [ChatMessage(role="user", content="Hello you")]
        answer = chat.chat(messages).message.content
        self.assertEqual([piece.message.content for piece in
                          chat.stream_chat(messages)][-1], answer)

    def test_embeddings(self):
        embeddings = OpenAILikeEmbedding(
            model_name="en-de", api_base=self.url + "/v1", api_key="none")
        one, two = embeddings.get_text_embedding_batch([TEXT, "Hi."])
        self.assertEqual(len(one), len(two))
        self.assertEqual(len(embeddings.get_query_embedding(TEXT)), len(one))

    def test_a_loop_with_a_tool(self):
        cities = []

        def weather(city: typing.Literal["Bern", "Oslo"]) -> str:
            """The weather of a city."""
            cities.append(city)
            return "It rains."

        chat = self.model("plain", max_tokens=300, is_function_calling_model=True)
        tool = FunctionTool.from_defaults(weather)
        asked = chat.chat_with_tools([tool], user_msg="Hello you", tool_required=True,
                                     allow_parallel_tool_calls=False)
        [call] = chat.get_tool_calls_from_response(asked)
        self.assertEqual(call.tool_name, "weather")
        self.assertIn(call.tool_kwargs["city"], ("Bern", "Oslo"))
        done = chat.predict_and_call([tool], user_msg="Hello you", tool_required=True,
                                     allow_parallel_tool_calls=False)
        self.assertEqual(str(done.response), "It rains.")
        self.assertEqual(cities, [call.tool_kwargs["city"]])

    def test_structured_output(self):
        class Report(pydantic.BaseModel, extra="forbid"):
            """A report."""

            city: typing.Literal["Bern", "Oslo"]
            rain: bool

        chat = self.model("plain", max_tokens=300, is_function_calling_model=True)
        answer = chat.as_structured_llm(Report).complete("Hello you")
        self.assertIsInstance(answer.raw, Report)


if __name__ == "__main__":
    chat_server.begin("llama-index-llms-openai-like",
                      "llama-index-embeddings-openai-like")
    import pydantic
    from llama_index.core.llms import ChatMessage
    from llama_index.core.tools import FunctionTool
    from llama_index.embeddings.openai_like import OpenAILikeEmbedding
    from llama_index.llms.openai_like import OpenAILike
    unittest.main(argv=sys.argv[:1])
