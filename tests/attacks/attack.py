"""What the attacks share: a server, an honest client beside the attackers, and
what it may come to feel. They speak only to the server that they start.

    import attack

    class MyAttack(attack.Attack):
        def test_it(self):
            with self.honest_client() as honest:
                until = attack.deadline()
                while time.monotonic() < until:
                    ...  # attack self.server.address
            self.assert_unharmed(honest)

    attack.main()

An attack is run as `NAME.py SERVER MODEL STUBS [SECONDS [TEST...]]`: the
server's program, the embedded model, protoc's Python stubs, how long each test
attacks (1 second where not given), and which tests (all).
"""

import contextlib
import http.client
import json
import math
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))

from started_server import ports_of  # noqa: E402

INFERENCE = "/trivium.v1.Inference/"


class Server:
    """A trivium-server on ports of its own, with the embedded model "en-de"."""

    def __init__(self, program, model, flags=(), stderr=None):
        self._folder = tempfile.TemporaryDirectory()
        ports = os.path.join(self._folder.name, "ports")
        if "--http-listen" not in flags:
            flags = (*flags, "--http-listen", "off")
        self.process = subprocess.Popen(
            [program, "--listen", "127.0.0.1:0", "--metrics-listen",
             "127.0.0.1:0", "--port-file", ports, "--model", "en-de=" + model,
             *flags], stderr=stderr)
        ports = ports_of(self.process, ports)
        self.address = "127.0.0.1:" + ports["grpc"]
        self.metrics_address = "127.0.0.1:" + ports["metrics"]
        self.http_address = "127.0.0.1:" + ports.get("http", "0")

    @staticmethod
    def _read(path):
        try:
            with open(path, encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def peak_bytes(self):
        """The most memory that the server has held."""
        return self._status_bytes("VmHWM:")

    def resident_bytes(self):
        """The memory that it holds now."""
        return self._status_bytes("VmRSS:")

    def _status_bytes(self, field):
        for line in self._read(f"/proc/{self.process.pid}/status").splitlines():
            if line.startswith(field):
                return int(line.split()[1]) << 10
        raise AssertionError("the server has ended")

    def metrics(self):
        """Its figures: {'trivium_held_bytes{kind="requests"}': 0.0, ...}."""
        with urllib.request.urlopen(
                f"http://{self.metrics_address}/metrics", timeout=60) as page:
            lines = page.read().decode().splitlines()
        return {name: float(value) for name, _, value in
                (line.rpartition(" ") for line in lines if line[:1] != "#")}

    def busiest_thread(self):
        """The seconds that it has run, and has waited for a core."""
        tasks = f"/proc/{self.process.pid}/task"
        return max([(0.0, 0.0)] + [
            tuple(int(number) / 1e9 for number in
                  self._read(f"{tasks}/{task}/schedstat").split()[:2])
            for task in os.listdir(tasks)])

    def cpu_seconds(self):
        """What it has taken of processors."""
        fields = self._read(f"/proc/{self.process.pid}/stat").rpartition(")")[2]
        return sum(map(int, fields.split()[11:13])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        """Ends the server (SIGTERM); gives its exit status and the seconds that
        it took."""
        begin = time.monotonic()
        self.process.terminate()
        try:
            code = self.process.wait(60)
        finally:
            self.process.kill()
        self._folder.cleanup()
        return code, time.monotonic() - begin


class OtherWork:
    """What others run on this machine meanwhile, besides a server and its
    clients."""

    def __init__(self, server):
        self._server = server
        self._before = self._seconds()

    def _seconds(self):
        """Of all processors that are ours to use, and of these those that were idle
        or ours."""
        cpus = {f"cpu{cpu}" for cpu in os.sched_getaffinity(0)}
        whole = idle = 0
        with open("/proc/stat", encoding="utf-8") as file:
            for name, *times in map(str.split, file):
                if name in cpus:
                    times = [int(time) for time in times[:8]]
                    whole += sum(times)
                    idle += sum(times[3:5])
        tick = os.sysconf("SC_CLK_TCK")
        # of this process, and of its children that have ended
        ours = sum(os.times()[:4]) + self._server.cpu_seconds()
        return whole / tick, idle / tick + ours

    def slows_by(self):
        """How many times as long as without others the processors' work takes."""
        both = zip(self._seconds(), self._before)
        whole, left = (after - before for after, before in both)
        return max(1, whole / max(left, 0.01))


def field(number, value):
    """A field of a message, as bytes: `value` is bytes or a number."""
    def varint(n):
        out = bytearray()
        while n >= 0x80:
            out.append(n & 0x7F | 0x80)
            n >>= 7
        out.append(n)
        return bytes(out)

    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


class HonestClient:
    """Calls again and again, in a process of its own, one call at a time on one
    connection, and notes how long each took. Where the server has
    `--client-key-header x-client` it is a client of its own."""

    PAUSE_SECONDS = 0.01
    TIMEOUT_SECONDS = 30
    # What it calls, with what, and what is in the answer. "http" and "https" are
    # Translate in JSON.
    CALLS = {
        "http": (b'{"inputs":[{"text":"I ate an apple."}]}', b"Apfel"),
        "https": (b'{"inputs":[{"text":"I ate an apple."}]}', b"Apfel"),
        # TranslateRequest { inputs(2) { text(1) } }
        "Translate": (field(2, field(1, b"I ate an apple.")), b"Apfel"),
        # TokenizeRequest { texts(2) }: too long for the transport's threads.
        "Tokenize": (field(2, b"I ate an apple. " * 288), b"en-de"),
    }

    def __init__(self, address, method="Translate"):
        self._address = address
        self._method = method
        self.seconds = []  # of each call that was answered
        self.errors = []   # of the others
        self.lags = []     # how late it was itself, of a core, before each

    def __enter__(self):
        self._process = subprocess.Popen(
            [sys.executable, __file__, self._address, self._method],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._process.stdout.readline()  # one call has been answered
        return self

    def __exit__(self, *_):
        out, _ = self._process.communicate(b"\n")
        told = json.loads(out)
        self.seconds = told["seconds"]
        self.errors = told["errors"]
        self.lags = told["lags"]

    def percentile(self, percent):
        """The least time within which so many percent of calls were answered
        (nearest rank)."""
        return self._percentile(self.seconds, percent)

    def lag(self):
        """How late the client itself was, 99th percentile: where others take
        the machine's cores, so is the server, at each of its threads."""
        return self._percentile(self.lags, 99)

    @staticmethod
    def _percentile(values, percent):
        rank = math.ceil(len(values) * percent / 100)
        return sorted(values)[max(rank, 1) - 1]

    @classmethod
    @contextlib.contextmanager
    def _grpc(cls, address, method):
        """call(request) -> answer"""
        import grpc
        with grpc.insecure_channel(address) as channel:
            call = channel.unary_unary(INFERENCE + method)
            yield lambda request: call(request, timeout=cls.TIMEOUT_SECONDS,
                                       metadata=[("x-client", "honest")])

    @classmethod
    @contextlib.contextmanager
    def _http(cls, address, method):
        """call(request) -> answer"""
        if method == "https":
            connection = http.client.HTTPSConnection(
                address, timeout=cls.TIMEOUT_SECONDS,
                context=ssl._create_unverified_context())
        else:
            connection = http.client.HTTPConnection(
                address, timeout=cls.TIMEOUT_SECONDS)

        def call(request):
            connection.request("POST", INFERENCE + "Translate", request,
                               {"Content-Type": "application/json",
                                "x-client": "honest"})
            answer = connection.getresponse()
            return answer.read() if answer.status == 200 else b"%d" % answer.status

        with contextlib.closing(connection):
            yield call

    @classmethod
    def run(cls, address, method):
        """The process: until a line comes in."""
        request, expected = cls.CALLS[method]
        calls = cls._http if method.startswith("http") else cls._grpc
        stop = threading.Event()

        def wait():
            sys.stdin.readline()
            stop.set()

        seconds = []
        errors = []
        lags = []
        with calls(address, method) as call:
            call(request)
            print("ready", flush=True)
            threading.Thread(target=wait, daemon=True).start()
            paused = time.monotonic()
            while not stop.wait(cls.PAUSE_SECONDS):
                begin = time.monotonic()
                lags.append(begin - paused - cls.PAUSE_SECONDS)
                try:
                    answer = call(request)
                    if expected not in answer:
                        errors.append(f"a wrong answer: {answer[:80]}")
                except Exception as error:  # of gRPC, of HTTP, of sockets
                    errors.append(str(error))
                paused = time.monotonic()
                seconds.append(paused - begin)
        print(json.dumps({"seconds": seconds, "errors": errors, "lags": lags}),
              flush=True)


class Attack(unittest.TestCase):
    """A server for all tests of the class; it must live, and end as it does
    when nobody attacked it."""

    FLAGS = ()
    # What an honest client's 99th percentile may come to where nothing else runs
    # on the machine, besides so many times what it is late itself.
    MOST_SECONDS = 0.25
    LAGS = 10
    FEW_CALLS = 4
    PATIENCE_SECONDS = 120
    # What the server may come to hold in all tests of a class: with the embedded
    # model it holds 150 MB in peace. By themselves, beside compilers, 32 calls of
    # 4 MB at once came to 368 MB, long texts to tokenize to 202 to 296 MB in three
    # runs, four lists of 4 M kinds to 290 MB. docs/threats.md says what takes it.
    MOST_BYTES = 640 << 20

    # The median time of an honest call in peace, on the machine that
    # MOST_SECONDS is for: one with VNNI, which computes in int8. A slower
    # machine has longer iterations, and so a longer bound.
    PEACE_SECONDS = 0.0035
    slowness = 1

    @classmethod
    def setUpClass(cls):
        cls.server = start_server(cls.FLAGS)
        cls.others = OtherWork(cls.server)
        if "--tls-certificate" in cls.FLAGS:
            return  # which this client does not speak
        with HonestClient(cls.server.address) as honest:
            time.sleep(0.5)
        cls.slowness = max(1, honest.percentile(50) / cls.PEACE_SECONDS
                           / cls.others.slows_by())

    def setUp(self):
        self.others = OtherWork(self.server)

    @classmethod
    def tearDownClass(cls):
        code, seconds = cls.server.stop()
        assert code == 0, f"the server ended with {code}"
        assert seconds < 32, f"the server took {seconds:.1f} s to end"

    def honest_client(self, method="Translate"):
        return HonestClient(self.server.address, method)

    def wait_for(self, condition, state=lambda: None):
        """Waits until it holds. How soon is the machine's affair, so only what
        will never come fails; `state` is told then."""
        give_up = time.monotonic() + self.PATIENCE_SECONDS
        while not condition():
            self.assertLess(time.monotonic(), give_up, state())
            time.sleep(0.05)

    def assert_unharmed(self, honest):
        """What the honest client felt, and the server's memory."""
        p99 = honest.percentile(99)
        # The slowest of few calls tell of chance, so FEW_CALLS may be slower.
        calls = max(1, len(honest.seconds))
        judged = honest.percentile(
            min(99, max(50, 100 - 100 * self.FEW_CALLS / calls)))
        peak = self.server.peak_bytes()
        others = self.others.slows_by()
        print(f"{self.id()}: {len(honest.seconds)} honest calls, p50 "
              f"{honest.percentile(50) * 1e3:.1f} ms, p99 {p99 * 1e3:.1f} ms, "
              f"itself late by {honest.lag() * 1e3:.1f} ms, "
              f"the machine slower by {self.slowness:.1f}, and by others' work "
              f"by {others:.1f}; "
              f"the server's peak {peak / 1e6:.0f} MB", flush=True)
        self.assertEqual(honest.errors, [])
        self.assertLess(judged, self.MOST_SECONDS * self.slowness * others
                        + self.LAGS * honest.lag())
        self.assertLess(peak, self.MOST_BYTES)


def start_server(flags=(), stderr=None):
    """The server that the command line names."""
    return Server(_program, _model, flags, stderr)


def deadline():
    """When a test has attacked for long enough (time.monotonic)."""
    return time.monotonic() + _seconds


def program():
    """The server's program."""
    return _program


def seconds():
    """How long each test attacks."""
    return _seconds


def in_threads(count, attack):
    """Runs attack(i) on `count` threads, and waits."""
    threads = [threading.Thread(target=attack, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def add_stubs(stubs):
    """Makes trivium.v1 and google.rpc importable from protoc's output."""
    import google
    sys.path.insert(0, stubs)
    # The generated google/rpc folder would be hidden by the google package
    # that protobuf brings.
    google.__path__.append(os.path.join(stubs, "google"))


def main():
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)


if __name__ == "__main__":
    HonestClient.run(*sys.argv[1:])
else:
    _program, _model, _stubs = sys.argv[1:4]
    _seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 1.0
    add_stubs(_stubs)
