"""A complete JSON value with slips of syntax, read as what it can only mean.

Taken: fences around one value and words that can be no part of it, comments, trailing commas, Python's quotes and
literals, keys without quotes, raw control characters, and backslashes that escape nothing anywhere. Refused: a text that
ends before its value does, more than one value, anything whose reading would be a guess. Each character is looked at once.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

from suture.arguments.comments import NOTHING, confirms, is_plain
from suture.arguments.escapes import Escape, Escaped, escaped
from suture.arguments.strict import MAX_DEPTH, MAX_DIGITS, MAX_NODES, MAX_NUMBER, Unreadable
from suture.arguments.surroundings import ANY_CALLEE, FENCE, Callee, is_lead, is_tail
from suture.canonical import is_encodable

Slip: TypeAlias = Literal[
    "code_fence",
    "surrounding_text",
    "comment",
    "trailing_comma",
    "python_literal",
    "single_quotes",
    "unquoted_key",
    "control_characters",
    "bad_escape",
]

# Longer texts are refused unread, since reading is slower than decoding.
MAX_SLOPPY = 1024 * 1024

_OPENING_FENCE = re.compile(rf"\s*{FENCE}\n?", re.IGNORECASE)
_CLOSING_FENCE = re.compile(r"\s*(?:```|~~~)")
_FENCE_BEFORE = re.compile(r"(?:```|~~~)[\w+-]*\s*\Z")
_BLANK = re.compile(r"[\s\ufeff]*")
_COMMENT = re.compile(r"//[^\n]*|#[^\n]*|/\*(?:[^*]|\*(?!/))*+\*/")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![\w.+-])")
_WORD = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_PLAIN = {'"': re.compile(r'[^"\\]*'), "'": re.compile(r"[^'\\]*")}
_CONTROL = re.compile(r"[\x00-\x1f]")
_OPENING = re.compile(r"[\[{]")
# Slips that say that the value may be in Python's writing.
_AS_PYTHON: tuple[Slip, ...] = ("single_quotes", "python_literal")
_LITERALS = {"true": True, "false": False, "null": None}
_PYTHON = {"True": True, "False": False, "None": None}
_NO_NUMBERS = frozenset(("NaN", "Infinity", "nan", "inf"))


class Mended(NamedTuple):
    """The value that the text can only mean, and the slips that it had, each once, in order."""

    value: object
    slips: tuple[Slip, ...]


def mend(text: str, callee: Callee = ANY_CALLEE) -> Mended:
    """The one JSON value that a complete text with slips means, as the arguments of a call of `callee`.

    Raises:
        Unreadable: it is cut off, holds more than one value, or could mean something else.
    """
    if len(text) > MAX_SLOPPY:
        raise Unreadable("too_large", "The arguments are not valid JSON, and too long to look into; send less in one call.")
    return _Reader(text, callee).run()


class _Reader:
    """One reading. `stack` holds the objects and lists that are open, outermost first."""

    def __init__(self, text: str, callee: Callee) -> None:
        self.text = text
        self.callee = callee
        self.at = 0
        self.slips: dict[Slip, None] = {}
        self.stack: list[dict[str, object] | list[object]] = []
        self.nodes = 0
        self.drive = False  # whether an escape stood behind a drive's letter
        self.slash = False  # whether a slash was escaped
        self.said: object = NOTHING  # the value that a comment would stand behind
        self.confirmed = False  # whether one repeated it

    def run(self) -> Mended:
        fenced = self._open()
        value = self._value()
        while self.stack:
            self._step(self.stack[-1])
        self._close(fenced=fenced)
        if self.drive and "bad_escape" in self.slips:
            raise _backslashes("a backslash behind a drive's letter escapes something, beside others that escape nothing")
        if self.slash and not self.slips.keys().isdisjoint(_AS_PYTHON):
            raise _backslashes("a slash is escaped, which JSON reads as a slash and Python as both")
        return Mended(value, tuple(self.slips))

    # Around the value

    def _open(self) -> bool:
        """Go to where the value begins; whether a fence stands around it."""
        if found := _OPENING_FENCE.match(self.text):
            self.slips["code_fence"] = None
            self.at = found.end()
            self._skip()
            return True
        self._skip()
        if self._peek() in ('"', "[", "{"):
            return False
        start = _OPENING.search(self.text, self.at)
        if start is None:
            raise Unreadable("invalid_json", "The arguments are plain text, not JSON. Send one JSON object.")
        before = self.text[: start.start()]
        if not is_lead(before, self.callee):
            raise self._surrounded("before")
        self.at = start.start()
        self.slips["surrounding_text"] = None
        if _FENCE_BEFORE.search(before) is None:
            return False
        self.slips["code_fence"] = None
        return True

    def _close(self, *, fenced: bool) -> None:
        """Nothing that could belong to the value follows it."""
        if fenced and (found := _CLOSING_FENCE.match(self.text, self.at)):
            self.at = found.end()
        self._skip()
        rest = self.text[self.at :]
        if not rest:
            return
        if rest.lstrip(", \t\r\n").startswith(("{", "[")):
            raise Unreadable("concatenated", "More than one JSON value was sent in one call; make one call for each.")
        if not is_tail(rest, self.callee):
            raise self._surrounded("behind")
        self.slips["surrounding_text"] = None

    # Values

    def _value(self) -> object:
        """The value that begins here; an object or a list is still empty, and open."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise Unreadable("too_many_nodes", f"The arguments hold more than {MAX_NODES:,} values; send less in one call.")
        character = self._peek()
        if character in "[{":
            return self._holder({} if character == "{" else [])
        if character in "\"'":
            return self._text()
        if found := _NUMBER.match(self.text, self.at):
            self.at = found.end()
            return _number(found[0])
        return self._literal()

    def _holder(self, holder: dict[str, object] | list[object]) -> object:
        if len(self.stack) == MAX_DEPTH:
            raise Unreadable("too_deep", f"The arguments are nested deeper than {MAX_DEPTH} levels; flatten them.")
        self.at += 1
        self.stack.append(holder)
        return holder

    def _step(self, holder: dict[str, object] | list[object]) -> None:
        """Read one item of what is open innermost, or its end."""
        self._skip()
        if self._peek() == _end_of(holder):
            self.at += 1
            self._begin(self.stack.pop())
        elif isinstance(holder, dict):
            key = self._key(holder)
            holder[key] = value = self._value()
            self._begin(value)
        else:
            value = self._value()
            holder.append(value)
            self._begin(value)
        if self.stack and (self.stack[-1] is holder or (self.at and self.text[self.at - 1] in "]}")):
            self._separate(self.stack[-1])

    def _separate(self, holder: dict[str, object] | list[object]) -> None:
        """Go past the comma behind an item; one before a closing bracket is a slip."""
        self._skip()
        if self._peek() == ",":
            self.at += 1
            self._skip()
            if self._peek() == _end_of(holder):
                self.slips["trailing_comma"] = None
        elif self._peek() != _end_of(holder):
            raise self._unexpected(f"expecting ',' or '{_end_of(holder)}'")

    def _begin(self, said: object = NOTHING) -> None:
        """A comment that follows in this line stands behind this value."""
        self.said, self.confirmed = said, False

    def _key(self, holder: dict[str, object]) -> str:
        """The key that begins here, past the colon behind it."""
        if self._peek() in "\"'":
            key = self._text()
        elif found := _WORD.match(self.text, self.at):
            if found[0] in _PYTHON:
                raise self._unexpected("expecting a key in double quotes")
            self.slips["unquoted_key"] = None
            self.at, key = found.end(), found[0]
        else:
            raise self._unexpected("expecting a key in double quotes")
        if key in holder:
            raise Unreadable("duplicate_key", f"The key {key[:40]!r} is given twice in one object; give it once.")
        self._skip()
        if self._peek() != ":":
            raise self._unexpected("expecting ':'")
        self.at += 1
        self._begin()
        self._skip()
        return key

    def _literal(self) -> bool | None:
        found = _WORD.match(self.text, self.at)
        word = found[0] if found else ""
        if word in _NO_NUMBERS or self.text.startswith("-Infinity", self.at):
            raise Unreadable("non_finite_number", "NaN and Infinity are no JSON numbers; send a finite number or null.")
        if found is None or (word not in _LITERALS and word not in _PYTHON):
            raise self._unexpected("expecting a value, with texts in double quotes")
        self.at = found.end()
        if word in _LITERALS:
            return _LITERALS[word]
        self.slips["python_literal"] = None
        return _PYTHON[word]

    # Texts

    def _text(self) -> str:
        """The text that begins here.

        Where its backslashes escape nothing, each stands for itself, before a sign only beside one before a letter. Beside
        one that escapes something, nobody knows.
        """
        quote = self.text[self.at]
        start = self.at = self.at + 1
        pieces: list[str] = []
        kinds: set[Escape] = set()
        while True:
            found = _PLAIN[quote].match(self.text, self.at)
            assert found is not None
            pieces.append(found[0])
            self.at = found.end()
            if self._peek() == quote:
                break
            found_escape = self._escape(quote)
            pieces.append(found_escape.meant)
            kinds.add(found_escape.kind)
        if "escape" in kinds and not kinds.isdisjoint(("stray", "unclear")):
            raise _backslashes("a text has backslashes that escape nothing beside some that do")
        if "unclear" in kinds and "stray" not in kinds:
            raise _backslashes("whether a backslash belongs to a text, or only stands before a sign in it, is not clear")
        self._note_slips(quote, start, kinds)
        self.at += 1
        text = "".join(pieces)
        if is_encodable(text):
            return text
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")  # joins pairs, keeps lone halves

    def _note_slips(self, quote: str, start: int, kinds: set[Escape]) -> None:
        if quote == "'":
            self.slips["single_quotes"] = None
        if "stray" in kinds:
            self.slips["bad_escape"] = None
        if _CONTROL.search(self.text, start, self.at):
            self.slips["control_characters"] = None

    def _escape(self, quote: str) -> Escaped:
        """What the backslash here stands for."""
        found = escaped(self.text, self.at)
        if found.kind == "foreign":
            raise _backslashes("a backslash escapes what JSON does not")
        if found.kind == "quote" and found.meant != quote == '"':
            self.slips["bad_escape"] = None
        self.drive |= found.is_behind_drive and found.meant in "\n\r\t\b\f"
        self.slash |= found.meant == "/"
        self.at = found.end
        return found

    # Where the reading is

    def _peek(self) -> str:
        if self.at < len(self.text):
            return self.text[self.at]
        raise Unreadable(
            "truncated",
            f"The arguments end before the JSON object is complete, after {len(self.text)} characters; send it whole.",
        )

    def _skip(self) -> None:
        """Go past white space and, inside the value, comments."""
        while True:
            found = _BLANK.match(self.text, self.at)
            assert found is not None
            self.at = found.end()
            if "\n" in found[0]:
                self._begin()
            comment = _COMMENT.match(self.text, self.at) if self.stack else None
            if comment is None:
                return
            self._pass(comment)

    def _pass(self, comment: re.Match[str]) -> None:
        """Go past a comment that says nothing of the values."""
        if not is_plain(comment[0], self.said, confirmed=self.confirmed):
            what = f"the comment at character {self.at} could change what is meant"
            raise Unreadable("invalid_json", f"The arguments are not valid JSON: {what}. Send JSON without comments.")
        self.confirmed |= confirms(comment[0], self.said)
        self.slips["comment"] = None
        self.at = comment.end()

    def _surrounded(self, where: str) -> Unreadable:
        what = (
            f"{where} the JSON value, at character {self.at}, stands {self._found()}, which could belong to it or change it"
        )
        return Unreadable("invalid_json", f"The arguments are not valid JSON: {what}. Send one JSON object alone.")

    def _unexpected(self, expected: str) -> Unreadable:
        where = f"at character {self.at}: {expected}, found {self._found()}"
        return Unreadable("invalid_json", f"The arguments are not valid JSON {where}. Send one JSON object.")

    def _found(self) -> str:
        """One character: what was sent is not repeated."""
        return repr(self.text[self.at : self.at + 1])


def _backslashes(problem: str) -> Unreadable:
    return Unreadable("invalid_json", f"The arguments are not valid JSON: {problem}; write \\\\ for each backslash.")


def _end_of(holder: dict[str, object] | list[object]) -> str:
    return "}" if isinstance(holder, dict) else "]"


def _number(token: str) -> int | float:
    digits = token.lstrip("-")
    if len(token) > MAX_NUMBER or (digits.isdigit() and len(digits) > MAX_DIGITS):
        raise Unreadable("number_too_large", "A number has more digits than can be read; send it as text.")
    if digits.isdigit():
        return int(token)
    number = float(token)
    if number in (float("inf"), float("-inf")):
        raise Unreadable("non_finite_number", "A number is too large; send a finite number or null.")
    return number
