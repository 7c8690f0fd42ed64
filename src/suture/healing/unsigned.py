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
        for part in message.parts:
            if type(part) is not Reasoning:
                continue
            if work.limits.reasoning_back == "none" or part.redacted:
                detail = part.text or "(redacted)"
                work.note("THINKING_FOREIGN", at, "left out reasoning", part=part, detail=detail, lost="reasoning")
                work.remove(at, [part])
            elif part.signature is not None:
                _take_signature(work, at, part)


def _take_signature(work: Work, at: int, thought: Reasoning) -> None:
    work.note("SIGNATURE_FORM", at, "left out the signature of reasoning", part=thought, detail=thought.signature or "")
    bare = msgspec.structs.replace(thought, signature=None)
    parts: list[Part] = [bare if part is thought else part for part in work.messages[at].parts]
    work.replace(at, parts=tuple(parts))
