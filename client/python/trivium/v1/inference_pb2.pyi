from google.protobuf import struct_pb2 as _struct_pb2
from trivium.rpc import status_pb2 as _status_pb2
from trivium.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

AGGREGATION_AVERAGE: Aggregation
AGGREGATION_FIRST: Aggregation
AGGREGATION_MAX: Aggregation
AGGREGATION_NONE: Aggregation
AGGREGATION_SIMPLE: Aggregation
AGGREGATION_UNSPECIFIED: Aggregation
CHECK_LENGTH_RATIO: Check
CHECK_NEGATION: Check
CHECK_NUMBERS: Check
CHECK_REPETITION: Check
CHECK_SOURCE_COPIED: Check
CHECK_TRUNCATED: Check
CHECK_UNKNOWN_CHARACTERS: Check
CHECK_UNSPECIFIED: Check
CHECK_WRONG_LANGUAGE: Check
DESCRIPTOR: _descriptor.FileDescriptor
EMBEDDING_FORMAT_BINARY: EmbeddingFormat
EMBEDDING_FORMAT_FLOAT16: EmbeddingFormat
EMBEDDING_FORMAT_INT8: EmbeddingFormat
EMBEDDING_FORMAT_UNSPECIFIED: EmbeddingFormat
ENCODE_OUTPUT_DENSE: EncodeOutput
ENCODE_OUTPUT_MULTI_VECTOR: EncodeOutput
ENCODE_OUTPUT_SPARSE: EncodeOutput
ENCODE_OUTPUT_UNSPECIFIED: EncodeOutput
POOLING_CLS: Pooling
POOLING_LAST: Pooling
POOLING_MAX: Pooling
POOLING_MEAN: Pooling
POOLING_NONE: Pooling
POOLING_POOLER: Pooling
POOLING_UNSPECIFIED: Pooling
PROTECTED_KIND_EMAIL: ProtectedKind
PROTECTED_KIND_FILE_NAME: ProtectedKind
PROTECTED_KIND_ICU_MESSAGE: ProtectedKind
PROTECTED_KIND_MUSTACHE: ProtectedKind
PROTECTED_KIND_NUMBER: ProtectedKind
PROTECTED_KIND_NUMBER_WITH_UNIT: ProtectedKind
PROTECTED_KIND_PRINTF: ProtectedKind
PROTECTED_KIND_UNSPECIFIED: ProtectedKind
PROTECTED_KIND_URL: ProtectedKind
SIMILARITY_FUNCTION_COSINE: SimilarityFunction
SIMILARITY_FUNCTION_DOT: SimilarityFunction
SIMILARITY_FUNCTION_EUCLIDEAN: SimilarityFunction
SIMILARITY_FUNCTION_MANHATTAN: SimilarityFunction
SIMILARITY_FUNCTION_UNSPECIFIED: SimilarityFunction
SPLIT_NONE: Split
SPLIT_SENTENCES: Split
SPLIT_UNSPECIFIED: Split
TEXT_FORMAT_HTML: TextFormat
TEXT_FORMAT_MARKDOWN: TextFormat
TEXT_FORMAT_PLAIN: TextFormat
TEXT_FORMAT_UNSPECIFIED: TextFormat
TEXT_FORMAT_XML: TextFormat
TEXT_KIND_DOCUMENT: TextKind
TEXT_KIND_QUERY: TextKind
TEXT_KIND_UNSPECIFIED: TextKind
TEXT_STAGES_OFF: TextStages
TEXT_STAGES_UNSPECIFIED: TextStages
TEXT_STAGE_EMOJI: TextStage
TEXT_STAGE_INVISIBLE_CHARACTERS: TextStage
TEXT_STAGE_LETTER_CASE: TextStage
TEXT_STAGE_LINKS: TextStage
TEXT_STAGE_NUMBERS: TextStage
TEXT_STAGE_TARGET_LANGUAGE: TextStage
TEXT_STAGE_UNKNOWN_LETTERS: TextStage
TEXT_STAGE_UNSPECIFIED: TextStage
TEXT_UNIT_BYTE: TextUnit
TEXT_UNIT_CHARACTER: TextUnit
TEXT_UNIT_UNSPECIFIED: TextUnit

class AnswerRequest(_message.Message):
    __slots__ = ["inputs", "max_answer_tokens", "model", "no_answer", "overlap", "top"]
    class Question(_message.Message):
        __slots__ = ["context", "question"]
        CONTEXT_FIELD_NUMBER: _ClassVar[int]
        QUESTION_FIELD_NUMBER: _ClassVar[int]
        context: str
        question: str
        def __init__(self, question: _Optional[str] = ..., context: _Optional[str] = ...) -> None: ...
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    MAX_ANSWER_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    NO_ANSWER_FIELD_NUMBER: _ClassVar[int]
    OVERLAP_FIELD_NUMBER: _ClassVar[int]
    TOP_FIELD_NUMBER: _ClassVar[int]
    inputs: _containers.RepeatedCompositeFieldContainer[AnswerRequest.Question]
    max_answer_tokens: int
    model: str
    no_answer: bool
    overlap: int
    top: int
    def __init__(self, model: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[AnswerRequest.Question, _Mapping]]] = ..., top: _Optional[int] = ..., max_answer_tokens: _Optional[int] = ..., overlap: _Optional[int] = ..., no_answer: bool = ...) -> None: ...

class AnswerResponse(_message.Message):
    __slots__ = ["model", "results", "timings"]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_FIELD_NUMBER: _ClassVar[int]
    model: _common_pb2.ModelVersion
    results: _containers.RepeatedCompositeFieldContainer[Answers]
    timings: _common_pb2.Timings
    def __init__(self, results: _Optional[_Iterable[_Union[Answers, _Mapping]]] = ..., timings: _Optional[_Union[_common_pb2.Timings, _Mapping]] = ..., model: _Optional[_Union[_common_pb2.ModelVersion, _Mapping]] = ...) -> None: ...

class Answers(_message.Message):
    __slots__ = ["answers", "token_count", "window_count"]
    class Answer(_message.Message):
        __slots__ = ["byte_begin", "byte_end", "char_begin", "char_end", "no_answer", "score", "text"]
        BYTE_BEGIN_FIELD_NUMBER: _ClassVar[int]
        BYTE_END_FIELD_NUMBER: _ClassVar[int]
        CHAR_BEGIN_FIELD_NUMBER: _ClassVar[int]
        CHAR_END_FIELD_NUMBER: _ClassVar[int]
        NO_ANSWER_FIELD_NUMBER: _ClassVar[int]
        SCORE_FIELD_NUMBER: _ClassVar[int]
        TEXT_FIELD_NUMBER: _ClassVar[int]
        byte_begin: int
        byte_end: int
        char_begin: int
        char_end: int
        no_answer: bool
        score: float
        text: str
        def __init__(self, text: _Optional[str] = ..., score: _Optional[float] = ..., byte_begin: _Optional[int] = ..., byte_end: _Optional[int] = ..., char_begin: _Optional[int] = ..., char_end: _Optional[int] = ..., no_answer: bool = ...) -> None: ...
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    WINDOW_COUNT_FIELD_NUMBER: _ClassVar[int]
    answers: _containers.RepeatedCompositeFieldContainer[Answers.Answer]
    token_count: int
    window_count: int
    def __init__(self, answers: _Optional[_Iterable[_Union[Answers.Answer, _Mapping]]] = ..., window_count: _Optional[int] = ..., token_count: _Optional[int] = ...) -> None: ...

class Chat(_message.Message):
    __slots__ = ["add_generation_prompt", "answer_parts", "continue_final_message", "max_thinking_tokens", "messages", "parallel_tool_calls", "template_name", "tool_choice", "tool_name", "tools", "variables"]
    class ToolChoice(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    class Message(_message.Message):
        __slots__ = ["content", "name", "reasoning_content", "role", "tool_call_id", "tool_calls"]
        CONTENT_FIELD_NUMBER: _ClassVar[int]
        NAME_FIELD_NUMBER: _ClassVar[int]
        REASONING_CONTENT_FIELD_NUMBER: _ClassVar[int]
        ROLE_FIELD_NUMBER: _ClassVar[int]
        TOOL_CALLS_FIELD_NUMBER: _ClassVar[int]
        TOOL_CALL_ID_FIELD_NUMBER: _ClassVar[int]
        content: str
        name: str
        reasoning_content: str
        role: str
        tool_call_id: str
        tool_calls: _containers.RepeatedCompositeFieldContainer[Chat.ToolCall]
        def __init__(self, role: _Optional[str] = ..., content: _Optional[str] = ..., name: _Optional[str] = ..., tool_calls: _Optional[_Iterable[_Union[Chat.ToolCall, _Mapping]]] = ..., tool_call_id: _Optional[str] = ..., reasoning_content: _Optional[str] = ...) -> None: ...
    class ToolCall(_message.Message):
        __slots__ = ["arguments", "id", "name"]
        ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
        ID_FIELD_NUMBER: _ClassVar[int]
        NAME_FIELD_NUMBER: _ClassVar[int]
        arguments: str
        id: str
        name: str
        def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., arguments: _Optional[str] = ...) -> None: ...
    ADD_GENERATION_PROMPT_FIELD_NUMBER: _ClassVar[int]
    ANSWER_PARTS_FIELD_NUMBER: _ClassVar[int]
    CONTINUE_FINAL_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    MAX_THINKING_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    PARALLEL_TOOL_CALLS_FIELD_NUMBER: _ClassVar[int]
    TEMPLATE_NAME_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    TOOL_CHOICE_AUTO: Chat.ToolChoice
    TOOL_CHOICE_FIELD_NUMBER: _ClassVar[int]
    TOOL_CHOICE_NONE: Chat.ToolChoice
    TOOL_CHOICE_REQUIRED: Chat.ToolChoice
    TOOL_CHOICE_UNSPECIFIED: Chat.ToolChoice
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    VARIABLES_FIELD_NUMBER: _ClassVar[int]
    add_generation_prompt: bool
    answer_parts: bool
    continue_final_message: bool
    max_thinking_tokens: int
    messages: _containers.RepeatedCompositeFieldContainer[Chat.Message]
    parallel_tool_calls: bool
    template_name: str
    tool_choice: Chat.ToolChoice
    tool_name: str
    tools: _containers.RepeatedScalarFieldContainer[str]
    variables: _struct_pb2.Struct
    def __init__(self, messages: _Optional[_Iterable[_Union[Chat.Message, _Mapping]]] = ..., tools: _Optional[_Iterable[str]] = ..., variables: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., template_name: _Optional[str] = ..., add_generation_prompt: bool = ..., continue_final_message: bool = ..., tool_choice: _Optional[_Union[Chat.ToolChoice, str]] = ..., tool_name: _Optional[str] = ..., parallel_tool_calls: bool = ..., answer_parts: bool = ..., max_thinking_tokens: _Optional[int] = ...) -> None: ...

class Checks(_message.Message):
    __slots__ = ["kinds", "second_try"]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    SECOND_TRY_FIELD_NUMBER: _ClassVar[int]
    kinds: _containers.RepeatedScalarFieldContainer[Check]
    second_try: _common_pb2.DecodingOptions
    def __init__(self, kinds: _Optional[_Iterable[_Union[Check, str]]] = ..., second_try: _Optional[_Union[_common_pb2.DecodingOptions, _Mapping]] = ...) -> None: ...

class Chunk(_message.Message):
    __slots__ = ["embedding", "embedding_bytes", "embedding_scale", "token_begin", "token_end", "truncated"]
    EMBEDDING_BYTES_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_SCALE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BEGIN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_END_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    embedding: _containers.RepeatedScalarFieldContainer[float]
    embedding_bytes: bytes
    embedding_scale: float
    token_begin: int
    token_end: int
    truncated: bool
    def __init__(self, embedding: _Optional[_Iterable[float]] = ..., embedding_bytes: _Optional[bytes] = ..., embedding_scale: _Optional[float] = ..., token_begin: _Optional[int] = ..., token_end: _Optional[int] = ..., truncated: bool = ...) -> None: ...

class Chunks(_message.Message):
    __slots__ = ["spans", "unit"]
    class Span(_message.Message):
        __slots__ = ["begin", "end"]
        BEGIN_FIELD_NUMBER: _ClassVar[int]
        END_FIELD_NUMBER: _ClassVar[int]
        begin: int
        end: int
        def __init__(self, begin: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...
    SPANS_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    spans: _containers.RepeatedCompositeFieldContainer[Chunks.Span]
    unit: TextUnit
    def __init__(self, spans: _Optional[_Iterable[_Union[Chunks.Span, _Mapping]]] = ..., unit: _Optional[_Union[TextUnit, str]] = ...) -> None: ...

class Classification(_message.Message):
    __slots__ = ["labels", "token_count", "truncated_tokens"]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    labels: _containers.RepeatedCompositeFieldContainer[Label]
    token_count: int
    truncated_tokens: int
    def __init__(self, labels: _Optional[_Iterable[_Union[Label, _Mapping]]] = ..., token_count: _Optional[int] = ..., truncated_tokens: _Optional[int] = ...) -> None: ...

class ClassifyRequest(_message.Message):
    __slots__ = ["hypothesis_template", "inputs", "labels", "model", "multi_label", "top", "truncate", "truncation_direction"]
    HYPOTHESIS_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    MULTI_LABEL_FIELD_NUMBER: _ClassVar[int]
    TOP_FIELD_NUMBER: _ClassVar[int]
    TRUNCATE_FIELD_NUMBER: _ClassVar[int]
    TRUNCATION_DIRECTION_FIELD_NUMBER: _ClassVar[int]
    hypothesis_template: str
    inputs: _containers.RepeatedCompositeFieldContainer[_common_pb2.Input]
    labels: _containers.RepeatedScalarFieldContainer[str]
    model: str
    multi_label: bool
    top: int
    truncate: bool
    truncation_direction: _common_pb2.TruncationDirection
    def __init__(self, model: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[_common_pb2.Input, _Mapping]]] = ..., top: _Optional[int] = ..., truncate: bool = ..., truncation_direction: _Optional[_Union[_common_pb2.TruncationDirection, str]] = ..., labels: _Optional[_Iterable[str]] = ..., hypothesis_template: _Optional[str] = ..., multi_label: bool = ...) -> None: ...

class ClassifyResponse(_message.Message):
    __slots__ = ["model", "results", "timings"]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_FIELD_NUMBER: _ClassVar[int]
    model: _common_pb2.ModelVersion
    results: _containers.RepeatedCompositeFieldContainer[Classification]
    timings: _common_pb2.Timings
    def __init__(self, results: _Optional[_Iterable[_Union[Classification, _Mapping]]] = ..., timings: _Optional[_Union[_common_pb2.Timings, _Mapping]] = ..., model: _Optional[_Union[_common_pb2.ModelVersion, _Mapping]] = ...) -> None: ...

class ClassifyTokensRequest(_message.Message):
    __slots__ = ["aggregation", "ignore", "inputs", "model", "truncate", "truncation_direction"]
    AGGREGATION_FIELD_NUMBER: _ClassVar[int]
    IGNORE_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TRUNCATE_FIELD_NUMBER: _ClassVar[int]
    TRUNCATION_DIRECTION_FIELD_NUMBER: _ClassVar[int]
    aggregation: Aggregation
    ignore: _containers.RepeatedScalarFieldContainer[str]
    inputs: _containers.RepeatedCompositeFieldContainer[_common_pb2.Input]
    model: str
    truncate: bool
    truncation_direction: _common_pb2.TruncationDirection
    def __init__(self, model: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[_common_pb2.Input, _Mapping]]] = ..., aggregation: _Optional[_Union[Aggregation, str]] = ..., ignore: _Optional[_Iterable[str]] = ..., truncate: bool = ..., truncation_direction: _Optional[_Union[_common_pb2.TruncationDirection, str]] = ...) -> None: ...

class ClassifyTokensResponse(_message.Message):
    __slots__ = ["model", "results", "timings"]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_FIELD_NUMBER: _ClassVar[int]
    model: _common_pb2.ModelVersion
    results: _containers.RepeatedCompositeFieldContainer[TokenClassification]
    timings: _common_pb2.Timings
    def __init__(self, results: _Optional[_Iterable[_Union[TokenClassification, _Mapping]]] = ..., timings: _Optional[_Union[_common_pb2.Timings, _Mapping]] = ..., model: _Optional[_Union[_common_pb2.ModelVersion, _Mapping]] = ...) -> None: ...

class DetectedLanguage(_message.Message):
    __slots__ = ["confidence", "language", "reliable"]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    RELIABLE_FIELD_NUMBER: _ClassVar[int]
    confidence: float
    language: str
    reliable: bool
    def __init__(self, language: _Optional[str] = ..., confidence: _Optional[float] = ..., reliable: bool = ...) -> None: ...

class DetokenizeRequest(_message.Message):
    __slots__ = ["inputs", "model"]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    inputs: _containers.RepeatedCompositeFieldContainer[_common_pb2.TokenIds]
    model: str
    def __init__(self, model: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[_common_pb2.TokenIds, _Mapping]]] = ...) -> None: ...

class DetokenizeResponse(_message.Message):
    __slots__ = ["model", "texts"]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    model: _common_pb2.ModelVersion
    texts: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, texts: _Optional[_Iterable[str]] = ..., model: _Optional[_Union[_common_pb2.ModelVersion, _Mapping]] = ...) -> None: ...

class DocumentNote(_message.Message):
    __slots__ = ["error", "missing", "place", "suspicions", "text"]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    SUSPICIONS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    error: _status_pb2.Status
    missing: _containers.RepeatedScalarFieldContainer[str]
    place: str
    suspicions: _containers.RepeatedScalarFieldContainer[Check]
    text: str
    def __init__(self, place: _Optional[str] = ..., text: _Optional[str] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., suspicions: _Optional[_Iterable[_Union[Check, str]]] = ..., missing: _Optional[_Iterable[str]] = ...) -> None: ...

class DocumentOptions(_message.Message):
    __slots__ = ["columns", "encoding", "keys", "mark_fuzzy", "no_header", "only_keys", "retranslate"]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    MARK_FUZZY_FIELD_NUMBER: _ClassVar[int]
    NO_HEADER_FIELD_NUMBER: _ClassVar[int]
    ONLY_KEYS_FIELD_NUMBER: _ClassVar[int]
    RETRANSLATE_FIELD_NUMBER: _ClassVar[int]
    columns: _containers.RepeatedScalarFieldContainer[str]
    encoding: str
    keys: bool
    mark_fuzzy: bool
    no_header: bool
    only_keys: _containers.RepeatedScalarFieldContainer[str]
    retranslate: bool
    def __init__(self, encoding: _Optional[str] = ..., retranslate: bool = ..., mark_fuzzy: bool = ..., keys: bool = ..., only_keys: _Optional[_Iterable[str]] = ..., columns: _Optional[_Iterable[str]] = ..., no_header: bool = ...) -> None: ...

class DocumentProgress(_message.Message):
    __slots__ = ["done", "text", "total"]
    DONE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    done: int
    text: DocumentText
    total: int
    def __init__(self, done: _Optional[int] = ..., total: _Optional[int] = ..., text: _Optional[_Union[DocumentText, _Mapping]] = ...) -> None: ...

class DocumentResult(_message.Message):
    __slots__ = ["detected_languages", "format", "left_out_note_count", "media_type", "model", "notes", "text_count", "timings", "untranslated_count"]
    DETECTED_LANGUAGES_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_NOTE_COUNT_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    TEXT_COUNT_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_FIELD_NUMBER: _ClassVar[int]
    UNTRANSLATED_COUNT_FIELD_NUMBER: _ClassVar[int]
    detected_languages: _containers.RepeatedCompositeFieldContainer[DetectedLanguage]
    format: str
    left_out_note_count: int
    media_type: str
    model: _common_pb2.ModelVersion
    notes: _containers.RepeatedCompositeFieldContainer[DocumentNote]
    text_count: int
    timings: _common_pb2.Timings
    untranslated_count: int
    def __init__(self, format: _Optional[str] = ..., media_type: _Optional[str] = ..., text_count: _Optional[int] = ..., untranslated_count: _Optional[int] = ..., notes: _Optional[_Iterable[_Union[DocumentNote, _Mapping]]] = ..., left_out_note_count: _Optional[int] = ..., detected_languages: _Optional[_Iterable[_Union[DetectedLanguage, _Mapping]]] = ..., timings: _Optional[_Union[_common_pb2.Timings, _Mapping]] = ..., model: _Optional[_Union[_common_pb2.ModelVersion, _Mapping]] = ...) -> None: ...

class DocumentText(_message.Message):
    __slots__ = ["text", "translation"]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TRANSLATION_FIELD_NUMBER: _ClassVar[int]
    text: str
    translation: str
    def __init__(self, text: _Optional[str] = ..., translation: _Optional[str] = ...) -> None: ...

class EncodeRequest(_message.Message):
    __slots__ = ["attention", "chunks", "dimensions", "embedding_format", "head_trace", "hidden_layers", "inputs", "kind", "model", "multi_vector", "normalize", "outputs", "pooling", "prompt", "prompt_name", "source_language", "sparse", "target_language", "token_vectors", "tokens", "truncate", "truncation_direction"]
    ATTENTION_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    DIMENSIONS_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_FORMAT_FIELD_NUMBER: _ClassVar[int]
    HEAD_TRACE_FIELD_NUMBER: _ClassVar[int]
    HIDDEN_LAYERS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    MULTI_VECTOR_FIELD_NUMBER: _ClassVar[int]
    NORMALIZE_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    POOLING_FIELD_NUMBER: _ClassVar[int]
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    PROMPT_NAME_FIELD_NUMBER: _ClassVar[int]
    SOURCE_LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    SPARSE_FIELD_NUMBER: _ClassVar[int]
    TARGET_LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_VECTORS_FIELD_NUMBER: _ClassVar[int]
    TRUNCATE_FIELD_NUMBER: _ClassVar[int]
    TRUNCATION_DIRECTION_FIELD_NUMBER: _ClassVar[int]
    attention: _common_pb2.AttentionSelection
    chunks: _containers.RepeatedCompositeFieldContainer[Chunks]
    dimensions: int
    embedding_format: EmbeddingFormat
    head_trace: _common_pb2.HeadTraceOptions
    hidden_layers: _containers.RepeatedScalarFieldContainer[int]
    inputs: _containers.RepeatedCompositeFieldContainer[_common_pb2.Input]
    kind: TextKind
    model: str
    multi_vector: MultiVectorOptions
    normalize: bool
    outputs: _containers.RepeatedScalarFieldContainer[EncodeOutput]
    pooling: Pooling
    prompt: str
    prompt_name: str
    source_language: str
    sparse: SparseOptions
    target_language: str
    token_vectors: bool
    tokens: bool
    truncate: bool
    truncation_direction: _common_pb2.TruncationDirection
    def __init__(self, model: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[_common_pb2.Input, _Mapping]]] = ..., pooling: _Optional[_Union[Pooling, str]] = ..., normalize: bool = ..., token_vectors: bool = ..., tokens: bool = ..., attention: _Optional[_Union[_common_pb2.AttentionSelection, _Mapping]] = ..., truncate: bool = ..., source_language: _Optional[str] = ..., target_language: _Optional[str] = ..., prompt_name: _Optional[str] = ..., prompt: _Optional[str] = ..., dimensions: _Optional[int] = ..., embedding_format: _Optional[_Union[EmbeddingFormat, str]] = ..., truncation_direction: _Optional[_Union[_common_pb2.TruncationDirection, str]] = ..., hidden_layers: _Optional[_Iterable[int]] = ..., outputs: _Optional[_Iterable[_Union[EncodeOutput, str]]] = ..., kind: _Optional[_Union[TextKind, str]] = ..., sparse: _Optional[_Union[SparseOptions, _Mapping]] = ..., multi_vector: _Optional[_Union[MultiVectorOptions, _Mapping]] = ..., head_trace: _Optional[_Union[_common_pb2.HeadTraceOptions, _Mapping]] = ..., chunks: _Optional[_Iterable[_Union[Chunks, _Mapping]]] = ...) -> None: ...

class EncodeResponse(_message.Message):
    __slots__ = ["model", "results", "timings"]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_FIELD_NUMBER: _ClassVar[int]
    model: _common_pb2.ModelVersion
    results: _containers.RepeatedCompositeFieldContainer[EncodeResult]
    timings: _common_pb2.Timings
    def __init__(self, results: _Optional[_Iterable[_Union[EncodeResult, _Mapping]]] = ..., timings: _Optional[_Union[_common_pb2.Timings, _Mapping]] = ..., model: _Optional[_Union[_common_pb2.ModelVersion, _Mapping]] = ...) -> None: ...

class EncodeResult(_message.Message):
    __slots__ = ["attention", "chunks", "embedding", "embedding_bytes", "embedding_scale", "head_trace", "hidden_states", "ids", "multi_vector", "pieces", "sparse", "token_count", "token_vectors", "truncated_tokens"]
    ATTENTION_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_BYTES_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_SCALE_FIELD_NUMBER: _ClassVar[int]
    HEAD_TRACE_FIELD_NUMBER: _ClassVar[int]
    HIDDEN_STATES_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    MULTI_VECTOR_FIELD_NUMBER: _ClassVar[int]
    PIECES_FIELD_NUMBER: _ClassVar[int]
    SPARSE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_VECTORS_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    attention: _common_pb2.Attention
    chunks: _containers.RepeatedCompositeFieldContainer[Chunk]
    embedding: _containers.RepeatedScalarFieldContainer[float]
    embedding_bytes: bytes
    embedding_scale: float
    head_trace: _common_pb2.HeadTrace
    hidden_states: _containers.RepeatedCompositeFieldContainer[HiddenStates]
    ids: _containers.RepeatedScalarFieldContainer[int]
    multi_vector: MultiVector
    pieces: _containers.RepeatedScalarFieldContainer[str]
    sparse: SparseEmbedding
    token_count: int
    token_vectors: _containers.RepeatedScalarFieldContainer[float]
    truncated_tokens: int
    def __init__(self, embedding: _Optional[_Iterable[float]] = ..., token_vectors: _Optional[_Iterable[float]] = ..., pieces: _Optional[_Iterable[str]] = ..., attention: _Optional[_Union[_common_pb2.Attention, _Mapping]] = ..., token_count: _Optional[int] = ..., truncated_tokens: _Optional[int] = ..., ids: _Optional[_Iterable[int]] = ..., embedding_bytes: _Optional[bytes] = ..., embedding_scale: _Optional[float] = ..., hidden_states: _Optional[_Iterable[_Union[HiddenStates, _Mapping]]] = ..., sparse: _Optional[_Union[SparseEmbedding, _Mapping]] = ..., multi_vector: _Optional[_Union[MultiVector, _Mapping]] = ..., head_trace: _Optional[_Union[_common_pb2.HeadTrace, _Mapping]] = ..., chunks: _Optional[_Iterable[_Union[Chunk, _Mapping]]] = ...) -> None: ...

class EncodeStreamRequest(_message.Message):
    __slots__ = ["item", "start"]
    class Item(_message.Message):
        __slots__ = ["chunks", "id", "input"]
        CHUNKS_FIELD_NUMBER: _ClassVar[int]
        ID_FIELD_NUMBER: _ClassVar[int]
        INPUT_FIELD_NUMBER: _ClassVar[int]
        chunks: Chunks
        id: str
        input: _common_pb2.Input
        def __init__(self, id: _Optional[str] = ..., input: _Optional[_Union[_common_pb2.Input, _Mapping]] = ..., chunks: _Optional[_Union[Chunks, _Mapping]] = ...) -> None: ...
    ITEM_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    item: EncodeStreamRequest.Item
    start: EncodeRequest
    def __init__(self, start: _Optional[_Union[EncodeRequest, _Mapping]] = ..., item: _Optional[_Union[EncodeStreamRequest.Item, _Mapping]] = ...) -> None: ...

class EncodeStreamResponse(_message.Message):
    __slots__ = ["error", "id", "result"]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    error: _status_pb2.Status
    id: str
    result: EncodeResult
    def __init__(self, id: _Optional[str] = ..., result: _Optional[_Union[EncodeResult, _Mapping]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class FillMaskRequest(_message.Message):
    __slots__ = ["inputs", "model", "top", "truncate", "truncation_direction"]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TOP_FIELD_NUMBER: _ClassVar[int]
    TRUNCATE_FIELD_NUMBER: _ClassVar[int]
    TRUNCATION_DIRECTION_FIELD_NUMBER: _ClassVar[int]
    inputs: _containers.RepeatedCompositeFieldContainer[_common_pb2.Input]
    model: str
    top: int
    truncate: bool
    truncation_direction: _common_pb2.TruncationDirection
    def __init__(self, model: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[_common_pb2.Input, _Mapping]]] = ..., top: _Optional[int] = ..., truncate: bool = ..., truncation_direction: _Optional[_Union[_common_pb2.TruncationDirection, str]] = ...) -> None: ...

class FillMaskResponse(_message.Message):
    __slots__ = ["model", "results", "timings"]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_FIELD_NUMBER: _ClassVar[int]
    model: _common_pb2.ModelVersion
    results: _containers.RepeatedCompositeFieldContainer[FilledMasks]
    timings: _common_pb2.Timings
    def __init__(self, results: _Optional[_Iterable[_Union[FilledMasks, _Mapping]]] = ..., timings: _Optional[_Union[_common_pb2.Timings, _Mapping]] = ..., model: _Optional[_Union[_common_pb2.ModelVersion, _Mapping]] = ...) -> None: ...

class FilledMasks(_message.Message):
    __slots__ = ["masks", "token_count", "truncated_tokens"]
    class Candidate(_message.Message):
        __slots__ = ["id", "piece", "score", "text"]
        ID_FIELD_NUMBER: _ClassVar[int]
        PIECE_FIELD_NUMBER: _ClassVar[int]
        SCORE_FIELD_NUMBER: _ClassVar[int]
        TEXT_FIELD_NUMBER: _ClassVar[int]
        id: int
        piece: str
        score: float
        text: str
        def __init__(self, id: _Optional[int] = ..., piece: _Optional[str] = ..., text: _Optional[str] = ..., score: _Optional[float] = ...) -> None: ...
    class Mask(_message.Message):
        __slots__ = ["candidates", "position"]
        CANDIDATES_FIELD_NUMBER: _ClassVar[int]
        POSITION_FIELD_NUMBER: _ClassVar[int]
        candidates: _containers.RepeatedCompositeFieldContainer[FilledMasks.Candidate]
        position: int
        def __init__(self, position: _Optional[int] = ..., candidates: _Optional[_Iterable[_Union[FilledMasks.Candidate, _Mapping]]] = ...) -> None: ...
    MASKS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    masks: _containers.RepeatedCompositeFieldContainer[FilledMasks.Mask]
    token_count: int
    truncated_tokens: int
    def __init__(self, masks: _Optional[_Iterable[_Union[FilledMasks.Mask, _Mapping]]] = ..., token_count: _Optional[int] = ..., truncated_tokens: _Optional[int] = ...) -> None: ...

class GenerateRequest(_message.Message):
    __slots__ = ["cache_salt", "chat", "decoder_attention", "decoding", "head_trace", "input", "model", "piece_usage", "prompt_logprobs", "source_language", "target_language", "task", "tokens", "truncate", "truncation_direction"]
    CACHE_SALT_FIELD_NUMBER: _ClassVar[int]
    CHAT_FIELD_NUMBER: _ClassVar[int]
    DECODER_ATTENTION_FIELD_NUMBER: _ClassVar[int]
    DECODING_FIELD_NUMBER: _ClassVar[int]
    HEAD_TRACE_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PIECE_USAGE_FIELD_NUMBER: _ClassVar[int]
    PROMPT_LOGPROBS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    TARGET_LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    TRUNCATE_FIELD_NUMBER: _ClassVar[int]
    TRUNCATION_DIRECTION_FIELD_NUMBER: _ClassVar[int]
    cache_salt: str
    chat: Chat
    decoder_attention: _common_pb2.AttentionSelection
    decoding: _common_pb2.DecodingOptions
    head_trace: _common_pb2.HeadTraceOptions
    input: _common_pb2.Input
    model: str
    piece_usage: bool
    prompt_logprobs: int
    source_language: str
    target_language: str
    task: str
    tokens: bool
    truncate: bool
    truncation_direction: _common_pb2.TruncationDirection
    def __init__(self, model: _Optional[str] = ..., input: _Optional[_Union[_common_pb2.Input, _Mapping]] = ..., decoding: _Optional[_Union[_common_pb2.DecodingOptions, _Mapping]] = ..., source_language: _Optional[str] = ..., target_language: _Optional[str] = ..., truncate: bool = ..., tokens: bool = ..., chat: _Optional[_Union[Chat, _Mapping]] = ..., truncation_direction: _Optional[_Union[_common_pb2.TruncationDirection, str]] = ..., cache_salt: _Optional[str] = ..., prompt_logprobs: _Optional[int] = ..., task: _Optional[str] = ..., decoder_attention: _Optional[_Union[_common_pb2.AttentionSelection, _Mapping]] = ..., head_trace: _Optional[_Union[_common_pb2.HeadTraceOptions, _Mapping]] = ..., piece_usage: bool = ...) -> None: ...

class GenerateResponse(_message.Message):
    __slots__ = ["done", "index", "piece", "prompt"]
    class Done(_message.Message):
        __slots__ = ["decoder_attention", "finish_reason", "head_trace", "model", "score", "seed", "source_token_count", "stop", "stop_id", "timings", "token_count", "total_logprob", "truncated_tokens", "usage"]
        DECODER_ATTENTION_FIELD_NUMBER: _ClassVar[int]
        FINISH_REASON_FIELD_NUMBER: _ClassVar[int]
        HEAD_TRACE_FIELD_NUMBER: _ClassVar[int]
        MODEL_FIELD_NUMBER: _ClassVar[int]
        SCORE_FIELD_NUMBER: _ClassVar[int]
        SEED_FIELD_NUMBER: _ClassVar[int]
        SOURCE_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
        STOP_FIELD_NUMBER: _ClassVar[int]
        STOP_ID_FIELD_NUMBER: _ClassVar[int]
        TIMINGS_FIELD_NUMBER: _ClassVar[int]
        TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
        TOTAL_LOGPROB_FIELD_NUMBER: _ClassVar[int]
        TRUNCATED_TOKENS_FIELD_NUMBER: _ClassVar[int]
        USAGE_FIELD_NUMBER: _ClassVar[int]
        decoder_attention: _common_pb2.Attention
        finish_reason: _common_pb2.FinishReason
        head_trace: _common_pb2.HeadTrace
        model: _common_pb2.ModelVersion
        score: float
        seed: int
        source_token_count: int
        stop: str
        stop_id: int
        timings: _common_pb2.Timings
        token_count: int
        total_logprob: float
        truncated_tokens: int
        usage: Usage
        def __init__(self, finish_reason: _Optional[_Union[_common_pb2.FinishReason, str]] = ..., token_count: _Optional[int] = ..., score: _Optional[float] = ..., total_logprob: _Optional[float] = ..., source_token_count: _Optional[int] = ..., truncated_tokens: _Optional[int] = ..., seed: _Optional[int] = ..., timings: _Optional[_Union[_common_pb2.Timings, _Mapping]] = ..., model: _Optional[_Union[_common_pb2.ModelVersion, _Mapping]] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ..., decoder_attention: _Optional[_Union[_common_pb2.Attention, _Mapping]] = ..., head_trace: _Optional[_Union[_common_pb2.HeadTrace, _Mapping]] = ..., stop: _Optional[str] = ..., stop_id: _Optional[int] = ...) -> None: ...
    class Piece(_message.Message):
        __slots__ = ["ids", "logprobs", "reasoning", "text", "tool_calls", "usage"]
        IDS_FIELD_NUMBER: _ClassVar[int]
        LOGPROBS_FIELD_NUMBER: _ClassVar[int]
        REASONING_FIELD_NUMBER: _ClassVar[int]
        TEXT_FIELD_NUMBER: _ClassVar[int]
        TOOL_CALLS_FIELD_NUMBER: _ClassVar[int]
        USAGE_FIELD_NUMBER: _ClassVar[int]
        ids: _containers.RepeatedScalarFieldContainer[int]
        logprobs: _containers.RepeatedCompositeFieldContainer[_common_pb2.TokenLogprobs]
        reasoning: str
        text: str
        tool_calls: _containers.RepeatedCompositeFieldContainer[GenerateResponse.ToolCallPiece]
        usage: Usage
        def __init__(self, text: _Optional[str] = ..., ids: _Optional[_Iterable[int]] = ..., logprobs: _Optional[_Iterable[_Union[_common_pb2.TokenLogprobs, _Mapping]]] = ..., reasoning: _Optional[str] = ..., tool_calls: _Optional[_Iterable[_Union[GenerateResponse.ToolCallPiece, _Mapping]]] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ...) -> None: ...
    class Prompt(_message.Message):
        __slots__ = ["logprobs"]
        LOGPROBS_FIELD_NUMBER: _ClassVar[int]
        logprobs: _containers.RepeatedCompositeFieldContainer[_common_pb2.TokenLogprobs]
        def __init__(self, logprobs: _Optional[_Iterable[_Union[_common_pb2.TokenLogprobs, _Mapping]]] = ...) -> None: ...
    class ToolCallPiece(_message.Message):
        __slots__ = ["arguments", "complete", "id", "index", "name"]
        ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
        COMPLETE_FIELD_NUMBER: _ClassVar[int]
        ID_FIELD_NUMBER: _ClassVar[int]
        INDEX_FIELD_NUMBER: _ClassVar[int]
        NAME_FIELD_NUMBER: _ClassVar[int]
        arguments: str
        complete: bool
        id: str
        index: int
        name: str
        def __init__(self, index: _Optional[int] = ..., name: _Optional[str] = ..., id: _Optional[str] = ..., arguments: _Optional[str] = ..., complete: bool = ...) -> None: ...
    DONE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    PIECE_FIELD_NUMBER: _ClassVar[int]
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    done: GenerateResponse.Done
    index: int
    piece: GenerateResponse.Piece
    prompt: GenerateResponse.Prompt
    def __init__(self, index: _Optional[int] = ..., piece: _Optional[_Union[GenerateResponse.Piece, _Mapping]] = ..., done: _Optional[_Union[GenerateResponse.Done, _Mapping]] = ..., prompt: _Optional[_Union[GenerateResponse.Prompt, _Mapping]] = ...) -> None: ...

class Glossary(_message.Message):
    __slots__ = ["inflections", "terms"]
    INFLECTIONS_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    inflections: bool
    terms: _containers.RepeatedCompositeFieldContainer[GlossaryTerm]
    def __init__(self, terms: _Optional[_Iterable[_Union[GlossaryTerm, _Mapping]]] = ..., inflections: bool = ...) -> None: ...

class GlossaryTerm(_message.Message):
    __slots__ = ["match_case", "source", "target"]
    MATCH_CASE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    match_case: bool
    source: str
    target: str
    def __init__(self, source: _Optional[str] = ..., target: _Optional[str] = ..., match_case: bool = ...) -> None: ...

class GlossaryUse(_message.Message):
    __slots__ = ["missing", "source", "term"]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    missing: _containers.RepeatedScalarFieldContainer[int]
    source: SentencePair.Span
    term: int
    def __init__(self, term: _Optional[int] = ..., source: _Optional[_Union[SentencePair.Span, _Mapping]] = ..., missing: _Optional[_Iterable[int]] = ...) -> None: ...

class HiddenStates(_message.Message):
    __slots__ = ["layer", "values"]
    LAYER_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    layer: int
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, layer: _Optional[int] = ..., values: _Optional[_Iterable[float]] = ...) -> None: ...

class Label(_message.Message):
    __slots__ = ["index", "label", "logit", "score"]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    LOGIT_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    index: int
    label: str
    logit: float
    score: float
    def __init__(self, label: _Optional[str] = ..., score: _Optional[float] = ..., logit: _Optional[float] = ..., index: _Optional[int] = ...) -> None: ...

class MultiVector(_message.Message):
    __slots__ = ["positions", "row_count", "scales", "size", "value_bytes", "values"]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    SCALES_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    VALUE_BYTES_FIELD_NUMBER: _ClassVar[int]
    positions: _containers.RepeatedScalarFieldContainer[int]
    row_count: int
    scales: _containers.RepeatedScalarFieldContainer[float]
    size: int
    value_bytes: bytes
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, row_count: _Optional[int] = ..., size: _Optional[int] = ..., values: _Optional[_Iterable[float]] = ..., value_bytes: _Optional[bytes] = ..., scales: _Optional[_Iterable[float]] = ..., positions: _Optional[_Iterable[int]] = ...) -> None: ...

class MultiVectorOptions(_message.Message):
    __slots__ = ["format", "max_rows"]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    MAX_ROWS_FIELD_NUMBER: _ClassVar[int]
    format: EmbeddingFormat
    max_rows: int
    def __init__(self, format: _Optional[_Union[EmbeddingFormat, str]] = ..., max_rows: _Optional[int] = ...) -> None: ...

class Protection(_message.Message):
    __slots__ = ["kinds", "patterns", "pieces"]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    PATTERNS_FIELD_NUMBER: _ClassVar[int]
    PIECES_FIELD_NUMBER: _ClassVar[int]
    kinds: _containers.RepeatedScalarFieldContainer[ProtectedKind]
    patterns: _containers.RepeatedScalarFieldContainer[str]
    pieces: bool
    def __init__(self, kinds: _Optional[_Iterable[_Union[ProtectedKind, str]]] = ..., patterns: _Optional[_Iterable[str]] = ..., pieces: bool = ...) -> None: ...

class RerankRequest(_message.Message):
    __slots__ = ["documents", "model", "prompt", "prompt_name", "query", "return_text", "top", "truncate", "truncation_direction", "weights"]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    PROMPT_NAME_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    RETURN_TEXT_FIELD_NUMBER: _ClassVar[int]
    TOP_FIELD_NUMBER: _ClassVar[int]
    TRUNCATE_FIELD_NUMBER: _ClassVar[int]
    TRUNCATION_DIRECTION_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    documents: _containers.RepeatedScalarFieldContainer[str]
    model: str
    prompt: str
    prompt_name: str
    query: str
    return_text: bool
    top: int
    truncate: bool
    truncation_direction: _common_pb2.TruncationDirection
    weights: RerankWeights
    def __init__(self, model: _Optional[str] = ..., query: _Optional[str] = ..., documents: _Optional[_Iterable[str]] = ..., top: _Optional[int] = ..., truncate: bool = ..., return_text: bool = ..., truncation_direction: _Optional[_Union[_common_pb2.TruncationDirection, str]] = ..., prompt_name: _Optional[str] = ..., prompt: _Optional[str] = ..., weights: _Optional[_Union[RerankWeights, _Mapping]] = ...) -> None: ...

class RerankResponse(_message.Message):
    __slots__ = ["documents", "model", "timings"]
    class Document(_message.Message):
        __slots__ = ["dense_score", "index", "logit", "multi_vector_score", "score", "sparse_score", "text", "token_count", "truncated_tokens"]
        DENSE_SCORE_FIELD_NUMBER: _ClassVar[int]
        INDEX_FIELD_NUMBER: _ClassVar[int]
        LOGIT_FIELD_NUMBER: _ClassVar[int]
        MULTI_VECTOR_SCORE_FIELD_NUMBER: _ClassVar[int]
        SCORE_FIELD_NUMBER: _ClassVar[int]
        SPARSE_SCORE_FIELD_NUMBER: _ClassVar[int]
        TEXT_FIELD_NUMBER: _ClassVar[int]
        TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
        TRUNCATED_TOKENS_FIELD_NUMBER: _ClassVar[int]
        dense_score: float
        index: int
        logit: float
        multi_vector_score: float
        score: float
        sparse_score: float
        text: str
        token_count: int
        truncated_tokens: int
        def __init__(self, index: _Optional[int] = ..., score: _Optional[float] = ..., logit: _Optional[float] = ..., token_count: _Optional[int] = ..., truncated_tokens: _Optional[int] = ..., text: _Optional[str] = ..., dense_score: _Optional[float] = ..., sparse_score: _Optional[float] = ..., multi_vector_score: _Optional[float] = ...) -> None: ...
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_FIELD_NUMBER: _ClassVar[int]
    documents: _containers.RepeatedCompositeFieldContainer[RerankResponse.Document]
    model: _common_pb2.ModelVersion
    timings: _common_pb2.Timings
    def __init__(self, documents: _Optional[_Iterable[_Union[RerankResponse.Document, _Mapping]]] = ..., timings: _Optional[_Union[_common_pb2.Timings, _Mapping]] = ..., model: _Optional[_Union[_common_pb2.ModelVersion, _Mapping]] = ...) -> None: ...

class RerankWeights(_message.Message):
    __slots__ = ["dense", "multi_vector", "sparse"]
    DENSE_FIELD_NUMBER: _ClassVar[int]
    MULTI_VECTOR_FIELD_NUMBER: _ClassVar[int]
    SPARSE_FIELD_NUMBER: _ClassVar[int]
    dense: float
    multi_vector: float
    sparse: float
    def __init__(self, dense: _Optional[float] = ..., sparse: _Optional[float] = ..., multi_vector: _Optional[float] = ...) -> None: ...

class ScoreInput(_message.Message):
    __slots__ = ["ids", "target", "target_ids", "text"]
    IDS_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    TARGET_IDS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ids: _common_pb2.TokenIds
    target: str
    target_ids: _common_pb2.TokenIds
    text: str
    def __init__(self, text: _Optional[str] = ..., ids: _Optional[_Union[_common_pb2.TokenIds, _Mapping]] = ..., target: _Optional[str] = ..., target_ids: _Optional[_Union[_common_pb2.TokenIds, _Mapping]] = ...) -> None: ...

class ScoreRequest(_message.Message):
    __slots__ = ["cache_salt", "end_token", "inputs", "model", "source_language", "target_language", "tokens", "top_logprobs"]
    CACHE_SALT_FIELD_NUMBER: _ClassVar[int]
    END_TOKEN_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    TARGET_LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOP_LOGPROBS_FIELD_NUMBER: _ClassVar[int]
    cache_salt: str
    end_token: bool
    inputs: _containers.RepeatedCompositeFieldContainer[ScoreInput]
    model: str
    source_language: str
    target_language: str
    tokens: bool
    top_logprobs: int
    def __init__(self, model: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[ScoreInput, _Mapping]]] = ..., end_token: bool = ..., tokens: bool = ..., top_logprobs: _Optional[int] = ..., source_language: _Optional[str] = ..., target_language: _Optional[str] = ..., cache_salt: _Optional[str] = ...) -> None: ...

class ScoreResponse(_message.Message):
    __slots__ = ["model", "results", "timings"]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_FIELD_NUMBER: _ClassVar[int]
    model: _common_pb2.ModelVersion
    results: _containers.RepeatedCompositeFieldContainer[ScoreResult]
    timings: _common_pb2.Timings
    def __init__(self, results: _Optional[_Iterable[_Union[ScoreResult, _Mapping]]] = ..., timings: _Optional[_Union[_common_pb2.Timings, _Mapping]] = ..., model: _Optional[_Union[_common_pb2.ModelVersion, _Mapping]] = ...) -> None: ...

class ScoreResult(_message.Message):
    __slots__ = ["context_token_count", "token_count", "tokens", "total_logprob"]
    CONTEXT_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_LOGPROB_FIELD_NUMBER: _ClassVar[int]
    context_token_count: int
    token_count: int
    tokens: _containers.RepeatedCompositeFieldContainer[ScoredToken]
    total_logprob: float
    def __init__(self, total_logprob: _Optional[float] = ..., token_count: _Optional[int] = ..., tokens: _Optional[_Iterable[_Union[ScoredToken, _Mapping]]] = ..., context_token_count: _Optional[int] = ...) -> None: ...

class ScoredToken(_message.Message):
    __slots__ = ["alternatives", "byte_begin", "byte_end", "char_begin", "char_end", "id", "logprob", "piece"]
    ALTERNATIVES_FIELD_NUMBER: _ClassVar[int]
    BYTE_BEGIN_FIELD_NUMBER: _ClassVar[int]
    BYTE_END_FIELD_NUMBER: _ClassVar[int]
    CHAR_BEGIN_FIELD_NUMBER: _ClassVar[int]
    CHAR_END_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    LOGPROB_FIELD_NUMBER: _ClassVar[int]
    PIECE_FIELD_NUMBER: _ClassVar[int]
    alternatives: _containers.RepeatedCompositeFieldContainer[_common_pb2.TokenLogprob]
    byte_begin: int
    byte_end: int
    char_begin: int
    char_end: int
    id: int
    logprob: float
    piece: str
    def __init__(self, id: _Optional[int] = ..., piece: _Optional[str] = ..., logprob: _Optional[float] = ..., byte_begin: _Optional[int] = ..., byte_end: _Optional[int] = ..., char_begin: _Optional[int] = ..., char_end: _Optional[int] = ..., alternatives: _Optional[_Iterable[_Union[_common_pb2.TokenLogprob, _Mapping]]] = ...) -> None: ...

class SentencePair(_message.Message):
    __slots__ = ["cut", "source", "targets"]
    class Span(_message.Message):
        __slots__ = ["byte_begin", "byte_end", "char_begin", "char_end"]
        BYTE_BEGIN_FIELD_NUMBER: _ClassVar[int]
        BYTE_END_FIELD_NUMBER: _ClassVar[int]
        CHAR_BEGIN_FIELD_NUMBER: _ClassVar[int]
        CHAR_END_FIELD_NUMBER: _ClassVar[int]
        byte_begin: int
        byte_end: int
        char_begin: int
        char_end: int
        def __init__(self, byte_begin: _Optional[int] = ..., byte_end: _Optional[int] = ..., char_begin: _Optional[int] = ..., char_end: _Optional[int] = ...) -> None: ...
    CUT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TARGETS_FIELD_NUMBER: _ClassVar[int]
    cut: bool
    source: SentencePair.Span
    targets: _containers.RepeatedCompositeFieldContainer[SentencePair.Span]
    def __init__(self, source: _Optional[_Union[SentencePair.Span, _Mapping]] = ..., targets: _Optional[_Iterable[_Union[SentencePair.Span, _Mapping]]] = ..., cut: bool = ...) -> None: ...

class SimilarityRequest(_message.Message):
    __slots__ = ["dimensions", "first", "function", "model", "second", "truncate", "truncation_direction", "weights"]
    class List(_message.Message):
        __slots__ = ["inputs", "kind", "prompt", "prompt_name"]
        INPUTS_FIELD_NUMBER: _ClassVar[int]
        KIND_FIELD_NUMBER: _ClassVar[int]
        PROMPT_FIELD_NUMBER: _ClassVar[int]
        PROMPT_NAME_FIELD_NUMBER: _ClassVar[int]
        inputs: _containers.RepeatedCompositeFieldContainer[_common_pb2.Input]
        kind: TextKind
        prompt: str
        prompt_name: str
        def __init__(self, inputs: _Optional[_Iterable[_Union[_common_pb2.Input, _Mapping]]] = ..., kind: _Optional[_Union[TextKind, str]] = ..., prompt_name: _Optional[str] = ..., prompt: _Optional[str] = ...) -> None: ...
    DIMENSIONS_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    FUNCTION_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    SECOND_FIELD_NUMBER: _ClassVar[int]
    TRUNCATE_FIELD_NUMBER: _ClassVar[int]
    TRUNCATION_DIRECTION_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    dimensions: int
    first: SimilarityRequest.List
    function: SimilarityFunction
    model: str
    second: SimilarityRequest.List
    truncate: bool
    truncation_direction: _common_pb2.TruncationDirection
    weights: RerankWeights
    def __init__(self, model: _Optional[str] = ..., first: _Optional[_Union[SimilarityRequest.List, _Mapping]] = ..., second: _Optional[_Union[SimilarityRequest.List, _Mapping]] = ..., weights: _Optional[_Union[RerankWeights, _Mapping]] = ..., function: _Optional[_Union[SimilarityFunction, str]] = ..., dimensions: _Optional[int] = ..., truncate: bool = ..., truncation_direction: _Optional[_Union[_common_pb2.TruncationDirection, str]] = ...) -> None: ...

class SimilarityResponse(_message.Message):
    __slots__ = ["dense_scores", "first", "model", "multi_vector_scores", "scores", "second", "sparse_scores", "timings"]
    class Text(_message.Message):
        __slots__ = ["token_count", "truncated_tokens"]
        TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
        TRUNCATED_TOKENS_FIELD_NUMBER: _ClassVar[int]
        token_count: int
        truncated_tokens: int
        def __init__(self, token_count: _Optional[int] = ..., truncated_tokens: _Optional[int] = ...) -> None: ...
    DENSE_SCORES_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    MULTI_VECTOR_SCORES_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    SECOND_FIELD_NUMBER: _ClassVar[int]
    SPARSE_SCORES_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_FIELD_NUMBER: _ClassVar[int]
    dense_scores: _containers.RepeatedScalarFieldContainer[float]
    first: _containers.RepeatedCompositeFieldContainer[SimilarityResponse.Text]
    model: _common_pb2.ModelVersion
    multi_vector_scores: _containers.RepeatedScalarFieldContainer[float]
    scores: _containers.RepeatedScalarFieldContainer[float]
    second: _containers.RepeatedCompositeFieldContainer[SimilarityResponse.Text]
    sparse_scores: _containers.RepeatedScalarFieldContainer[float]
    timings: _common_pb2.Timings
    def __init__(self, scores: _Optional[_Iterable[float]] = ..., dense_scores: _Optional[_Iterable[float]] = ..., sparse_scores: _Optional[_Iterable[float]] = ..., multi_vector_scores: _Optional[_Iterable[float]] = ..., first: _Optional[_Iterable[_Union[SimilarityResponse.Text, _Mapping]]] = ..., second: _Optional[_Iterable[_Union[SimilarityResponse.Text, _Mapping]]] = ..., timings: _Optional[_Union[_common_pb2.Timings, _Mapping]] = ..., model: _Optional[_Union[_common_pb2.ModelVersion, _Mapping]] = ...) -> None: ...

class SparseEmbedding(_message.Message):
    __slots__ = ["ids", "tokens", "weights"]
    IDS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[int]
    tokens: _containers.RepeatedScalarFieldContainer[str]
    weights: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, ids: _Optional[_Iterable[int]] = ..., weights: _Optional[_Iterable[float]] = ..., tokens: _Optional[_Iterable[str]] = ...) -> None: ...

class SparseOptions(_message.Message):
    __slots__ = ["threshold", "top_k"]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    threshold: float
    top_k: int
    def __init__(self, top_k: _Optional[int] = ..., threshold: _Optional[float] = ...) -> None: ...

class Suspicion(_message.Message):
    __slots__ = ["check", "hypothesis", "source"]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    HYPOTHESIS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    check: Check
    hypothesis: int
    source: SentencePair.Span
    def __init__(self, check: _Optional[_Union[Check, str]] = ..., source: _Optional[_Union[SentencePair.Span, _Mapping]] = ..., hypothesis: _Optional[int] = ...) -> None: ...

class Token(_message.Message):
    __slots__ = ["byte_begin", "byte_end", "char_begin", "char_end", "id", "piece", "sequence", "special", "type_id"]
    BYTE_BEGIN_FIELD_NUMBER: _ClassVar[int]
    BYTE_END_FIELD_NUMBER: _ClassVar[int]
    CHAR_BEGIN_FIELD_NUMBER: _ClassVar[int]
    CHAR_END_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    PIECE_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SPECIAL_FIELD_NUMBER: _ClassVar[int]
    TYPE_ID_FIELD_NUMBER: _ClassVar[int]
    byte_begin: int
    byte_end: int
    char_begin: int
    char_end: int
    id: int
    piece: str
    sequence: int
    special: bool
    type_id: int
    def __init__(self, id: _Optional[int] = ..., piece: _Optional[str] = ..., byte_begin: _Optional[int] = ..., byte_end: _Optional[int] = ..., char_begin: _Optional[int] = ..., char_end: _Optional[int] = ..., special: bool = ..., type_id: _Optional[int] = ..., sequence: _Optional[int] = ...) -> None: ...

class TokenClassification(_message.Message):
    __slots__ = ["spans", "token_count", "truncated_tokens"]
    class Span(_message.Message):
        __slots__ = ["byte_begin", "byte_end", "char_begin", "char_end", "label", "score", "text", "token_begin", "token_end"]
        BYTE_BEGIN_FIELD_NUMBER: _ClassVar[int]
        BYTE_END_FIELD_NUMBER: _ClassVar[int]
        CHAR_BEGIN_FIELD_NUMBER: _ClassVar[int]
        CHAR_END_FIELD_NUMBER: _ClassVar[int]
        LABEL_FIELD_NUMBER: _ClassVar[int]
        SCORE_FIELD_NUMBER: _ClassVar[int]
        TEXT_FIELD_NUMBER: _ClassVar[int]
        TOKEN_BEGIN_FIELD_NUMBER: _ClassVar[int]
        TOKEN_END_FIELD_NUMBER: _ClassVar[int]
        byte_begin: int
        byte_end: int
        char_begin: int
        char_end: int
        label: str
        score: float
        text: str
        token_begin: int
        token_end: int
        def __init__(self, label: _Optional[str] = ..., score: _Optional[float] = ..., text: _Optional[str] = ..., byte_begin: _Optional[int] = ..., byte_end: _Optional[int] = ..., char_begin: _Optional[int] = ..., char_end: _Optional[int] = ..., token_begin: _Optional[int] = ..., token_end: _Optional[int] = ...) -> None: ...
    SPANS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    spans: _containers.RepeatedCompositeFieldContainer[TokenClassification.Span]
    token_count: int
    truncated_tokens: int
    def __init__(self, spans: _Optional[_Iterable[_Union[TokenClassification.Span, _Mapping]]] = ..., token_count: _Optional[int] = ..., truncated_tokens: _Optional[int] = ...) -> None: ...

class TokenizeRequest(_message.Message):
    __slots__ = ["add_special_tokens", "model", "pairs", "target", "texts"]
    ADD_SPECIAL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PAIRS_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    add_special_tokens: bool
    model: str
    pairs: _containers.RepeatedCompositeFieldContainer[_common_pb2.TextPair]
    target: bool
    texts: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, model: _Optional[str] = ..., texts: _Optional[_Iterable[str]] = ..., pairs: _Optional[_Iterable[_Union[_common_pb2.TextPair, _Mapping]]] = ..., target: bool = ..., add_special_tokens: bool = ...) -> None: ...

class TokenizeResponse(_message.Message):
    __slots__ = ["model", "results"]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    model: _common_pb2.ModelVersion
    results: _containers.RepeatedCompositeFieldContainer[TokenizedText]
    def __init__(self, results: _Optional[_Iterable[_Union[TokenizedText, _Mapping]]] = ..., model: _Optional[_Union[_common_pb2.ModelVersion, _Mapping]] = ...) -> None: ...

class TokenizedText(_message.Message):
    __slots__ = ["tokens"]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    tokens: _containers.RepeatedCompositeFieldContainer[Token]
    def __init__(self, tokens: _Optional[_Iterable[_Union[Token, _Mapping]]] = ...) -> None: ...

class TranslateDocumentRequest(_message.Message):
    __slots__ = ["data", "known", "start"]
    class Start(_message.Message):
        __slots__ = ["document", "file_name", "format", "model", "options", "texts"]
        DOCUMENT_FIELD_NUMBER: _ClassVar[int]
        FILE_NAME_FIELD_NUMBER: _ClassVar[int]
        FORMAT_FIELD_NUMBER: _ClassVar[int]
        MODEL_FIELD_NUMBER: _ClassVar[int]
        OPTIONS_FIELD_NUMBER: _ClassVar[int]
        TEXTS_FIELD_NUMBER: _ClassVar[int]
        document: DocumentOptions
        file_name: str
        format: str
        model: str
        options: TranslateOptions
        texts: bool
        def __init__(self, model: _Optional[str] = ..., options: _Optional[_Union[TranslateOptions, _Mapping]] = ..., format: _Optional[str] = ..., file_name: _Optional[str] = ..., document: _Optional[_Union[DocumentOptions, _Mapping]] = ..., texts: bool = ...) -> None: ...
    DATA_FIELD_NUMBER: _ClassVar[int]
    KNOWN_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    known: DocumentText
    start: TranslateDocumentRequest.Start
    def __init__(self, start: _Optional[_Union[TranslateDocumentRequest.Start, _Mapping]] = ..., known: _Optional[_Union[DocumentText, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class TranslateDocumentResponse(_message.Message):
    __slots__ = ["data", "progress", "result"]
    DATA_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    progress: DocumentProgress
    result: DocumentResult
    def __init__(self, progress: _Optional[_Union[DocumentProgress, _Mapping]] = ..., data: _Optional[bytes] = ..., result: _Optional[_Union[DocumentResult, _Mapping]] = ...) -> None: ...

class TranslateOptions(_message.Message):
    __slots__ = ["checks", "cross_attention", "decoder_attention", "decoding", "format", "glossary", "protect", "sentences", "source_language", "split", "target_language", "task", "text_stages", "tokens", "truncate", "truncation_direction", "words"]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    CROSS_ATTENTION_FIELD_NUMBER: _ClassVar[int]
    DECODER_ATTENTION_FIELD_NUMBER: _ClassVar[int]
    DECODING_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    GLOSSARY_FIELD_NUMBER: _ClassVar[int]
    PROTECT_FIELD_NUMBER: _ClassVar[int]
    SENTENCES_FIELD_NUMBER: _ClassVar[int]
    SOURCE_LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    SPLIT_FIELD_NUMBER: _ClassVar[int]
    TARGET_LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    TEXT_STAGES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    TRUNCATE_FIELD_NUMBER: _ClassVar[int]
    TRUNCATION_DIRECTION_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    checks: Checks
    cross_attention: _common_pb2.AttentionSelection
    decoder_attention: _common_pb2.AttentionSelection
    decoding: _common_pb2.DecodingOptions
    format: TextFormat
    glossary: Glossary
    protect: Protection
    sentences: bool
    source_language: str
    split: Split
    target_language: str
    task: str
    text_stages: TextStages
    tokens: bool
    truncate: bool
    truncation_direction: _common_pb2.TruncationDirection
    words: bool
    def __init__(self, source_language: _Optional[str] = ..., target_language: _Optional[str] = ..., decoding: _Optional[_Union[_common_pb2.DecodingOptions, _Mapping]] = ..., truncate: bool = ..., tokens: bool = ..., cross_attention: _Optional[_Union[_common_pb2.AttentionSelection, _Mapping]] = ..., decoder_attention: _Optional[_Union[_common_pb2.AttentionSelection, _Mapping]] = ..., truncation_direction: _Optional[_Union[_common_pb2.TruncationDirection, str]] = ..., task: _Optional[str] = ..., split: _Optional[_Union[Split, str]] = ..., sentences: bool = ..., protect: _Optional[_Union[Protection, _Mapping]] = ..., checks: _Optional[_Union[Checks, _Mapping]] = ..., words: bool = ..., glossary: _Optional[_Union[Glossary, _Mapping]] = ..., format: _Optional[_Union[TextFormat, str]] = ..., text_stages: _Optional[_Union[TextStages, str]] = ...) -> None: ...

class TranslateRequest(_message.Message):
    __slots__ = ["inputs", "model", "options"]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    inputs: _containers.RepeatedCompositeFieldContainer[_common_pb2.Input]
    model: str
    options: TranslateOptions
    def __init__(self, model: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[_common_pb2.Input, _Mapping]]] = ..., options: _Optional[_Union[TranslateOptions, _Mapping]] = ...) -> None: ...

class TranslateResponse(_message.Message):
    __slots__ = ["model", "results", "timings"]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_FIELD_NUMBER: _ClassVar[int]
    model: _common_pb2.ModelVersion
    results: _containers.RepeatedCompositeFieldContainer[TranslateResult]
    timings: _common_pb2.Timings
    def __init__(self, results: _Optional[_Iterable[_Union[TranslateResult, _Mapping]]] = ..., timings: _Optional[_Union[_common_pb2.Timings, _Mapping]] = ..., model: _Optional[_Union[_common_pb2.ModelVersion, _Mapping]] = ...) -> None: ...

class TranslateResult(_message.Message):
    __slots__ = ["beam_trace", "cut_count", "detected_languages", "glossary_uses", "hypotheses", "prefix_pieces", "route", "second_kept_count", "second_try_count", "seed", "sentence_count", "sentences", "source_pieces", "source_token_count", "source_words", "suspicions", "text_stages", "truncated_tokens", "unkept"]
    BEAM_TRACE_FIELD_NUMBER: _ClassVar[int]
    CUT_COUNT_FIELD_NUMBER: _ClassVar[int]
    DETECTED_LANGUAGES_FIELD_NUMBER: _ClassVar[int]
    GLOSSARY_USES_FIELD_NUMBER: _ClassVar[int]
    HYPOTHESES_FIELD_NUMBER: _ClassVar[int]
    PREFIX_PIECES_FIELD_NUMBER: _ClassVar[int]
    ROUTE_FIELD_NUMBER: _ClassVar[int]
    SECOND_KEPT_COUNT_FIELD_NUMBER: _ClassVar[int]
    SECOND_TRY_COUNT_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    SENTENCES_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_COUNT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_PIECES_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_WORDS_FIELD_NUMBER: _ClassVar[int]
    SUSPICIONS_FIELD_NUMBER: _ClassVar[int]
    TEXT_STAGES_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    UNKEPT_FIELD_NUMBER: _ClassVar[int]
    beam_trace: _common_pb2.BeamTrace
    cut_count: int
    detected_languages: _containers.RepeatedCompositeFieldContainer[DetectedLanguage]
    glossary_uses: _containers.RepeatedCompositeFieldContainer[GlossaryUse]
    hypotheses: _containers.RepeatedCompositeFieldContainer[_common_pb2.Hypothesis]
    prefix_pieces: _containers.RepeatedScalarFieldContainer[str]
    route: _containers.RepeatedCompositeFieldContainer[TranslationStep]
    second_kept_count: int
    second_try_count: int
    seed: int
    sentence_count: int
    sentences: _containers.RepeatedCompositeFieldContainer[SentencePair]
    source_pieces: _containers.RepeatedScalarFieldContainer[str]
    source_token_count: int
    source_words: _containers.RepeatedCompositeFieldContainer[SentencePair.Span]
    suspicions: _containers.RepeatedCompositeFieldContainer[Suspicion]
    text_stages: _containers.RepeatedScalarFieldContainer[TextStage]
    truncated_tokens: int
    unkept: _containers.RepeatedCompositeFieldContainer[UnkeptSpan]
    def __init__(self, hypotheses: _Optional[_Iterable[_Union[_common_pb2.Hypothesis, _Mapping]]] = ..., source_token_count: _Optional[int] = ..., truncated_tokens: _Optional[int] = ..., source_pieces: _Optional[_Iterable[str]] = ..., seed: _Optional[int] = ..., prefix_pieces: _Optional[_Iterable[str]] = ..., beam_trace: _Optional[_Union[_common_pb2.BeamTrace, _Mapping]] = ..., sentences: _Optional[_Iterable[_Union[SentencePair, _Mapping]]] = ..., sentence_count: _Optional[int] = ..., cut_count: _Optional[int] = ..., unkept: _Optional[_Iterable[_Union[UnkeptSpan, _Mapping]]] = ..., suspicions: _Optional[_Iterable[_Union[Suspicion, _Mapping]]] = ..., second_try_count: _Optional[int] = ..., second_kept_count: _Optional[int] = ..., source_words: _Optional[_Iterable[_Union[SentencePair.Span, _Mapping]]] = ..., glossary_uses: _Optional[_Iterable[_Union[GlossaryUse, _Mapping]]] = ..., detected_languages: _Optional[_Iterable[_Union[DetectedLanguage, _Mapping]]] = ..., route: _Optional[_Iterable[_Union[TranslationStep, _Mapping]]] = ..., text_stages: _Optional[_Iterable[_Union[TextStage, str]]] = ...) -> None: ...

class TranslateStreamRequest(_message.Message):
    __slots__ = ["item", "start"]
    class Item(_message.Message):
        __slots__ = ["id", "input"]
        ID_FIELD_NUMBER: _ClassVar[int]
        INPUT_FIELD_NUMBER: _ClassVar[int]
        id: str
        input: _common_pb2.Input
        def __init__(self, id: _Optional[str] = ..., input: _Optional[_Union[_common_pb2.Input, _Mapping]] = ...) -> None: ...
    class Start(_message.Message):
        __slots__ = ["model", "options"]
        MODEL_FIELD_NUMBER: _ClassVar[int]
        OPTIONS_FIELD_NUMBER: _ClassVar[int]
        model: str
        options: TranslateOptions
        def __init__(self, model: _Optional[str] = ..., options: _Optional[_Union[TranslateOptions, _Mapping]] = ...) -> None: ...
    ITEM_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    item: TranslateStreamRequest.Item
    start: TranslateStreamRequest.Start
    def __init__(self, start: _Optional[_Union[TranslateStreamRequest.Start, _Mapping]] = ..., item: _Optional[_Union[TranslateStreamRequest.Item, _Mapping]] = ...) -> None: ...

class TranslateStreamResponse(_message.Message):
    __slots__ = ["error", "id", "result"]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    error: _status_pb2.Status
    id: str
    result: TranslateResult
    def __init__(self, id: _Optional[str] = ..., result: _Optional[_Union[TranslateResult, _Mapping]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class TranslationStep(_message.Message):
    __slots__ = ["model", "source_language", "target_language"]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    TARGET_LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    model: _common_pb2.ModelVersion
    source_language: str
    target_language: str
    def __init__(self, model: _Optional[_Union[_common_pb2.ModelVersion, _Mapping]] = ..., source_language: _Optional[str] = ..., target_language: _Optional[str] = ...) -> None: ...

class UnkeptSpan(_message.Message):
    __slots__ = ["count", "hypothesis", "source", "text"]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    HYPOTHESIS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    count: int
    hypothesis: int
    source: SentencePair.Span
    text: str
    def __init__(self, text: _Optional[str] = ..., source: _Optional[_Union[SentencePair.Span, _Mapping]] = ..., hypothesis: _Optional[int] = ..., count: _Optional[int] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ["cached_tokens", "new_tokens", "prompt_tokens", "reasoning_tokens"]
    CACHED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    NEW_TOKENS_FIELD_NUMBER: _ClassVar[int]
    PROMPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    REASONING_TOKENS_FIELD_NUMBER: _ClassVar[int]
    cached_tokens: int
    new_tokens: int
    prompt_tokens: int
    reasoning_tokens: int
    def __init__(self, prompt_tokens: _Optional[int] = ..., new_tokens: _Optional[int] = ..., cached_tokens: _Optional[int] = ..., reasoning_tokens: _Optional[int] = ...) -> None: ...

class Pooling(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class EmbeddingFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class EncodeOutput(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class TextKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class TextUnit(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Split(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class TextFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class ProtectedKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Check(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class TextStage(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class TextStages(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class SimilarityFunction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Aggregation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
