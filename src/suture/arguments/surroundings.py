"""What may stand around a JSON value that says nothing of it: tags, fences, and prose that can be no argument.

What is taken is listed, so that nothing of a call is dropped unread: quotes, digits, `=`, brackets, a label or a comma at
the value, and words that go on with the value as a part of them, are refused.
"""

from __future__ import annotations

import re

_TAG = re.compile(r"<[|｜][\w ./:▁-]*[|｜]>|</?[A-Za-z][\w.:|-]*/?>")
_OPENED = re.compile(r"<[A-Za-z]")
_FENCE_BEFORE = re.compile(r"(?:\A|\n)[ \t]*(?:```|~~~)[\w+-]*\s*\Z")
_LETTER = r"[^\W\d]"
# A colon ends its line. An apostrophe or a hyphen stands inside a word.
_PROSE = re.compile(rf"(?:{_LETTER}|[\s\ufeff.,!?;`~…。，！？、]|(?<={_LETTER})['’-](?={_LETTER})|[:：][ \t]*(?:\n|\Z))*+")
_SENTENCES = re.compile(rf"(?:{_LETTER}|[\s.,!?…。，！？、]|(?<={_LETTER})['’-](?={_LETTER}))*+(?<=[.!?…。！？])\s*")
_COLONS = ":："
_COMMAS = ",，、"
_MARKS = " \t\r\n\ufeff;.`~"


def is_lead(before: str) -> bool:
    """Whether what stands before a value leads up to it: tags, a fence, or prose that ends in a colon or with its line."""
    fence = _FENCE_BEFORE.search(before)
    words = _without_tags(before[: fence.start()] if fence else before)
    if words is None or _PROSE.fullmatch(words) is None:
        return False
    said = words.strip(_MARKS)
    if not said:
        return True
    if said[-1] in _COMMAS or said[0] in _COLONS:
        return False
    if fence:
        return True
    line = said.rpartition("\n")[2].rstrip(_COLONS)
    ends = said[-1] in _COLONS or "\n" in words[words.rindex(said) + len(said) :]
    return ends and not _is_label(line)


def is_tail(behind: str) -> bool:
    """Whether what stands behind a value adds nothing to it: tags and marks, or whole sentences of their own."""
    words = None if _OPENED.search(behind) else _without_tags(behind)
    if words is not None and not words.strip(_MARKS):
        return True
    begun = behind.lstrip()
    return begun[:1].isalpha() and not begun[0].islower() and _SENTENCES.fullmatch(begun) is not None


def _without_tags(text: str) -> str | None:
    """The text with a line's end for each tag; None when a tag closes what stands before it, which is then an element."""
    if any(piece.rpartition(">")[2].strip() for piece in text.split("</")[:-1]):
        return None
    return _TAG.sub("\n", text)


def _is_label(words: str) -> bool:
    """Whether it could be a key: one word alone, or behind a comma."""
    return len(re.split(f"[{_COMMAS}]", words)[-1].split()) < 2
