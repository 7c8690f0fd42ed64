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
    ('<tool_call>\n{"a": 1}\n</tool_call>', {"a": 1}, ["surrounding_text"]),
    ('</think>{"a": 1};', {"a": 1}, ["surrounding_text"]),
    ('`{"a": 1}`', {"a": 1}, ["surrounding_text"]),
    ('Here\'s the call to get_weather: {"a": 1}', {"a": 1}, ["surrounding_text"]),
    ('Sure, I will call it now.\n\n{"a": 1}', {"a": 1}, ["surrounding_text"]),
    ('Voilà, les arguments :\n{"a": 1}', {"a": 1}, ["surrounding_text"]),
    ('<|channel|>commentary json<|message|>{"a": 1}<|call|>', {"a": 1}, ["surrounding_text"]),
    ('Sure:\n```json\n{"a": 1}', {"a": 1}, ["surrounding_text", "code_fence"]),
    ('{"a": 1, // one\n "b": 2 /* two */, # three\n}', {"a": 1, "b": 2}, ["comment", "trailing_comma"]),
    ("{'a': 'it is', 'b': True, 'c': None}", {"a": "it is", "b": True, "c": None}, ["single_quotes", "python_literal"]),
    ("{'a': 'it\\'s'}", {"a": "it's"}, ["single_quotes"]),
    ('{"a": "it\\\'s"}', {"a": "it's"}, ["bad_escape"]),
    ('{a: 1, $b_2: "x"}', {"a": 1, "$b_2": "x"}, ["unquoted_key"]),
    ('{"a": "\tif ok {\n\t}"}', {"a": "\tif ok {\n\t}"}, ["control_characters"]),
    (r'{"a": "C:\Users\docs\x.md"}', {"a": r"C:\Users\docs\x.md"}, ["bad_escape"]),
    (r'{"a": "C:\xampp\Upload", "b": "1\n2"}', {"a": r"C:\xampp\Upload", "b": "1\n2"}, ["bad_escape"]),
    (r'{"a": "\d\.\$", "b": "Note:\n"}', {"a": r"\d\.\$", "b": "Note:\n"}, ["bad_escape"]),
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


# What stands around the value could be arguments, or says that the value is not meant.
SURROUNDED = [
    '{"path":"a"}, "content": "hello"',
    '{"path":"a"},"content":"hel',
    '{"path":"a"},',
    '{"path":"a"} "content":"b"',
    '{"path":"a"} "b"',
    '{"path":"a"} 5',
    '{"path":"a"} content: b',
    '{"path":"a"} content',
    '{"path":"a"} content=b',
    '{"path":"a"} is what I would not run.',
    '{"path":"a"}) ',
    '{"path":"a"}<content>Hello.</content>',
    '{"path":"a"}<content>',
    '{"path":"a"}</path>Hello.</content>',
    '{"path":"a"}<|content|>Hello.',
    '{"path":"a"}\n```\nHello.\n```',
    "'path': 'Bern', 'opts': {'path': 'x'}",
    'path="a", opts={"path":"x"}',
    'path: a, opts: {"path":"x"}',
    'opts: {"path":"x"}',
    'opts:\n  {"path":"x"}',
    'the path, opts: {"path":"x"}',
    't("a", {"path":"x"})',
    't({"path":"x"})',
    'path: "a"\n{"path":"b"}',
    'Bern\n{"path":"b"}',
    'Bern, Basel\n{"path":"b"}',
    'a b,\n{"path":"b"}',
    '5\n{"path":"b"}',
    '- a b\n- {"path":"b"}',
    '<path>a</path>{"path":"b"}',
    '<path>a<opts>{"path":"b"}',
    'ent": "x", "opts": {"path":"b"}',
    'th": {"path":"b"}',
    ': {"path":"b"}',
    'Do not run {"path":"x"}',
    'Instead of {"path":"x"} I would ask you.',
]  # fmt: skip

# Each stands for something by the rules of another language.
ESCAPES = [r"\x1b", r"\U0001F600", r"\033", r"\0", r"\N{DASH}", r"\u12", r"\users", r"\a", r"\v", "\\\n"]

DRIVES = [
    r'{"path":"C:\dir","content":"C:\new"}',
    r'{"path":"C:\temp","content":["D:\dir"]}',
    r"{'a': 'see E:\reports', 'b': '\d'}",
]


@pytest.mark.parametrize("text", SURROUNDED)
def test_what_stands_around_a_value_is_not_dropped(text: str) -> None:
    """It could belong to the value, or be of another; inside of a text of its own as well."""
    for given_ in (text, json.dumps(text)[1:-1]):
        with pytest.raises(Unreadable):
            mend(given_)


@pytest.mark.parametrize("quote", ['"', "'"])
@pytest.mark.parametrize("escape", ESCAPES)
def test_an_escape_of_another_language_is_no_backslash(escape: str, quote: str) -> None:
    """Whether a character or the backslash was meant, nobody knows."""
    with pytest.raises(Unreadable, match="for each backslash"):
        mend(f"{{{quote}a{quote}: {quote}x{escape} y{quote},}}")


@pytest.mark.parametrize("text", DRIVES)
def test_a_path_beside_an_unescaped_one_is_no_line_break(text: str) -> None:
    """Where one path has backslashes that escape nothing, the n behind another's drive may be a name."""
    with pytest.raises(Unreadable, match="for each backslash"):
        mend(text)


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


SLOPPY = [
    "Here you are:\n```json\n{text}\n```\nI will run it now.",
    "<|tool_call|>{text}<|end|>",
    "{text};",
]


@given(
    value=st.dictionaries(st.text(), VALUES, max_size=4),
    frame=st.sampled_from(SLOPPY),
    start=st.integers(0, 400),
    end=st.integers(0, 400),
)
def test_no_part_of_a_text_with_slips_means_something_else(
    value: dict[str, object], frame: str, start: int, end: int
) -> None:
    """Cut anywhere, at both ends, it is refused or means what the whole does."""
    for written in (json.dumps(value), repr(value), json.dumps(value)[:-1] + ",}" if value else "{}"):
        text = frame.replace("{text}", written)
        _assert_whole_or_refused(text[start : len(text) - end], value)


@given(
    value=st.dictionaries(st.text(), VALUES, max_size=3),
    more=VALUES,
    behind=st.booleans(),
    start=st.integers(0, 60),
    end=st.integers(0, 60),
)
def test_no_part_of_glued_arguments_is_taken_for_all(
    value: dict[str, object], more: object, behind: bool, start: int, end: int
) -> None:
    """An object beside other arguments, whose braces are missing, is refused however much of them is left."""
    key = f'"more": {json.dumps(more)}'
    text, least = json.dumps(value), len(json.dumps(value)) + 1
    glued = f"{text}, {key}" if behind else f'{key}, "object": {text}'
    for part in (glued[start:], glued[: max(least, len(glued) - end)] if behind else glued[: len(glued) - end]):
        if part.strip() not in (text, json.dumps(more)):
            with pytest.raises(Unreadable):
                _object_of(part)


def _object_of(text: str) -> dict[str, object]:
    """The object that a text means; what means something else is of no use as arguments."""
    value = mend(text).value
    if not isinstance(value, dict):
        raise Unreadable("invalid_arguments", "no object")
    return value


def _assert_whole_or_refused(text: str, value: dict[str, object]) -> None:
    try:
        found = _object_of(text)
    except Unreadable:
        return
    assert repr(found) == repr(value)
