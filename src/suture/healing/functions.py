"""The pass over function calls of old, which tools replaced: one call in a field, and its result in a role of its own."""

from __future__ import annotations

import json
from collections import deque

from suture.healing.work import Work
from suture.messages import Assistant, Ext, Message, Opaque, Part, Text, ToolCall, ToolResult, User
from suture.repair import IdBook


def functions(work: Work) -> None:
    """Function calls become tool calls, and their results those of tools, where the target knows no others."""
    if work.limits.functions and not work.options.strict:
        return
    book = IdBook()
    for message in work.messages:
        for call in message.calls if type(message) is Assistant else ():
            book.take(call.id, "")
    waiting: dict[str, deque[str]] = {}
    count = 0
    for at, message in enumerate(work.messages):
        if type(message) is Assistant and (found := _call_of(message)) is not None:
            count += 1
            id = book.take(f"call_{found.get('name')}_{count}", "")
            waiting.setdefault(str(found.get("name")), deque()).append(id)
            _call(work, at, message, found, id)
        elif raw := _result_of(message):
            ids = waiting.get(str(raw.get("name")))
            _result(work, at, raw, ids.popleft() if ids else book.take(f"call_{raw.get('name')}_0", ""))


def _call_of(message: Assistant) -> dict[str, object] | None:
    """The function call that a message keeps for its format."""
    kept = [each.get("function_call") for each in (message.ext or {}).values() if isinstance(each, dict)]
    return next((each for each in kept if isinstance(each, dict)), None)


def _result_of(message: Message) -> dict[str, object] | None:
    """The message of the role 'function' as it came."""
    part = message.parts[0] if type(message) is User and len(message.parts) == 1 else None
    raw = part.raw if type(part) is Opaque else None
    return raw if isinstance(raw, dict) and raw.get("role") == "function" else None


def _call(work: Work, at: int, message: Assistant, found: dict[str, object], id: str) -> None:
    given, name = found.get("arguments"), found.get("name")
    arguments = given if isinstance(given, dict) else None
    text = given if isinstance(given, str) or given is None or arguments is not None else json.dumps(given)
    call = ToolCall(id, name if isinstance(name, str) else "", arguments, text if isinstance(text, str) else None)
    work.note("CALL_LEGACY", at, f"wrote the function call as the tool call {id!r}", call=id)
    work.replace(at, parts=(*message.parts, call), ext=_without_call(message.ext))


def _without_call(ext: Ext | None) -> Ext | None:
    left: Ext = {}
    for name, kept in (ext or {}).items():
        more = {key: value for key, value in kept.items() if key != "function_call"} if isinstance(kept, dict) else kept
        if more:
            left[name] = more
    return left or None


def _result(work: Work, at: int, raw: dict[str, object], id: str) -> None:
    content = raw.get("content")
    words = content if isinstance(content, str) else "" if content is None else json.dumps(content, ensure_ascii=False)
    parts: tuple[Part, ...] = (Text(words),) if words else ()
    work.note("CALL_LEGACY", at, f"wrote the function's result as that of the tool call {id!r}", call=id)
    work.messages[at] = ToolResult(parts=parts, call_id=id)
