"""The parts of content in OpenAI's Responses, written."""

from __future__ import annotations

from suture.formats.base import Json
from suture.formats.openai_responses.items import NAME
from suture.formats.wire import own, rest
from suture.messages import File, Image, Opaque, Part, Text

_TEXT = frozenset(("item", "type"))
_ITEM = frozenset(("item",))


def is_exact(part: Part) -> bool:
    """Whether the part came from Responses, so that its fields are known."""
    return not isinstance(part, Opaque) and part.ext is not None and NAME in part.ext


def is_plain(part: Part) -> bool:
    """Whether the part is a text that may stand as one, without a list."""
    return type(part) is Text and not rest(own(part.ext, NAME), _ITEM)


def part_wire(part: Part, role: str) -> Json | None:
    """One part of a content list; None where there is none for it."""
    if isinstance(part, Opaque):
        return part.raw if part.provider == NAME and isinstance(part.raw, dict) else None
    kept = own(part.ext, NAME)
    match part:
        case Text():
            kind = kept.get("type") or ("output_text" if role == "assistant" else "input_text")
            more = rest(kept, _TEXT) if kept.get("type") else {"annotations": []} if role == "assistant" else {}
            return {"type": kind, "refusal" if kind == "refusal" else "text": part.text, **more}
        case Image():
            return _image(part, rest(kept, _ITEM) if is_exact(part) else {"detail": "auto"})
        case File():
            return _file(part, rest(kept, _ITEM))
    return None


def _image(part: Image, kept: Json) -> Json | None:
    url = part.url or (f"data:{part.media_type or 'image/png'};base64,{part.data}" if part.data else None)
    if url is None and part.file_id is None:
        return None
    source = {"image_url": url} if url is not None else {}
    named = {"file_id": part.file_id} if part.file_id is not None else {}
    return {"type": "input_image", **source, **named, **kept}


def _file(part: File, kept: Json) -> Json | None:
    """A file; an address that holds the data goes where data goes."""
    source: Json = {} if part.file_id is None else {"file_id": part.file_id}
    data, url = part.data, part.url
    if url is not None and url.startswith("data:"):
        data, url = url, None
    elif data is not None and not (is_exact(part) or data.startswith("data:")):
        data = f"data:{part.media_type or 'application/pdf'};base64,{data}"
    if data is not None:
        source["file_data"] = data
    if url is not None:
        source["file_url"] = url
    name = part.name or (None if is_exact(part) or data is None else "document")
    named = {} if name is None else {"filename": name}
    return {"type": "input_file", **source, **named, **kept} if source else None
