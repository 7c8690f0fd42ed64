"""Whether a text, where a list of texts is wanted, is clearly one item of it; not several, nor a word for all or none."""

from __future__ import annotations

import re

# What separates items, begins one of several, or quotes one; and what leaves some out.
_SEVERAL = re.compile(
    r"""[,;|<>"\[\]{}\t\r\n\v\f\x85\u2028\u2029、，；،·•\uff5c\u2026]|\s\s|(?<!\w)'|'(?!\w)|\A\s*(?:[-*+–]\s|\d+[.)]\s)"""
    r"|\s[&+/:–—-]|[&+:–—-]\s|\w&\w|\\[nrt]|\.\.(?![/\\])|\A\d+\s*[-–]\s*\d+\Z|\A\*+\Z"
)
_SLASH = re.compile(r"[/\uff0f]")
# A path that says so: from a root, here or above, an address, or with an extension at its end and nowhere else.
_PATH = re.compile(r"(?:\.{0,2}|~)/\S+|[A-Za-z][\w+.-]*://\S+|(?:[^\s/.]+/)+[^\s/.]+\.[A-Za-z0-9]+")
# Words for all, for none, and for what is left out: alone or beside another.
_AMOUNTS = frozenset(
    (
        *(
            "all",
            "any",
            "both",
            "each",
            "either",
            "every",
            "everybody",
            "everyone",
            "everything",
            "anything",
            "anyone",
            "*",
        ),
        *("none", "null", "nil", "undefined", "nan", "no", "not", "nothing", "nobody", "neither", "empty", "blank"),
        *("n/a", "na", "tbd", "unknown", "unspecified", "default", "various", "several", "multiple", "many", "some"),
        *("except", "without", "but", "others", "other", "etc", "etc.", "-", "--", "?"),
    )
)
# More words than a name has may be an item each.
_MOST_WORDS = 2


def is_one(text: str) -> bool:
    """Whether a text says of itself that it is one item: a word, a name of two, or a path."""
    words = text.lower().split()
    if not words or len(words) > _MOST_WORDS or _SEVERAL.search(text):
        return False
    if not _AMOUNTS.isdisjoint(words) or (len(words) > 1 and not any(map(str.isalpha, words))):
        return False
    return not _SLASH.search(text) or _PATH.fullmatch(text) is not None
