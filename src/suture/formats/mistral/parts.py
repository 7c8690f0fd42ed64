"""The chunks of a list of content at Mistral, read and written.

A picture or a sound may come as a text or as an object, and thinking as a list of chunks; `ext["mistral"]` says which.
"""

from __future__ import annotations

from suture.formats.base import Json
from suture.formats.wire import own, rest
from suture.messages import Audio, Ext, File, Image, Opaque, Part, Reasoning, Text

NAME = "mistral"

_TEXT = frozenset(("type", "text"))
_PLAIN = "plain"  # what came as a text, where it may be an object
_CHUNK = "chunk"  # what a chunk of thinking holds beside its words
SHAPE_OF_PARTS = frozenset((_PLAIN, _CHUNK))


def part_of(raw: Json) -> Part:
    """One chunk."""
    match raw:
        case {"type": "text", "text": str() as text}:
            return Text(text, None, _ext(rest(raw, _TEXT)))
        case {"type": "image_url", "image_url": str() as url}:
            return Image(url=url, ext=_ext({**_beside(raw, "image_url"), _PLAIN: True}))
        case {"type": "image_url", "image_url": {"url": str() as url} as inner}:
            return Image(url=url, ext=_inner(raw, inner, "image_url", "url"))
        case {"type": "document_url", "document_url": str() as url}:
            name = raw.get("document_name")
            known = ("document_url", "document_name") if isinstance(name, str) else ("document_url",)
            return File(url=url, name=name if isinstance(name, str) else None, ext=_ext(_beside(raw, *known)))
        case {"type": "file", "file_id": str() as id}:
            return File(file_id=id, ext=_ext(_beside(raw, "file_id")))
        case {"type": "input_audio", "input_audio": str() as data}:
            return Audio(data=data, ext=_ext(_beside(raw, "input_audio")))
        case {"type": "input_audio", "input_audio": {"data": str() as data, "format": str() as kind} as inner}:
            return Audio(data=data, media_type=f"audio/{kind}", ext=_inner(raw, inner, "input_audio", "data", "format"))
        case {"type": "thinking", "thinking": list() | str() as thinking}:
            return _thinking(raw, thinking)
    return Opaque(NAME, raw)


def _thinking(raw: Json, thinking: object) -> Part:
    """Thinking, with its words; the pieces stay as they came where they are more than one text."""
    pieces = thinking if isinstance(thinking, list) else []
    texts = [piece["text"] for piece in pieces if isinstance(piece, dict) and isinstance(piece.get("text"), str)]
    text = thinking if isinstance(thinking, str) else "".join(texts)
    kept = _beside(raw, "thinking")
    if thinking != [{"type": "text", "text": text}]:
        kept["thinking"] = thinking
    return Reasoning(text, ext={NAME: {_CHUNK: kept}})


def _beside(raw: Json, *known: str) -> Json:
    return rest(raw, frozenset(("type", *known)))


def _inner(raw: Json, inner: Json, key: str, *known: str) -> Ext | None:
    more = rest(inner, frozenset(known))
    return _ext({**_beside(raw, key), **({key: more} if more else {})})


def _ext(kept: Json) -> Ext | None:
    return {NAME: kept} if kept else None


def part_wire(part: Part) -> Json | None:
    """One chunk, written; None where Mistral has none for it."""
    if isinstance(part, Opaque):
        return part.raw if part.provider == NAME and isinstance(part.raw, dict) else None
    kept = own(part.ext, NAME)
    match part:
        case Text():
            return {"type": "text", "text": part.text, **kept}
        case Image(url=str() | None as url, data=data) if url or data:
            return _picture(url or f"data:{part.media_type or 'image/png'};base64,{data}", kept)
        case File(file_id=str()):
            return {"type": "file", "file_id": part.file_id, **kept}
        case File(url=str() | None as url, data=data) if url or data:
            text = url or f"data:{part.media_type or 'application/pdf'};base64,{data}"
            name = {"document_name": part.name} if part.name else {}
            return {"type": "document_url", "document_url": text, **name, **kept}
        case Audio(data=str()):
            return _sound(part, kept)
        case Reasoning() if _CHUNK in kept:
            words = [{"type": "text", "text": part.text}]
            return {"type": "thinking", "thinking": words, **kept[_CHUNK]}
    return None


def _picture(url: str, kept: Json) -> Json:
    inner: object = url if kept.get(_PLAIN) else {"url": url, **kept.get("image_url", {})}
    return {"type": "image_url", "image_url": inner, **rest(kept, frozenset((_PLAIN, "image_url")))}


def _sound(part: Audio, kept: Json) -> Json:
    """A sound whose kind is known as an object, any other as a text."""
    inner: object = part.data
    if part.media_type:
        kind = part.media_type.removeprefix("audio/")
        inner = {"data": part.data, "format": kind, **kept.get("input_audio", {})}
    return {"type": "input_audio", "input_audio": inner, **rest(kept, frozenset(("input_audio",)))}
