"""Passes over signatures: only good where they were made, and wanted back there."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from suture.healing.work import Work
from suture.messages import Assistant, Message, Part, Reasoning, Text, ToolCall, User


def signatures(work: Work) -> None:
    """Signatures have the form of the target's own, and were made there."""
    if work.limits.signature_pattern is None:
        return
    fits = re.compile(work.limits.signature_pattern).fullmatch
    for at, message in enumerate(work.messages):
        elsewhere = _is_from_elsewhere(work, message)
        signed = [part for part in message.parts if isinstance(part, Text | ToolCall | Reasoning) and part.signature]
        foreign = [part for part in signed if elsewhere or not fits(part.signature or "")]
        for part in foreign:
            action = "left out a signature that is not the target's"
            work.note("SIGNATURE_FORM", at, action, part=part, detail=part.signature or "")
        if foreign:
            _replace(work, at, foreign, None)


def _is_from_elsewhere(work: Work, message: Message) -> bool:
    origin = message.origin if type(message) is Assistant else None
    return origin is not None and work.format.name not in (origin.provider, origin.api)


def stand_in_signatures(work: Work) -> None:
    """The first call of each step since the user spoke has a signature, where the target wants one.

    This looks at who spoke last, so it comes when that is settled.
    """
    if work.limits.signature is None:
        return
    for at in range(_current(work), len(work.messages)):
        message = work.messages[at]
        if type(message) is Assistant and message.calls:
            _sign_first(work, at, message.calls[0], work.limits.signature)


def _sign_first(work: Work, at: int, call: ToolCall, signature: str) -> None:
    """Calls of one step are signed on the first alone."""
    if not call.signature:
        action = "put the documented stand-in for a signature"
        work.note("SIGNATURE_MISSING", at, action, part=call, call=call.id, detail=signature)
        _replace(work, at, [call], signature)


def _current(work: Work) -> int:
    """Where the current turn begins: behind the last message of the user's."""
    return next((at for at in range(len(work.messages) - 1, -1, -1) if type(work.messages[at]) is User), 0)


def _replace(work: Work, at: int, old: Sequence[Part], signature: str | None) -> None:
    those = {id(part) for part in old}
    fresh = [
        msgspec.structs.replace(part, signature=signature) if id(part) in those else part
        for part in work.messages[at].parts
    ]
    work.replace(at, parts=tuple(fresh))
