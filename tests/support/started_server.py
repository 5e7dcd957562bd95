"""A server that a test starts: it gets ready in time, and ends with the test.

    sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
    from started_server import ports_of

    process = subprocess.Popen([server, "--port-file", path, ...])
    address = "127.0.0.1:" + ports_of(process, path)["grpc"]
"""

import atexit
import pathlib
import time

MOST_SECONDS = 60


def ports_of(process, port_file):
    """{"grpc": PORT, ...}: what the server writes to its --port-file when it is ready.
    Raises SystemExit if it ends before, or is not ready in time. A server that is still
    there when this program ends is killed: it would hold the program's output open, and
    who waits for the end of that would wait for ever."""
    atexit.register(process.kill)
    path = pathlib.Path(port_file)
    give_up = time.monotonic() + MOST_SECONDS
    # The file gets its name when it is complete.
    while not path.exists():
        if process.poll() is not None:
            raise SystemExit(f"the server ended with {process.returncode}")
        if time.monotonic() > give_up:
            raise SystemExit(f"the server was not ready within {MOST_SECONDS} s")
        time.sleep(0.01)
    return dict(line.split(" ", 1) for line in path.read_text().splitlines())
