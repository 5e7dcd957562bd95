"""More than the memory holds: under --memory-limit-bytes, 400 requests of 4 MB
at once, 60,000 calls without a message, and streams of large results that nobody
reads. An honest client's small calls are answered meanwhile, and what was held
goes back to the system."""

import threading
import time

import attack
import grpc
from http2 import (DATA, END_HEADERS, END_STREAM, FIRST_CALL, HEADERS,
                   NEXT_CALL, Connection, call_of, frame)
from trivium.v1 import inference_pb2

LIMIT = 512 << 20
CONNECTIONS = 4
CALLS = 400
# What it takes to send them all.
SENDING_SECONDS = 8
# The server without anything held for clients, its caches of keys and values,
# and what is not worth a trim.
PEACE = (128 << 20) + LIMIT // 4 + (64 << 20)


def channel(address):
    """A connection of its own."""
    return grpc.insecure_channel(
        address, options=[("grpc.use_local_subchannel_pool", 1)])


class Memory(attack.Attack):
    # Another client than the honest one.
    FLAGS = ("--memory-limit-bytes", str(LIMIT), "--stall-timeout", "2",
             "--client-key-header", "x-client")
    KEY = (("x-client", "attacker"),)
    # Texts that are being tokenized grow between two looks at the memory, on a
    # slow machine by more than on a fast one: peaks of 519 to 580 MB were seen on
    # two cores without VNNI, of 490 to 503 MB on others.
    MOST_BYTES = LIMIT + (96 << 20)

    def held(self):
        return {name: value for name, value in self.server.metrics().items()
                if name.startswith("trivium_held_bytes")}

    def actions(self):
        return {name: value for name, value in self.server.metrics().items()
                if name.startswith("trivium_overload_actions_total")}

    def wait_for_peace(self):
        self.wait_for(lambda: sum(self.held().values()) == 0 and
                      self.server.resident_bytes() <= PEACE,
                      lambda: (self.held(), self.server.resident_bytes()))

    def test_large_requests(self):
        # Who gets so far has more sentences than a call may have.
        self.assertLessEqual(self.flood(inference_pb2.SPLIT_UNSPECIFIED),
                             {"OK", "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED",
                              "CANCELLED"})

    def test_large_requests_of_one_sentence_each(self):
        # DEADLINE_EXCEEDED is a refusal at once: a slow machine would not answer
        # them all in a call's 60 s.
        self.assertLessEqual(self.flood(inference_pb2.SPLIT_NONE),
                             {"OK", "RESOURCE_EXHAUSTED", "CANCELLED",
                              "DEADLINE_EXCEEDED"})

    def test_large_requests_that_never_come_beside_others_of_a_proxy(self):
        """A connection of two clients. One announces more than there is room for,
        in requests large and small, and sends a byte of each at a time: the
        other, which calls for the first time, neither waits for it nor is
        refused."""
        def refused():
            return self.actions()['trivium_overload_actions_total{action="refused"}']

        before = refused()
        text = attack.field(2, attack.field(1, b"I ate an apple."))
        honest = b"\0" + len(text).to_bytes(4, "big") + text
        sizes = [4 << 20] * 110 + [16 << 10] * 5
        first = 2 * len(sizes) + 1
        greedy = set(range(1, first, 2))
        stream = first
        slowest = 0
        with Connection(self.server.address) as proxy:
            for each, size in zip(sorted(greedy), sizes):
                proxy.socket.sendall(
                    frame(HEADERS, END_HEADERS, each, call_of("attacker")) +
                    frame(DATA, 0, each, b"\0" + size.to_bytes(4, "big") + b"x"))
            until = attack.deadline()
            while time.monotonic() < until:
                begin = time.monotonic()
                proxy.socket.sendall(
                    frame(HEADERS, END_HEADERS, stream, call_of("honest")) +
                    frame(DATA, END_STREAM, stream, honest))
                ended, with_data = proxy.wait_for_end(
                    stream, self.PATIENCE_SECONDS)
                self.assertIn(stream, with_data)
                greedy -= ended
                slowest = max(slowest, time.monotonic() - begin)
                stream += 2
                for each in greedy:
                    proxy.socket.sendall(frame(DATA, 0, each, b"x"))
                time.sleep(0.05)
        print(f"{self.id()}: {(stream - first) // 2} honest calls, the slowest "
              f"{slowest * 1e3:.1f} ms; {refused() - before:.0f} refused", flush=True)
        self.assertGreater(refused(), before)
        self.assertLess(slowest, self.MOST_SECONDS * self.slowness
                        * self.others.slows_by())
        self.wait_for_peace()

    def flood(self, split):
        """400 requests of 4 MB at once beside an honest client; the codes that
        came back."""
        request = inference_pb2.TranslateRequest()
        request.options.split = split
        for _ in range(4):
            request.inputs.add().text = "An apple. " * 104000
        request.options.truncate = True
        # So that they wait for long.
        request.options.decoding.beam_size = 1
        request.options.decoding.min_new_tokens = 200
        request.options.decoding.max_new_tokens = 200
        payload = request.SerializeToString()
        codes = {}

        def run(_):
            with channel(self.server.address) as connection:
                call = connection.unary_unary(attack.INFERENCE + "Translate")
                calls = [call.future(payload, timeout=60, metadata=self.KEY)
                         for _ in range(CALLS // CONNECTIONS)]
                time.sleep(max(0, until - time.monotonic()))
                for future in calls:
                    future.cancel()
                for future in calls:
                    code = "CANCELLED" if future.cancelled() else \
                        future.code().name
                    codes[code] = codes.get(code, 0) + 1

        before = self.actions()
        with self.honest_client() as honest:
            until = attack.deadline() + SENDING_SECONDS
            attack.in_threads(CONNECTIONS, run)
        actions = {name: value - before[name]
                   for name, value in self.actions().items()}
        print(f"{self.id()}: {codes}, {actions}", flush=True)
        # Without its bounds the server would hold them all.
        self.assertGreater(sum(actions.values()), 0)
        self.assert_unharmed(honest)
        self.wait_for_peace()
        return set(codes)

    def test_calls_without_a_message(self):
        calls = b"".join(frame(HEADERS, END_HEADERS, 2 * i + 1,
                               NEXT_CALL if i else FIRST_CALL)
                         for i in range(1000))
        before = self.server.resident_bytes()
        with self.honest_client() as honest:
            connections = [Connection(self.server.address) for _ in range(60)]
            for connection in connections:
                connection.send(calls, time.monotonic() + 10)
            time.sleep(1 + attack.seconds())
        grown = self.server.resident_bytes() - before
        for connection in connections:
            connection.close()
        print(f"{self.id()}: {grown / 1e6:.0f} MB more", flush=True)
        self.assertLess(grown, LIMIT / 4)
        self.assert_unharmed(honest)
        self.wait_for_peace()

    def test_large_stream_items(self):
        start = inference_pb2.TranslateStreamRequest()
        start.start.options.split = inference_pb2.SPLIT_NONE
        start.start.options.truncate = True
        # So that they wait for long.
        start.start.options.decoding.beam_size = 8
        start.start.options.decoding.min_new_tokens = 400
        start.start.options.decoding.max_new_tokens = 400
        item = inference_pb2.TranslateStreamRequest()
        item.item.input.text = "An apple. " * 100000
        payload = item.SerializeToString()
        over = threading.Event()

        def requests():
            yield start.SerializeToString()
            while not over.is_set():
                yield payload

        most = 0
        with self.honest_client() as honest, \
                channel(self.server.address) as connection:
            call = connection.stream_stream(
                attack.INFERENCE + "TranslateStream")
            until = attack.deadline() + 2
            streams = [call(requests(), timeout=60, metadata=self.KEY)
                       for _ in range(4)]
            while time.monotonic() < until:
                most = max(most, self.held()[
                    'trivium_held_bytes{kind="requests"}'])
                time.sleep(0.05)
            over.set()
            for stream in streams:
                stream.cancel()
        print(f"{self.id()}: at most {most / 1e6:.1f} MB held", flush=True)
        # Of each stream: 4 MiB, and the item that was more than that.
        self.assertGreater(most, 4 << 20)
        self.assertLess(most, 4 * 5.2 * (1 << 20))
        self.assert_unharmed(honest)
        self.wait_for_peace()

    def test_unread_streams(self):
        start = inference_pb2.TranslateStreamRequest()
        start.start.options.tokens = True
        start.start.options.cross_attention.SetInParent()
        start.start.options.decoder_attention.SetInParent()
        # One result alone could be larger than what a stream is to hold.
        start.start.options.decoding.max_new_tokens = 32
        item = inference_pb2.TranslateStreamRequest()
        item.item.input.text = "I ate an apple, and then another one. " * 4
        over = threading.Event()

        def requests():
            yield start.SerializeToString()
            while not over.wait(0.0002):
                yield item.SerializeToString()

        most = 0
        with self.honest_client() as honest, \
                channel(self.server.address) as connection:
            call = connection.stream_stream(
                attack.INFERENCE + "TranslateStream")
            until = attack.deadline() + 1
            streams = [call(requests(), timeout=60, metadata=self.KEY) for _ in range(2)]
            while time.monotonic() < until:
                most = max(most, sum(self.held().values()))
                time.sleep(0.05)
            over.set()
            for stream in streams:
                stream.cancel()
        print(f"{self.id()}: at most {most / 1e6:.1f} MB held", flush=True)
        # Of each stream: an outbox and what is on its way.
        self.assertGreater(most, 0)
        self.assertLess(most, 8 << 20)
        self.assert_unharmed(honest)
        self.wait_for_peace()


class ManyCalls(attack.Attack):
    """With memory for 65,536 open calls."""
    MOST_BYTES = 1 << 30
    FLAGS = ("--memory-limit-bytes", str(8 << 30), "--client-key-header",
             "x-client")

    def test_begun_and_ended_at_once(self):
        calls = b"".join(frame(HEADERS, END_HEADERS, 2 * i + 1,
                               NEXT_CALL if i else FIRST_CALL)
                         for i in range(1000))
        with self.honest_client() as honest:
            connections = [Connection(self.server.address) for _ in range(60)]
            for connection in connections:
                connection.send(calls, time.monotonic() + 10)
            time.sleep(2 + attack.seconds())
            for connection in connections:
                connection.close()
            time.sleep(1 + attack.seconds())
        self.assert_unharmed(honest)
        # No call, either: one alone would wait for them all.
        self.assertLess(max(honest.seconds), self.MOST_SECONDS * self.slowness
                        * self.others.slows_by() + self.LAGS * max(honest.lags))


attack.main()
