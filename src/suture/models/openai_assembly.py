"""A stream of Chat Completions, put together: pieces as they come, and the whole answer at the end.

The copies of the API differ in small things, all of which are met here: an index may be missing or always 0, a name
may come with every piece, arguments may come as an object, thinking has three names, usage comes with or behind the
last choice.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from suture.errors import IncompleteStream, ModelError, Overloaded
from suture.formats import format_of
from suture.formats.base import Json, object_text
from suture.formats.openai_chat import DETAILS, THOUGHTS
from suture.loop.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from suture.messages import Assistant, Origin, Usage

# Any other reason is one of a copy for having stopped by itself.
_STOPS = {
    "length": "length",
    "content_filter": "refusal",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
}
_BROKEN = frozenset(("error", "insufficient_system_resource"))


class _Call:
    """A call that is being written."""

    def __init__(self, index: int, key: object) -> None:
        self.index = index
        self.key = key
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []
        self.extra: Json = {}

    def wire(self) -> Json:
        function = {"name": self.name, "arguments": "".join(self.pieces)}
        return {**self.extra, "id": self.id, "type": "function", "function": function}


class Assembly:
    """One answer that is being streamed. `origin` is who gives it; `name` is what errors call them."""

    def __init__(self, name: str, origin: Origin) -> None:
        self.name = name
        self.origin = origin
        self._id: str | None = None
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._thoughts: dict[str, list[str]] = {}
        self._details: list[Json] = []
        self._calls: list[_Call] = []
        self._finish: str | None = None
        self._usage: Json | None = None

    def add(self, chunk: Json) -> list[Delta]:
        """Take in a chunk; what it adds to the answer."""
        return list(self._add(chunk))

    def _add(self, chunk: Json) -> Iterator[Delta]:
        if isinstance(id := chunk.get("id"), str) and id:
            self._id = id
        if isinstance(usage := chunk.get("usage"), dict):
            self._usage = usage
        for choice in chunk.get("choices") or ():
            if choice.get("index") in (0, None):
                yield from self._delta(choice.get("delta") or {})
                self._finish = choice.get("finish_reason") or self._finish

    def _delta(self, delta: Json) -> Iterator[Delta]:
        for field in THOUGHTS:
            if isinstance(thought := delta.get(field), str) and thought:
                self._thoughts.setdefault(field, []).append(thought)
                if field == next(iter(self._thoughts)):
                    yield ReasoningDelta(thought)
        for detail in delta.get(DETAILS) or ():
            self._add_detail(detail)
        if isinstance(text := delta.get("content"), str) and text:
            self._text.append(text)
            yield TextDelta(text)
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            self._refusal.append(refusal)
            yield TextDelta(refusal)
        for piece in delta.get("tool_calls") or ():
            yield self._add_call(piece)

    def _add_detail(self, detail: object) -> None:
        """Keep structured thinking as it would have come in one piece."""
        if not isinstance(detail, dict):
            return
        last = self._details[-1] if self._details else {}
        if [last.get(key) for key in ("type", "index", "id")] != [detail.get(key) for key in ("type", "index", "id")]:
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            grows = key in ("text", "summary", "data") and isinstance(value, str) and isinstance(last.get(key), str)
            last[key] = last[key] + value if grows else value if value is not None else last.get(key)

    def _add_call(self, piece: Json) -> ToolCallDelta:
        call = self._call_of(piece)
        function = piece.get("function") or {}
        call.id = call.id or piece.get("id") or ""
        call.name = call.name or function.get("name") or ""
        call.extra |= {key: value for key, value in piece.items() if key not in ("index", "id", "type", "function")}
        given = function.get("arguments")
        text = object_text(given) if isinstance(given, dict) else given if isinstance(given, str) else ""
        call.pieces.append(text)
        return ToolCallDelta(call.index, call.id, call.name, text)

    def _call_of(self, piece: Json) -> _Call:
        """The call that a piece belongs to: that of its index, unless it brings another id; else the last one."""
        key, id = piece.get("index"), piece.get("id")
        known = [call for call in self._calls if call.key == key] if key is not None else self._calls
        last = known[-1] if known else None
        if last is None or (id and last.id and id != last.id):
            last = _Call(len(self._calls), key)
            self._calls.append(last)
        return last

    def answer(self) -> Assistant:
        """The whole answer.

        Raises:
            IncompleteStream: the stream ended before its `finish_reason`.
            Overloaded: the provider broke the answer off.
        """
        if self._finish is None:
            raise IncompleteStream(f"{self.name} ended its answer before it was whole, so none of it was kept. Ask again.")
        if self._finish in _BROKEN:
            raise broken_off(self.name, self._finish)
        (message,) = format_of("openai-chat").decode([self._wire()]).messages
        assert isinstance(message, Assistant)
        stop = _STOPS.get(self._finish, "stop")
        if stop == "stop" and message.calls:
            stop = "tool_use"
        if stop == "stop" and self._refusal:
            stop = "refusal"
        usage = usage_of(self._usage) if self._usage is not None else None
        origin = msgspec.structs.replace(self.origin, response_id=self._id)
        return msgspec.structs.replace(message, stop_reason=stop, usage=usage, origin=origin)

    def _wire(self) -> Json:
        """The answer as it would have come in one piece."""
        wire: Json = {"role": "assistant", "content": "".join((*self._text, *self._refusal)) or None}
        for field, pieces in self._thoughts.items():
            wire[field] = "".join(pieces)
        if self._details:
            wire[DETAILS] = self._details
        if self._calls:
            wire["tool_calls"] = [call.wire() for call in self._calls]
        return wire


def broken_off(name: str, reason: str) -> ModelError:
    """The error of an answer that the provider itself gave up."""
    return Overloaded(f"{name} broke its answer off ({reason}), so none of it was kept. Ask again.")


def usage_of(wire: Json) -> Usage:
    """The tokens of an answer; a figure that is missing counts as none."""
    inputs, outputs = wire.get("prompt_tokens_details") or {}, wire.get("completion_tokens_details") or {}
    cost = wire.get("cost")
    return Usage(
        input_tokens=_count(wire.get("prompt_tokens")),
        output_tokens=_count(wire.get("completion_tokens")),
        cache_read_tokens=_count(inputs.get("cached_tokens")) or _count(wire.get("prompt_cache_hit_tokens")),
        reasoning_tokens=_count(outputs.get("reasoning_tokens")),
        cost=float(cost) if isinstance(cost, int | float) else None,
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
