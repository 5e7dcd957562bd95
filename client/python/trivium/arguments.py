"""The options of calls: fields of their request messages, by the same names.

Left out means the server's default, mostly what the model's folder says; proto
comments (proto/trivium/v1) give ranges. Enumerations are numbers or names, as
"POOLING_MEAN"; messages may be dicts, as decoding={"beam_size": 4}. Options that
a call would ignore are INVALID_ARGUMENT.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Union

from trivium.v1 import common_pb2, inference_pb2, models_pb2

Decoding = Union["common_pb2.DecodingOptions", Mapping[str, Any]]
Selection = Union["common_pb2.AttentionSelection", Mapping[str, Any]]
Direction = Union["common_pb2.TruncationDirection", str]


class TruncationArguments(TypedDict, total=False):
    model: str  # default: the server's first
    truncate: bool  # cut longer inputs; default: the server's flag
    truncation_direction: Direction


class EncodeArguments(TruncationArguments, total=False):
    pooling: inference_pb2.Pooling | str
    normalize: bool
    token_vectors: bool
    tokens: bool  # return ids and pieces
    attention: Selection  # return maps: {} for all
    source_language: str
    target_language: str
    prompt_name: str  # one of the two
    prompt: str
    dimensions: int  # of the embedding, the first so many
    embedding_format: inference_pb2.EmbeddingFormat | str
    hidden_layers: Sequence[int]


class TranslateArguments(TypedDict, total=False):
    # BCP 47 ("de") or the model's own code; as the source "auto", of each text
    source_language: str
    target_language: str
    decoding: Decoding
    truncate: bool
    tokens: bool  # return ids and pieces
    cross_attention: Selection
    decoder_attention: Selection
    truncation_direction: Direction
    split: inference_pb2.Split | str  # "SPLIT_SENTENCES" (default), "SPLIT_NONE"
    sentences: bool  # return where sentences are
    task: str  # instead of languages, one of Model.tasks by name
    # "TEXT_FORMAT_HTML", "TEXT_FORMAT_XML", "TEXT_FORMAT_MARKDOWN": markup comes
    # through
    format: inference_pb2.TextFormat | str
    # {"kinds": ["PROTECTED_KIND_URL"], "patterns": [r"#\d+"]}: what comes through
    # byte for byte
    protect: inference_pb2.Protection | Mapping[str, Any]
    # {}: tell of what looks wrong; {"kinds": ["CHECK_REPETITION"], "second_try":
    # {}}: of this alone, and try it again
    checks: inference_pb2.Checks | Mapping[str, Any]
    words: bool  # return how sure the model is of each, and what it translates
    # {"terms": [{"source": "computer", "target": "Rechner"}]}: how terms must be
    # translated
    glossary: inference_pb2.Glossary | Mapping[str, Any]


class GenerateArguments(TruncationArguments, total=False):
    decoding: Decoding
    source_language: str
    target_language: str
    tokens: bool
    cache_salt: str
    prompt_logprobs: int
    task: str  # one of Model.tasks by name
    decoder_attention: Selection  # with max_new_tokens; done[0].decoder_attention


class ScoreArguments(TypedDict, total=False):
    model: str
    end_token: bool
    tokens: bool
    top_logprobs: int
    source_language: str
    target_language: str
    cache_salt: str


class ClassifyArguments(TruncationArguments, total=False):
    top: int  # labels to return, best first; default: all


class ClassifyTokensArguments(TruncationArguments, total=False):
    aggregation: inference_pb2.Aggregation | str
    ignore: Sequence[str]  # labels to leave out; default: "O"


class AnswerArguments(TypedDict, total=False):
    model: str
    top: int  # answers to return; default 1
    max_answer_tokens: int
    overlap: int  # tokens that two windows share
    no_answer: bool


class FillMaskArguments(TruncationArguments, total=False):
    top: int  # candidates of each mask; default 5


class RerankArguments(TruncationArguments, total=False):
    top: int  # documents to return; default: all
    return_text: bool
    prompt_name: str  # one of the two
    prompt: str


class TokenizeArguments(TypedDict, total=False):
    model: str
    target: bool  # as the target side does
    add_special_tokens: bool


class LoadModelArguments(TypedDict, total=False):
    name: str  # default: the folder's own
    precision: models_pb2.Precision | str  # default: the server's flags
    kv_precision: models_pb2.Precision | str  # of cached keys and values
    vocabulary_shortlist: bool
