"""OpenAI's Responses, written: neutral messages to input items, and a healed history around what did not change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from suture.formats.base import Decoded, Json, Rewritten, Written
from suture.formats.chat.objects import arguments_text
from suture.formats.openai_responses.items import CALLS, NAME, OF_ONE_RESPONSE
from suture.formats.openai_responses.outputs import content_of, output_item, unsaid
from suture.formats.openai_responses.parts import is_exact, part_wire
from suture.formats.wire import own, rest
from suture.messages import (
    Assistant,
    Message,
    Opaque,
    Part,
    Reasoning,
    System,
    Text,
    ToolCall,
    ToolResult,
    User,
)

_SHAPE = frozenset(("content", "role", "type"))
_CALL = frozenset(("type",))

NOTE = "From the result of {id}: "


def encode(messages: Sequence[Message]) -> list[Json]:
    """The input items."""
    return [item for _, items in _Writing(messages).run() for item in items]


class _Writing:
    """One list of messages; an output is written as its call wants it, and what it cannot say follows its batch."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self.kinds: dict[str, str] = {}
        self.notes: list[str] = []

    def run(self) -> Iterator[tuple[int | None, list[Json]]]:
        """For each message its index and items; no index for what is new."""
        for at, message in enumerate(self.messages):
            if type(message) is ToolResult:
                kind = self.kinds.get(message.call_id, "function_call")
                if words := unsaid(message, kind):
                    self.notes.append(NOTE.format(id=message.call_id) + words)
                yield at, [output_item(message, kind)]
                continue
            yield from self._noted()
            if type(message) is Assistant:
                self.kinds = {call.id: kind_of(call) for call in message.calls}
                yield at, [item for _, item in assistant_items(message)]
            else:
                yield at, [said_item(message)]
        yield from self._noted()

    def _noted(self) -> Iterator[tuple[int | None, list[Json]]]:
        if self.notes:
            yield None, [{"type": "message", "role": "user", "content": "\n".join(self.notes)}]
            self.notes = []


# Items ----------------------------------------------------------------------------------------


def kind_of(call: ToolCall) -> str:
    """The type of item that the call is."""
    kind = own(call.ext, NAME).get("type")
    return kind if isinstance(kind, str) and kind in CALLS else "function_call"


def is_item(raw: object) -> bool:
    """Whether what was kept as it came may be part of another request than the one that it came for."""
    return isinstance(raw, dict) and isinstance(raw.get("type"), str) and raw["type"] not in OF_ONE_RESPONSE


def said_item(message: User | System | Assistant | ToolResult) -> Json:
    """A message of somebody who is no model."""
    match message.parts:
        case (Opaque(provider="openai-responses", raw=dict() as raw),) if isinstance(raw.get("role"), str):
            return raw
    kept = own(message.ext, NAME)
    is_developer = kept.get("role") == "developer"
    role = ("developer" if is_developer else "system") if type(message) is System else "user"
    return _message_item(role, message.parts, kept)


def _message_item(role: str, parts: Sequence[Part], kept: Json) -> Json:
    kind = kept.get("type", "message")
    head: Json = {} if kind is None else {"type": kind}
    return {**head, "role": role, "content": content_of(role, parts, kept.get("content")), **rest(kept, _SHAPE)}


def assistant_items(message: Assistant) -> list[tuple[list[Part], Json]]:
    """The items of a turn, each with the parts that it is made of."""
    return [(group, item) for group in _groups(message.parts) if (item := _item_of(group)) is not None]


def _groups(parts: Sequence[Part]) -> list[list[Part]]:
    """The parts of each item: words that follow each other are one message, unless they came as two."""
    groups: list[list[Part]] = []
    goes_on = False
    for part in parts:
        is_words = type(part) not in (Reasoning, ToolCall, Opaque)
        if is_words and goes_on and "item" not in _ext_of(part):
            groups[-1].append(part)
        else:
            groups.append([part])
        goes_on = is_words
    return groups


def _ext_of(part: Part) -> Json:
    return own(part.ext, NAME) if not isinstance(part, Opaque) else {}


def _item_of(group: Sequence[Part]) -> Json | None:
    """The item of these parts; None where there is none for them."""
    match group[0]:
        case Opaque(provider=provider, raw=raw):
            return raw if provider == NAME and isinstance(raw, dict) else None
        case ToolCall() as call:
            return call_item(call)
        case Reasoning() as part:
            return _reasoning_item(part)
    if all(type(part) is Text and not part.text and not is_exact(part) for part in group):
        return None
    kept = _ext_of(group[0]).get("item")
    parts = [part for part in group if part_wire(part, "assistant") is not None]
    return _message_item("assistant", parts, kept if isinstance(kept, dict) else {}) if parts else None


def _reasoning_item(part: Reasoning) -> Json | None:
    """Reasoning as it came; none for what another provider made."""
    kept = own(part.ext, NAME)
    if not kept:
        return None
    head: Json = {"type": "reasoning"} | ({} if part.item_id is None else {"id": part.item_id})
    tail: Json = {} if part.encrypted is None else {"encrypted_content": part.encrypted}
    return {**head, "summary": [], **rest(kept, _CALL), **tail}


def call_item(call: ToolCall) -> Json:
    """One call."""
    kind, kept = kind_of(call), rest(own(call.ext, NAME), _CALL)
    id = {} if call.item_id is None else {"id": call.item_id}
    head: Json = {"type": kind, **id, "call_id": call.id}
    if kind == "function_call":
        return {**head, "name": call.name, "arguments": arguments_text(call), **kept}
    if kind == "custom_tool_call":
        return {**head, "name": call.name, "input": (call.arguments or {}).get("input"), **kept}
    return {**head, **(call.arguments or {}), **kept}


# A healed history -----------------------------------------------------------------------------


class Rewriting:
    """One healed history: an item whose parts did not change is the very object that it was."""

    def __init__(self, raw: Sequence[Json], decoded: Decoded, written: Written) -> None:
        self.raw = raw
        self.decoded = decoded
        self.written = written
        self.sizes = Counter(decoded.items.values())

    def run(self) -> Rewritten:
        """The items, each with the index that it had."""
        out: list[Json] = []
        homes: list[int | None] = []
        for at, fresh in _Writing(self.written.messages).run():
            for item, home in self._items(at, fresh):
                out.append(item if home is None else self._as_came(item, home))
                homes.append(home)
        return Rewritten(out, homes)

    def _items(self, at: int | None, fresh: Sequence[Json]) -> Iterator[tuple[Json, int | None]]:
        source = None if at is None else self.written.sources[at]
        if at is None or source is None:
            yield from ((item, None) for item in fresh)
            return
        message, old = self.written.messages[at], self.decoded.messages[source]
        if type(message) is Assistant and type(old) is Assistant:
            yield from self._turn(message, old)
        else:
            home = self.decoded.homes[source]
            yield from ((self.raw[home] if message is old else item, home) for item in fresh)

    def _turn(self, message: Assistant, old: Assistant) -> Iterator[tuple[Json, int | None]]:
        """The items of a turn; a part that changed stands where the next old one of its sort stood."""
        items = self.decoded.items
        left = {id(part) for part in message.parts}
        changed = [part for part in old.parts if id(part) not in left]
        at = 0
        for group, fresh in assistant_items(message):
            known = {items[id(part)] for part in group if id(part) in items}
            if len(known) == 1 and len(group) == self.sizes[home := next(iter(known))]:
                whole = all(id(part) in items for part in group)
                yield (self.raw[home] if whole else fresh), home
                continue
            found = next((n for n in range(at, len(changed)) if type(changed[n]) is type(group[0])), None)
            if known or found is None:
                yield fresh, next(iter(known), None)
            else:
                at = found + 1
                yield fresh, items[id(changed[found])]

    def _as_came(self, item: Json, home: int) -> Json:
        """The item with its keys in the order in which they came; the very object where it came to the same."""
        raw = self.raw[home]
        return raw if item == raw else {**{key: item[key] for key in raw if key in item}, **item}
