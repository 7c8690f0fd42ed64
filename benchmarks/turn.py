"""What a turn costs at the end of a long conversation, beside one at its start.

A turn is the whole of `Agent.run` with a scripted model: claim, prompt, request, answer, release; with a tool call
also the start, the handler and the result. Conversations of all lengths take turns within one process, so that what
slows the machine slows all alike. Warm is a handle that has read the conversation before; cold reads it first.
Run it with `python benchmarks/turn.py`.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from suture.agent import Agent
from suture.entries import Draft, MessageBody, call_key, draft
from suture.messages import Assistant, Text, ToolCall, ToolResult, User
from suture.models import Request
from suture.models.scripted import ScriptedModel, Step, Turn
from suture.session import Session
from suture.stores.base import Store
from suture.stores.memory import MemoryStore
from suture.stores.sqlite.store import SqliteStore
from suture.tools import tool

Kind: TypeAlias = Literal["text", "call"]

LENGTHS = (0, 1_000, 10_000)
ROUNDS = 60
COLD_ROUNDS = 5
AT = "2026-01-01T00:00:00.000Z"


def _call(request: Request) -> Turn:
    """A call under an id of its own: one that was given before would be asked for again."""
    return {"calls": [{"id": f"mine_{len(request.messages)}", "name": "look", "arguments": {"at": "the weather"}}]}


ANSWER: Step = {"text": "It will rain in the afternoon; take a coat, and leave before three."}
SCRIPTS: dict[Kind, list[Step]] = {"text": [ANSWER], "call": [_call, ANSWER]}


class Row(NamedTuple):
    """The median turn in milliseconds, by how many messages stand before it."""

    store: str
    kind: Kind
    handle: Literal["warm", "cold"]
    medians: dict[int, float]


@tool(effect="read")
def look(at: str) -> str:
    """Look at something."""
    return f"There is not much to be said of {at}."


def rows(rounds: int = ROUNDS, cold_rounds: int = COLD_ROUNDS) -> Iterator[Row]:
    """One row for each store, kind of turn, and handle."""
    with tempfile.TemporaryDirectory() as place:
        for name, store in (("memory", MemoryStore()), ("sqlite", SqliteStore(Path(place) / "log.db"))):
            with closing(store):
                for kind in SCRIPTS:
                    yield Row(name, kind, "warm", _warm(store, kind, rounds))
                    yield Row(name, kind, "cold", _cold(store, kind, cold_rounds))


def _warm(store: Store, kind: Kind, rounds: int) -> dict[int, float]:
    handles = {length: _conversation(store, f"{kind}-{length}", length) for length in LENGTHS if length}
    for session in handles.values():
        _turn(kind, session)
    return _medians(kind, rounds, lambda length: handles[length] if length else _beginning(store))


def _cold(store: Store, kind: Kind, rounds: int) -> dict[int, float]:
    return _medians(kind, rounds, lambda length: Session(store, f"{kind}-{length}") if length else _beginning(store))


def _medians(kind: Kind, rounds: int, session_of: Callable[[int], Session]) -> dict[int, float]:
    times: dict[int, list[float]] = {length: [] for length in LENGTHS}
    for _ in range(rounds):
        for length in LENGTHS:
            times[length].append(_turn(kind, session_of(length)))
    return {length: statistics.median(found) * 1e3 for length, found in times.items()}


def _turn(kind: Kind, session: Session) -> float:
    agent = Agent(ScriptedModel(SCRIPTS[kind]), session, tools=[look])
    start = time.perf_counter()
    agent.run("What will the weather be like?")
    return time.perf_counter() - start


# Conversations --------------------------------------------------------------------------------


def _beginning(store: Store) -> Session:
    """A conversation that nobody has said anything in."""
    return Session(store)


def _conversation(store: Store, id: str, length: int) -> Session:
    """A handle on a conversation of that many messages, as a run would have written them."""
    drafts = [conversation_draft(seq) for seq in range(1, length + 1)]
    for start in range(0, length, 500):
        store.append(id, drafts[start : start + 500])
    session = Session(store, id)
    session.refresh()
    return session


def conversation_draft(seq: int) -> Draft:
    """A question, a call, its result, an answer; and so on."""
    id = f"m{seq}"
    match (seq - 1) % 4:
        case 0:
            body = MessageBody(User((Text(f"Question {seq}: what is there to be said of it, and by whom?"),), id))
        case 1:
            body = MessageBody(Assistant((ToolCall(f"c{seq}", "look", {"at": "it"}),), id), seen=seq - 1)
        case 2:
            result = ToolResult(Text("Not much. " * 8), id=id, call_id=f"c{seq - 1}", name="look", error=False)
            body = MessageBody(result, key=call_key(seq - 1, 0))
        case _:
            body = MessageBody(Assistant((Text("There is not much to be said of it. " * 4),), id), seen=seq - 1)
    return draft(id, AT, body)


def main() -> None:
    print(f"{'store':8}{'turn':6}{'handle':8}" + "".join(f"{f'{length:,} before':>16}{'':>8}" for length in LENGTHS))
    for row in rows():
        first = row.medians[LENGTHS[0]]
        cells = "".join(f"{median:>13.2f} ms{median / first:>7.2f}x" for median in row.medians.values())
        print(f"{row.store:8}{row.kind:6}{row.handle:8}{cells}")


if __name__ == "__main__":
    main()
