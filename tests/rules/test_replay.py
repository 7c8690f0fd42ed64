"""Replay: what a log says may be sent, whatever was written into it and in whatever order."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from suture.entries import ApprovalDecision, ApprovalRequest, Entry, Fork, MessageBody, call_digest, lost, position_of, read
from suture.errors import Corrupt
from suture.messages import Assistant, Opaque, Text, ToolResult, User, encode
from suture.replay import State
from tests.rules.logs import AT, Log, call, shape

Write = Callable[[Log], object]


def crashed_in_a_tool(log: Log) -> None:
    log.begun()
    log.user()
    log.answer("", call("c1"), call("c2"))
    log.started("3:0")


def answered_out_of_order(log: Log) -> None:
    log.user()
    log.answer("", call("c1"), call("c2"))
    log.result("c2", "two", key="2:1")
    log.result("c1", "one", key="2:0")


def steered_between(log: Log) -> None:
    log.user()
    log.answer("", call("c1"))
    log.user("any news?")
    log.result("c1", "ok", key="2:0")
    log.answer("done")


def spoken_while_answering(log: Log) -> None:
    log.user()
    log.user("wait")
    log.answer("", call("c1"), seen=1)
    log.result("c1", "ok", key="3:0")


def late_after_answer(log: Log) -> None:
    log.user()
    log.foreign(call("c1"))
    log.user("and?")
    log.answer("hm")
    log.result("c1", "late")


def reused_id(log: Log) -> None:
    for text in ("one", "two"):
        log.user()
        at = log.answer("", call("c1"))
        log.result("c1", text, key=f"{at}:0")


def one_id_twice(log: Log) -> None:
    log.user()
    log.foreign(call("c1"), call("c1"))
    log.result("c1", "first")
    log.result("c1", "second")


def no_ids(log: Log) -> None:
    log.user()
    log.answer("", call(""), call(""))
    log.result("", "first", key="2:0")
    log.result("", "second", key="2:1")


def result_first(log: Log) -> None:
    log.user()
    log.result("c1", "early")
    log.foreign(call("c1"))


def stray(log: Log) -> None:
    log.user()
    log.result("gone", "lost words")
    log.answer("ok")


def doubled(log: Log) -> None:
    log.user()
    log.foreign(call("c1"))
    log.result("c1", "first")
    log.result("c1", "last")


def placeholder_then_real(log: Log) -> None:
    log.user()
    log.foreign(call("c1"))
    log.message(ToolResult.of("c1", "[Tool use interrupted]"))
    log.user("go on")
    log.result("c1", "real")


def real_then_placeholder(log: Log) -> None:
    log.user()
    log.foreign(call("c1"))
    log.result("c1", "real")
    log.message(ToolResult.of("c1", "tool call was aborted"))


def empty_answer(log: Log) -> None:
    log.user()
    log.answer("")
    log.user("hello?")


def parked(log: Log) -> None:
    log.user()
    log.answer("", call("c1", n=1), call("c2"))
    log.asked("2:0", call("c1", n=1))
    log.result("c2", "ok", key="2:1")


def settled(log: Log) -> None:
    log.user()
    log.answer("", call("c1"))
    log.started("2:0")
    log.settled("2:0", "completed", "sent at noon")


def settled_after_result(log: Log) -> None:
    log.user()
    log.answer("", call("c1"))
    log.started("2:0")
    log.result("c1", "sent", key="2:0")
    log.settled("2:0", "completed", "sent twice?")


def timed_out_then_real(log: Log) -> None:
    log.user()
    log.answer("", call("c1"))
    log.started("2:0")
    log.message(ToolResult((Text("late"),), call_id="c1", error=True, synthetic="timeout"), key="2:0")
    log.result("c1", "came after all", key="2:0")


def forked_at_an_approval(log: Log) -> None:
    parked(log)
    log.steer()
    log.put(Fork("parent", 5, ""))
    log.user("and now?")


@pytest.mark.spec("S101", "S102", "S106")
@pytest.mark.parametrize(
    ("write", "sent"),
    [
        pytest.param(crashed_in_a_tool, ["u:go", "a:[c1,c2]", "t(c1)!unknown", "t(c2)!not_run"], id="killed inside a tool"),
        pytest.param(answered_out_of_order, ["u:go", "a:[c1,c2]", "t(c1):one", "t(c2):two"], id="slowest call first"),
        pytest.param(
            steered_between, ["u:go", "a:[c1]", "t(c1):ok", "u:any news?", "a:done"], id="user between call and result"
        ),
        pytest.param(spoken_while_answering, ["u:go", "a:[c1]", "t(c1):ok", "u:wait"], id="user while the model answers"),
        pytest.param(late_after_answer, ["u:go", "a:[c1]", "t(c1):late", "u:and?", "a:hm"], id="late result"),
        pytest.param(
            reused_id, ["u:go", "a:[c1]", "t(c1):one", "u:go", "a:[c1_2]", "t(c1_2):two"], id="id used every turn"
        ),
        pytest.param(one_id_twice, ["u:go", "a:[c1,c1_2]", "t(c1):first", "t(c1_2):second"], id="one id for two calls"),
        pytest.param(no_ids, ["u:go", "a:[call_2_0,call_2_1]", "t(call_2_0):first", "t(call_2_1):second"], id="blank ids"),
        pytest.param(result_first, ["u:go", "a:[c1]", "t(c1):early"], id="result before its call"),
        pytest.param(stray, ["u:go", "a:ok"], id="result without a call"),
        pytest.param(doubled, ["u:go", "a:[c1]", "t(c1):last"], id="two results"),
        pytest.param(placeholder_then_real, ["u:go", "a:[c1]", "t(c1):real", "u:go on"], id="real after placeholder"),
        pytest.param(real_then_placeholder, ["u:go", "a:[c1]", "t(c1):real"], id="placeholder after real"),
        pytest.param(empty_answer, ["u:go", "u:hello?"], id="empty answer"),
        pytest.param(parked, ["u:go", "a:[c1,c2]", "t(c1)!not_run", "t(c2):ok"], id="waiting for approval"),
        pytest.param(settled, ["u:go", "a:[c1]", "t(c1):sent at noon"], id="settled by a person"),
        pytest.param(settled_after_result, ["u:go", "a:[c1]", "t(c1):sent"], id="settled too late"),
        pytest.param(
            forked_at_an_approval,
            ["u:go", "a:[c1,c2]", "t(c1)!not_run", "t(c2):ok", "u:and now?"],
            id="forked while parked",
        ),
        pytest.param(timed_out_then_real, ["u:go", "a:[c1]", "t(c1):came after all"], id="result after timeout"),
    ],
)
def test_what_may_be_sent(write: Write, sent: list[str]) -> None:
    """Each turn is followed at once by one result per call, in call order, whatever the log holds."""
    log = Log()
    write(log)
    assert shape(log.state.request()) == sent


@pytest.mark.spec("S111")
@pytest.mark.parametrize(
    ("write", "codes"),
    [
        (stray, ["RESULT_ORPHAN"]),
        (doubled, ["RESULT_REPLACED"]),
        (late_after_answer, ["RESULT_DISPLACED"]),
        (result_first, ["RESULT_ORPHAN", "RESULT_DISPLACED"]),
        (placeholder_then_real, ["RESULT_REPLACED", "RESULT_DISPLACED"]),
        (real_then_placeholder, ["RESULT_DUPLICATE"]),
        (settled_after_result, ["SETTLEMENT_LATE"]),
        (forked_at_an_approval, []),
        (crashed_in_a_tool, []),
        (spoken_while_answering, []),
        (parked, []),
    ],
)
def test_every_mend_is_a_finding(write: Write, codes: list[str]) -> None:
    """What replay had to mend or leave aside is listed with its seq, and the words that were left out."""
    log = Log()
    write(log)
    findings = log.state.findings
    assert [finding.code for finding in findings] == codes
    assert all(0 < finding.seq <= len(log.entries) for finding in findings)
    if write is stray:
        assert "lost words" in findings[0].sentence


@pytest.mark.spec("S104")
@pytest.mark.parametrize(
    ("write", "left"),
    [
        pytest.param(
            crashed_in_a_tool, ["u:go", "a:[c1,c2]", "t(c1)!unknown"], id="unknown outcome stands in, pending stays open"
        ),
        pytest.param(parked, ["u:go", "a:[c1,c2]", "t(c2):ok"], id="parked stays open"),
        pytest.param(answered_out_of_order, ["u:go", "a:[c1,c2]", "t(c1):one", "t(c2):two"], id="answered"),
    ],
)
def test_replay_leaves_open_calls_open(write: Write, left: list[str]) -> None:
    """`replay()` has stand-ins, without a seq, only for calls that nothing will take up any more."""
    log = Log()
    write(log)
    pairs = log.state.replay()
    assert shape([message for message, _ in pairs]) == left
    assert all((seq is None) == bool(isinstance(m, ToolResult) and m.synthetic) for m, seq in pairs)


STOPPED = "This call was not run: stopped by ann (wrong file)."


@pytest.mark.parametrize(
    ("end", "text"),
    [
        pytest.param(lambda log: log.interrupt("wrong file"), STOPPED, id="a person stopped it"),
        pytest.param(lambda log: log.ended("max_steps"), "This call was not run: the step limit was reached.", id="steps"),
        pytest.param(lambda _: None, "This call was not run: the run ended first.", id="crash"),
    ],
)
def test_a_stand_in_says_why_the_call_never_ran(end: Write, text: str) -> None:
    """The text names the person, the limit or the crash: the log knows that no handler started."""
    log = Log()
    log.begun()
    log.user()
    log.answer("", call("c1"))
    end(log)
    assert log.state.request()[-1].text == text


def test_what_was_sent_of_an_old_turn_does_not_change() -> None:
    """A later stop does not rewrite the stand-in of a turn that the model has seen."""
    log = Log()
    log.begun()
    log.user()
    log.answer("", call("c1"))
    log.started("3:0")
    log.ended("completed")
    log.user("go on")
    log.begun()
    log.answer("I see")
    before = log.state.request()
    log.interrupt()
    assert log.state.request() == before


def test_a_foreign_call_is_never_said_not_to_have_run() -> None:
    """The log does not know what ran outside of it, so the stand-in says that the call may have taken effect."""
    log = Log()
    log.user()
    log.foreign(call("c1"))
    log.user("and?")
    assert shape(log.state.request()) == ["u:go", "a:[c1]", "t(c1)!unknown", "u:and?"]


def test_folding_one_by_one_equals_folding_at_once() -> None:
    """A state that grew with its log is the state of the whole log, views used in between or not."""
    log = Log()
    for write in (crashed_in_a_tool, reused_id, stray, doubled, parked, settled, spoken_while_answering, late_after_answer):
        write(log)
    state = State()
    for entry in log.entries:
        state.fold([entry])
        state.request()
        state.replay()
    whole = log.state
    assert state.request() == whole.request()
    assert state.replay() == whole.replay()
    assert state.findings == whole.findings
    assert [one.key for one in state.open_calls()] == [one.key for one in whole.open_calls()]


def test_folding_twice_changes_nothing() -> None:
    """Entries that were taken in before are skipped."""
    log = Log()
    answered_out_of_order(log)
    state = log.state
    state.fold(log.entries)
    assert shape(state.request()) == shape(log.state.request())
    assert not state.findings


# Authority ------------------------------------------------------------------------------------


def gated(log: Log) -> int:
    log.user()
    log.answer("", call("c1", n=5))
    return log.asked("2:0", call("c1", n=5))


@pytest.mark.spec("S114")
@pytest.mark.parametrize(
    ("write", "status"),
    [
        pytest.param(
            lambda log: log.decided(3, "2:0", call("c1", n=5), True), "decided", id="names request, key and digest"
        ),
        pytest.param(lambda log: log.decided(3, "2:0", call("c1", n=5000), True), "parked", id="another digest"),
        pytest.param(lambda log: log.decided(2, "2:0", call("c1", n=5), True), "parked", id="another request"),
        pytest.param(lambda log: log.decided(3, "9:9", call("c1", n=5), True), "parked", id="another call"),
    ],
)
def test_a_decision_counts_only_for_what_it_names(write: Write, status: str) -> None:
    """A decision that names another request, key or digest decides nothing, and is reported."""
    log = Log()
    gated(log)
    write(log)
    state = log.state
    assert state.calls["2:0"].status == status
    assert bool(state.findings) == (status == "parked")


@pytest.mark.spec("M-13")
def test_the_first_decision_in_the_log_wins() -> None:
    """A later decision is a finding; it decides nothing."""
    log = Log()
    request = gated(log)
    log.decided(request, "2:0", call("c1", n=5), False, "no")
    log.decided(request, "2:0", call("c1", n=5), True)
    state = log.state
    decision = state.calls["2:0"].decision
    assert decision is not None
    assert decision.body.approved is False
    assert [finding.code for finding in state.findings] == ["DECISION_LATE"]


def other_arguments(log: Log) -> None:
    log.put(ApprovalRequest("2:0", call("c1", n=5000), call_digest(call("c1", n=5000)), "external"))


def forged_digest(log: Log) -> None:
    log.put(ApprovalRequest("2:0", call("c1", n=5), "0" * 64, "external"))


def asked_twice(log: Log) -> None:
    log.asked("2:0", call("c1", n=5))
    log.asked("2:0", call("c1", n=5))


def unreadable_decision(log: Log) -> None:
    request = log.asked("2:0", call("c1", n=5))
    body = encode(ApprovalDecision(request, "2:0", call_digest(call("c1", n=5)), True))
    log.raw("approval_decision", body.replace(b"true", b'"true"'))


@pytest.mark.spec("S113", "M-16", "M-17")
@pytest.mark.parametrize("write", [other_arguments, forged_digest, asked_twice, unreadable_decision])
def test_a_call_whose_authority_is_in_doubt_is_closed(write: Write) -> None:
    """Malformed control refuses the call that it concerns, and only that: it is not run, and said so."""
    log = Log()
    log.user()
    log.answer("", call("c1", n=5), call("c2"))
    write(log)
    state = log.state
    assert [one.key for one in state.open_calls()] == ["2:1"]
    assert not state.waiting_calls()
    assert state.findings
    assert shape(state.request())[-2:] == ["t(c1)!not_run", "t(c2)!not_run"]


def replaced_call(log: Log) -> None:
    request = gated(log)
    other = call("c1", "wipe", n=5)
    body = ApprovalDecision(request, "2:0", call_digest(call("c1", n=5)), True, None, None, other, call_digest(other))
    log.put(body)


def edit_without_its_digest(log: Log) -> None:
    request = gated(log)
    log.put(ApprovalDecision(request, "2:0", call_digest(call("c1", n=5)), True, None, None, call("c1", n=6)))


@pytest.mark.parametrize("write", [replaced_call, edit_without_its_digest])
def test_a_decision_cannot_put_another_call_in_its_place(write: Write) -> None:
    """An edit keeps the call's id and name, and is bound by a digest of its own; anything else decides nothing."""
    log = Log()
    write(log)
    state = log.state
    assert state.calls["2:0"].status == "parked"
    assert [finding.code for finding in state.findings] == ["DECISION_INVALID"]


def forged_start(log: Log) -> None:
    gated(log)
    log.started("2:0", "read")


def start_of_a_denied_call(log: Log) -> None:
    request = gated(log)
    log.decided(request, "2:0", call("c1", n=5), False)
    log.started("2:0", "idempotent")


def doubt_after_the_start(log: Log) -> None:
    log.user()
    log.answer("", call("c1", n=5))
    log.started("2:0")
    forged_digest(log)


@pytest.mark.parametrize("write", [forged_start, start_of_a_denied_call, doubt_after_the_start])
def test_what_started_without_authority_is_neither_repeated_nor_denied(write: Write) -> None:
    """Whatever else is in the log, a call runs only under an approving decision; and once it has started, nothing says
    that it was not run.
    """
    log = Log()
    write(log)
    state = log.state
    assert state.open_calls() == []
    assert [one.key for one in state.unknown_outcomes()] == ["2:0"]
    assert shape(state.request())[-1] == "t(c1)!unknown"


def erased(log: Log, at: int, opens: tuple[str, ...] = (), closes: tuple[str, ...] = ()) -> None:
    entry = log.entries[at - 1]
    log.entries[at - 1] = Entry(entry.seq, entry.id, entry.kind, entry.at, b"", 1, opens, closes, erased=b"hash")


@pytest.mark.parametrize(
    ("write", "at", "opens", "closes", "sent", "open_calls"),
    [
        pytest.param(lambda log: log.started("2:0"), 3, ("started:2:0",), (), "t(c1)!unknown", [], id="a start"),
        pytest.param(
            lambda log: log.result("c1", "ok", key="2:0"), 3, (), ("started:2:0",), "t(c1)!lost", [], id="an answer"
        ),
        pytest.param(
            lambda log: log.asked("2:0", call("c1")), 3, ("approval:2:0",), (), "t(c1)!not_run", [], id="a request"
        ),
        pytest.param(lambda log: log.raw("later", b"{}"), 3, ("started:2:0",), (), "t(c1)!unknown", [], id="a newer kind"),
    ],
)
def test_the_marks_of_what_cannot_be_read_still_count(
    write: Write, at: int, opens: tuple[str, ...], closes: tuple[str, ...], sent: str, open_calls: list[str]
) -> None:
    """An erased start is a start and an erased answer an answer: no call is run again for want of a body."""
    log = Log()
    log.user()
    log.answer("", call("c1"))
    write(log)
    erased(log, at, opens, closes)
    state = log.state
    assert shape(state.request())[-1] == sent
    assert [one.key for one in state.open_calls()] == open_calls


def test_marks_behind_which_nothing_waits_are_named() -> None:
    """The next run closes them, so no session asks for a runner for ever."""
    log = Log()
    log.user()
    log.answer("", call("c1"))
    log.asked("2:0", call("c1"))
    marks = (
        "approval:2:0",
        "approval:9:9",
        "decided:2:0",
        "started:2:0",
        "settled:2:0",
        "inbox:gone",
        "run:other",
        "mine:x",
    )
    log.raw("weather", b"{}")
    entry = log.entries[-1]
    log.entries[-1] = Entry(entry.seq, entry.id, entry.kind, entry.at, entry.body, 0, marks)
    state = State()
    state.fold(log.entries[:-1])
    state.marks = dict.fromkeys(marks, 5)
    assert state.idle_marks() == ("approval:9:9", "decided:2:0", "started:2:0", "settled:2:0", "inbox:gone", "run:other")


def test_a_gap_in_the_log_is_refused() -> None:
    """A state never skips what it was not given."""
    log = Log()
    log.user()
    log.user()
    with pytest.raises(Corrupt, match=r"Entries 1 to 1 are missing\. Read the log from its beginning\."):
        State().fold(log.entries[1:])


def decided_before(log: Log) -> None:
    log.user()
    log.answer("", call("c1"))
    log.decided(log.asked("2:0", call("c1")), "2:0", call("c1"), approved=True)


def pending_before(log: Log) -> None:
    log.user()
    log.answer("", call("c1"))


@pytest.mark.parametrize("write", [decided_before, pending_before], ids=["decided", "pending"])
def test_what_was_open_before_lost_entries_may_have_run(write: Write) -> None:
    """Behind entries that a store has lost no call from before runs unasked; a person says what became of it."""
    log = Log()
    write(log)
    at = len(log.entries) + 3
    state = State()
    state.fold([*log.entries, lost(at), Entry(at + 1, "later", "message", AT, encode(MessageBody(User.of("go on"))))])
    assert state.open_calls() == []
    assert state.waiting_calls() == []
    assert [one.key for one in state.unknown_outcomes()] == ["2:0"]
    assert [(one.seq, one.code) for one in state.findings] == [(at, "MISSING")]
    assert f"entries {at - 2} to {at} are missing" in state.findings[0].sentence
    assert shape(state.request())[-2:] == ["t(c1)!unknown", "u:go on"]


def test_a_start_that_cannot_be_read_is_still_a_start() -> None:
    """An effect that this version does not know is not taken for "never started": the call is not repeated."""
    log = Log()
    log.user()
    log.answer("", call("c1"))
    log.raw("tool_started", b'{"key":"2:0","effect":"quantum","attempt":1,"idempotency_key":"k"}')
    state = log.state
    assert [one.key for one in state.unknown_outcomes()] == ["2:0"]
    assert state.open_calls() == []
    assert shape(state.request())[-1] == "t(c1)!unknown"


# What others wrote ----------------------------------------------------------------------------


def test_what_a_newer_version_wrote_survives_byte_for_byte() -> None:
    """Unknown kinds, parts and fields are read around and kept as they are."""
    body = b'{"message":{"role":"user","parts":[{"type":"hologram","x":0.10}],"mood":"calm"},"later": 1}'
    log = Log()
    log.raw("message", body)
    log.raw("weather", b'{"rain":  true}')
    state = log.state
    assert state.request() == (User((Opaque("suture", {"type": "hologram", "x": 0.1}),)),)
    assert [entry.body for entry in log.entries] == [body, b'{"rain":  true}']
    assert not state.findings


@pytest.mark.spec("S108")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        b"[1]",
        b'{"message":{"role":"wizard"}}',
        b'{"message":1}',
        b"[" * 5000,
        b'{"message":{"role":{},"parts":[{"type":{}}]}}',
        b'{"message":{"role":"user","parts":[{"type":"hologram","raw":' + b"[" * 500 + b"]" * 500 + b"}]}}",
    ],
)
def test_an_unreadable_message_is_a_finding(body: bytes) -> None:
    """A broken body hides itself, not the conversation."""
    log = Log()
    log.user()
    log.raw("message", body)
    log.answer("still here")
    state = log.state
    assert shape(state.request()) == ["u:go", "a:still here"]
    assert [finding.code for finding in state.findings] == ["UNREADABLE"]


def test_a_text_full_of_brackets_is_not_nested() -> None:
    """Only values are: a message that quotes code is read, whatever it escapes."""
    log = Log()
    log.user('{[\\"' * 900)
    assert not log.state.findings


def test_a_part_may_say_anything_for_its_kind() -> None:
    """A part whose type is no text is kept aside as it came."""
    log = Log()
    log.raw("message", b'{"message":{"role":"user","parts":[{"type":{"a":[]}}]}}')
    assert log.state.request() == (User((Opaque("suture", {"type": {"a": []}}),)),)


@pytest.mark.parametrize("key", ["9" * 5000 + ":0", "1:" + "9" * 5000, "\u0661:0", "01:0", "-1:0", "1", ":"])
def test_what_is_no_key_names_no_call(key: str) -> None:
    """A result under a name that no call can have is left aside, and the rest is read."""
    log = Log()
    log.user()
    log.result("c1", "lost", key=key)
    assert [finding.code for finding in log.state.findings] == ["RESULT_ORPHAN"]
    assert position_of(key) is None


def test_an_erased_entry_is_a_finding() -> None:
    """What was erased for privacy leaves its place."""
    log = Log()
    log.user()
    log.entries[0] = Entry(1, "e1", "message", AT, b"", erased=b"hash")
    assert log.state.request() == ()
    assert [finding.code for finding in log.state.findings] == ["ERASED"]


@pytest.mark.spec("S96")
@pytest.mark.parametrize(
    "body",
    [
        MessageBody(Assistant.of(["hi", call("c1", n=2**80, text="ü")]), seen=3),
        ApprovalRequest("1:0", call("c1"), "d", "external", "What it does.", {"type": "object"}),
    ],
)
def test_a_body_reads_back_as_it_was_written(body: MessageBody | ApprovalRequest) -> None:
    """Encoding and reading are each other's inverse, big integers and odd letters included."""
    log = Log()
    log.put(body)
    assert read(log.entries[0]) == body


def test_lone_surrogates_are_scrubbed_on_the_way_in() -> None:
    """A text cut in the middle of an emoji can still be stored and sent."""
    assert msgspec.json.decode(encode(User.of("ok \ud83d"))) == {
        "role": "user",
        "parts": [{"type": "text", "text": "ok \ufffd"}],
    }


@pytest.mark.parametrize(
    ("write", "steps", "answered"),
    [
        (lambda _: None, 0, True),
        (lambda log: log.user(), 0, False),
        (lambda log: (log.user(), log.answer("", call("c")), log.result("c", key="2:0")), 1, False),
        (lambda log: (log.user(), log.answer("", call("c")), log.result("c", key="2:0"), log.answer("x")), 2, True),
        (lambda log: (log.user(), log.answer("x"), log.user()), 0, False),
    ],
)
def test_steps_count_since_the_last_user_message(write: Write, steps: int, answered: bool) -> None:
    """A new prompt has its own budget of steps; whose turn it is follows from the last block."""
    log = Log()
    write(log)
    assert (log.state.steps, log.state.answered) == (steps, answered)
