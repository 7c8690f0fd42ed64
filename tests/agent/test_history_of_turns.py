"""What turns with tools leave in the history: all that was said and done, nothing that was not."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

import suture
from suture.formats import FORMATS
from suture.messages import Assistant, ToolResult, User
from suture.testing import ScriptedModel
from suture.testing.histories import KEYS, sound_history
from tests.judges import structural_problems

CALLING = {
    "calls": [{"id": "c1", "name": "look", "arguments": {"n": 1}}, {"id": "c2", "name": "look", "arguments": {"n": 2}}]
}


@suture.tool(effect="read")
def look(n: int) -> str:
    """Look at one."""
    return f"saw {n}"


@pytest.mark.spec("A14")
def test_a_turn_goes_on_without_words_of_the_users() -> None:
    """Behind results the model is asked as it is: nobody says anything, not even nothing."""
    model = ScriptedModel([CALLING, {"text": "Done."}])
    assert suture.Agent(model, tools=[look]).run("Look.").text == "Done."
    assert [type(message) for message in model.requests[1].messages] == [User, Assistant, ToolResult, ToolResult]


@pytest.mark.spec("A16")
def test_a_session_that_is_loaded_has_its_calls(tmp_path: Path) -> None:
    """Another handle on the file has each call beside its result, and a request of it has both."""
    url = f"sqlite:///{tmp_path / 'log.db'}"
    session = suture.Session(suture.open_store(url), "s")
    suture.Agent(ScriptedModel([CALLING, {"text": "Done."}]), tools=[look], session=session).run("Look.")
    loaded = suture.Session(suture.open_store(url), "s")
    assert list(loaded.messages) == list(session.messages)
    turn = next(message for message in loaded.messages if isinstance(message, Assistant) and message.calls)
    assert [(call.name, call.arguments) for call in turn.calls] == [("look", {"n": 1}), ("look", {"n": 2})]
    request: Any = loaded.request("openai-chat")
    sent = request["messages"]
    assert [call["id"] for call in sent[1]["tool_calls"]] == [message["tool_call_id"] for message in sent[2:4]]


@pytest.mark.spec("A18")
def test_a_limit_says_nothing_in_the_models_place() -> None:
    """After six turns with tools the run ends with what was said, which is nothing; the history holds what happened."""
    model = ScriptedModel([{"calls": [{"id": f"c{n}", "name": "look", "arguments": {"n": n}}]} for n in range(7)])
    agent = suture.Agent(model, tools=[look], max_steps=7)
    result = agent.run("Look.")
    assert (result.status, result.text) == ("max_steps", "")
    assert result.message == agent.session.messages[-1]
    assert all(not message.text for message in agent.session.messages if isinstance(message, Assistant))


@pytest.mark.spec("A17")
@pytest.mark.parametrize("format", FORMATS)
def test_a_cut_by_count_splits_no_pair_for_good(format: str) -> None:
    """Wherever a trimmer cut, what is left is valid, and a result whose call is left stays with it."""
    for seed in range(8):
        history = sound_history(format, Random(seed), 4)
        for cut in range(1, len(history)):
            left = history[cut:]
            healed = suture.heal(left, format=format)
            assert structural_problems(format, {KEYS[format]: healed.history}) == []
            gone = [change.detail for change in healed.changes if change.lost == "result"]
            assert all(text in str(healed.history) or any(text in each for each in gone) for text in results_in(left))


def results_in(history: object) -> set[str]:
    """The texts of results, as the generator numbers them."""
    return set(re.findall(r"result \d+\.\d+", str(history)))
