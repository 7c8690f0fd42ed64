"""Calls that cannot run, corrected in a run: by rule, by the model on the side, by the host; under both drivers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import pytest

import suture
from suture.call_repair import Malformed, corrections_of, side_conversation
from suture.entries import Correction, read
from suture.errors import ConfigurationError, Overloaded
from suture.loop.events import CallCorrected, Event
from suture.messages import Message, Opaque, ToolCall, ToolResult
from suture.models.scripted import ScriptedModel, Step
from suture.session import AsyncSession, Session
from suture.stores.memory import MemoryStore
from tests.growth import TIMES, grows
from tests.judges import assert_all_valid

Driver: TypeAlias = Literal["sync", "async"]
both = pytest.mark.parametrize("driver", ["sync", "async"])

CALLED: list[tuple[str, dict[str, object]]] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    CALLED.clear()


@suture.tool(effect="external")
def send(to: str, total: int) -> str:
    """Send a gift."""
    CALLED.append(("send", {"to": to, "total": total}))
    return f"sent {total} to {to}"


@suture.tool(effect="read")
def look(what: str) -> str:
    """Look something up."""
    CALLED.append(("look", {"what": what}))
    return f"saw {what}"


def call(id: str, name: str, arguments: object) -> dict[str, object]:
    return {"id": id, "name": name, "arguments": arguments}


def fixed(id: str, name: str, arguments: object) -> dict[str, object]:
    """A correction as the built-in question asks for it."""
    return call(f"answer_to_{id}", "correct_call", {"id": id, "name": name, "arguments": arguments})


BAD = call("c1", "send", {"to": "42", "total": "nine hundred"})
GOOD = {"to": "42", "total": 900}


class Ran:
    """One run, and what is left of it."""

    def __init__(self, driver: Driver, script: list[Step], prompt: str | None = "go", **options: Any) -> None:
        self.session: Session = options.pop("session") if "session" in options else Session(MemoryStore(), "s")
        self.model = ScriptedModel(script)
        self.events: list[Event] = []
        tools = options.pop("tools", (send, look))
        signal = options.pop("signal", None)
        watch = options.pop("watch", self.events.append)
        if driver == "sync":
            agent = suture.Agent(self.model, self.session, tools=tools, **options)
            more: Any = {"watch": watch, "signal": signal}
            self.result = agent.run(prompt, **more) if prompt is not None else agent.resume(**more)
            return

        async def run() -> suture.Result:
            async_agent = suture.AsyncAgent(self.model, AsyncSession.of(self.session), tools=tools, **options)
            more: Any = {"watch": watch, "signal": signal}
            return await (async_agent.run(prompt, **more) if prompt is not None else async_agent.resume(**more))

        self.result = asyncio.run(run())

    @property
    def results(self) -> list[tuple[str, str]]:
        found = [one for one in self.session.messages if isinstance(one, ToolResult)]
        return [(one.call_id, one.text) for one in sorted(found, key=lambda one: one.call_id)]

    @property
    def corrections(self) -> list[Correction]:
        found = [read(entry) for entry in self.session.entries() if entry.kind == "correction"]
        return [one for one in found if isinstance(one, Correction)]

    def assert_valid(self) -> None:
        """Every call is answered at once, in what was asked on the way as in what may be sent now."""
        self.session.refresh()
        wires = [(name, request.wire(name)) for request in self.model.requests for name in ("openai-chat", "anthropic")]
        assert_all_valid([*wires, *((name, self.session.request(name)) for name in ("openai-chat", "anthropic"))])


# By rule --------------------------------------------------------------------------------------


@both
def test_what_can_only_mean_one_thing_runs_without_a_request(driver: Driver) -> None:
    """The correction is recorded before the call starts, watched, and shown in every later request."""
    ran = Ran(driver, [{"calls": [call("c1", "functions.Send", "{'to': '42', 'total': '900',}")]}, {"text": "done"}])
    assert CALLED == [("send", GOOD)]
    assert len(ran.model.requests) == 2
    (correction,) = ran.corrections
    assert (correction.by, correction.name, correction.text) == ("rule", "functions.Send", "{'to': '42', 'total': '900',}")
    assert correction.call is not None
    assert (correction.call.id, correction.call.name, correction.call.arguments) == ("c1", "send", GOOD)
    kinds = [entry.kind for entry in ran.session.entries()]
    assert kinds.index("correction") < kinds.index("tool_started")
    (told,) = [event for event in ran.events if isinstance(event, CallCorrected)]
    assert (told.key, told.by, told.made.name, told.call.arguments) == (correction.key, "rule", "functions.Send", GOOD)
    shown = [part for message in ran.model.requests[1].messages for part in message.parts if isinstance(part, ToolCall)]
    assert [(one.id, one.name, one.arguments) for one in shown] == [("c1", "send", GOOD)]
    ran.assert_valid()


@both
@pytest.mark.spec("A19")
def test_a_call_without_arguments_is_no_correction(driver: Driver) -> None:
    """Empty and null arguments are a call without any, as they came."""

    @suture.tool(effect="read")
    def ping() -> str:
        """Ping."""
        return "pong"

    ran = Ran(
        driver,
        [{"calls": [call("a", "ping", ""), call("b", "ping", "null")]}, {"text": "ok"}],
        tools=(ping,),
        tool_call_repair=True,
    )
    assert ran.results == [("a", "pong"), ("b", "pong")]
    assert ran.corrections == []
    assert len(ran.model.requests) == 2


# By the model ---------------------------------------------------------------------------------


@both
@pytest.mark.spec("S65", "S78")
def test_repair_is_off_by_default(driver: Driver) -> None:
    """A call that cannot run is answered with what is wrong; the model is asked in its turn, nobody on the side."""
    ran = Ran(driver, [{"calls": [BAD]}, {"text": "sorry"}])
    assert CALLED == []
    assert len(ran.model.requests) == 2
    ((id, text),) = ran.results
    assert id == "c1"
    assert "'total'" in text
    assert ran.corrections == []
    ran.assert_valid()


@both
@pytest.mark.spec("S68", "S74", "S77")
def test_a_correction_runs_under_the_original_id(driver: Driver) -> None:
    """Asked once, before anything runs; the id stays, an event tells both, and both texts are in the log."""
    ran = Ran(driver, [{"calls": [BAD]}, {"calls": [fixed("c1", "send", GOOD)]}, {"text": "done"}], tool_call_repair=True)
    assert CALLED == [("send", GOOD)]
    assert ran.results == [("c1", "sent 900 to 42")]
    (correction,) = ran.corrections
    assert (correction.by, json.loads(correction.text)) == ("model", BAD["arguments"])
    assert "'total'" in correction.reason
    assert correction.call is not None
    assert correction.call.id == "c1"
    (told,) = [event for event in ran.events if isinstance(event, CallCorrected)]
    assert (told.by, told.made.arguments, told.call.arguments) == ("model", BAD["arguments"], GOOD)
    ran.assert_valid()


@both
@pytest.mark.spec("S72", "A2", "A5")
def test_the_side_conversation_is_valid_and_leaves_no_trace(driver: Driver) -> None:
    """It is a request that every provider takes; neither question nor answer is in the history; later requests hold the
    call that ran, not the one that could not.
    """
    script: list[Step] = [
        {"text": "hm", "calls": [call("c1", "send", '{"to": "42", "tot')]},
        {"calls": [fixed("c1", "send", GOOD)]},
        {"text": "done"},
    ]
    ran = Ran(driver, script, tool_call_repair=True)
    ran.assert_valid()
    said = json.dumps([str(message) for message in (*ran.session.messages, *ran.model.requests[2].messages)])
    assert "could not be run" not in said
    assert "answer_to_c1" not in said
    (sent,) = [part for message in ran.model.requests[2].messages for part in message.parts if isinstance(part, ToolCall)]
    assert sent.arguments == GOOD
    assert "could not be run" in ran.model.requests[1].messages[-1].text


@both
@pytest.mark.spec("S70")
def test_the_question_names_each_call_and_what_was_wrong(driver: Driver) -> None:
    """In order: its id, its text, the reason, the schema of its tool; then the names of the tools."""
    calls = [BAD, call("c2", "look", {"what": "x"}), call("c3", "zend", '{"a": ')]
    ran = Ran(driver, [{"calls": calls}, {"text": "I cannot."}, {"text": "ok"}], tool_call_repair=True)
    asked = ran.model.requests[1].messages[-1].text
    first, second = asked.index("1. id 'c1': 'send'"), asked.index("2. id 'c3': 'zend'")
    assert first < asked.index("nine hundred") < asked.index("'total'") < asked.index('"total":{"type":"integer"}') < second
    assert (
        second
        < asked.index('{"a": ', second)
        < asked.index("did you mean 'send'")
        < asked.index("The tools are: send, look.")
    )
    assert "'c2'" not in asked
    assert [tool.name for tool in ran.model.requests[1].tools] == ["send", "look", "correct_call"]


@both
@pytest.mark.spec("S75", "S76", "A1")
def test_valid_siblings_are_untouched_and_every_call_is_answered(driver: Driver) -> None:
    """A corrected call runs among its siblings, in order; one that stays wrong is answered with the reason."""
    calls = [
        call("c1", "look", {"what": "a"}),
        BAD | {"id": "c2"},
        call("c3", "nothing", {}),
        call("c4", "look", {"what": "b"}),
    ]
    ran = Ran(
        driver,
        [{"calls": calls}, {"calls": [fixed("c2", "send", GOOD)]}, {"text": "ok"}],
        tool_call_repair=True,
        max_concurrency=1,
    )
    assert CALLED == [("look", {"what": "a"}), ("send", GOOD), ("look", {"what": "b"})]
    assert [text for _, text in ran.results][:2] == ["saw a", "sent 900 to 42"]
    assert "unknown tool 'nothing'" in ran.results[2][1]
    answered = [message for message in ran.model.requests[2].messages if isinstance(message, ToolResult)]
    assert [one.call_id for one in answered] == ["c1", "c2", "c3", "c4"]
    assert [(one.key.split(":")[1], one.call is None) for one in ran.corrections] == [("1", False), ("2", True)]
    ran.assert_valid()


@both
@pytest.mark.spec("S71", "A3")
def test_a_skipped_call_does_not_get_its_neighbours_correction(driver: Driver) -> None:
    """Corrections go by id or by tool, never by position, and one that could be meant for two calls is none."""
    calls = [BAD, call("c2", "look", {"where": "x"})]
    ran = Ran(
        driver, [{"calls": calls}, {"calls": [call("n1", "look", {"what": "x"})]}, {"text": "ok"}], tool_call_repair=True
    )
    assert CALLED == [("look", {"what": "x"})]
    assert "'total'" in ran.results[0][1]
    two = [call("c1", "look", {"where": "a"}), call("c2", "look", {"where": "b"})]
    again = Ran(
        driver, [{"calls": two}, {"calls": [call("n1", "look", {"what": "a"})]}, {"text": "ok"}], tool_call_repair=True
    )
    assert CALLED == [("look", {"what": "x"})]
    assert all("was not run" in text for _, text in again.results)


@both
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({"calls": [call("x", "send", GOOD)]}, id="the tool itself"),
        pytest.param({"calls": [call("c1", "send", GOOD)]}, id="the tool itself under the old id"),
        pytest.param({"text": json.dumps({"id": "c1", "name": "send", "arguments": GOOD})}, id="JSON in words"),
        pytest.param(
            {"text": "```json\n" + json.dumps([{"id": "c1", "name": "send", "arguments": GOOD}]) + "\n```"},
            id="a list in a fence",
        ),
        pytest.param({"calls": [fixed("c1", "send", json.dumps(GOOD))]}, id="arguments as text"),
        pytest.param({"calls": [fixed("c1", "Send", {"to": "42", "total": "900"})]}, id="a correction with slips"),
    ],
)
def test_a_correction_is_taken_in_whatever_form_it_comes(driver: Driver, answer: Mapping[str, object]) -> None:
    """Models answer in their own ways."""
    ran = Ran(driver, [{"calls": [BAD]}, answer, {"text": "ok"}], tool_call_repair=True)
    assert CALLED == [("send", GOOD)]
    assert [(one.id, one.name, one.arguments) for one in [ran.corrections[0].call] if one is not None] == [
        ("c1", "send", GOOD)
    ]


OTHERS: list[tuple[dict[str, object], dict[str, object]]] = [
    (call("c1", "look", {"what": "a"}), call("c1", "look", {"what": "a"})),
    (call("c1", "look", {"what": "a"}), fixed("c1", "look", {"what": "x"})),
    (call("c1", "look", {"what": "a"}), call("n1", "look", {"what": "a"})),
    (call("c1", "send", {"to": "a"}), call("c1", "look", {"what": "x"})),
    (call("c1", "ping", {}), call("c1", "send", GOOD)),
    (call("c1", "look", {"what": "a"}), fixed("c9", "look", {"what": "x"})),
    (call("c1", "look", {"what": "a"}), call("old", "send", GOOD)),
    (call("c1", "look", {"what": "a"}), call("n1", "correct_call", {"id": "c2"})),
]


@both
@pytest.mark.parametrize(("sibling", "answer"), OTHERS, ids=range(len(OTHERS)))
def test_what_names_another_call_corrects_none(
    driver: Driver, sibling: dict[str, object], answer: dict[str, object]
) -> None:
    """The id of a sibling, of an earlier call or of none that was asked about, and a call of a valid sibling's tool."""
    bad = call("c2", "look", {"where": "x"}) if sibling["name"] != "ping" else BAD | {"id": "c2"}
    before: list[Step] = [{"calls": [call("old", "look", {"what": "before"})]}]
    ran = Ran(driver, [*before, {"calls": [sibling, bad]}, {"calls": [answer]}, {"text": "ok"}], tool_call_repair=True)
    ran_too = [("look", {"what": "a"})] if sibling == call("c1", "look", {"what": "a"}) else []
    assert CALLED == [("look", {"what": "before"}), *ran_too]  # noqa: SIM300
    assert [one.call for one in ran.corrections if one.call is not None] == []
    assert "was not run" in dict(ran.results)["c2"]
    ran.assert_valid()


@both
@pytest.mark.spec("A6")
def test_a_correction_may_change_the_tool_and_is_recorded(driver: Driver) -> None:
    """The result, the requests and the log all name the tool that ran."""
    ran = Ran(
        driver,
        [{"calls": [call("c1", "lookup", {"what": "x"})]}, {"calls": [fixed("c1", "look", {"what": "x"})]}, {"text": "ok"}],
        tool_call_repair=True,
    )
    assert ran.results == [("c1", "saw x")]
    (result,) = [one for one in ran.session.messages if isinstance(one, ToolResult)]
    assert result.name == "look"
    (sent,) = [part for message in ran.model.requests[2].messages for part in message.parts if isinstance(part, ToolCall)]
    assert sent.name == "look"
    assert ran.corrections[0].name == "lookup"


@both
@pytest.mark.spec("A4")
def test_a_correction_is_checked_again(driver: Driver) -> None:
    """What is still wrong does not run: it is asked about again as often as is allowed, and then answered."""
    worse = {"calls": [fixed("c1", "send", {"to": "42", "total": "many"})]}
    ran = Ran(driver, [{"calls": [BAD]}, worse, {"text": "ok"}], tool_call_repair=True)
    assert CALLED == []
    assert "'total'" in ran.results[0][1]
    twice = Ran(
        driver,
        [{"calls": [BAD]}, worse, {"calls": [fixed("c1", "send", GOOD)]}, {"text": "ok"}],
        tool_call_repair=suture.ToolCallRepair(rounds=2),
    )
    assert CALLED == [("send", GOOD)]
    assert "many" in twice.model.requests[2].messages[-1].text


@both
@pytest.mark.spec("A7")
def test_what_asking_costs_counts(driver: Driver) -> None:
    """In the result and in the log, whether or not a correction came of it."""
    usage = {"input_tokens": 100, "output_tokens": 10, "cost": 0.5}
    for answer in ({"calls": [fixed("c1", "send", GOOD)]}, {"text": "no"}):
        ran = Ran(
            driver,
            [{"calls": [BAD], "usage": usage}, {**answer, "usage": usage}, {"text": "ok", "usage": usage}],
            tool_call_repair=True,
        )
        assert (ran.result.usage.input_tokens, ran.result.usage.cost) == (300, 1.5)
        assert ran.session.state.usage == ran.result.usage


@both
@pytest.mark.spec("S73", "A8")
@pytest.mark.parametrize(
    "failure",
    [Overloaded("busy"), RuntimeError("bug"), {"text": "no", "stop_reason": "refusal"}, {"text": "", "calls": []}],
)
def test_whatever_fails_leaves_the_turn_as_it_was(driver: Driver, failure: Any) -> None:
    """The run goes on as without repair: the call is answered with what is wrong."""
    ran = Ran(driver, [{"calls": [BAD, call("c2", "look", {"what": "x"})]}, failure, {"text": "ok"}], tool_call_repair=True)
    assert ran.result.status == "completed"
    assert "'total'" in ran.results[0][1]
    assert ran.results[1] == ("c2", "saw x")
    assert [one.call for one in ran.corrections if one.call is not None] == []
    ran.assert_valid()


@both
def test_another_model_may_be_asked(driver: Driver) -> None:
    """A cheaper one, which is asked for nothing else."""
    helper = ScriptedModel([{"calls": [fixed("c1", "send", GOOD)], "usage": {"input_tokens": 7}}])
    ran = Ran(driver, [{"calls": [BAD]}, {"text": "ok"}], tool_call_repair=suture.ToolCallRepair(model=helper))
    assert CALLED == [("send", GOOD)]
    assert (len(helper.requests), len(ran.model.requests)) == (1, 2)
    assert ran.result.usage.input_tokens == 7


# By the host ----------------------------------------------------------------------------------


@both
@pytest.mark.spec("S66", "S69")
def test_a_function_replaces_the_question(driver: Driver) -> None:
    """It gets the history, the calls by key and the tools, and makes no model call."""
    seen: list[tuple[tuple[Message, ...], dict[str, ToolCall], list[str]]] = []

    def correct(history: tuple[Message, ...], calls: dict[str, ToolCall], tools: Mapping[str, suture.Tool]) -> object:
        seen.append((history, calls, list(tools)))
        return {key: {"name": "send", "arguments": GOOD, "id": "another"} for key in calls}

    ran = Ran(driver, [{"calls": [BAD]}, {"text": "ok"}], tool_call_repair=correct)
    assert CALLED == [("send", GOOD)]
    assert len(ran.model.requests) == 2
    ((history, calls, tools),) = seen
    assert history[0].text == "go"
    assert [(key.split(":")[1], one.id, one.arguments) for key, one in calls.items()] == [("0", "c1", BAD["arguments"])]
    assert tools == ["send", "look"]
    assert [(one.by, one.call.id if one.call else None) for one in ran.corrections] == [("host", "c1")]


@both
def test_a_function_cannot_change_what_is_recorded(driver: Driver) -> None:
    """The history and the calls that it gets are its own."""

    def correct(history: tuple[Message, ...], calls: dict[str, ToolCall], tools: dict[str, suture.Tool]) -> object:
        for one in [
            *calls.values(),
            *(part for message in history for part in message.parts if isinstance(part, ToolCall)),
        ]:
            assert one.arguments is not None
            one.arguments["to"] = "mallory"
        tools.clear()
        return {}

    ran = Ran(
        driver,
        [{"calls": [call("c1", "look", {"what": "a"}), BAD | {"id": "c2"}]}, {"text": "ok"}],
        tool_call_repair=correct,
    )
    assert ran.results[0] == ("c1", "saw a")
    assert "mallory" not in str([ran.session.messages, *(request.messages for request in ran.model.requests)])


@both
def test_a_function_may_be_awaited(driver: Driver) -> None:
    """As every hook."""

    async def correct(_history: object, calls: dict[str, ToolCall], _tools: object) -> object:
        await asyncio.sleep(0)
        return {one.id: ToolCall("ignored", "send", dict(GOOD)) for one in calls.values()}

    Ran(driver, [{"calls": [BAD]}, {"text": "ok"}], tool_call_repair=correct)
    assert CALLED == [("send", GOOD)]


def _raise(*_: object) -> object:
    raise ValueError("oops")


def nested(levels: int) -> list[object]:
    found: list[object] = []
    for _ in range(levels):
        found = [found]
    return found


def circle() -> dict[str, object]:
    found: dict[str, object] = {"to": "42", "total": 900}
    found["self"] = [found]
    return found


class Broken(Mapping[str, object]):
    """A mapping, and a text, that fails wherever it is looked at."""

    def __getitem__(self, key: str) -> object:
        raise ValueError("oops")

    def __iter__(self) -> Any:
        raise ValueError("oops")

    def __len__(self) -> int:
        return 1

    def __str__(self) -> str:
        raise ValueError("oops")

    __repr__ = __str__
    __hash__ = object.__hash__


BAD_ARGUMENTS: list[Callable[[], object]] = [
    object,
    Broken,
    circle,
    lambda: [circle()],
    lambda: nested(100_000),
    lambda: [{(1, 2): 3}],
    lambda: {Broken(): 1},
    lambda: {"to": "42", "total": Broken()},
    lambda: {"to": "42", "total": b"900"},
    lambda: 5,
]


@both
@pytest.mark.spec("S67")
@pytest.mark.parametrize(
    "correct",
    [
        lambda *_: None,
        lambda *_: "text",
        lambda *_: ["c1"],
        lambda *_: {},
        lambda *_: {"c1": {"arguments": GOOD}},
        lambda *_: {"c1": "send"},
        lambda *_: {"c9": {"name": "send", "arguments": GOOD}},
        lambda *_: Broken(),
        lambda *_: {"c1": Broken()},
        lambda *_: {Broken(): {"name": "send", "arguments": GOOD}},
        lambda *_: {"c1": ToolCall("z", 5, dict(GOOD))},  # type: ignore[arg-type]
        *(lambda *_, made=made: {"c1": {"name": "send", "arguments": made()}} for made in BAD_ARGUMENTS),
        *(lambda *_, made=made: {"c1": ToolCall("z", "send", made())} for made in BAD_ARGUMENTS),
        _raise,
    ],
    ids=range(12 + 2 * len(BAD_ARGUMENTS)),
)
def test_what_is_no_correction_is_none(driver: Driver, correct: Callable[..., object]) -> None:
    """Anything but a mapping of known calls to named ones leaves the calls as they are; so does an error."""
    ran = Ran(driver, [{"calls": [BAD]}, {"text": "ok"}], tool_call_repair=correct)
    assert ran.result.status == "completed"
    assert CALLED == []
    assert "'total'" in ran.results[0][1]


# Around it ------------------------------------------------------------------------------------


@both
@pytest.mark.spec("A10")
def test_policy_and_approval_see_the_corrected_call(driver: Driver) -> None:
    """The hook, the request for approval, its digest and the history all hold the call that would run."""
    seen: list[object] = []

    def permit(one: ToolCall, _ctx: object) -> None:
        seen.append((one.name, one.arguments))

    gated = suture.tool(
        send.handler, name="send", effect="external", needs_approval=lambda arguments: arguments["total"] > 500
    )
    session = Session(MemoryStore(), "s")
    ran = Ran(
        driver,
        [{"calls": [BAD]}, {"calls": [fixed("c1", "send", GOOD)]}],
        session=session,
        tools=(gated,),
        before_tool=permit,
        tool_call_repair=True,
    )
    assert ran.result.status == "awaiting_approval"
    (approval,) = session.open_approvals()
    assert (approval.call.arguments, approval.provenance) == (GOOD, "corrected by the model")
    assert seen == [("send", GOOD)]
    session.approve("c1")
    Ran(driver, [{"text": "ok"}], None, session=session, tools=(gated,), before_tool=permit, tool_call_repair=True)
    assert CALLED == [("send", GOOD)]


@both
def test_a_correction_that_stands_is_not_asked_for_again(driver: Driver) -> None:
    """A run that ended behind the correction goes on with it in another process."""

    class Stop(Exception):
        pass

    def watch(event: Event) -> None:
        if isinstance(event, CallCorrected):
            raise Stop

    session = Session(MemoryStore(), "s")
    with pytest.raises(Stop):
        Ran(
            driver,
            [{"calls": [BAD]}, {"calls": [fixed("c1", "send", GOOD)]}],
            session=session,
            watch=watch,
            tool_call_repair=True,
        )
    assert CALLED == []
    ran = Ran(driver, [{"text": "ok"}], None, session=Session(session.store, "s"), tool_call_repair=True)
    assert CALLED == [("send", GOOD)]
    assert len(ran.corrections) == 1
    ran.assert_valid()


@both
@pytest.mark.spec("S80", "A11")
def test_an_abort_while_asking_runs_nothing(driver: Driver) -> None:
    """The calls stay open, and a new prompt answers them as not run."""
    signal = suture.Signal()

    async def stopped(_request: object) -> dict[str, object]:
        signal.set("enough")
        await asyncio.sleep(30)
        return {}

    session = Session(MemoryStore(), "s")
    ran = Ran(
        driver,
        [{"calls": [BAD, call("c2", "look", {"what": "x"})]}, stopped],
        session=session,
        signal=signal,
        tool_call_repair=True,
    )
    assert ran.result.status == "interrupted"
    assert CALLED == []
    assert ran.corrections == []
    again = Ran(driver, [{"text": "ok"}], "never mind", session=session, tool_call_repair=True)
    assert all("was not run: stopped by" in text for _, text in again.results)
    again.assert_valid()


@both
@pytest.mark.spec("S79")
def test_what_the_provider_ran_is_not_run_again(driver: Driver) -> None:
    """A server tool's call and result stay in the turn as they came; only the client's calls are taken up."""
    server = [
        Opaque("anthropic", {"type": "server_tool_use", "id": "srvtoolu_1", "name": "send", "input": {}}),
        Opaque("anthropic", {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}),
    ]
    session = Session(MemoryStore(), "s")
    session.add(suture.User.of("q"))
    session.add(suture.Assistant((*server, ToolCall("c1", "look", {"what": "x"}))))
    ran = Ran(driver, [{"text": "ok"}], None, session=session, tool_call_repair=True)
    assert CALLED == [("look", {"what": "x"})]
    assert len(ran.model.requests[0].messages[1].parts) == 3


@both
@pytest.mark.spec("A9")
def test_two_calls_under_one_id_are_no_turn(driver: Driver) -> None:
    """They cannot be told apart, so the turn is asked for again, and neither runs."""
    twice = {"calls": [call("c1", "look", {"what": "a"}), call("c1", "look", {"what": "b"})]}
    ran = Ran(driver, [twice, {"text": "ok"}], retries=suture.RetryPolicy(base=0), tool_call_repair=True)
    assert CALLED == []
    assert ran.result.status == "completed"


@pytest.mark.parametrize("wrong", ["yes", 3, object(), lambda: None, suture.ToolCallRepair])
def test_a_wrong_option_is_named(wrong: Any) -> None:
    """Before anything runs."""
    with pytest.raises(ConfigurationError, match="tool_call_repair"):
        suture.Agent(ScriptedModel([]), tool_call_repair=wrong)


@pytest.mark.parametrize("rounds", [0, -1, 6, 1.5, 1.0, True, "1"])
def test_rounds_are_bounded(rounds: Any) -> None:
    """A model that never gets it right is not asked for ever."""
    with pytest.raises(ConfigurationError, match="1 to 5"):
        suture.ToolCallRepair(rounds=rounds)


# What is asked --------------------------------------------------------------------------------


def question(malformed: int, words: int = 10) -> str:
    """The question about so many calls, each with so many words in it."""
    calls = [
        Malformed(f"3:{n}", ToolCall(f"c{n}", "send", {"to": "w " * words}), "'total' is missing") for n in range(malformed)
    ]
    return side_conversation([], calls, {"send": send, "look": look}).messages[-1].text


def test_a_schema_is_told_once() -> None:
    """However many calls of its tool there are."""
    assert question(3).count("parameters of 'send'") == 1


def test_a_question_is_bounded() -> None:
    """Beyond so many calls, or so much text, the rest is not asked about: it is answered as without repair."""
    assert "32. id 'c31'" in question(1000)
    assert "33. id" not in question(1000)
    assert len(question(1000, 100_000)) < 70_000


def test_many_calls_take_no_longer_each() -> None:
    """What is asked of a long turn, and what its answers are for."""

    def work(n: int) -> None:
        calls = [Malformed(f"3:{at}", ToolCall(f"c{at}", "send", {}), "wrong") for at in range(n)]
        side_conversation([], calls, {"send": send})
        answers = [ToolCall(f"c{at}", "send", dict(GOOD)) for at in range(n)]
        assert len(corrections_of(suture.Assistant(tuple(answers)), calls, {"send": send}, [])) == n

    assert grows(work, 500) < 3 * TIMES


def test_an_id_that_is_the_key_of_another_call_is_not_shown() -> None:
    """An answer to it would be for the other."""
    calls = [Malformed("3:0", ToolCall("3:1", "send", {}), "wrong"), Malformed("3:1", ToolCall("c", "look", {}), "wrong")]
    asked = side_conversation([], calls, {"send": send, "look": look}).messages[-1].text
    assert "id '3:0': 'send'" in asked
    answer = ToolCall("x", "correct_call", {"id": "3:0", "name": "send", "arguments": GOOD})
    assert list(corrections_of(suture.Assistant((answer,)), calls, {"send": send, "look": look}, [])) == ["3:0"]
