"""A stream of Responses: what comes of its events, what is refused, and that the SDK would yield such events."""

from __future__ import annotations

from typing import Any

import pytest
from openai._models import construct_type
from openai.types.responses import ResponseStreamEvent

from suture.errors import IncompleteStream, InvalidAnswer
from suture.formats.openai_responses import stream
from suture.formats.openai_responses.stream import Answer, Assembly, answer_of
from suture.healing import heal

Json = dict[str, Any]

REASONING: Json = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "hm"}],
    "encrypted_content": "gA",
}
TEXT: Json = {"type": "output_text", "text": "Look.", "annotations": []}
MESSAGE: Json = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [TEXT]}
CALL: Json = {
    "id": "fc_1",
    "type": "function_call",
    "call_id": "c1",
    "name": "f",
    "arguments": '{"n":1}',
    "status": "completed",
}
CUSTOM: Json = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "*** begin"}
USAGE: Json = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
ITEMS = [REASONING, MESSAGE, CALL, CUSTOM]


def begun(item: Json, **blank: Any) -> Json:
    return {**item, **blank}


def event(kind: str, number: int, **more: Any) -> Json:
    return {"type": f"response.{kind}", "sequence_number": number, **more}


def response(status: str, output: list[Json], **more: Any) -> Json:
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5", "parallel_tool_calls": True}
    return {**head, "tool_choice": "auto", "tools": [], "status": status, "output": output, **more}


def pieces() -> list[Json]:
    """The events of an answer of four items, up to its last."""
    summary = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
    words = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
    call = {"item_id": "fc_1", "output_index": 2}
    custom = {"item_id": "ctc_1", "output_index": 3}
    made: list[tuple[str, Json]] = [
        ("created", {"response": response("in_progress", [])}),
        ("in_progress", {"response": response("in_progress", [])}),
        ("output_item.added", {"output_index": 0, "item": begun(REASONING, summary=[])}),
        ("reasoning_summary_part.added", {**summary, "part": {"type": "summary_text", "text": ""}}),
        ("reasoning_summary_text.delta", {**summary, "delta": "hm"}),
        ("reasoning_summary_text.done", {**summary, "text": "hm"}),
        ("output_item.done", {"output_index": 0, "item": REASONING}),
        ("output_item.added", {"output_index": 1, "item": begun(MESSAGE, content=[], status="in_progress")}),
        ("content_part.added", {**words, "part": {**TEXT, "text": ""}}),
        ("output_text.delta", {**words, "delta": "Lo", "logprobs": []}),
        ("output_text.delta", {**words, "delta": "ok.", "logprobs": []}),
        ("output_text.done", {**words, "text": "Look.", "logprobs": []}),
        ("content_part.done", {**words, "part": TEXT}),
        ("output_item.done", {"output_index": 1, "item": MESSAGE}),
        ("output_item.added", {"output_index": 2, "item": begun(CALL, arguments="", status="in_progress")}),
        ("function_call_arguments.delta", {**call, "delta": '{"n"'}),
        ("function_call_arguments.delta", {**call, "delta": ":1}"}),
        ("function_call_arguments.done", {**call, "arguments": '{"n":1}', "name": "f"}),
        ("output_item.done", {"output_index": 2, "item": CALL}),
        ("output_item.added", {"output_index": 3, "item": begun(CUSTOM, input="")}),
        ("custom_tool_call_input.delta", {**custom, "delta": "*** begin"}),
        ("custom_tool_call_input.done", {**custom, "input": "*** begin"}),
        ("output_item.done", {"output_index": 3, "item": CUSTOM}),
    ]
    return [event(kind, number, **more) for number, (kind, more) in enumerate(made)]


COMPLETED = event("completed", 99, response=response("completed", ITEMS, usage=USAGE))
EMPTY = event("completed", 99, response=response("completed", [], usage=USAGE))
WHOLE = Answer(ITEMS, "completed", USAGE, "resp_1", "gpt-5")


@pytest.mark.parametrize("last", [COMPLETED, EMPTY], ids=["the last event has it", "the pieces have it"])
def test_an_answer_is_its_items_in_order(last: Json) -> None:
    """As they are sent back, with what was counted; nothing behind the last event changes it."""
    answer = answer_of([*pieces(), last, event("output_text.delta", 100, output_index=1, content_index=0, delta="x")])
    assert answer == WHOLE


def test_what_was_not_finished_has_what_came_of_it() -> None:
    """A call that was cut off keeps its half of the arguments, words theirs; the reason is told."""
    cut = [each for each in pieces() if not each["type"].endswith(".done")]
    details = {"reason": "max_output_tokens"}
    last = event("incomplete", 99, response=response("incomplete", [], incomplete_details=details))
    answer = answer_of([*cut[:-3], last])
    assert (answer.status, answer.reason) == ("incomplete", "max_output_tokens")
    assert [item["type"] for item in answer.items] == ["reasoning", "message", "function_call"]
    assert answer.items[0]["summary"] == REASONING["summary"]
    assert answer.items[1]["content"] == [TEXT]
    assert answer.items[2]["arguments"] == '{"n"'


def test_parts_need_not_be_announced() -> None:
    """A server that sends only words makes a message of them; refusals and reasoning have parts of their own types."""
    at = {"output_index": 0, "content_index": 0}
    item = {"type": "message", "role": "assistant", "content": []}
    last = event("completed", 9, response={"status": "completed"})
    for kind, part in (
        ("output_text", {"type": "output_text", "text": "hi"}),
        ("refusal", {"type": "refusal", "refusal": "hi"}),
    ):
        said = [event("output_item.added", 0, output_index=0, item=item), event(f"{kind}.delta", 1, **at, delta="hi"), last]
        assert answer_of(said).items == [{**item, "content": [part]}]
    thought = {"type": "reasoning", "summary": []}
    mused = [
        event("output_item.added", 0, output_index=0, item=thought),
        event("reasoning_text.delta", 1, **at, delta="hm"),
        last,
    ]
    assert answer_of(mused).items == [{**thought, "content": [{"type": "reasoning_text", "text": "hm"}]}]


@pytest.mark.parametrize(
    "last",
    [
        {"type": "error", "code": "server_error", "message": "try again", "param": None},
        {"type": "error", "error": {"code": "server_error", "message": "try again"}},
        event("failed", 9, response=response("failed", [], error={"code": "server_error", "message": "try again"})),
    ],
)
def test_a_failure_is_an_answer_that_says_why(last: Json) -> None:
    """What came before it is kept."""
    answer = answer_of([*pieces()[:7], last])
    assert answer.status == "failed"
    assert answer.error is not None
    assert answer.error["message"] == "try again"
    assert answer.items == [REASONING]


def test_a_stream_without_its_last_event_is_no_answer() -> None:
    """However much came, it may be half."""
    for end in range(len(pieces()) + 1):
        with pytest.raises(IncompleteStream):
            answer_of(pieces()[:end])


def test_events_of_later_versions_are_passed_over() -> None:
    """An unknown event, one without a type, and pieces of an odd shape change nothing."""
    odd: list[Json] = [
        {"type": "response.telepathy.delta", "delta": "?"},
        {"type": 7},
        {},
        event("output_text.delta", 0, output_index=1, content_index=0, delta=None),
        event("content_part.added", 0, output_index=77, content_index=0, part={}),
    ]
    assert answer_of([*pieces(), *odd, COMPLETED]) == WHOLE


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([event("output_item.added", 0, output_index=0)], "names an item and does not hold it"),
        ([event("output_text.delta", 0, output_index=4, content_index=0, delta="x"), EMPTY], "item 4, which has not begun"),
        (
            [
                event("output_item.added", 0, output_index=0, item={"type": "message", "content": []}),
                event("content_part.added", 0, output_index=0, content_index=9, part={}),
            ],
            "comes before the parts in front of it",
        ),
    ],
)
def test_what_would_hide_a_part_of_the_answer_is_refused(events: list[Json], message: str) -> None:
    """Better asked again than half kept."""
    with pytest.raises(InvalidAnswer, match=message):
        answer_of(events)


@pytest.mark.parametrize(("bound", "most"), [("MAX_EVENTS", 5), ("MAX_ITEMS", 2), ("MAX_CHARACTERS", 5)])
def test_an_answer_has_bounds(bound: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes from outside is not kept without end."""
    monkeypatch.setattr(stream, bound, most)
    with pytest.raises(InvalidAnswer, match="more than"):
        answer_of([*pieces(), COMPLETED])


def test_events_stay_as_they_came() -> None:
    """Putting an answer together changes none of them."""
    events = pieces()
    assembly = Assembly()
    for each in events:
        assembly.add(each)
    assert events == pieces()


def test_the_sdk_yields_such_events() -> None:
    """Each event of these tests is one that the SDK knows, and says the same when it is dumped."""
    for each in [*pieces(), COMPLETED]:
        made: Any = construct_type(value=each, type_=ResponseStreamEvent)
        dumped = made.model_dump(exclude_unset=True)
        assert type(made).__name__ != "dict"
        assert dumped["type"] == each["type"]
    dumped_all: list[Json] = []
    for each in [*pieces(), COMPLETED]:
        made = construct_type(value=each, type_=ResponseStreamEvent)
        dumped_all.append(made.model_dump(exclude_unset=True))
    assert answer_of(dumped_all).items == ITEMS


def test_what_came_is_sent_back_as_it_is() -> None:
    """The items with their outputs behind them are a history in which nothing is wrong."""
    items = answer_of([*pieces(), COMPLETED]).items
    outputs = [
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "done"},
    ]
    request = {"store": False, "input": [{"role": "user", "content": "q"}, *items, *outputs]}
    assert heal(request, "openai-responses").history is request
