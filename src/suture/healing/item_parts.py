"""What can be done to one part of a turn whose items a provider stores."""

from __future__ import annotations

import msgspec

from suture.formats.wire import own, rest
from suture.healing.work import as_text
from suture.messages import Ext, Message, Opaque, Part, Reasoning, Text, ToolCall


def words_of(part: Reasoning) -> str:
    """What reasoning says, or all of it where it says nothing."""
    return part.text or as_text(part)


def is_silent(message: Message) -> bool:
    """Whether a turn says nothing at all, so that it goes as a whole."""
    return all(type(part) is Reasoning or (type(part) is Text and not part.text) for part in message.parts)


def is_server_call(part: Part) -> bool:
    """Whether the provider ran it, and knows it by its id."""
    raw = part.raw if type(part) is Opaque else None
    return isinstance(raw, dict) and "id" in raw and str(raw.get("type")).endswith("_call")


def nameless(part: Part, name: str) -> Part:
    """The part without the id of its item; the same where it has none."""
    if type(part) is ToolCall and part.item_id is not None:
        return msgspec.structs.replace(part, item_id=None)
    return without_field(part, name, "id")


def without_field(part: Part, name: str, field: str) -> Part:
    """The part without a field of its item, or of itself; the same where it has none."""
    if isinstance(part, Opaque):
        raw = part.raw
        return Opaque(part.provider, rest(raw, frozenset((field,)))) if isinstance(raw, dict) and field in raw else part
    kept = own(part.ext, name)
    item = kept.get("item")
    if isinstance(item, dict) and field in item:
        kept = {**kept, "item": rest(item, frozenset((field,)))}
    elif field in kept:
        kept = rest(kept, frozenset((field,)))
    else:
        return part
    return msgspec.structs.replace(part, ext={**(part.ext or {}), name: kept})


def less(ext: Ext | None, name: str, key: str) -> Ext | None:
    """What is kept for the format without one key; what is left stays, even where it is nothing."""
    return None if ext is None else {**ext, name: rest(own(ext, name), frozenset((key,)))}
