"""The pass over thoughts that are the target's own: copies, and those that a request without thinking must not end in."""

from __future__ import annotations

from suture.healing.work import Work
from suture.messages import Assistant, Part, Reasoning


def thoughts(work: Work) -> None:
    """No thought stands twice in its message, and none in a final one where the request turned thinking off."""
    if work.limits.reasoning != "signed":
        return
    for at in range(len(work.messages)):
        leave_out_copies(work, at)
    # Of what the request asks for, only the check knows.
    if work.found is not None and "THINKING_DISABLED_FINAL" in work.found:
        _final(work)


def leave_out_copies(work: Work, at: int) -> None:
    """Leave out thoughts that stand in the same message before."""
    message = work.messages[at]
    if type(message) is Assistant and (gone := _copies(message)):
        for slot in sorted(gone):
            work.note("THINKING_MODIFIED", at, "left out a copy of a thought", part=message.parts[slot])
        work.replace(at, parts=tuple([part for slot, part in enumerate(message.parts) if slot not in gone]))


def _copies(message: Assistant) -> set[int]:
    """The indexes of thoughts that stand in the message before."""
    first: dict[str, Part] = {}
    gone: set[int] = set()
    for slot, part in enumerate(message.parts):
        signature = (part.signature or part.encrypted) if type(part) is Reasoning else None
        if signature and first.get(signature) == part:
            gone.add(slot)
        elif signature:
            first.setdefault(signature, part)
    return gone


def _final(work: Work) -> None:
    last = work.messages[-1] if work.messages else None
    if type(last) is not Assistant or last.calls:
        return
    at = len(work.messages) - 1
    gone = [part for part in last.parts if type(part) is Reasoning]
    for part in gone:
        detail = part.text or "(redacted)"
        work.note("THINKING_DISABLED_FINAL", at, "left out reasoning", part=part, detail=detail, lost="reasoning")
    work.remove(at, gone)
