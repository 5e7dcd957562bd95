"""Greedy clients with many calls at once, beside one honest client with one call
at a time: what the honest one waits for.

    /usr/bin/python3 tests/attacks/fairness.py \\
        build/release/bin/trivium-server model/embedded \\
        build/dev/tests/integration/python 4

Prints tables, and judges no times: what a call waits for besides its turn is the
iteration that runs. A greedy client sends its calls all at once, and again as
soon as all of them are answered. It runs at the lowest priority, so that it
takes few of the cores that the server needs.
"""

import multiprocessing
import os
import select
import selectors
import socket
import struct
import time

import attack
from http2 import (DATA, END_HEADERS, END_STREAM, HEADERS, WINDOW_UPDATE,
                   Connection, call_of, frame)

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


def grpc_call(kind, client):
    """A call's header block, and its message in pieces of a frame each."""
    method, words = KINDS[kind]
    field = attack.field(1, words) if method == "Translate" else words
    message = attack.field(2, field)
    message = b"\0" + len(message).to_bytes(4, "big") + message
    block = call_of(client, attack.INFERENCE + method)
    return block, [message[i:i + 16384] for i in range(0, len(message), 16384)]


def http_call(kind, client):
    """A call's request."""
    method, words = KINDS[kind]
    body = (b'{"inputs":[{"text":"%s"}]}' if method == "Translate"
            else b'{"texts":["%s"]}') % words
    return (b"POST %s%s HTTP/1.1\r\nHost: x\r\nx-client: %s\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            % (attack.INFERENCE.encode(), method.encode(), client.encode(),
               len(body))) + body


def count_ends(buffer):
    """Takes whole frames out of a bytearray; how many of them end a stream."""
    at = ends = 0
    while len(buffer) - at >= 9:
        size = int.from_bytes(buffer[at:at + 3], "big")
        if len(buffer) - at < 9 + size:
            break
        if buffer[at + 3] in (DATA, HEADERS) and buffer[at + 4] & END_STREAM:
            ends += 1
        at += 9 + size
    del buffer[:at]
    return ends


def exchange(sock, data, count, stop):
    """Sends data, and yields how many more streams have ended, until `count`
    have."""
    view = memoryview(data)
    buffer = bytearray()
    sock.setblocking(False)
    while count > 0 and not stop.is_set():
        readable, writable, _ = select.select(
            [sock], [sock] if view else [], [], 0.1)
        if writable:
            view = view[sock.send(view[:1 << 18]):]
        if readable:
            more = sock.recv(1 << 18)
            if not more:
                raise ConnectionError("the server has closed the connection")
            buffer += more
            ends = count_ends(buffer)
            count -= ends
            yield ends


def greedy_grpc(address, kind, client, count, stop, answered):
    """So many calls at once over one connection, until `stop`; adds up those
    that have ended."""
    block, pieces = grpc_call(kind, client)
    stream = 1
    # SETTINGS_INITIAL_WINDOW_SIZE
    with Connection(address, settings=struct.pack(">HI", 4, 1 << 30)) as it:
        it.socket.sendall(frame(WINDOW_UPDATE, 0, 0, WINDOW.to_bytes(4, "big")))
        while not stop.is_set():
            calls = bytearray()
            for _ in range(count):
                calls += frame(HEADERS, END_HEADERS, stream, block)
                for piece in pieces[:-1]:
                    calls += frame(DATA, 0, stream, piece)
                calls += frame(DATA, END_STREAM, stream, pieces[-1])
                stream += 2
            for ends in exchange(it.socket, bytes(calls), count, stop):
                with answered.get_lock():
                    answered.value += ends


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
             "--http-listen", "127.0.0.1:0")
    # So many greedy clients, with so many calls at once each.
    CROWDS = ((1, 800), (8, 100))

    def measure(self, protocol, kind, clients, calls):
        """Prints a row, and returns the honest client."""
        call, address, method = {
            "gRPC": (greedy_grpc, self.server.address, "Translate"),
            "HTTP": (greedy_http, self.server.http_address, "http")}[protocol]
        stop = multiprocessing.Event()
        answered = multiprocessing.Value("l", 0)
        processes = [
            multiprocessing.Process(target=run_greedy, args=(
                call, address, kind, f"greedy-{i}", calls, stop, answered))
            for i in range(clients)]
        for process in processes:
            process.start()
        try:
            give_up = time.monotonic() + 60
            while answered.value == 0:
                self.assertLess(time.monotonic(), give_up)
                time.sleep(0.01)
            with attack.HonestClient(address, method) as honest:
                time.sleep(attack.seconds())
        finally:
            stop.set()
            for process in processes:
                process.join()
        print(f"| {protocol} | {kind} | {clients} x {calls} "
              f"| {len(honest.seconds)} | {honest.percentile(50) * 1e3:.1f} "
              f"| {honest.percentile(99) * 1e3:.1f} "
              f"| {honest.lag() * 1e3:.1f} | {answered.value} |", flush=True)
        self.assertEqual(honest.errors, [])
        return honest

    def table(self, protocol):
        print("\n| over | greedy calls | clients x calls | honest calls "
              "| p50 ms | p99 ms | itself late ms | greedy calls answered |\n"
              "|---|---|---|---|---|---|---|---|", flush=True)
        for kind in KINDS:
            for clients, calls in self.CROWDS:
                self.measure(protocol, kind, clients, calls)

    def test_grpc(self):
        self.table("gRPC")

    def test_http(self):
        self.table("HTTP")


if __name__ == "__main__":
    attack.main()
