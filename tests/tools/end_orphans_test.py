"""Tests of end_orphans.py."""

import pathlib
import subprocess
import sys
import time
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
# Less patient than by itself.
PROGRAM = "import end_orphans; end_orphans.GRACE_SECONDS = 1; end_orphans.main()"


def run(*command):
    """What the command gives and writes. Everything that it starts has ended, or left
    its output, when this returns."""
    return subprocess.run([sys.executable, "-B", "-c", PROGRAM, *command],
                          cwd=FOLDER, timeout=60, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)


class EndOrphansTest(unittest.TestCase):
    def test_gives_the_commands_status_and_output(self):
        done = run("sh", "-c", "echo said; exit 3")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "said\n", ""))
        self.assertEqual(run("sh", "-c", "kill -9 $$").returncode, 128 + 9)

    def test_what_is_left_at_the_end_is_killed(self):
        # A child, and one in a session of its own, which hold the output open.
        done = run("sh", "-c", "sleep 1000 & setsid sleep 1000 & sleep 0.2; exit 0")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr.count("killed sleep"), 2, done.stderr)

    def test_orphans_are_killed_while_the_command_runs(self):
        # The inner shell ends at once; the outer one waits for the output's end.
        begin = time.monotonic()
        done = run("sh", "-c", "x=$(sh -c 'sleep 1000 & echo $!'); echo $x; exit 5")
        self.assertEqual(done.returncode, 5)
        self.assertIn(f"killed sleep ({done.stdout.strip()})", done.stderr)
        self.assertLess(time.monotonic() - begin, 50)

    def test_children_of_the_living_are_left_alone(self):
        done = run("sh", "-c", "sleep 2 & wait $!; echo $?")
        self.assertEqual((done.stdout, done.stderr), ("0\n", ""))


if __name__ == "__main__":
    unittest.main()
