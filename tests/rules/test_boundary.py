"""Compactions: what a boundary hides, what is carried over it, and which boundaries are none."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from suture.compaction import cut_of
from suture.entries import CarriedCall, Compacted, MessageBody, draft, read
from suture.messages import Assistant, Text, ToolCall, ToolResult, User, encode
from suture.replay import State
from suture.session import Session
from suture.stores.memory import MemoryStore
from tests.rules.logs import AT, Log, call, shape
from tests.rules.test_replay_properties import LOGS, Step, written

Write = Callable[[Log], object]
SUMMARY = "u:The conversation before this point was summarised to save space. The summary:\n\nwhat was said"


def compacted(log: Log, first: int, summary: str = "what was said") -> int:
    """A compaction with what the fold knows before `first`, as whoever compacts writes it."""
    return log.put(Compacted(summary, first, log.state.carried_before(first)))


def from_boundary(log: Log) -> State:
    """The state of a reader that begins at the last boundary that its log has."""
    whole = log.state
    assert whole.boundary is not None
    body = whole.boundary.body
    assert body.carried is not None
    state = State()
    state.restore(body.carried, body.first_kept - 1)
    state.fold(log.entries[body.first_kept - 1 :])
    return state


def two_turns(log: Log) -> None:
    for prompt, result in (("one", "first"), ("two", "second")):
        log.user(prompt)
        at = log.answer("", call("c1"))
        log.result("c1", result, key=f"{at}:0")
        if prompt == "one":
            log.answer("so")


@pytest.mark.spec("S99")
def test_a_request_begins_with_the_summary() -> None:
    """Behind it stands what was kept, ids given once among that alone; the whole conversation stays readable."""
    log = Log()
    two_turns(log)
    at = compacted(log, 5)
    state = log.state
    assert shape(state.request()) == [SUMMARY, "u:two", "a:[c1]", "t(c1):second"]
    assert [(shape([message])[0], seq) for message, seq in state.replay()][:2] == [(SUMMARY, None), ("u:two", 5)]
    assert state.request()[0].id == f"summary:{at}"
    assert len(state.messages()) == 7


@pytest.mark.spec("S100")
def test_what_is_broken_before_the_boundary_does_no_harm() -> None:
    """A message that cannot be read there is a finding, and the request is what it would be without it."""
    log = Log()
    log.raw("message", b'{"message": {"role": "wizard"}}')
    log.raw("message", b"{")
    two_turns(log)
    compacted(log, 7)
    assert shape(log.state.request()) == [SUMMARY, "u:two", "a:[c1]", "t(c1):second"]
    assert [finding.code for finding in log.state.findings][:2] == ["UNREADABLE", "UNREADABLE"]


def nothing_there(log: Log) -> None:
    two_turns(log)
    compacted(log, 3)


def ahead(log: Log) -> None:
    two_turns(log)
    compacted(log, 99)


def blank(log: Log) -> None:
    two_turns(log)
    compacted(log, 5, summary=" \n")


def hidden_approval(log: Log) -> None:
    log.user()
    log.answer("", call("c1", n=1))
    log.asked("2:0", call("c1", n=1))
    log.user("meanwhile")
    compacted(log, 4)


def hidden_decision(log: Log) -> None:
    log.user()
    log.answer("", call("c1", n=1))
    asked = log.asked("2:0", call("c1", n=1))
    log.decided(asked, "2:0", call("c1", n=1), approved=True)
    log.user("meanwhile")
    compacted(log, 5)


def split_pair(log: Log) -> None:
    log.user()
    log.foreign(call("c1"))
    log.user("and?")
    log.result("c1", "late")
    log.answer("so")
    compacted(log, 3)


def straddled(log: Log) -> None:
    log.user("one")
    log.user("two")
    log.answer("for one", seen=1)
    compacted(log, 3)


BAD: list[tuple[Write, str]] = [
    (nothing_there, "no message stands at entry 3"),
    (ahead, "no message stands at entry 99"),
    (blank, "its summary is blank"),
    (hidden_approval, "the call 2:0 before entry 4 is still open"),
    (hidden_decision, "the call 2:0 before entry 5 is still open"),
    (split_pair, "entry 3 parts the call 2:0 from a result of it"),
    (straddled, "an answer that was asked for before entry 3 stands behind it"),
]


@pytest.mark.spec("S115")
@pytest.mark.parametrize(("write", "why"), BAD, ids=[write.__name__ for write, _ in BAD])
def test_a_bad_boundary_hides_nothing(write: Write, why: str) -> None:
    """It is reported, and the conversation is sent as it was before; so it is behind the last good one."""
    log = Log()
    write(log)
    state = log.state
    assert state.boundary is None
    assert [finding.code for finding in state.findings if finding.code.startswith("B")] == ["BOUNDARY_INVALID"]
    assert why in state.findings[-1].sentence
    assert not shape(state.request())[0].startswith(SUMMARY)


@pytest.mark.spec("S115")
@pytest.mark.parametrize(("first", "summary"), [(6, ""), (3, "back")], ids=["blank", "before it"])
def test_behind_a_bad_boundary_the_last_good_one_counts(first: int, summary: str) -> None:
    """A boundary that is none leaves the one before it in force, for whoever reads from that too."""
    log = Log()
    two_turns(log)
    good = compacted(log, 5)
    log.answer("more")
    log.user("three")
    compacted(log, first, summary)
    state = log.state
    assert state.boundary is not None
    assert state.boundary.seq == good
    assert shape(state.request())[0] == SUMMARY
    assert shape(from_boundary(log).request()) == shape(state.request())


def test_a_result_before_the_boundary_is_reported() -> None:
    """Who settles a call that was summarised is heard: a finding has the words, since no request shows them."""
    log = Log()
    log.user()
    log.answer("", call("c1"))
    log.started("2:0")
    log.answer("on we go")
    log.user("next")
    compacted(log, 5)
    log.settled("2:0", "completed", "it was sent")
    for state in (log.state, from_boundary(log)):
        assert shape(state.request()) == [SUMMARY, "u:next"]
        assert [finding.code for finding in state.findings] == ["RESULT_HIDDEN"]
        assert "it was sent" in state.findings[0].sentence


# Equal from either end ------------------------------------------------------------------------


def same(one: State, other: State) -> None:
    assert one.request() == other.request()
    assert one.replay() == other.replay()
    assert (one.run, one.interrupt, one.last_status) == (other.run, other.interrupt, other.last_status)
    assert (one.inbox, one.usage, one.steps) == (other.inbox, other.usage, other.steps)
    assert [call.key for call in one.open_calls()] == [call.key for call in other.open_calls()]
    assert [call.key for call in one.waiting_calls()] == [call.key for call in other.waiting_calls()]
    assert [call.key for call in one.unknown_outcomes()] == [call.key for call in other.unknown_outcomes()]
    assert sorted(one.unanswered) == sorted(other.unanswered)
    assert (one.answered, one.turn) == (other.answered, other.turn)


@settings(max_examples=400, deadline=None)
@given(LOGS, LOGS, LOGS, st.integers(1, 30))
def test_a_log_is_the_same_from_its_boundary_as_from_its_beginning(
    before: list[Step], kept: list[Step], after: list[Step], first: int
) -> None:
    """Whatever comes late, decisions and results that aim before the boundary included; what was carried goes through JSON."""
    log = written(before + kept)
    good = [entry.seq for entry in log.entries if log.state.wrong_with_boundary(entry.seq) is None]
    assume(good)
    compacted(log, good[first % len(good)])
    for step in after:
        step(log)
    whole = log.state
    assume(whole.boundary is not None)  # a reset takes it away
    assert whole.boundary is not None
    begun = from_boundary(log)
    assume(begun.boundary is not None)  # whoever finds none there reads from the beginning (`Opening.apply`)
    same(begun, whole)
    again = whole.boundary.body.first_kept
    compacted(log, again)
    if (state := log.state).boundary is not None:
        same(from_boundary(log), state)


def test_a_hidden_call_is_parted_from_nothing() -> None:
    """A result that comes again for a call before the boundary is no reason against another one, from either end."""
    log = Log()
    log.user("one")
    log.answer("", made := call("c1"))
    log.result("c1", "first", key="2:0")
    log.user("two")
    compacted(log, 4)
    log.result(made.id, "again", key="2:0")
    compacted(log, 4, "summed up anew")
    assert log.state.boundary is not None
    assert log.state.boundary.body.summary == "summed up anew"
    same(from_boundary(log), log.state)


def test_a_result_that_came_twice_is_of_no_call_behind_the_boundary() -> None:
    """Nothing is carried of an answered call, so what comes under its id later is a stray from either end, and a later call
    of the id takes it; so it does where the id names an older call that never had a result.
    """
    log = Log()
    log.foreign(call("c1"))
    log.user("one")
    log.foreign(call("c1"))
    log.result("c1", "first")
    log.user("two")
    compacted(log, 5)
    log.result("c1", "first")
    log.result("c1", "other")
    log.foreign(call("c1"))
    log.result("c1", "first")
    same(from_boundary(log), log.state)


def test_a_result_that_came_twice_is_not_parted_from_the_first() -> None:
    """A boundary between the two would hide for what call the second came."""
    log = Log()
    two_turns(log)
    log.result("c1", "first", key="2:0")
    compacted(log, 5)
    assert log.state.boundary is None
    assert "parts the call 2:0" in log.state.findings[-1].sentence


def test_a_result_that_came_before_its_call_is_not_parted_from_it() -> None:
    """What is edited of it then would be taken in twice: once where it was carried, once where it is edited."""
    log = Log()
    log.result("c1", "")
    log.user()
    log.foreign(call("c1"))
    log.result("c1", "ok")
    log.edit(1, parts=(Text("ok"),))
    compacted(log, 2)
    assert log.state.boundary is None
    assert "parts the call 3:0" in log.state.findings[-1].sentence


def test_the_turn_is_the_same_when_its_message_was_summed_up_and_removed() -> None:
    """What a summary hides is changed where it is read, and nowhere else: a steer that expects the turn still finds it."""
    log = Log()
    log.message(User.of("before", id="u1"))
    log.answer("so")
    log.message(User.of("go", id="u2"))
    at = log.answer("", call("c1"))
    log.result("c1", key=f"{at}:0")
    compacted(log, at)
    log.removal(3)
    same(from_boundary(log), log.state)
    assert log.state.turn == "u2"


@pytest.mark.parametrize("gap", [Log.erased, Log.lost])
def test_a_call_that_nothing_runs_behind_a_gap_is_open_from_no_end(gap: Write) -> None:
    """What was erased or lost behind it may have been an answer, which is known behind the boundary as well."""
    log = Log()
    log.user()
    log.answer("", call("c1"))
    log.started("2:0", "idempotent")
    gap(log)
    log.user("next")
    compacted(log, 5)
    assert log.state.boundary is not None
    same(from_boundary(log), log.state)


def a_call_that_came_later(log: Log) -> None:
    log.user()
    log.answer("so")
    log.user("next")
    log.started("2:0")
    log.edit(2, parts=(Text("so"), call("c1")))


def a_call_that_was_another_one(log: Log) -> None:
    log.user()
    log.foreign(call("c1"))
    log.user("next")
    log.correction("2:0", call("c1", n=2))
    log.edit(2, parts=(call("c1", n=3),))


def a_call_that_is_gone_with_its_result(log: Log) -> None:
    log.user()
    log.foreign(call("c1"))
    log.user("next")
    log.result("c1")
    log.edit(2, parts=(Text("so"),))


@pytest.mark.parametrize(
    "write", [a_call_that_came_later, a_call_that_was_another_one, a_call_that_is_gone_with_its_result]
)
def test_a_boundary_parts_no_call_from_what_was_said_of_it_before_an_edit(write: Write) -> None:
    """What was edited is carried as it is in the end, so what spoke of it as it was must not stand behind the boundary."""
    log = Log()
    write(log)
    log.user("more")
    compacted(log, 3)
    assert cut_of(without_compaction(log), 2) == 6
    assert log.state.boundary is None
    assert "before it was edited" in log.state.findings[-1].sentence


def without_compaction(log: Log) -> State:
    state = State()
    state.fold(log.entries[:-1])
    return state


def test_a_conversation_that_is_trimmed_can_be_summed_up() -> None:
    """A removal that comes late parts nothing, when all that was said of its calls was said before the boundary."""
    log = Log()
    two_turns(log)
    log.user("three")
    log.edit(6, parts=(call("c1", n=2),))
    log.removal(2)
    compacted(log, 8)
    assert log.state.boundary is not None
    same(from_boundary(log), log.state)
    assert cut_of(without_compaction(log), 1) == 8


def test_what_is_carried_holds_no_conversation() -> None:
    """What is carried of a long conversation whose calls are answered is no longer than of a short one."""
    sizes = []
    for turns in (2, 200):
        log = Log()
        for _ in range(turns):
            log.user("x" * 100)
            at = log.answer("", call("c1"))
            log.result("c1", "y" * 100, key=f"{at}:0")
            log.answer("z" * 100)
        sizes.append(len(encode(log.state.carry())))
    assert sizes[1] <= sizes[0] + 20


def test_what_an_open_call_needs_is_carried() -> None:
    """Its start, its approval and why it was left go with it; words of a broken call too."""
    log = Log()
    log.user()
    log.answer("", call("c1"), ToolCall("c2", "act", None, "{", "invalid_json"))
    log.started("2:0")
    log.message(Assistant((Text("on"),)))
    log.message(User.of("next"))
    compacted(log, 5)
    state = from_boundary(log)
    assert [known.key for known in state.unknown_outcomes()] == ["2:0"]
    assert state.calls["2:1"].call.raw == "{"
    log.put(MessageBody(ToolResult.of("c1", "late"), key="2:0"))
    assert from_boundary(log).unknown_outcomes() == []


# What was carried over, and lies -----------------------------------------------------------------

LIES: list[tuple[str, dict[str, object], dict[str, object]]] = [
    ("an index that no call has", {}, {"slots": (7,)}),
    ("an index before the first", {}, {"slots": (-9,)}),
    ("more indexes than memory holds", {}, {"size": 10**12, "slots": (0,)}),
    ("indexes without calls", {}, {"slots": (0, 1), "size": 2}),
    ("fewer ids than calls", {}, {"names": ()}),
    ("what is known of no call", {}, {"calls": (CarriedCall(5),)}),
    ("what is known of a call twice", {}, {"calls": (CarriedCall(0), CarriedCall(0))}),
    ("an answer from behind the boundary", {}, {"calls": (CarriedCall(0, (99, ToolResult("late", call_id="c0"))),)}),
    ("a turn from behind the boundary", {}, {"seq": 10**9}),
    ("the last answer from behind the boundary", {"last": (10**9, Assistant())}, {}),
    ("a message from before the log", {"behind": (-1,)}, {}),
    ("a stray from behind the boundary", {"strays": ((99, ToolResult("x", call_id="c9")),)}, {}),
    ("a reset from behind the boundary", {"begun": 99}, {}),
    ("a gap behind the boundary", {"gap": 99}, {}),
    ("less than no steps", {"steps": -1}, {}),
]


@pytest.mark.parametrize(("lie", "whole", "turn"), LIES, ids=[row[0] for row in LIES])
def test_what_was_carried_over_and_cannot_be_is_not_used(
    lie: str, whole: dict[str, object], turn: dict[str, object]
) -> None:
    """The log is read from its beginning then, and another compaction carries over what that says."""
    log = Log()
    log.foreign(call("c0"))
    two_turns(log)
    honest = log.state.carried_before(6)
    turns = (msgspec.structs.replace(honest.turns[0], **turn),)
    carried = msgspec.structs.replace(honest, **{"turns": turns, **whole})
    session = Session(MemoryStore(), "s")
    drafts = [draft(one.id, one.at, body) for one in log.entries if (body := read(one)) is not None]
    boundary = draft("lie", AT, Compacted("what was said", 6, carried), ("boundary:6",))
    session.store.append("s", [*drafts, boundary])
    log.put(Compacted("what was said", 6, carried))
    assert shape(session.refresh().request()) == shape(log.state.request()), lie
    assert session.state.start == 0, "the log was not read from its beginning"
    assert log.state.carried_before(6) == honest
