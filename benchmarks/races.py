"""Who wins when two processes decide on one call, or settle it, at the same moment: one of them, each time.

Two processes go through the same sessions in step. Run it with `python -m benchmarks.races [URL]`, where the URL names an
empty store that processes can share; without one it makes one of each kind.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from tests.postgres import some_server, with_schema

import suture
from suture.entries import ApprovalRequest, Draft, MessageBody, ToolStarted, call_digest, draft
from suture.messages import Assistant, ToolCall, User
from suture.session import new_id, now

What: TypeAlias = Literal["approvals", "settlements"]

RACES = 1_000
# Seconds between one race and the next: longer than an append takes, so that both are there when it begins.
STEP = 0.006
AHEAD = 1.0
LIMIT = 300.0

CALL = ToolCall("c1", "pay", {"total": 900})
KINDS = {"approvals": "approval_decision", "settlements": "settlement"}


class Counts(NamedTuple):
    """What came of races: how many each side won, in how many both or none did, and how many entries there are of them."""

    races: int
    wins: tuple[int, int]
    undecided: int
    twice: int
    entries: int
    mismatched: int

    @property
    def is_clean(self) -> bool:
        """Whether each race had one winner, whose word stands in the log alone."""
        return (self.undecided, self.twice, self.mismatched) == (0, 0, 0) and self.entries == self.races


# Before ---------------------------------------------------------------------------------------


def prepare(store: suture.Store, what: What, races: int) -> None:
    """So many sessions in which one call waits for a decision, or for somebody who knows what became of it."""
    for number in range(races):
        store.append(name(what, number), _waiting(what))


def name(what: What, number: int) -> str:
    """The session of that race."""
    return f"{what}-{number:05}"


def _waiting(what: What) -> list[Draft]:
    key = "2:0"
    said = [MessageBody(User.of("Pay.")), MessageBody(Assistant((CALL,)), seen=1)]
    entries = [draft(new_id(), now(), body) for body in said]
    if what == "approvals":
        request = ApprovalRequest(key, CALL, call_digest(CALL), "external")
        return [*entries, draft(new_id(), now(), request, (f"approval:{key}",))]
    return [*entries, draft(new_id(), now(), ToolStarted(key, "external", 1, "once"), (f"started:{key}",))]


# The race -------------------------------------------------------------------------------------


def decide(store: suture.Store, what: What, side: int, races: int, begin: float) -> list[bool]:
    """Go through all races as that side, in step with the other; which were won."""
    return [_won(suture.Session(store, name(what, number)), what, side, begin + number * STEP) for number in range(races)]


def _won(session: suture.Session, what: What, side: int, moment: float) -> bool:
    session.refresh()
    while time.time() < moment:
        pass
    try:
        _act(session, what, side)
    except (suture.AlreadyDecided, suture.InvalidEdit):
        return False
    return True


def _act(session: suture.Session, what: What, side: int) -> None:
    match what, side:
        case "approvals", 0:
            session.approve("c1", by="0")
        case "approvals", _:
            session.deny("c1", by="1")
        case "settlements", 0:
            session.settle("c1", "completed", "it was paid", by="0")
        case _:
            session.settle("c1", "failed", "it bounced", by="1")


def in_processes(url: str, what: What, races: int) -> tuple[list[bool], list[bool]]:
    """The race between two processes."""
    begin = time.time() + AHEAD + races * 0.0005
    command = [sys.executable, "-m", "benchmarks.races", "--side"]
    sides = [
        subprocess.Popen([*command, str(side), url, what, str(races), str(begin)], stdout=subprocess.PIPE)
        for side in (0, 1)
    ]
    try:
        first, second = (json.loads(side.communicate(timeout=LIMIT)[0]) for side in sides)
    finally:
        for side in sides:
            side.kill()
            side.wait()
    return first, second


# Behind ---------------------------------------------------------------------------------------


def counted(store: suture.Store, what: What, won: tuple[list[bool], list[bool]]) -> Counts:
    """What both sides say, held against the log."""
    pairs = list(zip(*won, strict=True))
    written = [list(_written(store, what, number)) for number in range(len(pairs))]
    winners = [str(pair.index(True)) if any(pair) else None for pair in pairs]
    return Counts(
        races=len(pairs),
        wins=(sum(won[0]), sum(won[1])),
        undecided=sum(not any(pair) for pair in pairs),
        twice=sum(all(pair) for pair in pairs),
        entries=sum(map(len, written)),
        mismatched=sum(who[:1] != [winner] for who, winner in zip(written, winners, strict=True)),
    )


def _written(store: suture.Store, what: What, number: int) -> Iterator[object]:
    for entry in store.read(name(what, number)):
        if entry.kind == KINDS[what] and isinstance(entry.data, Mapping):
            yield entry.data.get("by")


def raced(store: suture.Store, what: What, races: int, run: Callable[[], tuple[list[bool], list[bool]]]) -> Counts:
    """Prepare, race, count."""
    prepare(store, what, races)
    return counted(store, what, run())


def main(url: str | None = None) -> None:
    with tempfile.TemporaryDirectory() as place:
        print(f"{'':>24}{'races':>8}{'first':>8}{'second':>8}{'none':>7}{'both':>7}{'entries':>9}")
        for where in [url] if url else [f"{kind}:///{Path(place) / kind}" for kind in ("sqlite", "jsonl")]:
            _race(where)
        if not url:
            with some_server(syncs=True) as server:
                _race(with_schema(server, "suture_bench_races"))


def _race(url: str) -> None:
    with closing(suture.open_store(url)) as store:
        for what in get_args(What):
            _tell(url, what, raced(store, what, RACES, partial(in_processes, url, what, RACES)))


def _tell(url: str, what: What, counts: Counts) -> None:
    first, second = counts.wins
    print(
        f"{url.partition(':')[0]:>12}{what:>12}{counts.races:>8}{first:>8}{second:>8}{counts.undecided:>7}"
        f"{counts.twice:>7}{counts.entries:>9}{'' if counts.is_clean else '  WRONG'}"
    )


def _side(side: str, url: str, what: str, races: str, begin: str) -> None:
    assert what in ("approvals", "settlements")
    with closing(suture.open_store(url)) as store:
        print(json.dumps(decide(store, what, int(side), int(races), float(begin))))  # type: ignore[arg-type]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--side"]:
        _side(*sys.argv[2:])
    else:
        main(*sys.argv[1:2])
