"""One session goes from Anthropic to OpenAI and back: each gets what it takes, and the log keeps everything.

Anthropic is a recorded stream, since only that has signed thinking; OpenAI is a provider on loopback. What each of them
received is judged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from llmock.scenarios import Reply, ToolCall
from llmock.testing import LLMockServer

from suture.agent import Agent, Result
from suture.loop.events import Event, RequestMended
from suture.messages import Assistant, Image, Part, Reasoning, Text, ToolResult, User
from suture.models import Anthropic, Model
from suture.session import Session
from suture.stores.memory import MemoryStore
from suture.testing.replay import Replay, ReplayServer
from suture.tools import tool
from tests.judges import assert_valid
from tests.models.served import adapter_of, assert_received_valid, bodies

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
CHART = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
THOUGHT = "Two cities, so two calls."
HOST_ONLY = "a table for the host"
SIGNATURE = "EqQBCgIYAhIMc2lnbmVkIGJ5IGNsYXVkZQ=="

PROMPTS = ("What is in the picture?", "And in Rome?", "Sum it up.", "Once more.")
TEXTS = ("I look both up.", "A tower, and a chart.", "I ask for Rome.", "A forum.", "Towers and forums.", "The same.")


@tool(effect="read")
def lookup(city: str) -> list[Part]:
    """Look a city up, with a chart of it."""
    return [Text(f"facts of {city}"), Image(data=CHART, media_type="image/png")]


@tool(effect="read")
def count(city: str) -> ToolResult:
    """Count the people of a city."""
    return ToolResult(f"people of {city}", ui={"host": HOST_ONLY})


RESULTS = ("facts of Paris", "people of Paris", "people of Rome")

# What Anthropic streams -----------------------------------------------------------------------


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text_block(index: int, text: str) -> list[dict[str, Any]]:
    return block(index, {"type": "text", "text": ""}, {"type": "text_delta", "text": text})


def call_block(index: int, id: str, name: str) -> list[dict[str, Any]]:
    start = {"type": "tool_use", "id": id, "name": name, "input": {}}
    return block(index, start, {"type": "input_json_delta", "partial_json": '{"city": "Paris"}'})


def stream(stop: str, *blocks: list[dict[str, Any]]) -> Replay:
    """A whole answer."""
    usage = {"input_tokens": 10, "output_tokens": 5}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "msg_1", "content": [], "usage": usage}},
        *(event for one in blocks for event in one),
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    return Replay(tuple(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events))


THINKING = block(
    0,
    {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "thinking_delta", "thinking": THOUGHT[:10]},
    {"type": "thinking_delta", "thinking": THOUGHT[10:]},
    {"type": "signature_delta", "signature": SIGNATURE},
)


@pytest.fixture
def claude() -> Iterator[ReplayServer]:
    """Anthropic's side of the conversation."""
    served = ReplayServer()
    calls = (call_block(2, "toolu_1", "lookup"), call_block(3, "toolu_2", "count"))
    served.add(stream("tool_use", THINKING, text_block(1, TEXTS[0]), *calls))
    for text in (TEXTS[1], TEXTS[4], TEXTS[5]):
        served.add(stream("end_turn", text_block(0, text)))
    yield served
    served.close()


def anthropic(served: ReplayServer, name: str) -> Anthropic:
    return Anthropic(name, base_url=served.url, api_key="none", max_tokens=4096, thinking=2048)


# The conversation -----------------------------------------------------------------------------


class Talk:
    """One session, each turn of it in a run of its own; what watchers were told of the last run."""

    def __init__(self) -> None:
        self.session = Session(MemoryStore())
        self.events: list[Event] = []

    def ask(self, model: Model, prompt: str, *files: Part) -> Result:
        self.events.clear()
        agent = Agent(model, self.session, tools=[lookup, count])
        result = agent.run(prompt, files=files, watch=self.events.append)
        assert (result.status, result.error) == ("completed", None)
        told = [change for event in self.events if isinstance(event, RequestMended) for change in event.changes]
        assert tuple(dict.fromkeys(told)) == result.changes
        return result


def assert_said(body: dict[str, object], said: tuple[str, ...]) -> None:
    """Each of them is in the request, once."""
    text = json.dumps(body["messages"])
    for words in said:
        assert text.count(json.dumps(words)[1:-1]) == 1, f"{words!r} is there {text.count(words)} times in {text}"


@pytest.mark.spec("S158")
def test_there_and_back(claude: ReplayServer, server: LLMockServer) -> None:
    """Words, calls, results and pictures go everywhere; signed thinking only to the model that signed it."""
    talk = Talk()
    server.state.scenarios.add(Reply(TEXTS[2], (ToolCall("count", {"city": "Rome"}),)), Reply(TEXTS[3]))

    first = talk.ask(anthropic(claude, "claude-a"), PROMPTS[0], Image(data=PICTURE, media_type="image/png"))
    assert first.changes == ()
    with adapter_of("openai", server) as gpt:
        second = talk.ask(gpt, PROMPTS[1])
    third = talk.ask(anthropic(claude, "claude-a"), PROMPTS[2])
    fourth = talk.ask(anthropic(claude, "claude-b"), PROMPTS[3])

    assert_received_valid(server, "openai")
    received: list[Any] = list(claude.requests())
    assert len(received) == 4
    for body in received:
        assert_valid("anthropic", body)

    assert HOST_ONLY not in str(received) + str(bodies(server))

    for body in bodies(server):  # OpenAI, which takes no thinking
        assert_said(body, (*PROMPTS[:2], *TEXTS[:2], *RESULTS[:2], PICTURE, CHART))
        assert SIGNATURE not in json.dumps(body)
        assert THOUGHT not in json.dumps(body)
    assert ("reasoning", THOUGHT) in [(change.lost, change.detail) for change in second.changes]

    everything = (*PROMPTS[:3], *TEXTS[:4], *RESULTS, PICTURE, CHART)
    assert_said(received[1], (PROMPTS[0], TEXTS[0], *RESULTS[:2], PICTURE, CHART, THOUGHT, SIGNATURE))
    assert_said(received[2], (*everything, THOUGHT, SIGNATURE))
    assert third.changes == ()

    assert_said(received[3], (*everything, PROMPTS[3], TEXTS[4]))
    assert SIGNATURE not in json.dumps(received[3])  # another model, which could not read it
    assert THOUGHT not in json.dumps(received[3])
    assert ("reasoning", THOUGHT) in [(change.lost, change.detail) for change in fourth.changes]

    assert_kept(talk.session)


def assert_kept(session: Session) -> None:
    """The log holds all that anybody said, thought and brought."""
    messages = session.messages
    assert tuple(message.text for message in messages if isinstance(message, User)) == PROMPTS
    assert tuple(message.text for message in messages if isinstance(message, Assistant)) == TEXTS
    assert tuple(message.text for message in messages if isinstance(message, ToolResult)) == RESULTS
    shown = [message.ui for message in messages if isinstance(message, ToolResult)]
    assert shown == [None, {"host": HOST_ONLY}, {"host": HOST_ONLY}]
    parts = [part for message in messages for part in message.parts]
    assert [(part.text, part.signature) for part in parts if isinstance(part, Reasoning)] == [(THOUGHT, SIGNATURE)]
    assert [part.data for part in parts if isinstance(part, Image)] == [PICTURE, CHART]
    origins = [message.origin for message in messages if isinstance(message, Assistant)]
    assert [origin.model for origin in origins if origin] == ["claude-a"] * 2 + ["some-model"] * 2 + [
        "claude-a",
        "claude-b",
    ]
    assert session.findings() == []
