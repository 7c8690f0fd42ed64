"""What handlers return: texts, parts, JSON values and `ToolResult`, within bounds."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import decimal
import enum
import inspect
import pickle
import uuid
from typing import Any, NamedTuple

import msgspec
import pydantic
import pytest

import suture
from suture.errors import NotJson
from suture.messages import Audio, File, Image, Opaque, Text, ToolCall, ToolResult, encode, message_from
from suture.testing import ScriptedModel
from suture.tools import raised, result_of

CALL = ToolCall("c9", "look")
MIB = 1024 * 1024
PICTURE = Image(data="aGk=", media_type="image/png")


class Colour(enum.Enum):
    RED = "red"


class Mode(enum.StrEnum):
    FAST = "fast"


@dataclasses.dataclass
class Point:
    x: int
    when: datetime.date


class Row(pydantic.BaseModel):
    id: uuid.UUID
    tags: set[str] = set()


class Pair(NamedTuple):
    a: int
    b: str


class Word(msgspec.Struct):
    n: int


DAY = datetime.date(2026, 1, 2)
NUMBER = uuid.UUID(int=7)

VALUES: list[tuple[object, tuple[object, ...]]] = [
    (Point(1, DAY), (Text('{"when":"2026-01-02","x":1}'),)),
    (Row(id=NUMBER, tags={"a"}), (Text(f'{{"id":"{NUMBER}","tags":["a"]}}'),)),
    ([Row(id=NUMBER), {"p": Point(1, DAY)}], (Text(f'[{{"id":"{NUMBER}","tags":[]}},{{"p":{{"when":"2026-01-02","x":1}}}}]'),)),
    ({"at": datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)}, (Text('{"at":"2026-01-02T00:00:00Z"}'),)),
    (decimal.Decimal("1.10"), (Text('"1.10"'),)),
    ([Colour.RED, Mode.FAST, NUMBER], (Text(f'["red","fast","{NUMBER}"]'),)),
    (Mode.FAST, (Text("fast"),)),
    (Pair(1, "b"), (Text('[1,"b"]'),)),
    (Word(3), (Text('{"n":3}'),)),
    ((1, 2), (Text("[1,2]"),)),
    ([], (Text("[]"),)),
    (["a", "b"], (Text('["a","b"]'),)),
    (["a chart:", PICTURE], (Text("a chart:"), PICTURE)),
    (("", PICTURE, {"n": 1}), (PICTURE, Text('{"n":1}'))),
    (ToolResult("text", {"chart": 1}, True), (Text("text"),)),
    (ToolResult({"n": Point(1, DAY)}), (Text('{"n":{"when":"2026-01-02","x":1}}'),)),
    (ToolResult(["a", "b"]), (Text('["a","b"]'),)),
    (ToolResult(["a", PICTURE]), (Text("a"), PICTURE)),
    (ToolResult([PICTURE, {"n": 1}]), (PICTURE, Text('{"n":1}'))),
    (ToolResult(None), ()),
    (ToolResult(), ()),
    (ToolResult(parts=(Text("a"),)), (Text("a"),)),
]  # fmt: skip


@pytest.mark.parametrize(("value", "parts"), VALUES, ids=[repr(value)[:40] for value, _ in VALUES])
def test_what_a_handler_returns_is_what_the_model_reads(value: object, parts: tuple[object, ...]) -> None:
    """Values become JSON without loss; a list with a part in it is parts."""
    result = result_of(CALL, value)
    assert (result.parts, result.call_id, result.name) == (parts, "c9", "look")
    assert message_from(msgspec.json.decode(encode(result))) == result


REFUSED: list[tuple[object, str]] = [
    ({1, 2}, "$: a set has no order; return a list, such as sorted(...)."),
    ({"a": [frozenset()]}, "$.a[0]: a frozenset has no order"),
    ({"a": b"x"}, "$.a: bytes is not JSON"),
    ({"a": object()}, "$.a: object is not JSON"),
    ({"a": (n for n in (1,))}, "$.a: generator is not JSON"),
    ({1: 2}, "the key 1 is no text"),
    ([float("inf")], "$[0]: inf is no JSON number"),
    (Point(1, object()), "$.when: object is not JSON"),  # type: ignore[arg-type]
    (Point, "$: type is not JSON"),
    (ToolResult("a", ui={"a": {1}}), "$.a: a set has no order"),
    (ToolResult(object()), "$: object is not JSON"),
]


@pytest.mark.parametrize(("value", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_what_json_would_lose_is_an_error_that_names_the_place(value: object, text: str) -> None:
    """The model is told that the tool ran, and where the value is that cannot be written."""
    with pytest.raises(NotJson) as refused:
        result_of(CALL, value)
    told = raised(CALL, refused.value)
    assert (told.error, told.error_type) == (True, "result_error")
    assert told.text.startswith("The tool 'look' ran, but its result cannot be written down: ")
    assert text in told.text


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


def test_results_may_be_as_deep_and_large_as_the_bounds() -> None:
    """At the bound there is no error."""
    assert result_of(CALL, nested(64)).error is False
    assert len(result_of(CALL, "x" * (8 * MIB)).text) == 8 * MIB
    assert result_of(CALL, [Image(data="A" * (31 * MIB)), "x" * (MIB // 2)]).error is False


LARGE: list[tuple[Any, str]] = [
    (lambda: nested(65), "nested deeper than 64 levels"),
    (lambda: ToolResult("a", ui=nested(65)), "nested deeper than 64 levels"),
    (lambda: "x" * (8 * MIB + 1), "8,388,609 bytes of text and JSON, and the limit is 8,388,608 (8 MiB)."),
    (lambda: "ä" * (4 * MIB + 1), "8,388,610 bytes of text and JSON"),
    (lambda: ["x" * (5 * MIB), PICTURE, "x" * (5 * MIB)], "bytes of text and JSON"),
    (lambda: {"a": "x" * (8 * MIB)}, "bytes of text and JSON"),
    (lambda: ToolResult("a", ui="x" * (8 * MIB)), "bytes of text and JSON"),
    (lambda: Image(url="data:," + "x" * (8 * MIB)), "bytes of text and JSON"),
    (lambda: ToolResult((Opaque("x", "y" * (8 * MIB)),)), "bytes of text and JSON"),
    (lambda: [File(data="A" * (20 * MIB)), Audio(data="A" * (20 * MIB))], "bytes of text, JSON and media, and the limit is 33,554,432 (32 MiB)."),
]  # fmt: skip


@pytest.mark.parametrize(("make", "text"), LARGE, ids=[str(index) for index in range(len(LARGE))])
def test_a_result_out_of_bounds_is_an_error_that_asks_for_less(make: Any, text: str) -> None:
    """It says that the tool ran, how large the result was, and the limit; nothing of the result is repeated."""
    with pytest.raises(NotJson) as refused:
        result_of(CALL, make())
    told = raised(CALL, refused.value)
    assert told.error_type == "result_error"
    assert "The tool 'look' ran" in told.text
    assert text in told.text
    assert "Ask for less" in told.text
    assert len(told.text) < 300


# ToolResult -----------------------------------------------------------------------------------

WHOLE = ToolResult(
    ["a", PICTURE], {"n": 1}, True, id="m1", ext={"x": 1}, call_id="c1", name="look", error_type="e", synthetic="lost"
)


def test_a_result_is_written_as_a_handler_would() -> None:
    """Content, ui and error in that order; stored are parts."""
    assert ToolResult("text", {"chart": 1}, True) == ToolResult(parts=(Text("text"),), ui={"chart": 1}, error=True)
    assert ToolResult(content="text", ui=1, error=False) == ToolResult("text", 1, False)
    assert ToolResult((Text("a"),), call_id="c") == ToolResult.of("c", "a")
    assert (ToolResult().parts, ToolResult({"a": 1}).text, ToolResult("a").error) == ((), "", None)


@pytest.mark.parametrize(
    "copied",
    [
        lambda one: copy.copy(one),
        lambda one: copy.deepcopy(one),
        lambda one: pickle.loads(pickle.dumps(one)),
        lambda one: msgspec.structs.replace(one),
        lambda one: message_from(msgspec.json.decode(encode(one))),
        lambda one: msgspec.convert(msgspec.to_builtins(one), ToolResult),
    ],
    ids=["copy", "deepcopy", "pickle", "replace", "log", "convert"],
)
def test_a_result_survives_every_way_of_copying(copied: Any) -> None:
    """No field is lost or taken for another."""
    assert copied(WHOLE) == WHOLE
    assert copied(ToolResult()) == ToolResult()


def test_one_field_of_a_result_can_be_replaced() -> None:
    """The others stay, parts too."""
    changed = msgspec.structs.replace(WHOLE, error=None, parts=(Text("b"),))
    assert (changed.text, changed.error, changed.ui, changed.call_id) == ("b", None, {"n": 1}, "c1")


@pytest.mark.parametrize("arguments", [("a", 1, True, "id"), ()])
def test_a_result_takes_no_more_than_it_says(arguments: tuple[object, ...]) -> None:
    """A fourth argument, or a field that there is not, is a mistake."""
    make: Any = ToolResult
    with pytest.raises(TypeError):
        make(*arguments, contents="a")


@pytest.mark.parametrize("why", ["not_run", "unknown", "denied", "lost"])
def test_a_result_that_a_handler_returned_is_real(why: str) -> None:
    """Whatever the handler says of it: only the log knows that a call was not run."""
    assert result_of(CALL, ToolResult("did it", synthetic=why)).synthetic is None


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (Image(), "Image(nothing): give it one of data (base64), url and file_id"),
        (Image(data="aGk=", url="u"), "Image(data and url)"),
    ],
)
def test_a_picture_without_a_source_is_no_result(part: Image, text: str) -> None:
    """Every provider would refuse the conversation from then on."""
    with pytest.raises(NotJson) as refused:
        result_of(CALL, ["see", part])
    assert text in str(refused.value)


def test_every_field_of_a_result_can_be_named() -> None:
    """What a result is made of stands in three places, for the reader, the type checker and the interpreter."""
    named = inspect.signature(type(ToolResult).__call__).parameters.keys() - {"cls", "content"}
    assert named == set(ToolResult.__struct_fields__)
    for field in ToolResult.__struct_fields__:
        assert getattr(ToolResult(**{field: ()}), field) == ()  # type: ignore[arg-type]


@pytest.mark.spec("S158")
def test_what_is_for_the_host_is_kept_and_never_sent() -> None:
    """The log and the watchers have it, no provider's request does."""
    chart = suture.tool(lambda: ToolResult("see", {"chart": "s3cret"}), name="chart")
    model = ScriptedModel([{"calls": [{"id": "c1", "name": "chart"}]}, {"text": "Done."}])
    agent = suture.Agent(model, tools=[chart])
    told: list[object] = []
    agent.run("Draw.", watch=lambda event: told.append(getattr(event, "result", None)))
    (result,) = [message for message in agent.session.messages if isinstance(message, ToolResult)]
    assert result.ui == {"chart": "s3cret"}
    assert [one.ui for one in told if isinstance(one, ToolResult)] == [result.ui]
    for format in ("anthropic", "openai-chat"):
        assert "s3cret" not in str(model.requests[-1].wire(format))
