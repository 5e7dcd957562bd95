#!/usr/bin/python3
"""Measures whether a server in a cgroup uses all that its quota or cpuset allows, and
no more. Compares the speed of `trivium-server --plan` in real cgroups (v1 or v2) with
its speed on the same CPUs by taskset.

measure_quota.py SERVER MODEL [ROUNDS]

A quota of 1.5 CPUs must reach 0.9 of three quarters of two CPUs' rate, and so on. The
number of threads that want a CPU at a time may be the quota rounded up, or the size
of the cpuset. Needs root and a writable cgroup file system; without them it exits
with 77 and a line that says why. It is not a test, since a rate depends on what else
runs.
"""

import collections
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import threading
import time

LEAST = 0.9
PERIOD = 100_000  # microseconds
TOP = pathlib.Path("/sys/fs/cgroup")
NAME = f"trivium_measure_{os.getpid()}"


class Skipped(Exception):
    """No cgroup can be made."""


class Cgroup:
    """A cgroup with a quota (CPUs) or a cpuset, of either version."""

    def __init__(self, quota=None, cpus=None):
        self.folders = []
        try:
            if (TOP / "cgroup.controllers").exists():
                self._v2(quota, cpus)
            else:
                self._v1(quota, cpus)
        except OSError as error:
            self.remove()
            raise Skipped(f"no cgroup can be made: {error}") from error

    def _v1(self, quota, cpus):
        if quota is not None:
            folder = self._make(TOP / "cpu")
            (folder / "cpu.cfs_period_us").write_text(str(PERIOD))
            (folder / "cpu.cfs_quota_us").write_text(str(int(quota * PERIOD)))
        if cpus is not None:
            folder = self._make(TOP / "cpuset")
            mems = (TOP / "cpuset/cpuset.mems").read_text()
            (folder / "cpuset.mems").write_text(mems)
            (folder / "cpuset.cpus").write_text(",".join(map(str, cpus)))

    def _v2(self, quota, cpus):
        for controller in ("cpu", "cpuset"):
            (TOP / "cgroup.subtree_control").write_text(f"+{controller}")
        folder = self._make(TOP)
        if quota is not None:
            (folder / "cpu.max").write_text(f"{int(quota * PERIOD)} {PERIOD}")
        if cpus is not None:
            (folder / "cpuset.cpus").write_text(",".join(map(str, cpus)))

    def _make(self, below):
        folder = below / NAME
        folder.mkdir()
        self.folders.append(folder)
        return folder

    def enter(self):
        """Enters the cgroup. Called in the child, before it runs the program."""
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(os.getpid()))

    def throttled(self):
        """Returns the share of periods in which the quota was used up; None without a
        quota."""
        for folder in self.folders:
            stat = (folder / "cpu.stat")
            counts = dict(re.findall(r"^(\w+) (\d+)$", stat.read_text(), re.M)) \
                if stat.exists() else {}
            if int(counts.get("nr_periods", 0)) > 0:
                return int(counts["nr_throttled"]) / int(counts["nr_periods"])
        return None

    def remove(self):
        for folder in self.folders:
            folder.rmdir()


def runnable(process, counts):
    """Counts how many threads of a process want a CPU, until it ends."""
    while process.poll() is None:
        running = 0
        for stat in pathlib.Path(f"/proc/{process.pid}/task").glob("*/stat"):
            try:
                running += stat.read_text().rpartition(") ")[2][0] == "R"
            except OSError:
                pass  # the thread has ended
        counts[running] += 1
        time.sleep(0.002)


Run = collections.namedtuple("Run", "rate threads runnable throttled")


def measure(server, model, cpus, cgroup=None, flags=()):
    """Returns the first load that --plan reports with these flags."""
    def prepare():
        os.sched_setaffinity(0, cpus)
        if cgroup is not None:
            cgroup.enter()
    with subprocess.Popen([server, "--plan", "--json", "--log-level", "error",
                           *flags, model], stdout=subprocess.PIPE, text=True,
                          preexec_fn=prepare) as process:
        counts = collections.Counter()
        watch = threading.Thread(target=runnable, args=(process, counts))
        watch.start()
        plan = json.loads(process.stdout.read())
        watch.join()
    served = next(way for way in plan["models"][0]["loads"][0]["measured"]
                  if way["served"])
    # For moments more threads are runnable, as some begin while others end.
    seen = sum(counts.values())
    usual = max(n for n in counts
                if sum(counts[more] for more in counts if more >= n)
                >= seen / 100)
    return Run(served["requests_per_second"],
               plan["workers"] * plan["worker_threads"], usual,
               None if cgroup is None else cgroup.throttled())


def cases(cpus):
    """Yields name, quota, cpuset, flags, and whether it must reach LEAST."""
    for quota in (1, 1.5, 2, 2.5, 4):
        if quota <= len(cpus):
            yield f"quota {quota}", quota, None, (), True
    if len(cpus) > 1:
        yield ("quota 1.5, rounded down", 1.5, None,
               ("--workers", "1", "--worker-threads", "1"), False)
        yield "cpuset of 1", None, cpus[:1], (), True
    yield f"cpuset of {len(cpus)}", None, cpus, (), True
    if len(cpus) > 1:
        yield "quota 1.5 in a cpuset of 1", 1.5, cpus[:1], (), True


def main():
    server, model = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    cpus = sorted(os.sched_getaffinity(0))
    failed = []
    print(f"{'':28} {'threads':>8} {'runnable':>9} {'requests/s':>11} "
          f"{'of taskset':>11} {'throttled':>10}")
    for name, quota, cpuset, flags, judged in cases(cpus):
        most = min(quota or math.inf, len(cpuset or cpus))
        beside = cpus[:math.ceil(most)]
        runs, ratios = [], []
        for _ in range(rounds):  # in turns, as the machine's pace changes
            plain = measure(server, model, beside)
            cgroup = Cgroup(quota, cpuset)
            try:
                runs.append(measure(server, model, cpus, cgroup, flags))
            finally:
                cgroup.remove()
            ratios.append(runs[-1].rate / plain.rate * math.ceil(most) / most)
        ratio = statistics.median(ratios)
        run = runs[ratios.index(sorted(ratios)[len(ratios) // 2])]
        throttled = "" if run.throttled is None else f"{run.throttled:.0%}"
        print(f"{name:28} {run.threads:8} {run.runnable:9} {run.rate:11.0f} "
              f"{ratio:11.2f} {throttled:>10}", flush=True)
        if not judged:
            continue
        if ratio < LEAST:
            failed.append(f"{name}: {ratio:.2f} of what it could reach")
        if run.threads > math.ceil(most):
            failed.append(f"{name}: {run.threads} threads compute")
    for line in failed:
        print(line)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Skipped as why:
        print(f"skipped: {why}")
        sys.exit(77)
