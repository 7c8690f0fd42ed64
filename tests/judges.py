"""Judges of requests that share no code with suture: the checkers that came with the cases, and turnsafe."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import turnsafe

FORMATS = ("openai-chat", "anthropic")
_PROVIDER = {"openai-chat": "openai", "anthropic": "anthropic"}


def _load(name: str) -> ModuleType:
    path = Path(__file__).parent / "cases" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules.setdefault(name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


_checkers = _load("checkers")


def problems(format: str, wire: object) -> list[str]:
    """What either judge refuses of a request of that format; an empty conversation is nothing to judge."""
    assert isinstance(wire, dict)
    messages = wire["messages"]
    if not messages:
        return []
    found = list(_checkers.check(format, messages, {}))
    report = turnsafe.validate(messages, _PROVIDER[format])
    return found + [str(violation) for violation in report.errors]


def assert_valid(format: str, wire: object) -> None:
    """Fail with what the judges found."""
    assert not problems(format, wire), f"{format}: {problems(format, wire)} in {wire}"


def assert_all_valid(wires: Iterable[tuple[str, object]]) -> None:
    """Fail with the first request that a judge refuses."""
    for format, wire in wires:
        assert_valid(format, wire)


def structural_problems(format: str, request: object, target: str | None = None) -> list[str]:
    """What the judges refuse of a request in any format; some rules of a dialect are beyond them."""
    assert isinstance(request, dict)
    key = _checkers.LIST_KEY[format]
    if not request[key]:
        return []
    found = list(_checkers.check(format, _as_read(request[key], target), {}))
    if format in _PROVIDER and target is None:
        found += [str(violation) for violation in turnsafe.validate(request[key], _PROVIDER[format]).errors]
    return found


def _as_read(entries: list[dict[str, Any]], target: str | None) -> list[dict[str, Any]]:
    """The entries as the checkers read them: Ollama's own API has objects for arguments, and matches results by place."""
    if target != "openai-chat:ollama-native":
        return entries
    read: list[dict[str, Any]] = []
    waiting: list[str] = []
    for at, entry in enumerate(entries):
        if entry.get("tool_calls"):
            waiting = [call.get("id") or f"call_{at}_{n}" for n, call in enumerate(entry["tool_calls"])]
            calls = zip(waiting, entry["tool_calls"], strict=True)
            entry = {**entry, "tool_calls": [_with_text(call, id) for id, call in calls]}
        elif entry["role"] == "tool" and waiting:
            entry = {"tool_call_id": waiting.pop(0), **entry}
        read.append(entry)
    return read


def _with_text(call: dict[str, Any], id: str) -> dict[str, Any]:
    function = call["function"]
    return {**call, "id": id, "function": {**function, "arguments": json.dumps(function["arguments"])}}
