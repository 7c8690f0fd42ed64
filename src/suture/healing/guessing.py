"""Which format a history is in when nobody named it.

Where nothing in it tells, it may fit several. What is fine in each of them is fine, whichever it is; only where they do not
agree has somebody to say which.
"""

from __future__ import annotations

from typing import NamedTuple

from suture.errors import AmbiguousFormat, HistoryError
from suture.formats import detect, format_of
from suture.healing.given import checked

# Findings that say of a history that its shapes are another format's: it fits only because healing reads it.
_OF_OTHERS = frozenset(("BLOCK_SHAPE", "PART_ROLE"))


class Guess(NamedTuple):
    """A format; `is_told` says whether something tells it, or the history is as fine in others."""

    format: str
    is_told: bool = True


def guess(history: object, usual: str | None = None) -> Guess:
    """The format of a history; `usual` is that of the histories beside it, and decides where it fits.

    Raises:
        AmbiguousFormat: it fits several, and not all of them would take it as it is.
        UnknownFormat, HistoryError: it fits none, or is no history.
    """
    try:
        return Guess(detect(history, usual))
    except AmbiguousFormat as error:
        takes = [taken for name in error.formats if (taken := _takes(history, name)) is not None]
        if not takes or not all(takes):
            raise
        return Guess(error.formats[0], is_told=False)


def _takes(history: object, name: str) -> bool | None:
    """Whether a format takes the history as it is; None where its shapes are not that format's."""
    form = format_of(name)
    try:
        given, found = checked(history, form, form.limits(""))
    except HistoryError:
        return False
    if any(each.code in _OF_OTHERS for each in found):
        return None
    return not given.changes and all(each.severity != "REJ" for each in found)
