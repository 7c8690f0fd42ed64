"""Passes over tools that a provider runs itself: pairs that belong together, and the words left of a pair elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from suture.formats.anthropic.blocks import lonely, source_of
from suture.formats.anthropic.words import summary
from suture.formats.wire import is_server_part, own, without_key
from suture.healing.parts import leave_out_thinking
from suture.healing.work import Lost, Work, as_text
from suture.messages import Assistant, Message, Opaque, Part, Reasoning, Text, ToolCall

# Words of other APIs that a program left as they were.
_WORDS = ("input_text", "output_text", "refusal")


def server_words(work: Work) -> None:
    """Finished pairs of another provider's own tools become a few words, and so do its blocks of words."""
    if not work.options.strict and not work.has_found("BLOCK_UNKNOWN"):
        return
    for at, message in enumerate(work.messages):
        if not any(type(part) is Opaque for part in message.parts):
            continue
        fresh = [_as_words(work, at, part) for part in message.parts]
        if any(new is not old for new, old in zip(fresh, message.parts, strict=True)):
            work.replace(at, parts=tuple(fresh))
        if work.options.strict and type(message) is Assistant:
            _tell(work, at, [part for part in work.messages[at].parts if _is_server(part) and not work.format.takes(part)])


def _as_words(work: Work, at: int, part: Part) -> Part:
    raw = part.raw if type(part) is Opaque else None
    kind = raw.get("type") if isinstance(raw, dict) else None
    if not isinstance(raw, dict) or kind not in _WORDS or (kind == "refusal" and work.format.takes(part)):
        return part
    words = raw.get("refusal" if kind == "refusal" else "text")
    if not isinstance(words, str):
        return part
    work.note("BLOCK_UNKNOWN", at, "made the words of another API a text", part=part, detail=words)
    return Text(words)


def servers(work: Work) -> None:
    """A server tool's call and its result stand in one message, under an id of its maker, or neither is sent."""
    _join(work)
    held = {source for message in work.messages if type(message) is Assistant for source in _sources(work, message)}
    called: set[str] = set()
    for at, message in enumerate(work.messages):
        if type(message) is Assistant and any(type(part) is Opaque for part in message.parts):
            _halves(work, at, held, called)
            _foreign_ids(work, at)
            called |= {_id(part) for part in work.messages[at].parts if _is_call(part)}
    if held:
        _callers(work)


def _halves(work: Work, at: int, held: set[str], called: set[str]) -> None:
    """Leave out half a pair; of a call to a server of tools words stay."""
    message = work.messages[at]
    # A paused turn ends in a call, and goes on when it is sent back.
    is_paused = at == len(work.messages) - 1 and not any(type(part) is ToolCall for part in message.parts)
    gone: dict[int, Part | None] = {}
    for part in _lonely(message):
        is_call, name = _is_call(part), _id(part)
        # Code that calls tools waits for their results, so its own comes later.
        waits = name in held and (is_call or name in called)
        if waits or (is_call and is_paused):
            continue
        case = "mcp" if _kind(part).startswith("mcp_") else ""
        code = "SERVER_CALL_UNPAIRED" if is_call else "SERVER_RESULT_ORPHAN"
        gone[id(part)] = None
        if is_call and case:
            words = summary(_raw(part), None)
            work.note(code, at, "put words where half a pair was", part=part, call=name, detail=words, case=case)
            gone[id(part)] = Text(words)
        lost: Lost = "call" if is_call else "result"
        action = "left out half of a server tool's pair"
        work.note(code, at, action, part=part, call=name, detail=as_text(part), lost=lost, case=case)
    _without(work, at, gone)


def _foreign_ids(work: Work, at: int) -> None:
    """Pairs under an id that their maker cannot have given; an id like that is never changed."""
    if work.limits.server_ids is None:
        return
    fits = re.compile(work.limits.server_ids).search
    foreign = [part for part in work.messages[at].parts if _kind(part) == "server_tool_use" and not fits(_id(part))]
    ids = {_id(part) for part in foreign}
    pairs = [part for part in work.messages[at].parts if _is_server(part) and _id(part) in ids]
    _tell(work, at, pairs, code="ID_CHARS", case="server")


def _tell(work: Work, at: int, parts: Sequence[Part], code: str = "BLOCK_UNKNOWN", case: str = "") -> None:
    """Put a few words where the finished pairs among these parts were; a call without a result is left out."""
    results = {_id(part): part for part in parts if not _is_call(part)}
    gone: dict[int, Part | None] = {}
    for call in parts:
        result = results.pop(_id(call), None) if _is_call(call) else None
        if not _is_call(call) or (result is None and not case):
            continue
        gone[id(call)] = None
        if result is not None:
            words = _apart(work, at, call, summary(_raw(call), _raw(result)))
            action = "put words where a server tool's call and its result were"
            work.note(code, at, action, part=call, call=_id(call), detail=words, case=case)
            gone |= {id(call): Text(words), id(result): None}
        detail = as_text(call) + (as_text(result) if result is not None else "")
        lost: Lost = "call" if result is None else "result"
        action = "left out what a server tool was asked and what it answered"
        work.note(code, at, action, part=call, call=_id(call), detail=detail, lost=lost, case=case)
    _without(work, at, gone)


def _apart(work: Work, at: int, call: Part, words: str) -> str:
    """The words on a line of their own, where the texts of a message may be joined."""
    parts = work.messages[at].parts
    is_block = work.format.takes(call)
    begin = "" if is_block or call is parts[0] else "\n"
    return begin + words + ("" if is_block or _id(parts[-1]) == _id(call) else "\n")


def _without(work: Work, at: int, gone: dict[int, Part | None]) -> None:
    """The message with other parts, or none, in the place of those; thoughts around them would be refused then."""
    if not gone:
        return
    parts = work.messages[at].parts
    thoughts = [index for index, part in enumerate(parts) if type(part) is Reasoning]
    if thoughts and any(id(part) in gone for part in parts[: thoughts[-1]]):
        leave_out_thinking(work, at)
    fresh = [gone.get(id(part), part) for part in work.messages[at].parts]
    work.replace(at, parts=tuple([part for part in fresh if part is not None]))


def _callers(work: Work) -> None:
    """A call says what code made it only where that code stands before it."""
    called: set[str] = set()
    for at, message in enumerate(work.messages):
        fresh: list[Part] = []
        for part in message.parts:
            if _is_call(part):
                called.add(_id(part))
            source = _source(work, part)
            if type(part) is ToolCall and source is not None and source not in called:
                action = "took away what was said of the code that made the call"
                work.note("CALLER_DANGLING", at, action, part=part, call=part.id, detail=source)
                part = msgspec.structs.replace(part, ext=without_key(part.ext, work.format.name, "caller"))
            fresh.append(part)
        if any(new is not old for new, old in zip(fresh, message.parts, strict=True)):
            work.replace(at, parts=tuple(fresh))


def _sources(work: Work, message: Message) -> list[str]:
    """The ids of the code that made calls of the message."""
    calls = [part for part in message.parts if type(part) is ToolCall and part.ext is not None]
    return [source for call in calls if (source := _source(work, call)) is not None]


def _source(work: Work, part: Part) -> str | None:
    return source_of(own(part.ext, work.format.name).get("caller")) if type(part) is ToolCall and part.ext else None


def _join(work: Work) -> None:
    """Join two messages where the second holds the result of a server tool that the first called."""
    keep = [True] * len(work.messages)
    for at in range(len(work.messages) - 2, -1, -1):
        left, right = work.messages[at], work.messages[at + 1]
        if type(left) is not Assistant or type(right) is not Assistant or not keep[at + 1]:
            continue
        calls = {_id(part) for part in _lonely(left) if _is_call(part)}
        results = {_id(part) for part in _lonely(right) if not _is_call(part)}
        parts = (*left.parts, *right.parts)
        if calls & results and not left.calls and not any(type(part) is Reasoning for part in parts):
            work.note("SERVER_RESULT_ORPHAN", at + 1, "joined the message with the one before, which called the tool")
            work.replace(at, parts=parts)
            keep[at + 1] = False
    work.keep(keep)


# Parts of server tools ------------------------------------------------------------------------


def _lonely(message: Message) -> list[Part]:
    if not any(type(part) is Opaque for part in message.parts):
        return []
    return [
        message.parts[index] for index in lonely([part.raw if type(part) is Opaque else None for part in message.parts])
    ]


def _raw(part: Part) -> dict[str, object]:
    return part.raw if type(part) is Opaque and isinstance(part.raw, dict) else {}


def _kind(part: Part) -> str:
    return str(_raw(part).get("type", ""))


def _is_server(part: Part) -> bool:
    return is_server_part(_raw(part))


def _is_call(part: Part) -> bool:
    return _kind(part).endswith("_tool_use")


def _id(part: Part) -> str:
    return str(_raw(part).get("id" if _is_call(part) else "tool_use_id") or "")
