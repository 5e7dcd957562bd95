#!/usr/bin/python3 -B
"""Prints what each target of a build took to compile, and what each test took
to run, the dearest first:

    cmake --preset test -DCMAKE_CXX_COMPILER_LAUNCHER="$PWD/tests/tools/costs.py;run"
    cmake --build --preset test && ctest --test-dir build/test
    tests/tools/costs.py build/test [--rows 20]

As the compiler's launcher, with `run` before the command, it runs the command and
adds a line to costs.log of the build folder. Compiling counts in seconds of a
processor, which change less than the clock with what runs beside. Tests count in
seconds of the clock, as ctest does.
"""

import argparse
import collections
import os
import pathlib
import re
import resource
import subprocess
import sys

LOG = "costs.log"
TARGET = re.compile(r"(?:.*/)?CMakeFiles/([^/]+)\.dir/")


def build_of(folder):
    """The build folder that the folder is, or is in."""
    for each in (folder, *folder.parents):
        if (each / "CMakeCache.txt").is_file():
            return each
    return folder


def launch(command):
    """Runs a compiler and notes what it took."""
    code = subprocess.run(command, check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if code == 0 and "-o" in command:
        output = command[command.index("-o") + 1]
        line = f"{used.ru_utime + used.ru_stime:.2f} {used.ru_maxrss} {output}\n"
        # One write, so that compilers that end together share the file.
        with open(build_of(pathlib.Path.cwd()) / LOG, "a", encoding="utf-8") as log:
            log.write(line)
    return code


def compiled(lines):
    """{target: [seconds, most MiB of a compiler]} of the last line of each file."""
    last = {}
    for line in lines:
        seconds, kib, output = line.split(maxsplit=2)
        last[output.strip()] = float(seconds), int(kib) // 1024
    targets = collections.defaultdict(lambda: [0.0, 0])
    for output, (seconds, mib) in last.items():
        match = TARGET.match(output)
        target = targets[match[1] if match else output]
        target[0] += seconds
        target[1] = max(target[1], mib)
    return dict(targets)


def ran(log):
    """{test: seconds} of ctest's LastTest.log."""
    tests, name = {}, None
    for line in log.splitlines():
        if match := re.match(r"\d+/\d+ Testing: (\S+)$", line):
            name = match[1]
        elif match := re.match(r"Test time = +([\d.]+) sec$", line):
            tests[name] = float(match[1])
    return tests


def table(head, rows, count):
    rows = sorted(rows, key=lambda row: row[1], reverse=True)
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for name, *numbers in rows[:count]:
        print(f"| {name} | {' | '.join(f'{n:.0f}' for n in numbers)} |")
    total = sum(row[1] for row in rows)
    print(f"\nall {len(rows)}: {total:.0f} s\n")


def main():
    if sys.argv[1:2] == ["run"]:
        return launch(sys.argv[2:])
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=20, help="of each table")
    options = parser.parse_args()
    costs = options.build / LOG
    if not costs.is_file():
        sys.exit(f"{costs} is not there: build with tests/tools/costs.py as "
                 "CMAKE_CXX_COMPILER_LAUNCHER, as its head shows")
    table(("target", "s of a processor", "MiB"),
          [(name, *numbers) for name, numbers in
           compiled(costs.read_text(encoding="utf-8").splitlines()).items()],
          options.rows)
    tests = options.build / "Testing/Temporary/LastTest.log"
    if tests.is_file():
        table(("test", "s"),
              ran(tests.read_text(encoding="utf-8", errors="replace")).items(),
              options.rows)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        os.close(sys.stdout.fileno())
