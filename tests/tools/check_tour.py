#!/usr/bin/env python3
"""Checks that a page names only what there is: the files of its links, and the
tests (`Suite.Name`) in the files linked on the same line. In a table whose last
column is "test" each row names one, or "the same" as the row above.

Usage: check_tour.py PAGE... Prints one line a problem and exits with 1 if there
is any.
"""

import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)#]+)(?:#[^)]*)?\)")
TEST = re.compile(r"`([A-Z]\w*(?:Test|Simulation)|[A-Z]\w*(?=\.test_))\.(\w+)`")
DEFINITION = re.compile(r"\bTEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)")
# Of Python.
CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
METHOD = re.compile(r"^    def (test_\w+)", re.MULTILINE)
# Must stand in one of the files linked on its line, if code is linked there.
FUNCTION = re.compile(r"`(\w+)::(\w+)`")


def tests_of(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".cc":
        return set(DEFINITION.findall(text))
    tests = set()
    classes = [*CLASS.finditer(text), None]
    for begin, end in zip(classes, classes[1:]):
        body = text[begin.start() : end.start() if end else None]
        tests |= {(begin[1], method) for method in METHOD.findall(body)}
    return tests


def check(page):
    problems = []
    folder = page.parent
    names_tests = False  # the table that the line is in
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        where = f"{page}:{number}"
        texts = []
        tests = set()
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            path = folder / target
            if not path.exists():
                problems.append(f"{where}: there is no {target}")
                continue
            if path.suffix in (".cc", ".h"):
                texts.append(path.read_text(encoding="utf-8"))
            if path.suffix in (".cc", ".py"):
                tests |= tests_of(path)
        named = TEST.findall(line)
        for test in named:
            if test not in tests:
                problems.append(f"{where}: no linked file has a test {'.'.join(test)}")
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if not cells:
            names_tests = False
        elif cells[-1] == "test":
            names_tests = True
        elif names_tests and not (
            named or cells[-1] == "the same" or set(cells[-1]) == {"-"}
        ):
            problems.append(f"{where}: the row names no test")
        for owner, name in FUNCTION.findall(line):
            defined = [
                text
                for text in texts
                if f"{owner}::{name}" in text
                or re.search(rf"\b(class|struct) {owner}\b", text)
                and re.search(rf"\b{name}\b", text)
            ]
            if texts and not defined:
                problems.append(f"{where}: no linked file has {owner}::{name}")
    return problems


def main():
    problems = [problem for page in sys.argv[1:] for problem in check(pathlib.Path(page))]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
