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
CALL2 = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"n": 2}'}}
CUSTOM = {"id": "call_2", "type": "custom", "custom": {"name": "g", "input": "x = 1"}}
OTHER = {"type": "function", "function": {"name": "g", "parameters": {"type": "object", "properties": {}}}}
PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
U = {"role": "user", "content": "and?"}
USE = {"type": "tool_use", "id": "t1", "name": "f", "input": {"n": 1}}


def said_and(question: str, *messages: Json) -> Json:
    return {"messages": [{"role": "user", "content": question}, *messages]}


def calls(*items: Json, content: object = None, **more: object) -> Json:
    return {"role": "assistant", "content": content, "tool_calls": list(items), **more}


def result(id: str = "call_1", content: object = "r") -> Json:
    return {"role": "tool", "tool_call_id": id, "content": content}


def with_arguments(arguments: object) -> Json:
    return {**CALL, "function": {"name": "f", "arguments": arguments}}


def described(description: str, parameters: Json | None = None) -> Json:
    function = {"name": "f", "description": description, "parameters": parameters or {"type": "object"}}
    return {"type": "function", "function": function}


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
        "words beside calls, a custom tool, an id used again": {
            "messages": [
                {"role": "developer", "content": "be kind", "name": "host"},
                {"role": "user", "content": "q", "name": "ada"},
                {"role": "assistant", "content": "look", "refusal": None, "tool_calls": [CALL, CUSTOM]},
                {"role": "tool", "tool_call_id": "call_2", "content": "r2"},
                {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "r1"}], "name": "f"},
                {"role": "assistant", "content": "", "tool_calls": [{**CALL, "index": 0}]},
                {"role": "tool", "tool_call_id": "call_1", "content": ""},
            ],
        },
        "parts of every kind": {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "see", "cache_control": {"type": "ephemeral"}},
                        {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
                        {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
                        {"type": "file", "file": {"file_id": "f1"}},
                        {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA", "filename": "a.pdf"}},
                        {"type": "hologram", "hologram": {"id": "h1"}},
                    ],
                },
                {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}, {"type": "text", "text": "but"}]},
                {"role": "assistant", "content": None, "audio": {"id": "a1"}},
            ],
        },
        "reasoning in the fields of the copies": {
            "messages": [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": "a", "reasoning_content": "hm"},
                {
                    "role": "assistant",
                    "content": "a",
                    "reasoning": "hm",
                    "reasoning_details": [{"type": "reasoning.text", "text": "hm"}],
                },
            ],
        },
        "a function of old, and a role that is not known": {
            "messages": [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
                {"role": "function", "name": "f", "content": "r"},
                {"role": "narrator", "content": "later"},
            ],
        },
    }
    broken: ClassVar[Mapping[str, Json]] = {
        "CALL_UNANSWERED": said_and("q", calls(CALL), U),
        "CALL_UNANSWERED:qwen": said_and("q", calls(CALL), U),
        "CALL_UNANSWERED:cohere": said_and("q", calls(CALL), U),
        "RESULT_ORPHAN": said_and("q", result("gone")),
        "RESULT_ORPHAN:minimax": said_and("q", result("gone")),
        "RESULT_ORPHAN:kimi": said_and("q", result("gone")),
        "RESULT_DISPLACED": said_and("q", calls(CALL), U, result()),
        "RESULT_DUPLICATE": said_and("q", calls(CALL), result(), result(content="again")),
        "ID_DUPLICATE": said_and("q", calls(CALL, CALL2), result(), result()),
        "ID_DUPLICATE:glm": said_and("q", calls(CALL, CALL2), result(), result()),
        "ID_REUSED:openrouter": said_and("q", calls(CALL), result(), calls(CALL), result()),
        "ID_MISSING": said_and("q", calls({**CALL, "id": ""}), result("")),
        "ID_LENGTH": said_and("q", calls({**CALL, "id": "i" * 41}), result("i" * 41)),
        "ID_CHARS:openrouter": said_and("q", calls({**CALL, "id": "f:0"}), result("f:0")),
        "CONTENT_NULL": said_and("q", calls(CALL), result(content=None)),
        "CONTENT_NULL:ollama": said_and("q", calls(CALL), result()),
        "CONTENT_NULL:lmstudio": said_and("q", {"role": "assistant", "tool_calls": [CALL]}, result()),
        "TEXT_EMPTY": {"messages": [{"role": "user", "content": []}]},
        "TEXT_EMPTY:nim": said_and("q", calls(CALL, content=""), result()),
        "TEXT_EMPTY:xai": {"messages": [{"role": "user", "content": ""}]},
        "TEXT_EMPTY:cohere": {"messages": [{"role": "system", "content": ""}, U]},
        "MESSAGE_EMPTY": said_and("q", {"role": "assistant", "content": ""}, U),
        "MESSAGE_EMPTY:glm": said_and("q", {"role": "assistant", "content": ""}, U),
        "MESSAGE_EMPTY:cohere": said_and("q", {"role": "assistant", "content": ""}, U),
        "CONTENT_SHAPE:groq": {"messages": [{"role": "user", "content": [{"type": "text", "text": "q"}]}]},
        "CONTENT_SHAPE:ollama-native": {"messages": [{"role": "user", "content": [{"type": "text", "text": "q"}]}]},
        "FIELD_UNKNOWN": said_and("q", {"role": "assistant", "content": "a", "tool_calls": []}),
        "FIELD_UNKNOWN:groq": said_and("q", {"role": "assistant", "content": "a", "reasoning": "hm", "refusal": None}),
        "FIELD_UNKNOWN:groq calls of the user": {"messages": [{"role": "user", "content": "q", "tool_calls": [CALL]}]},
        "CALL_LEGACY:vllm": said_and(
            "q",
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "r"},
        ),
        "ARGS_TYPE": said_and("q", calls(with_arguments({"n": 1})), result()),
        "ARGS_TYPE:ollama-native": said_and("q", calls(CALL), result()),
        "ARGS_UNPARSABLE": said_and("q", calls(with_arguments('{"n": ')), result()),
        "ARGS_UNPARSABLE:vllm": said_and("q", calls(with_arguments('{"n": ')), result()),
        "ARGS_UNPARSABLE:llamacpp": said_and("q", calls(with_arguments('{"n": ')), result()),
        "ARGS_UNPARSABLE:ollama-native": said_and("q", calls(with_arguments('{"n": ')), result()),
        "ARGS_NOT_OBJECT": said_and("q", calls(with_arguments("[1]")), result()),
        "NAME_PATTERN": said_and("q", calls({**CALL, "function": {"name": "a.b", "arguments": "{}"}}), result()),
        "IMAGE_ROLE": said_and("q", calls(CALL), result(content=[PICTURE]), {"role": "assistant", "content": "a"}),
        "SYSTEM_MISPLACED:deepseek": {"messages": [{"role": "developer", "content": "d"}, U]},
        "SYSTEM_MISPLACED:minimax": said_and("q", {"role": "system", "content": "s"}),
        "REASONING_FIELD_MISSING:deepseek": said_and("q", calls(CALL), result()),
        "REASONING_FIELD_MISSING:kimi": said_and("q", calls(CALL, reasoning_content=""), result()),
        "NO_USER:glm": {"messages": [{"role": "system", "content": "s"}]},
        "ROLE_REPEAT:strict-template": said_and("q", U),
        "ROLE_REPEAT:perplexity": said_and("q", U),
        "ROLE_REPEAT:vllm:google/gemma-3-27b-it": said_and("q", U),
        "FIRST_NOT_USER:strict-template": {"messages": [{"role": "assistant", "content": "a"}, U]},
        "USER_AFTER_TOOL:strict-template": said_and("q", calls(CALL), result(), U),
        "LAST_ASSISTANT:strict-template": said_and("q", {"role": "assistant", "content": "a"}),
        "NAME_UNDECLARED:groq": {**said_and("q", calls(CALL), result()), "tools": [OTHER], "model": "m"},
        "TOOLS_MISSING:groq": {**said_and("q", calls(CALL), result()), "model": "m"},
        "FIELD_MISSING:minimax": {"messages": [U], "tools": [{"type": "function", "function": {"name": "f"}}]},
        "SCHEMA_UNSUPPORTED": {"messages": [U], "tools": [described("d" * 1025)]},
        "SCHEMA_UNSUPPORTED:ollama": {"messages": [U], "tools": [described("d", {"type": "object", "properties": []})]},
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
