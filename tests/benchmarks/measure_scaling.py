"""How the engine's cost grows: see the command measure_scaling.

Random sources of one length, exactly as many new tokens each. Beside the
measured cost stands the arithmetic: multiplications and additions of the
matrix products and of attention, from the model's config.json.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import arguments
import machine
import marian_folder
import sentences
from workload import EMBEDDED

PHASES = ("encode", "self_attention", "cross_attention", "feed_forward",
          "output_projection", "search", "other")


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="measure_scaling",
        description="Prints how the engine's cost of a token grows.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--model", default=str(EMBEDDED), help="Marian folder, "
                        "or opus-mt for random weights of that shape")
    parser.add_argument("--precision", default="int8",
                        choices=["int8", "bf16", "f32"])
    parser.add_argument("--max-isa", default="")
    parser.add_argument("--new-tokens", type=int, default=32)
    parser.add_argument("--source-tokens", type=arguments.integers,
                        default=[8, 16, 32, 64, 128, 256, 512])
    parser.add_argument("--running", type=arguments.integers,
                        default=[1, 2, 4, 8, 16, 32, 64, 128, 256])
    parser.add_argument("--beams", type=arguments.integers, default=[1, 2, 4, 8])
    parser.add_argument("--workers", type=arguments.integers, default=[1, 2])
    parser.add_argument("--waves", type=int, default=2, help="sentences of each "
                        "measurement: so many times what runs at once")
    arguments.add_report(parser)
    arguments.add_programs(parser)
    return parser.parse_args()


class Arithmetic:
    """Operations (a multiplication or an addition each) of a Marian model."""

    def __init__(self, config):
        self._d = config["d_model"]
        self._encoder_layers = config["encoder_layers"]
        self._decoder_layers = config["decoder_layers"]
        self._encoder_ffn = config["encoder_ffn_dim"]
        self._decoder_ffn = config["decoder_ffn_dim"]
        self._vocabulary = config["vocab_size"]

    def per_new_token(self, source, new, beam):
        """Of a whole sentence, divided by its new tokens."""
        d = self._d
        # Q, K, V, output; feed-forward; q.k and the sum over values.
        encoder = self._encoder_layers * (
            4 * d * d + 2 * d * self._encoder_ffn + 2 * source * d)
        cross_keys_values = self._decoder_layers * 2 * d * d
        # Self-attention sees half of the new tokens on average.
        decoder = self._decoder_layers * (
            6 * d * d + 2 * d * self._decoder_ffn + 2 * source * d + new * d)
        output = d * self._vocabulary
        return 2 * (source * (encoder + cross_keys_values) / new
                    + beam * (decoder + output))


class Scaling:
    def __init__(self, options, work):
        self._options = options
        self._work = work
        if options.model == "opus-mt":
            self._folder = work / "opus-mt"
            marian_folder.write_random(self._folder, marian_folder.OPUS_MT)
        else:
            self._folder = pathlib.Path(options.model)
        config = json.loads((self._folder / "config.json").read_text("utf-8"))
        self._vocabulary = config["vocab_size"]
        self._arithmetic = Arithmetic(config)

    def measure(self, source=32, running=32, beam=1, workers=1):
        options = self._options
        count = max(8, options.waves * running * workers)
        ids = self._work / "ids"
        sentences.write_ids(
            ids, sentences.fixed_ids(count, source, self._vocabulary))
        command = [
            options.programs / "trivium-bench", self._folder, ids,
            "--precision", options.precision, "--workers", workers,
            "--running", running, "--beam", beam,
            "--new-tokens", options.new_tokens, "--rounds", 2,
            *(["--max-isa", options.max_isa] if options.max_isa else []),
        ]
        report = json.loads(subprocess.run(
            list(map(str, command)), check=True, text=True,
            stdout=subprocess.PIPE).stdout)
        # The first round warms up.
        speed = report["tokens"] / report["seconds"][-1]
        operations = self._arithmetic.per_new_token(
            source, options.new_tokens, beam)
        phases = {name: report["phases"][name] for name in PHASES}
        total = sum(phases.values())
        return {
            "source_tokens": source,
            "running": running,
            "beam": beam,
            "workers": workers,
            "isa": report["isa"],
            "tokens_per_second": speed,
            "microseconds_per_token": 1e6 / speed,
            "operations_per_token": operations,
            "operations_per_second": operations * speed,
            # Of both rounds.
            "shares": {name: value / total for name, value in phases.items()},
        }


def print_table(title, key, rows):
    print(f"\n**{title}**\n\n| {key.replace('_', ' ')} | tokens/s | us/token "
          "| of the first | Mop/token | of the first | Gop/s | "
          + " | ".join(name.replace("_", " ") for name in PHASES) + " |\n|"
          + "---|" * (7 + len(PHASES)))
    for row in rows:
        first = rows[0]
        cost, work = "microseconds_per_token", "operations_per_token"
        print(f"| {row[key]} | {row['tokens_per_second']:,.0f} "
              f"| {row[cost]:.1f} | {row[cost] / first[cost]:.2f} "
              f"| {row[work] / 1e6:.1f} | {row[work] / first[work]:.2f} "
              f"| {row['operations_per_second'] / 1e9:.0f} | "
              + " | ".join(f"{100 * row['shares'][name]:.0f} %"
                           for name in PHASES) + " |", flush=True)


def main():
    options = parse_arguments()
    tables = {}
    with tempfile.TemporaryDirectory() as folder:
        scaling = Scaling(options, pathlib.Path(folder))
        print(f"{options.model}, {options.precision}, {options.new_tokens} new "
              "tokens; unless the table says otherwise: sources of 32 tokens, "
              "32 running, greedy, 1 worker\n"
              + machine.in_words(machine.describe()))
        for title, key, argument, values in (
                ("Source length", "source_tokens", "source",
                 options.source_tokens),
                ("Requests running", "running", "running", options.running),
                ("Beam", "beam", "beam", options.beams),
                ("Workers, 32 running each", "workers", "workers",
                 options.workers)):
            rows = [scaling.measure(**{argument: value}) for value in values]
            if rows:
                print_table(title, key, rows)
            tables[key] = rows
    if options.json:
        report = {"machine": machine.describe(), "model": options.model,
                  "precision": options.precision,
                  "new_tokens": options.new_tokens, "tables": tables}
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
