"""Code that the tests of replicas.py share: a server, callers, Envoy's file."""

import collections
import os
import pathlib
import re
import signal
import subprocess
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"
MODEL = ROOT / "model/embedded"
# TranslateRequest { inputs(2) { text(1) } }
TEXT = b"I ate an apple."
REQUEST = bytes([0x12, len(TEXT) + 2, 0x0a, len(TEXT)]) + TEXT
CALLERS = 8
HOSTS = {1: "127.0.0.2", 2: "127.0.0.3", 3: "127.0.0.4"}
DRAIN_DELAY = 2


def get(address, path):
    with urllib.request.urlopen(f"http://{address}{path}", timeout=5) as page:
        return page.read().decode()


def wait_for(what, ready, seconds=30):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if ready():
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise SystemExit(f"{what}: not ready after {seconds} s")


class Replica:
    def __init__(self, program, number, *flags, model=MODEL):
        self._program = program
        self._host = HOSTS[number]
        self._flags = flags
        self._model = model
        self.start()

    def start(self):
        self._process = subprocess.Popen(
            [self._program, "--listen", f"{self._host}:50051",
             "--metrics-listen", f"{self._host}:9464", "--workers", "1",
             "--drain-delay", str(DRAIN_DELAY), "--log-level", "error",
             *self._flags, self._model])

    def wait_until_ready(self):
        wait_for(self._host, lambda: get(f"{self._host}:9464", "/readyz"))

    def figure(self, name):
        """Returns a metric, summed over all labels."""
        return sum(float(line.rsplit(" ", 1)[1])
                   for line in get(f"{self._host}:9464", "/metrics").splitlines()
                   if re.match(rf"{name}[ {{]", line))

    def answered(self):
        """Returns the number of translations of this process so far."""
        return self.figure("trivium_texts_total")

    def cpu_seconds(self):
        """Returns the CPU seconds so far, over all cores."""
        stat = pathlib.Path(f"/proc/{self._process.pid}/stat").read_text()
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def restart(self):
        self.stop()
        self.start()
        self.wait_until_ready()

    def stop(self):
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(60)
        assert code == 0, f"a server ended with {code}"

    def kill(self):
        self._process.kill()
        self._process.wait()


class Callers:
    """Clients that call again and again, each one call at a time. A context manager."""

    def __init__(self, target, options=()):
        import grpc

        self._grpc = grpc
        self._channel = grpc.insecure_channel(
            target, [("grpc.enable_http_proxy", 0), *options])
        self._call = self._channel.unary_unary(
            "/trivium.v1.Inference/Translate")
        self._lock = threading.Lock()
        self.outcomes = collections.Counter()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run)
                         for _ in range(CALLERS)]

    def _run(self):
        while not self._stop.is_set():
            try:
                answer = self._call(REQUEST, timeout=20, wait_for_ready=False)
                outcome = "OK" if b"Apfel" in answer else "a wrong answer"
            except self._grpc.RpcError as error:
                outcome = f"{error.code().name}: {error.details()}"
                time.sleep(0.05)
            with self._lock:
                self.outcomes[outcome] += 1

    def wait_until_served(self):
        wait_for("the balancer", lambda: self._served())

    def _served(self):
        try:
            return b"Apfel" in self._call(REQUEST, timeout=5)
        except self._grpc.RpcError:
            return False

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._channel.close()

    def take(self):
        """Returns the outcomes of the calls since the last time."""
        with self._lock:
            taken = self.outcomes
            self.outcomes = collections.Counter()
        return taken


def lost(outcomes):
    return sum(outcomes.values()) - outcomes["OK"]


class Expectations:
    """Expectations of a balancer, and those that did not hold."""

    def __init__(self, name):
        self._name = name
        self.failed = []

    def __call__(self, what, holds, detail=""):
        print(f"{self._name}: {what}: {'ok' if holds else 'FAILED'}"
              f"{': ' if detail != '' else ''}{detail}", flush=True)
        if not holds:
            self.failed.append(f"{self._name}: {what}")


def envoy_config(put_in=None):
    """Returns Envoy's file, with the block that is commented out and begins with
    `put_in`."""
    config = (DEPLOY / "envoy/envoy.yaml").read_text()
    descriptor = "/etc/envoy/trivium.v1.binpb"
    assert descriptor in config
    config = config.replace(descriptor, str(DEPLOY / "envoy/trivium.v1.binpb"))
    if put_in is None:
        return config
    commented = re.search(rf"(?m)^( *)# {put_in}:\n(?:\1#  .*\n)+", config)
    return config.replace(commented[0],
                          re.sub(r"(?m)^( *)# ", r"\1", commented[0]))
