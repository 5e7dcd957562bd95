"""This engine against CTranslate2: see the command compare_ctranslate2.

Both sides translate all sentences from ids to ids, encoder included, in turns,
and the medians of the rounds are compared: a machine's speed changes from
minute to minute, and only figures of one run tell something. Of random weights,
both first make the same ids of some sentences in f32.
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
import limits
import machine
import random_folders
import sentences

CHECKED = 4  # sentences that both sides translate in f32 first
TEST_SET = "../shared/data/en-de/dev/tatoeba-unseen-1500.en-de.tsv"


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="compare_ctranslate2",
        description="Compares this engine with CTranslate2 on one machine.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--model", default="model/embedded", help="Marian "
                        "folder, or random weights of a shape: "
                        + ", ".join(random_folders.SHAPES))
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
    arguments.add_report(parser)
    parser.add_argument("--programs", required=True, type=pathlib.Path,
                        help=argparse.SUPPRESS)
    return parser.parse_args()


class OwnEngine:
    def __init__(self, options, folder, sources, work, shortlist=False):
        self.name = "Trivium, shortlist" if shortlist else "Trivium"
        self._results = work / f"results of {self.name}"
        ids_file = work / "sentences"
        sentences.write_ids(ids_file, sources)
        self._command = [
            str(options.programs / "trivium-bench"), str(folder), str(ids_file),
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

    def __init__(self, options, converted, folder, sources, inside, batch,
                 no_repeat_ngram_size=0):
        self.name = f"CTranslate2, batch {batch}" + (
            "" if options.threads == 1
            else ", threads inside products" if inside
            else ", threads side by side")
        self._options = options
        self._batch = batch
        self._no_repeat = no_repeat_ngram_size
        self._sources = sources
        self._translator = ctranslate2_model.Translator(
            folder, converted, "int8" if options.precision == "int8"
            else "float32", options.threads, inside)
        self._results = self._translate()  # warms up

    def _translate(self):
        options = self._options
        return self._translator.translate(
            self._sources, options.beam, self._batch, options.new_tokens, 256,
            self._no_repeat)

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


def check_peer(options, model, sources, work):
    """Ends the program unless both sides write the same ids in f32, greedily.
    Random weights say one thing over and over: no token may come twice."""
    rules = {"no_repeat_ngram_size": 1}
    folder = work / "checked"
    folder.mkdir()
    for file in model.iterdir():
        if file.name != "generation_config.json":
            (folder / file.name).symlink_to(file.resolve())
        else:
            rules |= json.loads(file.read_text())
    (folder / "generation_config.json").write_text(json.dumps(rules))
    options = argparse.Namespace(**{**vars(options), "precision": "f32",
                                    "beam": 1})
    ctranslate2_model.convert(folder, work / "ct2", None)
    own = OwnEngine(options, folder, sources, work)
    own.round()
    peer = Peer(options, work / "ct2", folder, sources, inside=False,
                batch=len(sources), no_repeat_ngram_size=1)
    if own.results() != peer.results():
        raise SystemExit("the sides' f32 models differ: the folder was "
                         "converted wrongly")


def compare(options, work):
    text = None
    shape = random_folders.SHAPES.get(options.model)
    if shape:
        model = work / options.model
        random_folders.write(model, options.model)
        sources = sentences.random_sources(
            options.sentences, shape.vocabulary, shape.end)
        check_peer(options, model, sources[:CHECKED], work)
    else:
        model = pathlib.Path(options.model)
        text = sentences.TrainedText(model, options.test_set, options.sentences)
        sources = text.sources
    quantization = "int8" if options.precision == "int8" else None
    ctranslate2_model.convert(model, work / "ct2", quantization)
    peak = limits.measure(options.programs, f"Peak/{options.precision}")["peak"]

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
    if shape and options.new_tokens:
        operations = sum(
            shape.operations(len(source), options.new_tokens, options.beam)
            for source in sources) / len(sources) / options.new_tokens
        report["operations_per_token"] = operations
        report["share_of_peak"] = (
            operations * fastest(sides[:1]) / (peak * options.threads))
    report["peak"] = peak
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
    if "share_of_peak" in report:
        print(f"A new token, its source included, is "
              f"{report['operations_per_token'] / 1e6:.0f} million operations "
              f"of products: {100 * report['share_of_peak']:.0f} % of what "
              f"multiplications alone make, {report['peak'] / 1e9:,.0f} Gop/s "
              f"a thread")
    if "shortlist_ratio" in report:
        print(f"With the shortlist: {report['shortlist_ratio']:.2f}")


if __name__ == "__main__":
    main()
