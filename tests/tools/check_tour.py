#!/usr/bin/env python3
"""Checks that a page names only what there is: the files of its links, and the
tests (`Suite.Name`) in the files linked on the same line.

Usage: check_tour.py PAGE... Prints one line a problem and exits with 1 if there
is any.
"""

import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)#]+)(?:#[^)]*)?\)")
TEST = re.compile(r"`([A-Z]\w*Test)\.(\w+)`")
DEFINITION = re.compile(r"\bTEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)")
# Must stand in one of the files linked on its line, if code is linked there.
FUNCTION = re.compile(r"`(\w+)::(\w+)`")


def check(page):
    problems = []
    folder = page.parent
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        where = f"{page}:{number}"
        texts = []
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            path = folder / target
            if not path.exists():
                problems.append(f"{where}: there is no {target}")
            elif path.suffix in (".cc", ".h"):
                texts.append(path.read_text(encoding="utf-8"))
        tests = {test for text in texts for test in DEFINITION.findall(text)}
        for test in TEST.findall(line):
            if test not in tests:
                problems.append(f"{where}: no linked file has a test {'.'.join(test)}")
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
