"""The pass over pictures that the target would refuse: a wrong name is put right, the others give way to a few words."""

from __future__ import annotations

from typing import NamedTuple

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


class _Pictures(NamedTuple):
    """The pictures that are left, and the parts that take the place of others: by message, then by index in it."""

    left: list[_Place]
    instead: dict[int, dict[int, Part]]

    def put(self, place: _Place, part: Part) -> None:
        self.instead.setdefault(place.at, {})[place.slot] = part


def media(work: Work) -> None:
    """Each picture is one that the target takes, and where there are many, so are all of them together."""
    limits = work.limits.pictures
    if limits is None:
        return
    pictures = _Pictures([], {})
    for at, message in enumerate(work.messages):
        for slot, part in enumerate(message.parts):
            if (picture := _picture(part)) is not None:
                _judge(work, _Place(at, slot, picture, part), limits, pictures)
    over = len(pictures.left) - limits.many
    sizes = [(place, _data(place.part)[0]) for place in pictures.left] if over > 0 else []
    for place in [place for place, data in sizes if is_wide(data, limits.side_of_many)][: max(over, 0)]:
        why = f"there are more than {limits.many} pictures, and it is more than {limits.side_of_many} pixels wide or high"
        _omit(work, place, "IMAGE_DIMENSION", why, pictures, case="many")
    for at, parts in pictures.instead.items():
        work.replace(at, parts=tuple([parts.get(slot, part) for slot, part in enumerate(work.messages[at].parts)]))


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


def _judge(work: Work, place: _Place, limits: Pictures, pictures: _Pictures) -> None:
    """Keep the picture, under its right name, or put words where it was."""
    if place.part.data is None and _data(place.part) == ("", None):
        pictures.left.append(place)
        return
    data, media_type = _data(place.part)
    fault = fault_of(data, media_type, limits)
    named: Fault | None = None
    while fault is not None and fault.media_type is not None:
        data, media_type, named = without_address(data)[0], fault.media_type, named or fault
        fault = fault_of(data, media_type, limits)
    if fault is not None and fault.certain:
        _omit(work, place, fault.code, fault.why, pictures)
        return
    if named is not None:
        detail = f"{named.why}; sent as {media_type}"
        work.note(named.code, place.at, "put the picture's media type right", part=place.given, detail=detail)
        place = place._replace(part=Image(data, media_type=media_type, ext=place.part.ext))
        pictures.put(place, place.part)
    pictures.left.append(place)


def _omit(work: Work, place: _Place, code: str, why: str, pictures: _Pictures, *, case: str = "") -> None:
    words = f"[image omitted: {why}]"
    work.note(code, place.at, "put words where the picture was", part=place.given, detail=words, lost="image", case=case)
    pictures.put(place, Text(words))
