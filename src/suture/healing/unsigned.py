"""The pass over a target's own reasoning where it takes less back than it gives."""

from __future__ import annotations

import msgspec

from suture.healing.work import Work
from suture.messages import Assistant, Part, Reasoning


def unsigned(work: Work) -> None:
    """Reasoning goes back without its signature, or not at all, where the target wants that."""
    if work.limits.reasoning_back == "as it came":
        return
    for at, message in enumerate(work.messages):
        if type(message) is not Assistant:
            continue
        left = [_less(work, at, part) if type(part) is Reasoning else part for part in message.parts]
        if any(new is not old for new, old in zip(left, message.parts, strict=True)):
            work.replace(at, parts=tuple([part for part in left if part is not None]))


def _less(work: Work, at: int, thought: Reasoning) -> Part | None:
    """What goes back of reasoning; None when nothing does."""
    if work.limits.reasoning_back == "none" or thought.redacted:
        detail = thought.text or "(redacted)"
        work.note("THINKING_FOREIGN", at, "left out reasoning", part=thought, detail=detail, lost="reasoning")
        return None
    if thought.signature is None:
        return thought
    work.note("SIGNATURE_FORM", at, "left out the signature of reasoning", part=thought, detail=thought.signature)
    return msgspec.structs.replace(thought, signature=None)
