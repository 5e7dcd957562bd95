"""This engine against others on an encoder: see the command compare_encoders.

All get the same random ids and give a vector a sentence, in turns. The engine
takes the sentences as they come, without padding; each peer is measured in
several batchings, and its best counts. Tokens are real ones: padding does not
count.
"""

import argparse
import dataclasses
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import arguments
import encoder_folder
import limits
import machine
import sentences
from machine import ROOT

# A peer goes on with the batchings whose best round had at least so much of the
# speed of its fastest one's: after the first round, in which it also prepares
# for every new length, and after the second. Further rounds count.
KEPT = (0.4, 0.85)


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="compare_encoders",
        description="Compares this engine with ONNX Runtime, OpenVINO and "
        "PyTorch on one machine.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--model", default="bert-base",
                        choices=list(encoder_folder.SHAPES),
                        help="shape of the model; its weights are random")
    parser.add_argument("--precisions", type=arguments.precisions,
                        default="f32,int8", help="of this engine, of f32, bf16, int8")
    parser.add_argument("--peer-precisions", type=arguments.precisions,
                        default="f32,bf16,int8", help="of the peers")
    parser.add_argument("--layers", type=int, help="so many of the shape's: a "
                        "large shape then takes less memory and time")
    parser.add_argument("--peers", type=arguments.texts,
                        default="ONNX Runtime,OpenVINO,PyTorch",
                        help="some of these; empty: this engine alone")
    parser.add_argument("--also", type=arguments.integers, default="",
                        help="lengths: what a token of them costs this engine, "
                        "beside one of the longest")
    parser.add_argument("--max-isa", default="", help="cap of this engine's "
                        "instruction set")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sentences", type=int, default=64)
    parser.add_argument("--shortest", type=int, default=10,
                        help="tokens; lengths are drawn evenly")
    parser.add_argument("--longest", type=int, default=80)
    parser.add_argument("--batches", type=arguments.integers,
                        default="1,8,32", help="of the peers, each in order of "
                        "arrival and sorted by length")
    parser.add_argument("--rounds", type=int, default=5, help="the first two "
                        "warm up and pick the peers' batchings")
    parser.add_argument("--budget", type=float, default=1e9, help="seconds; "
                        "no round begins after them, but for the first two")
    arguments.add_report(parser)
    arguments.add_programs(parser)
    options = parser.parse_args()
    options.shape = encoder_folder.SHAPES[options.model]
    if options.layers:
        options.shape = dataclasses.replace(options.shape,
                                            layers=options.layers)
    return options


class OwnEngine:
    def __init__(self, options, precision, folder, ids, work):
        self.name, self.precision, self.batching = "Trivium", precision, "none"
        self._vectors = work / f"vectors_{precision}"
        self._command = [
            options.programs / "trivium-bench-encoder", folder, ids,
            "--output", self._vectors, "--precision", precision,
            "--workers", options.threads, "--rounds", 2,
            *(["--sparse"] if options.shape.sparse else []),
            *(["--max-isa", options.max_isa] if options.max_isa else [])]

    def round(self):
        """Seconds; the process's first round warms it up."""
        self.report = json.loads(subprocess.run(
            list(map(str, self._command)), check=True, text=True,
            stdout=subprocess.PIPE).stdout)
        return self.report["seconds"][-1]

    def vectors(self):
        vectors = np.fromfile(self._vectors, np.float32)
        return vectors.reshape(self.report["sentences"], -1)


@dataclasses.dataclass
class PeerBatches:
    """A peer in one batching."""
    peer: object
    batching: str
    order: list  # of the sentences
    batches: list  # (ids, mask), padded

    def __post_init__(self):
        self.name, self.precision = self.peer.name, self.peer.precision

    def round(self):
        begin = time.perf_counter()
        self._results = [self.peer(*batch) for batch in self.batches]
        return time.perf_counter() - begin

    def vectors(self):
        vectors = np.concatenate(self._results)
        return vectors[np.argsort(self.order)]


def batchings(sources, sizes, padded):
    """(name, order, batches) of every way to cut the sentences."""
    arrival = list(range(len(sources)))
    by_length = sorted(arrival, key=lambda i: len(sources[i]))
    for size in sizes:
        for name, order in ((f"{size}, sorted by length", by_length),
                            (f"{size}, as they come", arrival)):
            if size == 1:
                name = "one at a time"
            yield name, order, [
                padded([sources[i] for i in order[begin:begin + size]])
                for begin in range(0, len(order), size)]
            if size == 1:
                break


def make_sides(options, work):
    """Own engine and peers by batching, and the sentences."""
    shape = options.shape
    folder = work / "model"
    encoder_folder.write_random(folder, shape)
    sources = encoder_folder.random_sentences(
        options.sentences, options.shortest, options.longest, shape)
    ids = work / "ids"
    sentences.write_ids(ids, sources)
    sides = [OwnEngine(options, precision, folder, ids, work)
             for precision in options.precisions]
    if not options.peers:
        return sides, sources, {}
    import encoder_peers  # takes seconds
    models = ROOT / "build/benchmarks/encoder-models" / (
        f"{options.model}-{shape.layers}")
    encoder_peers.write_models(
        folder, encoder_folder.random_sentences(64, 10, 80, shape), models,
        options.peer_precisions, options.peers)
    cut = list(batchings(sources, options.batches, encoder_peers.padded))
    for peer in encoder_peers.make(folder, models, options.peer_precisions,
                                   options.peers, options.threads):
        peer(*cut[0][2][0])
        sides += [PeerBatches(peer, *way) for way in cut]
    return sides, sources, encoder_peers.VERSIONS


def costs_of_lengths(options, work):
    """Microseconds a token of each of --also's lengths and of the longest, in
    the engine's last precision."""
    shape = options.shape
    seconds = {length: [] for length in [*options.also, options.longest]}
    for _ in range(2):
        for length, taken in seconds.items():
            count = max(1, options.longest // length)
            ids = work / f"ids_{length}"
            sentences.write_ids(ids, encoder_folder.random_sentences(
                count, length, length, shape))
            side = OwnEngine(options, options.precisions[-1], work / "model",
                             ids, work)
            taken.append(side.round() / (count * length))
    return {length: 1e6 * min(taken)
            for length, taken in seconds.items()}


def measure(sides, rounds, budget):
    """Seconds of each side's rounds, in turns; see KEPT. Also the sides that
    went on to the end, whose first rounds are left out."""
    seconds = [[] for _ in sides]
    going_on = list(range(len(sides)))
    best = {}
    begin = time.monotonic()
    for number in range(rounds):
        if number > 1 and time.monotonic() - begin > budget:
            break
        for i in going_on:
            taken = sides[i].round()
            seconds[i].append(taken)
            print(f"{sides[i].name} {sides[i].precision}, "
                  f"{sides[i].batching}: {taken:.2f} s", file=sys.stderr)
            key = sides[i].name, sides[i].precision
            best[key] = min(best.get(key, taken), taken)
        if number < len(KEPT):
            going_on = [
                i for i in going_on
                if best[sides[i].name, sides[i].precision]
                >= KEPT[number] * min(seconds[i])]
    for i in going_on:
        seconds[i] = seconds[i][len(KEPT):] or seconds[i][-1:]
    return seconds, going_on


def cosines(vectors, reference):
    return np.sum(vectors * reference, 1) / (
        np.linalg.norm(vectors, axis=1) * np.linalg.norm(reference, axis=1))


def compare(options, work):
    sides, sources, versions = make_sides(options, work)
    tokens = sum(map(len, sources))
    # In int8, of one thread; before and after, as the machine's speed changes.
    peaks = [limits.measure(options.programs, "Peak/int8").get("peak")]
    seconds, going_on = measure(sides, options.rounds, options.budget)
    peaks.append(limits.measure(options.programs, "Peak/int8").get("peak"))
    entries = []
    references = {}  # each one's own f32
    for i, side in enumerate(sides):
        entries.append({
            "side": side.name, "precision": side.precision,
            "batching": side.batching,
            "tokens_per_second": tokens / statistics.median(seconds[i]),
            "rounds": [tokens / taken for taken in seconds[i]],
            "finalist": i in going_on,
        })
        if side.precision == "f32":
            references.setdefault(side.name, side.vectors())
    for entry, side in zip(entries, sides):
        if side.name in references:
            entry["least_cosine_to_own_f32"] = float(
                cosines(side.vectors(), references[side.name]).min())
    own = {e["precision"]: e for e in entries if e["side"] == "Trivium"}
    peers = [e for e in entries if e["side"] != "Trivium" and e["finalist"]]
    report = {
        "machine": machine.describe(),
        "model": options.model,
        "layers": options.shape.layers,
        "threads": options.threads,
        "isa": sides[0].report["isa"],
        "sentences": len(sources),
        "shortest": options.shortest,
        "longest": options.longest,
        "tokens": tokens,
        "versions": versions,
        "sides": entries,
        "ratios": {},
    }
    for precision, entry in own.items():
        rivals = [e for e in peers if (e["precision"] == "f32") ==
                  (precision == "f32")]
        if rivals:
            best = max(rivals, key=lambda e: e["tokens_per_second"])
            report["ratios"][precision] = {
                "ratio": entry["tokens_per_second"] / best["tokens_per_second"],
                "best": {key: best[key]
                         for key in ("side", "precision", "batching")}}
    if "int8" in own and all(peaks):
        operations = options.shape.operations()
        peak = statistics.mean(peaks) * options.threads
        report["int8_peak"] = peak
        report["share"] = (own["int8"]["tokens_per_second"] * operations
                           / peak)
    if options.also:
        report["microseconds_a_token"] = costs_of_lengths(options, work)
    # All compute the same function: else their speeds mean nothing.
    if "Trivium" in references:
        others = [r for name, r in references.items() if name != "Trivium"]
        report["least_cosine_between_f32"] = min(
            (float(cosines(references["Trivium"], other).min())
             for other in others), default=None)
    return report


def print_markdown(report):
    print(f"{report['model']}, {report['layers']} layers, random weights, "
          f"{report['sentences']} sentences of {report['shortest']} to "
          f"{report['longest']} tokens "
          f"({report['tokens']} in all), {report['threads']} thread(s)\n"
          f"{machine.in_words(report['machine'])}, {report['isa']}; "
          + ", ".join(f"{name} {version}"
                      for name, version in report["versions"].items()) + "\n")
    print("| | batch | tokens/s (median) | slowest to fastest round "
          "| least cosine to own f32 |\n|---|---|---|---|---|")
    for entry in sorted(report["sides"], key=lambda e: (
            e["side"] != "Trivium", e["side"], e["precision"],
            -e["tokens_per_second"])):
        rounds = entry["rounds"]
        spread = (f"{min(rounds):,.0f} - {max(rounds):,.0f}"
                  if entry["finalist"] else "left out as too slow")
        cosine = entry.get("least_cosine_to_own_f32")
        print(f"| {entry['side']} {entry['precision']} | {entry['batching']} "
              f"| {entry['tokens_per_second']:,.0f} | {spread} "
              f"| {'' if cosine is None else f'{cosine:.5f}'} |")
    print()
    for precision, entry in report["ratios"].items():
        best = entry["best"]
        print(f"Ratio of {precision} to the best peer "
              f"{'in f32' if precision == 'f32' else 'below f32'}: "
              f"{entry['ratio']:.2f} ({best['side']} {best['precision']}, "
              f"{best['batching']})")
    if "share" in report:
        print(f"Share of int8 multiplications alone "
              f"({report['int8_peak'] / 1e9:,.0f} Gop/s), attention's left "
              f"out: {report['share']:.0%}")
    if costs := report.get("microseconds_a_token"):
        print("Microseconds a token, by tokens of a text: " + ", ".join(
            f"{length}: {cost:.0f} ({costs[report['longest']] / cost:.2f})"
            for length, cost in costs.items())
            + "; in brackets the cost of the longest, of this one")
    between = report.get("least_cosine_between_f32")
    if between is not None:
        print(f"Least cosine of this engine's f32 to a peer's: {between:.6f}")


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        report = compare(options, pathlib.Path(folder))
    print_markdown(report)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    between = report.get("least_cosine_between_f32")
    # Written so that NaN counts.
    if between is not None and not between >= 0.999:
        sys.exit("the sides do not compute the same vectors")


if __name__ == "__main__":
    main()
