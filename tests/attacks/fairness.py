"""Greedy clients with many calls at once, beside one honest client with one call
at a time: what the honest one waits for.

    /usr/bin/python3 tests/attacks/fairness.py \\
        build/release/bin/trivium-server model/embedded \\
        build/dev/tests/integration/python 4

Prints a table. A greedy client sends its calls all at once, and again as soon as
all of them are answered. It runs at the lowest priority, so that it takes few of
the cores that the server needs.
"""

import multiprocessing
import os
import selectors
import socket
import time

import attack
from http2 import (DATA, END_HEADERS, END_STREAM, HEADERS, SETTINGS,
                   WINDOW_UPDATE, Connection, frame, text)

WINDOW = (1 << 31) - 1 - 65535
SENTENCE = b"Tom bought a red car in Boston. "
# The calls of a greedy client: its method over gRPC and its texts' bytes. Up to
# 2,048 bytes are tokenized on the transport's threads.
KINDS = {
    "sentences": ("Translate", SENTENCE[:-1]),
    "texts": ("Translate", SENTENCE * 60),
    "long texts": ("Translate", SENTENCE * 600),
    "tokens": ("Tokenize", SENTENCE * 60),
    "many tokens": ("Tokenize", SENTENCE * 600),
}


def grpc_calls(kind, client, count):
    """The frames of so many calls on one connection."""
    method, words = KINDS[kind]
    field = attack.field(1, words) if method == "Translate" else words
    message = attack.field(2, field)
    message = b"\0" + len(message).to_bytes(4, "big") + message
    block = (b"\x83\x86" +
             b"\x04" + text(attack.INFERENCE + method) +
             b"\x01" + text("x") +
             b"\x0f\x10" + text("application/grpc") +
             b"\x00" + text("te") + text("trailers") +
             b"\x00" + text("x-client") + text(client))
    return block, [message[i:i + 16384] for i in range(0, len(message), 16384)]


def http_call(kind, client):
    method, words = KINDS[kind]
    body = (b'{"inputs":[{"text":"%s"}]}' if method == "Translate"
            else b'{"texts":["%s"]}') % words
    return (b"POST %s%s HTTP/1.1\r\nHost: x\r\nx-client: %s\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            % (attack.INFERENCE.encode(), method.encode(), client.encode(),
               len(body))) + body


def greedy_grpc(address, kind, client, count, stop, answered):
    """Calls over one connection until `stop`; adds up those that were answered."""
    block, pieces = grpc_calls(kind, client, count)
    stream = 1
    with Connection(address, settings=b"\0\x04" + (1 << 30).to_bytes(4, "big")) \
            as connection:
        sock = connection.socket
        sock.sendall(frame(WINDOW_UPDATE, 0, 0, WINDOW.to_bytes(4, "big")))
        while not stop.is_set():
            calls = bytearray()
            for _ in range(count):
                calls += frame(HEADERS, END_HEADERS, stream, block)
                for i, piece in enumerate(pieces):
                    calls += frame(
                        DATA, END_STREAM if i + 1 == len(pieces) else 0,
                        stream, piece)
                stream += 2
            left = count
            view = memoryview(bytes(calls))
            sock.setblocking(False)
            buffer = bytearray()
            with selectors.DefaultSelector() as selector:
                selector.register(sock, selectors.EVENT_READ |
                                  selectors.EVENT_WRITE)
                while left > 0 and not stop.is_set():
                    for _, events in selector.select(0.1):
                        if events & selectors.EVENT_WRITE:
                            try:
                                view = view[sock.send(view[:1 << 18]):]
                            except BlockingIOError:
                                pass
                            if not view:
                                selector.modify(sock, selectors.EVENT_READ)
                        if events & selectors.EVENT_READ:
                            data = sock.recv(1 << 18)
                            if not data:
                                raise ConnectionError("closed")
                            buffer += data
                            at = 0
                            while len(buffer) - at >= 9:
                                size = int.from_bytes(buffer[at:at + 3], "big")
                                if len(buffer) - at < 9 + size:
                                    break
                                kind_, flags = buffer[at + 3], buffer[at + 4]
                                if kind_ in (DATA, HEADERS) and \
                                        flags & END_STREAM:
                                    left -= 1
                                    with answered.get_lock():
                                        answered.value += 1
                                at += 9 + size
                            del buffer[:at]


def greedy_http(address, kind, client, count, stop, answered):
    """The same over as many connections."""
    host, port = address.split(":")
    request = http_call(kind, client)
    selector = selectors.DefaultSelector()
    sockets = []
    for _ in range(count):
        one = socket.create_connection((host, int(port)), 10, ("127.0.0.2", 0))
        one.setblocking(False)
        selector.register(one, selectors.EVENT_READ)
        sockets.append(one)
    while not stop.is_set():
        for one in sockets:
            one.setblocking(True)
            one.sendall(request)
            one.setblocking(False)
        left = count
        while left > 0 and not stop.is_set():
            for key, _ in selector.select(0.1):
                data = key.fileobj.recv(1 << 20)
                if not data:
                    raise ConnectionError("closed")
                # An answer has one end, in its last piece.
                if data.endswith(b"}") or data.endswith(b"\n"):
                    left -= 1
                    with answered.get_lock():
                        answered.value += 1


def run_greedy(call, *arguments):
    os.nice(19)
    call(*arguments)


class Fairness(attack.Attack):
    FLAGS = ("--log-level", "warn", "--client-key-header", "x-client",
             "--http-listen", "127.0.0.1:0", *os.environ.get("FLAGS", "").split())

    def measure(self, protocol, kind, clients, calls, honest_method):
        call, address = {
            "gRPC": (greedy_grpc, self.server.address),
            "HTTP": (greedy_http, self.server.http_address)}[protocol]
        honest_address = (self.server.http_address if honest_method == "http"
                          else self.server.address)
        stop = multiprocessing.Event()
        answered = multiprocessing.Value("l", 0)
        processes = [
            multiprocessing.Process(target=run_greedy, args=(
                call, address, kind, f"greedy-{i}", calls, stop, answered))
            for i in range(clients)]
        for process in processes:
            process.start()
        time.sleep(0.5)
        with attack.HonestClient(honest_address, honest_method) as honest:
            time.sleep(attack.seconds())
        stop.set()
        for process in processes:
            process.join()
        print(f"| {protocol} | {kind} | {clients} x {calls} | {honest_method} | "
              f"{len(honest.seconds)} | {honest.percentile(50) * 1e3:.1f} | "
              f"{honest.percentile(99) * 1e3:.1f} | "
              f"{honest.percentile(100) * 1e3:.1f} | {honest.lag() * 1e3:.1f} | "
              f"{answered.value} | {len(honest.errors)} {honest.errors[:1]}", flush=True)

    def test_table(self):
        print()
        only = os.environ.get("ONLY")
        for protocol in os.environ.get("PROTOCOLS", "gRPC HTTP").split():
            for kind in KINDS:
                if only and only not in f"{protocol} {kind}": continue
                for clients, calls in ((1, 800), (8, 100)):
                    self.measure(protocol, kind, clients, calls,
                                 "Translate" if protocol == "gRPC" else "http")


if __name__ == "__main__":
    attack.main()
