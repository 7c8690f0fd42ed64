"""Pictures, sounds and files of which nothing can be sent: what is missing in one, and what can only be meant by it.

Each format reads its own parts with these words. What is not known here is no fault, since a provider may know it.
"""

from __future__ import annotations

from base64 import b64encode
from typing import NamedTuple

from suture.formats.base import Flaw
from suture.formats.pictures import is_base64, seen_in, without_address

EMPTY, SHAPE, BAD = "IMAGE_EMPTY", "IMAGE_SHAPE", "IMAGE_UNSUPPORTED"
_HEAD = 64  # bytes in which a kind can be told
_PDF = "JVBERi"  # how the base64 of a PDF begins


class Content(NamedTuple):
    """A value that holds data or says where they are, as it is to be sent; `flaw` says what was wrong with it.

    `media_type` is what the value itself tells.
    """

    value: str
    flaw: Flaw | None = None
    media_type: str | None = None


def says(value: object) -> bool:
    """Whether it is a text that is not blank."""
    return isinstance(value, str) and bool(value.strip())


def kind_in(data: str) -> str | None:
    """The media type of base64 data whose beginning is known."""
    seen = seen_in(data)
    return seen.media_type if seen is not None else "application/pdf" if data.startswith(_PDF) else None


def address(value: object, what: str) -> Content:
    """The address of a picture or file, which may hold the data itself."""
    if not isinstance(value, str) or not value.strip():
        return Content("", Flaw(EMPTY, f"the {what} has no address"))
    if value.startswith("data:"):
        head, _, data = value.partition(",")
        if not data.strip():
            return Content(value, Flaw(EMPTY, f"the address of the {what} holds no data"))
        if not head.endswith(";base64") or not is_base64(data):
            return Content(value, Flaw(BAD, f"the data in the address of the {what} is not base64"))
    elif is_base64(value) and (kind := kind_in(value)):
        return Content(f"data:{kind};base64,{value}", Flaw(SHAPE, f"the {what} has data where its address belongs"), kind)
    return Content(value)


def base64(value: object, what: str, more: str = "") -> Content:
    """Base64 data, or the bytes themselves as an SDK has them; `more` are letters that are taken beside its own."""
    if isinstance(value, bytes):
        head = b64encode(value[:_HEAD]).decode()
        return Content(head, None if value else Flaw(EMPTY, f"the {what} has no data"), kind_in(head))
    if not isinstance(value, str) or not value.strip():
        return Content("", Flaw(EMPTY, f"the {what} has no data"))
    bare, named = without_address(value)
    if bare != value and bare.strip() and is_base64(bare):
        return Content(bare, Flaw(SHAPE, f"the {what} has an address where its data belongs"), kind_in(bare) or named)
    if not is_base64(value.translate(dict.fromkeys(map(ord, more))) if more else value):
        return Content(value, Flaw(BAD, f"the data of the {what} is not base64"))
    return Content(value, None, kind_in(value))


def sentence(flaw: Flaw) -> str:
    """The flaw as a finding says it."""
    return f"{flaw.why[0].upper()}{flaw.why[1:]}."
