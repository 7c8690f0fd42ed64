"""What a hostile or unlucky call, a host's own code and odd types may cost: their call, never the session."""

from __future__ import annotations

import functools
from ipaddress import IPv4Network
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import pydantic
import pytest
from pydantic import Field

import suture
from suture.errors import InvalidTool, NotJson
from suture.messages import ToolCall, ToolResult
from suture.testing import ScriptedModel
from suture.tools import Refused, Tool, prepare, result_of, tool

CALL = ToolCall("c1", "f")


def said(made: Tool, **arguments: object) -> str:
    """Why a call of the tool is refused."""
    verdict = prepare(ToolCall("c1", made.name, dict(arguments)), {made.name: made})
    assert isinstance(verdict, Refused)
    return verdict.reason


def f(x: str) -> str:
    """Do."""
    return x


def test_a_pattern_that_never_ends_refuses_its_call() -> None:
    """The run goes on, and the model reads that the text does not match."""
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"x": {"type": "string", "pattern": r"^(?=(a+)+$)(a|a)*\1b$"}},
    }
    made = Tool("t", "", schema, lambda arguments: arguments)
    assert "expected a string that matches" in said(made, x="a" * 5000)


def test_odd_words_of_the_hosts_own_check_can_be_sent() -> None:
    """A lone surrogate in a sentence of `validate` ends no session."""
    made = tool(f, validate=lambda _arguments: "bad \ud800")
    said(made, x="y").encode()


def test_a_long_sentence_keeps_its_end() -> None:
    """What to do next stands behind what is wrong, and is not cut off."""
    assert said(tool(f, validate=lambda _arguments: "é" * 9000), x="y").endswith("correct it and call again.")
    failed = suture.tools.raised(CALL, ValueError("é" * 9000))
    assert failed.text.endswith("Check what it did before calling it again.")
    assert len(failed.text.encode()) < 2100


def test_many_wrong_values_cost_what_is_told_of_them() -> None:
    """Eight sentences are told, so thousands are not put together first."""
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"x": {"type": "array", "items": {"enum": [f"e{n}" for n in range(500)]}}},
    }
    made = Tool("t", "", schema, lambda arguments: arguments)
    assert said(made, x=["wrong"] * 9000).count("expected") <= 9


def test_numbers_that_no_float_holds_reach_no_handler() -> None:
    """A legal integer may be too large for the number that is wanted."""

    def g(x: float) -> str:
        return str(x)

    assert "'x'" in said(tool(g), x=10**400)


def test_what_a_partial_has_bound_is_the_hosts() -> None:
    """Neither shown to the model nor taken from it."""

    def fetch(url: str, api_key: str) -> str:
        """Fetch."""
        return f"{url} {api_key}"

    made = tool(functools.partial(fetch, api_key="s3cret"), name="fetch")
    assert "s3cret" not in str(made.parameters)
    assert "unknown parameter 'api_key'" in said(made, url="u", api_key="evil")


def test_a_field_as_a_default_is_refused() -> None:
    """Its constraints would be lost in silence, and the handler would get the field."""

    def g(x: int = Field(gt=0)) -> int:
        return x

    with pytest.raises(InvalidTool, match=r"parameter 'x' has a Field for a default; write x: Annotated"):
        tool(g)


def test_a_type_that_cannot_be_checked_is_refused() -> None:
    """When the tool is made, with its name."""

    def g(x: Annotated[str, Field(pattern="(?=a)")]) -> str:
        return x

    with pytest.raises(InvalidTool, match="tool 'g'"):
        tool(g)


def test_an_approval_predicate_that_must_be_awaited_is_refused() -> None:
    """It would be taken for a yes."""

    async def gate(_arguments: dict[str, Any]) -> bool:
        return False

    with pytest.raises(InvalidTool, match="needs_approval is a plain function"):
        tool(f, needs_approval=gate)


@pytest.mark.parametrize(("kind", "value"), [(ZoneInfo, "s3cret/zone"), (IPv4Network, "postgres://u:s3cretpw@h")])
def test_types_of_pydantics_own_quote_nothing(kind: Any, value: str) -> None:
    """Some of its sentences hold what came; those are not told."""

    def g(x: str) -> str:
        return x

    g.__annotations__["x"] = kind
    assert "s3cret" not in said(tool(g), x=value)


def other_bind(x: str) -> str:
    """Check by another tool."""
    tool(f).bind({"y": x}, None)  # type: ignore[arg-type]
    return x


def not_json(x: str) -> str:
    """Write down what cannot be."""
    raise NotJson(x)


@pytest.mark.parametrize("handler", [other_bind, not_json])
def test_a_handler_that_ran_is_never_said_not_to_have(handler: Any) -> None:
    """Errors of suture's own that a handler raises are failures of a call that ran."""
    model = ScriptedModel([{"calls": [{"id": "c", "name": handler.__name__, "arguments": {"x": "v"}}]}, {"text": "ok"}])
    agent = suture.Agent(model, tools=[handler])
    agent.run("Go.")
    (result,) = [message for message in agent.session.messages if isinstance(message, ToolResult)]
    assert result.error_type == "execution_error"
    assert result.text.endswith("Check what it did before calling it again.")


def test_what_a_result_carries_beside_its_content_is_bounded_too() -> None:
    """And its message is named by the log."""
    with pytest.raises(NotJson, match="beside its content"):
        result_of(CALL, ToolResult("x", ext={"p": {"a": "x" * (60 * 1024 * 1024)}}))
    assert result_of(CALL, ToolResult("same", id="m1")).id is None


class Leaf(pydantic.BaseModel):
    """One thing."""

    n: int


def test_alternatives_are_told_once_each() -> None:
    """A union says what each alternative wants, not once for every error of theirs."""

    def g(x: int | Leaf) -> str:
        return str(x)

    assert len(said(tool(g), x="no")) < 400
