"""Edits in a log: what they make of the conversation, and what a hostile one cannot do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from suture.entries import Correction, MessageBody
from suture.messages import Assistant, Reasoning, Text, ToolResult, Usage, User
from suture.replay import State
from tests.growth import TIMES, grows
from tests.rules.logs import Log, call, shape
from tests.rules.test_boundary import SUMMARY, compacted, from_boundary, same

Write = Callable[[Log], object]


def exchange(log: Log) -> None:
    """1 u:go, 2 a:look[c1,c2], 3 t(c1), 4 t(c2), 5 a:done."""
    log.user()
    log.answer("look", call("c1", n=1), call("c2", n=2))
    log.result("c1", "one", key="2:0")
    log.result("c2", "two", key="2:1")
    log.answer("done")


def words(text: str, *calls: object) -> tuple[object, ...]:
    return (Text(text), *calls)


EDITS: list[tuple[str, Write, list[str]]] = [
    ("words of a user", lambda log: log.edit(1, parts=words("stop")), ["u:stop", "a:look[c1,c2]", "t(c1):one", "t(c2):two", "a:done"]),
    ("words of an answer", lambda log: log.edit(5, parts=words("so")), ["u:go", "a:look[c1,c2]", "t(c1):one", "t(c2):two", "a:so"]),
    ("words beside calls", lambda log: log.edit(2, parts=words("see", call("c1", n=1), call("c2", n=2))), ["u:go", "a:see[c1,c2]", "t(c1):one", "t(c2):two", "a:done"]),
    ("a result", lambda log: log.edit(4, parts=words("deux")), ["u:go", "a:look[c1,c2]", "t(c1):one", "t(c2):deux", "a:done"]),
    ("the first call goes", lambda log: log.edit(2, parts=words("look", call("c2", n=2))), ["u:go", "a:look[c2]", "t(c2):two", "a:done"]),
    ("all calls go", lambda log: log.edit(2, parts=words("look")), ["u:go", "a:look", "a:done"]),
    ("nothing is left", lambda log: log.edit(2, parts=()), ["u:go", "a:done"]),
    ("the order of calls", lambda log: log.edit(2, parts=words("look", call("c2", n=2), call("c1", n=1))), ["u:go", "a:look[c2,c1]", "t(c2):two", "t(c1):one", "a:done"]),
    ("a call more", lambda log: log.edit(2, parts=words("look", call("c1", n=1), call("c2", n=2), call("c3"))), ["u:go", "a:look[c1,c2,c3]", "t(c1):one", "t(c2):two", "t(c3)!unknown", "a:done"]),
    ("calls where none were", lambda log: log.edit(5, parts=words("done", call("c1"))), ["u:go", "a:look[c1,c2]", "t(c1):one", "t(c2):two", "a:done[c1_2]", "t(c1_2)!unknown"]),
    ("a turn goes", lambda log: log.removal(2), ["u:go", "a:done"]),
    ("the last answer goes", lambda log: log.removal(5), ["u:go", "a:look[c1,c2]", "t(c1):one", "t(c2):two"]),
    ("everything goes", lambda log: log.removal(1, 2, 5), []),
    ("a new conversation", lambda log: (log.reset(), log.user("again")), ["u:again"]),
    ("an edit of an edit", lambda log: (log.edit(1, parts=words("a")), log.edit(1, parts=words("b"))), ["u:b", "a:look[c1,c2]", "t(c1):one", "t(c2):two", "a:done"]),
    ("an id that is free again", lambda log: (log.removal(2), log.answer("", call("c1"))), ["u:go", "a:done", "a:[c1]", "t(c1)!not_run"]),
]  # fmt: skip


@pytest.mark.parametrize(("hazard", "write", "sent"), EDITS, ids=[row[0] for row in EDITS])
def test_what_is_sent_after_an_edit(hazard: str, write: Write, sent: list[str]) -> None:
    """What the edit says is what stands there; kept calls keep their results, and a call that goes takes its own along."""
    log = Log()
    exchange(log)
    grown = log.state
    grown.request()
    write(log)
    grown.fold(log.entries)
    assert shape(grown.request()) == shape(log.state.request()) == sent, hazard


@pytest.mark.parametrize("key", [None, "9:0"], ids=["by id", "by a key of no call"])
def test_a_result_of_no_call_is_edited(key: str | None) -> None:
    """No request shows it, so that what it says now is reported as well."""
    log = Log()
    log.edit(log.result("c1", "old", key=key), parts=words("new"))
    assert [(one.code, one.sentence.rpartition(": ")[2]) for one in log.state.findings] == [
        ("RESULT_ORPHAN", "old"),
        ("RESULT_ORPHAN", "new"),
    ]


REFUSED: list[tuple[str, Write, str]] = [
    ("a place that is none", lambda log: log.edit(99, parts=words("x")), "EDIT_UNKNOWN"),
    ("no message", lambda log: (log.begun(), log.edit(6, parts=words("x"))), "EDIT_UNKNOWN"),
    ("itself", lambda log: log.edit(6, parts=words("x")), "EDIT_UNKNOWN"),
    ("one another", lambda log: (log.edit(7, parts=words("x")), log.edit(6, parts=words("x"))), "EDIT_UNKNOWN"),
    ("what comes later", lambda log: (log.edit(7, parts=words("x")), log.user("seven")), "EDIT_UNKNOWN"),
    ("what was removed", lambda log: (log.removal(1), log.edit(1, parts=words("x"))), "EDIT_UNKNOWN"),
    ("a result of what was removed", lambda log: (log.removal(2), log.edit(3, parts=words("x"))), "EDIT_UNKNOWN"),
    ("what stood before a reset", lambda log: (log.reset(), log.edit(1, parts=words("x"))), "EDIT_UNKNOWN"),
    ("removed twice", lambda log: log.removal(1, 1), "EDIT_UNKNOWN"),
    ("a result alone", lambda log: log.removal(3), "EDIT_INVALID"),
    ("another id", lambda log: log.edit(1, id="other"), "EDIT_INVALID"),
    ("another call's result", lambda log: log.edit(3, call_id="c2"), "EDIT_INVALID"),
    ("another role", lambda log: log.edit(1, role="system"), "EDIT_INVALID"),
    ("a field that is none", lambda log: log.edit(1, mood="calm"), "EDIT_INVALID"),
    ("a value that does not fit", lambda log: log.edit(1, parts="words"), "EDIT_INVALID"),
    ("an edit that is none", lambda log: log.raw("edit", b'{"target":"1"}'), "UNREADABLE"),
    ("a removal that is none", lambda log: log.raw("removal", b"[]"), "UNREADABLE"),
]  # fmt: skip


@pytest.mark.parametrize(("hazard", "write", "code"), REFUSED, ids=[row[0] for row in REFUSED])
def test_an_edit_that_means_nothing_changes_nothing(hazard: str, write: Write, code: str) -> None:
    """Whatever a hostile writer aims an edit at, the rest of the conversation stays, and a finding names the entry."""
    log = Log()
    exchange(log)
    write(log)
    findings = log.state.findings
    assert code in [finding.code for finding in findings], hazard
    assert "x" not in "".join(message.text for message in log.state.request())
    assert all(finding.seq > 5 for finding in findings)


def open_in(status: str) -> Log:
    log = Log()
    log.user()
    log.answer("pay", call("c1", n=5))
    if status in ("parked", "decided"):
        asked = log.asked("2:0", call("c1", n=5))
        if status == "decided":
            log.decided(asked, "2:0", call("c1", n=5), True)
    if status in ("started", "repeatable"):
        log.started("2:0", "external" if status == "started" else "read")
    return log


@pytest.mark.parametrize("status", ["parked", "decided", "started", "repeatable"])
@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda log: log.edit(2, parts=words("pay", call("c1", n=5000))), id="other arguments"),
        pytest.param(
            lambda log: log.edit(2, parts=words("pay", call("c1", n=5.0))), id="the same number, written differently"
        ),
        pytest.param(lambda log: log.edit(2, parts=words("pay")), id="without it"),
        pytest.param(lambda log: log.removal(2), id="removed"),
    ],
)
def test_a_call_that_somebody_holds_is_not_changed(status: str, write: Write) -> None:
    """What was shown to a person or was started stays as it is, also when the log holds an edit of it."""
    log = open_in(status)
    before = log.state.calls["2:0"].prepared
    write(log)
    state = log.state
    assert [finding.code for finding in state.findings] == ["EDIT_INVALID"]
    assert state.calls["2:0"].prepared == before
    assert shape(state.request())[1] == "a:pay[c1]"


@pytest.mark.parametrize("status", ["parked", "decided", "started", "repeatable"])
def test_the_words_beside_a_call_that_somebody_holds_may_change(status: str) -> None:
    """An edit that leaves the call alone takes nothing from it."""
    log = open_in(status)
    before = log.state.calls["2:0"].status
    log.edit(2, parts=words("please", call("c1", n=5)))
    state = log.state
    assert (state.findings, state.calls["2:0"].status) == ([], before)
    assert shape(state.request())[1] == "a:please[c1]"


def test_a_pending_call_that_was_edited_is_the_one_to_run() -> None:
    """Nothing of the old arguments is left, no correction of them either; the key stays."""
    log = open_in("pending")
    log.put(Correction("2:0", "act", '{"n": 5}', call("c1", n=55), "rule"))
    assert log.state.calls["2:0"].prepared.arguments == {"n": 55}
    log.edit(2, parts=words("pay", call("c1", n=6)))
    (open_call,) = log.state.open_calls()
    assert (open_call.key, open_call.prepared.arguments) == ("2:0", {"n": 6})


def test_keys_of_calls_are_never_given_again() -> None:
    """A call that comes when another has gone has a key of its own, so that a late result is not taken for its."""
    log = Log()
    log.user()
    log.answer("", call("c1"), call("c2"))
    log.edit(2, parts=(call("c2"), call("c3")))
    assert [one.key for one in log.state.open_calls()] == ["2:1", "2:2"]
    log.result("c1", "late", key="2:0")
    assert [one.key for one in log.state.open_calls()] == ["2:1", "2:2"]


@pytest.mark.parametrize(
    "write", [lambda log: log.removal(2), lambda log: log.edit(2, parts=words("pay")), lambda log: log.reset()]
)
def test_the_late_result_of_a_call_that_is_gone_is_reported(write: Write) -> None:
    """It stands in no request and in no conversation; its words are in a finding."""
    log = open_in("pending")
    write(log)
    before = shape(log.state.messages())
    log.result("c1", "paid 900", key="2:0")
    state = log.state
    assert shape(state.messages()) == before
    assert [(one.code, "paid 900" in one.sentence) for one in state.findings] == [("RESULT_ORPHAN", True)]
    assert "2:0, which was " in state.findings[0].sentence


@pytest.mark.parametrize("gone", ["removed", "withdrawn"])
def test_what_comes_for_a_call_that_is_gone_starts_nothing(gone: str) -> None:
    """A start, a request, a decision, a correction or a settlement of it is a finding each, and opens nothing."""
    log = open_in("pending")
    log.removal(2) if gone == "removed" else log.reset()
    log.started("2:0")
    request = log.asked("2:0", call("c1", n=5))
    log.decided(request, "2:0", call("c1", n=5), True)
    log.settled("2:0", "completed")
    state = log.state
    codes = ["CALL_UNKNOWN", "APPROVAL_INVALID", "DECISION_INVALID", "SETTLEMENT_LATE"]
    assert [finding.code for finding in state.findings] == codes
    assert (state.open_calls(), state.waiting_calls(), state.unknown_outcomes()) == ([], [], [])


def everything_open(log: Log) -> None:
    log.begun()
    log.user()
    log.answer("", call("a", n=1), call("b"), call("c"))
    log.asked("3:0", call("a", n=1))
    log.started("3:1")
    log.steer("hurry")


def test_a_reset_withdraws_what_is_open_and_says_so() -> None:
    """No approval, start, message or run crosses it; each has a finding with what may have happened."""
    log = Log()
    everything_open(log)
    log.reset()
    state = log.state
    assert [(one.seq, one.code) for one in state.findings] == [
        (7, "APPROVAL_WITHDRAWN"),
        (7, "OUTCOME_WITHDRAWN"),
        (7, "INBOX_WITHDRAWN"),
    ]
    assert "hurry" in state.findings[2].sentence
    assert (state.inbox, state.calls, state.unanswered, state.messages()) == ({}, {}, {}, [])
    assert (state.request(), state.answered, state.steps) == ((), True, 0)


def test_an_answer_to_a_conversation_that_is_gone_is_reported() -> None:
    """A model was asked before the reset and answers behind it: its words are a finding, and its calls never run."""
    log = Log()
    log.user()
    log.reset()
    log.user("new")
    log.answer("old news", call("c1"), seen=1)
    state = log.state
    assert shape(state.request()) == ["u:new"]
    assert [(one.code, "old news" in one.sentence) for one in state.findings] == [("ANSWER_WITHDRAWN", True)]
    assert (state.open_calls(), state.answered) == ([], False)


def test_a_reset_counts_whatever_became_of_its_body() -> None:
    """Erased or unreadable, it is still one: what it hid does not come back."""
    log = Log()
    log.user("secret")
    log.raw("reset", b"\xff")
    log.user("hi")
    assert shape(log.state.request()) == ["u:hi"]


def test_an_edit_of_a_result_is_what_the_call_has_answered() -> None:
    """A stand-in that somebody replaces by words is an answer: another stand-in does not displace it."""
    log = Log()
    log.user()
    log.answer("", call("c1"))
    log.message(ToolResult((Text("This call was not run."),), call_id="c1", error=True, synthetic="not_run"), key="2:0")
    log.edit(3, parts=(Text("paid by hand"),), synthetic=None, error=None, error_type=None)
    log.result("c1", "This call was not run.", key="2:0")
    assert shape(log.state.request())[-1] == "t(c1):paid by hand"
    assert [finding.code for finding in log.state.findings] == ["RESULT_DUPLICATE"]


def test_an_edit_of_a_result_that_does_not_count_is_reported() -> None:
    """The later of two results stands; editing the other is a finding with the words."""
    log = Log()
    log.user()
    log.foreign(call("c1"))
    log.result("c1", "first")
    log.result("c1", "last")
    log.edit(3, parts=(Text("mended"),))
    state = log.state
    assert shape(state.request())[-1] == "t(c1):last"
    assert "mended" in state.findings[-1].sentence


@pytest.mark.parametrize("left", [(), (Text("  "),), (Reasoning("hm", signature="c2ln"),)])
def test_an_answer_of_which_nothing_is_left_goes(left: tuple[object, ...]) -> None:
    """Neither words nor calls: it is removed with the results of its calls, and reported."""
    log = Log()
    exchange(log)
    log.edit(2, parts=left)
    state = log.state
    assert shape(state.messages()) == ["u:go", "a:done"]
    assert [finding.code for finding in state.findings] == ["MESSAGE_EMPTY"]


def test_messages_of_one_id_are_told_apart_by_their_place() -> None:
    """An edit names a place in the log, so a second message of the same id is not meant."""
    log = Log()
    log.message(User.of("one", id="x"))
    log.message(User.of("two", id="x"))
    log.edit(2, parts=words("deux"))
    assert shape(log.state.request()) == ["u:one", "u:deux"]


def test_a_result_that_came_early_answers_a_call_that_an_edit_adds() -> None:
    """It is paired as any early result is, and goes with the call again."""
    log = Log()
    log.user()
    log.result("c1", "early")
    log.answer("see")
    log.edit(3, parts=words("see", call("c1")))
    assert shape(log.state.request()) == ["u:go", "a:see[c1]", "t(c1):early"]
    log.removal(3)
    assert shape(log.state.messages()) == ["u:go"]


def test_a_result_finds_the_nearest_turn_also_when_an_edit_gave_an_older_one_its_call() -> None:
    """Turns are near by their place, not by when their calls came."""
    log = Log()
    log.user()
    log.answer("old")
    log.foreign(call("c1"))
    log.edit(2, parts=words("old", call("c1")))
    log.result("c1", "ok")
    assert shape(log.state.request()) == ["u:go", "a:old[c1_2]", "t(c1_2)!unknown", "a:[c1]", "t(c1):ok"]
    answered = {one.key: one.answered for one in log.state.calls.values()}
    assert answered == {"3:0": True, "2:0": False}


def test_removing_the_last_answer_makes_the_one_before_it_the_last() -> None:
    """Queries and what a run may take up go by what is left."""
    log = Log()
    log.user()
    log.answer("", call("c1"))
    log.user("and?")
    log.answer("done")
    assert not log.state.open_calls()
    log.removal(4)
    state = log.state
    assert state.timeline.last_answer is not None
    assert state.timeline.last_answer.message == state.recorded[2]
    assert [one.key for one in state.open_calls()] == ["2:0"]


def test_what_an_answer_cost_is_counted_once() -> None:
    """An answer that is kept over a reset, or edited, or removed, was paid for once."""
    log = Log()
    paid = Assistant((Text("hi"),), id="a1", usage=Usage(10, 5))
    log.message(paid, seen=0)
    log.reset()
    log.put(MessageBody(paid, restated=True))
    log.edit(3, parts=words("ho"))
    log.removal(3)
    assert log.state.usage == Usage(10, 5)


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda log: log.edit(2, parts=words("look", call("c2", n=2))), id="edit"),
        pytest.param(lambda log: log.removal(2), id="removal"),
    ],
)
def test_an_edit_that_was_erased_runs_nothing_that_it_took_away(write: Write) -> None:
    """Nobody knows any more what it said; the call that it named in its marks is refused, not run."""
    log = Log()
    log.user()
    log.answer("look", call("c1", n=1), call("c2", n=2))
    at = write(log)
    entry = log.entries[-1]
    closes = ("approval:2:0", "decided:2:0", "started:2:0", "settled:2:0")
    log.entries[-1] = type(entry)(entry.seq, entry.id, entry.kind, entry.at, b"", 0, (), closes, erased=b"hash")
    state = log.state
    assert [one.key for one in state.open_calls()] == ["2:1"]
    assert f"entry {at} of kind" in state.request()[2].text


# Boundaries -------------------------------------------------------------------------------------


def summarised(log: Log) -> None:
    """1 u:go, 2 a:look[c1,c2] with 3 and 4, 5 a:done, 6 u:next, 7 a:[c3] with 8; a summary stands for all before 6."""
    exchange(log)
    log.user("next")
    log.answer("", call("c3"))
    log.result("c3", "three", key="7:0")
    compacted(log, 6)


BEHIND = [SUMMARY, "u:next", "a:[c3]", "t(c3):three"]
PAST = ["u:go", "a:look[c1,c2]", "t(c1):one", "t(c2):two", "a:done"]


@pytest.mark.parametrize(
    ("write", "past"),
    [
        pytest.param(lambda log: log.edit(1, parts=words("stop")), ["u:stop", *PAST[1:]], id="words"),
        pytest.param(lambda log: log.edit(3, parts=words("un")), [*PAST[:2], "t(c1):un", *PAST[3:]], id="a result"),
        pytest.param(
            lambda log: log.edit(2, parts=words("look", call("c2", n=2))),
            ["u:go", "a:look[c2]", "t(c2):two", "a:done"],
            id="a call goes",
        ),
        pytest.param(lambda log: log.removal(2), ["u:go", "a:done"], id="a turn goes"),
        pytest.param(lambda log: log.removal(5), PAST[:4], id="the last answer goes"),
        pytest.param(
            lambda log: log.edit(5, parts=words("done", call("c9"))), [*PAST[:4], "a:done[c9]"], id="a call comes"
        ),
    ],
)
def test_an_edit_of_what_was_summarised_is_read_and_never_sent(write: Write, past: list[str]) -> None:
    """The conversation as recorded is as the edit says; a reader from the boundary, who has not read it, sends the same."""
    log = Log()
    summarised(log)
    write(log)
    log.user("more")
    same(from_boundary(log), log.state)
    assert shape(log.state.messages()) == [*past, "u:next", "a:[c3]", "t(c3):three", "u:more"]
    assert shape(log.state.request()) == [*BEHIND, "u:more"]
    assert not log.state.open_calls()
    assert not from_boundary(log).findings


@pytest.mark.parametrize(
    ("write", "sent"),
    [
        pytest.param(lambda log: log.edit(6, parts=words("then")), [SUMMARY, "u:then", *BEHIND[2:]], id="words"),
        pytest.param(lambda log: log.removal(6), [SUMMARY, *BEHIND[2:]], id="the first that is kept"),
        pytest.param(lambda log: log.removal(7), BEHIND[:2], id="a turn"),
        pytest.param(lambda log: log.removal(6, 7), [SUMMARY], id="all that is kept"),
        pytest.param(lambda log: log.edit(7, parts=words("hm")), [*BEHIND[:2], "a:hm"], id="a turn becomes words"),
        pytest.param(lambda log: log.reset(), [], id="reset"),
    ],
)
def test_an_edit_behind_a_boundary_is_sent(write: Write, sent: list[str]) -> None:
    """The summary stays in front, unless a reset takes it away; both readers send the same, also of what comes then."""
    log = Log()
    summarised(log)
    write(log)
    assert shape(log.state.request()) == sent
    if log.state.boundary is not None:
        same(from_boundary(log), log.state)
    log.user("more")
    at = log.answer("", call("c3"))
    log.result("c3", "drei", key=f"{at}:0")
    if log.state.boundary is not None:
        same(from_boundary(log), log.state)
    assert shape(log.state.request())[-1].endswith(":drei")


def test_what_was_edited_before_a_compaction_is_carried_as_it_was_then() -> None:
    """An edit aims before a boundary that is made later, behind which it stands: readers from there know what it did."""
    log = Log()
    log.user()
    log.answer("", call("c1"), call("c2"))
    log.result("c1", key="2:0")
    log.message(Assistant((Text("on"),)), seen=2)
    log.user("next")
    log.edit(2, parts=(call("c2"),))
    log.removal(4)
    log.answer("then")
    log.user("and?")
    compacted(log, 5)
    whole = log.state
    assert whole.boundary is not None, whole.findings
    same(from_boundary(log), whole)
    assert [one.key for one in from_boundary(log).talk.in_order()] == ["2:1"]
    log.result("c1", "late", key="2:0")
    log.result("c2", "late too")
    same(from_boundary(log), log.state)
    assert "2:1" not in log.state.unanswered


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda log, n: log.edit(2 * n + 1, parts=words("new")), id="edit of a user's"),
        pytest.param(lambda log, n: log.edit(2 * n + 2, parts=words("new")), id="edit of an answer"),
        pytest.param(lambda log, n: log.removal(2 * n + 2), id="removal"),
    ],
)
def test_an_edit_costs_what_it_touches(change: Callable[[Log, int], object]) -> None:
    """Folding edits all over a long log grows with their number alone, not with what stands around them."""

    def work(size: int) -> State:
        log = Log()
        for _ in range(size):
            log.user()
            log.answer("hi")
        for n in range(size):
            change(log, n)
        return log.state

    assert grows(work, 400) < TIMES * 2
