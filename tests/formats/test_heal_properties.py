"""What holds for healing whatever the history: pure, deterministic, done once, accepted by judges, nothing lost."""

from __future__ import annotations

import copy
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from suture.healing import Healed, diagnose, dump_messages, fit, heal, load_messages
from tests.formats.histories import History, Json, any_history
from tests.judges import problems, sdk_problems

FORMATS = pytest.mark.parametrize("format", ["openai-chat", "anthropic"])
MANY = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# Rules that neither judge knows; docs/decisions/rules-beyond-the-judges.md argues each of them.
BEYOND = {
    "openai-chat": {"ID_LENGTH", "TEXT_EMPTY", "FIELD_UNKNOWN", "NAME_PATTERN", "CONTENT_NULL", "IMAGE_ROLE"},
    "anthropic": {
        "ID_CHARS",
        "NAME_PATTERN",
        "RESULT_SPLIT",
        "CALL_NOT_TAIL",
        "TRAILING_WHITESPACE",
        "RESULT_EMPTY_ERROR",
        "THINKING_FOREIGN",
        "THINKING_MODIFIED",
        "CACHE_MARKS",
        "IMAGE_EMPTY",
        "IMAGE_UNSUPPORTED",
    },
}


def drawn(data: st.DataObject, format: str) -> History:
    return data.draw(any_history(format), label="history")


def messages_of(out: Healed) -> History:
    assert isinstance(out.history, list)
    return out.history


def judged(format: str, messages: History) -> list[str]:
    """What the judges refuse. They do not know that a paused turn may end in a server tool's call."""
    try:
        found = problems(format, {"messages": messages})
    except ValueError as error:
        return [str(error)]  # turnsafe raises on ids that are not there
    last = f"[{len(messages) - 1}]"
    return [each for each in found if not ("server_call" in each and "stands alone" in each and last in each)]


def items(messages: History) -> Iterator[tuple[str, int, Any]]:
    """Calls, results and words, each with the index of its message."""
    for index, message in enumerate(messages):
        for call in message.get("tool_calls") or ():
            yield "call", index, (call["id"], call["function"]["name"], call["function"]["arguments"])
        if message["role"] == "tool":
            yield "result", index, (message["tool_call_id"], message["content"])
            continue
        content = message["content"]
        for block in content if isinstance(content, list) else [{"type": "text", "text": content or ""}]:
            match block:
                case {"type": "tool_use"}:
                    yield "call", index, (block["id"], block["name"], block["input"])
                case {"type": "tool_result"}:
                    yield "result", index, (block["tool_use_id"], words(block["content"]))
                case {"type": "text"}:
                    yield "text", index, (message["role"], block["text"])
                case _:
                    yield "other", index, block


def words(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


@FORMATS
@MANY
@given(data=st.data())
def test_healing_is_pure_deterministic_and_done_once(format: str, data: st.DataObject) -> None:
    """The input stays, the same input gives the same output and report, and healing again gives the same object."""
    history = drawn(data, format)
    before = copy.deepcopy(history)
    first, second = heal(history, format), heal(copy.deepcopy(history), format)
    assert history == before
    assert (first.history, first.changes, first.hints) == (second.history, second.changes, second.hints)
    again = heal(first.history, format)
    assert again.history is first.history
    assert not again.changed


@FORMATS
@MANY
@given(data=st.data())
def test_what_is_healed_is_accepted(format: str, data: st.DataObject) -> None:
    """Judges that share no code with suture find nothing left, and neither does suture."""
    out = messages_of(heal(drawn(data, format), format))
    assert not judged(format, out)
    assert not sdk_problems(format, out)
    assert not [each for each in diagnose(out, format) if each.severity == "REJ"]


@FORMATS
@MANY
@given(data=st.data())
def test_what_the_judges_accept_is_the_same_object(format: str, data: st.DataObject) -> None:
    """A valid history is not touched, the rules apart that the judges do not know."""
    history = drawn(data, format)
    if judged(format, history):
        return
    found = {each.code for each in diagnose(history, format) if each.severity == "REJ"}
    assert found <= BEYOND[format]
    assert (heal(history, format).history is history) == (not found)


@FORMATS
@MANY
@given(data=st.data())
def test_no_real_result_is_lost(format: str, data: st.DataObject) -> None:
    """Every result is still there, or its full text is in the report."""
    history = drawn(data, format)
    out = heal(history, format)
    kept = Counter(text for kind, _, (*_, text) in items(messages_of(out)) if kind == "result")
    reported = [change.detail for change in out.changes if change.lost == "result"]
    for kind, _, item in items(history):
        if kind == "result" and item[1].strip():
            assert kept[item[1]] or item[1] in reported


@FORMATS
@MANY
@given(data=st.data())
def test_every_difference_is_reported(format: str, data: st.DataObject) -> None:
    """What is gone or changed has a change at its place or under its id; what is new has its words in the report."""
    history = drawn(data, format)
    out = heal(history, format)
    healed = messages_of(out)
    if not out.changed:
        assert out.history is history
        return
    after = [(kind, repr(item)) for kind, _, item in items(healed)]
    ids = {change.call_id for change in out.changes}
    for kind, index, item in items(history):
        at_place = any(change.path.startswith(f"messages[{index}]") for change in out.changes)
        renamed = kind in ("call", "result") and (item[0] in ids or (not item[0] and None in ids))
        assert (kind, repr(item)) in after or at_place or renamed, (kind, index, item)
    before = [(kind, repr(item)) for kind, _, item in items(history)]
    details = [change.detail for change in out.changes]
    for kind, _, item in items(healed):
        if kind in ("text", "result") and (kind, repr(item)) not in before:
            is_known = item[1] in details or any(item[1] == words and kind == "result" for words in results(history))
            assert is_known or any(change.code == "TRAILING_WHITESPACE" for change in out.changes), item


def results(messages: History) -> list[str]:
    return [item[1] for kind, _, item in items(messages) if kind == "result"]


def blocks(messages: History) -> list[str]:
    """The sequence that a prompt cache sees: each message opened into its blocks."""
    out: list[str] = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            out += [json.dumps([message["role"], block], sort_keys=True) for block in content]
        else:
            out.append(json.dumps([message["role"], {"type": "text", "text": content}], sort_keys=True))
        out += [json.dumps(call, sort_keys=True) for call in message.get("tool_calls") or ()]
    return out


@FORMATS
@MANY
@given(data=st.data())
def test_what_was_healed_stays_healed_the_same_way(format: str, data: st.DataObject) -> None:
    """A longer history begins as the shorter one did, so a prompt cache holds; its open end apart."""
    history = drawn(data, format)
    short = heal(history, format)
    if {change.code for change in short.changes} & {"TRAILING_WHITESPACE"} or is_paused(messages_of(short)):
        return
    more: Json = {"role": "user", "content": [{"type": "text", "text": "And then?"}]}
    long = heal([*history, more], format)
    assert blocks(messages_of(long))[: len(blocks(messages_of(short)))] == blocks(messages_of(short))


def is_paused(history: History) -> bool:
    """Whether the end is a server tool's call, which is only sent back as long as it is the end."""
    content = history[-1]["content"] if history else None
    return isinstance(content, list) and any(block["type"] == "server_tool_use" for block in content)


@FORMATS
@MANY
@given(data=st.data(), target=st.sampled_from(["openai-chat", "anthropic"]))
def test_a_request_fits_whatever_it_is_made_of(format: str, target: str, data: st.DataObject) -> None:
    """Neutral messages from anywhere become a request that judges and suture accept, and healing leaves alone."""
    messages = load_messages(drawn(data, format), format)
    request = fit(messages, target).history
    assert isinstance(request, dict)
    assert not judged(target, request["messages"])
    assert not sdk_problems(target, request["messages"])
    assert heal(request, target).history is request
    assert fit(messages, target).history == request


@FORMATS
@MANY
@given(data=st.data())
def test_reading_and_writing_lose_nothing(format: str, data: st.DataObject) -> None:
    """A healed history read and written back says the same, neighbours of one role apart."""
    out = messages_of(heal(drawn(data, format), format))
    again = dump_messages(load_messages(out, format), format)["messages"]
    assert blocks(again) == blocks(out)


@FORMATS
@MANY
@given(data=st.data(), pending=st.sampled_from(["keep", "drop"]), orphans=st.sampled_from(["drop", "quote"]))
def test_options_keep_the_promises(format: str, pending: Any, orphans: Any, data: st.DataObject) -> None:
    """Whatever becomes of open ends and orphans, healing is done once and loses no result in silence."""
    history = drawn(data, format)
    out = heal(history, format, pending=pending, orphans=orphans)
    again = heal(out.history, format, pending=pending, orphans=orphans)
    assert again.history is out.history
    if pending == "drop":
        assert not judged(format, messages_of(out))
    reported = [change.detail for change in out.changes]
    shown = json.dumps(out.history)
    assert all(text in reported or json.dumps(text)[1:-1] in shown for text in results(history))


@FORMATS
@MANY
@given(data=st.data())
def test_what_is_kept_open_can_be_closed(format: str, data: st.DataObject) -> None:
    """Calls that are left for the caller to run take their results where the caller appends them."""
    history = drawn(data, format)
    out = messages_of(heal(history, format, pending="keep"))
    found = [each for each in diagnose(out, format) if each.severity == "REJ"]
    assert {each.code for each in found} <= {"CALL_UNANSWERED"}
    ids = [each.call_id for each in found]
    if format == "openai-chat":
        closed = [*out, *({"role": "tool", "tool_call_id": id, "content": "ran"} for id in ids)]
    else:
        blocks = [{"type": "tool_result", "tool_use_id": id, "content": "ran"} for id in ids]
        before = out.pop() if out and blocks and out[-1]["role"] == "user" else {"role": "user", "content": []}
        closed = [*out, {**before, "content": [*before["content"], *blocks]}] if blocks else out
    assert heal(closed, format).history is closed
    assert not judged(format, closed)


@MANY
@given(data=st.data(), thinking=st.sampled_from([None, {"type": "disabled"}, {"type": "enabled", "budget_tokens": 1024}]))
def test_a_relay_takes_what_is_healed_for_it(thinking: Any, data: st.DataObject) -> None:
    """A whole request for a relay of Anthropic's: roles alternate, tools are defined, and healing again changes nothing."""
    relay = "anthropic:relay"
    request: Json = {"model": "m", "messages": drawn(data, "anthropic")}
    if thinking is not None:
        request["thinking"] = thinking
    before = copy.deepcopy(request)
    out = heal(request, "anthropic", relay)
    assert request == before
    assert isinstance(out.history, dict)
    messages = out.history["messages"]
    assert not judged("anthropic", messages)
    roles = [message["role"] for message in messages]
    assert all(left != right for left, right in itertools.pairwise(roles))
    assert not any(each.severity == "REJ" and not each.hint for each in diagnose(out.history, "anthropic", relay))
    assert heal(out.history, "anthropic", relay).history is out.history
