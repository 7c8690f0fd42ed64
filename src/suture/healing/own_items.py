"""The items of a request of our own: none has an id, and what only one reader would know is written for any."""

from __future__ import annotations

import msgspec

from suture.formats.openai_responses.items import is_token, plain_id
from suture.formats.wire import own, rest
from suture.healing.work import Work, as_text
from suture.messages import (
    Assistant,
    Audio,
    Ext,
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    System,
    Text,
    ToolCall,
    ToolResult,
)

# The kinds of calls that need no id: of custom tools for every reader, of the provider's tools for who made them.
_FOR_ALL = ("custom_tool_call",)
_FOR_MAKER = ("custom_tool_call", "shell_call", "apply_patch_call")
_OF_AN_ANSWER = frozenset(("id", "status"))


def unnamed(work: Work) -> None:
    """Take the ids of items away, and write calls and words as any model of the provider takes them."""
    for at, message in enumerate(work.messages):
        match message:
            case Assistant():
                _turn(work, at, message)
            case ToolResult():
                parts = tuple([_plain(part) for part in message.parts])
                work.replace(at, call_id=plain_id(message.call_id), parts=parts, ext=_foreign_only(work, message))
            case _:
                parts = tuple([_plain(part) for part in message.parts])
                work.replace(at, parts=parts, ext=_with_role(work, message))


def _plain(part: Part) -> Part:
    return Text(part.text) if type(part) is Text else part


def _foreign_only(work: Work, message: Message) -> Ext | None:
    return rest(message.ext or {}, frozenset((work.format.name,))) or None


def _with_role(work: Work, message: Message) -> Ext | None:
    """What the message keeps of other formats, and whether a developer speaks."""
    role = own(message.ext, work.format.name).get("role") if type(message) is System else None
    others = _foreign_only(work, message) or {}
    return ({**others, work.format.name: {"role": role}} if role else others) or None


def _turn(work: Work, at: int, message: Assistant) -> None:
    is_own = _is_own(work, message)
    out: list[Part] = []
    for part in message.parts:
        match part:
            case Reasoning() if is_own and not is_token(part.encrypted):
                detail = part.text or as_text(part)
                work.note("THINKING_UNSIGNED", at, "left out reasoning", part=part, detail=detail, lost="reasoning")
            case Image() | File() | Audio():
                work.note("IMAGE_ROLE", at, "left out a picture or file", part=part, detail=as_text(part), lost="image")
            case _:
                out.append(_unnamed(work, part, is_own=is_own))
    work.replace(at, parts=tuple(out))


def _unnamed(work: Work, part: Part, *, is_own: bool) -> Part:
    name = work.format.name
    match part:
        case Reasoning(ext=ext) if kept := own(ext, name):
            return msgspec.structs.replace(part, item_id=None, ext={**(ext or {}), name: rest(kept, _OF_AN_ANSWER)})
        case ToolCall():
            kind = own(part.ext, name).get("type")
            named: Ext | None = {name: {"type": kind}} if kind in (_FOR_MAKER if is_own else _FOR_ALL) else None
            return msgspec.structs.replace(part, id=plain_id(part.id), item_id=None, ext=named)
        case Text():
            item = own(part.ext, name).get("item")
            phase = {"phase": item["phase"]} if is_own and isinstance(item, dict) and item.get("phase") else {}
            return Text(part.text, None, {name: {"item": phase}} if phase else None)
        case Opaque(provider=provider, raw=dict() as raw) if provider == name and not _OF_AN_ANSWER.isdisjoint(raw):
            return Opaque(provider, rest(raw, _OF_AN_ANSWER))
    return part


def _is_own(work: Work, message: Assistant) -> bool:
    """Whether the one that is asked made the turn."""
    made, reader = message.origin, work.options.reader
    if made is None or reader is None:
        return False
    return (made.provider, made.api, made.model) == (reader.provider, reader.api, reader.model)
