"""A stream of OpenAI's Responses, put together: events in, the items that the model made out, as they are sent back.

The last event has the whole answer, and counts. Where it leaves the items out, as some servers do, those that were
finished count, and of one that was not, the pieces. An event that is not known is passed over; what would make the answer
larger than any is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from suture.errors import IncompleteStream, InvalidAnswer
from suture.formats.base import Json

MAX_CHARACTERS = 32 * 1024 * 1024
MAX_EVENTS = 1_000_000
MAX_ITEMS = 10_000

_LAST = ("response.completed", "response.incomplete", "response.failed")

# Which field of an item, or of one of its parts, a piece of text goes on with; `done` events hold the whole of it.
_FIELDS = {"response.function_call_arguments": "arguments", "response.custom_tool_call_input": "input"}
_FIELDS["response.mcp_call_arguments"] = "arguments"
_PARTS = {
    "response.output_text": ("content", "content_index", "output_text", "text"),
    "response.refusal": ("content", "content_index", "refusal", "refusal"),
    "response.reasoning_text": ("content", "content_index", "reasoning_text", "text"),
    "response.reasoning_summary_text": ("summary", "summary_index", "summary_text", "text"),
}
_WHOLE_PARTS = {
    "response.content_part": ("content", "content_index"),
    "response.reasoning_summary_part": ("summary", "summary_index"),
}


class Answer(NamedTuple):
    """What came: the items, how it ended (completed, incomplete, failed), and what was counted.

    `reason` says why it is incomplete, such as `max_output_tokens`; `error` is the provider's own, where it failed.
    """

    items: list[Json]
    status: str
    usage: Json | None = None
    id: str | None = None
    model: str | None = None
    reason: str | None = None
    error: Json | None = None


def answer_of(events: Iterable[Json]) -> Answer:
    """The answer that the events tell.

    Raises:
        IncompleteStream: they end before their last one.
        InvalidAnswer: there is too much of it, or a piece of it belongs nowhere.
    """
    assembly = Assembly()
    for event in events:
        assembly.add(event)
    return assembly.answer()


class Assembly:
    """One answer that is being streamed."""

    def __init__(self) -> None:
        self._items: dict[int, Json] = {}
        self._texts: dict[tuple[int, str, int | None], list[str]] = {}
        self._finished: set[int] = set()
        self._answer: Answer | None = None
        self._events = 0
        self._characters = 0

    def add(self, event: Json) -> None:
        """Take in an event; after the last one nothing counts.

        Raises:
            InvalidAnswer: there is too much of the answer, or pieces of it are all that came, and belong nowhere.
        """
        self._events += 1
        if self._events > MAX_EVENTS:
            raise InvalidAnswer(f"The answer's stream has more than {MAX_EVENTS:,} events.")
        kind = event.get("type")
        if self._answer is not None or not isinstance(kind, str):
            return
        if kind in _LAST:
            self._answer = self._whole(kind, event.get("response"))
        elif kind == "error":
            self._answer = self._broken(event)
        elif kind in ("response.output_item.added", "response.output_item.done"):
            self._item(event, is_done=kind.endswith("done"))
        else:
            self._piece(kind, event)

    def answer(self) -> Answer:
        """The whole answer.

        Raises:
            IncompleteStream: its last event has not come.
        """
        if self._answer is None:
            raise IncompleteStream
        return self._answer

    # Pieces

    def _item(self, event: Json, *, is_done: bool) -> None:
        index, item = _index(event, "output_index"), event.get("item")
        if not isinstance(item, dict):
            raise InvalidAnswer("The answer's stream names an item and does not hold it.")
        if len(self._items) >= MAX_ITEMS and index not in self._items:
            raise InvalidAnswer(f"The answer has more than {MAX_ITEMS:,} items.")
        self._items[index] = {key: list(value) if isinstance(value, list) else value for key, value in item.items()}
        if is_done:
            self._finished.add(index)

    def _piece(self, kind: str, event: Json) -> None:
        """A piece of one item, or the whole of a piece that is finished."""
        name, _, stage = kind.rpartition(".")
        if name in _WHOLE_PARTS and stage in ("added", "done"):
            key, number = _WHOLE_PARTS[name]
            self._part(event, key, _index(event, number))
        elif name in _FIELDS and stage in ("delta", "done"):
            field = _FIELDS[name]
            self._text(event, stage, (_index(event, "output_index"), field, None), field)
        elif name in _PARTS and stage in ("delta", "done"):
            key, number, _, field = _PARTS[name]
            place = (_index(event, "output_index"), f"{key}.{field}", _index(event, number))
            self._text(event, stage, place, field)

    def _part(self, event: Json, key: str, at: int) -> None:
        """A part of an item; its words come in pieces."""
        item, part = self._items.get(_index(event, "output_index")), event.get("part")
        if item is None or not isinstance(part, dict):
            return
        parts = item.setdefault(key, [])
        if not isinstance(parts, list) or at > len(parts) or at >= MAX_ITEMS:
            raise InvalidAnswer(f"Part {at} of an item of the answer comes before the parts in front of it.")
        parts[at : at + 1] = [part]

    def _text(self, event: Json, stage: str, place: tuple[int, str, int | None], field: str) -> None:
        text = event.get("delta") if stage == "delta" else event.get(field)
        if not isinstance(text, str):
            return
        self._characters += len(text)
        if self._characters > 2 * MAX_CHARACTERS:  # each text comes twice: in pieces, and whole
            raise InvalidAnswer(f"The answer has more than {MAX_CHARACTERS:,} characters.")
        if stage == "delta":
            self._texts.setdefault(place, []).append(text)
        else:
            self._texts[place] = [text]

    # The whole

    def _whole(self, kind: str, response: object) -> Answer:
        held = response if isinstance(response, dict) else {}
        output = held.get("output")
        items = output if isinstance(output, list) and output else self._pieced()
        details = held.get("incomplete_details")
        return Answer(
            items=[item for item in items if isinstance(item, dict)],
            status=kind.rpartition(".")[2],
            usage=_object(held.get("usage")),
            id=_text_or_none(held.get("id")),
            model=_text_or_none(held.get("model")),
            reason=_text_or_none(details.get("reason")) if isinstance(details, dict) else None,
            error=_object(held.get("error")),
        )

    def _broken(self, event: Json) -> Answer:
        """The provider breaks off; the items so far are what is left of the answer."""
        inner = _object(event.get("error")) or {key: event[key] for key in ("code", "message", "param") if key in event}
        return Answer(self._pieced(), "failed", error=inner)

    def _pieced(self) -> list[Json]:
        """The items in their order; what was not finished with the pieces that came of it."""
        for (index, place, at), pieces in self._texts.items():
            if index not in self._items:
                raise InvalidAnswer(f"A piece of the answer belongs to item {index}, which has not begun.")
            if index not in self._finished:
                self._items[index] = _with_text(self._items[index], place, at, "".join(pieces))
        return [self._items[index] for index in sorted(self._items)]


def _with_text(item: Json, place: str, at: int | None, text: str) -> Json:
    if at is None:
        return {**item, place: text}
    key, _, field = place.partition(".")
    held = item.get(key)
    parts = [part for part in held if isinstance(part, dict)] if isinstance(held, list) else []
    if at == len(parts):
        kind = next(kind for name, _, kind, words in _PARTS.values() if (name, words) == (key, field))
        parts.append({"type": "reasoning_text" if item.get("type") == "reasoning" and key == "content" else kind})
    if at < len(parts):
        parts[at] = {**parts[at], field: text}
    return {**item, key: parts}


def _index(event: Json, key: str) -> int:
    value = event.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _object(value: object) -> Json | None:
    return value if isinstance(value, dict) else None


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None
