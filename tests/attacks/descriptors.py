"""Idle connections, more than the server may open files for, then none: it is
never deaf for longer than it says."""

import resource
import time
import unittest
import urllib.error
import urllib.request

import attack
from http2 import Connection

FILES = 1024
IDLE = 1100


class Descriptors(attack.Attack):
    @classmethod
    def setUpClass(cls):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if most < 2 * IDLE:
            print(f"skipped: this needs {2 * IDLE} open files (ulimit -Hn)")
            raise unittest.SkipTest("open files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (2 * IDLE, most))
        super().setUpClass()
        # When it runs: so it has not counted its connections by the limit.
        resource.prlimit(cls.server.process.pid, resource.RLIMIT_NOFILE,
                         (FILES, FILES))

    def ready(self):
        try:
            with urllib.request.urlopen(
                    f"http://{self.server.metrics_address}/readyz",
                    timeout=5) as answer:
                return answer.status == 200
        except urllib.error.HTTPError as error:
            self.assertEqual(error.code, 503)
            return False

    def greets(self):
        """Whether a new client is heard."""
        try:
            with Connection(self.server.address):
                return True
        except OSError:
            return False

    def test_idle_connections(self):
        idle = []
        with self.honest_client() as honest:
            until = attack.deadline()
            for _ in range(IDLE):
                try:
                    idle.append(Connection(self.server.address,
                                           acknowledge=False))
                except OSError:
                    pass
            while time.monotonic() < until:
                # A probe's word is a second or two old.
                if not self.ready():
                    self.wait_for(lambda: self.ready() == self.greets())
                self.assertTrue(self.greets() or not self.ready())
            for connection in idle:
                connection.close()
            self.wait_for(self.greets)
            self.wait_for(self.ready)
        self.assertEqual(len(idle), IDLE)
        self.assert_unharmed(honest)


attack.main()
