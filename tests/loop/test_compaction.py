"""A conversation's past is summed up: when, where it is cut, what is asked, and what happens when that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import pytest

import suture
from suture.compaction import Compaction, context_tokens, cut_of, tokens_of
from suture.entries import Compacted, read
from suture.errors import CompactionError, ConfigurationError, ContextOverflow, Overloaded
from suture.loop.events import CompactionFailed, CompactionFinished, CompactionStarting, Event
from suture.messages import Assistant, Image, Message, Text, ToolCall, ToolResult, Usage, User
from suture.models.scripted import ScriptedModel, Step
from suture.session import AsyncSession, Session
from suture.stores.memory import MemoryStore
from tests.growth import TIMES, grows
from tests.judges import FORMATS, assert_all_valid

Driver: TypeAlias = Literal["sync", "async"]
both = pytest.mark.parametrize("driver", ["sync", "async"])

LONG = "word " * 400  # 500 tokens
SMALL = Compaction(window=2_000, reserve=500, keep_recent=600)


@suture.tool(effect="read")
def look(what: str) -> str:
    """Look something up."""
    return f"saw {what} " + "x" * 400


@suture.tool(effect="external", needs_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def calling(*calls: tuple[str, str, Mapping[str, object]], **more: object) -> dict[str, object]:
    return {"calls": [{"id": id, "name": name, "arguments": arguments} for id, name, arguments in calls], **more}


def is_summary(request: Any) -> bool:
    return "takes the place of the earlier part" in (request.system or "")


class Ran:
    """A session with an agent; the summaries that were asked for are kept apart from the turns."""

    def __init__(self, script: Sequence[Step], driver: Driver = "sync", **options: Any) -> None:
        self.driver = driver
        self.session: Session = options.pop("session", None) or Session(MemoryStore(), "s")
        self.model = ScriptedModel(list(script))
        self.events: list[Event] = []
        self.watch: Callable[[Event], object] = options.pop("watch", self.events.append)
        self.options = {"tools": (look, pay), "compaction": SMALL, "retries": False, **options}

    def _do(self, verb: str, *given: Any) -> Any:
        if self.driver == "sync":
            agent = suture.Agent(self.model, self.session, **self.options)
            return getattr(agent, verb)(*given, watch=self.watch)

        async def do() -> Any:
            agent = suture.AsyncAgent(self.model, AsyncSession.of(self.session), **self.options)
            return await getattr(agent, verb)(*given, watch=self.watch)

        return asyncio.run(do())

    def run(self, prompt: str = "go on") -> suture.Result:
        result: suture.Result = self._do("run", prompt)
        return result

    def resume(self) -> suture.Result:
        result: suture.Result = self._do("resume")
        return result

    def compact(self) -> Compacted | None:
        done: Compacted | None = self._do("compact")
        return done

    @property
    def summaries(self) -> list[Any]:
        return [request for request in self.model.requests if is_summary(request)]

    @property
    def turns(self) -> list[Any]:
        return [request for request in self.model.requests if not is_summary(request)]

    @property
    def compactions(self) -> list[Compacted]:
        found = [read(entry) for entry in self.session.entries() if entry.kind == "compaction"]
        assert all(isinstance(one, Compacted) for one in found)
        return found  # type: ignore[return-value]


def said(request: Any) -> list[str]:
    return [message.text for message in request.messages]


def long_session(turns: int = 6) -> Session:
    session = Session(MemoryStore(), "s")
    for number in range(turns):
        session.append_message(User((Text(f"question {number} {LONG}"),)))
        session.append_message(Assistant((Text(f"answer {number}"),), stop_reason="stop"))
    return session


# When -----------------------------------------------------------------------------------------


@both
@pytest.mark.spec("S129")
def test_a_long_conversation_is_compacted_before_the_model_is_asked(driver: Driver) -> None:
    """Beyond the window less the reserve, a summary takes the place of the past; what was said last stays."""
    ran = Ran([{"text": "all of it, in short"}, {"text": "done"}], driver, session=long_session())
    assert ran.run("and now?").text == "done"
    [compacted] = ran.compactions
    [turn] = ran.turns
    first, *kept = said(turn)
    assert first.endswith("The summary:\n\nall of it, in short")
    assert kept[-1] == "and now?"
    assert 0 < len(kept) < 12
    assert [type(event) for event in ran.events if "ompact" in type(event).__name__] == [
        CompactionStarting,
        CompactionFinished,
    ]
    assert compacted.tokens_before > 1_500 > compacted.tokens_after
    assert len(ran.session) == 14
    assert_all_valid((one, ran.session.request(one)) for one in FORMATS)


@pytest.mark.spec("S129")
@pytest.mark.parametrize(
    ("compaction", "reported", "is_compacted"),
    [
        (SMALL, 1_500, False),
        (SMALL, 1_501, True),
        (Compaction(window=2_000, reserve=0, keep_recent=10), 1_999, False),
        (Compaction(window=20_000, keep_recent=10), 3_617, True),
        (Compaction(keep_recent=10), 1_000_000, False),
        (True, 1_000_000, False),
        (False, 1_000_000, False),
    ],
    ids=["at the limit", "beyond it", "no reserve", "reserve of 16,384", "no window", "window not known", "never"],
)
def test_the_limit_is_strict(compaction: Any, reported: int, is_compacted: bool) -> None:
    """Compaction begins beyond window minus reserve, and never where the window is not known."""
    session = long_session(2)
    session.append_message(Assistant((Text("x"),), stop_reason="stop", usage=Usage(reported - 10, 10)))
    ran = Ran([{"text": "one"}, {"text": "two"}], session=session, compaction=compaction)
    # The prompt of one character is one token, so that what is reported decides.
    session.append_message(User((Text(""),)))
    ran.resume()
    assert bool(ran.compactions) is is_compacted


def test_the_window_of_a_known_model() -> None:
    """A model says its window, or its name does."""

    class Known(ScriptedModel):
        window = 40_000

    assert suture.Agent(Known([]), long_session()).context_usage().window == 40_000
    named = ScriptedModel([], name="anthropic:claude-opus-4-6")
    usage = suture.Agent(named, long_session(2)).context_usage()
    assert (usage.window, usage.tokens) == (200_000, 1010)
    assert suture.Agent(ScriptedModel([]), long_session(1)).context_usage().window is None


@both
def test_the_provider_says_that_it_is_too_long(driver: Driver) -> None:
    """Where no window is known, the provider's refusal of a prompt that is too long compacts, and asks once more."""
    script: list[Step] = [ContextOverflow("too long"), {"text": "short"}, {"text": "done"}]
    ran = Ran(script, driver, session=long_session(), compaction=True)
    result = ran.run("and now?")
    assert (result.status, result.text) == ("completed", "done")
    assert len(ran.compactions) == 1
    again = Ran([ContextOverflow("too long"), {"text": "short"}, ContextOverflow("too long")], session=long_session())
    assert type(again.run().error) is ContextOverflow


# How long it is -------------------------------------------------------------------------------


def answered(parts: Sequence[Any] = (), **more: Any) -> Assistant:
    return Assistant((Text("x"), *parts), stop_reason=more.pop("stop_reason", "stop"), **more)


CALL = ToolCall("c", "look", {"what": "x"})


@pytest.mark.spec("S130")
@pytest.mark.parametrize(
    ("messages", "tokens"),
    [
        ([User((Text("abcd"),))], 1),
        ([User((Text("abcde"),))], 2),
        ([User((Image(data="A" * 9_000, media_type="image/png"),))], 1_200),
        ([User((Text("abcd"),)), answered(usage=Usage(100, 20))], 120),
        ([User((Text("abcd"),)), answered(usage=Usage(100, 20)), User((Text("abcd"),))], 121),
        ([User((Text("abcd"),)), answered(usage=Usage(0, 0))], 2),
        ([User((Text("abcd"),)), answered(usage=Usage(100, 20), stop_reason="error")], 2),
        ([User((Text("abcd"),)), answered(usage=Usage(100, 20), stop_reason="aborted")], 2),
        ([User((Text("a"),)), answered((CALL,), usage=Usage(100, 20)), ToolResult.of("c", "y" * 40)], 130),
    ],
)
def test_tokens_are_reported_or_estimated(messages: list[Message], tokens: int) -> None:
    """The last sound usage counts, and a quarter of the characters of all that came since; a call its name and JSON."""
    session = Session(MemoryStore(), "s")
    for message in messages:
        session.append_message(message)
    assert context_tokens(session.refresh()) == tokens


@pytest.mark.spec("S130", "M-36")
def test_what_was_reported_before_a_compaction_does_not_count() -> None:
    """Usage of an answer that was kept says nothing of what is sent behind a summary, until the model reports anew."""
    session = long_session(4)
    session.append_message(answered(usage=Usage(100_000, 10)))
    script: list[Step] = [
        {"text": "short"},
        {"text": "one"},
        {"text": "two", "usage": {"input_tokens": 70, "output_tokens": 3}},
    ]
    ran = Ran(script, session=session)
    ran.run("a")
    assert context_tokens(session.refresh()) < 1_500
    ran.run("b")
    assert context_tokens(session.refresh()) == 73
    assert len(ran.compactions) == 1


# Where it is cut ------------------------------------------------------------------------------


def with_calls(turns: int, per_turn: int = 2) -> Session:
    session = Session(MemoryStore(), "s")
    session.append_message(User((Text("begin"),)))
    for turn in range(turns):
        calls = [ToolCall(f"c{turn}_{slot}", "look", {"what": "x"}) for slot in range(per_turn)]
        session.append_message(Assistant(tuple(calls), stop_reason="tool_use"))
        for call in calls:
            session.append_message(ToolResult.of(call.id, "y" * 400))
    return session


@pytest.mark.spec("S131")
@pytest.mark.parametrize("keep", range(50, 900, 50))
def test_a_cut_never_parts_a_call_from_its_result(keep: int) -> None:
    """What is kept begins with a user's message or a turn with calls, and about what it should."""
    state = with_calls(5).refresh()
    first = cut_of(state, keep)
    assert first is not None
    kept = [(seq, message) for seq, message in state.recorded.items() if seq >= first]
    assert isinstance(kept[0][1], User) or (isinstance(kept[0][1], Assistant) and kept[0][1].calls)
    assert sum(tokens_of(message) for _, message in kept) >= keep
    assert {call.id for _, one in kept if isinstance(one, Assistant) for call in one.calls} == {
        one.call_id for _, one in kept if isinstance(one, ToolResult)
    }


@pytest.mark.spec("S131")
def test_a_late_result_is_kept_with_its_call() -> None:
    """A turn whose result came much later is on the same side of the cut as that result."""
    session = Session(MemoryStore(), "s")
    session.append_message(User((Text(LONG),)))
    session.append_message(Assistant((ToolCall("late", "look", {"what": "x"}),), stop_reason="tool_use"))
    session.append_message(User((Text(LONG),)))
    session.append_message(answered())
    session.append_message(ToolResult.of("late", "at last"))
    session.append_message(User((Text(LONG),)))
    assert cut_of(session.refresh(), 400) == 6
    assert cut_of(session.refresh(), 1_100) == 2


@pytest.mark.spec("S132", "M-40")
def test_a_cut_keeps_the_turn_that_waits_for_a_person() -> None:
    """A parked call, and the question that led to it, are never summed up; it can be approved and resumed after."""
    session = long_session(6)
    ran = Ran([calling(("p", "pay", {"amount": 5}))], session=session, compaction=False)
    assert ran.run("pay five").status == "awaiting_approval"
    session.steer(LONG)
    manual = Ran([{"text": "short"}], session=session, compaction=Compaction(keep_recent=1))
    compacted = manual.compact()
    assert compacted is not None
    assert [message.text for message, _ in session.replay()][1] == "pay five"
    session.approve("p")
    resumed = Ran([{"text": "paid"}], session=session)
    assert resumed.resume().text == "paid"
    assert "paid 5" in said(resumed.turns[0])
    assert_all_valid((one, session.request(one)) for one in FORMATS)


@pytest.mark.spec("S133")
@pytest.mark.parametrize(
    ("session", "compaction"),
    [
        (Session(MemoryStore(), "s"), SMALL),
        (long_session(1), SMALL),
        (long_session(6), Compaction(keep_recent=1_000_000)),
    ],
    ids=["empty", "one turn", "all is recent"],
)
def test_nothing_is_worth_cutting(session: Session, compaction: Compaction) -> None:
    """Then nothing is asked and nothing written."""
    head = session.refresh().head
    ran = Ran([], session=session, compaction=compaction)
    assert ran.compact() is None
    assert (session.refresh().head, ran.model.requests) == (head, [])


# What is asked --------------------------------------------------------------------------------


@both
@pytest.mark.spec("S134", "M-37")
def test_a_run_that_compacts_twice(driver: Driver) -> None:
    """The second summary is made of the first and of what came since; parallel results stay whole."""
    made = iter(calling(*((f"c{turn}_{slot}", "look", {"what": f"{turn}"}) for slot in range(2))) for turn in range(8))
    count = iter(range(100))

    def answer(request: Any) -> Any:
        return {"text": f"summary {next(count)}"} if is_summary(request) else next(made, {"text": "done"})

    ran = Ran([answer] * 40, driver, compaction=Compaction(window=900, reserve=100, keep_recent=300), max_steps=None)
    assert ran.run("look at everything").text == "done"
    assert len(ran.compactions) >= 2
    first, second = ran.summaries[:2]
    assert "<summary>" not in said(first)[0]
    assert "<summary>\nsummary 0\n</summary>" in said(second)[0]
    for turn in ran.turns:
        calls = [call.id for message in turn.messages if isinstance(message, Assistant) for call in message.calls]
        assert calls == [message.call_id for message in turn.messages if isinstance(message, ToolResult)]
    assert said(ran.turns[-1])[0].endswith(f"summary {len(ran.compactions) - 1}")
    assert_all_valid((one, ran.session.request(one)) for one in FORMATS)


@pytest.mark.spec("S135", "M-38", "A-6")
def test_a_long_result_is_shortened_for_the_summariser_alone() -> None:
    """It sees head, marker and tail of it in 2,000 characters; the recorded result stays as it is."""
    session = Session(MemoryStore(), "s")
    session.append_message(User((Text("read it"),)))
    session.append_message(Assistant((ToolCall("c", "look", {"what": "x"}),), stop_reason="tool_use"))
    text = "HEAD" + "m" * 5_992 + "TAIL"
    session.append_message(ToolResult.of("c", text))
    session.append_message(Assistant((Text("read"),), stop_reason="stop"))
    session.append_message(User((Text("next " + LONG),)))
    ran = Ran([{"text": "short"}], session=session, compaction=Compaction(keep_recent=100))
    assert ran.compact() is not None
    shown = said(ran.summaries[0])[0].partition("[Result of look]\n")[2].partition("\n\n[Assistant]")[0]
    assert len(shown) == 2_000
    assert shown.startswith("HEADm")
    assert shown.endswith("mTAIL")
    assert "\n[... shortened from 6000 characters ...]\n" in shown
    assert text in [message.text for message in session.messages]


def test_what_a_summariser_is_shown() -> None:
    """Words, calls with their arguments and results; of pictures that there are some; of thinking nothing. No tools."""
    session = Session(MemoryStore(), "s")
    session.append_message(User((Text("see"), Image(data="QUJD", media_type="image/png"))))
    thinking = suture.Reasoning("secret thought")
    session.append_message(Assistant((thinking, ToolCall("c", "look", {"what": "ünï"})), stop_reason="tool_use"))
    session.append_message(ToolResult.of("c", "it failed", error=True))
    session.append_message(User((Text("next " + LONG),)))
    ran = Ran([{"text": "s"}], session=session, compaction=Compaction(keep_recent=100, instructions="Keep order numbers."))
    ran.compact()
    [asked] = ran.summaries
    assert asked.tools == ()
    assert asked.system.endswith("What matters to the host of this conversation:\nKeep order numbers.")
    lines = said(asked)[0].splitlines()
    assert lines == [
        "<conversation>", "[User]", "see", "[an image]", "", "[Assistant]", '[calls look with {"what": "ünï"}]', "",
        "[Result of look, failed]", "it failed", "</conversation>",
    ]  # fmt: skip


def test_a_past_that_no_summariser_takes() -> None:
    """A huge past is shown shortened, and at last without its oldest part, which is said."""
    session = Session(MemoryStore(), "s")
    for number in range(300):
        session.append_message(User((Text(f"<{number}> " + "z" * 5_000),)))
    ran = Ran([{"text": "s"}], session=session, compaction=Compaction(window=20_000, reserve=1_000, keep_recent=100))
    assert ran.compact() is not None
    [asked] = ran.summaries
    assert len(said(asked)[0]) < 20_000 * 4
    assert "earlier messages are too long to be shown]" in said(asked)[0]
    assert "<298>" in said(asked)[0]
    assert "<0>" not in said(asked)[0]


def test_another_model_writes_the_summary() -> None:
    """The one that the options name is asked, and its usage counts in the run."""
    writer = ScriptedModel([{"text": "short", "usage": {"input_tokens": 40, "output_tokens": 2}}])
    options = Compaction(window=2_000, reserve=500, keep_recent=600, model=writer)
    script: list[Step] = [{"text": "done", "usage": {"input_tokens": 300, "output_tokens": 1}}]
    ran = Ran(script, session=long_session(), compaction=options)
    result = ran.run()
    assert (len(writer.requests), len(ran.model.requests)) == (1, 1)
    assert (result.usage.input_tokens, ran.session.usage.input_tokens) == (340, 340)


# Failures -------------------------------------------------------------------------------------

UNUSABLE: list[Any] = [
    {"text": "cut off in the mi", "stop_reason": "length"},
    {"text": "  \n"},
    {"text": "I will not.", "stop_reason": "refusal"},
    Overloaded("busy"),
    RuntimeError("the adapter broke"),
]


@pytest.mark.spec("S136", "M-39")
@pytest.mark.parametrize("bad", UNUSABLE, ids=["cut off", "blank", "refused", "the model failed", "the adapter broke"])
@both
def test_a_summary_that_cannot_be_used(bad: Any, driver: Driver) -> None:
    """It is asked for once more, shorter. When that fails too, nothing is written: a run goes on, a host is told."""
    spent: Any = bad if isinstance(bad, Exception) else {**bad, "usage": {"input_tokens": 9, "output_tokens": 1}}
    ran = Ran([spent, spent, {"text": "done"}], driver, session=long_session())
    result = ran.run()
    assert (result.status, result.text) == ("completed", "done")
    assert [type(event) for event in ran.events if "ompact" in type(event).__name__] == [
        CompactionStarting,
        CompactionFailed,
    ]
    assert (len(ran.summaries), ran.compactions) == (2, [])
    assert "Keep it under 400 words" in ran.summaries[1].system
    assert "Keep it under 400 words" not in ran.summaries[0].system
    asked = 0 if isinstance(bad, Exception) else 18
    assert (result.usage.input_tokens, ran.session.usage.input_tokens) == (asked, asked)
    manual = Ran([spent, spent], driver, session=long_session())
    head = manual.session.refresh().head
    with pytest.raises(CompactionError, match="nothing was compacted") as failed:
        manual.compact()
    assert manual.session.refresh().head == head
    assert failed.value.usage == (Usage() if isinstance(bad, Exception) else Usage(18, 2))


def test_the_second_try_is_taken() -> None:
    """A shorter summary that is whole takes the place of the past; both tries are paid for."""
    script: list[Step] = [
        {"text": "too lo", "stop_reason": "length", "usage": {"input_tokens": 9, "output_tokens": 1}},
        {"text": "short", "usage": {"input_tokens": 5, "output_tokens": 1}},
    ]
    ran = Ran(script, session=long_session())
    compacted = ran.compact()
    assert compacted is not None
    assert (compacted.summary, compacted.usage) == ("short", Usage(14, 2))
    assert ran.session.usage == Usage(14, 2)


def test_a_failure_is_not_tried_again_in_the_same_run() -> None:
    """A summariser that does not work is asked twice in a run, however many turns that has."""
    script: list[Step] = [
        {"text": ""},
        {"text": ""},
        *(calling((f"c{n}", "look", {"what": "x"})) for n in range(3)),
        {"text": "done"},
    ]
    ran = Ran(script, session=long_session())
    assert ran.run().text == "done"
    assert len(ran.summaries) == 2


@both
@pytest.mark.spec("M-33")
def test_a_watcher_that_raises(driver: Driver) -> None:
    """What a watcher raises as compaction begins leaves the run as it is; nothing is asked or written."""
    error = RuntimeError("watcher")

    def watch(event: Event) -> None:
        if isinstance(event, CompactionStarting):
            raise error

    ran = Ran([{"text": "short"}], driver, session=long_session(), watch=watch)
    with pytest.raises(RuntimeError) as raised:
        ran.run()
    assert raised.value is error
    assert (ran.summaries, ran.compactions) == ([], [])


@both
@pytest.mark.parametrize("verb", ["run", "compact"])
def test_a_summary_is_stopped(driver: Driver, verb: str) -> None:
    """A signal while the summary is being written ends it: nothing is compacted, and the run is interrupted."""
    signal = suture.Signal()

    class Slow(ScriptedModel):
        async def stream(self, request: Any) -> Any:
            self.requests.append(request)
            signal.set("enough")
            await asyncio.sleep(60)
            yield answered()

    session, model = long_session(), Slow([])
    if driver == "sync":
        agent = suture.Agent(model, session, compaction=SMALL)
        done: Any = agent.run("go", signal=signal) if verb == "run" else agent.compact(signal=signal)
    else:
        async_agent = suture.AsyncAgent(model, AsyncSession.of(session), compaction=SMALL)
        coroutine: Any = async_agent.run("go", signal=signal) if verb == "run" else async_agent.compact(signal=signal)
        done = asyncio.run(coroutine)
    assert done is None if verb == "compact" else done.status == "interrupted"
    assert [entry.kind for entry in session.entries()].count("compaction") == 0
    assert len(model.requests) == 1


# Options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Compaction(window=0), "window of a Compaction is a number of tokens, 1 at least, not 0"),
        (lambda: Compaction(window=True), "not True"),
        (lambda: Compaction(reserve=-1), "reserve of a Compaction"),
        (lambda: Compaction(keep_recent=0), "keep_recent of a Compaction"),
        (lambda: Compaction(window=10_000), "leaves nothing beside the reserve of 16384"),
        (lambda: Compaction(instructions=3), "instructions of a Compaction are a text"),  # type: ignore[arg-type]
        (lambda: suture.Agent(ScriptedModel([]), compaction=5), "compaction is True, False or a suture.Compaction"),  # type: ignore[arg-type]
        (lambda: suture.Agent(ScriptedModel([]), compaction=Compaction(model=5)), "is no model"),
    ],
)
def test_options_that_cannot_work(make: Callable[[], object], says: str) -> None:
    """They are refused when they are given, with what is wrong."""
    with pytest.raises(ConfigurationError, match=says):
        make()


def test_a_cut_costs_what_it_looks_at() -> None:
    """Finding the cut of a conversation twice as long takes about twice the time."""
    states = {size: with_calls(size).refresh() for size in (500, 500 * TIMES)}
    assert grows(lambda size: cut_of(states[size], size * 200), 500) < 2 * TIMES
