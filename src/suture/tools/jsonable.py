"""What a handler returned, as plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import msgspec

from suture.canonical import require_json
from suture.errors import NotJson

# Levels of lists and objects in one result; as many as arguments may have.
MAX_DEPTH = 64

# Whose values have one JSON text that says all of them: dates and times, decimals, UUIDs, enums. By name, since rules
# read no clock and draw no random number, and so import nothing that can.
_PLAIN_TEXTS = frozenset(("datetime", "decimal", "uuid", "enum"))


def json_of(value: object, at: str = "$", depth: int = 0) -> object:
    """The value as plain JSON: dataclasses and pydantic models as objects, dates, decimals, UUIDs and enums as what JSON
    says of them, tuples as lists.

    Raises:
        NotJson: it holds what JSON would lose (a set has no order), or more than 64 levels; names the place.
    """
    match value:
        case None | bool():
            return value
        case str():
            return str.__str__(value)
        case int():
            return int(value)
        case float():
            require_json(value, at)
            return float(value)
        case set() | frozenset():
            raise NotJson(f"{at}: a {type(value).__name__} has no order; return a list, such as sorted(...).")
    if depth >= MAX_DEPTH:
        raise NotJson(
            f"it is nested deeper than {MAX_DEPTH} levels, which is the limit. Ask for less, or return it flatter."
        )
    match value:
        case Mapping():
            return {_key(key, at): json_of(item, f"{at}.{key}", depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [json_of(item, f"{at}[{index}]", depth + 1) for index, item in enumerate(value)]
        case msgspec.Struct():
            return json_of(msgspec.to_builtins(value), at, depth)
        case _ if hasattr(type(value), "__pydantic_serializer__") or _is_plain_text(value):
            return json_of(_as_pydantic_writes(value, at), at, depth)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {one.name: json_of(getattr(value, one.name), f"{at}.{one.name}", depth + 1) for one in fields(value)}
        case _:
            raise NotJson(f"{at}: {type(value).__name__} is not JSON; convert it to text, a list or a dict first.")


def _as_pydantic_writes(value: object, at: str) -> object:
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        written: object = to_jsonable_python(value)
    except (PydanticSerializationError, ValueError) as error:
        raise NotJson(f"{at}: {type(value).__name__} is not JSON: {error}") from error
    return written


def _is_plain_text(value: object) -> bool:
    return any(kind.__module__ in _PLAIN_TEXTS for kind in type(value).__mro__)


def _key(key: object, at: str) -> str:
    require_json({key: None}, at)
    return str.__str__(key)
