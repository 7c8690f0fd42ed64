"""Anthropic's Messages: each fault alone, what is found, what it becomes, and what is left as it came."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from suture.healing import diagnose, dump_messages, heal, load_messages, refusal
from suture.repair import stand_in_text

Json = dict[str, Any]


def text(words: str = "q", **more: object) -> Json:
    return {"type": "text", "text": words, **more}


def use(id: object = "t1", input: object = None, name: object = "f", **more: object) -> Json:
    return {"type": "tool_use", "id": id, "name": name, "input": {} if input is None else input, **more}


def result(id: object = "t1", content: object = "r", **more: object) -> Json:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def said(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


U = user(text())
DONE = said(text("done"))
THOUGHT: Json = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
UNSIGNED: Json = {"type": "thinking", "thinking": "hm"}
SEARCH: Json = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND: Json = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
STAND_IN = result(content=stand_in_text("unknown"), is_error=True)
CONTINUED = user(text("(conversation continues)"))
NULL = use()
NULL["input"] = None


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
            [U, said(use()), user(text("wait"), result()), DONE],
            [U, said(use()), user(result(), text("wait")), DONE],
            ["messages[2].content[1]: RESULT_NOT_FIRST"],
            ["messages[2].content[1]: RESULT_NOT_FIRST"],
            id="a result behind words",
        ),
        pytest.param(
            [U, said(use("a"), use("b")), user(result("a")), user(result("b")), DONE],
            [U, said(use("a"), use("b")), user(result("a"), result("b")), DONE],
            ["messages[3].content[0]: RESULT_SPLIT"],
            ["messages[3].content[0]: RESULT_SPLIT"],
            id="results spread over two messages",
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
            [user(result("gone", "42"), text("keep")), DONE],
            [user(text("keep")), DONE],
            ["messages[0].content[0]: RESULT_ORPHAN"],
            ["messages[0].content[0]: RESULT_ORPHAN"],
            id="a result without a call",
        ),
        pytest.param(
            [U, said(use()), user(result(content="old"), result(content="new"))],
            [U, said(use()), user(result(content="new"))],
            ["messages[2].content[1]: RESULT_DUPLICATE"],
            ["messages[2].content[0]: RESULT_DUPLICATE"],
            id="two results",
        ),
        pytest.param(
            [U, said(use()), user(result()), said(use(input={"n": 2})), user(result(content="s")), DONE],
            [U, said(use()), user(result()), said(use("t1_2", {"n": 2})), user(result("t1_2", "s")), DONE],
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
            [U, said(use(input='{"a": 1}')), user(result())],
            [U, said(use(input={"a": 1})), user(result())],
            ["messages[1].content[0]: ARGS_TYPE"],
            ["messages[1].content[0]: ARGS_TYPE"],
            id="input as text",
        ),
        pytest.param(
            [U, said(NULL), user(result())],
            [U, said(use()), user(result())],
            ["messages[1].content[0]: ARGS_NOT_OBJECT"],
            ["messages[1].content[0]: ARGS_TYPE"],
            id="null for input",
        ),
        pytest.param(
            [U, said(use(input='{"a": ')), user(result())],
            [U, said(use(input={"_raw": '{"a": '})), user(result())],
            ["messages[1].content[0]: ARGS_TYPE"],
            ["messages[1].content[0]: ARGS_UNPARSABLE"],
            id="input that was cut off",
        ),
        pytest.param(
            [U, said(use(name="my tool")), user(result())],
            [U, said(use(name="my_tool")), user(result())],
            ["messages[1].content[0]: NAME_PATTERN"],
            ["messages[1].content[0]: NAME_PATTERN"],
            id="a name of other characters",
        ),
        pytest.param(
            [U, said(use(), text("I will look"), use("t2")), user(result(), result("t2"))],
            [U, said(text("I will look"), use(), use("t2")), user(result(), result("t2"))],
            ["messages[1].content[1]: CALL_NOT_TAIL"],
            ["messages[1].content[1]: CALL_NOT_TAIL"],
            id="words behind a call",
        ),
        pytest.param(
            [U, said(use()), DONE, user(result())],
            [U, said(use()), user(result()), DONE],
            ["messages[1].content[0]: CALL_NOT_TAIL"],
            ["messages[3].content[0]: RESULT_DISPLACED"],
            id="words in the next message of the assistant",
        ),
        pytest.param(
            [U, said(use(), THOUGHT, text("so")), user(result())],
            [U, said(text("so"), use()), user(result())],
            ["messages[1].content[1]: CALL_NOT_TAIL", "messages[1].content[2]: CALL_NOT_TAIL"],
            ["messages[1].content[1]: THINKING_MODIFIED", "messages[1].content[2]: CALL_NOT_TAIL"],
            id="thinking behind a call",
        ),
        pytest.param(
            [U, said(UNSIGNED, text("a"), use()), user(result()), U],
            [U, said(text("a"), use()), user(result()), U],
            ["messages[1].content[0]: THINKING_UNSIGNED"],
            ["messages[1].content[0]: THINKING_UNSIGNED"],
            id="thinking without a signature",
        ),
        pytest.param(
            [U, said(UNSIGNED), U],
            [user(text(), text())],
            ["messages[1].content[0]: THINKING_UNSIGNED"],
            ["messages[1].content[0]: THINKING_UNSIGNED", "messages[1]: MESSAGE_EMPTY"],
            id="nothing but such thinking",
        ),
        pytest.param(
            [U, said(THOUGHT, text(" "), {**THOUGHT, "signature": "c2lo"}, text("a")), U],
            [U, said(text("a")), U],
            ["messages[1].content[1]: TEXT_BLANK"],
            ["messages[1].content[1]: TEXT_BLANK", "messages[1].content[0]: THINKING_MODIFIED", "messages[1].content[2]: THINKING_MODIFIED"],
            id="a blank text between thoughts",
        ),
        pytest.param(
            [U, said(text("a"), SEARCH), U],
            [U, said(text("a")), U],
            ["messages[1].content[1]: SERVER_CALL_UNPAIRED"],
            ["messages[1].content[1]: SERVER_CALL_UNPAIRED"],
            id="a server tool without its result",
        ),
        pytest.param(
            [U, said(FOUND, text("a")), U],
            [U, said(text("a")), U],
            ["messages[1].content[0]: SERVER_RESULT_ORPHAN"],
            ["messages[1].content[0]: SERVER_RESULT_ORPHAN"],
            id="a server tool's result without its call",
        ),
        pytest.param(
            [U, said(SEARCH), said(FOUND, text("a")), U],
            [U, said(SEARCH, FOUND, text("a")), U],
            ["messages[1].content[0]: SERVER_CALL_UNPAIRED", "messages[2].content[0]: SERVER_RESULT_ORPHAN"],
            ["messages[2]: SERVER_RESULT_ORPHAN"],
            id="a server tool's result in the next message",
        ),
        pytest.param(
            [U, said(text(""), use()), user(result())],
            [U, said(use()), user(result())],
            ["messages[1].content[0]: TEXT_EMPTY"],
            ["messages[1].content[0]: TEXT_EMPTY"],
            id="an empty text beside a call",
        ),
        pytest.param(
            [U, said(), user(text("r"))],
            [user(text(), text("r"))],
            ["messages[1]: MESSAGE_EMPTY"],
            ["messages[1]: MESSAGE_EMPTY"],
            id="an assistant message that says nothing",
        ),
        pytest.param(
            [U, DONE, {"role": "user", "content": " "}, DONE],
            [U, DONE, {"role": "user", "content": "(no content)"}, DONE],
            ["messages[2].content: TEXT_BLANK"],
            ["messages[2]: TEXT_BLANK", "messages[2]: MESSAGE_EMPTY"],
            id="a user message that says nothing",
        ),
        pytest.param(
            [U, said(use()), user(result(content=[text(" "), text("r")], is_error=True))],
            [U, said(use()), user(result(content=[text("r")], is_error=True))],
            ["messages[2].content[0].content[0]: TEXT_BLANK"],
            ["messages[2].content[0]: TEXT_BLANK"],
            id="a blank text in a result",
        ),
        pytest.param(
            [U, said(use()), user(result(content=[text("")]))],
            [U, said(use()), user(result(content=[text("(no output)")]))],
            ["messages[2].content[0].content[0]: TEXT_EMPTY"],
            ["messages[2].content[0]: TEXT_BLANK"],
            id="a result that says nothing, in a list",
        ),
        pytest.param(
            [U, said(use()), user(result(content="", is_error=True))],
            [U, said(use()), user(result(content="The tool failed and said nothing.", is_error=True))],
            ["messages[2].content[0]: RESULT_EMPTY_ERROR"],
            ["messages[2].content[0]: RESULT_EMPTY_ERROR"],
            id="an error that says nothing",
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
            [user(*(text(str(n), cache_control={"type": "ephemeral"}) for n in range(5)))],
            [user(text("0"), *(text(str(n), cache_control={"type": "ephemeral"}) for n in range(1, 5)))],
            ["messages: CACHE_MARKS"],
            ["messages[0].content[0]: CACHE_MARKS"],
            id="five marks for the cache",
        ),
        pytest.param(
            [user(text(), use()), user(result()), DONE],
            [user(text()), said(use()), user(result()), DONE],
            ["messages[0].content[1]: CALL_MISPLACED", "messages[1].content[0]: RESULT_ORPHAN"],
            ["messages[0].content[1]: CALL_MISPLACED"],
            id="a call in the user's message, and its result",
        ),
    ],
)  # fmt: skip
def test_each_fault_heals_alone(history: list[Json], healed: list[Json], found: list[str], done: list[str]) -> None:
    """Found where it stands, mended and reported, and the rest untouched."""
    before = copy.deepcopy(history)
    assert [f"{each.path}: {each.code}" for each in diagnose(history, "anthropic")] == found
    out = heal(history, "anthropic")
    assert out.history == healed
    assert [f"{each.path}: {each.code}" for each in out.changes] == done
    assert all(each.rules for each in out.changes)
    assert heal(out.history, "anthropic").history is out.history
    assert history == before


VALID: list[list[Json]] = [
    [{"role": "user", "content": "hi"}],
    [U, {"role": "assistant", "content": "yo"}, U],
    [U, said(THOUGHT, {"type": "redacted_thinking", "data": "d"}, text("x", citations=[{"a": 1}]), use(cache_control={"type": "ephemeral"})), user(result(), text("more"))],
    [U, said(use("a"), use("b")), user({"type": "tool_result", "tool_use_id": "b"}, result("a", [text("r")], is_error=True))],
    [U, said(use("a"), use("b")), user(result("a", [], is_error=False), result("b", [text("r"), {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}]))],
    [user({"type": "image", "source": {"type": "url", "url": "http://x"}}, {"type": "document", "source": {"type": "file", "file_id": "f"}, "title": "t", "citations": {"enabled": True}})],
    [user({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}, {"type": "search_result", "source": "x", "title": "y", "content": []})],
    [U, said(SEARCH, FOUND, text("x"), use()), user(result())],
    [U, said(text("a"), SEARCH)],
    [U, DONE],
]  # fmt: skip
# Neighbours of one role are joined by the API; reading joins them too, so only healing leaves them apart.
NEIGHBOURS: list[list[Json]] = [
    [U, U, DONE, {"role": "system", "content": "be brief"}, U],
    [U, said(use("a")), said(use("b")), user(result("a"), result("b")), U],
    [U, said(text("a")), said(use("a")), user(result("a")), U, DONE, DONE],
    [{"role": "user", "content": "q", "id": "m1"}, user({"type": "hologram"}), {"role": "narrator", "content": "x"}],
]


@pytest.mark.parametrize("history", [*VALID, *NEIGHBOURS])
def test_what_is_valid_is_the_same_object(history: list[Json]) -> None:
    """No shape that the provider takes is touched."""
    before = copy.deepcopy(history)
    out = heal(history, "anthropic")
    assert out.history is history
    assert (out.changes, out.hints, out.changed) == ([], [], False)
    assert all(each.severity == "DEG" for each in diagnose(history, "anthropic"))
    assert history == before


@pytest.mark.parametrize("history", VALID)
def test_reading_loses_nothing(history: list[Json]) -> None:
    """What is read and written back is what came, unknown keys, shapes and blocks included."""
    assert dump_messages(load_messages(history, "anthropic"), "anthropic") == {"messages": history}
    request = {"system": [text("s", cache_control={"type": "ephemeral"})], "messages": history}
    assert dump_messages(load_messages(request, "anthropic"), "anthropic") == request


def test_what_did_not_change_is_the_very_object() -> None:
    """Beside a fault, whole messages and blocks are handed back as they came, unknown keys included."""
    odd = {"type": "hologram", "x": 1}
    history = [
        {**U, "id": "m1"},
        said(text("a", citations=[]), odd, use("a"), use("b c")),
        user(result("a"), result("b c"), text("so")),
        DONE,
    ]
    out = heal(history, "anthropic").history
    assert isinstance(out, list)
    assert out[0] is history[0]
    assert out[3] is history[3]
    assert [new is old for new, old in zip(out[1]["content"], history[1]["content"], strict=True)] == [
        True,
        True,
        True,
        False,
    ]
    assert [new is old for new, old in zip(out[2]["content"], history[2]["content"], strict=True)] == [True, False, True]


def test_a_foreign_fault_moves_nobody_else() -> None:
    """Messages that may stay apart do, in a history that has to be healed elsewhere."""
    fine = [U, U, said(use("a")), said(use("b")), user(result("a"), result("b")), U, DONE]
    out = heal([*fine, U, said(use("z"))], "anthropic").history
    assert isinstance(out, list)
    assert all(new is old for new, old in zip(out, fine, strict=False))


@pytest.mark.parametrize(
    ("request_", "healed"),
    [
        (
            {"messages": [{"role": "system", "content": "s"}, U]},
            {"system": "s", "messages": [U]},
        ),
        (
            {"system": "a", "messages": [{"role": "system", "content": [text("b")]}, U], "model": "m"},
            {"system": [text("a"), text("b")], "messages": [U], "model": "m"},
        ),
        (
            {"system": [text("a", cache_control={}), text(" ")], "messages": [U]},
            {"system": [text("a", cache_control={})], "messages": [U]},
        ),
        ({"system": [text("")], "messages": [U]}, {"messages": [U]}),
    ],
)
def test_system_text_stands_apart(request_: Json, healed: Json) -> None:
    """In a request it moves out of the messages, and blank texts leave it."""
    out = heal(request_, "anthropic")
    assert out.history == healed
    assert out.changed


def test_a_list_has_no_place_for_system_text() -> None:
    """Leading system text becomes the user's words, and the caller is told to pass it apart."""
    out = heal([{"role": "system", "content": "s"}, DONE], "anthropic")
    assert out.history == [user(text("[System message]"), text("s")), DONE]
    assert out.hints == ["system: pass the leading system text as the request's own 'system'"]


def test_newer_models_want_the_users_word_last() -> None:
    """Claude 4.6 and later take no prefill; older ones, and unnamed ones, do."""
    history = [U, said(text("partial"))]
    for target in ("anthropic", "anthropic:claude-3-5-sonnet-20241022", "anthropic:claude-sonnet-4-20250514"):
        assert heal(history, "anthropic", target=target).history is history
    for target in ("anthropic:claude-opus-4-6", "anthropic:claude-sonnet-5", "anthropic:claude-fable-5.1"):
        assert heal(history, "anthropic", target=target).history == [*history, user(text("Continue."))]


def test_what_only_the_caller_can_do_is_a_hint() -> None:
    """With thinking on, a turn in a tool loop must begin with its thinking; healing never forges it."""
    thinking, tools = {"type": "enabled", "budget_tokens": 2000}, [{"name": "f", "input_schema": {"type": "object"}}]
    request = {"thinking": thinking, "tools": tools, "messages": [U, said(use()), user(result())]}
    out = heal(request, "anthropic")
    assert out.history is request
    assert out.hints == ["thinking: off"]
    assert [each.code for each in diagnose(request, "anthropic")] == ["THINKING_NOT_FIRST"]
    lost = heal([U, said(UNSIGNED, use()), user(result())], "anthropic")
    assert lost.hints == ["thinking: off"]


PAIR = (SEARCH, FOUND)
TWICE = {**THOUGHT, "signature": "c2lo"}
BY_CODE = {"type": "code_execution_20250825", "tool_id": "srvtoolu_9"}
CODE = {"type": "server_tool_use", "id": "srvtoolu_9", "name": "code_execution", "input": {"code": "await f()"}}
RAN = {
    "type": "code_execution_tool_result",
    "tool_use_id": "srvtoolu_9",
    "content": {"type": "code_execution_result", "stdout": "1", "stderr": "", "return_code": 0, "content": []},
}
NONE_GIVEN = {**THOUGHT, "signature": "reasoning_content"}


@pytest.mark.parametrize(
    ("history", "healed", "found"),
    [
        pytest.param(
            [U, said(CODE, use(caller=BY_CODE)), U],
            [U, said(CODE, use(caller=BY_CODE)), user(STAND_IN, text())],
            [("CALL_UNANSWERED", ["ANT-ADJ-RESULT"], "REJ")],
            id="code that waits for a result keeps its own open",
        ),
        pytest.param(
            [U, said(CODE, use(caller=BY_CODE)), user(result()), said(RAN, text("1"))],
            None,
            [],
            id="code whose result comes in a later message",
        ),
        pytest.param(
            [U, said(SEARCH), user(FOUND, text("and?")), DONE],
            [U, said(SEARCH, FOUND), user(text("and?")), DONE],
            [("SERVER_CALL_UNPAIRED", ["ANT-SRV-UNPAIRED"], "REJ"), ("CALL_MISPLACED", ["ANT-USE-ROLE"], "REJ")],
            id="a server's result stored as the user's message",
        ),
        pytest.param(
            [U, user(SEARCH, FOUND, text("and?")), DONE],
            [U, said(SEARCH, FOUND), user(text("and?")), DONE],
            [("CALL_MISPLACED", ["ANT-USE-ROLE"], "REJ"), ("CALL_MISPLACED", ["ANT-USE-ROLE"], "REJ")],
            id="a server's pair stored as the user's message",
        ),
        pytest.param(
            [U, user(FOUND, text("and?")), DONE],
            [user(text(), text("and?")), DONE],
            [("CALL_MISPLACED", ["ANT-USE-ROLE"], "REJ")],
            id="a server's result of which the call is gone, in the user's message",
        ),
        pytest.param(
            [user(text(), SEARCH), DONE, U],
            [user(text()), DONE, U],
            [("CALL_MISPLACED", ["ANT-USE-ROLE"], "REJ")],
            id="a server's call without a result, in the user's message",
        ),
        pytest.param(
            [U, said(use(caller=BY_CODE)), user(result())],
            [U, said(use()), user(result())],
            [("CALLER_DANGLING", ["ANT-CALLER-SRC"], "REJ")],
            id="a call by code that is gone",
        ),
        pytest.param(
            [U, said(use(caller={"type": "direct"})), user(result())], None, [], id="a call that the model made itself"
        ),
        pytest.param(
            [U, said({**SEARCH, "id": "call_1"}, {**FOUND, "tool_use_id": "call_1"}, text("a")), U],
            [U, said(text("[Used the tool web_search.]"), text("a")), U],
            [("ID_CHARS", ["ANT-SERVER-ID"], "REJ")],
            id="a search under another provider's id",
        ),
        pytest.param(
            [U, said(THOUGHT, *PAIR, TWICE, text("a")), U], None, [], id="a search between thoughts, its tool not offered any more"
        ),
        pytest.param(
            [U, said(THOUGHT, TWICE, use()), user(result())],
            None,
            [("THINKING_MODIFIED", ["ANT-SRV-KEEP", "ANT-THINK-FROZEN"], "DEG")],
            id="two thoughts side by side in the open turn",
        ),
        pytest.param([U, said(THOUGHT, TWICE, text("a")), U], None, [], id="two thoughts side by side in an earlier turn"),
        pytest.param(
            [U, said(THOUGHT, THOUGHT, use()), user(result())],
            [U, said(THOUGHT, use()), user(result())],
            [("THINKING_MODIFIED", ["ANT-THINK-FROZEN"], "REJ")],
            id="a thought that went in twice",
        ),
        pytest.param(
            [U, said(NONE_GIVEN, text("a")), U],
            [U, said(text("a")), U],
            [("THINKING_FOREIGN", ["ANT-THINK-SIG-BAD", "ANT-THINK-OLD"], "REJ")],
            id="a signature that is none, in an earlier turn",
        ),
        pytest.param(
            [U, said(NONE_GIVEN, use()), user(result())],
            [U, said(use()), user(result())],
            [("THINKING_FOREIGN", ["ANT-THINK-SIG-BAD"], "REJ")],
            id="a signature that is none, in the turn that goes on",
        ),
        pytest.param(
            [U, said({**THOUGHT, "cache_control": {"type": "ephemeral"}}, text("a")), U],
            [U, said(THOUGHT, text("a")), U],
            [("CACHE_MARKS", ["ANT-CACHE-EMPTY"], "REJ")],
            id="a mark on a thought",
        ),
        pytest.param(
            [user(text(), text("", cache_control={"type": "ephemeral"})), DONE],
            [user(text()), DONE],
            [("TEXT_EMPTY", ["ANT-EMPTY-TEXT", "ANT-CACHE-EMPTY"], "REJ")],
            id="a mark on an empty text",
        ),
        pytest.param(
            [user(text(), {"type": "input_text", "text": "and"}), DONE],
            [user(text(), text("and")), DONE],
            [("BLOCK_UNKNOWN", ["ANT-UNKNOWN-BLOCK"], "REJ")],
            id="words of another API",
        ),
        pytest.param(
            [user(text(), {"type": "text", "text": None}), DONE],
            [user(text()), DONE],
            [("TEXT_EMPTY", ["ANT-EMPTY-TEXT"], "REJ")],
            id="a text without words",
        ),
        pytest.param(
            [{"role": "narrator", "content": []}, U, DONE], None, [("ROLE_UNKNOWN", ["ANT-ROLE"], "DEG")], id="a role that nobody knows, at the head"
        ),
    ],
)  # fmt: skip
def test_what_only_its_maker_understands(history: list[Json], healed: list[Json] | None, found: list[Any]) -> None:
    """Tools that Anthropic runs, thoughts and marks: found by their rules, mended, and left alone where they are fine."""
    assert [(each.code, list(each.rules), each.severity) for each in diagnose(history, "anthropic")] == found
    out = heal(history, "anthropic")
    assert out.history == (healed or history)
    assert out.changed == (healed is not None)
    assert heal(out.history, "anthropic").history is out.history


OFF: Json = {"thinking": {"type": "disabled"}}
FINAL: Json = {"messages": [U, said(THOUGHT, text("a"))]}


@pytest.mark.parametrize(
    ("request_", "target", "gone"),
    [
        ({**FINAL, **OFF}, None, True),
        ({**FINAL, "model": "m"}, None, True),
        ({**FINAL, "system": "s"}, None, False),  # not a whole request: who knows what it will ask for
        ({**FINAL, "thinking": {"type": "enabled", "budget_tokens": 1024}}, None, False),
        ({**FINAL, "thinking": {"type": "adaptive"}}, None, False),
        ({**FINAL, **OFF}, "anthropic:claude-opus-4-6", False),  # the user speaks last there, so it is not final
        ({"messages": [U, said(THOUGHT, text("a")), U], **OFF}, None, False),
        ({"messages": [U, said(THOUGHT, use())], **OFF}, None, False),  # nor is a turn whose calls are answered
    ],
)
def test_without_thinking_no_final_message_holds_thoughts(request_: Json, target: str | None, gone: bool) -> None:
    """They are left out of a final message of the assistant's where the request turned thinking off, and only there."""
    found = {each.code for each in diagnose(request_, "anthropic", target)}
    assert ("THINKING_DISABLED_FINAL" in found) == gone
    out = heal(request_, "anthropic", target)
    assert isinstance(out.history, dict)
    assert ("thinking" in str(out.history["messages"])) == (not gone)
    assert [change.detail for change in out.changes if change.lost == "reasoning"] == (["hm"] if gone else [])


def test_a_history_with_calls_comes_with_tools() -> None:
    """A relay refuses it without, and gets stubs; the API itself takes it, and of a history alone nobody knows."""
    history = [U, said(use()), user(result())]
    request = {"messages": history, "model": "m"}
    assert diagnose(history, "anthropic") == diagnose(history, "anthropic", "anthropic:relay") == []
    assert [(each.code, each.severity) for each in diagnose(request, "anthropic")] == [("TOOLS_MISSING", "DEG")]
    assert heal(request, "anthropic").history is request
    assert heal(history, "anthropic", "anthropic:relay").history is history
    out = heal(request, "anthropic", "anthropic:bedrock").history
    assert isinstance(out, dict)
    assert [tool["name"] for tool in out["tools"]] == ["f"]


def test_a_found_tool_is_defined() -> None:
    """As a stub where it is gone; a set of tools, or a history alone, may hold it."""
    search = {"type": "server_tool_use", "id": "srvtoolu_3", "name": "tool_search_tool_regex", "input": {"pattern": "g"}}
    content = {"type": "tool_search_tool_search_result", "tool_references": [{"type": "tool_reference", "tool_name": "g"}]}
    found = {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_3", "content": content}
    messages = [U, said(search, found, text("a")), U]
    known = [{"name": "g", "input_schema": {"type": "object"}}]
    for fine in (
        messages,
        {"messages": messages, "tools": known},
        {"messages": messages, "tools": [{"type": "mcp_toolset"}]},
    ):
        assert diagnose(fine, "anthropic") == []
    out = heal({"messages": messages, "tools": []}, "anthropic")
    assert isinstance(out.history, dict)
    assert [tool["name"] for tool in out.history["tools"]] == ["g"]
    assert [(change.path, change.rules) for change in out.changes] == [("tools", ("ANT-TOOLREF",))]


def test_relays_refuse_neighbours() -> None:
    """There each two are joined, results first and unknown fields with them; thoughts stay apart by a word of the user's."""
    relay = "anthropic:relay"
    history = [
        U,
        said(use()),
        user(result()),
        {**user(text("and")), "x": 1},
        said(THOUGHT, text("a")),
        DONE,
        {"role": "user", "content": "so"},
    ]
    out = heal(history, "anthropic", relay)
    joined = {**user(result(), text("and")), "x": 1}
    assert out.history == [
        U,
        said(use()),
        joined,
        said(THOUGHT, text("a")),
        CONTINUED,
        DONE,
        {"role": "user", "content": "so"},
    ]
    assert [(change.path, change.code) for change in out.changes] == [
        ("messages[5]", "ROLE_REPEAT"),
        ("messages[3]", "ROLE_REPEAT"),
    ]
    assert heal(history, "anthropic").history is history
    assert heal(out.history, "anthropic", relay).history is out.history


@pytest.mark.parametrize(
    ("pending", "messages"),
    [
        ("answer", [U, said(use("a"), use("b")), user(result("a"), {**STAND_IN, "tool_use_id": "b"})]),
        ("keep", [U, said(use("a"), use("b")), user(result("a"))]),
        ("drop", [U, said(use("a")), user(result("a"))]),
    ],
)
def test_the_last_turn_is_the_callers(pending: Any, messages: list[Json]) -> None:
    """Unanswered calls of the end are answered, kept for the caller to run, or dropped."""
    history = [U, said(use("a"), use("b")), user(result("a"))]
    out = heal(history, "anthropic", pending=pending)
    assert out.history == messages
    assert (out.history is history) == (pending == "keep")


@pytest.mark.parametrize(
    ("history", "words"),
    [
        (
            [U, said(use("a"), use("b")), U],
            ("messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a, b. Each `tool_use` "
            "block must have a corresponding `tool_result` block in the next message."),
        ),
        (
            [user(result("gone"))],
            ("messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: gone. Each `tool_result` block "
            "must have a corresponding `tool_use` block in the previous message."),
        ),
        ([U, said(use("a b")), user(result("a b"))], "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"),
        ([U, said(UNSIGNED), U], "messages.1.content.0.thinking.signature: Field required"),
        ([U, said(use(name="a b")), user(result())], "messages.1.content.0.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"),
        ([user(text(" "))], "messages: text content blocks must contain non-whitespace text"),
        (
            [user(*(text(str(n), cache_control={}) for n in range(5)))],
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
    ],
    ids=["unanswered", "orphan", "id", "unsigned", "name", "blank", "marks"],
)  # fmt: skip
def test_a_finding_tells_what_the_provider_answers(history: list[Json], words: str) -> None:
    """The refusal reads as in the reports, filled with the ids and places of this history."""
    assert refusal(diagnose(history, "anthropic")[0]) == words
