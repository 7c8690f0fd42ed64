"""Complete texts with slips of syntax: what each can only mean, and what would be a guess."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suture.arguments import MAX_DEPTH, MAX_NODES, Unreadable, mend

MENDED = [
    ('{"a": 1,}', {"a": 1}, ["trailing_comma"]),
    ('{"a": [1, 2, ], }', {"a": [1, 2]}, ["trailing_comma"]),
    ('```json\n{"a": "use ``` here"}\n```', {"a": "use ``` here"}, ["code_fence"]),
    ('~~~\n{"a": 1}\n~~~\n', {"a": 1}, ["code_fence"]),
    ('Sure:\n```json\n{"a": 1}\n```\nDone.', {"a": 1}, ["surrounding_text", "code_fence"]),
    ('{"a": 1} I will read it now.', {"a": 1}, ["surrounding_text"]),
    ('<|tool_call|>{"a": 1}<|end|>', {"a": 1}, ["surrounding_text"]),
    ('{"a": 1, // one\n "b": 2 /* two */, # three\n}', {"a": 1, "b": 2}, ["comment", "trailing_comma"]),
    ("{'a': 'it is', 'b': True, 'c': None}", {"a": "it is", "b": True, "c": None}, ["single_quotes", "python_literal"]),
    ("{'a': 'it\\'s'}", {"a": "it's"}, ["single_quotes"]),
    ('{"a": "it\\\'s"}', {"a": "it's"}, ["bad_escape"]),
    ('{a: 1, $b_2: "x"}', {"a": 1, "$b_2": "x"}, ["unquoted_key"]),
    ('{"a": "\tif ok {\n\t}"}', {"a": "\tif ok {\n\t}"}, ["control_characters"]),
    (r'{"a": "C:\Users\docs\x.md"}', {"a": r"C:\Users\docs\x.md"}, ["bad_escape"]),
    (r'{"a": "grep \"\d+\""}', {"a": r'grep "\d+"'}, ["bad_escape"]),
    ('{"a": "// no comment, ```no fence```"}', {"a": "// no comment, ```no fence```"}, []),
    ('[{"a": 1}]', [{"a": 1}], []),
    ('"{\\"a\\": 1}"', '{"a": 1}', []),
    ('\ufeff{"a": 12345678901234567890123}', {"a": 12345678901234567890123}, []),
    ('{"a": [[], {}], "b": {"c": []}}', {"a": [[], {}], "b": {"c": []}}, []),
]

REFUSED = [
    ('{"a": "cut in the mid', "truncated"),
    ('{"a": [1, 2', "truncated"),
    ('{"a": tr', "invalid_json"),
    ('{"a":', "truncated"),
    ('{"a": 1}{"a": 2}', "concatenated"),
    ('{"a": 1}, {"a": 2}', "concatenated"),
    ('{"a": 1}\n[2]', "concatenated"),
    ('{"a": 1}}', "invalid_json"),
    ('{"a": 1 "b": 2}', "invalid_json"),
    ("{'a': {'x', 'y'}}", "invalid_json"),
    ("{'a': (1, 2)}", "invalid_json"),
    ("{'a': 'it''s'}", "invalid_json"),
    ('{"a": say "hi"}', "invalid_json"),
    ('{"a": "she said "hi" to me"}', "invalid_json"),
    (r'{"a": "C:\new\x"}', "invalid_json"),
    (r'{"a": "\\share\docs"}', "invalid_json"),
    ('{"a": NaN}', "non_finite_number"),
    ('{"a": -Infinity}', "non_finite_number"),
    ('{"a": 1e999}', "non_finite_number"),
    ('{"a": 01}', "invalid_json"),
    ('{"a": 1, "a": 2,}', "duplicate_key"),
    ("{'a': 1, a: 2}", "duplicate_key"),
    ('{"a": undefined}', "invalid_json"),
    ("ls -la", "invalid_json"),
    ("{,}", "invalid_json"),
    ("[1,,2]", "invalid_json"),
    ("{'a': " * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1), "too_deep"),
    ("[" + "1," * (MAX_NODES + 1) + "]", "too_many_nodes"),
    ("{'a': " + "7" * 5000 + "}", "number_too_large"),
    ("{'a': '" + "x" * 1024 * 1024 + "'}", "too_large"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value", "slips"), MENDED)
def test_a_slip_is_mended_where_only_one_thing_can_be_meant(text: str, value: object, slips: list[str]) -> None:
    """The value, and each slip by its name."""
    found = mend(text)
    assert (found.value, list(found.slips)) == (value, slips)


@pytest.mark.parametrize(("text", "error"), REFUSED, ids=range(len(REFUSED)))
def test_what_would_be_a_guess_is_refused(text: str, error: str) -> None:
    """The code says what is wrong, and the reason what to do; it repeats at most one character of what was sent."""
    with pytest.raises(Unreadable) as caught:
        mend(text)
    assert caught.value.error == error
    assert len(caught.value.reason) < 200


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(value=st.dictionaries(st.text(), VALUES, max_size=4), indent=st.sampled_from([None, 0, 2]))
def test_json_is_read_as_json(value: dict[str, object], indent: int | None) -> None:
    """What is valid has no slip and means what it says; in Python's own writing it means the same."""
    found = mend(json.dumps(value, indent=indent))
    assert (found.value, found.slips) == (value, ())


@given(value=st.dictionaries(st.text(), VALUES, max_size=4), cut=st.integers(1, 400))
def test_nothing_cut_off_is_ever_completed(value: dict[str, object], cut: int) -> None:
    """Whatever is missing at the end, the text is refused."""
    text = json.dumps(value)
    with pytest.raises(Unreadable):
        mend(text[: max(1, len(text) - cut)])
