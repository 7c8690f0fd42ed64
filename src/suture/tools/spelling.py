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
# Longer texts are no names.
_LONGEST = 256


class Spellings:
    """Names, found by any spelling of theirs."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = dict.fromkeys(names)
        self._found: dict[str | tuple[str, ...], dict[str, None]] = {}
        for name in self._names:
            for key in _keys(name):
                self._found.setdefault(key, {})[name] = None

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def alike(self, name: str) -> list[str]:
        """The names that differ from it in case and separators at most."""
        return list(dict.fromkeys(one for key in _keys(name) for one in self._found.get(key, ())))


def words_of(name: str) -> tuple[str, ...]:
    """The words that a name is made of, in small letters."""
    return tuple(word.lower() for word in _BETWEEN.split(name))


def _keys(name: str) -> Iterator[str | tuple[str, ...]]:
    if 0 < len(name) <= _LONGEST:
        yield name.lower()
        yield words_of(name)
