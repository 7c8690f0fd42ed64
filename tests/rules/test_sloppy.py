"""Complete texts with slips of syntax: what each can only mean, and what would be a guess."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suture.arguments import MAX_DEPTH, MAX_NODES, Callee, Unreadable, mend

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
    ('json\n{"a": 1}', {"a": 1}, ["surrounding_text"]),
    ('{"a": 1}</s>', {"a": 1}, ["surrounding_text"]),
    ('<think>\n</think>\n\n{"a": 1}', {"a": 1}, ["surrounding_text"]),
    ('```JSON {"a": 1}```', {"a": 1}, ["code_fence"]),
    ('<minimax:tool_call><arguments>{"a": 1}</arguments></minimax:tool_call>', {"a": 1}, ["surrounding_text"]),
    (
        '<\uff5ctool\u2581call\u2581begin\uff5c>{"a": 1}<\uff5ctool\u2581call\u2581end\uff5c>',
        {"a": 1},
        ["surrounding_text"],
    ),
    ('<|im_start|>assistant\n<tool_call>{"a": 1}</tool_call><|im_end|>', {"a": 1}, ["surrounding_text"]),
    ('{"a": 1}\n</tool_call>\nCalling get_weather now.', {"a": 1}, ["surrounding_text"]),
    ('Okay, let\u2019s run the tool with the following arguments:\n{"a": 1}', {"a": 1}, ["surrounding_text"]),
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
    ("{True: 1}", "invalid_json"),
    ("{None: 1}", "invalid_json"),
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
    "Actually, don't send it {\"path\":\"x\"}",
    'Ignore this: {"path":"x"}',
    'Ignore this:\n```json\n{"path":"x"}\n```',
    'Here is an example:\n{"path":"x"}',
    'Here is the call I will not make:\n{"path":"x"}',
    'Here is the input for another call:\n{"path":"x"}',
    'The old arguments were:\n{"path":"x"}',
    'I am not sure.\n{"path":"x"}',
    'Done:\n{"path":"x"}',
    '!{"path":"x"}',
    '...{"path":"x"}',
    '{"path":"a"} but use 200 instead',
    '{"path":"a"} But use b instead.',
    "{\"path\":\"a\"}\nActually, don't.",
    '{"path":"a"} Wait.',
    '{"path":"a"} I will cancel it now.',
    '{"path":"a"} I will read it first.',
    '{"path":"a"} I will not read it.',
    '{"path":"a"} I will read it with b.',
    '{"path":"a"} Should I run it?',
    '{"path":"a"}?',
    '{"path":"a"}...',
    '{"path":"a"} Done...',
    '```json\n{"path":"a"}\n```\nUse b.',
    '```example\n{"path":"a"}\n```',
    '```content\n{"path":"a"}\n```',
    '<amount>5</amount>{"path":"b"}',
    '{"path":"a"}<amount>5</amount>',
    '{"path":"a"}</amount>',
    '<amount>{"path":"a"}</amount>',
    '<parameter>{"path":"a"}</parameter>',
    '<message>{"path":"a"}</message>',
    '<think>{"path":"a"}</think>',
    '<think>{"path":"a"}',
    '<|cancel|>{"path":"a"}',
    '{"path":"a"}<|cancel|>',
    '{"path":"a"}</tool_call><tool_call>',
    '{"path":"a"}<|tool_call_end|><|tool_call_begin|>',
    '<|channel|>final<|message|>{"path":"a"}',
    '<|im_start|>user\n{"path":"a"}',
    '<cancelled/>{"path":"a"}',
    '<s>{"path":"a"}</s>',
    '~~{"path":"a"}~~',
    '<del>{"path":"a"}</del>',
    '\u200b{"path":"a"}',
]  # fmt: skip

# What a comment may correct, take out or doubt.
COMMENTS = [
    '{"a": 5 // 50?\n}',
    '{"a": 5 // fifty\n}',
    '{"a": 5, // fifty\n "b": 1}',
    '{"a": 5 /* in minutes */}',
    '{"a": 5 // k\n}',
    '{"a": 5 // kg\n}',
    '{"a": 5 // nicht\n}',
    '{"a": "Bern", // the city is Basel\n "b": 1}',
    '{// use fewer\n"a": 1}',
    '{"a": 5 /* plain words */ /* fifty */}',
    '{"a": /* fifty */ 5}',
    '{"a": 5, // not sure\n "b": 1}',
    '{"a": 5, // don\'t\n "b": 1}',
    '{"a": true // no\n}',
    '{"a": "Bern" // Basel\n}',
    '{"a": "Bern", // New Bern\n "b": 1}',
    '{"a": ["x" // y\n]}',
    '{"a": 1, // "b": 2\n}',
    '{"a": 1, // b: 2\n}',
    "{\"a\": 1, /* 'b' */}",
    '{"a": 1, // TODO\n "b": 2}',
    '{// ignore this\n"a": 1}',
    '{"a": 1, # = 2\n}',
]

# Each stands for something by the rules of another language.
ESCAPES = [
    r"\x1b",
    r"\U0001F600",
    r"\033",
    r"\0",
    r"\N{DASH}",
    r"\u12",
    r"\users",
    r"\a",
    r"\v",
    "\\\n",
    r"\e",
    r"\cA",
    r"\x{41}",
    r"\z",
]

# Each is written for a sign by some, and as what it is by others; or for a space.
NEEDLESS = [r"\$5", r"\`x\`", r"\#1", r"a\ b", r"\.", r"\s", r"\-", r"\(x\)"]

# JSON says one thing, and Python another.
SLASHES = [r"{'a': '\/'}", r"{'a': 1, 'b': {'c': ['x\/y']}}", r"""{'a': "it's \/"}""", r'{"a": "\/", "b": True}']

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


@pytest.mark.parametrize("quote", ['"', "'"])
@pytest.mark.parametrize("escape", NEEDLESS)
def test_a_backslash_before_a_sign_may_be_needless(escape: str, quote: str) -> None:
    """Alone, nobody knows; beside one before a letter, or behind a drive, all stand for themselves."""
    with pytest.raises(Unreadable, match="for each backslash"):
        mend(f"{{{quote}a{quote}: {quote}x {escape} y{quote}}}")
    for beside in (r"\d", r"C:\scripts"):
        assert mend(f"{{{quote}a{quote}: {quote}{beside} {escape}{quote}}}").value == {"a": f"{beside} {escape}"}


@pytest.mark.parametrize("text", SLASHES)
def test_an_escaped_slash_in_pythons_writing_is_two_things(text: str) -> None:
    """Anywhere beside what JSON has not; in JSON with another slip it is a slash."""
    with pytest.raises(Unreadable, match="for each backslash"):
        mend(text)
    assert mend('{"a": "x\\/y",}').value == {"a": "x/y"}


@pytest.mark.parametrize("text", COMMENTS)
def test_a_comment_that_could_change_a_value_is_not_dropped(text: str) -> None:
    """Another value, a member, or a doubt stands in it; the reason says where, and repeats none of it."""
    with pytest.raises(Unreadable, match="the comment at character"):
        mend(text)


@pytest.mark.parametrize(
    "comment", ["the amount", "a plain note", "", "five", "the user's own number.", "a na\u00efve one's"]
)
def test_a_plain_comment_is_dropped(comment: str) -> None:
    """Behind a value, on a line of its own, and before a key."""
    for text in (f'{{"a": 5 // {comment}\n}}', f'{{"a": 5, /*{comment}*/\n}}', f'{{"a": 5 # {comment}\n, }}'):
        assert mend(text).value == {"a": 5}
    assert mend('{// Options\n"a": "x", // the place\n\n// Others\n"b": 1}').value == {"a": "x", "b": 1}


# What is said around a value, of which tool the arguments are, and whether it only announces that call.
SAID: list[tuple[str, Callee, bool]] = [
    ('Here is the call to pay_now: {"a": 1}', Callee("pay_now"), True),
    ('Here is the call to refund: {"a": 1}', Callee("refund"), True),
    ('Calling `refund` now:\n{"a": 1}', Callee("refund"), True),
    ('{"a": 1} I will refund it now.', Callee("refund_order"), True),
    ('{"a": 1}</refund>', Callee("refund"), False),
    ('<input>{"a": 1}</input>', Callee("pay"), True),
    ('Here is the call to pay_now: {"a": 1}', Callee("refund"), False),
    ('{"a": 1} Now calling cancel_order.', Callee("refund_order"), False),
    ('{"a": 1} I will read it now.', Callee("delete_file"), False),
    ('{"a": 1} I will cancel it now.', Callee("cancel_order"), False),
    ('{"a": 1} I will update it now.', Callee("update_order"), False),
    ('</reasoning>{"a": 1}', Callee("pay", frozenset(["reasoning"])), False),
    ('{"a": 1} I will read it now.', Callee("read_file"), True),
    ('<input>{"a": 1}</input>', Callee("pay", frozenset(["input"])), False),
    ('<Input>{"a": 1}</Input>', Callee("pay", frozenset(["INPUT"])), False),
    ('json\n{"a": 1}', Callee("pay", frozenset(["json"])), False),
]


@pytest.mark.parametrize(("text", "callee", "is_taken"), SAID)
def test_words_of_another_tool_or_parameter_are_not_dropped(text: str, callee: Callee, is_taken: bool) -> None:
    """Of the tool itself they are; an element or a label that a parameter is called by would give its value."""
    if is_taken:
        assert mend(text, callee).value == {"a": 1}
        return
    with pytest.raises(Unreadable):
        mend(text, callee)


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
