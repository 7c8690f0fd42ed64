"""What is read of a picture without opening it: kind, size, and why it would be refused."""

from __future__ import annotations

import base64
import struct
import time

import pytest

from suture.formats.limits import Pictures
from suture.formats.pictures import Seen, fault_of, is_base64, seen_in, without_address


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0"


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0"


def webp(kind: bytes, body: bytes) -> bytes:
    return b"RIFF\x00\x01\0\0WEBP" + kind + b"\x40\0\0\0" + body


def jpeg(width: int, height: int, before: bytes = b"") -> bytes:
    return b"\xff\xd8" + before + b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03\x01\x11\0"


def segment(size: int) -> bytes:
    return b"\xff\xe1" + struct.pack(">H", size + 2) + b"\xff" * size


LOSSLESS = struct.pack("<BI", 0x2F, (1439 | 8569 << 14))
LOSSY = b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 640, 480)
EXTENDED = b"\0\0\0\0" + (9999).to_bytes(3, "little") + (4).to_bytes(3, "little")


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        (png(1440, 8570), Seen("image/png", 1440, 8570)),
        (png(1, 1)[:8], Seen("image/png")),
        (gif(7, 300), Seen("image/gif", 7, 300)),
        (webp(b"VP8L", LOSSLESS), Seen("image/webp", 1440, 8570)),
        (webp(b"VP8 ", LOSSY), Seen("image/webp", 640, 480)),
        (webp(b"VP8X", EXTENDED), Seen("image/webp", 10000, 5)),
        (webp(b"VP9 ", b""), Seen("image/webp")),
        (jpeg(640, 480), Seen("image/jpeg", 640, 480)),
        (jpeg(640, 480, segment(60_000) * 5), Seen("image/jpeg", 640, 480)),
        (jpeg(640, 480, b"\xff\xff\xff\xd0"), Seen("image/jpeg", 640, 480)),
        (jpeg(640, 480, segment(65_000) * 20), Seen("image/jpeg")),  # behind what is decoded
        (jpeg(640, 480)[:8], Seen("image/jpeg")),
        (b"\xff\xd8\xff\xe1\x00\x00\x00", Seen("image/jpeg")),
        (b"BM\0\0", None),
        (b"", None),
    ],
)
def test_a_header_tells_kind_and_size(data: bytes, seen: Seen | None) -> None:
    """Of the four kinds that providers take, as far as the header goes."""
    assert seen_in(b64(data)) == seen
    assert seen_in(b64(data).rstrip("=")) in (seen, seen and Seen(seen.media_type))


def test_line_breaks_are_no_fault() -> None:
    """Base64 as mail programs break it is read as well."""
    text = base64.encodebytes(png(30, 20)).decode()
    assert is_base64(text)
    assert seen_in(text) == Seen("image/png", 30, 20)


@pytest.mark.parametrize(
    ("data", "media_type", "code", "right"),
    [
        (b64(png(8000, 8000)), "image/png", None, None),
        (b64(png(8001, 1)), "image/png", "IMAGE_DIMENSION", None),
        (b64(png(8001, 1)), "image/gif", "IMAGE_DIMENSION", None),
        ("", "image/png", "IMAGE_EMPTY", None),
        ("\n ", "image/png", "IMAGE_EMPTY", None),
        ("AA", "image/png", None, None),  # too little to say anything about it
        ("caf\u00e9", "image/png", "IMAGE_UNSUPPORTED", None),
        ("\ud83d", "image/png", "IMAGE_UNSUPPORTED", None),
        ("https://example.com/a.png", "image/png", "IMAGE_UNSUPPORTED", None),
        (b64(png(2, 2)), "image/jpg", "IMAGE_UNSUPPORTED", "image/png"),
        (b64(png(2, 2)), None, "IMAGE_UNSUPPORTED", "image/png"),
        ("data:image/gif;base64," + b64(png(2, 2)), "image/gif", "IMAGE_UNSUPPORTED", "image/png"),
        ("data:image/webp;charset=utf-8;base64,AAAA", None, "IMAGE_UNSUPPORTED", "image/webp"),
        (b64(b"BM"), "image/bmp", "IMAGE_UNSUPPORTED", None),
        (b64(b"BM"), "image/png", None, None),  # a header that is not known here is no fault
    ],
)
def test_what_would_be_refused(data: str, media_type: str | None, code: str | None, right: str | None) -> None:
    """Each by its code; where only the name is wrong, with the right one."""
    fault = fault_of(data, media_type, Pictures())
    assert (fault and fault.code) == code
    assert (fault and fault.media_type) == right


def test_size_is_counted_in_base64() -> None:
    """What was refused once is a remark; what is refused now is more."""
    limits = Pictures(size=100, size_once=60)
    head = b64(png(2, 2))
    sizes = {60: None, 61: False, 100: False, 101: True}
    for size, certain in sizes.items():
        fault = fault_of(head[:-1].ljust(size, "A"), "image/png", limits)
        assert (fault and fault.certain) == certain


def test_an_address_is_taken_off() -> None:
    """With the media type that it names; any other text stays what it is."""
    assert without_address("data:image/png;base64,AA") == ("AA", "image/png")
    assert without_address("data:;base64,AA") == ("AA", None)
    assert without_address("AA") == ("AA", None)


def test_a_large_picture_costs_little() -> None:
    """Nothing is decoded but the beginning, so a large one takes milliseconds."""
    data = b64(jpeg(10, 10, segment(65_000) * 100))
    start = time.process_time()
    assert fault_of(data, "image/jpeg", Pictures()) is None or len(data) > 5_000_000
    assert time.process_time() - start < 1
