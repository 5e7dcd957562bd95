"""The build backend of library/python: scikit-build-core's. Its source package
has the sources of the whole project, which are outside of this folder."""

import io
import pathlib
import shutil
import tarfile
import tempfile

from scikit_build_core import build as _base
from scikit_build_core.build import (  # noqa: F401
    build_editable,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

# What a build needs, from the project's root.
PARTS = ["CMakeLists.txt", "LICENSE", "cmake", "proto", "base", "model", "server", "client",
         "library", "docs/openapi.json"]  # fmt: skip
LEFT_OUT = {"__pycache__", "training"}
# The files of this folder that are the top of a source package.
TOP = ["README.md", "backend/trivium_build.py"]
# pyproject.toml's way to the project's root, and the folder of its own that a
# source package has instead.
UPWARDS, FOLDER = "../..", "source"


def _files(path):
    if path.is_file():
        return [path]
    return [file for part in sorted(path.iterdir()) if part.name not in LEFT_OUT
            for file in _files(part)]  # fmt: skip


def build_sdist(sdist_directory, config_settings=None):
    here = pathlib.Path.cwd()
    pyproject = (here / "pyproject.toml").read_text(encoding="utf-8")
    # An unpacked source package makes the same one again.
    root = here / (UPWARDS if UPWARDS in pyproject else FOLDER)
    with tempfile.TemporaryDirectory() as folder:
        name = _base.prepare_metadata_for_build_wheel(folder, config_settings)
        metadata = (pathlib.Path(folder) / name / "METADATA").read_bytes()
    top = name[: -len(".dist-info")]
    target = pathlib.Path(sdist_directory) / f"{top}.tar.gz"
    with tempfile.TemporaryFile() as buffer:
        with tarfile.open(fileobj=buffer, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:

            def add(inside, data, executable=False):
                entry = tarfile.TarInfo(f"{top}/{inside}")
                entry.size = len(data)
                entry.mode = 0o755 if executable else 0o644
                archive.addfile(entry, io.BytesIO(data))

            add("PKG-INFO", metadata)
            add("pyproject.toml", pyproject.replace(UPWARDS, FOLDER).encode())
            for file in TOP:
                add(file, (here / file).read_bytes())
            for part in PARTS:
                for file in _files(root / part):
                    inside = f"{FOLDER}/{file.relative_to(root).as_posix()}"
                    add(inside, file.read_bytes(), file.stat().st_mode & 0o100)
        buffer.seek(0)
        with open(target, "wb") as out:
            shutil.copyfileobj(buffer, out)
    return target.name
