"""Trivium's engine in this process. Programs use it through `trivium.Model`."""

import ctypes
import glob
import os


def _load_sentencepiece() -> None:
    # SentencePiece exports a Protobuf of its own under Protobuf's names. Loaded
    # first and by itself, it finds its own; loaded as one of the engine's
    # libraries, it would find libprotobuf, which has another version.
    # A wheel that deploy/make_wheels repaired brings the library, under a name
    # with a hash.
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    brought = os.path.join(glob.escape(folder), "trivium_engine.libs", "libsentencepiece-*.so*")
    ctypes.CDLL((glob.glob(brought) or ["libsentencepiece.so.0"])[0])


_load_sentencepiece()

from trivium_engine._engine import (  # noqa: E402
    Engine,
    Generation,
    StatusError,
    __version__,
)

__all__ = ["Engine", "Generation", "StatusError", "__version__"]
