"""The pass over what only a model makes and stands in another's message: calls, and those of a provider's own tools."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from suture.formats.wire import is_server_part
from suture.healing.work import Work
from suture.messages import Assistant, Message, Opaque, Part, System, ToolCall, User

CODE = "CALL_MISPLACED"


def misplaced(work: Work) -> None:
    """Calls stand in messages of the assistant's, so that they find their results; words around them stay the user's."""
    messages: list[Message] = []
    sources: list[int | None] = []
    for at, (message, source) in enumerate(zip(work.messages, work.sources, strict=True)):
        if type(message) not in (User, System) or not any(map(_is_made, message.parts)):
            messages.append(message)
            sources.append(source)
            continue
        for part in filter(_is_made, message.parts):
            action, call = "moved it into a message of the assistant's", part.id if type(part) is ToolCall else None
            work.note(CODE, at, action, part=part, call=call)
        runs = list(_runs(message))
        messages += runs
        sources += [source, *[None] * (len(runs) - 1)]
    work.messages, work.sources = messages, sources


def _runs(message: Message) -> Iterator[Message]:
    """The message in pieces, by who can have made them."""
    run: list[Part] = []
    for part in message.parts:
        if run and _is_made(part) != _is_made(run[-1]):
            yield _piece(message, run)
            run = []
        run.append(part)
    yield _piece(message, run)


def _piece(message: Message, parts: list[Part]) -> Message:
    return Assistant(tuple(parts)) if _is_made(parts[0]) else msgspec.structs.replace(message, parts=tuple(parts))


def _is_made(part: Part) -> bool:
    return type(part) is ToolCall or (type(part) is Opaque and is_server_part(part.raw))
