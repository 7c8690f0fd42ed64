"""One adapter and one store serve many runs at once, and one event loop after another.

The provider on loopback calls the offered tool once for each run, and then repeats what it was told, so that a word that
strays from one session into another would be seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from llmock.simulation import MockResponseSettings
from llmock.testing import LLMockServer

from suture.agent import Agent, AsyncAgent, Result
from suture.messages import Assistant, ToolResult, User
from suture.models import Model
from suture.session import Session
from suture.stores.base import Store
from suture.stores.sqlite.store import SqliteStore
from suture.tools import ToolContext, tool
from tests.loop.counts import RUNS_AT_ONCE
from tests.loop.scenarios import assert_folds_alike, session_of
from tests.models.served import WIRES, Wire, adapter_of, assert_received_valid

THREADS = 8

KINDS = ["run_started", "message", "message", "tool_started", "message", "message", "run_finished"]


@tool(effect="external")
async def stamp(ctx: ToolContext) -> str:
    """Give the session its stamp."""
    await asyncio.sleep(0)
    return f"stamp-of-{session_of(ctx).id}"


@pytest.fixture(scope="module")
def running() -> Iterator[LLMockServer]:
    """A provider that repeats what it was told."""
    with LLMockServer(responses=MockResponseSettings(response_style="echo")) as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """One file for all sessions of a test."""
    store = SqliteStore(tmp_path / "log.db")
    yield store
    store.close()


def prompt_of(name: str) -> str:
    return f"word-of-{name}"


def assert_whole(store: Store, name: str, result: Result) -> None:
    """The run is complete, and its log holds its own words, one call and one result, and nobody else's."""
    session = Session(store, name)
    assert (result.status, result.error, result.steps) == ("completed", None, 2)
    prompt, called, answered, last = session.messages
    assert isinstance(prompt, User)
    assert isinstance(called, Assistant)
    assert isinstance(answered, ToolResult)
    assert isinstance(last, Assistant)
    assert prompt.text == prompt_of(name)
    assert [(call.name, call.id) for call in called.calls] == [("stamp", answered.call_id)]
    assert answered.text == f"stamp-of-{name}"
    assert prompt_of(name) in last.text
    assert result.text == last.text
    assert last.text.count("word-of-") == 1
    entries = session.entries()
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert [entry.kind for entry in entries] == KINDS
    assert_folds_alike(session)
    info = session.info()
    assert info is not None
    assert (info.status, info.marks, info.claim) == ("idle", {}, None)


@pytest.mark.parametrize("wire", WIRES)
def test_many_async_runs_at_once(wire: Wire, server: LLMockServer, store: Store) -> None:
    """Every run completes in its own session, and every request was valid."""
    names = [f"run-{number}-end" for number in range(RUNS_AT_ONCE)]

    async def run_all(model: Model) -> list[Result]:
        agent = AsyncAgent(model, tools=[stamp])
        return await asyncio.gather(*(agent.run(prompt_of(name), session=Session(store, name)) for name in names))

    with adapter_of(wire, server) as model:
        results = asyncio.run(run_all(model))
    for name, result in zip(names, results, strict=True):
        assert_whole(store, name, result)
    assert len(store.sessions(limit=2 * RUNS_AT_ONCE)) == RUNS_AT_ONCE
    assert_received_valid(server, wire)


@pytest.mark.parametrize("wire", WIRES)
def test_agents_of_several_threads(wire: Wire, server: LLMockServer, store: Store) -> None:
    """Plain agents in threads of their own share an adapter."""
    names = [f"run-{number}-end" for number in range(2 * THREADS)]
    with adapter_of(wire, server) as model, ThreadPoolExecutor(THREADS) as threads:

        def run(name: str) -> Result:
            return Agent(model, Session(store, name), tools=[stamp]).run(prompt_of(name))

        results = list(threads.map(run, names))
    for name, result in zip(names, results, strict=True):
        assert_whole(store, name, result)
    assert_received_valid(server, wire)


@pytest.mark.parametrize("wire", WIRES)
def test_one_event_loop_after_another(wire: Wire, server: LLMockServer, store: Store) -> None:
    """An adapter serves a loop that ends, then a plain agent, then another loop, as if it had only just been made."""
    with adapter_of(wire, server) as model:
        results = {
            "first": asyncio.run(AsyncAgent(model, Session(store, "first"), tools=[stamp]).run(prompt_of("first"))),
            "plain": Agent(model, Session(store, "plain"), tools=[stamp]).run(prompt_of("plain")),
            "second": asyncio.run(AsyncAgent(model, Session(store, "second"), tools=[stamp]).run(prompt_of("second"))),
        }
    for name, result in results.items():
        assert_whole(store, name, result)
    assert_received_valid(server, wire)
