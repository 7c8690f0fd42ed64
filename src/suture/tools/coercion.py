"""Arguments as their schema wants them, where what came can only mean one thing and nothing of it is lost.

A text that spells an integer, a number or a boolean, or is the JSON text of an object or a list, where no text may stand;
one item for a list of one, and the other way round; a whole number written with a fraction of zero; null for a parameter
that need not be there; an allowed value or a parameter's name in another case or with other separators. Never by
likeness, and never through a float that would round.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from suture.arguments import MAX_DIGITS, Unreadable, bounded_copy, value_of
from suture.tools.alternatives import Alternatives, Ways, type_of
from suture.tools.single import is_one
from suture.tools.spelling import is_same_value
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
    """Where a value stands, what may stand there, and whether its key may be left out."""

    holder: _Holder
    step: int | str
    path: tuple[int | str, ...]
    ways: Ways
    droppable: bool


class _Candidate(NamedTuple):
    value: object
    code: Coercion


def coerced(schema: Alternatives, arguments: Mapping[str, object], *, exact: bool = False) -> Coerced:
    """The arguments, with each value that does not fit its place replaced where exactly one other can be meant.

    JSON schema takes 5.0 for an integer; `exact` is for a tool that does not.

    Raises:
        Unreadable: what came breaks a bound, or does once texts are read as JSON.
    """
    return _Coercing(schema, bounded_copy(arguments), exact=exact).run()


class _Coercing:
    """One walk over arguments beside their schema, outermost values first; what fits its place is left as it is."""

    def __init__(self, schema: Alternatives, arguments: dict[str, object], *, exact: bool) -> None:
        self.exact = exact
        self.schema = schema
        self.arguments = arguments
        self.changes: list[CallChange] = []

    def run(self) -> Coerced:
        if not self.schema.is_readable:
            return Coerced(self.arguments, [])
        places = self._inside(self.arguments, (), self.schema.top())
        while places:
            place = places.pop()
            if self._fits(place):
                continue
            value = self._fitted(place)
            if value is not _GONE and isinstance(value, dict | list):
                places += self._inside(value, place.path, place.ways)
        return Coerced(bounded_copy(self.arguments), self.changes)

    def _fits(self, place: _Place) -> bool:
        value: object = place.holder[place.step]  # type: ignore[index]
        return self.schema.fits(value, place.ways) and not (self.exact and _holds_whole_float(value))

    def _inside(self, value: _Holder, path: tuple[int | str, ...], here: Ways) -> list[_Place]:
        """The places in a value, the last first."""
        if isinstance(value, list):
            return [
                _Place(value, at, (*path, at), self.schema.below(here, at), False) for at in reversed(range(len(value)))
            ]
        here = self.schema.meant(here, value)
        self._rename(value, path, here)
        return [
            _Place(value, key, (*path, key), self.schema.below(here, key), key in here.optional) for key in reversed(value)
        ]

    def _rename(self, value: dict[str, object], path: tuple[int | str, ...], here: Ways) -> None:
        """Give keys that no parameter has the name of the one that they can only mean. The keys of a map are data."""
        meant: dict[str, list[str]] = {}
        for key in [] if here.is_map else [key for key in value if key not in here.names]:
            fitting = [] if self.schema.is_patterned(here, key) else here.names.alike(key)
            if len(fitting) == 1 and fitting[0] not in value and (here.is_closed or fitting[0] in here.needed):
                meant.setdefault(fitting[0], []).append(key)
        if names := {keys[0]: name for name, keys in meant.items() if len(keys) == 1}:
            self._give_names(value, path, names)

    def _give_names(self, value: dict[str, object], path: tuple[int | str, ...], names: Mapping[str, str]) -> None:
        items = list(value.items())
        value.clear()
        for key, item in items:
            value[names.get(key, key)] = item
        for old, new in names.items():
            place = place_of([*path, new])
            self.changes.append(CallChange(code="parameter_case", path=place, old=old, new=new))

    def _fitted(self, place: _Place) -> object:
        """The value at the place, replaced where it has to be and can be."""
        holder, step = place.holder, place.step
        value: object = holder[step]  # type: ignore[index]
        allowed = place.ways.types
        if allowed is None:
            return value
        if value is None and "null" not in allowed and place.droppable and isinstance(holder, dict):
            del holder[str(step)]
            self._note("null_for_optional", place, None, None)
            return _GONE
        candidates = (
            _cased(value, place.ways) if type_of(value) in allowed else self._candidates(value, allowed, place.ways)
        )
        distinct = {(type(each.value), repr(each.value)): each for each in candidates}
        if len(distinct) != 1:
            return value
        candidate = next(iter(distinct.values()))
        holder[step] = candidate.value  # type: ignore[index]
        self._note(candidate.code, place, value, candidate.value)
        return candidate.value

    def _candidates(self, value: object, allowed: set[str], here: Ways) -> Iterator[_Candidate]:
        """What a value of a type that may not stand here can mean instead."""
        match value:
            case str():
                yield from _spelled(value, allowed)
            case float() if "integer" in allowed and value.is_integer() and abs(value) < _EXACT:
                yield _Candidate(int(value), "float_for_integer")
            case [item] if not isinstance(item, list) and type_of(item) in allowed:
                yield _Candidate(item, "list_for_scalar")
        if "array" in allowed and not isinstance(value, list) and value is not None:
            items = self.schema.below(here, 0)
            if items.types is not None and type_of(value) in items.types and _may_be_item(value, items):
                yield _Candidate([value], "scalar_for_list")

    def _note(self, code: Coercion, place: _Place, old: object, new: object) -> None:
        self.changes.append(CallChange(code=code, path=place_of(place.path), old=old, new=new))


_GONE = object()


def _holds_whole_float(value: object) -> bool:
    stack = [value]
    while stack:
        held = stack.pop()
        if isinstance(held, dict | list):
            stack.extend(held.values() if isinstance(held, dict) else held)
        elif isinstance(held, float) and held.is_integer():
            return True
    return False


# What can be meant ----------------------------------------------------------------------------


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


def _may_be_item(value: object, items: Ways) -> bool:
    """Whether a value alone can be the one item of a list; an object by its keys, since it may hold several by theirs."""
    if isinstance(value, dict):
        return bool(value) and all(items.names.alike(key) for key in value)
    if not isinstance(value, str):
        return bool(value)
    return (items.texts is not None and value in items.texts) or is_one(value)


def _cased(value: object, here: Ways) -> Iterator[_Candidate]:
    """The one allowed text that differs from a text in case and separators alone."""
    if isinstance(value, str) and here.texts is not None and value not in here.texts:
        alike = here.texts.alike(value)
        if len(alike) == 1 and is_same_value(alike[0], value):
            yield _Candidate(alike[0], "enum_case")
