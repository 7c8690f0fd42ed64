"""Which comments inside a value say nothing that could change it.

A comment may hold what was meant instead (`5 // 50?`, `"Bern" // Basel`), a member that was taken out (`// "days": 3`),
or doubt (`// not sure`). So it is taken only when it is plain words without any of that; behind a value, words that
describe it.
"""

from __future__ import annotations

import re

# Letters alone; an apostrophe or a hyphen stands inside a word, a full stop at its end.
_PLAIN = re.compile(r"(?:[^\W\d_]+(?:['\u2019-](?=[^\W\d_])|\.(?=\s|\Z))?|\s+)*+")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_EDGES = re.compile(r"\A(?://|#|/\*)|\*/\Z")

_SMALL = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))


# Words for numbers and quantities, and units, which say how much a number is.
_NUMBERS = frozenset(_SMALL) | _words("""
    thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    hundred hundreds thousand thousands million millions billion half quarter dozen couple few several
    double twice triple thrice both all every each any more less fewer plus minus percent percents cent cents
    second seconds minute minutes hour hours day days week weeks month months year years ms milliseconds
    metre metres meter meters km kilometers kilometres mile miles dollars euros pounds francs bytes kb mb gb
""")
# Words that deny, doubt, choose, change, take out, or make it depend on something; and the names of other values.
_DOUBTING = _words("""
    no not never none nothing nor neither nope without cannot dont doesnt isnt wont shouldnt cant
    or either else instead rather alternatively alternative otherwise versus vs than other another different
    maybe perhaps possibly probably guess guessed guessing unsure unknown uncertain unclear sure think confirm
    check verify ask approx approximately about around roughly estimate estimated assume assumed assuming
    wait hmm actually sorry oops correction corrected wrong mistake error typo should must might could would
    may need needs ought better change changed replace replaced update updated edit fix fixed adjust
    ignore ignored skip skipped omit omitted remove removed delete deleted drop dropped disable disabled
    disregard cancel cancelled canceled revert undo stop todo fixme xxx tbd placeholder example dummy fake sample
    mock test default temporary truncated continued etc rest remaining only except but however although
    unless if when until while before after later then once depends case previously
    is are be was were isnt equals means becomes set use using
    true false null nil undefined nan yes on off enabled empty blank
""")
# Words with which a description begins, and few values: `the capital` beside `Bern`, not `Basel` or `for Bob`.
_DESCRIBING = frozenset(("the", "a", "an", "this", "that", "these", "those"))


class Nothing:
    """Where no value stands before a comment."""


NOTHING = Nothing()


def is_plain(comment: str, value: object, *, confirmed: bool) -> bool:
    """Whether a comment says nothing that could change the value before it, or any other.

    A number's own word confirms it, as `2 /* two */` does; behind that, others may be counted.
    """
    text = _EDGES.sub("", comment)
    if _PLAIN.fullmatch(text) is None:
        return False
    words = [word.lower().replace("\u2019", "'") for word in _WORD.findall(text)]
    if any(word in _DOUBTING or word.endswith("n't") for word in words):
        return False
    if any(word in _NUMBERS for word in words):
        return confirmed or confirms(comment, value)
    return not words or not isinstance(value, str | int | float | None) or any(word in _DESCRIBING for word in words)


def confirms(comment: str, value: object) -> bool:
    """Whether a comment is the word of the number before it."""
    said = _EDGES.sub("", comment).strip(" \t\r\n.").lower()
    return type(value) is int and 0 <= value < len(_SMALL) and said == _SMALL[value]
