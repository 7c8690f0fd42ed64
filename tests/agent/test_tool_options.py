"""What the host adds to a tool: normalising, its own checks, approval, and an end of the turn."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import suture
from suture.messages import ToolCall
from suture.tools import Gated, Ready, Refused, Tool, Verdict, gate, prepare, recheck, tool


def screen(call: ToolCall, tools: Mapping[str, Tool]) -> Verdict:
    """What becomes of a model's call, without hooks."""
    prepared = prepare(call, tools)
    return prepared if isinstance(prepared, Refused) else gate(prepared)


def order(item: str, count: int = 1) -> str:
    """Order."""
    return f"{count} {item}"


def call(arguments: dict[str, Any] | None = None, raw: str | None = None) -> ToolCall:
    return ToolCall("c1", "order", arguments, raw)


def prepared(made: Tool, given: ToolCall) -> Ready | Refused:
    return prepare(given, {"order": made})


def lowered(arguments: dict[str, Any]) -> dict[str, Any]:
    arguments["item"] = arguments.pop("Item", "").lower()
    return arguments


@pytest.mark.spec("S142", "S150")
def test_arguments_are_normalised_once_before_they_are_checked() -> None:
    """A model's own call is read as it was meant; the recorded call stays as it came; an approved one is not normalised again."""
    runs: list[dict[str, Any]] = []

    def counting(arguments: dict[str, Any]) -> dict[str, Any]:
        runs.append(arguments)
        return lowered(arguments)

    made = tool(normalize=counting)(order)
    given = call({"Item": "TEA"})
    ready = prepared(made, given)
    assert isinstance(ready, Ready)
    assert (ready.call.arguments, given.arguments, len(runs)) == ({"item": "tea"}, {"Item": "TEA"}, 1)
    assert isinstance(gate(ready), Ready)
    assert recheck(ready.call, {"order": made}) == ready
    assert isinstance(recheck(given, {"order": made}), Refused)
    assert len(runs) == 1


def deep(arguments: dict[str, Any]) -> dict[str, Any]:
    for _ in range(70):
        arguments = {"item": arguments}
    return arguments


def endless(arguments: dict[str, Any]) -> dict[str, Any]:
    arguments["item"] = arguments
    return arguments


def failing(arguments: dict[str, Any]) -> Any:
    raise KeyError("s3cret", arguments)


async def later(arguments: dict[str, Any]) -> Any:
    return arguments


BAD_NORMALS: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (failing, "KeyError"),
    (lambda _: None, "no JSON object"),
    (lambda _: ["item"], "no JSON object"),
    (lambda _: {"item": {1}}, "no JSON object"),
    (lambda _: {"item": float("nan")}, "no JSON object"),
    (lambda _: {1: "s3cret"}, "no JSON object"),
    (lambda arguments: later(arguments), "no JSON object"),
    (deep, "no JSON object"),
    (endless, "no JSON object"),
    (lambda _: {"item": "s3cret" * 2_000_000}, "no JSON object"),
    (lambda _: {"item": [0] * 20_000}, "no JSON object"),
]


@pytest.mark.parametrize(("normalize", "why"), BAD_NORMALS)
def test_a_normaliser_that_fails_refuses_its_call_alone(normalize: Callable[[dict[str, Any]], Any], why: str) -> None:
    """Raising, or giving back what no call can have; only the class of the error is told."""
    refused = prepared(tool(normalize=normalize)(order), call({"item": "s3cret"}))
    assert isinstance(refused, Refused)
    assert refused.error_type == "normalize_error"
    assert why in refused.reason
    assert refused.reason.endswith("so the call was not run.")
    assert "s3cret" not in refused.reason


SAID: list[tuple[object, str]] = [
    ("too late", "The arguments of 'order' do not fit: too late. The call was not run"),
    (["too late", "", "too much"], "do not fit: too late; too much."),
    (("too late",), "do not fit: too late."),
]


@pytest.mark.parametrize(("said", "text"), SAID)
def test_what_the_host_finds_wrong_is_told(said: Any, text: str) -> None:
    """A text, or several; at the first check and at the second."""
    made = tool(validate=lambda _: said)(order)
    for refused in (prepared(made, call({"item": "tea"})), recheck(call({"item": "tea"}), {"order": made})):
        assert isinstance(refused, Refused)
        assert refused.error_type == "validation_error"
        assert text in refused.reason


@pytest.mark.parametrize("said", [None, "", " ", [], (), [""]])
def test_a_check_that_finds_nothing_lets_the_call_run(said: Any) -> None:
    """Nothing, in any form, is nothing."""
    assert isinstance(prepared(tool(validate=lambda _: said)(order), call({"item": "tea"})), Ready)


@pytest.mark.parametrize(
    ("validate", "why"),
    [
        (failing, "KeyError"),
        (lambda _: False, "no text"),
        (lambda _: {"s3cret": 1}, "no text"),
        (lambda _: ["a", 5], "no text"),
        (lambda arguments: later(arguments), "no text"),
    ],
)
def test_a_check_that_fails_refuses_its_call_alone(validate: Callable[[dict[str, Any]], Any], why: str) -> None:
    """A check that could not say yes did not say yes; its details stay with the host."""
    refused = prepared(tool(validate=validate)(order), call({"item": "s3cret"}))
    assert isinstance(refused, Refused)
    assert (refused.error_type, why in refused.reason, "s3cret" in refused.reason) == ("validate_error", True, False)


def test_a_check_sees_only_what_fits() -> None:
    """It runs behind the schema, so it need not look at types."""
    seen: list[dict[str, Any]] = []
    made = tool(validate=seen.append)(order)
    assert isinstance(prepared(made, call({"item": 5})), Refused)
    assert isinstance(prepared(made, call(None, '{"item": "tea"}')), Ready)
    assert seen == [{"item": "tea"}]


def test_host_code_cannot_change_the_call() -> None:
    """Normaliser, check and predicate look at copies, all the way down."""

    def change(arguments: dict[str, Any]) -> None:
        arguments["inner"]["n"] = 2

    def take(arguments: dict[str, Any]) -> None: ...

    def gated(arguments: dict[str, Any]) -> bool:
        change(arguments)
        return True

    def normal(arguments: dict[str, Any]) -> dict[str, Any]:
        change(arguments)
        return {"inner": {"n": 1}}

    made = Tool("order", "", {"type": "object"}, take, needs_approval=gated, normalize=normal, validate=change)
    given = call({"inner": {"n": 1}})
    verdict = screen(given, {"order": made})
    assert isinstance(verdict, Gated)
    assert (given.arguments, verdict.call.arguments) == ({"inner": {"n": 1}}, {"inner": {"n": 1}})


def test_the_gate_is_asked_about_what_will_run() -> None:
    """The normalised arguments are those that a person approves."""
    made = tool(normalize=lowered, needs_approval=lambda arguments: arguments["item"] == "gun")(order)
    verdict = screen(call({"Item": "GUN"}), {"order": made})
    assert isinstance(verdict, Gated)
    assert verdict.call.arguments == {"item": "gun"}


def test_a_gate_that_fails_refuses_its_call() -> None:
    """Authority in doubt is no authority."""
    verdict = screen(call({"item": "s3cret"}), {"order": tool(needs_approval=failing)(order)})
    assert isinstance(verdict, Refused)
    assert (verdict.error_type, "s3cret" in verdict.reason) == ("approval_error", False)


BOUNDS: list[tuple[dict[str, Any], str]] = [
    (deep({}), "nested deeper than 64 levels"),
    ({"items": [0] * 10_001}, "more than 10,000 values"),
    ({"item": "x" * (8 * 1024 * 1024 + 1)}, "8 MiB"),
    ({"item": 10**70_000}, "more digits"),
]


@pytest.mark.spec("S149")
@pytest.mark.parametrize(("arguments", "text"), BOUNDS, ids=[text for _, text in BOUNDS])
def test_arguments_have_bounds(arguments: dict[str, Any], text: str) -> None:
    """What no honest call has is refused before anything looks into it."""
    refused = prepared(tool(normalize=failing)(order), call(arguments))
    assert isinstance(refused, Refused)
    assert refused.error_type == "validation_error"
    assert text in refused.reason


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"normalize": later}, "normalize is a plain function of the arguments, or None; not"),
        ({"validate": functools.partial(later)}, "validate is a plain function of the arguments, or None; not"),
        ({"validate": "strict"}, "validate is a plain function of the arguments, or None; not 'strict'."),
        ({"ends_turn": 1}, "ends_turn is True or False, not 1."),
    ],
)
def test_an_option_of_the_wrong_kind_is_refused_at_once(options: dict[str, Any], text: str) -> None:
    """A check that nobody awaits would let everything pass."""
    with pytest.raises(suture.InvalidTool) as refused:
        tool(**options)(order)
    assert str(refused.value).startswith("tool 'order': ")
    assert text in str(refused.value)


def test_options_are_kept() -> None:
    """What `tool` was told, the tool says."""
    made = tool(order, ends_turn=True, timeout=5, effect="read")
    assert (made.ends_turn, made.timeout, made.effect) == (True, 5, "read")
