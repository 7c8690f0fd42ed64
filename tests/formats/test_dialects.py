"""Who copied Chat Completions: what each takes, alone and together, and what healing makes of a history for it."""

from __future__ import annotations

import copy
import json
from collections import Counter
from typing import Any

import jinja2
import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from suture.errors import UnknownFormat
from suture.formats import format_of, target_of
from suture.formats.limits import Limits
from suture.formats.openai_chat.dialects import COPIES, DIALECTS, OPENAI, SERVED, limits_of
from suture.formats.openai_chat.rules import RULE_OF, RULES
from suture.healing import convert, diagnose, fit, heal, load_messages
from suture.healing.healing import healed
from suture.healing.work import Options
from suture.messages import Assistant, Message, Reasoning, Text, ToolCall, ToolResult, User
from suture.repair import stand_in_text
from tests.formats.histories import History
from tests.formats.histories_dialects import histories_dialects
from tests.judges import structural_problems

Json = dict[str, Any]

U: Json = {"role": "user", "content": "q"}
A: Json = {"role": "assistant", "content": "a"}
S: Json = {"role": "system", "content": "s"}
STAND_IN = stand_in_text("unknown")
NOTED: Json = {"role": "assistant", "content": "(noted)"}
GO_ON: Json = {"role": "user", "content": "Continue."}
CONTINUED: Json = {"role": "user", "content": "(conversation continues)"}
PICTURE: Json = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
THERE: Json = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}


def call(id: str = "c1", arguments: object = "{}", name: str = "f") -> Json:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*items: Json, content: object = None, **more: object) -> Json:
    return {"role": "assistant", "content": content, "tool_calls": list(items), **more}


def result(id: str = "c1", content: object = "r", **more: object) -> Json:
    return {"role": "tool", "tool_call_id": id, "content": content, **more}


def text(*texts: str, **more: object) -> list[Json]:
    return [{"type": "text", "text": each, **more} for each in texts]


def unnamed(name: str) -> Json:
    return {"function": {"name": name, "arguments": {}}}


LEGACY: Json = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
ANSWER: Json = {"role": "function", "name": "f", "content": "1"}
CALL1, RESULT1 = call("call_f_1"), {"role": "tool", "content": "1", "tool_call_id": "call_f_1"}


@pytest.mark.parametrize(
    ("dialect", "history", "expected", "rules"),
    [
        ("deepseek", [U, calls(call()), result()], [U, calls(call(), reasoning_content=""), result()], ["DS-REASONING"]),
        ("deepseek:deepseek-reasoner", [U, calls(call()), result()], [U, calls(call(), reasoning_content=""), result()], ["DS-REASONING"]),
        ("deepseek", [U, calls(call()), result(), {**A, "reasoning_content": "hm"}], [U, calls(call(), reasoning_content=""), result(), {**A, "reasoning_content": "hm"}], ["DS-REASONING"]),
        ("deepseek", [U, calls(call(), reasoning="hm"), result()], [U, calls(call(), reasoning_content="hm"), result()], ["DS-REASONING"]),
        ("kimi", [U, calls(call()), result()], [U, calls(call(), reasoning_content="."), result()], ["KIMI-REASONING"]),
        ("kimi:kimi-k2-thinking", [U, calls(call()), result()], [U, calls(call(), reasoning_content="."), result()], ["KIMI-REASONING"]),
        ("kimi:kimi-k2.5", [U, calls(call(), reasoning_content=""), result()], [U, calls(call(), reasoning_content="."), result()], ["KIMI-REASONING"]),
        ("moonshot", [U, result("functions.f:0")], [U], ["KIMI-ID", "OAI-ORPHAN-TOOL"]),
        ("qwen", [U, calls(call())], [U, calls(call()), result(content=STAND_IN)], ["QWEN-PAIR", "OAI-CALL-UNANSWERED"]),
        ("qwen", [U, calls(call()), U, result()], [U, calls(call()), result(), U], ["QWEN-PAIR", "OAI-INTERLEAVED", "OAI-CALL-UNANSWERED"]),
        ("glm", [S, A], [S, CONTINUED, A], ["GLM-1214"]),
        ("glm", [U, calls(call(arguments='{"i":1}'), call(arguments='{"i":2}')), result(), result(content="2")],
         [U, calls(call(arguments='{"i":1}'), call("c1_2", '{"i":2}')), result(), result("c1_2", "2")], ["GLM-1214", "OAI-DUP-CALL-ID"]),
        ("glm", [U, {"role": "assistant", "content": ""}, U], [U, U], ["GLM-1214", "OAI-EMPTY-MSG"]),
        ("minimax", [U, result("gone")], [U], ["MM-TOOLID", "OAI-ORPHAN-TOOL"]),
        ("minimax", [S, U, S, A], [S, U, {"role": "user", "content": "[System message]\n\ns"}, A], ["OAI-DEV-ROLE"]),
        ("groq", [U, {**A, "reasoning": "hm"}], [U, A], ["GRQ-UNKNOWN-PROP"]),
        ("groq", [U, {**A, "reasoning_content": "hm", "annotations": [], "refusal": None}], [U, A], ["GRQ-UNKNOWN-PROP"]),
        ("groq", [{**U, "tool_calls": [call()]}], [U, calls(call()), result(content=STAND_IN)], ["GRQ-UNKNOWN-PROP", "OAI-CALL-ROLE"]),
        ("groq", [{**U, "content": text("q")}, {**A, "content": text("a", "b")}], [U, {**A, "content": "ab"}], ["OAI-NULL-DIALECT"]),
        ("groq", [{**U, "content": text("q", cache_control={"type": "ephemeral"})}], [U], ["OAI-NULL-DIALECT"]),
        ("ollama", [U, calls(call()), result()], [U, calls(call(), content=""), result()], ["OAI-NULL-DIALECT"]),
        ("lmstudio", [U, {"role": "assistant", "tool_calls": [call()]}, result()], [U, calls(call(), content=""), result()], ["OAI-NULL-DIALECT"]),
        ("nim", [U, calls(call(), content=""), result()], [U, calls(call()), result()], ["OAI-NULL-DIALECT"]),
        ("vllm", [U, calls(call(arguments='{"a')), result()], [U, calls(call(arguments='{"_raw":"{\\"a"}')), result()], ["VLLM-ARGS-JSON", "OAI-ARGS-STRING"]),
        ("llamacpp", [U, calls(call(arguments='{"a')), result()], [U, calls(call(arguments='{"_raw":"{\\"a"}')), result()], ["LCPP-ARGS-JSON", "OAI-ARGS-STRING"]),
        ("xai", [{**U, "content": []}], [{**U, "content": "(no content)"}], ["XAI-CONTENT", "OAI-CONTENT-EMPTY"]),
        ("openrouter", [U, calls(call("f:0")), result("f:0")], [U, calls(call("f_0_05ed570f")), result("f_0_05ed570f")], ["ORT-ID"]),
        ("openrouter", [U, calls(call()), result(), calls(call()), result()], [U, calls(call()), result(), calls(call("c1_2")), result("c1_2")], ["ORT-ID"]),
        ("cohere", [U, calls(call()), U], [U, calls(call()), result(content=STAND_IN), U], ["COH-CALL", "OAI-CALL-UNANSWERED"]),
        ("cohere", [U, {**A, "content": ""}, U], [U, {**A, "content": "(no content)"}, U], ["COH-EMPTY", "OAI-EMPTY-MSG"]),
        ("strict-template", [S, U, U], [S, {**U, "content": "q\n\nq"}], ["TMPL-ALTERNATE"]),
        ("strict-template", [S, S, A, U], [{**S, "content": "s\n\ns"}, CONTINUED, A, U], ["TMPL-ALTERNATE"]),
        ("strict-template", [U, calls(call()), result(), U], [U, calls(call()), result(), NOTED, U], ["TMPL-ALTERNATE"]),
        ("strict-template", [U, A, A], [U, {**A, "content": "a\n\na"}, GO_ON], ["TMPL-ALTERNATE", "TMPL-LAST"]),
        ("strict-template", [U, A, calls(call()), result()], [U, calls(call(), content="a"), result()], ["TMPL-ALTERNATE"]),
        ("perplexity", [S, S, U, U, A], [S, S, {**U, "content": "q\n\nq"}, A], ["TMPL-ALTERNATE"]),
        ("vllm:google/gemma-3-27b-it", [U, U], [{**U, "content": "q\n\nq"}], ["TMPL-ALTERNATE"]),
        ("compatible", [U, LEGACY, ANSWER, A], [U, calls(CALL1), RESULT1, A], ["OAI-LEGACY-FUNCTION"]),
        ("groq", [U, calls(CALL1), result("call_f_1"), LEGACY, ANSWER, A],
         [U, calls(CALL1), result("call_f_1"), calls(call("call_f_1_2")), {**RESULT1, "tool_call_id": "call_f_1_2"}, A], ["OAI-LEGACY-FUNCTION"]),
        ("vllm", [U, ANSWER, A], [U, A], ["OAI-LEGACY-FUNCTION"]),
        ("vllm", [U, LEGACY, U, ANSWER], [U, calls(CALL1), RESULT1, U], ["OAI-LEGACY-FUNCTION"]),
        ("deepseek", [{"role": "developer", "content": "d"}, U], [{"role": "system", "content": "d"}, U], ["OAI-DEV-ROLE"]),
        ("ollama-native", [U, calls(call(arguments='{"a":1}')), result()], [U, calls(call(arguments={"a": 1})), result()], ["OLL-ARGS-OBJ"]),
        ("ollama-native", [U, calls(call(arguments="[1]")), result()], [U, calls(call(arguments={"_raw": "[1]"})), result()], ["OLL-ARGS-OBJ"]),
        ("ollama-native", [{**U, "content": text("a", "b")}], [{**U, "content": "a\n\nb"}], ["OLL-CONTENT-STR"]),
        ("ollama-native", [{**U, "content": [*text("a"), PICTURE]}], [{**U, "content": "a", "images": ["AA"]}], ["OLL-CONTENT-STR"]),
        ("ollama-native", [{**U, "content": [*text("a"), THERE]}], [{**U, "content": "a"}], ["OLL-CONTENT-STR"]),
        ("ollama-native", [U, calls(call("a", {}), call("b", {})), result("b"), result("a")], [U, calls(call("a", {}), call("b", {})), result("a"), result("b")], ["OLL-ORDER"]),
        ("ollama-native", [U, calls(unnamed("a"), unnamed("b")), {"role": "tool", "tool_name": "b", "content": "2"}, {"role": "tool", "tool_name": "a", "content": "1"}],
         [U, calls(unnamed("a"), unnamed("b")), {"role": "tool", "tool_name": "a", "content": "1"}, {"role": "tool", "tool_name": "b", "content": "2"}], ["OLL-ORDER"]),
    ],
)  # fmt: skip
def test_each_dialect_has_its_own(dialect: str, history: History, expected: History, rules: list[str]) -> None:
    """What only that one refuses is found under its own rule, and mended as it wants; OpenAI's own are left alone."""
    before = copy.deepcopy(history)
    target = f"openai-chat:{dialect}"
    assert list(dict.fromkeys(id for each in diagnose(history, "openai-chat", target) for id in each.rules)) == rules
    out = heal(history, "openai-chat", target)
    assert out.history == expected
    assert all(change.rules for change in out.changes)
    assert heal(out.history, "openai-chat", target).history is out.history
    assert history == before


@pytest.mark.parametrize(
    ("dialect", "history"),
    [
        ("deepseek", [U, calls(call(), reasoning_content=""), result(), A]),
        ("deepseek-v3.1", [U, calls(call()), result(), A]),
        ("kimi:kimi-k3", [U, calls(call()), result(), A]),
        ("kimi", [U, calls(call("functions.f:0"), reasoning_content="hm"), result("functions.f:0")]),
        ("groq", [{**U, "content": [*text("see"), PICTURE], "name": "ada"}, calls(call()), result(name="f")]),
        ("ollama", [U, calls(call(), content=""), result()]),
        ("nim", [U, calls(call()), result()]),
        ("vllm", [U, calls(call()), result()]),
        ("vllm", [U, calls(call(), content=""), result(), U, U, A, A]),
        ("vllm:qwen3-32b", [U, U]),
        ("perplexity", [S, S, U, A]),
        ("strict-template", [S, U, calls(call()), result(), A, U]),
        ("minimax", [S, S, U, A]),
        ("glm", [U, A]),
        ("xai", [U, calls(call()), result(content=""), A]),
        ("cohere", [U, calls(call()), result(), U]),
        ("ollama-native", [U, calls(call(arguments={"a": 1}), content=""), result(), {**U, "images": ["AA"]}]),
        (
            "ollama-native",
            [U, calls(unnamed("a"), unnamed("a")), {"role": "tool", "content": "1"}, {"role": "tool", "content": "2"}],
        ),
        ("azure", [{"role": "developer", "content": "d"}, U, LEGACY, ANSWER]),
        ("gpt-5.2", [{"role": "developer", "content": "d"}, U, LEGACY, ANSWER]),
    ],
)
def test_what_a_dialect_takes_is_the_same_object(dialect: str, history: History) -> None:
    """A history in which nothing is wrong for that one is not touched."""
    out = heal(history, "openai-chat", f"openai-chat:{dialect}")
    assert out.history is history
    assert out.changes == []


@pytest.mark.parametrize(
    "more",
    [
        {"thinking": {"type": "disabled"}},
        {"enable_thinking": False},
        {"extra_body": {"thinking": {"type": "disabled"}}},
        {"chat_template_kwargs": {"thinking": False}},
        {"reasoning_effort": "none"},
        {"model": "deepseek-chat"},
    ],
)
def test_thinking_that_is_off_needs_no_stand_in(more: Json) -> None:
    """Where the request switches it off, or the model never thinks, nothing is missing, whatever else is mended."""
    request = {"messages": [U, calls(call()), result(), calls(call())], **more}
    out = heal(request, "openai-chat", "openai-chat:deepseek").history
    assert isinstance(out, dict)
    assert out["messages"] == [U, calls(call()), result(), calls(call()), result(content=STAND_IN)]
    plain = heal({**request, "messages": request["messages"][:3]}, "openai-chat", "openai-chat:deepseek")
    assert not plain.changed


@pytest.mark.parametrize(
    "more", [{}, {"enable_thinking": True}, {"thinking": {"type": "enabled"}}, {"model": "deepseek-reasoner"}]
)
def test_thinking_that_may_be_on_does(more: Json) -> None:
    """A stand-in goes to every message with calls, also to one that healing makes."""
    request = {"messages": [U, LEGACY, ANSWER], **more}
    out = heal(request, "openai-chat", "openai-chat:deepseek").history
    assert isinstance(out, dict)
    assert out["messages"][1]["reasoning_content"] == ""


def tool(name: str = "f", **more: object) -> Json:
    return {"type": "function", "function": {"name": name, **more}}


EMPTY = {"type": "object", "properties": {}}
NESTED = {
    "type": "object",
    "properties": {"a": {"type": "object", "properties": []}, "b": {"anyOf": [{"properties": None}]}},
}


@pytest.mark.parametrize(
    ("dialect", "tools", "expected", "rule"),
    [
        ("minimax", [tool()], [tool(parameters=EMPTY)], "MM-PARAMS"),
        ("minimax", [tool(parameters=None)], [tool(parameters=EMPTY)], "MM-PARAMS"),
        ("ollama", [tool(parameters={"properties": []})], [tool(parameters={"properties": {}})], "OLC-CONTENT"),
        (
            "ollama",
            [tool(parameters=NESTED)],
            [
                tool(
                    parameters={
                        "type": "object",
                        "properties": {"a": EMPTY, "b": {"anyOf": [{"properties": {}}]}},
                    }
                )
            ],
            "OLC-CONTENT",
        ),
        ("gpt-5", [tool(description="d" * 1025)], [tool(description="d" * 1023 + "\u2026")], "OAI-TOOL-DESC"),
        ("azure", [tool(description="d" * 1025)], [tool(description="d" * 1023 + "\u2026")], "OAI-TOOL-DESC"),
    ],
)
def test_tools_are_settled(dialect: str, tools: list[Json], expected: list[Json], rule: str) -> None:
    """The tools of a request take the form that the dialect wants; the request given stays as it was."""
    request = {"model": "m", "messages": [U], "tools": [*tools, {"type": "web_search"}]}
    before = copy.deepcopy(request)
    target = f"openai-chat:{dialect}"
    assert [each.rules for each in diagnose(request, "openai-chat", target)] == [(rule,)]
    out = heal(request, "openai-chat", target)
    assert out.history == {**request, "tools": [*expected, {"type": "web_search"}]}
    assert [change.rules for change in out.changes] == [(rule,)]
    assert heal(out.history, "openai-chat", target).history is out.history
    assert heal(request, "openai-chat", "openai-chat:together").history is request
    assert request == before


def test_a_tool_that_is_gone_is_listed_as_a_stub() -> None:
    """In a request each tool that the history calls is among its tools; of a bare history they are not known."""
    messages = [U, calls(call("a", name="old"), call("b", name="new")), result("a"), result("b")]
    request = {"model": "m", "messages": messages, "tools": [tool("new", parameters=EMPTY)]}
    out = heal(request, "openai-chat", "openai-chat:groq").history
    assert isinstance(out, dict)
    assert out["tools"] == [*request["tools"], tool("old", description="No longer available.", parameters=EMPTY)]
    assert out["messages"] == messages
    assert heal(messages, "openai-chat", "openai-chat:groq").history is messages


# Requests of our own --------------------------------------------------------------------------

CONVERSATION: tuple[Message, ...] = (
    User.of("q"),
    Assistant((Reasoning("hm", signature="c2ln"), ToolCall("a", "f", {"n": 1}), ToolCall("b", "g", {}))),
    ToolResult.of("b", "2"),
    ToolResult.of("a", "1"),
    User.of("and?"),
    Assistant.of("done"),
)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_a_request_fits_each_dialect(dialect: str) -> None:
    """The same conversation is valid for every one, results in the order of their calls."""
    request = fit(CONVERSATION, "openai-chat", dialect).history
    assert isinstance(request, dict)
    target = f"openai-chat:{dialect}"
    assert [each for each in diagnose(request, "openai-chat", target) if each.severity == "REJ"] == []
    assert heal(request, "openai-chat", target).history is request
    assert not structural_problems("openai-chat", request, target)
    assert [message["content"] for message in request["messages"] if message["role"] == "tool"] == ["1", "2"]


@pytest.mark.parametrize(
    ("dialect", "key", "expected"),
    [
        ("deepseek", "reasoning_content", "hm"),
        ("kimi", "reasoning_content", "hm"),
        ("deepseek:deepseek-chat", "reasoning_content", "hm"),
        ("qwen", "reasoning_content", None),
        ("ollama", "content", ""),
        ("nim", "content", None),
    ],
)
def test_a_message_with_calls_looks_as_the_dialect_wants(dialect: str, key: str, expected: object) -> None:
    """Thinking goes to who wants it back, under the field where it is looked for; the content is null or a text."""
    request = fit(CONVERSATION, "openai-chat", dialect).history
    assert isinstance(request, dict)
    assert request["messages"][1].get(key) == expected


@pytest.mark.parametrize(
    ("variant", "expected"),
    [("deepseek", ""), ("deepseek:deepseek-reasoner", ""), ("deepseek:deepseek-chat", None), ("kimi:moonshot-v1-8k", None)],
)
def test_a_model_that_never_thinks_needs_no_stand_in(variant: str, expected: object) -> None:
    """A request of our own has one only for a model that may think."""
    request = fit([User.of("q"), Assistant((ToolCall("a", "f", {}),))], "openai-chat", variant).history
    assert isinstance(request, dict)
    assert request["messages"][1].get("reasoning_content") == expected


def test_thinking_in_two_blocks_keeps_its_words() -> None:
    """One field holds the words of all."""
    thoughts: list[Message] = [User.of("q"), Assistant((Reasoning("one"), Reasoning("two"), Text("a"))), User.of("and?")]
    request = fit(thoughts, "openai-chat", "deepseek").history
    assert isinstance(request, dict)
    assert request["messages"][1]["reasoning_content"] == "one\n\ntwo"


def test_functions_of_old_move_to_another_provider() -> None:
    """There they are calls and results like any other."""
    out = convert([U, LEGACY, ANSWER, U], "openai-chat", "anthropic").history
    assert isinstance(out, dict)
    assert [block["type"] for block in out["messages"][1]["content"]] == ["tool_use"]
    assert out["messages"][2]["content"][0]["content"] == "1"


# The rows -------------------------------------------------------------------------------------


def test_rows_name_rules_and_codes_that_there_are() -> None:
    """Each rule that a row names is one of the format's, for a code that the check can find."""
    for dialect, limits in DIALECTS.items():
        assert set(limits.rules) <= set(RULE_OF), dialect
        assert set(limits.rules.values()) <= set(RULES), dialect
    assert set(DIALECTS) > COPIES
    assert all(served.dialects <= set(DIALECTS) for served in SERVED)


def test_a_word_that_is_no_dialect_is_a_model() -> None:
    """It is OpenAI's own, and takes what OpenAI takes."""
    assert limits_of("gpt-5.2").developer
    assert limits_of("gpt-5.2").model == "gpt-5.2"
    assert limits_of("") == limits_of("azure")
    assert limits_of("vllm:google/gemma-3").alternate
    assert limits_of("vllm:google/gemma-3").rules["ARGS_UNPARSABLE"] == "VLLM-ARGS-JSON"
    assert not limits_of("vllm:qwen3").alternate
    assert not limits_of("deepseek:mistral").alternate
    assert format_of("openai-chat").limits("kimi:kimi-k2-thinking").model == "kimi-k2-thinking"


def test_limits_alone_decide() -> None:
    """No pass knows a dialect: the same limits under no name heal the same."""
    limits = Limits(bare_calls="text", needs_user=True, system="first", reasoning="text", reasoning_field="?")
    history = [calls(call()), result(), S]
    out = healed(history, format_of("openai-chat"), limits, Options()).history
    assert out == [
        calls(call(), content="", reasoning_content="?"),
        result(),
        {"role": "user", "content": "[System message]\n\ns"},
    ]


# Whatever the history -------------------------------------------------------------------------

MANY = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
HANDFUL = pytest.mark.parametrize(
    "dialect", ["deepseek", "groq", "glm", "minimax", "ollama", "openrouter", "strict-template", "cohere", "ollama-native"]
)


@HANDFUL
@MANY
@given(history=histories_dialects())
def test_healing_for_a_dialect_holds(dialect: str, history: History) -> None:
    """Pure, done once, nothing left to find, and the same object where nothing was."""
    before = copy.deepcopy(history)
    target = f"openai-chat:{dialect}"
    out = heal(history, "openai-chat", target)
    assert history == before
    assert heal(out.history, "openai-chat", target).history is out.history
    assert not [each for each in diagnose(out.history, "openai-chat", target) if each.severity == "REJ"]
    if not out.changes:
        assert out.history is history


@HANDFUL
@MANY
@given(history=histories_dialects())
def test_what_is_healed_for_a_dialect_is_accepted(dialect: str, history: History) -> None:
    """The checkers of the cases find nothing."""
    out = heal(history, "openai-chat", f"openai-chat:{dialect}").history
    assert isinstance(out, list)
    assert not structural_problems("openai-chat", {"messages": out}, f"openai-chat:{dialect}")


@HANDFUL
@MANY
@given(history=histories_dialects())
def test_no_result_is_lost_for_a_dialect(dialect: str, history: History) -> None:
    """Every result is still there, or its full text is in the report."""
    out = heal(history, "openai-chat", f"openai-chat:{dialect}")
    kept = Counter(_results(out.history))
    reported = [change.detail.replace("\n", "") for change in out.changes if change.lost == "result"]
    for words in _results(history):
        assert not words.strip() or kept[words] or any(each.startswith(words) for each in reported)


def _results(history: object) -> list[str]:
    return [
        message.text.replace("\n", "")
        for message in load_messages(history, "openai-chat")
        if isinstance(message, ToolResult)
    ]


@HANDFUL
@MANY
@given(history=histories_dialects())
def test_neutral_messages_fit_a_dialect(dialect: str, history: History) -> None:
    """A request made of them is valid there, and healing leaves it alone."""
    request = fit(load_messages(history, "openai-chat"), "openai-chat", dialect).history
    target = f"openai-chat:{dialect}"
    assert not [each for each in diagnose(request, "openai-chat", target) if each.severity == "REJ"]
    assert heal(request, "openai-chat", target).history is request
    assert not structural_problems("openai-chat", request, target)


# A template as they are written for models that want the user and the assistant in turn.
TEMPLATE = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(
    """
{%- if messages[0].role == 'system' %}{% set turns = messages[1:] %}{{ messages[0].content + '\\n' }}
{%- else %}{% set turns = messages %}{% endif %}
{%- set ns = namespace(index=0) %}
{%- for message in turns %}
  {%- if message.role == 'user' or (message.role == 'assistant' and 'tool_calls' not in message) %}
    {%- if (message.role == 'user') != (ns.index % 2 == 0) %}
      {{- raise('conversation roles must alternate user/assistant/user/assistant/...') }}
    {%- endif %}
    {%- set ns.index = ns.index + 1 %}
  {%- endif %}
  {%- if message.role == 'system' %}{{ raise('only the first message may be system') }}{% endif %}
  {%- if message.role in ('user', 'assistant', 'tool') and message.content is not none %}
    {%- if message.content is string %}{{ message.content + '\\n' }}
    {%- else %}{% for part in message.content if part.type == 'text' %}{{ part.text }}{% endfor %}{% endif %}
  {%- endif %}
{%- endfor %}
{%- if turns and turns[-1].role == 'assistant' and 'tool_calls' not in turns[-1] %}{{ raise('prefill') }}{% endif %}
"""
)


class Refused(Exception):
    """What a template raises."""


def _raise(why: str) -> None:
    raise Refused(why)


@MANY
@given(history=histories_dialects())
def test_a_strict_template_renders_what_is_healed(history: History) -> None:
    """A template that raises on roles out of turn renders the healed history; roles that it does not know apart."""
    known = [message for message in history if message["role"] != "narrator"]
    out = heal(known, "openai-chat", "openai-chat:strict-template").history
    assert isinstance(out, list)
    if out:
        TEMPLATE.render(messages=json.loads(json.dumps(out)), **{"raise": _raise})


def test_a_strict_template_refuses_what_is_not() -> None:
    """The judge can say no."""
    with pytest.raises(Refused, match="must alternate"):
        TEMPLATE.render(messages=[S, U, U], **{"raise": _raise})


def test_a_result_without_id_stands_where_its_call_does() -> None:
    """Results that are matched by place stay there, also beside calls that have an id."""
    history = [U, calls(unnamed("f"), call("b", arguments={})), {"role": "tool", "content": "1"}, result("b", content="2")]
    assert heal(history, "openai-chat", "openai-chat:ollama-native").history is history
    broken = heal(history[:2], "openai-chat", "openai-chat:ollama-native").history
    assert [one.get("tool_call_id") for one in broken[2:]] == [None, "b"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("model", "row"),
    [
        ("gpt-5.2", OPENAI),
        ("o3-mini", OPENAI),
        ("chatgpt-4o-latest", OPENAI),
        ("ft:gpt-4o:mine", OPENAI),
        ("openai/gpt-4.1", OPENAI),
        ("codex-mini-latest", OPENAI),
        ("", OPENAI),
        ("gpt-oss-120b", DIALECTS["compatible"]),
        ("llama3:8b", DIALECTS["compatible"]),
        ("something-else", DIALECTS["compatible"]),
        ("deepseek/deepseek-r1", DIALECTS["deepseek"]),
        ("moonshotai/Kimi-K2-Thinking", DIALECTS["kimi"]),
        ("qwen3:8b", DIALECTS["qwen"]),
        ("GLM-4.6", DIALECTS["glm"]),
        ("MiniMax-M2", DIALECTS["minimax"]),
    ],
)
def test_a_model_is_taken_for_what_its_name_says(model: str, row: Limits) -> None:
    """OpenAI's own by their names, others by their makers' rows, and what nobody knows as a copy's; a request may say it."""
    limits = limits_of(model)
    assert replace(limits, model=None) == row
    assert limits.model == (model or None)
    spoken = [{"role": "developer", "content": "d"}, U]
    request = {"messages": spoken, **({"model": model} if model else {})}
    assert heal(request, "openai-chat").changed == (not row.developer)
    assert not heal(request, "openai-chat", "openai-chat").changed


def test_a_request_names_its_own_model() -> None:
    """Whatever its format calls that."""
    said = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    for model, changed in (("claude-opus-4-6", True), ("claude-3-5-sonnet", False), (7, False)):
        assert heal({"messages": said, "model": model}, "anthropic").changed is changed
    turn = [{"role": one["role"], "content": [{"text": one["content"]}]} for one in said]
    for model, changed in (("us.anthropic.claude-opus-4-6-v1:0", True), ("meta.llama3", False)):
        assert heal({"messages": turn, "modelId": model}, "bedrock").changed is changed


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("openai-chat:deepseeek", "deepseek"),
        ("openai-chat:Openruter", "openrouter"),
        ("openai-chat:vlm", "vllm"),
        ("anthropic:rellay", "relay"),
        ("openai-responses:olama:x", "ollama"),
        ("openai-chat:deepseek-chat", None),
        ("openai-chat:qwen3", None),
        ("openai-chat:llama", None),
        ("openai-chat:grok", None),
        ("openai-chat:mymodel", None),
        ("gemini:anything", None),
    ],
)
def test_a_slip_in_a_name_is_asked_about(name: str, meant: str | None) -> None:
    """A dialect that is none and looks like one is no model of that name."""
    if meant is None:
        assert str(target_of(name)) == name
        return
    with pytest.raises(UnknownFormat, match=f"did you mean '{meant}'"):
        target_of(name)
