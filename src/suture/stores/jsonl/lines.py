"""The lines of a session's JSONL file: what each form holds, and the one way in which it is written and read.

A line is one JSON object behind which an LF stands, and nothing but an LF ends it. Lines that were appended together
count how many of them follow (`more`), so that a batch is there whole or not at all.
"""

from __future__ import annotations

import binascii
from typing import TypeAlias

import msgspec

from suture.entries import Draft, Entry
from suture.stores.base import link

VERSION = 1
OPENERS = rb'\{"(?:seq|suture|claim|meta|aside)":'
"""How a line of ours begins."""

_CHAIN = 64


class _Form(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    pass


class EntryLine(_Form, frozen=True, gc=False, omit_defaults=True):
    """An entry. The body stands in `body` as it is when it is JSON in one line; other bytes stand in `base64`; of an
    erased one only its SHA-256 is left, in `erased`.
    """

    seq: int
    id: str
    kind: str
    at: str
    epoch: int
    chain: str
    opens: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()
    more: int = 0
    body: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    base64: str | msgspec.UnsetType = msgspec.UNSET
    erased: str = ""


class HeaderLine(_Form, frozen=True, gc=False, omit_defaults=True):
    """The first line: the version of the form, and whose log it is. `created` is in seconds since 1970; `key` tells
    under which key the chain is kept, in hex, blank for none.
    """

    suture: int
    session: str
    created: float
    key: str = ""
    more: int = 0


class ClaimLine(_Form, frozen=True, gc=False, omit_defaults=True):
    """The epoch of that number was given to that owner, until `expires` at first."""

    claim: int
    owner: str
    ttl: float
    expires: float
    more: int = 0


class MetaLine(_Form, frozen=True, gc=False, omit_defaults=True):
    """Changes of meta, a JSON text: any JSON text stands in a text, but not every one in a line that all can read."""

    meta: str
    at: float
    more: int = 0


class AsideLine(_Form, frozen=True, gc=False, omit_defaults=True):
    """Here stood bytes that cannot be read; they are in that file now, from byte `start` on. `position` is the seq that
    they may have held.
    """

    aside: str
    file: str
    start: int
    size: int
    position: int
    more: int = 0


Line: TypeAlias = EntryLine | HeaderLine | ClaimLine | MetaLine | AsideLine


class Place(_Form, frozen=True, gc=False, omit_defaults=True):
    """What alone is read of a line to find one."""

    seq: int = 0
    id: str = ""


_decoders: list[msgspec.json.Decoder[Line]] = [
    msgspec.json.Decoder(form) for form in (EntryLine, ClaimLine, MetaLine, HeaderLine, AsideLine)
]
_places = msgspec.json.Decoder(Place)


def encoded(line: Line) -> bytes:
    """The line as it stands in the file."""
    return msgspec.json.encode(line) + b"\n"


def decoded(data: bytes) -> Line | None:
    """The line that these bytes are, without their LF; None when they are none."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return None
    for decoder in _decoders:
        try:
            line = decoder.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        return line if not isinstance(line, EntryLine) or _is_sound(line) else None
    return None


def place_of(data: bytes) -> Place:
    """The seq and id of a line that is known to be one; 0 for a line that is no entry."""
    return _places.decode(data)


def batch(lines: list[Line]) -> bytes:
    """Lines that are there together or not at all."""
    count = len(lines)
    return b"".join(encoded(msgspec.structs.replace(line, more=count - index)) for index, line in enumerate(lines, 1))


# Entries --------------------------------------------------------------------------------------


def entry_line(seq: int, draft: Draft, epoch: int, chain: bytes) -> EntryLine:
    """The line of a draft that becomes an entry."""
    line = EntryLine(seq, draft.id, draft.kind, draft.at, epoch, chain.hex(), tuple(draft.opens), tuple(draft.closes))
    body = bytes(memoryview(draft.body))
    if _stands_in_a_line(body):
        return msgspec.structs.replace(line, body=msgspec.Raw(body))
    return msgspec.structs.replace(line, base64=binascii.b2a_base64(body, newline=False).decode("ascii"))


def erased_line(line: EntryLine, hash: bytes) -> EntryLine:
    """The line without its body."""
    return msgspec.structs.replace(line, body=msgspec.UNSET, base64=msgspec.UNSET, erased=hash.hex())


def entry_of(line: EntryLine) -> Entry:
    """The entry that the line holds."""
    return Entry(
        seq=line.seq,
        id=line.id,
        kind=line.kind,
        at=line.at,
        body=body_of(line),
        epoch=line.epoch,
        opens=line.opens,
        closes=line.closes,
        chain=bytes.fromhex(line.chain),
        erased=bytes.fromhex(line.erased) if line.erased else b"",
    )


def body_of(line: EntryLine) -> bytes:
    """The body, byte for byte."""
    if isinstance(line.body, msgspec.Raw):
        return bytes(line.body)
    return binascii.a2b_base64(line.base64) if isinstance(line.base64, str) else b""


def draft_of(line: EntryLine) -> Draft:
    """What the writer of the entry gave."""
    return Draft(line.id, line.kind, line.at, body_of(line), line.opens, line.closes)


def chain_of(line: EntryLine) -> bytes:
    """The chain value that the line states."""
    return bytes.fromhex(line.chain)


def linked(previous: bytes, session_id: str, seq: int, draft: Draft | Entry, key: bytes | None) -> bytes:
    """The chain value that an entry has behind `previous`, which is blank for the first."""
    return link(previous, session_id, seq, draft, key)


def follows(line: EntryLine, previous: bytes, session_id: str, key: bytes | None) -> bool:
    """Whether the line is what was written behind that chain value."""
    return linked(previous, session_id, line.seq, entry_of(line), key) == chain_of(line)


def _stands_in_a_line(body: bytes) -> bool:
    """Whether it comes back byte for byte from a line: JSON in UTF-8 without line ends, and nothing around it."""
    if b"\n" in body or b"\r" in body:
        return False
    around = b'{"seq":1,"id":"","kind":"","at":"","epoch":0,"chain":"%s","body":%s}'
    line = decoded(around % (b"0" * _CHAIN, body))
    return isinstance(line, EntryLine) and isinstance(line.body, msgspec.Raw) and bytes(line.body) == body


def _is_sound(line: EntryLine) -> bool:
    if line.seq <= 0 or line.epoch < 0 or not _is_hash(line.chain):
        return False
    if line.body is not msgspec.UNSET:
        return line.base64 is msgspec.UNSET and not line.erased
    if line.base64 is msgspec.UNSET:
        return _is_hash(line.erased)
    return not line.erased and _is_base64(line.base64)


def _is_hash(text: str) -> bool:
    try:
        return len(bytes.fromhex(text)) == _CHAIN // 2
    except ValueError:
        return False


def _is_base64(text: str) -> bool:
    try:
        binascii.a2b_base64(text)
    except ValueError:
        return False
    return True
