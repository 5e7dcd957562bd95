"""Converts callers' arguments to messages."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

from trivium.v1 import common_pb2, inference_pb2

#: A text, a pair of texts, ids that are used exactly as given, or a message (which can
#: also have a target prefix).
InputLike = Union[str, tuple[str, str], Sequence[int], common_pb2.Input]
#: A context and the target to score after it, as texts or ids. A context of None means
#: that nothing precedes the target.
ScoreLike = Union[
    tuple[Union[str, Sequence[int], None], Union[str, Sequence[int]]],
    inference_pb2.ScoreInput,
]
#: The chunks of a text: (begin, end) in characters, as text[begin:end], or a message.
ChunksLike = Union[Iterable[tuple[int, int]], inference_pb2.Chunks]
#: {"role": "user", "content": "Hello!"}, or a message.
MessageLike = Union[Mapping[str, Any], inference_pb2.Chat.Message]
_TOOL_CHOICES = {
    "none": inference_pb2.Chat.TOOL_CHOICE_NONE,
    "auto": inference_pb2.Chat.TOOL_CHOICE_AUTO,
    "required": inference_pb2.Chat.TOOL_CHOICE_REQUIRED,
}
# The options of a chat that are fields of Chat.
_CHAT_FIELDS = (
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_thinking_tokens",
    "answer_parts",
    "variables",
    "template_name",
    "add_generation_prompt",
    "continue_final_message",
)


def _refuse_string(inputs: object, what: str) -> None:
    if isinstance(inputs, (str, bytes)):
        raise TypeError(f"give a list of {what}, not one {type(inputs).__name__}")


def to_input(value: InputLike) -> common_pb2.Input:
    if isinstance(value, common_pb2.Input):
        return value
    if isinstance(value, str):
        return common_pb2.Input(text=value)
    if isinstance(value, tuple) and value and isinstance(value[0], str):
        if len(value) != 2:
            raise ValueError(f"a pair has two texts, not {len(value)}")
        pair = common_pb2.TextPair(first=value[0], second=str(value[1]))
        return common_pb2.Input(pair=pair)
    return common_pb2.Input(ids=common_pb2.InputIds(ids=_ids(value)))


def _ids(value: object) -> list[int]:
    if isinstance(value, (bytes, Mapping)) or not isinstance(value, Iterable):
        raise TypeError(
            "an input is a text, a pair of texts, a list of ids or a "
            f"trivium.v1.Input, not {type(value).__name__}"
        )
    return [int(one) for one in value]


def to_inputs(values: Iterable[InputLike]) -> list[common_pb2.Input]:
    _refuse_string(values, "inputs")
    return [to_input(value) for value in values]


def _to_chunks(spans: ChunksLike) -> inference_pb2.Chunks:
    if isinstance(spans, inference_pb2.Chunks):
        return spans
    message = inference_pb2.Chunks(unit=inference_pb2.TEXT_UNIT_CHARACTER)
    for span in spans:
        try:
            begin, end = span
        except (TypeError, ValueError):
            what = "chunks: give each text a list of (begin, end), as [[(0, 120)]]"
            raise TypeError(what) from None
        message.spans.add(begin=begin, end=end)
    return message


def to_encode_request(
    inputs: Iterable[InputLike], options: Mapping[str, Any]
) -> inference_pb2.EncodeRequest:
    """`options` are EncodeArguments."""
    fields = dict(options)
    chunks = [_to_chunks(one) for one in fields.pop("chunks", None) or ()]
    return inference_pb2.EncodeRequest(inputs=to_inputs(inputs), chunks=chunks, **fields)


def to_similarity_request(
    first: Iterable[InputLike], second: Iterable[InputLike] | None, options: Mapping[str, Any]
) -> inference_pb2.SimilarityRequest:
    """`options` are SimilarityArguments."""
    fields = dict(options)
    request = inference_pb2.SimilarityRequest()
    request.first.inputs.extend(to_inputs(first))
    if second is not None:
        request.second.SetInParent()
        request.second.inputs.extend(to_inputs(second))
    for name in ("kind", "prompt_name", "prompt"):
        for side in ("first", "second"):
            value = fields.pop(f"{side}_{name}", None)
            if value is None:
                continue
            if side == "second" and second is None:
                raise ValueError(f"{side}_{name} needs a second list")
            texts = getattr(request, side)
            if name == "kind" and isinstance(value, str):
                value = inference_pb2.TextKind.Value(value)
            setattr(texts, name, value)
    request.MergeFrom(inference_pb2.SimilarityRequest(**fields))
    return request


def to_texts(values: Iterable[str], what: str) -> list[str]:
    _refuse_string(values, what)
    return list(values)


def to_score_inputs(
    values: Iterable[ScoreLike],
) -> list[inference_pb2.ScoreInput]:
    _refuse_string(values, "pairs")
    return [_to_score_input(value) for value in values]


def _to_score_input(value: ScoreLike) -> inference_pb2.ScoreInput:
    if isinstance(value, inference_pb2.ScoreInput):
        return value
    context, target = value
    message = inference_pb2.ScoreInput()
    if isinstance(context, str):
        message.text = context
    elif context is not None:
        message.ids.ids.extend(_ids(context))
    if isinstance(target, str):
        message.target = target
    else:
        message.target_ids.ids.extend(_ids(target))
    return message


def to_questions(
    values: Iterable[tuple[str, str]],
) -> list[inference_pb2.AnswerRequest.Question]:
    _refuse_string(values, "pairs of a question and its context")
    return [
        inference_pb2.AnswerRequest.Question(question=question, context=context)
        for question, context in values
    ]


def to_tokenize_request(
    texts: Iterable[str | tuple[str, str]], **options: Any
) -> inference_pb2.TokenizeRequest:
    _refuse_string(texts, "texts")
    request = inference_pb2.TokenizeRequest(**options)
    for one in texts:
        if isinstance(one, str):
            request.texts.append(one)
        else:
            request.pairs.add(first=one[0], second=one[1])
    if request.texts and request.pairs:
        raise ValueError("one call tokenizes texts or pairs of texts, not both")
    return request


def to_token_ids(
    values: Iterable[Sequence[int]],
) -> list[common_pb2.TokenIds]:
    _refuse_string(values, "lists of ids")
    return [common_pb2.TokenIds(ids=_ids(value)) for value in values]


def conversation_of(chat: inference_pb2.Chat) -> str:
    """Returns a key by which balancers recognize the turns of a conversation: the
    CRC-32 of the messages up to the user's first. Those stay the same while the
    conversation grows. The C++ client computes the same key."""
    total = 0
    for message in chat.messages:
        for text in (message.role, message.content):
            total = zlib.crc32(text.encode() + b"\0", total)
        if message.role == "user":
            break
    return f"{total:08x}"


def to_chat_request(
    messages: Iterable[MessageLike], options: Mapping[str, Any]
) -> inference_pb2.GenerateRequest:
    """`options` are ChatArguments."""
    _refuse_string(messages, "messages")
    request = dict(options)
    fields = {name: request.pop(name) for name in _CHAT_FIELDS if name in request}
    tools = fields.pop("tools", ())
    _refuse_string(tools, "tools, each a JSON object")
    choice = fields.pop("tool_choice", None)
    variables = fields.pop("variables", None)
    if tools or fields.get("max_thinking_tokens") is not None:
        fields.setdefault("answer_parts", True)
    chat = inference_pb2.Chat(**fields)
    chat.tools.extend(
        tool if isinstance(tool, str) else json.dumps(tool, ensure_ascii=False)
        for tool in tools
    )
    if choice in _TOOL_CHOICES:
        chat.tool_choice = _TOOL_CHOICES[choice]
    elif choice is not None:
        chat.tool_choice = inference_pb2.Chat.TOOL_CHOICE_REQUIRED
        chat.tool_name = choice
    for message in messages:
        if isinstance(message, inference_pb2.Chat.Message):
            chat.messages.append(message)
        else:
            chat.messages.add(**message)
    if variables is not None:
        chat.variables.update(dict(variables))
    return inference_pb2.GenerateRequest(chat=chat, **request)
