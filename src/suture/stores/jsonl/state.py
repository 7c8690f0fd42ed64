"""What is known of a session without reading its log, and how it follows from the log's lines."""

from __future__ import annotations

import json
import secrets

import msgspec

import suture.stores.rules as rules
from suture.errors import SutureError
from suture.stores.base import KEY_ID, Claim, Meta, marked, seal
from suture.stores.jsonl.lines import VERSION, ClaimLine, EntryLine, draft_of
from suture.stores.jsonl.scan import Known, Scan

_SEAL = 40


class Stamp(msgspec.Struct, frozen=True, array_like=True):
    """Which file it is, how long, and when it was last changed."""

    file: int = 0
    size: int = 0
    changed: int = 0


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a session.

    `created` is 0 while there is no session. `token` is another one whenever lines moved in the file. `owner` is that of
    the last epoch, None when it was released. `meta` is JSON in ASCII. Chain and seal are in hex.
    """

    session: str
    version: int = VERSION
    log: Stamp = Stamp()
    token: str = ""
    created: float = 0.0
    updated: float = 0.0
    head: int = 0
    chain: str = ""
    seal: str = ""
    epoch: int = 0
    owner: str | None = None
    ttl: float = 0.0
    expires: float = 0.0
    meta: str = "{}"
    marks: dict[str, int] = {}
    damage: tuple[tuple[int, str], ...] = ()

    @property
    def claim(self) -> Claim | None:
        """The claim of the last epoch, unless it was released."""
        return None if self.owner is None else Claim(self.session, self.owner, self.epoch, self.expires)

    @property
    def known(self) -> Known:
        """How far the log goes, and the chain value there."""
        return Known(self.head, bytes.fromhex(self.chain))


def merged(meta: str, changes: Meta | None) -> str:
    """Meta after the changes, as the state holds it."""
    return json.dumps(rules.meta_of(rules.merged_meta(meta.encode("ascii"), changes))) if changes else meta


def told(session_id: str, found: Scan, kept: State | None, stamp: Stamp, key: bytes | None) -> State:
    """The state that a log tells, with what only a state on disk knows: releases, leases, and how far the log once went."""
    changed = stamp.changed / 1e9
    state = State(session_id, log=stamp, token=secrets.token_hex(8), updated=changed, damage=tuple(found.damage))
    created = found.header.created if found.header else changed
    state = msgspec.structs.replace(state, created=created)
    state = _with_entries(state, found.entries)
    for meta in found.metas:
        state = msgspec.structs.replace(state, meta=merged(state.meta, json.loads(meta.meta)))
    for claim in found.claims:
        state = with_claim(state, claim)
    if kept is not None:
        state = _with_kept(state, kept)
    return msgspec.structs.replace(state, seal=_seal(state, found, kept, key))


def with_claim(state: State, line: ClaimLine) -> State:
    """The state once that claim was made."""
    if line.claim < state.epoch:
        return state
    return msgspec.structs.replace(state, epoch=line.claim, owner=line.owner, ttl=line.ttl, expires=line.expires)


def _with_entries(state: State, entries: list[EntryLine]) -> State:
    marks: dict[str, int] = {}
    for line in entries:
        marks = marked(marks, line.seq, draft_of(line)) if line.opens or line.closes else marks
    last = entries[-1] if entries else None
    epoch = max((line.epoch for line in entries), default=0)
    if last is None:
        return state
    return msgspec.structs.replace(state, head=last.seq, chain=last.chain, epoch=epoch, marks=marks)


def _with_kept(state: State, kept: State) -> State:
    if kept.created:
        state = msgspec.structs.replace(state, created=kept.created)
    if kept.epoch >= state.epoch:
        lease = {"epoch": kept.epoch, "owner": kept.owner, "ttl": kept.ttl, "expires": kept.expires}
        state = msgspec.structs.replace(state, **lease)
    if kept.head > state.head:
        # A position that was given out is never given out again, also where the log was cut.
        state = msgspec.structs.replace(state, head=kept.head, chain=kept.chain)
    if kept.head == state.head:
        state = msgspec.structs.replace(state, updated=kept.updated or state.updated)
    return state


def _seal(state: State, found: Scan, kept: State | None, key: bytes | None) -> str:
    """A seal of the end that the log has now, where the one on disk is good and only lines under the key came behind it;
    otherwise one that is good for nothing. Blank where there is no key.
    """
    sealed_under = found.header.key if found.header else kept.seal[: 2 * KEY_ID] if kept else ""
    if not sealed_under:
        return ""
    none = bytes.fromhex(sealed_under).ljust(_SEAL, b"\0").hex()
    if kept is None:
        return none
    if kept.head > (found.entries[-1].seq if found.entries else 0):
        return none
    if state.head == kept.head and state.chain == kept.chain:
        return kept.seal
    try:
        rules.require_seal(state.session, *kept.known, bytes.fromhex(kept.seal), key)
    except SutureError:
        return none
    is_tampered_with = any(position >= kept.head for position, _ in found.damage if position > 0)
    return none if is_tampered_with else seal(state.session, *state.known, key).hex()
