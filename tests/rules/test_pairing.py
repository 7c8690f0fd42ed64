"""Which result answers which call: by occurrence, real before stand-in, whatever the ids do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from suture.messages import Assistant, Message, Text, ToolCall, ToolResult, User
from suture.pairing import Answers, Pairing, Repeats, Stray, pair
from suture.repair import stand_in, stand_in_text
from suture.stand_ins import is_stand_in
from tests.growth import TIMES, grows

INTERRUPTED = "Tool call was interrupted before it completed."


def turn(*ids: str, name: str = "f") -> Assistant:
    return Assistant(tuple(ToolCall(id, name, {}) for id in ids))


def calls(*given: tuple[str, str]) -> Assistant:
    return Assistant(tuple(ToolCall(id, name, {}) for id, name in given))


def named(*names: str) -> Assistant:
    return calls(*(("", name) for name in names))


def result(id: str, text: str, name: str | None = None) -> ToolResult:
    return ToolResult((Text(text),), call_id=id, name=name)


def answers(*messages: Message) -> list[list[str | None]]:
    """The text that answers each call, turn by turn."""
    pairing = pair(messages)
    return [
        [answer.result.text if answer is not None else None for answer in turn.answers] for turn in pairing.turns.values()
    ]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param((turn("a"), result("a", "x")), [["x"]], id="in place"),
        pytest.param((turn("a", "b"), result("b", "2"), result("a", "1")), [["1", "2"]], id="other order"),
        pytest.param((turn("a"), User.of("?"), result("a", "x")), [["x"]], id="late"),
        pytest.param((result("a", "x"), turn("a")), [["x"]], id="before its call"),
        pytest.param((turn("a"), turn("a"), result("a", "x")), [[None], ["x"]], id="nearest earlier turn"),
        pytest.param((turn("a"), result("a", "1"), turn("a"), result("a", "2")), [["1"], ["2"]], id="id reused"),
        pytest.param((turn("a", "a"), result("a", "1"), result("a", "2")), [["1", "2"]], id="one id twice in a turn"),
        pytest.param((turn("a"), result("a", INTERRUPTED), result("a", "x")), [["x"]], id="real beats stand-in"),
        pytest.param((turn("a"), result("a", "x"), result("a", INTERRUPTED)), [["x"]], id="stand-in loses when later"),
        pytest.param((turn("a"), result("a", "1"), result("a", "2")), [["2"]], id="later real one counts"),
        pytest.param((turn("a"), result("a", "1"), result("a", "1")), [["1"]], id="exact repeats are one"),
        pytest.param((turn("a"), result("a", "1"), result("a", "")), [[""]], id="an empty one is an answer like any other"),
        pytest.param((turn("a"), result("a", ""), result("a", "1")), [["1"]], id="words take the place of nothing"),
        pytest.param((turn("a"), result("a", "")), [[""]], id="nothing alone is an answer"),
        pytest.param(
            (turn("a"), result("a", "Tool execution aborted"), result("a", "Cancelled order 42, refund issued.")),
            [["Cancelled order 42, refund issued."]],
            id="a real one that begins like a stand-in",
        ),
        pytest.param((turn("a"), result("a", INTERRUPTED)), [[INTERRUPTED]], id="a stand-in alone stands"),
        pytest.param((turn("", ""), result("", "1"), result("", "2")), [["1", "2"]], id="no ids, by place"),
        pytest.param((turn("a"), result("", "1")), [["1"]], id="result without id, by place"),
        pytest.param((turn("", ""), result("", "1")), [["1", None]], id="no ids and fewer results, in order"),
        pytest.param((turn("a", "b"), result("", "1")), [[None, None]], id="two calls that it may be for: no guess"),
        pytest.param((turn("a"), result("b", "1")), [[None]], id="another id is no answer"),
        pytest.param(
            (turn("a", name="f"), turn("a", name="g"), result("a", "x", name="f")), [["x"], [None]], id="the name decides"
        ),
        # no ids, but names, as Gemini has it
        pytest.param((named("f", "f"), result("", "1", "f"), result("", "2", "f")), [["1", "2"]], id="one name twice"),
        pytest.param(
            (named("f", "g"), result("", "2", "g"), result("", "1", "f")), [["1", "2"]], id="names in another order"
        ),
        pytest.param(
            (named("f", "g", "f"), result("", "1", "f"), result("", "3", "f"), result("", "2", "g")),
            [["1", "2", "3"]],
            id="by name, and by place within a name",
        ),
        pytest.param((named("f"), result("", "x", "g")), [[None]], id="another name is no answer"),
        pytest.param((named("f"), User.of("?"), named("g"), result("", "x", "f")), [["x"], [None]], id="late, by name"),
        pytest.param((named("f"), result("", "x", "unknown")), [["x"]], id="a name that was lost, by place"),
        pytest.param((named("f", "g"), result("", "2", "unknown"), result("", "1", "f")), [["1", "2"]], id="one name lost"),
        pytest.param((named("f"), result("", "1", "f"), result("", "2", "f")), [["2"]], id="no ids, later real one counts"),
        pytest.param(
            (named("f"), result("", "1", "f"), named("g"), result("", "2", "g"), result("", "3", "f")),
            [["1"], ["2"]],
            id="a name says nothing of earlier turns that are answered",
        ),
        pytest.param(
            (named("f", "g"), result("", "1", "f"), result("", "2", "h")), [["1", None]], id="no place for a third name"
        ),
        pytest.param(
            (calls(("a", "f"), ("b", "g")), result("", "2", "g"), result("", "1", "f")),
            [["1", "2"]],
            id="results without ids, in another order by name",
        ),
        pytest.param((named("f"), result("r1", "x", "f")), [["x"]], id="a call without the id that its result has"),
        pytest.param(
            (calls(("a", "f"), ("b", "f")), result("", "1", "f")), [[None, None]], id="one result, two calls: no guess"
        ),
        pytest.param(
            (
                calls(
                    ("a", "f"),
                ),
                result("", "1", "a"),
            ),
            [["1"]],
            id="the id in the place of the name",
        ),
    ],
)
def test_a_result_finds_its_call(messages: tuple[Message, ...], expected: list[list[str | None]]) -> None:
    """Pairing goes by occurrence and place, never by a global map of ids."""
    assert answers(*messages) == expected


def test_results_are_told_where_they_land() -> None:
    """Whoever adds a result learns whether it answers, repeats, or belongs to nobody."""
    pairing = Pairing()
    pairing.add_turn(0, turn("a").calls)
    assert isinstance(pairing.add_result(1, result("b", "x")), Stray)
    landed = pairing.add_result(2, result("a", "x"))
    assert isinstance(landed, Answers)
    assert landed.loser is None
    assert isinstance(pairing.add_result(3, result("a", "x")), Repeats)
    replaced = pairing.add_result(4, result("a", "y"))
    assert isinstance(replaced, Answers)
    assert replaced.loser is not None
    assert replaced.loser.position == 2
    assert [stray.position for stray in pairing.strays()] == [1]


def test_a_result_with_other_words_came_when_it_came() -> None:
    """What repeats the last result of its id is that again, and no answer to an older call, whichever was edited since."""
    pairing = Pairing()
    bare, first, last = (pairing.add_turn(at, turn("a").calls) for at in (0, 1, 2))
    pairing.answer(first, 0, 3, result("a", "x"))
    pairing.answer(last, 0, 4, result("a", "y"))
    pairing.restate(first, 0, result("a", "z"))
    assert pairing.add_result(5, result("a", "y")) == Repeats(last, 0)
    assert bare.answers == [None]


@pytest.mark.parametrize("reason", [None, "the step limit was reached", "stopped by ada."])
@pytest.mark.parametrize("why", ["not_run", "unknown", "lost", "timeout"])
def test_our_own_texts_are_known_as_stand_ins(why: str, reason: str | None) -> None:
    """A stand-in that came back through a provider's format without its mark still loses to a real result."""
    text = stand_in_text(why, reason)  # type: ignore[arg-type]
    assert is_stand_in(result("a", text))


@pytest.mark.parametrize(
    "text",
    [
        "aborted",
        "[Tool use interrupted]",
        "tool was interrupted by restart",
        "Tool call was skipped/interrupted by user.",
        "No result provided",
        "Error: this tool call was not executed, or its result was lost from the conversation history.",
        INTERRUPTED,
        "[Request interrupted by user]",
        "[Request interrupted by user for tool use]",
        "[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair.",
        "Tool result missing",
        "[no result: interrupted]",
        "The tool call was interrupted before a result was produced.",
        "Tool not executed - a final result was already processed.",
        "Tool call get_weather with id call_1 was cancelled - another message came in before it could be completed.",
        "Tool execution was interrupted",
        "[Tool execution was interrupted]",
        "Tool execution canceled by user",
        "aborted by user after 1.2s",
        "Cancelled by user.",
        "not executed (history repair)",
        "Not executed, or its result was lost",
        "No tool result found for this call.",
        "No result for tool call call_1",
        "Skipped due to queued user message.",
        "The tool 'search' was aborted.",
    ],
)
def test_other_peoples_texts_are_known_too(text: str) -> None:
    """What frameworks write for a missing result is no result."""
    assert is_stand_in(result("a", text))


@pytest.mark.parametrize(
    "text",
    [
        "done",
        "",
        "42 rows",
        "The flight was cancelled by the airline.",
        "resulting in nothing",
        "Cancelled order 42, refund 13 EUR issued.",
        "Cancelled order 42 as asked",
        "Error: aborted: disk full, 3 rows were written",
        "No result found in table orders",
        "No results",
        "Not run: 3 tests; run: 40 tests",
        "Skipped 3 of 40 rows",
        "Interrupted power at 12:03, restored at 12:05",
        "Rejected the payment: card expired",
        "Aborted after 3 rows; 3 rows were written, ids 4, 5, 6",
        "Call 42 minutes long",
        "Result: lost luggage found in Bern",
        "Execution was skipped because the file exists",
        "Call interrupted: 3 rows written",
        "The run was aborted after writing 40 rows to orders",
        "Error: call did not complete, charged 5 EUR",
        "output not found in directory; created /tmp/x",
        "Request interrupted by user: balance 500",
        "Rejected by bank",
        "Skipped (already up to date)",
    ],
)
def test_real_results_are_not(text: str) -> None:
    """A result that speaks of stops and losses elsewhere than at its head is real."""
    assert not is_stand_in(result("a", text))


def test_a_persons_no_is_an_answer() -> None:
    """A denial is not replaced by a result that arrives later from somewhere."""
    denied = stand_in(ToolCall("a", "f", {}), "denied")
    assert not is_stand_in(denied)
    assert not denied.error


SHAPES: Mapping[str, Callable[[int], list[Message]]] = {
    "parallel": lambda n: [turn(*map(str, range(n))), *(result(str(at), "x") for at in range(n))],
    "one id in a turn": lambda n: [turn(*["a"] * n), *(result("a", str(at)) for at in range(n))],
    "one id every turn": lambda n: [message for at in range(n) for message in (turn("a"), result("a", str(at)))],
    "strays": lambda n: [result(str(at), "x") for at in range(n)],
    "strays of one id": lambda n: [result("a", str(at)) for at in range(n)],
    "names in a turn": lambda n: [
        named(*["f", "g"] * (n // 2)),
        *(result("", "x", name) for name in ["g"] * (n // 2) + ["f"] * (n // 2)),
    ],
    "other names": lambda n: [*[named("f")] * n, *(result("", str(at), "g") for at in range(n))],
    "one id, stand-ins at the end": lambda n: [*[turn("a")] * n, *[result("a", INTERRUPTED)] * n],
    "one id, other names": lambda n: [*[turn("a")] * n, *(result("a", str(at), "g") for at in range(n))],
    "one id, early and other names": lambda n: [*(result("a", str(at), "g") for at in range(n)), *[turn("a")] * n],
    "one id, each its name, in reverse": lambda n: [
        calls(*(("a", f"f{at}") for at in range(n))),
        *(result("a", "x", f"f{at}") for at in reversed(range(n))),
    ],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_pairing_is_linear(shape: str) -> None:
    """Shapes that are quadratic for a naive walk take the time of any other history."""
    assert grows(lambda n: pair(SHAPES[shape](n)), 500) < TIMES * 3
