"""OpenAI's Chat Completions: each fault alone, what is found, what it becomes, and what is left as it came."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from suture.healing import diagnose, dump_messages, heal, load_messages, refusal
from suture.repair import stand_in_text

Json = dict[str, Any]

U: Json = {"role": "user", "content": "q"}
SAID: Json = {"role": "assistant", "content": "done"}
STAND_IN = stand_in_text("unknown")


def call(id: object = "c1", arguments: object = "{}", name: object = "f", **more: object) -> Json:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def calls(*items: Json, content: object = None) -> Json:
    return {"role": "assistant", "content": content, "tool_calls": list(items)}


def result(id: object = "c1", content: object = "r") -> Json:
    return {"role": "tool", "tool_call_id": id, "content": content}


LONG = "i" * 41
SHORT = "i" * 31 + "_" + "026cc189"
PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}


@pytest.mark.parametrize(
    ("history", "healed", "found", "done"),
    [
        pytest.param(
            [U, calls(call())],
            [U, calls(call()), result(content=STAND_IN)],
            ["messages[1].tool_calls[0]: CALL_UNANSWERED"],
            ["messages[1].tool_calls[0]: CALL_UNANSWERED"],
            id="a call without a result",
        ),
        pytest.param(
            [U, calls(call("a"), call("b")), result("b"), U],
            [U, calls(call("a"), call("b")), result("a", STAND_IN), result("b"), U],
            ["messages[1].tool_calls[0]: CALL_UNANSWERED"],
            ["messages[1].tool_calls[0]: CALL_UNANSWERED"],
            id="one of two without",
        ),
        pytest.param(
            [U, calls(call()), U, result()],
            [U, calls(call()), result(), U],
            ["messages[3]: RESULT_DISPLACED"],
            ["messages[3]: RESULT_DISPLACED"],
            id="a late result",
        ),
        pytest.param(
            [U, result(), calls(call())],
            [U, calls(call()), result()],
            ["messages[1]: RESULT_DISPLACED"],
            ["messages[1]: RESULT_DISPLACED"],
            id="a result before its call",
        ),
        pytest.param(
            [U, result("gone", "42")],
            [U],
            ["messages[1]: RESULT_ORPHAN"],
            ["messages[1]: RESULT_ORPHAN"],
            id="a result without a call",
        ),
        pytest.param(
            [U, calls(call()), result(content="old"), result(content="new")],
            [U, calls(call()), result(content="new")],
            ["messages[3]: RESULT_DUPLICATE"],
            ["messages[2]: RESULT_DUPLICATE"],
            id="two results",
        ),
        pytest.param(
            [U, calls(call()), result(content="aborted"), U, result(content="real")],
            [U, calls(call()), result(content="real"), U],
            ["messages[4]: RESULT_DUPLICATE"],
            ["messages[4]: RESULT_DISPLACED", "messages[2]: RESULT_DUPLICATE"],
            id="a stand-in, then the real one",
        ),
        pytest.param(
            [U, calls(call("a", '{"i":1}'), call("a", '{"i":2}')), result("a", "1"), result("a", "2")],
            [U, calls(call("a", '{"i":1}'), call("a_2", '{"i":2}')), result("a", "1"), result("a_2", "2")],
            ["messages[1].tool_calls[1].id: ID_DUPLICATE"],
            ["messages[1].tool_calls[1]: ID_DUPLICATE"],
            id="one id twice in a turn",
        ),
        pytest.param(
            [U, calls(call("a"), call("a")), result("a", "1")],
            [U, calls(call("a")), result("a", "1")],
            ["messages[1].tool_calls[1].id: ID_DUPLICATE", "messages[1].tool_calls[1]: CALL_UNANSWERED"],
            ["messages[1].tool_calls[1]: ID_DUPLICATE"],
            id="a call stored twice",
        ),
        pytest.param(
            [U, calls(call("")), result("")],
            [U, calls(call("call_0_0")), result("call_0_0")],
            ["messages[1].tool_calls[0].id: ID_MISSING", "messages[1].tool_calls[0]: CALL_UNANSWERED", "messages[2]: RESULT_ORPHAN"],
            ["messages[1].tool_calls[0]: ID_MISSING"],
            id="no ids",
        ),
        pytest.param(
            [U, calls(call(None)), {"role": "tool", "content": "r"}],
            [U, calls(call("call_0_0")), result("call_0_0")],
            ["messages[1].tool_calls[0].id: ID_MISSING", "messages[1].tool_calls[0]: CALL_UNANSWERED", "messages[2]: RESULT_ORPHAN"],
            ["messages[1].tool_calls[0]: ID_MISSING"],
            id="ids that are not there at all",
        ),
        pytest.param(
            [U, calls(call(7)), result(7)],
            [U, calls(call("call_0_0")), result("call_0_0")],
            ["messages[1].tool_calls[0].id: ID_MISSING", "messages[1].tool_calls[0]: CALL_UNANSWERED", "messages[2]: RESULT_ORPHAN"],
            ["messages[1].tool_calls[0]: ID_MISSING"],
            id="ids that are numbers",
        ),
        pytest.param(
            [U, calls(call(LONG)), result(LONG)],
            [U, calls(call(SHORT)), result(SHORT)],
            ["messages[1].tool_calls[0].id: ID_LENGTH"],
            ["messages[1].tool_calls[0]: ID_LENGTH"],
            id="an id that is too long",
        ),
        pytest.param(
            [U, calls(call(arguments={"a": 1})), result()],
            [U, calls(call(arguments='{"a":1}')), result()],
            ["messages[1].tool_calls[0].function.arguments: ARGS_TYPE"],
            ["messages[1].tool_calls[0]: ARGS_TYPE"],
            id="arguments as an object",
        ),
        pytest.param(
            [U, calls(call(arguments=None)), result()],
            [U, calls(call(arguments="{}")), result()],
            ["messages[1].tool_calls[0].function.arguments: ARGS_TYPE"],
            ["messages[1].tool_calls[0]: ARGS_TYPE"],
            id="null for arguments",
        ),
        pytest.param(
            [U, calls(call(arguments="")), result()],
            [U, calls(call(arguments="{}")), result()],
            ["messages[1].tool_calls[0].function.arguments: ARGS_UNPARSABLE"],
            ["messages[1].tool_calls[0]: ARGS_TYPE"],
            id="blank arguments",
        ),
        pytest.param(
            [U, calls(call(arguments='{"path": "a')), result()],
            [U, calls(call(arguments='{"_raw":"{\\"path\\": \\"a"}')), result()],
            ["messages[1].tool_calls[0].function.arguments: ARGS_UNPARSABLE"],
            ["messages[1].tool_calls[0]: ARGS_UNPARSABLE"],
            id="arguments that were cut off",
        ),
        pytest.param(
            [U, calls(call(arguments="[1]")), result()],
            [U, calls(call(arguments='{"_raw":"[1]"}')), result()],
            ["messages[1].tool_calls[0].function.arguments: ARGS_NOT_OBJECT"],
            ["messages[1].tool_calls[0]: ARGS_NOT_OBJECT"],
            id="arguments that are a list",
        ),
        pytest.param(
            [U, calls(call(arguments='{"a":"\\ud83d"}')), result()],
            [U, calls(call(arguments='{"a":"\ufffd"}')), result()],
            ["messages[1].tool_calls[0].function.arguments: SURROGATE_LONE"],
            ["messages[1].tool_calls[0]: SURROGATE_LONE"],
            id="half a pair inside the arguments",
        ),
        pytest.param(
            [{"role": "user", "content": "\ud83c\udf78 \ud83d"}],
            [{"role": "user", "content": "\U0001f378 \ufffd"}],
            ["messages[0].content: SURROGATE_LONE"],
            ["messages[0].content: SURROGATE_LONE"],
            id="halves of pairs in a text",
        ),
        pytest.param(
            [U, calls(call(name="a.b"), call("c2", name="a_b")), result(), result("c2")],
            [U, calls(call(name="a_b_12734df7"), call("c2", name="a_b")), result(), result("c2")],
            ["messages[1].tool_calls[0].function.name: NAME_PATTERN"],
            ["messages[1].tool_calls[0]: NAME_PATTERN"],
            id="a name that would become another's",
        ),
        pytest.param(
            [U, calls(call(name="")), result()],
            [U, calls(call(name="unnamed")), result()],
            ["messages[1].tool_calls[0].function.name: NAME_PATTERN"],
            ["messages[1].tool_calls[0]: NAME_PATTERN"],
            id="no name",
        ),
        pytest.param(
            [{"role": "user", "content": None}, calls(call()), result(content=None)],
            [{"role": "user", "content": ""}, calls(call()), result(content="")],
            ["messages[0].content: CONTENT_NULL", "messages[2].content: CONTENT_NULL"],
            ["messages[0]: CONTENT_NULL", "messages[2]: CONTENT_NULL"],
            id="null for content",
        ),
        pytest.param(
            [{"role": "user", "content": []}, calls(call(), content=[]), result()],
            [{"role": "user", "content": ""}, calls(call()), result()],
            ["messages[0].content: TEXT_EMPTY", "messages[1].content: TEXT_EMPTY"],
            ["messages[0]: TEXT_EMPTY", "messages[1]: TEXT_EMPTY"],
            id="lists without parts",
        ),
        pytest.param(
            [U, {"role": "assistant", "content": ""}, U, {"role": "assistant"}],
            [U, U],
            ["messages[1]: MESSAGE_EMPTY", "messages[3]: MESSAGE_EMPTY"],
            ["messages[1]: MESSAGE_EMPTY", "messages[3]: MESSAGE_EMPTY"],
            id="assistant messages that say nothing",
        ),
        pytest.param(
            [U, {**SAID, "tool_calls": []}],
            [U, SAID],
            ["messages[1].tool_calls: FIELD_UNKNOWN"],
            ["messages[1]: FIELD_UNKNOWN"],
            id="an empty list of calls",
        ),
        pytest.param(
            [U, calls(call()), result(content=[{"type": "text", "text": "see"}, PICTURE]), SAID],
            [
                U,
                calls(call()),
                result(content=[{"type": "text", "text": "see"}]),
                {"role": "user", "content": [{"type": "text", "text": "From the result of c1:"}, PICTURE]},
                SAID,
            ],
            ["messages[2].content[1]: IMAGE_ROLE"],
            ["messages[2]: IMAGE_ROLE"],
            id="a picture in a result",
        ),
        pytest.param(
            [U, calls(call("a"), call("b")), result("a", [PICTURE]), result("b")],
            [
                U,
                calls(call("a"), call("b")),
                result("a", [{"type": "text", "text": "(see below)"}]),
                result("b"),
                {"role": "user", "content": [{"type": "text", "text": "From the result of a:"}, PICTURE]},
            ],
            ["messages[2].content[0]: IMAGE_ROLE"],
            ["messages[2]: IMAGE_ROLE"],
            id="a picture behind which another result stands",
        ),
        pytest.param(
            [U, {"role": "assistant", "content": [{"type": "text", "text": "look"}, PICTURE]}],
            [U, {"role": "assistant", "content": [{"type": "text", "text": "look"}]}],
            ["messages[1].content[1]: IMAGE_ROLE"],
            ["messages[1].content[1]: IMAGE_ROLE"],
            id="a picture from the assistant",
        ),
    ],
)  # fmt: skip
def test_each_fault_heals_alone(history: list[Json], healed: list[Json], found: list[str], done: list[str]) -> None:
    """Found where it stands, mended and reported, and the rest untouched."""
    before = copy.deepcopy(history)
    assert [f"{each.path}: {each.code}" for each in diagnose(history, "openai-chat")] == found
    out = heal(history, "openai-chat")
    assert out.history == healed
    assert [f"{each.path}: {each.code}" for each in out.changes] == done
    assert all(each.rules for each in out.changes)
    assert heal(out.history, "openai-chat").history is out.history
    assert history == before


VALID: list[list[Json]] = [
    [U],
    [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    [{"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}, PICTURE], "name": "ada"}],
    [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA", "detail": "low"}}]}],
    [{"role": "user", "content": ""}],
    [{"role": "developer", "content": "d"}, {"role": "system", "content": [{"type": "text", "text": "x"}]}, U],
    [U, calls(call(arguments='{ "a" :1, "a":2}')), result(content="")],
    [U, {"role": "assistant", "tool_calls": [call(index=0)]}, {**result(content=[{"type": "text", "text": "r"}]), "name": "f"}],
    [U, calls(call("a"), call("b")), result("b"), result("a"), SAID],
    [U, calls(call("a")), result("a", "1"), calls(call("a")), result("a", "2"), U],
    [U, {**calls(call(), content=""), "refusal": None, "annotations": []}, result()],
    [U, {**SAID, "reasoning_content": "hm", "refusal": None}, U, U],
    [U, {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "no"}]}],
    [U, {"role": "assistant", "content": None, "refusal": "I will not."}],
    [U, {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}, {"role": "function", "name": "f", "content": "r"}],
    [U, {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "f", "input": "x = 1"}}]}, result()],
    [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}, {"type": "file", "file": {"file_id": "f1"}}]}],
    [{"role": "user", "content": [{"type": "file", "file": {"file_data": "data:application/pdf;base64,AA", "filename": "a.pdf"}}]}],
    [{"role": "user", "content": [{"type": "hologram", "x": 1}]}, {"role": "narrator", "content": "x"}],
    [U, {**SAID, "tool_calls": None}],
    [U, {"role": "assistant", "content": None, "audio": {"id": "a1"}}],
]  # fmt: skip


@pytest.mark.parametrize("history", VALID)
def test_what_is_valid_is_the_same_object(history: list[Json]) -> None:
    """No shape that the provider takes is touched, and reading it loses nothing."""
    before = copy.deepcopy(history)
    out = heal(history, "openai-chat")
    assert out.history is history
    assert (out.changes, out.hints, out.changed) == ([], [], False)
    assert all(each.severity == "DEG" for each in diagnose(history, "openai-chat"))
    assert dump_messages(load_messages(history, "openai-chat"), "openai-chat") == {"messages": history}
    assert history == before


def test_what_did_not_change_is_the_very_object() -> None:
    """Beside a fault, whole messages, calls and content are handed back as they came, unknown keys included."""
    kept = calls(call("a", '{ "x": 1 }', index=0), call("b", {"y": 2}))
    history = [{**U, "name": "ada"}, {**kept, "x_trace": 7}, result("a"), result("b"), {**SAID, "annotations": []}]
    out = heal(history, "openai-chat").history
    assert isinstance(out, list)
    assert out[0] is history[0]
    assert out[4] is history[4]
    assert out[1]["tool_calls"][0] is kept["tool_calls"][0]
    assert out[1] == {**kept, "x_trace": 7, "tool_calls": [kept["tool_calls"][0], call("b", '{"y":2}')]}


def test_other_keys_of_a_request_stay() -> None:
    """A dict comes back as a dict, with everything that is not messages as it was."""
    tools = [{"type": "function", "function": {"name": "f"}}]
    request = {"model": "m", "tools": tools, "messages": [U, calls(call())], "timeout": object()}
    out = heal(request, "openai-chat").history
    assert isinstance(out, dict)
    assert out["tools"] is tools
    assert list(out) == ["model", "tools", "messages", "timeout"]
    assert request["messages"] == [U, calls(call())]


def test_dropped_words_are_in_the_report() -> None:
    """The full text of what goes, and the id of the call, are kept for the caller."""
    text = "42 rows " * 1000
    done = heal([U, result("gone", text)], "openai-chat").changes
    assert [(each.call_id, each.detail, each.lost, each.rules) for each in done] == [
        ("gone", text, "result", ("OAI-ORPHAN-TOOL",))
    ]


def test_orphans_can_be_quoted() -> None:
    """A result without a call can become a note of the user's."""
    out = heal([U, result("gone", "42 rows")], "openai-chat", orphans="quote").history
    assert isinstance(out, list)
    assert [message["role"] for message in out] == ["user", "user"]
    assert "42 rows" in str(out[1]["content"])


@pytest.mark.parametrize(
    ("pending", "messages"),
    [
        ("answer", [U, calls(call("a"), call("b")), result("a"), result("b", STAND_IN)]),
        ("keep", [U, calls(call("a"), call("b")), result("a")]),
        ("drop", [U, calls(call("a")), result("a")]),
    ],
)
def test_the_last_turn_is_the_callers(pending: Any, messages: list[Json]) -> None:
    """Unanswered calls of the end are answered, kept for the caller to run, or dropped."""
    history = [U, calls(call("a"), call("b")), result("a")]
    out = heal(history, "openai-chat", pending=pending)
    assert out.history == messages
    assert (out.history is history) == (pending == "keep")


def test_a_dialect_can_be_named() -> None:
    """Who copies the API knows no role 'developer'."""
    history = [{"role": "developer", "content": "d"}, U]
    assert heal(history, "openai-chat").history is history
    assert heal(history, "openai-chat", target="openai-chat:deepseek").history == [{"role": "system", "content": "d"}, U]
    assert heal(history, "openai-chat:groq").history == [{"role": "system", "content": "d"}, U]


def test_a_result_that_stands_elsewhere_leaves_its_call_unanswered() -> None:
    """Both rules are named; the provider has one text for them, so it is known to refuse."""
    (found,) = diagnose([U, calls(call()), U, result()], "openai-chat")
    assert found.rules == ("OAI-INTERLEAVED", "OAI-CALL-UNANSWERED")
    assert found.refused


def test_functions_of_old_are_openais_own() -> None:
    """They are left as they came, with a warning."""
    function = {"role": "function", "name": "f", "content": "r"}
    history = [U, {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}, function]
    assert heal(history, "openai-chat").history is history
    assert [(each.rules, each.severity) for each in diagnose(history, "openai-chat")] == [(("OAI-LEGACY-FUNCTION",), "DEG")]


@pytest.mark.parametrize(
    ("history", "text"),
    [
        (
            [U, calls(call("a"), call("b")), U],
            (
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
                "The following tool_call_ids did not have response messages: a, b"
            ),
        ),
        (
            [U, result("gone")],
            (
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. "
                "(messages.[1].role)"
            ),
        ),
        (
            [U, calls(call(LONG)), result(LONG)],
            (
                "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a "
                "string with length 41 instead."
            ),
        ),
        (
            [U, calls(call()), result(content=[PICTURE])],
            (
                "Invalid 'messages[2]'. Image URLs are only allowed for messages with role 'user', but this message with role "
                "'tool' contains an image URL."
            ),
        ),
    ],
    ids=["unanswered", "orphan", "long", "picture"],
)
def test_a_finding_tells_what_the_provider_answers(history: list[Json], text: str) -> None:
    """The refusal reads as in the reports, filled with the ids and places of this history."""
    assert refusal(diagnose(history, "openai-chat")[0]) == text
