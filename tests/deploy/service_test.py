"""Tests the server as a systemd service: it notifies systemd when it is ready and when
it stops.

service_test.py SERVER MODEL
"""

import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

SERVER, MODEL = sys.argv[1:3]


class ServiceTest(unittest.TestCase):
    def test_it_tells_the_service_manager(self):
        with tempfile.TemporaryDirectory() as folder:
            path = str(pathlib.Path(folder) / "notify")
            ports = pathlib.Path(folder) / "ports"
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                manager.bind(path)
                manager.settimeout(60)
                server = subprocess.Popen(
                    [SERVER, "--listen", "127.0.0.1:0", "--metrics-listen",
                     "off", "--port-file", ports, MODEL],
                    env={"NOTIFY_SOCKET": path})
                try:
                    self.assertEqual(manager.recv(1000), b"READY=1")
                    # The server is ready when it says so.
                    port = int(ports.read_text().split()[1])
                    socket.create_connection(("127.0.0.1", port), 60).close()
                    server.send_signal(signal.SIGTERM)
                    self.assertEqual(manager.recv(1000), b"STOPPING=1")
                    self.assertEqual(server.wait(60), 0)
                finally:
                    server.kill()
                    server.wait()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
