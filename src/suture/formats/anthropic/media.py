"""What is wrong with the sources of Anthropic's pictures and documents (ANT-IMG-EMPTY, ANT-IMG-SHAPE, ANT-IMG-BAD).

Of the base64 data of a picture `images` knows more.
"""

from __future__ import annotations

from suture.formats.base import Flaw, Json
from suture.formats.media import BAD, EMPTY, SHAPE, address, base64, kind_in, says

_WHAT = {"image": "picture", "document": "document"}
_PDF = "application/pdf"
# What a source without a type can only be, by what it holds.
_TYPES = {"data": "base64", "url": "url", "file_id": "file"}


def flaw_of(block: Json) -> Flaw | None:
    """What is wrong with the block; None where nothing is, and for one of another type."""
    what = _WHAT.get(str(block.get("type")))
    if what is None:
        return None
    source = block.get("source")
    if not isinstance(source, dict) or not source:
        return Flaw(EMPTY, f"the {what} has no source")
    if "type" not in source:
        return _untyped(block, source, what)
    match source["type"]:
        case "base64" if what == "document":
            return _data(block, source, what)
        case "url":
            return _url(block, source, what)
        case "file":
            return None if says(source.get("file_id")) else Flaw(EMPTY, f"the {what} has no id of a file")
        case "text" | "content" as kind if what == "document":
            held = source.get("data" if kind == "text" else "content")
            return None if says(held) or (held and not isinstance(held, str)) else Flaw(EMPTY, "the document holds nothing")
    return None


def _untyped(block: Json, source: Json, what: str) -> Flaw:
    kind = next((kind for key, kind in _TYPES.items() if says(source.get(key))), None)
    if kind is None:
        return Flaw(EMPTY, f"the source of the {what} holds nothing")
    typed = {**block, "source": {"type": kind, **source}}
    flaw = flaw_of(typed)
    if flaw is not None and flaw.instead is None:
        return flaw
    return Flaw(SHAPE, f"the source of the {what} has no type", typed if flaw is None else flaw.instead)


def _data(block: Json, source: Json, what: str) -> Flaw | None:
    content = base64(source.get("data"), what)
    if content.flaw is not None and content.flaw.code != SHAPE:
        return content.flaw
    given = source.get("media_type")
    kind = given if says(given) else content.media_type or kind_in(content.value)
    if kind is None:
        return Flaw(BAD, f"the {what} does not say of which kind it is")
    flaw = content.flaw or (None if says(given) else Flaw(SHAPE, f"the {what} does not say of which kind it is"))
    return flaw and flaw._replace(instead=_with(block, {**source, "media_type": kind, "data": content.value}))


def _url(block: Json, source: Json, what: str) -> Flaw | None:
    content = address(source.get("url"), what)
    if content.flaw is not None and content.flaw.code != SHAPE:
        return content.flaw
    if not content.value.startswith("data:"):
        return None
    head, _, data = content.value.partition(",")
    kind = kind_in(data) or head.removeprefix("data:").partition(";")[0] or ("image/png" if what == "picture" else _PDF)
    why = f"the {what} has its data in an address"
    return Flaw(SHAPE, why, _with(block, {"type": "base64", "media_type": kind, "data": data}))


def _with(block: Json, source: Json) -> Json:
    return {**block, "source": source}
