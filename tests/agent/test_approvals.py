"""Approvals: who may decide what, once, and what becomes of it, whatever else was written into the log."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import suture
from suture.canonical import canonical
from suture.entries import ApprovalDecision, ApprovalRequest, call_digest
from suture.messages import Assistant, ToolCall, ToolResult, User, encode
from suture.session import Session, new_id, now
from suture.stores import Draft
from suture.stores.memory import MemoryStore
from suture.testing import ScriptedModel


class Shop:
    """Tools that count what they did."""

    def __init__(self) -> None:
        self.paid: list[int] = []

    def tools(self, **more: Any) -> list[suture.Tool]:
        @suture.tool(effect="external", needs_approval=True, **more)
        def pay(total: int) -> str:
            """Pay."""
            self.paid.append(total)
            return f"paid {total}"

        @suture.tool(effect="read")
        def look() -> str:
            """Look."""
            return "seen"

        return [pay, look]


def calls(*totals: int) -> dict[str, object]:
    return {"calls": [{"id": f"c{n}", "name": "pay", "arguments": {"total": total}} for n, total in enumerate(totals)]}


def parked(shop: Shop, *totals: int, **more: Any) -> Session:
    """A session in which calls wait for a person."""
    session = Session(MemoryStore(), "s")
    model = ScriptedModel([calls(*(totals or (900,)))])
    assert suture.Agent(model, tools=shop.tools(**more), session=session).run("Pay.").status == "awaiting_approval"
    return session


def resumed(shop: Shop, session: Session, tools: list[suture.Tool] | None = None, **more: Any) -> list[str]:
    """What the results say once a run has gone on."""
    model = ScriptedModel([{"text": "Done."}])
    offered = shop.tools() if tools is None else tools
    suture.Agent(model, tools=offered, session=session, **more).resume()
    return results(session)


def results(session: Session) -> list[str]:
    return [message.text for message in session if isinstance(message, ToolResult)]


def put(session: Session, kind: str, body: bytes | Mapping[str, object], at: str | None = None) -> None:
    """An entry as somebody else writes it."""
    raw = body if isinstance(body, bytes) else canonical(dict(body))
    session.store.append(session.id, [Draft(new_id(), kind, at or now(), raw)])


DENIED = "A person decided that this call must not run"


# Deciding -------------------------------------------------------------------------------------


@pytest.mark.spec("S120")
def test_what_cannot_be_decided_is_an_error_and_writes_nothing() -> None:
    """Another decision, a call that never was, one that never needed a person, one that is answered."""
    shop = Shop()
    session = parked(shop)
    session.approve("c0", by="ann")
    before = session.info().head
    with pytest.raises(suture.AlreadyDecided, match=r"The call 3:0 \(pay\) was approved by ann before"):
        session.deny("c0")
    with pytest.raises(suture.AlreadyDecided):
        session.approve("c0", arguments={"total": 1})
    with pytest.raises(suture.NoSuchApproval):
        session.approve("c7")
    assert session.info().head == before
    resumed(shop, session)
    with pytest.raises(suture.AlreadyDecided):
        session.deny("c0")
    assert shop.paid == [900]


@pytest.mark.spec("S122")
def test_the_first_note_stands() -> None:
    """A repeat with another note, by somebody else, is nothing; the model reads the first."""
    shop = Shop()
    session = parked(shop)
    session.deny("c0", note="too dear", by="ann")
    assert session.deny("c0", note="no budget", by="bob") is None
    (approval,) = session.open_approvals()
    assert (approval.note, approval.by) == ("too dear", "ann")
    assert resumed(shop, session) == [f"{DENIED}: too dear."]


@pytest.mark.spec("S118", "S119", "M-31")
def test_a_decision_holds_who_and_why_and_what_it_is_about() -> None:
    """The entry names request, key and digest; a denial is no error, and its note is what the model reads."""
    shop = Shop()
    session = parked(shop)
    digest = session.open_approvals()[0].digest
    entry = session.deny("c0", note="wrong account", by="ann", digest=digest)
    assert entry is not None
    assert entry.kind == "approval_decision"
    assert entry.data == {
        "request": 4,
        "key": "3:0",
        "digest": digest,
        "approved": False,
        "note": "wrong account",
        "by": "ann",
    }
    assert resumed(shop, session) == [f"{DENIED}: wrong account."]
    assert [message.error for message in session if isinstance(message, ToolResult)] == [False]
    assert session.deny("c0") is None, "the same again, once it is settled"


@pytest.mark.spec("S117", "M-2")
def test_a_parked_call_has_no_result_until_it_is_decided() -> None:
    """It stays open at the end of the replay, and what is shown of it is the caller's own; `resume` runs it."""
    shop = Shop()
    session = parked(shop)
    assert [type(message).__name__ for message, _ in session.replay()] == ["User", "Assistant"]
    shown = session.open_approvals()[0]
    assert shown.parameters is not None
    shown.parameters.clear()
    assert shown.call.arguments is not None
    shown.call.arguments.clear()
    assert session.open_approvals()[0].call.arguments == {"total": 900}
    session.approve("c0")
    assert resumed(shop, session) == ["paid 900"]
    assert session.open_approvals() == []


@pytest.mark.spec("S104", "M-49")
def test_decided_calls_are_answered_in_the_order_of_the_calls() -> None:
    """Whoever decides in whatever order: each has its own answer, and the request holds all of them in call order."""
    shop = Shop()
    session = parked(shop, 1, 2, 3)
    session.approve("c2")
    session.deny("c1", note="no")
    session.approve("c0")
    resumed(shop, session)
    sent = [message.text for message in session.refresh().request() if isinstance(message, ToolResult)]
    assert sent == ["paid 1", f"{DENIED}: no.", "paid 3"]
    assert sorted(shop.paid) == [1, 3]


@pytest.mark.spec("S103")
def test_results_stand_in_call_order_whenever_they_came() -> None:
    """A call that ran at once stands behind one that waited for a person, when it was asked for behind it."""
    shop = Shop()
    session = Session(MemoryStore(), "s")
    model = ScriptedModel([{"calls": [*calls(5)["calls"], {"id": "l", "name": "look", "arguments": {}}]}])  # type: ignore[misc]
    suture.Agent(model, tools=shop.tools(), session=session).run("Pay and look.")
    assert results(session) == ["seen"]
    session.approve("c0")
    resumed(shop, session)
    assert [message.text for message, _ in session.replay() if isinstance(message, ToolResult)] == ["paid 5", "seen"]


@pytest.mark.spec("S112")
def test_what_is_said_while_a_call_waits_does_not_lose_it() -> None:
    """A message that a host appends stands behind the turn once it is whole; the call is still listed, decided and run."""
    shop = Shop()
    session = parked(shop)
    session.add(User.of("are you there?"))
    session.steer("hurry")
    (approval,) = session.open_approvals()
    assert approval.key == "3:0"
    session.approve("c0")
    assert resumed(shop, session) == ["paid 900"]
    said = [type(message).__name__ + ":" + message.text for message in session.refresh().request()]
    assert said == [
        "User:Pay.",
        "Assistant:",
        "ToolResult:paid 900",
        "User:are you there?",
        "User:hurry",
        "Assistant:Done.",
    ]


def test_a_decision_behind_a_placeholder_of_a_request_counts() -> None:
    """A host that sent the conversation while the call waited said "not run" for it; the yes that follows runs it."""
    shop = Shop()
    session = parked(shop)
    assert "waits for a person's approval" in str(session.request("anthropic"))
    session.approve("c0")
    assert resumed(shop, session) == ["paid 900"]
    assert "waits for a person" not in str(session.request("anthropic"))


def test_a_decision_behind_a_recorded_placeholder_runs_nothing() -> None:
    """Somebody answered the call in the log: it waits no longer, whoever still says yes."""
    shop = Shop()
    session = parked(shop)
    (approval,) = session.open_approvals()
    session.add(ToolResult.of("c0", "[Tool use interrupted]"))
    with pytest.raises(suture.NoSuchApproval, match="is answered already"):
        session.approve("c0")
    put(session, "approval_decision", encode(ApprovalDecision(4, "3:0", approval.digest, True)))
    assert resumed(shop, session) == ["[Tool use interrupted]"]
    assert shop.paid == []
    assert [finding.code for finding in session.findings()] == ["DECISION_LATE"]


def test_a_late_real_result_takes_the_place_of_a_placeholder() -> None:
    """Whenever it comes, by id or by key: the request has what really happened, and a finding names what gave way."""
    session = Session(MemoryStore(), "s")
    session.add(Assistant((ToolCall("c0", "look", {}),)))
    session.add(ToolResult.of("c0", "[Tool use interrupted]"))
    session.add(User.of("go on"))
    session.add(Assistant.of("On we go."))
    session.add(ToolResult.of("c0", "seen"))
    assert [m.text for m in session.refresh().request() if isinstance(m, ToolResult)] == ["seen"]
    assert [finding.code for finding in session.findings()] == ["RESULT_REPLACED", "RESULT_DISPLACED"]
    assert "[Tool use interrupted]" in session.findings()[0].sentence


# Doubtful controls ----------------------------------------------------------------------------


def other_arguments(session: Session) -> None:
    other = ToolCall("c0", "pay", {"total": 5000})
    put(session, "approval_request", encode(ApprovalRequest("2:0", other, call_digest(other), "external")))


def twice(session: Session) -> None:
    made = ToolCall("c0", "pay", {"total": 5})
    for _ in range(2):
        put(session, "approval_request", encode(ApprovalRequest("2:0", made, call_digest(made), "external")))


def no_request(session: Session) -> None:
    put(session, "approval_request", {"key": "2:0", "call": 7})


def no_time(session: Session) -> None:
    made = ToolCall("c0", "pay", {"total": 5})
    put(session, "approval_request", encode(ApprovalRequest("2:0", made, call_digest(made), "external", expires="soon")))


def yes_as_text(session: Session) -> None:
    made = ToolCall("c0", "pay", {"total": 5})
    put(session, "approval_request", encode(ApprovalRequest("2:0", made, call_digest(made), "external")))
    decision = encode(ApprovalDecision(3, "2:0", call_digest(made), True)).replace(b":true", b':"false"')
    put(session, "approval_decision", decision)


DOUBTFUL = [other_arguments, twice, no_request, no_time, yes_as_text]


@pytest.mark.spec("S116", "S113", "M-15")
@pytest.mark.parametrize("write", DOUBTFUL, ids=[write.__name__ for write in DOUBTFUL])
def test_a_doubtful_control_closes_only_the_call_that_it_concerns(write: Callable[[Session], None]) -> None:
    """That call never runs and is answered as not run; its sibling is listed, decided and run, and the model goes on."""
    shop = Shop()
    session = Session(MemoryStore(), "s")
    session.add(User.of("Pay twice."))
    session.add(Assistant((ToolCall("c0", "pay", {"total": 5}), ToolCall("c1", "pay", {"total": 7}))))
    write(session)
    assert session.open_approvals() == []
    assert len(session.findings()) == 1
    with pytest.raises(suture.NoSuchApproval):
        session.approve("c0")
    suture.Agent(ScriptedModel([]), tools=shop.tools(), session=session).resume()
    assert [one.call.id for one in session.open_approvals()] == ["c1"]
    session.approve("c1")
    assert resumed(shop, session)[0].startswith("This call was not run: ")
    assert results(session)[1:] == ["paid 7"]
    assert shop.paid == [7]
    assert session.messages[-1].text == "Done."


def for_nobody(session: Session) -> None:
    put(session, "approval_decision", {"request": 4, "key": "9:9", "digest": "x", "approved": True})


def with_no_sense(session: Session) -> None:
    put(session, "approval_decision", b"[1]")


@pytest.mark.spec("S114", "S108")
@pytest.mark.parametrize("write", [for_nobody, with_no_sense])
def test_a_control_that_names_no_call_concerns_none(write: Callable[[Session], None]) -> None:
    """It is a finding; whoever waits can still be listed and decided."""
    shop = Shop()
    session = parked(shop)
    write(session)
    assert [one.key for one in session.open_approvals()] == ["3:0"]
    assert len(session.findings()) == 1
    session.approve("c0")
    assert resumed(shop, session) == ["paid 900"]


@pytest.mark.spec("M-14", "M-13")
def test_a_decision_that_comes_too_late_changes_nothing() -> None:
    """One that lost, and lands once the call has run, is a finding: nothing waits, nothing runs again, runs go on."""
    shop = Shop()
    session = parked(shop)
    (approval,) = session.open_approvals()
    session.approve("c0")
    resumed(shop, session)
    put(session, "approval_decision", encode(ApprovalDecision(4, "3:0", approval.digest, False, "stop")))
    assert session.open_approvals() == []
    assert (
        suture.Agent(ScriptedModel([{"text": "Fine."}]), tools=shop.tools(), session=session).run("Well?").text == "Fine."
    )
    assert shop.paid == [900]
    assert [finding.code for finding in session.findings()] == ["DECISION_LATE"]


@pytest.mark.spec("S107", "M-24")
def test_a_decision_is_good_for_one_generation_of_an_id() -> None:
    """A call that comes again under the same id with the same arguments waits anew; the old yes, sent again, does nothing."""
    shop = Shop()
    session = parked(shop, 5)
    session.approve("c0")
    yes = next(entry.body for entry in session.entries() if entry.kind == "approval_decision")
    resumed(shop, session)
    session.add(User.of("Again."))
    session.add(Assistant((ToolCall("c0", "pay", {"total": 5}),)))
    suture.Agent(ScriptedModel([]), tools=shop.tools(), session=session).resume()
    put(session, "approval_decision", yes)
    (approval,) = session.open_approvals()
    assert approval.decision is None
    assert shop.paid == [5]
    session.deny(approval.key)
    assert resumed(shop, session) == ["paid 5", f"{DENIED}."]


@pytest.mark.spec("M-23", "S106")
def test_an_id_that_is_used_again_pairs_by_occurrence() -> None:
    """An answered call and one that was cut off under the same id keep what is theirs."""
    session = Session(MemoryStore(), "s")
    session.add(Assistant((ToolCall("call_1", "look", {}),)))
    session.add(User.of("and?"))
    session.add(Assistant((ToolCall("call_1", "look", {}),)))
    session.add(ToolResult.of("call_1", "second"))
    session.add(User.of("so?"))
    said = [message.text for message in session.refresh().request() if isinstance(message, ToolResult)]
    assert said[0].startswith("This call did not finish")
    assert said[1] == "second"


# Between request and run ----------------------------------------------------------------------


@suture.tool(name="pay", effect="external", needs_approval=True)
def pay_in_words(total: str, currency: str) -> str:
    """Pay."""
    raise AssertionError(total, currency)


@pytest.mark.spec("M-18")
@pytest.mark.parametrize(
    ("tools", "says"),
    [([pay_in_words], "currency"), ([], "pay")],
    ids=["another schema", "gone"],
)
def test_a_tool_that_changed_since_answers_with_what_is_wrong(tools: list[suture.Tool], says: str) -> None:
    """What was approved is checked against the tools of now; the call is answered, and the run goes on."""
    shop = Shop()
    session = parked(shop)
    session.approve("c0")
    (said,) = resumed(shop, session, tools)
    assert says in said
    assert shop.paid == []
    assert session.messages[-1].text == "Done."


@pytest.mark.spec("M-19")
def test_a_policy_that_changed_since_blocks_what_was_approved() -> None:
    """The host's hook is asked again before the handler, and its no is what the model reads."""
    shop = Shop()
    session = parked(shop)
    session.approve("c0")
    said = resumed(shop, session, before_tool=lambda *_: "frozen account")
    assert "frozen account" in said[0]
    assert shop.paid == []


@pytest.mark.spec("A-22")
def test_a_request_outlives_its_process(tmp_path: Path) -> None:
    """Another process lists the call as it was, nothing is asked again, and its approval runs once; calls keep their keys."""
    shop, url = Shop(), f"sqlite:///{tmp_path}/agent.db"
    store = suture.open_store(url)
    suture.Agent(ScriptedModel([calls(900)]), tools=shop.tools(), session=Session(store, "s")).run("Pay.")
    store.close()
    store = suture.open_store(url)
    session = Session(store, "s")
    events: list[str] = []
    more = {"calls": [{"id": "c1", "name": "pay", "arguments": {"total": 7}}]}
    agent = suture.Agent(ScriptedModel([more, {"text": "Done."}]), tools=shop.tools(), session=session)
    assert agent.resume(watch=lambda event: events.append(event.type)).status == "awaiting_approval"
    assert "approval_needed" not in events
    (waiting,) = suture.open_approvals(store)
    assert (waiting[0], waiting[1].key, waiting[1].call.arguments) == ("s", "3:0", {"total": 900})
    session.approve("c0")
    agent.resume()
    agent.resume()
    assert shop.paid == [900]
    assert [(one.key, one.call.id) for one in session.open_approvals()] == [("10:0", "c1")]
    store.close()


# Edits ----------------------------------------------------------------------------------------


def test_an_edit_names_the_digest_of_what_will_run() -> None:
    """The decision holds the call as the reviewer made it and its digest; a repeat with the same edit is nothing."""
    shop = Shop()
    session = parked(shop)
    entry = session.approve("c0", arguments={"total": 5}, by="ann")
    assert entry is not None
    assert isinstance(entry.data, dict)
    assert entry.data["edited"] == call_digest(ToolCall("c0", "pay", {"total": 5}))
    assert session.approve("c0", arguments={"total": 5}) is None
    with pytest.raises(suture.AlreadyDecided, match="approved with other arguments by ann"):
        session.approve("c0")
    assert resumed(shop, session) == ["paid 5"]


# Expiry ---------------------------------------------------------------------------------------


def later(seconds: float) -> str:
    moment = datetime.now(UTC) + timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def lapsed(shop: Shop) -> Session:
    """A session in which a call waits whose request has expired."""
    session = parked(shop, approval_expires=0.001)
    (approval,) = session.open_approvals()
    while now() <= (approval.expires or ""):
        time.sleep(0.001)
    return session


EXPIRED = "This call was not run: nobody decided on it before the request for approval expired."


def test_a_request_says_when_it_expires() -> None:
    """A tool says how long people have; the time stands in the request, and until then it is decided as any other."""
    shop = Shop()
    early = later(59)
    session = parked(shop, approval_expires=60)
    (approval,) = session.open_approvals()
    assert approval.expires is not None
    assert early <= approval.expires <= later(61)
    assert not session.info().needs_runner
    session.approve("c0")
    assert resumed(shop, session) == ["paid 900"]


@pytest.mark.parametrize("prompt", [None, "Never mind."])
def test_a_request_on_which_nobody_decided_in_time_is_over(prompt: str | None) -> None:
    """The next run answers the call as not run, with or without a prompt; a decision that comes later is refused."""
    shop = Shop()
    session = lapsed(shop)
    with pytest.raises(suture.NoSuchApproval, match=r"The request for 3:0 expired at 20.*; the call will not be run"):
        session.approve("c0")
    (info,) = session.store.sessions(status="awaiting_approval")
    assert info.needs_runner, "a supervisor finds it"
    agent = suture.Agent(ScriptedModel([{"text": "Done."}]), tools=shop.tools(), session=session)
    assert (agent.resume() if prompt is None else agent.run(prompt)).status == "completed"
    assert results(session) == [EXPIRED]
    assert shop.paid == []
    assert session.info().marks == {}


CLOSES: list[Callable[[Session], object]] = [
    lambda session: session.approve("c0"),
    lambda session: session.deny("c0"),
    lambda session: session.discard_pending_tool_calls(),
    lambda session: session.unset(),
    lambda session: session.add(ToolResult.of("c0", "paid by hand")),
]


@pytest.mark.parametrize("close", CLOSES)
@pytest.mark.parametrize("is_late", [False, True])
def test_what_is_decided_or_answered_expires_no_more(close: Callable[[Session], object], is_late: bool) -> None:
    """Whatever ends the asking ends its time with it; what is left to do is what the marks say beside that."""
    session = lapsed(Shop()) if is_late else parked(Shop(), approval_expires=60)
    with contextlib.suppress(suture.NoSuchApproval):
        close(session)
        assert {mark.partition(":")[0] for mark in session.info().marks} <= {"decided"}
        assert session.info().needs_runner is ("decided:3:0" in session.info().marks)
        return
    assert session.info().needs_runner, "a decision that came too late leaves it for a run"


def test_a_late_decision_in_the_log_decides_nothing() -> None:
    """Whoever wrote it all the same: it is a finding, and the call is not run."""
    shop = Shop()
    session = lapsed(shop)
    (approval,) = session.open_approvals()
    put(session, "approval_decision", encode(ApprovalDecision(4, "3:0", approval.digest, True)), at=later(1))
    assert [finding.code for finding in session.findings()] == ["DECISION_LATE"]
    assert resumed(shop, session) == [EXPIRED]


def test_a_decision_in_time_counts_whenever_a_run_takes_it_up() -> None:
    """What expires is the asking, not the answer."""
    shop = Shop()
    session = parked(shop, approval_expires=60)
    (approval,) = session.open_approvals()
    expired = Session(MemoryStore(), "s")
    for entry in session.entries():
        body = entry.body.replace((approval.expires or "").encode(), b"2026-01-01T00:00:00.000Z")
        expired.store.append("s", [Draft(entry.id, entry.kind, entry.at, body, entry.opens, entry.closes)])
    yes = encode(ApprovalDecision(4, "3:0", approval.digest, True))
    put(expired, "approval_decision", yes, at="2025-12-31T23:59:59.999Z")
    assert resumed(shop, expired) == ["paid 900"]


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), True, "60"])
def test_a_time_to_decide_is_a_number_of_seconds(seconds: object) -> None:
    """Anything else is refused where the tool is made."""
    with pytest.raises(suture.InvalidTool, match="approval_expires is a number of seconds above 0, or None"):
        Shop().tools(approval_expires=seconds)


def test_a_time_that_never_comes_is_kept_as_one() -> None:
    """So many seconds that no clock has them: the request does not expire."""
    (approval,) = parked(Shop(), approval_expires=1e300).open_approvals()
    assert approval.expires == "9999-12-31T23:59:59.999Z"
