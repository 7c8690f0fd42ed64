"""What a backslash in a text stands for: JSON's escapes, itself, or what nobody can tell."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

# "escape" as JSON has it; "quote" before a quote, which is one whatever the others are; "stray" before a letter that it
# escapes in no language, so that it stands for itself (`\d`, `C:\Users`); "unclear" before what some people escape
# needlessly, in a shell or in Markdown (`\$`, `\#`), and before what is a space in some languages (`\s`); "foreign" where
# another language reads something else.
Escape: TypeAlias = Literal["escape", "quote", "stray", "unclear", "foreign"]

_HEX = re.compile(r"u[0-9a-fA-F]{4}")
_FOREIGN = re.compile(r"x[0-9a-fA-F]{2}|[xo]\{|U[0-9a-fA-F]{8}|N\{|[CM]-|[0-9uavecz\r\n\u2028\u2029]")
_JSON = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/", "\\": "\\"}
_DRIVE = re.compile(r"(?:\A|.*[^A-Za-z0-9])[A-Za-z]:", re.DOTALL)
_STRAY = re.compile(r"[A-Za-rt-z]")


class Escaped(NamedTuple):
    """What a backslash and what it escapes mean, where the text goes on, and whether a drive's letter stands before it."""

    meant: str
    end: int
    kind: Escape
    is_behind_drive: bool


def escaped(text: str, at: int) -> Escaped:
    """What the backslash at `at` stands for."""
    is_behind_drive = _DRIVE.fullmatch(text, max(at - 3, 0), at) is not None
    following = text[at + 1 : at + 2]
    if following in ('"', "'"):
        return Escaped(following, at + 2, "quote", is_behind_drive)
    if found := _HEX.match(text, at + 1):
        return Escaped(chr(int(found[0][1:], 16)), found.end(), "escape", is_behind_drive)
    if following in _JSON:
        return Escaped(_JSON[following], at + 2, "escape", is_behind_drive)
    if _FOREIGN.match(text, at + 1):
        return Escaped("\\", at + 1, "foreign", is_behind_drive)
    if is_behind_drive or _STRAY.match(following):
        return Escaped("\\", at + 1, "stray", is_behind_drive)
    return Escaped("\\", at + 1, "unclear", is_behind_drive)
