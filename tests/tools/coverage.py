#!/usr/bin/python3 -B
"""Prints which share of the lines and branches of model/ and server/ the tests
run that have run in a build of the preset coverage:

    cmake --preset coverage && cmake --build --preset coverage
    ctest --test-dir build/coverage
    tests/tools/coverage.py build/coverage [--floor 90] [FOLDER...]

Branches include those of exceptions, which gcc adds to most calls; they are not
judged. Headers are left out, since programs may have the copies of their
functions that tests were compiled with, and those do not count. Ends with 1 if
fewer lines of a FOLDER run than the floor, in percent.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

AT_ONCE = 50  # files of counts for each gcov


def source_of(build):
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    return pathlib.Path(re.search(r"CMAKE_HOME_DIRECTORY:\w+=(.*)",
                                  cache).group(1))


def read_counts(build, source):
    """{file: {line: [runs, branches taken, branches]}}, of the most that any
    object file tells of a line."""
    counts = collections.defaultdict(dict)
    files = sorted(str(path) for path in build.rglob("*.gcda"))
    if not files:
        sys.exit(f"{build} has no counts: run the tests of a build of the preset "
                 "coverage")
    for begin in range(0, len(files), AT_ONCE):
        run = subprocess.run(
            ["gcov", "--json-format", "--stdout", "--branch-probabilities",
             *files[begin:begin + AT_ONCE]], cwd=build, check=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for report in run.stdout.splitlines():
            for file in json.loads(report)["files"]:
                path = pathlib.Path(build, file["file"]).resolve()
                if not path.exists():  # -ffile-prefix-map
                    path = source / file["file"]
                if not path.is_relative_to(source):
                    continue
                lines = counts[str(path.relative_to(source))]
                for line in file["lines"]:
                    taken = sum(each["count"] > 0 for each in line["branches"])
                    one = lines.setdefault(line["line_number"], [0, 0, 0])
                    one[0] = max(one[0], line["count"])
                    one[1] = max(one[1], taken)
                    one[2] = max(one[2], len(line["branches"]))
    return counts


def percent(part, whole):
    return 100 * part / whole if whole else 100.0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("folders", nargs="*", default=["model", "server"])
    parser.add_argument("--floor", type=float, default=90)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    counts = read_counts(build, source_of(build))
    totals = collections.defaultdict(lambda: [0, 0, 0, 0])
    low = []
    for file, lines in sorted(counts.items()):
        for folder in arguments.folders:
            if not file.startswith(folder + "/") or not file.endswith(".cc"):
                continue
            ran = sum(line[0] > 0 for line in lines.values())
            part = [ran, len(lines), sum(line[1] for line in lines.values()),
                    sum(line[2] for line in lines.values())]
            for name in {folder, str(pathlib.Path(file).parent)}:
                totals[name] = [a + b for a, b in zip(totals[name], part)]
            if percent(ran, len(lines)) < arguments.floor:
                low.append((percent(ran, len(lines)), file, len(lines) - ran))
    for share, file, missing in sorted(low):
        print(f"{share:5.1f} % {file}: {missing} lines never ran")
    print("lines     branches")
    for name, (ran, lines, taken, branches) in sorted(totals.items()):
        print(f"{percent(ran, lines):5.1f} %   {percent(taken, branches):5.1f} %"
              f"   {name} ({lines} lines)")
    sys.exit(any(name not in totals or
                 percent(*totals[name][:2]) < arguments.floor
                 for name in arguments.folders))


if __name__ == "__main__":
    main()
