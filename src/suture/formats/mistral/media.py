"""What is wrong with the pictures, sounds and files of Mistral's (MIS-IMG-EMPTY, MIS-IMG-SHAPE, MIS-IMG-BAD)."""

from __future__ import annotations

from suture.formats.base import Flaw, Json
from suture.formats.media import EMPTY, SHAPE, address, base64, says


def flaw_of(chunk: Json) -> Flaw | None:
    """What is wrong with the chunk; None where nothing is, and for one of another type."""
    match chunk.get("type"):
        case "image_url":
            return _at_address(chunk, "image_url", "url", "picture")
        case "document_url":
            return _at_address(chunk, "document_url", "url", "document")
        case "file":
            held = [value for key, value in chunk.items() if key != "type"]
            return None if any(says(value) or isinstance(value, dict) for value in held) else _nothing("file")
        case "input_audio":
            return _sound(chunk, chunk.get("input_audio"))
    return None


def _nothing(what: str) -> Flaw:
    return Flaw(EMPTY, f"the {what} holds nothing")


def _sound(chunk: Json, inner: object) -> Flaw | None:
    """What is wrong with a sound: a text, which may be an address, or an object with base64 data."""
    if not isinstance(inner, dict):
        return None if says(inner) else _nothing("sound")
    content = base64(inner.get("data"), "sound")
    fresh = {**chunk, "input_audio": {**inner, "data": content.value}}
    return content.flaw and content.flaw._replace(instead=fresh if content.flaw.code == SHAPE else None)


def _at_address(chunk: Json, key: str, inside: str, what: str) -> Flaw | None:
    """What is wrong with an address, which is a text or stands in an object."""
    inner = chunk.get(key)
    content = address(inner.get(inside) if isinstance(inner, dict) else inner, what)
    if content.flaw is None or not content.media_type:
        return content.flaw
    value = {**inner, inside: content.value} if isinstance(inner, dict) else content.value
    return content.flaw._replace(instead={**chunk, key: value})
