"""The parts of content in OpenAI's Responses, read and written."""

from __future__ import annotations

from typing import Any

from suture.formats.base import Json
from suture.formats.openai_responses.items import NAME, is_reference
from suture.formats.wire import has_words, not_an_object, own, rest
from suture.messages import File, Image, Opaque, Part, Text

_TEXT = frozenset(("item", "type"))
_READ = frozenset(("type", "text"))
_REFUSAL = frozenset(("type", "refusal"))
_IMAGE = frozenset(("type", "image_url", "file_id"))
_FILE = frozenset(("type", "file_id", "file_data", "file_url", "filename"))
_ITEM = frozenset(("item",))


# Reading --------------------------------------------------------------------------------------


def objects(content: list[Any], path: str) -> list[Json]:
    """The parts, each of which is an object."""
    for at, part in enumerate(content):
        if not isinstance(part, dict):
            raise not_an_object(part, f"{path}[{at}]")
    return content


def part_of(raw: Json) -> Part:
    """One part of a content list; its `ext` is there even where it holds nothing, since ours has fields of its own."""
    match raw:
        case {"type": "input_text" | "output_text" | "text" as kind, "text": str() as text}:
            return Text(text, None, {NAME: {"type": kind, **rest(raw, _READ)}})
        case {"type": "refusal", "refusal": str() as text}:
            return Text(text, None, {NAME: {"type": "refusal", **rest(raw, _REFUSAL)}})
        case {"type": "input_image"} if fields := fields_of(raw, {"image_url": "url", "file_id": "file_id"}):
            return Image(**fields, ext={NAME: rest(raw, _IMAGE - _nulls(raw))})
        case {"type": "input_file"} if fields := fields_of(raw, _names_of_file(raw)):
            return File(**fields, ext={NAME: rest(raw, _FILE - _nulls(raw))})
    return Opaque(NAME, raw)


# Parts that are words, and the key under which those stand.
WORDS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}


def readable(part: Opaque) -> Opaque | None:
    """The part or item without what nothing can be read in; None where that is all of it."""
    raw = part.raw
    if isinstance(raw, dict) and is_reference(raw):
        return part
    if not isinstance(raw, dict) or not isinstance(raw.get("role"), str):
        return part if has_words(raw, WORDS) else None
    content = raw.get("content")
    left = [each for each in content if has_words(each, WORDS)] if isinstance(content, list) else content
    return part if left == content else Opaque(NAME, {**raw, "content": left}) if left else None


def fields_of(raw: Json, names: dict[str, str]) -> dict[str, str] | None:
    """Our fields of a picture or file; None where a value is none that we know, or nothing is there."""
    given = {ours: raw[theirs] for theirs, ours in names.items() if raw.get(theirs) is not None}
    return given if given and all(isinstance(value, str) for value in given.values()) else None


def _names_of_file(raw: Json) -> dict[str, str]:
    """Where the fields of a file go; data in the form of an address counts as one."""
    as_address = str(raw.get("file_data")).startswith("data:")
    return {"file_url": "url", "file_data": "url" if as_address else "data", "file_id": "file_id", "filename": "name"}


def _nulls(raw: Json) -> frozenset[str]:
    """The keys that are there and null, which are written back."""
    return frozenset(key for key, value in raw.items() if value is None)


# Writing --------------------------------------------------------------------------------------


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
