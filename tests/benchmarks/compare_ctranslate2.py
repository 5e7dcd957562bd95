"""This engine against CTranslate2: see the command compare_ctranslate2.

Both sides translate all sentences from ids to ids, encoder included, in turns,
and the medians of the rounds are compared: a machine's speed changes from
minute to minute, and only figures of one run tell something.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import ctranslate2

import arguments
import ctranslate2_model
import machine
import marian_folder
import sentences

TEST_SET = "../shared/data/en-de/dev/tatoeba-unseen-1500.en-de.tsv"


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="compare_ctranslate2",
        description="Compares this engine with CTranslate2 on one machine.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--model", default="model/embedded", help="Marian "
                        "folder, or opus-mt for random weights of that shape")
    parser.add_argument("--precision", default="int8", choices=["int8", "f32"])
    parser.add_argument("--max-isa", default="", help="cap of this engine's "
                        "instruction set")
    parser.add_argument("--shortlist", action="store_true", help="measure "
                        "this engine with the folder's vocabulary shortlist, "
                        "too; with --new-tokens 0 its cost in BLEU")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--running", type=int, default=32, help="requests at "
                        "once of a thread; CTranslate2's batch size")
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--new-tokens", type=int, default=32, help="exactly so "
                        "many; 0: until the end token, with BLEU")
    parser.add_argument("--sentences", type=int, default=128,
                        help="0: the whole test set")
    parser.add_argument("--batches", type=arguments.integers, default=[],
                        help="of CTranslate2, whose best counts; default: one "
                        "of as many as run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--test-set", default=TEST_SET, help="source and "
                        "reference, separated by a tab, a pair a line")
    parser.add_argument("--json", help="write the report there, too")
    parser.add_argument("--bench", required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


class OwnEngine:
    def __init__(self, options, folder, sources, work, shortlist=False):
        self.name = "Trivium, shortlist" if shortlist else "Trivium"
        self._results = work / f"results of {self.name}"
        ids_file = work / "sentences"
        sentences.write_ids(ids_file, sources)
        self._command = [
            options.bench, str(folder), str(ids_file),
            "--output", str(self._results),
            "--precision", options.precision,
            "--workers", str(options.threads),
            "--running", str(options.running),
            "--beam", str(options.beam),
            "--new-tokens", str(options.new_tokens),
            "--rounds", "2",
        ]
        if options.max_isa:
            self._command += ["--max-isa", options.max_isa]
        if shortlist:
            self._command.append("--shortlist")
        self.report = {}

    def round(self):
        """Tokens and seconds; the process's first round warms it up."""
        output = subprocess.run(
            self._command, stdout=subprocess.PIPE, text=True, check=True).stdout
        self.report = json.loads(output)
        return self.report["tokens"], self.report["seconds"][-1]

    def results(self):
        lines = self._results.read_text().splitlines()
        return [[int(i) for i in line.split()] for line in lines]


class Peer:
    """CTranslate2, its threads as translators or inside the products."""

    def __init__(self, options, converted, folder, sources, inside, batch):
        self.name = f"CTranslate2, batch {batch}" + (
            "" if options.threads == 1
            else ", threads inside products" if inside
            else ", threads side by side")
        self._options = options
        self._batch = batch
        self._sources = sources
        self._translator = ctranslate2_model.Translator(
            folder, converted, "int8" if options.precision == "int8"
            else "float32", options.threads, inside)
        self._results = self._translate()  # warms up

    def _translate(self):
        options = self._options
        return self._translator.translate(
            self._sources, options.beam, self._batch, options.new_tokens, 256)

    def round(self):
        begin = time.perf_counter()
        self._results = self._translate()
        seconds = time.perf_counter() - begin
        tokens = sum(len(ids) for ids in self._results)
        if not self._options.new_tokens:
            tokens += len(self._results)  # the end tokens, which it leaves out
        return tokens, seconds

    def results(self):
        return self._results


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        compare(options, work)


def compare(options, work):
    text = None
    if options.model == "opus-mt":
        model = work / "opus-mt"
        marian_folder.write_random(model, marian_folder.OPUS_MT)
        sources = sentences.random_sources(
            options.sentences, marian_folder.OPUS_MT["vocabulary"])
    else:
        model = pathlib.Path(options.model)
        text = sentences.TrainedText(model, options.test_set, options.sentences)
        sources = text.sources
    quantization = "int8" if options.precision == "int8" else None
    ctranslate2_model.convert(model, work / "ct2", quantization)

    sides = [OwnEngine(options, model, sources, work)]
    if options.shortlist:
        sides.append(OwnEngine(options, model, sources, work, shortlist=True))
    own_sides = len(sides)
    for inside in (False, True)[: 1 if options.threads == 1 else 2]:
        for batch in options.batches or [options.running]:
            sides.append(
                Peer(options, work / "ct2", model, sources, inside, batch))
    speeds = {side.name: [] for side in sides}
    for _ in range(options.rounds):
        for side in sides:
            tokens, seconds = side.round()
            speeds[side.name].append(tokens / seconds)

    report = {
        "machine": machine.describe(),
        "model": options.model,
        "precision": options.precision,
        "isa": sides[0].report["isa"],
        "threads": options.threads,
        "running": options.running,
        "beam": options.beam,
        "new_tokens": options.new_tokens or "until the end token",
        "sentences": len(sources),
        "ctranslate2": ctranslate2.__version__,
        "phases": sides[0].report["phases"],
        "sides": {},
    }
    for side in sides:
        entry = {
            "tokens_per_second": statistics.median(speeds[side.name]),
            "rounds": speeds[side.name],
        }
        if text and not options.new_tokens:
            entry["bleu"] = text.bleu(side.results())
        report["sides"][side.name] = entry

    def fastest(some):
        return max(report["sides"][side.name]["tokens_per_second"]
                   for side in some)

    peer = fastest(sides[own_sides:])
    report["ratio"] = fastest(sides[:1]) / peer
    if options.shortlist:
        report["shortlist_ratio"] = fastest(sides[1:2]) / peer
    print_markdown(report)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")


def print_markdown(report):
    print(f"{report['model']}, {report['precision']}, beam {report['beam']}, "
          f"{report['running']} running, {report['threads']} thread(s), "
          f"{report['sentences']} sentences, "
          f"new tokens: {report['new_tokens']}\n"
          f"{machine.in_words(report['machine'])}, {report['isa']}; CTranslate2 "
          f"{report['ctranslate2']}\n")
    print("| | tokens/s (median) | slowest to fastest round | BLEU |")
    print("|---|---|---|---|")
    for name, entry in report["sides"].items():
        rounds = entry["rounds"]
        bleu = f"{entry['bleu']:.2f}" if "bleu" in entry else ""
        print(f"| {name} | {entry['tokens_per_second']:,.0f} "
              f"| {min(rounds):,.0f} - {max(rounds):,.0f} | {bleu} |")
    print(f"\nRatio: {report['ratio']:.2f}")
    if "shortlist_ratio" in report:
        print(f"With the shortlist: {report['shortlist_ratio']:.2f}")


if __name__ == "__main__":
    main()
