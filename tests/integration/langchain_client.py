"""Tests a real server with LangChain's clients of OpenAI and Hugging Face.

langchain_client.py SERVER MODEL PACKAGES: see begin() of chat_server.py.
"""

import sys
import typing
import unittest

import chat_server

TEXT = "The house is big."
MESSAGES = [("system", "you"), ("human", "Hello you")]


class LangChainTest(chat_server.ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.openai = {"base_url": cls.url + "/v1", "api_key": "none", "max_retries": 0}
        cls.plain = langchain_openai.ChatOpenAI(
            **cls.openai, model="plain", temperature=0, max_tokens=300,
            logit_bias=chat_server.no_spaces())

    def test_embeddings(self):
        # Without tokenizing, which would use OpenAI's vocabularies.
        embeddings = langchain_openai.OpenAIEmbeddings(
            **self.openai, model="en-de", check_embedding_ctx_length=False)
        one, two = embeddings.embed_documents([TEXT, "Hi."])
        self.assertEqual(embeddings.embed_query(TEXT), one)
        self.assertEqual(len(one), len(two))

    def test_hugging_face_embeddings(self):
        embeddings = HuggingFaceEndpointEmbeddings(model="any")
        # It takes no addresses itself since version 1.2.
        embeddings.client = InferenceClient(self.url)
        one, two = embeddings.embed_documents([TEXT, "Hi."])
        self.assertEqual(len(one), len(two))
        for a, b in zip(embeddings.embed_query(TEXT), one):
            self.assertAlmostEqual(a, b, places=5)

    def test_completions(self):
        completions = langchain_openai.OpenAI(
            **self.openai, model="en-de", temperature=0)
        self.assertIn("Haus", completions.invoke(TEXT))
        # One request has all prompts of a batch.
        whole = completions.generate([TEXT, "I ate an apple."])
        self.assertIn("Haus", whole.generations[0][0].text)
        self.assertIn("Apfel", whole.generations[1][0].text)
        self.assertIn("Haus", "".join(completions.stream(TEXT)))

    def test_chats(self):
        chat = langchain_openai.ChatOpenAI(
            **self.openai, model="chat", temperature=0, max_tokens=8)
        answer = chat.invoke(MESSAGES)
        self.assertGreater(answer.usage_metadata["total_tokens"], 0)
        self.assertEqual("".join(piece.content for piece in chat.stream(MESSAGES)),
                         answer.content)

    def test_a_loop_with_a_tool(self):
        @tool
        def weather(city: typing.Literal["Bern", "Oslo"]) -> str:
            """The weather of a city."""
            return f"It rains in {city}."

        bound = self.plain.bind_tools([weather], tool_choice="weather", strict=True)
        asked = bound.invoke(MESSAGES)
        [call] = asked.tool_calls
        self.assertEqual(call["name"], "weather")
        self.assertIn(call["args"]["city"], ("Bern", "Oslo"))
        streamed = None
        for chunk in bound.stream(MESSAGES):
            streamed = chunk if streamed is None else streamed + chunk
        self.assertEqual([(one["name"], one["args"]) for one in streamed.tool_calls],
                         [(call["name"], call["args"])])
        told = weather.invoke(call)
        self.assertEqual(told.content, f"It rains in {call['args']['city']}.")
        end = self.plain.bind(max_tokens=8).invoke([*MESSAGES, asked, told])
        self.assertTrue(end.content)

    def test_structured_output(self):
        class Report(pydantic.BaseModel):
            """A report."""

            city: typing.Literal["Bern", "Oslo"]
            rain: bool

        for method in ("json_schema", "function_calling"):
            with self.subTest(method):
                held = self.plain.with_structured_output(Report, method=method,
                                                         strict=True)
                self.assertIsInstance(held.invoke(MESSAGES), Report)
                *_, last = held.stream(MESSAGES)
                self.assertIsInstance(last, Report)


if __name__ == "__main__":
    chat_server.begin("langchain-openai", "langchain-huggingface")
    import langchain_openai
    import pydantic
    from huggingface_hub import InferenceClient
    from langchain_core.tools import tool
    from langchain_huggingface import HuggingFaceEndpointEmbeddings
    unittest.main(argv=sys.argv[:1])
