"""The pass over fields of messages that the target knows in no message, or not in one of that role."""

from __future__ import annotations

from suture.formats.wire import own, without_key
from suture.healing.work import Work
from suture.messages import Assistant, Message, Part, Reasoning


def fields(work: Work) -> None:
    """Messages have the fields that the target knows for their role, and thinking stands in none that it does not know."""
    known = work.limits.fields
    if known is None:
        return
    name = work.format.name
    for at, message in enumerate(work.messages):
        gone = [part for part in message.parts if type(part) is Reasoning and not _stands_in(part, known, name)]
        for part in gone:
            work.note("FIELD_UNKNOWN", at, "left out reasoning", part=part, detail=part.text, lost="reasoning")
        if gone:
            work.remove(at, gone)
        if _has_calls_of_another(message, name):
            kept = own(message.ext, name)["tool_calls"]
            work.note("FIELD_UNKNOWN", at, "left out the field 'tool_calls'", detail=repr(kept), lost="call")
            work.replace(at, ext=without_key(work.messages[at].ext, name, "tool_calls"))


def _stands_in(part: Part, known: frozenset[str], name: str) -> bool:
    kept = own(part.ext, name)  # type: ignore[union-attr]
    return bool(kept) and kept.get("field", "reasoning_details") in known


def _has_calls_of_another(message: Message, name: str) -> bool:
    """Whether a message that is not the assistant's has calls."""
    return type(message) is not Assistant and "tool_calls" in own(message.ext, name)
