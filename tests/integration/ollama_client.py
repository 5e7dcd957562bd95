"""Tests a real server with Ollama's own Python client.

ollama_client.py SERVER MODEL PACKAGES: see begin() of chat_server.py.
"""

import sys
import typing
import unittest

import chat_server

TEXT = "The house is big."
GREEDY = {"temperature": 0, "num_predict": 12}


class OllamaClientTest(chat_server.ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = ollama.Client(host=cls.url, timeout=60)

    def test_models(self):
        listed = self.client.list().models
        self.assertEqual([model.model for model in listed], ["en-de", "chat", "plain"])
        self.assertGreater(listed[1].size, 0)
        self.assertEqual(listed[1].details.family, "qwen3")
        loaded = self.client.ps().models
        self.assertEqual([model.name for model in loaded], ["en-de", "chat", "plain"])
        self.assertEqual(loaded[1].context_length, 1024)
        self.assertGreater(loaded[1].expires_at.year, 2200)
        shown = self.client.show("chat:latest")
        self.assertEqual(shown.modelinfo["general.architecture"], "qwen3")
        self.assertIn("completion", shown.capabilities)
        self.assertIn("embedding", self.client.show("en-de").capabilities)
        with self.assertRaises(ollama.ResponseError) as caught:
            self.client.show("none")
        self.assertEqual(caught.exception.status_code, 404)

    def test_chats(self):
        options = dict(model="chat:latest", options=GREEDY,
                       messages=[{"role": "system", "content": "you"},
                                 {"role": "user", "content": "Hello you"}])
        whole = self.client.chat(**options)
        self.assertEqual(whole.message.role, "assistant")
        self.assertTrue(whole.done)
        self.assertIn(whole.done_reason, ("stop", "length"))
        self.assertGreater(whole.eval_count, 0)
        self.assertGreater(whole.total_duration, 0)
        pieces = list(self.client.chat(**options, stream=True))
        self.assertEqual("".join(piece.message.content for piece in pieces),
                         whole.message.content)
        self.assertEqual([piece.done for piece in pieces],
                         [False] * (len(pieces) - 1) + [True])
        self.assertEqual(pieces[-1].eval_count, whole.eval_count)
        drawn = [self.client.chat(**{**options, "options": ollama.Options(
            seed=3, num_predict=8, top_k=5, temperature=0.8)}).message.content
                 for _ in range(2)]
        self.assertEqual(drawn[0], drawn[1])
        scored = self.client.chat(**options, logprobs=True, top_logprobs=2)
        self.assertEqual(len(scored.logprobs[0].top_logprobs), 2)

    def test_answers_with_a_form(self):
        # Without other members: the model would write them without end.
        class City(pydantic.BaseModel):
            model_config = pydantic.ConfigDict(extra="forbid")
            name: typing.Literal["Paris", "Bern"]
            capital: bool

        answer = self.client.chat(
            model="plain", options={"temperature": 0, "num_predict": 500},
            messages=[{"role": "user", "content": "Hello you"}],
            format=City.model_json_schema())
        City.model_validate_json(answer.message.content)

    def test_prompts(self):
        translated = self.client.generate("en-de", TEXT, options={"temperature": 0})
        self.assertIn("Haus", translated.response)
        options = dict(model="chat", prompt="Hello you", options=GREEDY)
        whole = self.client.generate(**options)
        pieces = list(self.client.generate(**options, stream=True))
        self.assertEqual("".join(piece.response for piece in pieces),
                         whole.response)
        loaded = self.client.generate("chat")
        self.assertEqual(loaded.done_reason, "load")

    def test_embeddings(self):
        both = self.client.embed("en-de", [TEXT, "Hi."])
        self.assertEqual(len(both.embeddings), 2)
        self.assertGreater(both.prompt_eval_count, 0)
        one = self.client.embeddings("en-de", TEXT)
        self.assertEqual(list(one.embedding), list(both.embeddings[0]))
        short = self.client.embed("en-de", TEXT, dimensions=8)
        self.assertEqual(len(short.embeddings[0]), 8)

    def test_errors(self):
        with self.assertRaisesRegex(ollama.ResponseError, "options.top_p"):
            self.client.chat("chat", [{"role": "user", "content": "Hi"}],
                             options={"top_p": 2})
        with self.assertRaisesRegex(ollama.ResponseError, "images"):
            self.client.generate("chat", "Hi", images=["aGk="])
        with self.assertRaisesRegex(ollama.ResponseError, "--model"):
            self.client.pull("llama3.2")
        with self.assertRaisesRegex(ollama.ResponseError, "--model"):
            self.client.delete("chat")

    def test_a_stream_that_is_left(self):
        stream = self.client.chat("chat", [{"role": "user", "content": "Hello"}],
                                  stream=True)
        next(stream)
        stream.close()
        self.assertIn("Haus", self.client.generate(
            "en-de", TEXT, options={"temperature": 0}).response)


if __name__ == "__main__":
    chat_server.begin("ollama")
    import ollama
    import pydantic
    unittest.main(argv=sys.argv[:1])
