"""A history that moves to another provider: what it loses there is told, and nothing is told that is not so."""

from __future__ import annotations

from typing import Any

import pytest

from suture.healing import Healed, convert, fit
from suture.messages import Assistant, Message, Opaque, Text, ToolCall, ToolResult, User

Json = dict[str, Any]

MARK = {"type": "ephemeral"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "moon"}}


def found(*results: Json) -> Json:
    return {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": list(results)}


def page(title: str, url: str) -> Json:
    return {"type": "web_search_result", "title": title, "url": url, "encrypted_content": "secret"}


def anthropic(*blocks: Json, **more: Any) -> Json:
    turn = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": list(blocks)},
        {"role": "user", "content": "and?"},
    ]
    return {"messages": turn, **more}


def told(out: Healed, rule: str) -> list[tuple[str, str]]:
    return [(change.path, change.detail) for change in out.changes if rule in change.rules]


def messages(out: Healed) -> list[Json]:
    assert isinstance(out.history, dict)
    given: list[Json] = out.history["messages"]
    return given


@pytest.mark.parametrize(
    ("call", "result", "words"),
    [
        (SEARCH, found(page("The moon", "https://m")), "[Used the tool web_search (moon): The moon (https://m)]"),
        (SEARCH, found(*[page(str(n), f"u{n}") for n in range(7)]), "[Used the tool web_search (moon): 0 (u0); 1 (u1); 2 (u2); 3 (u3); 4 (u4); and 2 more]"),
        (SEARCH, {**found(), "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}}, "[Used the tool web_search (moon): failed with max_uses_exceeded]"),
        ({**SEARCH, "input": {"query": "x" * 500}}, found(), "[Used the tool web_search.]"),
        (
            {**SEARCH, "name": "code_execution", "input": {"code": "1+1"}},
            {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {"type": "code_execution_result", "stdout": "2", "stderr": ""}},
            '[Used the tool code_execution ({"code": "1+1"}): 2]',
        ),
        (
            {"type": "mcp_tool_use", "id": "srvtoolu_1", "name": "f", "server_name": "s", "input": {}},
            {"type": "mcp_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "text", "text": "r"}]},
            "[Used the tool f of s: r]",
        ),
        ({**SEARCH, "name": 7, "input": [1]}, {**found(), "content": [7, {"url": 7}]}, "[Used the tool 7.]"),
    ],
)  # fmt: skip
def test_what_a_providers_own_tool_did_becomes_words(call: Json, result: Json, words: str) -> None:
    """Its name, a short question, titles and addresses; what is encrypted, and ids, stay behind, and all is in the report."""
    out = convert(
        anthropic({"type": "text", "text": "a"}, call, result, {"type": "text", "text": "b"}), "anthropic", "openai-chat"
    )
    assert messages(out)[1] == {"role": "assistant", "content": f"a\n{words}\nb"}
    assert [change.lost for change in out.changes if "X-SERVER-TOOL" in change.rules] == ["none", "result"]


def test_half_a_pair_is_left_out() -> None:
    """There is nothing to say of a call that brought nothing."""
    out = convert(anthropic({"type": "text", "text": "a"}, SEARCH), "anthropic", "openai-chat")
    assert messages(out)[1]["content"] == "a"
    assert [change.lost for change in out.changes] == ["text"]


def test_fitting_does_the_same() -> None:
    """Neutral messages that hold such a pair are a request with the words."""
    parts = (Opaque("anthropic", SEARCH), Opaque("anthropic", found(page("The moon", "https://m"))))
    out = fit([User.of("q"), Assistant(parts), User.of("q")], "openai-chat")
    assert messages(out)[1]["content"] == "[Used the tool web_search (moon): The moon (https://m)]"
    out = fit([User.of("q"), Assistant(parts), User.of("q")], "anthropic")
    assert [block["type"] for block in messages(out)[1]["content"]] == ["server_tool_use", "web_search_tool_result"]


def test_marks_and_fields_are_told() -> None:
    """Where they were, and what they held; what only says in which shape something came is no loss."""
    history = {
        "system": [{"type": "text", "text": "s", "cache_control": MARK}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "q", "cache_control": MARK}], "x": 1},
            {"role": "assistant", "content": [{"type": "text", "text": "a", "citations": None}, {"type": "tool_use", "id": "t", "name": "f", "input": {}, "caller": {"type": "direct"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "r"}], "is_error": False}]},
        ],
        "tools": [
            {"name": "f", "description": "d", "input_schema": {"type": "object"}, "defer_loading": True, "cache_control": MARK},
            {"type": "web_search_20250305", "name": "web_search"},
        ],
        "model": "m",
    }  # fmt: skip
    out = convert(history, "anthropic", "openai-chat")
    mark = '{"cache_control": {"type": "ephemeral"}}'
    assert told(out, "X-CACHE") == [("system", mark), ("messages[0].content[0]", mark), ("tools[0]", mark)]
    assert told(out, "X-UNKNOWN-KEY") == [
        ("messages[0]", '{"x": 1}'),
        ("messages[1].content[1]", '{"caller": {"type": "direct"}}'),
        ("tools[0]", '{"defer_loading": true}'),
    ]
    assert out.hints == ["not carried over: model, tools[1] (web_search)"]


def test_between_requests_of_one_format_nothing_is_lost() -> None:
    """What the provider sent beside the words goes back to it."""
    history = anthropic(
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "a", "citations": [1], "cache_control": MARK}
    )  # fmt: skip
    out = convert(history, "anthropic", "anthropic:claude-opus-4-6")
    assert messages(out)[1] == history["messages"][1]
    assert out.changes == []


def test_a_failed_call_says_so_once() -> None:
    """Words stay word for word and the mark is told; without words some go in. A request of our own tells it once a call."""
    call = ToolCall("a", "f", {})
    for words, sent in (("no such key", "no such key"), ("", "The tool failed and said nothing.")):
        content = [{"type": "tool_result", "tool_use_id": "a", "content": words, "is_error": True}]
        history = [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
            {"role": "user", "content": content},
        ]
        out = convert(history, "anthropic", "openai-chat")
        assert messages(out)[2]["content"] == sent
        assert [change.call_id for change in out.changes if "X-ERR-FLAG" in change.rules] == ["a"]
        result: list[Message] = [User.of("q"), Assistant((call,)), ToolResult.of("a", words, error=True)]
        fitted = fit(result, "openai-chat")
        assert messages(fitted)[2]["content"] == sent
        assert len(fitted.changes) == (not words)


def test_results_stand_in_the_order_of_their_calls() -> None:
    """Also where they came in another order and nobody minded."""
    calls = (ToolCall("a", "f", {}), ToolCall("b", "f", {}))
    given: list[Message] = [User.of("q"), Assistant((Text("x"), *calls)), ToolResult.of("b", "2"), ToolResult.of("a", "1")]
    for format in ("openai-chat", "anthropic"):
        out = fit(given, format)
        assert [change.code for change in out.changes] == ["RESULT_ORDER"]
        assert str(messages(out)).index("'1'") < str(messages(out)).index("'2'")
        assert fit(given[:2] + given[:1:-1], format).changes == []


def test_a_refusal_goes_over_as_words() -> None:
    """What the model said when it refused is what it said."""
    refused = {"role": "assistant", "content": [{"type": "refusal", "refusal": "I will not."}]}
    history = [{"role": "user", "content": "q"}, refused, {"role": "user", "content": "why?"}]
    out = convert(history, "openai-chat", "anthropic")
    assert messages(out)[1]["content"] == [{"type": "text", "text": "I will not."}]
    assert [change.lost for change in out.changes] == ["none"]
