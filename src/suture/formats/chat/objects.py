"""Arguments of calls as JSON text: whether a text is that of an object, and how a call's are written."""

from __future__ import annotations

import json

import msgspec

from suture.arguments import parse
from suture.canonical import is_encodable
from suture.formats.wire import object_text
from suture.messages import ToolCall

_decode = msgspec.json.Decoder().decode


def is_object_text(text: str) -> bool:
    """Whether the text is JSON of an object, and can be sent again."""
    try:
        return isinstance(_decode(text), dict)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return _is_odd_object(text)


def _is_odd_object(text: str) -> bool:
    """What the fast decoder refuses and JSON allows: huge numbers, but no halves of surrogate pairs."""
    try:
        value = json.loads(text, parse_constant=lambda _: [][0])
        return isinstance(value, dict) and is_encodable(json.dumps(value, ensure_ascii=False))
    except (ValueError, RecursionError, IndexError):
        return False


def arguments_text(call: ToolCall) -> str:
    """The arguments as they came, unless somebody has changed them since."""
    if call.arguments is None:
        return call.raw or "{}"
    text = object_text(call.arguments)
    return call.raw if call.raw is not None and _is_text_of(call.raw, text) else text


def _is_text_of(raw: str, text: str) -> bool:
    if raw == text:
        return True
    parsed = parse(raw).arguments
    return parsed is not None and object_text(parsed) == text and is_object_text(raw)
