"""Tests find_package(Trivium) with an installation by `cmake --install`. Builds
programs outside of the project against it, which run a model or call a server.

package_test.py CMAKE BUILD WORK MODEL: installs BUILD below WORK. Exits with 77, which
skips the test, if there is no compiler or generator.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from started_server import ports_of  # noqa: E402

CMAKE = sys.argv[1]
BUILD, WORK, MODEL = (pathlib.Path(path).resolve() for path in sys.argv[2:5])
HERE = pathlib.Path(__file__).resolve().parent
PREFIX = WORK / "prefix"
TEXT = "I ate an apple."
# The C library handles signals 32 and 33 in programs with threads.
GLIBCS_OWN = 1 << 31 | 1 << 32


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def build(name):
    """Builds the program of tests/deploy/`name`."""
    folder = WORK / name
    run(CMAKE, "-G", "Ninja", "-S", HERE / name, "-B", folder,
        "-DCMAKE_BUILD_TYPE=RelWithDebInfo", f"-DCMAKE_PREFIX_PATH={PREFIX}")
    run(CMAKE, "--build", folder)
    return folder / "consumer"


def libraries(program):
    """Returns the names of the shared libraries that a program loads, as "grpc++"."""
    return set(re.findall(r"\blib([^/ ]+)\.so", run("ldd", program)))


class Consumer:
    """A program that answers lines."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def read(self):
        return self.process.stdout.readline().rstrip("\n")

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.read()

    def status(self, field):
        """Returns a field of /proc/PID/status."""
        path = pathlib.Path(f"/proc/{self.process.pid}/status")
        return re.search(rf"^{field}:\s*(\S+)", path.read_text(), re.M)[1]

    def end(self):
        """Ends the program and returns what it logged."""
        log = self.process.communicate(timeout=60)[1]
        return self.process.returncode, log


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(WORK, ignore_errors=True)
        run(CMAKE, "--install", BUILD, "--prefix", PREFIX)
        cls.engine = build("consumer_engine")
        cls.client = build("consumer_client")

    def test_an_engine_inside(self):
        self.assertFalse([name for name in libraries(self.engine)
                          if "grpc" in name or "protobuf" in name
                          or "microhttpd" in name])
        with Consumer(self.engine, MODEL, "de") as consumer:
            threads = int(consumer.read())
            size, text = consumer.ask(TEXT).split(" ", 1)
            self.assertEqual(int(size), 256)
            self.assertGreater(len(text), 5)
            # All threads except main's were started by start_thread, and no
            # signal is handled.
            self.assertEqual(int(consumer.status("Threads")), 1 + threads)
            self.assertEqual(int(consumer.status("SigCgt"), 16)
                             & ~GLIBCS_OWN, 0)
            code, log = consumer.end()
            self.assertEqual(code, 0, log)
            self.assertIn("log: model loaded", log)

    def test_the_readme_compiles(self):
        readme = (HERE.parents[1] / "docs/using.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```cpp\n(.*?)^```$", readme, re.M | re.S)
        self.assertGreater(len(blocks), 0)
        for block in blocks:
            run(os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only",
                "-I", PREFIX / "include/trivium", "-x", "c++", "-",
                input="#include <trivium/engine.h>\nint main() {\n"
                      + block + "}\n")

    def test_errors_say_what_is_wrong(self):
        with Consumer(self.engine, "/no/such", "de") as consumer:
            code, log = consumer.end()
            self.assertEqual(code, 1)
            self.assertIn("/no/such", log)
        with Consumer(self.engine, MODEL, "tlh") as consumer:
            consumer.read()
            self.assertIn("INVALID_ARGUMENT", consumer.ask(TEXT))

    def test_a_package_that_is_missing_is_named(self):
        done = subprocess.run(
            [CMAKE, "-G", "Ninja", "-S", HERE / "consumer_engine", "-B", WORK / "missing",
             f"-DCMAKE_PREFIX_PATH={PREFIX}",
             # As if find_library had not found them.
             "-DTRIVIUM_LIBRARY_cld2=OFF", "-DTRIVIUM_LIBRARY_stemmer=OFF"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertNotEqual(done.returncode, 0)
        said = " ".join(done.stdout.split())
        self.assertIn("cld2, stemmer", said)
        self.assertIn("deploy/packages.txt", said)

    def test_a_client_of_the_installed_server(self):
        ports = WORK / "ports"
        server = subprocess.Popen(
            [PREFIX / "bin/trivium-server", "--listen", "127.0.0.1:0",
             "--http-listen", "off", "--metrics-listen", "off",
             "--port-file", ports, MODEL],
            env={**os.environ, "NOTIFY_SOCKET": ""}, stderr=subprocess.DEVNULL)
        try:
            address = ports_of(server, ports)["address"]
            with Consumer(self.client, address, "de") as client, \
                    Consumer(self.engine, MODEL, "de") as engine:
                engine.read()
                # Gives the same answer in process and over the network.
                self.assertEqual(client.ask(TEXT),
                                 engine.ask(TEXT).split(" ", 1)[1])
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    if shutil.which("ninja") is None or not (shutil.which("c++")
                                             or os.environ.get("CXX")):
        print("skipped: there is no ninja or no C++ compiler")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
