"""Gemini's generateContent: each fault alone, what is found, what it becomes, and what is left as it came."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from suture.formats import detect, format_of
from suture.formats.base import Offer
from suture.healing import convert, diagnose, dump_messages, fit, heal, load_messages, refusal
from suture.messages import Assistant, Image, Message, Origin, Reasoning, System, Text, ToolCall, ToolResult, User
from suture.repair import stand_in_text

Json = dict[str, Any]
SENTINEL = "skip_thought_signature_validator"


def call(name: object = "f", args: object = None, **more: object) -> Json:
    return {"functionCall": {"name": name, "args": {} if args is None else args, **more}}


def response(name: object = "f", given: object = None, **more: object) -> Json:
    return {"functionResponse": {"name": name, "response": {"output": "r"} if given is None else given, **more}}


def signed(part: Json, signature: str = "c2ln") -> Json:
    return {**part, "thoughtSignature": signature}


def text(words: str = "q") -> Json:
    return {"text": words}


def user(*parts: Json) -> Json:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Json) -> Json:
    return {"role": "model", "parts": list(parts)}


U = user(text())
DONE = model(text("done"))
CONTINUED = user(text("(conversation continues)"))
GO_ON = user(text("Continue."))
STAND_IN: Json = {"error": stand_in_text("unknown")}
PICTURE: Json = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
CODE: Json = {"executableCode": {"language": "PYTHON", "code": "1"}}


@pytest.mark.parametrize(
    ("history", "healed", "found"),
    [
        # calls and their responses
        pytest.param(
            [U, model(call()), U, DONE, U],
            [U, model(call()), user(response(given=STAND_IN)), U, DONE, U],
            ["contents[1].parts[0]: CALL_UNANSWERED"],
            id="the user spoke instead: two contents, and no id is made up",
        ),
        pytest.param(
            [U, model(call("f", {"n": 1}), call("f", {"n": 2})), user(response())],
            [U, model(call("f", {"n": 1}), call("f", {"n": 2})), user(response(), response(given=STAND_IN))],
            ["contents[1].parts[1]: CALL_UNANSWERED"],
            id="one name twice, one response: the first has it",
        ),
        pytest.param(
            [U, model(call("f"), call("g")), user(response("g"))],
            [U, model(call("f"), call("g")), user(response("f", STAND_IN), response("g"))],
            ["contents[1].parts[0]: CALL_UNANSWERED"],
            id="a stand-in stands in the order of the calls",
        ),
        pytest.param(
            [U, model(call(id="a"), call(id="b")), user(response(id="a")), user(response(id="b"))],
            [U, model(call(id="a"), call(id="b")), user(response(id="a"), response(id="b"))],
            ["contents[3].parts[0]: RESULT_SPLIT"],
            id="responses spread over two contents",
        ),
        pytest.param(
            [U, model(call()), DONE, user(response())],
            [U, model(call()), user(response()), DONE, GO_ON],
            ["contents[3].parts[0]: RESULT_DISPLACED"],
            id="words of the model between",
        ),
        pytest.param(
            [user(response(given={"output": "42"}), text("keep")), DONE, U],
            [user(text("keep")), DONE, U],
            ["contents[0].parts[0]: RESULT_ORPHAN", "contents[0].parts[1]: RESULT_NOT_PURE"],
            id="a response without a call",
        ),
        pytest.param(
            [U, model(call()), user(response(given={"output": "old"}), response(given={"output": "new"}))],
            [U, model(call()), user(response(given={"output": "new"}))],
            ["contents[2].parts[1]: RESULT_DUPLICATE"],
            id="two responses",
        ),
        pytest.param(
            [U, model(call("f"), call("g")), user(text("wait"), response("g"), response("f"))],
            [U, model(call("f"), call("g")), user(response("g"), response("f")), user(text("wait"))],
            ["contents[2].parts[0]: RESULT_NOT_PURE"],
            id="words beside responses, which keep their order",
        ),
        pytest.param(
            [U, model(call(), response()), U],
            [U, model(call()), user(response()), U],
            ["contents[1].parts[1]: RESULT_NOT_PURE"],
            id="a response in the content of its call",
        ),
        pytest.param(
            [U, model(call()), model(response(), text("done")), U],
            [U, model(call()), user(response()), DONE, U],
            ["contents[2].parts[0]: RESULT_NOT_PURE", "contents[2].parts[0]: RESULT_DISPLACED"],
            id="a response in the next content of the model's",
        ),
        pytest.param(
            [U, model(call("f")), model(call("g")), user(response("f"), response("g"))],
            [U, model(call("f"), call("g")), user(response("f"), response("g"))],
            ["contents[2]: CALL_AFTER_MODEL"],
            id="a batch stored one call at a time",
        ),
        pytest.param(
            [U, DONE, model(text("a")), model(text("b")), model(text("c"), call()), DONE, user(response())],
            [U, model(text("done"), text("a"), text("b"), text("c"), call()), user(response()), DONE, GO_ON],
            ["contents[4]: CALL_AFTER_MODEL", "contents[6].parts[0]: RESULT_DISPLACED"],
            id="calls behind several contents of the model's",
        ),
        pytest.param(
            [model(call()), user(response()), DONE, U],
            [CONTINUED, model(call()), user(response()), DONE, U],
            ["contents[0]: FIRST_NOT_USER"],
            id="a window that opens with a call",
        ),
        # ids and names
        pytest.param(
            [U, model(call(id="a")), user(response())],
            [U, model(call(id="a")), user(response(id="a"))],
            ["contents[2].parts[0]: ID_MISSING"],
            id="a response without the id of its call",
        ),
        pytest.param(
            [U, model(call()), user(response(id="a"))],
            [U, model(call()), user(response())],
            ["contents[2].parts[0]: ID_MISSING"],
            id="a response with an id that its call has not",
        ),
        pytest.param(
            [U, model(call(id="")), user(response(id=""))],
            [U, model(call()), user(response())],
            ["contents[1].parts[0]: ID_BLANK", "contents[2].parts[0]: ID_BLANK"],
            id="blank ids",
        ),
        pytest.param(
            [U, model(call("f", id="x"), call("g", id="x")), user(response("g", id="x"), response("f", id="x"))],
            [U, model(call("f", id="x"), call("g", id="x_2")), user(response("g", id="x_2"), response("f", id="x"))],
            ["contents[1].parts[1]: ID_DUPLICATE"],
            id="one id twice: the names tell",
        ),
        pytest.param(
            [U, model(call()), user(response("unknown"))],
            [U, model(call()), user(response("f"))],
            ["contents[2].parts[0]: RESULT_NAME_MISMATCH"],
            id="a name that was lost",
        ),
        pytest.param(
            [U, model(call()), user(response("other"))],
            [U, model(call()), user(response("f", STAND_IN))],
            ["contents[2].parts[0]: RESULT_NAME_MISMATCH"],
            id="the response of another function is none",
        ),
        pytest.param(
            [U, model(call("my tool")), user(response("my tool"))],
            [U, model(call("my_tool")), user(response("my_tool"))],
            ["contents[1].parts[0]: NAME_PATTERN"],
            id="a name with a space",
        ),
        pytest.param(
            [U, model(call(args='{"a": 1}')), user(response())],
            [U, model(call(args={"a": 1})), user(response())],
            ["contents[1].parts[0]: ARGS_TYPE"],
            id="args as text",
        ),
        pytest.param(
            [U, model(call(args='{"a": ')), user(response(given=[1]))],
            [U, model(call(args={"_raw": '{"a": '})), user(response(given={"output": [1]}))],
            ["contents[1].parts[0]: ARGS_TYPE", "contents[2].parts[0]: RESULT_SHAPE"],
            id="args that were cut off, a response that is a list",
        ),
        # parts
        pytest.param(
            [U, model({"thoughtSignature": "c2ln"}, {}, text("a")), U],
            [U, model({"text": "", "thoughtSignature": "c2ln"}, text("a")), U],
            ["contents[1].parts[0]: PART_SHAPE", "contents[1].parts[1]: TEXT_EMPTY"],
            id="a signature alone, and nothing at all",
        ),
        pytest.param(
            [U, model({"text": "a", "functionCall": {"name": "f"}, "thoughtSignature": "c2ln"}), user(response())],
            [U, model(text("a"), {"functionCall": {"name": "f"}, "thoughtSignature": "c2ln"}), user(response())],
            ["contents[1].parts[0]: PART_SHAPE"],
            id="two things in one part",
        ),
        pytest.param(
            [U, model(text(""), text(" "), text("a")), U],
            [U, model(text(" "), text("a")), U],
            ["contents[1].parts[0]: TEXT_EMPTY"],
            id="white space is a text",
        ),
        pytest.param(
            [U, model({"text": "hm", "thought": True}, text(""), {"text": "so", "thought": True}), U],
            [U, model({"text": "hm", "thought": True}, {"text": "so", "thought": True}), U],
            ["contents[1].parts[1]: TEXT_EMPTY"],
            id="thoughts stay around a text that goes",
        ),
        pytest.param(
            [U, model(), user(), DONE, user(), DONE, U],
            [U, DONE, user(text("(no content)")), DONE, U],
            ["contents[1]: MESSAGE_EMPTY", "contents[2]: MESSAGE_EMPTY", "contents[4]: MESSAGE_EMPTY"],
            id="contents without parts",
        ),
        pytest.param(
            [U, model(signed(text("a"), "reasoning_content"), signed(call(), "a b!")), user(response())],
            [U, model(text("a"), call()), user(response())],
            ["contents[1].parts[0]: SIGNATURE_FORM", "contents[1].parts[1]: SIGNATURE_FORM"],
            id="signatures of others",
        ),
        # roles and ends
        pytest.param(
            [{"role": "assistant", "parts": [text("a")]}, {"role": "oracle", "parts": [text("b")]}],
            [CONTINUED, model(text("a")), user(text("b"))],
            ["contents[0]: ROLE_UNKNOWN", "contents[0]: FIRST_NOT_USER", "contents[1]: ROLE_UNKNOWN"],
            id="roles that are none",
        ),
        pytest.param(
            [U, {"role": "function", "parts": [text("a")]}, DONE, U],
            [U, user(text("a")), DONE, U],
            ["contents[1]: ROLE_UNKNOWN"],
            id="words under the role of responses",
        ),
        pytest.param(
            [U, DONE, {"role": "system", "parts": [text("s")]}, U],
            [U, DONE, user(text("[System message]"), text("s")), U],
            ["contents[2]: SYSTEM_MISPLACED"],
            id="system text in the middle",
        ),
        pytest.param([U, model(CODE)], [U, model(CODE), GO_ON], ["contents[1]: LAST_ASSISTANT"], id="code at the end"),
    ],
)  # fmt: skip
def test_each_fault_is_found_and_mended(history: list[Json], healed: list[Json], found: list[str]) -> None:
    """What is wrong, where, and what it becomes; the input stays, and healing again gives the same object."""
    before = copy.deepcopy(history)
    assert [f"{each.path}: {each.code}" for each in diagnose(history, "gemini")] == found
    out = heal(history, "gemini")
    assert out.history == healed
    assert out.changed
    assert history == before
    assert heal(out.history, "gemini").history is out.history


@pytest.mark.parametrize(
    "history",
    [
        [U, model(call("f"), call("g")), user(response("g"), response("f"))],
        [U, model(call("f", {"n": 1}), call("f", {"n": 2})), user(response(), response())],
        [U, model(call(id="a")), user(response(id="a")), U, model(call(id="a")), user(response(id="a"))],
        [U, U, DONE, DONE, U],
        [U, model({"text": "", "thoughtSignature": "c2ln"}), U],
        [U, model({"functionCall": {"name": "f"}}), {"role": "function", "parts": [response()]}],
        [{"parts": [text()]}, model(call(args={}), text("behind")), user(response())],
        [U, model(call("a.b-c:d_1")), user(response("a.b-c:d_1", {"rows": []}))],
        [U, model({"text": None, "function_call": {"id": None, "name": "f", "args": None}}), user(response())],
        [U, model(signed(call(), SENTINEL)), user(response())],
        [U, model(call(), PICTURE), user(response(parts=[PICTURE]))],
    ],
    ids=[
        "other order by name", "one name twice", "an id again in another turn", "neighbours", "a signature and no words",
        "no args, and the role function", "no role", "letters of names", "nulls", "the stand-in for a signature", "pictures",
    ],
)  # fmt: skip
def test_what_is_valid_is_the_same_object(history: list[Json]) -> None:
    """Nothing is found, and nothing is touched."""
    assert diagnose(history, "gemini") == []
    assert heal(history, "gemini").history is history


def test_what_did_not_change_is_the_same_object() -> None:
    """Contents and parts around a mended place are the very ones that were given, so a prompt cache holds."""
    thought, first, second = {"text": "hm", "thought": True}, signed(call("f")), call("g")
    history = [U, model(thought, first, second), user(response("f")), DONE, U]
    out = heal(history, "gemini").history
    assert isinstance(out, list)
    assert [out[0] is U, out[1] is history[1], out[3] is DONE, out[4] is U] == [True] * 4
    assert out[2]["parts"][0] is history[2]["parts"][0]


def test_what_is_put_in_is_spelled_as_the_rest() -> None:
    """In a history as the Python SDK dumps it, new parts and fields have its spelling."""
    history = [U, model({"function_call": {"name": "f", "args": {"fileUri": "x"}}}), U]
    out = heal(history, "gemini", "gemini:gemini-3-pro").history
    assert out == [U, history[1], user({"function_response": {"name": "f", "response": STAND_IN}}), U]
    looped = [
        U,
        model({"function_call": {"name": "f", "args": {}}}),
        user({"function_response": response()["functionResponse"]}),
    ]
    out = heal(looped, "gemini", "gemini:gemini-3-pro").history
    assert out[1] == model({"function_call": {"name": "f", "args": {}}, "thought_signature": SENTINEL})  # type: ignore[index]


# Models ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["gemini-3-pro-preview", "models/gemini-3.1-flash", "gemini-3"])
def test_gemini_3_wants_signatures_in_the_current_turn(target: str) -> None:
    """The first call of each step since the user spoke gets the stand-in; calls beside it and older ones do not."""
    history = [U, model(call()), user(response()), U, model(call("f"), call("g")), user(response("f"), response("g")),
               model(signed(call())), user(response()), model(text("so"), call()), user(response())]  # fmt: skip
    out = heal(history, "gemini", f"gemini:{target}").history
    assert isinstance(out, list)
    assert [out[at] is history[at] for at in range(10)] == [True] * 4 + [False, True, True, True, False, True]
    assert out[4] == model(signed(call("f"), SENTINEL), call("g"))
    assert out[8] == model(text("so"), signed(call(), SENTINEL))


@pytest.mark.parametrize("target", ["gemini", "gemini:gemini-2.5-pro", "gemini:gemini-1.5-flash", "gemini:claude-x"])
def test_older_models_want_none(target: str) -> None:
    """Only Gemini 3 checks signatures."""
    history = [U, model(call(id="a")), user(response(id="a"))]
    assert heal(history, "gemini", target).history is history


def test_a_stand_in_for_a_signature_looks_at_who_speaks_last() -> None:
    """An empty message of the user's that is left out ends no turn."""
    messages: list[Message] = [User.of("q"), Assistant((ToolCall("a", "f", {}),)), ToolResult.of("a", "r"), User(())]
    request = fit(messages, "gemini", "gemini-3-pro").history
    assert request["contents"][1]["parts"][0]["thoughtSignature"] == SENTINEL  # type: ignore[index]


@pytest.mark.parametrize(
    ("target", "contents"),
    [
        ("gemini", [user(response()), user(text("From the result of f:"), PICTURE), user(text("and"))]),
        ("gemini:gemini-2.5-pro", [user(response()), user(text("From the result of f:"), PICTURE), user(text("and"))]),
        ("gemini:gemini-3-pro", [user(response(parts=[PICTURE])), user(text("and"))]),
    ],
)
def test_a_picture_beside_a_response(target: str, contents: list[Json]) -> None:
    """It goes inside the response where the model takes it there, and behind the batch where it does not."""
    history = [U, model(signed(call(), SENTINEL)), user(response(), PICTURE, text("and"))]
    out = heal(history, "gemini", target)
    assert out.history == [U, history[1], *contents]
    assert heal(out.history, "gemini", target).history is out.history


def test_an_older_model_takes_no_picture_inside_a_response() -> None:
    """What Gemini 3 was sent moves behind the batch; the model's own pictures stay."""
    history = [U, model(PICTURE, call()), user(response(parts=[PICTURE]))]
    out = heal(history, "gemini", "gemini:gemini-2.5-flash").history
    assert out == [U, history[1], user(response()), user(text("From the result of f:"), PICTURE)]


def test_a_null_gives_way() -> None:
    """Where the SDK dumped a null, what is put in takes its place."""
    history = [
        U,
        model({"function_call": {"id": None, "name": "f", "args": {}}, "thought_signature": None}),
        user(response()),
    ]
    out = heal(history, "gemini", "gemini:gemini-3-pro").history
    assert out[1] == model({"function_call": {"id": None, "name": "f", "args": {}}, "thought_signature": SENTINEL})  # type: ignore[index]
    ids = heal(history, "gemini", "gemini:claude-sonnet-4-5").history
    assert ids[1]["parts"][0]["function_call"]["id"] == "call_0_0"  # type: ignore[index]
    messages = [*load_messages(history[:2], "gemini"), ToolResult(parts=(Text("r"),), name="f")]
    made = fit(messages, "gemini", "gemini-3-pro").history
    assert made["contents"][1]["parts"][0]["thoughtSignature"] == SENTINEL  # type: ignore[index]


# The request around the history ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "healed"),
    [
        (
            {"contents": [{"role": "system", "parts": [text("s")]}, U]},
            {"systemInstruction": {"parts": [text("s")]}, "contents": [U]},
        ),
        (
            {"system_instruction": "a", "contents": [{"role": "developer", "parts": [text("b")]}, U], "model": "m"},
            {"system_instruction": {"parts": [text("a"), text("b")]}, "contents": [U], "model": "m"},
        ),
        ({"systemInstruction": {"parts": [text("")]}, "contents": [U]}, {"contents": [U]}),
    ],
)
def test_system_text_stands_apart(request_: Json, healed: Json) -> None:
    """In a request it moves out of the contents, in the spelling that is there."""
    assert heal(request_, "gemini").history == healed


def test_gemini_3_wants_the_functions_of_a_history_declared() -> None:
    """A whole request gets stubs, beside the declarations that it has; a history alone does not."""
    contents = [U, model(signed(call())), user(response()), DONE, U]
    declared = {"function_declarations": [{"name": "g"}]}
    request = {"contents": contents, "tools": [{"google_search": {}}, declared]}
    out = heal(request, "gemini", "gemini:gemini-3-pro").history
    stub = {"name": "f", "description": "No longer available."}
    assert out == {**request, "tools": [{"google_search": {}}, {"function_declarations": [{"name": "g"}, stub]}]}
    inside = heal({"contents": contents, "config": {"tools": []}}, "gemini", "gemini:gemini-3-pro").history
    assert inside == {"contents": contents, "config": {"tools": [{"functionDeclarations": [stub]}]}}
    assert heal(contents, "gemini", "gemini:gemini-3-pro").history is contents
    assert heal(request, "gemini", "gemini:gemini-2.5-pro").history is request


def test_schemas_of_parameters_are_read_as_json_schema() -> None:
    """Names of types in small letters, null among them where it is allowed, at any depth."""
    parameters = {
        "type": "OBJECT",
        "properties": {"a": {"type": "STRING", "nullable": True}, "b": {"type": "ARRAY", "items": {"type": "INTEGER"}}},
        "required": ["a"],
    }
    request = {
        "contents": [],
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": parameters}, {"name": "g"}]}],
    }
    schema = {
        "type": "object",
        "properties": {"a": {"type": ["string", "null"]}, "b": {"type": "array", "items": {"type": "integer"}}},
        "required": ["a"],
    }
    assert format_of("gemini").offers(request) == [Offer("f", "", schema), Offer("g", "", None)]
    declared = format_of("gemini").with_offers({}, [Offer("f", "d", schema)])
    assert declared == {
        "tools": [{"functionDeclarations": [{"name": "f", "description": "d", "parametersJsonSchema": schema}]}]
    }


# To and from others ---------------------------------------------------------------------------


def test_what_is_read() -> None:
    """Responses are words and a flag, or an object as it came; signatures stand on the parts that they came with."""
    history = [
        U,
        model({"text": "hm", "thought": True}, signed(text("a")), signed(call("f", {"n": 1}, id="x")), CODE),
        user(response("f", {"error": "no"}, id="x"), response("g", {"rows": [1]})),
    ]
    _, said, failed, rows = load_messages(history, "gemini")
    assert [type(part).__name__ for part in said.parts] == ["Reasoning", "Text", "ToolCall", "Opaque"]
    assert said.parts[2] == ToolCall("x", "f", {"n": 1}, signature="c2ln")
    assert failed == ToolResult(parts=(Text("no"),), call_id="x", name="f", error=True)
    assert isinstance(rows, ToolResult)
    assert [rows.text, rows.error, rows.name] == ['{"rows":[1]}', None, "g"]
    assert dump_messages([said], "gemini")["contents"] == [history[1]]


def test_calls_without_ids_move_to_a_provider_that_wants_them() -> None:
    """Each result goes with its call, also where results came in another order."""
    history = [
        U,
        model(call("f"), call("g")),
        user(response("g", {"output": "of g"}), response("f", {"output": "of f"})),
        U,
    ]
    out = convert(history, "gemini", "anthropic").history
    uses = {block["name"]: block["id"] for block in out["messages"][1]["content"]}  # type: ignore[index]
    found = {block["tool_use_id"]: block["content"] for block in out["messages"][2]["content"] if "tool_use_id" in block}  # type: ignore[index]
    assert found == {uses["f"]: "of f", uses["g"]: "of g"}


def test_a_request_of_our_own() -> None:
    """Reasoning of others and foreign signatures are left out, pictures go where the model has them, no id is made up."""
    conversation: list[Message] = [
        System.of("be kind"),
        User.of("q"),
        Assistant(
            (Reasoning("hm", signature="c2ln"), Text("look"), ToolCall("", "f", {"n": 1}, signature="x")),
            origin=Origin("anthropic"),
        ),
        ToolResult(parts=(Text("seen"), Image(data="AA==", media_type="image/png")), name="f"),
    ]
    out = fit(conversation, "gemini", "gemini-3-pro")
    assert out.history == {
        "systemInstruction": {"parts": [text("be kind")]},
        "contents": [
            U,
            model(text("look"), signed(call("f", {"n": 1}), SENTINEL)),
            user(response("f", {"output": "seen"}, parts=[PICTURE])),
        ],
    }
    assert {change.code for change in out.changes} == {"THINKING_FOREIGN", "SIGNATURE_FORM", "SIGNATURE_MISSING"}


def test_thoughts_go_back_to_the_model_that_had_them() -> None:
    """What Gemini thought is kept for the model that is asked again, and left out for another."""
    said = model({"text": "hm", "thought": True, "thoughtSignature": "c2ln"}, text("a"))
    user_said, made, again = load_messages([U, said, U], "gemini")
    maker = Origin("google", "gemini", "gemini-3-pro")
    assert isinstance(made, Assistant)
    history = [user_said, Assistant(made.parts, origin=maker), again]
    assert fit(history, "gemini", "gemini-3-pro", maker).history == {"contents": [U, said, U]}
    other = fit(history, "gemini", "gemini-3-pro", Origin("google", "gemini", "gemini-3-flash"))
    assert other.history == {"contents": [U, model(text("a")), U]}


def test_it_is_told_from_the_others() -> None:
    """Parts and the role model are Gemini's alone."""
    assert detect([U]) == "gemini"
    assert detect({"contents": []}) == "gemini"
    mixed = [U, {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}, user(response(id="c"))]  # fmt: skip
    assert heal(mixed, "gemini").history == [U, model(call(id="c")), user(response(id="c"))]


@pytest.mark.parametrize(
    ("pending", "contents"),
    [
        ("answer", [U, model(call("f"), call("g"), text("so")), user(response("f"), response("g", STAND_IN))]),
        ("keep", [U, model(call("f"), call("g"), text("so")), user(response("f"))]),
        ("drop", [U, model(call("f"), text("so")), user(response("f"))]),
    ],
)
def test_the_last_turn_is_the_callers(pending: Any, contents: list[Json]) -> None:
    """Unanswered calls of the end are answered, kept for the caller to run, or dropped."""
    history = [U, model(call("f"), call("g"), text("so")), user(response("f"))]
    assert heal(history, "gemini", pending=pending).history == contents
    alone = [U, model(call("f"), text("so"))]
    assert (heal(alone, "gemini", pending=pending).history is alone) == (pending == "keep")


def test_a_finding_tells_what_the_provider_answers() -> None:
    """The refusal reads as in the reports, with the place or the name."""
    (found,) = diagnose([U, model(call()), user(response())], "gemini", "gemini:gemini-3-pro")
    assert "function call `default_api:f` , position 1." in refusal(found)
    (found,) = diagnose([U, {"role": "model", "parts": []}, U], "gemini")
    assert refusal(found) == "* GenerateContentRequest.contents[1].parts: contents.parts must not be empty."
