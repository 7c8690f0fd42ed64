"""What pydantic refused, in sentences from which a model can correct itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

from suture.tools.nodes import names_in
from suture.tools.shapes import Path, known_keys
from suture.tools.words import about, json_type, place_of, told, unknown_key

if TYPE_CHECKING:
    from pydantic import ValidationError


# A quote of what came is at least so long, and begins among so many of its characters.
_ECHO = 6
_LOOKED_AT = 500
# What is shorter is a quote where it stands alone. Shorter still, or in more text than is looked through, nobody can say.
_SHORT_TEXT = 3
_SHORT_NUMBER = 4
_MOST_LOOKED_AT = 64 * 1024


def violations_of(
    error: ValidationError, schema: Mapping[str, object], arguments: Mapping[str, object], unknown: Mapping[Path, str]
) -> list[str]:
    """One sentence for each place that is wrong, those for `unknown` keys last; `schema` names the keys that there are."""
    names = names_in(schema)
    found: list[tuple[Path, str]] = []
    refused: dict[Path, tuple[list[str], str]] = {}  # the alternatives of a union are all refused at one place
    for item in error.errors(include_url=False, include_context=True, include_input=True):
        path = _path(item["loc"], item["type"], arguments)
        match item["type"]:
            case "extra_forbidden" | "unexpected_keyword_argument" if path in unknown:
                pass
            case "extra_forbidden" | "unexpected_keyword_argument":
                found.append((path, unknown_key([*told(path[:-1], names), path[-1]], known_keys(schema, path[:-1]))))
            case "missing" | "missing_argument" | "missing_keyword_only_argument":
                found.append((path, f"{place_of(told(path, names))!r} is missing"))
            case "value_error" | "assertion_error" if not _quotes(item["msg"], item["input"]):
                found.append((path, about(place_of(told(path, names)), _lower(item["msg"]))))
            case _:
                if path not in refused:
                    refused[path] = ([], json_type(item["input"]))
                    found.append((path, ""))
                refused[path][0].append(_lower(_message(item)))
    # An alternative that was looked into says more than those whose type does not fit.
    looked_into = {path[:steps] for path in (*(path for path, _ in found), *unknown) for steps in range(len(path))}
    sentences = [
        said or _sentence(told(path, names), *refused[path]) for path, said in found if said or path not in looked_into
    ]
    return list(dict.fromkeys([*sentences, *unknown.values()]))


def _sentence(path: Sequence[int | str], said: list[str], came: str) -> str:
    return about(place_of(path), f"{' or '.join(dict.fromkeys(said))}, but {came} came")


def _path(location: Sequence[int | str], kind: str, arguments: object) -> Path:
    """Where in the arguments it is. pydantic names the branch of a union in between; no such key is there."""
    path: list[int | str] = []
    value: Any = arguments
    for index, step in enumerate(location):
        if _has(value, step):
            value = value[step]
        elif not ("missing" in kind and index == len(location) - 1):
            continue
        path.append(step)
    return tuple(path)


def _has(value: object, step: int | str) -> bool:
    if isinstance(value, list):
        return isinstance(step, int) and 0 <= step < len(value)
    return isinstance(value, Mapping) and step in value


def _message(item: Mapping[str, Any]) -> str:
    """The words of pydantic, where they repeat nothing of what came."""
    match item["type"]:
        case "union_tag_invalid":
            return f"input should have one of {item['ctx']['expected_tags']} as {item['ctx']['discriminator']}"
        case "uuid_parsing":
            return "input should be a valid UUID"
        case "url_parsing" | "url_syntax_violation":
            return "input should be a valid URL"
        case kind if (_echoes if kind in _kinds() else _quotes)(str(item["msg"]), item["input"]):
            return "input should be valid"
        case _:
            return str(item["msg"])


@cache
def _kinds() -> frozenset[str]:
    """The errors whose words are pydantic's; those of others are the host's, and may say anything."""
    from pydantic_core import core_schema

    return frozenset(get_args(core_schema.ErrorType)) - {"value_error", "assertion_error"}


def _quotes(message: str, value: object) -> bool:
    """Whether words of the host's quote what came, or a text or number anywhere in it."""
    looked_at = 0
    for leaf in _leaves(value):
        text = leaf if isinstance(leaf, str) else str(leaf)
        looked_at += min(len(text), _LOOKED_AT)
        if looked_at > _MOST_LOOKED_AT or _echoes(message, text):
            return True
        shortest = _SHORT_TEXT if isinstance(leaf, str) else _SHORT_NUMBER
        if shortest <= len(text) <= _ECHO and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", message):
            return True
    return False


def _leaves(value: object) -> Iterator[str | int | float]:
    stack = [value]
    while stack:
        held = stack.pop()
        if isinstance(held, Mapping):
            stack.extend(held.values())
        elif isinstance(held, list | tuple):
            stack.extend(held)
        elif isinstance(held, str | int | float) and not isinstance(held, bool):
            yield held


def _echoes(message: str, value: object) -> bool:
    """Whether words quote a text, or part of it."""
    if not isinstance(value, str) or len(value) < _ECHO:
        return False
    return any(value[at : at + _ECHO] in message for at in range(min(len(value) - _ECHO, _LOOKED_AT) + 1))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
