"""A provider's error and a rule's words for it, compared as a person would: by the words alone.

Quotes of any kind, case, white space, index numbers and what an error is wrapped in (JSON inside of text, a `repr`, HTML, a
terminal's colours) do not count. Texts are bounded, and every step takes time in proportion to the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from itertools import chain, pairwise
from typing import NamedTuple

from suture.formats.rule import Rule

MOST = 64 * 1024  # characters of a text that are read

_QUOTES = dict.fromkeys(map(ord, "'\"`´‘’‚‛“”„‟«»‹›′″＂＇"), "'")
_UNSEEN = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_FRAMES = dict.fromkeys(range(0x2500, 0x2580), " ")  # what draws boxes around a traceback
_SIGNS: dict[int, str | None] = {**_QUOTES, **_UNSEEN, **_FRAMES}
_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}  # keeps the length, as str.lower does not

_ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|([nrt]))?")
_COLOUR = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")
_WORD = re.compile(r"\w+")

# Where a path begins, in an error and in a rule's words for one.
_ROOTS = "messages?|input|contents|tools|system"
_ROOT = re.compile(rf"\b({_ROOTS})\.?\[?(?<=[.\[])[\d<*]")
_ROOT_OF_RULE = re.compile(rf"\b({_ROOTS})\.?\[?(?:\{{\w+\}}|\d+)\]?")
_FACT = re.compile(r"(\w*\{\w*\}\w*)")

# An escape, a class, or a repetition of what stands before.
_REPEATED = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|[*+]")
_ENDS = {"*": "{0,400}", "+": "{1,400}"}

_LONG = 3  # from so many words on, a stretch of words has to be there
_ROOTED = 7  # with fewer words than that in all, the path has to be there too
_NEAR = 200  # characters in which the short stretches are looked for before the first long one and behind the last
_TAIL = 400  # characters behind the last word in which a fact may stand


# What was said -------------------------------------------------------------------------------


class Said:
    """An error's text made comparable. `text` has plain quotes and single spaces, `lower` is the same in lower case."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.translate(_SIGNS).split())
        self.lower = self.text.translate(_LOWER)
        words = [found for found in _WORD.finditer(self.lower) if not found[0].isdecimal()]
        self._spans = [found.span() for found in words]
        self.words = f" {' '.join(found[0] for found in words)} "
        self._starts: list[int] = []
        at = 1
        for found in words:
            self._starts.append(at)
            at += len(found[0]) + 1
        self.roots = {_root(found[1]) for found in _ROOT.finditer(self.lower)}

    def between(self, begin: int, end: int) -> str:
        """What stands in the text between the words that end and begin at those places of `words`."""
        first, last = bisect_left(self._starts, begin + 1), bisect_left(self._starts, end + 1)
        start = self._spans[first - 1][1] if first else 0
        stop = self._spans[last][0] if last < len(self._spans) else len(self.text)
        return self.text[start:stop]

    def behind(self, place: int) -> str:
        """What stands in the text behind the word that ends at that place of `words`."""
        word = bisect_left(self._starts, place + 1) - 1
        start = self._spans[word][1] if word >= 0 else 0
        return self.text[start : start + _TAIL]


def said(text: str) -> list[Said]:
    """The ways to read a text: with its escapes resolved, and as it came where that is another."""
    text = text[:MOST]
    read = _COLOUR.sub("", _ESCAPE.sub(_unescaped, unescape(text) if "&" in text else text))
    return [Said(each) for each in dict.fromkeys((read, text))]


def _unescaped(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else " " if escape[2] else ""


def _root(word: str) -> str:
    return "messages" if word == "message" else word


# What a rule would say ------------------------------------------------------------------------


class Stretch(NamedTuple):
    """Fixed words of a rule's text that stand together, and the fact before them."""

    words: str  # with a space on both sides
    size: int
    fact: str


class Match(NamedTuple):
    """How many words of an error are a rule's, how many of the rule's are missing, and what stands where it has facts."""

    size: int
    missing: int = 0
    facts: Sequence[tuple[str, str]] = ()


class Wording:
    """A rule's words, ready to be looked for."""

    def __init__(self, rule: Rule) -> None:
        self.roots = {_root(found[1]) for found in _ROOT_OF_RULE.finditer(rule.error.lower())}
        self._stretches, self._last_fact = _stretches(rule.error)
        self._patterns = [re.compile(_bounded(pattern)) for pattern in rule.texts]
        long = [at for at, stretch in enumerate(self._stretches) if stretch.size >= _LONG]
        whole = sum(stretch.size for stretch in self._stretches)
        is_known = whole + len(self.roots) >= _LONG
        self._needed = long or (list(range(len(self._stretches))) if is_known else [])
        self._size = whole
        self._is_short = sum(self._stretches[at].size for at in self._needed) < _ROOTED

    @property
    def has_words(self) -> bool:
        """Whether the rule's text has enough words of its own to be known by."""
        return bool(self._needed)

    def find(self, said: Said) -> Match | None:
        """The rule's words in an error; None when they are not there, or speak of another part of the request."""
        found = [*self._by_words(said), *self._by_patterns(said)]
        return max(found, key=lambda match: (match.size, -match.missing)) if found else None

    def _by_patterns(self, said: Said) -> Iterator[Match]:
        for pattern in self._patterns:
            if found := pattern.search(said.lower):
                yield Match(sum(not word.isdecimal() for word in _WORD.findall(found[0])))

    def _by_words(self, said: Said) -> Iterator[Match]:
        if not self._needed or not self._fits_roots(said):
            return
        places = self._places(said)
        if places is None:
            return
        known = sorted(places.items())
        size = sum(self._stretches[at].size for at in places)
        yield Match(size, self._size - size, list(self._facts(said, known)))

    def _fits_roots(self, said: Said) -> bool:
        """Whether the error speaks of the same part of the request, or of none, where the words alone are enough."""
        if not self.roots:
            return True
        return bool(self.roots & said.roots) if said.roots else not self._is_short

    def _places(self, said: Said) -> dict[int, int] | None:
        """Where each stretch stands in the words of the error; None when one that is needed does not."""
        places: dict[int, int] = {}
        end = 0
        for at in self._needed:
            place = said.words.find(self._stretches[at].words, end)
            if place < 0:
                return None
            places[at] = place
            end = self._end(at, place)
        for at in range(len(self._stretches)):
            if at not in places and (place := self._near(at, places, said)) >= 0:
                places[at] = place
        return places

    def _near(self, at: int, places: Mapping[int, int], said: Said) -> int:
        """Where a stretch that may be missing stands, between its neighbours."""
        before = max((other for other in places if other < at), default=None)
        behind = min((other for other in places if other > at), default=None)
        start = self._end(before, places[before]) if before is not None else max(0, places[behind or 0] - _NEAR)
        stop = places[behind] + 1 if behind is not None else start + _NEAR
        return said.words.find(self._stretches[at].words, start, stop)

    def _end(self, at: int, place: int) -> int:
        return place + len(self._stretches[at].words) - 1

    def _facts(self, said: Said, known: Sequence[tuple[int, int]]) -> Iterator[tuple[str, str]]:
        for (before, start), (at, place) in pairwise(known):
            if at == before + 1 and self._stretches[at].fact:
                yield self._stretches[at].fact, said.between(self._end(before, start), place)
        last, place = known[-1]
        if last == len(self._stretches) - 1 and self._last_fact:
            yield self._last_fact, said.behind(self._end(last, place))


def _stretches(template: str) -> tuple[list[Stretch], str]:
    """The stretches of fixed words of a template, and the fact behind the last."""
    template = _ROOT_OF_RULE.sub("{}", template)
    pieces = _FACT.split(template)
    stretches: list[Stretch] = []
    fact = ""
    for at, piece in enumerate(pieces):
        if at % 2:
            fact = piece.partition("{")[2].partition("}")[0]
        elif words := _words_of(piece):
            stretches.append(Stretch(f" {' '.join(words)} ", len(words), fact))
            fact = ""
    return stretches, fact


def _bounded(pattern: str) -> str:
    """The pattern with an end to each repetition, so that none can run over a whole text again and again."""
    return _REPEATED.sub(lambda found: _ENDS.get(found[0], found[0]), pattern)


def _words_of(text: str) -> list[str]:
    plain = text.replace("\\", "").translate(_SIGNS).translate(_LOWER)
    return [word for word in _WORD.findall(plain) if not word.isdecimal()]


# Places and ids ------------------------------------------------------------------------------

_PATH = re.compile(rf"\b(?:{_ROOTS})(?:\.?\[\d{{1,9}}\]|\.\d{{1,9}})(?:\.?\[\d{{1,9}}\]|\.\w{{1,64}})*", re.IGNORECASE)
_CALL_ID = re.compile(r"\b(?:call|toolu|tooluse|srvtoolu|fc|ctc|chatcmpl-tool)[_-][\w-]{1,512}")
_IDS = re.compile(r"\W{0,6}([\w.:|-]+(?:, ?[\w.:|-]+)*)")
_ID_FACT = re.compile(r"(?:\w*_)?ids?")


def paths_in(said: Said) -> list[str]:
    """The places of a request that an error names, as it writes them."""
    return list(dict.fromkeys(found[0] for found in _PATH.finditer(said.text)))


def ids_in(said: Said, facts: Sequence[tuple[str, str]]) -> list[str]:
    """The ids of calls that an error names: where the rule's words have them, and by their looks."""
    named = [_IDS.match(gap) for name, gap in facts if _ID_FACT.fullmatch(name)]
    listed = chain.from_iterable(found[1].split(",") for found in named if found)
    known = (found[0] for found in _CALL_ID.finditer(said.text) if any(c.isdigit() or c.isupper() for c in found[0]))
    return list(dict.fromkeys(id for each in chain(listed, known) if (id := each.strip(" .:"))))
