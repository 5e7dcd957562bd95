#!/usr/bin/env python3
"""Checks that the links of all Markdown pages lead somewhere: to a file that is
there and, where they name a heading (page.md#a-heading), to one of its page.
Checks also that there is every C++ file that they name in code (`row_ops.h`).

Usage: check_links.py ROOT. Prints one line a problem and exits with 1 if there
is any.
"""

import functools
import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
FENCE = re.compile(r"^\s*(```|~~~)")
CODE = re.compile(r"`[^`]*`")
# NAME.cc is an example.
FILE = re.compile(r"`([a-z][\w/]*\.(?:h|cc))`")


def prose(page):
    """Number and text of the lines that are not within fences."""
    within = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if FENCE.match(line):
            within = not within
        elif not within:
            yield number, line


def anchor_of(heading):
    """As GitHub makes it: lower case, hyphens for spaces, no other signs."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


@functools.cache
def anchors_of(page):
    anchors = set()
    for _, line in prose(page):
        heading = HEADING.match(line)
        if not heading:
            continue
        first = anchor = anchor_of(heading[1])
        times = 0
        while anchor in anchors:  # a heading that is there already
            times += 1
            anchor = f"{first}-{times}"
        anchors.add(anchor)
    return anchors


@functools.cache
def files_of(root):
    """The C++ files, by all ends of their paths."""
    found = set()
    for path in root.rglob("*.*"):
        parts = path.relative_to(root).parts
        if path.suffix in (".h", ".cc") and parts[0] != "build":
            found.update("/".join(parts[i:]) for i in range(len(parts)))
    return found


def check(page, root):
    problems = []
    for number, line in prose(page):
        for name in FILE.findall(line):
            if "NAME" not in name and name not in files_of(root):
                problems.append(f"{page}:{number}: there is no {name}")
        for target, anchor in LINK.findall(CODE.sub("", line)):
            if re.match(r"[a-z]+:", target):
                continue
            path = page.parent / target if target else page
            if not path.exists():
                problems.append(f"{page}:{number}: there is no {target}")
            elif anchor and path.suffix == ".md" and anchor not in anchors_of(path):
                problems.append(f"{page}:{number}: {path.name} has no #{anchor}")
    return problems


def pages_of(root):
    """All but what is built."""
    return sorted(page for page in root.rglob("*.md")
                  if page.relative_to(root).parts[0] != "build")


def main():
    root = pathlib.Path(sys.argv[1])
    problems = [problem for page in pages_of(root)
                for problem in check(page, root)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
