"""Every way to make a tool: what the model is shown, what the handler gets, and what cannot be one."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import datetime
import decimal
import enum
import functools
import inspect
import subprocess
import sys
import typing
import uuid
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, NotRequired

import pydantic
import pytest
import typing_extensions

import suture
from suture.messages import ToolCall
from suture.testing import ScriptedModel
from suture.tools import Ready, Refused, Tool, ToolContext, prepare, tool

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "total": {"type": "number", "minimum": 0}},
    "required": ["to", "total"],
    "additionalProperties": False,
}


class Fixed:
    session = None
    key = "1:0"
    call = ToolCall("c1", "gift", {})
    idempotency_key = "k"
    attempt = 3
    interrupted = False
    deadline = None
    context = None

    def progress(self, text: str) -> None:
        raise AssertionError(text)


def ran(made: Tool, arguments: dict[str, object]) -> object:
    """What the handler returns for those arguments, as the loop calls it."""
    verdict = prepare(ToolCall("c1", made.name, arguments), {made.name: made})
    assert isinstance(verdict, Ready), verdict
    got = made.handler(**made.bind(verdict.call.arguments or {}, Fixed()))
    return asyncio.run(typing.cast("Any", got)) if inspect.iscoroutinefunction(made.handler) else got


class GiftModel(pydantic.BaseModel):
    """A gift."""

    to: str = pydantic.Field(description="Who gets it.")
    total: float


@dataclasses.dataclass
class GiftData:
    """A gift.

    Attributes:
        total: In dollars.
    """

    to: Annotated[str, "Who gets it."]
    total: float


class GiftDict(typing_extensions.TypedDict):
    to: Annotated[str, "Who gets it."]
    total: float
    note: typing_extensions.NotRequired[str]


class PlainDict(typing.TypedDict):  # pydantic refuses these below Python 3.12
    to: Annotated[str, "Who gets it."]
    total: float
    note: NotRequired[str]


class SendData(pydantic.BaseModel):
    """Send a gift."""

    name: ClassVar[str] = "gift"
    to: str
    total: float

    def call(self) -> str:
        return f"{self.to} {self.total}"


@dataclasses.dataclass
class SendAsync:
    """Send a gift."""

    to: str
    total: float

    async def call(self, context: ToolContext) -> str:
        return f"{self.to} {self.total} {context.attempt}"


class SendGift:
    """Send a gift."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix

    def call(self, to: str, total: float, ctx: ToolContext) -> str:
        return f"{self.prefix}{to} {total} {ctx.attempt}"


class Named:
    name = "gift"
    description = "Send a gift."
    effect = "read"

    async def call(self, to: str, total: float) -> str:
        """What only its reader needs to know."""
        return f"{to} {total}"


def by_function(to: Annotated[str, "Who gets it."], total: float, ctx: ToolContext) -> str:
    """Send a gift."""
    return f"{to} {total} {ctx.attempt}"


def by_model(gift: GiftModel) -> str:
    """Send a gift."""
    assert isinstance(gift, GiftModel)
    return f"{gift.to} {gift.total}"


def by_data(gift: GiftData, ctx: ToolContext) -> str:
    """Send a gift."""
    assert isinstance(gift, GiftData)
    return f"{gift.to} {gift.total} {ctx.attempt}"


def by_dict(gift: GiftDict | dict[str, Any]) -> str:
    """Send a gift."""
    return f"{gift['to']} {gift['total']}"


async def by_dict_async(gift: dict[str, Any], ctx: ToolContext) -> str:
    """Send a gift."""
    return f"{gift['to']} {gift['total']} {ctx.attempt}"


def by_dict_with_client(client: str, gift: dict[str, Any]) -> str:
    return f"{client}{gift['to']} {gift['total']}"


class Called:
    def __call__(self, to: str, total: float) -> str:
        """Send a gift."""
        return f"{to} {total}"


WAYS: dict[str, tuple[Callable[[], Tool], str, str]] = {
    "a function": (lambda: tool(by_function), "by_function", "ann 5.0 3"),
    "a model": (lambda: tool(by_model, parameters=GiftModel), "by_model", "ann 5.0"),
    "a dataclass": (lambda: tool(parameters=GiftData)(by_data), "by_data", "ann 5.0 3"),
    "a TypedDict": (lambda: tool(parameters=GiftDict, name="gift")(by_dict), "gift", "ann 5.0"),
    "a TypedDict of typing": (lambda: tool(parameters=PlainDict)(by_dict), "by_dict", "ann 5.0"),
    "a schema": (lambda: tool(parameters=SCHEMA)(by_dict_async), "by_dict_async", "ann 5 3"),
    "a tool by hand": (lambda: Tool("gift", "Send a gift.", SCHEMA, by_dict_async), "gift", "ann 5 3"),
    "a tool by hand, of a partial": (
        lambda: Tool(name="gift", description="Send a gift.", parameters=SCHEMA, handler=functools.partial(by_dict_with_client, "to ")),
        "gift",
        "to ann 5",
    ),
    "a model with a call": (lambda: tool(SendData), "gift", "ann 5.0"),
    "a dataclass with a call": (lambda: tool(SendAsync), "send_async", "ann 5.0 3"),
    "an object": (lambda: tool(SendGift("to "), effect="read"), "send_gift", "to ann 5.0 3"),
    "a class": (lambda: tool(SendGift), "send_gift", "ann 5.0 3"),
    "an object with a name": (lambda: tool(Named()), "gift", "ann 5.0"),
    "an object that is called": (lambda: tool(name="gift")(Called()), "gift", "ann 5.0"),
    "another description": (lambda: tool(description="Send a gift.", name="g")(by_dict_with_client_typed), "g", "ann 5.0"),
}  # fmt: skip


def by_dict_with_client_typed(to: str, total: float) -> str:
    """Some other words."""
    return f"{to} {total}"


@pytest.mark.parametrize("way", WAYS)
def test_each_way_gives_a_tool_that_runs(way: str) -> None:
    """Its name, its description and its parameters are there, and the handler gets what it declares."""
    make, name, said = WAYS[way]
    made = make()
    assert (made.name, made.description) == (name, "Send a gift.")
    properties = made.parameters["properties"]
    assert isinstance(properties, dict)
    assert list(properties)[:2] == ["to", "total"]
    assert made.parameters["type"] == "object"
    assert made.parameters["required"] == ["to", "total"]
    assert made.parameters["additionalProperties"] is False
    assert ran(made, {"to": "ann", "total": 5}) == said


@pytest.mark.spec("S62")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"total": 5}, "'to' is missing."),
        ({"to": "ann", "totl": 5}, "unknown parameter 'totl' (did you mean 'total'?); expected to, total"),
        ({"to": "ann", "total": "s3cret"}, "'total': "),
        ({"to": "ann", "total": True}, "but a boolean came."),
    ],
)
def test_each_way_checks_strictly(way: str, arguments: dict[str, object], text: str) -> None:
    """Missing, misspelt and mistyped parameters are told by name, and no value is repeated."""
    made = WAYS[way][0]()
    refused = prepare(ToolCall("c", made.name, arguments), {made.name: made})
    assert isinstance(refused, Refused)
    assert refused.error_type == "validation_error"
    assert text in refused.reason
    assert "s3cret" not in refused.reason


@pytest.mark.parametrize("kind", [GiftModel, GiftData, GiftDict, PlainDict])
def test_the_descriptions_of_a_record_are_shown(kind: type) -> None:
    """From `Field`, from `Annotated`, and from the docstring of the class."""
    shown: Any = tool(by_dict, parameters=kind).parameters["properties"]
    assert shown["to"]["description"] == "Who gets it."
    if kind is GiftData:
        assert shown["total"]["description"] == "In dollars."


def test_an_agent_takes_classes_and_objects() -> None:
    """What `tool` takes without options can be given to an agent as it is."""
    agent = suture.Agent(ScriptedModel([]), tools=[SendAsync, by_function, SendGift])
    assert list(agent.tools) == ["send_async", "by_function", "send_gift"]


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


def types(
    colour: Colour,
    level: Literal["low", "high"] = "low",
    day: datetime.date | None = None,
    at: datetime.datetime | None = None,
    id: uuid.UUID | None = None,
    price: decimal.Decimal = decimal.Decimal("1.50"),
    points: list[Point] = [],  # noqa: B006
    names: dict[str, list[int]] | None = None,
    either: int | str = 1,
    count: Annotated[int, pydantic.Field(ge=1, description="How many.")] = 1,
    pair: tuple[int, str] = (1, "a"),
) -> tuple[object, ...]:
    """Take all."""
    return colour, level, day, at, id, price, points, names, either, count, pair


def test_types_arrive_as_what_they_are() -> None:
    """Enums, dates, UUIDs, decimals, dataclasses and unions; defaults fill in, and are shown."""
    number = uuid.UUID(int=7)
    arguments: dict[str, object] = {
        "colour": "red",
        "level": "high",
        "day": "2026-01-02",
        "at": "2026-01-02T03:04:05Z",
        "id": str(number),
        "price": "2.50",
        "points": [{"x": 1}],
        "names": {"a": [1]},
        "either": "b",
        "count": 2,
        "pair": [2, "b"],
    }
    made = tool(types)
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    assert ran(made, arguments) == (
        *(Colour.RED, "high", datetime.date(2026, 1, 2), moment, number, decimal.Decimal("2.50")),
        *([Point(1)], {"a": [1]}, "b", 2, (2, "b")),
    )
    assert ran(made, {"colour": "red"}) == types(Colour.RED)
    shown: Any = made.parameters["properties"]
    assert (shown["count"]["minimum"], shown["count"]["description"], shown["level"]["default"]) == (1, "How many.", "low")


def test_a_default_is_not_shared_between_calls() -> None:
    """A handler that changes its default changes it for no other call."""

    @tool
    def grow(items: list[int] = []) -> int:  # noqa: B006
        items.append(1)
        return len(items)

    assert [ran(grow, {}), ran(grow, {})] == [1, 1]


def test_a_raw_handler_cannot_change_the_recorded_call() -> None:
    """The dict that it gets shares nothing with the call."""

    def change(arguments: dict[str, Any]) -> None:
        arguments["items"].append(1)

    made = Tool("change", "", {"type": "object"}, change)
    arguments: dict[str, object] = {"items": [1]}
    made.handler(**made.bind(arguments, Fixed()))
    assert arguments == {"items": [1]}


def test_a_schema_is_the_tools_own() -> None:
    """Whoever changes the dict afterwards changes neither what is shown nor what is checked."""
    schema: dict[str, Any] = {"type": "object", "properties": {"b": {"type": "string"}, "a": {}}, "required": ["b"]}
    made = Tool("t", "", schema, by_dict)
    schema["properties"].clear()
    schema["required"].clear()
    assert list(typing.cast("Any", made.parameters["properties"])) == ["b", "a"]
    assert made.violations({}) == ["'b' is missing"]


def test_a_made_tool_can_be_changed_with_replace() -> None:
    """Options and schema change; what checks the arguments goes with the schema."""
    made = Tool("t", "", SCHEMA, by_dict)
    other = dataclasses.replace(made, parameters={"type": "object"}, effect="read", ends_turn=True)
    assert (made.violations({}) != [], other.violations({})) == (True, [])
    typed = dataclasses.replace(tool(by_function), effect="read")
    assert typed.violations({"to": "a"}) == ["'total' is missing"]


class Tree(pydantic.BaseModel):
    value: int
    kids: list[Tree] = []


def test_a_model_that_holds_itself_is_shown_as_an_object() -> None:
    """Providers want an object at the top, not a reference; depth is checked all the same."""
    made = tool(by_dict, parameters=Tree)
    assert made.parameters["type"] == "object"
    assert made.violations({"value": 1, "kids": [{"value": 2, "kids": [{"valu": 3}]}]}) == [
        "'kids[0].kids[0].value' is missing",
        "unknown key 'kids[0].kids[0].valu' (did you mean 'value'?); expected value, kids",
    ]


def test_a_class_that_takes_any_key_keeps_them() -> None:
    """Only a class that says so takes keys that it does not name."""

    class Open(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow")
        a: int

    made = tool(by_dict, parameters=Open)
    assert made.violations({"a": 1, "b": 2}) == []


def odd_names(self: int, model_config: int, schema: str = "a", p0: int = 1, _x: int = 2, title: str = "t") -> object:
    """Take."""
    return self, model_config, schema, p0, _x, title


def test_a_parameter_may_have_any_name() -> None:
    """Names that mean something to pydantic or in a schema are names like others."""
    made = tool(odd_names)
    assert list(typing.cast("Any", made.parameters["properties"])) == [
        "self",
        "model_config",
        "schema",
        "p0",
        "_x",
        "title",
    ]
    assert ran(made, {"self": 1, "model_config": 2, "title": "T"}) == (1, 2, "a", 1, 2, "T")


def test_a_default_that_looks_like_a_schema_is_shown_whole() -> None:
    """Titles are noise where pydantic adds them, and values where they are values."""

    @tool
    def take(labels: dict[str, str] = {"title": "x"}) -> None:  # noqa: B006
        """Take."""

    shown: Any = take.parameters["properties"]
    assert shown["labels"]["default"] == {"title": "x"}


def test_a_raw_tool_can_be_copied() -> None:
    """What is compiled does not change, so a copy shares it."""
    made = Tool("t", "", SCHEMA, by_dict)
    assert copy.deepcopy(made).violations({"total": 1}) == ["'to' is missing"]


@dataclasses.dataclass
class Positive:
    """Take."""

    n: int

    def __post_init__(self) -> None:
        if self.n < 0:
            raise ValueError("n must not be negative")

    def call(self, ctx: ToolContext | None = None) -> int:
        assert ctx is not None
        return self.n


def test_what_a_class_refuses_in_making_is_refused_by_its_tool() -> None:
    """Its own checks run before the call does, and their words are told."""
    made = tool(Positive)
    assert made.violations({"n": -1}) == ["the arguments: value error, n must not be negative"]
    assert ran(made, {"n": 2}) == 2


# What cannot be a tool ------------------------------------------------------------------------


class NoCall:
    pass


class NeedsClient:
    def __init__(self, client: object) -> None:
        self.client = client

    def call(self) -> None: ...


@dataclasses.dataclass
class TakesMore:
    to: str

    def call(self, total: float) -> None: ...


@dataclasses.dataclass
class Yields:
    to: str

    def call(self) -> object:
        yield self.to


def two_values(a: int, b: int) -> None: ...


def no_value() -> None: ...


def any_values(*a: int) -> None: ...


def two_contexts(a: ToolContext, b: ToolContext) -> None: ...


class Lists(pydantic.RootModel[list[int]]):
    pass


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: tool(NoCall), "class NoCall has no `call` method; give it one, or pass a function."),
    (lambda: tool(NoCall()), "NoCall object is no function and has no `call`"),
    (lambda: tool(GiftModel), "class GiftModel has no `call` method"),
    (lambda: tool(NeedsClient), "class NeedsClient cannot be made without arguments; pass an instance."),
    (lambda: tool(TakesMore), "tool 'takes_more': the fields of TakesMore are its parameters, so its `call` takes a"),
    (lambda: tool(Yields), "tool 'yields': its `call` returns a result; a generator function yields."),
    (lambda: tool(SendGift, parameters=GiftModel), "class SendGift: its `call` says what the parameters are; leave out"),
    (lambda: tool(two_values, parameters=GiftModel), "tool 'two_values': its function takes one value, which holds all arguments"),
    (lambda: tool(no_value, parameters=GiftModel), "this one takes ()."),
    (lambda: tool(any_values, parameters=SCHEMA), "this one takes (a)."),
    (lambda: Tool("t", "", SCHEMA, two_values), "tool 't': its function takes one value"),
    (lambda: tool(by_dict, parameters=Lists), "the arguments of a call are an object; Lists is none."),
    (lambda: tool(by_dict, parameters=int), "parameters is a pydantic model, a dataclass, a TypedDict or a JSON schema as a dict, not"),
    (lambda: tool(two_contexts), "tool 'two_contexts': a and b are all for the context; keep one."),
    (lambda: tool(lambda: 1), "tool '<lambda>': providers take names of 1 to 64 letters, digits, _ and -; pass such a name=...."),
    (lambda: tool(functools.partial(by_function, "x")), "has no name; pass name=...."),
    (lambda: tool(name="a b")(by_function), "tool 'a b': providers take names"),
    (lambda: tool(name="x" * 65)(by_function), "providers take names"),
    (lambda: tool(name="gift\n")(by_function), "providers take names"),
    (lambda: tool(tool(by_function), effect="read"), "tool 'by_function' is a tool already; change its options with dataclasses.replace"),
    (lambda: tool(description=5)(by_function), "description is a text, not 5."),  # type: ignore[call-overload]
    (lambda: tool(7), "int object is no function and has no `call`"),
    (lambda: Tool("t", "", [], by_dict), "parameters is a JSON schema as a dict, not []."),  # type: ignore[arg-type]
]  # fmt: skip


@pytest.mark.parametrize(("make", "text"), REFUSED, ids=[text[:40] for _, text in REFUSED])
def test_what_cannot_be_a_tool_is_refused_at_once(make: Callable[[], object], text: str) -> None:
    """The message names the tool or class, and says what would do."""
    with pytest.raises(suture.InvalidTool) as refused:
        make()
    assert text in str(refused.value)


BAD_SCHEMAS: list[tuple[dict[Any, object], str]] = [
    ({"type": "objct"}, "$.type: "),
    ({"properties": {"a": {"type": 5}}}, "$.properties.a.type: 5 is not valid"),
    ({"properties": {"a": {"minimum": "2"}}}, "$.properties.a.minimum: "),
    ({"properties": {"a": {"pattern": "("}}}, "$.properties.a.pattern: "),
    ({"properties": {"a": {"$ref": "#/$defs/X"}}}, "$.properties.a.$ref: Pointer '/$defs/X' does not exist"),
    ({"properties": {"a": {"$ref": "http://x/y"}}}, "$.properties.a.$ref: "),
    ({"anyOf": [{}, {"$ref": "file:///etc/passwd"}]}, "$.anyOf[1].$ref: "),
    ({"default": float("nan")}, "$.default: nan is no JSON number"),
    ({"default": {1}}, "$.default: set is not JSON"),
    ({1: 2}, "$: the key 1 is no text"),
    ({"type": "array"}, "The arguments of a call are an object"),
]


@pytest.mark.parametrize(("schema", "text"), BAD_SCHEMAS, ids=[text[:30] for _, text in BAD_SCHEMAS])
@pytest.mark.parametrize("by_hand", [True, False])
def test_a_bad_schema_is_refused_when_the_tool_is_made(schema: dict[Any, object], text: str, by_hand: bool) -> None:
    """The message names the tool and the place in the schema; nothing is fetched."""
    with pytest.raises(suture.InvalidSchema) as refused:
        Tool("t", "", schema, by_dict) if by_hand else tool(by_dict, parameters=schema, name="t")
    assert str(refused.value).startswith("tool 't': ")
    assert text in str(refused.value)


def test_importing_suture_loads_nothing_that_only_tools_need() -> None:
    """pydantic, docstring_parser and jsonschema_rs are loaded with the first tool, not with the package."""
    code = """
import sys, suture
suture.Tool, suture.tool, suture.ToolResult
print(sorted({"pydantic", "docstring_parser", "jsonschema_rs"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr
