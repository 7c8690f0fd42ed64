"""What is wrong with the pictures, sounds and documents of Converse (BDR-IMG-EMPTY, BDR-IMG-SHAPE, BDR-IMG-BAD)."""

from __future__ import annotations

from collections.abc import Mapping

from suture.formats.base import Flaw, Json
from suture.formats.bedrock.parts import DOCUMENTS, FORMATS, IMAGES
from suture.formats.media import BAD, EMPTY, SHAPE, Content, base64, kind_in, says

MEDIA = frozenset(("image", "document", "audio", "video"))

_WHAT = {"image": "picture", "document": "document", "audio": "sound", "video": "video"}
# Other names of formats, in small letters.
_IMAGES: Mapping[str, str] = {**{each: each for each in IMAGES}, "jpg": "jpeg"}
_DOCUMENTS: Mapping[str, str] = {
    **{each: each for each in DOCUMENTS},
    **FORMATS,
    "htm": "html",
    "text": "txt",
    "markdown": "md",
}


def flaw_of(block: Json) -> Flaw | None:
    """What is wrong with the block; None where nothing is, and for one of another kind."""
    if len(block) != 1 or (member := next(iter(block))) not in MEDIA:
        return None
    inner, what = block[member], _WHAT[member]
    source = inner.get("source") if isinstance(inner, dict) else None
    if not isinstance(inner, dict) or not isinstance(source, dict) or not source:
        return Flaw(EMPTY, f"the {what} has no source")
    content = _content(source, what)
    if content.flaw is not None and content.flaw.code != SHAPE:
        return content.flaw
    format, flaw = _format(member, inner.get("format"), content, what)
    if format is None or (flaw := content.flaw or flaw) is None:
        return flaw
    data = {"source": {**source, "bytes": content.value}} if content.flaw is not None else {}
    return flaw._replace(instead={member: {**inner, "format": format, **data}})


def _content(source: Json, what: str) -> Content:
    """What the source holds, where it is of a kind that is known."""
    if "bytes" in source:
        return base64(source["bytes"], what)
    if "s3Location" in source:
        place = source["s3Location"]
        held = says(place.get("uri")) if isinstance(place, dict) else False
    elif "text" in source:
        held = says(source["text"])
    else:
        held = any(source.values())
    return Content("", None if held else Flaw(EMPTY, f"the source of the {what} holds nothing"))


def _format(member: str, given: object, content: Content, what: str) -> tuple[str | None, Flaw | None]:
    """The format as it is to be called, and what is wrong with how it is; of sounds and videos any is taken."""
    names = {"image": _IMAGES, "document": _DOCUMENTS}.get(member)
    if names is None or given in names.values():
        return str(given), None
    named = names.get(_seen(content)) or names.get(str(given).lower().removeprefix("image/"))
    if not says(given):
        why = f"the {what} does not say of which format it is"
    else:
        why = f"the {what} is of the format {given!r}, which is none of {', '.join(sorted(set(names.values())))}"
    return named, Flaw(SHAPE if named else BAD, why)


def _seen(content: Content) -> str:
    kind = content.media_type or kind_in(content.value) or ""
    return kind.removeprefix("image/")
