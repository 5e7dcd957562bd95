"""A server with models that chat, for tests by other people's clients."""

import json
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


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


def start_server(program, scratch, flags):
    """Starts a server, and returns its process and its HTTP port."""
    ports = scratch / "ports"
    server = subprocess.Popen(
        [program, "--listen", "127.0.0.1:0", "--metrics-listen", "off",
         "--http-listen", "127.0.0.1:0", "--port-file", ports,
         "--log-level", "warn", *flags])
    while not ports.exists():
        if server.poll() is not None:
            raise SystemExit("the server did not start")
        time.sleep(0.02)
    return server, dict(line.split() for line in
                        ports.read_text().splitlines())["http"]
