"""Turns that came in several messages, one block each, as some programs store an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from suture.healing.work import Work
from suture.messages import Assistant, Message, Part, ToolCall


class Share(NamedTuple):
    """One message of a turn that was joined from several."""

    message: Message
    source: int | None


class Slot(NamedTuple):
    """A call: the index at first of its message, and its number there."""

    source: int | None
    slot: int | None


def join_turns(work: Work) -> dict[int, list[Share]]:
    """Join messages that only add calls to those of the one before, as the target does; their shares, by index."""
    turns: dict[int, list[Share]] = {}
    messages: list[Message] = []
    sources: list[int | None] = []
    for message, source in zip(work.messages, work.sources, strict=True):
        if messages and goes_on(before := messages[-1], message):
            at = len(messages) - 1
            turns.setdefault(at, [Share(before, sources[at])]).append(Share(message, source))
        else:
            messages.append(message)
            sources.append(source)
    for at, shares in turns.items():
        parts = tuple([part for share in shares for part in share.message.parts])
        messages[at] = msgspec.structs.replace(messages[at], parts=parts)
    work.messages, work.sources = messages, sources
    return turns


def goes_on(before: Message, message: Message) -> bool:
    """Whether a message only adds calls to those of the one before, as blocks of one answer do."""
    if type(message) is not Assistant or type(before) is not Assistant or not (before.parts and message.parts):
        return False
    return type(before.parts[-1]) is ToolCall and all(type(part) is ToolCall for part in message.parts)


def slots_of(turns: dict[int, list[Share]]) -> dict[int, list[Slot]]:
    """Where each call of a joined turn came from."""
    return {
        at: [Slot(share.source, slot) for share in shares for slot in range(_number_of_calls(share.message))]
        for at, shares in turns.items()
    }


def _number_of_calls(message: Message) -> int:
    return sum(type(part) is ToolCall for part in message.parts)


def origins_of(message: Message, shares: Sequence[Share]) -> list[Slot]:
    """For each part of a joined message: where it came from, and which call of that message it is."""
    known: dict[int, Slot] = {}
    for share in shares:
        numbers = iter(range(len(share.message.parts)))
        for part in share.message.parts:
            known[id(part)] = Slot(share.source, next(numbers) if type(part) is ToolCall else None)
    return [known[id(part)] for part in message.parts]


def split_turns(work: Work, shares: dict[int, list[Share]], origins: dict[int, list[Slot]]) -> None:
    """Undo `join_turns`."""
    if not shares:
        return
    messages: list[Message] = []
    sources: list[int | None] = []
    for at, (message, source) in enumerate(zip(work.messages, work.sources, strict=True)):
        pieces = _pieces(message, shares[at], origins[at]) if at in shares else [Share(message, source)]
        messages += [piece.message for piece in pieces]
        sources += [piece.source for piece in pieces]
    work.messages, work.sources = messages, sources


def _pieces(message: Message, shares: Sequence[Share], origins: Sequence[Slot]) -> list[Share]:
    """The joined message as those that it was made of, as far as anything of them is left."""
    parts: dict[int | None, list[Part]] = {}
    for part, origin in zip(message.parts, origins, strict=True):
        parts.setdefault(origin.source, []).append(part)
    pieces: list[Share] = []
    for share in shares:
        left = tuple(parts.get(share.source, ()))
        if list(map(id, left)) == list(map(id, share.message.parts)):
            pieces.append(share)
        elif left:
            pieces.append(Share(msgspec.structs.replace(share.message, parts=left), share.source))
    return pieces
