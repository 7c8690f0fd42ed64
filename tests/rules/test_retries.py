"""When the model is asked again, how long is waited, and what no answer may be."""

from __future__ import annotations

import pytest

from suture.entries import Retry, RunFinished, read
from suture.errors import (
    AuthenticationError,
    ConfigurationError,
    ContentRefused,
    ContextOverflow,
    IncompleteStream,
    InvalidAnswer,
    InvalidRequest,
    ModelError,
    Overloaded,
    RateLimited,
    Timeout,
    TransportError,
)
from suture.loop.retries import ONCE, RetryPolicy, is_empty
from suture.messages import Assistant, Image, Reasoning, Text, ToolCall, Usage
from suture.tools import Tool, tool
from tests.rules.desk import Desk
from tests.rules.logs import Log, call

TRANSIENT = [RateLimited, Overloaded, Timeout, TransportError, IncompleteStream, InvalidAnswer]
LASTING = [InvalidRequest, AuthenticationError, ContentRefused, ContextOverflow, ModelError]


@tool(effect="read")
def act(n: int = 0) -> str:
    """Act."""
    return f"acted {n}"


TOOLS: dict[str, Tool] = {"act": act}
DONE = Assistant.of("done")


def bodies(log: Log, kind: type) -> list[object]:
    return [body for entry in log.entries if isinstance(body := read(entry), kind)]


@pytest.mark.spec("S159")
@pytest.mark.parametrize(("kind", "again"), [*((one, True) for one in TRANSIENT), *((one, False) for one in LASTING)])
def test_only_what_may_pass_by_itself_is_tried_again(kind: type[ModelError], again: bool) -> None:
    """A refusal brings the same refusal; whatever may be gone in a moment is tried until the attempts are used up."""
    policy = RetryPolicy(attempts=3, base=1.0)
    assert [policy.delay(n, kind("x"), 0.0) is not None for n in (1, 2, 3)] == [again, again, False]


WAITS: list[tuple[RetryPolicy, int, float | None, float, float]] = [
    (RetryPolicy(9), 1, None, 0.0, 0.5),
    (RetryPolicy(9), 1, None, 0.5, 0.75),
    (RetryPolicy(9), 3, None, 0.0, 2.0),
    (RetryPolicy(99), 8, None, 0.999, 30.0),
    (RetryPolicy(5000), 4000, None, 0.999, 30.0),
    (RetryPolicy(9), 1, 7.0, 0.0, 7.0),
    (RetryPolicy(9), 1, 7.0, 0.9, 7.0),
    (RetryPolicy(9), 1, 0.0, 0.9, 0.0),
    (RetryPolicy(9), 1, 3600.0, 0.0, 30.0),
    (RetryPolicy(9, base=0.0), 3, None, 0.9, 0.0),
]


@pytest.mark.spec("S159")
@pytest.mark.parametrize(("policy", "attempt", "hint", "chance", "wait"), WAITS)
def test_the_wait_grows_with_jitter_and_honours_the_hint(
    policy: RetryPolicy, attempt: int, hint: float | None, chance: float, wait: float
) -> None:
    """Doubled each time, cut at random by up to a half, never longer than the limit; a hint counts as it is."""
    assert policy.delay(attempt, RateLimited("x", retry_after=hint), chance) == pytest.approx(wait, rel=0.01)


@pytest.mark.parametrize("hint", ["3", True, float("nan"), float("inf"), [], {}])
def test_a_hint_that_is_no_time_is_none(hint: object) -> None:
    """A model of the host's own may say anything."""
    error = RateLimited("x")
    error.retry_after = hint  # type: ignore[assignment]
    assert RetryPolicy(9).delay(1, error, 0.0) == 0.5


@pytest.mark.parametrize(
    "fields",
    [
        {"attempts": float("nan")},
        {"attempts": float("inf")},
        {"attempts": 1.5},
        {"attempts": 0},
        {"base": -1.0},
        {"base": 5.0, "max_delay": 1.0},
        {"max_delay": float("inf")},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(fields: dict[str, float]) -> None:
    """The message says what a policy has."""
    with pytest.raises(ConfigurationError, match=r"attempts of at least 1 and 0 <= base <= max_delay"):
        RetryPolicy(**fields)  # type: ignore[arg-type]


@pytest.mark.spec("S159")
def test_each_failed_attempt_is_an_entry_and_an_event() -> None:
    """The request is the same each time, and only the end of the attempt that counts is an end."""
    log = Log()
    desk = Desk(log, TOOLS, [Overloaded("busy"), RateLimited("slow", retry_after=4.0), DONE])
    result = desk.run("hi")
    assert (result.status, result.message and result.message.text) == ("completed", "done")
    assert bodies(log, Retry) == [Retry(1, "Overloaded: busy", 0.75), Retry(2, "RateLimited: slow", 4.0)]
    assert desk.events == ["message", "retry", "retry", "message", "finished"]
    assert desk.requests == [["u:hi"]] * 3


def test_the_last_failure_is_the_runs() -> None:
    """When the attempts are used up the run ends with the error of the last one, and nothing of any turn is stored."""
    log = Log()
    desk = Desk(log, TOOLS, [Overloaded("one"), Timeout("two")], retries=RetryPolicy(attempts=2))
    result = desk.run("hi")
    assert (result.status, str(result.error)) == ("error", "two")
    assert [entry.kind for entry in log.entries] == ["run_started", "message", "retry", "run_finished"]
    assert Desk(log, TOOLS, [DONE]).run().status == "completed"


def test_an_interrupt_cuts_the_wait() -> None:
    """The run ends at once; the failed attempt stands in the log; resume asks anew."""
    log = Log()
    desk = Desk(log, TOOLS, [Overloaded("busy")])
    desk.while_waiting = [None, lambda log: log.interrupt("enough")]
    assert desk.run("hi").status == "interrupted"
    assert len(bodies(log, Retry)) == 1
    assert Desk(log, TOOLS, [DONE]).run().status == "completed"


FAULTS: list[tuple[str, list[ToolCall], str]] = [
    ("no id", [ToolCall("", "act", {})], "call 1 ('act') has no id"),
    ("a blank id", [ToolCall("  ", "act", {})], "call 1 ('act') has no id"),
    ("no name", [call("c2"), ToolCall("c3", "", {})], "call 2 names no tool"),
    ("an id of before", [ToolCall("c1", "act", {})], "call 1 ('act') has the id 'c1', which another call had before"),
    ("one id twice", [call("c2"), call("c2")], "call 2 ('act') has the id 'c2', which another call had before"),
    ("an endless id", [ToolCall("x" * 500, "act", {})] * 2, f"has the id {'x' * 60!r}, which"),
]


@pytest.mark.spec("S147")
@pytest.mark.parametrize(("calls", "why"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_a_turn_whose_calls_cannot_be_told_apart_is_rejected_whole(calls: list[ToolCall], why: str) -> None:
    """Nothing of it is stored and no sibling runs; the next attempt sees the same history; its tokens are counted."""
    log = Log()
    first = Assistant((call("c1"),), usage=Usage(1, 1))
    faulty = Assistant((Text("let me"), *calls), usage=Usage(10, 5))
    good = Assistant((Text("done"),), usage=Usage(2, 2))
    desk = Desk(log, TOOLS, [first, faulty, good])
    result = desk.run("hi")
    assert (result.status, result.usage, result.steps) == ("completed", Usage(13, 8), 2)
    assert desk.started == ["3:0#1"]
    assert desk.requests[-1] == desk.requests[-2]
    (retry,) = bodies(log, Retry)
    assert isinstance(retry, Retry)
    assert why in retry.error
    assert retry.usage == Usage(10, 5)
    assert log.state.usage == Usage(13, 8)


@pytest.mark.spec("S147", "S161")
def test_a_model_that_gives_nothing_else_ends_the_run() -> None:
    """The error says what is wrong with its turns; what the last of them cost is in the log, once."""
    log = Log()
    faulty = Assistant((ToolCall("", "act", {}),), usage=Usage(10, 5))
    result = Desk(log, TOOLS, [faulty] * 3).run("hi")
    assert (result.status, type(result.error), result.usage) == ("error", InvalidAnswer, Usage(30, 15))
    assert "call 1 ('act') has no id. None of it was." in str(result.error)
    assert log.state.usage == Usage(30, 15)
    (finished,) = bodies(log, RunFinished)
    assert isinstance(finished, RunFinished)
    assert (finished.usage, finished.unanswered) == (Usage(30, 15), Usage(10, 5))


EMPTY: list[tuple[Assistant, bool]] = [
    (Assistant(), True),
    (Assistant((Text("  \n"),)), True),
    (Assistant((Reasoning("hm"),)), True),
    (Assistant((Text("x"),), stop_reason="tool_use"), True),
    (Assistant((Text("x"),)), False),
    (Assistant((Image(url="u"),)), False),
    (Assistant(stop_reason="refusal"), False),
    (Assistant(stop_reason="length"), False),
    (Assistant((call("c1"),), stop_reason="tool_use"), False),
]


@pytest.mark.parametrize(("message", "empty"), EMPTY)
def test_what_is_an_empty_answer(message: Assistant, empty: bool) -> None:
    """One that ended by itself without a word, or announces calls and makes none."""
    assert is_empty(message) is empty


@pytest.mark.spec("S174")
@pytest.mark.parametrize("policy", [RetryPolicy(), ONCE])
@pytest.mark.parametrize("blank", [Assistant(stop_reason="stop"), Assistant((Text("soon"),), stop_reason="tool_use")])
def test_an_empty_answer_is_asked_for_again_and_accepted_in_the_end(blank: Assistant, policy: RetryPolicy) -> None:
    """It may be a slip; a model that has nothing to say is not an error for ever, and does not spin."""
    log = Log()
    desk = Desk(log, TOOLS, [blank] * policy.attempts, retries=policy)
    assert desk.run("hi").status == "completed"
    assert len(bodies(log, Retry)) == policy.attempts - 1
    assert len(desk.requests) == policy.attempts
    assert Desk(log, TOOLS, [DONE]).run("and?").status == "completed"


def test_a_paused_turn_is_sent_back() -> None:
    """A provider that runs tools itself pauses a long turn; it goes on when it gets it back, within the step limit."""
    paused = Assistant((Text("searching"),), stop_reason="pause")
    log = Log()
    desk = Desk(log, TOOLS, [paused, DONE])
    assert desk.run("hi").status == "completed"
    assert desk.requests == [["u:hi"], ["u:hi", "a:searching"]]
    assert Desk(Log(), TOOLS, [paused] * 2, max_steps=2).run("hi").status == "max_steps"
