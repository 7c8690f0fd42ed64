"""The contract of wire formats, for each of them."""

from __future__ import annotations

import base64
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


def png(width: int, height: int) -> str:
    """The header of a picture of that size, as base64."""
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\0\0\0"
    return base64.b64encode(head).decode()


def large(megabytes: int) -> str:
    """A small picture with more base64 behind it than so many megabytes."""
    return png(4, 4)[:-1] + "A" * (megabytes * 1024 * 1024)


def picture(data: str, media_type: str = "image/png") -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def said(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def words(text: str = "q", **more: object) -> Json:
    return {"type": "text", "text": text, **more}


def answer(id: str = "t1", content: object = "r", **more: object) -> Json:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


Q = user(words())
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
MARK = {"type": "ephemeral"}
LOOK = {"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {}}}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
CODE = {"type": "server_tool_use", "id": "srvtoolu_2", "name": "code_execution", "input": {"code": "await f()"}}
RAN = {
    "type": "code_execution_tool_result",
    "tool_use_id": "srvtoolu_2",
    "content": {"type": "code_execution_result", "stdout": "1", "stderr": "", "return_code": 0, "content": []},
}
BY_CODE = {"type": "code_execution_20250825", "tool_id": "srvtoolu_2"}
FIND = {"type": "server_tool_use", "id": "srvtoolu_3", "name": "tool_search_tool_regex", "input": {"pattern": "f"}}
FINDS = {
    "type": "tool_search_tool_result",
    "tool_use_id": "srvtoolu_3",
    "content": {
        "type": "tool_search_tool_search_result",
        "tool_references": [{"type": "tool_reference", "tool_name": "f"}],
    },
}
MCP = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "f", "server_name": "s", "input": {}}
MCP_RESULT = {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": [words("r")]}


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
        "a turn that thinks": {
            "messages": [
                Q,
                said(THOUGHT, {"type": "redacted_thinking", "data": "ZGF0YQ=="}, words("look"), USE),
                user(answer(), words("and?")),
                said(words("done")),
            ],
            "thinking": {"type": "enabled", "budget_tokens": 2000},
            "tools": [LOOK],
        },
        "pictures and documents": {
            "messages": [
                user(
                    words(),
                    picture(png(8000, 2)),
                    picture("R0lGODlhAQABAAAAACw=", "image/gif"),
                    {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
                    {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
                    {"type": "document", "source": {"type": "file", "file_id": "file_2"}, "title": "t", "citations": {"enabled": True}},
                    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}},
                    {"type": "search_result", "source": "x", "title": "y", "content": [words("z")]},
                    {"type": "container_upload", "file_id": "file_3"},
                ),
                said(USE),
                user(answer(content=[words("see"), picture(png(4, 4))], is_error=False, cache_control=MARK)),
            ],
        },
        "marks in their places": {
            "system": [words("s", cache_control=MARK)],
            "messages": [user(words(cache_control=MARK)), said({**USE, "cache_control": MARK}), user(answer())],
            "tools": [{**LOOK, "cache_control": MARK}],
        },
        "a search of Anthropic's": {"messages": [Q, said(SEARCH, FOUND, words("b", citations=[]), USE), user(answer())]},
        "a paused turn": {"messages": [Q, said(words("a"), SEARCH)]},
        "code that calls a tool": {
            "messages": [Q, said(CODE, {**USE, "caller": BY_CODE}), user(answer()), said(RAN, words("1"))],
        },
        "code that calls a tool twice": {
            "messages": [
                Q,
                said(CODE, {**USE, "caller": BY_CODE}),
                user(answer()),
                said({**USE, "id": "t2", "caller": BY_CODE}),
                user(answer("t2")),
            ],
        },
        "a found tool": {"messages": [Q, said(FIND, FINDS, USE), user(answer())], "tools": [{"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}, {**LOOK, "defer_loading": True}]},
        "a server of tools": {"messages": [Q, said(MCP, MCP_RESULT, words("b")), Q], "mcp_servers": [{"type": "url", "name": "s", "url": "https://example.com"}]},
        "no result to speak of": {"messages": [Q, said(USE, {**USE, "id": "t2"}), user({"type": "tool_result", "tool_use_id": "t1"}, answer("t2", []))]},
        "what nobody knows": {"messages": [{**Q, "id": "m1"}, said(words("a"), {"type": "hologram", "x": 1})]},
        "many small pictures": {"messages": [user(*[picture(png(2000, 1 + n)) for n in range(30)])]},
    }  # fmt: skip
    broken: ClassVar[dict[str, Json]] = {
        "CALL_UNANSWERED": {
            "messages": [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": [USE]},
                {"role": "user", "content": "x"},
            ]
        },
        "CALL_UNANSWERED made by code": {"messages": [Q, said(CODE, {**USE, "caller": BY_CODE}), Q]},
        "RESULT_ORPHAN": {"messages": [user(answer("gone"), words()), said(words("a"))]},
        "RESULT_DUPLICATE": {"messages": [Q, said(USE), user(answer(), answer(content="s"))]},
        "RESULT_DISPLACED": {"messages": [Q, said(USE), Q, said(words("a")), user(answer())]},
        "RESULT_SPLIT": {"messages": [Q, said(USE, {**USE, "id": "t2"}), user(answer()), user(answer("t2"))]},
        "RESULT_NOT_FIRST": {"messages": [Q, said(USE), user(words(), answer())]},
        "RESULT_NOT_PURE": {"messages": [Q, said(USE, answer()), Q]},
        "RESULT_EMPTY_ERROR": {"messages": [Q, said(USE), user(answer(content="", is_error=True))]},
        "CALL_NOT_TAIL": {"messages": [Q, said(USE, words("b")), user(answer())]},
        "CALL_NOT_TAIL before a search": {"messages": [Q, said(USE, SEARCH, FOUND), user(answer())]},
        "ID_DUPLICATE": {"messages": [Q, said(USE, {**USE, "input": {}}), user(answer(), answer(content="s"))]},
        "ID_REUSED": {"messages": [Q, said(USE), user(answer()), said(USE), user(answer(content="s"))]},
        "ID_MISSING": {"messages": [Q, said({**USE, "id": ""}), user(answer(""))]},
        "ID_CHARS": {"messages": [Q, said({**USE, "id": "a.b"}), user(answer("a.b"))]},
        "ID_CHARS of a search": {"messages": [Q, said({**SEARCH, "id": "call_1"}, {**FOUND, "tool_use_id": "call_1"}, words("b")), Q]},
        "ID_CHARS of a search between thoughts": {
            "messages": [Q, said(THOUGHT, {**SEARCH, "id": "call_1"}, {**FOUND, "tool_use_id": "call_1"}, {**THOUGHT, "signature": "c2lo"}, USE), user(answer())]
        },
        "ID_CHARS of half a search": {"messages": [Q, said(words("a"), {**SEARCH, "id": "call_1"})]},
        "NAME_PATTERN": {"messages": [Q, said({**USE, "name": "a b"}), user(answer())], "tools": [{**LOOK, "name": "a b"}]},
        "ARGS_TYPE": {"messages": [Q, said({**USE, "input": '{"n": 1}'}), user(answer())]},
        "ARGS_NOT_OBJECT": {"messages": [Q, said({**USE, "input": [1]}), user(answer())]},
        "SERVER_CALL_UNPAIRED": {"messages": [Q, said(words("a"), SEARCH), Q]},
        "SERVER_CALL_UNPAIRED between thoughts": {"messages": [Q, said(THOUGHT, SEARCH, {**THOUGHT, "signature": "c2lo"}, words("a")), Q]},
        "SERVER_CALL_UNPAIRED of a server": {"messages": [Q, said(MCP), Q]},
        "SERVER_RESULT_ORPHAN": {"messages": [Q, said(FOUND, words("a")), Q]},
        "SERVER_RESULT_ORPHAN of a server": {"messages": [Q, said(MCP_RESULT, words("a")), Q]},
        "CALLER_DANGLING": {"messages": [Q, said({**USE, "caller": BY_CODE}), user(answer())]},
        "CALLER_DANGLING before its code": {"messages": [Q, said({**USE, "caller": BY_CODE}), user(answer()), said(CODE, RAN), Q]},
        "TOOL_REFERENCE": {"messages": [Q, said(FIND, FINDS, words("a")), Q], "tools": [], "model": "m"},
        "TOOL_REFERENCE of a result": {
            "messages": [Q, said(USE), user(answer(content=[{"type": "tool_reference", "tool_name": "g"}]))], "tools": [LOOK]
        },
        "TOOLS_MISSING:relay": {"messages": [Q, said(USE), user(answer())], "model": "m"},
        "BLOCK_UNKNOWN": {"messages": [Q, said({"type": "output_text", "text": "a"}, USE), user(answer())]},
        "CALL_MISPLACED": {"messages": [user(words(), USE), said(words("a"))]},
        "TEXT_EMPTY": {"messages": [Q, said(words(""), USE), user(answer())]},
        "TEXT_EMPTY with a mark": {"messages": [user(words(), words("", cache_control=MARK))]},
        "TEXT_BLANK": {"messages": [Q, said(words(" "), USE), user(answer(content=[words("\n")]))]},
        "MESSAGE_EMPTY": {"messages": [Q, said(), Q]},
        "FIRST_NOT_USER": {"messages": [said(words("a")), Q]},
        "SYSTEM_MISPLACED": {"messages": [{"role": "system", "content": "s"}, Q]},
        "ROLE_REPEAT:relay": {"messages": [Q, Q, said(words("a")), said(words("b")), Q]},
        "ROLE_REPEAT:relay thinking": {"messages": [Q, said(THOUGHT, words("a")), said(THOUGHT, words("b")), Q]},
        "ROLE_REPEAT:relay results": {"messages": [Q, said(USE), user(answer()), user(words()), said(words("b"))], "tools": [LOOK]},
        "ROLE_REPEAT:relay calls": {"messages": [Q, said(THOUGHT, USE), said({**USE, "id": "t2"}), user(answer(), answer("t2"))], "tools": [LOOK]},
        "ROLE_REPEAT:bedrock texts": {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b", "x": 1}]},
        "LAST_ASSISTANT:claude-opus-4-6": {"messages": [Q, said(words("a"))]},
        "TRAILING_WHITESPACE": {"messages": [Q, said(words("a "))]},
        "SURROGATE_LONE": {"messages": [user(words("\ud83d"))]},
        "THINKING_UNSIGNED": {"messages": [Q, said({"type": "thinking", "thinking": "hm"}, words("a")), Q]},
        "THINKING_FOREIGN": {"messages": [Q, said({**THOUGHT, "signature": "reasoning_content"}, USE), user(answer())]},
        "THINKING_MODIFIED": {"messages": [Q, said(THOUGHT, THOUGHT, USE), user(answer())]},
        "THINKING_MODIFIED torn": {"messages": [Q, said(THOUGHT, {**THOUGHT, "signature": "c2lo"}, USE), user(answer())]},
        "THINKING_NOT_FIRST": {"messages": [Q, said(USE), user(answer())], "thinking": {"type": "enabled"}},
        "THINKING_DISABLED_FINAL": {"messages": [Q, said(THOUGHT, words("a"))], "thinking": {"type": "disabled"}},
        "THINKING_DISABLED_FINAL alone": {"messages": [Q, said(THOUGHT)], "model": "m"},
        "RESULT_ORPHAN behind a final thought": {"messages": [Q, said(THOUGHT, words("a")), user(answer("gone"))], "model": "m"},
        "CACHE_MARKS": {"messages": [user(*[words(str(n), cache_control=MARK) for n in range(5)])]},
        "CACHE_MARKS on thinking": {"messages": [Q, said({**THOUGHT, "cache_control": MARK}, USE), user(answer())]},
        "IMAGE_EMPTY": {"messages": [user(words(), picture(" "))]},
        "IMAGE_EMPTY without a type": {"messages": [user(words(), {"type": "image", "source": {"type": "base64"}})]},
        "IMAGE_UNSUPPORTED": {"messages": [user(words(), picture("not base64!"))]},
        "IMAGE_UNSUPPORTED by name": {"messages": [Q, said(USE), user(answer(content=[picture(png(4, 4), "image/jpeg")]))]},
        "IMAGE_UNSUPPORTED in an address": {"messages": [user(picture("data:image/png;base64," + png(4, 4)))]},
        "IMAGE_UNSUPPORTED kind": {"messages": [user(words(), picture("Qk0=", "image/bmp"))]},
        "IMAGE_DIMENSION": {"messages": [Q, said(USE), user(answer(content=[picture(png(10, 8001))]))]},
        "IMAGE_DIMENSION of many": {"messages": [user(*[picture(png(2001, 1 + n)) for n in range(21)])]},
        "IMAGE_DIMENSION of many under a wrong name": {"messages": [user(*[picture(png(2001, 1 + n), "image/webp") for n in range(21)])]},
        # Too large to stand in a file of vectors.
        "IMAGE_BYTES": {"messages": [user(words(), picture(large(10)))]},
        "IMAGE_BYTES:relay": {"messages": [user(words(), picture(large(5)))]},
    }  # fmt: skip
