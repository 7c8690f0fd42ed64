"""What is wrong with arguments, in words: the place, what came and what was expected, and never the value that came."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import uuid
from typing import Annotated, Any, Literal

import pydantic
import pytest

from suture.tools import Tool, schema_violations, tool

SECRET = "s3cret"


def take(arguments: dict[str, Any]) -> None:
    """Take."""


# JSON schemas ---------------------------------------------------------------------------------

ROWS: list[tuple[dict[str, object], object, list[str]]] = [
    ({"type": "integer"}, SECRET, ["'v': expected an integer, but a string came"]),
    ({"type": "integer"}, 1.5, ["'v': expected an integer, but a number with a fraction came"]),
    ({"type": ["string", "null"]}, [SECRET], ["'v': expected null or a string, but a list came"]),
    ({"type": "object", "required": ["a", "b"]}, {}, ["'v.a' is missing", "'v.b' is missing"]),
    ({"properties": {"price": {}}, "additionalProperties": False}, {"prise": SECRET}, ["unknown key 'v.prise' (did you mean 'price'?); expected price"]),
    ({"properties": {"price": {}}, "unevaluatedProperties": False}, {"x": SECRET}, ["unknown key 'v.x'; expected price"]),
    ({"enum": ["a", "b"]}, SECRET, ["""'v': expected "a" or "b", but another string came"""]),
    ({"enum": ["a", None]}, {SECRET: 1}, ["""'v': expected "a" or null, but an object came"""]),
    ({"const": 4}, 5, ["'v': expected 4, but another number came"]),
    ({"minimum": 3}, 2, ["'v': expected a number of at least 3, but another number came"]),
    ({"maximum": 3}, 4, ["'v': expected a number of at most 3, but another number came"]),
    ({"maximum": 3}, 10**30, ["'v': expected a number of at most 3, but another number came"]),
    ({"exclusiveMinimum": 3}, 3, ["'v': expected a number above 3, but another number came"]),
    ({"exclusiveMaximum": 3}, 3, ["'v': expected a number below 3, but another number came"]),
    ({"multipleOf": 3}, 4, ["'v': expected a multiple of 3, but another number came"]),
    ({"minLength": 9}, SECRET, ["'v': expected a string of at least 9 characters, but one of 6 characters came"]),
    ({"maxLength": 2}, SECRET, ["'v': expected a string of at most 2 characters, but one of 6 characters came"]),
    ({"pattern": "^a"}, SECRET, ["""'v': expected a string that matches "^a", but another string came"""]),
    ({"format": "date"}, SECRET, ["""'v': expected a string of the format "date", but another string came"""]),
    ({"minItems": 2}, [SECRET], ["'v': expected a list of at least 2 items, but one of 1 items came"]),
    ({"maxItems": 1}, [SECRET, 2], ["'v': expected a list of at most 1 items, but one of 2 items came"]),
    ({"uniqueItems": True}, [SECRET, SECRET], ["'v': expected a list whose items all differ, but one with the same item twice came"]),
    ({"contains": {"type": "integer"}}, [SECRET], ["'v': expected a list that fits the schema's 'contains', but a list came"]),
    ({"minProperties": 1}, {}, ["'v': expected an object of at least 1 keys, but one of 0 keys came"]),
    ({"propertyNames": {"pattern": "^a"}}, {SECRET[:0]: 1}, ["""'v': the name of a key is not allowed: expected a string that matches "^a\""""]),
    ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, None, ["'v': expected a string or an integer, but null came"]),
    ({"oneOf": [{"type": "string"}, {"type": "object", "required": ["a"]}]}, {"b": SECRET}, ["'v': expected a string or an object with 'a', but an object came"]),
    ({"oneOf": [{"type": "string"}, {"minLength": 1}]}, SECRET, ["'v': fits more than one of the allowed forms; it has to fit exactly one"]),
    ({"not": {"type": "string"}}, SECRET, ["""'v': expected what does not fit {"type": "string"}, but a string came"""]),
    ({"items": {"properties": {"price": {"type": "number"}}}}, [{}, {}, {"price": SECRET}], ["'v[2].price': expected a number, but a string came"]),
    ({"prefixItems": [{}], "items": False}, [1, SECRET], ["'v[1]': expected nothing, but a string came"]),
    ({"$ref": "#/$defs/R"}, {"xz": SECRET}, ["unknown key 'v.xz' (did you mean 'x'?); expected x"]),
    ({"if": {"type": "string"}, "then": {"minLength": 9}}, SECRET, ["'v': expected a string of at least 9 characters, but one of 6 characters came"]),
    ({"dependentRequired": {"a": ["b"]}}, {"a": SECRET}, ["'v.b' is missing"]),
    ({"contentEncoding": "base64"}, "%%", []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "value", "said"), ROWS, ids=[f"{index} {next(iter(row[0]))}" for index, row in enumerate(ROWS)]
)
def test_each_keyword_of_a_schema_is_told_in_words(schema: dict[str, object], value: object, said: list[str]) -> None:
    """One sentence each, with nothing of what came."""
    whole: dict[str, object] = {
        "type": "object",
        "properties": {"v": schema},
        "$defs": {"R": {"properties": {"x": {}}, "additionalProperties": False}},
    }
    found = Tool("t", "", whole, take).violations({"v": value})
    assert found == said
    assert SECRET not in " ".join(found)


def test_a_wrong_top_is_told_by_parameter() -> None:
    """At the top, keys are parameters; they are listed with the near one."""
    made = Tool("t", "", {"properties": {"title": {}, "id": {}}, "required": ["id"], "additionalProperties": False}, take)
    assert made.violations({"titile": SECRET}) == [
        "'id' is missing",
        "unknown parameter 'titile' (did you mean 'title'?); expected title, id",
    ]
    assert Tool("t", "", {"minProperties": 1}, take).violations({}) == [
        "the arguments: expected an object of at least 1 keys, but one of 0 keys came"
    ]


def test_an_edit_is_not_held_to_formats() -> None:
    """What pydantic takes as a date-time need not be one by RFC 3339; the tool decides when the call runs."""
    schema = {"properties": {"at": {"type": "string", "format": "date-time"}}}
    assert schema_violations(schema, {"at": "2026-01-02T03:04:05"}) == []
    assert schema_violations(schema, {"at": 5}) == ["'at': expected a string, but a number came"]


# Types ----------------------------------------------------------------------------------------


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]


def even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


@tool
def typed(
    count: Annotated[int, pydantic.Field(ge=1)] = 1,
    colour: Colour | None = None,
    level: Literal["low", "high"] = "low",
    day: datetime.date | None = None,
    id: uuid.UUID | None = None,
    price: decimal.Decimal | None = None,
    point: Point | None = None,
    points: list[Point] | None = None,
    by_name: dict[str, list[Point]] | None = None,
    either: int | Point | list[Point] = 0,
    pet: Annotated[Cat | Dog, pydantic.Field(discriminator="kind")] | None = None,
    even: Annotated[int, pydantic.AfterValidator(even)] = 0,
    code: Annotated[str, pydantic.Field(pattern="^a", max_length=3)] = "a",
) -> None:
    """Take."""


TYPED: list[tuple[dict[str, object], list[str]]] = [
    ({"count": SECRET}, ["'count': input should be a valid integer, but a string came"]),
    ({"count": True}, ["'count': input should be a valid integer, but a boolean came"]),
    ({"count": 0}, ["'count': input should be greater than or equal to 1, but a number came"]),
    ({"colour": SECRET}, ["'colour': input should be 'red' or 'blue', but a string came"]),
    ({"level": SECRET}, ["'level': input should be 'low' or 'high', but a string came"]),
    ({"day": SECRET}, ["'day': input should be a valid date in the format YYYY-MM-DD, input is too short, but a string came"]),
    ({"id": SECRET}, ["'id': input should be a valid UUID, but a string came"]),
    ({"price": SECRET}, ["'price': input should be a valid decimal, but a string came"]),
    ({"point": {}}, ["'point.x' is missing"]),
    ({"point": {"x": 1, "yy": SECRET}}, ["unknown key 'point.yy' (did you mean 'y'?); expected x, y"]),
    ({"point": SECRET}, ["'point': input should be an object, but a string came"]),
    ({"points": [{"x": 1}, {"x": SECRET}]}, ["'points[1].x': input should be a valid integer, but a string came"]),
    ({"by_name": {"p": [{"x": 1, "z": SECRET}]}}, ["unknown key 'by_name.*[0].z'; expected x, y"]),
    ({"either": SECRET}, ["'either': input should be a valid integer or input should be an object or input should be a valid array, but a string came"]),
    ({"either": {"x": SECRET}}, ["'either.x': input should be a valid integer, but a string came"]),
    ({"either": [{"x": 1, "yy": SECRET}]}, ["unknown key 'either[0].yy' (did you mean 'y'?); expected x, y"]),
    ({"pet": {"kind": SECRET}}, ["'pet': input should have one of 'cat', 'dog' as 'kind', but an object came"]),
    ({"pet": {"kind": "cat", "lifes": SECRET}}, ["unknown key 'pet.lifes' (did you mean 'lives'?); expected kind, lives"]),
    ({"pet": {"kind": "cat", "lives": SECRET}}, ["'pet.lives': input should be a valid integer, but a string came"]),
    ({"even": 3}, ["'even': value error, must be even"]),
    ({"code": SECRET}, ["'code': string should have at most 3 characters, but a string came"]),
    ({"code": "b"}, ["'code': string should match pattern '^a', but a string came"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "said"), TYPED, ids=[json.dumps(row[0]) for row in TYPED])
def test_each_mistake_in_typed_arguments_is_told_in_words(arguments: dict[str, object], said: list[str]) -> None:
    """The place has no step that only pydantic knows, unknown keys are found at every depth, and no value is repeated."""
    assert typed.violations(arguments) == said
    assert SECRET not in " ".join(said)


def test_a_long_name_is_clipped() -> None:
    """A key is a name and may be told, within bounds; a value used as a key cannot flood the answer."""
    (said,) = typed.violations({"k" * 5000: 1})
    assert len(said) < 400
