"""The journal of trivium-translate: a file beside the output with a line of JSON for
each translated text. A run that was stopped continues from it."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping
from typing import IO, Any

from trivium.documents import DocumentError


class Journal:
    def __init__(self, path: pathlib.Path, settings: dict[str, Any]) -> None:
        """`settings` are what translations depend on, besides their texts. Raises
        DocumentError if the file has other settings."""
        self.path = path
        self.found = 0  # texts of an earlier run
        self._known: dict[str, str] = {}
        self._file: IO[str] | None = None
        self._head = {"trivium-translate": 3, "settings": settings}
        if path.exists():
            self._read()

    def _read(self) -> None:
        lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        head = _parse(lines[0]) if lines else self._head
        if head != self._head:
            raise DocumentError(
                "it was begun with other options, or is not a journal of "
                "trivium-translate: give the same options again, or delete it"
            )
        for line in lines[1:]:
            entry = _parse(line)
            # Skips a last line that was cut.
            if isinstance(entry, list) and len(entry) == 2:
                text, translation = entry
                self._known[text] = translation
        self.found = len(self._known)

    @property
    def known(self) -> Mapping[str, str]:
        """The translations of an earlier run, by their texts."""
        return self._known

    def keep(self, text: str, translation: str) -> None:
        if self._known.get(text) == translation:
            return
        if self._file is None:
            self._file = self._open()
        self._write([text, translation])

    def _open(self) -> IO[str]:
        if self._known:
            file = self.path.open("a", encoding="utf-8")
            file.write("\n")  # ends a line that was cut
            return file
        self._file = self.path.open("w", encoding="utf-8")
        self._write(self._head)
        return self._file

    def _write(self, entry: object) -> None:
        assert self._file is not None
        self._file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def remove(self) -> None:
        """Deletes the file, when all is done."""
        self.close()
        self.path.unlink(missing_ok=True)


def _parse(line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None
