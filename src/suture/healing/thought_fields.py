"""The pass over thinking that a message with calls must carry."""

from __future__ import annotations

import msgspec

from suture.formats.chat.thinking import FIELD
from suture.formats.wire import own
from suture.healing.work import Work
from suture.messages import Assistant, Reasoning

MISSING = "REASONING_FIELD_MISSING"


def thought_fields(work: Work) -> None:
    """Each message with calls carries its thinking where the target looks for it, or what stands in for it.

    Of a history only where the check found that it is missing: the request may have switched thinking off.
    """
    if work.limits.reasoning_field is None or not work.has_found(MISSING):
        return
    for at, message in enumerate(work.messages):
        if type(message) is Assistant and message.calls:
            _think(work, at, message, work.limits.reasoning_field)


def _think(work: Work, at: int, message: Assistant, stand_in: str) -> None:
    name = work.format.name
    thoughts = [part for part in message.parts if type(part) is Reasoning]
    if any(own(part.ext, name).get("field") == FIELD and (part.text or not stand_in) for part in thoughts):
        return
    first = thoughts[0] if thoughts else None
    text = (first.text if first else "") or stand_in
    action = f"wrote the reasoning under {FIELD!r}" if text != stand_in else f"put {stand_in!r} in the place of reasoning"
    work.note(MISSING, at, action, detail=text)
    kept = own(first.ext, name) if first else {}
    fresh = msgspec.structs.replace(first or Reasoning(), text=text, ext={name: {**kept, "field": FIELD}})
    work.replace(at, parts=(fresh, *[part for part in message.parts if part is not first]))
