"""Attacks on the HTTP port, plain and with TLS: connections that drip, that read
nothing, that ask for what is not there, or for much; handshakes; more of them
than files may be open. An honest client of HTTP is answered meanwhile.

They come from 127.0.0.2, which is another client than 127.0.0.1."""

import gzip
import itertools
import json
import os
import pathlib
import resource
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request
import zlib

import attack
import shapes

HERE = ("127.0.0.2", 0)
NOTHING = b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"
LANGUAGES = b"GET /languages HTTP/1.1\r\nHost: x\r\n\r\n"
# A head without its end.
HEAD = b"POST /tokenize HTTP/1.1\r\nHost: x\r\n"


def post(path, value, client="attacker"):
    """A request of JSON."""
    body = json.dumps(value).encode()
    return (f"POST {path} HTTP/1.1\r\nHost: x\r\nx-client: {client}\r\n"
            "Content-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


class HttpAbuse(attack.Attack):
    SCHEME = "http"
    # The limit is of memory that is not backed by files; what is, the program
    # and its model, comes to 64 MB more.
    LIMIT_BYTES = attack.Attack.MOST_BYTES - (64 << 20)
    FLAGS = ("--http-listen", "127.0.0.1:0", "--stall-timeout", "2",
             "--client-key-header", "x-client",
             "--memory-limit-bytes", str(LIMIT_BYTES))

    def honest_client(self, method=None):
        return attack.HonestClient(self.server.http_address,
                                   method or self.SCHEME)

    def plain(self):
        """A connection, from another address than the honest client's."""
        host, _, port = self.server.http_address.rpartition(":")
        return socket.create_connection((host, int(port)), 10, HERE)

    def connect(self):
        return self.plain()

    def in_turns(self, attack_once, threads=4):
        """Calls it on threads for as long as a test attacks, beside an honest
        client; a connection that the server has ended is what it may do."""
        def run(_):
            while time.monotonic() < until:
                try:
                    attack_once(until)
                except OSError:
                    pass

        with self.honest_client() as honest:
            until = attack.deadline()
            attack.in_threads(threads, run)
        self.assert_unharmed(honest)

    def pipeline(self, request, until):
        """Many at a time, without waiting, and reads what comes."""
        many = 50
        with self.connect() as connection:
            while time.monotonic() < until:
                connection.sendall(request * many)
                answers = 0
                while answers < many:
                    data = connection.recv(1 << 16)
                    if not data:
                        return
                    answers += data.count(b"HTTP/1.1 ")

    def test_what_is_not_there(self):
        self.in_turns(lambda until: self.pipeline(NOTHING, until))

    def test_languages(self):
        self.in_turns(lambda until: self.pipeline(LANGUAGES, until))

    def test_drips(self):
        def drip(until):
            connections = []
            for i in range(50):
                connection = self.connect()
                body = post("/tokenize", {"inputs": "a" * 1000})
                connection.sendall(HEAD if i % 2 else body[:-900])
                connections.append(connection)
            while time.monotonic() < until:
                for i, connection in enumerate(connections):
                    connection.sendall(b"X: y\r\n" if i % 2 else b"a")
                time.sleep(0.1)
            for connection in connections:
                connection.close()

        self.in_turns(drip)

    def test_texts_to_tokenize(self):
        request = post("/tokenize", {"inputs": ["a b c d " * 12000] * 4})

        def ask(_):
            with self.connect() as connection:
                connection.sendall(request)
                while len(connection.recv(1 << 16)) == 1 << 16:
                    pass

        self.in_turns(ask)

    def test_bombs(self):
        def bomb(data, encoding=b"gzip"):
            return (b"POST /tokenize HTTP/1.1\r\nHost: x\r\n"
                    b"x-client: attacker\r\nContent-Type: application/json\r\n"
                    b"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n"
                    % (encoding, len(data))) + data

        zeros = gzip.compress(bytes(256 << 20), 9)
        requests = itertools.cycle([
            bomb(zeros), bomb(zeros[:4000]), bomb(zlib.compress(bytes(64 << 20)),
                                                  b"deflate"),
            bomb(gzip.compress(zeros)), bomb(zeros[:100] + b"garbage" * 100),
            bomb(gzip.compress(b"") * 10000)])

        def ask(_):
            with self.connect() as connection:
                connection.sendall(next(requests))
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):
                    pass

        self.in_turns(ask)

    def test_answers_that_nobody_reads(self):
        request = post("/tokenize", {"inputs": "a b c d " * 12000})
        connections = []

        def ask(_):
            connection = self.connect()
            connections.append(connection)
            connection.sendall(request)
            time.sleep(0.01)

        self.in_turns(ask)
        # They are broken off.
        self.wait_for(lambda: sum(
            value for name, value in self.server.metrics().items()
            if name.startswith("trivium_held_bytes")) == 0)
        for connection in connections:
            connection.close()

    def test_connections_that_say_nothing(self):
        connections = []

        def stay(_):
            connections.append(self.plain())
            time.sleep(0.002)

        self.in_turns(stay)
        for connection in connections:
            connection.close()


class HttpsAbuse(HttpAbuse):
    SCHEME = "https"

    @classmethod
    def setUpClass(cls):
        cls._files = tempfile.TemporaryDirectory()
        key, certificate = (os.path.join(cls._files.name, name)
                            for name in ("key.pem", "certificate.pem"))
        try:
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                 "/CN=localhost", "-keyout", key, "-out", certificate],
                check=True, stderr=subprocess.DEVNULL)
        except FileNotFoundError:
            raise unittest.SkipTest("this needs openssl")
        cls.FLAGS = HttpAbuse.FLAGS + ("--tls-certificate", certificate,
                                       "--tls-key", key)
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls._files.cleanup()

    def connect(self):
        return ssl._create_unverified_context().wrap_socket(self.plain())

    def test_handshakes(self):
        def shake(_):
            self.connect().close()

        self.in_turns(shake)

    def test_what_is_no_handshake(self):
        def shout(_):
            with self.plain() as connection:
                connection.sendall(NOTHING)
                connection.recv(1 << 16)

        self.in_turns(shout)


class HttpProxy(attack.Attack):
    """A proxy: all calls come from one address, each on a connection of its own,
    and a header tells clients apart. One client's slow requests would take all
    connections that an address may have; another's are answered."""
    OF_ADDRESS = 64
    SLOW = OF_ADDRESS + 16
    FLAGS = ("--http-listen", "127.0.0.1:0", "--client-key-header", "x-client",
             "--max-connections", str(2 * OF_ADDRESS))
    # A request is slow after a second, and would be ended after 30.
    MOST_SECONDS = 15
    HONEST = post(attack.INFERENCE + "Translate",
                  {"inputs": [{"text": "I ate an apple."}]}, "honest")

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as scratch:
            chat = pathlib.Path(scratch, "chat")
            shapes.make_chat_model(chat)
            cls.FLAGS += ("--model", f"chat={chat}")
            super().setUpClass()

    def connect(self):
        connection = socket.socket()
        connection.settimeout(30)
        # So that it holds little that was sent and not read.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        host, _, port = self.server.http_address.rpartition(":")
        connection.connect((host, int(port)))
        return connection

    def hold(self, request, go_on, over):
        """Keeps SLOW connections on which `request` was sent; `go_on(connection)`
        now and then. One that the server ends is opened again."""
        connections = []
        while not over.wait(0.1):
            for each in list(connections):
                try:
                    go_on(each)
                except OSError:
                    each.close()
                    connections.remove(each)
            while len(connections) < self.SLOW:
                try:
                    connections.append(self.connect())
                    connections[-1].sendall(request)
                except OSError:
                    pass  # the next round drops it
        for each in connections:
            each.close()

    def ask(self):
        """One call of the honest client, tried again while there is no room for
        its connection."""
        answer = b""

        def answered():
            nonlocal answer
            try:
                with self.connect() as connection:
                    connection.sendall(self.HONEST)
                    answer = connection.recv(1 << 16)
            except OSError:
                answer = b""
            return answer.startswith(b"HTTP/1.1 200")

        self.wait_for(answered, lambda: answer)

    def slowly(self, request, go_on):
        """Holds slow requests beside the honest client."""
        evicted = 'trivium_connections_ended_total{reason="evicted"}'
        before = self.server.metrics()[evicted]
        over = threading.Event()
        slow = threading.Thread(target=self.hold, args=(request, go_on, over))
        slow.start()
        try:
            # Its connections are full, and the first ones go.
            self.wait_for(lambda: self.server.metrics()[evicted] > before)
            seconds = []
            until = attack.deadline()
            while not seconds or time.monotonic() < until:
                begin = time.monotonic()
                self.ask()
                seconds.append(time.monotonic() - begin)
        finally:
            over.set()
            slow.join()
        print(f"{self.id()}: {len(seconds)} honest calls, the slowest "
              f"{max(seconds):.2f} s; the server's peak "
              f"{self.server.peak_bytes() / 1e6:.0f} MB", flush=True)
        self.assertLess(max(seconds), self.MOST_SECONDS)
        self.wait_for(lambda: sum(
            value for name, value in self.server.metrics().items()
            if name.startswith("trivium_held_bytes")) == 0)

    def test_slow_bodies(self):
        self.slowly(post("/tokenize", {"inputs": "a" * 1000})[:-900],
                    lambda connection: connection.sendall(b"a"))

    def stream(self):
        """A stream of more bytes than sockets hold."""
        return post("/v1/chat/completions", {
            "model": "chat", "messages": shapes.USER, "stream": True,
            "max_tokens": 400, "min_tokens": 400, "logprobs": True,
            "top_logprobs": 20})

    def test_streams_read_byte_by_byte(self):
        def read(connection):
            if not connection.recv(1):
                raise OSError("ended")

        self.slowly(self.stream(), read)

    def test_streams_that_are_not_read(self):
        def look(connection):
            if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                raise OSError("ended")

        self.slowly(self.stream(), look)


class HttpFiles(attack.Attack):
    """More connections than the server may open files for."""
    FLAGS = HttpAbuse.FLAGS
    FILES = 512
    IDLE = 600

    @classmethod
    def setUpClass(cls):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if most < 4 * cls.IDLE:
            raise unittest.SkipTest(f"this needs {4 * cls.IDLE} open files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (4 * cls.IDLE, most))
        super().setUpClass()
        # When it runs: so it has not counted its connections by the limit.
        resource.prlimit(cls.server.process.pid, resource.RLIMIT_NOFILE,
                         (cls.FILES, cls.FILES))

    def ready(self):
        try:
            with urllib.request.urlopen(
                    f"http://{self.server.metrics_address}/readyz",
                    timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False  # 503, or no file left for the question

    def answers(self):
        """Whether a new client of HTTP is answered."""
        host, _, port = self.server.http_address.rpartition(":")
        try:
            with socket.create_connection((host, int(port)), 2) as connection:
                connection.sendall(NOTHING)
                return connection.recv(9) == b"HTTP/1.1 "
        except OSError:
            return False

    def test_idle_connections(self):
        host, _, port = self.server.http_address.rpartition(":")
        self.wait_for(self.ready)
        with attack.HonestClient(self.server.http_address, "http") as honest:
            idle = []
            for _ in range(self.IDLE):
                try:
                    idle.append(socket.create_connection((host, int(port)), 2,
                                                         HERE))
                except OSError:
                    pass
            until = attack.deadline()
            # A probe's word is a second or two old.
            self.wait_for(lambda: self.ready() == self.answers())
            while time.monotonic() < until:
                time.sleep(0.1)
            for connection in idle:
                connection.close()
            self.wait_for(self.answers)
            self.wait_for(self.ready)
        self.assertEqual(len(idle), self.IDLE)
        self.assert_unharmed(honest)


if __name__ == "__main__":
    attack.main()
