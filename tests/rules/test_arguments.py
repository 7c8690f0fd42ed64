"""Arguments read strictly: what is taken, what is refused and how the refusal reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from suture.arguments import MAX_DEPTH, MAX_DIGITS, MAX_LENGTH, MAX_NODES, MAX_NUMBER, Parsed, parse
from tests.growth import TIMES, grows

EMPTY: dict[str, object] = {}


def nested(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        (None, EMPTY),
        ("", EMPTY),
        (" \n\t", EMPTY),
        ("null", EMPTY),
        ("{}", EMPTY),
        ({}, EMPTY),
        (' {"a": 1} ', {"a": 1}),
        ('{"a": 1.0, "b": true, "c": null}', {"a": 1.0, "b": True, "c": None}),
        ('{"id": 12345678901234567890123}', {"id": 12345678901234567890123}),
        ('{"n": ' + "7" * MAX_DIGITS + "}", {"n": int("7" * MAX_DIGITS)}),
        ('{"a": "\\ud83c\\udf78"}', {"a": "\U0001f378"}),
        ('{"a": "cut \\ud83d"}', {"a": "cut \ufffd"}),
        ('{"a": "\ud83c\udf78"}', {"a": "\U0001f378"}),
        ('{"\\ud83d": ["\\ude00"]}', {"\ufffd": ["\ufffd"]}),
        (nested(MAX_DEPTH), json.loads(nested(MAX_DEPTH))),
        ('{"a": "' + "[" * 1000 + '"}', {"a": "[" * 1000}),
        (MappingProxyType({"a": (1, [2])}), {"a": [1, [2]]}),
    ],
)
def test_an_object_is_read_exactly(raw: object, arguments: dict[str, object]) -> None:
    """Null and blank are no arguments; numbers keep their type; halves of pairs are joined or replaced."""
    assert repr(parse(raw)) == repr(Parsed(arguments))


@pytest.mark.parametrize(
    ("raw", "error", "reason"),
    [
        ('["a"]', "invalid_arguments", "The arguments are a list; send one JSON object."),
        ('"ls"', "invalid_arguments", "The arguments are a text; send one JSON object."),
        ("3", "invalid_arguments", "The arguments are a number; send one JSON object."),
        ("true", "invalid_arguments", "The arguments are a boolean; send one JSON object."),
        (["a"], "invalid_arguments", "The arguments are a list; send one JSON object."),
        (b"{}", "invalid_arguments", "The arguments are a value of type bytes; send one JSON object."),
        (
            '{"path": "a.txt", "content": "hel',
            "invalid_json",
            "The arguments end before the JSON object is complete, after 33 characters; send it whole.",
        ),
        (
            '{"a": ',
            "invalid_json",
            "The arguments end before the JSON object is complete, after 6 characters; send it whole.",
        ),
        (
            '{"a": 1}{"b": 2}',
            "invalid_json",
            "After the JSON object, at character 8, more text follows: '{\"b\": 2}'. Send one object alone.",
        ),
        (
            "{'a': 1}",
            "invalid_json",
            ("The arguments are not valid JSON at character 1: expecting property name enclosed in double quotes, "
            'found "\'a\': 1}". Send one JSON object.'),
        ),
        ("ls -la", "invalid_json", ("The arguments are not valid JSON at character 0: expecting value, found 'ls -la'. "
         "Send one JSON object.")),
        ('{"a": 1, "a": 2}', "duplicate_key", "The key 'a' is given twice in one object; give it once."),
        ('{"b": [{"a": 1, "a": 1}]}', "duplicate_key", "The key 'a' is given twice in one object; give it once."),
        ('{"\\ud83d": 1, "\\ud83e": 2}', "duplicate_key", "The key '\ufffd' is given twice in one object; give it once."),
        ('{"a": NaN}', "non_finite_number", "NaN is no JSON number; send a finite number or null."),
        ('{"a": -Infinity}', "non_finite_number", "-Infinity is no JSON number; send a finite number or null."),
        ('{"a": 1e999}', "non_finite_number", "A number is too large or not finite; send a finite number or null."),
        ({"a": float("nan")}, "non_finite_number", "A number is too large or not finite; send a finite number or null."),
        ('{"a": ' + "9" * (MAX_DIGITS + 1) + "}", "number_too_large",
         "A number has more digits than can be read; send it as text."),
        ('{"a": 0.' + "1" * MAX_NUMBER + "}", "number_too_large",
         "A number has more digits than can be read; send it as text."),
        ({"a": 10**MAX_DIGITS}, "number_too_large", "A number has more digits than can be read; send it as text."),
        (nested(MAX_DEPTH + 1), "too_deep", "The arguments are nested deeper than 64 levels; flatten them."),
        ("[" * 200_000, "too_deep", "The arguments are nested deeper than 64 levels; flatten them."),
        ('{"a": [' + "1," * MAX_NODES + "1]}", "too_many_nodes",
         "The arguments hold more than 10,000 values; send less in one call."),
        ('{"a": "' + "x" * MAX_LENGTH + '"}', "too_large",
         "The arguments are longer than 8 MiB; send less in one call."),
        ('{"a": "' + "\u00fc" * (MAX_LENGTH // 2) + '"}', "too_large",
         "The arguments are longer than 8 MiB; send less in one call."),
        ({"a": "x" * MAX_LENGTH}, "too_large", "The arguments hold more than 8 MiB of text; send less in one call."),
        ({1: 2}, "invalid_key", "The key '1' is no text; JSON objects have text keys."),
        ({"a": {1, 2}}, "non_json_value",
         "The arguments hold a value of type set; send texts, numbers, booleans, lists and objects."),
    ],
    ids=lambda value: str(value)[:24] if isinstance(value, str) else None,
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(raw: object, error: str, reason: str) -> None:
    """Nothing is guessed, and one sentence says what was wrong, where, and what to send."""
    assert parse(raw) == (None, error, reason)


def test_a_dict_that_holds_itself_is_refused() -> None:
    """A circle ends at the depth limit, not in the stack."""
    circle: dict[str, object] = {}
    circle["a"] = circle
    assert parse(circle).error == "too_deep"


def test_the_callers_dict_is_copied() -> None:
    """What comes out belongs to the call alone."""
    given: dict[str, object] = {"a": [1]}
    arguments = parse(given).arguments
    assert arguments == given
    assert arguments is not given
    assert arguments["a"] is not given["a"]


SLOW: Mapping[str, Callable[[int], str]] = {
    "quotes": lambda n: '"' + '\\"' * n,
    "braces": lambda n: "{" * n,
    "objects": lambda n: '{"a":' * n,
    "digits": lambda n: "1" * n,
    "backslashes": lambda n: '{"' + "\\" * (n + 1),
    "signs": lambda n: "-" * n,
}


@pytest.mark.parametrize("shape", SLOW)
def test_reading_is_linear(shape: str) -> None:
    """A text made to be slow, or to overflow the stack, is refused in the time that its length takes."""
    assert parse(SLOW[shape](1_000_000)).arguments is None
    assert grows(lambda n: parse(SLOW[shape](n)), 50_000) < TIMES * 3


@example("\x1f\x1f\x08000000000000000\x1f\x1f" + "\U0002ebe1" * 40)
@given(st.text(max_size=200) | st.text(alphabet='{}[]",:0123456789eE.-\\ut ', max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text raises; what is read is what JSON says; the reason never echoes more than a piece of the text."""
    arguments, error, reason = parse(text)
    assert (arguments is None) == (error is not None) == (reason is not None)
    if arguments:
        assert json.loads(text) is not None
    if reason is not None:
        assert len(reason) < 260


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_what_was_written_is_read_back(value: dict[str, object]) -> None:
    """Every object survives the way through text, types included."""
    assert repr(parse(json.dumps(value)).arguments) == repr(parse(value).arguments)
    assert repr(parse(json.dumps(value, ensure_ascii=False)).arguments) == repr(parse(value).arguments)
