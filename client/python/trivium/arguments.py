"""The options of calls: fields of their request messages, with the same names.

An option that is left out has the server's default, which mostly comes from the
model's folder. The comments in proto/trivium/v1 give ranges. Enumerations are
numbers or names, as "POOLING_MEAN"; messages may be dicts, as
decoding={"beam_size": 4}. An option that a call would ignore is INVALID_ARGUMENT.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Union

from trivium.inputs import ChunksLike
from trivium.v1 import common_pb2, inference_pb2, models_pb2

Decoding = Union["common_pb2.DecodingOptions", Mapping[str, Any]]
Selection = Union["common_pb2.AttentionSelection", Mapping[str, Any]]
Head = Union["common_pb2.HeadTraceOptions", Mapping[str, Any]]
Direction = Union["common_pb2.TruncationDirection", str]


class TruncationArguments(TypedDict, total=False):
    model: str  # default: the server's first
    truncate: bool  # cut inputs that are too long; default: the server's flag
    truncation_direction: Direction


class EncodeStreamArguments(TruncationArguments, total=False):
    pooling: inference_pb2.Pooling | str
    normalize: bool
    token_vectors: bool
    tokens: bool  # return ids and pieces
    attention: Selection  # return attention maps; {}: all
    # Return what a head computed: {"layer": 0, "head": 0}.
    head_trace: Head
    source_language: str
    target_language: str
    prompt_name: str  # give this or prompt, not both
    prompt: str
    dimensions: int  # return only this many of the embedding's first values
    embedding_format: inference_pb2.EmbeddingFormat | str
    hidden_layers: Sequence[int]
    # Default: DENSE; if the model makes none, SPARSE or else MULTI_VECTOR.
    outputs: Sequence[inference_pb2.EncodeOutput | str]
    kind: inference_pb2.TextKind | str  # TEXT_KIND_QUERY, TEXT_KIND_DOCUMENT
    sparse: inference_pb2.SparseOptions  # which weights to return
    multi_vector: inference_pb2.MultiVectorOptions  # how to return the vectors


class EncodeArguments(EncodeStreamArguments, total=False):
    # Parts of each input to embed, too: [[(0, 120), (120, 240)], ...], in characters.
    chunks: Sequence[ChunksLike]


class TranslateArguments(TypedDict, total=False):
    # BCP 47 ("de") or the model's own code. A source of "auto" is detected for
    # each text.
    source_language: str
    target_language: str
    decoding: Decoding
    truncate: bool
    tokens: bool  # return ids and pieces
    cross_attention: Selection
    decoder_attention: Selection
    truncation_direction: Direction
    split: inference_pb2.Split | str  # "SPLIT_SENTENCES" (default), "SPLIT_NONE"
    sentences: bool  # return where the sentences are
    task: str  # the name of one of Model.tasks, instead of languages
    # "TEXT_FORMAT_HTML", "TEXT_FORMAT_XML" or "TEXT_FORMAT_MARKDOWN": keeps the
    # markup.
    format: inference_pb2.TextFormat | str
    # Spans to keep byte for byte, as
    # {"kinds": ["PROTECTED_KIND_URL"], "patterns": [r"#\d+"]}.
    protect: inference_pb2.Protection | Mapping[str, Any]
    # {}: reports translations that look wrong. {"kinds": ["CHECK_REPETITION"],
    # "second_try": {}}: checks for repetition only, and retries.
    checks: inference_pb2.Checks | Mapping[str, Any]
    words: bool  # return how sure the model is of each word, and its source words
    # Required translations of terms, as
    # {"terms": [{"source": "computer", "target": "Rechner"}]}.
    glossary: inference_pb2.Glossary | Mapping[str, Any]
    # "TEXT_STAGES_OFF": the model reads the text as it is.
    text_stages: inference_pb2.TextStages | str


class GenerateArguments(TruncationArguments, total=False):
    decoding: Decoding
    source_language: str
    target_language: str
    tokens: bool
    cache_salt: str
    prompt_logprobs: int
    task: str  # the name of one of Model.tasks
    # Needs max_new_tokens; the maps are in done[0].decoder_attention.
    decoder_attention: Selection
    # The numbers are in done[0].head_trace.
    head_trace: Head
    piece_usage: bool  # tell the tokens that were used so far with each piece


class ChatArguments(GenerateArguments, total=False):
    # Functions that the model may call, as JSON or as dicts.
    tools: Sequence[str | Mapping[str, Any]]
    tool_choice: str  # "none", "auto", "required", or the name of a tool
    parallel_tool_calls: bool
    max_thinking_tokens: int
    # Thoughts and calls come apart from the text. Default: true with tools or
    # max_thinking_tokens.
    answer_parts: bool
    variables: Mapping[str, Any]  # more of the template's (`enable_thinking`)
    template_name: str
    add_generation_prompt: bool
    continue_final_message: bool


class ScoreArguments(TypedDict, total=False):
    model: str
    end_token: bool
    tokens: bool
    top_logprobs: int
    source_language: str
    target_language: str
    cache_salt: str


class ClassifyArguments(TruncationArguments, total=False):
    top: int  # how many labels to return; default: all
    labels: Sequence[str]  # to choose from, instead of the model's own
    hypothesis_template: str  # of the labels; default: "This example is {}."
    multi_label: bool  # several labels may hold at once


class ClassifyTokensArguments(TruncationArguments, total=False):
    aggregation: inference_pb2.Aggregation | str
    ignore: Sequence[str]  # labels to leave out; default: "O"


class AnswerArguments(TypedDict, total=False):
    model: str
    top: int  # how many answers to return; default: 1
    max_answer_tokens: int
    overlap: int  # tokens that a window shares with the next one
    no_answer: bool


class FillMaskArguments(TruncationArguments, total=False):
    top: int  # candidates for each mask; default: 5


class RerankArguments(TruncationArguments, total=False):
    top: int  # how many documents to return; default: all
    return_text: bool
    prompt_name: str  # give this or prompt, not both
    prompt: str
    # How much each embedding counts, for models that make them.
    weights: inference_pb2.RerankWeights


class SimilarityArguments(TruncationArguments, total=False):
    first_kind: inference_pb2.TextKind | str  # as EncodeArguments' kind
    second_kind: inference_pb2.TextKind | str
    first_prompt_name: str  # give this or first_prompt, not both
    first_prompt: str
    second_prompt_name: str
    second_prompt: str
    # How much each embedding counts; default: all that the model makes.
    weights: inference_pb2.RerankWeights
    function: inference_pb2.SimilarityFunction | str  # "SIMILARITY_FUNCTION_DOT"
    dimensions: int  # compare only this many of an embedding's first values


class TokenizeArguments(TypedDict, total=False):
    model: str
    target: bool  # tokenize as text of the target side
    add_special_tokens: bool


class LoadModelArguments(TypedDict, total=False):
    name: str  # default: the folder's name
    precision: models_pb2.Precision | str  # default: the server's flag
    kv_precision: models_pb2.Precision | str  # of cached keys and values
    vocabulary_shortlist: bool
    translate_with: str  # how a decoder is asked to translate, as "tower"
