"""A stream of Anthropic's Messages, put together: pieces as they come, and the whole answer at the end."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from suture.arguments import parse
from suture.errors import IncompleteStream
from suture.formats import format_of
from suture.formats.base import Json
from suture.loop.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from suture.messages import Assistant, Origin, Part, ToolCall, Usage

_STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_use",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "pause_turn": "pause",
}

# What a delta of a block adds to which of its fields.
_GROWS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
}


class Assembly:
    """One answer that is being streamed. `origin` is who gives it; `name` is what errors call them."""

    def __init__(self, name: str, origin: Origin) -> None:
        self.name = name
        self.origin = origin
        self._message: Json = {}
        self._blocks: dict[int, Json] = {}
        self._inputs: dict[int, list[str]] = {}
        self._stop: str | None = None
        self._is_over = False
        self._usage: Json = {}

    def add(self, event: Json) -> list[Delta]:
        """Take in an event; what it adds to the answer."""
        return list(self._add(event))

    def _add(self, event: Json) -> Iterator[Delta]:
        match event:
            case {"type": "message_start", "message": dict() as message}:
                self._message = message
                self._usage |= _figures(message.get("usage"))
            case {"type": "content_block_start", "index": int() as index, "content_block": dict() as block}:
                yield from self._begin(index, block)
            case {"type": "content_block_delta", "index": int() as index, "delta": dict() as delta}:
                yield from self._grow(index, delta)
            case {"type": "message_delta", "delta": dict() as delta}:
                self._stop = delta.get("stop_reason") or self._stop
                self._usage |= _figures(event.get("usage"))
            case {"type": "message_stop"}:
                self._is_over = True
            case _:
                pass  # pings, and kinds of events that are added later

    def _begin(self, index: int, block: Json) -> Iterator[Delta]:
        self._blocks[index] = dict(block)
        if block.get("type") == "tool_use":
            yield self._call_delta(index, "")
        elif text := block.get("text"):
            yield TextDelta(text)

    def _grow(self, index: int, delta: Json) -> Iterator[Delta]:
        block, kind = self._blocks.setdefault(index, {}), delta.get("type")
        if kind == "input_json_delta":
            text = delta.get("partial_json") or ""
            self._inputs.setdefault(index, []).append(text)
            if block.get("type") == "tool_use":
                yield self._call_delta(index, text)
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]
        elif kind in _GROWS:
            field, key = _GROWS[kind]
            piece = delta.get(key) or ""
            block[field] = (block.get(field) or "") + piece
            if kind == "text_delta" and piece:
                yield TextDelta(piece)
            elif kind == "thinking_delta" and piece:
                yield ReasoningDelta(piece)

    def _call_delta(self, index: int, text: str) -> ToolCallDelta:
        calls = [at for at, block in sorted(self._blocks.items()) if block.get("type") == "tool_use"]
        block = self._blocks[index]
        return ToolCallDelta(calls.index(index), block.get("id") or "", block.get("name") or "", text)

    def answer(self) -> Assistant:
        """The whole answer.

        Raises:
            IncompleteStream: the stream ended before its `message_stop`, or without a `stop_reason`.
        """
        if not self._is_over or self._stop is None:
            raise IncompleteStream(f"{self.name} ended its answer before it was whole, so none of it was kept. Ask again.")
        parts: list[Part] = []
        for index, block in sorted(self._blocks.items()):
            parts += self._parts(index, block)
        origin = msgspec.structs.replace(self.origin, response_id=self._message.get("id"))
        stop = _STOPS.get(self._stop, "stop")
        return Assistant(tuple(parts), stop_reason=stop, usage=usage_of(self._usage), origin=origin)

    def _parts(self, index: int, block: Json) -> tuple[Part, ...]:
        raw = "".join(self._inputs.get(index, ()))
        if raw and block.get("type") != "tool_use":  # a server tool's call, which only Anthropic reads
            arguments, _, _ = parse(raw)
            block = {**block, "input": arguments if arguments is not None else {}}
        (message,) = format_of("anthropic").decode([{"role": "assistant", "content": [block]}]).messages[:1]
        return tuple(_as_written(part, raw) if type(part) is ToolCall else part for part in message.parts)


def _as_written(call: ToolCall, raw: str) -> ToolCall:
    """The call with the arguments of its text; an input that came whole stays."""
    if not raw:
        return call
    arguments, error, _ = parse(raw)
    return msgspec.structs.replace(call, arguments=arguments, raw=None if error is None else raw, error=error)


def _figures(usage: object) -> Json:
    return {key: value for key, value in usage.items() if value is not None} if isinstance(usage, dict) else {}


def usage_of(wire: Json) -> Usage:
    """The tokens of an answer. Anthropic counts what its cache read and wrote beside the input, we within it."""
    read, written = _count(wire.get("cache_read_input_tokens")), _count(wire.get("cache_creation_input_tokens"))
    details = wire.get("output_tokens_details") or {}
    return Usage(
        input_tokens=_count(wire.get("input_tokens")) + read + written,
        output_tokens=_count(wire.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=_count(details.get("thinking_tokens")),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
