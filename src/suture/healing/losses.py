"""What a history loses on its way to another provider without any rule being broken: marks, and fields of its provider."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence

from suture.formats.base import Format, Json
from suture.formats.limits import Limits
from suture.formats.wire import own
from suture.healing.work import Change, Paths
from suture.messages import Ext, Message, Opaque, Part, Reasoning, ToolCall, ToolResult

# What `ext` says of the shape in which something came; the target has its own.
_SHAPE = frozenset(("content", "role", "tool_calls", "is_error"))
_OF_RESULT = _SHAPE | {"name"}
_OF_CALL = frozenset(("type", "arguments"))
_CACHE = ("cache_control", "cachePoint")


def losses(
    messages: Sequence[Message],
    kept: Iterable[int | None],
    places: Callable[[int], Sequence[str]],
    source: Format,
    limits: Limits,
) -> Iterator[Change]:
    """What the messages that are kept had for their own provider and no other has a place for."""
    for at in sorted({index for index in kept if index is not None}):
        message = messages[at]
        # Of one without words, the words that went in are reported.
        if type(message) is ToolResult and message.error and message.parts and not limits.error_mark:
            yield _unmarked(message, places(at)[0])
        if message.ext is None and all(type(part) in (Opaque, Reasoning) or part.ext is None for part in message.parts):  # type: ignore[union-attr]
            continue
        paths = Paths(message, places(at))
        known = _OF_RESULT if type(message) is ToolResult else _SHAPE
        yield from _fields(message.ext, known, source, paths.message)
        for part in message.parts:
            yield from _of_part(part, source, paths.of(part, None))


def of_tools(request: Json, source: Format) -> tuple[list[Change], list[str]]:
    """What the tools of a request lose, and those that no other provider could run, as the caller is told."""
    changes: list[Change] = []
    left: list[str] = []
    tools = request.get("tools")
    for at, tool in enumerate(tools if isinstance(tools, list) else ()):
        if not isinstance(tool, dict):
            continue
        offers = source.offers({"tools": [tool]})
        if not offers:
            left.append(f"tools[{at}] ({tool.get('name') or tool.get('type') or 'unnamed'})")
            continue
        again = source.with_offers({}, offers)["tools"][0]
        given = {**tool, **tool["function"]} if isinstance(tool.get("function"), dict) else tool
        known = {**again, **again.get("function", {})}.keys() | _OF_CALL
        changes += [_field(key, given[key], f"tools[{at}]") for key in sorted(given.keys() - known)]
    return changes, left


def _of_part(part: Part, source: Format, path: str) -> Iterator[Change]:
    if isinstance(part, Opaque | Reasoning):
        return
    known = _OF_CALL if type(part) is ToolCall else frozenset[str]()
    yield from _fields(part.ext, known, source, path)


def _fields(ext: Ext | None, known: frozenset[str], source: Format, path: str) -> Iterator[Change]:
    kept = own(ext, source.name)
    for key in sorted(kept.keys() - known):
        if kept[key] not in (None, [], {}):
            yield _field(key, kept[key], path)


def _field(key: str, value: object, path: str) -> Change:
    detail = json.dumps({key: value}, ensure_ascii=False, default=str)
    if key in _CACHE:
        action = "left out a mark for the cache"
        return Change(code="CACHE_MARKS", rules=("X-CACHE",), path=path, action=action, detail=detail)
    return Change(
        code="FIELD_UNKNOWN", rules=("X-UNKNOWN-KEY",), path=path, action=f"left out the field {key!r}", detail=detail
    )


def _unmarked(result: ToolResult, path: str) -> Change:
    action = "left out the mark of a failed call; the result stays word for word"
    return Change(code="RESULT_SHAPE", rules=("X-ERR-FLAG",), path=path, call_id=result.call_id or None, action=action)
