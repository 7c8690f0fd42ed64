"""Finds lines in a log that is known to hold whole lines in order, and reads no more of it than is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator

from suture.stores.jsonl.lines import EntryLine, decoded, place_of

_BLOCK = 1 << 18
_NEAR = 1 << 15


def ids_in(fd: int, start: int, end: int) -> dict[str, int]:
    """The seqs of the entry ids between two places, both at the beginning of a line."""
    places = (place_of(raw) for _, raw in _lines(fd, start, end))
    return {place.id: place.seq for place in places if place.seq}


def lines_behind(fd: int, size: int, after: int, limit: int | None) -> list[EntryLine]:
    """At most `limit` entries behind the seq `after` in the first `size` bytes."""
    found: list[EntryLine] = []
    start = _start_near(fd, size, after) if after > 0 else 0
    for _, raw in _lines(fd, start, size):
        if limit is not None and len(found) >= limit:
            break
        line = decoded(raw)
        if isinstance(line, EntryLine) and line.seq > after:
            found.append(line)
    return found


def _start_near(fd: int, size: int, after: int) -> int:
    """The beginning of a line not far before the entry behind `after`, found by halving."""
    low, high = 0, size
    while high - low > _NEAR:
        middle = (low + high) // 2
        at, seq = _first_entry(fd, middle, high)
        if not seq or seq > after:
            high = middle
        else:
            low = at
    return low


def _first_entry(fd: int, start: int, end: int) -> tuple[int, int]:
    """The place and seq of the first entry whose line begins behind `start`; a seq of 0 for none."""
    lines = _lines(fd, start, end, _NEAR // 8)
    next(lines, None)  # the rest of the line in which `start` lies
    return next(((at, seq) for at, raw in lines if (seq := place_of(raw).seq)), (end, 0))


def _lines(fd: int, start: int, end: int, block: int = _BLOCK) -> Iterator[tuple[int, bytes]]:
    """The lines between two places, without their LF, each with its place; the last one only when its LF is there."""
    rest, at = b"", start
    while start < end and (read := os.pread(fd, min(block, end - start), start)):
        start += len(read)
        if b"\n" not in read:
            # Joined once and not with every block: a line may be long.
            rest, block = rest + read, block * 2
            continue
        *whole, rest = (rest + read).split(b"\n")
        for raw in whole:
            yield at, raw
            at += len(raw) + 1
