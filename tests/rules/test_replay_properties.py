"""Replay of any log: whatever was written, and wherever it is cut, what may be sent is valid."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from suture.entries import Compacted, Fork
from suture.healing import fit
from suture.messages import Assistant, Reasoning, System, Text, ToolCall, ToolResult, User
from suture.replay import State
from tests.judges import FORMATS, assert_valid
from tests.rules.logs import Log, call
from tests.rules.reference import SlowReplay, in_short, waits_of

Step = Callable[[Log], object]

IDS = st.sampled_from(["a", "b", "c", "", "x y", "i" * 45])
TEXTS = st.sampled_from(["ok", "", "  ", "tool was interrupted", "no\ud83d", "ü"])
CALLS = st.lists(IDS.map(lambda id: call(id, n=1)), max_size=3)


def keys(log: Log) -> list[str]:
    return [f"{entry.seq}:{slot}" for entry in log.entries if entry.kind == "message" for slot in range(2)]


def on_some_key(draw: int, act: Callable[[Log, str], object]) -> Step:
    def step(log: Log) -> None:
        known = keys(log) or ["1:0"]
        act(log, known[draw % len(known)])

    return step


PICK = st.integers(0, 30)
KINDS = st.sampled_from(
    ["message", "tool_started", "approval_request", "approval_decision", "settlement", "edit", "removal", "weather"]
)
MARKS = st.sampled_from(["approval", "decided", "started", "settled"])
STEPS: st.SearchStrategy[Step] = st.one_of(
    TEXTS.map(lambda text: lambda log: log.user(text)),
    TEXTS.map(lambda text: lambda log: log.message(System.of(text))),
    st.tuples(TEXTS, CALLS).map(lambda pair: lambda log: log.answer(pair[0], *pair[1])),
    st.tuples(CALLS, st.integers(0, 3)).map(
        lambda pair: lambda log: log.answer("", *pair[0], seen=max(0, len(log.entries) - pair[1]))
    ),
    CALLS.map(lambda calls: lambda log: log.foreign(*calls)),
    st.just(
        lambda log: log.message(
            Assistant((Reasoning("hm", signature="c2ln"), Text("so"), ToolCall("a", "f", None, "{bad", "invalid_json")))
        )
    ),
    st.just(lambda log: log.message(Assistant((Reasoning("unsigned"),)))),
    st.tuples(IDS, TEXTS).map(lambda pair: lambda log: log.result(*pair)),
    st.tuples(IDS, TEXTS).map(lambda pair: lambda log: log.message(ToolResult.of(pair[0], pair[1], error=True))),
    st.tuples(PICK, TEXTS).map(lambda pair: on_some_key(pair[0], lambda log, key: log.result("a", pair[1], key=key))),
    PICK.map(lambda n: on_some_key(n, lambda log, key: log.started(key, ("external", "idempotent")[n % 2]))),
    PICK.map(lambda n: on_some_key(n, lambda log, key: log.asked(key, call("a", n=1)))),
    PICK.map(lambda n: on_some_key(n, lambda log, key: log.decided(n, key, call("a", n=1), n % 2 == 0))),
    PICK.map(lambda n: on_some_key(n, lambda log, key: log.settled(key, ("completed", "failed", "released")[n % 3]))),
    st.tuples(PICK, TEXTS, CALLS).map(
        lambda drawn: (
            lambda log: log.edit(
                drawn[0] % (len(log.entries) + 2), parts=(*((Text(drawn[1]),) if drawn[1] else ()), *drawn[2])
            )
        )
    ),
    st.tuples(PICK, TEXTS).map(lambda pair: lambda log: log.edit(pair[0] % (len(log.entries) + 2), parts=(Text(pair[1]),))),
    st.tuples(PICK, PICK).map(lambda pair: lambda log: log.removal(*(n % (len(log.entries) + 2) for n in pair))),
    st.just(lambda log: log.reset()),
    st.just(lambda log: log.steer()),
    st.just(lambda log: log.interrupt()),
    st.just(lambda log: log.begun()),
    st.sampled_from(["completed", "max_steps", "interrupted"]).map(lambda status: lambda log: log.ended(status)),
    st.binary(max_size=8).map(lambda body: lambda log: log.raw("message", body)),
    st.just(lambda log: log.raw("weather", b"{}")),
    st.just(lambda log: log.erased()),
    st.just(lambda log: log.lost()),
    PICK.map(lambda n: on_some_key(n, lambda log, key: log.correction(key, call("abc"[n % 3], n=2)))),
    st.tuples(PICK, KINDS).map(
        lambda pair: on_some_key(pair[0], lambda log, key: log.raw(pair[1], f'{{"key":"{key}"}}'.encode()))
    ),
    st.tuples(PICK, KINDS, MARKS).map(
        lambda drawn: on_some_key(drawn[0], lambda log, key: log.erased(drawn[1], (f"{drawn[2]}:{key}",)))
    ),
    st.tuples(PICK, KINDS, MARKS).map(
        lambda drawn: on_some_key(drawn[0], lambda log, key: log.erased(drawn[1], (), (f"{drawn[2]}:{key}",)))
    ),
)
LOGS = st.lists(STEPS, max_size=14)


def written(steps: list[Step]) -> Log:
    log = Log()
    for step in steps:
        step(log)
    return log


@settings(max_examples=150, deadline=None)
@given(LOGS)
def test_the_request_of_every_prefix_is_valid(steps: list[Step]) -> None:
    """Cut the log anywhere: what may be sent then is valid for both formats, by judges that share no code with us."""
    log = written(steps)
    state = State()
    for entry in log.entries:
        state.fold([entry])
        for format in FORMATS:
            assert_valid(format, fit(state.request(), format).history)


@settings(max_examples=200, deadline=None)
@given(LOGS, st.integers(0, 14))
def test_folding_in_pieces_equals_folding_at_once(steps: list[Step], cut: int) -> None:
    """A state that grew, with its views used on the way, is the state of the whole log."""
    log = written(steps)
    grown = State()
    grown.fold(log.entries[:cut])
    grown.request()
    grown.fold(log.entries[cut:])
    whole = log.state
    assert grown.request() == whole.request()
    assert grown.replay() == whole.replay()
    assert grown.findings == whole.findings
    assert (grown.inbox, grown.run, grown.steps) == (whole.inbox, whole.run, whole.steps)
    assert grown.messages() == whole.messages()
    assert [call.key for call in grown.open_calls()] == [call.key for call in whole.open_calls()]


@settings(max_examples=200, deadline=None)
@given(LOGS)
def test_every_real_result_is_sent_or_reported(steps: list[Step]) -> None:
    """A recorded result stands in the request, or a finding names its words."""
    log = written(steps)
    state = log.state
    sent = [message.text for message in state.request() if isinstance(message, ToolResult)]
    reported = " ".join(finding.sentence for finding in state.findings)
    for message in state.messages():
        if isinstance(message, ToolResult) and message.text.strip():
            assert message.text in sent or message.text in reported


@settings(max_examples=100, deadline=None)
@given(LOGS)
def test_the_beginning_of_a_request_stays(steps: list[Step]) -> None:
    """What was sent before a user's message is the same after more was said, so prompt caches survive."""
    log = written(steps)
    log.user("mark")
    log.answer("seen")
    before = log.state.request()
    log.user("more")
    log.answer("and more")
    assert log.state.request()[: len(before)] == before


@settings(max_examples=150, deadline=None)
@given(LOGS, st.integers(1, 14), st.booleans())
def test_a_fork_anywhere_is_valid_and_has_nothing_open(steps: list[Step], at: int, goes_on: bool) -> None:
    """Fork any log anywhere: nothing is open behind it, a request is valid, and real results before it are sent or reported."""
    log = written(steps)
    del log.entries[at:]
    at = len(log.entries)
    before = log.state
    log.put(Fork("parent", at, ""))
    if goes_on:
        log.user("and now?")
    state = log.state
    assert (state.open_calls(), state.waiting_calls(), state.unknown_outcomes()) == ([], [], [])
    assert (state.unanswered, state.inbox, state.run) == ({}, {}, None)
    assert state.messages()[: len(before.recorded)] == before.messages()
    for format in FORMATS:
        assert_valid(format, fit(state.request(), format).history)


@settings(max_examples=200, deadline=None)
@given(LOGS, LOGS, st.integers(0, 30))
def test_a_slow_replay_says_the_same(before: list[Step], after: list[Step], first: int) -> None:
    """Written from the words of the design, without a line of ours, it comes to the same three views of any log, wherever
    that is summed up or forked.
    """
    log = written(before)
    at = len(log.entries)
    log.put(Fork("parent", at, "") if first == 0 else Compacted("in short", first, log.state.carried_before(first)))
    for step in after:
        step(log)
    state, slow = log.state, SlowReplay(log.entries)
    assert in_short(state.request()) == slow.request()
    assert in_short(message for message, _ in state.replay()) == slow.replay()
    assert state.messages() == slow.messages()
    assert waits_of(state) == slow.waits()


def test_an_empty_log_asks_nothing() -> None:
    """Nothing was said, so there is nothing to send."""
    assert State().request() == ()
    assert User.of("x").parts == (Text("x"),)
