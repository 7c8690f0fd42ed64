"""A call checked: what may run, what is mended since it can only mean one thing, and what the model has to be asked."""

from __future__ import annotations

import copy
import json
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import suture
from suture.errors import ConfigurationError, InvalidSchema
from suture.tools import check_call

Json = dict[str, Any]

WEATHER: Json = {
    "name": "weather",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "lat": {"type": "number"},
            "exact": {"type": "boolean"},
            "unit": {"type": "string", "enum": ["celsius", "Fahrenheit", "kelvin-scale"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "near": {"type": "object", "properties": {"radius_km": {"type": "integer"}}, "additionalProperties": False},
            "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "any": {},
            "words": {"anyOf": [{"type": "string"}, {"type": "object"}]},
            "stops": {"type": "array", "items": {"$ref": "#/$defs/stop"}},
        },
        "required": ["city"],
        "additionalProperties": False,
        "$defs": {"stop": {"type": "object", "properties": {"at": {"type": "integer"}}, "required": ["at"]}},
    },
}
PING: Json = {"name": "ping", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}}
OPEN: Json = {"name": "open-door", "parameters": {"type": "object"}}
TOOLS = [WEATHER, PING, OPEN]


def check(arguments: object, name: str = "weather", stop_reason: str | None = None) -> suture.CallCheck:
    return check_call({"id": "c1", "name": name, "arguments": arguments}, TOOLS, stop_reason)


VALID: list[tuple[str, object, Json]] = [
    ("weather", '{"city": "Bern"}', {"city": "Bern"}),
    ("weather", {"city": "Bern", "days": 3, "limit": None}, {"city": "Bern", "days": 3, "limit": None}),
    ("weather", '{"city": "Bern", "any": "5", "words": "{\\"a\\": 1}"}', {"city": "Bern", "any": "5", "words": '{"a": 1}'}),
    ("weather", '{"city": "true", "lat": 5}', {"city": "true", "lat": 5}),
    ("weather", '{"city": "\\ud83c\\udf78"}', {"city": "\U0001f378"}),
    ("ping", None, {}),
    ("ping", {}, {}),
    ("ping", "{}", {}),
    ("open-door", '{"x": [1, {"y": null}]}', {"x": [1, {"y": None}]}),
]


@pytest.mark.spec("S63", "S64")
@pytest.mark.parametrize(("name", "given", "arguments"), VALID)
def test_what_fits_is_valid_and_untouched(name: str, given: object, arguments: Json) -> None:
    """Nothing is changed where nothing has to be: no text that may be one, no number that fits."""
    found = check(given, name)
    assert (found.status, found.code, found.changes) == ("valid", "", [])
    assert found.call is not None
    assert (found.call.id, found.call.name, found.call.arguments) == ("c1", name, arguments)


FIXED: list[tuple[str, object, Json]] = [
    ("string_for_integer", '{"city": "a", "days": "5"}', {"city": "a", "days": 5}),
    ("string_for_integer", '{"city": "a", "days": "-12345678901234567890"}', {"city": "a", "days": -12345678901234567890}),
    ("string_for_number", '{"city": "a", "lat": "46.95"}', {"city": "a", "lat": 46.95}),
    ("string_for_integer", '{"city": "a", "limit": "7"}', {"city": "a", "limit": 7}),
    ("string_for_boolean", '{"city": "a", "exact": "False"}', {"city": "a", "exact": False}),
    ("string_for_null", '{"city": "a", "limit": "null"}', {"city": "a", "limit": None}),
    ("string_for_list", '{"city": "a", "tags": "[\\"x\\"]"}', {"city": "a", "tags": ["x"]}),
    ("string_for_object", '{"city": "a", "near": "{\\"radius_km\\": \\"3\\"}"}', {"city": "a", "near": {"radius_km": 3}}),
    ("scalar_for_list", '{"city": "a", "tags": "x"}', {"city": "a", "tags": ["x"]}),
    ("scalar_for_list", '{"city": "a", "stops": {"at": "4"}}', {"city": "a", "stops": [{"at": 4}]}),
    ("list_for_scalar", '{"city": ["Bern"]}', {"city": "Bern"}),
    ("null_for_optional", '{"city": "a", "days": null}', {"city": "a"}),
    ("enum_case", '{"city": "a", "unit": "CELSIUS"}', {"city": "a", "unit": "celsius"}),
    ("enum_case", '{"city": "a", "unit": "kelvin_scale"}', {"city": "a", "unit": "kelvin-scale"}),
    ("parameter_case", '{"City": "a"}', {"city": "a"}),
    ("parameter_case", '{"city": "a", "near": {"radiusKm": 3}}', {"city": "a", "near": {"radius_km": 3}}),
    ("list_for_object", '[{"city": "a"}]', {"city": "a"}),
    ("double_encoded", '"{\\"city\\": \\"a\\"}"', {"city": "a"}),
    ("trailing_comma", '{"city": "a",}', {"city": "a"}),
    ("code_fence", '```json\n{"city": "a"}\n```', {"city": "a"}),
    ("single_quotes", "{'city': 'a', 'exact': True}", {"city": "a", "exact": True}),
]


@pytest.mark.parametrize(("code", "given", "arguments"), FIXED)
def test_what_can_only_mean_one_thing_is_mended(code: str, given: object, arguments: Json) -> None:
    """The arguments fit, what was changed is told with old and new, and checking the mended call changes nothing."""
    found = check(given)
    assert (found.status, found.code) == ("fixed", code)
    assert found.call is not None
    assert found.call.arguments == arguments
    assert all(change.old != change.new or change.code == "null_for_optional" for change in found.changes)
    again = check_call(found.call, TOOLS)
    assert (again.status, again.call) == ("valid", found.call)


ASK: list[tuple[str, object, str]] = [
    ("validation_error", '{"city": "a", "days": "five"}', "'days': expected an integer, but a string came"),
    ("validation_error", '{"city": "a", "days": "5.0"}', "'days'"),
    ("validation_error", '{"city": "a", "days": "05"}', "'days'"),
    ("validation_error", '{"city": "a", "days": 1.5}', "'days'"),
    ("validation_error", '{"city": "a", "lat": "0.12345678901234567890123"}', "'lat'"),
    ("validation_error", '{"city": "a", "exact": "yes"}', "'exact'"),
    ("validation_error", '{"city": "a", "exact": 1}', "'exact'"),
    ("validation_error", '{"city": "a", "tags": "x, y"}', "'tags'"),
    ("validation_error", '{"city": "a", "tags": ""}', "'tags'"),
    ("validation_error", '{"city": "a", "tags": "[\\"x\\""}', "'tags'"),
    ("validation_error", '{"city": "a", "unit": "celcius"}', "'unit'"),
    ("validation_error", '{"city": null}', "'city'"),
    ("validation_error", '{"city": 5}', "'city'"),
    ("validation_error", '{"city": ["a", "b"]}', "'city'"),
    ("validation_error", '{"CITY": "a", "City": "b"}', "'city' is missing"),
    ("validation_error", '{"town": "a"}', "unknown parameter 'town'"),
    ("validation_error", "", "'city' is missing"),
    ("validation_error", None, "'city' is missing"),
    ("not_an_object", "[1, 2]", "a list; send one JSON object"),
    ("not_an_object", '"Bern"', "a text; send one JSON object"),
    ("not_an_object", 3, "a number; send one JSON object"),
    ("invalid_json", "Bern", "not JSON"),
    ("truncated", '{"city": "Be', "send it whole"),
    ("concatenated", '{"city": "a"}{"city": "b"}', "one call for each"),
    ("invalid_json", '{"city": "a"}, "days": 3', "could belong to it"),
    ("invalid_json", json.dumps('{"city": "a"}, "days": 3'), "could belong to it"),
    ("invalid_json", '"city": "a", "near": {"radius_km": 3}', "could belong to it"),
    ("invalid_json", r'{"city": "C:\dir", "any": "C:\new"}', "for each backslash"),
    ("duplicate_key", '{"city": "a", "city": "b"}', "given twice"),
    ("non_finite_number", '{"city": "a", "lat": NaN}', "finite number"),
    ("lone_surrogate", '{"city": "\\ud83d"}', "half of a surrogate pair"),
    ("too_deep", '{"city":' * 70 + "1" + "}" * 70, "flatten"),
    ("markup_leak", '{"city": "a</city>\\n<parameter name=\\"days\\">3"}', "'days'"),
    ("markup_leak", {"city": "a</city>\n<days>3"}, "'days'"),
    ("invalid_json", '{"city": "a"} Use b instead.', "could belong to it or change it"),
    ("invalid_json", '<days>5</days>{"city": "a"}', "could belong to it or change it"),
    ("invalid_json", '{"city": "a", "days": 5 // 50?\n}', "Send JSON without comments"),
    ("markup_leak", {"city": "a<arg_key>days</arg_key><arg_value>3"}, "'days'"),
]


@pytest.mark.spec("S60", "S61", "S62")
@pytest.mark.parametrize(("code", "given", "words"), ASK, ids=range(len(ASK)))
def test_what_would_be_a_guess_is_for_the_model(code: str, given: object, words: str) -> None:
    """There is no call, a stable code, and a reason that says what to do."""
    found = check(given)
    assert (found.status, found.call, found.code) == ("ask", None, code)
    assert words in found.reason
    assert "not run" in found.reason


NAMES: list[tuple[str, str | None, str]] = [
    ("weather", "weather", ""),
    ("Weather", "weather", "name_case"),
    ("open_door", "open-door", "name_case"),
    ("openDoor", "open-door", "name_case"),
    ("functions.weather", "weather", "name_junk"),
    ("functions.weather:0", "weather", "name_junk"),
    ("weather()", "weather", "name_junk"),
    ("weather<|channel|>commentary json", "weather", "name_junk"),
    ("<|tool_call|>weather", "weather", "name_junk"),
    ("default_api:weather", "weather", "name_junk"),
    ("weather<|channel|>commentary", "weather", "name_junk"),
    ("weather</tool_name>", "weather", "name_junk"),
    (" `weather`\n", "weather", "name_junk"),
    ("weathr", None, "unknown_tool"),
    ("weather_tool", None, "unknown_tool"),
    ("get.weather", None, "unknown_tool"),
    ("weatherping", None, "concatenated"),
    ("", None, "name_missing"),
    ("x" * 100_000, None, "unknown_tool"),
]


@pytest.mark.spec("S59")
@pytest.mark.parametrize(("name", "meant", "code"), NAMES, ids=range(len(NAMES)))
def test_a_name_is_mended_by_junk_and_case_alone(name: str, meant: str | None, code: str) -> None:
    """A near name is named in the reason, never taken."""
    found = check({"city": "a"} if meant != "open-door" else {}, name)
    assert found.code == code
    assert (found.call.name if found.call is not None else None) == meant
    if meant is None:
        assert found.status == "ask"
        assert "weather" in found.reason
        assert len(found.reason) < 2_500


def test_a_name_that_two_tools_share_is_ambiguous() -> None:
    """Case and separators aside, both would do."""
    tools = [{"name": "get_item", "parameters": {}}, {"name": "get-item", "parameters": {}}]
    assert check_call({"name": "getItem", "arguments": {}}, tools).code == "name_ambiguous"
    exact = check_call({"name": "get-item", "arguments": {}}, tools)
    assert exact.call is not None
    assert exact.call.name == "get-item"


class FinishReason(Enum):
    """As an SDK has it, by numbers."""

    STOP = 1
    MAX_TOKENS = 2


class StopReason(StrEnum):
    """As an SDK has it, by words."""

    TOOL_USE = "tool_use"
    GUARDRAIL = "guardrail_intervened"


CUT_OFF: list[Any] = [
    "length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "incomplete", "content_filter", "maxTokens", "content-filter",
    "content_filtered", "guardrail_intervened", "malformed_tool_use", "malformed_model_output", "model_context_window_exceeded",
    "RECITATION", "PROHIBITED_CONTENT", "SPII", "BLOCKLIST", "LANGUAGE", "IMAGE_SAFETY", "OTHER", "SAFETY",
    "UNEXPECTED_TOOL_CALL", "MALFORMED_FUNCTION_CALL", "insufficient_system_resource", "sensitive", "network_error",
    "abort", "aborted", "cancelled", "failed", "timeout", "user_cancelled", "error", "ERROR_LIMIT", "too_many_tool_calls",
    "FinishReason.MAX_TOKENS", "<FinishReason.SAFETY: 'SAFETY'>", "<FinishReason.MAX_TOKENS: 2>", "FINISH_REASON_MAX_TOKENS",
    "types.Candidate.FinishReason.RECITATION", " Length\n", FinishReason.MAX_TOKENS, StopReason.GUARDRAIL,
]  # fmt: skip


@pytest.mark.parametrize("reason", CUT_OFF, ids=str)
def test_a_turn_that_was_cut_off_runs_nothing(reason: Any) -> None:
    """Even a call that looks whole may lack its end; in any provider's word, in any case, and as a member of an enum."""
    found = check({"city": "a"}, stop_reason=reason)
    assert (found.status, found.call, found.code) == ("ask", None, "truncated")


@pytest.mark.parametrize(
    "reason",
    [
        None,
        "",
        "stop",
        "tool_use",
        "tool_calls",
        "end_turn",
        "STOP",
        "FinishReason.STOP",
        FinishReason.STOP,
        StopReason.TOOL_USE,
    ],
)
def test_a_turn_that_came_to_its_end_is_checked(reason: Any) -> None:
    """As is one of which nothing is known."""
    assert check({"city": "a"}, stop_reason=reason).status == "valid"


@pytest.mark.parametrize("reason", [5, b"length", ["length"], True])
def test_a_stop_reason_that_is_none_is_a_clear_error(reason: Any) -> None:
    """The error says what one is."""
    with pytest.raises(ConfigurationError, match="stop_reason is why the model's turn ended"):
        check({"city": "a"}, stop_reason=reason)


def circle() -> Json:
    found: Json = {"city": "\ud83d\ude00"}
    found["any"] = found
    return found


def doubled(times: int) -> Json:
    value: object = "\ud83d\ude00"
    for _ in range(times):
        value = [value, value]
    return {"city": "a", "any": value}


@pytest.mark.parametrize(("given", "code"), [(circle(), "too_deep"), (doubled(50), "too_many_nodes")])
def test_what_has_no_end_is_bounded_before_it_is_looked_through(given: Json, code: str) -> None:
    """A dict that holds itself, and one that is small in memory and endless when written."""
    assert check(given).code == code


def test_half_of_a_pair_is_found_beside_what_is_no_dict() -> None:
    """However the host holds its mappings."""
    assert check({"city": "a", "any": MappingProxyType({"x": "\ud83d"})}).code == "lone_surrogate"


def test_reasons_do_not_repeat_what_was_sent() -> None:
    """Values stay out of it; names of keys, tools and parameters are told."""
    secret = "hunter2-abcdef"
    for sent in (
        {"city": "a", "days": secret},
        {"city": "a", "unit": secret},
        f'{{"city": "a", "days": {secret}}}',
        f'{{"city": "a"}} {secret} }}',
        f'{{"city": "{secret}',
        secret,
    ):
        found = check(sent)
        assert found.status == "ask"
        assert secret not in found.reason
        assert secret[:8] not in found.reason


def test_a_schema_that_leads_out_is_refused() -> None:
    """No file and no address is opened to check a call."""
    for reference in ("file:///etc/passwd", "https://example.com/s.json"):
        tool = {"name": "t", "parameters": {"type": "object", "properties": {"a": {"$ref": reference}}}}
        with pytest.raises(InvalidSchema):
            check_call({"name": "t", "arguments": {"a": 1}}, [tool])


@pytest.mark.parametrize("call", [None, 3, "x", [], {}, {"id": "1"}])
def test_what_is_no_call_is_a_clear_error(call: Any) -> None:
    """The error says what a call is."""
    with pytest.raises(ConfigurationError, match="'name' and 'arguments'"):
        check_call(call, TOOLS)


@suture.tool
def say(city: str) -> None:
    """Say it."""


CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def test_the_form_of_chat_completions_is_looked_into() -> None:
    """A call and a tool as an SDK of OpenAI's has them: what stands in `function` is checked."""
    call = {"id": "c", "type": "function", "function": {"name": "w", "arguments": '{"city": 5}'}}
    tool = {"type": "function", "function": {"name": "w", "parameters": CITY}}
    assert check_call(call, [tool]).status == "ask"
    fits = {"id": "c", "type": "function", "function": {"name": "w", "arguments": '{"city": "Bern"}'}}
    found = check_call(fits, [tool])
    assert (found.status, found.call) == ("valid", suture.ToolCall("c", "w", {"city": "Bern"}))


@pytest.mark.parametrize(
    ("call", "tools", "said"),
    [
        ({"name": "w", "arguments": {}}, [{"name": "w", "input_schema": CITY}], "'input_schema'"),
        ({"name": "w", "arguments": {}}, [{"name": "w", "inputSchema": {"json": CITY}}], "'inputSchema'"),
        ({"name": "w", "input": {"city": "Bern"}}, [{"name": "w", "parameters": CITY}], "'input'"),
        ({"name": "w", "args": {"city": "Bern"}}, [{"name": "w", "parameters": CITY}], "'args'"),
        ({"name": "w", "arguments": {}}, {"name": "w", "parameters": CITY}, r"write \[tool\]"),
        ({"name": "w", "arguments": {}}, [5], "not a number"),
        ({"name": "w", "arguments": {}}, None, "a list of them, of Tools or dicts; not null"),
        ({"name": "w", "arguments": {}}, 5, "a list of them, of Tools or dicts; not a number"),
        ({"name": "w", "arguments": {}}, "w", "a list of them, of Tools or dicts; not a text"),
        ({"name": "w", "arguments": {}}, say, r"write \[tool\]"),
        ({"name": "w", "arguments": None, "input": {"city": "Bern"}}, [{"name": "w", "parameters": CITY}], "'input'"),
        ({"name": "w", "arguments": {}, "input": {"city": "Bern"}}, [{"name": "w", "parameters": CITY}], "'input'"),
        ({"name": "w", "parameters": {"city": "Bern"}}, [{"name": "w", "parameters": CITY}], "'parameters'"),
        ({"name": "w", "arguments": {}}, [{"name": "w", "schema": CITY}], "'schema'"),
        ({"name": "w", "arguments": {}}, [{"name": "w", "parameters": None, "input_schema": CITY}], "'input_schema'"),
        ({"name": "w", "arguments": {}}, [{"name": "w", "parameters": {}, "input_schema": CITY}], "'input_schema'"),
        ({"name": "w", "arguments": {}}, [{"name": "w", "parameters": CITY}, {"name": "w", "parameters": {}}], "Two tools"),
        ({"name": "w", "arguments": {}}, [{"name": "w", "parameters": []}], "'parameters'"),
    ],
)
def test_a_form_that_is_not_read_is_an_error_and_never_valid(call: Any, tools: Any, said: str) -> None:
    """Arguments or a schema under another provider's name would not be looked at, so that is said."""
    with pytest.raises(ConfigurationError, match=said):
        check_call(call, tools)


def test_tools_and_calls_come_in_any_shape() -> None:
    """Tools of functions, a mapping of them, an iterator; a neutral call keeps its id and what its provider sent."""

    @suture.tool
    def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    call = suture.ToolCall("c9", "add", None, '{"a": "2"}', "x", item_id="fc_1", ext={"p": {"k": 1}})
    shapes: list[Any] = [[add], {"add": add}, iter([add])]
    for tools in shapes:
        found = check_call(call, tools)
        assert found.call is not None
        assert (found.status, found.call.arguments, found.call.item_id, found.call.ext) == (
            "fixed",
            {"a": 2},
            "fc_1",
            {"p": {"k": 1}},
        )
    assert check_call({"name": "add", "arguments": ""}, [add]).code == "validation_error"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["5", "true", "[1]", "{}"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["city", "City", "days", "near", "tags", "x"]), inner)
    ),
    max_leaves=8,
)


@given(given_=VALUES | st.text() | VALUES.map(lambda value: json.dumps(value)))
def test_any_arguments_are_judged(given_: object) -> None:
    """No input raises, changes, or gets past the schema; what may run is valid when it is checked again."""
    before = copy.deepcopy(given_)
    found = check(given_)
    assert repr(given_) == repr(before)
    if found.status == "ask":
        assert found.call is None
        assert found.reason
        return
    assert found.call is not None
    assert check_call(found.call, TOOLS).status == "valid"
    assert isinstance(found.call.arguments, dict)
    assert isinstance(found.call.arguments["city"], str)
