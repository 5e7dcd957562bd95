"""What a figure needs beside it: the machine, the versions and the date."""

import datetime
import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Those that decide how fast int8 products are.
INSTRUCTION_SETS = ("avx2", "avx512f", "avx_vnni", "avx512_vnni",
                    "avx512_bf16", "amx_int8", "amx_bf16")


def cpuinfo(key):
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""


def cpu_name():
    return cpuinfo("model name") or platform.processor()


def commit():
    try:
        return subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=ROOT, check=True,
            text=True, capture_output=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def describe():
    flags = set(cpuinfo("flags").split())
    return {
        "cpu": cpu_name(),
        "instruction_sets": [name for name in INSTRUCTION_SETS if name in flags],
        "commit": commit(),
        "date": datetime.date.today().isoformat(),
    }


def in_words(machine):
    return (f"{machine['cpu']} ({' '.join(machine['instruction_sets'])}), "
            f"{machine['date']}, commit {machine['commit']}")
