"""Answers that nobody reads: calls on connections whose windows are closed. They
are given up after --stall-timeout, and what they held is free. And a log that
nobody reads."""

import os
import struct
import time
import unittest

import attack
from http2 import (DATA, END_HEADERS, END_STREAM, FIRST_CALL, HEADERS,
                   NEXT_CALL, WINDOW_UPDATE, Connection, call_of, frame)

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

    def test_a_client_of_a_proxy_that_reads_byte_by_byte(self):
        """A connection of two clients, one of which takes a byte of each of its
        answers at a time. The other does not wait, and the answers are given up
        in the end."""
        def call(stream, client):
            text = attack.field(2, attack.field(1, b"I ate an apple."))
            return (frame(HEADERS, END_HEADERS, stream, call_of(client)) +
                    frame(DATA, END_STREAM, stream,
                          b"\0" + struct.pack(">I", len(text)) + text))

        def window(stream, count):
            return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", count))

        slow = set(range(1, 2 * CALLS, 2))
        stream = 2 * CALLS + 1
        seconds = []
        with Connection(self.server.address, settings=CLOSED) as proxy:
            for each in sorted(slow):
                proxy.socket.sendall(call(each, "attacker"))
            until = attack.deadline()
            while not seconds or time.monotonic() < until:
                proxy.socket.sendall(b"".join(window(each, 1) for each in slow))
                begin = time.monotonic()
                proxy.socket.sendall(call(stream, "honest") +
                                     window(stream, 1 << 15))
                ended, with_data = proxy.wait_for_end(
                    stream, self.PATIENCE_SECONDS)
                self.assertIn(stream, with_data)
                slow -= ended
                seconds.append(time.monotonic() - begin)
                stream += 2
                time.sleep(0.02)
            self.wait_for(lambda: self.held() < 1000)
        print(f"{self.id()}: {len(seconds)} honest calls, the slowest "
              f"{max(seconds) * 1e3:.1f} ms", flush=True)
        self.assertLess(max(seconds), self.MOST_SECONDS * self.slowness
                        * self.others.slows_by())


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
