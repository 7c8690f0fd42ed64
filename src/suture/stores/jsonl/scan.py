"""Reads a session's JSONL file whole, whatever happened to it: what can be read, and what is wrong where.

Nothing is changed. An intact record is found behind, before and between damaged bytes; where the log was changed,
cut, reordered or put together from two, the chain tells.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from suture.stores.base import key_id
from suture.stores.jsonl.lines import (
    OPENERS,
    AsideLine,
    ClaimLine,
    EntryLine,
    HeaderLine,
    Line,
    MetaLine,
    chain_of,
    decoded,
    encoded,
    follows,
)

_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r"
_MOST_TRIES = 1000

_json = json.JSONDecoder()


class Whole(NamedTuple):
    """A line of ours, and the bytes that hold it."""

    start: int
    end: int
    number: int
    line: Line


class Damaged(NamedTuple):
    """Bytes that are none, on the line of that number."""

    start: int
    end: int
    number: int
    why: str

    @property
    def what(self) -> str:
        """Where it is and what it is."""
        size = self.end - self.start
        return f"line {self.number}, byte {self.start}: {size} byte{'s' if size != 1 else ''}, {self.why}"


class Form(NamedTuple):
    """What lines a file holds: how one begins, and what it is that the bytes of one say; None for bytes that are none."""

    opener: re.Pattern[bytes]
    decode: Callable[[bytes], Any]


LOG = Form(re.compile(OPENERS), decoded)

Piece: TypeAlias = Whole | Damaged
Fault: TypeAlias = tuple[int, str]


class Known(NamedTuple):
    """What is known of a log from beside it: how far it went, and the chain value there."""

    head: int
    chain: bytes


class Chain(NamedTuple):
    """Whose chain it is, and under which key, where that is the one under which it was made."""

    session_id: str
    key: bytes | None
    is_known: bool

    def holds(self, line: EntryLine, previous: bytes) -> bool:
        """Whether the line is what was written behind that chain value, as far as can be told without another key."""
        return not self.is_known or follows(line, previous, self.session_id, self.key)


@dataclass
class Scan:
    """What a log holds.

    `entries` are in the order of their seqs; `pieces` are all lines and all damage in the order in which they belong.
    `damage` is each place that cannot be read or was changed, with the seq at which it is; `unlike` those of them that
    only what was known beforehand tells. `is_plain`: the file holds nothing but whole lines in order, so one that is
    appended stands as it should.
    """

    header: HeaderLine | None = None
    entries: list[EntryLine] = field(default_factory=list)
    claims: list[ClaimLine] = field(default_factory=list)
    metas: list[MetaLine] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    damage: list[Fault] = field(default_factory=list)
    unlike: list[Fault] = field(default_factory=list)
    is_plain: bool = True


def scan(data: bytes, session_id: str, key: bytes | None = None, known: Known | None = None) -> Scan:
    """What the bytes of a session's file hold, and what is wrong with them."""
    found = list(pieces(data))
    header = next((piece.line for piece in found if isinstance(piece, Whole) and isinstance(piece.line, HeaderLine)), None)
    chain = Chain(session_id, key, is_known=header is None or header.key == key_id(key).hex())
    is_plain = _is_plain(data, found)
    found = _without_cut_batch(found, known)
    found = _one_of_each(found, chain)
    found = _in_order(found)
    result = Scan(header, pieces=found, is_plain=is_plain and not any(isinstance(piece, Damaged) for piece in found))
    for piece in found:
        match piece:
            case Whole(line=EntryLine() as line):
                result.entries.append(line)
            case Whole(line=ClaimLine() as line):
                result.claims.append(line)
            case Whole(line=MetaLine() as line):
                result.metas.append(line)
            case _:
                pass
    # A file without its first line is written anew with one.
    result.is_plain = result.is_plain and result.header is not None
    result.unlike = list(_unlike(known, found)) if known is not None else []
    result.damage = sorted([*_faults(result, chain), *result.unlike], key=lambda fault: fault[0])
    return result


# Lines ----------------------------------------------------------------------------------------


def pieces(data: bytes, form: Form = LOG) -> Iterator[Piece]:
    """The lines and the damage, in the order in which they stand. Lines end at an LF, and nowhere else."""
    start, number = (len(_BOM) if data.startswith(_BOM) else 0), 1
    while start < len(data):
        end = data.find(b"\n", start)
        is_last = end < 0
        yield from _pieces_of_line(data[start : None if is_last else end], start, number, is_last, form)
        if is_last:
            return
        start, number = end + 1, number + 1


def _pieces_of_line(raw: bytes, start: int, number: int, is_last: bool, form: Form) -> Iterator[Piece]:
    text = raw.strip(_BLANK)
    if not text:
        return
    at = start + raw.index(text)
    line = form.decode(text)
    if line is not None:
        yield Whole(at, at + len(text), number, line)
    else:
        yield from _recovered(text, at, number, is_last, form)


def _recovered(raw: bytes, start: int, number: int, is_last: bool, form: Form) -> Iterator[Piece]:
    """The whole records inside a line that is damaged, and what is left of it."""
    # One character per byte, so that a place in the text is one in the bytes.
    text = raw.decode("latin-1")
    done, tries = 0, 0
    for opening in form.opener.finditer(raw):
        at = opening.start()
        if at < done or tries == _MOST_TRIES:
            continue
        end = _end_of_object(text, at)
        line = form.decode(raw[at:end])
        if line is None:
            tries += 1
            continue
        yield from _left(raw, done, at, start, number, is_cut=True)
        yield Whole(start + at, start + end, number, line)
        done = end
    yield from _left(raw, done, len(raw), start, number, is_cut=is_last)


def _end_of_object(text: str, at: int) -> int:
    """Where the JSON object that begins there ends; where it begins, when it is none."""
    try:
        return _json.raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return at


def _left(raw: bytes, start: int, end: int, offset: int, number: int, *, is_cut: bool) -> Iterator[Damaged]:
    if raw[start:end].strip(_BLANK):
        yield Damaged(offset + start, offset + end, number, _why(raw[start:end], is_cut=is_cut))


def _why(raw: bytes, *, is_cut: bool) -> str:
    if not raw.strip(b"\0"):
        return "all of them NUL"
    if b"\0" in raw:
        return "NUL bytes among them"
    try:
        raw.decode()
    except UnicodeDecodeError:
        return "which are no UTF-8"
    return "a record that was cut off" if is_cut and raw.lstrip().startswith(b"{") else "which are no record"


def _is_plain(data: bytes, found: Sequence[Piece]) -> bool:
    at, last = 0, 0
    for piece in found:
        if piece.start != at or isinstance(piece, Damaged) or data[piece.end : piece.end + 1] != b"\n":
            return False
        if isinstance(piece.line, HeaderLine) != (at == 0):
            return False
        if isinstance(piece.line, EntryLine):
            if piece.line.seq <= last:
                return False
            last = piece.line.seq
        at = piece.end + 1
    return at == len(data)


# Which records count --------------------------------------------------------------------------


def _without_cut_batch(found: list[Piece], known: Known | None) -> list[Piece]:
    """Without the lines of a batch at the end whose last one never came; of one that was known to be there, they stay."""
    begin, expected = len(found), None
    for index, piece in enumerate(found):
        if isinstance(piece, Damaged):
            continue
        if piece.line.more:
            if piece.line.more != expected:
                begin = index
            expected = piece.line.more - 1
        else:
            begin, expected = len(found), None
    is_known = any(
        known is not None
        and isinstance(piece, Whole)
        and isinstance(piece.line, EntryLine)
        and piece.line.seq <= known.head
        for piece in found[begin:]
    )
    if is_known:
        return found
    cut = [
        Damaged(piece.start, piece.end, piece.number, "part of a batch that was cut off")
        if isinstance(piece, Whole)
        else piece
        for piece in found[begin:]
    ]
    return found[:begin] + cut


def _one_of_each(found: list[Piece], chain: Chain) -> list[Piece]:
    """Of records at one position, the one for which most of its neighbours vouch, the first of those."""
    at: dict[int, list[int]] = {}
    for index, piece in enumerate(found):
        if isinstance(piece, Whole) and isinstance(piece.line, EntryLine):
            at.setdefault(piece.line.seq, []).append(index)
    chosen: dict[int, EntryLine] = {}
    result = list(found)
    for seq in sorted(at):
        lines = {index: _line_at(found, index) for index in at[seq]}
        kept = next(iter(lines))
        if len(lines) > 1:
            behind = [_line_at(found, index) for index in at.get(seq + 1, ())]
            kept = max(lines, key=lambda index: _ties(lines[index], chosen.get(seq - 1), behind, chain))
        chosen[seq] = lines[kept]
        for index, line in lines.items():
            if index != kept:
                why = (
                    f"a copy of entry {seq}" if line == lines[kept] else f"another record at position {seq}, which is taken"
                )
                result[index] = Damaged(found[index].start, found[index].end, found[index].number, why)
    return result


def _ties(line: EntryLine, before: EntryLine | None, behind: Sequence[EntryLine], chain: Chain) -> int:
    """How many of its neighbours vouch for a line."""
    follows_one = chain.holds(line, chain_of(before) if before else b"")
    return follows_one + any(chain.holds(other, chain_of(line)) for other in behind)


def _line_at(found: Sequence[Piece], index: int) -> EntryLine:
    piece = found[index]
    assert isinstance(piece, Whole)
    assert isinstance(piece.line, EntryLine)
    return piece.line


def _in_order(found: Sequence[Piece]) -> list[Piece]:
    """Entries by their seqs; all else stays behind the entry behind which it stood."""
    keys, last = [], 0
    for piece in found:
        if isinstance(piece, Whole) and isinstance(piece.line, EntryLine):
            last = piece.line.seq
        keys.append(last)
    order = sorted(range(len(found)), key=keys.__getitem__)
    return [found[index] for index in order]


# What is wrong --------------------------------------------------------------------------------


def _faults(result: Scan, chain: Chain) -> Iterator[Fault]:
    """Each place that cannot be read or was changed, with the seq at which it is."""
    previous: EntryLine | None = None
    last, was_damaged = 0, False
    if result.header is not None and result.header.session != chain.session_id:
        yield 1, f"the file says that it is the log of session {result.header.session!r}"
    for piece in result.pieces:
        match piece:
            case Damaged():
                was_damaged = True
                yield last + 1, piece.what
            case Whole(line=AsideLine() as line):
                was_damaged = True
                yield line.position, f"{line.aside}; now in {line.file}, from byte {line.start} on"
            case Whole(line=EntryLine() as line):
                if line.seq > last + 1 and not was_damaged:
                    yield last + 1, missing(last + 1, line.seq - 1)
                if line.seq == last + 1 and not chain.holds(line, chain_of(previous) if previous else b""):
                    yield line.seq, f"entry {line.seq} does not follow from what stands before it: one of them was changed"
                previous, last, was_damaged = line, line.seq, False
            case _:
                pass


def missing(first: int, last: int) -> str:
    """What is said of entries that are not there."""
    return f"entry {first} is missing" if first == last else f"entries {first} to {last} are missing"


def _unlike(known: Known, found: Sequence[Piece]) -> Iterator[Fault]:
    """Where the log is not as it was known to be. Damage at its end is what is left of what was there."""
    lines = [piece.line for piece in found if isinstance(piece, Whole) and isinstance(piece.line, EntryLine)]
    last = lines[-1].seq if lines else 0
    there = next((line for line in lines if line.seq == known.head), None)
    if there is not None and chain_of(there) != known.chain:
        yield known.head, f"entry {known.head} is not the one that was written there"
    if known.head > last and not (found and isinstance(found[-1], Damaged)):
        yield last + 1, f"{missing(last + 1, known.head)}: the log once went on to {known.head}"


# Mending --------------------------------------------------------------------------------------


def mended(
    found: Scan, data: bytes, header: HeaderLine, aside: str, instead: EntryLine | None = None
) -> tuple[bytes, bytes]:
    """The file as it should be, with a line in place of all damage; and the damaged bytes, for the file `aside`.

    The line `instead` takes the place of the entry at its seq.
    """
    clean, bad, last = [encoded(header)], bytearray(), 0
    for piece in found.pieces:
        raw = data[piece.start : piece.end]
        match piece:
            case Damaged():
                clean.append(encoded(AsideLine(piece.what, aside, len(bad), len(raw), last + 1)))
                bad += raw + b"\n"
            case Whole(line=HeaderLine()):
                pass
            case Whole(line=EntryLine() as line):
                last = line.seq
                clean.append(encoded(instead) if instead is not None and instead.seq == last else raw + b"\n")
            case Whole():
                clean.append(raw + b"\n")
    return b"".join(clean), bytes(bad)
