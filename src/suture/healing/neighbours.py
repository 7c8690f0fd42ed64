"""Passes over messages beside each other: words beside calls, the user behind a result, two of one role."""

from __future__ import annotations

import msgspec

from suture.healing.order import CONTINUED
from suture.healing.parts import is_message
from suture.healing.thoughts import leave_out_copies
from suture.healing.work import Work
from suture.messages import Assistant, Ext, Message, Reasoning, System, Text, ToolCall, ToolResult, User

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


class _Run:
    """A message, and what of its neighbours is said in one with it."""

    def __init__(self, message: Message, source: int | None) -> None:
        self.message = message
        self.source = source
        self.ext = message.ext
        self.parts = list(message.parts)
        self.thinks = _thinks(message)
        self.says = _says(message)
        self.only_thinks = bool(message.parts) and all(type(part) is Reasoning for part in message.parts)

    def takes(self, message: Message, *, text_with_calls: bool) -> bool:
        """Whether the next message may become one with it. A turn in which a model thought stays as it was made; but
        thoughts alone, and calls that only follow, are blocks of one answer that were stored as a message each.
        """
        if not text_with_calls and type(message) is Assistant and self.says != _says(message):
            return False
        if self.only_thinks or not (self.thinks or _thinks(message)):
            return True
        return bool(message.parts) and all(type(part) is ToolCall for part in message.parts)

    def add(self, message: Message, *, apart: bool) -> None:
        """Take the next message in. What the assistant said in several is kept `apart` where it goes out as one text."""
        meets = self.parts and type(self.parts[-1]) is Text and message.parts and type(message.parts[0]) is Text
        if meets and apart and type(message) is Assistant:
            self.parts.append(Text("\n\n"))
        self.parts += message.parts
        self.ext = _both(self.ext, message.ext)
        self.thinks = self.thinks or _thinks(message)
        self.only_thinks = self.only_thinks and all(type(part) is Reasoning for part in message.parts)

    def joined(self) -> Message:
        """All of it as one message; the very message where it is one."""
        grown = len(self.parts) > len(self.message.parts)
        return msgspec.structs.replace(self.message, parts=tuple(self.parts), ext=self.ext) if grown else self.message


def neighbours(work: Work) -> None:
    """No two messages of one role stand beside each other, where the target refuses that.

    They become one; where a model thought and they must not, the user speaks in between.
    """
    if not work.limits.alternate:
        return
    runs: list[_Run] = []
    for at, (message, source) in enumerate(zip(work.messages, work.sources, strict=True)):
        before = runs[-1] if runs else None
        if before is not None and _is_same_role(work, before.message, message):
            if before.takes(message, text_with_calls=work.limits.text_with_calls):
                work.note("ROLE_REPEAT", at, "joined the message with the one before")
                before.add(message, apart=not work.limits.text_lists)
                continue
            work.note("ROLE_REPEAT", at, "put a message of the user's between", detail=CONTINUED)
            runs.append(_Run(User((Text(CONTINUED),)), None))
        runs.append(_Run(message, source))
    work.messages = [run.joined() for run in runs]
    work.sources = [run.source for run in runs]
    if work.limits.reasoning == "signed":
        for at, run in enumerate(runs):
            if run.message is not work.messages[at]:
                leave_out_copies(work, at)


def _is_same_role(work: Work, before: Message, message: Message) -> bool:
    if type(before) is not type(message) or type(message) is ToolResult:
        return False
    if type(message) is System:
        return work.limits.system in ("apart", "one")
    return not (is_message(before) or is_message(message))


def _says(message: Message) -> bool:
    """Whether the message says something, rather than only thinking or calling tools."""
    return any(type(part) not in (Reasoning, ToolCall) for part in message.parts)


def _both(left: Ext | None, right: Ext | None) -> Ext | None:
    """What both kept for their formats; of one key the first."""
    if left is None or right is None:
        return left or right
    both: Ext = {**right, **left}
    for name, kept in left.items():
        other = right.get(name)
        if isinstance(kept, dict) and isinstance(other, dict):
            both[name] = {**other, **kept}
    return both


def _thinks(message: Message) -> bool:
    return type(message) is Assistant and any(type(part) is Reasoning for part in message.parts)
