"""The pass over signatures of words and calls: only good where they were made, and wanted back there."""

from __future__ import annotations

import re

import msgspec

from suture.healing.work import Work
from suture.messages import Assistant, Part, Text, ToolCall, User


def signatures(work: Work) -> None:
    """Signatures have the form of the target's own, and the first call of each step since the user spoke has one."""
    if work.limits.signature_pattern is None:
        return
    fits = re.compile(work.limits.signature_pattern).fullmatch
    current = _current(work)
    for at, message in enumerate(work.messages):
        if type(message) is not Assistant:
            continue
        elsewhere = message.origin is not None and work.format.name not in (message.origin.provider, message.origin.api)
        for part in message.parts:
            if type(part) in (Text, ToolCall) and part.signature and (elsewhere or not fits(part.signature)):  # type: ignore[union-attr]
                work.note("SIGNATURE_FORM", at, "left out a signature that is not the target's", part=part)
                _replace(work, at, part, None)
        if at >= current and work.limits.signature is not None:
            _sign_first(work, at)


def _sign_first(work: Work, at: int) -> None:
    """Calls of one step are signed on the first alone."""
    call = next((part for part in work.messages[at].parts if type(part) is ToolCall), None)
    if call is not None and not call.signature:
        detail = work.limits.signature or ""
        work.note(
            "SIGNATURE_MISSING", at, "put the documented stand-in for a signature", part=call, call=call.id, detail=detail
        )
        _replace(work, at, call, work.limits.signature)


def _current(work: Work) -> int:
    """Where the current turn begins: behind the last message of the user's."""
    return next((at for at in range(len(work.messages) - 1, -1, -1) if type(work.messages[at]) is User), 0)


def _replace(work: Work, at: int, old: Part, signature: str | None) -> None:
    fresh = [
        msgspec.structs.replace(part, signature=signature) if part is old else part for part in work.messages[at].parts
    ]
    work.replace(at, parts=tuple(fresh))
