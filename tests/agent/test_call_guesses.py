"""Readings of a call that would be guesses: names that only look alike, values that fit already, keys that are data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, field_validator, model_validator
from pydantic_core import PydanticCustomError

import suture
from suture.tools import check_call
from tests.growth import TIMES, grows

Json = dict[str, Any]


def check(arguments: object, schema: Json) -> suture.CallCheck:
    return check_call({"id": "c", "name": "t", "arguments": arguments}, [{"name": "t", "parameters": schema}])


def an_object(properties: Json, **more: Any) -> Json:
    return {"type": "object", "properties": properties, **more}


# Names ----------------------------------------------------------------------------------------

# What came, what is allowed, and what can be meant.
SPELLINGS: list[tuple[str, list[str], str | None]] = [
    ("5", ["-5", "0", "+5"], None),
    ("date", ["-date", "name"], None),
    ("-1", ["1", "2"], None),
    ("110", ["1-10", "11-50"], None),
    ("1-0", ["10", "20"], None),
    ("_", ["-", "+"], None),
    ("--", ["", "x"], None),
    ("", ["_", "x"], None),
    ("1e5", ["1e-5", "2"], None),
    ("UTC 5", ["UTC-5", "UTC+5"], None),
    ("x1_1", ["x_11"], None),
    ("now_here", ["no_where"], None),
    ("a__b", ["a_b"], None),
    ("MASSE", ["ma\u00dfe"], None),
    ("x" * 300, ["X" * 300], None),
    ("getItem", ["get_item", "get-item"], None),
    ("CELSIUS", ["celsius"], "celsius"),
    ("github", ["GitHub", "GitLab"], "GitHub"),
    ("git_hub", ["GitHub"], "GitHub"),
    ("kelvin scale", ["kelvin-scale"], "kelvin-scale"),
    ("userID", ["user_id"], "user_id"),
    ("HTTPServer", ["http-server"], "http-server"),
]


@pytest.mark.parametrize(("came", "allowed", "meant"), SPELLINGS, ids=range(len(SPELLINGS)))
def test_names_that_differ_in_more_than_case_and_separators_are_others(
    came: str, allowed: list[str], meant: str | None
) -> None:
    """As a value, as the name of a parameter, and as the name of a tool: a sign or a range is no separator."""
    value = check({"p": came}, an_object({"p": {"enum": allowed}}))
    key = check({came: 1}, an_object({name: {} for name in allowed}, additionalProperties=False))
    tool = check_call({"name": came, "arguments": {}}, [{"name": name, "parameters": {}} for name in allowed])
    if meant is None:
        assert (value.status, key.status, tool.status) == ("ask", "ask", "ask")
        return
    assert [one.call and one.call.arguments for one in (value, key)] == [{"p": meant}, {meant: 1}]
    assert tool.call is not None
    assert tool.call.name == meant


# What came, and what is allowed.
PARTED: list[tuple[str, list[str]]] = [
    ("address2", ["address_2"]),
    ("us_east_1", ["us-east1"]),
    ("us_east1", ["us_east_1"]),
    ("us-east1", ["us-east-1"]),
    ("us-east-1", ["us-east1"]),
    ("US_EAST_1", ["us-east-1", "us-east1"]),
    ("US-EAST-1", ["us-east-1", "us-east1"]),
    ("V1Beta", ["v1-beta"]),
    ("GIT-HUB", ["git_hub", "GitHub"]),
    ("1M", ["1m"]),
    ("M", ["m"]),
    ("MB", ["Mb"]),
    ("mW", ["MW"]),
]


@pytest.mark.parametrize(("came", "allowed"), PARTED)
def test_a_value_in_another_spelling_may_be_another(came: str, allowed: list[str]) -> None:
    """Where a separator is in one alone, where two come close, and where case tells units apart."""
    assert check({"p": came}, an_object({"p": {"enum": allowed}})).status == "ask"
    tools: list[Json] = [{"name": name, "parameters": {}} for name in allowed]
    assert len(allowed) == 1 or check_call({"name": came, "arguments": {}}, tools).code == "name_ambiguous"


@pytest.mark.parametrize(
    ("came", "meant"), [("V1_BETA", "v1-beta"), ("us_east1", "US-EAST1"), ("Top_10_Hits", "top_10-hits")]
)
def test_a_value_in_another_case_with_other_separators_is_the_same(came: str, meant: str) -> None:
    """Each stands where the other does."""
    found = check({"p": came}, an_object({"p": {"enum": [meant, "x"]}}))
    assert found.call is not None
    assert found.call.arguments == {"p": meant}


def test_the_name_of_a_parameter_has_its_number_in_any_spelling() -> None:
    """Where no other comes close, since a name is no value."""
    found = check({"address2": 1}, an_object({"address_2": {}, "address_1": {}}, additionalProperties=False))
    assert found.call is not None
    assert found.call.arguments == {"address_2": 1}


JUNK: list[tuple[str, str]] = [
    ("read_file</tool_name><tool_name>write_file", "concatenated"),
    ("read_file<|im_end|>write_file", "concatenated"),
    ("read_file<|im_end|>functions.Write_File", "concatenated"),
    ("<|read_file|>write_file", "concatenated"),
    ("Read_FileWrite_File", "concatenated"),
    ("readFileWriteFile", "concatenated"),
    ('read_file<|message|>{"p":"x"}', "name_overfull"),
    ('read_file</name><args>{"p":"x"}</args>', "name_overfull"),
    ("read_file<|message|>p='x'", "name_overfull"),
    ("read_file:2", "name_overfull"),
    ("read_file<|x|>do not", "name_overfull"),
    ("read_file<|channel|>do not", "name_overfull"),
    ("read_file<|cancel|>", "name_overfull"),
    ("<|cancel|>read_file", "name_overfull"),
    ("read_file</cancelled>", "name_overfull"),
    ("read_file</path>", "name_overfull"),
    ("read_file<|channel|>final", "name_overfull"),
]


@pytest.mark.parametrize(("name", "code"), JUNK)
def test_what_stands_behind_a_name_is_not_dropped(name: str, code: str) -> None:
    """Another tool, the arguments or any words behind a token or a tag; markup that is not known, and a bare number."""
    tools: list[Json] = [{"name": name, "parameters": {}} for name in ("read_file", "write_file")]
    found = check_call({"name": name, "arguments": {}}, tools)
    assert (found.status, found.code) == ("ask", code)
    assert "not run" in found.reason or "None was run" in found.reason


# Values that fit ------------------------------------------------------------------------------

NARROW = an_object({"x": {"type": "integer"}, "o": {"type": "string"}, "file_path": {}}, required=["file_path"])
ANCHORED = {"$defs": {"any": {"$anchor": "Anchor"}, "yes": True}}

# A schema of `p`, a value that fits it, and what else its parameters' schema has.
FITTING: list[tuple[Json, object, Json]] = [
    ({"anyOf": [NARROW, {"type": "object"}]}, {"x": "5", "o": None, "filePath": "a"}, {}),
    ({"anyOf": [NARROW, {"type": "object"}]}, {"x": "5", "o": None, "filePath": "a", "f": 2.0}, {}),
    ({"oneOf": [NARROW, {"type": "object", "additionalProperties": {"type": ["string", "null"]}}]}, {"x": "5", "o": None}, {}),
    ({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "array"}]}, ["5"], {}),
    ({"anyOf": [{"type": "integer"}, True]}, "5", {}),
    ({"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/yes"}]}, "5", ANCHORED),
    ({"anyOf": [{"type": "integer"}, {"$ref": "#Anchor"}]}, "5", ANCHORED),
    ({"anyOf": [{"type": "integer"}, {"$ref": "https://x.test/s#/$defs/any"}]}, "5", {**ANCHORED, "$id": "https://x.test/s"}),
    (
        {"$id": "https://x.test/p", "$defs": {"a": {"type": "string"}}, "properties": {"q": {"$ref": "#/$defs/a"}}},
        {"q": "5"},
        {"$defs": {"a": {"type": "integer"}}},
    ),
    (an_object({"X_a": {}}, required=["X_a"], patternProperties={"^x": {}}), {"X_a": 1, "x_a": 1}, {}),
    (an_object({"q": {}}, patternProperties={"^s_": {"type": ["string", "null"]}}, additionalProperties={"type": "integer"}), {"s_a": None}, {}),
    (an_object({}, patternProperties={"^s_": {"type": "string"}}, additionalProperties={"type": "integer"}), {"s_a": "5"}, {}),
    ({"type": ["array", "string"], "items": {"type": "integer"}}, "5", {}),
    ({"enum": ["A", "a"]}, "a", {}),
    ({"type": "integer"}, 5.0, {}),
    (an_object({"i": {"type": "integer"}}), {"i": 5.0}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("node", "value", "more"), FITTING, ids=range(len(FITTING)))
@pytest.mark.parametrize("inside", [False, True], ids=["beside", "inside"])
def test_what_fits_is_left_as_it_is_beside_what_does_not(node: Json, value: object, more: Json, inside: bool) -> None:
    """Another value is mended, in the same object or in one around them; this one is not touched."""
    schema = an_object({"p": node, "n": {"type": "integer"}}, **more)
    if inside:
        own = {key: held for key, held in schema.items() if key not in more}
        schema = an_object({"q": {"anyOf": [own, {"type": "null"}]}}, **more)
    given = {"p": value, "n": "3"}
    found = check({"q": given} if inside else given, schema)
    if found.call is None:
        assert "$id" in node  # a schema in which paths mean something else is not walked
        return
    assert found.call.arguments is not None
    arguments = found.call.arguments["q"] if inside else found.call.arguments
    assert repr(arguments) == repr({"p": value, "n": 3})
    assert [change.path for change in found.changes] == ["q.n" if inside else "n"]


class Model(BaseModel):
    """A class whose keys a dict of anything may have too."""

    x: int
    o: str = ""


def test_what_fits_one_class_of_a_union_is_no_broken_other() -> None:
    """A dict of anything beside a model that has some of its keys."""

    @suture.tool
    def t(p: Model | dict[str, Any], n: int) -> None:
        """Do it."""

    given: Json = {"p": {"x": "5", "o": None}, "n": "3"}
    found = check_call({"name": "t", "arguments": given}, [t])
    assert found.call is not None
    assert found.call.arguments == {"p": {"x": "5", "o": None}, "n": 3}


def test_a_whole_float_is_an_integer_where_the_tool_takes_none() -> None:
    """Alone, and beside another value."""

    @suture.tool
    def t(n: int, m: int, p: Model | None = None) -> None:
        """Do it."""

    for given in ({"n": 3, "m": 5.0}, {"n": "3", "m": 5.0}, {"n": "3", "m": 5, "p": {"x": 1.0}}):
        found = check_call({"name": "t", "arguments": given}, [t])
        assert found.call is not None
        assert repr(found.call.arguments) == repr({"n": 3, "m": 5, **({"p": {"x": 1}} if "p" in given else {})})


# Keys that are data ---------------------------------------------------------------------------

MAPS: list[tuple[Json, Json]] = [
    ({"type": "object", "additionalProperties": {"type": "string"}}, {"A": None, "B": "x"}),
    (an_object({"B": {"type": "string"}}, additionalProperties={"type": "string"}), {"A": None, "B": "x"}),
    ({"type": "object", "patternProperties": {".": {"type": "string"}}}, {"A": None}),
    ({"anyOf": [an_object({"A": {"type": "string"}}), {"additionalProperties": {"type": "integer"}, "type": "object"}]}, {"A": None}),
    (an_object({"name": {}}, required=["name"], additionalProperties={"type": "string"}), {"Name": "x"}),
    (an_object({"A": {"type": "string", "nullable": True}}), {"A": None}),
]  # fmt: skip


@pytest.mark.parametrize(("node", "value"), MAPS, ids=range(len(MAPS)))
def test_the_key_of_a_map_is_data(node: Json, value: Json) -> None:
    """It is neither left out for its null nor renamed; nor is a null that is allowed left out."""
    assert check({"env": value}, an_object({"env": node})).status == "ask"


def test_the_key_of_a_dict_is_data() -> None:
    """As a typed tool has it."""

    @suture.tool
    def t(env: dict[str, str]) -> None:
        """Do it."""

    assert check_call({"name": "t", "arguments": {"env": {"A": None, "B": "x"}}}, [t]).status == "ask"


# What is written in parts ---------------------------------------------------------------------

MENDED: list[tuple[Json, object, object, Json]] = [
    ({"allOf": [{"type": "integer"}, {"minimum": 1}]}, "5", 5, {}),
    ({"allOf": [{"type": ["integer", "string"]}, {"type": ["integer", "boolean"]}]}, "5", 5, {}),
    ({"type": "string", "$ref": "#/$defs/u"}, "CELSIUS", "celsius", {"$defs": {"u": {"enum": ["celsius"]}}}),
    (an_object({}, patternProperties={"^n_": {"type": "integer"}}), {"n_a": "5"}, {"n_a": 5}, {}),
    (
        {"allOf": [an_object({"a": {"type": "integer"}}), an_object({"b": {"type": "string"}})]},
        {"a": "5", "b": "6"},
        {"a": 5, "b": "6"},
        {},
    ),
    ({"anyOf": [NARROW, {"type": "null"}]}, {"x": "5", "o": None, "filePath": 1}, {"x": 5, "file_path": 1}, {}),
]


@pytest.mark.parametrize(("node", "value", "meant", "more"), MENDED, ids=range(len(MENDED)))
def test_what_is_written_in_parts_is_read_as_one(node: Json, value: object, meant: object, more: Json) -> None:
    """`allOf` and what stands beside a reference have to hold together; a part that names no type allows what others do."""
    found = check({"p": value}, an_object({"p": node}, **more))
    assert found.call is not None
    assert found.call.arguments == {"p": meant}


# One item or several --------------------------------------------------------------------------

SEVERAL = [
    "a|b", "a and b", "a OR b", "a & b", "a / b", "'a' 'b'", "'a'", '"a"', "a\tb", "a\nb", "a; b", "a, b", "a\u3001b", "a\uff0cb", "<a><b>",
    "a  b", "a \nb", "red/green", "read/write", "a.py/b.py", "a.py b.py", "1 2", "@a @b", "red green blue", "1-5", "a..z", "a\\nb", "a=1&b=2",
    "a: b", "all", "ALL", "any", "every", "both", "empty", "nothing", "all users", "any city", "*", "no one", "not Bern", "N/A", "a\u2026",
    "- a", "* a", "1. a", "\u2022 a", "[a", "{a", "none", "None", "null", "NULL", "n/a", " ", "",
]  # fmt: skip


@pytest.mark.parametrize("text", SEVERAL)
def test_a_text_that_may_hold_several_items_is_not_one(text: str) -> None:
    """Separators, quotes, bullets, runs of white space, many words, and words for all and for nothing."""
    assert check({"tags": text}, an_object({"tags": {"type": "array", "items": {"type": "string"}}})).status == "ask"


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "New York",
        "it's",
        "a/b.py",
        "x-y_z",
        "3.5 km",
        "sandy shore",
        "/usr/bin",
        "./a",
        "~/a",
        "https://x.test/a",
        "2024-01-05",
        "a@b.test",
    ],
)
def test_a_plain_word_or_phrase_is_one_item(text: str) -> None:
    """Nothing in it says that there are more."""
    found = check({"tags": text}, an_object({"tags": {"type": "array", "items": {"type": "string"}}}))
    assert found.call is not None
    assert found.call.arguments == {"tags": [text]}


# What came for a list of objects whose parameters are `at` and `to`, neither needed, and whether it is one of them.
ITEMS: list[tuple[object, bool]] = [
    ({"at": 1}, True),
    ({"At": 1, "to": 2}, True),
    ({}, False),
    ({"0": {"at": 1}, "1": {"at": 2}}, False),
    ({"items": [{"at": 1}]}, False),
    ({"at": 1, "other": 2}, False),
]


@pytest.mark.parametrize(("value", "one"), ITEMS)
def test_an_object_that_may_hold_several_items_is_not_one(value: object, one: bool) -> None:
    """By numbers, or under a word; an empty one may be none."""
    stop = an_object({"at": {"type": "integer"}, "to": {"type": "integer"}}, required=[])
    found = check({"stops": value}, an_object({"stops": {"type": "array", "items": stop}}))
    assert found.status == ("fixed" if one else "ask")


@pytest.mark.parametrize("value", [0, False])
def test_nothing_is_no_item(value: object) -> None:
    """It may say that there are none."""
    items = {"type": "boolean" if value is False else "integer"}
    assert check({"l": value}, an_object({"l": {"type": "array", "items": items}})).status == "ask"


def test_the_one_object_of_a_list_is_not_taken_for_the_arguments_where_it_may_be_an_item() -> None:
    """Of a parameter that is a list, and that was not named."""
    schema = an_object({"rows": {"type": "array", "items": {"type": "object"}}})
    assert check([{"name": "x"}], schema).status == "ask"
    assert check([{"rows": []}], schema).status == "fixed"
    assert check([{"any": 1}], {"type": "object"}).status == "fixed"


@pytest.mark.parametrize(("text", "one"), [("all", True), ("low / high", True), ("none", True), ("ALL", False)])
def test_an_item_that_is_listed_is_one(text: str, one: bool) -> None:
    """Where a schema lists the items, such a text is one of them, whatever it says."""
    schema = an_object({"tags": {"type": "array", "items": {"type": "string", "enum": ["all", "none", "low / high"]}}})
    assert check({"tags": text}, schema).status == ("fixed" if one else "ask")


# What a reason tells --------------------------------------------------------------------------

SECRET = "hunter2secret"


@pytest.mark.parametrize(
    "name",
    [
        'login{"p": "hunter2secret"}',
        "login hunter2secret",
        "logon('hunter2secret')",
        "x" * 65 + SECRET,
        "login<|x|>{hunter2secret}",
    ],
)
def test_arguments_in_a_name_are_not_told(name: str) -> None:
    """Of a name, what an identifier may begin with; with arguments that cannot be read either."""
    given: list[object] = [{}, "{"]
    for arguments in given:
        found = check_call({"name": name, "arguments": arguments}, [{"name": "login", "parameters": {}}])
        assert found.status == "ask"
        assert SECRET not in found.reason
        assert "login" in found.reason


KEYED: list[Json] = [
    {"type": "object", "additionalProperties": {"type": "integer"}},
    {"type": "object", "patternProperties": {".": {"type": "integer"}}},
    {"type": "object", "additionalProperties": {"anyOf": [{"type": "integer"}, an_object({"k": {}}, required=["k"])]}},
    {"anyOf": [{"type": "object", "additionalProperties": {"type": "integer"}}, {"type": "integer"}]},
    {"type": "object", "additionalProperties": an_object({"k": {}}, required=["k"])},
]


@pytest.mark.parametrize("node", KEYED, ids=range(len(KEYED)))
def test_a_key_that_is_data_is_not_told(node: Json) -> None:
    """Where a schema does not name it, a star stands for it."""
    values: list[Json] = [{SECRET: "x"}, {SECRET: {}}]
    for value in values:
        found = check({"m": value}, an_object({"m": node}))
        assert found.status == "ask"
        assert SECRET not in found.reason
        assert "'m" in found.reason


class Login(BaseModel):
    """A class whose validators say what came."""

    pin: Any = None
    inner: Any = None

    @model_validator(mode="after")
    def _told(self) -> Login:
        raise ValueError(f"{self.pin} and {self.inner} are wrong")


class Held(BaseModel):
    """A field whose validator has an error of its own kind."""

    pin: Any

    @field_validator("pin")
    @classmethod
    def _told(cls, value: object) -> object:
        raise PydanticCustomError("pin_wrong", "pin {pin} is wrong", {"pin": str(value)})


@suture.tool
def login(p: Login | None = None, h: Held | None = None, m: dict[str, int] | None = None) -> None:
    """Log in."""


@pytest.mark.parametrize(
    ("given", "secret"),
    [
        ({"p": {"inner": {"token": [SECRET]}}}, SECRET),
        ({"p": {"pin": 4111111111111111}}, "4111"),
        ({"p": {"pin": "12345"}}, "12345"),
        ({"p": {"inner": [{"pin": 1234}]}}, "1234"),
        ({"h": {"pin": "12345"}}, "12345"),
        ({"h": {"pin": 4111111111111111}}, "4111"),
        ({"m": {SECRET: "x"}}, SECRET),
    ],
)
def test_the_words_of_a_validator_are_not_told_where_they_quote(given: Json, secret: str) -> None:
    """Any text or number in what came, however deep."""
    found = check_call({"name": "login", "arguments": given}, [login])
    assert found.status == "ask"
    assert secret not in found.reason
    assert f"'{next(iter(given))}" in found.reason


# How long it takes ----------------------------------------------------------------------------


def a_union(branches: int) -> Json:
    return {
        "anyOf": [
            an_object({"kind": {"const": f"k{at}"}, "x": {"type": "integer"}}, required=["kind"]) for at in range(branches)
        ]
    }


GROWTH: dict[str, tuple[Callable[[int], tuple[object, Json]], int]] = {
    "items": (lambda n: ({"l": [{"kind": "zz", "x": "q"}] * n}, an_object({"l": {"type": "array", "items": a_union(20)}})), 200),
    "branches": (lambda n: ({"l": [{"kind": "zz", "x": "q"}] * 50}, an_object({"l": {"type": "array", "items": a_union(n)}})), 20),
    "keys": (lambda n: ({f"u{at}x": 1 for at in range(n)}, an_object({f"p_{at}": {} for at in range(n)}, additionalProperties=False)), 500),
    "options": (lambda n: ({"l": ["Z" * 200] * n}, an_object({"l": {"type": "array", "items": {"enum": [f"o-{at}" for at in range(n)]}}})), 200),
    "a long text": (lambda n: ({"v": "x" * n}, an_object({"v": {"enum": [f"o-{at}" for at in range(200)]}})), 50_000),
    "around a value": (lambda n: ("a b, " * n + "{}", an_object({})), 5_000),
}  # fmt: skip


@pytest.mark.parametrize("shape", GROWTH)
def test_a_check_takes_no_longer_for_each(shape: str) -> None:
    """What came and what is allowed are put side by side once, not each with each."""
    make, size = GROWTH[shape]
    assert grows(lambda n: check(*make(n)), size) < 3 * TIMES


def test_a_wrong_item_far_behind_is_told() -> None:
    """As is a list that is too long, by its whole length."""
    schema = an_object({"l": {"type": "array", "items": {"type": "integer"}, "maxItems": 90}})
    assert "'l[79]'" in check({"l": [*[1] * 79, "x"]}, schema).reason
    assert "one of 100 items" in check({"l": [1] * 100}, schema).reason
