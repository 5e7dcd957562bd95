#!/usr/bin/python3 -B
"""Breaks the scheduler, the accounting of KV blocks, the search and admission
in small ways, and sees which of them the tests notice.

    tests/tools/mutate.py FOLDER [--count 220] [--seed 1] [--only AREA]
        [--quick] [--slowest 30] [--again] [--at-once 1]

FOLDER is made: a copy of the source with the mutants, all in one build, chosen
by TRIVIUM_MUTANT. Run again, it goes on where it ended. Each mutant runs the
tests of its area until one fails: first those with the name of its file, then
the quick ones, then the slow ones. Noticed is a failure, a crash, or a run that
takes far longer than without a mutant. With --quick the slow tests do not run;
without it, those that survived the others run them. Tests that take longer than
--slowest seconds never run. With --again the survivors run the tests as they
are now in the source. --at-once mutants run beside each other.
equivalent_mutants.py says of which survivors no test can tell.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

import mutants
from equivalent_mutants import EQUIVALENT

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# Programs, and which of their tests run.
PROGRAMS = {"search_test": "*", "batching_test": "*",
            "transformer_test": "*Block*:*Prefix*:*KvLayout*:*State*"}
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
MEMORY = 8 << 30  # bytes that a mutant may take


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


def copy_tests(copy):
    """Brings the copy's tests up to date."""
    files = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard",
         "tests"], cwd=SOURCE, check=True, stdout=subprocess.PIPE)
    for name in filter(None, files.stdout.decode().split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        if (not (copy / name).exists() or
                (SOURCE / name).read_bytes() != (copy / name).read_bytes()):
            shutil.copy(SOURCE / name, copy / name)
    for program in PROGRAMS:
        (copy / f"{program}.json").unlink(missing_ok=True)


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
    known = copy / "not_compiled.json"
    left_out = (set(json.loads(known.read_text(encoding="utf-8")))
                if known.exists() else set())
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
        known.write_text(json.dumps(sorted(left_out)), encoding="utf-8")
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
    """Pairs of a program and its tests, in the order in which they run. Tests
    of more than `slow` seconds are left out."""
    camel = "".join(part.capitalize() for part in path.stem.split("_"))
    picks = []
    if quick:
        picks += [lambda name, time: time < SLOW and camel in name,
                  lambda name, time: time < SLOW and camel not in name]
    picks.append(lambda name, time: SLOW <= time <= slow)
    for pick in picks:
        for program in programs:
            tests = [name for name, time in seconds[program].items()
                     if pick(name, time)]
            if tests:
                yield program, tests


def run_tests(copy, program, tests, number, timeout):
    """What the tests print, and their exit status; none if they take longer."""
    try:
        run = subprocess.run(
            ["prlimit", f"--as={MEMORY}", copy / "build/test/bin" / program,
             *isa(program), "--gtest_fail_fast", "--gtest_brief=0"], cwd=copy,
            # Not on the command line, which could be too long.
            env={**os.environ, "TRIVIUM_MUTANT": str(number),
                 "GTEST_FILTER": ":".join(tests)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout,
            check=False)
        return run.stdout, run.returncode
    except subprocess.TimeoutExpired as late:
        return late.stdout or b"", None


def first_failure(copy, number, path, programs, seconds, **which):
    """The test that notices the mutant, or None."""
    for program, tests in rounds(path, programs, seconds, **which):
        timeout = 20 + 10 * sum(seconds[program][test] for test in tests)
        output, code = run_tests(copy, program, tests, number, timeout)
        # The machine may have become slower.
        while code is None and run_tests(copy, program, tests, 0,
                                         timeout / 2)[1] is None:
            timeout *= 2
            output, code = run_tests(copy, program, tests, number, timeout)
        if code == 0:
            continue
        text = output.decode("utf-8", "replace")
        # After a failure the others begin, too, and are skipped.
        named = (re.findall(r"\[  FAILED  \] (\S+?),? ", text)[:1] or
                 re.findall(r"\[ RUN      \] (\S+)", text)[-1:] or [program])
        return f"{named[0]} ({'takes too long' if code is None else code})"
    return None


def print_shares(results):
    """Counts by area, and which survivors a test should notice."""
    print()
    noticed = 0
    of_tests = 0
    for area in AREAS:
        of = [each for each in results.values() if each[0] == area]
        can = [each for each in of if key_of(each) not in EQUIVALENT]
        ran = sum(bool(each[4]) for each in can)
        print(f"{area}: {ran} of {len(can)} noticed; of {len(of) - len(can)} "
              "others no test can tell")
        noticed += ran
        of_tests += len(can)
    print(f"all: {noticed} of {of_tests} noticed, "
          f"{100 * noticed / max(1, of_tests):.1f} %")


def key_of(result):
    _, place, what, code = result[:4]
    return place.rpartition(":")[0], what, code


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=220)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=sorted(AREAS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--slowest", type=float, default=30)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--at-once", type=int, default=1)
    arguments = parser.parse_args()
    copy = arguments.folder.resolve()
    if not (copy / "build").exists():  # or only a part was copied
        copy_source(copy)
    elif arguments.again:
        copy_tests(copy)
    drawn = draw_mutants(copy / ORIGINALS, arguments.count, arguments.seed)
    left_out = build(copy, drawn)
    seconds = {program: seconds_of_tests(copy, program) for program in PROGRAMS}
    known = copy / "results.json"
    results = (json.loads(known.read_text(encoding="utf-8"))
               if known.exists() else {})
    if arguments.again:
        results = {number: each for number, each in results.items()
                   if each[4] or key_of(each) in EQUIVALENT}
    order = [each for each in drawn if each not in left_out]
    random.Random(0).shuffle(order)

    def try_mutant(number):
        area, path, text, place, what, _ = drawn[number]
        before = results.get(str(number))
        # It has survived the quick tests, and the slow ones have not run.
        waits = before is not None and before[-1] == "quick"
        if (before and (arguments.quick or not waits) or
                arguments.only not in (None, area)):
            return None
        noticed = first_failure(
            copy, number, path, AREAS[area][2], seconds, quick=not waits,
            slow=0 if arguments.quick else arguments.slowest)
        line = text.count("\n", 0, place.begin) + 1
        code = " ".join(text[place.begin:place.end].split())
        return number, [area, f"{path}:{line}", what, code, noticed,
                        "quick" if arguments.quick and not noticed else "all"]

    with concurrent.futures.ThreadPoolExecutor(arguments.at_once) as pool:
        for done in filter(None, pool.map(try_mutant, order)):
            number, result = done
            results[str(number)] = result
            known.write_text(json.dumps(results, indent=1), encoding="utf-8")
            _, where, what, code, noticed, _ = result
            print(f"{number} {'noticed ' if noticed else 'SURVIVED'} {where} "
                  f"{what}: {code[:100]} | {noticed or ''}", flush=True)
    print_shares(results)


if __name__ == "__main__":
    main()
