"""A stream of Anthropic's Messages, put together: pieces as they come, and the whole answer at the end.

A shape that could hide a part of the answer, or mix two answers, is refused (ValueError): better asked again than half
kept.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from suture.arguments import parse
from suture.errors import IncompleteStream
from suture.formats import format_of
from suture.formats.base import Json
from suture.loop.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from suture.messages import Assistant, Origin, Part, ToolCall, Usage
from suture.models.bounds import Gauge, count_of, object_of, text_of

_STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_use",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "pause_turn": "pause",
}

# What a delta of a block adds to which of its fields, under the same name.
_GROWS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class _Block:
    """A block that is being written. `call` counts the calls among the blocks; None for any other block."""

    def __init__(self, start: Json, call: int | None) -> None:
        self.start = start
        self.call = call
        self.inputs: list[str] = []
        self.citations: list[object] = []
        self.pieces: dict[str, list[str]] = {}

    def wire(self) -> Json:
        """The block as it would have come in one piece."""
        grown = {field: text_of(self.start.get(field)) + "".join(pieces) for field, pieces in self.pieces.items()}
        cited = {"citations": [*(self.start.get("citations") or ()), *self.citations]} if self.citations else {}
        return {**self.start, **grown, **cited}


class Assembly:
    """One answer that is being streamed. `origin` is who gives it; `name` is what errors call them."""

    def __init__(self, name: str, origin: Origin) -> None:
        self.name = name
        self.origin = origin
        self._gauge = Gauge()
        self._id: str | None = None
        self._has_begun = False
        self._blocks: dict[int, _Block] = {}
        self._calls = 0
        self._stop: str | None = None
        self._is_over = False
        self._usage: Json = {}

    def add(self, event: Json) -> list[Delta]:
        """Take in an event; what it adds to the answer.

        Raises:
            ValueError: it has a shape that no answer has, or there is too much of it.
        """
        return list(self._add(event))

    def _add(self, event: Json) -> Iterator[Delta]:
        self._gauge.event()
        match event.get("type"):
            case "message_start":
                self._begin(object_of(event.get("message")))
            case "content_block_start":
                yield from self._begin_block(event["index"], event["content_block"])
            case "content_block_delta":
                yield from self._grow(self._blocks[event["index"]], event["delta"])
            case "message_delta":
                self._stop = self._stop or object_of(event.get("delta")).get("stop_reason")
                self._usage |= _figures(event.get("usage"))
            case "message_stop":
                self._is_over = True
            case _:
                pass  # pings, and kinds of events that are added later

    def _begin(self, message: Json) -> None:
        if self._has_begun:
            raise ValueError("a second answer begins before the first has ended")
        self._has_begun = True
        self._id = text_of(message.get("id")) or None
        self._usage |= _figures(message.get("usage"))

    def _begin_block(self, index: object, start: Json) -> Iterator[Delta]:
        kind = start.get("type")
        if not isinstance(index, int) or index in self._blocks:
            raise ValueError("a block begins at no place of its own")
        if not isinstance(kind, str) or not kind or kind == "tool_result":
            raise ValueError(f"a block is of the type {kind!r:.60}, which no answer holds")
        self._gauge.parts(len(self._blocks) + 1)
        block = self._blocks[index] = _Block(start, self._calls if kind == "tool_use" else None)
        if block.call is not None:
            self._calls += 1
            yield _call_delta(block, "")
        elif text := self._gauge.text(text_of(start.get("text"))):
            yield TextDelta(text)

    def _grow(self, block: _Block, delta: Json) -> Iterator[Delta]:
        kind = delta.get("type")
        if kind == "input_json_delta":
            text = self._gauge.text(text_of(delta.get("partial_json")))
            block.inputs.append(text)
            if block.call is not None:
                yield _call_delta(block, text)
        elif kind == "citations_delta":
            self._gauge.parts(len(block.citations) + 1)
            block.citations.append(delta.get("citation"))
        elif kind in _GROWS:
            field = _GROWS[kind]
            piece = self._gauge.text(text_of(delta.get(field)))
            block.pieces.setdefault(field, []).append(piece)
            if kind == "text_delta" and piece:
                yield TextDelta(piece)
            elif kind == "thinking_delta" and piece:
                yield ReasoningDelta(piece)

    def answer(self) -> Assistant:
        """The whole answer.

        Raises:
            IncompleteStream: the stream ended before its `message_stop`, without a `stop_reason`, or for a reason that may
                have cut a call.
        """
        if not self._is_over or self._stop is None:
            raise IncompleteStream(f"{self.name} ended its answer before it was whole, so none of it was kept. Ask again.")
        if self._stop not in _STOPS and self._calls:
            raise IncompleteStream(
                f"{self.name} stopped for the unknown reason {self._stop!r:.60}, so none of it was kept."
            )
        parts = tuple(_part(block) for _, block in sorted(self._blocks.items()) if not _is_blank(block.wire()))
        origin = msgspec.structs.replace(self.origin, response_id=self._id)
        stop = _STOPS.get(self._stop, "stop")
        return Assistant(parts, stop_reason=stop, usage=usage_of(self._usage), origin=origin)


def _call_delta(block: _Block, text: str) -> ToolCallDelta:
    assert block.call is not None
    return ToolCallDelta(block.call, text_of(block.start.get("id")), text_of(block.start.get("name")), text)


def _is_blank(wire: Json) -> bool:
    """Whether the block says nothing, so that it would be refused when it is sent back (ANT-EMPTY-TEXT)."""
    match wire["type"]:
        case "text":
            return not text_of(wire.get("text"))
        case "thinking":
            return not text_of(wire.get("thinking")) and not text_of(wire.get("signature"))
        case "redacted_thinking":
            return not text_of(wire.get("data")).strip()
        case _:
            return False


def _part(block: _Block) -> Part:
    raw, wire = "".join(block.inputs), block.wire()
    if raw and block.call is None:  # a server tool's call, which only Anthropic reads
        arguments, _, reason = parse(raw)
        if arguments is None:
            raise ValueError(f"the input of a server's tool cannot be read: {reason}")
        wire = {**wire, "input": arguments}
    (message,) = format_of("anthropic").decode([{"role": "assistant", "content": [wire]}]).messages
    (part,) = message.parts
    return _as_written(part, raw) if type(part) is ToolCall else part


def _as_written(call: ToolCall, raw: str) -> ToolCall:
    """The call with the arguments of its text; an input that came whole stays."""
    if not raw:
        return call
    arguments, error, _ = parse(raw)
    return msgspec.structs.replace(call, arguments=arguments, raw=None if error is None else raw, error=error)


def _figures(usage: object) -> Json:
    return {key: value for key, value in object_of(usage).items() if value is not None}


def usage_of(wire: Json) -> Usage:
    """The tokens of an answer. Anthropic counts what its cache read and wrote beside the input, we within it."""
    read, written = count_of(wire.get("cache_read_input_tokens")), count_of(wire.get("cache_creation_input_tokens"))
    return Usage(
        input_tokens=count_of(wire.get("input_tokens")) + read + written,
        output_tokens=count_of(wire.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=count_of(object_of(wire.get("output_tokens_details")).get("thinking_tokens")),
    )
