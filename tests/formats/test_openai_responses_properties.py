"""What holds for healing Responses whatever the items: pure, done once, accepted by a judge, no result lost."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from suture.healing import convert, diagnose, dump_messages, fit, heal, load_messages
from suture.healing.work import Healed
from suture.messages import Assistant, Origin
from tests.formats.histories_openai_responses import Items, Json, items, sound, turns
from tests.judges import structural_problems

FORMAT = "openai-responses"
MANY = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# What the judge does not know: the other calls that a caller runs, and what only the provider runs.
KINDS = dict.fromkeys(("shell_call", "apply_patch_call", "computer_call", "tool_search_call"), "custom_tool_call")
KINDS["local_shell_call"] = "function_call"  # which may also be answered by a function's output
KEPT = ("web_search_call", "mcp_list_tools", "compaction", "from_the_future")


def items_of(out: Healed) -> Items:
    assert isinstance(out.history, list)
    return out.history


def judged(given: Items) -> list[str]:
    """What the judge refuses; other kinds of calls are shown to it as kinds that it knows, and what the provider runs not
    at all, with the reasoning that led to it.
    """
    known: Items = []
    for item in given:
        kind = item.get("type", "message")
        if kind in KEPT:
            while known and known[-1].get("type") == "reasoning":
                known.pop()
        else:
            known.append(_known(item, kind))
    return structural_problems(FORMAT, {"input": known})


def _known(item: Json, kind: str) -> Json:
    call = "tool_search_call" if kind == "tool_search_output" else kind.removesuffix("_output")
    if call not in KINDS:
        return item
    if kind != call:
        return {"call_id": item["call_id"], "type": f"{KINDS[call]}_output", "output": item.get("output")}
    return {"call_id": item["call_id"], "type": KINDS[call], "name": "n", "input": "", "arguments": "{}"}


def results(given: Items) -> list[str]:
    return [text for item in given if str(item.get("type")).endswith("_output") for text in said(item.get("output"))]


def said(output: Any) -> list[str]:
    parts = output if isinstance(output, list) else [output]
    texts = [part.get("text") or part.get("stdout") if isinstance(part, dict) else part for part in parts]
    return [text for text in texts if isinstance(text, str) and text.strip()]


@MANY
@given(given=items())
def test_healing_is_pure_and_done_once(given: Items) -> None:
    """The input stays, the same input gives the same output, and healing again gives the same object."""
    before = copy.deepcopy(given)
    first, second = heal(given, FORMAT), heal(copy.deepcopy(given), FORMAT)
    assert given == before
    assert (first.history, first.changes, first.hints) == (second.history, second.changes, second.hints)
    again = heal(first.history, FORMAT)
    assert again.history is first.history
    assert first.changed or first.history is given


@MANY
@given(given=items())
def test_what_is_healed_is_accepted(given: Items) -> None:
    """A judge that shares no code with suture finds nothing left, and neither does suture."""
    out = items_of(heal(given, FORMAT))
    assert not judged(out)
    assert not [each for each in diagnose(out, FORMAT) if each.severity == "REJ"]


@MANY
@given(given=items())
def test_no_real_result_is_lost(given: Items) -> None:
    """Every result is still there, or its full text is in the report."""
    out = heal(given, FORMAT)
    shown = json.dumps(out.history) + json.dumps([change.detail for change in out.changes])
    assert all(json.dumps(text)[1:-1] in shown for text in results(given))


@MANY
@given(given=sound())
def test_what_nothing_was_done_to_is_the_very_object(given: Items) -> None:
    """An item that is as it was is not a copy of it."""
    for item in items_of(heal(given, FORMAT)):
        assert any(item is each for each in given) or all(item != each for each in given)


@MANY
@given(given=items(), goes_on=st.sampled_from(["previous_response_id", "conversation"]))
def test_outputs_of_a_stored_history_stay(given: Items, goes_on: str) -> None:
    """Where the provider has the calls, an output without one is none that is left out."""
    outputs = [item for item in given if str(item.get("type")).endswith("_output") and item.get("call_id")]
    once = {item["call_id"]: item for item in outputs if "output" in item or "tools" in item}
    request = {goes_on: "r_1", "input": [item for item in once.values() if "|" not in item["call_id"]]}
    assert heal(request, FORMAT).history is request


@MANY
@given(given=items(), pending=st.sampled_from(["keep", "drop"]), orphans=st.sampled_from(["drop", "quote"]))
def test_options_keep_the_promises(given: Items, pending: Any, orphans: Any) -> None:
    """Whatever becomes of open ends and orphans, healing is done once and loses no result in silence."""
    out = heal(given, FORMAT, pending=pending, orphans=orphans)
    again = heal(out.history, FORMAT, pending=pending, orphans=orphans)
    assert again.history is out.history
    if pending == "drop":
        assert not judged(items_of(out))
    shown = json.dumps(out.history) + json.dumps([change.detail for change in out.changes])
    assert all(json.dumps(text)[1:-1] in shown for text in results(given))


@MANY
@given(given=items(), store=st.booleans(), model=st.sampled_from(["gpt-4o", "o4-mini", ""]))
def test_a_request_heals_as_its_own_keys_say(given: Items, store: bool, model: str) -> None:
    """Whoever reads it and whether it is stored: healing is done once, and what is left refers to nothing that is gone."""
    request = {"model": model, "store": store, "input": given}
    out = heal(request, FORMAT).history
    assert heal(out, FORMAT).history is out
    assert isinstance(out, dict)
    assert not judged(out["input"])
    lacking = [item for item in out["input"] if item.get("type") == "reasoning" and not item.get("encrypted_content")]
    assert store or not [item for item in lacking if "id" in item]


@MANY
@given(given=items(), own=st.booleans())
def test_a_request_of_our_own_fits(given: Items, own: bool) -> None:
    """Neutral messages become a request that the judge and suture accept, in which no item has an id."""
    messages = load_messages(given, FORMAT)
    maker = Origin("openai", FORMAT, "gpt-5")
    made = [Assistant(each.parts, origin=maker) if own and isinstance(each, Assistant) else each for each in messages]
    out = fit(made, FORMAT, reader=maker).history
    assert isinstance(out, dict)
    assert not judged(out["input"])
    assert heal(out, FORMAT).history is out
    assert not any("id" in item for item in out["input"] if item.get("type") != "local_shell_call_output")


@MANY
@given(given=items(), target=st.sampled_from(["openai-chat", "anthropic"]))
def test_any_history_goes_to_another_provider(given: Items, target: str) -> None:
    """It becomes a request that is valid there, with every result in it or in the report."""
    out = convert(given, FORMAT, target)
    assert heal(out.history, target).history is out.history
    shown = json.dumps(out.history) + json.dumps([change.detail for change in out.changes])
    assert all(json.dumps(text)[1:-1] in shown for text in results(given))


@MANY
@given(given=items())
def test_reading_and_writing_lose_nothing(given: Items) -> None:
    """A healed history that is read and written back is equal."""
    out = items_of(heal(given, FORMAT))
    assert dump_messages(load_messages(out, FORMAT), FORMAT)["input"] == out


@MANY
@given(sizes=st.lists(st.integers(0, 3), min_size=1, max_size=4))
def test_whole_turns_are_left_alone(sizes: list[int]) -> None:
    """Turns as the provider gives them are the same object, and what is written of them is equal."""
    whole = turns(sizes)
    assert heal(whole, FORMAT).history is whole
    assert diagnose(whole, FORMAT) == []


@MANY
@given(given=items())
def test_what_was_healed_stays_healed_the_same_way(given: Items) -> None:
    """A longer history begins as the shorter one did, so a prompt cache holds."""
    short = items_of(heal(given, FORMAT))
    more: Json = {"type": "message", "role": "user", "content": "And then?"}
    assert items_of(heal([*given, more], FORMAT))[: len(short)] == short
