"""The contract of wire formats, for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from suture.testing import FormatContract

Json = dict[str, Any]

CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"n": 1}'}}
TOOL = {
    "type": "function",
    "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}},
}
USE = {"type": "tool_use", "id": "t1", "name": "f", "input": {"n": 1}}


class TestOpenAIChat(FormatContract):
    """Chat Completions."""

    name = "openai-chat"
    valid: ClassVar[Mapping[str, Json]] = {
        "a call and its result": {
            "model": "gpt-5",
            "messages": [
                {"role": "system", "content": "be kind"},
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": None, "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "call_1", "content": "r"},
                {"role": "assistant", "content": "done"},
            ],
            "tools": [TOOL],
        },
    }
    broken: ClassVar[Mapping[str, Json]] = {
        "CALL_UNANSWERED": {
            "messages": [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": None, "tool_calls": [CALL]},
                {"role": "user", "content": "and?"},
            ]
        },
    }


class TestAnthropic(FormatContract):
    """Messages."""

    name = "anthropic"
    valid: ClassVar[Mapping[str, Json]] = {
        "a call and its result": {
            "model": "claude-sonnet-4-5",
            "system": "be kind",
            "messages": [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": [{"type": "text", "text": "look"}, USE]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "r"}]},
            ],
            "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {}}}],
        },
    }
    broken: ClassVar[Mapping[str, Json]] = {
        "CALL_UNANSWERED": {
            "messages": [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": [USE]},
                {"role": "user", "content": "x"},
            ]
        },
    }
