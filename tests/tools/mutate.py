#!/usr/bin/python3 -B
"""Breaks the scheduler, the accounting of KV blocks, the search and admission
in small ways, and sees which of them the tests notice.

    tests/tools/mutate.py FOLDER [--count 220] [--seed 1] [--only AREA]
        [--quick]

FOLDER is made: a copy of the source with the mutants, all in one build, chosen
by TRIVIUM_MUTANT. Run again, it goes on where it ended. Each mutant runs the
tests of its area until one fails: first those with the name of its file, then
the quick ones, then the slow ones. Noticed is a failure, a crash, or a run that
takes far longer than without a mutant. With --quick the slow tests do not run;
without it, those that survived the others run them.
"""

import argparse
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

import mutants

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# Programs, and which of their tests run.
PROGRAMS = {"search_test": "*", "batching_test": "*",
            "transformer_test": "*Block*:*Prefix*:*KvLayout*:*StateLayout*"}
# files, share of the mutants, programs that run them
AREAS = {
    "search": (["model/search/*.cc"], 0.35,
               ("search_test", "batching_test")),
    "kv": (["model/transformer/kv_cache.cc", "model/transformer/kv_layout.cc",
            "model/transformer/prefix_index.cc",
            "model/transformer/hypotheses.cc",
            "model/transformer/state_layout.cc"], 0.15,
           ("transformer_test", "batching_test")),
    "scheduler": (["server/batching/*.cc"], 0.5, ("batching_test",)),
}
ACTIVE = """#include <cstdlib>
namespace trivium {
bool MutantRuns(int number) {
  static const char* const chosen = std::getenv("TRIVIUM_MUTANT");
  static const int active = chosen == nullptr ? 0 : std::atoi(chosen);
  return number == active;
}
}  // namespace trivium
"""
ORIGINALS = "originals"
SLOW = 0.1  # seconds, of a test without a mutant


def copy_source(copy):
    """The source, and its files that get mutants once more as they are."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=SOURCE, check=True,
                           stdout=subprocess.PIPE).stdout.decode()
    for name in filter(None, files.split("\0")):
        for folder in ([copy, copy / ORIGINALS]
                       if name.startswith(("model/", "server/")) and
                       name.endswith(".cc") else [copy]):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(SOURCE / name, folder / name)
    (copy / "base/mutants.cc").write_text(ACTIVE, encoding="utf-8")
    launcher = shutil.which("ccache")
    subprocess.run(["cmake", "--preset", "test",
                    *([f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"]
                      if launcher else [])], cwd=copy, check=True)


def draw_mutants(originals, count, seed):
    """Mutants by number, from 1: area, file, its text, place, what is done, the
    other text."""
    draw = random.Random(seed)
    drawn = []
    for area, (patterns, share, _) in AREAS.items():
        every = []
        for pattern in patterns:
            for path in sorted(originals.glob(pattern)):
                text = path.read_text(encoding="utf-8")
                for place in mutants.places(text):
                    for what, other in place.others:
                        every.append((area, path.relative_to(originals), text,
                                      place, what, other))
        drawn += draw.sample(every, min(len(every), round(count * share)))
    return dict(enumerate(drawn, 1))


def write_copy(copy, drawn, left_out):
    by_file = {}
    for number, (_, path, _, place, _, other) in drawn.items():
        if number not in left_out:
            by_file.setdefault(path, []).append((place, number, other))
    for path, text in {(each[1], each[2]) for each in drawn.values()}:
        new = mutants.rewritten(text, by_file.get(path, []))
        if (copy / path).read_text(encoding="utf-8") != new:
            (copy / path).write_text(new, encoding="utf-8")


def build(copy, drawn):
    """Builds the programs. Returns the mutants that do not compile."""
    left_out = set()
    while True:
        write_copy(copy, drawn, left_out)
        run = subprocess.run(
            ["cmake", "--build", "--preset", "test", "-j",
             os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", "2"), "--", "-k", "0",
             *PROGRAMS], cwd=copy, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False)
        if run.returncode == 0:
            return left_out
        bad = set()
        for path, line in re.findall(r"([\w/]+\.cc):(\d+):\d+: error", run.stdout):
            for number, (_, of, text, place, _, _) in drawn.items():
                first = text.count("\n", 0, place.begin) + 1
                last = text.count("\n", 0, place.end) + 1
                if path.endswith(str(of)) and first <= int(line) <= last:
                    bad.add(number)
        if not bad - left_out:
            sys.exit(run.stdout[-6000:])
        left_out |= bad
        print(f"{len(left_out)} mutants do not compile", flush=True)


def seconds_of_tests(copy, program):
    """How long each test takes without a mutant."""
    report = copy / f"{program}.json"
    if not report.exists():
        part = report.with_suffix(".part")
        environment = {**os.environ, "GTEST_FILTER": PROGRAMS[program]}
        subprocess.run([copy / "build/test/bin" / program, *isa(program),
                        f"--gtest_output=json:{part}"], cwd=copy, check=True,
                       env=environment, stdout=subprocess.DEVNULL)
        part.rename(report)
    suites = json.loads(report.read_text(encoding="utf-8"))["testsuites"]
    return {f"{suite['name']}.{test['name']}": float(test["time"][:-1])
            for suite in suites for test in suite["testsuite"]
            if "SKIPPED" not in test["result"]}


def isa(program):
    return ("--isa=best",) if program == "transformer_test" else ()


def rounds(path, programs, seconds, quick, slow):
    """Pairs of a program and its tests, in the order in which they run."""
    camel = "".join(part.capitalize() for part in path.stem.split("_"))
    picks = []
    if quick:
        picks += [lambda name, time: time < SLOW and camel in name,
                  lambda name, time: time < SLOW and camel not in name]
    if slow:
        picks.append(lambda name, time: time >= SLOW)
    for pick in picks:
        for program in programs:
            tests = [name for name, time in seconds[program].items()
                     if pick(name, time)]
            if tests:
                yield program, tests


def first_failure(copy, number, path, programs, seconds, **which):
    """The test that notices the mutant, or None."""
    environment = {**os.environ, "TRIVIUM_MUTANT": str(number)}
    for program, tests in rounds(path, programs, seconds, **which):
        usual = sum(seconds[program][test] for test in tests)
        # Not on the command line, which could be too long.
        environment["GTEST_FILTER"] = ":".join(tests)
        try:
            run = subprocess.run(
                [copy / "build/test/bin" / program, *isa(program),
                 "--gtest_fail_fast", "--gtest_brief=0"], cwd=copy,
                env=environment, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=20 + 10 * usual, check=False)
            output, code = run.stdout, run.returncode
        except subprocess.TimeoutExpired as late:
            output, code = late.stdout or b"", "takes too long"
        if code == 0:
            continue
        text = output.decode("utf-8", "replace")
        # After a failure the others begin, too, and are skipped.
        named = (re.findall(r"\[  FAILED  \] (\S+?),? ", text)[:1] or
                 re.findall(r"\[ RUN      \] (\S+)", text)[-1:] or [program])
        return f"{named[0]} ({code})"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=220)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=sorted(AREAS))
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    copy = arguments.folder.resolve()
    if not (copy / "build").exists():  # or only a part was copied
        copy_source(copy)
    drawn = draw_mutants(copy / ORIGINALS, arguments.count, arguments.seed)
    left_out = build(copy, drawn)
    seconds = {program: seconds_of_tests(copy, program) for program in PROGRAMS}
    known = copy / "results.json"
    results = (json.loads(known.read_text(encoding="utf-8"))
               if known.exists() else {})
    order = [each for each in drawn if each not in left_out]
    random.Random(0).shuffle(order)
    for number in order:
        area, path, text, place, what, _ = drawn[number]
        before = results.get(str(number))
        # It has survived the quick tests, and the slow ones have not run.
        waits = before is not None and before[-1] == "quick"
        if (before and (arguments.quick or not waits) or
                arguments.only not in (None, area)):
            continue
        noticed = first_failure(
            copy, number, path, AREAS[area][2], seconds, quick=not waits,
            slow=not arguments.quick)
        line = text.count("\n", 0, place.begin) + 1
        code = " ".join(text[place.begin:place.end].split())
        results[str(number)] = [
            area, f"{path}:{line}", what, code, noticed,
            "quick" if arguments.quick and not noticed else "all"]
        known.write_text(json.dumps(results, indent=1), encoding="utf-8")
        print(f"{number} {'noticed ' if noticed else 'SURVIVED'} {path}:{line} "
              f"{what}: {code[:100]} | {noticed or ''}", flush=True)
    for area in AREAS:
        of = [each for each in results.values() if each[0] == area]
        print(f"{area}: {sum(bool(each[4]) for each in of)} of {len(of)} noticed")


if __name__ == "__main__":
    main()
