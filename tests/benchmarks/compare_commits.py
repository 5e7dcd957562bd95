"""This tree's engine against an earlier commit's: see the command
compare_commits.

Both do the same work in turns, each time in a process of its own whose first
round warms it up. The ratio of a pair is that of two neighbouring runs; the
median of the pairs counts. Answers are compared byte by byte: token ids of
translations, vectors of encoders.
"""

import argparse
import dataclasses
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import arguments
import encoder_folder
import machine
import marian_folder
import sentences
from machine import ROOT

TEST_SET = ROOT.parent / "shared/data/en-de/dev/tatoeba-unseen-1500.en-de.tsv"


@dataclasses.dataclass
class Work:
    """What is measured. `flags` are the program's besides folder and ids."""
    name: str
    model: str  # embedded, opus-mt or bert-base
    flags: str
    sentences: int

    @property
    def program(self):
        encoder = self.model == "bert-base"
        return "trivium-bench-encoder" if encoder else "trivium-bench"


def translation(name, model, sentence_count, flags):
    return Work(name, model, f"{flags} --new-tokens 32", sentence_count)


WORKS = [
    translation("opus-1", "opus-mt", 16, "--running 1"),
    translation("opus-32", "opus-mt", 128, "--running 32"),
    translation("opus-128", "opus-mt", 512, "--running 128"),
    translation("opus-beam", "opus-mt", 96, "--running 32 --beam 4"),
    translation("opus-f32", "opus-mt", 64, "--running 32 --precision f32"),
    translation("embedded-1", "embedded", 256, "--running 1"),
    translation("embedded-32", "embedded", 1024, "--running 32"),
    translation("embedded-shortlist", "embedded", 1024,
                "--running 32 --shortlist"),
    translation("embedded-beam", "embedded", 512, "--running 32 --beam 4"),
    Work("bert-int8", "bert-base", "--precision int8", 48),
    Work("bert-f32", "bert-base", "--precision f32", 16),
]


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="compare_commits COMMIT",
        description="Compares this tree's engine with an earlier commit's.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--works", default="all", help="some of: "
                        + ", ".join(work.name for work in WORKS))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5, help="pairs of runs")
    parser.add_argument("--test-set", default=str(TEST_SET), help="what the "
                        "embedded model translates: a text a line, up to a tab")
    arguments.add_report(parser)
    parser.add_argument("--commit", default="", help=argparse.SUPPRESS)
    for side in ("--before", "--now"):
        parser.add_argument(side, type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.before is None:
        parser.error("name the commit to compare with, as compare_commits HEAD~1")
    known = {work.name: work for work in WORKS}
    names = list(known) if options.works == "all" else options.works.split(",")
    if unknown := set(names) - set(known):
        parser.error(f"no work is called {', '.join(sorted(unknown))}; there "
                     f"are {', '.join(known)}")
    options.works = [known[name] for name in names]
    return options


class Models:
    """Folders and sentences, made when they are first asked for."""

    def __init__(self, options, work):
        self._test_set = options.test_set
        self._work = work
        self._made = {}

    def get(self, work):
        if work.model not in self._made:
            self._made[work.model] = getattr(
                self, "_" + work.model.replace("-", "_"))()
        folder, sources = self._made[work.model]
        ids = self._work / f"ids of {work.name}"
        sentences.write_ids(ids, sources[:work.sentences])
        return folder, ids

    def _most(self, model):
        return max(work.sentences for work in WORKS if work.model == model)

    def _embedded(self):
        folder = ROOT / "model/embedded"
        text = sentences.TrainedText(
            folder, self._test_set, self._most("embedded"))
        return folder, text.sources

    def _opus_mt(self):
        folder = self._work / "opus-mt"
        marian_folder.write_random(folder, marian_folder.OPUS_MT)
        return folder, sentences.random_sources(
            self._most("opus-mt"), marian_folder.OPUS_MT["vocabulary"])

    def _bert_base(self):
        folder = self._work / "bert-base"
        shape = encoder_folder.SHAPES["bert-base"]
        encoder_folder.write_random(folder, shape)
        return folder, encoder_folder.random_sentences(
            self._most("bert-base"), 10, 80, shape)


def run(programs, work, options, folder, ids, output):
    """Tokens a second of the second round, and the answers' bytes."""
    report = json.loads(subprocess.run(
        [programs / work.program, folder, ids, "--output", output,
         "--workers", str(options.workers), "--rounds", "2",
         *work.flags.split()],
        check=True, text=True, stdout=subprocess.PIPE).stdout)
    return report["tokens"] / report["seconds"][-1], output.read_bytes()


def compare(options, work, models, scratch):
    folder, ids = models.get(work)
    sides = {"before": options.before, "now": options.now}
    speeds = {side: [] for side in sides}
    same = True
    for number in range(options.rounds):
        answers = {}
        # Who runs first changes from pair to pair.
        order = list(sides) if number % 2 == 0 else list(sides)[::-1]
        for side in order:
            speed, answers[side] = run(
                sides[side], work, options, folder, ids, scratch / side)
            speeds[side].append(speed)
        same &= answers["before"] == answers["now"]
    pairs = [now / before
             for before, now in zip(speeds["before"], speeds["now"])]
    return {
        "work": work.name,
        "sentences": work.sentences,
        "tokens_per_second": {
            side: statistics.median(values) for side, values in speeds.items()},
        "ratio": statistics.median(pairs),
        "pairs": pairs,
        "same_answers": same,
    }


def main():
    options = parse_arguments()
    report = {"machine": machine.describe(), "before": options.commit,
              "workers": options.workers, "works": []}
    print(f"{machine.in_words(report['machine'])}, against {options.commit}, "
          f"{options.workers} worker(s), {options.rounds} pairs\n")
    print("| work | before, tokens/s | now, tokens/s | now / before (median) "
          "| pairs | same answers |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        models = Models(options, scratch)
        for work in options.works:
            entry = compare(options, work, models, scratch)
            report["works"].append(entry)
            speeds = entry["tokens_per_second"]
            print(f"| {work.name} | {speeds['before']:,.0f} "
                  f"| {speeds['now']:,.0f} | {entry['ratio']:.3f} "
                  f"| {min(entry['pairs']):.3f} - {max(entry['pairs']):.3f} "
                  f"| {'yes' if entry['same_answers'] else 'NO'} |", flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    if not all(entry["same_answers"] for entry in report["works"]):
        sys.exit("answers differ from the earlier commit's")


if __name__ == "__main__":
    main()
