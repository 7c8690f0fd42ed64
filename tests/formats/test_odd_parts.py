"""Results that are JSON of another kind than results are, in every format, and what of a message nothing can be read in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import pytest

from suture.formats import FORMATS
from suture.healing import convert, diagnose, heal

Json: TypeAlias = dict[str, Any]
every = pytest.mark.parametrize("format", list(FORMATS))

ID = "call00AbC"
ASKED: Json = {"role": "user", "content": "q"}


def chat(content: object) -> list[Json]:
    call = {"id": ID, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return [
        ASKED,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": ID, "content": content},
    ]


RESULTS: Mapping[str, Callable[[object], list[Json]]] = {
    "openai-chat": chat,
    "mistral": chat,
    "openai-responses": lambda content: [
        {"type": "message", **ASKED},
        {"type": "function_call", "call_id": ID, "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": ID, "output": content},
    ],
    "anthropic": lambda content: [
        ASKED,
        {"role": "assistant", "content": [{"type": "tool_use", "id": ID, "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": ID, "content": content}]},
    ],
    "gemini": lambda content: [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": content}}]},
    ],
    "bedrock": lambda content: [
        {"role": "user", "content": [{"text": "q"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": ID, "name": "f", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": ID, "content": content}}]},
    ],
}

# Gemini's results are objects, in which any value has a place.
SHAPED = {"5": 5, "true": True, '{"a":1}': {"a": 1}, '["a"]': ["a"], "[[]]": [[]], '["a",{"b":null}]': ["a", {"b": None}]}
IN_GEMINI = {
    text: {"functionResponse": {"name": "f", "response": value if type(value) is dict else {"output": value}}}
    for text, value in SHAPED.items()
}


def written(format: str, text: str) -> Json:
    """The last message as it is to come out."""
    if format == "gemini":
        return {"role": "user", "parts": [IN_GEMINI[text]]}
    return RESULTS[format]([{"text": text}] if format == "bedrock" else text)[-1]


@every
@pytest.mark.parametrize("text", SHAPED)
def test_a_result_of_another_kind_is_kept_as_json_text(format: str, text: str) -> None:
    """Nothing of it is lost, it is said that it was written anew, and it moves on to others as well."""
    history = RESULTS[format](SHAPED[text])
    healed = heal(history, format)
    assert healed.history == [*history[:-1], written(format, text)]
    is_regular = format == "gemini" and type(SHAPED[text]) is dict
    assert [(change.code, change.lost) for change in healed.changes] == [("RESULT_SHAPE", "none")] * (not is_regular)
    assert [found for found in diagnose(healed.history, format) if not found.hint] == []
    for target in FORMATS:
        other = convert(history, format, target).history
        assert [found for found in diagnose(other, target) if found.refused and not found.hint] == []


# What of a message says nothing that anybody could read, beside words that do.
HOLLOW: tuple[Json, ...] = (
    {},
    {"what": 1},
    {"type": 5},
    {"type": []},
    {"type": "text", "text": 5},
    {"type": "text", "text": []},
)
WORDS = {"openai-responses": {"user": "input_text", "assistant": "output_text"}}


@pytest.mark.parametrize("format", ["openai-chat", "mistral", "anthropic", "openai-responses"])
@pytest.mark.parametrize("part", HOLLOW, ids=str)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_part_that_cannot_be_read_does_not_cost_the_history(format: str, part: Json, role: str) -> None:
    """It is left out and reported as it came; the rest stands, and a message of nothing else goes or says so."""
    words = {"type": WORDS.get(format, {}).get(role, "text"), "text": "words"}
    healed = heal([ASKED, {"role": role, "content": [part, words]}, ASKED], format)
    assert healed.history == [ASKED, {"role": role, "content": [words]}, ASKED]
    assert [(change.code, change.lost) for change in healed.changes if change.lost != "none"] == [("BLOCK_UNKNOWN", "text")]
    assert str(next(iter(part), "{}")) in next(change.detail for change in healed.changes if change.lost == "text")
    alone = heal([ASKED, {"role": role, "content": [part]}, ASKED], format)
    assert diagnose(alone.history, format) == []
    assert heal(alone.history, format).history is alone.history


@pytest.mark.parametrize(
    ("format", "history"),
    [
        ("gemini", [{"role": "user", "parts": [{"text": "q"}]}, {"role": "model", "parts": [{"thought": True}, {"text": "a"}]}, {"role": "user", "parts": [{"text": "q"}]}]),
        ("bedrock", [{"role": "user", "content": [{"type": 5}, {"text": "q"}]}]),
        ("openai-responses", [{"type": "message", **ASKED}, {"role": "assistant", "content": [{"type": "output_text"}, {"type": "refusal", "refusal": "no"}]}]),
        ("openai-responses", [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": None}, {"type": "input_text", "text": "q"}]}]),
    ],
)  # fmt: skip
def test_so_it_is_with_the_parts_of_others(format: str, history: list[Json]) -> None:
    """Whatever a part is called, what is left is valid and one part shorter."""
    healed = heal(history, format)
    assert healed.changed
    assert diagnose(healed.history, format) == []
    key = "parts" if format == "gemini" else "content"
    assert [len(each[key]) for each in healed.history] == [len(each[key]) - (len(each[key]) == 2) for each in history]  # type: ignore[attr-defined]


ORPHANS: Mapping[str, Json] = {
    "openai-chat": {"role": "tool", "tool_call_id": ID, "content": "r"},
    "mistral": {"role": "tool", "tool_call_id": ID, "content": "r"},
    "openai-responses": {"type": "function_call_output", "call_id": ID, "output": "r"},
}


@pytest.mark.parametrize("format", ORPHANS)
def test_a_history_of_which_nothing_is_left_says_so(format: str) -> None:
    """An empty one is refused by all, so a hint says that there is nothing to send; quoted, the result is something."""
    healed = heal([ORPHANS[format]], format)
    key = "input" if format == "openai-responses" else "messages"
    assert (healed.history, healed.hints) == ([], [f"{key}: nothing is left to send; the changes hold what there was"])
    assert [change.lost for change in healed.changes] == ["result"]
    assert heal([ORPHANS[format]], format, orphans="quote").hints == []
    assert heal([], format).hints == []


@pytest.mark.parametrize("pending", ["answer", "keep", "drop"])
def test_calls_that_somebody_spoke_behind_are_answered(pending: Literal["answer", "keep", "drop"]) -> None:
    """What may become of open calls is asked of the last turn alone, and of that when nothing follows but results."""
    history = [*chat("r")[:2], ASKED]
    healed = heal(history, "openai-chat", pending=pending)
    assert [change.code for change in healed.changes] == ["CALL_UNANSWERED"]
    assert len(healed.history) == 4  # type: ignore[arg-type]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("content", ["", None, [], [{}], [{"type": "image"}]], ids=str)
def test_an_unknown_role_is_sent_as_it_came(format: str, content: object) -> None:
    """Whatever stands in such a message: nothing is demanded of it, and it does not cost the history."""
    key = "parts" if format == "gemini" else "content"
    message: Json = {"role": "of tomorrow", key: [] if format == "gemini" and not isinstance(content, list) else content}
    asked = RESULTS[format]("x")[0]
    healed = heal([asked, message], format)
    assert [found for found in diagnose(healed.history, format) if found.refused] == []
    if format != "gemini":  # which has two roles, and reads all others as one of them
        assert healed.history == [asked, message]


def test_what_a_message_of_another_format_loses_is_told() -> None:
    """Read as what it is, it leaves behind what only its own provider reads: each field and mark at its place."""
    use = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
    text = {"type": "text", "text": "y", "cache_control": {"type": "ephemeral"}}
    call = {"id": "c1", "type": "function", "index": 0, "function": {"name": "f", "arguments": "{}"}}
    history = [
        ASKED,
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [answer]},
        {"role": "assistant", "name": "bob", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": [text]},
    ]
    lost = [(change.path, change.code, change.detail) for change in heal(history, "anthropic").changes if change.detail]
    assert lost == [
        ("messages[3]", "FIELD_UNKNOWN", '{"name": "bob"}'),
        ("messages[3].tool_calls[0]", "FIELD_UNKNOWN", '{"index": 0}'),
        ("messages[4].content[0]", "CACHE_MARKS", '{"cache_control": {"type": "ephemeral"}}'),
    ]
