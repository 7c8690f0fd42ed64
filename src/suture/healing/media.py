"""The pass over pictures that the target would refuse: a wrong name is put right, the others give way to a few words."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from suture.formats.limits import Pictures
from suture.formats.pictures import Fault, fault_of, is_wide, without_address
from suture.healing.work import Work
from suture.messages import Image, Opaque, Part, Text


class _Place(NamedTuple):
    """A picture: its message, its index among the parts, what it is, and what it came as."""

    at: int
    slot: int
    part: Image
    given: Part


def media(work: Work) -> None:
    """Each picture is one that the target takes, and where there are many, so are all of them together."""
    limits = work.limits.pictures
    if limits is None:
        return
    places = [
        _Place(at, slot, picture, part)
        for at, message in enumerate(work.messages)
        for slot, part in enumerate(message.parts)
        if (picture := _picture(part)) is not None
    ]
    if not places:
        return
    left = [fine for place in places if (fine := _mended(work, place, limits)) is not None]
    over = len(left) - limits.many
    wide = [place for place in left if is_wide(_data(place.part)[0], limits.side_of_many)] if over > 0 else []
    for place in wide[:over]:
        why = f"there are more than {limits.many} pictures, and it is more than {limits.side_of_many} pixels wide or high"
        _omit(work, place, "IMAGE_DIMENSION", why, case="many")


def _picture(part: Part) -> Image | None:
    """A picture, also one that lacks what a picture needs."""
    if type(part) is Image:
        return part
    raw = part.raw if type(part) is Opaque else None
    source = raw.get("source") if isinstance(raw, dict) and raw.get("type") == "image" else None
    if not isinstance(source, dict) or source.get("type") != "base64":
        return None
    data, media_type = source.get("data"), source.get("media_type")
    return Image(data if isinstance(data, str) else "", media_type=media_type if isinstance(media_type, str) else None)


def _data(picture: Image) -> tuple[str, str | None]:
    """The base64 data of a picture and its media type; blank where it stands elsewhere."""
    if picture.data is not None:
        return picture.data, picture.media_type
    bare, named = without_address(picture.url or "")
    return ("", None) if bare == picture.url else (bare, named)


def _mended(work: Work, place: _Place, limits: Pictures) -> _Place | None:
    """The picture as it may be sent; None where it may not."""
    if place.part.data is None and _data(place.part) == ("", None):
        return place
    data, media_type = _data(place.part)
    fault = fault_of(data, media_type, limits)
    named: Fault | None = None
    while fault is not None and fault.media_type is not None:
        data, media_type, named = without_address(data)[0], fault.media_type, named or fault
        fault = fault_of(data, media_type, limits)
    if fault is not None and fault.certain:
        _omit(work, place, fault.code, fault.why)
        return None
    if named is not None:
        detail = f"{named.why}; sent as {media_type}"
        work.note(named.code, place.at, "put the picture's media type right", part=place.given, detail=detail)
        place = place._replace(part=Image(data, media_type=media_type, ext=place.part.ext))
        _put(work, place, place.part)
    return place


def _omit(work: Work, place: _Place, code: str, why: str, *, case: str = "") -> None:
    words = f"[image omitted: {why}]"
    work.note(code, place.at, "put words where the picture was", part=place.given, detail=words, lost="image", case=case)
    _put(work, place, Text(words))


def _put(work: Work, place: _Place, part: Part) -> None:
    message = work.messages[place.at]
    parts = (*message.parts[: place.slot], part, *message.parts[place.slot + 1 :])
    work.messages[place.at] = msgspec.structs.replace(message, parts=parts)
