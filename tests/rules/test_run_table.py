"""What a run does with what it finds, by what the log knows: the table of ARCHITECTURE.md, row by row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from suture.errors import AwaitingApproval, Overloaded
from suture.loop.retries import ONCE
from suture.messages import Assistant, Text, ToolCall, ToolResult
from suture.tools import Tool, tool
from tests.rules.desk import Desk
from tests.rules.logs import Log, at, call, shape

Write = Callable[[Log], object]


def act(n: int = 0) -> str:
    """Act."""
    return f"did {n}"


def fail() -> str:
    """Fail."""
    raise RuntimeError("no network")


def found_out(_call: ToolCall, _ctx: object) -> ToolResult:
    return ToolResult.of("", "it was done")


TOOLS: dict[str, Tool] = {
    made.name: made
    for made in (
        tool(name="act")(act),
        tool(name="look", effect="read")(act),
        tool(name="set", effect="idempotent")(act),
        tool(name="pay", needs_approval=True)(act),
        tool(name="find", reconcile=found_out)(act),
        tool(name="lost", reconcile=lambda _call, _ctx: None)(act),
        tool(name="fail")(fail),
        tool(name="doubt", needs_approval=lambda _arguments: 1 / 0)(act),
    )
}


def open_call(name: str, *then: Write) -> Write:
    """A log whose run was cut off with one call of that tool, and what else was written."""

    def write(log: Log) -> None:
        log.begun()
        log.user()
        log.answer("", call("c1", name))
        for step in then:
            step(log)

    return write


def started(effect: str) -> Write:
    return lambda log: log.started("3:0", effect)  # type: ignore[arg-type]


def asked(log: Log) -> None:
    log.asked("3:0", call("c1", "pay"))


def asked_until(seconds: float) -> Write:
    return lambda log: log.asked("3:0", call("c1", "pay"), expires=at(seconds))


def decided(approved: bool, seconds: float = 0) -> Write:
    return lambda log: log.decided(4, "3:0", call("c1", "pay"), approved, "too much", at(seconds))


interrupted: Write = lambda log: log.interrupt("typo")  # noqa: E731
ended: Write = lambda log: log.ended()  # noqa: E731
out_of_steps: Write = lambda log: log.ended("max_steps")  # noqa: E731
steered: Write = lambda log: log.steer("and quick")  # noqa: E731


@dataclass
class Does:
    """What a run does: how it ends, what it starts, and the last request it makes of the model (None: makes none)."""

    status: str
    started: list[str] = field(default_factory=list)
    request: list[str] | None = None


WAITS = "refused"
RAN = ["u:go", "a:[c1]", "t(c1):did 0"]
PROMPT = "u:new"

TABLE = [
    (
        "never started, its runner died",
        open_call("act"),
        Does("completed", ["3:0#1"], [*RAN, PROMPT]),
        Does("completed", ["3:0#1"], RAN),
    ),
    (
        "never started, the step limit",
        open_call("act", out_of_steps),
        Does("completed", ["3:0#1"], [*RAN, PROMPT]),
        Does("completed", ["3:0#1"], RAN),
    ),
    (
        "never started, a person interrupted",
        open_call("act", interrupted, ended),
        Does("completed", [], ["u:go", "a:[c1]", "t(c1)!not_run", PROMPT]),
        Does("completed", ["3:0#1"], RAN),
    ),
    (
        "never started, interrupted, its runner died",
        open_call("act", interrupted),
        Does("completed", [], ["u:go", "a:[c1]", "t(c1)!not_run", PROMPT]),
        Does("completed", ["3:0#1"], RAN),
    ),
    ("never started, and parks on the way", open_call("pay"), Does(WAITS), Does("awaiting_approval")),
    ("parked, not decided", open_call("pay", asked), Does(WAITS), Does("awaiting_approval")),
    ("parked, approved", open_call("pay", asked, decided(True)), Does(WAITS), Does("completed", ["3:0#1"], RAN)),
    (
        "parked, denied",
        open_call("pay", asked, decided(False)),
        Does(WAITS),
        Does("completed", [], ["u:go", "a:[c1]", "t(c1)!denied"]),
    ),
    ("parked, its request not over yet", open_call("pay", asked_until(0)), Does(WAITS), Does("awaiting_approval")),
    (
        "parked, its request over",
        open_call("pay", asked_until(-1)),
        Does("completed", [], ["u:go", "a:[c1]", "t(c1)!not_run", PROMPT]),
        Does("completed", [], ["u:go", "a:[c1]", "t(c1)!not_run"]),
    ),
    (
        "approved in time, its request over since",
        open_call("pay", asked_until(-1), decided(True, -2)),
        Does(WAITS),
        Does("completed", ["3:0#1"], RAN),
    ),
    (
        "approved when its request was over",
        open_call("pay", asked_until(-1), decided(True)),
        Does("completed", [], ["u:go", "a:[c1]", "t(c1)!not_run", PROMPT]),
        Does("completed", [], ["u:go", "a:[c1]", "t(c1)!not_run"]),
    ),
    (
        "started, read",
        open_call("look", started("read")),
        Does("completed", ["3:0#2"], [*RAN, PROMPT]),
        Does("completed", ["3:0#2"], RAN),
    ),
    (
        "started, idempotent",
        open_call("set", started("idempotent")),
        Does("completed", ["3:0#2"], [*RAN, PROMPT]),
        Does("completed", ["3:0#2"], RAN),
    ),
    (
        "started, can be reconciled",
        open_call("find", started("external")),
        Does("completed", ["3:0?"], ["u:go", "a:[c1]", "t(c1):it was done", PROMPT]),
        Does("completed", ["3:0?"], ["u:go", "a:[c1]", "t(c1):it was done"]),
    ),
    (
        "started, reconcile cannot tell",
        open_call("lost", started("external")),
        Does("completed", ["3:0?"], ["u:go", "a:[c1]", "t(c1)!unknown", PROMPT]),
        Does("unknown_outcome", ["3:0?"]),
    ),
    (
        "started, external",
        open_call("act", started("external")),
        Does("completed", [], ["u:go", "a:[c1]", "t(c1)!unknown", PROMPT]),
        Does("unknown_outcome"),
    ),
    (
        "started, external, released",
        open_call("act", started("external"), lambda log: log.settled("3:0", "released")),
        Does("completed", ["3:0#2"], [*RAN, PROMPT]),
        Does("completed", ["3:0#2"], RAN),
    ),
    (
        "started, external, settled",
        open_call("act", started("external"), lambda log: log.settled("3:0", "completed", "done by hand")),
        Does("completed", [], ["u:go", "a:[c1]", "t(c1):done by hand", PROMPT]),
        Does("completed", [], ["u:go", "a:[c1]", "t(c1):done by hand"]),
    ),
    (
        "approved and started, external",
        open_call("pay", asked, decided(True), started("external")),
        Does("completed", [], ["u:go", "a:[c1]", "t(c1)!unknown", PROMPT]),
        Does("unknown_outcome"),
    ),
    (
        "answered, not told to the model",
        open_call("act", lambda log: log.result("c1", "ok", key="3:0")),
        Does("completed", [], ["u:go", "a:[c1]", "t(c1):ok", PROMPT]),
        Does("completed", [], ["u:go", "a:[c1]", "t(c1):ok"]),
    ),
    (
        "a steer waits behind an open call",
        open_call("act", steered),
        Does("completed", ["3:0#1"], [*RAN, "u:and quick", PROMPT]),
        Does("completed", ["3:0#1"], [*RAN, "u:and quick"]),
    ),
    (
        "nothing open",
        lambda log: (log.user(), log.answer("hi")),
        Does("completed", [], ["u:go", "a:hi", PROMPT]),
        Does("completed"),
    ),
    (
        "nothing open, a steer waits",
        lambda log: (log.user(), log.answer("hi"), log.steer("more")),
        Does("completed", [], ["u:go", "a:hi", "u:more", PROMPT]),
        Does("completed", [], ["u:go", "a:hi", "u:more"]),
    ),
    (
        "a prompt without an answer",
        lambda log: (log.begun(), log.user()),
        Does("completed", [], ["u:go", PROMPT]),
        Does("completed", [], ["u:go"]),
    ),
    ("nothing at all", lambda _: None, Does("completed", [], [PROMPT]), Does("completed")),
    (
        "an unknown tool",
        open_call("fly"),
        Does(
            "completed",
            [],
            [
                "u:go",
                "a:[c1]",
                "t(c1):unknown tool 'fly'; expected act, look, set, pay, find, lost, fail, doubt. The call was not run.",
                PROMPT,
            ],
        ),
        Does(
            "completed",
            [],
            [
                "u:go",
                "a:[c1]",
                "t(c1):unknown tool 'fly'; expected act, look, set, pay, find, lost, fail, doubt. The call was not run.",
            ],
        ),
    ),
    (
        "a call of somebody else's, at the end",
        lambda log: (log.user(), log.foreign(call("c1"))),
        Does("completed", ["2:0#1"], [*RAN, PROMPT]),
        Does("completed", ["2:0#1"], RAN),
    ),
    (
        "a call of somebody else's, passed by a user",
        lambda log: (log.user(), log.foreign(call("c1")), log.user("hm")),
        Does("completed", [], ["u:go", "a:[c1]", "t(c1)!unknown", "u:hm", PROMPT]),
        Does("completed", [], ["u:go", "a:[c1]", "t(c1)!unknown", "u:hm"]),
    ),
]


def carry(write: Write, prompt: str | None) -> tuple[Does, Desk]:
    log = Log()
    write(log)
    before = len(log.entries)
    desk = Desk(log, TOOLS, [Assistant.of("done")])
    try:
        result = desk.run(prompt)
        status: str = result.status
    except AwaitingApproval as refused:
        status = WAITS if refused.calls == ("3:0",) else f"refused for {refused.calls}"
    if status == WAITS:
        assert not any(b'"new"' in entry.body for entry in log.entries[before:]), "the prompt was written"
    return Does(status, desk.started, desk.requests[-1] if desk.requests else None), desk


@pytest.mark.spec("S46", "S47", "S139")
@pytest.mark.parametrize(("found", "write", "does", "_resumed"), TABLE, ids=[row[0] for row in TABLE])
def test_a_new_prompt(found: str, write: Write, does: Does, _resumed: Does) -> None:
    """`run(prompt)` settles what is open as the table says, then hands over the prompt, or refuses it unwritten."""
    assert carry(write, "new")[0] == does, found


@pytest.mark.spec("S140", "S144")
@pytest.mark.parametrize(("found", "write", "_ran", "does"), TABLE, ids=[row[0] for row in TABLE])
def test_no_prompt(found: str, write: Write, _ran: Does, does: Does) -> None:
    """`resume()` goes on with what was begun as the table says."""
    assert carry(write, None)[0] == does, found


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(open_call("pay", asked, lambda log: log.ended("awaiting_approval")), id="parked"),
        pytest.param(lambda log: (log.user(), log.answer("hi")), id="answered"),
        pytest.param(lambda _: None, id="empty"),
    ],
)
def test_a_resume_with_nothing_to_do_writes_nothing(write: Write) -> None:
    """Polling `resume` does not grow the log."""
    log = Log()
    write(log)
    before = list(log.entries)
    Desk(log, TOOLS).run()
    assert log.entries == before


def test_an_answer_of_the_last_run_is_given_again() -> None:
    """A resume with nothing to do hands out the last answer."""
    log = Log()
    log.user()
    log.answer("hi")
    result = Desk(log, TOOLS).run()
    assert result.message is not None
    assert result.message.text == "hi"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("fail", "The tool 'fail' failed: RuntimeError: no network. Check what it did before calling it again."),
        ("doubt", "Whether this call needs approval could not be found out (ZeroDivisionError), so it was not run."),
    ],
)
@pytest.mark.spec("S56", "S154")
def test_a_failing_tool_is_a_result(name: str, text: str) -> None:
    """What a handler or a predicate raises is read by the model; the run goes on."""
    log = Log()
    log.user()
    log.answer("", call("c1", name))
    desk = Desk(log, TOOLS, [Assistant.of("I see")])
    assert desk.run().status == "completed"
    assert desk.requests[-1][-1] == f"t(c1):{text}"


@pytest.mark.spec("S145")
def test_free_siblings_run_while_a_call_waits() -> None:
    """A gated call parks; its siblings run and keep their results; the run then waits."""
    log = Log()
    log.user()
    log.answer("", call("c1", "pay"), call("c2"))
    desk = Desk(log, TOOLS)
    result = desk.run()
    assert (result.status, desk.started) == ("awaiting_approval", ["2:1#1"])
    assert [(one.key, one.why) for one in result.pending] == [("2:0", "approval")]
    assert shape(log.state.request())[-2:] == ["t(c1)!not_run", "t(c2):did 0"]


def test_a_decision_while_siblings_run_is_taken_up_in_the_same_run() -> None:
    """Somebody approves while another call runs: the approved one runs next, without a resume."""
    log = Log()
    log.user()
    log.answer("", call("c1", "pay"), call("c2"))
    approve: Write = lambda log: log.decided(4, "2:0", call("c1", "pay"), True)  # noqa: E731
    desk = Desk(log, TOOLS, [Assistant.of("done")], while_waiting=[approve])
    assert desk.run().status == "completed"
    assert desk.started == ["2:1#1", "2:0#1"]


@pytest.mark.spec("S126")
def test_what_arrives_during_the_last_answer_extends_the_run() -> None:
    """A steer that lands while the model gives its final answer is answered by the same run."""
    log = Log()
    log.user()
    late: Write = lambda log: log.steer("one more thing")  # noqa: E731
    desk = Desk(log, TOOLS, [Assistant.of("first"), Assistant.of("second")], while_waiting=[late])
    result = desk.run()
    assert result.message is not None
    assert result.message.text == "second"
    assert desk.requests[-1] == ["u:go", "a:first", "u:one more thing"]


def test_a_user_message_written_while_the_model_answers_is_not_taken_for_answered() -> None:
    """It stands behind the answer, and the run goes on to answer it."""
    log = Log()
    log.user()
    spoken: Write = lambda log: log.user("wait")  # noqa: E731
    answers: list[Assistant | Overloaded] = [Assistant((call("c1"),)), Assistant.of("ok")]
    desk = Desk(log, TOOLS, [*answers], while_waiting=[spoken])
    desk.run()
    assert desk.requests[-1] == ["u:go", "a:[c1]", "t(c1):did 0", "u:wait"]


def test_an_interrupt_stops_the_model_and_stores_nothing_of_its_turn() -> None:
    """Whoever interrupts while the model answers: no answer is stored, and resume asks again."""
    log = Log()
    log.user()
    stop: Write = lambda log: log.interrupt("enough")  # noqa: E731
    desk = Desk(log, TOOLS, while_waiting=[stop])
    assert desk.run().status == "interrupted"
    assert shape(log.state.messages()) == ["u:go"]
    again = Desk(log, TOOLS, [Assistant.of("here")])
    assert again.run().status == "completed"


@pytest.mark.spec("S49", "S50")
def test_the_step_limit_leaves_calls_open_and_a_new_prompt_renews_it() -> None:
    """At the limit calls are not executed; a text answer at the limit completes; a new prompt has its own budget."""
    log = Log()
    log.user()
    turns = [Assistant((call(id),)) for id in ("c1", "c2")]
    desk = Desk(log, TOOLS, list(turns), max_steps=2)
    result = desk.run()
    assert (result.status, result.steps, desk.started) == ("max_steps", 2, ["3:0#1"])
    resumed = Desk(log, TOOLS, [], max_steps=2)
    assert (resumed.run().status, resumed.started) == ("max_steps", ["6:0#1"])
    prompted = Desk(log, TOOLS, [Assistant.of("done")], max_steps=2)
    assert prompted.run("go on").status == "completed"


@pytest.mark.spec("S151")
def test_what_the_hook_blocks_is_answered_and_the_rest_runs() -> None:
    """The hook is asked about each call that could run, in order, before any of them starts."""
    asked: list[str] = []

    def hook(call: ToolCall, _ctx: object) -> str | None:
        asked.append(call.id)
        return "not today" if call.id == "c1" else None

    log = Log()
    desk = Desk(
        log, TOOLS, [Assistant((call("c1"), call("c2"), call("c3", "nobody"))), Assistant.of("done")], before_tool=hook
    )
    assert desk.run("go").status == "completed"
    assert (asked, desk.started) == (["c1", "c2"], ["3:1#1"])
    texts = [message.text for message in log.state.messages() if isinstance(message, ToolResult)]
    assert "The call was not run: not today" in texts


def test_a_stop_while_the_hook_is_asked_starts_nothing() -> None:
    """The call is left as it was, and the next run asks again."""
    log = Log()
    desk = Desk(log, TOOLS, [Assistant((call("c1"),))], before_tool=lambda _call, _ctx: None)
    desk.while_waiting = [None, lambda log: log.interrupt("enough")]
    assert (desk.run("go").status, desk.started) == ("interrupted", [])
    again = Desk(log, TOOLS, [Assistant.of("done")])
    assert (again.run().status, again.started) == ("completed", ["3:0#1"])


def test_a_start_that_meets_a_stop_is_taken_back() -> None:
    """The stop came to light with the append of the start: the handler never ran, and the log says so."""
    log = Log()
    desk = Desk(log, TOOLS, [Assistant((call("c1"),))])
    desk.stop_at_start = True
    assert (desk.run("go").status, desk.started) == ("interrupted", [])
    assert not log.state.unknown_outcomes()
    again = Desk(log, TOOLS, [Assistant.of("done")])
    assert (again.run().status, again.started) == ("completed", ["3:0#2"])


@pytest.mark.spec("S148")
def test_a_turn_that_was_cut_off_runs_nothing() -> None:
    """A reply that ended at the output limit may hold half a call: its calls are answered as not run."""
    log = Log()
    log.user()
    cut = Assistant((Text("let me"), call("c1")), stop_reason="length")
    desk = Desk(log, TOOLS, [cut, Assistant.of("again")])
    assert desk.run().status == "completed"
    assert not desk.started
    assert desk.requests[-1][-1] == "t(c1)!not_run"


def test_a_model_error_ends_the_run_and_keeps_the_prompt() -> None:
    """The status is "error"; nothing of the turn is stored; resume asks again."""
    log = Log()
    desk = Desk(log, TOOLS, [Overloaded("busy")], retries=ONCE)
    result = desk.run("hello")
    assert (result.status, str(result.error)) == ("error", "busy")
    again = Desk(log, TOOLS, [Assistant.of("hi")])
    assert (again.run().status, again.requests) == ("completed", [["u:hello"]])


def test_the_start_is_written_directly_before_the_handler() -> None:
    """Nothing stands between a call's `tool_started` and its result, so a log without one knows it never ran."""
    log = Log()
    log.user()
    log.answer("", call("c1"), call("c2", "look"))
    Desk(log, TOOLS, [Assistant.of("done")]).run()
    kinds = [entry.kind for entry in log.entries]
    assert kinds.count("tool_started") == 2
    opened = [mark for entry in log.entries for mark in entry.opens if mark.startswith("started:")]
    assert opened == ["started:2:0"], "only a call that must not be repeated is marked"
    closed = {mark for entry in log.entries for mark in entry.closes}
    assert {mark for entry in log.entries for mark in entry.opens} <= closed, "every mark was closed"


def test_a_prompt_is_recorded_though_the_run_is_stopped_before_its_turn() -> None:
    """Somebody interrupts while an open call is settled: what was said is not lost, and resume answers it."""
    log = Log()
    log.begun()
    log.user()
    log.answer("", call("c1", "look"))
    stop: Write = lambda log: log.interrupt("wait")  # noqa: E731
    desk = Desk(log, TOOLS, while_waiting=[stop])
    assert desk.run("new").status == "interrupted"
    assert shape(log.state.messages())[-1] == "u:new"
    again = Desk(log, TOOLS, [Assistant.of("both")])
    assert again.run().status == "completed"
    assert again.requests[-1][-1] == "u:new"


def test_a_call_that_others_answered_meanwhile_is_not_started() -> None:
    """With one slot the second call waits; somebody answers it by hand; its handler does not run."""
    log = Log()
    log.user()
    log.answer("", call("c1", "look"), call("c2"))
    by_hand: Write = lambda log: log.result("c2", "done by hand")  # noqa: E731
    desk = Desk(log, TOOLS, [Assistant.of("done")], while_waiting=[by_hand], max_concurrency=1)
    assert desk.run().status == "completed"
    assert desk.started == ["2:0#1"]
    assert desk.requests[-1][-1] == "t(c2):done by hand"
