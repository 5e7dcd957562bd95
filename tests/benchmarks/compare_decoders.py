"""This engine against others on a decoder: see the command compare_decoders.

SmolLM2-135M-Instruct in int8, or --model, random ids. Each work is measured on
all sides in turns, and the best round of each counts, for neighbours only ever
take time. A share is of what the machine can do at most, measured in the same
run: the greater of operations over the peak of their multiplications and bytes
of weights over the rate at which memory is read. Weights in groups have a lower
peak than int8, for each eight steps of bytes need two or three multiplications
of floats.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import types

import numpy as np

import arguments
import decoder_peers
import decoder_weights
import limits
import machine
import sentences
import servers
from machine import ROOT

SMOLLM2 = ROOT / "build/smollm2.gguf"
SMOLLM2_Q8 = ROOT / "build/benchmarks/smollm2-q8_0.gguf"
# Of SmolLM2: times llama.cpp, times the best peer, share of the limit.
FLOORS = {"prompt": (5, 1.3, 0.65), "1": (1.4, 1.2, 0.8),
          "8": (7, 1.5, 0.6), "32": (7, 1.5, 0.6)}


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="compare_decoders",
        description="Compares this engine with llama.cpp and OpenVINO GenAI on "
        "a decoder.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, default=SMOLLM2,
                        help="another GGUF file, which llama.cpp reads, too")
    parser.add_argument("--precision", default="int8",
                        help="of this engine; auto keeps four bits")
    parser.add_argument("--llama-model", type=pathlib.Path, action="append",
                        default=[], help="also measure llama.cpp with this "
                        "file; may be repeated")
    parser.add_argument("--streams", default="1,8,32",
                        help="how many streams together")
    parser.add_argument("--threads", type=int, default=1, choices=(1, 2, 4, 8))
    parser.add_argument("--prompt-tokens", type=int, default=512)
    parser.add_argument("--new-tokens", type=int, default=128,
                        help="of each stream")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--max-isa", default="", help="cap of this engine's "
                        "instruction set")
    parser.add_argument("--parts", default="peers,threads,gaps,saturation",
                        help="what to measure of these")
    parser.add_argument("--peers", default="llama.cpp,openvino")
    parser.add_argument("--duration", type=float, default=10,
                        help="seconds of each measurement of the server")
    arguments.add_report(parser)
    arguments.add_programs(parser)
    parser.add_argument("--llama", type=pathlib.Path,
                        help="folder of llama.cpp's programs, likewise")
    options = parser.parse_args()
    options.works = ["prompt", *filter(None, options.streams.split(","))]
    return options


def random_prompts(count, tokens):
    random = np.random.default_rng(count * tokens)
    return random.integers(100, 40000, (count, tokens)).tolist()


class OwnEngine:
    def __init__(self, options, work):
        self.name = f"Trivium {options.precision}"
        self._options, self._work = options, work

    def _run(self, prompts, running, threads, new_tokens, *flags):
        options = self._options
        ids = self._work / "prompts"
        sentences.write_ids(ids, prompts)
        report = json.loads(subprocess.run(
            list(map(str, [
                options.programs / "trivium-bench", options.model, ids,
                "--precision", options.precision, "--running", running,
                "--worker-threads", threads, "--new-tokens", new_tokens,
                *(["--max-isa", options.max_isa] if options.max_isa else []),
                *flags])),
            check=True, text=True, stdout=subprocess.PIPE).stdout)
        return report["tokens"] / min(report["seconds"])

    def prompt(self, threads):
        """Different ones, for a prompt that was read before is remembered; as
        many rows a step as a server chooses."""
        tokens = self._options.prompt_tokens
        return tokens * self._run(random_prompts(4, tokens), 256, threads, 1,
                                  "--choose-rows")

    def streams(self, count, threads):
        return self._run(random_prompts(count, 1), count, threads,
                         self._options.new_tokens, "--rounds", 2)

    def many(self, prompts, new_tokens):
        return self._run(prompts, 256, 1, new_tokens, "--choose-rows")


def measure_limits(options, threads):
    """Of one thread the peak, of all together the stream."""
    together = f"/real_time/threads:{threads}" if threads > 1 else ""
    return limits.measure(options.programs,
                          "Peak/(int8|groups|minimums)$|"
                          f"Read/268435456{together}$")


def most(work, weights, found, threads):
    """Tokens a second of nothing but multiplications, or reading weights."""
    def alone(weights):
        return decoder_weights.seconds(weights, found["peaks"]) / threads

    if work == "prompt":
        return 1 / alone(weights.layers)
    rows = int(work)
    step = max(rows * alone(weights.layers + weights.output),
               weights.bytes() / found["stream"])
    return rows / step


def llama_files(options):
    """The files that llama.cpp reads, by the name of their side."""
    if options.model == SMOLLM2:
        return {"llama.cpp Q8_0": SMOLLM2_Q8}
    return {f"llama.cpp {path.stem}": path
            for path in (options.model, *options.llama_model)}


def compare_peers(options, work):
    sides = [OwnEngine(options, work)]
    sizes = (options.prompt_tokens, options.new_tokens)
    files = llama_files(options)
    if "llama.cpp" in options.peers:
        for name, path in files.items():
            sides.append(
                decoder_peers.LlamaCpp(name, options.llama, path, *sizes))
    if "openvino" in options.peers:
        sides.append(decoder_peers.OpenVino([*files.values()][0], *sizes))
    weights = decoder_weights.read(options.model, options.precision)
    found = measure_limits(options, options.threads)
    has_floors = options.model == SMOLLM2
    peaks = ", ".join(f"{kind} {found['peaks'][kind] / 1e9:,.0f}"
                      for kind in weights.layers + weights.output)
    print(f"{peaks} Gop/s of one thread, memory {found['stream'] / 1e9:.1f} "
          f"GB/s of {options.threads}\n")
    print("| " + " | ".join(["tokens/s", *(side.name for side in sides),
                             *(f"/ {side.name}" for side in sides[1:]),
                             "share of the limit",
                             *(["floor"] if has_floors else [])])
          + " |\n|" + "---|" * (2 * len(sides) + 1 + has_floors))
    rows = []
    for name in options.works:
        speeds = [[] for _ in sides]
        for _ in range(options.rounds):
            for side, rounds in zip(sides, speeds):
                rounds.append(
                    side.prompt(options.threads) if name == "prompt"
                    else side.streams(int(name), options.threads))
        best = [max(rounds) for rounds in speeds]
        share = best[0] / most(name, weights, found, options.threads)
        label = (f"prompt of {options.prompt_tokens}" if name == "prompt"
                 else f"{name} stream(s)")
        floor = ""
        if has_floors and name in FLOORS:
            of_llama, of_best, of_limit = FLOORS[name]
            floor = (f" {of_llama} x llama.cpp, {of_best} x the best, or "
                     f"{of_limit:.0%} |")
        print(f"| {label} | " + " | ".join(f"{speed:,.1f}" for speed in best)
              + "".join(f" | {best[0] / speed:.2f}" for speed in best[1:])
              + f" | {share:.0%} |{floor}", flush=True)
        rows.append({"work": name, "share": share, "speeds": {
            side.name: rounds for side, rounds in zip(sides, speeds)}})
    print()
    return {"limits": found, "rows": rows}


def compare_threads(options, work):
    own = OwnEngine(options, work)
    speeds = [[], []]
    for _ in range(options.rounds):
        for threads, rounds in zip((1, 2), speeds):
            rounds.append(own.streams(1, threads))
    one, two = map(max, speeds)
    found = [measure_limits(options, threads) for threads in (1, 2)]
    weights = decoder_weights.read(options.model, options.precision)
    share = two / most("1", weights, found[1], 2)
    print(f"One stream: {one:,.0f} tokens/s with 1 thread, {two:,.0f} with 2 "
          f"threads of one worker, {two / one:.2f} times as many (floor 1.6), "
          f"{share:.0%} of the limit; memory {found[0]['stream'] / 1e9:.1f} "
          f"GB/s of one thread, {found[1]['stream'] / 1e9:.1f} of two\n")
    return {"one": speeds[0], "two": speeds[1], "ratio": two / one,
            "share": share, "limits": found}


class Served:
    """The server on the first core and its load on the second."""

    def __init__(self, options, work):
        self._work = work
        self.options = types.SimpleNamespace(
            programs=options.programs, precision=options.precision,
            server_cores=[0], load_cores=[1], warm_up=2,
            duration=options.duration, server_flags="--kv-cache-bytes 1GiB")
        self._model = types.SimpleNamespace(folder=options.model)

    def server(self):
        return servers.own_server(self.options, self._model, self._work)

    def flags(self, name, prompts, new_tokens):
        path = self._work / name
        sentences.write_ids(path, prompts)
        return ["--call", "generate", "--ids", "--file", path,
                "--min-new-tokens", new_tokens, "--max-new-tokens", new_tokens]

    def load(self, server, flags):
        report = servers.load(self.options, server, list(map(str, flags)))
        if report["failed"]:
            raise SystemExit(f"{report['failed']} calls failed, the first with:"
                             f" {report['first_error']}")
        return report


def compare_gaps(options, work):
    """Between tokens of 8 streams, without and with prompts of 2,000 tokens
    that arrive at random, one in four seconds."""
    served = Served(options, work)
    streams = served.flags("streams", random_prompts(64, 16), 256)
    arriving = served.flags("arriving", random_prompts(512, 2000), 1)

    def gap(server):
        report = served.load(server, [*streams, "--concurrency", 8])
        return 1000 * report["piece_gap_seconds"]["p99"]

    alone, beside = [], []
    with served.server() as server:
        for _ in range(options.rounds):
            alone.append(gap(server))
            with subprocess.Popen(
                    list(map(str, servers.load_command(
                        served.options, server,
                        [*map(str, arriving), "--rate", "0.25"], 1e6))),
                    text=True, stdout=subprocess.PIPE) as arrivals:
                try:
                    beside.append(gap(server))
                finally:
                    arrivals.terminate()
                report = json.loads(arrivals.stdout.read())
            if report["failed"]:
                raise SystemExit("an arriving prompt failed: "
                                 + report["first_error"])
    ratio = np.median(beside) / np.median(alone)
    print(f"Gaps between tokens of 8 streams, p99: {np.median(alone):.1f} ms; "
          f"while prompts of 2,000 arrive {np.median(beside):.1f} ms, "
          f"{ratio:.2f} times (at most 2)\n")
    return {"alone_ms": alone, "beside_ms": beside, "ratio": float(ratio)}


def compare_saturation(options, work):
    """Prompts of 32 tokens and 64 new ones, twice as many calls as run."""
    served, own = Served(options, work), OwnEngine(options, work)
    prompts = random_prompts(1024, 32)
    flags = served.flags("many", prompts, 64)
    engine, server_rates = [], []
    with served.server() as server:
        for _ in range(options.rounds):
            engine.append(own.many(prompts, 64))
            server_rates.append(served.load(
                server, [*flags, "--concurrency", 512])["new_tokens_per_second"])
    ratio = np.median(server_rates) / np.median(engine)
    print(f"Saturated, 32 tokens of prompt and 64 new: the engine alone "
          f"{np.median(engine):,.0f} tokens/s, the server "
          f"{np.median(server_rates):,.0f}, {ratio:.2f} (floor 0.85)")
    return {"engine": engine, "served": server_rates, "ratio": float(ratio)}


PARTS = {"peers": compare_peers, "threads": compare_threads,
         "gaps": compare_gaps, "saturation": compare_saturation}


def main():
    options = parse_arguments()
    report = {"machine": machine.describe(), "threads": options.threads}
    print(f"{options.model.stem}, {options.threads} thread(s), best of "
          f"{options.rounds} rounds\n{machine.in_words(report['machine'])}\n")
    with tempfile.TemporaryDirectory() as folder:
        for part in options.parts.split(","):
            report[part] = PARTS[part](options, pathlib.Path(folder))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
