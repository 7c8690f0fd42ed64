"""What a history loses on its way to another provider without any rule being broken: marks, and fields of its provider."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from suture.formats.base import Format, Left
from suture.formats.limits import Limits
from suture.healing.work import Change, Paths, as_json
from suture.messages import Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

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
        if message.ext is None and all(_is_plain(part) for part in message.parts):
            continue
        paths = Paths(message, places(at))
        yield from _fields(message, source, paths.message)
        for part in message.parts:
            yield from _of_part(part, source, limits, paths.of(part, None))


def _is_plain(part: Part) -> bool:
    return isinstance(part, Opaque) or (part.ext is None and getattr(part, "signature", None) is None)


def of_tools(left: Sequence[Left]) -> tuple[list[Change], list[str]]:
    """What the tools of a request lose, as changes, and what of them is left whole, as the caller is told."""
    changes = [_field(each.field, each.value, each.path) for each in left if each.field]
    whole = [f"{each.path} ({each.name})" if each.name else each.path for each in left if not each.field]
    return changes, whole


def _of_part(part: Part, source: Format, limits: Limits, path: str) -> Iterator[Change]:
    if isinstance(part, Opaque):
        return
    if isinstance(part, Reasoning):
        # Signed reasoning that goes over at all goes over as words.
        if limits.reasoning == "text" and (part.signature or part.encrypted):
            yield _signature(part.signature or part.encrypted or "", path)
        return
    yield from _fields(part, source, path)
    # Where signatures are sent, a pass looks at each.
    if isinstance(part, Text | ToolCall) and part.signature and limits.signature_pattern is None:
        yield _signature(part.signature, path)


def _fields(thing: Message | Part, source: Format, path: str) -> Iterator[Change]:
    kept = source.beside(thing)
    for key in sorted(kept):
        if kept[key] not in (None, "", [], {}):
            yield _field(key, kept[key], path)


def _field(key: str, value: object, path: str) -> Change:
    detail = as_json({key: value})
    if key in _CACHE:
        action = "left out a mark for the cache"
        return Change(code="CACHE_MARKS", rules=("X-CACHE",), path=path, action=action, detail=detail)
    return Change(
        code="FIELD_UNKNOWN", rules=("X-UNKNOWN-KEY",), path=path, action=f"left out the field {key!r}", detail=detail
    )


def _signature(signature: str, path: str) -> Change:
    action = "left out a signature that is not the target's"
    return Change(code="SIGNATURE_FORM", rules=("X-THINK-FOREIGN",), path=path, action=action, detail=signature)


def _unmarked(result: ToolResult, path: str) -> Change:
    action = "left out the mark of a failed call; the result stays word for word"
    return Change(code="RESULT_SHAPE", rules=("X-ERR-FLAG",), path=path, call_id=result.call_id or None, action=action)
