"""Histories as programs leave them behind, in every wire format: what must never happen to them (`make fuzz` does more)."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from suture.formats import FORMATS
from suture.healing import convert, diagnose, heal
from suture.testing.histories import broken_history, junk_history, sound_history
from suture.testing.strategies import broken_histories, junk_histories, sound_histories
from tests.formats import histories, histories_bedrock, histories_gemini, histories_mistral, histories_openai_responses
from tests.fuzz import findings, strange_errors, unsaid

MANY = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
every = pytest.mark.parametrize("format", list(FORMATS))


@every
@MANY
@given(data=st.data())
def test_whatever_happened_to_a_history_it_heals(format: str, data: st.DataObject) -> None:
    """Nothing is raised, lost, changed in place or changed again, and no judge refuses what comes out."""
    assert findings(format, data.draw(broken_histories(format), label="history")) == []


@every
@MANY
@given(data=st.data())
def test_what_nothing_happened_to_is_left_alone(format: str, data: st.DataObject) -> None:
    """A sound history comes back as the same object."""
    history = data.draw(sound_histories(format), label="history")
    assert heal(history, format).history is history


@every
@MANY
@given(data=st.data())
def test_whatever_happened_to_a_history_it_moves_on(format: str, data: st.DataObject) -> None:
    """Converted to another provider, it is valid there, and nothing that was said, called or shown is gone without a word."""
    history: list[dict[str, Any]] = data.draw(broken_histories(format), label="history")
    target = data.draw(st.sampled_from([name for name in FORMATS if name != format]), label="target")
    other = convert(history, format, target)
    assert unsaid(history, other) == []
    assert [str(change) for change in other.changes if not change.rules] == []
    assert [each for each in diagnose(other.history, target) if each.severity == "REJ" and not each.hint] == []
    assert heal(other.history, target).history is other.history


ODD = {
    "openai-chat": histories.any_history("openai-chat"),
    "openai-responses": histories_openai_responses.items(),
    "anthropic": histories.any_history("anthropic"),
    "gemini": histories_gemini.any_history(),
    "bedrock": histories_bedrock.histories(),
    "mistral": histories_mistral.histories_mistral(),
}


@every
@MANY
@given(data=st.data())
def test_what_is_odd_moves_on(format: str, data: st.DataObject) -> None:
    """So do pictures, files, thoughts and calls of every shape, wherever they stand."""
    history: list[dict[str, Any]] = data.draw(ODD[format], label="history")
    target = data.draw(st.sampled_from([name for name in FORMATS if name != format]), label="target")
    assert unsaid(history, convert(history, format, target)) == []


@every
@MANY
@given(data=st.data())
def test_junk_is_healed_or_refused_by_name(format: str, data: st.DataObject) -> None:
    """What is no JSON, or of another kind than its place wants, meets suture's own errors and no others."""
    assert strange_errors(format, data.draw(junk_histories(format), label="history")) == []


@every
def test_the_same_seed_gives_the_same_history(format: str) -> None:
    """So that a finding can be repeated."""
    for make in (sound_history, broken_history, junk_history):
        assert repr(make(format, Random(7))) == repr(make(format, Random(7)))
    assert broken_history(format, Random(1)) != broken_history(format, Random(2))
