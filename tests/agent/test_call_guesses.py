"""Readings of a call that would be guesses: names that only look alike, values that fit already, keys that are data."""

from __future__ import annotations

from typing import Any

import pytest

import suture
from suture.tools import check_call

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
    ("address2", ["address_2"], "address_2"),
    ("HTTPServer", ["http-server"], "http-server"),
]


@pytest.mark.parametrize(("came", "allowed", "meant"), SPELLINGS, ids=range(len(SPELLINGS)))
def test_names_that_differ_in_more_than_case_and_separators_are_others(
    came: str, allowed: list[str], meant: str | None
) -> None:
    """As a value, as the name of a parameter, and as the name of a tool: a sign or a range is no separator."""
    value = check({"p": came}, an_object({"p": {"enum": allowed}}))
    key = check({came: 1}, an_object(dict.fromkeys(allowed, {}), additionalProperties=False))
    tool = check_call({"name": came, "arguments": {}}, [{"name": name, "parameters": {}} for name in allowed])
    if meant is None:
        assert (value.status, key.status, tool.status) == ("ask", "ask", "ask")
        return
    assert [one.call and one.call.arguments for one in (value, key)] == [{"p": meant}, {meant: 1}]
    assert tool.call is not None
    assert tool.call.name == meant


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
]


@pytest.mark.parametrize(("name", "code"), JUNK)
def test_what_stands_behind_a_name_is_not_dropped(name: str, code: str) -> None:
    """Another tool, or the arguments, behind a token or a tag."""
    tools = [{"name": name, "parameters": {}} for name in ("read_file", "write_file")]
    found = check_call({"name": name, "arguments": {}}, tools)
    assert (found.status, found.code) == ("ask", code)
    assert "not run" in found.reason or "None was run" in found.reason
