"""The parts of a list of content in Chat Completions, read and written."""

from __future__ import annotations

from suture.formats.base import Json
from suture.formats.wire import own, rest
from suture.messages import Audio, Ext, File, Image, Opaque, Part, Text

NAME = "openai-chat"

_TEXT = frozenset(("type", "text"))


def part_of(raw: Json) -> Part:
    """One part."""
    match raw:
        case {"type": "text", "text": str() as text}:
            more = rest(raw, _TEXT)
            return Text(text, None, {NAME: more} if more else None)
        case {"type": "image_url", "image_url": {"url": str() as url} as inner}:
            return Image(url=url, ext=_inner(raw, inner, "image_url", "url"))
        case {"type": "input_audio", "input_audio": {"data": str() as data, "format": str() as kind} as inner}:
            return Audio(data=data, media_type=f"audio/{kind}", ext=_inner(raw, inner, "input_audio", "data", "format"))
        case {"type": "file", "file": {"file_id": str() as id} as inner}:
            return File(file_id=id, ext=_inner(raw, inner, "file", "file_id"))
        case {"type": "file", "file": {"file_data": str() as data, "filename": str() as name} as inner}:
            return File(url=data, name=name, ext=_inner(raw, inner, "file", "file_data", "filename"))
    return Opaque(NAME, raw)


def _inner(raw: Json, inner: Json, key: str, *known: str) -> Ext | None:
    extra = rest(raw, frozenset(("type", key)))
    more = rest(inner, frozenset(known))
    kept = {**extra, key: more} if more else extra
    return {NAME: kept} if kept else None


def part_wire(part: Part) -> Json | None:
    """One part, written; None where Chat Completions have none for it."""
    if isinstance(part, Opaque):
        return part.raw if part.provider == NAME and isinstance(part.raw, dict) else None
    kept = own(part.ext, NAME)
    match part:
        case Text():
            return {"type": "text", "text": part.text, **kept}
        case Image(url=str() | None as url, data=data) if url or data:
            return _with_inner("image_url", {"url": url or f"data:{part.media_type or 'image/png'};base64,{data}"}, kept)
        case Audio(data=str(), media_type=str() as kind):
            return _with_inner("input_audio", {"data": part.data, "format": kind.removeprefix("audio/")}, kept)
        case File(file_id=str()):
            return _with_inner("file", {"file_id": part.file_id}, kept)
        case File(url=str() | None as url, data=data) if url or data:
            text = url or f"data:{part.media_type or 'application/pdf'};base64,{data}"
            return _with_inner("file", {"file_data": text, "filename": part.name or "document"}, kept)
    return None


def _with_inner(key: str, inner: Json, kept: Json) -> Json:
    return {"type": key, key: {**inner, **kept.get(key, {})}, **rest(kept, frozenset((key,)))}
