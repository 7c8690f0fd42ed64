"""Arguments as their schema wants them, where what came can only mean one thing and nothing of it is lost.

A text that spells an integer, a number or a boolean, or is the JSON text of an object or a list, where no text may stand;
one item for a list of one, and the other way round; a whole number written with a fraction of zero; null for a parameter
that need not be there; an allowed value or a parameter's name in another case or with other separators. Never by
likeness, and never through a float that would round.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from suture.arguments import MAX_DIGITS, Unreadable, bounded_copy, value_of
from suture.tools.nodes import Node, below, flat, names_of, objects_among, types_of
from suture.tools.spelling import Spellings
from suture.tools.words import place_of

Coercion: TypeAlias = Literal[
    "string_for_integer",
    "string_for_number",
    "string_for_boolean",
    "string_for_null",
    "string_for_object",
    "string_for_list",
    "float_for_integer",
    "scalar_for_list",
    "list_for_scalar",
    "null_for_optional",
    "enum_case",
    "parameter_case",
]

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_SEPARATED = re.compile(r"[,;\n]")
_EXACT = 2**53  # up to here every whole float is that integer
_LONGEST_NUMBER = 400

_Holder: TypeAlias = dict[str, object] | list[object]


class CallChange(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was changed in a call: what was wrong, where (blank for the call as a whole), the old and the new."""

    code: str
    path: str = ""
    old: object = None
    new: object = None


class Coerced(NamedTuple):
    """Arguments of their own, and what was changed in them; whether they fit now is for their schema to say."""

    arguments: dict[str, object]
    changes: list[CallChange]


class _Place(NamedTuple):
    holder: _Holder
    step: int | str
    path: tuple[int | str, ...]
    nodes: Sequence[Node]
    needed: bool


class _Candidate(NamedTuple):
    value: object
    code: Coercion


def coerced(schema: Node, arguments: Mapping[str, object]) -> Coerced:
    """The arguments, with each value that does not fit its place replaced where exactly one other can be meant.

    Raises:
        Unreadable: what came breaks a bound, or does once texts are read as JSON.
    """
    return _Coercing(schema, bounded_copy(arguments)).run()


class _Coercing:
    """One walk over arguments beside their schema, outermost values first."""

    def __init__(self, root: Node, arguments: dict[str, object]) -> None:
        self.root = root
        self.arguments = arguments
        self.changes: list[CallChange] = []

    def run(self) -> Coerced:
        places = self._inside(self.arguments, (), flat([self.root], self.root))
        while places:
            place = places.pop()
            here = flat(place.nodes, self.root)
            value = self._fitted(place, here)
            if value is not _GONE and isinstance(value, dict | list):
                places += self._inside(value, place.path, here)
        return Coerced(bounded_copy(self.arguments), self.changes)

    def _inside(self, value: _Holder, path: tuple[int | str, ...], here: Sequence[Node]) -> list[_Place]:
        """The places in a value, the last first."""
        if isinstance(value, list):
            return [_Place(value, at, (*path, at), below(here, at), True) for at in reversed(range(len(value)))]
        objects = objects_among(here)
        self._rename(value, path, objects)
        needed = {name for node in objects for name in _required(node)}
        return [_Place(value, key, (*path, key), below(here, key), key in needed) for key in reversed(value)]

    def _rename(self, value: dict[str, object], path: tuple[int | str, ...], objects: Sequence[Node]) -> None:
        """Give keys that no parameter has the name of the one that they can only mean."""
        known = names_of(objects)
        closed = bool(objects) and all(node.get("additionalProperties") is False for node in objects)
        needed = {name for node in objects for name in _required(node)}
        meant: dict[str, list[str]] = {}
        unknown = [key for key in value if key not in known]
        spellings = Spellings(known if unknown else ())
        for key in unknown:
            fitting = spellings.alike(key)
            if len(fitting) == 1 and fitting[0] not in value and (closed or fitting[0] in needed):
                meant.setdefault(fitting[0], []).append(key)
        renamed = {keys[0]: name for name, keys in meant.items() if len(keys) == 1}
        if not renamed:
            return
        items = list(value.items())
        value.clear()
        for key, item in items:
            value[renamed.get(key, key)] = item
        for old, new in renamed.items():
            place = place_of([*path, new])
            self.changes.append(CallChange(code="parameter_case", path=place, old=old, new=new))

    def _fitted(self, place: _Place, here: Sequence[Node]) -> object:
        """The value at the place, replaced where it has to be and can be."""
        holder, step = place.holder, place.step
        value: object = holder[step]  # type: ignore[index]
        allowed = _allowed(here)
        if allowed is None:
            return value
        if value is None and "null" not in allowed and not place.needed and isinstance(holder, dict):
            del holder[str(step)]
            self._note("null_for_optional", place, None, None)
            return _GONE
        candidates = _cased(value, here) if _is_of(value, allowed) else _candidates(value, allowed, here, self.root)
        distinct = {(type(each.value), repr(each.value)): each for each in candidates}
        if len(distinct) != 1:
            return value
        candidate = next(iter(distinct.values()))
        holder[step] = candidate.value  # type: ignore[index]
        self._note(candidate.code, place, value, candidate.value)
        return candidate.value

    def _note(self, code: Coercion, place: _Place, old: object, new: object) -> None:
        self.changes.append(CallChange(code=code, path=place_of(place.path), old=old, new=new))


_GONE = object()


def _required(node: Node) -> list[str]:
    names = node.get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


# Types ----------------------------------------------------------------------------------------


def _allowed(here: Sequence[Node]) -> set[str] | None:
    """The types that may stand at a place; None when any may."""
    found: set[str] = set()
    for node in here:
        if names := types_of(node) or _implied(node):
            found.update(names)
        elif not any(keyword in node for keyword in ("anyOf", "oneOf", "allOf", "$ref")):
            return None
    return found or None


def _implied(node: Node) -> list[str]:
    """The types of a node that names none."""
    if isinstance(options := node.get("enum"), list):
        return [_type_of(option) for option in options]
    if "const" in node:
        return [_type_of(node["const"])]
    return ["object"] if "properties" in node else ["array"] if "items" in node or "prefixItems" in node else []


def _type_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _is_of(value: object, allowed: set[str]) -> bool:
    name = _type_of(value)
    return name in allowed or (name == "integer" and "number" in allowed)


# What can be meant ----------------------------------------------------------------------------


def _candidates(value: object, allowed: set[str], here: Sequence[Node], root: Node) -> Iterator[_Candidate]:
    """What a value of a type that may not stand here can mean instead."""
    match value:
        case str():
            yield from _spelled(value, allowed)
        case float() if "integer" in allowed and value.is_integer() and abs(value) < _EXACT:
            yield _Candidate(int(value), "float_for_integer")
        case [item] if not isinstance(item, list) and _is_of(item, allowed):
            yield _Candidate(item, "list_for_scalar")
    if "array" in allowed and not isinstance(value, list) and value is not None and _may_be_item(value):
        items = _allowed(flat(below([node for node in here if "array" in (types_of(node) or _implied(node))], 0), root))
        if items is not None and _is_of(value, items):
            yield _Candidate([value], "scalar_for_list")


def _spelled(text: str, allowed: set[str]) -> Iterator[_Candidate]:
    """What a text spells, where no text may stand."""
    if allowed & {"integer", "number"} and _INTEGER.fullmatch(text) and len(text) <= MAX_DIGITS:
        yield _Candidate(int(text), "string_for_integer")
    elif "number" in allowed and (number := _exact(text)) is not None:
        yield _Candidate(number, "string_for_number")
    if "boolean" in allowed and text.lower() in ("true", "false"):
        yield _Candidate(text.lower() == "true", "string_for_boolean")
    if "null" in allowed and text == "null":
        yield _Candidate(None, "string_for_null")
    wanted = {"{": "object", "[": "array"}.get(text.lstrip()[:1])
    if wanted in allowed and (held := _held(text)) is not None:
        yield _Candidate(held, "string_for_object" if wanted == "object" else "string_for_list")


def _exact(text: str) -> float | None:
    """The number that a text spells, when a float holds all of it."""
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    is_finite = number not in (float("inf"), float("-inf"))
    return number if is_finite and Decimal(text) == Decimal(repr(number)) else None


def _held(text: str) -> _Holder | None:
    try:
        value = value_of(text)
    except Unreadable:
        return None
    return value if isinstance(value, dict | list) else None


def _may_be_item(value: object) -> bool:
    """Whether a value alone can be the one item of a list: a text that may hold several, or a broken list, cannot."""
    if not isinstance(value, str):
        return True
    return bool(value.strip()) and value.lstrip()[0] not in "[{" and _SEPARATED.search(value) is None


def _cased(value: object, here: Sequence[Node]) -> Iterator[_Candidate]:
    """The allowed texts that differ from a text in case and separators alone."""
    if not isinstance(value, str):
        return
    options = [option for node in here for option in _options(node)]
    if not options or value in options or any(_takes_any_text(node) for node in here):
        return
    spellings = Spellings(option for option in options if isinstance(option, str))
    yield from (_Candidate(option, "enum_case") for option in spellings.alike(value))


def _options(node: Node) -> list[object]:
    options = node.get("enum")
    return list(options) if isinstance(options, list) else [node["const"]] if "const" in node else []


def _takes_any_text(node: Node) -> bool:
    return "string" in types_of(node) and "enum" not in node and "const" not in node
