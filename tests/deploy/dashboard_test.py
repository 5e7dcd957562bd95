"""Checks that every query of the dashboard finds something. A real Prometheus scrapes
a real server under a short load, and each panel's queries run over that time.

dashboard_test.py SERVER MODEL STUBS LOAD DECODER: LOAD is trivium-load, DECODER is
the folder of a decoder-only model that reads token ids. Needs Debian's `prometheus`
and `python3-yaml`.
"""

import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

try:
    import yaml
except ImportError:
    yaml = None

HERE = pathlib.Path(__file__).resolve().parent
DEPLOY = HERE.parent.parent / "deploy"
sys.path.insert(0, str(HERE.parent / "attacks"))
LOAD, DECODER = sys.argv[4:6]
del sys.argv[4:]

import attack  # noqa: E402

SECONDS = 8
# The values that Grafana puts in place of its variables.
VARIABLES = {"$__rate_interval": "4s", "$instance": ".+", "$model": ".*"}
# Metrics of faults, which are zero in this test.
QUIET = re.compile(
    "trivium_(suspensions|shared_sources|padding_rows|deadlines_missed"
    "|overload_|connections_ended|not_finite)")

TEXTS = ["I ate an apple.", "The weather is good today.",
         "Where is the railway station?", "She has read the book twice."]
# Prompts that repeat themselves, since speculation guesses repetitions; with
# the bias below it is right. Prefixes are cached in blocks of 16 tokens. No two
# prompts are the same, since the result cache would answer the second.
PROMPTS = ["5 " * 34 + f"{first} {second} 5 5 5 5"
           for first in range(10, 300) for second in range(10, 60)]


class Prometheus:
    """A Prometheus that scrapes one server every half second."""

    def __init__(self, folder, target):
        config = folder / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 500ms}\n"
            "scrape_configs:\n"
            "  - job_name: trivium\n"
            f"    static_configs: [{{targets: ['{target}']}}]\n")
        self._process = subprocess.Popen(
            ["prometheus", f"--config.file={config}",
             f"--storage.tsdb.path={folder / 'data'}",
             "--web.listen-address=127.0.0.1:0"],
            stderr=subprocess.PIPE, text=True)
        said = []
        self._address = None
        ready = False
        # The two lines come in either order.
        for line in self._process.stderr:
            said.append(line)
            found = re.search(r'"Listening on" address=(\S+)', line)
            if found:
                self._address = found[1]
            ready = ready or "ready to receive web requests" in line
            if ready and self._address is not None:
                return
        raise AssertionError("Prometheus ended:\n" + "".join(said))

    def query(self, expression, begin, end):
        """Returns the series of an expression over a time. Raises an AssertionError
        with Prometheus' message."""
        parameters = urllib.parse.urlencode({
            "query": expression, "start": begin, "end": end, "step": 0.5})
        try:
            with urllib.request.urlopen(
                    f"http://{self._address}/api/v1/query_range?{parameters}",
                    timeout=30) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            raise AssertionError(
                f"{expression}: {error.read().decode()}") from None

    def stop(self):
        self._process.terminate()
        self._process.communicate()


def load(address, call, file, *flags):
    """Runs trivium-load."""
    return subprocess.Popen(
        [LOAD, "--address", address, "--call", call, "--file", file,
         "--warm-up", "0", "--duration", str(SECONDS), *flags],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def loads(address, folder):
    """Makes the calls that the panels need."""
    texts = folder / "texts"
    texts.write_text("\n".join(TEXTS) + "\n")
    # Long enough that a queue forms, and all different.
    many = folder / "many"
    many.write_text("".join(f"Read page {i} of the book to me.\n"
                            for i in range(20000)))
    long = folder / "long"
    long.write_text("word " * 2000 + "\n")
    prompts = folder / "prompts"
    prompts.write_text("\n".join(PROMPTS) + "\n")
    return [
        load(address, "translate", texts, "--concurrency", "4"),
        load(address, "encode", long, "--concurrency", "1"),
        load(address, "generate", prompts, "--ids", "--model", "lm",
             "--max-new-tokens", "20", "--logit-bias", "5=50",
             "--concurrency", "1"),
        # More than may wait at once, so that the queue is full.
        load(address, "translate", many, "--inputs-per-call", "100",
             "--concurrency", "8"),
        load(address, "translate", texts, "--model", "none", "--rate", "20"),
    ]


class DashboardTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dashboard = json.loads(
            (DEPLOY / "grafana/dashboards/trivium.json").read_text())
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        path = pathlib.Path(folder.name)
        server = attack.start_server([
            "--model", "lm=" + DECODER, "--result-cache-bytes", "1MiB",
            "--max-waiting-tokens", "50000", "--truncate", "--log-level", "error"])
        cls.addClassCleanup(server.stop)
        cls.prometheus = Prometheus(path, server.metrics_address)
        cls.addClassCleanup(cls.prometheus.stop)
        cls.begin = time.time()
        for process in loads(server.address, path):
            process.wait()
        cls.end = time.time()

    def test_every_query_finds_something(self):
        for panel in self.dashboard["panels"]:
            for target in panel.get("targets", []):
                with self.subTest(panel["title"], query=target["expr"]):
                    self.check(target["expr"])

    def test_every_query_of_the_autoscaler_finds_something(self):
        rules = yaml.safe_load((
            DEPLOY / "kubernetes/autoscaling/prometheus-adapter.yaml"
        ).read_text())["rules"]["custom"]
        self.assertEqual(len(rules), 2)
        for rule in rules:
            query = rule["metricsQuery"]
            # As prometheus-adapter does, but with instances instead of pods.
            for placeholder, value in (
                    ("<<.Series>>", rule["seriesQuery"].split("{")[0]),
                    ("<<.LabelMatchers>>", 'instance=~".+"'),
                    ("<<.GroupBy>>", "instance")):
                self.assertIn(placeholder, query)
                query = query.replace(placeholder, value)
            with self.subTest(query=query):
                self.check(query)

    def check(self, expression):
        """Checks that a query finds numbers, and not only zeros if there was load."""
        for variable, value in VARIABLES.items():
            expression = expression.replace(variable, value)
        self.assertNotIn("$", expression)
        series = self.prometheus.query(expression, self.begin, self.end)
        self.assertTrue(series, "no data")
        values = [float(value) for one in series
                  for _, value in one["values"]]
        numbers = [value for value in values if math.isfinite(value)]
        self.assertTrue(numbers, "nothing but NaN")
        if not QUIET.search(expression):
            self.assertGreater(max(numbers), 0)

    def test_the_file_is_what_the_program_writes(self):
        made = subprocess.run(
            [sys.executable, DEPLOY / "grafana/make_dashboard.py"],
            stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(
            json.loads(made), self.dashboard,
            "run deploy/grafana/make_dashboard.py > "
            "deploy/grafana/dashboards/trivium.json")

    def test_each_legend_names_labels_that_there_are(self):
        for panel in self.dashboard["panels"]:
            for target in panel.get("targets", []):
                for label in re.findall(r"{{(\w+)}}", target["legendFormat"]):
                    self.assertIn(label, target["expr"], panel["title"])


if __name__ == "__main__":
    if shutil.which("prometheus") is None or yaml is None:
        print("skipped: dashboard_test needs Debian's packages prometheus and "
              "python3-yaml")
        sys.exit(77)
    attack.main()
