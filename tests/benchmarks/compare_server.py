"""This server against grpc.aio before CTranslate2: see the command
compare_server.

Both servers have the same cores and as many threads, the load generator has
other cores. Calls of one text each come as a Poisson process. Each server's
highest rate with p99 <= the limit is searched, the peer's at every setting of
batch size and window; then both are measured in turns at rates around theirs.
"""

import argparse
import contextlib
import json
import pathlib
import platform
import sys
import tempfile

import ctranslate2
import grpc

import arguments
import best_setting
import ctranslate2_model
import machine
import servers
import workload

# How the peer uses several threads: as a translator each, or for each product.
SIDE_BY_SIDE, INSIDE = "side by side", "inside products"


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="compare_server",
        description="Compares this server under random arrivals with grpc.aio "
        "before CTranslate2.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    workload.add_arguments(parser)
    servers.add_arguments(parser)
    parser.add_argument("--p99", type=float, default=1, help="limit, seconds")
    parser.add_argument("--timeout", type=float, default=5, help="calls fail "
                        "after so many seconds, so that overload ends soon")
    parser.add_argument("--tolerance", type=float, default=0.03,
                        help="relative, of the highest rate")
    parser.add_argument("--batches", type=arguments.integers,
                        default=[16, 8, 32, 64, 128],
                        help="the peer's largest batch")
    parser.add_argument("--windows", type=arguments.numbers, default=[0, 10],
                        help="the peer waits so many ms for a full batch")
    parser.add_argument("--among", type=arguments.integers, default=[8, 1],
                        help="the peer picks a batch, by length, from so many "
                        "batches' worth of the oldest; 1: in the order of "
                        "arrival")
    parser.add_argument("--curve", type=arguments.numbers,
                        default=[0.2, 0.4, 0.6, 0.8, 0.9, 1, 1.05, 1.1],
                        help="rates for the plot, of each one's highest")
    parser.add_argument("--rounds", type=int, default=1,
                        help="measurements of each rate for the plot")
    return parser.parse_args()


class Comparison:
    def __init__(self, options, work):
        self._options = options
        self._work = work
        self._workload = workload.Workload(options, work)
        self._flags = [*self._workload.load_flags, "--timeout",
                       str(options.timeout)]
        self._converted = work / "ct2"
        ctranslate2_model.convert(
            self._workload.folder, self._converted,
            "int8" if options.precision == "int8" else None)
        self._points = []

    def peer(self, setting):
        options = self._options
        command = [
            sys.executable, "-B", servers.HERE / "peer_server.py",
            self._workload.folder, self._converted,
            "--compute-type",
            "int8" if options.precision == "int8" else "float32",
            "--threads", len(options.server_cores),
            "--batch", setting["batch"],
            "--window-ms", setting["window_ms"],
            "--among", setting["among"],
            *(["--inside"] if setting.get("threads") == INSIDE else []),
        ]
        return servers.Server("grpc.aio + CTranslate2", options.server_cores,
                              command, self._work / "peer_ports", setting)

    def own(self):
        return servers.own_server(self._options, self._workload, self._work)

    def settings(self):
        options = self._options
        settings = [
            {"batch": batch, "window_ms": window, "among": among}
            for batch in options.batches for window in options.windows
            for among in options.among]
        if len(options.server_cores) == 1:
            return settings
        return [{**setting, "threads": threads} for setting in settings
                for threads in (SIDE_BY_SIDE, INSIDE)]

    def passes(self, server, rate, why):
        """Whether p99 was within the limit."""
        report = servers.load(self._options, server,
                              [*self._flags, "--rate", f"{rate:g}"])
        return self.note(server, rate, report, why)

    def bears(self, server, rate):
        """As a search has it: a busy machine fails a rate now and then."""
        return any(self.passes(server, rate, "search") for _ in range(2))

    def highest_rate(self, server, start=None):
        """The highest that passes; the search begins at `start`, or at what 64
        calls in flight come to."""
        begin = ["--rate", f"{start:g}"] if start else ["--concurrency", "64"]
        found = servers.load(self._options, server, [
            *self._flags, "--find-rate", "--p99", f"{self._options.p99:g}s",
            "--tolerance", str(self._options.tolerance), *begin])
        for point in found["points"]:
            self.note(server, point["rate"], point, "search")
        return found["highest_rate"]

    def note(self, server, rate, report, why):
        point = servers.point(server, rate, report)
        point["why"] = why
        point["passed"] = (point["failed"] == 0 and point["succeeded"] > 0
                           and point["p99_ms"] <= 1000 * self._options.p99)
        self._points.append(point)
        if point["start_delay_p99_ms"] > 100 * self._options.p99:
            print("warning: the load generator could not keep up",
                  file=sys.stderr)
        print(f"{server.name}{setting_in_words(server.settings)}: {rate:.1f}/s, "
              f"p99 {point['p99_ms']:.0f} ms, {point['failed']} failed",
              file=sys.stderr)
        return point["passed"]

    def run(self):
        with self.own() as server:
            own_rate = self.highest_rate(server)

        # One peer at a time, kept while the search stays with its setting.
        with contextlib.ExitStack() as stack:
            running = []

            def peer_with(setting):
                if not running or running[-1].settings != setting:
                    stack.close()
                    running.append(stack.enter_context(self.peer(setting)))
                return running[-1]

            setting, peer_rate = best_setting.best_setting(
                lambda s, rate: self.bears(peer_with(s), rate),
                lambda s, start: self.highest_rate(peer_with(s), start),
                self.settings(), self._options.tolerance)
        if own_rate == 0 or setting is None:
            sys.exit("a server met the limit at no rate: raise --p99, or "
                     "shorten the work")

        with self.own() as own, self.peer(setting) as peer:
            for fraction in self._options.curve * self._options.rounds:
                self.passes(own, fraction * own_rate, "curve")
                self.passes(peer, fraction * peer_rate, "curve")
        return self.report(own, own_rate, peer, peer_rate)

    def report(self, own, own_rate, peer, peer_rate):
        options = self._options
        return {
            "machine": machine.describe(),
            "workload": self._workload.describe(),
            "precision": options.precision,
            "threads": len(options.server_cores),
            "server_cores": options.server_cores,
            "load_cores": options.load_cores,
            "server_flags": options.server_flags,
            "p99_limit_ms": 1000 * options.p99,
            "duration": options.duration,
            "versions": {
                "ctranslate2": ctranslate2.__version__,
                "grpcio": grpc.__version__,
                "python": platform.python_version(),
            },
            "settings_swept": len(self.settings()),
            "servers": [
                {"name": server.name, "settings": server.settings,
                 "highest_rate": rate,
                 "at_highest": self.point_at(server, rate)}
                for server, rate in ((own, own_rate), (peer, peer_rate))],
            "ratio": own_rate / peer_rate,
            "points": self._points,
        }

    def point_at(self, server, rate):
        """The passed measurement that the search ended with."""
        return next(point for point in self._points
                    if point["server"] == server.name and point["passed"]
                    and point["rate"] == rate
                    and point["settings"] == server.settings)


def setting_in_words(setting):
    if not setting:
        return ""
    words = (f"batch {setting['batch']} among {setting['among']}x, window "
             f"{setting['window_ms']:g} ms")
    if "threads" in setting:
        words += f", threads {setting['threads']}"
    return f" ({words})"


def print_markdown(report):
    versions = report["versions"]
    limit = report["p99_limit_ms"] / 1000
    print(f"{workload.in_words(report['workload'])}; {report['precision']}, "
          f"{report['threads']} thread(s), {report['duration']:g} s a "
          f"measurement\n{machine.in_words(report['machine'])}\n"
          f"CTranslate2 {versions['ctranslate2']}, grpcio "
          f"{versions['grpcio']}, Python {versions['python']}; the best of "
          f"{report['settings_swept']} settings\n")
    print(f"| server | highest rate with p99 <= {limit:g} s | new tokens/s "
          "| new tokens a call | p50 ms | p90 ms | p99 ms |\n"
          "|---|---|---|---|---|---|---|")
    for entry in report["servers"]:
        point = entry["at_highest"]
        print(f"| {entry['name']}{setting_in_words(entry['settings'])} "
              f"| {entry['highest_rate']:.1f}/s "
              f"| {point['new_tokens_per_second']:,.0f} "
              f"| {point['new_tokens_per_second'] / point['throughput']:.1f} "
              f"| {point['p50_ms']:.0f} | {point['p90_ms']:.0f} "
              f"| {point['p99_ms']:.0f} |")
    print(f"\nRatio: {report['ratio']:.2f}")


def main():
    options = parse_arguments()
    servers.check(options)
    with tempfile.TemporaryDirectory() as folder:
        report = Comparison(options, pathlib.Path(folder)).run()
    print_markdown(report)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
