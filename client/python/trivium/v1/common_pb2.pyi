from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

BEAM_FATE_CONTINUED: BeamFate
BEAM_FATE_ENDED: BeamFate
BEAM_FATE_ENDED_TOO_LOW: BeamFate
BEAM_FATE_OUTSCORED: BeamFate
BEAM_FATE_PRUNED: BeamFate
BEAM_FATE_STOPPED: BeamFate
BEAM_FATE_UNSPECIFIED: BeamFate
DESCRIPTOR: _descriptor.FileDescriptor
EARLY_STOPPING_AT_ONCE: EarlyStopping
EARLY_STOPPING_HEURISTIC: EarlyStopping
EARLY_STOPPING_NEVER: EarlyStopping
EARLY_STOPPING_UNSPECIFIED: EarlyStopping
FINISH_REASON_END: FinishReason
FINISH_REASON_LENGTH: FinishReason
FINISH_REASON_REPETITION: FinishReason
FINISH_REASON_STOP: FinishReason
FINISH_REASON_UNSPECIFIED: FinishReason
JSON_SPACE_ANY: JsonSpace
JSON_SPACE_COMPACT: JsonSpace
JSON_SPACE_SPACED: JsonSpace
JSON_SPACE_UNSPECIFIED: JsonSpace
SAMPLING_DEFAULTS_CHAT: SamplingDefaults
SAMPLING_DEFAULTS_UNSPECIFIED: SamplingDefaults
TRACE_POSITIONS_DISTANCE: TracePositions
TRACE_POSITIONS_LEARNED: TracePositions
TRACE_POSITIONS_ROTARY: TracePositions
TRACE_POSITIONS_SINUSOIDAL: TracePositions
TRACE_POSITIONS_SLOPE: TracePositions
TRACE_POSITIONS_UNSPECIFIED: TracePositions
TRUNCATION_DIRECTION_LEFT: TruncationDirection
TRUNCATION_DIRECTION_RIGHT: TruncationDirection
TRUNCATION_DIRECTION_UNSPECIFIED: TruncationDirection

class Attention(_message.Message):
    __slots__ = ["head_count", "key_count", "layer_count", "query_count", "weights"]
    HEAD_COUNT_FIELD_NUMBER: _ClassVar[int]
    KEY_COUNT_FIELD_NUMBER: _ClassVar[int]
    LAYER_COUNT_FIELD_NUMBER: _ClassVar[int]
    QUERY_COUNT_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    head_count: int
    key_count: int
    layer_count: int
    query_count: int
    weights: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, layer_count: _Optional[int] = ..., head_count: _Optional[int] = ..., query_count: _Optional[int] = ..., key_count: _Optional[int] = ..., weights: _Optional[_Iterable[float]] = ...) -> None: ...

class AttentionSelection(_message.Message):
    __slots__ = ["heads", "layers", "rows"]
    HEADS_FIELD_NUMBER: _ClassVar[int]
    LAYERS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    heads: _containers.RepeatedScalarFieldContainer[int]
    layers: _containers.RepeatedScalarFieldContainer[int]
    rows: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, layers: _Optional[_Iterable[int]] = ..., heads: _Optional[_Iterable[int]] = ..., rows: _Optional[_Iterable[int]] = ...) -> None: ...

class BeamTrace(_message.Message):
    __slots__ = ["steps", "truncated"]
    class Candidate(_message.Message):
        __slots__ = ["fate", "hypothesis", "id", "logprob", "parent", "piece", "score", "total_logprob"]
        FATE_FIELD_NUMBER: _ClassVar[int]
        HYPOTHESIS_FIELD_NUMBER: _ClassVar[int]
        ID_FIELD_NUMBER: _ClassVar[int]
        LOGPROB_FIELD_NUMBER: _ClassVar[int]
        PARENT_FIELD_NUMBER: _ClassVar[int]
        PIECE_FIELD_NUMBER: _ClassVar[int]
        SCORE_FIELD_NUMBER: _ClassVar[int]
        TOTAL_LOGPROB_FIELD_NUMBER: _ClassVar[int]
        fate: BeamFate
        hypothesis: int
        id: int
        logprob: float
        parent: int
        piece: str
        score: float
        total_logprob: float
        def __init__(self, parent: _Optional[int] = ..., id: _Optional[int] = ..., piece: _Optional[str] = ..., logprob: _Optional[float] = ..., total_logprob: _Optional[float] = ..., score: _Optional[float] = ..., fate: _Optional[_Union[BeamFate, str]] = ..., hypothesis: _Optional[int] = ...) -> None: ...
    class Step(_message.Message):
        __slots__ = ["candidates"]
        CANDIDATES_FIELD_NUMBER: _ClassVar[int]
        candidates: _containers.RepeatedCompositeFieldContainer[BeamTrace.Candidate]
        def __init__(self, candidates: _Optional[_Iterable[_Union[BeamTrace.Candidate, _Mapping]]] = ...) -> None: ...
    STEPS_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    steps: _containers.RepeatedCompositeFieldContainer[BeamTrace.Step]
    truncated: bool
    def __init__(self, steps: _Optional[_Iterable[_Union[BeamTrace.Step, _Mapping]]] = ..., truncated: bool = ...) -> None: ...

class Choices(_message.Message):
    __slots__ = ["texts"]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    texts: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, texts: _Optional[_Iterable[str]] = ...) -> None: ...

class Constraint(_message.Message):
    __slots__ = ["any_property_order", "choices", "grammar", "json_object", "json_schema", "json_space", "regex"]
    ANY_PROPERTY_ORDER_FIELD_NUMBER: _ClassVar[int]
    CHOICES_FIELD_NUMBER: _ClassVar[int]
    GRAMMAR_FIELD_NUMBER: _ClassVar[int]
    JSON_OBJECT_FIELD_NUMBER: _ClassVar[int]
    JSON_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    JSON_SPACE_FIELD_NUMBER: _ClassVar[int]
    REGEX_FIELD_NUMBER: _ClassVar[int]
    any_property_order: bool
    choices: Choices
    grammar: str
    json_object: bool
    json_schema: str
    json_space: JsonSpace
    regex: str
    def __init__(self, json_schema: _Optional[str] = ..., json_object: bool = ..., regex: _Optional[str] = ..., choices: _Optional[_Union[Choices, _Mapping]] = ..., grammar: _Optional[str] = ..., json_space: _Optional[_Union[JsonSpace, str]] = ..., any_property_order: bool = ...) -> None: ...

class DecodingOptions(_message.Message):
    __slots__ = ["banned", "beam_size", "constraint", "early_stopping", "forced_first_id", "forced_last_id", "frequency_penalty", "ignore_eos", "keep_stop", "length_penalty", "logit_bias", "max_new_tokens", "min_new_tokens", "min_p", "no_repeat_ngram_size", "num_hypotheses", "penalty_window", "presence_penalty", "repetition_penalty", "sample", "sampling_defaults", "seed", "stop", "stop_ids", "stop_repetition", "temperature", "top_k", "top_logprobs", "top_p", "trace", "typical_p"]
    class LogitBiasEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: float
        def __init__(self, key: _Optional[int] = ..., value: _Optional[float] = ...) -> None: ...
    BANNED_FIELD_NUMBER: _ClassVar[int]
    BEAM_SIZE_FIELD_NUMBER: _ClassVar[int]
    CONSTRAINT_FIELD_NUMBER: _ClassVar[int]
    EARLY_STOPPING_FIELD_NUMBER: _ClassVar[int]
    FORCED_FIRST_ID_FIELD_NUMBER: _ClassVar[int]
    FORCED_LAST_ID_FIELD_NUMBER: _ClassVar[int]
    FREQUENCY_PENALTY_FIELD_NUMBER: _ClassVar[int]
    IGNORE_EOS_FIELD_NUMBER: _ClassVar[int]
    KEEP_STOP_FIELD_NUMBER: _ClassVar[int]
    LENGTH_PENALTY_FIELD_NUMBER: _ClassVar[int]
    LOGIT_BIAS_FIELD_NUMBER: _ClassVar[int]
    MAX_NEW_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MIN_NEW_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MIN_P_FIELD_NUMBER: _ClassVar[int]
    NO_REPEAT_NGRAM_SIZE_FIELD_NUMBER: _ClassVar[int]
    NUM_HYPOTHESES_FIELD_NUMBER: _ClassVar[int]
    PENALTY_WINDOW_FIELD_NUMBER: _ClassVar[int]
    PRESENCE_PENALTY_FIELD_NUMBER: _ClassVar[int]
    REPETITION_PENALTY_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_DEFAULTS_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    STOP_IDS_FIELD_NUMBER: _ClassVar[int]
    STOP_REPETITION_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    TOP_LOGPROBS_FIELD_NUMBER: _ClassVar[int]
    TOP_P_FIELD_NUMBER: _ClassVar[int]
    TRACE_FIELD_NUMBER: _ClassVar[int]
    TYPICAL_P_FIELD_NUMBER: _ClassVar[int]
    banned: _containers.RepeatedCompositeFieldContainer[TokenIds]
    beam_size: int
    constraint: Constraint
    early_stopping: EarlyStopping
    forced_first_id: int
    forced_last_id: int
    frequency_penalty: float
    ignore_eos: bool
    keep_stop: bool
    length_penalty: float
    logit_bias: _containers.ScalarMap[int, float]
    max_new_tokens: int
    min_new_tokens: int
    min_p: float
    no_repeat_ngram_size: int
    num_hypotheses: int
    penalty_window: int
    presence_penalty: float
    repetition_penalty: float
    sample: bool
    sampling_defaults: SamplingDefaults
    seed: int
    stop: _containers.RepeatedScalarFieldContainer[str]
    stop_ids: _containers.RepeatedScalarFieldContainer[int]
    stop_repetition: bool
    temperature: float
    top_k: int
    top_logprobs: int
    top_p: float
    trace: bool
    typical_p: float
    def __init__(self, beam_size: _Optional[int] = ..., num_hypotheses: _Optional[int] = ..., length_penalty: _Optional[float] = ..., early_stopping: _Optional[_Union[EarlyStopping, str]] = ..., max_new_tokens: _Optional[int] = ..., min_new_tokens: _Optional[int] = ..., sample: bool = ..., temperature: _Optional[float] = ..., top_k: _Optional[int] = ..., top_p: _Optional[float] = ..., seed: _Optional[int] = ..., repetition_penalty: _Optional[float] = ..., no_repeat_ngram_size: _Optional[int] = ..., stop: _Optional[_Iterable[str]] = ..., banned: _Optional[_Iterable[_Union[TokenIds, _Mapping]]] = ..., forced_first_id: _Optional[int] = ..., forced_last_id: _Optional[int] = ..., top_logprobs: _Optional[int] = ..., trace: bool = ..., min_p: _Optional[float] = ..., typical_p: _Optional[float] = ..., frequency_penalty: _Optional[float] = ..., presence_penalty: _Optional[float] = ..., logit_bias: _Optional[_Mapping[int, float]] = ..., ignore_eos: bool = ..., stop_ids: _Optional[_Iterable[int]] = ..., sampling_defaults: _Optional[_Union[SamplingDefaults, str]] = ..., stop_repetition: bool = ..., constraint: _Optional[_Union[Constraint, _Mapping]] = ..., keep_stop: bool = ..., penalty_window: _Optional[int] = ...) -> None: ...

class HeadTrace(_message.Message):
    __slots__ = ["bias", "embedded", "gated", "head_count", "input", "joined", "key", "key_value_head", "keys", "layer_count", "norm_of_output", "norm_of_sum", "normed", "output", "parallel", "position_embeddings", "positions", "queries", "query", "residual_factor", "result", "rms_norm", "rotary_frequencies", "scale", "scores", "seen_begin", "seen_end", "segment_embeddings", "sink", "soft_cap", "sum", "token_embeddings", "value", "weights"]
    BIAS_FIELD_NUMBER: _ClassVar[int]
    EMBEDDED_FIELD_NUMBER: _ClassVar[int]
    GATED_FIELD_NUMBER: _ClassVar[int]
    HEAD_COUNT_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    JOINED_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    KEY_VALUE_HEAD_FIELD_NUMBER: _ClassVar[int]
    LAYER_COUNT_FIELD_NUMBER: _ClassVar[int]
    NORMED_FIELD_NUMBER: _ClassVar[int]
    NORM_OF_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    NORM_OF_SUM_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    PARALLEL_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    POSITION_EMBEDDINGS_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    RESIDUAL_FACTOR_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    RMS_NORM_FIELD_NUMBER: _ClassVar[int]
    ROTARY_FREQUENCIES_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    SEEN_BEGIN_FIELD_NUMBER: _ClassVar[int]
    SEEN_END_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_EMBEDDINGS_FIELD_NUMBER: _ClassVar[int]
    SINK_FIELD_NUMBER: _ClassVar[int]
    SOFT_CAP_FIELD_NUMBER: _ClassVar[int]
    SUM_FIELD_NUMBER: _ClassVar[int]
    TOKEN_EMBEDDINGS_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    bias: TraceRows
    embedded: TraceRows
    gated: bool
    head_count: int
    input: TraceRows
    joined: TraceRows
    key: TraceRows
    key_value_head: int
    keys: _containers.RepeatedCompositeFieldContainer[TraceToken]
    layer_count: int
    norm_of_output: bool
    norm_of_sum: bool
    normed: TraceRows
    output: TraceRows
    parallel: bool
    position_embeddings: TraceRows
    positions: TracePositions
    queries: _containers.RepeatedCompositeFieldContainer[TraceToken]
    query: TraceRows
    residual_factor: float
    result: TraceRows
    rms_norm: bool
    rotary_frequencies: _containers.RepeatedScalarFieldContainer[float]
    scale: float
    scores: TraceRows
    seen_begin: _containers.RepeatedScalarFieldContainer[int]
    seen_end: _containers.RepeatedScalarFieldContainer[int]
    segment_embeddings: TraceRows
    sink: float
    soft_cap: float
    sum: TraceRows
    token_embeddings: TraceRows
    value: TraceRows
    weights: TraceRows
    def __init__(self, queries: _Optional[_Iterable[_Union[TraceToken, _Mapping]]] = ..., keys: _Optional[_Iterable[_Union[TraceToken, _Mapping]]] = ..., token_embeddings: _Optional[_Union[TraceRows, _Mapping]] = ..., segment_embeddings: _Optional[_Union[TraceRows, _Mapping]] = ..., position_embeddings: _Optional[_Union[TraceRows, _Mapping]] = ..., embedded: _Optional[_Union[TraceRows, _Mapping]] = ..., input: _Optional[_Union[TraceRows, _Mapping]] = ..., normed: _Optional[_Union[TraceRows, _Mapping]] = ..., query: _Optional[_Union[TraceRows, _Mapping]] = ..., key: _Optional[_Union[TraceRows, _Mapping]] = ..., value: _Optional[_Union[TraceRows, _Mapping]] = ..., scores: _Optional[_Union[TraceRows, _Mapping]] = ..., bias: _Optional[_Union[TraceRows, _Mapping]] = ..., weights: _Optional[_Union[TraceRows, _Mapping]] = ..., sum: _Optional[_Union[TraceRows, _Mapping]] = ..., joined: _Optional[_Union[TraceRows, _Mapping]] = ..., output: _Optional[_Union[TraceRows, _Mapping]] = ..., result: _Optional[_Union[TraceRows, _Mapping]] = ..., positions: _Optional[_Union[TracePositions, str]] = ..., rotary_frequencies: _Optional[_Iterable[float]] = ..., scale: _Optional[float] = ..., soft_cap: _Optional[float] = ..., sink: _Optional[float] = ..., key_value_head: _Optional[int] = ..., head_count: _Optional[int] = ..., layer_count: _Optional[int] = ..., gated: bool = ..., parallel: bool = ..., norm_of_output: bool = ..., norm_of_sum: bool = ..., rms_norm: bool = ..., residual_factor: _Optional[float] = ..., seen_begin: _Optional[_Iterable[int]] = ..., seen_end: _Optional[_Iterable[int]] = ...) -> None: ...

class HeadTraceOptions(_message.Message):
    __slots__ = ["cross", "head", "layer"]
    CROSS_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    LAYER_FIELD_NUMBER: _ClassVar[int]
    cross: bool
    head: int
    layer: int
    def __init__(self, layer: _Optional[int] = ..., head: _Optional[int] = ..., cross: bool = ...) -> None: ...

class Hypothesis(_message.Message):
    __slots__ = ["cross_attention", "decoder_attention", "finish_reason", "ids", "logprobs", "pieces", "score", "text", "token_count", "total_logprob", "words"]
    CROSS_ATTENTION_FIELD_NUMBER: _ClassVar[int]
    DECODER_ATTENTION_FIELD_NUMBER: _ClassVar[int]
    FINISH_REASON_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    LOGPROBS_FIELD_NUMBER: _ClassVar[int]
    PIECES_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_LOGPROB_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    cross_attention: Attention
    decoder_attention: Attention
    finish_reason: FinishReason
    ids: _containers.RepeatedScalarFieldContainer[int]
    logprobs: _containers.RepeatedCompositeFieldContainer[TokenLogprobs]
    pieces: _containers.RepeatedScalarFieldContainer[str]
    score: float
    text: str
    token_count: int
    total_logprob: float
    words: _containers.RepeatedCompositeFieldContainer[TargetWord]
    def __init__(self, text: _Optional[str] = ..., score: _Optional[float] = ..., total_logprob: _Optional[float] = ..., token_count: _Optional[int] = ..., finish_reason: _Optional[_Union[FinishReason, str]] = ..., ids: _Optional[_Iterable[int]] = ..., pieces: _Optional[_Iterable[str]] = ..., logprobs: _Optional[_Iterable[_Union[TokenLogprobs, _Mapping]]] = ..., cross_attention: _Optional[_Union[Attention, _Mapping]] = ..., decoder_attention: _Optional[_Union[Attention, _Mapping]] = ..., words: _Optional[_Iterable[_Union[TargetWord, _Mapping]]] = ...) -> None: ...

class Input(_message.Message):
    __slots__ = ["ids", "pair", "target_prefix", "target_prefix_ids", "text"]
    IDS_FIELD_NUMBER: _ClassVar[int]
    PAIR_FIELD_NUMBER: _ClassVar[int]
    TARGET_PREFIX_FIELD_NUMBER: _ClassVar[int]
    TARGET_PREFIX_IDS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ids: InputIds
    pair: TextPair
    target_prefix: str
    target_prefix_ids: TokenIds
    text: str
    def __init__(self, text: _Optional[str] = ..., pair: _Optional[_Union[TextPair, _Mapping]] = ..., ids: _Optional[_Union[InputIds, _Mapping]] = ..., target_prefix: _Optional[str] = ..., target_prefix_ids: _Optional[_Union[TokenIds, _Mapping]] = ...) -> None: ...

class InputIds(_message.Message):
    __slots__ = ["ids", "type_ids"]
    IDS_FIELD_NUMBER: _ClassVar[int]
    TYPE_IDS_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[int]
    type_ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, ids: _Optional[_Iterable[int]] = ..., type_ids: _Optional[_Iterable[int]] = ...) -> None: ...

class ModelVersion(_message.Message):
    __slots__ = ["name", "revision"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    name: str
    revision: str
    def __init__(self, name: _Optional[str] = ..., revision: _Optional[str] = ...) -> None: ...

class TargetWord(_message.Message):
    __slots__ = ["byte_begin", "byte_end", "char_begin", "char_end", "mean_logprob", "min_logprob", "source_words"]
    BYTE_BEGIN_FIELD_NUMBER: _ClassVar[int]
    BYTE_END_FIELD_NUMBER: _ClassVar[int]
    CHAR_BEGIN_FIELD_NUMBER: _ClassVar[int]
    CHAR_END_FIELD_NUMBER: _ClassVar[int]
    MEAN_LOGPROB_FIELD_NUMBER: _ClassVar[int]
    MIN_LOGPROB_FIELD_NUMBER: _ClassVar[int]
    SOURCE_WORDS_FIELD_NUMBER: _ClassVar[int]
    byte_begin: int
    byte_end: int
    char_begin: int
    char_end: int
    mean_logprob: float
    min_logprob: float
    source_words: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, byte_begin: _Optional[int] = ..., byte_end: _Optional[int] = ..., char_begin: _Optional[int] = ..., char_end: _Optional[int] = ..., mean_logprob: _Optional[float] = ..., min_logprob: _Optional[float] = ..., source_words: _Optional[_Iterable[int]] = ...) -> None: ...

class TextPair(_message.Message):
    __slots__ = ["first", "second"]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    SECOND_FIELD_NUMBER: _ClassVar[int]
    first: str
    second: str
    def __init__(self, first: _Optional[str] = ..., second: _Optional[str] = ...) -> None: ...

class Timings(_message.Message):
    __slots__ = ["inference", "queue", "tokenize", "total"]
    INFERENCE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TOKENIZE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    inference: _duration_pb2.Duration
    queue: _duration_pb2.Duration
    tokenize: _duration_pb2.Duration
    total: _duration_pb2.Duration
    def __init__(self, queue: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., tokenize: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., inference: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., total: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class TokenIds(_message.Message):
    __slots__ = ["ids"]
    IDS_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, ids: _Optional[_Iterable[int]] = ...) -> None: ...

class TokenLogprob(_message.Message):
    __slots__ = ["id", "logprob", "piece"]
    ID_FIELD_NUMBER: _ClassVar[int]
    LOGPROB_FIELD_NUMBER: _ClassVar[int]
    PIECE_FIELD_NUMBER: _ClassVar[int]
    id: int
    logprob: float
    piece: str
    def __init__(self, id: _Optional[int] = ..., piece: _Optional[str] = ..., logprob: _Optional[float] = ...) -> None: ...

class TokenLogprobs(_message.Message):
    __slots__ = ["alternatives", "token"]
    ALTERNATIVES_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    alternatives: _containers.RepeatedCompositeFieldContainer[TokenLogprob]
    token: TokenLogprob
    def __init__(self, token: _Optional[_Union[TokenLogprob, _Mapping]] = ..., alternatives: _Optional[_Iterable[_Union[TokenLogprob, _Mapping]]] = ...) -> None: ...

class TraceRows(_message.Message):
    __slots__ = ["columns", "values"]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    columns: int
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, columns: _Optional[int] = ..., values: _Optional[_Iterable[float]] = ...) -> None: ...

class TraceToken(_message.Message):
    __slots__ = ["id", "piece"]
    ID_FIELD_NUMBER: _ClassVar[int]
    PIECE_FIELD_NUMBER: _ClassVar[int]
    id: int
    piece: str
    def __init__(self, id: _Optional[int] = ..., piece: _Optional[str] = ...) -> None: ...

class TruncationDirection(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class EarlyStopping(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class JsonSpace(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class SamplingDefaults(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class FinishReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class TracePositions(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class BeamFate(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
