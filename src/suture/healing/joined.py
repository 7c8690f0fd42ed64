"""Passes over calls that follow words of the assistant's own, where the target wants both in one message."""

from __future__ import annotations

import msgspec

from suture.healing.work import Work
from suture.messages import Assistant, Message


def joined(work: Work) -> None:
    """Messages of one maker become one where the later has calls, before results are looked for: they are one batch."""
    _join(work, one_maker=True)


def rejoined(work: Work) -> None:
    """The same for those that came beside each other since, whoever made them: what they were made for is done."""
    _join(work, one_maker=False)


def _join(work: Work, *, one_maker: bool) -> None:
    if work.limits.calls_after_words:
        return
    messages: list[Message] = []
    sources: list[int | None] = []
    for at, (message, source) in enumerate(zip(work.messages, work.sources, strict=True)):
        before = messages[-1] if messages else None
        if before is not None and _belongs(before, message, one_maker=one_maker):
            work.note("CALL_AFTER_MODEL", at, "joined the message with the one before")
            messages[-1] = msgspec.structs.replace(before, parts=(*before.parts, *message.parts))
            continue
        messages.append(message)
        sources.append(source)
    work.messages, work.sources = messages, sources


def _belongs(before: Message, message: Message, *, one_maker: bool) -> bool:
    if type(before) is not Assistant or type(message) is not Assistant or not (before.parts and message.calls):
        return False
    return not one_maker or before.origin == message.origin
