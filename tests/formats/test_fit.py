"""Neutral messages as a request: valid whatever they are, nothing foreign or private in it, losses reported."""

from __future__ import annotations

import json
from typing import Any

import pytest

from suture.formats import detect
from suture.healing import diagnose, dump_messages, fit, heal, load_messages
from suture.messages import (
    Assistant,
    Audio,
    File,
    Image,
    Message,
    Opaque,
    Origin,
    Part,
    Reasoning,
    System,
    Text,
    ToolCall,
    ToolResult,
    User,
)
from suture.repair import stand_in, stand_in_text

U = User.of("q")
SIGNED = Reasoning("hm", signature="c2ln")


def call(id: str = "c1", **more: Any) -> ToolCall:
    return ToolCall(id, "f", {"n": 1}, **more)


def says(*parts: Part, origin: Origin | None = None) -> Assistant:
    return Assistant(parts, origin=origin)


def openai(*messages: Message, model: str | None = None) -> list[dict[str, Any]]:
    request = fit(messages, "openai-chat", model).history
    assert isinstance(request, dict)
    assert request.keys() == {"messages"}
    found: list[dict[str, Any]] = request["messages"]
    return found


def anthropic(*messages: Message, model: str | None = None) -> dict[str, Any]:
    request = fit(messages, "anthropic", model).history
    assert isinstance(request, dict)
    return request


def test_one_conversation_in_both_formats() -> None:
    """System text, words, a call and its result go where each provider wants them."""
    conversation: list[Message] = [
        System.of("be kind"),
        U,
        says(Text("let me see"), call()),
        ToolResult.of("c1", "42"),
        says(Text("42")),
    ]
    assert openai(*conversation) == [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "q"},
        {
            "role": "assistant",
            "content": "let me see",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"n":1}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
        {"role": "assistant", "content": "42"},
    ]
    assert anthropic(*conversation) == {
        "system": "be kind",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "q"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "let me see"},
                    {"type": "tool_use", "id": "c1", "name": "f", "input": {"n": 1}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "42"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "42"}]},
        ],
    }


def test_nothing_private_goes_out() -> None:
    """What is for the host, or for the log, is in no request: ui, ids, usage, marks of stand-ins, fields of others."""
    secret = "do not send"
    conversation: list[Message] = [
        User(
            (Text("q", ext={"anthropic": {"citations": []}, "host": {"x": secret}}),),
            id=secret,
            ext={"host": {"y": secret}},
        ),
        Assistant(
            (call(item_id=secret, signature=secret),), id=secret, stop_reason=secret, origin=Origin("x", model=secret)
        ),
        ToolResult((Text("r"),), id=secret, call_id="c1", name=secret, error=False, error_type=secret, ui={"z": secret}),
        says(call("c2")),
        stand_in(call("c2"), "unknown"),
        User((Text("x"),), ext={"anthropic": {"timestamp": secret}, "openai-chat": {"timestamp": secret, "name": "ada"}}),
    ]
    for format in ("openai-chat", "anthropic"):
        request = fit(conversation, format)
        assert secret not in json.dumps(request.history)
        assert "synthetic" not in json.dumps(request.history)
        assert [change.code for change in request.changes] == ["FIELD_UNKNOWN"]
    assert openai(*conversation)[-1]["name"] == "ada"


@pytest.mark.parametrize("format", ["openai-chat", "anthropic"])
def test_open_calls_are_answered_and_ids_are_unique(format: str) -> None:
    """The strictest reading: ids once in the whole request, a stand-in for whatever has no result."""
    request = fit([U, says(call("a")), ToolResult.of("a", "1"), says(call("a")), U], format)
    text = json.dumps(request.history)
    assert '"a_2"' in text
    assert stand_in_text("unknown") in text
    assert [change.code for change in request.changes] == ["CALL_UNANSWERED", "ID_REUSED"]


@pytest.mark.parametrize(
    ("part", "origin", "model", "sent"),
    [
        (SIGNED, None, None, True),
        (SIGNED, Origin("anthropic", model="claude-a"), None, True),
        (SIGNED, Origin("anthropic", model="claude-a"), "claude-a", True),
        (SIGNED, Origin("bedrock", "anthropic", "claude-a"), "claude-a", True),
        (SIGNED, Origin("anthropic", model="claude-a"), "claude-b", False),
        (SIGNED, Origin("xai", "openai-chat", "grok"), None, False),
        (Reasoning("hm"), None, None, False),
        (Reasoning("hm", signature=" "), None, None, False),
        (Reasoning(encrypted="ZA", redacted=True), None, None, True),
        (Reasoning(redacted=True), None, None, False),
    ],
)
def test_reasoning_goes_back_to_its_maker_alone(
    part: Reasoning, origin: Origin | None, model: str | None, sent: bool
) -> None:
    """Signed thinking is sent to the model that signed it; all other is left out and reported with its words."""
    request = fit([U, says(part, Text("a"), origin=origin), U], "anthropic", model)
    assert ("thinking" in json.dumps(request.history)) == sent
    assert [(change.lost, change.detail) for change in request.changes] == (
        [] if sent else [("reasoning", part.text or "(redacted)")]
    )


def test_chat_takes_no_reasoning() -> None:
    """It is left out, unless a dialect wants it back."""
    conversation: list[Message] = [U, says(SIGNED, Text("a")), U]
    assert openai(*conversation)[1] == {"role": "assistant", "content": "a"}
    back = fit(conversation, "openai-chat:deepseek").history
    assert isinstance(back, dict)
    assert back["messages"][1] == {"role": "assistant", "content": "a", "reasoning_content": "hm"}


@pytest.mark.parametrize(
    ("part", "chat", "block"),
    [
        (
            Image(data="AA", media_type="image/png"),
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
        ),
        (
            Image(url="https://x/a.png"),
            {"type": "image_url", "image_url": {"url": "https://x/a.png"}},
            {"type": "image", "source": {"type": "url", "url": "https://x/a.png"}},
        ),
        (
            Image(url="data:image/png;base64,AA"),
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
        ),
        (Image(file_id="f1"), None, {"type": "image", "source": {"type": "file", "file_id": "f1"}}),
        (
            File(data="AA", media_type="application/pdf", name="a.pdf"),
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA", "filename": "a.pdf"}},
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "AA"},
                "title": "a.pdf",
            },
        ),
        (
            Audio(data="AA", media_type="audio/wav"),
            {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
            None,
        ),
        (Opaque("gemini", {"x": 1}), None, None),
    ],
)
def test_media_takes_the_form_of_the_target(part: Part, chat: object, block: object) -> None:
    """What has no form there is left out, and reported with all that it held."""
    for format, expected in (("openai-chat", chat), ("anthropic", block)):
        request = fit([User((Text("see"), part))], format)
        assert isinstance(request.history, dict)
        content = request.history["messages"][0]["content"]
        assert (expected in list(content)) == (expected is not None)
        assert len(request.changes) == (expected is None)


def test_a_picture_in_a_result_follows_the_batch() -> None:
    """Chat takes pictures from the user alone, and never between two results."""
    picture = Image(url="https://x/a.png")
    conversation: list[Message] = [
        U,
        says(call("a"), call("b")),
        ToolResult.of("a", [Text("see"), picture]),
        ToolResult.of("b", "2"),
    ]
    assert [message["role"] for message in openai(*conversation)] == ["user", "assistant", "tool", "tool", "user"]
    blocks = anthropic(*conversation)["messages"][2]["content"]
    assert [block["type"] for block in blocks] == ["tool_result", "tool_result"]


def test_later_system_text_becomes_the_users() -> None:
    """Anthropic's own place for it is the head of the request; what comes later is told as words."""
    request = anthropic(System.of("a"), System.of("b"), U, says(Text("x")), System.of("c"), U)
    assert request["system"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert [block["text"] for block in request["messages"][2]["content"]] == ["[System message]", "c", "q"]


def test_arguments_go_as_they_came() -> None:
    """The model's own text is sent back, until somebody changes what it said."""
    came = '{ "n" : 1 }'
    assert '{ \\"n\\" : 1 }' in json.dumps(openai(U, says(call(raw=came)), U))
    changed = ToolCall("c1", "f", {"n": 2}, raw=came)
    assert '{\\"n\\":2}' in json.dumps(openai(U, says(changed), U))
    cut = ToolCall("c1", "f", None, raw='{"n": ', error="invalid_json")
    assert anthropic(U, says(cut))["messages"][1]["content"][0]["input"] == {"_raw": '{"n": '}
    assert json.loads(openai(U, says(cut))[1]["tool_calls"][0]["function"]["arguments"]) == {"_raw": '{"n": '}


def test_an_error_is_marked_where_there_is_a_mark() -> None:
    """Anthropic has a flag, and wants words beside it; a result that is none carries no flag."""
    request = anthropic(
        U, says(call("a"), call("b")), ToolResult.of("a", "", error=True), ToolResult.of("b", "", error=False)
    )
    assert request["messages"][2]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "a",
            "content": "The tool failed and said nothing.",
            "is_error": True,
        },
        {"type": "tool_result", "tool_use_id": "b", "content": ""},
    ]


def test_texts_are_scrubbed_on_the_way_out() -> None:
    """A request can always be encoded."""
    request = fit([User.of("cut \ud83d"), says(call()), ToolResult.of("c1", "\ud83c\udf78")], "anthropic")
    json.dumps(request.history, ensure_ascii=False).encode()
    assert [change.code for change in request.changes] == ["SURROGATE_LONE", "SURROGATE_LONE"]


def test_a_request_can_be_empty() -> None:
    """Before the first word there is nothing to send, and that is no error."""
    assert openai() == []
    assert anthropic() == {"messages": []}
    assert anthropic(System.of("s")) == {"system": "s", "messages": []}


def test_a_model_ends_the_name_of_a_format() -> None:
    """`model=` and the name behind the colon mean the same."""
    conversation: list[Message] = [U, says(Text("partial"))]
    expected = anthropic(*conversation, model="claude-opus-4-6")
    assert fit(conversation, "anthropic:claude-opus-4-6").history == expected
    assert expected["messages"][-1]["role"] == "user"


def test_dumping_does_not_mend() -> None:
    """It writes what is there; `fit` makes it valid."""
    wire = dump_messages([U, says(call())], "openai-chat")
    assert [each.code for each in diagnose(wire, "openai-chat")] == ["CALL_UNANSWERED"]


@pytest.mark.parametrize(
    ("history", "format"),
    [
        ([{"role": "system", "content": "s"}, {"role": "user", "content": "q"}], "openai-chat"),
        ([{"role": "developer", "content": "s"}], "openai-chat"),
        ([{"role": "tool", "tool_call_id": "c", "content": "r"}], "openai-chat"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}], "openai-chat"),
        ({"system": "s", "messages": [{"role": "user", "content": "q"}]}, "anthropic"),
        ([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "r"}]}], "anthropic"),
        ([{"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "y"}]}], "anthropic"),
        (
            [{"role": "assistant", "content": [{"type": "server_tool_use", "id": "s", "name": "w", "input": {}}]}],
            "anthropic",
        ),
    ],
)
def test_a_format_is_known_by_what_only_it_has(history: object, format: str) -> None:
    """Without a name the history's own signs decide."""
    assert detect(history) == format
    assert heal(history).history is not None
    assert load_messages(history)
