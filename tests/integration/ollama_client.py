"""Tests a real server with Ollama's own Python client.

ollama_client.py SERVER MODEL PACKAGES: the server's program, the embedded
model, and a folder that keeps the packages from pip. Exits with 77, which skips
the test, if `ollama` was not fetched before and cannot be fetched.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import typing
import unittest

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVER, MODEL, PACKAGES = (pathlib.Path(path).absolute() for path in sys.argv[1:4])
TEXT = "The house is big."
GREEDY = {"temperature": 0, "num_predict": 12}


def have_packages():
    done = PACKAGES / "done"
    if done.exists():
        return True
    installed = subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--retries", "1",
         "--timeout", "20", "--target", PACKAGES, "--upgrade", "ollama"],
        check=False, capture_output=True, text=True)
    if installed.returncode != 0:
        print("skipped, as pip could not install ollama:",
              (installed.stderr.strip().splitlines() or [""])[-1])
        return False
    done.touch()
    return True


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


class OllamaClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        scratch = pathlib.Path(cls.folder.name)
        make_chat_folder(scratch / "chat")
        ports = scratch / "ports"
        cls.server = subprocess.Popen(
            [SERVER, "--listen", "127.0.0.1:0", "--metrics-listen", "off",
             "--http-listen", "127.0.0.1:0", "--port-file", ports,
             "--log-level", "warn", "--model", f"en-de={MODEL}",
             "--model", scratch / "chat"])
        while not ports.exists():
            if cls.server.poll() is not None:
                raise SystemExit("the server did not start")
            time.sleep(0.02)
        port = dict(line.split() for line in ports.read_text().splitlines())["http"]
        cls.client = ollama.Client(host=f"http://127.0.0.1:{port}", timeout=60)

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        code = cls.server.wait(60)
        cls.folder.cleanup()
        assert code == 0, code

    def test_models(self):
        listed = self.client.list().models
        self.assertEqual([model.model for model in listed], ["en-de", "chat"])
        self.assertGreater(listed[1].size, 0)
        self.assertEqual(listed[1].details.family, "qwen3")
        loaded = self.client.ps().models
        self.assertEqual([model.name for model in loaded], ["en-de", "chat"])
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
        class City(pydantic.BaseModel):
            name: typing.Literal["Paris", "Bern"]
            capital: bool

        answer = self.client.chat(
            model="chat", options={"temperature": 0, "num_predict": 500},
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
    if not have_packages():
        sys.exit(SKIPPED)
    sys.path.insert(0, str(PACKAGES))
    import ollama
    import pydantic
    unittest.main(argv=sys.argv[:1])
