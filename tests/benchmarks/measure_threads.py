"""Threads of a worker against one thread, and against workers: see the command
measure_threads.

Models of random weights and the embedded one; the same requests for all. The
best round of each measurement counts: threads that wait for each other show
whatever else takes a core.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import arguments
import encoder_folder
import machine
import marian_folder
import sentences
from workload import EMBEDDED

# A Transformer whose int8 weights are 0.45 GB.
LARGE = {"d_model": 1024, "layers": 12, "ffn": 4096, "heads": 16,
         "vocabulary": 32000}
MODELS = ("embedded", "opus-mt", "large", "bert-base")


def layout(text):
    workers, threads = (int(number) for number in text.split("x"))
    return workers, threads


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="measure_threads",
        description="Measures workers x threads of each.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--models", default="embedded,opus-mt,bert-base",
                        help=f"of {', '.join(MODELS)}")
    parser.add_argument("--layouts", type=lambda text: text.split(","),
                        default=["1x1", "1x2", "2x1"],
                        help="workers x threads; the first is compared with")
    parser.add_argument("--running", type=arguments.integers, default=[1, 32],
                        help="requests at a time, of all workers together")
    parser.add_argument("--precision", default="int8",
                        choices=["int8", "bf16", "f32"])
    parser.add_argument("--max-isa", default="")
    parser.add_argument("--sentences", type=int, default=16,
                        help="with one request at a time; else 4 times as "
                        "many, at least twice those that run")
    parser.add_argument("--rounds", type=int, default=3)
    arguments.add_report(parser)
    arguments.add_programs(parser)
    return parser.parse_args()


class Model:
    def __init__(self, name, options, work):
        self._options = options
        self._ids = work / f"{name}.ids"
        self._encoder = name == "bert-base"
        self._folder = work / name
        if name == "embedded":
            self._folder = EMBEDDED
        elif self._encoder:
            encoder_folder.write_random(self._folder, encoder_folder.SHAPES["bert-base"])
        else:
            marian_folder.write_random(
                self._folder, LARGE if name == "large" else marian_folder.OPUS_MT)
        config = json.loads((self._folder / "config.json").read_text("utf-8"))
        self._vocabulary = config["vocab_size"]

    def seconds(self, workers, threads, running):
        """Of the best of a few rounds, the first of which warms up."""
        options = self._options
        count = options.sentences
        if running > 1:
            count = max(4 * count, 2 * running)
        if self._encoder:
            ids = encoder_folder.random_sentences(
                count, 10, 80, encoder_folder.SHAPES["bert-base"])
        else:
            ids = sentences.random_sources(count, self._vocabulary)
        sentences.write_ids(self._ids, ids)
        program, *flags = (
            ("trivium-bench-encoder", "--in-flight", running) if self._encoder
            else ("trivium-bench", "--new-tokens", 32,
                  "--running", max(1, running // workers)))
        command = [options.programs / program, self._folder, self._ids,
                   "--precision", options.precision, "--workers", workers,
                   "--worker-threads", threads, "--rounds", 4, *flags,
                   *(["--max-isa", options.max_isa] if options.max_isa else [])]
        report = json.loads(subprocess.run(
            list(map(str, command)), check=True, text=True,
            stdout=subprocess.PIPE).stdout)
        return min(report["seconds"][1:]), report["isa"]


def main():
    options = parse_arguments()
    rows = []
    print(machine.in_words(machine.describe())
          + f"\n\n| {options.precision} | requests at a time | "
          + " | ".join(f"{name}: ms" for name in options.layouts) + " | "
          + " | ".join(f"{name} / {options.layouts[0]}"
                       for name in options.layouts[1:])
          + " |\n|" + "---|" * (1 + 2 * len(options.layouts)))
    for name in options.models.split(","):
        with tempfile.TemporaryDirectory() as work:
            model = Model(name, options, pathlib.Path(work))
            for running in options.running:
                best = [float("inf")] * len(options.layouts)
                for _ in range(options.rounds):
                    for i, text in enumerate(options.layouts):
                        workers, threads = layout(text)
                        if workers > running:
                            continue  # a request has one worker
                        seconds, isa = model.seconds(workers, threads, running)
                        best[i] = min(best[i], seconds)
                shown = [f"{1e3 * s:,.0f}" if s < 1e9 else "" for s in best]
                ratios = [f"{s / best[0]:.2f}" if s < 1e9 else ""
                          for s in best[1:]]
                print(f"| {name} ({isa}) | {running} | " + " | ".join(shown)
                      + " | " + " | ".join(ratios) + " |", flush=True)
                rows.append({"model": name, "isa": isa, "running": running,
                             "seconds": dict(zip(options.layouts, best))})
    if options.json:
        report = {"machine": machine.describe(),
                  "precision": options.precision, "rows": rows}
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
