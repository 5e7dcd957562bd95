"""Shows the progress of a long command: a bar on a terminal, or a line now and then
in a pipe."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import IO


class Progress:
    #: Seconds between two lines in a pipe, and between two drawings of the bar.
    LINE_EVERY = 5.0
    BAR_EVERY = 0.1

    def __init__(
        self, out: IO[str], label: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._out = out
        self._label = label
        self._clock = clock
        self._is_terminal = out.isatty()
        self._begun = clock()
        self._begun_done = -1  # texts that were done at the start
        self._shown = float("-inf")
        self._drawn = False

    def __call__(self, done: int, total: int) -> None:
        now = self._clock()
        if self._begun_done < 0:
            self._begun_done = done
        every = self.BAR_EVERY if self._is_terminal else self.LINE_EVERY
        if now - self._shown < every and done < total:
            return
        self._shown = now
        elapsed = now - self._begun
        rate = (done - self._begun_done) / elapsed if elapsed > 0 else 0.0
        told = f"{done}/{total} texts"
        if rate > 0:
            left = (total - done) / rate
            told += f", {rate:.0f} texts/s, {left:.0f} s left"
        if self._is_terminal:
            width = 30
            filled = width * done // total if total else width
            bar = "#" * filled + "-" * (width - filled)
            self._out.write(f"\r\x1b[K{self._label} [{bar}] {told}")
            self._drawn = True
        else:
            self._out.write(f"{self._label}: {told}\n")
        self._out.flush()

    def end(self) -> None:
        """Ends the line of the bar, so that later output begins a line."""
        if self._drawn:
            self._out.write("\n")
            self._drawn = False
