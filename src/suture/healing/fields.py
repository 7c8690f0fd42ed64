"""The pass over fields of messages that the target knows in no message, or not in one of that role."""

from __future__ import annotations

from suture.formats.wire import own, without_key
from suture.healing.work import Work
from suture.messages import Assistant, Message, Reasoning


def fields(work: Work) -> None:
    """Messages have the fields that the target knows for their role, and thinking stands in none that it does not know."""
    known = work.limits.fields
    if known is None and not work.options.strict:
        return
    for at, message in enumerate(work.messages):
        if known is not None:
            _without_thoughts(work, at, known)
        if type(message) is not Assistant:
            _without_calls(work, at, message)


def _without_thoughts(work: Work, at: int, known: frozenset[str]) -> None:
    name = work.format.name
    thoughts = [part for part in work.messages[at].parts if type(part) is Reasoning]
    gone = [part for part in thoughts if not _stands_in(part, known, name)]
    for part in gone:
        work.note("FIELD_UNKNOWN", at, "left out reasoning", part=part, detail=part.text, lost="reasoning")
    if gone:
        work.remove(at, gone)


def _stands_in(part: Reasoning, known: frozenset[str], name: str) -> bool:
    kept = own(part.ext, name)
    return bool(kept) and kept.get("field", "reasoning_details") in known


def _without_calls(work: Work, at: int, message: Message) -> None:
    """Leave out the calls of a message that is not the assistant's."""
    kept = own(message.ext, work.format.name)
    if "tool_calls" in kept:
        work.note("FIELD_UNKNOWN", at, "left out the field 'tool_calls'", detail=repr(kept["tool_calls"]), lost="call")
        work.replace(at, ext=without_key(message.ext, work.format.name, "tool_calls"))
