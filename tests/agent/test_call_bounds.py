"""What a check costs: no schema makes it grow faster than the arguments, and no union hides what can only be meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from suture.messages import ToolCall
from suture.tools import CallCheck, Tool, check_call
from suture.tools.words import MAX_REASON_BYTES
from tests.growth import TIMES, grows

Json = dict[str, Any]

NODE = {"$ref": "#/$defs/node"}
CHILDREN = {"type": "object", "properties": {"a": NODE, "b": NODE}}
TEXT = {"type": "string"}


def recursive(node: Json) -> Tool:
    return Tool(
        "t", "", {"type": "object", "$defs": {"node": node}, "properties": {"x": NODE}}, lambda arguments: arguments
    )


def given(tool: Tool, value: object) -> CallCheck:
    return check_call(ToolCall("c", "t", {"x": value}), [tool])


def chain(depth: int) -> object:
    value: object = 5
    for _ in range(depth):
        value = {"a": value, "z": 2}
    return value


UNIONS: dict[str, Json] = {
    "one form": {"anyOf": [CHILDREN, TEXT]},
    "two forms alike": {"anyOf": [{**CHILDREN, "required": ["a"]}, {**CHILDREN, "minProperties": 1}, TEXT]},
    "exactly one": {"oneOf": [{**CHILDREN, "required": ["z"]}, {**CHILDREN, "maxProperties": 0}, TEXT]},
    "both": {"type": ["object", "string"], "allOf": [CHILDREN | {"type": ["object", "string"]}] * 2},
    "patterns": {"type": ["object", "string"], "properties": {"a": NODE}, "patternProperties": {"^a": NODE, "a$": NODE}},
    "maps": {"anyOf": [{"type": "object", "additionalProperties": NODE}, {"type": "array", "items": NODE}, TEXT]},
    "not": {"type": ["object", "string"], "properties": {"a": NODE}, "not": {"properties": {"a": NODE}, "required": ["q"]}},
}


@pytest.mark.parametrize("shape", UNIONS)
def test_a_wrong_value_deep_in_a_recursive_schema_costs_its_depth(shape: str) -> None:
    """Each place is looked at once for each node of the schema, however many ways lead there; the reason stays short."""
    tool = recursive(UNIONS[shape])
    assert grows(lambda n: [given(tool, chain(n)) for _ in range(4)], 7) < 3 * TIMES
    found = given(tool, chain(56))
    assert found.status == "ask"
    assert len(found.reason.encode()) <= MAX_REASON_BYTES


def tagged(branches: int, held: Callable[[int], Json]) -> Json:
    return {
        "oneOf": [
            {
                "type": "object",
                "properties": {"op": {"const": f"o{at}"}, "k": held(at), "args": {"type": "array", "items": NODE}},
                "required": ["op"],
                "additionalProperties": False,
            }
            for at in range(branches)
        ]
    }


@pytest.mark.parametrize("branches", [2, 17, 300, 2_000])
def test_a_union_of_any_size_is_read_by_its_constant(branches: int) -> None:
    """Only the form whose constant stands there can be meant, also where the value would fit another."""
    tool = recursive(tagged(branches, lambda at: {"type": "integer"} if at % 2 else TEXT))
    assert given(tool, {"op": "o1", "args": [{"op": "o1", "k": "3"}]}).status == "fixed"
    found = given(tool, {"op": "o1", "args": [{"op": "o1", "k": "three"}]})
    assert found.status == "ask"
    assert "'x.args[0].k': expected an integer, but a string came" in found.reason


def test_an_unknown_constant_is_no_other() -> None:
    """Nothing is read by the forms of others."""
    found = given(recursive(tagged(40, lambda _: {"type": "integer"})), {"op": "zz", "k": "3"})
    assert found.status == "ask"
    assert found.changes == []


WIDE: dict[str, tuple[Json, Callable[[int], object], int]] = {
    "items of a large union": (tagged(300, lambda _: {"type": "integer"}), lambda n: {"op": "o7", "args": [{"op": "o5", "k": "q"}] * n}, 100),
    "keys of a large union": (tagged(300, lambda _: {"type": "integer"}), lambda n: {f"k{at}": at for at in range(n)}, 100),
    "unknown keys": ({"required": [f"p{at}" for at in range(3_000)], "additionalProperties": False}, lambda n: {f"k{at}": 1 for at in range(n)}, 400),
    "long lists of options": ({"items": {"enum": [f"v-{at}" for at in range(3_000)]}}, lambda n: [f"v_{at}" for at in range(n)], 400),
    "a pattern that goes back": ({"items": {"pattern": "^(?=a)(a|a)*(?!c)b$"}}, lambda n: ["a" * 40 + "c"] * n, 2),
    "many patterns": ({"patternProperties": {f"^a{at}$": {"type": "integer"} for at in range(300)}}, lambda n: {f"a{at}": "q" for at in range(n)}, 30),
    "items that differ": ({"uniqueItems": True}, lambda n: [*range(n), 0], 800),
}  # fmt: skip


@pytest.mark.parametrize("shape", WIDE)
def test_a_wide_value_costs_its_width(shape: str) -> None:
    """What a schema lists is looked up, not gone through for each item."""
    node, make, size = WIDE[shape]
    tool = recursive(node)
    given(tool, make(1))
    assert grows(lambda n: given(tool, make(n)), size) < 3 * TIMES
