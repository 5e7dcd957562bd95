"""What a search box asks of a machine: see the command compare_retrieval."""

import argparse
import json
import os
import pathlib
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # of numpy here

import asyncio

import numpy as np

import arguments
import encoder_folder
import http_load
import machine
import retrieval_folders
import servers
from machine import ROOT

EMBEDDER, RANKER, WRITER = (retrieval_folders.EMBEDDER,
                            retrieval_folders.RANKER, "writer")
KINDS = {"embed": 0.60, "rerank": 0.25, "generate": 0.15}
PARTS = ("clients", "box", "maxsim")
TOPICS = (
    "the sea", "a lost key", "two brothers", "a winter market", "the moon",
    "an old library", "a train at night", "the first snow", "a clever fox",
    "a broken clock", "the lighthouse", "a garden in spring", "a small town",
    "the desert", "a violin", "the last bus", "a letter", "the mountain path",
    "a quiet river", "the baker")


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="compare_retrieval",
        description="Compares this server with what a search box is built of "
        "today.", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--parts", type=arguments.texts, default="clients,box,"
                        "maxsim", help="clients: one text a call, MiniLM's "
                        "shape, a core for the server and one for the load. "
                        "box: 60 %% embed, 25 %% rerank 20 documents, 15 %% "
                        "generate tokens, arriving at random, on the same "
                        "cores. maxsim: one query with many documents against "
                        "numpy")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--batches", type=arguments.integers, default="1,8,32",
                        help="the peer embeds up to so many waiting texts "
                        "together")
    parser.add_argument("--documents", type=int, default=20, help="of a rerank")
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--duration", type=float, default=12,
                        help="seconds of a measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--p99", type=arguments.numbers,
                        default="0.5,1.5,6", help="box: limits in seconds of "
                        + ", ".join(KINDS))
    parser.add_argument("--kinds", type=arguments.texts,
                        default=",".join(KINDS), help="box: calls of these "
                        "kinds alone, in the same proportion")
    parser.add_argument("--first-rate", type=float, default=4,
                        help="box: where the search for the highest begins")
    arguments.add_report(parser)
    parser.add_argument("--generator", type=pathlib.Path, required=True,
                        help="GGUF file of the decoder")
    arguments.add_programs(parser)
    return parser.parse_args()


class Call:
    """`content` picks what must be the same whenever the call is made."""

    def __init__(self, kind, port, path, body, content):
        self.kind, self._port, self._path = kind, port, path
        self._body, self._content = body, content
        self._alone = None

    async def ask(self, connections, timeout):
        return self._content(await asyncio.wait_for(
            connections.post(self._port, self._path, self._body), timeout))

    async def remember(self, connections):
        self._alone = await self.ask(connections, 120)

    async def run(self, how):
        return await self.ask(*how) == self._alone


def made_up_texts(rng, count, shortest, longest):
    vocabulary = encoder_folder.SHAPES[EMBEDDER].vocabulary
    return [" ".join(f"w{rng.randrange(10, vocabulary)}" for _ in
                     range(rng.randint(shortest, longest)))
            for _ in range(count)]


def make_calls(options, ports, kinds):
    """The calls by kind, to the ports by kind."""
    rng = random.Random(3)
    calls = {}
    if "embed" in kinds:
        calls["embed"] = [
            Call("embed", ports["embed"], "/v1/embeddings",
                 {"model": EMBEDDER, "input": text},
                 lambda answer: answer["data"][0]["embedding"])
            for text in made_up_texts(rng, 200, 8, 78)]
    if "rerank" in kinds:
        calls["rerank"] = [
            Call("rerank", ports["rerank"], "/v1/rerank",
                 {"model": RANKER, "query": made_up_texts(rng, 1, 6, 14)[0],
                  "documents": made_up_texts(rng, options.documents, 20, 60)},
                 lambda answer: sorted(
                     (one["index"], one["relevance_score"])
                     for one in answer["results"]))
            for _ in range(40)]
    if "generate" in kinds:
        calls["generate"] = [
            Call("generate", ports["generate"], "/v1/completions",
                 {"model": WRITER, "prompt": f"This is a long story about "
                  f"{topic}. Once upon a time", "temperature": 0,
                  "max_tokens": options.new_tokens},
                 lambda answer: answer["choices"][0]["text"])
            for topic in TOPICS]
    return calls


def remember_all(calls):
    """Asks each call alone. Returns the median seconds by kind."""
    async def run():
        connections = http_load.Connections()
        medians = {}
        for kind, of_kind in calls.items():
            seconds = []
            for call in of_kind:
                begin = time.perf_counter()
                await call.remember(connections)
                seconds.append(time.perf_counter() - begin)
            medians[kind] = statistics.median(seconds)
        connections.close()
        return medians
    return asyncio.run(run())


def settle(calls, medians, most=60):
    """Waits until a server that was asked too much answers as if alone."""
    async def run():
        connections = http_load.Connections()
        end = time.perf_counter() + most
        for kind, of_kind in calls.items():
            while time.perf_counter() < end:
                begin = time.perf_counter()
                try:
                    await of_kind[0].ask(connections, 30)
                except Exception:
                    continue
                if time.perf_counter() - begin < 3 * medians[kind] + 0.02:
                    break
        connections.close()
    asyncio.run(run())


def resident_mib(pids):
    total = 0
    for pid in pids:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                total += int(line.split()[1]) / 1024
    return total


class OwnServer(servers.Server):
    def __init__(self, options, folders, work, cores, models):
        files = {EMBEDDER: folders[EMBEDDER], RANKER: folders[RANKER],
                 WRITER: options.generator.resolve()}
        command = [
            options.programs.resolve() / "trivium-server",
            "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0",
            "--metrics-listen", "off", "--log-level", "warn",
            "--precision", "int8",
            *[flag for name in models
              for flag in ("--model", f"{name}={files[name]}")],
            "--workers", len(cores), "--worker-threads", 1]
        super().__init__("Trivium", cores, command, work / "own_ports", {})

    def ports(self):
        return dict.fromkeys(KINDS, self.http_port)

    def pids(self):
        return [self._process.pid]


class Peer(servers.Server):
    """fastembed behind uvicorn, and llama-cpp-python's server beside it."""

    def __init__(self, options, folders, work, cores, batch, writes):
        command = [
            sys.executable, "-B", servers.HERE / "retrieval_peer.py",
            folders[EMBEDDER].parent, "--workers", len(cores),
            "--batch", batch]
        super().__init__(f"fastembed, batches of {batch}", cores, command,
                         work / "peer_ports", {"batch": batch})
        self._options, self._cores, self._writes = options, cores, writes
        self._writer = None

    def __enter__(self):
        super().__enter__()
        if not self._writes:
            return self
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._writer_port = free.getsockname()[1]
        self._writer = subprocess.Popen(
            servers.on_cores(self._cores, [
                sys.executable, "-m", "llama_cpp.server",
                "--model", self._options.generator.resolve(),
                "--port", self._writer_port, "--n_ctx", 2048,
                "--n_threads", len(self._cores),
                "--n_threads_batch", len(self._cores),
                "--interrupt_requests", "false", "--verbose", "false"]),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                socket.create_connection(
                    ("127.0.0.1", self._writer_port)).close()
                return self
            except OSError:
                if self._writer.poll() is not None:
                    sys.exit("llama-cpp-python's server ended")
                time.sleep(0.1)
        sys.exit("llama-cpp-python's server is not ready")

    def __exit__(self, *args):
        if self._writer:
            self._writer.terminate()
            self._writer.wait()
        super().__exit__(*args)

    def ports(self):
        port = self.http_port
        return {"embed": port, "rerank": port,
                "generate": self._writer_port if self._writer else None}

    def pids(self):
        return [self._process.pid,
                *([self._writer.pid] if self._writer else [])]


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def measure_clients(options, folders, work):
    """One text a call; server and load have a core each."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        sys.exit("clients needs two cores")
    os.sched_setaffinity(0, cores[1:2])
    sides = [lambda: OwnServer(options, folders, work, cores[:1], [EMBEDDER])]
    sides += [
        lambda batch=batch: Peer(options, folders, work, cores[:1], batch,
                                 writes=False) for batch in options.batches]
    found = []
    for make in sides:
        with make() as server:
            calls = make_calls(options, server.ports(), ["embed"])
            remember_all(calls)
            entry = {"name": server.name, "rounds": []}
            found.append(entry)
            for _ in range(options.rounds):
                rate, latencies, wrong, errors = http_load.clients(
                    lambda rng: rng.choice(calls["embed"]), options.clients,
                    options.duration / 2)
                if errors:
                    sys.exit(f"{server.name}: {errors[0]}")
                entry["rounds"].append(rate)
                entry["p99_ms"] = 1000 * quantile(latencies["embed"], 0.99)
                entry["differ"] = wrong.get("embed", 0) / len(latencies["embed"])
    os.sched_setaffinity(0, cores)
    print(f"\n{options.clients} clients of one text of 10 to 80 tokens, "
          "MiniLM's shape, int8, HTTP, one core\n\n| | calls/s (median) "
          "| rounds | p99 ms | answers with other bits than alone |\n"
          "|---|---|---|---|---|")
    for entry in found:
        entry["rate"] = statistics.median(entry["rounds"])
        rounds = ", ".join(f"{rate:,.0f}" for rate in entry["rounds"])
        print(f"| {entry['name']} | {entry['rate']:,.0f} | {rounds} "
              f"| {entry['p99_ms']:.0f} | {entry['differ']:.1%} |")
    best = max(entry["rate"] for entry in found[1:])
    print(f"\nRatio to the best: {found[0]['rate'] / best:.2f}")
    return {"sides": found, "ratio": found[0]["rate"] / best}


class Box:
    """A server under mixed load."""

    def __init__(self, options, server):
        self._options, self.server = options, server
        self._calls = make_calls(options, server.ports(), options.kinds)
        self.alone = remember_all(self._calls)
        self.points = []

    def _draw(self, rng):
        kinds = self._options.kinds
        (kind,) = rng.choices(kinds, [KINDS[kind] for kind in kinds])
        return rng.choice(self._calls[kind])

    def at(self, rate):
        limits = dict(zip(KINDS, self._options.p99))
        latencies, wrong, errors = http_load.poisson(
            self._draw, rate, self._options.duration,
            2 * max(self._options.p99))
        point = {"rate": rate, "errors": len(errors),
                 "first_error": errors[0] if errors else None,
                 "p50": {}, "p99": {}, "calls": {}, "differ": {}}
        for kind, seconds in latencies.items():
            point["calls"][kind] = len(seconds)
            point["p50"][kind] = quantile(seconds, 0.5)
            point["p99"][kind] = quantile(seconds, 0.99)
            point["differ"][kind] = wrong.get(kind, 0) / len(seconds)
        point["passed"] = not errors and all(
            point["p99"].get(kind, 0) <= limit
            for kind, limit in limits.items())
        self.points.append(point)
        print(f"{self.server.name}, {rate:.1f}/s: "
              + ", ".join(f"{kind} p99 {1000 * point['p99'].get(kind, 0):.0f}"
                          f" ms" for kind in self._options.kinds)
              + f", {len(errors)} errors {errors[:1]}", file=sys.stderr)
        if not point["passed"]:
            settle(self._calls, self.alone)
        return point

    def highest(self):
        """The point of the highest rate that meets the limits."""
        low, high, best = 0, None, None
        rate = self._options.first_rate
        while high is None or high / max(low, 0.1) > 1.12:
            point = self.at(rate)
            if point["passed"]:
                low, best = rate, point
            else:
                high = rate
            if high is not None and high < 0.3:
                break
            rate = 2 * low if high is None else (low + high) / 2
        return best


def measure_box(options, folders, work):
    cores = sorted(os.sched_getaffinity(0))[:2]
    writes = "generate" in options.kinds
    found = []
    sides = [
        lambda: OwnServer(options, folders, work, cores,
                          [EMBEDDER, RANKER, *([WRITER] if writes else [])]),
        lambda: Peer(options, folders, work, cores, options.batches[-1],
                     writes)]
    for make in sides:
        with make() as server:
            box = Box(options, server)
            entry = {"name": server.name, "alone": box.alone,
                     "highest": box.highest(), "points": box.points}
            found.append(entry)
            if entry["highest"] is None:
                sys.exit(f"{server.name} meets the limits at no rate: raise "
                         "--p99")
            entry["resident_mib"] = resident_mib(server.pids())
    with sides[0]() as server:
        found[0]["at_peer"] = Box(options, server).at(
            found[1]["highest"]["rate"])
    found[1]["at_peer"] = found[1]["highest"]
    if writes:
        found[1]["name"] += ", and llama-cpp-python"
    print_box(options, cores, found)
    return {"sides": found}


def print_box(options, cores, found):
    limits = ", ".join(f"{kind} {limit:g} s" for kind, limit in
                       zip(KINDS, options.p99))
    print(f"\nMixed load on {len(cores)} cores, its generator included: "
          + ", ".join(f"{KINDS[kind]:.0%} {kind}" for kind in options.kinds)
          + f"; rerank {options.documents} documents, generate up to "
          f"{options.new_tokens} tokens; limits of p99: {limits}\n\n"
          "| | calls/s within the limits | p99 ms there: "
          + ", ".join(options.kinds) + " | p99 ms at the peer's rate | resident MiB "
          "| answers with other bits than alone |\n|---|---|---|---|---|---|")
    for entry in found:
        def p99(point):
            return ", ".join(f"{1000 * point['p99'].get(kind, 0):,.0f}"
                             for kind in options.kinds)
        calls = differ = 0
        for point in entry["points"]:
            for kind, count in point["calls"].items():
                calls += count
                differ += point["differ"][kind] * count
        print(f"| {entry['name']} | {entry['highest']['rate']:.1f} "
              f"| {p99(entry['highest'])} | {p99(entry['at_peer'])} "
              f"| {entry['resident_mib']:,.0f} "
              f"| {differ / max(1, calls):.1%} of {calls} |")
    own, peer = found
    print(f"\nRatio of the rates: "
          f"{own['highest']['rate'] / peer['highest']['rate']:.2f}; of the "
          f"memory: {own['resident_mib'] / peer['resident_mib']:.2f}")


def measure_maxsim(options):
    """A query of 32 rows of 128 numbers with 1,000 documents of 180."""
    rng = np.random.default_rng(1)

    def rows(count):
        x = rng.standard_normal((count, 128), np.float32)
        return x / np.linalg.norm(x, axis=1, keepdims=True)
    query, all_rows = rows(32), rows(180000)
    documents = np.split(all_rows, 1000)
    ways = {
        "numpy, a product a document":
            lambda: [(one @ query.T).max(0).sum() for one in documents],
        "numpy, one product of all":
            lambda: (all_rows @ query.T).reshape(1000, 180, 32).max(1).sum(1),
    }
    seconds = {"Trivium": [], **{name: [] for name in ways}}
    for _ in range(2 + options.rounds):
        report = json.loads(subprocess.run(
            [options.programs / "trivium-benchmarks",
             "--benchmark_filter=^MaxSim", "--benchmark_format=json"],
            check=True, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL).stdout)
        (one,) = report["benchmarks"]
        seconds["Trivium"].append(one["real_time"] / 1e9)
        for name, way in ways.items():
            begin = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - begin)
    medians = {name: statistics.median(taken[2:])
               for name, taken in seconds.items()}
    print("\nMaxSim of a query of 32 rows with 1,000 documents of 180, 128 "
          "numbers a row, one thread\n\n| | ms |\n|---|---|")
    for name, median in medians.items():
        print(f"| {name} | {1000 * median:.1f} |")
    ratio = min(medians[name] for name in ways) / medians["Trivium"]
    print(f"\nRatio to the better: {ratio:.2f}")
    return {"seconds": seconds, "ratio": ratio}


def main():
    options = parse_arguments()
    if unknown := set(options.kinds) - set(KINDS):
        sys.exit(f"--kinds has {', '.join(unknown)}; it may have "
                 + ", ".join(KINDS))
    if unknown := set(options.parts) - set(PARTS):
        sys.exit(f"--parts has {', '.join(unknown)}; it may have "
                 + ", ".join(PARTS))
    report = {"machine": machine.describe()}
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if set(options.parts) & {"clients", "box"}:
            folders = retrieval_folders.write(
                ROOT / "build/benchmarks/retrieval-models")
        print(machine.in_words(report["machine"]))
        if "clients" in options.parts:
            report["clients"] = measure_clients(options, folders, work)
        if "box" in options.parts:
            report["box"] = measure_box(options, folders, work)
        if "maxsim" in options.parts:
            report["maxsim"] = measure_maxsim(options)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
