"""Streams put together: what servers send, in the shapes that they really send it in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from suture.errors import IncompleteStream, Overloaded, TransportError
from suture.formats.base import Json
from suture.healing import fit
from suture.loop.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from suture.messages import Assistant, Message, Opaque, Origin, Reasoning, Text, ToolCall, Usage, User
from suture.models import anthropic_assembly, bounds, openai_assembly
from suture.models.failures import reading

CHAT = Origin("openai", "openai-chat", "m")
CLAUDE = Origin("anthropic", "anthropic", "claude-opus-4-6")


def chat(*deltas: Json, finish: str | None = "stop", **last: Any) -> tuple[Assistant, list[Delta]]:
    """The answer of a stream of Chat Completions: a chunk for each delta, then the end."""
    assembly = openai_assembly.Assembly("openai:m", CHAT)
    told = [one for delta in deltas for one in assembly.add({"id": "r1", "choices": [{"index": 0, "delta": delta}]})]
    told += assembly.add({"id": "r1", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}], **last})
    return assembly.answer(), told


def claude(*events: Json, stop: str | None = "end_turn", is_over: bool = True) -> tuple[Assistant, list[Delta]]:
    """The answer of a stream of Messages: a start, the events, then the end."""
    assembly = anthropic_assembly.Assembly("anthropic:m", CLAUDE)
    start = {"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 5, "output_tokens": 1}}}
    told = [one for event in (start, *events) for one in assembly.add(event)]
    if stop is not None:
        assembly.add({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 9}})
    if is_over:
        assembly.add({"type": "message_stop"})
    return assembly.answer(), told


def piece(index: int | None = 0, id: str | None = None, name: str | None = None, arguments: object = None) -> Json:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    call = {key: value for key, value in (("index", index), ("id", id)) if value is not None}
    return {"tool_calls": [{**call, "function": function}]}


def block(index: int, start: Json, *deltas: Json) -> list[Json]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def shapes(message: Assistant) -> list[tuple[str, str, object]]:
    return [(call.id, call.name, call.arguments) for call in message.calls]


A, B = ("a", "look", {"n": 1}), ("b", "send", {"n": 2})
CALLS: list[tuple[str, list[Json], list[tuple[str, str, object]]]] = [
    ("one, in pieces", [piece(0, "a", "look", ""), piece(0, arguments='{"n"'), piece(0, arguments=": 1}")], [A]),
    ("two, by index", [piece(0, "a", "look", '{"n":1}'), piece(1, "b", "send", '{"n":'), piece(1, arguments="2}")], [A, B]),
    ("two, mixed", [piece(0, "a", "look"), piece(1, "b", "send"), piece(0, arguments='{"n":1}'), piece(1, arguments='{"n":2}')], [A, B]),
    ("two, all of index 0", [piece(0, "a", "look", '{"n":1}'), piece(0, "b", "send", '{"n":2}')], [A, B]),
    ("two, without an index", [piece(None, "a", "look", '{"n":1}'), piece(None, "b", "send", '{"n":2}')], [A, B]),
    ("without an index, in pieces", [piece(None, "a", "look", '{"n"'), piece(None, arguments=":1}")], [A]),
    ("id and name in every piece", [piece(0, "a", "look", '{"n"'), piece(0, "a", "look", ":1}")], [A]),
    ("arguments as an object", [piece(0, "a", "look", {"n": 1})], [A]),
    ("an id of no text", [{"tool_calls": [{"index": 0, "id": 7, "function": {"name": "look", "arguments": '{"n":1}'}}]}], [("", "look", {"n": 1})]),
]  # fmt: skip


@pytest.mark.parametrize(("deltas", "calls"), [row[1:] for row in CALLS], ids=[row[0] for row in CALLS])
def test_calls_come_in_many_shapes(deltas: list[Json], calls: list[tuple[str, str, object]]) -> None:
    """No call is lost, doubled or mixed with another, and the deltas say which call they belong to."""
    message, told = chat(*deltas, finish="tool_calls")
    assert shapes(message) == calls
    assert message.stop_reason == "tool_use"
    for at, call in enumerate(message.calls):
        text = "".join(one.arguments for one in told if isinstance(one, ToolCallDelta) and one.index == at)
        assert text.replace(" ", "") == (call.raw or "").replace(" ", "")


def test_a_call_keeps_what_its_server_added() -> None:
    """A field that a copy of the API put on a call is sent back to it: its signature may hang on it."""
    extra = {
        "index": 0,
        "id": "a",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
        "extra_content": {"s": 1},
    }
    message, _ = chat({"tool_calls": [extra]}, finish="tool_calls")
    (call,) = message.calls
    assert call.ext == {"openai-chat": {"extra_content": {"s": 1}}}


@pytest.mark.parametrize(
    ("raw", "error"), [('{"n": 1', "invalid_json"), ("[1]", "invalid_arguments"), ('{"a":1,"a":2}', "duplicate_key")]
)
def test_broken_arguments_are_kept_as_they_came(raw: str, error: str) -> None:
    """The call stands, with its text and what is wrong with it, whichever the provider."""
    by_chat, _ = chat(piece(0, "a", "look", raw), finish="tool_calls")
    use = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    by_claude, _ = claude(*block(0, use, {"type": "input_json_delta", "partial_json": raw}), stop="tool_use")
    for message in (by_chat, by_claude):
        (call,) = message.calls
        assert (call.arguments, call.raw, call.error) == (None, raw, error)


STOPS = [
    ("stop", "stop"), ("length", "length"), ("content_filter", "refusal"), ("tool_calls", "tool_use"),
    ("function_call", "tool_use"), ("eos", "stop"),
]  # fmt: skip


@pytest.mark.parametrize(("finish", "stop"), STOPS)
def test_why_a_chat_answer_stopped(finish: str, stop: str) -> None:
    """Each reason has one word of ours; one that we do not know means that it stopped by itself."""
    assert chat({"content": "hi"}, finish=finish)[0].stop_reason == stop


def test_calls_behind_a_plain_stop_are_calls() -> None:
    """Some servers say "stop" where they mean calls."""
    assert chat(piece(0, "a", "look", "{}"), finish="stop")[0].stop_reason == "tool_use"


CLAUDE_STOPS = [
    ("end_turn", "stop"), ("stop_sequence", "stop"), ("tool_use", "tool_use"), ("max_tokens", "length"),
    ("model_context_window_exceeded", "length"), ("refusal", "refusal"), ("pause_turn", "pause"),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "stop"), CLAUDE_STOPS)
def test_why_a_claude_answer_stopped(reason: str, stop: str) -> None:
    """Each reason has one word of ours."""
    assert (
        claude(*block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "x"}), stop=reason)[0].stop_reason
        == stop
    )


@pytest.mark.parametrize(
    ("stop", "is_over"), [(None, True), ("end_turn", False), (None, False)], ids=["no reason", "no end", "neither"]
)
def test_a_claude_answer_without_its_end_is_none(stop: str | None, is_over: bool) -> None:
    """Both the reason and the last event are needed."""
    with pytest.raises(IncompleteStream, match=r"anthropic:m ended its answer before it was whole"):
        claude(*block(0, {"type": "text", "text": "half"}), stop=stop, is_over=is_over)


@pytest.mark.parametrize(
    ("finish", "error"), [(None, IncompleteStream), ("error", Overloaded), ("insufficient_system_resource", Overloaded)]
)
def test_a_chat_answer_that_broke_off_is_none(finish: str | None, error: type[Exception]) -> None:
    """Without a reason to stop it is not whole; some reasons say that it broke."""
    with pytest.raises(error, match="openai:m"):
        chat({"content": "half"}, finish=finish)


def test_refusals_are_words() -> None:
    """What a model says instead of an answer is what the user reads, and the turn says that it refused."""
    message, told = chat({"refusal": "I can"}, {"refusal": "not."})
    assert (message.text, message.stop_reason) == ("I cannot.", "refusal")
    assert told == [TextDelta("I can"), TextDelta("not.")]


THOUGHTS: list[tuple[str, list[Json], Json]] = [
    ("reasoning_content", [{"reasoning_content": "a"}, {"reasoning_content": "b"}], {"reasoning_content": "ab"}),
    ("reasoning", [{"reasoning": "a"}, {"reasoning": "b"}], {"reasoning": "ab"}),
    ("both names", [{"reasoning": "a", "reasoning_content": "a"}, {"reasoning": "b", "reasoning_content": "b"}], {"reasoning_content": "ab"}),
    (
        "details",
        [
            {"reasoning": "a", "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "a"}]},
            {"reasoning": "b", "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "b", "signature": "s"}]},
            {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "e"}]},
        ],
        {
            "reasoning": "ab",
            "reasoning_details": [
                {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s"},
                {"type": "reasoning.encrypted", "index": 1, "data": "e"},
            ],
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize(("deltas", "back"), [row[1:] for row in THOUGHTS], ids=[row[0] for row in THOUGHTS])
def test_reasoning_goes_back_to_the_model_that_made_it_and_to_nobody_else(deltas: list[Json], back: Json) -> None:
    """In the field in which it came, whole; another model, or the same name elsewhere, does not get it."""
    message, told = chat(*deltas, {"content": "answer"})
    assert "".join(one.text for one in told if isinstance(one, ReasoningDelta)) == "ab"
    conversation: list[Message] = [User.of("q"), message, User.of("and?")]

    def sent(reader: Origin | None) -> Json:
        history = fit(conversation, "openai-chat", "vllm", reader).history
        assert isinstance(history, dict)
        found: Json = history["messages"][1]
        return found

    assert sent(CHAT) == {"role": "assistant", "content": "answer", **back}
    for other in (None, Origin("openai", "openai-chat", "other"), Origin("elsewhere", "openai-chat", "m")):
        assert sent(other) == {"role": "assistant", "content": "answer"}


def test_thinking_keeps_its_signature_and_its_place() -> None:
    """A signed thought, a hidden one and words stay what they were, in the order in which they came."""
    message, told = claude(
        *block(0, {"type": "thinking", "thinking": "", "signature": ""}, {"type": "thinking_delta", "thinking": "hm"}, {"type": "signature_delta", "signature": "c2ln"}),
        *block(1, {"type": "redacted_thinking", "data": "xyz"}),
        *block(2, {"type": "text", "text": ""}, {"type": "text_delta", "text": "yes"}),
    )  # fmt: skip
    assert message.parts == (Reasoning("hm", "c2ln"), Reasoning(encrypted="xyz", redacted=True), Text("yes"))
    assert told == [ReasoningDelta("hm"), TextDelta("yes")]


def test_blocks_that_only_anthropic_reads_are_kept() -> None:
    """A server tool's call gets its arguments, its result stays as it came, and citations stay with their text."""
    result = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}
    message, told = claude(
        *block(0, {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}, {"type": "input_json_delta", "partial_json": '{"query":'}, {"type": "input_json_delta", "partial_json": '"x"}'}),
        *block(1, result),
        *block(2, {"type": "text", "text": ""}, {"type": "text_delta", "text": "x"}, {"type": "citations_delta", "citation": {"url": "u"}}),
    )  # fmt: skip
    first, second, third = message.parts
    assert first == Opaque(
        "anthropic", {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}}
    )
    assert second == Opaque("anthropic", result)
    assert third == Text("x", ext={"anthropic": {"citations": [{"url": "u"}]}})
    assert told == [TextDelta("x")]
    assert message.calls == ()


def test_calls_of_claude_are_counted_among_calls() -> None:
    """The index of a delta counts calls, not blocks."""
    message, told = claude(
        *block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "two"}),
        *block(1, {"type": "tool_use", "id": "a", "name": "look", "input": {}}, {"type": "input_json_delta", "partial_json": '{"n":1}'}),
        *block(2, {"type": "tool_use", "id": "b", "name": "send", "input": {}}, {"type": "input_json_delta", "partial_json": '{"n":2}'}),
        stop="tool_use",
    )  # fmt: skip
    assert shapes(message) == [A, B]
    assert [(one.index, one.id, one.arguments) for one in told if isinstance(one, ToolCallDelta)] == [
        (0, "a", ""), (0, "a", '{"n":1}'), (1, "b", ""), (1, "b", '{"n":2}'),
    ]  # fmt: skip
    bare, _ = claude(*block(0, {"type": "tool_use", "id": "a", "name": "look", "input": {}}), stop="tool_use")
    assert shapes(bare) == [("a", "look", {})]


def test_tokens_are_counted_alike() -> None:
    """What a cache read and wrote is within the input, whatever the provider's own way of counting."""
    usage = {
        "prompt_tokens": 100, "completion_tokens": 20, "cost": 0.5,
        "prompt_tokens_details": {"cached_tokens": 80}, "completion_tokens_details": {"reasoning_tokens": 7},
    }  # fmt: skip
    assert chat({"content": "x"}, usage=usage)[0].usage == Usage(100, 20, 80, 0, 7, 0.5)
    assert chat({"content": "x"}, usage={"prompt_tokens": None, "completion_tokens": 3})[0].usage == Usage(0, 3)
    assert chat({"content": "x"})[0].usage is None
    wire = {"input_tokens": 5, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 15, "output_tokens": 20}
    assert anthropic_assembly.usage_of({**wire, "output_tokens_details": {"thinking_tokens": 7}}) == Usage(
        100, 20, 80, 15, 7
    )
    message, _ = claude(*block(0, {"type": "text", "text": "x"}))
    assert message.usage == Usage(5, 9), "the figures of the end count, those of the start where the end has none"


def test_an_answer_says_whose_it_is() -> None:
    """The model that was asked for, and the id by which the provider knows the answer."""
    assert chat({"content": "x"})[0].origin == Origin("openai", "openai-chat", "m", "r1")
    assert claude(*block(0, {"type": "text", "text": "x"}))[0].origin == Origin(
        "anthropic", "anthropic", "claude-opus-4-6", "msg_1"
    )


def test_other_choices_and_unknown_events_are_left_alone() -> None:
    """One answer is asked for; a second choice is none of it, and an event of a later version is no error."""
    assembly = openai_assembly.Assembly("openai:m", CHAT)
    both = [{"index": n, "delta": {"content": text}, "finish_reason": "stop"} for n, text in enumerate("ab")]
    assert assembly.add({"choices": both}) == [TextDelta("a")]
    assert assembly.answer().text == "a"
    message, _ = claude({"type": "novelty", "index": 3}, *block(0, {"type": "text", "text": "x"}))
    assert message.text == "x"


def test_a_call_that_was_seen_at_once_is_a_tool_call() -> None:
    """What comes out is a word of ours, with nothing of the wire left over."""
    message, _ = chat(piece(0, "a", "look", '{"n":1}'), finish="tool_calls")
    assert message.calls == (ToolCall("a", "look", {"n": 1}, '{"n":1}'),)


# What is refused, and what is kept ------------------------------------------------------------

REFUSED_CHAT: list[tuple[str, Json]] = [
    ("a call by the old way", {"function_call": {"name": "f", "arguments": "{}"}}),
    ("content that is a number", {"content": 5}),
    ("content of other parts", {"content": [{"type": "image", "data": "x"}]}),
    ("arguments that are a list", {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": [1]}}]}),
    ("a call that is a text", {"tool_calls": ["look"]}),
    ("a delta that is a text", "hello"),  # type: ignore[list-item]
]


@pytest.mark.parametrize("delta", [row[1] for row in REFUSED_CHAT], ids=[row[0] for row in REFUSED_CHAT])
def test_a_chunk_that_could_hide_a_part_of_the_answer_is_refused(delta: Json) -> None:
    """The attempt fails and is made again: better than an answer of which a part is gone."""
    with pytest.raises(TransportError, match="sent what is no answer"), reading("openai:m"):
        chat(delta)


def test_what_no_field_is_for_is_kept_with_the_answer() -> None:
    """Pictures and notes of a copy of the API stay in the log, whole, though no request sends them."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    message, _ = chat({"content": "see", "images": [image]}, {"images": [image], "note": "a"}, {"note": "b"})
    assert message.ext == {"openai-chat": {"images": [image, image], "note": "ab"}}
    sent = fit([User.of("q"), message], "openai-chat")
    assert "images" not in str(sent.history)
    assert {change.code for change in sent.changes} == {"FIELD_UNKNOWN"}


def test_words_may_come_as_a_list_or_in_one_piece() -> None:
    """Some copies send lists of texts, and some a whole message where the API has a delta."""
    assert chat({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})[0].text == "ab"
    assembly = openai_assembly.Assembly("openai:m", CHAT)
    assembly.add({"choices": [{"index": 0, "message": {"role": "assistant", "content": "whole"}, "finish_reason": "stop"}]})
    assert assembly.answer().text == "whole"


@pytest.mark.parametrize("finish", ["network_error", "abort", "who_knows", "max_time"])
def test_a_call_behind_an_unknown_stop_is_not_run(finish: str) -> None:
    """A reason that suture does not know may have cut the arguments, whichever the provider."""
    with pytest.raises((IncompleteStream, Overloaded)):
        chat(piece(0, "a", "look", "{}"), finish=finish)
    with pytest.raises(IncompleteStream, match="unknown reason"):
        claude(*block(0, {"type": "tool_use", "id": "a", "name": "look", "input": {}}), stop=finish)


def test_the_first_reason_to_stop_counts() -> None:
    """A server that says "length" and then "stop" was cut."""
    assembly = openai_assembly.Assembly("openai:m", CHAT)
    for finish in ("length", "stop"):
        assembly.add({"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": finish}]})
    assert assembly.answer().stop_reason == "length"


USE = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
REFUSED_CLAUDE: list[tuple[str, list[Json]]] = [
    ("no type", block(0, {})),
    ("a type that is null", block(0, {"type": None})),
    ("a type that is a list", block(0, {"type": []})),
    ("a result of a tool", block(0, {"type": "tool_result", "tool_use_id": "a", "content": "x"})),
    ("a place that is null", [{"type": "content_block_start", "index": None, "content_block": USE}]),
    ("one place twice", [*block(0, USE), *block(0, USE)]),
    ("a delta before its start", [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}}]),
    ("a second answer", [*block(0, USE), {"type": "message_start", "message": {"id": "msg_2"}}]),
    ("a broken input of a server's tool", block(0, {"type": "server_tool_use", "id": "s", "name": "w", "input": {}}, {"type": "input_json_delta", "partial_json": "{"})),
]  # fmt: skip


@pytest.mark.parametrize("events", [row[1] for row in REFUSED_CLAUDE], ids=[row[0] for row in REFUSED_CLAUDE])
def test_events_that_could_hide_or_mix_answers_are_refused(events: list[Json]) -> None:
    """The attempt fails and is made again; in no case does a call run with arguments of another."""
    with pytest.raises(TransportError, match="sent what is no answer"), reading("anthropic:m"):
        claude(*events, stop="tool_use")


BLANK: list[Json] = [
    {"type": "text"}, {"type": "text", "text": ""}, {"type": "text", "text": None}, {"type": "thinking", "thinking": ""},
    {"type": "redacted_thinking", "data": " "}, {"type": "redacted_thinking"},
]  # fmt: skip


@pytest.mark.parametrize("start", BLANK)
def test_a_block_that_says_nothing_does_not_poison_the_session(start: Json) -> None:
    """It is left out, and the conversation may be sent back to Anthropic."""
    message, _ = claude(*block(0, start), *block(1, {"type": "text", "text": "hi"}))
    assert message.parts == (Text("hi"),)
    assert fit([User.of("q"), message, User.of("and?")], "anthropic").changes == []


UNSENDABLE = [
    {},
    {"type": None},
    {"type": ""},
    {"type": "text"},
    {"type": "tool_use"},
    {"type": "thinking"},
    "text",
    [],
    None,
]


@pytest.mark.parametrize("raw", UNSENDABLE, ids=str)
def test_a_part_that_nobody_could_read_is_no_part_of_a_request(raw: object) -> None:
    """However it came into the log, it is left out of what is sent and reported, never the end of the session."""
    for role in (User((Opaque("anthropic", raw), Text("q"))), Assistant((Opaque("anthropic", raw), Text("a")))):
        healed = fit([User.of("first"), role, User.of("q")], "anthropic")
        assert [change.code for change in healed.changes] == ["BLOCK_UNKNOWN"]


@pytest.mark.parametrize("figures", [{"prompt_tokens": True}, {"prompt_tokens": "many"}, {"prompt_tokens": -5}, {"cost": 10**400}, {"cost": float("nan")}, {"cost": "free"}, {"prompt_tokens_details": 7}])  # fmt: skip
def test_figures_that_are_none_count_nothing(figures: Json) -> None:
    """An answer is not lost for its bill."""
    assert chat({"content": "x"}, usage=figures)[0].usage == Usage()


def test_an_answer_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text, calls and events that would never end, end as a failed attempt."""
    monkeypatch.setattr(bounds, "MAX_CHARACTERS", 100)
    monkeypatch.setattr(bounds, "MAX_PARTS", 10)
    monkeypatch.setattr(bounds, "MAX_EVENTS", 50)
    endless: list[Callable[[], object]] = [
        lambda: chat(*[{"content": "x" * 10}] * 11),
        lambda: chat(*[{}] * 51),
        lambda: chat(*(piece(n, f"c{n}", "look") for n in range(11))),
        lambda: claude(*(event for n in range(11) for event in block(n, {"type": "text", "text": "x"})[:1])),
        lambda: claude(*block(0, {"type": "text", "text": ""}, *[{"type": "text_delta", "text": "x" * 10}] * 11)),
        lambda: claude(*[{"type": "ping"}] * 51),
    ]
    for one in endless:
        with pytest.raises(ValueError, match="more than"):
            one()
