#!/usr/bin/env python3
"""Runs a command, and ends what its processes leave behind:

    tests/tools/end_orphans.py ctest --test-dir build/test

A test that fails, crashes or is killed may leave a server running, which holds the
test's output open, and ctest waits for the end of that output. Here each process
whose parent has ended becomes this one's child, and is killed after a few seconds.
Gives the command's exit status, or 128 + signal if a signal ended it.
"""

import ctypes
import math
import os
import signal
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
# Orphans that end by themselves are left alone for so long.
GRACE_SECONDS = 5
PAUSE_SECONDS = 0.5


def children():
    """{process id: name} of this process's children that have not been waited for."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                head, _, tail = file.read().rpartition(")")
        except OSError:
            continue  # it has ended meanwhile
        if int(tail.split()[1]) == os.getpid():
            found[int(entry)] = head.partition("(")[2]
    return found


def end_orphans(command, since, grace):
    """Kills the children that have been orphans for `grace` seconds. `since` has when
    each was first seen, or infinity once it was killed. Returns whether any is left."""
    orphans = children()
    orphans.pop(command, None)
    now = time.monotonic()
    for process, name in orphans.items():
        if now - since.setdefault(process, now) >= grace:
            print(f"killed {name} ({process}), whose parent ended before it",
                  file=sys.stderr, flush=True)
            os.kill(process, signal.SIGKILL)
            since[process] = math.inf
        if os.waitpid(process, os.WNOHANG)[0]:
            del since[process]
    return bool(orphans)


def main():
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("cannot become the parent of orphans (PR_SET_CHILD_SUBREAPER)")
    command = subprocess.Popen(sys.argv[1:])
    since = {}
    while True:
        try:
            code = command.wait(PAUSE_SECONDS)
            break
        except subprocess.TimeoutExpired:
            end_orphans(command.pid, since, GRACE_SECONDS)
    give_up = time.monotonic() + GRACE_SECONDS
    while end_orphans(command.pid, since, 0) and time.monotonic() < give_up:
        time.sleep(0.01)
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
