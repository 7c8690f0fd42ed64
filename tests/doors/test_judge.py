"""The demo's judge: it refuses whatever the other judges refuse, and more only where it says so."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suture.cli.demo import judge
from suture.cli.demo.judge import refusals
from suture.cli.demo.report import refused_requests
from tests.judges import FORMATS, problems

Json: TypeAlias = dict[str, Any]
# A turn of a conversation: who speaks, words, and the ids of the calls that are made and answered.
Turn: TypeAlias = tuple[str, str, list[str]]

# Where the judge asks for more than the others: ids given once, and the user's turn at the end.
STRICTER = ("is used again", "the last one is not the user's", "an empty list of calls", "an empty text")


# Histories ------------------------------------------------------------------------------------


@st.composite
def conversations(draw: st.DrawFn) -> list[Turn]:
    """A conversation in which all is well."""
    turns: list[Turn] = [("user", "hi", [])]
    for number in range(draw(st.integers(0, 4))):
        calls = [f"c{number}_{index}" for index in range(draw(st.integers(0, 3)))]
        turns.append(("assistant", draw(st.sampled_from(["", "well"])) if calls else "well", calls))
        if not calls or draw(st.booleans()):
            turns.append(("user", "and?", []))
    return turns


def openai(turns: list[Turn]) -> list[Json]:
    messages: list[Json] = []
    for role, words, calls in turns:
        message: Json = {"role": role, "content": words or None}
        if calls:
            message["tool_calls"] = [_openai_call(id) for id in calls]
        messages.append(message)
        messages += [{"role": "tool", "tool_call_id": id, "content": "done"} for id in calls]
    return messages


def _openai_call(id: str) -> Json:
    return {"id": id, "type": "function", "function": {"name": "find", "arguments": "{}"}}


def anthropic(turns: list[Turn]) -> list[Json]:
    messages: list[Json] = []
    for role, words, calls in turns:
        blocks: list[Json] = [{"type": "text", "text": words}] if words else []
        blocks += [{"type": "tool_use", "id": id, "name": "find", "input": {}} for id in calls]
        messages.append({"role": role, "content": blocks})
        if calls:
            results = [{"type": "tool_result", "tool_use_id": id, "content": "done"} for id in calls]
            messages.append({"role": "user", "content": results})
    return messages


WRITE: dict[str, Callable[[list[Turn]], list[Json]]] = {"openai-chat": openai, "anthropic": anthropic}


@st.composite
def damaged(draw: st.DrawFn, format: str) -> list[Json]:
    """The messages of a conversation, with up to three things done to them."""
    messages = WRITE[format](draw(conversations()))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(messages) - 1)) if messages else 0
        if messages:
            messages = draw(st.sampled_from(DAMAGE))(messages, at)
    return messages


def drop(messages: list[Json], at: int) -> list[Json]:
    return messages[:at] + messages[at + 1 :]


def double(messages: list[Json], at: int) -> list[Json]:
    return messages[: at + 1] + messages[at:]


def swap(messages: list[Json], at: int) -> list[Json]:
    return messages[:at] + messages[at : at + 2][::-1] + messages[at + 2 :]


def interrupt(messages: list[Json], at: int) -> list[Json]:
    return [*messages[:at], {"role": "user", "content": "stop"}, *messages[at:]]


def empty(messages: list[Json], at: int) -> list[Json]:
    bare = {**messages[at], "content": [] if isinstance(messages[at].get("content"), list) else ""}
    bare.pop("tool_calls", None)
    return [*messages[:at], bare, *messages[at + 1 :]]


def shorten(messages: list[Json], at: int) -> list[Json]:
    """The message without its first block, or its first call."""
    key = "tool_calls" if messages[at].get("tool_calls") else "content"
    rest = messages[at].get(key)
    cut = {**messages[at], key: rest[1:] if isinstance(rest, list) else rest}
    return [*messages[:at], cut, *messages[at + 1 :]]


def rename(messages: list[Json], at: int) -> list[Json]:
    """The message with other ids."""
    return [*messages[:at], json.loads(json.dumps(messages[at]).replace("c0_", "other_")), *messages[at + 1 :]]


def has_neighbours(messages: list[Json]) -> bool:
    """Whether one role speaks twice in a row. The others join such messages first; the judge takes none on trust."""
    return any(one["role"] == other["role"] for one, other in pairwise(messages))


DAMAGE = (drop, double, swap, interrupt, empty, shorten, rename)


# What must hold -------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_the_judge_takes_what_is_well(format: str, data: st.DataObject) -> None:
    """A sound conversation that ends with the user is taken by all."""
    turns = data.draw(conversations())
    messages = WRITE[format](turns)
    if messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": "bye"})
    assert refusals(format, {"messages": messages}) == []
    assert problems(format, {"messages": messages}) == []


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=600, deadline=None)
@given(data=st.data())
def test_the_judge_is_no_milder_than_the_others(format: str, data: st.DataObject) -> None:
    """What the checkers of the cases or turnsafe refuse, it refuses; what it alone refuses, it names."""
    messages = data.draw(damaged(format))
    found = refusals(format, {"messages": messages})
    if not messages:
        assert found == ["there are no messages"]
    elif problems(format, {"messages": messages}):
        assert found
    elif format == "openai-chat" or not has_neighbours(messages):
        assert [one for one in found if not any(reason in one for reason in STRICTER)] == []


CALL = {"role": "assistant", "content": None, "tool_calls": [_openai_call("c1")]}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "find", "input": {}}]}
HI = {"role": "user", "content": "hi"}


def with_call(**changes: object) -> Json:
    return {**CALL, "tool_calls": [{**_openai_call("c1"), **changes}]}


def with_function(**changes: object) -> Json:
    return with_call(function={"name": "find", "arguments": "{}", **changes})


def with_use(**changes: object) -> Json:
    return {**USE, "content": [{"type": "tool_use", "id": "c1", "name": "find", "input": {}, **changes}]}


def answer(id: object = "c1", **changes: object) -> Json:
    return {"role": "tool", "tool_call_id": id, "content": "done", **changes}


def result(id: object = "c1", **changes: object) -> Json:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "done", **changes}]}


@pytest.mark.parametrize(
    ("format", "messages", "why"),
    [
        ("openai-chat", [HI, CALL], "the end: comes before the results of ['c1']"),
        ("openai-chat", [HI, CALL, HI, answer()], "message 2: comes before the results of ['c1']"),
        ("openai-chat", [HI, answer()], "message 1: a result for 'c1', which no call before it waits for"),
        ("openai-chat", [HI, CALL, answer(), answer()], "message 3: a result for 'c1', which no call before it waits for"),
        ("openai-chat", [HI, CALL, answer(), CALL, answer()], "message 3: the id 'c1' is used again"),
        ("openai-chat", [HI, with_call(id="x" * 41), answer("x" * 41)], f"message 1: the id '{'x' * 41}' has more than 40 characters"),
        ("openai-chat", [HI, with_call(id=""), answer("")], "message 1: a call without an id"),
        ("openai-chat", [HI, with_call(type="custom"), answer()], "message 1: the call 'c1' is no function call"),
        ("openai-chat", [HI, with_function(name="a.b"), answer()], "message 1: the tool name 'a.b'"),
        ("openai-chat", [HI, with_function(arguments="[]"), answer()], "message 1: the arguments of 'c1' are no object"),
        ("openai-chat", [HI, with_function(arguments="{"), answer()], "message 1: the arguments of 'c1' are no JSON text"),
        ("openai-chat", [HI, with_function(arguments={}), answer()], "message 1: the arguments of 'c1' are no JSON text"),
        ("openai-chat", [HI, CALL, answer(content=None)], "message 2: content is NoneType"),
        ("openai-chat", [HI, {"role": "assistant", "content": ""}], "message 1: an assistant message with nothing in it"),
        ("openai-chat", [HI, {"role": "assistant", "content": "x", "tool_calls": []}], "message 1: an empty list of calls"),
        ("openai-chat", [{"role": "oracle", "content": "x"}], "message 0: the role 'oracle'"),
        ("openai-chat", [{**HI, "tool_calls": [_openai_call("c1")]}, answer()], "message 0: a user message with calls"),
        ("openai-chat", [{"role": "user", "content": "\ud800"}], "the request is no JSON: UnicodeEncodeError"),
        ("anthropic", [HI, USE], "the end: comes before the results of ['c1']"),
        ("anthropic", [HI, USE, HI, result()], "message 2: comes before the results of ['c1']"),
        ("anthropic", [HI, USE, result(), HI, USE, result()], "message 4: the id 'c1' is used again"),
        ("anthropic", [result()], "message 0: a result for 'c1', which no call before it waits for"),
        ("anthropic", [USE, result()], "message 0: is not the user's"),
        ("anthropic", [HI, {"role": "assistant", "content": "x"}], "message 1: the last one is not the user's"),
        ("anthropic", [{"role": "user", "content": " "}], "message 0: an empty text"),
        ("anthropic", [HI, {"role": "user", "content": []}], "message 1: there is nothing in it, or something that is no block"),
        ("anthropic", [HI, with_use(id="a.b"), result("a.b")], "message 1: the id 'a.b' has characters that are not taken"),
        ("anthropic", [HI, with_use(input="{}"), result()], "message 1: the input of 'c1' is no object"),
        ("anthropic", [HI, with_use(name=""), result()], "message 1: the tool name ''"),
        (
            "anthropic",
            [HI, {**USE, "content": [*USE["content"], {"type": "text", "text": "x"}]}, result()],
            "message 1: calls that are not at the end of an assistant message",
        ),
        (
            "anthropic",
            [HI, USE, {"role": "user", "content": [{"type": "text", "text": "x"}, *result()["content"]]}],
            "message 2: results that are not at the beginning of a user message",
        ),
        ("anthropic", [HI, USE, result(content=[{"type": "text", "text": ""}])], "message 2: an empty text in the result of 'c1'"),
        ("anthropic", [{"role": "system", "content": "x"}, HI], "message 0: the role 'system'"),
    ],
)  # fmt: skip
def test_the_judge_says_what_is_wrong(format: str, messages: list[Json], why: str) -> None:
    """Each fault has its sentence."""
    assert why in refusals(format, {"messages": messages})


@pytest.mark.parametrize("request_", [None, [], {}, {"messages": None}, {"messages": []}, {"messages": [1]}])
def test_the_judge_refuses_what_is_no_request(request_: object) -> None:
    """What holds no messages is refused, not a crash."""
    assert len(refusals("anthropic", request_)) == 1


def test_a_broken_request_is_found_among_good_ones() -> None:
    """The report names the request, the format and why."""
    good = {"openai-chat": {"messages": [HI, CALL, answer()]}, "anthropic": {"messages": [HI, USE, result()]}}
    broken = {**good, "anthropic": {"messages": [HI, USE]}}
    assert refused_requests([good, good]) == []
    (found,) = refused_requests([good, broken])
    assert (found["request"], found["format"]) == (1, "anthropic")
    assert refused_requests([{"openai-chat": good["openai-chat"]}])[0]["why"] == ["there are no messages"]


def test_the_judge_shares_no_code_with_suture() -> None:
    """It imports the standard library alone."""
    tree = ast.parse(Path(judge.__file__).read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imported == {"__future__", "collections.abc", "typing", "json", "re"}
