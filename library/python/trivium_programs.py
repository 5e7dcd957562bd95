"""The programs of the package trivium-engine as commands. Each replaces this
process with the program of its name."""

import os
import sys
from typing import NoReturn

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trivium_engine", "bin")


def _run(name: str) -> NoReturn:
    try:
        os.execv(os.path.join(_FOLDER, name), [name, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{name}: {error}: install the package trivium-engine again")


def server() -> NoReturn:
    _run("trivium-server")


def client() -> NoReturn:
    _run("trivium")


def load() -> NoReturn:
    _run("trivium-load")
