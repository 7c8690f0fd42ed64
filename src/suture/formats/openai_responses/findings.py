"""Findings about one input item of OpenAI's Responses by itself, each made where something is wrong."""

from __future__ import annotations

import json
import re

from suture.formats.base import Json
from suture.formats.openai_responses.items import FIELDS, PREFIXES
from suture.formats.openai_responses.rules import RULE_OF, RULES
from suture.formats.rule import Finding, Rule, Severity, finding
from suture.formats.wire import kind_of

LONGEST_ITEM_ID = 64
is_item_id = re.compile(rf"[a-zA-Z0-9_-]{{1,{LONGEST_ITEM_ID}}}").fullmatch


def found(
    code: str,
    path: str,
    sentence: str,
    call: str | None = None,
    *,
    rule: str | None = None,
    severity: Severity | None = None,
    hint: str | None = None,
    **facts: str | int,
) -> Finding:
    """A finding of that code, by its rule unless another is named."""
    by: Rule = RULES[rule or RULE_OF[code]]
    return finding(by, code, path, sentence, call or None, facts, severity=severity, hint=hint)


def item_id(index: int, kind: str, id: object) -> Finding:
    """What is wrong with the id of an item: its letters, its length, or how it begins."""
    path, prefix = f"input[{index}].id", PREFIXES.get(kind, "")
    if not isinstance(id, str):
        sentence = f"The id of the item is {kind_of(id)}, not a text."
        return found("ITEM_ID_FORM", path, sentence, i=index, id=kind_of(id))
    if not is_item_id(id):
        sentence = f"The id of the item is no text of 1 to {LONGEST_ITEM_ID} letters, digits, _ and -."
        return found("ITEM_ID_FORM", path, sentence, i=index, id=id[:80], n=len(id))
    sentence = f"The id {id!r} of the item does not begin with {prefix!r}."
    return found("ITEM_ID_PREFIX", path, sentence, i=index, id=id, prefix=prefix)


def call_id(index: int, id: object, longest: int, pattern: str) -> Finding:
    """What is wrong with the id of a call."""
    path = f"input[{index}].call_id"
    if not isinstance(id, str) or not id:
        return found("ID_MISSING", path, "The call has no id that is a text.", i=index)
    if len(id) > longest:
        sentence = f"The id has {len(id)} characters; {longest} are allowed."
        return found("ID_LENGTH", path, sentence, id, i=index, n=len(id), most=longest)
    return found("ID_CHARS", path, f"The id {id!r} does not fit {pattern}.", id, i=index, n=len(id), most=longest)


def arguments(index: int, call: str, given: object) -> Finding:
    """What is wrong with the arguments of a function's call."""
    path = f"input[{index}].arguments"
    if not isinstance(given, str):
        sentence = f"The arguments are {kind_of(given)}, not the JSON text of an object."
        return found("ARGS_TYPE", path, sentence, call, i=index)
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        sentence = "The arguments are no JSON; they were probably cut off."
        return found("ARGS_UNPARSABLE", path, sentence, call, i=index)
    if isinstance(value, dict):
        sentence = "The arguments hold half a surrogate pair, or a number that is none."
        return found("SURROGATE_LONE", path, sentence, call, i=index)
    return found("ARGS_NOT_OBJECT", path, f"The arguments are {kind_of(value)}, not an object.", call, i=index)


def name(index: int, call: str, given: object) -> Finding:
    """What is wrong with the name of the tool that is called."""
    sentence = f"The call's name {given!r} is no name of a tool: up to 64 letters, digits, _ and -."
    return found("NAME_PATTERN", f"input[{index}].name", sentence, call, i=index)


def unknown_fields(index: int, kind: str, item: Json) -> list[Finding]:
    """The fields that the item's type is not known to have; they are sent."""
    return [
        found(
            "FIELD_UNKNOWN",
            f"input[{index}].{key}",
            f"Items of the type {kind!r} have no field {key!r} that is known; it is sent as it is.",
            rule="RSP-FIELD",
            i=index,
            field=key,
        )
        for key in sorted(item.keys() - FIELDS[kind])
    ]


def echo(index: int, field: str, path: str) -> Finding:
    """A field of an answer that no request has."""
    sentence = f"The field {field!r} belongs to an answer; a request does not have it."
    return found("FIELD_UNKNOWN", path, sentence, i=index, field=field)


def part_role(index: int, at: int, role: str, kind: str) -> Finding:
    """A part that stands in a message of another role."""
    path = f"input[{index}].content[{at}]"
    wanted = "output_text" if role == "assistant" else "input_text"
    if kind in ("input_image", "input_file"):
        sentence = f"A part of the type {kind!r} stands in a message of the model's."
        return found("IMAGE_ROLE", path, sentence, i=index, type=kind, wanted=wanted)
    sentence = f"The words are of the type {kind!r}; in a message of the role {role!r} they are {wanted!r}."
    return found("PART_ROLE", path, sentence, i=index, type=kind, wanted=wanted)
