"""Passes over messages beside each other: words beside calls, the user behind a result, two of one role."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from suture.healing.order import CONTINUED
from suture.healing.parts import is_message
from suture.healing.work import Work
from suture.messages import Assistant, Message, Part, Reasoning, System, Text, ToolCall, ToolResult, User

NOTED = "(noted)"


def apart(work: Work) -> None:
    """Words and calls stand in messages of their own, where the target refuses them in one."""
    if work.limits.text_with_calls:
        return
    messages: list[Message] = []
    sources: list[int | None] = []
    for at, message in enumerate(work.messages):
        words = [part for part in message.parts if type(part) is Text] if type(message) is Assistant else []
        if words and any(type(part) is ToolCall for part in message.parts):
            said = "".join(part.text for part in words)
            if work.limits.alternate or not said.strip():
                work.note("TEXT_WITH_TOOL", at, "left out the words beside the calls", detail=said, lost="text")
            else:
                work.note("TEXT_WITH_TOOL", at, "moved the words into a message before the calls", detail=said)
                messages.append(Assistant(tuple(words)))
                sources.append(None)
            work.remove(at, words)
        messages.append(work.messages[at])
        sources.append(work.sources[at])
    work.messages, work.sources = messages, sources


def bridge(work: Work) -> None:
    """The assistant speaks between a result and the user, where the target wants that."""
    if work.limits.user_after_result:
        return
    messages: list[Message] = []
    sources: list[int | None] = []
    for at, (message, source) in enumerate(zip(work.messages, work.sources, strict=True)):
        if type(message) is User and messages and type(messages[-1]) is ToolResult:
            action = "put a message of the assistant's between the result and the user's words"
            work.note("USER_AFTER_TOOL", at, action, detail=NOTED)
            messages.append(Assistant((Text(NOTED),)))
            sources.append(None)
        messages.append(message)
        sources.append(source)
    work.messages, work.sources = messages, sources


def neighbours(work: Work) -> None:
    """No two messages of one role stand beside each other, where the target refuses that.

    They become one; but a turn in which a model thought stays as it was made, so the user speaks in between.
    """
    if not work.limits.alternate:
        return
    groups: list[list[Message]] = []
    sources: list[int | None] = []
    for at, (message, source) in enumerate(zip(work.messages, work.sources, strict=True)):
        before = groups[-1][-1] if groups else None
        if before is not None and _stand_alike(before, message, work):
            if not (_thinks(before) or _thinks(message)):
                work.note("ROLE_REPEAT", at, "joined the message with the one before")
                groups[-1].append(message)
                continue
            work.note("ROLE_REPEAT", at, "put a message of the user's between", detail=CONTINUED)
            groups.append([User((Text(CONTINUED),))])
            sources.append(None)
        groups.append([message])
        sources.append(source)
    work.messages, work.sources = [_joined(group, work) for group in groups], sources


def _stand_alike(before: Message, message: Message, work: Work) -> bool:
    """Whether two neighbours are of one role that may not be repeated; of a role that is not known, nothing is."""
    if type(message) is not type(before) or type(message) is ToolResult:
        return False
    if type(message) is System:
        return work.limits.system == "one"
    return not (is_message(before) or is_message(message))


def _joined(group: Sequence[Message], work: Work) -> Message:
    """The messages as one. What the assistant said in several is kept apart where it goes out as one text."""
    parts: list[Part] = []
    for message in group:
        meets = parts and type(parts[-1]) is Text and message.parts and type(message.parts[0]) is Text
        if meets and type(message) is Assistant and not work.limits.text_lists:
            parts.append(Text("\n\n"))
        parts += message.parts
    return group[0] if len(group) == 1 else msgspec.structs.replace(group[0], parts=tuple(parts))


def _thinks(message: Message) -> bool:
    return type(message) is Assistant and any(type(part) is Reasoning for part in message.parts)
