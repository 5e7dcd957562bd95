"""An encoder alone and served: see the command measure_encoders.

A BERT of random weights; lengths are drawn evenly, and tokens are real ones,
which are all there are: nothing pads.
"""

import argparse
import itertools
import json
import pathlib
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
                        "alone. cost: of a token, by sentences under way and "
                        "by mix of lengths")
    parser.add_argument("--model", default="bert-base",
                        choices=list(encoder_folder.SHAPES),
                        help="shape of the BERT; its weights are random")
    parser.add_argument("--precision", default="int8",
                        choices=["int8", "bf16", "f32"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, default=64,
                        help="served: that each wait for an answer")
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

    def server(self):
        return servers.own_server(
            self.options, types.SimpleNamespace(folder=self.folder), self.work)

    def served(self, server, texts):
        """Tokens a second of `clients` calls of a text each."""
        report = servers.load(self.options, server, [
            "--call", "encode", "--file", str(texts),
            "--concurrency", str(self.options.clients)])
        if report["failed"]:
            sys.exit(f"{report['failed']} calls failed, the first with: "
                     f"{report['first_error']}")
        return report["source_tokens_per_second"]


def measure_served(measurement):
    options = measurement.options
    workers = len(options.server_cores)
    sources = measurement.sources(SHORTEST, LONGEST, 4 * options.clients)
    texts = measurement.work / "texts"
    texts.write_text("\n".join(map(encoder_folder.as_text, sources)) + "\n")
    engine, served = [], []
    with measurement.server() as server:
        for _ in range(options.rounds):
            engine.append(measurement.engine(sources, workers=workers))
            served.append(measurement.served(server, texts))
    ratio = statistics.median(served) / statistics.median(engine)
    print("| | tokens/s (median) | rounds |\n|---|---|---|")
    for name, speeds in (
            ("engine alone, all sentences at once", engine),
            (f"served, {options.clients} clients of one sentence", served)):
        print(f"| {name} | {statistics.median(speeds):,.0f} | "
              + ", ".join(f"{speed:,.0f}" for speed in speeds) + " |")
    print(f"\nRatio: {ratio:.2f}")
    return {"engine": engine, "served": served, "ratio": ratio}


def operations(shape, sources):
    """Multiplications and additions of a token: products and attention."""
    d = shape["d_model"]
    tokens = sum(map(len, sources))
    keys = sum(len(source) ** 2 for source in sources) / tokens
    return 2 * shape["layers"] * (4 * d * d + 2 * d * shape["ffn"] + 2 * keys * d)


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


MEASUREMENTS = {"served": measure_served, "cost": measure_cost}


def main():
    options = parse_arguments()
    if options.what == "served":
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
