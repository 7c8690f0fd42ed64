"""What an adapter sends: the whole conversation, what the provider takes of it, and nothing that it would refuse."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import openai
import pytest
from llmock.scenarios import Reply
from llmock.testing import LLMockServer

import suture
from suture.loop.request import Request
from suture.messages import Assistant, Image, Message, Origin, Reasoning, Text, ToolCall, ToolResult, User
from suture.models import Anthropic, Model, OpenAIChat
from suture.models.base import Piece, RequestMended
from suture.models.openai_chat import _with_own_ids
from suture.testing import ScriptedModel

LOOP: list[Message] = [
    User.of("q"),
    Assistant((ToolCall("c1", "look", {}),), stop_reason="tool_use"),
    ToolResult(parts=(Text("r"),), call_id="c1", name="look"),
]


async def _all(model: Model, request: Request) -> list[Piece]:
    return [piece async for piece in model.stream(request)]


def asked(server: LLMockServer, model: Model, messages: list[Message]) -> tuple[list[Piece], dict[str, Any]]:
    """What came, and the body that was sent."""
    server.state.reset()
    server.state.scenarios.add(Reply(text="fine"))
    pieces = asyncio.run(_all(model, Request(tuple(messages))))
    return pieces, server.state.journal.records()[-1].body


@pytest.fixture(scope="module")
def server() -> Any:
    with LLMockServer() as server:
        yield server


THOUGHT = Assistant(
    (Reasoning("hm", "c2ln"), ToolCall("c1", "look", {})), origin=Origin("anthropic", "anthropic", "claude-x")
)
THINKING: list[tuple[str, list[Message], bool]] = [
    ("a question", [User.of("q")], True),
    ("a tool loop of its own", [LOOP[0], THOUGHT, LOOP[2]], True),
    ("a tool loop of another model", LOOP, False),
    ("that loop, answered", [*LOOP, Assistant.of("a"), User.of("and?")], True),
]


@pytest.mark.parametrize(("messages", "thinks"), [row[1:] for row in THINKING], ids=[row[0] for row in THINKING])
def test_a_turn_that_began_without_thinking_goes_on_without(
    server: LLMockServer, messages: list[Message], thinks: bool
) -> None:
    """Anthropic refuses the other way round (ANT-THINK-FIRST); that it was switched off is said."""
    model = Anthropic("claude-x", base_url=server.base_url("anthropic"), api_key="k", thinking=1024)
    pieces, body = asked(server, model, messages)
    assert ("thinking" in body) is thinks
    said = [change.code for piece in pieces if isinstance(piece, RequestMended) for change in piece.changes]
    assert said == ([] if thinks else ["THINKING_NOT_FIRST"])


def test_fields_of_the_hosts_own_are_sent(server: LLMockServer) -> None:
    """`extra` adds to a request, and None takes away."""
    extra = {"temperature": 0, "stream_options": None}
    _, body = asked(server, OpenAIChat("m", base_url=server.base_url("openai"), api_key="k", extra=extra), [User.of("q")])
    assert body["temperature"] == 0
    assert "stream_options" not in body
    with pytest.raises(suture.ConfigurationError, match="extra holds 'model', which the adapter sets itself"):
        OpenAIChat("m", api_key="k", extra={"model": "other"})


def test_caching_can_be_left_out(server: LLMockServer) -> None:
    """Marks are there unless they are not wanted."""
    for cache in (True, False):
        model = Anthropic("claude-x", base_url=server.base_url("anthropic"), api_key="k", cache=cache)
        _, body = asked(server, model, [User.of("q")])
        assert ("cache_control" in str(body)) is cache


MEDIA: list[tuple[object, str]] = [
    ("photo.png", "a str is no part of it; pass suture.Text, Image, File or Audio"),
    (5, "a int is no part of it"),
    (Image(), r"Image\(nothing\): give it one of data \(base64\), url and file_id"),
    (Image(data="aGk=", url="u"), r"Image\(data and url\): give it one of"),
    (suture.File(url=5), "File: its url is no text"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("part", "text"), MEDIA)
def test_files_that_nobody_could_look_at_are_refused_at_once(part: object, text: str) -> None:
    """Nothing is written; a tool that returns such a part is told so, and has run."""
    agent = suture.Agent(ScriptedModel([{"text": "a"}]))
    with pytest.raises(suture.ConfigurationError, match=text):
        agent.run("Look.", files=[part])  # type: ignore[list-item]
    assert agent.session.entries() == []


@pytest.mark.parametrize("url", ["localhost:80", "ftp://host/v1", "https://", "host"])
def test_an_address_that_is_none_is_refused_before_a_key_goes_anywhere(url: str) -> None:
    """Not taken for the vendor's own."""
    for make in (OpenAIChat, Anthropic):
        with pytest.raises(suture.ConfigurationError, match="is no address such as https://host/v1"):
            make("m", base_url=url, api_key="k")


@pytest.mark.parametrize("key", ["sk-\u201ctypographic\u201d", "sk-x\n", 5])
def test_a_key_that_is_none_is_refused_and_not_told(key: Any) -> None:
    """An SDK would fail in the middle of a run, with the key in its words."""
    for make in (OpenAIChat, Anthropic):
        with pytest.raises(suture.ConfigurationError, match="holds a character that no key has") as refused:
            make("m", api_key=key)
        assert "sk-" not in str(refused.value)


def test_a_copy_that_gives_no_ids_of_its_own_is_given_some(server: LLMockServer) -> None:
    """Servers that count their calls anew in each answer can be used; OpenAI's own are held to the rule (X-ID-REUSE)."""
    request = Request((User.of("q"), Assistant((ToolCall("call_0", "f", {}), ToolCall("call_1", "f", {})))))
    answer = Assistant((Text("x"), ToolCall("call_0", "f", {}), ToolCall("", "f", {}), ToolCall("", "f", {})))
    ids = [call.id for call in _with_own_ids(answer, request).calls]
    assert len({*ids, "call_0", "call_1"}) == 5
    assert all(ids)
    assert OpenAIChat("m", base_url=server.base_url("openai"), api_key="k").dialect == "compatible"


def test_a_client_that_cannot_be_awaited_is_refused() -> None:
    """The vendors' plain clients look alike, and would fail in the middle of a run."""
    with pytest.raises(suture.ConfigurationError, match="client is a AsyncOpenAI, not a OpenAI"):
        OpenAIChat("m", client=openai.OpenAI(api_key="k"))  # type: ignore[arg-type]
    with pytest.raises(suture.ConfigurationError, match="client is a AsyncAnthropic, not a Anthropic"):
        Anthropic("m", client=anthropic.Anthropic(api_key="k"))  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"timeout": 0}, {"timeout": None}, {"extra": {"x": object()}}])
def test_options_that_cannot_work_are_refused_when_the_model_is_made(options: dict[str, Any]) -> None:
    """By both adapters, by name."""
    for make in (OpenAIChat, Anthropic):
        with pytest.raises(suture.ConfigurationError, match=next(iter(options))):
            make("m", api_key="k", **options)
