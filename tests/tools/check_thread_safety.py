#!/usr/bin/env python3
"""Checks the locks with clang's -Wthread-safety.

Usage: check_thread_safety.py BUILD_FOLDER. Takes the flags of the build's
compile_commands.json; only parses, and only what reaches base/mutex.h: files
that the build compiles together (TRIVIUM_UNITY) together, too.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

FOLDERS = ("base", "model", "server", "client")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def reaches_mutex(root, path, seen):
    """Whether the file includes base/mutex.h, itself or through others."""
    if path in seen or not (root / path).is_file():
        return False
    seen.add(path)
    headers = INCLUDE.findall((root / path).read_text(encoding="utf-8"))
    return "base/mutex.h" in headers or any(
        reaches_mutex(root, header, seen) for header in headers
    )


def sources(root, file):
    """The files of the project that the file is, or compiles together."""
    if file.parent.name == "Unity":
        files = map(pathlib.Path, INCLUDE.findall(file.read_text("utf-8")))
    else:
        files = [file]
    return [str(f.relative_to(root)) for f in files if f.is_relative_to(root)]


def check(command):
    arguments = shlex.split(command["command"])
    # The launcher (ccache) and the compiler come first.
    first_flag = next(i for i, a in enumerate(arguments) if a.startswith("-"))
    arguments = arguments[first_flag:]
    output = arguments.index("-o")
    del arguments[output : output + 2]
    return subprocess.run(
        ["clang++", *arguments, "-fsyntax-only", "-Wno-unknown-warning-option",
         "-Wthread-safety", "-Werror=thread-safety"],
        cwd=command["directory"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    database = pathlib.Path(sys.argv[1], "compile_commands.json")
    commands = []
    for command in json.loads(database.read_text(encoding="utf-8")):
        if any(
            source.split("/")[0] in FOLDERS
            and reaches_mutex(root, source, set())
            for source in sources(root, pathlib.Path(command["file"]))
        ):
            commands.append(command)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(check, commands))
    for result in results:
        if result.returncode != 0:
            print(result.stdout)
    bad = sum(result.returncode != 0 for result in results)
    print(f"{len(results)} compilations checked, {bad} with errors")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
