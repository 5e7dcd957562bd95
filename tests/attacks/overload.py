"""More calls than the server can answer: what it still answers in time, how
fast it refuses the rest, and what another client feels of it.

Prints a table: the capacity is what trivium-load gets answered with 64 calls in
flight, on the same cores as the server; then calls come at 2, 3 and 10 times
that rate, each with a deadline. For figures, on a quiet machine:

    /usr/bin/python3 tests/attacks/overload.py \\
        build/release/bin/trivium-server model/embedded \\
        build/dev/tests/integration/python 4
"""

import itertools
import json
import math
import os
import re
import subprocess
import tempfile
import time
import urllib.request

import attack

TIMES_CAPACITY = (2, 3, 10)
# From so many seconds a row on, each row is judged by itself, by what the worker
# does while it has a core; ...
LONG_SECONDS = 4
# ... how fast calls are refused where the server and what loads it have cores of
# their own: so many, and the worker seldom waits for one.
OWN_CORES = 4
MOST_WAITED = 0.05
# Of the calls begun, how many may have been answered in time and arrive late.
MOST_ON_THEIR_WAY = 0.05
DEADLINES = (0.05, 0.2, 1)
# Alike in length, so that a rate of calls is a rate of work.
SENTENCES = [
    f"{who} {does} {what} {where}."
    for who, does, what, where in itertools.product(
        ("Tom", "Mary", "My brother", "The teacher", "Her friend"),
        ("bought", "found", "lost", "wanted", "described", "forgot"),
        ("a red car", "two old books", "the blue bag", "some good bread"),
        ("in Boston", "at the station", "last summer", "before the meeting"))]


class OverloadAttack(attack.Attack):
    # The load generator needs a core, too. Its calls have a key, so that they
    # are another client's than the honest one's.
    FLAGS = ("--workers", "1", "--worker-threads", "1", "--log-level", "warn",
             "--client-key-header", "x-client")

    def load(self, seconds, *flags, warm_up=0.5):
        """The report of trivium-load, which lies beside the server."""
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(SENTENCES) + "\n")
            file.flush()
            run = subprocess.run(
                [os.path.join(os.path.dirname(attack.program()),
                              "trivium-load"),
                 "--address", self.server.address, "--file", file.name,
                 "--metadata", "x-client=greedy", "--connections", "4",
                 "--warm-up", str(warm_up), "--duration", str(seconds),
                 "--json", *map(str, flags)],
                stdout=subprocess.PIPE, text=True, check=False, timeout=300)
        self.assertIn(run.returncode, (0, 1))  # 1: none succeeded
        return json.loads(run.stdout)

    def measure(self, seconds, *flags):
        """That report, and the parts of its time that the worker ran and waited
        for a core."""
        before = self.server.busiest_thread()
        begin = time.monotonic()
        report = self.load(seconds, *flags)
        elapsed = time.monotonic() - begin
        return report, *((now - then) / elapsed for now, then in
                         zip(self.server.busiest_thread(), before))

    def total(self, pattern):
        """The sum of the server's metrics that begin with a pattern."""
        url = f"http://{self.server.metrics_address}/metrics"
        with urllib.request.urlopen(url, timeout=30) as page:
            text = page.read().decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                   if re.match(pattern, line))

    def missed(self):
        """Calls whose deadlines passed, as the server counts them."""
        return self.total(r"trivium_requests_total\{.*DEADLINE_EXCEEDED")

    def wait_for_ends(self):
        """Calls whose clients gave up end a little later."""
        self.wait_for(
            lambda: self.total(r"trivium_requests_in_flight\{") == 0)

    def test_goodput(self):
        seconds = attack.seconds()
        best, fastest, refusals = 0, math.inf, 0
        whole, whole_ran, _ = self.measure(2 * seconds, "--concurrency", 64)
        capacity = whole["requests_per_second"]
        tokens = whole["new_tokens_per_second"]
        print(f"\ncapacity: {capacity:.0f} calls/s, {tokens:.0f} new tokens/s\n"
              "| deadline | offered | in time | of the capacity | of that for "
              "the time that the worker ran | new tokens | refused: p50, p99 "
              "| missed: of those begun | counted "
              "| the worker ran, waited for a core |\n"
              "|---|---|---|---|---|---|---|---|---|---|", flush=True)
        for deadline, times in itertools.product(DEADLINES, TIMES_CAPACITY):
            before = self.missed()
            report, ran, waited = self.measure(
                seconds, "--rate", times * capacity, "--timeout", deadline)
            self.wait_for_ends()
            counted = self.missed() - before
            good = report["requests_per_second"]
            possible = capacity * ran / whole_ran
            refused = report["refused_seconds"]
            missed = report["errors"].get("DEADLINE_EXCEEDED", 0)
            begun = max(1, missed + report["succeeded"])
            print(f"| {deadline:g} s | {times} x | {good:.0f} calls/s "
                  f"| {good / capacity:.0%} | {good / possible:.0%} "
                  f"| {report['new_tokens_per_second'] / tokens:.0%} "
                  f"| {refused['p50'] * 1e3:.1f}, {refused['p99'] * 1e3:.1f} ms "
                  f"| {missed / begun:.1%} | {counted:.0f} of {missed} "
                  f"| {ran:.2f}, {waited:.2f} |",
                  flush=True)
            best = max(best, good)
            if refused["count"] > 0:
                refusals += refused["count"]
                fastest = min(fastest, refused["p99"])
            if seconds >= LONG_SECONDS:
                self.assertGreater(refused["count"], 0)
                self.judge(good / possible, refused["p99"], waited, missed,
                           counted, begun)
        # What a quiet machine does is in the table. Whatever else runs on this
        # one may spoil a measurement, but not all.
        self.assertGreater(best, 0.5 * capacity)
        # A short row may end before so many calls wait that one is refused.
        self.assertGreater(refusals, 0)
        self.assertLess(fastest, 0.1)
        # What comes next is served as if nothing had been.
        after = self.load(seconds, "--rate", 0.4 * capacity, "--timeout", 1,
                          warm_up=2)
        print(f"2 s later, at 0.4 x: {after['succeeded']} answered, "
              f"{after['failed']} not, p99 "
              f"{after['latency_seconds']['p99'] * 1e3:.0f} ms", flush=True)
        self.assertLess(after["failed"], 0.05 * after["succeeded"])

    def judge(self, goodput, refused, waited, missed, counted, begun):
        """What a row must come to, in long runs, where the machine lets it be
        seen."""
        # The server counts those of the warm-up, too, and not answers that were
        # on their way when the client's time was over.
        on_their_way = MOST_ON_THEIR_WAY * begun
        self.assertGreaterEqual(counted, 0.9 * missed - on_their_way)
        self.assertGreater(goodput, 0.9)
        if os.cpu_count() < OWN_CORES or waited > MOST_WAITED:
            print(f"  refusals are not judged: {os.cpu_count()} cores for the "
                  f"server and its load, and its worker waited {waited:.0%} of "
                  "the time for one", flush=True)
            return
        self.assertLess(refused, 0.005)

    def test_another_client(self):
        # The load's 2,048 calls want the same cores as the honest client and
        # the server. That spoils one measurement in five, but not all.
        for last in (False, False, False, True):
            with self.honest_client() as honest:
                self.load(2 * attack.seconds(), "--concurrency", 2048)
            try:
                return self.assert_unharmed(honest)
            except AssertionError:
                if last:
                    raise


if __name__ == "__main__":
    attack.main()
