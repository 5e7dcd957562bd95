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


def _embedding(result: inference_pb2.EncodeResult | inference_pb2.Chunk, sent: str) -> Array:
    scale = np.float32(result.embedding_scale)
    values = _from_bytes(result.embedding_bytes, sent, 1, scale)
    return np.array(result.embedding, np.float32) if values is None else values[0]


def multi_vector(
    result: inference_pb2.EncodeResult,
    format: str = "EMBEDDING_FORMAT_UNSPECIFIED",
) -> Array:
    """The vectors of a text's tokens, f32 [row_count, size]. Needs
    ENCODE_OUTPUT_MULTI_VECTOR in the request's outputs. `format` is that of its
    multi_vector options."""
    rows = result.multi_vector
    scales = np.array(rows.scales, np.float32).reshape(-1, 1)
    values = _from_bytes(rows.value_bytes, format, rows.row_count, scales)
    if values is None:
        return np.array(rows.values, np.float32).reshape(rows.row_count, rows.size)
    return values[:, : rows.size]


def chunks(
    result: inference_pb2.EncodeResult,
    embedding_format: str = "EMBEDDING_FORMAT_UNSPECIFIED",
) -> Array:
    """The embeddings of a text's chunks, f32 [chunks, dimensions]. Needs chunks in the
    request, whose embedding_format is given. A chunk that the model did not read is a
    row of nan."""
    made = [_embedding(one, embedding_format) for one in result.chunks]
    size = max((len(one) for one in made), default=0)
    rows = [one if len(one) else np.full(size, np.nan, np.float32) for one in made]
    return np.stack(rows) if rows else np.zeros((0, 0), np.float32)


def similarities(response: inference_pb2.SimilarityResponse, kind: str = "") -> Array:
    """How similar the texts of two lists are, f32 [first, second]. `kind` is "dense",
    "sparse" or "multi_vector" for one of several kinds of embeddings that count."""
    values = getattr(response, f"{kind}_scores" if kind else "scores")
    shape = (len(response.first), len(response.second))
    return np.array(values, np.float32).reshape(shape)


def max_sim(query: Array, document: Array) -> float:
    """MaxSim of two multi-vectors: for each row of the query the largest product
    with a row of the document, summed."""
    if not len(query) or not len(document):
        return 0.0
    return float((query @ document.T).max(axis=1).sum())


def sparse_matrix(response: inference_pb2.EncodeResponse, vocabulary: int) -> Any:
    """The sparse embeddings as a scipy.sparse.csr_array, f32 [inputs, vocabulary].
    Needs scipy. `vocabulary` is the model's vocabulary_size (get_model)."""
    from scipy.sparse import csr_array  # noqa: PLC0415  (may be absent)

    parts = [one.sparse for one in response.results]
    ends = np.cumsum([0] + [len(part.ids) for part in parts])
    ids = np.array([id for part in parts for id in part.ids], np.int64)
    weights = np.array([weight for part in parts for weight in part.weights], np.float32)
    return csr_array((weights, ids, ends), shape=(len(parts), vocabulary))


def _from_bytes(data: bytes, sent: str, rows: int, scale: Any) -> Array | None:
    """The numbers of `rows` vectors that were sent as bytes; None for floats."""
    if sent == "EMBEDDING_FORMAT_FLOAT16":
        return np.frombuffer(data, "<f2").astype(np.float32).reshape(rows, -1 if data else 0)
    if sent == "EMBEDDING_FORMAT_INT8":
        values = np.frombuffer(data, np.int8).astype(np.float32)
        return np.asarray(values.reshape(rows, -1 if data else 0) * scale)
    if sent == "EMBEDDING_FORMAT_BINARY":
        bits = np.unpackbits(np.frombuffer(data, np.uint8)).astype(np.float32)
        return np.asarray((2 * bits.reshape(rows, -1 if data else 0) - 1) * scale)
    if data:
        raise ValueError("the embedding was sent as bytes: give the request's format of it")
    return None


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
