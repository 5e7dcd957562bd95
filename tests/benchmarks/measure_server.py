"""The server against itself: see the command measure_server.

Server and load generator have cores of their own. What is compared is measured
in turns, and medians of the rounds are printed.
"""

import argparse
import itertools
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import arguments
import machine
import sentences
import servers
import workload

# What a worker of the server runs at once: Batcher::Options::max_rows.
SERVER_ROWS = 256
# Sentences that the engine alone translates, as a multiple of what it runs.
ENGINE_WAVES = 32


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="measure_server",
        description="Measures the server against itself.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("what", choices=list(MEASUREMENTS), help="load: calls in "
                        "flight and rates. saturation: full load against the "
                        "engine alone. overhead: what a call costs besides the "
                        "model. streams: time between tokens while long "
                        "sources arrive. priority: interactive calls alone and "
                        "beside as many batch calls as the server takes")
    workload.add_arguments(parser)
    servers.add_arguments(parser)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--concurrency", type=arguments.numbers,
                        default=[1, 8, 32, 64], help="load: calls in flight")
    parser.add_argument("--rates", type=arguments.numbers,
                        default=[50, 100, 200], help="load: calls a second")
    parser.add_argument("--streams", type=int, default=16,
                        help="streams: that run at once")
    parser.add_argument("--arrivals", type=float, default=2,
                        help="streams: long sources a second")
    parser.add_argument("--batch-calls", type=int, default=256,
                        help="priority: batch calls in flight")
    parser.add_argument("--interactive-rate", type=float, default=20,
                        help="priority: interactive calls a second, at random")
    parser.add_argument("--source-tokens", type=int, default=512,
                        help="streams: of each that arrives")
    return parser.parse_args()


class Measurement:
    def __init__(self, options, work):
        self.options = options
        self.work = work
        self.workload = workload.Workload(options, work)

    def server(self):
        return servers.own_server(self.options, self.workload, self.work)

    def load(self, server, *flags):
        report = servers.load(
            self.options, server,
            [*self.workload.load_flags, *map(str, flags)])
        if report["failed"]:
            sys.exit(f"{report['failed']} calls failed, the first with: "
                     f"{report['first_error']}")
        return report

    def rounds(self, *measure):
        """The results of each function, called in turns."""
        results = [[] for _ in measure]
        for _ in range(self.options.rounds):
            for function, result in zip(measure, results):
                result.append(function())
        return results


def measure_load(measurement):
    """Calls in flight, then random arrivals."""
    points = []
    print("| load | calls/s | new tokens/s | p50 ms | p90 ms | p99 ms "
          "| failed |\n|---|---|---|---|---|---|---|")
    with measurement.server() as server:
        for flag, values, name in (
                ("--concurrency", measurement.options.concurrency, "in flight"),
                ("--rate", measurement.options.rates, "calls/s, Poisson")):
            for value in values:
                report = servers.load(
                    measurement.options, server,
                    [*measurement.workload.load_flags, flag, f"{value:g}"])
                point = servers.point(server, value, report)
                points.append({**point, "load": flag[2:]})
                print(f"| {value:g} {name} | {point['throughput']:.1f} "
                      f"| {point['new_tokens_per_second']:,.0f} "
                      f"| {point['p50_ms']:.1f} | {point['p90_ms']:.1f} "
                      f"| {point['p99_ms']:.1f} | {point['failed']} |",
                      flush=True)
    return {"points": points}


def measure_saturation(measurement):
    """New tokens a second under full load, against trivium-bench."""
    options, work = measurement.options, measurement.workload
    running = SERVER_ROWS // work.beam
    # So many that the last ones, which run with fewer and fewer others, do not
    # weigh on the engine's rate.
    count = ENGINE_WAVES * running * len(options.server_cores)
    ids = measurement.work / "ids"
    sentences.write_ids(ids, itertools.islice(
        itertools.cycle(work.sources), count))
    bench = servers.on_cores(options.server_cores, [
        options.programs / "trivium-bench", work.folder, ids,
        "--precision", options.precision, "--beam", work.beam,
        "--workers", len(options.server_cores), "--running", running,
        "--choose-rows", "--new-tokens", work.new_tokens])
    # Twice what runs: there is always somebody to take a free place.
    in_flight = 2 * running * len(options.server_cores)
    # As the bench has it.
    limit = [] if work.new_tokens else ["--max-new-tokens", 256]

    def offline():
        report = json.loads(subprocess.run(
            bench, check=True, text=True, stdout=subprocess.PIPE).stdout)
        return report["tokens"] / report["seconds"][0]

    with measurement.server() as server:
        engine, served = measurement.rounds(offline, lambda: measurement.load(
            server, "--concurrency", in_flight, *limit)["new_tokens_per_second"])
    ratio = statistics.median(served) / statistics.median(engine)
    print("| | new tokens/s (median) | rounds |\n|---|---|---|")
    for name, speeds in (
            (f"engine alone, {running} running a worker at most", engine),
            (f"served, {in_flight} calls in flight", served)):
        print(f"| {name} | {statistics.median(speeds):,.0f} | "
              + ", ".join(f"{speed:,.0f}" for speed in speeds) + " |")
    print(f"\nRatio: {ratio:.2f}")
    return {"engine": engine, "served": served, "ratio": ratio}


def measure_overhead(measurement):
    """One call at a time: client time less tokenizing and inference, less the
    same of GetModel, a call without work."""
    with measurement.server() as server:
        calls, empty = measurement.rounds(*(
            lambda call=call: 1000 * measurement.load(
                server, "--concurrency", 1, "--call", call
            )["outside_model_seconds"]["p50"] for call in ("translate", "model")))
    added = [call - none for call, none in zip(calls, empty)]
    print("| median of one call at a time | ms (median) | rounds |\n|---|---|---|")
    for name, times in (("Translate, less tokenizing and inference", calls),
                        ("GetModel, a call without work", empty),
                        ("added by the server", added)):
        print(f"| {name} | {statistics.median(times):.3f} | "
              + ", ".join(f"{time:.3f}" for time in times) + " |")
    return {"translate_ms": calls, "empty_ms": empty, "added_ms": added}


def measure_streams(measurement):
    """Gaps between the tokens of Generate streams, without and with long
    sources that arrive at random for a Translate of one token."""
    options = measurement.options
    sources = sentences.fixed_ids(
        64, options.source_tokens, measurement.workload.vocabulary)
    arriving = measurement.work / "arriving"
    sentences.write_ids(arriving, sources)

    def streams(server):
        gap = measurement.load(server, "--call", "generate",
                               "--concurrency", options.streams)["piece_gap_seconds"]
        return {p: 1000 * gap[p] for p in ("p50", "p90", "p99", "max")}

    def disturbed(server):
        # Longer than the streams' run, which it surrounds.
        flags = ["--ids", "--file", str(arriving), "--beam-size", "1",
                 "--max-new-tokens", "1", "--rate", str(options.arrivals)]
        with subprocess.Popen(
                servers.load_command(options, server, flags, 1e6),
                text=True, stdout=subprocess.PIPE) as arrivals:
            try:
                gaps = streams(server)
            finally:
                arrivals.terminate()  # it reports what it did until then
            report = json.loads(arrivals.stdout.read())
        if report["failed"] or not report["succeeded"]:
            sys.exit(f"{report['failed']} of the arriving calls failed, "
                     f"{report['succeeded']} succeeded")
        return gaps

    with measurement.server() as server:
        alone, with_sources = measurement.rounds(
            lambda: streams(server), lambda: disturbed(server))
    print(f"{options.streams} streams\n\n| gap between tokens, ms (medians of "
          "rounds) | p50 | p90 | p99 | max |\n|---|---|---|---|---|")
    medians = []
    for name, rounds in (
            ("alone", alone),
            (f"{options.arrivals:g} sources of {options.source_tokens} tokens "
             "a second arrive", with_sources)):
        medians.append({p: statistics.median(gaps[p] for gaps in rounds)
                        for p in rounds[0]})
        print(f"| {name} | "
              + " | ".join(f"{time:.2f}" for time in medians[-1].values()) + " |")
    ratio = medians[1]["p99"] / medians[0]["p99"]
    print(f"\nRatio of p99: {ratio:.2f}")
    return {"alone_ms": alone, "with_sources_ms": with_sources, "ratio": ratio}


def measure_priority(measurement):
    """Latencies of interactive calls at random, alone and beside a saturating
    batch load, and what that load does alone and beside them."""
    options = measurement.options
    interactive = ["--rate", options.interactive_rate]
    batch = ["--priority", "batch", "--concurrency", options.batch_calls]

    def beside(server):
        # Longer than the interactive calls' run, which it surrounds.
        with subprocess.Popen(
                servers.load_command(
                    options, server,
                    [*measurement.workload.load_flags, *map(str, batch)], 1e6),
                text=True, stdout=subprocess.PIPE) as load:
            try:
                report = measurement.load(server, *interactive)
            finally:
                load.terminate()  # it reports what it did until then
            batch_report = json.loads(load.stdout.read())
        if batch_report["failed"]:
            sys.exit(f"{batch_report['failed']} batch calls failed, the first "
                     f"with: {batch_report['first_error']}")
        return report, batch_report

    with measurement.server() as server:
        # First: for a while after interactive calls, batch iterations are short.
        batch_alone = measurement.load(server, *batch)
        alone, together = measurement.rounds(
            lambda: measurement.load(server, *interactive),
            lambda: beside(server))
    reports = {"alone": alone, "beside": [pair[0] for pair in together]}
    print(f"{options.interactive_rate:g} interactive calls a second, "
          f"{options.batch_calls} batch calls in flight\n\n"
          "| interactive, ms (medians of rounds) | p50 | p90 | p99 | p99 of "
          "rounds |\n|---|---|---|---|---|")
    medians = {}
    for name, rounds in reports.items():
        times = {p: [1000 * report["latency_seconds"][p] for report in rounds]
                 for p in ("p50", "p90", "p99")}
        medians[name] = {p: statistics.median(of) for p, of in times.items()}
        print(f"| {name} | "
              + " | ".join(f"{time:.1f}" for time in medians[name].values())
              + " | " + ", ".join(f"{time:.1f}" for time in times["p99"]) + " |")
    ratio = medians["beside"]["p99"] / medians["alone"]["p99"]
    print(f"\nRatio of p99: {ratio:.2f}")
    throughput = {
        "alone": batch_alone["new_tokens_per_second"],
        "beside": statistics.median(pair[1]["new_tokens_per_second"]
                                    for pair in together)}
    print(f"New tokens a second of batch calls: {throughput['alone']:,.0f} "
          f"alone, {throughput['beside']:,.0f} beside interactive calls")
    return {"interactive_ms": medians, "ratio": ratio,
            "batch_new_tokens_per_second": throughput}


MEASUREMENTS = {"load": measure_load, "saturation": measure_saturation,
                "overhead": measure_overhead, "streams": measure_streams,
                "priority": measure_priority}


def main():
    options = parse_arguments()
    servers.check(options)
    with tempfile.TemporaryDirectory() as folder:
        measurement = Measurement(options, pathlib.Path(folder))
        report = {
            "machine": machine.describe(),
            "workload": measurement.workload.describe(),
            "precision": options.precision,
            "threads": len(options.server_cores),
        }
        print(f"{workload.in_words(report['workload'])}; {options.precision}, "
              f"{report['threads']} thread(s), {options.duration:g} s a "
              f"measurement\n{machine.in_words(report['machine'])}\n")
        report[options.what] = MEASUREMENTS[options.what](measurement)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
