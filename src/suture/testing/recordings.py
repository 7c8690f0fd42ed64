"""Streams as providers send them, beside the answer that an adapter must make of each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from suture.errors import ModelError, Overloaded
from suture.messages import Assistant, Reasoning, Text, ToolCall, Usage

Hazard: TypeAlias = Literal[
    "reasoning",
    "usage",
    "refusal",
    "call_without_arguments",
    "broken_arguments",
    "interleaved_calls",
    "error_event",
]

_Json: TypeAlias = Mapping[str, object]

_BROKEN = '{"city": "Par'
_GREETING = "Grüße aus 東京 😀"


@dataclass(frozen=True, slots=True)
class Recording:
    """The events of one response, and what must come of them: an answer, or an error.

    `unfinished` counts the events after which a stream that ends is incomplete, from the first on. Of `answer` the
    parts, the stop reason and, where it is set, the usage count.
    """

    events: tuple[bytes, ...]
    answer: Assistant | type[ModelError]
    unfinished: int = 0


# OpenAI chat ----------------------------------------------------------------------------------


def _chunk(**rest: object) -> _Json:
    return {"id": "chatcmpl-7", "object": "chat.completion.chunk", "created": 1760000000, "model": "gpt-x", **rest}


def _delta(finish: str | None = None, **delta: object) -> _Json:
    return _chunk(choices=[{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}], usage=None)


def _call_delta(index: int, arguments: str, id: str | None = None, name: str | None = None) -> _Json:
    function = {"name": name, "arguments": arguments}
    return _delta(tool_calls=[{"index": index, "id": id, "type": "function", "function": function}])


def _data(*payloads: _Json | str) -> tuple[bytes, ...]:
    """Each as one event without a name; text as it stands, and nothing escaped that need not be."""
    texts = [payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False) for payload in payloads]
    return tuple(f"data: {text}\n\n".encode() for text in texts)


_OPENAI_USAGE = _chunk(
    choices=[],
    usage={
        "prompt_tokens": 30,
        "completion_tokens": 12,
        "total_tokens": 42,
        "prompt_tokens_details": {"cached_tokens": 20, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 8, "audio_tokens": 0},
    },
)


def _openai(*deltas: _Json, finish: str, answer: Assistant) -> Recording:
    # The finish reason makes the answer whole: the vendor's SDK hides [DONE], and not every server sends it.
    chunks = (_delta(role="assistant", content=""), *deltas, _delta(finish), _OPENAI_USAGE)
    return Recording(_data(*chunks, "[DONE]"), answer, unfinished=len(deltas) + 2)


OPENAI: Mapping[Hazard, Recording] = {
    "reasoning": _openai(
        _delta(reasoning_content="Two and two"),
        _delta(reasoning_content=" are four."),
        _delta(content="Fo"),
        _delta(content="ur."),
        finish="stop",
        answer=Assistant((Reasoning("Two and two are four."), Text("Four.")), stop_reason="stop"),
    ),
    "usage": _openai(
        _delta(content=_GREETING[:4]),
        _delta(content=_GREETING[4:]),
        finish="stop",
        answer=Assistant((Text(_GREETING),), stop_reason="stop", usage=Usage(30, 12, 20, 0, 8)),
    ),
    "refusal": _openai(
        _delta(refusal="I cannot "),
        _delta(refusal="help with that."),
        finish="stop",
        answer=Assistant((Text("I cannot help with that."),), stop_reason="refusal"),
    ),
    "call_without_arguments": _openai(
        _call_delta(0, "", "call_1", "now"),
        finish="tool_calls",
        answer=Assistant((ToolCall("call_1", "now", {}),), stop_reason="tool_use"),
    ),
    "broken_arguments": _openai(
        _call_delta(0, "", "call_1", "lookup"),
        _call_delta(0, _BROKEN[:7]),
        _call_delta(0, _BROKEN[7:]),
        finish="tool_calls",
        answer=Assistant((ToolCall("call_1", "lookup", None, _BROKEN, "invalid_json"),), stop_reason="tool_use"),
    ),
    "interleaved_calls": _openai(
        _call_delta(0, "", "call_1", "lookup"),
        _call_delta(1, "", "call_2", "lookup"),
        _call_delta(0, '{"city": '),
        _call_delta(1, '{"city": "Ro'),
        _call_delta(0, '"Paris"}'),
        _call_delta(1, 'me"}'),
        finish="tool_calls",
        answer=Assistant(
            (ToolCall("call_1", "lookup", {"city": "Paris"}), ToolCall("call_2", "lookup", {"city": "Rome"})),
            stop_reason="tool_use",
        ),
    ),
    "error_event": Recording(
        _data(
            _delta(role="assistant", content=""),
            _delta(content="Fo"),
            {"error": {"message": "The server had an error.", "type": "server_error", "param": None, "code": None}},
        ),
        Overloaded,
    ),
}

# Anthropic ------------------------------------------------------------------------------------


def _named(*payloads: _Json) -> tuple[bytes, ...]:
    """Each as one event named by its type."""
    return tuple(
        f"event: {payload['type']}\ndata: {json.dumps(payload, ensure_ascii=False)}\n\n".encode() for payload in payloads
    )


_START: _Json = {
    "type": "message_start",
    "message": {
        "id": "msg_7",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 10,
            "cache_creation_input_tokens": 5,
            "cache_read_input_tokens": 15,
            "output_tokens": 1,
        },
    },
}


def _block(index: int, start: _Json, *deltas: _Json) -> tuple[_Json, ...]:
    return (
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    )


def _text_block(index: int, *texts: str) -> tuple[_Json, ...]:
    return _block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": text} for text in texts))


def _call_block(index: int, id: str, name: str, *pieces: str) -> tuple[_Json, ...]:
    start = {"type": "tool_use", "id": id, "name": name, "input": {}}
    return _block(index, start, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


def _anthropic(*blocks: Sequence[_Json], stop: str, answer: Assistant) -> Recording:
    end: tuple[_Json, ...] = (
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 12}},
        {"type": "message_stop"},
    )
    events = _named(_START, {"type": "ping"}, *(event for block in blocks for event in block), *end)
    return Recording(events, answer, unfinished=len(events))


ANTHROPIC: Mapping[Hazard, Recording] = {
    "reasoning": _anthropic(
        _block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "Two and two"},
            {"type": "thinking_delta", "thinking": " are four."},
            {"type": "signature_delta", "signature": "EqQBCgIYAhIM"},
        ),
        _text_block(1, "Fo", "ur."),
        stop="end_turn",
        answer=Assistant((Reasoning("Two and two are four.", "EqQBCgIYAhIM"), Text("Four.")), stop_reason="stop"),
    ),
    "usage": _anthropic(
        _text_block(0, _GREETING[:4], _GREETING[4:]),
        stop="end_turn",
        # Here the input count leaves the cached tokens out; `Usage` has them in.
        answer=Assistant((Text(_GREETING),), stop_reason="stop", usage=Usage(30, 12, 15, 5)),
    ),
    "refusal": _anthropic(stop="refusal", answer=Assistant(stop_reason="refusal")),
    "call_without_arguments": _anthropic(
        _call_block(0, "toolu_1", "now", ""),
        stop="tool_use",
        answer=Assistant((ToolCall("toolu_1", "now", {}),), stop_reason="tool_use"),
    ),
    "broken_arguments": _anthropic(
        _call_block(0, "toolu_1", "lookup", "", _BROKEN[:7], _BROKEN[7:]),
        stop="tool_use",
        answer=Assistant((ToolCall("toolu_1", "lookup", None, _BROKEN, "invalid_json"),), stop_reason="tool_use"),
    ),
    "error_event": Recording(
        _named(
            _START,
            *_text_block(0, "Fo")[:2],
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        ),
        Overloaded,
    ),
}
