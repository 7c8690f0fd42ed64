"""What recordings cannot show: a model that writes at its own pace, what it says cut off anywhere, its tokens as they are.

The model is far too small to be right about anything, so nothing here depends on what it says.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field

import suture
from suture.formats import FORMATS
from suture.loop.events import Event, TextDelta, ToolCallDelta
from suture.stores import Store
from tests.live.children import Child, Server
from tests.live.talker import SESSION

# An answer of so many tokens takes many times as long as SOON on any one core; a killed or cancelled one does not.
ENDLESS = {"ignore_eos": True, "max_tokens": 1800, "temperature": 0}
SHORT = {"max_tokens": 24, "temperature": 0}
SOON = 5.0
STORY = "Tell me a long story about a lighthouse."


def answer_in(session: suture.Session) -> suture.Assistant:
    """The first answer, which follows the first prompt."""
    answer = session.messages[1]
    assert isinstance(answer, suture.Assistant)
    return answer


def kinds(session: suture.Session) -> list[type[suture.Message]]:
    return [type(message) for message in session.messages]


@pytest.mark.parametrize(
    ("extra", "stop_reason"),
    [
        ({"ignore_eos": True, "max_tokens": 120, "temperature": 0}, "length"),
        ({"stop": ["."], "max_tokens": 400, "temperature": 0}, "stop"),
    ],
    ids=["cut at a limit", "ended by itself"],
)
def test_pieces_that_are_not_the_text(extra: dict[str, object], stop_reason: str, server: Server, store: Store) -> None:
    """Pieces come one by one while the model still writes; joined they are the text, and the server's count is the usage."""
    session = suture.Session(store)
    before = server.written()
    stream = suture.Agent(server.model(**extra), session=session).stream(STORY)
    pieces: list[str] = []
    was_writing = False
    for event in stream:
        if isinstance(event, TextDelta):
            was_writing = was_writing or server.is_busy()
            pieces.append(event.text)
    result = stream.result
    assert result.status == "completed"
    assert was_writing, "the first piece came when the answer was over"
    assert len(pieces) > 5
    assert "".join(pieces) == result.text == session.messages[-1].text
    assert result.message is not None
    assert result.message.stop_reason == stop_reason
    assert result.usage.output_tokens == server.written() - before
    assert result.usage.input_tokens > 0


def test_cancelled_and_still_writing(server: Server, store: Store) -> None:
    """A cancelled run stops the model at once, keeps nothing of the answer, and leaves the session to the next runner."""
    session = suture.Session(store)
    before = server.written()

    async def cancelled() -> None:
        some = asyncio.Event()
        pieces: list[str] = []

        def watch(event: Event) -> None:
            if isinstance(event, TextDelta):
                pieces.append(event.text)
                if len(pieces) == 3:
                    some.set()

        run = asyncio.create_task(suture.AsyncAgent(server.model(**ENDLESS), session=session).run(STORY, watch=watch))
        await asyncio.wait_for(some.wait(), SOON * 6)
        assert server.is_busy()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        # While the loop still runs: its end would stop a reader that the cancelled run left behind.
        assert await asyncio.to_thread(server.wait_idle, SOON)

    asyncio.run(cancelled())
    assert server.written() - before < ENDLESS["max_tokens"]
    assert kinds(session) == [suture.User]
    result = suture.Agent(server.model(**SHORT), session=session).resume()
    assert result.status == "completed"
    assert kinds(session) == [suture.User, suture.Assistant]


Looked = tuple[str, int, str]


@pytest.fixture
def looked() -> list[Looked]:
    """What the forecast was asked, in order."""
    return []


@pytest.fixture
def forecast(looked: list[Looked]) -> suture.Tool:
    """A tool of three typed arguments, after which the turn is over."""

    @suture.tool(effect="read", ends_turn=True)
    def forecast(
        city: Annotated[str, Field(min_length=2, max_length=40)],
        days: Annotated[int, Field(ge=1, le=7)],
        unit: Literal["celsius", "fahrenheit"],
    ) -> str:
        """The weather of the next days.

        Args:
            city: Where.
            days: How many days.
            unit: The unit of temperatures.
        """
        looked.append((city, days, unit))
        return f"{days} days of sun, 21 degrees {unit}"

    return forecast


def forced(**more: object) -> dict[str, object]:
    """Fields that leave the model nothing but one call of an offered tool, in the shape of its schema."""
    return {"tool_choice": "required", "parallel_tool_calls": False, "max_tokens": 250, **more}


@pytest.mark.parametrize(
    "sampling",
    [{"temperature": 0}, {"temperature": 1.5, "seed": 7}],
    ids=["likeliest tokens", "odd tokens"],
)
def test_call_of_a_real_model(
    sampling: dict[str, object], server: Server, store: Store, forecast: suture.Tool, looked: list[Looked]
) -> None:
    """A call whose tokens come one by one runs once with the arguments that were streamed, and the model can speak of it.

    The server makes a grammar of the tool's schema for `tool_choice: required` and streams real `tool_calls`; nothing
    here reads a call out of text.
    """
    session = suture.Session(store)
    stream = suture.Agent(server.model(**forced(**sampling)), tools=[forecast], session=session).stream(
        "What will the weather be in Paris for the next 3 days, in celsius?"
    )
    pieces = [event.arguments for event in stream if isinstance(event, ToolCallDelta)]
    assert stream.result.status == "handed_off"
    assert len(pieces) > 5
    (call,) = answer_in(session).calls
    assert json.loads("".join(pieces)) == call.arguments
    ((city, days, unit),) = looked
    assert call.arguments == {"city": city, "days": days, "unit": unit}
    told = suture.Agent(server.model(**SHORT), session=suture.Session(store, id=session.id)).resume()
    assert told.status == "completed"
    assert told.text
    assert kinds(session) == [suture.User, suture.Assistant, suture.ToolResult, suture.Assistant]
    result = session.messages[2]
    assert isinstance(result, suture.ToolResult)
    assert result.call_id == call.id
    assert result.text == f"{days} days of sun, 21 degrees {unit}"
    assert len(looked) == 1
    assert suture.diagnose(session.request("openai-chat"), format="openai-chat") == []


def test_call_cut_in_the_middle(server: Server, store: Store, forecast: suture.Tool, looked: list[Looked]) -> None:
    """A call that the token limit cut off does not run, whatever its first half says, and the next request is valid."""
    session = suture.Session(store)
    model = server.model(**forced(max_tokens=9, temperature=0))
    suture.Agent(model, tools=[forecast], session=session, max_steps=1).run(
        "What will the weather be in Paris for the next 3 days, in celsius?"
    )
    cut = answer_in(session)
    assert (cut.stop_reason, len(cut.calls)) == ("length", 1)
    assert looked == []
    assert suture.Agent(server.model(**SHORT), session=session).run("Never mind. Say hello.").status == "completed"
    assert suture.diagnose(session.request("openai-chat"), format="openai-chat") == []


def test_killed_while_tokens_come(server: Server, child: Callable[..., Child], database: Path, store: Store) -> None:
    """Nothing of the answer is in the log, the model stops writing, and a new process answers the same prompt at once."""
    before = server.written()
    killed = child(Child, "tests.live.talker", server.url, str(database), json.dumps(ENDLESS), STORY)
    first = [json.loads(killed.hear()) for _ in range(5)]
    assert all(first)
    assert server.is_busy()
    killed.kill()
    session = suture.Session(store, id=SESSION)
    assert kinds(session) == [suture.User]
    assert server.wait_idle(SOON)
    assert server.written() - before < ENDLESS["max_tokens"]
    since = time.monotonic()
    follower = child(Child, "tests.live.talker", server.url, str(database), json.dumps(SHORT))
    *pieces, status = lines_of(follower)
    assert status == "completed"
    assert time.monotonic() - since < 15, "it waited for the lease of a dead runner"
    assert kinds(session) == [suture.User, suture.Assistant]
    assert session.messages[-1].text == "".join(pieces)
    assert session.findings() == []


def lines_of(talker: Child) -> Iterator[str]:
    """All that it says until it ends."""
    while True:
        try:
            yield json.loads(talker.hear())
        except EOFError:
            return


def test_server_killed_while_tokens_come(server: Server, child: Callable[..., Child], store: Store) -> None:
    """The run ends with an error that says so, keeps nothing of the answer, and another server answers the prompt."""
    session = suture.Session(store)
    doomed = child(Server)
    assert isinstance(doomed, Server)
    stream = suture.Agent(doomed.model(**ENDLESS), session=session, retries=False).stream(STORY)
    pieces = 0
    for event in stream:
        if isinstance(event, TextDelta):
            pieces += 1
            if pieces == 3:
                doomed.kill()
    assert stream.result.status == "error"
    assert isinstance(stream.result.error, suture.TransportError | suture.IncompleteStream)
    assert kinds(session) == [suture.User]
    assert suture.Agent(server.model(**SHORT), session=session).resume().status == "completed"
    assert kinds(session) == [suture.User, suture.Assistant]


def test_odd_text_in_a_conversation(server: Server, store: Store) -> None:
    """Three turns of the least likely tokens are kept to the letter, and what follows from them is valid in every format."""
    session = suture.Session(store)
    odd = {"ignore_eos": True, "max_tokens": 60, "temperature": 2.0, "top_k": 0, "top_p": 1, "min_p": 0}
    prompts = ["Write 🧵, accents and \u200bsymbols.", "Ещё раз!\r\n\t…", 'And once more: \\u0000 "quoted" </s>']
    said: list[str] = []
    for seed, prompt in enumerate(prompts):
        result = suture.Agent(server.model(**odd, seed=seed), session=session).run(prompt)
        assert result.status == "completed"
        said += [prompt, result.text]
    assert not "".join(said[1::2]).isascii(), "the model's text is too plain to show anything"
    again = suture.Session(store, id=session.id)
    assert [message.text for message in again.messages] == said
    assert again.findings() == []
    for format in FORMATS:
        wire = again.request(format)
        assert suture.diagnose(wire, format=format) == []
        assert [message.text for message in suture.load_messages(wire, format=format)] == said
