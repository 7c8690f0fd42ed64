"""The field's cases of approvals, crash windows and steers that carry no exact outcome: what must hold of each, holds.

The records of a case are written as a log of ours, in a file; then the process is another one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import suture
from suture.entries import (
    ApprovalDecision,
    ApprovalRequest,
    Body,
    Interrupt,
    MessageBody,
    RunStarted,
    Steer,
    ToolStarted,
    call_digest,
    call_marks,
    draft,
    mark,
)
from suture.messages import Assistant, Text, ToolCall, ToolResult, User
from suture.session import Session, new_id, now
from suture.testing import ScriptedModel
from tests.judges import FORMATS, assert_valid

FIELD = Path(__file__).parent / "field"
OPTIONS: dict[bool, dict[str, Any]] = {True: {"effect": "external", "needs_approval": True}, False: {"effect": "read"}}


class Teller:
    """Writes the records of a case as the entries that a run of ours would have written."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.calls: dict[str, tuple[str, ToolCall]] = {}
        self.requests: dict[str, int] = {}
        self.put(RunStarted("r1"), opens=(mark("run", "r1"),))

    def put(self, body: Body, opens: tuple[str, ...] = (), closes: tuple[str, ...] = ()) -> int:
        return self.session.store.append(self.session.id, [draft(new_id(), now(), body, opens, closes)])

    def tell(self, record: dict[str, Any]) -> None:
        key, call = self.calls.get(record.get("call_id", ""), ("", ToolCall("", "")))
        match record["type"]:
            case "user":
                self.put(MessageBody(User.of(record["text"])))
            case "assistant":
                self._answer(record)
            case "call_started":
                self.put(ToolStarted(key, "external", 1, "once"), opens=(mark("started", key),))
            case "result":
                answer = ToolResult.of(call.id, record["content"])
                self.put(MessageBody(answer, key=key), closes=call_marks(key))
            case "approval_requested":
                body = ApprovalRequest(key, call, call_digest(call), "external")
                self.requests[key] = self.put(body, opens=(mark("approval", key),))
            case "approval_decided":
                said = record["decision"] == "approve", record.get("reason")
                decision = ApprovalDecision(self.requests[key], key, call_digest(call), *said)
                self.put(decision, (mark("decided", key),), (mark("approval", key),))
            case "steer_accepted":
                self.put(Steer("steer", User.of(record["text"])), opens=(mark("inbox", "steer"),))
            case "aborted":
                self.put(Interrupt())
            case other:
                raise AssertionError(other)

    def _answer(self, record: dict[str, Any]) -> None:
        calls = [ToolCall(one["id"], one["name"], json.loads(one["arguments"])) for one in record.get("calls", [])]
        words = (Text(record["text"]),) if "text" in record else ()
        seen = self.session.info().head
        seq = self.put(MessageBody(Assistant((*words, *calls)), seen=seen))
        self.calls |= {call.id: (f"{seq}:{slot}", call) for slot, call in enumerate(calls)}


class Afterwards:
    """The session of a case in another process, with its tools, which count what they did."""

    def __init__(self, case: dict[str, Any], store: suture.Store, session: Session) -> None:
        self.case = case
        self.store = store
        self.session = session
        self.ran: list[tuple[str, dict[str, object]]] = []
        self.model = ScriptedModel([{"text": "Done."}] * 3)
        names = {call["name"] for record in case["input"]["records"] for call in record.get("calls", [])}
        effects = case["input"].get("tools", {})
        self.tools = [self._tool(name, effects.get(name, {}).get("side_effects", False)) for name in sorted(names)]

    def _tool(self, name: str, effective: bool) -> suture.Tool:
        def handler(arguments: dict[str, object]) -> str:
            self.ran.append((name, arguments))
            return f"{name} done"

        gated = any(record["type"] == "approval_requested" for record in self.case["input"]["records"])
        options = OPTIONS[effective and gated] if gated or not effective else {"effect": "external"}
        return suture.Tool(name, "Does it.", {"type": "object"}, handler, **options)

    def agent(self, **more: Any) -> suture.Agent:
        return suture.Agent(self.model, tools=self.tools, session=self.session, **more)

    @property
    def sent(self) -> list[str]:
        """The last request, each message in short; it is one that providers take."""
        for format in FORMATS:
            assert_valid(format, self.session.request(format))
        return [f"{type(message).__name__}: {message.text}" for message in self.model.requests[-1].messages]

    @property
    def recorded(self) -> list[str]:
        """The results that stand in the log."""
        return [message.text for message in self.session if isinstance(message, ToolResult)]


@pytest.fixture
def told(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Afterwards]:
    """The case of that name, written by one handle on a file and read by another."""
    case = json.loads((FIELD / f"{request.param}.json").read_text("utf-8"))
    url = f"sqlite:///{tmp_path}/log.db"
    with closing(suture.open_store(url)) as store:
        teller = Teller(Session(store, "s"))
        for record in case["input"]["records"]:
            teller.tell(record)
    with closing(suture.open_store(url)) as store:
        yield Afterwards(case, store, Session(store, "s"))


def of(name: str) -> pytest.MarkDecorator:
    """The case of that name."""
    return pytest.mark.parametrize("told", [name], indirect=True, ids=[name])


# Crash windows --------------------------------------------------------------------------------


@of("102-log-crash-after-start-side-effect")
def test_a_side_effect_that_started_is_not_run_again(told: Afterwards) -> None:
    """It is reported as of unknown outcome, from whatever process; a person decides, or the model hears of it."""
    assert told.agent().resume().status == "unknown_outcome"
    assert told.ran == []
    assert [(id, one.call.id) for id, one in suture.unknown_outcomes(told.store)] == [("s", "c1")]
    assert told.model.requests == []
    assert told.agent().run("And?").text == "Done."
    assert "may have run" in told.sent[2]
    assert told.ran == []


@of("104-log-crash-before-start")
def test_a_call_that_never_started_runs_once(told: Afterwards) -> None:
    """It is no call of unknown outcome: resuming runs it for the first time, and a second time does nothing."""
    assert told.session.unknown_outcomes() == []
    assert told.agent().resume().status == "completed"
    told.agent().resume()
    assert told.ran == [("send_mail", {"to": "x@example.org"})]


# Approvals ------------------------------------------------------------------------------------


@of("106-approval-pending-survives-restart")
def test_a_request_survives_a_restart(told: Afterwards) -> None:
    """The call is listed with its name and arguments; it has not run, and nothing was answered for it."""
    ((id, approval),) = suture.open_approvals(told.store)
    assert (id, approval.call.name, approval.call.arguments) == ("s", "send_mail", {"to": "x@example.org"})
    assert told.agent().resume().status == "awaiting_approval"
    assert (told.ran, told.recorded) == ([], [])


class NoStart(Exception):
    """The run could not begin."""


@of("108-approval-not-consumed-by-failed-resume")
def test_a_decision_is_not_used_up_by_a_run_that_could_not_begin(told: Afterwards) -> None:
    """The next one honours it, once, and nobody is asked again."""

    def fails(event: object) -> None:
        raise NoStart(event)

    with pytest.raises(NoStart):
        told.agent().resume(watch=fails)
    assert told.ran == []
    asked: list[str] = []
    told.agent().resume(watch=lambda event: asked.append(event.type))
    assert told.ran == [("send_mail", {"to": "x@example.org"})]
    assert "approval_needed" not in asked


@of("110-approval-delivered-twice")
def test_a_decision_that_comes_again_does_nothing(told: Afterwards) -> None:
    """The call is settled: the repeat writes nothing, and a later run does not run it."""
    before = told.session.info().head
    assert told.session.approve("c1") is None
    assert told.session.info().head == before
    told.agent().run("Thanks.")
    assert told.ran == []
    assert told.recorded == ["sent"]


@of("112-approval-one-yes-one-no")
def test_of_two_calls_one_is_let_run_and_one_is_not(told: Afterwards) -> None:
    """The first runs, once; the second is answered with the refusal; the next request has a result for each."""
    told.session.approve("c1")
    told.session.deny("c2")
    told.agent().resume()
    assert told.ran == [("del", {"f": 1})]
    assert told.sent[2:] == ["ToolResult: del done", "ToolResult: A person decided that this call must not run."]


@of("114-approval-decision-count-mismatch")
def test_a_decision_on_a_call_that_needed_none_is_refused(told: Afterwards) -> None:
    """Decisions go by call, not by place: the surplus one is an error, and each call runs once."""
    with pytest.raises(
        suture.NoSuchApproval, match=r"No call 'c1' waits for a decision\. Those that wait: \d+:1 \(buy\)\."
    ):
        told.session.approve("c1")
    told.session.approve("c2")
    told.agent().resume()
    assert sorted(told.ran) == [("buy", {}), ("look", {})]


@of("116-approval-rejection-counts-as-result")
def test_a_refusal_is_the_result_of_its_call(told: Afterwards) -> None:
    """What is sent holds the call, and behind it a result with the reason."""
    told.agent().resume()
    assert told.ran == []
    call, result = told.model.requests[-1].messages[1:3]
    assert isinstance(call, Assistant)
    assert isinstance(result, ToolResult)
    assert (call.calls[0].id, result.call_id) == ("c1", "c1")
    assert told.sent[2] == "ToolResult: A person decided that this call must not run: wrong address."


# Steers ---------------------------------------------------------------------------------------


@of("119-steer-lost-on-abort")
def test_a_steer_that_was_not_delivered_waits_through_a_stop(told: Afterwards) -> None:
    """The next request has it once, before the new prompt, and every call of the turn has a result."""
    prompt = told.case["input"]["then"]["new_user_prompt"]
    told.agent().run(prompt)
    assert [said for said in told.sent if said.startswith("User")] == [
        "User: tidy up",
        "User: also check docs",
        f"User: {prompt}",
    ]
    assert [said.partition(":")[0] for said in told.sent[2:4]] == ["ToolResult", "ToolResult"]
    assert told.sent[2] == "ToolResult: s1"


def test_every_case_of_approvals_and_crash_windows_has_a_test() -> None:
    """None is left out by accident: those without an exact outcome are these."""
    cases = [json.loads(path.read_text("utf-8")) for path in sorted(FIELD.glob("*.json"))]
    kinds = ("approval", "crash-window")
    found = {case["id"] for case in cases if case["kind"] in kinds and case["expect"]["repaired"] is None}
    text = Path(__file__).read_text("utf-8")
    assert {id for id in found if f'@of("{id}")' not in text} == set()
    assert len(found) == 8
