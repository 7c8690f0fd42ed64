"""What is wrong with the pictures, sounds and files of Chat Completions (OAI-IMG-EMPTY, OAI-IMG-SHAPE, OAI-IMG-BAD)."""

from __future__ import annotations

from suture.formats.base import Flaw, Json
from suture.formats.media import BAD, EMPTY, SHAPE, address, base64, says
from suture.formats.wire import rest

_DETAIL = frozenset(("filename", "detail"))
# How the base64 of the sounds begins whose kind can be told.
_SOUNDS = (("UklGR", "wav"), ("SUQz", "mp3"), ("//s", "mp3"), ("//M", "mp3"))


def flaw_of(part: Json) -> Flaw | None:
    """What is wrong with the part; None where nothing is, and for one of another type."""
    match part.get("type"):
        case "image_url":
            return _picture(part, part.get("image_url"))
        case "input_audio":
            return _sound(part, part.get("input_audio"))
        case "file":
            return _file(part.get("file"))
    return None


def _picture(part: Json, inner: object) -> Flaw | None:
    is_object = isinstance(inner, dict)
    url = inner.get("url") if isinstance(inner, dict) else inner
    content = address(url, "picture")
    if content.flaw is not None and content.flaw.code != SHAPE:
        return content.flaw
    instead = {**part, "image_url": {**(inner if isinstance(inner, dict) else {}), "url": content.value}}
    if not is_object:
        return Flaw(SHAPE, "the address of the picture is a text; it stands as 'url' in an object", instead)
    return content.flaw and content.flaw._replace(instead=instead)


def _sound(part: Json, inner: object) -> Flaw | None:
    if not isinstance(inner, dict):
        return Flaw(EMPTY, "the sound has no data")
    content, format = base64(inner.get("data"), "sound"), inner.get("format")
    if content.flaw is not None and content.flaw.code != SHAPE:
        return content.flaw
    kind = format if says(format) else next((kind for head, kind in _SOUNDS if content.value.startswith(head)), None)
    if kind is None:
        return Flaw(BAD, "the sound does not say of which kind it is")
    flaw = content.flaw or (None if says(format) else Flaw(SHAPE, "the sound does not say of which kind it is"))
    return flaw and flaw._replace(instead={**part, "input_audio": {**inner, "data": content.value, "format": kind}})


def _file(inner: object) -> Flaw | None:
    held = rest(inner, _DETAIL) if isinstance(inner, dict) else {}
    data = held.get("file_data")
    if not any(value if not isinstance(value, str) else value.strip() for value in held.values()):
        return Flaw(EMPTY, "the file has neither data nor an id")
    flaw = address(data, "file").flaw if says(data) and str(data).startswith("data:") else None
    return None if says(held.get("file_id")) else flaw
