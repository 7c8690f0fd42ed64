"""What can be said of a picture from its base64 text: its kind and size, and what a provider would refuse.

Only the beginning is decoded, and no picture is ever opened: a header tells the size. A header that is not known here is
no fault, since others may know it.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from typing import Literal, NamedTuple

from suture.formats.limits import Pictures

# Enough for the size of everything but a JPEG, whose size stands behind its profiles and thumbnails.
_HEAD = 64
_JPEG_HEAD = 512 * 1024

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n\t "
_ADDRESS = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.-]+)*;base64,")
_MEGABYTE = 1024 * 1024

# Start-of-frame markers of a JPEG, which hold its size; the other three of that range do not.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_WITHOUT_LENGTH = frozenset((0x01, *range(0xD0, 0xD9)))


class Seen(NamedTuple):
    """A picture's media type, and its size in pixels where the header tells it."""

    media_type: str
    width: int | None = None
    height: int | None = None


class Fault(NamedTuple):
    """Why a picture would be refused: the code of the finding, the words for it, and facts for the provider's text.

    `media_type` is the right one where only the name was wrong. `certain` is False for what was refused once.
    """

    code: str
    why: str
    facts: dict[str, str | int]
    media_type: str | None = None
    certain: bool = True


def seen_in(data: str) -> Seen | None:
    """What the header of base64 data says; None when it is none that is known here."""
    head = _decoded(data, _HEAD)
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return Seen("image/png", *_pair(head, 16, 4, "big"))
    if head.startswith((b"GIF87a", b"GIF89a")):
        return Seen("image/gif", *_pair(head, 6, 2, "little"))
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return Seen("image/webp", *_webp(head))
    if head.startswith(b"\xff\xd8\xff"):
        return Seen("image/jpeg", *_jpeg(_decoded(data, _JPEG_HEAD)))
    return None


def without_address(data: str) -> tuple[str, str | None]:
    """Base64 data without the `data:` address that it was put in, and the media type that stood there."""
    found = _ADDRESS.match(data)
    return (data[found.end() :], found[1]) if found else (data, None)


def is_base64(data: str) -> bool:
    """Whether nothing but the letters of base64 is in the text."""
    return not data.encode("ascii", "replace").translate(None, _ALPHABET)


def is_wide(data: str, side: int) -> bool:
    """Whether a side of the picture is known to have more pixels."""
    seen = seen_in(data)
    return seen is not None and max(seen.width or 0, seen.height or 0) > side


def fault_of(data: str, media_type: str | None, limits: Pictures) -> Fault | None:
    """Why the picture alone would be refused; what comes of many in one request is not looked at."""
    if not data.strip():
        return Fault("IMAGE_EMPTY", "it is empty", {})
    bare, named = without_address(data)
    seen = seen_in(bare)
    if bare is not data and is_base64(bare):
        right = seen.media_type if seen else named or media_type
        return Fault("IMAGE_UNSUPPORTED", "its data begins with an address", {}, right)
    if not is_base64(data):
        return Fault("IMAGE_UNSUPPORTED", "its data is not base64", {})
    if len(data) > limits.size:
        return _too_large(data, limits.size)
    if seen is not None and max(seen.width or 0, seen.height or 0) > limits.side:
        return Fault("IMAGE_DIMENSION", f"it is more than {limits.side} pixels wide or high", {"most": limits.side})
    if seen is not None and seen.media_type != media_type:
        facts: dict[str, str | int] = {"given": str(media_type), "seen": seen.media_type}
        return Fault("IMAGE_UNSUPPORTED", f"it is {seen.media_type}, not {media_type}", facts, seen.media_type)
    if media_type not in limits.types:
        return Fault("IMAGE_UNSUPPORTED", f"the media type {media_type!r} is not taken", {"given": str(media_type)})
    return _too_large(data, limits.size_once)._replace(certain=False) if len(data) > limits.size_once else None


def _too_large(data: str, most: int) -> Fault:
    facts: dict[str, str | int] = {"mb": most // _MEGABYTE, "n": len(data), "most": most}
    return Fault("IMAGE_BYTES", f"it is larger than {most // _MEGABYTE} MB as base64", facts)


# Headers --------------------------------------------------------------------------------------


def _decoded(data: str, most: int) -> bytes:
    """The first bytes of base64 data; what is no base64 is passed over."""
    text = "".join(data[: most * 4 // 3 + 8].encode("ascii", "ignore").decode().split()).rstrip("=")
    text = text[:-1] if len(text) % 4 == 1 else text
    try:
        return a2b_base64(text + "=" * (-len(text) % 4))[:most]
    except ValueError:
        return b""


def _pair(head: bytes, start: int, size: int, order: Literal["big", "little"]) -> tuple[int, int] | tuple[()]:
    """Two numbers beside each other."""
    if len(head) < start + 2 * size:
        return ()
    first, second = head[start : start + size], head[start + size : start + 2 * size]
    return int.from_bytes(first, order), int.from_bytes(second, order)


def _webp(head: bytes) -> tuple[int, int] | tuple[()]:
    match head[12:16]:
        case b"VP8X" if len(head) >= 30:
            return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
        case b"VP8L" if len(head) >= 25:
            bits = int.from_bytes(head[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 " if len(head) >= 30:
            return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF
    return ()


def _jpeg(head: bytes) -> tuple[int, int] | tuple[()]:
    """The size in the first frame; nothing when it begins behind what was decoded."""
    at = 2
    while at + 9 <= len(head):
        if head[at] != 0xFF:
            return ()
        marker = head[at + 1]
        if marker in _FRAMES:
            return int.from_bytes(head[at + 7 : at + 9], "big"), int.from_bytes(head[at + 5 : at + 7], "big")
        if marker == 0xFF:
            at += 1
        elif marker in _WITHOUT_LENGTH:
            at += 2
        else:
            at += 2 + max(int.from_bytes(head[at + 2 : at + 4], "big"), 2)
    return ()
