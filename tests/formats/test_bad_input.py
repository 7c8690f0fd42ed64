"""What is no history: each is refused, and the message says what, where and what to do."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from suture.errors import (
    AmbiguousFormat,
    ConfigurationError,
    HistoryError,
    NotJson,
    SutureError,
    UnhealableHistory,
    UnknownFormat,
)
from suture.formats import FORMATS, names_of_formats, target_of
from suture.healing import convert, diagnose, dump_messages, fit, heal, load_messages
from suture.healing.plain import place_named

HERE = f"there are {names_of_formats()}."
USER = {"role": "user", "content": "q"}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
USE = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}


@dataclass
class Block:
    """What an SDK hands out."""

    type: str = "text"

    def model_dump(self) -> dict[str, str]:
        return {"type": self.type}


def nested(levels: int) -> object:
    value: object = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("history", "format", "error", "message"),
    [
        # what a history is
        (None, "openai-chat", HistoryError, "The history is null, not a list of messages."),
        (
            "[]",
            "openai-chat",
            HistoryError,
            "The history is a text, not a list of messages. json.loads it, or use `suture heal FILE`.",
        ),
        (7, "anthropic", HistoryError, "The history is a number, not a list of messages."),
        ({"messages": None}, "anthropic", HistoryError, "'messages' is null, not a list of messages."),
        (
            {},
            "anthropic",
            HistoryError,
            "The history has no 'messages'; it has nothing. Pass the request, or just its list.",
        ),
        (
            {"input": [], "model": "m"},
            "openai-chat",
            HistoryError,
            (
                "The history has no 'messages'; it has 'input', 'model'. Its 'input' is that of OpenAI's Responses: "
                "format='openai-responses'."
            ),
        ),
        ({"messages": "hi"}, "openai-chat", HistoryError, "'messages' is a text, not a list of messages."),
        (["hi"], "openai-chat", HistoryError, "messages[0] is a text, not an object. Pass plain JSON values."),
        ([USER, None], "anthropic", HistoryError, "messages[1] is null, not an object. Pass plain JSON values."),
        (
            [USER, Block()],
            "anthropic",
            HistoryError,
            "messages[1] is a Block, not an object. Pass plain JSON values: value.model_dump(exclude_none=True).",
        ),
        (
            [{"content": "q"}],
            "anthropic",
            HistoryError,
            "messages[0] has no role; every message needs one, such as 'user'.",
        ),
        (
            [{"role": 3}],
            "openai-chat",
            HistoryError,
            "messages[0] has the role 3; every message needs one, such as 'user'.",
        ),
        # content
        (
            [{"role": "user", "content": 3}],
            "openai-chat",
            HistoryError,
            "messages[0].content is a number; content is a text or a list of parts.",
        ),
        (
            [{"role": "user", "content": {"text": "q"}}],
            "anthropic",
            HistoryError,
            "messages[0].content is an object; content is a text or a list of parts.",
        ),
        (
            [{"role": "user", "content": ["q"]}],
            "openai-chat",
            HistoryError,
            "messages[0].content[0] is a text, not an object. Pass plain JSON values.",
        ),
        (
            [USER, {"role": "assistant", "content": [Block()]}],
            "anthropic",
            HistoryError,
            "messages[1].content[0] is a Block, not an object. Pass plain JSON values: value.model_dump(exclude_none=True).",
        ),
        (
            [USER, {"role": "assistant", "tool_calls": {"id": "c1"}}],
            "openai-chat",
            HistoryError,
            "messages[1].tool_calls is an object, not a list.",
        ),
        (
            [USER, {"role": "assistant", "tool_calls": ["c1"]}],
            "openai-chat",
            HistoryError,
            "messages[1].tool_calls[0] is a text, not an object. Pass plain JSON values.",
        ),
        (
            [USER, {"role": "assistant", "tool_calls": [{"id": "c1"}]}],
            "openai-chat",
            HistoryError,
            "messages[1].tool_calls[0].function is null, not an object. Pass plain JSON values.",
        ),
        (
            {"system": 3, "messages": [USER]},
            "anthropic",
            HistoryError,
            "system is a number; content is a text or a list of parts.",
        ),
        (
            {"contents": []},
            "openai-chat",
            HistoryError,
            "The history has no 'messages'; it has 'contents'. Its 'contents' are Gemini's: format='gemini'.",
        ),
        (
            {"conversations": []},
            None,
            HistoryError,
            (
                "The history has no 'messages'; it has 'conversations'. Its 'conversations' are no provider's: write them as "
                "'messages' with 'role' and 'content'."
            ),
        ),
        ([USER], "openai", UnknownFormat, f"There is no format 'openai'; {HERE} Did you mean 'openai-chat'?"),
        ([USER], "Claude", UnknownFormat, f"There is no format 'Claude'; {HERE} Did you mean 'anthropic'?"),
        ([USER], "gpt-4o", UnknownFormat, f"There is no format 'gpt-4o'; {HERE} Did you mean 'openai-chat:gpt-4o'?"),
        ([USER], "deepseek", UnknownFormat, f"There is no format 'deepseek'; {HERE} Did you mean 'openai-chat:deepseek'?"),
        ([USER], "vertex", UnknownFormat, f"There is no format 'vertex'; {HERE} Did you mean 'gemini'?"),
        ([USER], "aws:x", UnknownFormat, f"There is no format 'aws'; {HERE} Did you mean 'bedrock'?"),
        ([USER], "openai-chatt", UnknownFormat, f"There is no format 'openai-chatt'; {HERE} Did you mean 'openai-chat'?"),
        # not JSON
        (
            [{"role": "user", "content": "q", "at": object()}],
            "openai-chat",
            NotJson,
            "messages[0].at: object is not JSON; convert it to text, a list or a dict first.",
        ),
        (
            [{"role": "user", "content": "q", "x": nested(100_000)}],
            "anthropic",
            NotJson,
            "messages[0].x" + "[0]" * 198 + ": nested deeper than 200 levels; flatten the value.",
        ),
        (
            [{"role": "assistant", "tool_calls": [{**CALL, "function": {"name": "f", "arguments": b"ab"}}]}],
            "openai-chat",
            NotJson,
            (
                "messages[0].tool_calls[0].function.arguments: bytes is not JSON; "
                "convert it to text, a list or a dict first."
            ),
        ),
        (
            [{"type": "function_call", "call_id": "c", "name": "f", "arguments": {1, 2}}],
            "openai-responses",
            NotJson,
            "input[0].arguments: set is not JSON; convert it to text, a list or a dict first.",
        ),
        (
            [{"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "name": "f", "input": b"ab"}}]}],
            "bedrock",
            NotJson,
            "messages[0].content[0].toolUse.input: bytes is not JSON; convert it to text, a list or a dict first.",
        ),
        (
            {"contents": [{"parts": [{"functionCall": {"name": "\ud83d"}}]}], "systemInstruction": {1: 2}},
            "gemini",
            NotJson,
            "systemInstruction: the key 1 is no text; JSON objects have text keys.",
        ),
        (
            [{"role": "user", "content": "\ud83d", "x": float("nan")}],
            "openai-chat",
            NotJson,
            "messages[0].x: nan is no JSON number; use null or a text instead.",
        ),
        # formats
        (
            [{"role": "assistant", "content": "a"}, USER],
            None,
            AmbiguousFormat,
            "The history fits 'openai-chat', 'openai-responses', 'anthropic' and 'bedrock' alike; name the right one with format=....",
        ),
        (
            [USER, {"role": "assistant", "tool_calls": [CALL], "content": [USE]}],
            None,
            UnknownFormat,
            (
                "The history mixes formats (openai-chat: messages[1] has 'tool_calls', anthropic: messages[1] has a 'tool_use' "
                "block). Name the one that it is to be healed for with format=...."
            ),
        ),
        (
            {"contents": None},
            None,
            HistoryError,
            "'contents' is null, not a list of messages.",
        ),
        ([USER], "gpt", UnknownFormat, f"There is no format 'gpt'; {HERE}"),
        ([USER], "gemini", HistoryError, "contents[0] has no 'parts'; a content of Gemini's has a list of them."),
        (
            [{"role": 3, "parts": []}],
            "gemini",
            HistoryError,
            "contents[0] has the role 3; a role is a text, such as 'user'.",
        ),
        ([{"role": "user", "parts": {}}], "gemini", HistoryError, "contents[0].parts is an object, not a list."),
        (
            [{"parts": ["q"]}],
            "gemini",
            HistoryError,
            "contents[0].parts[0] is a text, not an object. Pass plain JSON values.",
        ),
        ([{"parts": [{"text": 3}]}], "gemini", HistoryError, "contents[0].parts[0].text is a number, not a text."),
        (
            [{"role": "model", "parts": [{"functionCall": []}]}],
            "gemini",
            HistoryError,
            "contents[0].parts[0].functionCall is a list, not an object. Pass plain JSON values.",
        ),
        (
            [{"role": "model", "parts": [{"text": "x", "thought_signature": b"c2ln"}]}],
            "gemini",
            HistoryError,
            (
                "contents[0].parts[0].thoughtSignature is a bytes, not a text. "
                "Pass JSON values: content.model_dump(mode='json')."
            ),
        ),
        (
            [USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}],
            "anthropic",
            UnknownFormat,
            (
                "messages[1] has 'tool_calls', which is openai-chat's and not anthropic's. Name the format that the history is "
                "in: format='openai-chat'. "
                "To move it there: `convert` with target='anthropic'."
            ),
        ),
        (
            [USER, {"role": "tool", "tool_call_id": "c1", "content": None}],
            "anthropic",
            UnknownFormat,
            (
                "messages[1] has the role 'tool', which is openai-chat's and not anthropic's. Name the format that the history "
                "is in: format='openai-chat'. "
                "To move it there: `convert` with target='anthropic'."
            ),
        ),
        (
            [USER, {"role": "assistant", "content": [USE]}, {"role": "user", "content": None}],
            "openai-chat",
            UnknownFormat,
            (
                "messages[1] has a 'tool_use' block, which is anthropic's and not openai-chat's. Name the format that the "
                "history is in: format='anthropic'. "
                "To move it there: `convert` with target='openai-chat'."
            ),
        ),
        (
            [{"role": "user", "parts": [{"text": "q"}]}],
            "anthropic",
            UnknownFormat,
            (
                "messages[0] has 'parts', which is gemini's and not anthropic's. Name the format that the history is in: "
                "format='gemini'. "
                "To move it there: `convert` with target='anthropic'."
            ),
        ),
    ],
)
def test_bad_input_is_refused_by_name_and_place(
    history: object, format: str | None, error: type[Exception], message: str
) -> None:
    """Neither diagnosing nor healing nor loading guesses, and nothing that was given is changed."""
    for act in (heal, diagnose, load_messages):
        assert callable(act)
        with pytest.raises(error) as caught:
            act(history, format)
        assert str(caught.value) == message


@pytest.mark.parametrize("kind", [{}, [], 5, None])
@pytest.mark.parametrize("role", [{}, {"role": "user"}])
def test_a_type_that_is_no_text_is_none(kind: object, role: dict[str, str]) -> None:
    """It is looked up in no table: whatever comes of the history, only suture's own errors do."""
    for format in FORMATS:
        for act in (heal, diagnose, load_messages, lambda history, source: convert(history, source, "mistral")):
            assert callable(act)
            with contextlib.suppress(SutureError):
                act([{**role, "content": [{"type": kind}]}], format)


def test_what_breaks_the_reading_is_named() -> None:
    """Depth shows only where a value is written; then the place is said, as where it shows at once."""
    refused = 0
    for levels in range(900, 1020, 3):
        history = [{"role": "user", "content": "q", "x": nested(levels)}, {"role": "assistant", "tool_calls": [CALL]}]
        try:
            convert(history, "openai-chat", "mistral")
        except NotJson as error:
            refused += "nested deeper than 200 levels" in str(error)
    assert refused


def test_an_error_of_ours_is_not_laid_on_the_history() -> None:
    """Where nothing is wrong with it, what was raised goes on as it is."""
    with pytest.raises(KeyError, match="ours"), place_named([USER], "openai-chat"):
        raise KeyError("ours")
    with pytest.raises(HistoryError, match=r"messages\[0\]\.content\[0\]\.type is a list, not a text"):
        with place_named([{"role": "user", "content": [{"type": []}]}], None):
            raise TypeError("unhashable")


def test_bytes_stand_where_an_sdk_has_them() -> None:
    """Bedrock's pictures are bytes in Python, also where something else has to be mended."""
    picture = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}
    healed = heal([{"role": "user", "content": [picture, {"text": "cut \ud83d"}]}], "bedrock")
    assert healed.history == [{"role": "user", "content": [picture, {"text": "cut \ufffd"}]}]


def test_a_foreign_history_without_a_fault_is_refused_too() -> None:
    """A history in another format than was said never passes for a valid one."""
    openai = [
        USER,
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
    ]
    with pytest.raises(UnknownFormat, match="which is openai-chat's and not anthropic's"):
        heal(openai, "anthropic")
    anthropic = [
        USER,
        {"role": "assistant", "content": [USE]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]},
    ]
    with pytest.raises(UnknownFormat, match="which is anthropic's and not openai-chat's"):
        heal(anthropic, "openai-chat")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: heal([USER], "anthropic", pending="wait"), "pending='wait' is none of 'answer', 'keep', 'drop'."),  # type: ignore[arg-type]
        (lambda: heal([USER], "anthropic", orphans="keep"), "orphans='keep' is none of 'drop', 'quote'."),  # type: ignore[arg-type]
        (
            lambda: heal([USER], "anthropic", target="openai-chat:deepseek"),
            (
                "The history is in the format 'anthropic', and the target 'openai-chat' is another: healing keeps the format. "
                "Name a target of the same one; `convert` moves the history to another."
            ),
        ),
    ],
)
def test_a_wrong_option_is_named(call: Callable[[], object], message: str) -> None:
    """What may stand there is listed."""
    with pytest.raises(ConfigurationError) as caught:
        call()
    assert str(caught.value) == message


def test_a_format_is_named_by_a_text() -> None:
    """Anything else is refused before it is looked up."""
    with pytest.raises(UnknownFormat) as caught:
        fit([], 3)  # type: ignore[arg-type]
    assert str(caught.value) == f"A format is named by a text, not int; {HERE}"
    with pytest.raises(UnknownFormat):
        dump_messages([], "novelty")


@pytest.mark.parametrize("history", [[], {"messages": []}, {"messages": [], "system": "s"}])
@pytest.mark.parametrize("format", ["openai-chat", "anthropic"])
def test_an_empty_history_is_no_fault(history: object, format: str) -> None:
    """It comes back as it is; diagnosing says that there is nothing to send, as a remark."""
    assert heal(history, format).history is history
    found = diagnose(history, format)
    assert [(each.code, each.severity, each.sentence) for each in found] == [
        ("MESSAGE_EMPTY", "DEG", "There is nothing to send.")
    ]
    assert load_messages([], format) == []


def test_what_cannot_be_healed_is_refused_with_its_findings() -> None:
    """Where a block without a type is all there is, it may be anything, so it is neither sent nor dropped."""
    history = [{"role": "user", "content": [{"words": "q"}]}]
    before = copy.deepcopy(history)
    with pytest.raises(UnhealableHistory) as caught:
        heal(history, "anthropic")
    assert str(caught.value) == (
        "After healing, the history still breaks a rule: messages[0].content[0]: BLOCK_UNKNOWN [ANT-UNKNOWN-BLOCK]: The "
        "block has no 'type'. Check in which format the history is. Mend that by hand."
    )
    assert [each.code for each in caught.value.findings] == ["BLOCK_UNKNOWN"]  # type: ignore[attr-defined]
    assert history == before


@pytest.mark.parametrize("format", ["openai-chat", "anthropic"])
def test_a_very_long_history_is_an_ordinary_one(format: str) -> None:
    """A hundred thousand messages are read without recursion; a lost result in the middle is answered."""
    turn: list[dict[str, Any]] = [USER, {"role": "assistant", "content": "a"}]
    history = [*turn * 50_000, USER]
    assert heal(history, format).history is history


def test_a_deep_value_that_is_json_is_left_alone() -> None:
    """Depth is no fault of a history as long as it can be encoded."""
    history = [{"role": "user", "content": "q", "x": nested(150)}]
    assert heal(history, "openai-chat").history is history


def test_the_case_of_a_format_does_not_matter() -> None:
    """A name is read in any case; what it carries stays as it is."""
    assert heal([USER], "OpenAI-Chat").format == "openai-chat"
    assert target_of("OpenAI-Chat:GPT-x") == ("openai-chat", "GPT-x")
