"""Two processes on one session: one runs it, others append, decide, steer, interrupt, and take over what stands still."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from suture.entries import Settlement, read
from suture.errors import SessionBusy
from suture.loop import idempotency_key
from suture.loop.asks import Append, Ask, Start
from suture.loop.jobs import ToolJob
from suture.messages import ToolResult, User
from suture.session import Session
from suture.stores.sqlite.store import SqliteStore
from tests.loop.children import Child
from tests.loop.counts import APPENDS, RACES
from tests.loop.mortal import assert_stand
from tests.loop.scenarios import (
    DONE,
    PROMPT,
    Driver,
    Story,
    World,
    assert_effects_once,
    assert_sendable,
    carried,
    check_end,
    wait_until,
)
from tests.loop.worker import Barrier, Orders, acknowledged_in, story_of

Begin: TypeAlias = Callable[[Orders], Child]

both = pytest.mark.parametrize("driver", ["sync", "async"])

# Long enough for a process that is not frozen to renew in time, short enough to wait for.
SHORT = 0.6


def orders(
    folder: Path,
    scenario: str,
    barrier: Barrier = "",
    *,
    driver: Driver = "sync",
    lease: float = 30.0,
    grace: float = 5.0,
    hang: bool = False,
) -> Orders:
    """Orders for one run, by a process that stops at the barrier."""
    SqliteStore(folder / "log.db").close()
    return Orders("step", str(folder), scenario, driver, lease, grace, barrier, 0, hang)


def outside(given: Orders) -> Story:
    """The same story, as this process carries it on."""
    return story_of(given, World(given.ledger))


def texts(session: Session) -> list[tuple[str, str]]:
    return [(type(message).__name__, message.text) for message, _ in session.replay()]


# Appending ------------------------------------------------------------------------------------


def test_two_processes_that_append_at_once_lose_nothing(child: Begin, tmp_path: Path) -> None:
    """Every append of both is there, once, in its writer's order, at positions without gaps."""
    SqliteStore(tmp_path / "log.db").close()
    given = Orders("append", str(tmp_path))
    writers = [child(given) for _ in range(2)]
    for writer in writers:
        assert writer.hear() == {"ready": writer.pid}
    for writer in writers:
        writer.tell(str(APPENDS))
    for writer in writers:
        assert writer.hear() == {"ended": "completed"}
    entries = outside(given).session().entries()
    assert [entry.seq for entry in entries] == list(range(1, 2 * APPENDS + 1))
    written = [entry.data for entry in entries]
    for writer in writers:
        own = [one for one in written if isinstance(one, dict) and one["pid"] == writer.pid]
        assert [one["number"] for one in own] == list(range(APPENDS))
    assert_stand(entries, acknowledged_in(given.acknowledged))


# One runner -----------------------------------------------------------------------------------


@pytest.mark.spec("S172")
@pytest.mark.parametrize("prompt", ["Me too.", None])
def test_a_second_runner_is_turned_away(prompt: str | None, child: Begin, tmp_path: Path) -> None:
    """The one who is turned away is told what reaches the run that is on, and has written nothing."""
    given = orders(tmp_path, "external", "send")
    runner = child(given)
    assert runner.hear() == {"at": "send"}
    story = outside(given)
    before = story.session().entries()
    with pytest.raises(SessionBusy, match=f"{runner.pid}.*`steer` and `interrupt`"):
        carried(story.agent(story.session())[0], prompt)
    assert story.session().entries() == before
    runner.tell("go on")
    assert runner.hear()["ended"] == "completed"
    check_end(story)


# Frozen runners -------------------------------------------------------------------------------


def take_over(story: Story) -> str:
    """Run the story once as soon as it can be had; how that ended."""
    ended: list[str] = []

    def had() -> bool:
        try:
            ended.append(story.step())
        except SessionBusy:
            return False
        return True

    wait_until(had)
    return ended[0]


@both
@pytest.mark.parametrize(("barrier", "status"), [("begin", "completed"), ("start", "unknown_outcome")])
def test_a_runner_frozen_before_a_handler_never_starts_it(
    barrier: Barrier, status: str, driver: Driver, child: Begin, tmp_path: Path
) -> None:
    """Past its lease and replaced, it finds itself fenced, on whichever side of the written start it stood still."""
    given = orders(tmp_path, "external", barrier, driver=driver, lease=SHORT)
    frozen = child(given)
    assert frozen.hear() == {"at": barrier}
    frozen.freeze()
    frozen.tell("go on")
    story = outside(given)
    assert take_over(story) == status
    head = story.session().refresh().head
    frozen.thaw()
    assert frozen.hear()["ended"] == "fenced"
    assert frozen.pid not in {run.pid for run in given.ledger.runs()}
    assert story.session().entries(head) == []
    if status != "completed":
        story.take_up(status)
        story.finish()
    check_end(story)


@both
def test_a_runner_frozen_in_a_handler_leaves_its_result_as_a_settlement(
    driver: Driver, child: Begin, tmp_path: Path
) -> None:
    """It writes one entry, without its epoch, and that is the result that the conversation goes on with."""
    given = orders(tmp_path, "external", "send", driver=driver, lease=SHORT)
    frozen = child(given)
    assert frozen.hear() == {"at": "send"}
    frozen.freeze()
    frozen.tell("go on")
    story = outside(given)
    assert take_over(story) == "unknown_outcome"
    head = story.session().refresh().head
    frozen.thaw()
    assert frozen.hear()["ended"] == "fenced"
    (entry,) = story.session().entries(head)
    body = read(entry)
    assert isinstance(body, Settlement)
    assert (entry.epoch, body.outcome, [part.text for part in body.content]) == (0, "completed", ["sent 0"])  # type: ignore[union-attr]
    assert story.session().unknown_outcomes() == []
    story.finish()
    check_end(story)
    assert ("ToolResult", "sent 0") in texts(story.session())


@pytest.mark.parametrize(
    ("scenario", "barrier", "result", "code"),
    [
        ("external", "send", "the operator saw it", "SETTLEMENT_LATE"),
        ("idempotent", "save", "saved 0", "SETTLEMENT_LATE"),
    ],
)
def test_a_frozen_handler_that_comes_too_late_changes_nothing(
    scenario: str, barrier: Barrier, result: str, code: str, child: Begin, tmp_path: Path
) -> None:
    """Settled by a person, or run again, the call keeps the first answer; the late one is a finding."""
    given = orders(tmp_path, scenario, barrier, lease=SHORT)
    frozen = child(given)
    assert frozen.hear() == {"at": barrier}
    frozen.freeze()
    frozen.tell("go on")
    story = outside(given)
    if take_over(story) == "unknown_outcome":
        story.session().settle("c0", "completed", result)
        assert story.step() == "completed"
    before = texts(story.session())
    assert before[2] == ("ToolResult", result)
    frozen.thaw()
    assert frozen.hear()["ended"] == "fenced"
    assert texts(story.session()) == before
    assert [finding.code for finding in story.session().findings()] == [code]
    assert_effects_once(given.ledger)
    assert story.session().info().needs_runner
    assert story.step() == "completed"
    assert story.session().info().marks == {}


def test_a_runner_frozen_past_its_lease_goes_on_when_nobody_took_over(child: Begin, tmp_path: Path) -> None:
    """A lease that has run out is still the current claim."""
    given = orders(tmp_path, "external", "start", lease=SHORT)
    frozen = child(given)
    assert frozen.hear() == {"at": "start"}
    frozen.freeze()
    story = outside(given)
    wait_until(lambda: story.session().info().claim is None)
    frozen.tell("go on")
    frozen.thaw()
    assert frozen.hear()["ended"] == "completed"
    check_end(story)


# Deciding -------------------------------------------------------------------------------------


@pytest.mark.spec("S121")
@pytest.mark.parametrize(
    ("words", "outcomes"),
    [(("approve", "deny"), {"first", "AlreadyDecided"}), (("approve", "approve"), {"first", "again"})],
    ids=["approve-deny", "approve-approve"],
)
def test_two_processes_decide_at_once(words: tuple[str, str], outcomes: set[str], child: Begin, tmp_path: Path) -> None:
    """The first decision in the log stands; then both try to resume, and the call runs once, or never when denied."""
    given = orders(tmp_path, "gated external")
    story = outside(given)
    deciders = [child(Orders("race", str(tmp_path), "gated external")) for _ in words]
    for decider in deciders:
        decider.hear()
    for number in range(RACES):
        story.id = f"race-{number}"
        assert story.step() == "awaiting_approval"
        pairs = list(zip(deciders, words, strict=True))
        for decider, word in pairs if number % 2 else pairs[::-1]:
            decider.tell(f"{word} {story.id}")
        said = [decider.hear() for decider in deciders]
        assert {one["decided"] for one in said} == outcomes
        assert {one["then"] for one in said} <= {"completed", "SessionBusy"}
        check_race(story, words[[one["decided"] for one in said].index("first")])
    for request in story.requests:
        assert_sendable(request)


def check_race(story: Story, won: str) -> None:
    assert story.step() == "completed"
    session = story.session()
    (key,) = session.refresh().calls
    runs = [run for run in story.world.ledger.runs() if run.key == idempotency_key(story.id, key)]
    assert len(runs) == (won == "approve")
    result = "sent 0" if won == "approve" else "A person decided that this call must not run."
    assert texts(session) == [("User", PROMPT), ("Assistant", "On it."), ("ToolResult", result), ("Assistant", DONE)]
    assert (session.findings(), session.info().marks) == ([], {})


class Stop(BaseException):
    """The runner ends here."""


def test_a_settlement_that_meets_an_answer_is_taken_up(tmp_path: Path) -> None:
    """A person settles a call just as the answer of a run that went past it is recorded: nothing of it stays open."""

    def stop_before_the_handler(when: str, question: Ask[object]) -> None:
        if when == "before" and isinstance(question, Start) and isinstance(question.job, ToolJob):
            raise Stop

    def settle_before_the_answer(when: str, question: Ask[object]) -> None:
        if when == "before" and isinstance(question, Append) and any(DONE.encode() in one.body for one in question.drafts):
            story.session().settle("c0", "completed", "it was sent")

    story = outside(orders(tmp_path, "external"))
    with pytest.raises(Stop):
        story.step(stop_before_the_handler)
    agent, _ = story.agent(story.session(), settle_before_the_answer)
    assert carried(agent, "Never mind.").status == "completed"
    assert texts(story.session())[2:] == [("ToolResult", "it was sent"), ("User", "Never mind."), ("Assistant", DONE)]
    assert story.step() == "completed"
    assert story.session().info().marks == {}


# Talking to a run that is on ------------------------------------------------------------------


def test_a_steer_reaches_the_next_request_of_the_run(child: Begin, tmp_path: Path) -> None:
    """Written by another process while a tool runs, it stands behind the results."""
    given = orders(tmp_path, "external", "send")
    runner = child(given)
    assert runner.hear() == {"at": "send"}
    outside(given).session().steer("Be brief.")
    runner.tell("go on")
    ended = runner.hear()
    assert ended["ended"] == "completed"
    assert ended["requests"] == [
        [["User", PROMPT]],
        [["User", PROMPT], ["Assistant", "On it."], ["ToolResult", "sent 0"], ["User", "Be brief."]],
    ]


@pytest.mark.parametrize(
    ("scenario", "before"),
    [
        ("words", [["User", PROMPT], ["Assistant", DONE]]),
        ("read", [["User", PROMPT], ["Assistant", "On it."], ["ToolResult", "saw 0"]]),
    ],
)
def test_a_message_written_while_the_model_answers_is_not_taken_for_answered(
    scenario: str, before: list[list[str]], child: Begin, tmp_path: Path
) -> None:
    """The answer did not see it: it stands behind that answer and its results, and the run goes on."""
    given = orders(tmp_path, scenario, "model")
    runner = child(given)
    assert runner.hear() == {"at": "model"}
    outside(given).session().add(User.of("Wait."))
    runner.tell("go on")
    ended = runner.hear()
    assert ended["ended"] == "completed"
    assert ended["requests"] == [[["User", PROMPT]], [*before, ["User", "Wait."]]]
    assert texts(outside(given).session())[-2:] == [("User", "Wait."), ("Assistant", DONE)]


# Interrupting a run that is on ----------------------------------------------------------------

STOPPED = "This call was not run: stopped by ann (enough)."


def interrupted(given: Orders, child: Begin) -> Story:
    """A run that another process has stopped at its barrier."""
    runner = child(given)
    assert runner.hear() == {"at": given.barrier}
    story = outside(given)
    story.session().interrupt("enough", by="ann")
    assert runner.hear()["ended"] == "interrupted"
    assert runner.wait() == 0
    return story


def results(session: Session) -> list[str]:
    return [message.text for message, _ in session.replay() if isinstance(message, ToolResult)]


@pytest.mark.spec("S41", "S156")
def test_an_interrupted_run_keeps_what_finished_and_resumes_the_rest(child: Begin, tmp_path: Path) -> None:
    """Of three calls one had finished, one was told to stop and did, one never started: only that one runs now."""
    given = orders(tmp_path, "one at a time", "look", hang=True)
    story = interrupted(given, child)
    assert results(story.session()) == ["sent 0", "saw 1"]
    ran = given.ledger.runs()
    assert [run.tool for run in ran] == ["send", "look"]
    story.finish()
    assert [run.tool for run in given.ledger.runs()[len(ran) :]] == ["save"]
    check_end(story)


@pytest.mark.spec("S41", "S155", "A12")
def test_a_new_prompt_after_an_interrupt_answers_what_was_left(child: Begin, tmp_path: Path) -> None:
    """The model is told who stopped the call, and it never runs."""
    given = orders(tmp_path, "one at a time", "look", hang=True)
    story = interrupted(given, child)
    agent, model = story.agent(story.session())
    assert carried(agent, "Something else.").status == "completed"
    assert results(story.session()) == ["sent 0", "saw 1", STOPPED]
    assert [one.text for one in model.requests[0].messages[-2:]] == [STOPPED, "Something else."]
    assert [run.tool for run in given.ledger.runs()] == ["send", "look"]
    assert_sendable(model.requests[0])


def test_an_interrupt_ends_a_model_call_at_once(child: Begin, tmp_path: Path) -> None:
    """Nothing of the answer counts, and the prompt waits for `resume`."""
    given = orders(tmp_path, "three", "model", hang=True)
    story = interrupted(given, child)
    assert texts(story.session()) == [("User", PROMPT)]
    story.finish()
    check_end(story)


def test_a_handler_that_does_not_stop_is_left_with_an_unknown_outcome(child: Begin, tmp_path: Path) -> None:
    """After the grace the run ends without it; what it did, a person must find out."""
    given = orders(tmp_path, "external", "send", grace=0.1)
    story = interrupted(given, child)
    assert [unknown.call.name for unknown in story.session().unknown_outcomes()] == ["send"]
    assert story.step() == "unknown_outcome"
    story.take_up("unknown_outcome")
    story.finish()
    check_end(story)
