"""A stream of Chat Completions, put together: pieces as they come, and the whole answer at the end.

The copies of the API differ in small things, all of which are met here: an index may be missing or always 0, a name
may come with every piece, arguments may come as an object, content as a list, thinking has three names, usage comes with
or behind the last choice. What no field of ours is for is kept with the message. A shape that could hide a part of the
answer is refused (ValueError): better asked again than half kept.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from suture.errors import IncompleteStream, Overloaded
from suture.formats import format_of
from suture.formats.base import Json
from suture.formats.chat.read import DETAILS, THOUGHTS
from suture.formats.wire import object_text
from suture.loop.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from suture.messages import Assistant, Origin, Usage
from suture.models.bounds import Gauge, cost_of, count_of, object_of, text_of

_STOPS = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
    "sensitive": "refusal",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
}

# What copies say when they broke off by themselves.
_BROKEN = frozenset(("error", "insufficient_system_resource", "network_error", "abort", "aborted", "cancelled"))

_READ = frozenset(("role", "content", "refusal", "tool_calls", "function_call", DETAILS, *THOUGHTS))
_CALL = frozenset(("index", "id", "type", "function"))
_GROWING = ("text", "summary", "data")


class _Call:
    """A call that is being written."""

    def __init__(self, index: int) -> None:
        self.index = index
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
        self._gauge = Gauge()
        self._id: str | None = None
        self._text: list[str] = []
        self._refused = False
        self._thoughts: dict[str, list[str]] = {}
        self._details: list[Json] = []
        self._extra: Json = {}
        self._calls: list[_Call] = []
        self._last_of: dict[object, _Call] = {}
        self._finish: str | None = None
        self._usage: Json | None = None

    def add(self, chunk: Json) -> list[Delta]:
        """Take in a chunk; what it adds to the answer.

        Raises:
            ValueError: it has a shape that no answer has, or there is too much of it.
        """
        return list(self._add(chunk))

    def _add(self, chunk: Json) -> Iterator[Delta]:
        self._gauge.event()
        self._id = text_of(chunk.get("id")) or self._id
        if isinstance(usage := chunk.get("usage"), dict):
            self._usage = usage
        for choice in chunk.get("choices") or ():
            if choice.get("index") in (0, None):
                yield from self._delta(choice.get("delta") or choice.get("message") or {})
                self._finish = self._finish or choice.get("finish_reason")

    def _delta(self, delta: Json) -> Iterator[Delta]:
        if delta.get("function_call"):
            raise ValueError("it calls by the old 'function_call', which has no ids")
        yield from self._think(delta)
        if words := self._gauge.text(_words(delta.get("content"))):
            self._text.append(words)
            yield TextDelta(words)
        if refusal := self._gauge.text(text_of(delta.get("refusal"))):
            self._refused = True
            self._text.append(refusal)
            yield TextDelta(refusal)
        for piece in delta.get("tool_calls") or ():
            yield self._add_call(piece)
        self._keep({key: value for key, value in delta.items() if key not in _READ})

    def _think(self, delta: Json) -> Iterator[Delta]:
        for field in THOUGHTS:
            if thought := self._gauge.text(text_of(delta.get(field))):
                self._thoughts.setdefault(field, []).append(thought)
                if field == next(iter(self._thoughts)):
                    yield ReasoningDelta(thought)
        for detail in delta.get(DETAILS) or ():
            self._add_detail(detail)

    def _add_detail(self, detail: Json) -> None:
        """Keep structured thinking as it would have come in one piece."""
        last = self._details[-1] if self._details else {}
        if [last.get(key) for key in ("type", "index", "id")] != [detail.get(key) for key in ("type", "index", "id")]:
            self._gauge.parts(len(self._details) + 1)
            self._details.append({key: [value] if key in _GROWING else value for key, value in detail.items()})
            return
        for key, value in detail.items():
            if key in _GROWING:
                last.setdefault(key, []).append(value)
            elif value is not None:
                last[key] = value

    def _keep(self, extra: Json) -> None:
        """Keep what no field of ours is for: lists and texts go on, anything else counts as it came last."""
        for key, value in extra.items():
            before = self._extra.get(key)
            if value in (None, "", []):
                continue
            grows = type(before) is type(value) and isinstance(value, str | list)
            self._extra[key] = before + value if grows else value

    def _add_call(self, piece: Json) -> ToolCallDelta:
        call = self._call_of(piece)
        function = piece.get("function") or {}
        call.id = call.id or text_of(piece.get("id"))
        call.name = call.name or text_of(function.get("name"))
        call.extra |= {key: value for key, value in piece.items() if key not in _CALL}
        given = function.get("arguments")
        if given is not None and not isinstance(given, str | dict):
            raise ValueError("the arguments of a call are neither a text nor an object")
        text = self._gauge.text(object_text(given) if isinstance(given, dict) else given or "")
        call.pieces.append(text)
        return ToolCallDelta(call.index, call.id, call.name, text)

    def _call_of(self, piece: Json) -> _Call:
        """The call that a piece belongs to: that of its index, unless it brings another id; else the last one."""
        index, id = piece.get("index"), text_of(piece.get("id"))
        key = index if isinstance(index, int) else None
        last = self._last_of.get(key)
        if last is None or (id and last.id and id != last.id):
            self._gauge.parts(len(self._calls) + 1)
            last = self._last_of[key] = _Call(len(self._calls))
            self._calls.append(last)
        return last

    def answer(self) -> Assistant:
        """The whole answer.

        Raises:
            IncompleteStream: the stream ended before its `finish_reason`, or for a reason that may have cut a call.
            Overloaded: the provider broke the answer off.
        """
        if self._finish is None:
            raise IncompleteStream(f"{self.name} ended its answer before it was whole, so none of it was kept. Ask again.")
        if self._finish in _BROKEN:
            raise Overloaded(f"{self.name} broke its answer off ({self._finish}), so none of it was kept. Ask again.")
        if self._finish not in _STOPS and self._calls:
            raise IncompleteStream(
                f"{self.name} stopped for the unknown reason {self._finish!r:.60}, so none of it was kept."
            )
        (message,) = format_of("openai-chat").decode([self._wire()]).messages
        assert isinstance(message, Assistant)
        usage = usage_of(self._usage) if self._usage is not None else None
        origin = msgspec.structs.replace(self.origin, response_id=self._id)
        return msgspec.structs.replace(message, stop_reason=self._stop(), usage=usage, origin=origin)

    def _stop(self) -> str:
        stop = _STOPS.get(self._finish or "", "stop")
        if stop == "stop" and self._calls:
            return "tool_use"
        return "refusal" if stop == "stop" and self._refused else stop

    def _wire(self) -> Json:
        """The answer as it would have come in one piece."""
        wire: Json = {**self._extra, "role": "assistant", "content": "".join(self._text) or None}
        for field, pieces in self._thoughts.items():
            wire[field] = "".join(pieces)
        if self._details:
            wire[DETAILS] = [_joined(detail) for detail in self._details]
        if self._calls:
            wire["tool_calls"] = [call.wire() for call in self._calls]
        return wire


def _words(content: object) -> str:
    """The words of a piece of content: a text, or, from some copies, a list of texts."""
    match content:
        case None:
            return ""
        case str():
            return content
        case list() if all(isinstance(part, dict) and part.get("type") == "text" for part in content):
            return "".join(text_of(part.get("text")) for part in content)
        case _:
            raise ValueError("its content is neither a text nor a list of texts")


def _joined(detail: Json) -> Json:
    """One detail whose growing fields are lists of pieces."""
    return {key: _join(value) if key in _GROWING else value for key, value in detail.items()}


def _join(pieces: list[object]) -> object:
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return "".join(texts) if texts else pieces[-1]


def usage_of(wire: Json) -> Usage:
    """The tokens of an answer; a figure that is missing counts as none."""
    inputs, outputs = object_of(wire.get("prompt_tokens_details")), object_of(wire.get("completion_tokens_details"))
    return Usage(
        input_tokens=count_of(wire.get("prompt_tokens")),
        output_tokens=count_of(wire.get("completion_tokens")),
        cache_read_tokens=count_of(inputs.get("cached_tokens")) or count_of(wire.get("prompt_cache_hit_tokens")),
        reasoning_tokens=count_of(outputs.get("reasoning_tokens")),
        cost=cost_of(wire.get("cost")),
    )
