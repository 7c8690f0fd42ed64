"""How a file lays out its JSON, so that what is written anew looks as it did: indentation, spaces, escapes, line ends."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

_HEAD = 64 * 1024  # bytes that show the layout

_FIRST_INSIDE = re.compile(rb"\s*[\[{][ \t]*\r?\n([ \t]*)[^\s]")
_FIRST_KEY = re.compile(rb'"[^"\\]*":(\s?)')


class Layout(NamedTuple):
    """How JSON is written. Without `indent` it stands in one line."""

    indent: int | str | None = None
    is_tight: bool = False  # no space behind comma and colon
    is_ascii: bool = False
    line_end: str = "\n"

    def written(self, value: object) -> bytes:
        """A value as a line or lines in that layout, in UTF-8; where lone surrogates forbid that, in ASCII."""
        try:
            return self._text(value, is_ascii=self.is_ascii).encode()
        except UnicodeEncodeError:
            return self._text(value, is_ascii=True).encode()

    def _text(self, value: object, *, is_ascii: bool) -> str:
        tight = "," if self.is_tight or self.indent is not None else ", "
        separators = (tight, ":" if self.is_tight else ": ")
        text = json.dumps(value, ensure_ascii=is_ascii, indent=self.indent, separators=separators, allow_nan=False)
        return (text + "\n").replace("\n", self.line_end)


def layout_of(content: bytes) -> Layout:
    """The layout of a document, or of a line. What cannot be told of one in several lines is two spaces."""
    head = content[:_HEAD]
    key = _FIRST_KEY.search(head)
    return Layout(
        indent=_indent(head),
        is_tight=key is not None and not key[1],
        is_ascii=content.isascii() and b"\\u" in content,
        line_end="\r\n" if b"\r\n" in head else "\n",
    )


def _indent(head: bytes) -> int | str | None:
    if b"\n" not in head.strip():
        return None
    inside = _FIRST_INSIDE.match(head)
    if inside is None or not inside[1]:
        return 2
    return "\t" if inside[1].startswith(b"\t") else len(inside[1])
