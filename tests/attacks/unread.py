"""Answers that nobody reads: calls on connections whose windows are closed. They
are given up after --stall-timeout, and what they held is free. And a log that
nobody reads."""

import os
import struct
import time
import unittest

import attack
from http2 import (DATA, END_HEADERS, END_STREAM, FIRST_CALL, HEADERS,
                   NEXT_CALL, Connection, frame)

CONNECTIONS = 4
CALLS = 200
# SETTINGS_INITIAL_WINDOW_SIZE: 0
CLOSED = struct.pack(">HI", 4, 0)


class Unread(attack.Attack):
    # The attackers' calls are work like any other's, of another client than
    # the honest one's, who waits for its share of it and no longer.
    FLAGS = ("--stall-timeout", "1", "--client-key-header", "x-client")

    def held(self):
        """Bytes of responses that the server has made and nobody has taken."""
        return self.server.metrics()['trivium_held_bytes{kind="responses"}']

    def test_closed_windows(self):
        # A TranslateRequest of four texts.
        text = attack.field(2, attack.field(1, b"I ate an apple."))
        message = text * 4
        body = b"\0" + struct.pack(">I", len(message)) + message
        calls = b"".join(
            frame(HEADERS, END_HEADERS, 2 * i + 1,
                  NEXT_CALL if i else FIRST_CALL) +
            frame(DATA, END_STREAM, 2 * i + 1, body) for i in range(CALLS))
        with self.honest_client() as honest:
            until = attack.deadline()
            while True:
                connections = [Connection(self.server.address, settings=CLOSED)
                               for _ in range(CONNECTIONS)]
                for connection in connections:
                    connection.send(calls, time.monotonic() + 10)
                # More than the honest client's answer; a slow machine makes
                # no more before the first ones are given up.
                self.wait_for(lambda: self.held() > 1000)
                # The connections stay, their calls do not.
                self.wait_for(lambda: self.held() < 1000)
                for connection in connections:
                    connection.close()
                if time.monotonic() > until:
                    break
        self.assert_unharmed(honest)


class UnreadLog(unittest.TestCase):
    def test_the_end_waits_for_nobody(self):
        reading, writing = os.pipe()
        try:
            server = attack.start_server(("--drain-timeout", "0.5"), writing)
            self.addCleanup(server.process.kill)
            os.set_blocking(writing, False)
            try:
                while True:
                    os.write(writing, b"x" * 4096)
            except BlockingIOError:
                os.set_blocking(writing, True)
            code, seconds = server.stop()
        finally:
            os.close(reading)
            os.close(writing)
        self.assertEqual(code, 0)
        # Nothing ran: it is over at once, but for what a busy machine adds.
        self.assertLess(seconds, 5)


attack.main()
