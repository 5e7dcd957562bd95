"""Trivium's engine in this process. Programs use it through `trivium.Model`."""

import ctypes

# SentencePiece exports a Protobuf of its own under Protobuf's names. Loaded
# first and by itself, it finds its own; loaded as one of the engine's
# libraries, it would find libprotobuf, which has another version.
ctypes.CDLL("libsentencepiece.so.0")

from trivium_engine._engine import Engine, Generation, StatusError  # noqa: E402

__version__ = "0.1.0"

__all__ = ["Engine", "Generation", "StatusError"]
