"""What holds for healing Bedrock's Converse whatever the history, and whichever model will read it."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from suture.healing import Healed, diagnose, dump_messages, fit, heal, load_messages
from tests.formats.histories import History, Json
from tests.formats.histories_bedrock import histories
from tests.judges import structural_problems

MANY = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
TARGETS = pytest.mark.parametrize(
    "target",
    [
        "bedrock",
        "bedrock:us.anthropic.claude-opus-4-6-v1",
        "bedrock:amazon.nova-pro-v1:0",
        "bedrock:meta.llama3-3-70b-instruct-v1:0",
        "bedrock:us.deepseek.r1-v1:0",
    ],
)

# Rules that the judges do not know; each has its evidence in the rules of the format.
BEYOND = {
    "ID_CHARS",
    "ID_LENGTH",
    "NAME_PATTERN",
    "RESULT_SPLIT",
    "RESULT_NOT_FIRST",
    "RESULT_NOT_PURE",
    "RESULT_EMPTY_ERROR",
    "RESULT_SHAPE",
    "BLOCK_SHAPE",
    "BLOCK_UNKNOWN",
    "CALL_NOT_TAIL",
    "TRAILING_WHITESPACE",
    "LAST_ASSISTANT",
    "THINKING_UNSIGNED",
    "THINKING_FOREIGN",
    "SIGNATURE_FORM",
    "TEXT_WITH_TOOL",
    "USER_AFTER_TOOL",
    "IMAGE_ROLE",
    "SYSTEM_MISPLACED",
    "DOCUMENT_NAME",
    "DOCUMENT_ALONE",
    "CACHE_MARKS",
    "CALL_UNANSWERED",
}


def messages_of(out: Healed) -> History:
    assert isinstance(out.history, list)
    return out.history


def judged(messages: History) -> list[str]:
    """What the judges refuse. They read text as content of one block."""
    return structural_problems("bedrock", {"messages": messages})


def texts(result: Json) -> list[str]:
    """The words and values of a result, one by one."""
    content = result["content"]
    if isinstance(content, str):
        return [content]
    return [
        part["text"] if "text" in part else json.dumps(part.get("json"))
        for part in content
        if part.keys() & {"text", "json"}
    ]


def results(messages: History) -> Iterator[str]:
    for message in messages:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if "toolResult" in block:
                yield from texts(block["toolResult"])


@TARGETS
@MANY
@given(history=histories())
def test_healing_is_pure_deterministic_and_done_once(target: str, history: History) -> None:
    """The input stays, the same input gives the same output and report, and healing again gives the same object."""
    before = copy.deepcopy(history)
    first, second = heal(history, "bedrock", target), heal(copy.deepcopy(history), "bedrock", target)
    assert history == before
    assert (first.history, first.changes, first.hints) == (second.history, second.changes, second.hints)
    again = heal(first.history, "bedrock", target)
    assert again.history is first.history
    assert not again.changed
    assert first.changed == (first.history is not history)


@TARGETS
@MANY
@given(history=histories())
def test_what_is_healed_is_accepted(target: str, history: History) -> None:
    """Judges that share no code with suture find nothing left, and neither does suture."""
    out = messages_of(heal(history, "bedrock", target))
    assert not judged(out)
    assert not [each for each in diagnose(out, "bedrock", target) if each.severity == "REJ"]


@TARGETS
@MANY
@given(history=histories())
def test_what_the_judges_accept_is_the_same_object(target: str, history: History) -> None:
    """A valid history is not touched, the rules apart that the judges do not know."""
    if judged(history):
        return
    found = {each.code for each in diagnose(history, "bedrock", target) if each.severity == "REJ"}
    assert found <= BEYOND
    assert (heal(history, "bedrock", target).history is history) == (not found)


@TARGETS
@MANY
@given(history=histories())
def test_no_real_result_is_lost(target: str, history: History) -> None:
    """Every word of a result is still there, or in the report."""
    out = heal(history, "bedrock", target)
    kept = Counter(results(messages_of(out)))
    reported = " ".join(change.detail for change in out.changes if change.lost == "result")
    for text in results(history):
        if text.strip():
            assert kept[text] or text in reported


@TARGETS
@MANY
@given(history=histories())
def test_what_is_new_is_in_the_report(target: str, history: History) -> None:
    """Words that nobody said stand in the report of what was put in."""
    out = heal(history, "bedrock", target)
    details = " ".join(change.detail for change in out.changes)
    known = json.dumps(history)
    for message in messages_of(out):
        for block in message["content"]:
            if isinstance(text := block.get("text"), str) and json.dumps(text)[1:-1] not in known:
                assert text in details or text.startswith("From the result of") or text == "[System message]", text


@MANY
@given(history=histories())
def test_what_was_healed_stays_healed_the_same_way(history: History) -> None:
    """A longer history begins as the shorter one did, so that a prompt cache holds; its open end apart."""
    short = heal(history, "bedrock")
    if {change.code for change in short.changes} & {"TRAILING_WHITESPACE", "CACHE_MARKS", "DOCUMENT_ALONE"}:
        return
    long = heal([*history, {"role": "user", "content": [{"text": "And then?"}]}], "bedrock")
    assert blocks(messages_of(long))[: len(blocks(messages_of(short)))] == blocks(messages_of(short))


def blocks(messages: History) -> list[str]:
    return [json.dumps([each["role"], block], sort_keys=True) for each in messages for block in each["content"]]


@MANY
@given(history=histories())
def test_reading_and_writing_lose_nothing(history: History) -> None:
    """A healed history read and written back says the same."""
    out = messages_of(heal(history, "bedrock"))
    assert dump_messages(load_messages(out, "bedrock"), "bedrock")["messages"] == out


@TARGETS
@MANY
@given(history=histories())
def test_a_request_fits_whatever_it_is_made_of(target: str, history: History) -> None:
    """Neutral messages become a request that judges and suture accept for the model, and healing leaves alone."""
    messages = load_messages(history, "bedrock")
    model = target.partition(":")[2] or None
    request = fit(messages, "bedrock", model).history
    assert isinstance(request, dict)
    assert not structural_problems("bedrock", request)
    assert heal(request, "bedrock", target).history is request


@MANY
@given(history=histories())
def test_what_is_kept_open_can_be_closed(history: History) -> None:
    """Calls that are left for the caller to run take their results where the caller appends them."""
    out = messages_of(heal(history, "bedrock", pending="keep"))
    found = [each for each in diagnose(out, "bedrock") if each.severity == "REJ"]
    assert {each.code for each in found} <= {"CALL_UNANSWERED"}
    more: list[Any] = [{"toolResult": {"toolUseId": each.call_id, "content": [{"text": "ran"}]}} for each in found]
    before = out.pop() if more and out[-1]["role"] == "user" else {"role": "user", "content": []}
    closed = [*out, {**before, "content": [*before["content"], *more]}] if more else out
    assert heal(closed, "bedrock").history is closed
    assert not judged(closed)
