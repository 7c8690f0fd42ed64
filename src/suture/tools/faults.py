"""Where a value does not fit a JSON schema: the places one by one, as many as are asked for.

A place is looked at where its value does not fit, once for each node, and what a node says itself is checked without the
nodes in it. So what is found costs a check of the value for each level of it, whatever the schema refers to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from suture.tools.nodes import Node, flat, names_of
from suture.tools.parts import Parts, is_deep, listed, of_item, shallow

_UNIONS = ("anyOf", "oneOf")
# So many wrong keys or items of one value are looked into.
MOST = 64

Path: TypeAlias = tuple[int | str, ...]
# What an error of jsonschema-rs is about; its kinds have attributes of their own.
Kind = Any


class Missing(NamedTuple):
    """An object has no such key."""

    name: str


class Unknown(NamedTuple):
    """An object has keys that it may not have, and which those are that it may."""

    names: list[str]
    known: list[str]


class NoOption(NamedTuple):
    """A value is none of those that are listed."""

    options: list[object]


class BadName(NamedTuple):
    """The name of a key is not allowed, by this kind."""

    kind: Kind


class Nothing(NamedTuple):
    """No value may stand here."""


class NoBranch(NamedTuple):
    """None of several schemas fits, or more than one where one has to: then there are no `branches`."""

    branches: list[object]


class Unwanted(NamedTuple):
    """A value fits what it may not fit."""

    schema: object


class Unclear(NamedTuple):
    """What a keyword says, which is not looked into."""

    keyword: str


Wrong: TypeAlias = Missing | Unknown | NoOption | BadName | Nothing | NoBranch | Unwanted | Unclear | Kind


class Fault(NamedTuple):
    """One thing that is wrong: where, with what value, and what."""

    path: Path
    value: object
    wrong: Wrong


class _Place(NamedTuple):
    node: object
    value: object
    path: Path


def faults(parts: Parts, node: object, value: object, path: Path = ()) -> Iterator[Fault]:
    """What is wrong with a value by a node, outermost first; a value that fits has no fault."""
    seen = set[tuple[int, Path]]()
    stack = [_Place(node, value, path)]
    while stack:
        place = stack.pop()
        if isinstance(place.node, Mapping):
            place = place._replace(node=parts.followed(place.node))
        if not isinstance(place.node, Mapping):
            yield Fault(place.path, place.value, Nothing())
        elif (id(place.node), place.path) not in seen:
            seen.add((id(place.node), place.path))
            own = list(_own(parts, place.node, place))
            yield from own
            wrong = [place._replace(node=one) for one in _beside(parts, place.node, place.value)]
            wrong += islice(_below(parts, place.node, place), MOST)
            if not own and not wrong:
                keyword = next(
                    (one for one in ("$ref", "$dynamicRef", "unevaluatedProperties") if one in place.node), "keywords"
                )
                yield Fault(place.path, place.value, Unclear(keyword))
            stack += reversed(wrong)


def _beside(parts: Parts, node: Node, value: object) -> Iterator[object]:
    """The nodes that speak of the same value, and which it does not fit."""
    yield from (one for one in parts.beside(node, value) if not parts.takes(one, value))
    for keyword in _UNIONS:
        yield from _meant(parts, node, keyword, value)


def _below(parts: Parts, node: Node, place: _Place) -> Iterator[_Place]:
    """The keys or items that do not fit."""
    value = place.value
    if isinstance(value, Mapping):
        closed = node.get("additionalProperties") is False
        for key, held in value.items():
            for one in parts.of_key(node, key):
                if not (one is False and closed) and not parts.takes(one, held):
                    yield _Place(one, held, (*place.path, key))
    elif isinstance(value, list):
        for at, held in enumerate(value):
            for one in of_item(node, at):
                if not parts.takes(one, held):
                    yield _Place(one, held, (*place.path, at))


# One node -------------------------------------------------------------------------------------


def _own(parts: Parts, node: Node, place: _Place) -> Iterator[Fault]:
    """What is wrong by that which a node says itself, and by the alternatives that it offers."""
    path, value = place.path, place.value
    if isinstance(value, Mapping):
        yield from (Fault(path, value, Missing(name)) for name in islice(_missing(node, value), MOST))
    if (checked := parts.listed(node)) is not None and not checked.is_valid(value):
        yield Fault(path, value, NoOption(listed(node["enum"])))
    if (checked := parts.told(node)) is not None:
        for error in checked.iter_errors(value if is_deep(node) else shallow(value)):
            yield Fault(path, value, _wrong(error, node))
    if isinstance(value, Mapping) and (names := _unevaluated(parts, node, value)):
        yield Fault(path, value, Unknown(names, _named(node)))
    for keyword in _UNIONS:
        offered, near = listed(node.get(keyword)), parts.branches(node, keyword, value)
        fitting = sum(1 for one in near if parts.takes(one, value))
        if keyword == "oneOf" and fitting > 1:
            yield Fault(path, value, NoBranch([]))
        elif offered and not fitting and not _is_meant(offered, near):
            yield Fault(path, value, NoBranch(near or offered))


def _meant(parts: Parts, node: Node, keyword: str, value: object) -> list[object]:
    """The one of several schemas whose constant an object has, when it does not fit it; else none."""
    offered, near = listed(node.get(keyword)), parts.branches(node, keyword, value)
    return near if _is_meant(offered, near) and not parts.takes(near[0], value) else []


def _is_meant(offered: list[object], near: list[object]) -> bool:
    return len(near) == 1 < len(offered)


def _missing(node: Node, value: Mapping[str, object]) -> Iterator[str]:
    """The keys that an object needs and has not, each once."""
    asked = node.get("dependentRequired")
    needed = [listed(node.get("required"))]
    needed += [listed(names) for key, names in asked.items() if key in value] if isinstance(asked, Mapping) else []
    yield from dict.fromkeys(name for names in needed for name in names if isinstance(name, str) and name not in value)


def _wrong(error: Kind, node: Node) -> Wrong:
    kind = error.kind
    match kind.name:
        case "required":
            return Missing(kind.property)
        case "additionalProperties":
            return Unknown(kind.unexpected, _named(node))
        case "propertyNames":
            return BadName(kind.error.kind)
        case "not":
            return Unwanted(node["not"])
        case _:
            return kind


def _named(node: Node) -> list[str]:
    return names_of([node])


def _unevaluated(parts: Parts, node: Node, value: Mapping[str, object]) -> list[str]:
    """The keys that no schema at this place speaks of, where such may not be."""
    if node.get("unevaluatedProperties") is not False:
        return []
    here = flat([node], parts.root)
    if any("additionalProperties" in one for one in here):
        return []
    names = set(names_of(here))
    return [key for key in value if key not in names and not any(parts.matching(one, key) for one in here)]
