"""Runs what README.md and docs/using.md show, from top to bottom, as pasted, and
of other pages the commands that the embedded model is enough for.

readme.py PROGRAMS STUBS PACKAGES: the folder of the built programs, protoc's
Python stubs (for grpcurl's stand-in), and a folder that keeps what pip
installs. Other than on the pages are only the addresses, the folder of the
server's example, and that Docker and ./run and ./test, which run this, are not
run (try_image tries Docker's).
What PyPI would be needed for is skipped, and said so, where it has not been
fetched before (smollm2) or cannot be reached. Its C++ is package_test's.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from started_server import ports_of  # noqa: E402

PROGRAMS, STUBS, PACKAGES = (pathlib.Path(path).absolute() for path in sys.argv[1:])
PAGES = [(ROOT / name).read_text(encoding="utf-8")
         for name in ("README.md", "docs/using.md")]
OTHER_PAGES = [(ROOT / "docs" / name).read_text(encoding="utf-8")
               for name in ("text-to-text.md", "operating.md", "models.md")]
# What stands in commands that need a model, a machine or a file of one's own.
OWN = re.compile(r"hf:|/models/|\b(FOLDER|NAME|COMMIT)\b|other:|\.\.\.|sudo|\benv/|"
                 r"report\.txt|texts\.txt")
SMOLLM2 = ROOT / "build" / "smollm2.gguf"
# The models that the pages name, and goldens with the same kinds of heads.
HEADS = {"sentiment": "bert.classify",
         "ner": "bert.tag", "squad": "bert.answer", "bert": "bert.fill_mask"}


def make_checkout(folder):
    """Makes a checkout whose build/release has the built programs."""
    for entry in ROOT.iterdir():
        if entry.name != "build":
            (folder / entry.name).symlink_to(entry)
    (folder / "build" / "release").mkdir(parents=True)
    (folder / "build" / "release" / "bin").symlink_to(PROGRAMS)
    if SMOLLM2.exists():
        (folder / "build" / "smollm2.gguf").symlink_to(SMOLLM2)
    (folder / "sentences.txt").write_text("Good morning!\nI ate an apple.\n")


def make_tools(folder):
    """Makes the tools that the page expects to be installed."""
    folder.mkdir()
    (folder / "python").symlink_to(sys.executable)
    tool = folder / "grpcurl"
    tool.write_text(f"#!/bin/sh\nexec {sys.executable} "
                    f"{ROOT}/tests/integration/grpcurl.py {STUBS} \"$@\"\n")
    tool.chmod(0o755)
    tool = folder / "trivium-translate"
    tool.write_text(f"#!/bin/sh\nPYTHONPATH={PACKAGES} exec {sys.executable} -m "
                    'trivium.translate_command "$@"\n')
    tool.chmod(0o755)


def make_head_models(folder):
    """Makes models with heads, whose vocabulary has only letters. Yields the server's
    flags for them."""
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "."]
    vocabulary += [piece for c in letters for piece in (c, "##" + c)]
    # The vocabulary is as large as the models' embeddings.
    vocabulary += [f"[unused{i}]" for i in range(len(vocabulary), 307)]
    for name, golden in HEADS.items():
        model = folder / "models" / name
        model.mkdir(parents=True)
        for file in ("config.json", "model.safetensors"):
            shutil.copy(ROOT / "tests" / "golden" / golden / file, model)
        (model / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
        yield f"--model {model}"
    yield f"--model ms-marco={ROOT}/tests/golden/sentences/qwen3.reranker"
    yield f"--model qwen3-embedding={ROOT}/tests/golden/sentences/qwen3.embedding"
    yield f"--model splade={ROOT}/tests/golden/retrieval/splade.bert"
    yield f"--model colbert={ROOT}/tests/golden/retrieval/colbert.modernbert"
    yield f"--model nli={ROOT}/tests/golden/retrieval/zero_shot.bert"


class Reader:
    """A reader with one terminal for the server and one for everything else."""

    def __init__(self, folder):
        self.folder = folder
        self.exports = ""  # variables that earlier blocks exported
        self.server = None
        self.address = ""
        self.http_address = ""
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith("TRIVIUM_")}
        self.env["PATH"] = f"{folder}/tools:{self.env['PATH']}"
        self.checkout = folder / "checkout"
        self.checkout.mkdir()
        make_checkout(self.checkout)
        make_tools(folder / "tools")

    def shell(self, command, **options):
        return ["bash", "-euo", "pipefail", "-c", self.exports + command], {
            "cwd": self.checkout, "env": self.env, **options}

    def start(self, command):
        """Runs a server in the first terminal, in place of the previous one."""
        self.stop()
        ports = self.folder / "ports"
        ports.unlink(missing_ok=True)
        self.env.update(TRIVIUM_LISTEN="127.0.0.1:0", TRIVIUM_HTTP_LISTEN="127.0.0.1:0",
                        TRIVIUM_METRICS_LISTEN="off",
                        TRIVIUM_PORT_FILE=str(ports), TRIVIUM_LOG_LEVEL="warn")
        print("==", command, flush=True)
        arguments, options = self.shell("exec " + command)
        self.server = subprocess.Popen(arguments, **options)
        ports = ports_of(self.server, ports)
        self.address = "127.0.0.1:" + ports["grpc"]
        self.http_address = "127.0.0.1:" + ports.get("http", "0")
        self.env["TRIVIUM_ADDRESS"] = self.address

    def stop(self):
        if self.server is None:
            return
        self.server.terminate()
        if self.server.wait(60) != 0:
            sys.exit(f"the server ended with {self.server.returncode}")

    def run(self, command):
        """Runs a command in the second terminal and returns its output."""
        print("$", command, flush=True)
        command = (command.replace("127.0.0.1:50051", self.address)
                   .replace("127.0.0.1:8080", self.http_address))
        arguments, options = self.shell(command, stdin=subprocess.DEVNULL)
        done = subprocess.run(arguments, **options, check=False, timeout=300,
                              stdout=subprocess.PIPE, encoding="utf-8")
        print(done.stdout[:2000])
        if done.returncode != 0:
            sys.exit(f"that failed with {done.returncode}")
        return done.stdout

    def paste(self, block):
        """Runs a block of commands. Its servers run in the first terminal."""
        if block.startswith("$ "):
            command, _, expected = block[2:].partition("\n")
            if (printed := self.run(command)) != expected:
                sys.exit(f"the page says that it prints {expected}")
            return
        for line in block.splitlines():
            if line.startswith("export "):
                self.exports += line + "\n"
        servers = re.findall(r"^trivium-server(?: .*)?$", block, re.MULTILINE)
        rest = re.sub(r"^trivium-server(?: .*)?$", "", block, flags=re.MULTILINE)
        if rest.strip():
            self.run(rest)
        for command in servers:
            self.start(command.replace("/models/opus-mt-en-fr", "model/embedded"))


def have_packages():
    """Installs the Python packages that the pages name, except the engine: it
    compiles for minutes, and no block of a page uses it (try_engine does)."""
    wanted = " ".join(set(
        re.findall(r"`pip install ([^`]*)`", "".join(PAGES)))).split()
    wanted.remove("./library/python")
    state = hashlib.sha256(" ".join(wanted).encode())
    for path in sorted((ROOT / "client" / "python").rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            state.update(path.read_bytes())
    done = PACKAGES / "done"
    if done.exists() and done.read_text() == state.hexdigest():
        return True
    installed = subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--retries", "1",
         "--timeout", "20", "--target", PACKAGES, "--upgrade", *wanted],
        check=False, capture_output=True, text=True, cwd=ROOT)
    if installed.returncode != 0:
        print("skipped: README's Python, as pip could not install its packages:",
              (installed.stderr.strip().splitlines() or [""])[-1])
        return False
    done.write_text(state.hexdigest())
    return True


def check_flags():
    """Every flag that a page names is a flag of some program."""
    helps = [[PROGRAMS / "trivium-server", "--help"], [PROGRAMS / "trivium-load", "--help"]]
    helps.append([PROGRAMS / "trivium", "--help-all"])
    for command in ("attention", "beams", "generate", "chat", "encode", "rerank",
                    "classify", "translate", "models", "score", "search"):
        helps.append([PROGRAMS / "trivium", command, "--help-all"])
    known = "".join(subprocess.run(one, check=True, capture_output=True,
                                   text=True).stdout for one in helps)
    for script in ("run", "test"):
        known += (ROOT / script).read_text(encoding="utf-8")
    codes = [code for code in re.findall(r"`([^`\n]+)`", "".join(PAGES))
             if not code.startswith("cmake ")]
    # Other pages name other programs' flags, too.
    codes += re.findall(r"(?:^|`)(trivium(?:-server|-load)? [^`\n]+)",
                        "".join(OTHER_PAGES), re.MULTILINE)
    named = " ".join(codes)
    unknown = {flag for flag in re.findall(r"--[a-z][a-z-]+", named)
               if not re.search(re.escape(flag) + r"(?![a-z-])", known)}
    if unknown:
        sys.exit(f"pages name flags that no program has: {sorted(unknown)}")


def paste_python(reader, block):
    (reader.checkout / "example.py").write_text(
        block.replace("127.0.0.1:50051", reader.address))
    output = reader.run(f"PYTHONPATH={PACKAGES} python example.py")
    if "translate(" in block and "Apfel" not in output:
        sys.exit("that is no translation")


def paste_page(reader, page, python):
    section = ""
    for heading, language, block in re.findall(
            r"^## ([^\n]*)$|^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        if heading:
            section = heading
            if heading == "Command line":  # while ./run serves, the page says
                reader.start("trivium-server model/embedded " +
                             " ".join(reader.head_models))
        elif block.startswith(("./run", "docker ")):
            continue
        elif section == "Generate and chats" and not SMOLLM2.exists():
            continue
        elif language == "cpp":
            continue
        elif language == "python":
            if python:
                paste_python(reader, block)
        elif python or not block.startswith("trivium-translate"):
            reader.paste(block)


def paste_other_page(reader, page):
    for block in re.findall(r"^```\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        commands = re.sub(r"  +#.*", "", block)
        if not block.startswith(("$ ", "{", "import ")) and not OWN.search(commands):
            reader.run(commands)


def main(folder):
    check_flags()
    reader = Reader(folder)
    reader.head_models = list(make_head_models(folder))
    python = have_packages()
    if not SMOLLM2.exists():
        print("skipped: the pages' chats, as", SMOLLM2, "is not there")
    try:
        for page in PAGES:
            paste_page(reader, page, python)
        reader.start("trivium-server")
        for page in OTHER_PAGES:
            paste_other_page(reader, page)
    finally:
        reader.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(pathlib.Path(scratch))
