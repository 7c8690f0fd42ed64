"""A process that is killed while an adapter streams leaves nothing of that answer; another one asks again.

The provider is real too, on loopback in the parent: it stops in the middle of its stream, and the child says when it has
heard as much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import msgspec
import pytest
from llmock.scenarios import Reply, StreamFault, ToolCall
from llmock.testing import LLMockServer

from suture.messages import Assistant, User
from suture.session import Session
from suture.stores.sqlite.store import SqliteStore
from tests.loop.children import Child
from tests.loop.counts import KILLS_IN_STREAM
from tests.loop.mortal import assert_stand
from tests.loop.scenarios import ON_IT, PROMPT, Driver, Ledger, World, assert_sendable, check_end
from tests.loop.test_sigkill import times
from tests.loop.worker import Barrier, Orders, acknowledged_in, story_of
from tests.models.served import WIRES, Wire, adapter_of, assert_received_valid, told

STALL = 60.0  # longer than any test waits
LONG = "A long answer that comes in many pieces, of which the last is never heard."

NOTE = "A note that is long enough to come in several pieces."

# The piece of text or of arguments, from 0, at which the child is killed; the number of the answer whose stream stops,
# and behind how many events.
PLACES: tuple[tuple[Barrier, int, int, int], ...] = (
    ("arguments", 1, 0, 6),
    ("text", 3, 1, 4),
    ("text", 0, 0, 2),
    ("arguments", 2, 0, 8),
)
LEAD = {"openai": 0, "anthropic": 3}  # so many events more come before the first piece
ROWS = times(KILLS_IN_STREAM, list(product(PLACES, WIRES)))


@pytest.fixture(scope="module")
def server() -> Iterator[LLMockServer]:
    """One provider for all rows."""
    with LLMockServer() as running:
        yield running


def serve(server: LLMockServer, answer: int, after: int) -> None:
    """Let the scenario's answers come, and the one of that number stop."""
    server.state.reset()
    server.state.scenarios.add(Reply(ON_IT, (ToolCall("send", {"n": 0, "note": NOTE}),)), Reply(LONG))
    whole = [StreamFault("stall", 1000)] * answer  # an answer is over before its thousandth event
    server.state.scenarios.add(*whole, StreamFault("stall", after, STALL))


@pytest.mark.spec("S55")
@pytest.mark.parametrize("number", range(KILLS_IN_STREAM))
def test_killed_while_an_adapter_streams(
    number: int, server: LLMockServer, child: Callable[[Orders], Child], tmp_path: Path
) -> None:
    """No part of the answer is in the log, the prompt is there once, and the next process sends once and answers."""
    (place, nth, answer, after), wire = ROWS[number]
    driver: Driver = "sync" if number // len(WIRES) % 2 == 0 else "async"
    serve(server, answer, after + LEAD[wire])
    SqliteStore(tmp_path / "log.db").close()
    url = server.base_url(wire)
    begun = Orders("step", str(tmp_path), "external", driver, barrier=place, nth=nth, wire=wire, base_url=url)
    killed = child(begun)
    assert killed.hear() == {"at": place}
    killed.kill(reap=number % 2 == 0)
    follow(begun, server, wire, answer)


def follow(begun: Orders, server: LLMockServer, wire: Wire, answers: int) -> None:
    """Look at what the killed process left, finish the story here, and check all that must hold of it."""
    with adapter_of(wire, server) as model:
        story = story_of(msgspec.structs.replace(begun, wire=""), World(begun.ledger))
        story.modelled = told(model, server)
        assert_nothing_partial(story.session(), answers, Ledger(begun.ledger.path))
        story.finish()
        check_end(story)
        assert_stand(story.session().entries(), acknowledged_in(begun.acknowledged))
        assert_received_valid(server, wire)
        assert [run.tool for run in story.world.ledger.runs()] == ["send"]
        story.store.close()


def assert_nothing_partial(session: Session, answers: int, ledger: Ledger) -> None:
    """The log holds the prompt once and as many answers as were whole, and no handler ran but for those."""
    assert_sendable(session)
    messages = session.messages
    assert [message.text for message in messages if isinstance(message, User)] == [PROMPT]
    assert [message.text for message in messages if isinstance(message, Assistant)] == [ON_IT] * answers
    assert session.pending_tool_calls()[1] == []
    assert len(ledger.runs()) == answers
