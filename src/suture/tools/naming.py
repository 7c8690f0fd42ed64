"""Which tool a model means that wrote its name with junk around it, in another case, or with other separators.

Never by likeness: a name that only looks like another is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal, NamedTuple, TypeAlias

NameFault: TypeAlias = Literal["name_missing", "name_ambiguous", "unknown_tool", "concatenated"]
NameSlip: TypeAlias = Literal["name_junk", "name_case"]

# What chat templates and providers put around a name, seen in the wild: a namespace, what follows a control token or a
# closing tag, a call's number, quotes and brackets.
_BEFORE = re.compile(r"""[\s"'`<]*(?:(?:functions?|tools?|default_api|default_function)[.:/])?[\s"'`]*""", re.IGNORECASE)
_BEHIND = re.compile(r"""(?:<\|.*|</.*|<[^>]*\|>.*|:\d+)?[\s"'`:({)}>]*\Z""", re.DOTALL)
_TOKENS = re.compile(r"<\|[^<>|]*\|>")
_LONGEST = 512


class Named(NamedTuple):
    """The tool that a name means: its own name, and what was wrong with the one that came, if anything."""

    name: str
    slip: NameSlip | None = None


class Unnamed(NamedTuple):
    """No tool, or more than one, is meant; `near` are those that it could be."""

    fault: NameFault
    near: tuple[str, ...] = ()


def named(name: str, known: Collection[str]) -> Named | Unnamed:
    """The one tool that a name means."""
    if name in known:
        return Named(name)
    names = list(known)
    if len(name) > _LONGEST:
        return Unnamed("unknown_tool")
    plain = _without_junk(name)
    if not plain:
        return Unnamed("name_missing")
    if plain in names:
        return Named(plain, "name_junk")
    alike = [one for one in names if fold(one) == fold(plain)]
    if len(alike) == 1:
        return Named(alike[0], "name_case" if plain == name else "name_junk")
    if alike:
        return Unnamed("name_ambiguous", tuple(alike))
    if glued := _glued(plain, names):
        return Unnamed("concatenated", glued)
    return Unnamed("unknown_tool")


def fold(name: str) -> str:
    """A name without what may differ: case, - and _."""
    return name.casefold().replace("-", "").replace("_", "")


def _without_junk(name: str) -> str:
    bare = _TOKENS.sub(" ", name, count=1) if name.lstrip().startswith("<|") else name
    before = _BEFORE.match(bare)
    rest = bare[before.end() :] if before else bare
    behind = _BEHIND.search(rest)
    return (rest[: behind.start()] if behind else rest).strip()


def _glued(name: str, names: list[str]) -> tuple[str, ...]:
    """Two known names that stand one behind the other."""
    for first in names:
        rest = name.removeprefix(first)
        if rest != name and rest in names:
            return first, rest
    return ()
