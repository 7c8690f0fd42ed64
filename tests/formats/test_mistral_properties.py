"""What holds for healing Mistral's histories whatever they are: pure, done once, accepted by Mistral's own validator."""

from __future__ import annotations

import copy
import json
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings

from suture.healing import Healed, diagnose, fit, heal, load_messages
from suture.messages import ToolResult
from tests.formats.histories_mistral import History, histories_mistral
from tests.formats.mistral_judge import EITHER, refusal
from tests.judges import structural_problems

MANY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def healed(history: History, target: str | None = None) -> tuple[Healed, History]:
    out = heal(history, "mistral", target)
    assert isinstance(out.history, list)
    return out, out.history


def accepted(messages: History) -> bool:
    """Whether both judges accept the messages."""
    told = structural_problems("mistral", {"messages": _with_text(messages)})
    return not messages or (not told and refusal(messages) is None)


def _with_text(messages: History) -> History:
    """The messages as the checkers of the cases read them: arguments as text, and no thinking, which is signed there."""
    return [_read(message) for message in messages]


def _read(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, list):
        content = [{"type": "text", "text": "hm"} if chunk["type"] == "thinking" else chunk for chunk in content]
    calls = [_call(call) for call in message.get("tool_calls") or ()]
    return {**message, "content": content, "tool_calls": calls}


def _call(call: dict[str, Any]) -> dict[str, Any]:
    given = call["function"]["arguments"]
    return {**call, "function": {**call["function"], "arguments": given if isinstance(given, str) else json.dumps(given)}}


@MANY
@given(history=histories_mistral())
def test_healing_is_pure_deterministic_and_done_once(history: History) -> None:
    """The input stays, the same input gives the same output and report, and healing again gives the same object."""
    before = copy.deepcopy(history)
    first, second = heal(history, "mistral"), heal(copy.deepcopy(history), "mistral")
    assert history == before
    assert (first.history, first.changes, first.hints) == (second.history, second.changes, second.hints)
    assert heal(first.history, "mistral").history is first.history


@MANY
@given(history=histories_mistral())
def test_what_is_healed_is_accepted(history: History) -> None:
    """Mistral's own validator and the checkers of the cases find nothing, and neither does suture."""
    _, out = healed(history)
    assert accepted(out), refusal(out)
    assert not [each for each in diagnose(out, "mistral") if each.severity == "REJ"]


@MANY
@given(history=histories_mistral())
def test_words_and_calls_stand_apart_for_devstral(history: History) -> None:
    """Where a model refuses words beside calls, no message has both; thinking is for other models."""
    without = [
        {**message, "content": "so"} if "thinking" in str(message.get("content")) else message for message in history
    ]
    _, out = healed(without, "mistral:devstral-medium-latest")
    assert not out or refusal(out, EITHER) is None


@MANY
@given(history=histories_mistral())
def test_what_the_judges_accept_is_the_same_object(history: History) -> None:
    """A valid history is not touched, the rules apart that the validator does not know."""
    if not accepted(history):
        return
    found = {each.code for each in diagnose(history, "mistral") if each.severity == "REJ"}
    assert found <= {"USER_AFTER_TOOL", "TEXT_EMPTY", "LAST_ASSISTANT"}
    assert (heal(history, "mistral").history is history) == (not found)


@MANY
@given(history=histories_mistral())
def test_no_real_result_is_lost(history: History) -> None:
    """Every result is still there, or its full text is in the report."""
    out, messages = healed(history)
    kept = Counter(_results(messages))
    reported = [change.detail for change in out.changes if change.lost == "result"]
    assert all(kept[text] or any(each.startswith(text) for each in reported) for text in _results(history) if text.strip())


def _results(history: History) -> list[str]:
    return [message.text for message in load_messages(history, "mistral") if isinstance(message, ToolResult)]


@MANY
@given(history=histories_mistral())
def test_a_request_fits_whatever_it_is_made_of(history: History) -> None:
    """Neutral messages become a request that the judges accept and healing leaves alone."""
    request = fit(load_messages(history, "mistral"), "mistral").history
    assert isinstance(request, dict)
    assert accepted(request["messages"]), refusal(request["messages"])
    assert heal(request, "mistral").history is request


@MANY
@given(history=histories_mistral())
def test_a_longer_history_begins_as_the_shorter_one_did(history: History) -> None:
    """What was healed stays healed the same way, so a prompt cache holds; what was put at the end apart."""
    _, short = healed(history)
    if short and short[-1].get("prefix"):
        return
    _, long = healed([*history, {"role": "user", "content": "And then?"}])
    while short and short[-1] == {"role": "user", "content": "Continue."}:
        short = short[:-1]
    assert long[: len(short)] == short
