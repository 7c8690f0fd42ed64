"""A stream of Gemini's, put together: what is joined, what is kept apart, and what is no whole answer."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from suture.errors import ContentRefused, IncompleteStream, InvalidAnswer
from suture.formats.gemini.stream import Assembly, assemble
from suture.healing import heal

Json = dict[str, Any]


def chunk(*parts: Json, finish: str | None = None, **more: Any) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {"candidates": [candidate if finish is None else {**candidate, "finishReason": finish}], **more}


CALL: Json = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"}


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ([{"text": "a"}, {"text": "b"}], [{"text": "ab"}]),
        ([{"text": "a"}, {"text": ""}, {"text": "b"}], [{"text": "ab"}]),
        (
            [{"text": "h", "thought": True}, {"text": "m", "thought": True}, {"text": "a"}],
            [{"text": "hm", "thought": True}, {"text": "a"}],
        ),
        (
            [{"text": "a"}, {"text": "b", "thoughtSignature": "c2ln"}, {"text": "c"}],
            [{"text": "a"}, {"text": "b", "thoughtSignature": "c2ln"}, {"text": "c"}],
        ),
        ([{"text": "a"}, {"thoughtSignature": "c2ln"}], [{"text": "a"}, {"text": "", "thoughtSignature": "c2ln"}]),
        ([{"text": "a"}, CALL, CALL, {"text": "b"}], [{"text": "a"}, CALL, CALL, {"text": "b"}]),
        (
            [{"text": "a", "thought": None, "function_call": None}, {"text": "b", "thought_signature": "c2ln"}],
            [{"text": "a", "thought": None, "function_call": None}, {"text": "b", "thought_signature": "c2ln"}],
        ),
    ],
    ids=["words", "nothing between", "thoughts apart", "a signature", "a signature alone", "calls", "as the SDK dumps it"],
)
def test_parts_are_joined_where_no_signature_is(parts: list[Json], whole: list[Json]) -> None:
    """Order stays; the content may be sent back as it is, and the chunks stay as they were."""
    chunks = [*map(chunk, parts), chunk(finish="STOP")]
    before = copy.deepcopy(chunks)
    answer = assemble(chunks)
    assert answer.content == {"role": "model", "parts": whole}
    assert answer.finish_reason == "STOP"
    assert chunks == before
    behind: list[Json] = [
        {"functionResponse": {"name": "f", "response": {"output": "r"}}} for part in whole if part == CALL
    ]
    history = [
        {"role": "user", "parts": [{"text": "q"}]},
        answer.content,
        {"role": "user", "parts": behind or [{"text": "?"}]},
    ]
    assert heal(history, "gemini").history is history


def test_what_stands_beside_the_answer() -> None:
    """The last count of tokens, the id and the version count, in either spelling; a chunk may hold nothing else."""
    first = chunk({"text": "a"}, usageMetadata={"promptTokenCount": 3, "totalTokenCount": 4}, responseId="r1")
    last = {"usage_metadata": {"total_token_count": 9, "totalTokenCount": 9}, "model_version": "gemini-3-pro"}
    answer = assemble([first, chunk(finish="MAX_TOKENS"), last])
    assert answer.usage == {"promptTokenCount": 3, "totalTokenCount": 9, "total_token_count": 9}
    assert (answer.response_id, answer.model_version, answer.finish_reason) == ("r1", "gemini-3-pro", "MAX_TOKENS")


def test_each_chunk_tells_what_it_adds() -> None:
    """A reader that shows the answer as it comes gets the new parts of each chunk."""
    assembly = Assembly()
    assert assembly.add(chunk({"text": "a"})) == [{"text": "a"}]
    assert assembly.add(chunk(finish="STOP")) == []
    assert assembly.answer().content["parts"] == [{"text": "a"}]


def test_only_the_first_candidate_is_kept() -> None:
    """Others never mix into it."""
    other = {"content": {"parts": [{"text": "z"}]}, "index": 1, "finishReason": "STOP"}
    first = chunk({"text": "a"}, finish="STOP")
    assert assemble([{"candidates": [other, *first["candidates"]]}]).content["parts"] == [{"text": "a"}]


@pytest.mark.parametrize(
    ("chunks", "error", "words"),
    [
        ([], IncompleteStream, "without a finish reason"),
        ([chunk({"text": "a"})], IncompleteStream, "without a finish reason"),
        ([{"promptFeedback": {"blockReason": "SAFETY"}}], ContentRefused, "SAFETY"),
        ([chunk({"functionCall": {"name": "f", "willContinue": True}})], InvalidAnswer, "streamFunctionCallArguments"),
        ([chunk({"function_call": {"partial_args": [{}]}})], InvalidAnswer, "streamFunctionCallArguments"),
        ([7], InvalidAnswer, "a number for a chunk"),
        ([{"candidates": {}}, {"candidates": "x"}], InvalidAnswer, "candidates are a text"),
        ([{"candidates": [None]}], InvalidAnswer, "null for a candidate"),
        ([{"candidates": [{"content": []}]}], InvalidAnswer, "a list for the content"),
        ([{"candidates": [{"content": {"parts": "x"}}]}], InvalidAnswer, "parts of the answer are a text"),
        ([{"candidates": [{"content": {"parts": ["x"]}}]}], InvalidAnswer, "a text for a part"),
        ([{"usageMetadata": 3}], InvalidAnswer, "a number for the usage"),
    ],
)
def test_what_is_no_whole_answer_is_refused(chunks: list[Any], error: type[Exception], words: str) -> None:
    """A stream that was cut off, half a call, or a shape that no answer has: nothing of it is kept."""
    with pytest.raises(error, match=words):
        assemble(chunks)
