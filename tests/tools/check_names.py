#!/usr/bin/env python3
"""Checks that no two files define a type of the same name.

usage: check_names.py ROOT

All of the project is in one namespace. Two types of one name in it break the
one definition rule: programs that link both use one's functions for the other,
and neither compiler nor linker says so. Types of unnamed namespaces, of namespaces
below it, and inside other types may share names.
"""

import collections
import pathlib
import re
import sys

FOLDERS = ("base", "model", "server", "client", "library")
# A definition at the beginning of a line, which is where a namespace's are.
DEFINITION = re.compile(r"(?:class|struct|union|enum|enum class) (\w+)"
                        r"(?: final)?(?: :[^;]*)?(?: \{.*)?$")
BEGIN = re.compile(r"namespace ?(.*) \{$")
END = re.compile(r"\}  // namespace")


def types(lines):
    """The types that these lines define in the project's namespace itself."""
    scope = []
    for line in lines:
        if found := BEGIN.match(line):
            scope.append(found.group(1))
        elif END.match(line):
            scope.pop()
        elif scope == ["trivium"] and (found := DEFINITION.match(line)):
            yield found.group(1)


def check(root):
    """Returns the problems of a tree, and how many types it has."""
    places = collections.defaultdict(set)
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cc"):
                for name in types(path.read_text(encoding="utf-8").splitlines()):
                    places[name].add(str(path.relative_to(root)))
    return [f"{name} is defined in {' and in '.join(sorted(files))}; rename one"
            for name, files in sorted(places.items()) if len(files) > 1], len(places)


def main():
    problems, count = check(pathlib.Path(sys.argv[1]))
    if count < 500:
        problems.append(f"only {count} types were found")
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
