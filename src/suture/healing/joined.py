"""Passes over calls that follow words of the assistant's own, where the target wants both in one message."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from suture.healing.work import Work
from suture.messages import Assistant, Message


def joined(work: Work) -> None:
    """Messages of one maker become one up to their last call, before results are looked for: they are one batch."""
    _join(work, one_maker=True)


def rejoined(work: Work) -> None:
    """The same for those that came beside each other since, whoever made them: what they were made for is done."""
    _join(work, one_maker=False)


def _join(work: Work, *, one_maker: bool) -> None:
    if work.limits.calls_after_words:
        return
    messages: list[Message] = []
    sources: list[int | None] = []
    for start, end in _runs(work.messages, one_maker=one_maker):
        last = next((at for at in range(end - 1, start, -1) if _calls(work.messages[at])), start)
        for at in range(start + 1, last + 1):
            work.note("CALL_AFTER_MODEL", at, "joined the message with the one before")
        first = work.messages[start]
        if last > start:
            parts = [part for message in work.messages[start : last + 1] for part in message.parts]
            first = msgspec.structs.replace(first, parts=tuple(parts))
        messages += [first, *work.messages[last + 1 : end]]
        sources += [work.sources[start], *work.sources[last + 1 : end]]
    work.messages, work.sources = messages, sources


def _runs(messages: list[Message], *, one_maker: bool) -> Iterator[tuple[int, int]]:
    """Where the assistant's messages that stand beside each other begin and end; any other is a run of its own."""
    start = 0
    for at in range(1, len(messages) + 1):
        if at == len(messages) or not _goes_on(messages[at - 1], messages[at], one_maker=one_maker):
            yield start, at
            start = at


def _goes_on(before: Message, message: Message, *, one_maker: bool) -> bool:
    if type(before) is not Assistant or type(message) is not Assistant:
        return False
    return not one_maker or before.origin == message.origin


def _calls(message: Message) -> bool:
    return type(message) is Assistant and bool(message.calls)
