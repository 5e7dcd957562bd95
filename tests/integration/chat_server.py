"""A server with models that chat, for tests by other people's clients."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77


def have_packages(packages, name):
    """True if the folder has the package of PyPI, which is fetched once."""
    done = packages / "done"
    if done.exists():
        return True
    installed = subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--retries", "1",
         "--timeout", "20", "--target", packages, "--upgrade", name],
        check=False, capture_output=True, text=True)
    if installed.returncode != 0:
        print(f"skipped, as pip could not install {name}:",
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


def make_plain_folder(folder):
    """Makes the same folder with a template that tells no thoughts, in which a model
    with random weights could lose itself before it calls or answers."""
    make_chat_folder(folder)
    path = folder / "chat_template.jinja"
    template = path.read_text()
    begin = template.index("    {%- elif message.role == 'assistant'")
    end = template.index("    {%- else %}", begin)
    template = template[:begin] + template[end:]
    begin = template.index("    {%- if enable_thinking")
    end = template.index("    {%- endif %}", begin)
    path.write_text(template[:begin] + template[end + len("    {%- endif %}"):])


class ServerTest(unittest.TestCase):
    """Tests of a class with one server, which must end well. Its models are en-de
    (the embedded one), chat and plain."""

    program = None  # the server's
    embedded = None  # the folder of its model

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        scratch = pathlib.Path(cls.folder.name)
        make_chat_folder(scratch / "chat")
        make_plain_folder(scratch / "plain")
        ports = scratch / "ports"
        cls.server = subprocess.Popen(
            [cls.program, "--listen", "127.0.0.1:0", "--metrics-listen", "off",
             "--http-listen", "127.0.0.1:0", "--port-file", ports,
             "--log-level", "warn", "--model", f"en-de={cls.embedded}",
             "--model", scratch / "chat", "--model", scratch / "plain"])
        while not ports.exists():
            if cls.server.poll() is not None:
                raise SystemExit("the server did not start")
            time.sleep(0.02)
        cls.url = "http://127.0.0.1:" + dict(
            line.split() for line in ports.read_text().splitlines())["http"]

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        code = cls.server.wait(60)
        cls.folder.cleanup()
        assert code == 0, code


def begin(name):
    """Takes the arguments SERVER MODEL PACKAGES: the server's program, the embedded
    model, and a folder that keeps the package `name` from pip. Exits with 77, which
    skips the test, if it was not fetched before and cannot be fetched."""
    ServerTest.program, ServerTest.embedded, packages = (
        pathlib.Path(path).absolute() for path in sys.argv[1:4])
    if not have_packages(packages, name):
        sys.exit(SKIPPED)
    sys.path.insert(0, str(packages))
