"""An encoder's int8 vectors beside its f32 ones: see the command
measure_quality."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import arguments
import machine
from machine import ROOT

TEST_SET = ROOT.parent / "shared/data/en-de/dev/newstest2014.en-de.tsv"


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="measure_quality",
        description="Prints the cosines of an encoder's vectors to those of "
        "f32; exit status 1 where one is too small.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("model", type=pathlib.Path, help="an encoder's folder "
                        "with its tokenizer")
    parser.add_argument("--precision", default="int8", choices=["int8", "bf16"])
    parser.add_argument("--max-isa", default="")
    parser.add_argument("--least", type=float, default=0.995,
                        help="cosine of any sentence")
    parser.add_argument("--sentences", type=int, default=0, help="0: all")
    parser.add_argument("--test-set", type=pathlib.Path, default=TEST_SET,
                        help="a text a line, up to a tab")
    arguments.add_programs(parser)
    return parser.parse_args()


def vectors(options, precision, texts, work):
    out = work / precision
    report = json.loads(subprocess.run(
        [str(argument) for argument in (
            options.programs / "trivium-bench-encoder", options.model, texts,
            "--texts", "--precision", precision, "--output", out,
            *(["--max-isa", options.max_isa] if options.max_isa else []))],
        check=True, text=True, stdout=subprocess.PIPE).stdout)
    result = np.fromfile(out, np.float32).reshape(report["sentences"], -1)
    return result / np.linalg.norm(result, axis=1, keepdims=True), report


def main():
    options = parse_arguments()
    if not options.test_set.is_file():
        sys.exit(f"no test set {options.test_set}: name a file of texts with "
                 "--test-set")
    lines = [line.split("\t")[0] for line
             in options.test_set.read_text("utf-8").splitlines()]
    lines = [line for line in lines if line.strip()][: options.sentences or None]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        texts = work / "texts"
        texts.write_text("\n".join(lines) + "\n", "utf-8")
        reference, _ = vectors(options, "f32", texts, work)
        measured, report = vectors(options, options.precision, texts, work)
    cosines = np.sum(reference * measured, 1)
    print(f"{options.model.name}, {options.precision} ({report['isa']}) against "
          f"f32, {len(lines)} sentences of {options.test_set.name}\n"
          f"{machine.in_words(machine.describe())}\n")
    print("| | cosine |\n|---|---|")
    for name, value in (
            ("least", cosines.min()), ("1 in 1,000", np.quantile(cosines, .001)),
            ("1 in 100", np.quantile(cosines, .01)),
            ("median", np.median(cosines))):
        print(f"| {name} | {value:.5f} |")
    worst = int(np.argmin(cosines))
    print(f"\nThe least is that of: {lines[worst]}")
    # Written so that NaN counts.
    below = int(np.sum(~(cosines >= options.least)))
    if below:
        sys.exit(f"{below} sentences do not have a cosine of {options.least}")


if __name__ == "__main__":
    main()
