"""OpenAI's Responses: each fault alone, what is found, what it becomes, and what is left as it came."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from suture.errors import HistoryError, UnhealableHistory, UnknownFormat
from suture.formats import detect, format_of
from suture.formats.base import Offer
from suture.formats.openai_responses.links import CHAIN_HINT
from suture.formats.openai_responses.outputs import BLANK
from suture.formats.rule import fill
from suture.healing import convert, diagnose, dump_messages, fit, heal, load_messages, refusal
from suture.messages import Assistant, File, Image, Message, Origin, Reasoning, System, Text, ToolCall, ToolResult, User
from suture.repair import stand_in_text

Json = dict[str, Any]
FORMAT = "openai-responses"
TOKEN = "gAAAAABoNotReallyAToken"


def user(words: object = "q", **more: object) -> Json:
    return {"type": "message", "role": "user", "content": words, **more}


def said(words: object = "done", **more: object) -> Json:
    return {"type": "message", "role": "assistant", "content": words, **more}


def call(call_id: object = "c1", name: object = "f", arguments: object = "{}", **more: object) -> Json:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, **more}


def out(call_id: object = "c1", output: object = "r", **more: object) -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": output, **more}


def custom(call_id: str = "c1", input: object = "raw", **more: object) -> Json:
    return {"type": "custom_tool_call", "call_id": call_id, "name": "g", "input": input, **more}


def thought(**more: object) -> Json:
    return {"type": "reasoning", "summary": [], **more}


def other(kind: str, **more: object) -> Json:
    return {"type": kind, "call_id": "c1", **more}


U, DONE = user(), said()
RS = thought(id="rs_1")
ENC = thought(id="rs_1", encrypted_content=TOKEN)
UNKNOWN = stand_in_text("unknown")
STAND_IN = out(output=UNKNOWN)
SEARCH: Json = {"type": "web_search_call", "id": "ws_1", "status": "completed"}


@pytest.mark.parametrize(
    ("history", "healed", "found", "done"),
    [
        # calls and outputs
        pytest.param(
            [U, call()], [U, call(), STAND_IN], ["input[1]: CALL_UNANSWERED"], None, id="a call without an output"
        ),
        pytest.param(
            [U, call(), U, DONE],
            [U, call(), STAND_IN, U, DONE],
            ["input[1]: CALL_UNANSWERED"],
            None,
            id="the user spoke instead",
        ),
        pytest.param(
            [U, call("a"), custom("b"), call("c"), out("a"), U],
            [
                U,
                call("a"),
                custom("b"),
                call("c"),
                out("a"),
                other("custom_tool_call_output", call_id="b", output=UNKNOWN),
                out("c", UNKNOWN),
                U,
            ],
            ["input[2]: CALL_UNANSWERED", "input[3]: CALL_UNANSWERED"],
            None,
            id="one of three has an output",
        ),
        pytest.param([U, out("gone"), DONE], [U, DONE], ["input[1]: RESULT_ORPHAN"], None, id="an output without a call"),
        pytest.param(
            [U, call(), out(), out(output="s"), DONE],
            [U, call(), out(output="s"), DONE],
            ["input[3]: RESULT_DUPLICATE"],
            ["input[2]: RESULT_DUPLICATE"],
            id="two outputs",
        ),
        pytest.param(
            [U, call(), user("wait"), out()],
            [U, call(), out(), user("wait")],
            ["input[3]: RESULT_DISPLACED"],
            None,
            id="the user spoke between",
        ),
        pytest.param(
            [U, call(), {"role": "system", "content": "s"}, out()],
            [U, call(), out(), {"role": "system", "content": "s"}],
            ["input[3]: RESULT_DISPLACED"],
            None,
            id="system text between",
        ),
        pytest.param(
            [U, call(), said("hm"), out()],
            [U, call(), out(), said("hm")],
            ["input[3]: RESULT_DISPLACED"],
            None,
            id="the model spoke between",
        ),
        pytest.param(
            [U, call("a"), thought(id="rs_2"), said("hm"), call("b"), out("a"), out("b")],
            [U, call("a"), out("a"), thought(id="rs_2"), said("hm"), call("b"), out("b")],
            ["input[5]: RESULT_DISPLACED"],
            None,
            id="words behind a call begin a turn, and take the reasoning before them along",
        ),
        pytest.param(
            [U, call("a"), call("b"), said(""), out("a"), out("b"), DONE],
            [U, call("a"), call("b"), out("a"), out("b"), DONE],
            ["input[3]: MESSAGE_EMPTY", "input[4]: RESULT_DISPLACED", "input[5]: RESULT_DISPLACED"],
            ["input[4]: RESULT_DISPLACED", "input[5]: RESULT_DISPLACED", "input[3]: MESSAGE_EMPTY"],
            id="an empty message between",
        ),
        pytest.param(
            [U, out(), call(), DONE],
            [U, call(), out(), DONE],
            ["input[1]: RESULT_DISPLACED"],
            None,
            id="an output before its call",
        ),
        pytest.param(
            [U, call("a"), call("b"), out("a"), DONE, out("b")],
            [U, call("a"), call("b"), out("a"), out("b"), DONE],
            ["input[5]: RESULT_DISPLACED"],
            None,
            id="a late output",
        ),
        pytest.param(
            [U, custom(), out(), DONE],
            [U, custom(), other("custom_tool_call_output", output="r"), DONE],
            ["input[2]: RESULT_KIND_MISMATCH"],
            None,
            id="an output of another kind",
        ),
        pytest.param(
            [U, other("computer_call", action={"type": "screenshot"}), out(), U],
            [
                U,
                other("computer_call", action={"type": "screenshot"}),
                other("computer_call_output", output={"type": "computer_screenshot", "image_url": BLANK}),
                user("From the result of c1: r"),
                U,
            ],
            ["input[2]: RESULT_KIND_MISMATCH"],
            None,
            id="words where a screen is wanted",
        ),
        pytest.param(
            [U, call(), call(arguments='{"n":2}'), out(), out(output="s")],
            [U, call(), call("c1_2", arguments='{"n":2}'), out(), out("c1_2", "s")],
            ["input[2]: ID_DUPLICATE"],
            None,
            id="one id twice in a turn",
        ),
        pytest.param(
            [U, call(), call(), out()],
            [U, call(), out()],
            ["input[2]: ID_DUPLICATE", "input[2]: CALL_UNANSWERED"],
            ["input[2]: ID_DUPLICATE"],
            id="a call stored twice",
        ),
        pytest.param(
            [U, call("c1|fc_1"), out("c1|fc_1")],
            [U, call(), out()],
            ["input[1]: ID_CHARS", "input[2]: ID_CHARS"],
            ["input[1]: ID_CHARS", "input[2]: ID_CHARS", "input[1]: REASONING_MISSING"],
            id="two ids in one, and no reasoning",
        ),
        pytest.param(
            [U, ENC, call("c1|fc_1"), out()],
            [U, ENC, call(id="fc_1"), out()],
            ["input[2]: ID_CHARS"],
            None,
            id="two ids in one, behind their reasoning",
        ),
        pytest.param(
            [U, call(None), out(None)], [U, call("call_0_0"), out("call_0_0")], None, ["input[1]: ID_MISSING"], id="no ids"
        ),
        pytest.param(
            [U, call(name=""), out(), call("c2"), out("c2")],
            [U, call(name="unnamed"), out(), call("c2"), out("c2")],
            ["input[1]: NAME_PATTERN"],
            None,
            id="no name",
        ),
        pytest.param(
            [U, custom(input={"a": 1}), other("custom_tool_call_output", output="r")],
            [U, custom(input='{"a":1}'), other("custom_tool_call_output", output="r")],
            ["input[1]: ARGS_TYPE"],
            None,
            id="an object for a custom tool",
        ),
        pytest.param(
            [U, call(arguments={"a": 1}), out()],
            [U, call(arguments='{"a":1}'), out()],
            ["input[1]: ARGS_TYPE"],
            None,
            id="arguments as an object",
        ),
        # reasoning
        pytest.param([U, RS, U], [U, U], ["input[1]: REASONING_DANGLING"], None, id="reasoning that led to nothing"),
        pytest.param([U, RS], [U], ["input[1]: REASONING_DANGLING"], None, id="reasoning at the end"),
        pytest.param(
            [U, RS, call(id="fc_1"), thought(id="rs_2"), out(), said(id="msg_1")],
            [U, RS, call(id="fc_1"), out(), said()],
            ["input[3]: REASONING_DANGLING"],
            ["input[3]: REASONING_DANGLING", "input[5]: REASONING_MISSING"],
            id="what follows lost reasoning loses its id",
        ),
        pytest.param(
            [
                U,
                call(id="fc_1"),
                out(),
                custom("c2", id="ctc_1"),
                other("custom_tool_call_output", call_id="c2", output="r"),
            ],
            [U, call(), out(), custom("c2"), other("custom_tool_call_output", call_id="c2", output="r")],
            ["input[1]: REASONING_MISSING", "input[3]: REASONING_MISSING"],
            None,
            id="calls without the reasoning that led to them",
        ),
        pytest.param(
            [U, RS, said("a", id="msg_1"), U, said("b", id="msg_2")],
            [U, RS, said("a", id="msg_1"), U, said("b")],
            ["input[4]: REASONING_MISSING"],
            None,
            id="a message without reasoning where others have it",
        ),
        pytest.param(
            [U, thought(id="rs_1", encrypted_content=""), call(id="fc_1"), out()],
            [U, call(), out()],
            ["input[1]: ENCRYPTED_FOREIGN"],
            ["input[1]: ENCRYPTED_FOREIGN", "input[2]: REASONING_MISSING"],
            id="encrypted content that is none",
        ),
        pytest.param(
            [U, {"type": "reasoning", "id": "rs_1"}, call(id="fc_1"), out()],
            [U, RS, call(id="fc_1"), out()],
            ["input[1]: REASONING_SUMMARY_MISSING"],
            None,
            id="no summary",
        ),
        # ids of items
        pytest.param(
            [U, call(id="item_1"), out()], [U, call(), out()], ["input[1]: ITEM_ID_PREFIX"], None, id="another prefix"
        ),
        pytest.param(
            [U, said(id=""), U, said(id="x" * 65), U, said(id=7)],
            [U, said(), U, said(), U, said()],
            ["input[1]: ITEM_ID_FORM", "input[3]: ITEM_ID_FORM", "input[5]: ITEM_ID_FORM"],
            None,
            id="ids of another form",
        ),
        pytest.param(
            [U, said("a", id="msg_4"), U, said("b", id="msg_4")],
            [U, said("a", id="msg_4"), U, said("b")],
            ["input[3]: ITEM_ID_DUPLICATE"],
            None,
            id="one id, two messages",
        ),
        pytest.param(
            [U, said(id="msg_4"), U, said(id="msg_4")],
            [U, said(id="msg_4"), U],
            ["input[3]: ITEM_ID_DUPLICATE"],
            None,
            id="a message stored twice",
        ),
        pytest.param(
            [U, ENC, call(id="fc_1"), out(), U, ENC, call("c2", id="fc_2"), out("c2")],
            [U, ENC, call(id="fc_1"), out(), U, call("c2"), out("c2")],
            ["input[5]: ITEM_ID_DUPLICATE"],
            ["input[5]: ITEM_ID_DUPLICATE", "input[6]: REASONING_MISSING"],
            id="reasoning stored twice",
        ),
        pytest.param(
            [U, ENC, call(id="item_1"), out()],
            [U, thought(encrypted_content=TOKEN), call(), out()],
            ["input[2]: ITEM_ID_PREFIX"],
            ["input[1]: REASONING_DANGLING", "input[2]: ITEM_ID_PREFIX"],
            id="encrypted reasoning whose call loses its id loses its own",
        ),
        pytest.param(
            [U, RS, call(id="item_1"), out()],
            [U, call(), out()],
            ["input[2]: ITEM_ID_PREFIX"],
            ["input[1]: REASONING_DANGLING", "input[2]: ITEM_ID_PREFIX"],
            id="reasoning whose call loses its id goes",
        ),
        # fields and content
        pytest.param(
            [U, call(), {"type": "function_call_output", "call_id": "c1"}],
            [U, call(), out(output="")],
            ["input[2]: FIELD_MISSING"],
            None,
            id="an output without its field",
        ),
        pytest.param(
            [
                user(status="completed"),
                said(status="completed"),
                thought(status=None, encrypted_content=TOKEN),
                call(status=None),
                out(),
            ],
            [U, said(status="completed"), thought(encrypted_content=TOKEN), call(), out()],
            ["input[0]: FIELD_UNKNOWN", "input[2]: FIELD_UNKNOWN", "input[3]: FIELD_UNKNOWN"],
            None,
            id="fields of an answer",
        ),
        pytest.param(
            [U, said([{"type": "output_text", "text": "{}", "parsed": {"a": 1}}]), call(parsed_arguments={}), out()],
            [U, said([{"type": "output_text", "text": "{}"}]), call(), out()],
            ["input[1]: FIELD_UNKNOWN", "input[2]: FIELD_UNKNOWN"],
            None,
            id="what the SDK parsed",
        ),
        pytest.param(
            [user([{"type": "output_text", "text": "q"}]), said([{"type": "text", "text": "a"}])],
            [user([{"type": "input_text", "text": "q"}]), said([{"type": "output_text", "text": "a", "annotations": []}])],
            ["input[0]: PART_ROLE", "input[1]: PART_ROLE"],
            None,
            id="words under the type of another role",
        ),
        pytest.param([U, said([]), U], [U, U], ["input[1]: MESSAGE_EMPTY"], None, id="an empty message"),
        pytest.param([user(None), DONE], [user(""), DONE], ["input[0]: CONTENT_NULL"], None, id="no content"),
    ],
)
def test_each_fault_alone(history: list[Json], healed: list[Json], found: list[str] | None, done: list[str] | None) -> None:
    """What is found, what it becomes, and what the report says; the input stays, and healing again changes nothing."""
    before = copy.deepcopy(history)
    if found is not None:
        assert [place(each.path, each.code) for each in diagnose(history, FORMAT)] == found
    outcome = heal(history, FORMAT)
    assert outcome.history == healed
    assert [place(each.path, each.code) for each in outcome.changes] == (found if done is None else done)
    assert history == before
    assert heal(outcome.history, FORMAT).history is outcome.history


def place(path: str, code: str) -> str:
    """The item and the code."""
    return f"{path[: path.find(']') + 1]}: {code}"


@pytest.mark.parametrize(
    "history",
    [
        [U, call(), out(), DONE],
        [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}],
        [
            U,
            ENC,
            said("look", id="msg_1", phase="commentary"),
            call(id="fc_1"),
            call("c2", id="fc_2"),
            out("c2"),
            out(),
            said(id="msg_2"),
        ],
        [U, call("a"), thought(id="rs_1"), call("b", id="fc_1"), out("a"), out("b")],
        [U, call(), SEARCH, out(), DONE],
        [U, RS, SEARCH, said(id="msg_1")],
        [U, said(id="msg_1"), U],
        [U, call(), out(output=""), U, call(), out()],
        [U, {"type": "item_reference", "id": "fc_1"}, out()],
        [{"id": "rs_1"}, call(id="fc_1"), out()],
        [U, {"type": "from_the_future", "x": [1]}, DONE],
        [U, other("local_shell_call", id="lsh_1", action={}, status="completed"), out()],
        [U, other("tool_search_call", call_id=None, arguments={}, execution="server"), DONE],
    ],
)
def test_what_is_valid_is_the_same_object(history: list[Json]) -> None:
    """Nothing is found, and nothing is touched."""
    assert diagnose(history, FORMAT) == []
    assert heal(history, FORMAT).history is history
    assert dump_messages(load_messages(history, FORMAT), FORMAT)["input"] == history


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1-mini", "openai/gpt-4o", "gpt-5-chat-latest", "chatgpt-4o-latest"])
def test_a_model_that_never_reasons_is_sent_its_ids(model: str) -> None:
    """No reasoning is missing where there never is any."""
    request = {"model": model, "input": [U, call(id="fc_1"), out(), said(id="msg_1")]}
    assert heal(request, FORMAT).history is request
    assert heal(request["input"], FORMAT, f"{FORMAT}:{model}").history is request["input"]


@pytest.mark.parametrize("model", ["gpt-5", "o3", "o4-mini", "openai/gpt-5.1-codex", "codex-mini-latest"])
def test_a_model_that_reasons_looks_for_reasoning(model: str) -> None:
    """Also for that of a message; not where reasoning is turned off."""
    request = {"model": model, "input": [U, said(id="msg_1")]}
    assert heal(request, FORMAT).history == {"model": model, "input": [U, said()]}
    silent = {**request, "reasoning": {"effort": "none"}}
    assert heal(silent, FORMAT).history is silent


# Requests that go on where the provider has the history ---------------------------------------


@pytest.mark.parametrize(
    "goes_on", [{"previous_response_id": "resp_1"}, {"conversation": "conv_1"}, {"conversation": {"id": "conv_1"}}]
)
def test_what_is_new_is_no_orphan(goes_on: Json) -> None:
    """The calls of its outputs are on the provider's side."""
    request = {**goes_on, "input": [out(), other("custom_tool_call_output", call_id="c2", output="r"), U]}
    assert heal(request, FORMAT).history is request
    assert diagnose(request, FORMAT) == []


def test_what_is_new_stays_where_something_else_is_mended() -> None:
    """Outputs stay also when their neighbours are mended; a second one of one call is still one too many."""
    request = {"previous_response_id": "resp_1", "input": [out(), {"type": "function_call_output", "call_id": "c2"}, U]}
    assert heal(request, FORMAT).history == {**request, "input": [out(), out("c2", ""), U]}
    request = {"conversation": "conv_1", "input": [out("old"), U, call("c1", name="f f"), U, out(), out(output="s")]}
    healed = [out("old"), U, call("c1", name="f_f"), out(output="s"), U]
    assert heal(request, FORMAT).history == {**request, "input": healed}


@pytest.mark.parametrize(
    ("outputs", "left"),
    [
        (["interrupted", "real"], "real"),
        (["real", "interrupted"], "real"),
        (["old", "new"], "new"),
        (["one", "one"], "one"),
    ],
)
def test_of_two_outputs_for_a_stored_call_the_real_one_counts(outputs: list[str], left: str) -> None:
    """The call is at the provider; it is answered once."""
    request = {"previous_response_id": "resp_1", "input": [*(out(output=text) for text in outputs), U]}
    assert [finding.code for finding in diagnose(request, FORMAT)] == ["RESULT_DUPLICATE"]
    outcome = heal(request, FORMAT)
    assert outcome.history == {**request, "input": [out(output=left), U]}
    assert [(change.code, change.lost) for change in outcome.changes] == [("RESULT_DUPLICATE", "result")]


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ([U, call(), out(), user("and?")], [out(), user("and?")]),
        ([U, RS, said(id="msg_1"), user("and?"), user("well?")], [user("and?"), user("well?")]),
        ([U, call(), out()], [out()]),
        ([U, call(), out("c0"), out(), user("and?")], [out("c0"), out(), user("and?")]),
        ([U, call(), out(), call("c2"), out("c2"), user("and?")], [out("c2"), user("and?")]),
        ([U, call(), out(), out("c0"), call("c2"), out("c2")], [out("c0"), call("c2"), out("c2")]),
        ([U, call(), out(), DONE], None),
        ([U, RS, said(id="msg_1"), DONE, U], None),
    ],
)
def test_a_chain_is_not_sent_in_full(given: list[Json], left: list[Json] | None) -> None:
    """What stands behind the last call or answer is new, outputs too; where nothing does, the caller has to choose."""
    request = {"previous_response_id": "resp_1", "input": given}
    outcome = heal(request, FORMAT)
    if left is None:
        assert outcome.history is request
        assert outcome.hints == [CHAIN_HINT]
    else:
        assert outcome.history == {**request, "input": left}
        assert outcome.hints == []
        assert {change.code for change in outcome.changes} == {"CHAIN_CONFLICT"}


@pytest.mark.parametrize(
    "given",
    [
        [out("c0"), call("c2"), out("c2")],
        [out("c0"), said(id="msg_1"), user("next"), call("c2"), out("c2")],
        [out("c0"), out("c1"), call("c2"), out("c2"), user("and?")],
    ],
)
def test_what_begins_with_the_output_of_a_stored_call_is_new(given: list[Json]) -> None:
    """The steps since the stored response may be sent along; nothing of them is stored."""
    request = {"previous_response_id": "resp_1", "input": given}
    assert diagnose(request, FORMAT) == []
    assert heal(request, FORMAT).history is request


def test_an_assistant_message_of_the_callers_is_no_chain() -> None:
    """Words put into the model's mouth have no id, so they may be new."""
    request = {"previous_response_id": "resp_1", "input": [said("Hello!"), U]}
    assert heal(request, FORMAT).history is request


def test_what_is_not_stored_is_sent_whole() -> None:
    """Reasoning with its content may go back with its id; without, it goes, and what refers to it loses its id."""
    whole = {"store": False, "input": [U, ENC, call(id="fc_1"), out(), said(id="msg_1")]}
    assert heal(whole, FORMAT).history is whole
    outcome = heal({"store": False, "input": [U, RS, SEARCH, call(id="fc_1"), out(), said(id="msg_1")]}, FORMAT)
    assert outcome.history == {"store": False, "input": [U, call(), out(), said()]}
    assert [change.lost for change in outcome.changes] == ["reasoning", "text", "none", "none"]
    reference = {"store": False, "input": [U, {"type": "item_reference", "id": "fc_1"}, out(), U]}
    assert heal(reference, FORMAT).history == {"store": False, "input": [U, U]}


def test_input_may_be_a_text() -> None:
    """It is one message of the user's, and is left alone; half a pair in it is mended in a list."""
    request = {"model": "gpt-5", "input": "hello", "instructions": "be kind"}
    assert heal(request, FORMAT).history is request
    assert heal(request).history is request
    assert diagnose(request, FORMAT) == []
    instructions = System((Text("be kind"),), None, {FORMAT: {"role": "instructions"}})
    assert load_messages(request, FORMAT) == [instructions, User.of("hello")]
    assert heal({"input": "a\ud83d"}, FORMAT).history == {"input": [user("a\ufffd")]}
    assert convert({"input": "hello"}, FORMAT, "openai-chat").history == {
        "messages": [{"role": "user", "content": "hello"}]
    }


# Neutral words --------------------------------------------------------------------------------


def test_a_turn_is_one_message() -> None:
    """Reasoning, words and calls in the order in which they came, with their ids."""
    summary = [{"type": "summary_text", "text": "hm"}]
    items = [
        U,
        thought(id="rs_1", encrypted_content=TOKEN) | {"summary": summary},
        said([{"type": "output_text", "text": "look", "annotations": [], "logprobs": []}], id="msg_1", phase="commentary"),
        call(arguments='{"n": 1}', id="fc_1"),
        custom("c2", "raw\n text"),
        SEARCH,
        out(),
    ]
    _, turn, result = load_messages(items, FORMAT)
    assert isinstance(turn, Assistant)
    reasoning, words, function, tool, search = turn.parts
    assert isinstance(reasoning, Reasoning)
    assert (reasoning.text, reasoning.item_id, reasoning.encrypted) == ("hm", "rs_1", TOKEN)
    assert isinstance(words, Text)
    assert words.text == "look"
    assert isinstance(function, ToolCall)
    assert (function.id, function.item_id, function.arguments, function.raw) == ("c1", "fc_1", {"n": 1}, '{"n": 1}')
    assert isinstance(tool, ToolCall)
    assert (tool.name, tool.arguments) == ("g", {"input": "raw\n text"})
    assert not isinstance(search, Text | ToolCall)
    assert isinstance(result, ToolResult)
    assert dump_messages([turn, result], FORMAT)["input"] == items[1:]


def test_a_packed_id_is_read_as_two() -> None:
    """The call's id pairs, the item's is kept beside it."""
    turn, result = load_messages([call("c1|fc_1"), out("c1|fc_1")], FORMAT)
    assert isinstance(turn, Assistant)
    assert (turn.calls[0].id, turn.calls[0].item_id) == ("c1", "fc_1")
    assert isinstance(result, ToolResult)
    assert result.call_id == "c1"


FOREIGN: list[Message] = [
    System.of("be kind"),
    User((Text("look"), Image(data="AAAA", media_type="image/png"), File(data="BBBB", name="a.pdf"))),
    Assistant((Reasoning("hm", signature="sig"), Text(""), ToolCall("t|fc_1", "f", {"n": 1}, item_id="x", signature="s"))),
    ToolResult(parts=(Text("seen"), Image(url="https://x/y.png")), call_id="t|fc_1", error=True),
    Assistant((Text("a"), Text("b"))),
]


def test_messages_of_others_become_items() -> None:
    """No ids, no reasoning; pictures may stand in outputs, and every part has the type of its place."""
    outcome = fit(FOREIGN, FORMAT)
    assert outcome.history == {
        "input": [
            {"type": "message", "role": "system", "content": "be kind"},
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "look"},
                    {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"},
                    {"type": "input_file", "file_data": "data:application/pdf;base64,BBBB", "filename": "a.pdf"},
                ],
            },
            call("t", arguments='{"n":1}'),
            out(
                "t",
                [
                    {"type": "input_text", "text": "seen"},
                    {"type": "input_image", "image_url": "https://x/y.png", "detail": "auto"},
                ],
            ),
            said(
                [
                    {"type": "output_text", "text": "a", "annotations": []},
                    {"type": "output_text", "text": "b", "annotations": []},
                ]
            ),
        ]
    }
    assert [change.code for change in outcome.changes] == ["THINKING_FOREIGN"]
    assert heal(outcome.history, FORMAT).history is outcome.history


def test_reasoning_goes_back_to_its_maker_alone() -> None:
    """With its content and without its id; another model gets the words and calls, and the report says what it does not."""
    maker = Origin("openai", FORMAT, "gpt-5")
    items = [U, ENC, said("look", id="msg_1", phase="commentary"), call(id="fc_1"), out(), RS, said(id="msg_2")]
    made = [
        Assistant(each.parts, origin=maker) if isinstance(each, Assistant) else each
        for each in load_messages(items, FORMAT)
    ]
    own = fit(made, FORMAT, reader=maker)
    kept = [U, thought(encrypted_content=TOKEN), said("look", phase="commentary"), call(), out(), said()]
    assert own.history == {"input": kept}
    assert [change.code for change in own.changes] == ["THINKING_UNSIGNED"]
    others = fit(made, FORMAT, reader=Origin("openai", FORMAT, "gpt-4o"))
    assert others.history == {"input": [U, said("look"), call(), out(), said()]}
    assert [change.lost for change in others.changes] == ["reasoning", "reasoning"]


def test_calls_of_the_providers_tools_become_functions_for_others() -> None:
    """Who did not make them gets calls and outputs of functions, which every model takes."""
    action = {"command": ["ls"], "type": "exec", "env": {}}
    items = [U, other("local_shell_call", id="lsh_1", action=action, status="completed"), out(output="a"), DONE]
    assert fit(load_messages(items, FORMAT), FORMAT).history == {
        "input": [
            U,
            call(name="local_shell", arguments='{"action":{"command":["ls"],"type":"exec","env":{}}}'),
            out(output="a"),
            DONE,
        ]
    }


def test_reasoning_that_led_to_nothing_is_no_part_of_a_request() -> None:
    """An answer that was cut off behind its reasoning is left out, and its reasoning reported."""
    maker = Origin("openai", FORMAT, "gpt-5")
    for items, sent, code in (
        ([ENC], [], "MESSAGE_EMPTY"),
        ([call(), ENC], [call(), STAND_IN], "REASONING_DANGLING"),
    ):
        turn = load_messages(items, FORMAT)[0]
        outcome = fit([User.of("q"), Assistant(turn.parts, origin=maker), User.of("go on")], FORMAT, reader=maker)
        assert outcome.history == {"input": [U, *sent, user("go on")]}
        assert [change.code for change in outcome.changes if change.lost == "reasoning"] == [code]


# Formats and shapes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("history", "name"),
    [
        ({"input": [{"role": "user", "content": "q"}]}, FORMAT),
        ({"input": "q", "instructions": "x"}, FORMAT),
        ([U, call()], FORMAT),
        ([{"role": "user", "content": [{"type": "input_text", "text": "q"}]}], FORMAT),
        ([{"type": "reasoning", "summary": []}], FORMAT),
    ],
)
def test_its_signs_tell_the_format(history: object, name: str) -> None:
    """Where the history stands in a request, and the types of items and parts."""
    assert detect(history) == name


def test_messages_of_chat_completions_are_read_as_what_they_are() -> None:
    """A program that changed to Responses left some behind; and the other way round."""
    chat_call = {"id": "k1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    mixed = [
        U,
        {"role": "assistant", "content": None, "tool_calls": [chat_call]},
        {"role": "tool", "tool_call_id": "k1", "content": "r"},
        call(),
        out(),
    ]
    assert heal(mixed, FORMAT).history == [U, call("k1"), out("k1"), call(), out()]
    back = [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "tool_calls": [chat_call]}, out("k1")]
    healed = heal(back, "openai-chat").history
    assert healed == [*back[:2], {"role": "tool", "tool_call_id": "k1", "content": "r"}]


@pytest.mark.parametrize(
    ("history", "error", "message"),
    [
        ([{"content": "q"}], HistoryError, "input[0] has no role; every message needs one, such as 'user'."),
        ([{"type": 7}], HistoryError, "input[0] has the type 7; a type is a text, such as 'message'."),
        ([user(7)], HistoryError, "input[0].content is a number; content is a text or a list of parts."),
        ([user(["q"])], HistoryError, "input[0].content[0] is a text, not an object. Pass plain JSON values."),
        ([U, thought(content="x"), DONE], HistoryError, "input[1].content is a text, not a list."),
        ({"instructions": ["x"], "input": [U]}, HistoryError, "instructions is a list, not a text."),
        (
            {"messages": []},
            HistoryError,
            "The history has no 'input'; it has 'messages'. Its 'messages' are those of another format: name that one with format=....",
        ),
        ({"input": 7}, HistoryError, "'input' is a number, not a list of messages."),
        ([user([{"what": 1}])], UnhealableHistory, None),
        ([{"role": "tool", "tool_call_id": "c1", "content": "x"}], UnknownFormat, None),
    ],
)
def test_odd_shapes_are_refused_by_place(history: object, error: type[Exception], message: str | None) -> None:
    """Nothing is guessed."""
    with pytest.raises(error) as caught:
        heal(history, FORMAT)
    assert message is None or str(caught.value) == message


def test_tools_are_flat() -> None:
    """Functions are listed without an object of their own, never strict, and renamed with the choice among them."""
    form = format_of(FORMAT)
    schema = {"type": "object", "properties": {"n": {}}}
    request = form.with_offers({"tools": [{"type": "web_search"}]}, [Offer("f f", "d", schema)])
    tool = {"type": "function", "name": "f f", "description": "d", "parameters": schema, "strict": False}
    assert request == {"tools": [{"type": "web_search"}, tool]}
    assert form.offers(request) == [Offer("f f", "d", schema)]
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f f"}]}
    renamed = form.renamed({**request, "tool_choice": choice}, {"f f": "f_f"})
    assert renamed["tools"][1]["name"] == "f_f"
    assert renamed["tool_choice"]["tools"] == [{"type": "function", "name": "f_f"}]
    healed = heal(
        {**request, "input": [U, call(name="f f"), out()], "tool_choice": {"type": "function", "name": "f f"}}, FORMAT
    )
    assert isinstance(healed.history, dict)
    assert healed.history["tool_choice"] == {"type": "function", "name": "f_f"}
    assert healed.history["tools"][1]["name"] == "f_f"
    assert healed.history["input"][1]["name"] == "f_f"


def test_each_text_of_a_refusal_is_recognised() -> None:
    """The patterns of a rule find the words that the provider uses."""
    for id, rule in format_of(FORMAT).rules.items():
        text = fill(rule.error, {"i": 3, "id": "x", "type": "function_call", "wanted": "output_text"}).lower()
        assert not rule.texts or any(re.search(pattern, text) for pattern in rule.texts), id


def test_a_message_of_an_unknown_role_is_left_as_it_is() -> None:
    """Whatever it has; nobody knows what may be in it."""
    history = [U, {"role": "critic", "content": 7, "status": "completed", "id": "no id"}, call(), out()]
    assert [each.code for each in diagnose(history, FORMAT)] == ["ROLE_UNKNOWN"]
    assert heal(history, FORMAT).history is history


def test_the_provider_says_it_so() -> None:
    """The words of a refusal name the item."""
    (found,) = diagnose([U, call("c" * 70), out("c" * 70)], FORMAT)
    assert refusal(found) == (
        "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64, but got a string with "
        "length 70 instead."
    )
    (found,) = diagnose([U, RS, U], FORMAT)
    assert refusal(found) == "Item 'rs_1' of type 'reasoning' was provided without its required following item."


def test_pending_calls_may_be_kept_or_dropped() -> None:
    """Those of the last turn; reasoning that led to a dropped call goes with it."""
    history = [U, ENC, call("a", id="fc_1"), call("b", id="fc_2"), out("a")]
    assert heal(history, FORMAT, pending="keep").history is history
    dropped = heal([U, ENC, call(id="fc_1")], FORMAT, pending="drop")
    assert dropped.history == [U]
    assert [change.lost for change in dropped.changes] == ["call", "reasoning"]


@pytest.mark.parametrize(
    "items",
    [[U], [{"type": "message", "role": "system", "content": "Be kind."}, U], [{"role": "developer", "content": "Hm."}, U]],
)
def test_instructions_come_back_as_what_they_were(items: list[Json]) -> None:
    """They stand beside the items, and system text among these stays there; another provider is told nothing of it."""
    request = {"instructions": "Be brief.", "input": items}
    messages = load_messages(request, FORMAT)
    assert dump_messages(messages, FORMAT) == request
    assert dump_messages(load_messages({"input": items}, FORMAT), FORMAT) == {"input": items}
    assert dump_messages(messages[:1], "anthropic")["system"] == "Be brief."
    assert [change.code for change in convert(request, FORMAT, "mistral").changes if change.code == "FIELD_UNKNOWN"] == []
