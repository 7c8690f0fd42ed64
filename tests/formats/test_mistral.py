"""Mistral: each fault alone, what it becomes, what is left as it came, and a stream put together."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from suture.errors import IncompleteStream, UnknownFormat
from suture.formats import detect
from suture.formats.mistral.stream import assembled
from suture.healing import convert, diagnose, dump_messages, fit, heal, load_messages, refusal
from suture.messages import Assistant, Image, Message, Reasoning, Text, ToolCall, ToolResult, User
from suture.repair import stand_in_text
from tests.formats import mistral_judge

Json = dict[str, Any]

U: Json = {"role": "user", "content": "q"}
SAID: Json = {"role": "assistant", "content": "done"}
S: Json = {"role": "system", "content": "s"}
NOTED: Json = {"role": "assistant", "content": "(noted)"}
GO_ON: Json = {"role": "user", "content": "Continue."}
STAND_IN = stand_in_text("unknown")
ID, OTHER = "zZ9yY8xX7", "aA1bB2cC3"
THOUGHT: Json = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
PICTURE: Json = {"type": "image_url", "image_url": "https://example.org/a.png"}


def call(id: object = ID, arguments: object = "{}", name: str = "f") -> Json:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*items: Json, content: object = "", **more: object) -> Json:
    return {"role": "assistant", "content": content, "tool_calls": list(items), **more}


def result(id: object = ID, content: object = "r", **more: object) -> Json:
    return {"role": "tool", "tool_call_id": id, "content": content, **more}


@pytest.mark.parametrize(
    ("history", "healed", "found"),
    [
        pytest.param(
            [U, calls(call("call_0fypS1hVX")), result("call_0fypS1hVX")],
            [U, calls(call("a71a51987")), result("a71a51987")],
            ["messages[1].tool_calls[0].id: ID_CHARS"],
            id="an id of another provider",
        ),
        pytest.param(
            [U, calls(call("functions.f:0"), call("functions.f:1")), result("functions.f:0"), result("functions.f:1")],
            [U, calls(call("40fc17411"), call("fdd819a37")), result("40fc17411"), result("fdd819a37")],
            ["messages[1].tool_calls[0].id: ID_CHARS", "messages[1].tool_calls[1].id: ID_CHARS"],
            id="ids that begin alike",
        ),
        pytest.param(
            [U, calls(call(), call(OTHER)), result(), U],
            [U, calls(call(), call(OTHER)), result(), result(OTHER, STAND_IN), NOTED, U],
            ["messages[1].tool_calls[1]: CALL_UNANSWERED", "messages[3]: USER_AFTER_TOOL"],
            id="one result too few",
        ),
        pytest.param(
            [U, calls(call()), result(), U, SAID, U],
            [U, calls(call()), result(), NOTED, U, SAID, U],
            ["messages[3]: USER_AFTER_TOOL"],
            id="the user behind a result",
        ),
        pytest.param(
            [U, result()], [U], ["messages[1]: RESULT_ORPHAN"], id="a result behind the user",
        ),
        pytest.param(
            [U, calls(call()), U, result()],
            [U, calls(call()), result(), NOTED, U],
            ["messages[3]: RESULT_DISPLACED"],
            id="a late result",
        ),
        pytest.param([U, SAID], [U, SAID, GO_ON], ["messages[1]: LAST_ASSISTANT"], id="the assistant last"),
        pytest.param(
            [U, {"role": "assistant", "content": None}, U], [U, U], ["messages[1]: MESSAGE_EMPTY"], id="neither words nor calls"
        ),
        pytest.param(
            [S, U, SAID, S, U],
            [S, U, SAID, {"role": "user", "content": "[System message]\n\ns"}, U],
            ["messages[3]: SYSTEM_MISPLACED"],
            id="system text behind an answer",
        ),
        pytest.param(
            [U, calls(call()), result(), S, U],
            [U, calls(call()), result(), NOTED, {"role": "user", "content": "[System message]\n\ns"}, U],
            ["messages[3]: SYSTEM_MISPLACED"],
            id="system text behind a result",
        ),
        pytest.param(
            [U, {**SAID, "prefix": True}, U], [U, SAID, U], ["messages[1].prefix: PREFIX_NOT_LAST"], id="an old prefix"
        ),
        pytest.param(
            [U, calls(call(), content=[THOUGHT]), result(content=[PICTURE])],
            [
                U,
                calls(call(), content=[THOUGHT]),
                result(content=[{"type": "text", "text": "(see below)"}]),
                NOTED,
                {"role": "user", "content": [{"type": "text", "text": f"From the result of {ID}:"}, PICTURE]},
            ],
            ["messages[2].content[0]: IMAGE_ROLE"],
            id="a picture in a result",
        ),
        pytest.param(
            [calls(call()), result()],
            [{"role": "user", "content": "(conversation continues)"}, calls(call()), result()],
            ["messages[0]: FIRST_NOT_USER"],
            id="calls before anybody spoke",
        ),
        pytest.param(
            [U, calls(call(name="a b")), result(name="a b")],
            [U, calls(call(name="a_b")), result(name="a_b")],
            ["messages[1].tool_calls[0].function.name: NAME_PATTERN"],
            id="a name, also of the result",
        ),
        pytest.param(
            [U, calls(call(arguments={"n": 1}), call(OTHER, "")), result(), result(OTHER)],
            [U, calls(call(arguments={"n": 1}), call(OTHER, "{}")), result(), result(OTHER)],
            ["messages[1].tool_calls[1].function.arguments: ARGS_UNPARSABLE"],
            id="blank arguments beside an object",
        ),
    ],
)  # fmt: skip
def test_each_fault_heals_alone(history: list[Json], healed: list[Json], found: list[str]) -> None:
    """Found where it stands, mended and reported, and Mistral's own validator finds nothing."""
    before = copy.deepcopy(history)
    refused = [each for each in diagnose(history, "mistral") if each.severity == "REJ"]
    assert [f"{each.path}: {each.code}" for each in refused] == found
    out = heal(history, "mistral")
    assert out.history == healed
    assert all(change.rules for change in out.changes)
    assert heal(out.history, "mistral").history is out.history
    assert mistral_judge.refusal(healed) is None
    assert history == before


@pytest.mark.parametrize(
    ("model", "healed"),
    [
        ("mistral-large-latest", None),
        ("devstral-medium-2507", [U, {"role": "assistant", "content": "look"}, calls(call(), content=None), result()]),
    ],
)
def test_words_beside_calls_are_refused_by_some(model: str, healed: list[Json] | None) -> None:
    """Devstral refuses them, so they move into a message before; others get a warning."""
    history = [U, calls(call(), content="look"), result()]
    (found,) = diagnose(history, "mistral", f"mistral:{model}")
    assert (found.code, found.rules, found.refused) == ("TEXT_WITH_TOOL", ("MIS-EITHER",), healed is not None)
    out = heal(history, "mistral", f"mistral:{model}").history
    assert out == healed if healed else out is history
    assert mistral_judge.refusal(healed or history, mistral_judge.EITHER if healed else mistral_judge.STRICT) is None


def test_a_result_in_the_wrong_place_breaks_two_rules() -> None:
    """Where it stands, and where it is missing."""
    (found,) = [each for each in diagnose([U, calls(call()), U, result()], "mistral") if each.severity == "REJ"]
    assert found.rules == ("MIS-USER-THEN-TOOL", "MIS-COUNT")


def test_a_finding_tells_what_mistral_answers() -> None:
    """The refusal reads as in the reports."""
    history = [U, calls(call("call_0fypS1hVX")), result("call_0fypS1hVX")]
    words = "Tool call id was call_0fypS1hVX but must be a-z, A-Z, 0-9, with a length of 9."
    assert refusal(diagnose(history, "mistral")[0]) == words
    assert mistral_judge.refusal(history) == words


def test_an_id_is_the_same_in_a_longer_history() -> None:
    """It depends on the id that was there, not on what else there is."""
    short = heal([U, calls(call("call_1")), result("call_1")], "mistral").history
    long = heal([U, calls(call("call_1")), result("call_1"), calls(call("call_2")), result("call_2")], "mistral").history
    assert isinstance(short, list)
    assert isinstance(long, list)
    assert long[:3] == short


@pytest.mark.parametrize(
    ("history", "format"),
    [
        ([U, {**SAID, "prefix": True}], "mistral"),
        ([U, {"role": "assistant", "content": [THOUGHT]}, U], "mistral"),
        ([{"role": "user", "content": [{"type": "document_url", "document_url": "https://example.org/a.pdf"}]}], "mistral"),
        ([{"role": "user", "content": [PICTURE]}], "mistral"),
        ([U, calls(call(), content=[THOUGHT]), result()], "mistral"),
        ([U, calls(call()), result()], "openai-chat"),
        ([S, U], "openai-chat"),
        ([U, {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "x"}]}], "anthropic"),
    ],
)
def test_mistral_is_known_by_what_only_it_has(history: list[Json], format: str) -> None:
    """What has nothing of its own in it counts as Chat Completions."""
    assert detect(history) == format


def test_chat_completions_pass_for_mistral() -> None:
    """A history in that form heals as one of Mistral's; one in another is refused by name."""
    history = [U, calls(call("call_1")), result("call_1")]
    assert heal(history, "mistral").changed
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "t", "content": "r"}
    with pytest.raises(UnknownFormat, match="which is anthropic's and not mistral's"):
        heal([U, {"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}], "mistral")
    mixed = [U, calls(call()), result(), {"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}]
    out = heal(mixed, "mistral").history
    assert isinstance(out, list)
    assert [message["role"] for message in out] == ["user", "assistant", "tool", "assistant", "tool"]
    assert mistral_judge.refusal(out) is None


def test_what_is_read_is_written_back() -> None:
    """Thinking, documents and pictures keep the shape in which they came."""
    history = [
        {"role": "user", "content": [PICTURE, {"type": "document_url", "document_url": "u", "document_name": "n"}]},
        {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "a"}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}, {"type": "input_audio", "input_audio": "AA"}]},
    ]  # fmt: skip
    messages = load_messages(history, "mistral")
    assert messages[1].parts[0] == Reasoning("hm", ext={"mistral": {"chunk": {}}})
    assert dump_messages(messages, "mistral") == {"messages": history}


def test_thinking_of_others_does_not_come_along() -> None:
    """Anthropic's is left out and reported; pictures and documents take Mistral's form."""
    messages: list[Message] = [
        User((Text("q"), Image(data="AA", media_type="image/png"))),
        Assistant((Reasoning("hm", signature="c2ln"), ToolCall("toolu_01", "f", {"n": 1}))),
        ToolResult.of("toolu_01", "r"),
        User.of("and?"),
    ]
    out = fit(messages, "mistral")
    assert isinstance(out.history, dict)
    assert [change.code for change in out.changes] == ["ID_CHARS", "THINKING_FOREIGN", "USER_AFTER_TOOL"]
    assert out.history["messages"][0]["content"][1] == {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64,AA"},
    }
    assert "hm" not in str(out.history)
    assert mistral_judge.refusal(out.history["messages"]) is None


def test_a_history_of_mistrals_moves_on() -> None:
    """To Chat Completions: words, calls and results are there, and thinking is in the report."""
    history = [U, calls(call(arguments={"n": 1}), content=[THOUGHT, {"type": "text", "text": "look"}]), result(), SAID, U]
    out = convert(history, "mistral", "openai-chat")
    assert isinstance(out.history, dict)
    assert out.history["messages"] == [U, calls(call(arguments='{"n":1}'), content="look"), result(), SAID, U]
    assert [(change.code, change.detail) for change in out.changes] == [("THINKING_FOREIGN", "hm")]


# A stream -------------------------------------------------------------------------------------


def chunk(delta: Json, finish: str | None = None, **more: object) -> Json:
    return {
        "id": "x",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        **more,
    }


def piece(id: str, name: str, arguments: object, index: int = 0) -> Json:
    return {"id": id, "index": index, "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        pytest.param(
            [chunk({"role": "assistant", "content": ""}), chunk({"content": "It "}), chunk({"content": "is."}, "stop")],
            {"role": "assistant", "content": "It is."},
            id="words",
        ),
        pytest.param(
            [chunk({"content": ""}), chunk({"tool_calls": [piece(ID, "f", '{"n": 1}')]}, "tool_calls")],
            calls(call(arguments='{"n": 1}')),
            id="a call in one piece",
        ),
        pytest.param(
            [
                chunk({"tool_calls": [piece(ID, "f", '{"n"')]}),
                chunk({"tool_calls": [piece("null", "", ": 1}")]}),
                chunk({"tool_calls": [piece(OTHER, "g", {"n": 2})]}, "tool_calls"),
            ],
            calls(call(arguments='{"n": 1}'), call(OTHER, '{"n":2}', "g")),
            id="calls in pieces, all under one index",
        ),
        pytest.param(
            [
                chunk({"tool_calls": [piece(ID, "f", "{", 0), piece(OTHER, "g", "{", 1)]}),
                chunk({"tool_calls": [piece("", "", "}", 0), piece("", "", "}", 1)]}, "tool_calls"),
            ],
            calls(call(arguments="{}"), call(OTHER, "{}", "g")),
            id="two calls at once",
        ),
        pytest.param(
            [
                {"data": chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "h"}]}]})},
                {"data": chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "m"}], "closed": True}]})},
                {"data": chunk({"content": "a"})},
                {"data": chunk({"content": [{"type": "reference", "reference_ids": [1]}]})},
                {"data": chunk({"content": "b"}, "stop")},
            ],
            {
                "role": "assistant",
                "content": [
                    {**THOUGHT, "closed": True},
                    {"type": "text", "text": "a"},
                    {"type": "reference", "reference_ids": [1]},
                    {"type": "text", "text": "b"},
                ],
            },
            id="thinking, words and a reference",
        ),
    ],
)  # fmt: skip
def test_a_stream_is_put_together(chunks: list[Json], message: Json) -> None:
    """The message is the one that is sent back, and the chunks stay as they were."""
    before = copy.deepcopy(chunks)
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    answer = assembled([*chunks, {"choices": [], "usage": usage}])
    assert answer.message == message
    assert answer.finish_reason in ("stop", "tool_calls")
    assert answer.usage == usage
    assert chunks == before
    assert dump_messages(load_messages([U, message], "mistral"), "mistral") == {"messages": [U, message]}


@pytest.mark.parametrize("chunks", [[], [chunk({"content": "It "})], [chunk({"content": "x"}, "error")]])
def test_half_an_answer_is_none(chunks: list[Json]) -> None:
    """Without a `finish_reason`, or broken off, none of it is kept."""
    with pytest.raises(IncompleteStream):
        assembled(chunks)
