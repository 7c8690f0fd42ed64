"""What is wrong with the pictures and files of OpenAI's Responses (RSP-IMG-EMPTY, RSP-IMG-SHAPE, RSP-IMG-BAD)."""

from __future__ import annotations

from suture.formats.base import Flaw, Json
from suture.formats.media import EMPTY, SHAPE, address, says
from suture.formats.wire import rest

MEDIA = ("input_image", "input_file")

_URL = frozenset(("url",))
_HOLD = ("file_id", "file_data", "file_url")


def flaw_of(part: Json) -> Flaw | None:
    """What is wrong with the part; None where nothing is, and for one of another type."""
    match part.get("type"):
        case "input_image":
            return _picture(part, part.get("image_url"))
        case "input_file":
            return _file(part)
    return None


def _picture(part: Json, url: object) -> Flaw | None:
    inner = url if isinstance(url, dict) else None
    content = address(url if inner is None else inner.get("url"), "picture")
    flaw = content.flaw
    if flaw is not None and flaw.code == EMPTY and url in (None, "") and says(part.get("file_id")):
        return None
    if inner is None:
        return flaw and (flaw._replace(instead={**part, "image_url": content.value}) if flaw.code == SHAPE else flaw)
    if flaw is not None and flaw.code != SHAPE:
        return flaw
    why = "the address of the picture stands in an object; it is a text"
    return Flaw(SHAPE, why, {**part, **rest(inner, _URL), "image_url": content.value})


def _file(part: Json) -> Flaw | None:
    if not any(says(part.get(key)) for key in _HOLD):
        return Flaw(EMPTY, "the file has neither data nor an address nor an id")
    data = part.get("file_data")
    is_address = isinstance(data, str) and data.startswith("data:")
    return address(data, "file").flaw if is_address and not says(part.get("file_id")) else None
