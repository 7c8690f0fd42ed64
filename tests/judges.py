"""Judges of requests that share no code with suture: the checkers that came with the cases, turnsafe, and the vendors' SDKs."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pydantic
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


# The vendors' own types -----------------------------------------------------------------------

# Kinds of blocks that the API takes and its SDK's stable types do not list: those of betas, and what nobody knows.
_KNOWN_BLOCKS = frozenset(
    (
        *("text", "image", "document", "search_result", "thinking", "redacted_thinking", "tool_use", "tool_result"),
        *("server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result"),
        *("bash_code_execution_tool_result", "text_editor_code_execution_tool_result", "tool_search_tool_result"),
        "container_upload",
    )
)
_KNOWN_PARTS = frozenset(("text", "image_url", "input_audio", "file", "refusal"))
_ROLES = {
    "anthropic": ("user", "assistant", "system"),
    "openai-chat": ("developer", "system", "user", "assistant", "tool", "function"),
}


@cache
def _adapter(format: str) -> pydantic.TypeAdapter[Any]:
    if format == "anthropic":
        from anthropic.types import MessageParam

        return pydantic.TypeAdapter(MessageParam)
    from openai.types.chat import ChatCompletionMessageParam

    return pydantic.TypeAdapter(ChatCompletionMessageParam)


def sdk_problems(format: str, messages: list[dict[str, Any]]) -> list[str]:
    """What the types of the vendor's SDK refuse of messages of that format.

    Left out is what the API takes and the types do not know: blocks and parts of other kinds, and roles of other names,
    which suture sends as they came. The types read lists of blocks as they are walked, so each is walked.
    """
    found: list[str] = []
    for index, message in enumerate(messages):
        if message["role"] not in _ROLES[format]:
            continue
        try:
            _walk(_adapter(format).validate_python(_known(format, message)))
        except pydantic.ValidationError as error:
            found.append(f"[{index}]: {error.errors()[0]['loc']}: {error.errors()[0]['msg']}")
    return found


def _known(format: str, message: dict[str, Any]) -> dict[str, Any]:
    known = _KNOWN_BLOCKS if format == "anthropic" else _KNOWN_PARTS
    content = message.get("content")
    if not isinstance(content, list):
        return message
    return {**message, "content": [block for block in content if block.get("type") in known]}


def _walk(value: Any) -> None:
    if isinstance(value, Mapping):
        for item in value.values():
            _walk(item)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for item in value:
            _walk(item)


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
            by_place = waiting.pop(0)
            entry = {**entry, "tool_call_id": entry.get("tool_call_id") or by_place}
        read.append(entry)
    return read


def _with_text(call: dict[str, Any], id: str) -> dict[str, Any]:
    function = call["function"]
    return {**call, "id": id, "function": {**function, "arguments": json.dumps(function["arguments"])}}
