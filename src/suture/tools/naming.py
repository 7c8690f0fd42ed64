"""Which tool a model means that wrote its name with junk around it, in another case, or with other separators.

Never by likeness: a name that only looks like another is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal, NamedTuple, TypeAlias

from suture.arguments.markup import words_on_name
from suture.tools.spelling import Spellings, words_of

NameFault: TypeAlias = Literal["name_missing", "name_ambiguous", "name_overfull", "unknown_tool", "concatenated"]
NameSlip: TypeAlias = Literal["name_junk", "name_case"]

# What chat templates and providers put around a name, seen in the wild: a namespace, and then a call's number behind the
# name; what follows a control token or a closing tag; quotes, and brackets with nothing in them.
_BEFORE = re.compile(r"""[\s"'`<]*((?:functions?|tools?|default_api|default_function)[.:/])?[\s"'`]*""", re.IGNORECASE)
_BEHIND = re.compile(r"""(<\|.*|</.*|<[^>]*\|>.*|:\d+)?(?:\(\)|\{\}|\(\{\}\)|[\s"'`:>])*\Z""", re.DOTALL)
_TOKENS = re.compile(r"<\|[^<>|]*\|>")
_TAGS = re.compile(r"<[^<>]*>")
_WORD = re.compile(r"[\w.-]+")
# What a token names: a channel, or a form. Whatever else stands there was meant.
_NAMED_BEHIND = frozenset(("", "analysis", "commentary", "commentary json", "json"))
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
    junk = _without_junk(name)
    plain = junk.name
    if not plain:
        return Unnamed("name_missing")
    spellings = Spellings(names)
    alike = [plain] if plain in names else spellings.alike(plain)
    if alike and (others := _named_in(junk, alike[0], spellings)):
        return Unnamed("concatenated", (alike[0], others[0]))
    if alike and not _is_known(junk):
        return Unnamed("name_overfull", tuple(alike))
    if plain in names:
        return Named(plain, "name_junk")
    if len(alike) == 1:
        return Named(alike[0], "name_case" if plain == name else "name_junk")
    if alike:
        return Unnamed("name_ambiguous", tuple(alike))
    if glued := _glued(plain, names, spellings):
        return Unnamed("concatenated", glued)
    return Unnamed("unknown_tool")


class _Junk(NamedTuple):
    """A name, and what stood around it: a token before it, a namespace, and what follows a token or a tag behind it."""

    before: str
    space: str
    name: str
    behind: str


def _without_junk(name: str) -> _Junk:
    token = _TOKENS.match(name.lstrip())
    bare = name.lstrip()[token.end() :] if token else name
    before = _BEFORE.match(bare)
    rest = bare[before.end() :] if before else bare
    behind = _BEHIND.search(rest)
    found = rest[: behind.start()] if behind else rest
    space = (before[1] or "") if before else ""
    return _Junk(token[0] if token else "", space, found.strip(), (behind[1] or "") if behind else "")


def _is_known(junk: _Junk) -> bool:
    """Whether all around a name is of a known kind."""
    if junk.behind.startswith(":"):
        return bool(junk.space)
    behind = words_on_name(junk.behind)
    return behind is not None and " ".join(behind.split()) in _NAMED_BEHIND and words_on_name(junk.before) is not None


def _named_in(junk: _Junk, name: str, spellings: Spellings) -> list[str]:
    """The tools that the junk around a name names: any in what stands between its tags, another in a tag."""
    tagged = [*_TOKENS.findall(junk.before), *_TAGS.findall(junk.behind)]
    inside = [one for tag in tagged for word in _WORD.findall(tag) for one in spellings.alike(word) if one != name]
    between = _WORD.findall(_TAGS.sub(" ", junk.behind))
    return [*(one for word in between for one in spellings.alike(word.rpartition(".")[2])), *inside]


def _glued(name: str, names: list[str], spellings: Spellings) -> tuple[str, ...]:
    """Two known names that stand one behind the other."""
    words = words_of(name)
    by_words = {words_of(one): one for one in names}
    for first in names:
        if name.lower().startswith(first.lower()) and (rest := spellings.alike(name[len(first) :])):
            return first, rest[0]
        own = words_of(first)
        if words[: len(own)] == own and words[len(own) :] in by_words:
            return first, by_words[words[len(own) :]]
    return ()
