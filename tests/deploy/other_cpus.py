#!/usr/bin/env python3
"""Tests the server on older and smaller CPUs: it works, or refuses and says what is
missing.

Usage: other_cpus.py TRIVIUM_SERVER [FOLDER]. Runs the server, with the embedded
model or that of FOLDER, on CPUs that qemu-user emulates (Debian package
qemu-user-static). This takes a minute or two. Exits with 77 if there is no qemu. An
illegal instruction, a crash, or another translation than this machine's is a
failure.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

QEMU = "qemu-x86_64-static"
SKIPPED = 77
START_SECONDS = 120
TEXT = "I ate an apple. The house is big, and the weather is nice today."

# CPU model -> what it lacks, or None. qemu has no AVX-512.
CPUS = {
    "Nehalem": "AVX2",
    "SandyBridge": "AVX2",
    "Haswell-noTSX": None,
    "EPYC": None,
}
# Precisions in which a CPU with AVX2 must give this machine's answer at AVX2.
PRECISIONS = ("f32", "int8")


class Server:
    """A server, which another program (qemu) may run."""

    def __init__(self, arguments, folder):
        self.ports = pathlib.Path(folder) / "ports"
        self.ports.unlink(missing_ok=True)
        self.log = (pathlib.Path(folder) / "log").open("w+")
        self.process = subprocess.Popen(
            arguments + ["--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0",
                         "--metrics-listen", "off", "--port-file", self.ports],
            stdout=self.log, stderr=self.log)

    def wait(self):
        """Waits for the server. Returns True once it serves, False if it ended."""
        for _ in range(START_SECONDS * 10):
            if self.ports.exists():
                return True
            if self.process.poll() is not None:
                return False
            time.sleep(0.1)
        raise TimeoutError("the server neither serves nor ends")

    def translate(self):
        port = dict(line.split() for line in
                    self.ports.read_text().splitlines())["http"]
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/translate",
            json.dumps({"q": TEXT, "source": "en", "target": "de"}).encode(),
            {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["translatedText"]

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def stop(self):
        """Stops the server and returns its exit status."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(timeout=60)


def problem(arguments, lacks, expected, folder):
    """Returns what is wrong with the server on a CPU; None: nothing."""
    server = Server(arguments, folder)
    try:
        serves = server.wait()
        if serves and lacks is not None:
            return f"serves, though {lacks} is not there"
        if serves:
            answer = server.translate()
            if answer != expected:
                return f"says {answer!r}, not {expected!r}"
            status = server.stop()
            return None if status == 0 else f"ended with {status}"
        status = server.stop()
        if lacks is None or status != 1 or lacks not in server.said():
            return f"ended with {status}: {server.said()[-500:]}"
        return None
    finally:
        server.stop()


def main():
    if shutil.which(QEMU) is None:
        print(f"skipped: no {QEMU}; install qemu-user-static")
        return SKIPPED
    program = [sys.argv[1]]
    if len(sys.argv) > 2:
        program += ["--model", sys.argv[2]]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for precision in PRECISIONS:
            flags = ["--precision", precision]
            here = Server(program + flags + ["--max-isa", "avx2"], folder)
            if not here.wait():
                sys.exit("the server does not even work here:\n" + here.said())
            expected = here.translate()
            here.stop()
            for cpu, lacks in CPUS.items():
                wrong = problem([QEMU, "-cpu", cpu, *program, *flags], lacks,
                                expected, folder)
                failures += wrong is not None
                print(f"{cpu} {precision}: " + (
                    wrong or (f"refuses, for want of {lacks}" if lacks
                              else "works")), flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
