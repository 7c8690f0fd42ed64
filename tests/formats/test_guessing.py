"""Which format a history is in when nobody named it, and when nobody has to."""

from __future__ import annotations

from typing import Any

import pytest

from suture.errors import AmbiguousFormat
from suture.formats import detect
from suture.healing import convert, diagnose, guess, heal

USER = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": "hello"}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "r"}
CHAT_TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
ANTHROPIC_TOOL = {"name": "f", "input_schema": {"type": "object"}}
PARTS = [{"type": "text", "text": "hi"}]


@pytest.mark.parametrize(
    "history",
    [
        [],
        {"messages": []},
        {"contents": []},
        {"input": []},
        [USER],
        [USER, SAID],
        [USER, SAID, USER],
        {"messages": [USER, SAID]},
        {"model": "m", "messages": [USER, SAID]},
        [{"role": "user", "content": PARTS}],
    ],
    ids=str,
)
def test_what_is_fine_in_each_format_is_fine(history: Any) -> None:
    """Nobody has to name the format of what every one that it fits takes as it is."""
    healed = heal(history)
    assert healed.history is history
    assert (healed.changes, healed.hints) == ([], [])
    assert [each for each in diagnose(history) if each.refused] == []
    assert convert(history, target="openai-responses").changes == []


@pytest.mark.parametrize(
    "history",
    [[SAID, USER], [USER, {"role": "assistant", "content": "hello "}], [USER, {"role": "assistant", "content": ""}]],
    ids=["who begins", "white space at the end", "nothing said"],
)
@pytest.mark.parametrize("ask", [heal, diagnose, lambda history: convert(history, target="gemini")])
def test_where_formats_do_not_agree_somebody_has_to_say(history: Any, ask: Any) -> None:
    """What one format would refuse, and others perhaps not, is not guessed; the error names those that it fits."""
    with pytest.raises(AmbiguousFormat) as caught:
        ask(history)
    assert caught.value.formats == ("openai-chat", "openai-responses", "anthropic", "bedrock")


@pytest.mark.parametrize(
    ("history", "usual", "format"),
    [
        ([SAID, USER], "anthropic", "anthropic"),
        ([SAID, USER], "bedrock", "bedrock"),
        ([SAID, USER], "mistral", "mistral"),
        ([USER, CALL, RESULT], "mistral", "mistral"),
        ({"model": "gpt-4o", "messages": [USER, CALL, RESULT]}, "mistral", "openai-chat"),
        ([USER, CALL, RESULT], "anthropic", "openai-chat"),
    ],
)
def test_histories_beside_it_tell_the_format(history: Any, usual: str, format: str) -> None:
    """What fits several is in the format that is usual; what is plainly in another is in that."""
    assert guess(history, usual) == (format, True)


@pytest.mark.parametrize(
    ("model", "format"),
    [
        ("mistral-large-latest", "mistral"),
        ("Mistral-Large-2411", "mistral"),
        ("open-mixtral-8x22b", "mistral"),
        ("open-mistral-nemo", "mistral"),
        ("codestral-2501", "mistral"),
        ("ministral-8b-latest", "mistral"),
        ("magistral-medium-2509", "mistral"),
        ("pixtral-12b", "mistral"),
        ("devstral-small-2507", "mistral"),
        ("mistralai/mistral-large", "openai-chat"),
        ("mistral-nemo:12b", "openai-chat"),
        ("gpt-5.2", "openai-chat"),
        (7, "openai-chat"),
    ],
)
def test_a_model_of_mistrals_says_who_reads_a_request(model: Any, format: str) -> None:
    """Its own names count; those of servers and relays that copy OpenAI do not."""
    assert detect({"model": model, "messages": [USER, CALL, RESULT]}) == format
    assert detect({"model": model, "messages": [USER], "tools": [CHAT_TOOL]}) == format


def test_a_model_does_not_overrule_what_is_plain() -> None:
    """Blocks that only Anthropic has are Anthropic's, whatever the model is called."""
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}
    assert detect({"model": "mistral-large-latest", "messages": [USER, use]}) == "anthropic"


@pytest.mark.parametrize(("tool", "format"), [(CHAT_TOOL, "openai-chat"), (ANTHROPIC_TOOL, "anthropic")])
def test_the_tools_of_a_request_tell_its_format(tool: Any, format: str) -> None:
    """Where the messages say nothing, the shape of the tools does."""
    assert detect({"model": "m", "messages": [SAID, USER], "tools": [tool]}) == format


def test_healing_says_as_what_it_read() -> None:
    """The report has the format that was read; none where it does not matter."""
    assert heal([USER, CALL]).format == "openai-chat"
    assert heal([USER, CALL, RESULT], format="mistral").format == "mistral"
    assert heal([USER]).format == ""
    assert convert([USER, CALL], target="anthropic").format == "openai-chat"
