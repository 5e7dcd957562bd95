#!/usr/bin/env python3
"""Tests a real server with HTTP clients that many people use. To be run by hand, since
their packages are large:

    python3 -m venv build/http_clients
    build/http_clients/bin/pip install openai langchain-openai \\
        llama-index-llms-openai-like llama-index-embeddings-openai-like \\
        libretranslatepy deepl openapi-spec-validator cohere huggingface_hub
    build/http_clients/bin/python tests/integration/http_clients.py \\
        build/dev/bin/trivium-server

Each client has a test, which is skipped if the client is not installed.
"""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = "The house is big."
# Clients read keys and servers from the environment.
for variable in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "http_proxy", "HTTP_PROXY"):
    os.environ.pop(variable, None)


def needs(package):
    return unittest.skipIf(importlib.util.find_spec(package) is None,
                           f"{package} is not installed")


def make_chat_folder(folder):
    """Makes the folder of tests/integration/chat_folder.h."""
    golden = ROOT / "tests/golden/qwen3.lm"
    chats = ROOT / "tests/integration/chats"
    folder.mkdir()
    for file in (golden / "generation_config.json", golden / "model.safetensors",
                 chats / "tokenizer.json", chats / "chat_template.jinja"):
        shutil.copy(file, folder)
    config = json.loads((golden / "config.json").read_text())
    config["max_position_embeddings"] = 1024
    (folder / "config.json").write_text(json.dumps(config))


class HttpClientsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        scratch = pathlib.Path(cls.folder.name)
        make_chat_folder(scratch / "chat")
        ports = scratch / "ports"
        cls.server = subprocess.Popen(
            [SERVER, "--listen", "127.0.0.1:0", "--metrics-listen", "off",
             "--http-listen", "127.0.0.1:0", "--port-file", ports,
             "--log-level", "warn", "--model", f"en-de={ROOT / 'model/embedded'}",
             "--model", scratch / "chat"])
        while not ports.exists():
            if cls.server.poll() is not None:
                raise SystemExit("the server did not start")
            time.sleep(0.02)
        port = dict(line.split() for line in ports.read_text().splitlines())["http"]
        cls.address = f"http://127.0.0.1:{port}"
        cls.openai = {"base_url": f"{cls.address}/v1", "api_key": "none"}

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        code = cls.server.wait(60)
        cls.folder.cleanup()
        assert code == 0, code

    @needs("openai")
    def test_openai(self):
        import openai

        with openai.OpenAI(**self.openai, max_retries=0) as client:
            self.assertEqual([model.id for model in client.models.list()],
                             ["en-de", "chat"])
            vectors = client.embeddings.create(model="en-de", input=[TEXT, "Hi."])
            self.assertEqual(len(vectors.data), 2)
            prompts = {"model": "en-de", "prompt": [TEXT, "I ate an apple."],
                       "temperature": 0}
            whole = client.completions.create(**prompts)
            self.assertIn("Haus", whole.choices[0].text)
            self.assertIn("Apfel", whole.choices[1].text)
            streamed = ["", ""]
            for piece in client.completions.create(**prompts, stream=True):
                for choice in piece.choices:
                    streamed[choice.index] += choice.text
            self.assertEqual(streamed, [choice.text for choice in whole.choices])
            answer = client.chat.completions.create(
                model="chat", max_tokens=4,
                messages=[{"role": "user", "content": "Hello you"}])
            self.assertEqual(answer.choices[0].message.role, "assistant")

    @needs("deepl")
    def test_deepl(self):
        import deepl

        client = deepl.Translator("none", server_url=self.address)
        result = client.translate_text(TEXT, target_lang="DE")
        self.assertIn("Haus", result.text)
        self.assertEqual(result.detected_source_lang, "EN")
        both = client.translate_text(["<b>The house</b> is big.", "Hi."],
                                     source_lang="EN", target_lang="DE",
                                     tag_handling="html")
        self.assertIn("<b>", both[0].text)
        self.assertEqual({language.code for language in
                          client.get_target_languages()}, {"DE", "EN"})
        self.assertEqual(len(client.get_glossary_languages()), 2)
        self.assertFalse(client.get_usage().any_limit_reached)
        glossary = client.create_glossary("g", "EN", "DE", {"house": "Bude"})
        self.assertEqual(client.get_glossary_entries(glossary), {"house": "Bude"})
        held = client.translate_text(TEXT, source_lang="EN", target_lang="DE",
                                     glossary=glossary)
        self.assertIn("Bude", held.text)
        self.assertEqual([g.name for g in client.list_glossaries()], ["g"])
        client.delete_glossary(glossary)
        with self.assertRaises(deepl.DeepLException):
            client.get_glossary(glossary.glossary_id)
        with self.assertRaisesRegex(deepl.DeepLException, "formality"):
            client.translate_text(TEXT, target_lang="DE", formality="more")
        client.close()

    @needs("langchain_openai")
    def test_langchain(self):
        import langchain_openai

        # Without tokenizing, which would use OpenAI's vocabularies.
        embeddings = langchain_openai.OpenAIEmbeddings(
            **self.openai, model="en-de", check_embedding_ctx_length=False)
        one, two = embeddings.embed_documents([TEXT, "Hi."])
        self.assertEqual(embeddings.embed_query(TEXT), one)
        self.assertEqual(len(one), len(two))
        completions = langchain_openai.OpenAI(
            **self.openai, model="en-de", temperature=0)
        self.assertIn("Haus", completions.invoke(TEXT))
        # One request has all prompts of a batch.
        whole = completions.generate([TEXT, "I ate an apple."])
        self.assertIn("Haus", whole.generations[0][0].text)
        self.assertIn("Apfel", whole.generations[1][0].text)
        self.assertIn("Haus", "".join(completions.stream(TEXT)))
        chat = langchain_openai.ChatOpenAI(
            **self.openai, model="chat", temperature=0, max_tokens=8)
        messages = [("system", "you"), ("human", "Hello you")]
        answer = chat.invoke(messages)
        self.assertGreater(answer.usage_metadata["total_tokens"], 0)
        self.assertEqual("".join(piece.content for piece in chat.stream(messages)),
                         answer.content)

    @needs("llama_index.llms.openai_like")
    def test_llama_index_llms(self):
        from llama_index.core.llms import ChatMessage
        from llama_index.llms.openai_like import OpenAILike

        options = {"api_base": self.openai["base_url"], "api_key": "none",
                   "temperature": 0, "max_retries": 0}
        completions = OpenAILike(**options, model="en-de", max_tokens=64,
                                 is_chat_model=False)
        whole = completions.complete(TEXT).text
        self.assertIn("Haus", whole)
        self.assertEqual([piece.text for piece in completions.stream_complete(TEXT)]
                         [-1], whole)
        chat = OpenAILike(**options, model="chat", max_tokens=8, is_chat_model=True)
        messages = [ChatMessage(role="user", content="Hello you")]
        answer = chat.chat(messages).message.content
        self.assertEqual([piece.message.content for piece in
                          chat.stream_chat(messages)][-1], answer)

    @needs("llama_index.embeddings.openai_like")
    def test_llama_index_embeddings(self):
        from llama_index.embeddings.openai_like import OpenAILikeEmbedding

        embeddings = OpenAILikeEmbedding(
            model_name="en-de", api_base=self.openai["base_url"], api_key="none")
        one, two = embeddings.get_text_embedding_batch([TEXT, "Hi."])
        self.assertEqual(len(one), len(two))
        self.assertEqual(len(embeddings.get_query_embedding(TEXT)), len(one))

    @needs("libretranslatepy")
    def test_libre_translate(self):
        from libretranslatepy import LibreTranslateAPI

        client = LibreTranslateAPI(self.address)
        self.assertIn("Haus", client.translate(TEXT, "en", "de"))
        self.assertEqual(client.detect(TEXT)[0]["language"], "en")
        self.assertIn("en", [language["code"] for language in client.languages()])

    def test_libre_translates_files(self):
        """Sends files as LibreTranslate's page does; libretranslatepy cannot."""
        border = uuid.uuid4().hex
        page = "<h1>The house is big.</h1>\n<p>I ate an apple.</p>\n"
        body = "".join(
            f"--{border}\r\nContent-Disposition: form-data; {head}\r\n\r\n{value}\r\n"
            for head, value in (
                ('name="source"', "en"), ('name="target"', "de"),
                ('name="file"; filename="page.html"\r\nContent-Type: text/html',
                 page))) + f"--{border}--\r\n"
        request = urllib.request.Request(
            f"{self.address}/translate_file", body.encode(),
            {"Content-Type": f"multipart/form-data; boundary={border}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            url = json.load(answer)["translatedFileUrl"]
        with urllib.request.urlopen(url, timeout=60) as answer:
            translated = answer.read().decode()
        self.assertRegex(translated, r"<h1>[^<]*Haus[^<]*</h1>\n<p>[^<]*Apfel")

    @needs("cohere")
    def test_cohere(self):
        import cohere
        client = cohere.ClientV2(api_key="none", base_url=self.address)
        embedded = client.embed(
            model="embed-v4.0", input_type="search_query", texts=[TEXT, "Hi."],
            embedding_types=["float", "int8", "ubinary"])
        floats = embedded.embeddings.float_
        self.assertEqual(len(floats), 2)
        self.assertEqual(len(embedded.embeddings.int8[0]), len(floats[0]))
        self.assertEqual(len(embedded.embeddings.ubinary[0]), len(floats[0]) // 8)

    @needs("huggingface_hub")
    def test_hugging_face(self):
        from huggingface_hub import InferenceClient
        client = InferenceClient(self.address)
        self.assertEqual(client.feature_extraction(TEXT).shape[0], 1)
        similar = client.sentence_similarity(TEXT, other_sentences=[TEXT, "Hi."])
        self.assertAlmostEqual(similar[0], 1, places=4)

    @needs("openapi_spec_validator")
    def test_the_document(self):
        import openapi_spec_validator

        openapi_spec_validator.validate(
            json.loads((ROOT / "docs/openapi.json").read_text()))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    SERVER = pathlib.Path(sys.argv[1]).absolute()
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
