"""Arguments of calls as JSON text: whether a text is that of an object."""

from __future__ import annotations

import json

import msgspec

from suture.canonical import is_encodable

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
