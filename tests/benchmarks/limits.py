"""What one thread of this machine can do at most."""

import json
import subprocess


def measure(programs, benchmarks):
    """Operations ("peak") and bytes ("stream") a second, whichever the regular
    expression `benchmarks` finds in trivium-benchmarks. "peaks" has operations
    of each kind: "int8" of Peak/int8."""
    report = json.loads(subprocess.run(
        [str(programs / "trivium-benchmarks"),
         f"--benchmark_filter={benchmarks}", "--benchmark_format=json"],
        check=True, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL).stdout)
    found = {"peaks": {}}
    for benchmark in report["benchmarks"]:
        if "op/s" in benchmark:
            kind = benchmark["name"].split("/")[1]
            found["peaks"][kind] = benchmark["op/s"]
        found["peak"] = benchmark.get("op/s", found.get("peak"))
        found["stream"] = benchmark.get("bytes_per_second",
                                        found.get("stream"))
    return found
