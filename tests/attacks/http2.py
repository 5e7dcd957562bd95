"""Frames of HTTP/2 (RFC 9113) written by hand, to send what no library would."""

import select
import socket
import struct
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, \
    WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS, ACK = 1, 4, 1
METHOD = "/trivium.v1.Inference/Translate"


def frame(kind, flags, stream, payload=b""):
    return (struct.pack(">I", len(payload))[1:] +
            struct.pack(">BBI", kind, flags, stream) + payload)


def text(value):
    """A string of HPACK without Huffman coding, of less than 127 bytes."""
    return bytes([len(value)]) + value.encode()


# The fields of a call, once in full (each is put into the table), then by
# their places in it: the last one in is 62.
FIRST_CALL = (b"\x83\x86" +  # :method POST, :scheme http
              b"\x44" + text(METHOD) +                # :path
              b"\x41" + text("attack") +              # :authority
              b"\x5f" + text("application/grpc") +    # content-type
              b"\x40" + text("te") + text("trailers"))
NEXT_CALL = b"\x83\x86\xc1\xc0\xbf\xbe"


def call_of(client, method=METHOD):
    """The fields of a client's call, none of which is put into the table."""
    return (b"\x83\x86" +
            b"\x04" + text(method) +
            b"\x01" + text("x") +
            b"\x0f\x10" + text("application/grpc") +
            b"\x00" + text("te") + text("trailers") +
            b"\x00" + text("x-client") + text(client))


class Connection:
    """A connection that has sent its preface; `acknowledge` says whether it
    takes the server's settings."""

    def __init__(self, address, acknowledge=True, settings=b""):
        host, port = address.split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=10)
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, settings))
        if acknowledge:
            self.read_settings()
            self.socket.sendall(frame(SETTINGS, ACK, 0))

    def read_settings(self):
        """The server's first frame; an error where it is none."""
        head = self._exactly(9)
        if head[3] != SETTINGS:
            raise ConnectionError("the server did not begin with SETTINGS")
        return self._exactly(int.from_bytes(head[:3], "big"))

    def _exactly(self, count):
        got = b""
        while len(got) < count:
            more = self.socket.recv(count - len(got))
            if not more:
                raise ConnectionError("the server has closed the connection")
            got += more
        return got

    def send(self, data, until):
        """Sends, until that time (time.monotonic), and throws away what the
        server has sent. The bytes that went; an OSError where the server has
        closed the connection."""
        view = memoryview(data)
        self.socket.setblocking(False)
        while view and time.monotonic() < until:
            readable, writable, _ = select.select(
                [self.socket], [self.socket], [], 0.1)
            if readable and not self.socket.recv(1 << 20):
                raise ConnectionError("the server has closed the connection")
            if writable:
                view = view[self.socket.send(view[:1 << 18]):]
        return len(data) - len(view)

    def wait_for_end(self, stream, seconds):
        """Reads until the server has ended a stream. Returns the streams that it
        has ended meanwhile, and those with data; a TimeoutError if that one has
        not ended in time."""
        until = time.monotonic() + seconds
        ended = set()
        with_data = set()
        while stream not in ended:
            self.socket.settimeout(max(0.001, until - time.monotonic()))
            head = self._exactly(9)
            payload = self._exactly(int.from_bytes(head[:3], "big"))
            if head[3] == PING and not head[4] & ACK:
                self.socket.sendall(frame(PING, ACK, 0, payload))
            if head[3] == DATA:
                with_data.add(int.from_bytes(head[5:9], "big"))
            if head[3] == RST_STREAM or (head[3] in (DATA, HEADERS) and
                                         head[4] & END_STREAM):
                ended.add(int.from_bytes(head[5:9], "big"))
        return ended, with_data

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
