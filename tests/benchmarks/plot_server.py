"""Draws throughput against p99: see the command plot_server."""

import argparse
import collections
import json
import pathlib
import statistics

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402, after the backend is chosen

import machine


def points(report, entry, why):
    """Throughputs and p99s of a server at its best setting, by rate; medians
    where a rate was measured more than once."""
    by_rate = collections.defaultdict(list)
    for point in report["points"]:
        if (point["server"] == entry["name"] and point["why"] == why
                and point["settings"] == entry["settings"]
                and point["succeeded"] > 0):
            by_rate[point["rate"]].append(point)
    return [[statistics.median(point[key] for point in by_rate[rate])
             for rate in sorted(by_rate)] for key in ("throughput", "p99_ms")]


def main():
    parser = argparse.ArgumentParser(
        prog="plot_server", description="Draws what compare_server --json "
        "wrote: throughput against p99 of both servers.")
    parser.add_argument("report", nargs="+", type=pathlib.Path,
                        help="a panel each")
    parser.add_argument("--output", type=pathlib.Path, required=True,
                        help="a .png")
    options = parser.parse_args()
    reports = [json.loads(path.read_text("utf-8")) for path in options.report]

    figure, panels = pyplot.subplots(
        1, len(reports), figsize=(7 * len(reports), 4.5), squeeze=False)
    for report, axes in zip(reports, panels[0]):
        for entry, marker in zip(report["servers"], "os"):
            label = entry["name"]
            if entry["settings"]:
                label += (f", batch {entry['settings']['batch']}, window "
                          f"{entry['settings']['window_ms']:g} ms")
            line, = axes.plot(*points(report, entry, "curve"), marker=marker,
                              markersize=4, label=label)
            # What the search for the highest rate saw, at other times.
            axes.plot(*points(report, entry, "search"), marker,
                      color=line.get_color(), alpha=0.3, markersize=3)
        limit = report["p99_limit_ms"]
        axes.axhline(limit, color="grey", linestyle="--", linewidth=1)
        axes.set_yscale("log")
        axes.set_xlim(left=0)
        axes.set_xlabel("answered calls a second")
        axes.set_ylabel("p99 latency, ms")
        work = report["workload"]
        axes.set_title(
            f"{work['model']}, {report['precision']}, {report['threads']} "
            f"thread(s), lengths {work['source_tokens']['shortest']} to "
            f"{work['source_tokens']['longest']}", fontsize=10)
        axes.grid(True, which="both", alpha=0.25)
        axes.legend(fontsize=8)
    figure.text(0.5, 0.005, machine.in_words(reports[0]["machine"]),
                ha="center", fontsize=7, color="grey")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    figure.savefig(options.output, dpi=120)


if __name__ == "__main__":
    main()
