"""Schemas whose `properties` are no object: some languages write an empty one as a list."""

from __future__ import annotations

from typing import Any

from suture.formats.base import Json


def has_odd_properties(schema: object) -> bool:
    """Whether some `properties` in the schema are there and no object."""
    left = [schema]
    while left:
        value = left.pop()
        if isinstance(value, list):
            left += value
        elif isinstance(value, dict):
            if "properties" in value and not isinstance(value["properties"], dict):
                return True
            left += value.values()
    return False


def with_properties(schema: Json) -> Json:
    """A copy of the schema with an empty object in the place of such `properties`."""
    fixed: Json = _copied(schema)
    left: list[object] = [fixed]
    while left:
        value = left.pop()
        places = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
        for place, item in list(places):
            value[place] = _copied(item)  # type: ignore[index]
            left.append(value[place])  # type: ignore[index]
    return fixed


def _copied(value: Any) -> Any:  # noqa: ANN401  a level of JSON
    """One level of a value, copied."""
    if isinstance(value, dict):
        odd = "properties" in value and not isinstance(value["properties"], dict)
        return {**value, "properties": {}} if odd else dict(value)
    return list(value) if isinstance(value, list) else value
