"""Servers on cores of their own, and the load on them."""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

import arguments

HERE = pathlib.Path(__file__).resolve().parent


def add_arguments(parser):
    cores = sorted(os.sched_getaffinity(0))
    parser.add_argument("--server-cores", type=core_list, default=cores[:1],
                        help="a worker on each, as 0,2-3")
    parser.add_argument("--load-cores", type=core_list, default=cores[1:2],
                        help="of the load generator")
    parser.add_argument("--server-flags", default="--kv-cache-bytes 1GiB",
                        help="more flags for trivium-server, as --max-isa avx2")
    parser.add_argument("--warm-up", type=float, default=2, help="seconds "
                        "before each measurement")
    parser.add_argument("--duration", type=float, default=20,
                        help="seconds of each measurement")
    arguments.add_report(parser)
    arguments.add_programs(parser)


def core_list(text):
    cores = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        cores += range(int(first), int(last or first) + 1)
    return cores


def check(options):
    if not options.load_cores:
        sys.exit("this needs two cores, one for the load: name both with "
                 "--server-cores and --load-cores")
    if set(options.server_cores) & set(options.load_cores):
        print("warning: server and load share a core", file=sys.stderr)


def on_cores(cores, command):
    return ["taskset", "-c", ",".join(map(str, cores)), *map(str, command)]


class Server:
    """A process that writes `grpc PORT` to a file once it is ready. A context:
    the server runs inside."""

    def __init__(self, name, cores, command, port_file, settings):
        self.name = name
        self.settings = settings  # what was swept, for the report
        self._command = on_cores(cores, [*command, "--port-file", port_file])
        self._port_file = port_file

    def __enter__(self):
        self._port_file.unlink(missing_ok=True)
        self._process = subprocess.Popen(self._command)
        while not (self._port_file.is_file()
                   and "grpc " in self._port_file.read_text()):
            if self._process.poll() is not None:
                sys.exit(f"{self.name} ended before it was ready")
            time.sleep(0.02)
        ports = dict(line.split() for line in
                     self._port_file.read_text().splitlines())
        self.address = f"127.0.0.1:{ports['grpc']}"
        self.http_port = ports.get("http")
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()


def own_server(options, workload, work, *more_flags):
    command = [
        options.programs / "trivium-server", "--listen", "127.0.0.1:0",
        "--metrics-listen", "off", "--log-level", "warn",
        "--model", f"measured={workload.folder}",
        "--precision", options.precision,
        "--workers", len(options.server_cores), "--worker-threads", 1,
        *shlex.split(options.server_flags), *more_flags,
    ]
    return Server("Trivium", options.server_cores, command,
                  work / "own_ports", {})


def load_command(options, server, flags, duration=None):
    return on_cores(options.load_cores, [
        options.programs / "trivium-load", "--address", server.address,
        "--warm-up", options.warm_up, "--duration",
        duration or options.duration, "--json", *flags,
    ])


def load(options, server, flags):
    """The report of trivium-load, of an overloaded server too."""
    run = subprocess.run(load_command(options, server, flags), text=True,
                         stdout=subprocess.PIPE)
    if run.returncode not in (0, 1):  # 1: no call succeeded
        sys.exit(f"trivium-load ended with {run.returncode}")
    return json.loads(run.stdout)


def point(server, rate, report):
    """What the tables and the plot show of a report."""
    latency = report["latency_seconds"]
    return {
        "server": server.name,
        "settings": server.settings,
        "rate": rate,
        "throughput": report["requests_per_second"],
        "new_tokens_per_second": report["new_tokens_per_second"],
        **{f"{p}_ms": 1000 * latency[p] for p in ("p50", "p90", "p99")},
        "succeeded": report["succeeded"],
        "failed": report["failed"],
        "errors": report["errors"],
        # Long: the generator, not the server, was late.
        "start_delay_p99_ms": 1000 * report["start_delay_seconds"]["p99"],
        "seconds": report["seconds"],
    }
