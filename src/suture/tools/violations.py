"""What is wrong with arguments, in sentences from which a model can correct itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from suture.errors import InvalidSchema, NotJson

if TYPE_CHECKING:
    from pydantic import ValidationError

MAX_VIOLATIONS = 8
MAX_REASON_BYTES = 2048


def schema_violations(schema: Mapping[str, object], arguments: Mapping[str, object]) -> list[str]:
    """What is wrong with arguments by a JSON schema, one sentence each. References to files or the network are refused.

    Raises:
        InvalidSchema: the schema itself is not one.
    """
    import jsonschema_rs

    def refuse(uri: str) -> dict[str, object]:
        raise ValueError(f"the reference {uri} leads out of the schema; inline it")

    try:
        validator = jsonschema_rs.validator_for(dict(schema), retriever=refuse)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise InvalidSchema(f"The parameters are no JSON schema: {error}") from error
    return [
        f"{'.'.join(map(str, error.instance_path)) or 'the arguments'}: {error.message[:200]}"
        for error in validator.iter_errors(dict(arguments))
    ]


def violations_of(error: ValidationError, known: list[str]) -> list[str]:
    """What pydantic refused, one sentence each; `known` are the parameters that there are."""
    found = []
    for item in error.errors(include_url=False, include_context=False, include_input=True):
        place = _place(item["loc"])
        match item["type"]:
            case "extra_forbidden" if len(item["loc"]) == 1:
                found.append(unknown_name("parameter", place, known))
            case "extra_forbidden":
                found.append(f"unknown key {place!r}")
            case "missing":
                found.append(f"{place!r} is missing")
            case _:
                came = _json_type(item["input"])
                found.append(f"{place!r}: {item['msg'][:1].lower()}{item['msg'][1:]}, but {came} came")
    return found


def _place(location: Iterable[int | str]) -> str:
    place = ""
    for step in location:
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else step
    return place[:120]


def _json_type(value: object) -> str:
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


def unknown_name(what: str, name: str, known: Sequence[str]) -> str:
    """Such as 'unknown parameter 'titile' (did you mean 'title'?); expected project_id, title'."""
    near = get_close_matches(name, known, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    listed = ", ".join(known[:40]) + (", ..." if len(known) > 40 else "")
    return f"unknown {what} {name[:120]!r}{hint}; expected {listed or f'no {what} at all'}"


def bounded(name: str, violations: Sequence[str]) -> str:
    """All that is wrong in one text of bounded length."""
    shown = [" ".join(violation.split()) for violation in violations[:MAX_VIOLATIONS]]
    more = f"; and {len(violations) - MAX_VIOLATIONS} more" if len(violations) > MAX_VIOLATIONS else ""
    text = (
        f"The arguments of {name!r} do not fit: {'; '.join(shown)}{more}. The call was not run; correct it and call again."
    )
    return text.encode()[:MAX_REASON_BYTES].decode(errors="ignore")


def said(error: Exception) -> str:
    """What an error says of itself, which is the host's code."""
    name = "" if type(error) is NotJson else type(error).__name__
    try:
        return ": ".join(part for part in (name, str(error)) if part)
    except Exception:  # noqa: BLE001  an error may fail to say what it is
        return name
