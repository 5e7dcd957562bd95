#!/usr/bin/python3 -B
"""Takes defences of docs/threats.md away and expects that their tests fail.

    tests/tools/walk_threats.py BUILD [--one-by-one | --together]
        [--whole BUILD] [PROGRAM...]

BUILD is a build folder of a copy of the source that may be changed, such as a
`git worktree`: the edits of defences.py are made in the copy from which BUILD
was configured, and undone at the end. All defences of a program are taken away
together, which needs one build of it, unless --one-by-one; with --together
those of all programs, which needs one build in all. First each test must pass
as the source is: in the build folder --whole, if that has the programs already.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

import defences

TIMEOUT = 120  # seconds, for a test that waits without its defence


def source_of(build):
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    return pathlib.Path(re.search(r"CMAKE_HOME_DIRECTORY:\w+=(.*)",
                                  cache).group(1))


class Edits:
    """Edits of a defence's files, undone at the end."""

    def __init__(self, source, edits):
        self._source = source
        self._edits = edits
        self._before = {}

    def __enter__(self):
        for file, text, other in self._edits:
            path = self._source / file
            content = path.read_text(encoding="utf-8")
            if content.count(text) != 1:
                self.__exit__()
                sys.exit(f"{file} does not have once: {text}")
            self._before.setdefault(path, content)
            path.write_text(content.replace(text, other), encoding="utf-8")

    def __exit__(self, *_):
        for path, content in self._before.items():
            path.write_text(content, encoding="utf-8")


def build_programs(build, programs):
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", "2")
    run = subprocess.run(["cmake", "--build", build, "-j", jobs, "--target",
                          *programs, "--", "-k", "0"],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, check=False)
    if run.returncode != 0:
        sys.exit(run.stdout[-4000:])


def passes(build, source, program, test):
    """True if the test runs and passes."""
    try:
        # With parameters, a test is SUITES/TEST/NUMBER.
        run = subprocess.run([build / "bin" / program,
                              f"--gtest_filter={test}:*/{test}/*"],
                             cwd=source, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True,
                             timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return False
    if "Running 0 tests" in run.stdout:
        sys.exit(f"{program} has no test {test}")
    return run.returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--whole", type=pathlib.Path)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--one-by-one", action="store_true")
    how.add_argument("--together", action="store_true")
    arguments = parser.parse_intermixed_args()
    build = arguments.build.resolve()
    source = source_of(build)
    threats = (source / "docs" / "threats.md").read_text(encoding="utf-8")
    walked = [one for one in defences.DEFENCES
              if not arguments.programs or one[0] in arguments.programs]
    programs = sorted({program for program, _, _ in walked})
    if not arguments.whole:
        build_programs(build, programs)
    for program, test, _ in walked:
        if f"`{test}`" not in threats:
            sys.exit(f"docs/threats.md does not name {test}")
        if not passes((arguments.whole or build).resolve(), source, program,
                      test):
            sys.exit(f"{test} fails with its defence")
    if arguments.together:
        groups = [walked]
    elif arguments.one_by_one:
        groups = [[one] for one in walked]
    else:
        groups = [[one for one in walked if one[0] == program]
                  for program in programs]
    missed = []
    for group in groups:
        with Edits(source, [edit for _, _, edits in group for edit in edits]):
            build_programs(build, sorted({program for program, _, _ in group}))
            for program, test, _ in group:
                if passes(build, source, program, test):
                    missed.append(test)
                    print(f"PASSES WITHOUT ITS DEFENCE {test}", flush=True)
                else:
                    print(f"fails without its defence {test}", flush=True)
    print(f"{len(missed)} of {len(walked)} tests miss their defence")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
