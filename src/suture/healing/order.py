"""Passes over who speaks when: system text, the first message, the last."""

from __future__ import annotations

import msgspec

from suture.formats.wire import own, without_key
from suture.healing.work import Work
from suture.messages import Assistant, Message, Opaque, Part, System, Text, ToolCall, ToolResult, User

CONTINUED = "(conversation continues)"
GO_ON = "Continue."
_TOOLS = frozenset(("toolUse", "toolResult"))  # at Bedrock, the member of a block is its type
SYSTEM_MARK = "[System message]"
SYSTEM_HINT = "system: pass the leading system text as the request's own {key!r}"


def roles(work: Work) -> None:
    """System text stands where the target takes it, and the user speaks first where it wants that."""
    if not work.limits.developer:
        _developers(work)
    if work.limits.system == "apart":
        _systems(work)
    elif work.limits.system in ("first", "one"):
        _systems_inside(work)
    if not work.limits.system_after_answer:
        _systems_after_answers(work)
    if work.limits.needs_user and not any(type(message) is User for message in work.messages):
        _speak(work)
    first = _leading(work)
    if first < len(work.messages) and type(work.messages[first]) is Assistant and _must_wait(work, first):
        work.note("FIRST_NOT_USER", first, "put a message of the user's first", detail=CONTINUED)
        work.messages.insert(first, User((Text(CONTINUED),)))
        work.sources.insert(first, None)


def _must_wait(work: Work, first: int) -> bool:
    """Whether the user speaks before the assistant, whose message is the first behind leading system text."""
    if work.limits.first_user:
        return True
    message = work.messages[first]
    if work.limits.opens_with_calls or first > 0 or type(message) is not Assistant:
        return False
    return bool(message.calls) or (len(work.messages) == 1 and _goes_on(work, message))


def _leading(work: Work) -> int:
    """How many messages of system text stand before everything else."""
    return next((at for at, message in enumerate(work.messages) if type(message) is not System), len(work.messages))


def _speak(work: Work) -> None:
    """Let the user say something behind the leading system text, where nobody did."""
    leading = _leading(work)
    work.report("NO_USER", None, "added a message of the user's", detail=CONTINUED)
    work.messages.insert(leading, User((Text(CONTINUED),)))
    work.sources.insert(leading, None)


def _systems_inside(work: Work) -> None:
    """System text behind the first other message becomes words of the user's."""
    for at in range(_leading(work), len(work.messages)):
        if type(work.messages[at]) is System:
            _as_words(work, at)


def _systems_after_answers(work: Work) -> None:
    """System text directly behind the assistant or a result becomes words of the user's."""
    for at in range(1, len(work.messages)):
        if type(work.messages[at]) is System and type(work.messages[at - 1]) in (Assistant, ToolResult):
            _as_words(work, at)


def _as_words(work: Work, at: int) -> None:
    work.note("SYSTEM_MISPLACED", at, "turned the system text into words of the user's")
    work.messages[at] = User((Text(SYSTEM_MARK), *work.messages[at].parts))


def _developers(work: Work) -> None:
    for at, message in enumerate(work.messages):
        if type(message) is System and own(message.ext, work.format.name).get("role") == "developer":
            work.note("SYSTEM_MISPLACED", at, "changed the role 'developer' to 'system'")
            work.replace(at, ext=without_key(message.ext, work.format.name, "role"))


def _systems(work: Work) -> None:
    """Leading system text moves out of the messages; what cannot, becomes words of the user's."""
    inside = work.limits.system_inside and not work.options.strict
    if inside and work.messages and type(work.messages[0]) is not System:
        return
    leading, key = True, work.format.head_keys[0]
    keep = [True] * len(work.messages)
    for at, message in enumerate(work.messages):
        if type(message) is not System:
            leading = False
        elif leading and work.options.system_apart:
            if not work.options.strict:
                work.note("SYSTEM_MISPLACED", at, f"moved the text to the request's {key!r}")
            work.system.append(message)
            keep[at] = False
        elif leading or not inside:
            work.note("SYSTEM_MISPLACED", at, "turned the system text into words of the user's")
            work.hints += [SYSTEM_HINT.format(key=key)] if leading else []
            work.messages[at] = User((Text(SYSTEM_MARK), *message.parts))
    work.keep(keep)


def tail(work: Work) -> None:
    """The end is one from which the model can go on."""
    last = work.messages[-1] if work.messages else None
    if type(last) is not Assistant or last.calls or _goes_on(work, last):
        return
    if work.limits.pauses and last.parts and _waits(last.parts[-1]):
        return
    at = len(work.messages) - 1
    if not work.limits.prefill:
        work.note("LAST_ASSISTANT", at, "added a message of the user's", detail=GO_ON)
        work.messages.append(User((Text(GO_ON),)))
        work.sources.append(None)
        return
    part = last.parts[-1] if last.parts else None
    if not work.limits.trailing_space and type(part) is Text and part.text != part.text.rstrip():
        work.note("TRAILING_WHITESPACE", at, "cut the white space at the end", part=part)
        work.replace(at, parts=(*last.parts[:-1], msgspec.structs.replace(part, text=part.text.rstrip())))


def prefixes(work: Work) -> None:
    """Only the last message is one that the model is to go on with, where the target wants the user to speak last."""
    if work.limits.prefill:
        return
    name = work.format.name
    for at, message in enumerate(work.messages[:-1]):
        if type(message) is Assistant and _goes_on(work, message):
            work.note("PREFIX_NOT_LAST", at, "left out the field 'prefix'", detail="True")
            work.replace(at, ext=without_key(message.ext, name, "prefix"))


def _goes_on(work: Work, message: Message) -> bool:
    """Whether the model is asked to go on with the message."""
    return own(message.ext, work.format.name).get("prefix") is True


def _waits(part: Part) -> bool:
    """Whether a turn that ends in the part goes on when it is sent back: a call, or what a tool of the provider's did."""
    raw = part.raw if type(part) is Opaque else None
    if not isinstance(raw, dict):
        return type(part) is ToolCall
    return str(raw.get("type")).endswith(("tool_use", "tool_result")) or not raw.keys().isdisjoint(_TOOLS)
