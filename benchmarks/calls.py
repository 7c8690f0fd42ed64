"""check_call against decoding with msgspec and validating with jsonschema-rs by hand, alternating within one run.

PYTHONPATH=src python benchmarks/calls.py
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import jsonschema_rs
import msgspec

from suture.messages import ToolCall
from suture.tools import Tool, check_call

ROUNDS = 15
TIMES = 2_000

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "content": {"type": "string"},
        "limit": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "where": {"type": "object", "properties": {"line": {"type": "number"}, "whole": {"type": "boolean"}}},
    },
    "required": ["path"],
    "additionalProperties": False,
}
ARGUMENTS = {
    "path": "a/b.py",
    "content": "x = 1; " * 130,
    "limit": 5,
    "tags": ["a", "b", "c"],
    "where": {"line": 1.5, "whole": True},
}


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    for _ in range(TIMES):
        work()
    return (time.perf_counter() - start) / TIMES


def compare(name: str, ours: Callable[[], object], theirs: Callable[[], object]) -> None:
    """One line: medians in microseconds, and how many times theirs ours takes."""
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
    mine, other = (statistics.median(column) * 1e6 for column in zip(*pairs, strict=True))
    print(f"{name:42} suture {mine:8.2f} us   by hand {other:8.2f} us   ratio {mine / other:5.2f}")


def main() -> None:
    tools = [Tool("write", "Write a file.", SCHEMA, lambda arguments: arguments)]
    decode = msgspec.json.Decoder().decode
    validator = jsonschema_rs.validator_for(SCHEMA)
    for name, text in (
        ("compact", json.dumps(ARGUMENTS, separators=(",", ":"))),
        ("with spaces", json.dumps(ARGUMENTS)),
    ):
        call = ToolCall("c1", "write", None, text)
        given = {"id": "c1", "name": "write", "arguments": text}
        assert check_call(call, tools).status == "valid"

        def by_hand(text: str = text) -> bool:
            return bool(validator.is_valid(decode(text)))

        compare(f"a valid call of {len(text)} bytes, {name}", lambda call=call: check_call(call, tools), by_hand)  # type: ignore[misc]
        compare("the same as a dict", lambda given=given: check_call(given, tools), by_hand)  # type: ignore[misc]
    slips = "{'path': 'a', 'content': '" + "x = 1; " * 130 + "', 'limit': '5',}"
    compare("one with slips", lambda: check_call(ToolCall("c1", "write", None, slips), tools), by_hand)


if __name__ == "__main__":
    main()
