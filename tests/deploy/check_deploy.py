#!/usr/bin/env python3
"""Checks the files of deploy/ as far as possible without a server: Prometheus'
configuration and rules by promtool, that each alert is tested and explained, and
that everything exists to which Kubernetes' files refer.

check_deploy.py [TEST...]; needs Debian's `prometheus` and `python3-yaml`.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"
PROMETHEUS = DEPLOY / "prometheus"
WORKFLOWS = ROOT / ".github/workflows"
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


def parsed(path):
    return list(yaml.safe_load_all(path.read_text()))


class YamlTest(unittest.TestCase):
    def test_every_file_is_yaml(self):
        files = [*DEPLOY.rglob("*.yaml"), *DEPLOY.rglob("*.yml"),
                 *WORKFLOWS.rglob("*.yml")]
        self.assertGreater(len(files), 10)
        for path in files:
            self.assertTrue(parsed(path)[0], path)

    def test_what_compose_mounts_is_there(self):
        (compose,) = parsed(DEPLOY / "compose.yaml")
        mounts = [volume.split(":")[0]
                  for service in compose["services"].values()
                  for volume in service.get("volumes", [])]
        for mount in mounts:
            if mount.startswith("."):
                self.assertTrue((DEPLOY / mount).exists(), mount)
            else:
                self.assertIn(mount, compose["volumes"])


class ReleaseTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        (cls.workflow,) = parsed(WORKFLOWS / "release.yml")
        cls.jobs = cls.workflow["jobs"]

    def test_all_files_name_one_version(self):
        run(DEPLOY / "version")

    def test_the_source_package_has_what_the_image_copies(self):
        copied = re.findall(r"^COPY (?!--from)(.*) \S+$",
                            (ROOT / "Dockerfile").read_text(), re.M)
        words = {word for line in copied for word in line.split()}
        backend = (ROOT / "library/python/backend/trivium_build.py").read_text()
        parts = set(re.findall(r'"([^"]+)"', re.search(
            r"^PARTS = \[(.*?)\]", backend, re.M | re.S)[1]))
        self.assertEqual(
            {word for word in words if not word.startswith("deploy/")}
            - {"CMakePresets.json"}, parts - {"LICENSE"})

    def test_only_tags_publish(self):
        # YAML 1.1 reads the key `on` as true.
        (event,) = self.workflow[True]
        self.assertEqual(event, "push")
        self.assertEqual(self.workflow[True]["push"], {"tags": ["v*"]})
        self.assertEqual(self.workflow["permissions"], {"contents": "read"})

    def test_jobs_wait_for_jobs_that_are_there(self):
        for name, job in self.jobs.items():
            needs = job.get("needs", [])
            for needed in [needs] if isinstance(needs, str) else needs:
                self.assertIn(needed, self.jobs, name)
            self.assertTrue(name == "version" or needs, f"{name} waits for none")

    def test_what_is_downloaded_was_uploaded(self):
        def named(action, key):
            return [re.sub(r"\$\{\{.*?\}\}", "*", step["with"][key])
                    for job in self.jobs.values() for step in job["steps"]
                    if step.get("uses", "").startswith(action)]
        uploaded = named("actions/upload-artifact@", "name")
        for pattern in named("actions/download-artifact@", "pattern"):
            self.assertIn(pattern, uploaded)

    def test_its_scripts_are_there_and_are_bash(self):
        for name, job in self.jobs.items():
            for step in job["steps"]:
                script = step.get("run", "")
                done = subprocess.run(
                    ["bash", "-n"], text=True, capture_output=True, check=False,
                    input=re.sub(r"\$\{\{.*?\}\}", "x", script))
                self.assertEqual(done.returncode, 0, f"{name}: {done.stderr}")
                for path in re.findall(r"\bdeploy/[\w./]+", script):
                    self.assertTrue((ROOT / path).exists(), f"{name}: {path}")


class KubernetesTest(unittest.TestCase):
    FOLDER = DEPLOY / "kubernetes"

    @classmethod
    def setUpClass(cls):
        (cls.deployment,) = parsed(cls.FOLDER / "deployment.yaml")
        cls.pod = cls.deployment["spec"]["template"]
        cls.containers = cls.pod["spec"]["containers"]
        cls.ports = {port["name"] for container in cls.containers
                     for port in container["ports"]}

    def test_kustomizations_name_files(self):
        (main,) = parsed(DEPLOY / "kustomization.yaml")
        for path in main["resources"] + main["configMapGenerator"][0]["files"]:
            self.assertTrue((DEPLOY / path).is_file(), path)
        self.assertIn(main["configMapGenerator"][0]["name"],
                      [volume["configMap"]["name"]
                       for volume in self.pod["spec"]["volumes"]])
        for path in self.FOLDER.glob("*/kustomization.yaml"):
            for name in parsed(path)[0]["resources"]:
                self.assertTrue((path.parent / name).is_file(), path)

    def test_containers_are_confined(self):
        self.assertTrue(self.pod["spec"]["securityContext"]["runAsNonRoot"])
        (runtime,) = parsed(self.FOLDER / "kserve/serving-runtime.yaml")
        for container in self.containers + runtime["spec"]["containers"]:
            context = container["securityContext"]
            self.assertTrue(context["readOnlyRootFilesystem"])
            self.assertFalse(context["allowPrivilegeEscalation"])
            self.assertEqual(context["capabilities"], {"drop": ["ALL"]})
            self.assertIn("memory", container["resources"]["limits"])

    def test_selectors_and_ports(self):
        labels = self.pod["metadata"]["labels"]
        (service,) = parsed(self.FOLDER / "service.yaml")
        (budget,) = parsed(self.FOLDER / "disruption.yaml")
        (network,) = parsed(self.FOLDER / "network.yaml")
        (monitor,) = parsed(self.FOLDER / "monitoring/service-monitor.yaml")
        for selector in (
                self.deployment["spec"]["selector"]["matchLabels"],
                service["spec"]["selector"],
                budget["spec"]["selector"]["matchLabels"],
                network["spec"]["podSelector"]["matchLabels"]):
            self.assertLessEqual(selector.items(), labels.items())
        self.assertEqual(monitor["spec"]["selector"]["matchLabels"],
                         service["metadata"]["labels"])
        for port in service["spec"]["ports"]:
            self.assertIn(port["targetPort"], self.ports)
        for rule in network["spec"]["ingress"]:
            self.assertIn(rule["ports"][0]["port"], self.ports)
        served = {port["name"] for port in service["spec"]["ports"]}
        for endpoint in monitor["spec"]["endpoints"]:
            self.assertIn(endpoint["port"], served)
        for container in self.containers:
            for key in container:
                if key.endswith("Probe"):
                    self.assertIn(container[key]["httpGet"]["port"],
                                  self.ports)

    def test_envoy_finds_the_server_in_its_pod(self):
        (envoy,) = parsed(DEPLOY / "envoy/envoy.yaml")
        (address,) = {
            json.dumps(endpoint["endpoint"]["address"]["socket_address"])
            for cluster in envoy["static_resources"]["clusters"]
            for servers in cluster["load_assignment"]["endpoints"]
            for endpoint in servers["lb_endpoints"]}
        address = json.loads(address)
        (alias,) = self.pod["spec"]["hostAliases"]
        self.assertIn(address["address"], alias["hostnames"])
        listen = {variable["name"]: variable["value"]
                  for variable in self.containers[0]["env"]}["TRIVIUM_LISTEN"]
        self.assertEqual(listen, f"{alias['ip']}:{address['port_value']}")

    def test_the_autoscalers_metrics_are_the_adapters(self):
        folder = self.FOLDER / "autoscaling"
        (scaler,) = parsed(folder / "autoscaler.yaml")
        (adapter,) = parsed(folder / "prometheus-adapter.yaml")
        self.assertEqual(
            {metric["pods"]["metric"]["name"]
             for metric in scaler["spec"]["metrics"]},
            {rule["name"]["as"] for rule in adapter["rules"]["custom"]})


if __name__ == "__main__":
    if shutil.which("promtool") is None or yaml is None:
        print("skipped: check_deploy needs Debian's packages prometheus and "
              "python3-yaml")
        sys.exit(77)
    unittest.main()
