"""How many bytes a message takes on disk, beside its JSON. Run it with `python -m benchmarks.size`.

The JSON is the entry as one would write it down: its position, id, kind, time and body. Lengths spread evenly around
their mean, from half of it to one and a half.
"""

from __future__ import annotations

import json
import random
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import suture
from suture.entries import Draft, MessageBody, draft
from suture.messages import Assistant

MEANS = (200, 500, 1_200, 2_500, 6_000)
COUNT = 4_000
AT = "2026-01-01T00:00:00.000Z"


class Row(NamedTuple):
    """Bytes for one message of about that many characters, on average: of its body, of its JSON, and on disk."""

    store: str
    mean: int
    body: float
    json: float
    disk: float


def rows() -> Iterator[Row]:
    """One row per store and length."""
    for kind in ("sqlite", "jsonl"):
        for mean in MEANS:
            with tempfile.TemporaryDirectory() as place:
                yield _measured(kind, Path(place), mean)


def _measured(kind: str, place: Path, mean: int) -> Row:
    entries = _drafts(mean)
    with closing(suture.open_store(f"{kind}:///{place / 'kept'}")) as store:
        for start in range(0, COUNT, 10):
            store.append("s", entries[start : start + 10])
    disk = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
    texts = sum(len(_json(seq, one)) for seq, one in enumerate(entries, 1))
    return Row(kind, mean, sum(len(one.body) for one in entries) / COUNT, texts / COUNT, disk / COUNT)


def _json(seq: int, one: Draft) -> bytes:
    head = json.dumps({"seq": seq, "id": one.id, "kind": one.kind, "at": one.at}, separators=(",", ":"))
    return head[:-1].encode() + b',"body":' + one.body + b"}\n"


def _drafts(mean: int) -> list[Draft]:
    chance = random.Random(mean)

    def one(seq: int) -> Draft:
        id = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        words = "x" * int(mean * chance.uniform(0.5, 1.5))
        return draft(id, AT, MessageBody(Assistant.of(words, id), seen=seq))

    return [one(seq) for seq in range(COUNT)]


def main() -> None:
    print(f"{'':>10}{'characters':>12}{'body':>8}{'JSON':>8}{'on disk':>9}{'beside the JSON':>17}{'beside the body':>17}")
    for row in rows():
        beside = f"{row.disk / row.json:>16.2f}x{row.disk / row.body:>16.2f}x"
        print(f"{row.store:>10}{row.mean:>12,}{row.body:>8.0f}{row.json:>8.0f}{row.disk:>9.0f}{beside}")


if __name__ == "__main__":
    main()
