"""Bedrock's Converse: each fault alone, what is found, what it becomes, and what is left as it came."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from suture.errors import HistoryError
from suture.formats import detect
from suture.healing import convert, diagnose, dump_messages, fit, heal, load_messages, refusal
from suture.messages import Assistant, File, Image, Message, Origin, Reasoning, Text, ToolCall, ToolResult, User
from suture.repair import stand_in_text
from tests.formats.test_contract_bedrock import (
    CITED,
    CLAUDE,
    LLAMA,
    MARK,
    NOVA,
    PDF,
    PNG,
    SERVER,
    THOUGHT,
    TOOLS,
    Json,
    result,
    said,
    text,
    use,
    user,
)

U = user(text())
DONE = said(text("done"))
UNSIGNED: Json = {"reasoningContent": {"reasoningText": {"text": "hm"}}}
REDACTED: Json = {"reasoningContent": {"redactedContent": "b3BhcXVl"}}
STAND_IN = result(content=[text(stand_in_text("unknown"))], status="error")
CONTINUED = user(text("(conversation continues)"))
NOTED = said(text("(noted)"))


@pytest.mark.parametrize(
    ("history", "healed", "found", "done"),
    [
        pytest.param(
            [U, said(use())],
            [U, said(use()), user(STAND_IN)],
            ["messages[1].content[0]: CALL_UNANSWERED"],
            ["messages[1].content[0]: CALL_UNANSWERED"],
            id="a call without a result",
        ),
        pytest.param(
            [U, said(use()), U, DONE],
            [U, said(use()), user(STAND_IN, text()), DONE],
            ["messages[1].content[0]: CALL_UNANSWERED"],
            ["messages[1].content[0]: CALL_UNANSWERED"],
            id="the user spoke instead",
        ),
        pytest.param(
            [U, said(use("a")), user(result("b")), DONE, U],
            [U, said(use("a")), user({"toolResult": {**STAND_IN["toolResult"], "toolUseId": "a"}}), DONE, U],
            ["messages[1].content[0]: CALL_UNANSWERED", "messages[2].content[0]: RESULT_ORPHAN"],
            ["messages[1].content[0]: CALL_UNANSWERED", "messages[2].content[0]: RESULT_ORPHAN"],
            id="a call and a result that have nothing in common",
        ),
        pytest.param(
            [U, said(use("a"), use("b")), user(result("a")), user(result("b")), DONE],
            [U, said(use("a"), use("b")), user(result("a"), result("b")), DONE],
            ["messages[3]: ROLE_REPEAT", "messages[3].content[0]: RESULT_SPLIT"],
            ["messages[3]: ROLE_REPEAT", "messages[3].content[0]: RESULT_SPLIT"],
            id="results spread over two messages",
        ),
        pytest.param(
            [U, said(use()), user(result()), U, DONE],
            [U, said(use()), user(result(), text()), DONE],
            ["messages[3]: ROLE_REPEAT"],
            ["messages[3]: ROLE_REPEAT"],
            id="words in a message behind the results",
        ),
        pytest.param(
            [U, said(use()), user(text("wait"), result()), DONE],
            [U, said(use()), user(result(), text("wait")), DONE],
            ["messages[2].content[1]: RESULT_NOT_FIRST"],
            ["messages[2].content[1]: RESULT_NOT_FIRST"],
            id="a result behind words",
        ),
        pytest.param(
            [U, said(use()), U, DONE, user(result(), text("and"))],
            [U, said(use()), user(result(), text()), DONE, user(text("and"))],
            ["messages[4].content[0]: RESULT_DISPLACED"],
            ["messages[4].content[0]: RESULT_DISPLACED"],
            id="a late result",
        ),
        pytest.param(
            [U, said(use(), result()), U],
            [U, said(use()), user(result(), text())],
            ["messages[1].content[0]: CALL_UNANSWERED", "messages[1].content[1]: RESULT_NOT_PURE"],
            ["messages[1].content[1]: RESULT_NOT_PURE"],
            id="a result inside the assistant's message",
        ),
        pytest.param(
            [user(result("gone", [text("42")]), text("keep")), DONE],
            [user(text("keep")), DONE],
            ["messages[0].content[0]: RESULT_ORPHAN"],
            ["messages[0].content[0]: RESULT_ORPHAN"],
            id="a result without a call",
        ),
        pytest.param(
            [U, said(use()), user(result(content=[text("old")]), result(content=[text("new")]))],
            [U, said(use()), user(result(content=[text("new")]))],
            ["messages[2].content[1]: RESULT_DUPLICATE"],
            ["messages[2].content[0]: RESULT_DUPLICATE"],
            id="two results",
        ),
        pytest.param(
            [U, said(use()), user(result()), said(use(input={"n": 2})), user(result()), DONE],
            [U, said(use()), user(result()), said(use("t1_2", input={"n": 2})), user(result("t1_2")), DONE],
            ["messages[3].content[0]: ID_REUSED"],
            ["messages[3].content[0]: ID_REUSED"],
            id="an id that comes back",
        ),
        pytest.param(
            [U, said(use(), use()), user(result())],
            [U, said(use()), user(result())],
            ["messages[1].content[1]: ID_DUPLICATE", "messages[1].content[1]: CALL_UNANSWERED"],
            ["messages[1].content[1]: ID_DUPLICATE"],
            id="a call stored twice",
        ),
        pytest.param(
            [U, said(use("f.f:0")), user(result("f.f:0"))],
            [U, said(use("f_f_0_8b0c02f6")), user(result("f_f_0_8b0c02f6"))],
            ["messages[1].content[0]: ID_CHARS"],
            ["messages[1].content[0]: ID_CHARS"],
            id="an id of other characters",
        ),
        pytest.param(
            [U, said(use("")), user(result(""))],
            [U, said(use("call_0_0")), user(result("call_0_0"))],
            ["messages[1].content[0]: ID_MISSING", "messages[1].content[0]: CALL_UNANSWERED", "messages[2].content[0]: RESULT_ORPHAN"],
            ["messages[1].content[0]: ID_MISSING"],
            id="no ids",
        ),
        pytest.param(
            [U, said(use("a\n")), user(result("a\n"))],
            [U, said(use("a__0a38bb8c")), user(result("a__0a38bb8c"))],
            ["messages[1].content[0]: ID_CHARS"],
            ["messages[1].content[0]: ID_CHARS"],
            id="an id that ends in a line break",
        ),
        pytest.param(
            [U, said(use(input='{"a": 1}')), user(result())],
            [U, said(use(input={"a": 1})), user(result())],
            ["messages[1].content[0]: ARGS_TYPE"],
            ["messages[1].content[0]: ARGS_TYPE"],
            id="input as text",
        ),
        pytest.param(
            [U, said(use(input=None)), user(result())],
            [U, said(use(input={})), user(result())],
            ["messages[1].content[0]: ARGS_NOT_OBJECT"],
            ["messages[1].content[0]: ARGS_TYPE"],
            id="null for input",
        ),
        pytest.param(
            [U, said(use(input=[1])), user(result())],
            [U, said(use(input={"_raw": "[1]"})), user(result())],
            ["messages[1].content[0]: ARGS_NOT_OBJECT"],
            ["messages[1].content[0]: ARGS_NOT_OBJECT"],
            id="a list for input",
        ),
        pytest.param(
            [U, said(use(), text("I will look")), user(result())],
            [U, said(text("I will look"), use()), user(result())],
            ["messages[1].content[1]: CALL_NOT_TAIL"],
            ["messages[1].content[1]: CALL_NOT_TAIL"],
            id="words behind a call",
        ),
        pytest.param(
            [U, said(THOUGHT), said(text("so")), said(use("a")), said(use("b")), user(result("a"), result("b"))],
            [U, said(THOUGHT, text("so"), use("a"), use("b")), user(result("a"), result("b"))],
            ["messages[2]: ROLE_REPEAT", "messages[3]: ROLE_REPEAT", "messages[4]: ROLE_REPEAT"],
            ["messages[2]: ROLE_REPEAT", "messages[3]: ROLE_REPEAT", "messages[4]: ROLE_REPEAT"],
            id="one answer, stored as a message for each block",
        ),
        pytest.param(
            [U, said(THOUGHT, text("a")), said(THOUGHT, text("b")), U],
            [U, said(THOUGHT, text("a")), CONTINUED, said(THOUGHT, text("b")), U],
            ["messages[2]: ROLE_REPEAT"],
            ["messages[2]: ROLE_REPEAT"],
            id="two answers, each with its thinking",
        ),
        pytest.param(
            [U, said(UNSIGNED, text("a")), U],
            [U, said(text("a")), U],
            ["messages[1].content[0]: THINKING_UNSIGNED"],
            ["messages[1].content[0]: THINKING_UNSIGNED"],
            id="thinking without a signature",
        ),
        pytest.param(
            [U, said({"reasoningContent": {"text": "hm"}}, text("a")), U],
            [U, said(text("a")), U],
            ["messages[1].content[0]: THINKING_UNSIGNED"],
            ["messages[1].content[0]: THINKING_UNSIGNED"],
            id="thinking in the wrong place",
        ),
        pytest.param(
            [U, said(UNSIGNED), U],
            [user(text(), text())],
            ["messages[1].content[0]: THINKING_UNSIGNED"],
            ["messages[1].content[0]: THINKING_UNSIGNED", "messages[1]: MESSAGE_EMPTY", "messages[2]: ROLE_REPEAT"],
            id="nothing but such thinking",
        ),
        pytest.param(
            [U, DONE, user(text(" ")), DONE],
            [U, DONE, user(text("(no content)")), DONE],
            ["messages[2].content[0]: TEXT_BLANK"],
            ["messages[2].content[0]: TEXT_BLANK", "messages[2]: MESSAGE_EMPTY"],
            id="a user message that says nothing",
        ),
        pytest.param(
            [U, said(use()), user(result(content=[text("")]))],
            [U, said(use()), user(result(content=[text("(no output)")]))],
            ["messages[2].content[0].toolResult.content[0]: TEXT_EMPTY"],
            ["messages[2].content[0]: TEXT_BLANK"],
            id="a result that says nothing",
        ),
        pytest.param(
            [U, said(use()), user(result(content=[], status="error"))],
            [U, said(use()), user(result(content=[text("The tool failed and said nothing.")], status="error"))],
            ["messages[2].content[0]: RESULT_EMPTY_ERROR"],
            ["messages[2].content[0]: RESULT_EMPTY_ERROR"],
            id="an error that says nothing",
        ),
        pytest.param(
            [U, said(use()), user(result(content=[{"json": ["a", {"b": 1}]}, {"json": {"n": 1}}]))],
            [U, said(use()), user(result(content=[text('["a", {"b": 1}]'), {"json": {"n": 1}}]))],
            ["messages[2].content[0].toolResult.content[0]: RESULT_SHAPE"],
            ["messages[2].content[0].toolResult.content[0]: RESULT_SHAPE"],
            id="JSON that is a list",
        ),
        pytest.param(
            [{"role": "user", "content": "q"}, DONE, user({"type": "text", "text": "x"}), DONE],
            [U, DONE, user(text("x")), DONE],
            ["messages[0].content: BLOCK_SHAPE", "messages[2].content[0]: BLOCK_SHAPE"],
            ["messages[0].content: BLOCK_SHAPE", "messages[2].content[0]: BLOCK_SHAPE"],
            id="texts and types of other formats",
        ),
        pytest.param(
            [user({**text(), **MARK, "image": None}), DONE],
            [user(text(), MARK), DONE],
            ["messages[0].content[0]: BLOCK_SHAPE"],
            ["messages[0].content[0]: BLOCK_SHAPE"],
            id="two members in one block",
        ),
        pytest.param(
            [U, said(use()), user({"toolResult": {"toolUseId": "t1", "content": "r"}})],
            [U, said(use()), user(result())],
            ["messages[2].content[0]: BLOCK_SHAPE"],
            ["messages[2].content[0]: BLOCK_SHAPE"],
            id="a result whose content is a text",
        ),
        pytest.param(
            [user(text(), {}), DONE],
            [U, DONE],
            ["messages[0].content[1]: BLOCK_UNKNOWN"],
            ["messages[0].content[1]: BLOCK_UNKNOWN"],
            id="a block of nothing",
        ),
        pytest.param(
            [user(text(), use()), user(result()), DONE],
            [U, said(use()), user(result()), DONE],
            ["messages[0].content[1]: CALL_MISPLACED", "messages[1]: ROLE_REPEAT", "messages[1].content[0]: RESULT_ORPHAN"],
            ["messages[0].content[1]: CALL_MISPLACED"],
            id="a call in the user's message, and its result",
        ),
        pytest.param(
            [user(text(), PDF, {"document": {**PDF["document"], "name": "my  report.pdf"}}), DONE, user(PDF)],
            [
                user(text(), PDF, {"document": {**PDF["document"], "name": "my report-pdf"}}),
                DONE,
                user(text("(see the document)"), {"document": {**PDF["document"], "name": "a report-2"}}),
            ],
            ["messages[0].content[2]: DOCUMENT_NAME", "messages[2]: DOCUMENT_ALONE", "messages[2].content[0]: DOCUMENT_NAME"],
            ["messages[0].content[2]: DOCUMENT_NAME", "messages[2].content[0]: DOCUMENT_NAME", "messages[2]: DOCUMENT_ALONE"],
            id="documents",
        ),
        pytest.param(
            [DONE, U],
            [CONTINUED, DONE, U],
            ["messages[0]: FIRST_NOT_USER"],
            ["messages[0]: FIRST_NOT_USER"],
            id="the assistant speaks first",
        ),
        pytest.param(
            [U, said(text("Say: "))],
            [U, said(text("Say:"))],
            ["messages[1]: TRAILING_WHITESPACE"],
            ["messages[1].content[0]: TRAILING_WHITESPACE"],
            id="white space at the end",
        ),
        pytest.param(
            [user(text("cut \ud83d"))],
            [user(text("cut \ufffd"))],
            ["messages[0].content[0].text: SURROGATE_LONE"],
            ["messages[0].content[0].text: SURROGATE_LONE"],
            id="half a surrogate pair",
        ),
        pytest.param(
            [user(*(each for n in range(5) for each in (text(str(n)), MARK)))],
            [user(text("0"), *(each for n in range(1, 5) for each in (text(str(n)), MARK)))],
            ["messages: CACHE_MARKS"],
            ["messages[0].content[1]: CACHE_MARKS"],
            id="five marks for the cache",
        ),
    ],
)  # fmt: skip
def test_each_fault_heals_alone(history: list[Json], healed: list[Json], found: list[str], done: list[str]) -> None:
    """Found where it stands, mended and reported, and the rest untouched."""
    before = copy.deepcopy(history)
    assert [f"{each.path}: {each.code}" for each in diagnose(history, "bedrock") if each.severity == "REJ"] == found
    out = heal(history, "bedrock")
    assert out.history == healed
    assert [f"{each.path}: {each.code}" for each in out.changes] == done
    assert all(each.rules for each in out.changes)
    assert heal(out.history, "bedrock").history is out.history
    assert history == before


@pytest.mark.parametrize(
    ("model", "history", "healed", "done"),
    [
        pytest.param(
            LLAMA,
            [U, said(use()), user(result(), text("and?"))],
            [U, said(use()), user(result()), NOTED, user(text("and?"))],
            ["messages[2]: USER_AFTER_TOOL"],
            id="words beside a result",
        ),
        pytest.param(
            LLAMA,
            [U, said(use()), user(text("and?"), result()), DONE],
            [U, said(use()), user(result()), NOTED, user(text("and?")), DONE],
            ["messages[2]: USER_AFTER_TOOL", "messages[2].content[1]: RESULT_NOT_FIRST"],
            id="words before a result",
        ),
        pytest.param(
            LLAMA,
            [U, said(use()), user(result()), user(text("and?"))],
            [U, said(use()), user(result()), NOTED, user(text("and?"))],
            ["messages[3]: USER_AFTER_TOOL"],
            id="words in the next message",
        ),
        pytest.param(
            LLAMA,
            [U, said(text("I look"), use()), user(result())],
            [U, said(use()), user(result())],
            ["messages[1]: TEXT_WITH_TOOL"],
            id="words beside a call",
        ),
        pytest.param(
            LLAMA,
            [U, said(text("I look")), said(use()), user(result())],
            [U, said(text("I look")), CONTINUED, said(use()), user(result())],
            ["messages[2]: ROLE_REPEAT"],
            id="words in the message before a call",
        ),
        pytest.param(
            LLAMA,
            [U, said(use()), user(result(content=[text("a map"), PNG]))],
            [U, said(use()), user(result(content=[text("a map")])), NOTED, user(text("From the result of t1:"), PNG)],
            ["messages[2].content[0]: IMAGE_ROLE", "messages: USER_AFTER_TOOL"],
            id="a picture in a result",
        ),
        pytest.param(
            LLAMA,
            [U, said(use())],
            [U, said(use()), user(STAND_IN)],
            ["messages[1].content[0]: CALL_UNANSWERED"],
            id="a call without a result",
        ),
        pytest.param(
            NOVA,
            [U, said(THOUGHT, text("a")), U],
            [U, said(UNSIGNED, text("a")), U],
            ["messages[1].content[0]: SIGNATURE_FORM"],
            id="a signature",
        ),
        pytest.param(
            NOVA,
            [U, said(REDACTED, text("a")), U],
            [U, said(text("a")), U],
            ["messages[1].content[0]: THINKING_FOREIGN"],
            id="thinking that nobody can read",
        ),
        pytest.param(
            NOVA,
            [U, said({"reasoningContent": {"text": "hm"}}, text("a")), U],
            [U, said(UNSIGNED, text("a")), U],
            ["messages[1].content[0]: BLOCK_SHAPE"],
            id="thinking in the wrong place",
        ),
        pytest.param(
            "us.deepseek.r1-v1:0",
            [U, said(UNSIGNED, text("a")), U],
            [U, said(text("a")), U],
            ["messages[1].content[0]: THINKING_FOREIGN"],
            id="any thinking",
        ),
        pytest.param(
            "us.anthropic.claude-opus-4-6-v1",
            [U, said(text("partial"), MARK)],
            [U, said(text("partial"), MARK), user(text("Continue."))],
            ["messages[1]: LAST_ASSISTANT"],
            id="the assistant's word last",
        ),
    ],
)
def test_models_differ(model: str, history: list[Json], healed: list[Json], done: list[str]) -> None:
    """What one model refuses is mended for it, and is no fault for Claude, or heals otherwise there."""
    out = heal(history, "bedrock", f"bedrock:{model}")
    assert out.history == healed
    assert [f"{each.path}: {each.code}" for each in out.changes] == done
    assert heal(out.history, "bedrock", f"bedrock:{model}").history is out.history


@pytest.mark.parametrize(
    ("model", "history"),
    [
        (NOVA, [U, said(text("I look"), use()), user(result(content=[PNG]), text("and?"))]),
        (NOVA, [U, said(UNSIGNED, text("a "))]),
        (LLAMA, [U, said(UNSIGNED, use()), user(result(content=[text("r"), {"json": {"n": 1}}])), DONE, U]),
        ("anthropic.claude-3-haiku-20240307-v1:0", [U, said(THOUGHT, text("a"))]),
        ("arn:aws:bedrock:us-east-1:1:application-inference-profile/abc", [U, said(THOUGHT, text("a"), use()), user(result())]),
        ("openai.gpt-oss-120b-1:0", [U, said(UNSIGNED, text("a"), use()), user(result(), text("and?"))]),
    ],
)  # fmt: skip
def test_what_a_model_takes_is_the_same_object(model: str, history: list[Json]) -> None:
    """No more is touched than its family refuses."""
    assert heal(history, "bedrock", f"bedrock:{model}").history is history


VALID: list[list[Json]] = [
    [U, said(THOUGHT, REDACTED, text("x"), use("a"), use("b")), user(result("b"), result("a", [{"json": {"n": 1}}, PNG], status="success"), text("more"), MARK)],
    [user(text(), PNG, PDF, MARK), said(CITED), user({"guardContent": {"text": {"text": "q"}}})],
    [user(text(), {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://b/x"}}}}), said(*SERVER, text("found")), U],
    [U, said(use()), user(result(content=[])), DONE],
    [U, said(text("a"), use("a"), MARK, use("b"), MARK), user(result("a"), result("b")), DONE],
    [U, said(use("a"), use("b")), user(result("a"), MARK, result("b"), MARK, text("so"), MARK)],
    [user({"hologram": {"x": 1}}), said({"reasoningContent": {"novelty": "x"}}), U],
    [user(text(), {"document": {**PDF["document"], "name": "Q1_report (2) [x]"}})],
    [U, said(use(extra=1)), user({"toolResult": {**result()["toolResult"], "extra": 1, "status": "odd"}})],
]  # fmt: skip


@pytest.mark.parametrize("history", VALID)
def test_what_is_valid_is_the_same_object(history: list[Json]) -> None:
    """No shape that Converse takes is touched."""
    before = copy.deepcopy(history)
    out = heal(history, "bedrock")
    assert out.history is history
    assert (out.changes, out.changed) == ([], False)
    assert all(each.severity == "DEG" for each in diagnose(history, "bedrock"))
    assert history == before


@pytest.mark.parametrize("history", VALID)
def test_reading_loses_nothing(history: list[Json]) -> None:
    """What is read and written back is what came, unknown members, shapes and blocks included."""
    assert dump_messages(load_messages(history, "bedrock"), "bedrock") == {"messages": history}
    request = {"system": [text("s"), MARK], "messages": history}
    assert dump_messages(load_messages(request, "bedrock"), "bedrock") == request


def test_warnings_change_nothing() -> None:
    """Fields, roles and blocks that are not known are sent as they came."""
    history = [{**U, "id": "m1"}, said({"hologram": {}}), {"role": "narrator", "content": "x"}, U]
    assert heal(history, "bedrock").history is history
    found = [f"{each.path}: {each.code} {each.severity}" for each in diagnose(history, "bedrock")]
    assert found == [
        "messages[0]: FIELD_UNKNOWN DEG",
        "messages[1].content[0]: BLOCK_UNKNOWN DEG",
        "messages[2]: ROLE_UNKNOWN DEG",
    ]
    broken = [*history, said(use()), user(text("x"))]
    out = heal(broken, "bedrock").history
    assert isinstance(out, list)
    assert all(new is old for new, old in zip(out, history, strict=False))


def test_what_did_not_change_is_the_very_object() -> None:
    """Beside a fault, whole messages and blocks are handed back as they came."""
    history = [U, said(text("a"), {"hologram": {}}, use("a"), use("b c")), user(result("a"), result("b c"), PNG), DONE]
    out = heal(history, "bedrock").history
    assert isinstance(out, list)
    assert out[0] is history[0]
    assert out[3] is history[3]
    for index, same in ((1, [True, True, True, False]), (2, [True, False, True])):
        pairs = zip(out[index]["content"], history[index]["content"], strict=True)
        assert [new is old for new, old in pairs] == same


# The request around the history ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "healed"),
    [
        (
            {"messages": [{"role": "system", "content": [text("s")]}, U]},
            {"system": [text("s")], "messages": [U]},
        ),
        (
            {"system": [text("a"), MARK], "messages": [{"role": "system", "content": "b"}, U], "modelId": "m"},
            {"system": [text("a"), MARK, text("b")], "messages": [U], "modelId": "m"},
        ),
        ({"system": [text("a"), text(" ")], "messages": [U]}, {"system": [text("a")], "messages": [U]}),
        ({"system": [text("")], "messages": [U]}, {"messages": [U]}),
        ({"system": "be kind", "messages": [U]}, {"system": [text("be kind")], "messages": [U]}),
    ],
)
def test_system_text_stands_apart(request_: Json, healed: Json) -> None:
    """In a request it moves out of the messages and into blocks, and blank texts leave it."""
    out = heal(request_, "bedrock")
    assert out.history == healed
    assert out.changed
    assert heal(out.history, "bedrock").history is out.history


def test_a_list_has_no_place_for_system_text() -> None:
    """Leading system text becomes the user's words, in one message with those that follow."""
    out = heal([{"role": "system", "content": [text("s")]}, U], "bedrock")
    assert out.history == [user(text("[System message]"), text("s"), text())]
    assert out.hints == ["system: pass the leading system text as the request's own 'system'"]


def test_a_request_with_calls_defines_tools() -> None:
    """A stub for each tool of the history where none is defined; a history alone is the caller's to complete."""
    messages = [U, said(use("a", name="f"), use("b", name="g.h")), user(result("a"), result("b"))]
    out = heal({"modelId": CLAUDE, "messages": messages}, "bedrock")
    assert isinstance(out.history, dict)
    assert [tool["toolSpec"]["name"] for tool in out.history["toolConfig"]["tools"]] == ["f", "g_h"]
    assert {each.code for each in out.changes} == {"TOOLS_MISSING", "NAME_PATTERN"}
    fine = [U, said(use()), user(result())]
    bare = heal(fine, "bedrock")
    assert bare.history is fine
    assert bare.hints == ["toolConfig: define the tools that the history calls"]
    assert heal({"modelId": CLAUDE, "messages": fine, "toolConfig": TOOLS}, "bedrock").hints == []


def test_a_tool_has_one_name_everywhere() -> None:
    """A name that has to change changes in the tools and in the choice among them too."""
    spec = {"toolSpec": {"name": "f.g", "inputSchema": {"json": {"type": "object"}}}}
    request = {
        "messages": [U, said(use(name="f.g")), user(result())],
        "toolConfig": {
            "tools": [spec, {"systemTool": {"name": "nova_grounding"}}],
            "toolChoice": {"tool": {"name": "f.g"}},
        },
    }
    out = heal(request, "bedrock").history
    assert isinstance(out, dict)
    assert out["messages"][1] == said(use(name="f_g"))
    assert out["toolConfig"]["tools"][0]["toolSpec"]["name"] == "f_g"
    assert out["toolConfig"]["tools"][1] is request["toolConfig"]["tools"][1]  # type: ignore[index]
    assert out["toolConfig"]["toolChoice"] == {"tool": {"name": "f_g"}}


@pytest.mark.parametrize("pending", ["answer", "keep", "drop"])
def test_the_last_turn_is_the_callers(pending: Any) -> None:
    """Unanswered calls of the end are answered, kept for the caller to run, or dropped."""
    history = [U, said(use("a"), use("b")), user(result("a"))]
    b = {"toolResult": {**STAND_IN["toolResult"], "toolUseId": "b"}}
    expected = {
        "answer": [U, said(use("a"), use("b")), user(result("a"), b)],
        "keep": history,
        "drop": [U, said(use("a")), user(result("a"))],
    }
    out = heal(history, "bedrock", pending=pending)
    assert out.history == expected[pending]
    assert (out.history is history) == (pending == "keep")


# Others -----------------------------------------------------------------------------------------


def test_bytes_are_carried() -> None:
    """What boto3 gives and takes stays bytes, through reading and writing; another provider gets base64 text."""
    picture = {"image": {"format": "jpeg", "source": {"bytes": b"\xff\xd8"}}}
    history = [user(text(), picture), said({"reasoningContent": {"redactedContent": b"opaque"}}, use()), user(text("and?"))]
    out = heal(history, "bedrock").history
    assert isinstance(out, list)
    assert out[0] is history[0]
    assert dump_messages(load_messages(out, "bedrock"), "bedrock")["messages"] == out
    other = convert(history, "bedrock", "anthropic").history
    assert isinstance(other, dict)
    source = other["messages"][0]["content"][1]["source"]
    assert source == {"type": "base64", "media_type": "image/jpeg", "data": "/9g="}


def test_messages_of_another_format_are_read() -> None:
    """A program that changed its provider leaves others' messages behind; they are written as Converse has them."""
    history = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "r"}]},
        said(text("done")),
        U,
    ]
    out = heal(history, "bedrock")
    assert out.history == [
        user(text("hi")),
        said(use("toolu_1", input={})),
        user(result("toolu_1")),
        said(text("done")),
        U,
    ]


def test_which_format_it_is() -> None:
    """A block named by its only member is Converse's; plain words are anybody's."""
    assert detect([U, DONE]) == "bedrock"
    assert detect({"messages": [U], "system": [text("s")]}) == "bedrock"
    assert detect({"messages": [{"role": "user", "content": "q"}], "system": "s"}) == "anthropic"


def test_a_request_of_our_own() -> None:
    """Words, thinking, pictures, documents and results of anybody, as Claude behind Bedrock takes them."""
    made = Origin("bedrock", model=CLAUDE)
    messages: list[Message] = [
        User((Text("look"), Image(data="AA", media_type="image/jpg"), Image(url="http://x/y.png"))),
        Assistant((Reasoning("hm", "c2ln"), ToolCall("a.b", "f", {"n": 1})), origin=made),
        ToolResult.of("a.b", [Image(url="data:image/png;base64,AA==")]),
        Assistant((Reasoning("other", "c2ln"), Text("ok")), origin=Origin("anthropic", model="claude-x")),
        User((File(data="JVBERi0=", media_type="application/pdf", name="my.file.pdf"),)),
    ]
    out = fit(messages, "bedrock", CLAUDE)
    assert isinstance(out.history, dict)
    id = out.history["messages"][1]["content"][1]["toolUse"]["toolUseId"]
    assert out.history["messages"] == [
        user(text("look"), {"image": {"format": "jpeg", "source": {"bytes": "AA"}}}),
        said(THOUGHT, use(id)),
        user(result(id, [{"image": {"format": "png", "source": {"bytes": "AA=="}}}])),
        said(text("ok")),
        user(
            text("(see the document)"),
            {"document": {"format": "pdf", "name": "my-file-pdf", "source": {"bytes": "JVBERi0="}}},
        ),
    ]
    assert {each.lost for each in out.changes} == {"none", "image", "reasoning"}


@pytest.mark.parametrize(
    ("history", "words"),
    [
        ([U, said(use("a"), use("b")), U], "Expected toolResult blocks at messages.2.content for the following Ids: a, b"),
        (
            [user(result("gone"), text())],
            "The number of toolResult blocks at messages.0.content exceeds the number of toolUse blocks of previous turn.",
        ),
        (
            [U, said(use("a"), use("a", input={})), user(result("a"), result("a"))],
            "The toolUse blocks at messages.1.content contain duplicate Ids: a",
        ),
        (
            [user(text(), text(" "))],
            ("The text field in the ContentBlock object at messages.0.content.1 is blank. Add text to the text field, and "
            "try again."),
        ),
        (
            [U, said(use(input=7)), user(result())],
            ("The format of the value at messages.1.content.0.toolUse.input is invalid. Provide a json object for the field "
            "and try again."),
        ),
        (
            [U, said(use()), user(result(content=[{"json": 1}]))],
            ("The format of the value at messages.2.content.0.toolResult.content.0.json is invalid. Provide a json object "
            "for the field and try again."),
        ),
    ],
)  # fmt: skip
def test_a_finding_tells_what_the_provider_answers(history: list[Json], words: str) -> None:
    """The refusal reads as in the reports, filled with the ids and places of this history."""
    assert refusal(next(each for each in diagnose(history, "bedrock") if each.severity == "REJ")) == words


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ([{"role": "user", "content": 3}], "messages[0].content is a number; content is a text or a list of parts."),
        ([user("q")], "messages[0].content[0] is a text, not an object. Pass plain JSON values."),  # type: ignore[arg-type]
        ([user({"text": 3})], "messages[0].content[0].text is a number, not a text."),
        ([said({"toolUse": "x"})], "messages[0].content[0].toolUse is a text, not an object. Pass plain JSON values."),
        ([user({"toolResult": 1})], "messages[0].content[0].toolResult is a number, not an object. Pass plain JSON values."),
        ([user(text(), {"document": 1})], "messages[0].content[1].document is a number, not an object. Pass plain JSON values."),
        ([said({"reasoningContent": []})], "messages[0].content[0].reasoningContent is a list, not an object. Pass plain JSON values."),
        ({"system": 3, "messages": [U]}, "system is a number; content is a text or a list of parts."),
        ({"system": ["s"], "messages": [U]}, "system[0] is a text, not an object. Pass plain JSON values."),
    ],
)  # fmt: skip
def test_odd_shapes_are_named(history: object, message: str) -> None:
    """What and where, and nothing but a HistoryError."""
    for act in (heal, diagnose, load_messages):
        assert callable(act)
        with pytest.raises(HistoryError) as caught:
            act(history, "bedrock")
        assert str(caught.value) == message


@pytest.mark.parametrize(
    "history",
    [
        pytest.param([U, said(*(use(f"c{n}") for n in range(4000))), U], id="many calls without results"),
        pytest.param([user(*(result(f"c{n}") for n in range(4000)), text())], id="many results without calls"),
        pytest.param(
            [U, said(*(use(f"c{n}") for n in range(4000))), user(*(result(f"c{n}") for n in range(3999)), text(" "))],
            id="many results in one message",
        ),
        pytest.param([U] * 4000, id="many messages of the user"),
        pytest.param([U, *([said(THOUGHT, text("a"))] * 4000)], id="many thoughts in a row"),
        pytest.param([user(text(), *([PDF] * 4000))], id="one name for many documents"),
        pytest.param([U, *([said(use())] * 4000), *([user(result())] * 4000)], id="one id for many calls"),
    ],
)
def test_long_histories_are_ordinary_ones(history: list[Json]) -> None:
    """What would be quadratic is not: each takes moments."""
    out = heal(history, "bedrock")
    assert out.changed
    assert heal(out.history, "bedrock").history is out.history
