"""`suture approve`, `deny`, `steer`, `interrupt`, `settle`: people act on a session from a process without an agent."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

import suture as library
from suture.testing import ScriptedModel
from tests.doors.conftest import digest_of, kinds_of, send_gift
from tests.doors.shell import on_terminal, suture


def resumed(url: str, session: str) -> list[str]:
    """What the results of a session say once a run has gone on with it."""
    store = library.open_store(url)
    try:
        handle = library.Session(store, session)
        library.Agent(ScriptedModel([{"text": "Fine."}]), handle, tools=[send_gift]).resume()
        return [message.text for message in handle if isinstance(message, library.ToolResult)]
    finally:
        store.close()


# Approvals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["3:0", "c1"], ids=["key", "wire-id"])
def test_approve_lets_the_next_run_run_it(url: str, call: str) -> None:
    """A call is named by its key or its wire id; the decision is recorded, and a run takes it up."""
    said = suture("approve", "parked", call, "--by", "ann", "--note", "fine", "--store", url)
    assert (said.status, said.err) == (0, "")
    assert said.out == "3:0 of parked is approved; the next run takes it up.\n"
    waiting = suture("approvals", "parked", "--store", url)
    assert "  approved by ann: fine; the next run takes it up\n" in waiting.out
    assert "sent 900 to ann" in resumed(url, "parked")


def test_deny_tells_the_model_why(url: str) -> None:
    """The note of a denial is what the model reads."""
    said = suture("deny", "parked", "3:0", "--note", "too dear", "--store", url, "--json")
    assert (said.status, said.err) == (0, "")
    assert said.json == {"session": "parked", "call": "3:0", "decision": "denied", "repeat": False, "seq": 8}
    assert "A person decided that this call must not run: too dear." in resumed(url, "parked")


def test_an_equal_repeat_is_nothing_and_says_so(url: str) -> None:
    """The same decision again writes nothing, and ends with 0."""
    for _ in range(2):
        said = suture("approve", "parked", "c1", "--by", "ann", "--store", url)
    assert (said.status, said.out) == (0, "3:0 of parked was approved by ann before; nothing had to be written.\n")
    again = suture("approve", "parked", "c1", "--store", url, "--json").json
    assert (again["call"], again["repeat"], again["seq"]) == ("3:0", True, None)
    assert list(kinds_of(url, "parked")).count("approval_decision") == 1


def test_approve_with_other_arguments(url: str) -> None:
    """A reviewer may change what the call runs with; it is checked against the tool's parameters."""
    words = '{"to": "ann", "total": 100}', "--by", "ann", "--note", "less"
    said = suture("approve", "parked", "3:0", "--arguments", *words, "--store", url)
    assert said.status == 0
    assert "sent 100 to ann" in resumed(url, "parked")
    shown = suture("show", "parked", "--store", url)
    assert '(to="ann", total=900)  ->  sent 100 to ann\n' in shown.out  # what was asked for, and under it what ran
    assert '\n                     approved by ann as send_gift(to="ann", total=100): less\n' in shown.out
    assert "total=100): less" in on_terminal("show", "parked", "--store", url).out
    made = suture("show", "parked", "--store", url, "--json").json["messages"][1]["calls"][0]["decision"]
    assert made == {"approved": True, "note": "less", "by": "ann", "edited": {"to": "ann", "total": 100}}


def test_the_digest_that_was_shown_decides(url: str) -> None:
    """A decision may name the digest that its maker saw; the right one counts."""
    said = suture("approve", "parked", "3:0", "--digest", digest_of(url, "parked"), "--store", url)
    assert said.status == 0


NOT_OPEN = "No call '9:9' waits for a decision. Those that wait: 3:0 (send_gift)."


@pytest.mark.parametrize(
    ("command", "type", "says"),
    [
        (
            ("approve", "parked", "3:0", "--digest", "0" * 64),
            "NoSuchApproval",
            "it is not the call that was shown. Look at `suture approvals` again",
        ),
        (
            ("deny", "parked", "3:0", "--digest", "0" * 64),
            "NoSuchApproval",
            "it is not the call that was shown. Look at `suture approvals` again",
        ),
        (("approve", "parked", "9:9"), "NoSuchApproval", NOT_OPEN),
        (("deny", "parked", "9:9"), "NoSuchApproval", NOT_OPEN),
        (("approve", "parked", "c2"), "NoSuchApproval", "No call 'c2' waits for a decision."),
        (("approve", "done", "3:0"), "NoSuchApproval", "Those that wait: none."),
        (
            ("approve", "parked", "3:0", "--arguments", '{"to": 1}'),
            "InvalidEdit",
            "The edited arguments do not fit 'send_gift'",
        ),
        (("approve", "parked", "3:0", "--arguments", "{to: 1}"), "BadParameter", "Invalid value for --arguments: not JSON"),
        (
            ("approve", "parked", "3:0", "--arguments", "[1]"),
            "BadParameter",
            "Invalid value for --arguments: not a JSON object",
        ),
        (("steer", "steered", " "), "InvalidEdit", "A steer needs words; this one is blank."),
        (
            ("settle", "parked", "3:0", "completed"),
            "InvalidEdit",
            "is parked, and waits for no settlement. Those that wait: none.",
        ),
        (("settle", "done", "c1", "failed"), "InvalidEdit", "is answered, and waits for no settlement."),
        (
            ("settle", "unknown", "9:9", "completed"),
            "InvalidEdit",
            "No call '9:9' waits for a settlement. Those that wait: 3:0 (send_gift).",
        ),
        (("settle", "unknown", "3:0", "released"), "InvalidEdit", "may still be running"),
        (
            ("settle", "unknown", "3:0", "perhaps"),
            "BadParameter",
            "'perhaps' is not one of 'completed', 'failed', 'released'.",
        ),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_what_is_not_allowed_is_refused_and_not_written(url: str, command: tuple[str, ...], type: str, says: str) -> None:
    """It ends with 2, says what to do, and the log is as it was."""
    before = kinds_of(url, command[1])
    said = suture(*command, "--store", url, "--json")
    assert (said.status, said.err, said.json["error"]["type"]) == (2, "", type)
    assert says in said.json["error"]["message"]
    assert kinds_of(url, command[1]) == before


def test_the_other_decision_comes_too_late(url: str) -> None:
    """The first decision stands, and its maker is named."""
    suture("approve", "parked", "3:0", "--by", "ann", "--store", url)
    said = suture("deny", "parked", "3:0", "--store", url)
    assert (said.status, said.out) == (2, "")
    assert said.err == "Error: The call 3:0 (send_gift) was approved by ann before, and that decision stands.\n"


# Steering and stopping ------------------------------------------------------------------------


def test_steer_waits_in_the_inbox(url: str) -> None:
    """What is steered waits for the next run, and `show` shows it."""
    said = suture("steer", "done", "And a card.", "--store", url)
    assert (said.status, said.out) == (0, "The next run of done delivers it.\n")
    document = suture("steer", "done", "Signed.", "--store", url, "--json").json
    assert (document["session"], document["running"]) == ("done", False)
    assert suture("show", "done", "--store", url, "--json").json["inbox"] == ["And a card.", "Signed."]


def test_interrupt_of_a_session_that_does_not_run(url: str) -> None:
    """It is no error, and says that there was nothing to stop."""
    said = suture("interrupt", "done", "--reason", "enough", "--by", "ann", "--store", url)
    assert (said.status, said.out) == (0, "No run of done is on; there was nothing to stop.\n")


@pytest.fixture
def running(url: str) -> Iterator[list[str]]:
    """A run of the session "live" whose handler waits for the interrupt; its status stands here once it ended."""
    store, started, ended = library.open_store(url), threading.Event(), list[str]()

    @library.tool(effect="read")
    def wait(ctx: library.ToolContext) -> str:
        """Wait."""
        started.set()
        while not ctx.interrupted:
            threading.Event().wait(0.01)
        return "waited"

    def run() -> None:
        model = ScriptedModel([{"calls": [{"id": "c1", "name": "wait", "arguments": {}}]}, {"text": "Done."}])
        ended.append(library.Agent(model, library.Session(store, "live"), tools=[wait]).run("Wait.").status)

    thread = threading.Thread(target=run)
    thread.start()
    assert started.wait(30)
    yield ended
    library.Session(store, "live").interrupt()
    thread.join(30)
    store.close()


def test_a_live_run_is_steered_and_stopped_from_here(url: str, running: list[str]) -> None:
    """A command reaches the run in whatever process it is, and says that there is one."""
    assert suture("sessions", "--store", url, "--status", "running", "--json").json["sessions"][0]["id"] == "live"
    said = suture("steer", "live", "Be quick.", "--store", url)
    assert said.out == "The run of live that is on delivers it, or the next one when it ends or waits for a person first.\n"
    said = suture("interrupt", "live", "--reason", "enough", "--by", "ann", "--store", url)
    assert (said.status, said.out) == (0, "The run of live was asked to stop.\n")
    until = time.monotonic() + 30
    while not running and time.monotonic() < until:
        time.sleep(0.01)
    assert running == ["interrupted"]


# Outcomes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "more", "result"),
    [
        ("completed", ("--content", "It is on its way."), "It is on its way."),
        ("failed", ("--content", "Lost in the post."), "Lost in the post."),
        ("completed", ("--by", "ann"), "This call has completed, as ann found out. Its own result was lost."),
    ],
)
def test_settle_is_what_the_model_reads(url: str, outcome: str, more: tuple[str, ...], result: str) -> None:
    """What a person found out stands as the call's result."""
    said = suture("settle", "unknown", "3:0", outcome, *more, "--store", url)
    assert (said.status, said.err) == (0, "")
    assert said.out == f"3:0 of unknown is settled as {outcome}; the next run goes on with it.\n"
    (message,) = suture("show", "unknown", "--store", url, "--json").json["messages"][1:]
    (call,) = message["calls"]
    assert call["result"] == {"text": result, "error": outcome == "failed", "synthetic": None}


def test_settle_releases_by_force(url: str) -> None:
    """An attempt whose process still lives is released only by one who knows better; then it runs anew."""
    said = suture("settle", "unknown", "c1", "released", "--force", "--store", url, "--json")
    assert (said.status, said.json) == (0, {"session": "unknown", "call": "3:0", "outcome": "released", "seq": 5})
    assert resumed(url, "unknown") == ["sent 9 to slow"]
