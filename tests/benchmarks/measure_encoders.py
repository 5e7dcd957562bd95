"""An encoder alone and served: see the command measure_encoders.

A BERT of random weights; lengths are drawn evenly, and tokens are real ones,
which are all there are: nothing pads.
"""

import argparse
import contextlib
import itertools
import json
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import types

import arguments
import encoder_folder
import machine
import sentences
import servers

SHORTEST, LONGEST = 10, 80
# Each mix draws lengths evenly.
MIXES = [(8, 8), (16, 16), (32, 32), (64, 64), (128, 128), (256, 256),
         (512, 512), (10, 80), (4, 128), (4, 512)]


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="measure_encoders",
        description="Measures an encoder alone and served.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("what", choices=list(MEASUREMENTS), help="served: "
                        "clients of one sentence each against the engine "
                        "alone. http: clients of one sentence each over HTTP, "
                        "also beside idle connections, against the same over "
                        "gRPC; needs wrk (Debian's package). cost: of a token, by "
                        "sentences under way and by mix of lengths")
    parser.add_argument("--model", default="bert-base",
                        choices=list(encoder_folder.SHAPES),
                        help="shape of the BERT; its weights are random")
    parser.add_argument("--precision", default="int8",
                        choices=["int8", "bf16", "f32"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, default=64,
                        help="served, http: that each wait for an answer")
    parser.add_argument("--idle", type=int, default=1000,
                        help="http: connections that are open and say nothing")
    parser.add_argument("--in-flight", type=arguments.integers,
                        default=[1, 2, 4, 8, 16, 32, 64, 128, 256],
                        help="cost: sentences under way")
    parser.add_argument("--tokens", type=int, default=6000,
                        help="of each measurement of the engine, about")
    servers.add_arguments(parser)
    return parser.parse_args()


class Measurement:
    def __init__(self, options, work):
        self.options = options
        self.work = work
        self.shape = encoder_folder.SHAPES[options.model]
        self.folder = work / "model"
        encoder_folder.write_random(self.folder, self.shape)

    def sources(self, shortest, longest, least=1):
        mean = (shortest + longest) / 2
        count = max(least, round(self.options.tokens / mean))
        return encoder_folder.random_sentences(
            count, shortest, longest, self.shape)

    def engine(self, sources, in_flight=0, workers=1, rounds=2):
        """Tokens a second of the engine alone; the first round warms up."""
        ids = self.work / "ids"
        sentences.write_ids(ids, sources)
        report = json.loads(subprocess.run(
            servers.on_cores(self.options.server_cores, [
                self.options.programs / "trivium-bench-encoder", self.folder,
                ids, "--precision", self.options.precision,
                "--workers", workers, "--in-flight", in_flight,
                "--rounds", rounds]),
            check=True, text=True, stdout=subprocess.PIPE).stdout)
        return report["tokens"] / statistics.median(report["seconds"][1:])

    def server(self, *flags):
        return servers.own_server(
            self.options, types.SimpleNamespace(folder=self.folder), self.work,
            *flags)

    def texts(self, sources):
        path = self.work / "texts"
        path.write_text(
            "\n".join(map(encoder_folder.as_text, sources)) + "\n")
        return path

    def served(self, server, texts):
        """The report of `clients` calls of a text each."""
        report = servers.load(self.options, server, [
            "--call", "encode", "--file", str(texts),
            "--concurrency", str(self.options.clients)])
        if report["failed"]:
            sys.exit(f"{report['failed']} calls failed, the first with: "
                     f"{report['first_error']}")
        return report


def measure_served(measurement):
    options = measurement.options
    workers = len(options.server_cores)
    sources = measurement.sources(SHORTEST, LONGEST, 4 * options.clients)
    texts = measurement.texts(sources)
    engine, served = [], []
    with measurement.server() as server:
        for _ in range(options.rounds):
            engine.append(measurement.engine(sources, workers=workers))
            served.append(
                measurement.served(server, texts)["source_tokens_per_second"])
    ratio = statistics.median(served) / statistics.median(engine)
    print("| | tokens/s (median) | rounds |\n|---|---|---|")
    for name, speeds in (
            ("engine alone, all sentences at once", engine),
            (f"served, {options.clients} clients of one sentence", served)):
        print(f"| {name} | {statistics.median(speeds):,.0f} | "
              + ", ".join(f"{speed:,.0f}" for speed in speeds) + " |")
    print(f"\nRatio: {ratio:.2f}")
    return {"engine": engine, "served": served, "ratio": ratio}


# What wrk runs: bodies in turn, and a report in JSON.
WRK_SCRIPT = """
local bodies, turn = {}, 0
for line in io.lines("%s") do bodies[#bodies + 1] = line end
local headers = {["content-type"] = "application/json"}
function request()
  turn = turn %% #bodies + 1
  return wrk.format("POST", "/v1/embeddings", headers, bodies[turn])
end
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    '{"rate": %%f, "failed": %%d, "p50": %%f, "p99": %%f}\\n',
    1e6 * summary.requests / summary.duration,
    e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
"""


@contextlib.contextmanager
def idle_connections(port, count):
    """Connections that were answered once, and then say nothing."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            connection = stack.enter_context(
                socket.create_connection(("127.0.0.1", int(port))))
            connection.sendall(b"GET /v1/models HTTP/1.1\r\nHost: here\r\n\r\n")
            if not connection.recv(1 << 16).startswith(b"HTTP/1.1 200"):
                sys.exit("an idle connection was not answered")
        yield


def measure_http(measurement):
    """Calls a second of as many clients, by gRPC and by OpenAI's shape in JSON
    over HTTP."""
    options = measurement.options
    if shutil.which("wrk") is None:
        sys.exit("this needs wrk: apt-get install wrk")
    texts = measurement.texts(
        measurement.sources(SHORTEST, LONGEST, 4 * options.clients))
    bodies = measurement.work / "bodies"
    bodies.write_text("".join(
        json.dumps({"model": "measured", "input": text}) + "\n"
        for text in texts.read_text().splitlines()))
    script = measurement.work / "wrk.lua"
    script.write_text(WRK_SCRIPT % bodies)

    def grpc(server):
        report = measurement.served(server, texts)
        return {"rate": report["requests_per_second"],
                **{p: 1000 * report["latency_seconds"][p]
                   for p in ("p50", "p99")}}

    def http(server):
        for seconds in (options.warm_up, options.duration):
            run = subprocess.run(servers.on_cores(options.load_cores, [
                "wrk", "-t", 1, "-c", options.clients, "-d", f"{seconds:g}s",
                "--timeout", "60s", "-s", script,
                f"http://127.0.0.1:{server.http_port}"]),
                check=True, text=True, stdout=subprocess.PIPE)
        report = json.loads(run.stdout.splitlines()[-1])
        if report["failed"]:
            sys.exit(f"{report['failed']} calls over HTTP failed")
        return report

    def beside_idle(server):
        with idle_connections(server.http_port, options.idle):
            return http(server)

    ways = {"gRPC, Encode": grpc, "HTTP, /v1/embeddings": http,
            f"HTTP beside {options.idle} idle connections": beside_idle}
    results = {name: [] for name in ways}
    with measurement.server("--http-listen", "127.0.0.1:0") as server:
        for _ in range(options.rounds):
            for name, measure in ways.items():
                results[name].append(measure(server))
    medians = {name: {key: statistics.median(one[key] for one in rounds)
                      for key in ("rate", "p50", "p99")}
               for name, rounds in results.items()}
    base = medians["gRPC, Encode"]["rate"]
    print("| | calls/s (median) | rounds | of gRPC's | p50 ms | p99 ms |\n"
          "|---|---|---|---|---|---|")
    for name, median in medians.items():
        print(f"| {name} | {median['rate']:,.0f} | "
              + ", ".join(f"{one['rate']:,.0f}" for one in results[name])
              + f" | {median['rate'] / base:.2f} | {median['p50']:.1f} "
              f"| {median['p99']:.1f} |")
    return {"rounds": results, "medians": medians}


def operations(shape, sources):
    """Multiplications and additions of a token: products and attention."""
    d = shape.d_model
    tokens = sum(map(len, sources))
    keys = sum(len(source) ** 2 for source in sources) / tokens
    return 2 * shape.layers * (4 * d * d + 2 * d * shape.ffn + 2 * keys * d)


def measure_cost(measurement):
    """In turns, so that all rows of a table come from the same minutes."""
    options = measurement.options
    tables = {
        "sentences under way": [
            (str(count), measurement.sources(SHORTEST, LONGEST, 2 * count),
             count) for count in options.in_flight],
        "tokens of a sentence": [
            (f"{shortest} to {longest}" if shortest < longest else
             str(shortest), measurement.sources(shortest, longest), 0)
            for shortest, longest in MIXES],
    }
    report = {}
    for title, rows in tables.items():
        speeds = [[] for _ in rows]
        for _, (i, row) in itertools.product(
                range(options.rounds), enumerate(rows)):
            speeds[i].append(measurement.engine(row[1], in_flight=row[2]))
        print(f"| {title} | tokens/s (median) | us/token | Mop/token "
              "| Gop/s |\n|---|---|---|---|---|")
        report[title] = []
        for (name, sources, _), taken in zip(rows, speeds):
            speed = statistics.median(taken)
            needed = operations(measurement.shape, sources)
            report[title].append({"row": name, "rounds": taken,
                                  "operations_per_token": needed})
            print(f"| {name} | {speed:,.0f} | {1e6 / speed:.0f} "
                  f"| {needed / 1e6:.0f} | {needed * speed / 1e9:,.0f} |")
        print()
    return report


MEASUREMENTS = {"served": measure_served, "http": measure_http,
                "cost": measure_cost}


def main():
    options = parse_arguments()
    if options.what in ("served", "http"):
        servers.check(options)
    with tempfile.TemporaryDirectory() as folder:
        report = {"machine": machine.describe(), "model": options.model,
                  "precision": options.precision}
        print(f"{options.model}, random weights, {options.precision}, lengths "
              f"from {SHORTEST} to {LONGEST} tokens unless the table says "
              f"otherwise\n{machine.in_words(report['machine'])}\n")
        report[options.what] = MEASUREMENTS[options.what](
            Measurement(options, pathlib.Path(folder)))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
