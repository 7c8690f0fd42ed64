"""Healing takes its time by the length of a history, whatever stands in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pytest

from suture.healing import heal
from tests.growth import TIMES, grows

Json: TypeAlias = dict[str, Any]

INTERRUPTED = "Tool call was interrupted before it completed."
USER: Json = {"role": "user", "content": "q"}
ASKED: Json = {"type": "message", "role": "user", "content": "q"}
SPOKEN: Json = {"role": "user", "parts": [{"text": "q"}]}


def called(*names: str) -> Json:
    calls = [{"id": "a", "type": "function", "function": {"name": name, "arguments": "{}"}} for name in names]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(text: str, name: str) -> Json:
    return {"role": "tool", "tool_call_id": "a", "content": text, "name": name}


def thought(**more: object) -> Json:
    return {"type": "reasoning", "summary": [], **more}


def said(*parts: Json) -> list[Json]:
    return [SPOKEN, {"role": "model", "parts": list(parts)}, SPOKEN]


SHAPES: Mapping[str, tuple[str, Callable[[int], list[Json]]]] = {
    "reasoning alone": ("openai-responses", lambda n: [ASKED, *(thought(id=f"rs_{at}") for at in range(n))]),
    "reasoning without ids": ("openai-responses", lambda n: [ASKED, *(thought() for _ in range(n))]),
    "reasoning with bad ids": ("openai-responses", lambda n: [ASKED, *(thought(id="a b") for _ in range(n)), ASKED]),
    "stand-ins at the end": (
        "openai-chat",
        lambda n: [USER, *(called("f") for _ in range(n)), *(result(INTERRUPTED, "f") for _ in range(n))],
    ),
    "results named otherwise": (
        "openai-chat",
        lambda n: [USER, *(called("f") for _ in range(n)), *(result(str(at), "g") for at in range(n))],
    ),
    "early results": (
        "openai-chat",
        lambda n: [USER, *(result(str(at), "g") for at in range(n)), *(called("f") for _ in range(n))],
    ),
    "names in reverse": (
        "openai-chat",
        lambda n: [USER, called(*(f"f{at}" for at in range(n))), *(result("x", f"f{at}") for at in reversed(range(n)))],
    ),
    "signatures of one message": (
        "gemini",
        lambda n: said(*({"text": f"{at}", "thought": True, "thoughtSignature": "!"} for at in range(n))),
    ),
    "blank texts of one message": (
        "anthropic",
        lambda n: [{"role": "user", "content": [{"type": "text", "text": " "} for _ in range(n)]}],
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_healing_is_linear(shape: str) -> None:
    """Eight times the history takes about eight times as long."""
    format, make = SHAPES[shape]
    assert grows(lambda n: heal(make(n), format), 250) < TIMES * 3
