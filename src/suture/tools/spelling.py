"""Names that differ in case and separators alone, such as `filePath` and `file_path`.

A hyphen, an underscore or a space counts as a separator only inside a name, behind a letter or before one: `1-10` and
`__` are what they are. A hyphen before a digit may be a minus, and is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_LETTER = r"[^\W\d_]"
# Between words: a separator, a change to upper case, or one between letters and digits.
_BETWEEN = re.compile(
    rf"(?<={_LETTER})[_ ](?=\d)|(?<=[^\W_])[-_ ](?={_LETTER})"
    rf"|(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<={_LETTER})(?=\d)|(?<=\d)(?={_LETTER})"
)
_SEPARATORS = re.compile(r"[-_ ]")
_LETTERS = re.compile(rf"{_LETTER}+")
_AT_DIGITS = re.compile(r"[-_ ](?=\d)|(?<=\d)[-_ ]")
# Longer texts are no names.
_LONGEST = 256


class Spellings:
    """Names, found by any spelling of theirs."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = dict.fromkeys(names)
        self._found: dict[str | tuple[str, ...], dict[str, None]] = {}
        self._rivals: dict[str, dict[str, None]] = {}
        for name in self._names:
            for key in _keys(name):
                self._found.setdefault(key, {})[name] = None
            self._rivals.setdefault(_letters(name), {})[name] = None

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def alike(self, name: str) -> list[str]:
        """The names that differ from it in case and separators at most.

        Where there is one, those too that would be the same without any separators: `US_EAST_1` is not clear when there are
        `us-east-1` and `us-east1`.
        """
        found = [one for key in _keys(name) for one in self._found.get(key, ())]
        return list(dict.fromkeys([*found, *self._rivals.get(_letters(name), ())])) if found else []


def words_of(name: str) -> tuple[str, ...]:
    """The words that a name is made of, in small letters."""
    return tuple(word.lower() for word in _BETWEEN.split(name))


def is_same_value(one: str, other: str) -> bool:
    """Whether two texts that are alike say the same as values.

    No separator at a digit is in one alone: there it may be a part of what they say. Nor does case tell them apart, as it
    does units: `1M` and `1m`, `MB` and `Mb`.
    """
    if len(_AT_DIGITS.findall(one)) != len(_AT_DIGITS.findall(other)):
        return False
    differ_in_case = _SEPARATORS.sub("", one) != _SEPARATORS.sub("", other)
    return not (differ_in_case and (_is_unit(one) or _is_unit(other)))


def _is_unit(text: str) -> bool:
    """Whether case may say something in it: its words are single letters, or two in mixed case."""
    words = _LETTERS.findall(text)
    return all(len(word) == 1 or (len(word) == 2 and not (word.islower() or word.isupper())) for word in words)


def _letters(name: str) -> str:
    return _SEPARATORS.sub("", name).lower()


def _keys(name: str) -> Iterator[str | tuple[str, ...]]:
    if 0 < len(name) <= _LONGEST:
        yield name.lower()
        yield words_of(name)
