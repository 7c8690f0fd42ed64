"""A stream of Converse becomes one assistant message, or says that it broke off."""

from __future__ import annotations

from typing import Any

import pytest

from suture.errors import IncompleteStream
from suture.formats.bedrock.stream import Streamed, assemble
from suture.healing import dump_messages
from suture.messages import Assistant, Opaque, Reasoning, Text, ToolCall, Usage

Json = dict[str, Any]

START: Json = {"messageStart": {"role": "assistant"}}


def begun(index: int, start: Json) -> Json:
    return {"contentBlockStart": {"contentBlockIndex": index, "start": start}}


def piece(index: int, delta: Json) -> Json:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}


def ended(index: int) -> Json:
    return {"contentBlockStop": {"contentBlockIndex": index}}


def stopped(reason: str) -> Json:
    return {"messageStop": {"stopReason": reason}}


def answer(*events: Json, stop: str = "end_turn") -> Streamed:
    return assemble([START, *events, stopped(stop)])


def wire(message: Assistant) -> list[Json]:
    (only,) = dump_messages([message], "bedrock")["messages"]
    content: list[Json] = only["content"]
    return content


CALL: Json = {"toolUse": {"toolUseId": "t1", "name": "f"}}


def test_thinking_words_and_a_call() -> None:
    """Pieces are joined in their blocks, the input becomes an object, and usage counts the cache within the input."""
    metadata = {
        "usage": {"inputTokens": 5, "outputTokens": 7, "cacheReadInputTokens": 3, "cacheWriteInputTokens": 2},
        "metrics": {"latencyMs": 1},
    }
    out = assemble(
        [
            START,
            piece(0, {"reasoningContent": {"text": "h"}}),
            piece(0, {"reasoningContent": {"text": "m"}}),
            piece(0, {"reasoningContent": {"signature": "c2ln"}}),
            ended(0),
            piece(1, {"text": "let me "}),
            piece(1, {"text": "look"}),
            ended(1),
            begun(2, CALL),
            piece(2, {"toolUse": {"input": '{"n"'}}),
            piece(2, {"toolUse": {"input": ": 1}"}}),
            ended(2),
            stopped("tool_use"),
            {"metadata": metadata},
        ]
    )
    assert out.stop_reason == "tool_use"
    assert out.message.stop_reason == "tool_use"
    assert out.message.usage == Usage(10, 7, 3, 2)
    assert wire(out.message) == [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
        {"text": "let me look"},
        {"toolUse": {"toolUseId": "t1", "name": "f", "input": {"n": 1}}},
    ]


@pytest.mark.parametrize(
    ("pieces", "call"),
    [
        ([], ToolCall("t1", "f", {})),
        (['{"n": 1}'], ToolCall("t1", "f", {"n": 1})),
        (['{"n": '], ToolCall("t1", "f", None, '{"n": ', "invalid_json")),
        (["[1]"], ToolCall("t1", "f", None, "[1]", "invalid_arguments")),
    ],
)
def test_the_input_of_a_call(pieces: list[str], call: ToolCall) -> None:
    """An object, or the text as it came with what is wrong with it."""
    out = answer(begun(0, CALL), *[piece(0, {"toolUse": {"input": text}}) for text in pieces], stop="tool_use")
    assert out.message.parts == (call,)


def test_parallel_calls_keep_apart() -> None:
    """Pieces of two blocks may come in turns."""
    other = {"toolUse": {"toolUseId": "t2", "name": "g"}}
    out = answer(
        begun(0, CALL),
        begun(1, other),
        piece(1, {"toolUse": {"input": '{"b": 2}'}}),
        piece(0, {"toolUse": {"input": '{"a": 1}'}}),
        stop="tool_use",
    )
    assert out.message.parts == (ToolCall("t1", "f", {"a": 1}), ToolCall("t2", "g", {"b": 2}))


def test_what_only_bedrock_has() -> None:
    """Redacted thinking, citations, and what a tool of Bedrock's own did."""
    server = {"toolUse": {"toolUseId": "s1", "name": "nova_grounding", "type": "server_tool_use"}}
    found = {"toolResult": {"toolUseId": "s1", "type": "nova_grounding_result"}}
    out = answer(
        piece(0, {"reasoningContent": {"redactedContent": b"opaque"}}),
        begun(1, server),
        piece(1, {"toolUse": {"input": '{"q": "x"}'}}),
        begun(2, found),
        piece(2, {"toolResult": [{"text": "a"}, {"text": "b"}]}),
        piece(2, {"toolResult": [{"json": {"n": 1}}]}),
        piece(3, {"text": "it says so"}),
        piece(3, {"citation": {"title": "a report"}}),
        piece(4, {"text": " "}),
        piece(5, {"novelty": 1}),
    )
    assert [type(part) for part in out.message.parts] == [Reasoning, Opaque, Opaque, Text]
    assert wire(out.message) == [
        {"reasoningContent": {"redactedContent": b"opaque"}},
        {"toolUse": {**server["toolUse"], "input": {"q": "x"}}},
        {"toolResult": {**found["toolResult"], "content": [{"text": "ab"}, {"json": {"n": 1}}]}},
        {"citationsContent": {"content": [{"text": "it says so"}], "citations": [{"title": "a report"}]}},
    ]


@pytest.mark.parametrize(
    ("stop", "ours"),
    [
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("guardrail_intervened", "refusal"),
        ("malformed_tool_use", "error"),
        ("novelty", "stop"),
    ],
)
def test_why_it_stopped(stop: str, ours: str) -> None:
    """In suture's words, and in Bedrock's."""
    out = answer(piece(0, {"text": "a"}), stop=stop)
    assert (out.message.stop_reason, out.stop_reason) == (ours, stop)


@pytest.mark.parametrize(
    "events",
    [
        [],
        [START, piece(0, {"text": "a"}), ended(0), {"metadata": {"usage": {}}}],
        [START, {"modelStreamErrorException": {"message": "x"}}, stopped("end_turn")],
        [START, begun(0, CALL), stopped("novelty")],
    ],
    ids=["nothing", "no end", "an exception", "a call cut for an unknown reason"],
)
def test_a_stream_that_broke_off_is_no_answer(events: list[Json]) -> None:
    """None of it is kept."""
    with pytest.raises(IncompleteStream):
        assemble(events)


@pytest.mark.parametrize("events", [[START, START], [START, begun(0, CALL), begun(0, CALL)]])
def test_two_answers_are_never_mixed(events: list[Json]) -> None:
    """What no answer can be is refused."""
    with pytest.raises(ValueError, match="begins"):
        assemble([*events, stopped("end_turn")])
