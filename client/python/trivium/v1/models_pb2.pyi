from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor
DESIGN_DECODER: Design
DESIGN_ENCODER: Design
DESIGN_ENCODER_DECODER: Design
DESIGN_UNSPECIFIED: Design
PRECISION_BF16: Precision
PRECISION_F32: Precision
PRECISION_INT4: Precision
PRECISION_INT8: Precision
PRECISION_UNSPECIFIED: Precision

class GetModelRequest(_message.Message):
    __slots__ = ["name"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class Language(_message.Message):
    __slots__ = ["bcp47", "code"]
    BCP47_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    bcp47: str
    code: str
    def __init__(self, bcp47: _Optional[str] = ..., code: _Optional[str] = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ["default_deadline", "default_stream_deadline", "max_beam_size", "max_inputs", "max_request_bytes", "max_response_bytes", "max_source_tokens", "max_stop_bytes", "max_stop_strings", "max_target_tokens", "max_text_bytes", "max_top_logprobs", "max_windows"]
    DEFAULT_DEADLINE_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_STREAM_DEADLINE_FIELD_NUMBER: _ClassVar[int]
    MAX_BEAM_SIZE_FIELD_NUMBER: _ClassVar[int]
    MAX_INPUTS_FIELD_NUMBER: _ClassVar[int]
    MAX_REQUEST_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_RESPONSE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_SOURCE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_STOP_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_STOP_STRINGS_FIELD_NUMBER: _ClassVar[int]
    MAX_TARGET_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_TEXT_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_TOP_LOGPROBS_FIELD_NUMBER: _ClassVar[int]
    MAX_WINDOWS_FIELD_NUMBER: _ClassVar[int]
    default_deadline: _duration_pb2.Duration
    default_stream_deadline: _duration_pb2.Duration
    max_beam_size: int
    max_inputs: int
    max_request_bytes: int
    max_response_bytes: int
    max_source_tokens: int
    max_stop_bytes: int
    max_stop_strings: int
    max_target_tokens: int
    max_text_bytes: int
    max_top_logprobs: int
    max_windows: int
    def __init__(self, max_source_tokens: _Optional[int] = ..., max_target_tokens: _Optional[int] = ..., max_request_bytes: _Optional[int] = ..., max_inputs: _Optional[int] = ..., max_text_bytes: _Optional[int] = ..., max_beam_size: _Optional[int] = ..., max_stop_strings: _Optional[int] = ..., max_stop_bytes: _Optional[int] = ..., max_top_logprobs: _Optional[int] = ..., max_response_bytes: _Optional[int] = ..., default_deadline: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., default_stream_deadline: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., max_windows: _Optional[int] = ...) -> None: ...

class ListModelsRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class ListModelsResponse(_message.Message):
    __slots__ = ["models"]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    models: _containers.RepeatedCompositeFieldContainer[Model]
    def __init__(self, models: _Optional[_Iterable[_Union[Model, _Mapping]]] = ...) -> None: ...

class LoadModelRequest(_message.Message):
    __slots__ = ["folder", "kv_precision", "name", "precision", "translate_with", "vocabulary_shortlist"]
    FOLDER_FIELD_NUMBER: _ClassVar[int]
    KV_PRECISION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PRECISION_FIELD_NUMBER: _ClassVar[int]
    TRANSLATE_WITH_FIELD_NUMBER: _ClassVar[int]
    VOCABULARY_SHORTLIST_FIELD_NUMBER: _ClassVar[int]
    folder: str
    kv_precision: Precision
    name: str
    precision: Precision
    translate_with: str
    vocabulary_shortlist: bool
    def __init__(self, folder: _Optional[str] = ..., name: _Optional[str] = ..., precision: _Optional[_Union[Precision, str]] = ..., kv_precision: _Optional[_Union[Precision, str]] = ..., vocabulary_shortlist: bool = ..., translate_with: _Optional[str] = ...) -> None: ...

class Model(_message.Message):
    __slots__ = ["attention_windows", "batch_invariant", "calls", "chat_refusal", "chat_templates", "d_model", "decoder_layer_count", "default_target_language", "design", "embedding_size", "encoder_layer_count", "family", "has_tokenizer", "head_count", "isa", "kv_cache_bytes", "kv_head_count", "kv_precision", "labels", "limits", "name", "parameter_count", "precision", "result_cache_bytes", "revision", "source_languages", "target_languages", "tasks", "type_vocabulary_size", "vocabulary_shortlist", "vocabulary_size", "weight_bytes"]
    ATTENTION_WINDOWS_FIELD_NUMBER: _ClassVar[int]
    BATCH_INVARIANT_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    CHAT_REFUSAL_FIELD_NUMBER: _ClassVar[int]
    CHAT_TEMPLATES_FIELD_NUMBER: _ClassVar[int]
    DECODER_LAYER_COUNT_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_TARGET_LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    DESIGN_FIELD_NUMBER: _ClassVar[int]
    D_MODEL_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_SIZE_FIELD_NUMBER: _ClassVar[int]
    ENCODER_LAYER_COUNT_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    HAS_TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    HEAD_COUNT_FIELD_NUMBER: _ClassVar[int]
    ISA_FIELD_NUMBER: _ClassVar[int]
    KV_CACHE_BYTES_FIELD_NUMBER: _ClassVar[int]
    KV_HEAD_COUNT_FIELD_NUMBER: _ClassVar[int]
    KV_PRECISION_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARAMETER_COUNT_FIELD_NUMBER: _ClassVar[int]
    PRECISION_FIELD_NUMBER: _ClassVar[int]
    RESULT_CACHE_BYTES_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_LANGUAGES_FIELD_NUMBER: _ClassVar[int]
    TARGET_LANGUAGES_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    TYPE_VOCABULARY_SIZE_FIELD_NUMBER: _ClassVar[int]
    VOCABULARY_SHORTLIST_FIELD_NUMBER: _ClassVar[int]
    VOCABULARY_SIZE_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_BYTES_FIELD_NUMBER: _ClassVar[int]
    attention_windows: _containers.RepeatedScalarFieldContainer[int]
    batch_invariant: bool
    calls: _containers.RepeatedScalarFieldContainer[str]
    chat_refusal: str
    chat_templates: _containers.RepeatedScalarFieldContainer[str]
    d_model: int
    decoder_layer_count: int
    default_target_language: str
    design: Design
    embedding_size: int
    encoder_layer_count: int
    family: str
    has_tokenizer: bool
    head_count: int
    isa: str
    kv_cache_bytes: int
    kv_head_count: int
    kv_precision: Precision
    labels: _containers.RepeatedScalarFieldContainer[str]
    limits: Limits
    name: str
    parameter_count: int
    precision: Precision
    result_cache_bytes: int
    revision: str
    source_languages: _containers.RepeatedCompositeFieldContainer[Language]
    target_languages: _containers.RepeatedCompositeFieldContainer[Language]
    tasks: _containers.RepeatedCompositeFieldContainer[Task]
    type_vocabulary_size: int
    vocabulary_shortlist: bool
    vocabulary_size: int
    weight_bytes: int
    def __init__(self, name: _Optional[str] = ..., family: _Optional[str] = ..., design: _Optional[_Union[Design, str]] = ..., calls: _Optional[_Iterable[str]] = ..., source_languages: _Optional[_Iterable[_Union[Language, _Mapping]]] = ..., target_languages: _Optional[_Iterable[_Union[Language, _Mapping]]] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., precision: _Optional[_Union[Precision, str]] = ..., isa: _Optional[str] = ..., batch_invariant: bool = ..., parameter_count: _Optional[int] = ..., weight_bytes: _Optional[int] = ..., kv_cache_bytes: _Optional[int] = ..., revision: _Optional[str] = ..., d_model: _Optional[int] = ..., vocabulary_size: _Optional[int] = ..., encoder_layer_count: _Optional[int] = ..., decoder_layer_count: _Optional[int] = ..., head_count: _Optional[int] = ..., has_tokenizer: bool = ..., result_cache_bytes: _Optional[int] = ..., labels: _Optional[_Iterable[str]] = ..., type_vocabulary_size: _Optional[int] = ..., embedding_size: _Optional[int] = ..., vocabulary_shortlist: bool = ..., chat_templates: _Optional[_Iterable[str]] = ..., chat_refusal: _Optional[str] = ..., default_target_language: _Optional[str] = ..., kv_precision: _Optional[_Union[Precision, str]] = ..., tasks: _Optional[_Iterable[_Union[Task, _Mapping]]] = ..., kv_head_count: _Optional[int] = ..., attention_windows: _Optional[_Iterable[int]] = ...) -> None: ...

class ReloadModelRequest(_message.Message):
    __slots__ = ["name"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class Task(_message.Message):
    __slots__ = ["name", "prefix"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    name: str
    prefix: str
    def __init__(self, name: _Optional[str] = ..., prefix: _Optional[str] = ...) -> None: ...

class UnloadModelRequest(_message.Message):
    __slots__ = ["name"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class UnloadModelResponse(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class Design(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Precision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
