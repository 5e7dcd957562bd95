"""Converts answers to numpy arrays. Needs numpy (`pip install trivium[numpy]`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trivium.v1 import common_pb2, inference_pb2

Array = NDArray[Any]


def embeddings(
    response: inference_pb2.EncodeResponse,
    embedding_format: str = "EMBEDDING_FORMAT_UNSPECIFIED",
) -> Array:
    """The embeddings, f32 [inputs, dimensions]. `embedding_format` is that of the
    request. float16 and int8 become the numbers that they stand for; bits become
    plus or minus embedding_scale."""
    if not response.results:
        return np.zeros((0, 0), np.float32)
    return np.stack([_embedding(one, embedding_format) for one in response.results])


def _embedding(result: inference_pb2.EncodeResult, sent: str) -> Array:
    data = result.embedding_bytes
    if sent == "EMBEDDING_FORMAT_FLOAT16":
        return np.frombuffer(data, "<f2").astype(np.float32)
    if sent == "EMBEDDING_FORMAT_INT8":
        values = np.frombuffer(data, np.int8).astype(np.float32)
        return values * np.float32(result.embedding_scale)
    if sent == "EMBEDDING_FORMAT_BINARY":
        bits = np.unpackbits(np.frombuffer(data, np.uint8)).astype(np.float32)
        return (2 * bits - 1) * np.float32(result.embedding_scale)
    if data:
        raise ValueError("the embedding was sent as bytes: give the request's embedding_format")
    return np.array(result.embedding, np.float32)


def token_vectors(result: inference_pb2.EncodeResult) -> Array:
    """The token vectors, f32 [token_count, d_model]. Needs token_vectors=True in
    the request."""
    return _rows(result.token_vectors, result.token_count)


def hidden_states(result: inference_pb2.EncodeResult) -> dict[int, Array]:
    """The hidden states of each requested layer, f32 [token_count, d_model]."""
    return {one.layer: _rows(one.values, result.token_count) for one in result.hidden_states}


def attention(maps: common_pb2.Attention) -> Array:
    """The attention weights, f32 [layers, heads, queries, keys]."""
    shape = (
        maps.layer_count,
        maps.head_count,
        maps.query_count,
        maps.key_count,
    )
    return np.array(maps.weights, np.float32).reshape(shape)


def _rows(values: Any, count: int) -> Array:
    return np.array(values, np.float32).reshape(count, -1 if values else 0)
