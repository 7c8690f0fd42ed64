"""The pass over parts in which nothing can be read, so that one of them does not cost a whole history."""

from __future__ import annotations

from suture.healing.empty import is_blank
from suture.healing.parts import is_message
from suture.healing.work import Work, as_text
from suture.messages import Opaque, Part, Reasoning


def hollow(work: Work) -> None:
    """A part in which nothing can be read is left out, and reported as it came.

    Where that is all there is, the history is none that we know, and stays for the check to refuse.
    """
    parts = [part for message in work.messages for part in message.parts]
    if not any(_is_foreign(work, part) or work.format.readable(part) is part for part in parts):
        return
    for at, message in enumerate(work.messages):
        if is_message(message):
            continue
        left = [_read(work, at, part) for part in message.parts]
        if any(new is not old for new, old in zip(left, message.parts, strict=True)):
            work.replace(at, parts=tuple([part for part in left if part is not None]))


def _is_foreign(work: Work, part: Part) -> bool:
    """Whether it is kept as another provider has it, and for other passes."""
    return type(part) is Opaque and part.provider != work.format.name


def _read(work: Work, at: int, part: Part) -> Part | None:
    """What can be read of the part; None where that is nothing."""
    left = part if _is_foreign(work, part) else work.format.readable(part)
    if left is part or (is_blank(work, part) and not work.limits.blank_text):
        return part
    action = "left out a part in which nothing can be read"
    if type(part) is Reasoning:
        work.note("TEXT_EMPTY", at, action, part=part)
    else:
        work.note("BLOCK_UNKNOWN", at, action, part=part, detail=as_text(part), lost="text")
    return left
