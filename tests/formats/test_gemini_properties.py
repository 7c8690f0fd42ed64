"""What holds for healing Gemini's contents whatever they are: pure, done once, accepted by judges, nothing lost."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from suture.formats import FORMATS
from suture.healing import convert, diagnose, dump_messages, fit, heal, load_messages
from tests.formats.histories import any_history as others
from tests.formats.histories_gemini import History, Json, any_history
from tests.judges import structural_problems

MANY = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
TARGETS = pytest.mark.parametrize("target", ["gemini", "gemini:gemini-2.5-pro", "gemini:gemini-3-pro"])


def healed_of(history: object, **options: Any) -> History:
    out = heal(history, "gemini", **options).history
    assert isinstance(out, list)
    return out


def faults(history: object, target: str | None = None) -> list[str]:
    return [str(each) for each in diagnose(history, "gemini", target) if each.severity == "REJ"]


def judged(contents: History) -> list[str]:
    """What the checkers refuse, and what they do not look at."""
    found = structural_problems("gemini", {"contents": contents})
    for index, content in enumerate(contents):
        sorts = {sort_of(part) for part in content["parts"]}
        if "result" in sorts and len(sorts) > 1:
            found.append(f"contents[{index}] mixes {sorts}")
        if {"call", "result"} & sorts and content["role"] not in ("user", "model", "function", "tool"):
            found.append(f"contents[{index}] has the role {content['role']}")
        if "call" in sorts and (not index or contents[index - 1].get("role") == "model"):
            found.append(f"contents[{index}] calls behind the model")
    if contents and contents[-1].get("role") == "model":
        found.append("the model's content is last")
    return found


def sort_of(part: Json) -> str:
    if "functionCall" in part or "function_call" in part:
        return "call"
    return "result" if "functionResponse" in part or "function_response" in part else "words"


def camel(contents: History) -> History:
    """The contents in the spelling that the judges read, and with the role that a missing one stands for."""
    text = json.dumps([{**each, "role": each.get("role") or "user"} for each in contents]).replace(
        '"function_call"', '"functionCall"'
    )
    loaded: History = json.loads(text.replace('"function_response"', '"functionResponse"'))
    return loaded


def outputs(contents: History) -> Iterator[object]:
    for content in contents:
        for part in content.get("parts") or ():
            inner = part.get("functionResponse") or part.get("function_response")
            if inner is not None:
                yield inner["response"]


@TARGETS
@MANY
@given(history=any_history())
def test_healing_is_pure_deterministic_and_done_once(target: str, history: History) -> None:
    """The input stays, the same input gives the same output and report, and healing again gives the same object."""
    before = copy.deepcopy(history)
    first, second = heal(history, "gemini", target), heal(copy.deepcopy(history), "gemini", target)
    assert history == before
    assert (first.history, first.changes, first.hints) == (second.history, second.changes, second.hints)
    again = heal(first.history, "gemini", target)
    assert again.history is first.history
    assert not again.changed
    assert first.changed == bool(faults(history, target))


@TARGETS
@MANY
@given(history=any_history())
def test_what_is_healed_is_accepted(target: str, history: History) -> None:
    """Judges that share no code with suture find nothing left, and neither does suture."""
    out = healed_of(history, target=target)
    assert judged(camel(out)) == []
    assert faults(out, target) == []


@MANY
@given(history=any_history())
def test_what_is_valid_is_the_same_object(history: History) -> None:
    """What has no fault is not touched, and neither are the contents before a fault that comes later."""
    if faults(history):
        return
    assert healed_of(history) is history
    longer = healed_of([*history, {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}])
    if history and history[-1].get("role") != "model":
        assert all(new is old for new, old in zip(longer, history, strict=False))


@MANY
@given(
    history=any_history(), pending=st.sampled_from(["answer", "keep", "drop"]), orphans=st.sampled_from(["drop", "quote"])
)
def test_no_real_result_is_lost(history: History, pending: Any, orphans: Any) -> None:
    """Every response is still there, or stands in the report, whatever becomes of open ends and orphans."""
    out = heal(history, "gemini", pending=pending, orphans=orphans)
    assert heal(out.history, "gemini", pending=pending, orphans=orphans).history is out.history
    shown = json.dumps([out.history, [change.detail for change in out.changes]])
    for output in outputs(history):
        words = output["output"] if isinstance(output, dict) and "output" in output else output
        for text in [words] if isinstance(words, str) else []:
            assert json.dumps(text)[1:-1] in shown


@MANY
@given(history=any_history())
def test_what_was_healed_stays_healed_the_same_way(history: History) -> None:
    """A longer history begins as the shorter one did, so a prompt cache holds."""
    short = healed_of(history)
    long = healed_of([*history, {"role": "user", "parts": [{"text": "And then?"}]}])
    stem = short[:-1] if short and short[-1]["parts"] == [{"text": "Continue."}] else short
    assert long[: len(stem)] == stem


@MANY
@given(history=any_history(), model=st.sampled_from([None, "gemini-2.5-pro", "gemini-3-pro", "claude-sonnet-4-5"]))
def test_a_request_fits_whatever_it_is_made_of(history: History, model: str | None) -> None:
    """Neutral messages become a request that judges and suture accept, and healing leaves alone."""
    messages = load_messages(history, "gemini")
    request = fit(messages, "gemini", model).history
    assert isinstance(request, dict)
    assert judged(camel(request["contents"])) == []
    assert heal(request, "gemini", f"gemini:{model}" if model else None).history is request


@MANY
@given(history=any_history(), target=st.sampled_from([name for name in FORMATS if name != "gemini"]))
def test_it_moves_to_every_other_provider(history: History, target: str) -> None:
    """Converted, it is valid there."""
    request = convert(history, "gemini", target).history
    assert structural_problems(target, request) == []


@MANY
@given(history=any_history())
def test_reading_and_writing_lose_nothing(history: History) -> None:
    """A healed history read and written back is equal."""
    out = healed_of(history)
    assert dump_messages(load_messages(out, "gemini"), "gemini")["contents"] == out


@MANY
@given(data=st.data(), source=st.sampled_from(["openai-chat", "anthropic"]), target=st.sampled_from(["", ":gemini-3-pro"]))
def test_histories_of_others_move_here(source: str, target: str, data: st.DataObject) -> None:
    """Converted from another format, they are valid here, for either sort of model."""
    history = data.draw(others(source), label="history")
    request = convert(history, source, f"gemini{target}").history
    assert isinstance(request, dict)
    assert judged(request["contents"]) == []
    assert heal(request, "gemini", f"gemini{target}").history is request
