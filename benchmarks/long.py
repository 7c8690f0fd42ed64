"""What it takes to come back to a long session: to read all of it, and to open it at the boundary of a compaction.

Beside reading stands what decoding the same bodies takes, in the same run: nothing that reads them can be faster. Times
are of the processor, so that what else runs on the machine counts for little.
Run it with `python -m benchmarks.long`.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

import msgspec
from benchmarks.turn import AT, conversation_draft

import suture
from suture.entries import Compacted, Draft, Entry, MessageBody, draft, mark
from suture.replay import State
from suture.session import Session
from suture.stores.base import Store

LENGTHS = (1_000, 10_000, 100_000)
KEPT = 40
ROUNDS = 5
OPENINGS = 30


class Load(NamedTuple):
    """The best times for all entries, in seconds: of decoding their bodies, of reading them, and of folding them too."""

    store: str
    decode: float
    read: float
    fold: float


def drafts(length: int) -> list[Draft]:
    """A conversation of that many messages, as a run would have written them."""
    return [conversation_draft(seq) for seq in range(1, length + 1)]


def stores(place: Path, stack: ExitStack) -> Iterator[tuple[str, Store]]:
    """Each kind of store that lives on this machine."""
    for name, url in (
        ("memory", "memory:"),
        ("sqlite", f"sqlite:///{place}/log.db"),
        ("jsonl", f"jsonl:///{place}/logs"),
    ):
        yield name, stack.enter_context(closing(suture.open_store(url)))


def fill(store: Store, id: str, entries: Sequence[Draft]) -> None:
    """Append them, a thousand at once."""
    for start in range(0, len(entries), 1_000):
        store.append(id, entries[start : start + 1_000])


# All of it ------------------------------------------------------------------------------------


def loads(length: int = LENGTHS[-1]) -> Iterator[Load]:
    """One row per store."""
    entries = drafts(length)
    decoder = msgspec.json.Decoder(MessageBody)
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        for name, store in stores(Path(place), stack):
            fill(store, "s", entries)
            yield Load(
                name,
                *best(
                    lambda: [decoder.decode(entry.body) for entry in entries],
                    lambda: store.read("s"),  # noqa: B023
                    lambda: Session(store, "s").refresh(),  # noqa: B023
                ),
            )


def best(*works: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """The least seconds that each takes; they take turns."""
    times = [[_seconds(work) for work in works] for _ in range(rounds)]
    return [min(column) for column in zip(*times, strict=True)]


def _seconds(work: Callable[[], object]) -> float:
    gc.collect()
    start = time.process_time()
    kept = work()
    took = time.process_time() - start
    del kept
    return took


# From the boundary ----------------------------------------------------------------------------


def openings() -> Iterator[tuple[str, list[float]]]:
    """For each store the best times of opening a session and building its next request, in seconds, by what lies before
    its boundary.
    """
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        for name, store in stores(Path(place), stack):
            for length in LENGTHS:
                fill(store, str(length), compacted(length))
            asks = [lambda id=str(length): Session(store, id).request("openai-chat") for length in LENGTHS]  # noqa: B023
            yield name, best(*asks, rounds=OPENINGS)


def compacted(length: int) -> list[Draft]:
    """A conversation of that many messages, of which all but the last are summed up."""
    entries, state = drafts(length), State()
    first_kept = length - KEPT + 1
    state.fold(entry_of(seq, one) for seq, one in enumerate(entries[: first_kept - 1], 1))
    body = Compacted("What was said so far, in a few words. " * 20, first_kept, state.carry())
    return [*entries, draft("summed-up", AT, body, (mark("boundary", str(first_kept)),))]


def entry_of(seq: int, one: Draft) -> Entry:
    """The draft as an entry at that seq."""
    return Entry(seq, one.id, one.kind, one.at, one.body, opens=one.opens, closes=one.closes)


def main() -> None:
    print(f"{f'{LENGTHS[-1]:,} entries':>20}{'decoding s':>12}{'read s':>9}{'folded s':>10}{'beside decoding':>17}")
    for load in loads():
        beside = f"{load.read / load.decode:.1f}x, {load.fold / load.decode:.1f}x"
        print(f"{load.store:>20}{load.decode:>12.2f}{load.read:>9.2f}{load.fold:>10.2f}{beside:>17}")
    print(f"{'opened at a boundary':>20}" + "".join(f"{f'{length:,} before':>16}" for length in LENGTHS))
    for name, times in openings():
        print(f"{name:>20}" + "".join(f"{took * 1e3:>13.2f} ms" for took in times))


if __name__ == "__main__":
    main()
