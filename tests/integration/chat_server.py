"""A server with small models, for tests by other people's clients."""

import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from started_server import ports_of  # noqa: E402

SKIPPED = 77
PIP = [sys.executable, "-m", "pip", "install", "-q", "--retries", "1", "--timeout", "20"]


# Clients read keys and servers from the environment, and some tell their makers how
# they are used.
for variable in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "http_proxy", "HTTP_PROXY"):
    os.environ.pop(variable, None)
os.environ.update(ANONYMIZED_TELEMETRY="false", LANGCHAIN_TRACING_V2="false",
                  HF_HUB_DISABLE_TELEMETRY="1")


def fast_installer(folder):
    """The command of uv, which finds and fetches packages in a tenth of pip's time, from
    `folder`; pip's own where it cannot be had. Tests that come together wait for it."""
    uv = folder / "bin" / "uv"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not uv.exists():
            subprocess.run([*PIP, "--target", folder, "--upgrade", "uv"], check=False,
                           capture_output=True)
    return [uv, "pip", "install", "-q", "--python", sys.executable]


def have_packages(packages, *names):
    """True if the folder has the packages of PyPI, which are fetched once."""
    done = packages / "done"
    if done.exists():
        return True
    for command in (fast_installer(packages.parent / "uv_python"), PIP):
        if not pathlib.Path(command[0]).exists():
            continue
        installed = subprocess.run(
            [*command, "--target", packages, "--upgrade", *names],
            check=False, capture_output=True, text=True)
        if installed.returncode == 0:
            done.touch()
            return True
    print(f"skipped, as pip could not install {', '.join(names)}:",
          (installed.stderr.strip().splitlines() or [""])[-1])
    return False


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


def no_spaces():
    """A logit_bias against tokens of white space, in which a model with random weights
    could lose itself between the members of a JSON text."""
    # Byte-level BPE's letters for tab, line feed, carriage return and space.
    spaces = set("\u0109\u010a\u010d\u0120")
    vocabulary = json.loads((ROOT / "tests/integration/chats/tokenizer.json")
                            .read_text())["model"]["vocab"]
    return {str(id): -100 for piece, id in vocabulary.items() if set(piece) <= spaces}


def make_plain_folder(folder):
    """Makes the same folder with a template that tells no thoughts, in which a model
    with random weights could lose itself before it calls or answers. It has room for
    the long schemas that clients write."""
    make_chat_folder(folder)
    config = json.loads((folder / "config.json").read_text())
    config["max_position_embeddings"] = 4096
    (folder / "config.json").write_text(json.dumps(config))
    path = folder / "chat_template.jinja"
    template = path.read_text()
    begin = template.index("    {%- elif message.role == 'assistant'")
    end = template.index("    {%- else %}", begin)
    template = template[:begin] + template[end:]
    begin = template.index("    {%- if enable_thinking")
    end = template.index("    {%- endif %}", begin)
    path.write_text(template[:begin] + template[end + len("    {%- endif %}"):])


def make_encoder_folder(folder, golden):
    """Makes the folder of an encoder's golden, "bert.tag", with a vocabulary of
    letters, as good_calls.cc does."""
    folder.mkdir()
    for file in ("config.json", "model.safetensors"):
        shutil.copy(ROOT / "tests/golden" / golden / file, folder)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "."]
    for code in range(ord("a"), ord("z") + 1):
        pieces += [chr(code), "##" + chr(code)]
    pieces += [f"[unused{i}]" for i in range(len(pieces), 307)]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")


class Server:
    """A server of these flags, which must end well."""

    def __init__(self, program, scratch, *flags):
        ports = pathlib.Path(scratch) / "ports"
        ports.unlink(missing_ok=True)
        self._process = subprocess.Popen(
            [program, "--listen", "127.0.0.1:0", "--metrics-listen", "off",
             "--http-listen", "127.0.0.1:0", "--port-file", ports,
             "--log-level", "warn", *flags])
        self.ports = ports_of(self._process, ports)
        self.url = "http://127.0.0.1:" + self.ports["http"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self._process.terminate()
        code = self._process.wait(60)
        assert code == 0, code


class ServerTest(unittest.TestCase):
    """Tests of a class with one server. Its models are en-de (the embedded one), chat
    and plain, unless a class says otherwise."""

    program = None  # the server's
    embedded = None  # the folder of its model

    @classmethod
    def flags(cls, scratch):
        """Makes the models' folders; returns the server's flags."""
        make_chat_folder(scratch / "chat")
        make_plain_folder(scratch / "plain")
        return ["--model", f"en-de={cls.embedded}", "--model", scratch / "chat",
                "--model", scratch / "plain"]

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        scratch = pathlib.Path(cls.folder.name)
        cls.server = Server(cls.program, scratch, *cls.flags(scratch))
        cls.url = cls.server.url

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()


def begin(*names, heavy=False):
    """Takes the arguments SERVER MODEL PACKAGES: the server's program, the embedded
    model, and a folder that keeps the packages `names` from pip. Exits with 77, which
    skips the test, if they were not fetched before and cannot be fetched. What is
    `heavy` is skipped unless HEAVY_CLIENTS is set."""
    ServerTest.program, ServerTest.embedded, packages = (
        pathlib.Path(path).absolute() for path in sys.argv[1:4])
    if heavy and not os.environ.get("HEAVY_CLIENTS"):
        print(f"skipped: set HEAVY_CLIENTS=1 to install {', '.join(names)}")
        sys.exit(SKIPPED)
    if not have_packages(packages, *names):
        sys.exit(SKIPPED)
    sys.path.insert(0, str(packages))
    # Packages are compiled once, which takes most of a large one's time.
    sys.dont_write_bytecode = False
