#!/usr/bin/env python3
"""Checks the files of deploy/ that need no server: Prometheus' configuration and
rules by promtool, and that each alert is tested and explained.

check_deploy.py [TEST...]; skipped where promtool is missing.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROMETHEUS = ROOT / "deploy/prometheus"
RULES_TEST = ROOT / "tests/deploy/rules_test.yml"


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{command} says:\n{done.stdout}"


class PrometheusTest(unittest.TestCase):
    def test_configuration(self):
        run("promtool", "check", "config", PROMETHEUS / "prometheus.yml")

    def test_rules(self):
        run("promtool", "test", "rules", RULES_TEST)

    def test_alerts_are_raised_in_tests_and_explained(self):
        alerts = re.findall(r"- alert: (\w+)",
                            (PROMETHEUS / "rules.yml").read_text())
        self.assertTrue(alerts)
        tests = RULES_TEST.read_text()
        page = (ROOT / "docs/operating.md").read_text()
        for alert in alerts:
            self.assertRegex(tests, rf"alertname: {alert}\n[^-]*exp_alerts:\n",
                             "tests/deploy/rules_test.yml never raises it")
            self.assertIn(f"| {alert} |", page, "docs/operating.md")


if __name__ == "__main__":
    if shutil.which("promtool") is None:
        print("skipped: check_deploy needs Debian's package prometheus")
        sys.exit(77)
    unittest.main()
