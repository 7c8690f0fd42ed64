"""How a refusal reads: names clipped, values never repeated, the whole of bounded length."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from itertools import islice

from suture.canonical import scrub
from suture.errors import NotJson

MAX_VIOLATIONS = 8
MAX_REASON_BYTES = 2048
_LONGEST_NAME = 120
_MOST_NAMES = 40
_LONGEST_LIST = 400
_IDENTIFIER = re.compile(r"""[\s"'`<|]*([\w.-]{0,64})""", re.ASCII)


def place_of(path: Iterable[int | str]) -> str:
    """Such as `items[2].price`; blank for the arguments as a whole."""
    place = ""
    for step in path:
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else step
    return place[:_LONGEST_NAME]


def told(path: Iterable[int | str], names: Collection[str]) -> list[int | str]:
    """The path to a place, with a star for each key that the schema does not name: it is data, as a value is."""
    return [step if isinstance(step, int) or step in names else "*" for step in path]


def about(place: str, said: str) -> str:
    """A sentence on a place in the arguments."""
    return f"{place!r}: {said}" if place else f"the arguments: {said}"


def json_type(value: object) -> str:
    """What came, by its type alone."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list() | tuple():
            return "a list"
        case _:
            return "an object"


def one_of(values: Iterable[object]) -> str:
    """Allowed values, as JSON."""
    return " or ".join(shown(value) for value in islice(values, _LONGEST_LIST))[:_LONGEST_LIST]


def shown(value: object) -> str:
    """A value of a schema, as JSON, clipped."""
    return json.dumps(value, ensure_ascii=False, default=str)[:_LONGEST_NAME]


def unknown_name(what: str, name: str, known: Sequence[str]) -> str:
    """Such as 'unknown tool 'lok' (did you mean 'look'?); expected look, send'. Of what came, what an identifier may begin
    with is told: behind that may stand arguments.
    """
    found = _IDENTIFIER.match(name)
    shown = found[1] if found else ""
    return _unknown(what, shown, shown, known)


def unknown_key(path: Sequence[int | str], known: Sequence[str], before: int = 0) -> str:
    """An object has a key that it may not have; at the top, keys are parameters.

    Behind as many others as are told, it is only named: near names are costly to find.
    """
    if before >= MAX_VIOLATIONS:
        return f"unknown key {place_of(path)!r}"
    what = "parameter" if len(path) == 1 else "key"
    return _unknown(what, place_of(path), str(path[-1]), known)


def _unknown(what: str, place: str, name: str, known: Sequence[str]) -> str:
    by_small = {one.casefold(): one for one in known}
    near = get_close_matches(name[:_LONGEST_NAME].casefold(), by_small, n=1)
    hint = f" (did you mean {by_small[near[0]]!r}?)" if near else ""
    listed = ", ".join(known[:_MOST_NAMES]) + (", ..." if len(known) > _MOST_NAMES else "")
    return f"unknown {what} {place!r}{hint}; expected {listed or f'no {what} at all'}"


def bounded(name: str, violations: Sequence[str]) -> str:
    """All that is wrong in one text of bounded length."""
    shown = [" ".join(violation.split()) for violation in violations[:MAX_VIOLATIONS]]
    more = f"; and {len(violations) - MAX_VIOLATIONS} more" if len(violations) > MAX_VIOLATIONS else ""
    lead, end = f"The arguments of {name!r} do not fit: ", f"{more}. The call was not run; correct it and call again."
    return lead + clipped("; ".join(shown), MAX_REASON_BYTES - len((lead + end).encode())) + end


def clipped(text: str, size: int) -> str:
    """The text in at most so many bytes of UTF-8, which it can be written in."""
    return scrub(text).encode()[: max(size, 0)].decode(errors="ignore")


def said(error: Exception) -> str:
    """What an error says of itself, which is the host's code."""
    name = "" if type(error) is NotJson else type(error).__name__
    try:
        return ": ".join(part for part in (name, str(error)) if part)
    except Exception:  # noqa: BLE001  an error may fail to say what it is
        return name
