"""Tools from typed functions: what the model is told, and what becomes of calls that do not fit."""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Mapping
from typing import Any, Literal

import pydantic
import pytest

import suture
from suture.messages import Image, Text, ToolCall, ToolResult
from suture.testing import ScriptedModel
from suture.tools import Gated, Ready, Refused, Tool, Verdict, gate, prepare, recheck, result_of, tool


def screen(call: ToolCall, tools: Mapping[str, Tool]) -> Verdict:
    """What becomes of a model's call, without hooks."""
    prepared = prepare(call, tools)
    return prepared if isinstance(prepared, Refused) else gate(prepared)


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Address(pydantic.BaseModel):
    street: str
    city: str = "Bern"


@tool(effect="idempotent", timeout=5)
def order(
    item: str,
    ctx: suture.ToolContext,
    count: int = 1,
    size: Size = Size.SMALL,
    to: Address | None = None,
    title: Literal["Mr", "Ms"] | None = None,
) -> str:
    """Order an item
    from the shop.

    Delivery takes a day.

    Args:
        item: What to order,
            by its name.
        count: How many.
    """
    return f"{count} {item} {size.value} {to.city if to else '-'} {ctx.attempt} {title}"


def call(arguments: dict[str, object] | None, raw: str | None = None, name: str = "order") -> ToolCall:
    return ToolCall("c1", name, arguments, raw)


TOOLS = {"order": order}


def test_the_model_sees_name_description_and_parameters() -> None:
    """All of it comes from the function: types, defaults, enums, nested models, and the docstring."""
    assert order.name == "order"
    assert order.description == "Order an item from the shop.\n\nDelivery takes a day."
    properties = order.parameters["properties"]
    assert isinstance(properties, dict)
    assert list(properties) == ["item", "count", "size", "to", "title"]
    assert properties["item"] == {"description": "What to order, by its name.", "type": "string"}
    assert properties["count"] == {"default": 1, "description": "How many.", "type": "integer"}
    assert order.parameters["required"] == ["item"]
    assert order.parameters["additionalProperties"] is False
    assert "title" not in order.parameters, "the titles that pydantic adds are noise; a parameter of that name is not"


def test_the_function_itself_can_still_be_called() -> None:
    """A tool is called like the function that it was made from."""

    @tool
    def double(n: int) -> int:
        return 2 * n

    assert double(4) == 8


FITS = [
    ({"item": "tea"}, None),
    ({"item": "tea", "count": 2, "size": "large", "to": {"street": "A 1"}, "title": "Ms"}, None),
    (None, '{"item": "tea"}'),
    ({"item": "tea", "to": None}, None),
]


@pytest.mark.parametrize(("arguments", "raw"), FITS)
def test_a_call_that_fits_may_run(arguments: dict[str, object] | None, raw: str | None) -> None:
    """Arguments as a dict or as the raw text are read and may run."""
    verdict = screen(call(arguments, raw), TOOLS)
    assert isinstance(verdict, Ready)
    assert verdict.call.arguments


REFUSED = [
    ("malformed text", call(None, '{"item": "te'), "validation_error", "The arguments of 'order' cannot be read: "),
    ("a list", call(None, '["tea"]'), "validation_error", "The arguments of 'order' cannot be read: The arguments are a list"),
    ("null", call(None, "null"), "validation_error", "'item' is missing."),
    ("nothing where something is required", call(None), "validation_error", "The arguments of 'order' do not fit: 'item' is missing."),
    ("an unknown tool", call({}, name="oder"), "unknown_tool", "unknown tool 'oder' (did you mean 'order'?); expected order."),
    ("a misspelt parameter", call({"itm": "tea"}), "validation_error", "'item' is missing; unknown parameter 'itm' (did you mean 'item'?); expected item, count, size, to, title."),
    ("a text for a number", call({"item": "tea", "count": "two"}), "validation_error", "'count': input should be a valid integer, but a string came."),
    ("a fraction for an integer", call({"item": "tea", "count": 1.5}), "validation_error", "'count': input should be a valid integer"),
    ("a number for a text", call({"item": 5}), "validation_error", "'item': input should be a valid string, but a number came."),
    ("a value outside an enum", call({"item": "tea", "size": "huge"}), "validation_error", "'size': input should be 'small' or 'large', but a string came."),
    ("a nested key missing", call({"item": "tea", "to": {}}), "validation_error", "'to.street' is missing."),
    ("an infinite number", call(None, '{"item": "tea", "count": 1e999}'), "validation_error", "The arguments of 'order' cannot be read: "),
    ("a key twice", call(None, '{"item": "tea", "item": "rum"}'), "validation_error", "The arguments of 'order' cannot be read: "),
]  # fmt: skip


@pytest.mark.parametrize(("hazard", "made", "error_type", "text"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_call_that_does_not_fit_never_runs(hazard: str, made: ToolCall, error_type: str, text: str) -> None:
    """The model is told the parameter, what came, what was expected and the near names; nothing is guessed."""
    verdict = screen(made, TOOLS)
    assert isinstance(verdict, Refused), hazard
    assert verdict.error_type == error_type
    assert text in verdict.reason
    assert "was not run" in verdict.reason


def test_the_reason_is_bounded_and_echoes_no_value() -> None:
    """A hundred wrong parameters give one short text, and a secret in a value is not repeated."""
    verdict = screen(call({f"wrong{n}": "s3cret" for n in range(100)}), TOOLS)
    assert isinstance(verdict, Refused)
    assert len(verdict.reason.encode()) <= 2048
    assert "s3cret" not in verdict.reason
    assert "and 93 more" in verdict.reason


@pytest.mark.parametrize(
    ("gate", "kind"),
    [(True, Gated), (False, Ready), (lambda arguments: arguments["item"] == "gun", Ready), (lambda _: 1, Gated)],
)
def test_a_gate_parks_a_call(gate: bool | Callable[[dict[str, object]], object], kind: type) -> None:
    """True or a predicate over the arguments; a call that was approved is not asked about again."""
    gated = tool(name="order", needs_approval=gate)(order.handler)
    assert isinstance(screen(call({"item": "tea"}), {"order": gated}), kind)
    assert isinstance(recheck(call({"item": "tea"}), {"order": gated}), Ready)


class Fixed:
    session = None
    key = "1:0"
    call = ToolCall("c1", "order", {})
    idempotency_key = "k"
    attempt = 3
    interrupted = False
    deadline = None
    context = None

    def progress(self, text: str) -> None:
        raise AssertionError(text)


def test_a_handler_gets_the_types_that_it_declares() -> None:
    """Enums, nested models and the context arrive as such; defaults fill in."""
    arguments = {"item": "tea", "size": "large", "to": {"street": "A 1"}}
    assert order.handler(**order.bind(arguments, Fixed())) == "1 tea large Bern 3 None"


def test_a_handler_cannot_change_the_recorded_call() -> None:
    """What the handler is given shares nothing with the call."""

    @tool
    def grow(items: list[int]) -> int:
        items.append(1)
        return len(items)

    arguments: dict[str, object] = {"items": [1, 2]}
    assert grow.handler(**grow.bind(arguments, Fixed())) == 3
    assert arguments == {"items": [1, 2]}


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ("text", (Text("text"),)),
        (None, ()),
        ("", ()),
        ({"b": 1, "a": [True]}, (Text('{"a":[true],"b":1}'),)),
        ([1, 2], (Text("[1,2]"),)),
        (2.5, (Text("2.5"),)),
        ([Text("see"), Image(url="u")], (Text("see"), Image(url="u"))),
        (ToolResult((Text("x"),), error=True, ui={"id": 1}), (Text("x"),)),
    ],
)
def test_what_a_handler_returns_becomes_its_answer(value: object, parts: tuple[object, ...]) -> None:
    """Texts, nothing, parts and JSON values are answers; `ui` and `error` of a result are kept."""
    result = result_of(ToolCall("c9", "order"), value)
    assert (result.parts, result.call_id, result.name) == (parts, "c9", "order")
    assert result.error is (isinstance(value, ToolResult) and value.error)


def no_type(n) -> int:  # type: ignore[no-untyped-def] # noqa: ANN001
    return int(n)


def any_number(*n: int) -> int:
    return sum(n)


def no_such_name(_n: Nowhere) -> int:  # type: ignore[name-defined] # noqa: F821
    return 1


def no_json(_n: threading.Event) -> int:
    return 1


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (no_type, "tool 'no_type': parameter 'n' cannot be offered to a model; name it and give it a type."),
        (any_number, "tool 'any_number': parameter 'n' cannot be offered to a model"),
        (
            no_such_name,
            "tool 'no_such_name': name 'Nowhere' is not defined; import the name where the function is defined.",
        ),
        (no_json, "tool 'no_json': a parameter has a type that no JSON value can have"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_at_once(function: Callable[..., object], text: str) -> None:
    """The message names the tool, the parameter and the mend."""
    with pytest.raises(suture.InvalidTool) as refused:
        tool(function)
    assert text in str(refused.value)


def test_two_tools_of_one_name_are_refused() -> None:
    """A model could not tell them apart."""
    twin: Tool = tool(name="order")(lambda: 1)
    with pytest.raises(suture.InvalidTool, match="Two tools are called 'order'"):
        suture.Agent(ScriptedModel([]), tools=[order, twin])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"effect": "External"}, "tool 'act': effect 'External' is none of read, idempotent, external."),
        ({"timeout": "5"}, "tool 'act': timeout is a number of seconds above 0, or None; not '5'."),
        ({"timeout": -1}, "not -1."),
        ({"timeout": float("inf")}, "not inf."),
        ({"needs_approval": "yes"}, "needs_approval is True, False or a predicate over the arguments, not 'yes'."),
        ({"reconcile": "yes"}, "its handler, and its `reconcile` when it has one, are functions."),
    ],
)
def test_a_misspelt_option_is_refused_at_once(options: dict[str, Any], text: str) -> None:
    """A wrong effect would decide what is repeated after a crash, so it never gets that far."""

    def act() -> None:
        """Act."""

    with pytest.raises(suture.InvalidTool) as refused:
        tool(**options)(act)
    assert text in str(refused.value)
