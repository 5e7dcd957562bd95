"""Speculation against none: see the command measure_speculation.

Prompts whose answers copy from them (a text to go on with that stood before, a
list to be written again, a program with one change), and prompts whose answers
do not; greedy and drawn. Both sides give the same tokens and log-probabilities,
or the program that measures fails.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import arguments
import machine

PASSAGE = (
    "The harbour master keeps a ledger of every vessel that enters the bay. On "
    "the third of March the barque Eleanor came in under a torn foresail with "
    "forty casks of lamp oil, two crates of clockwork and a parrot that could "
    "say the names of seven ports. Her captain, a quiet man from Tromso, paid "
    "the dues in silver and asked for a carpenter, a sailmaker and a quiet "
    "room with a window to the north.")
RECORDS = "\n".join(
    f'{{"id": {1000 + 37 * i}, "name": "{name}", "city": "{city}", '
    f'"active": {str(i % 3 == 0).lower()}}}'
    for i, (name, city) in enumerate([
        ("Okafor", "Lagos"), ("Lindqvist", "Uppsala"), ("Moreau", "Lyon"),
        ("Tanaka", "Sendai"), ("Alvarez", "Quito"), ("Novak", "Brno")]))
PROGRAM = """def mean(values):
    total = 0
    for value in values:
        total += value
    return total / len(values)


def variance(values):
    middle = mean(values)
    total = 0
    for value in values:
        total += (value - middle) ** 2
    return total / len(values)
"""


def chat(text):
    return (f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n")


COPIES = [
    f"{PASSAGE}\n\n{PASSAGE}\n\n{PASSAGE[:60]}",
    f"{RECORDS}\n\n{RECORDS}\n\n{RECORDS[:40]}",
    f"{PROGRAM}\n\n{PROGRAM}\n\n{PROGRAM[:30]}",
    chat(f"Repeat this text word by word:\n\n{PASSAGE}"),
]
OTHERS = [
    chat(text) for text in [
        "Why is the sky blue?",
        "Tell me a story of a lighthouse keeper who is afraid of the sea.",
        "What should I know before I plant tomatoes?",
        "Explain to a child how a bicycle stays upright.",
        "Write a letter to a friend who has moved to another country.",
        "What are the differences between a violin and a cello?"]]
CASES = [("copies, greedy", COPIES, False), ("copies, drawn", COPIES, True),
         ("others, greedy", OTHERS, False), ("others, drawn", OTHERS, True)]


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="measure_speculation",
        description="Measures answers with and without guessed tokens.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--in-flight", type=int, nargs="+", default=[1, 4],
                        help="requests at a time")
    parser.add_argument("--precision", default="int8",
                        choices=["int8", "bf16", "f32"])
    parser.add_argument("--worker-threads", type=int, default=1)
    parser.add_argument("--max-new-tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", type=pathlib.Path, required=True,
                        help="folder or GGUF file")
    arguments.add_programs(parser)
    return parser.parse_args()


def measure(options, prompts, sample, in_flight):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(prompts, file)
        file.flush()
        command = [options.programs / "trivium-bench-speculation",
                   options.model, file.name, "--precision", options.precision,
                   "--worker-threads", options.worker_threads,
                   "--max-new-tokens", options.max_new_tokens,
                   "--rounds", options.rounds, "--in-flight", in_flight,
                   *(["--sample"] if sample else [])]
        return json.loads(subprocess.run(
            list(map(str, command)), check=True, text=True,
            stdout=subprocess.PIPE).stdout)


def main():
    options = parse_arguments()
    print(machine.in_words(machine.describe())
          + f"\n\n| {options.precision}, {options.worker_threads} threads | "
          "requests at a time | tokens | without: tokens/s | with: tokens/s | "
          "with / without | guessed | right |\n|" + "---|" * 8)
    for in_flight in options.in_flight:
        for name, prompts, sample in CASES:
            report = measure(options, prompts, sample, in_flight)
            without, with_ = report["seconds_without"], report["seconds_with"]
            tokens = report["new_tokens"]
            print(f"| {name} | {in_flight} | {tokens} | {tokens / without:.0f} "
                  f"| {tokens / with_:.0f} | {without / with_:.3f} | "
                  f"{report['drafted_of_a_round']} | "
                  f"{report['accepted_of_a_round']} |", flush=True)


if __name__ == "__main__":
    main()
