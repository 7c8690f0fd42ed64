"""What is wrong with the pictures, sounds and files of Gemini's (GEM-IMG-EMPTY, GEM-IMG-SHAPE, GEM-IMG-BAD)."""

from __future__ import annotations

from suture.formats.base import Flaw, Json
from suture.formats.gemini.parts import field, holds, spelling_of
from suture.formats.media import BAD, EMPTY, SHAPE, base64, says

_URL_SAFE = "-_"  # of the other alphabet of base64, which protocol buffers read as well


def flaw_of(part: Json) -> Flaw | None:
    """What is wrong with the part; None where nothing is, and for one that holds something else."""
    for key, check in (("inlineData", _data), ("fileData", _file)):
        if holds(part, key) and isinstance(inner := field(part, key), dict):
            return check(part, key, inner)
    return None


def _data(part: Json, key: str, inner: Json) -> Flaw | None:
    content = base64(inner.get("data"), "part", _URL_SAFE)
    if content.flaw is not None and content.flaw.code != SHAPE:
        return content.flaw
    given = field(inner, "mimeType")
    kind = given if says(given) else content.media_type
    if kind is None:
        return Flaw(BAD, "the part has no mimeType")
    flaw = content.flaw or (None if says(given) else Flaw(SHAPE, "the part has no mimeType"))
    if flaw is None:
        return None
    data = {"data": content.value} if content.flaw is not None else {}
    return flaw._replace(instead=_with(part, key, {**inner, spelling_of(inner, "mimeType"): kind, **data}))


def _file(_part: Json, _key: str, inner: Json) -> Flaw | None:
    if not says(field(inner, "fileUri")):
        return Flaw(EMPTY, "the file has no fileUri")
    if says(field(inner, "mimeType")):
        return None
    return Flaw(BAD, "the file has no mimeType, which Vertex wants", severity="DEG")


def _with(part: Json, key: str, inner: Json) -> Json:
    return {**part, spelling_of(part, key): inner}
