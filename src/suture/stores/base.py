"""What a store is: an append-only log per session, and a claim on who may run it.

A store keeps, beside the entries, what it can know of a session without reading bodies: its head,
chain, marks, claim and meta. All of it changes in the transaction that appends.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal, NamedTuple, Protocol, TypeAlias, get_args, runtime_checkable

import msgspec

from suture.canonical import canonical
from suture.entries import Draft, Entry, MarkKind, expiry_of, is_over, is_time, number_of, split_mark

Status: TypeAlias = Literal["running", "idle", "awaiting_approval", "unknown_outcome", "inbox_waiting", "abandoned"]
STATUSES: tuple[Status, ...] = get_args(Status)
STATUS_KINDS: tuple[MarkKind, ...] = ("run", "approval", "started", "inbox", "decided", "settled")
"""The kinds of marks by which a status goes."""
Meta: TypeAlias = Mapping[str, object]


class Claim(msgspec.Struct, frozen=True):
    """The right to run a session. `epoch` only grows; whoever holds an older one is fenced.

    `expires` is on the store's clock, in seconds since 1970.
    """

    session_id: str
    owner: str
    epoch: int
    expires: float


class SessionInfo(msgspec.Struct, frozen=True):
    """What a store knows of a session without reading bodies.

    `head` is the last seq, 0 when empty. `marks` are the open marks, each with the seq that opened it.
    `claim` is the claim in force, None when nobody runs the session or its runner is dead or overdue.
    `epoch` is the last epoch that was given out. `damage` lists (position, what) of places that cannot be read.
    `seal` binds id, head and chain to the store's key; it is blank where the session is kept without one.
    """

    id: str
    head: int = 0
    chain: bytes = b""
    boundary: int = 0
    epoch: int = 0
    marks: dict[str, int] = {}
    claim: Claim | None = None
    meta: dict[str, object] = {}
    created_at: str = ""
    updated_at: str = ""
    damage: tuple[tuple[int, str], ...] = ()
    seal: bytes = b""

    @property
    def status(self) -> Status:
        """What the session is doing or waiting for."""
        return status_of(self.marks, running=self.claim is not None)

    @property
    def needs_runner(self) -> bool:
        """Whether something waits that only a run can take up, and no run is on. Whether a request for approval has expired
        goes by the clock of this machine, as in a run.
        """
        return self.claim is None and needs_runner(self.marks, utc(time.time()))


def needs_runner(marks: Mapping[str, int], at: str = "") -> bool:
    """The one rule over marks: a run was cut off, something was decided or settled, the inbox can be delivered, or at that
    time, blank for none, a request for approval that nobody decided has expired.
    """
    kinds = {split_mark(mark)[0] for mark in marks}
    if kinds & {"run", "decided", "settled"}:
        return True
    return ("inbox" in kinds and not kinds & {"approval", "started"}) or any(
        _has_expired(mark, marks, at) for mark in marks if mark.startswith("expires:")
    )


def _has_expired(mark: str, marks: Mapping[str, int], at: str) -> bool:
    key, expires = expiry_of(mark.removeprefix("expires:"))
    return f"approval:{key}" in marks and is_time(at) and is_time(expires) and is_over(expires, at)


def status_of(marks: Mapping[str, int], *, running: bool) -> Status:
    """A session's status from its marks and whether a live runner has claimed it.

    `inbox_waiting` covers all that arrived for the next run: messages, decisions and settlements.
    """
    kinds = {split_mark(mark)[0] for mark in marks}
    if running:
        return "running"
    if "run" in kinds:
        return "abandoned"
    if "approval" in kinds:
        return "awaiting_approval"
    if "started" in kinds:
        return "unknown_outcome"
    if kinds & {"inbox", "decided", "settled"}:
        return "inbox_waiting"
    return "idle"


def statuses_with(kind: MarkKind) -> list[Status]:
    """The statuses that a session may have while a mark of that kind is open, whatever else is. The first are those that it
    leaves for another when its run ends.
    """
    both = [{f"{kind}:": 1, f"{other}:": 1} for other in get_args(MarkKind)]
    return list(dict.fromkeys(status_of(marks, running=running) for running in (True, False) for marks in both))


_LAST_TIME = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


def utc(seconds: float) -> str:
    """A time of a clock as entries write it: UTC, ISO 8601; the nearest one for what no clock shows."""
    seconds = min(max(seconds, 0.0), _LAST_TIME)
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def boundary_of(marks: Mapping[str, int]) -> int:
    """The first kept seq of the last compaction; 0 when there is none."""
    seqs = (number_of(name) for kind, name in map(split_mark, marks) if kind == "boundary")
    return max((seq for seq in seqs if seq is not None), default=0)


def marked(marks: Mapping[str, int], seq: int, draft: Draft) -> dict[str, int]:
    """The open marks after an entry: first it closes, then it opens. Closing what is not open is nothing."""
    after = {mark: opened for mark, opened in marks.items() if mark not in draft.closes}
    for mark in draft.opens:
        after[mark] = seq
    return after


# The chain ------------------------------------------------------------------------------------

KEY_ID = 8
"""How many bytes of a seal say under which key it was made."""


def start_of(session_id: str) -> bytes:
    """The value before the first entry of a session, so that no entry can be moved to another one."""
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).digest()


def link(previous: bytes, session_id: str, seq: int, draft: Draft | Entry, key: bytes | None = None) -> bytes:
    """The chain value of an entry, H(previous, seq, id, kind, at, marks, H(body)): SHA-256, or HMAC-SHA-256 under a key.

    `previous` is the value before it, blank for the first entry.
    """
    fields = [seq, draft.id, draft.kind, draft.at, list(draft.opens), list(draft.closes)]
    try:
        # For integers and texts these are the bytes of `canonical`, in a third of the time; every append pays it.
        text = msgspec.json.encode(fields)
    except UnicodeEncodeError:
        text = canonical(fields)
    whole = (previous or start_of(session_id)) + hashlib.sha256(text).digest() + draft.body_hash
    return hashlib.sha256(whole).digest() if key is None else hmac.digest(key, whole, "sha256")


def key_id(key: bytes | None) -> bytes:
    """What tells keys apart and gives none away; blank for none. A seal begins with it."""
    return b"" if key is None else hmac.digest(key, b"suture: which key", "sha256")[:KEY_ID]


def seal(session_id: str, head: int, chain: bytes, key: bytes | None) -> bytes:
    """What a session's row holds beside its head and chain, so that nobody without the key can move the end of the log.

    Blank without a key.
    """
    if key is None:
        return b""
    if not 0 <= head < 1 << 63:
        return key_id(key)  # no log ends there
    whole = b"suture: end of a log" + start_of(session_id) + head.to_bytes(8) + chain
    return key_id(key) + hmac.digest(key, whole, "sha256")


@runtime_checkable
class Keyed(Protocol):
    """A store that can keep its chains under a key; `key` is None when it does not."""

    @property
    def key(self) -> bytes | None:
        """The key of chains and seals."""
        ...


def key_of(store: object) -> bytes | None:
    """The key under which a store keeps its chains; None for none."""
    return store.key if isinstance(store, Keyed) else None


# The protocol ---------------------------------------------------------------------------------


class Append(NamedTuple):
    """What one call of `Store.append` is given."""

    session_id: str
    drafts: Sequence[Draft]
    expect: int | None = None
    epoch: int | None = None
    meta: Meta | None = None


@runtime_checkable
class Together(Protocol):
    """A store that commits what many append at once. Appends of async code to any other store each wait in a thread."""

    def append_each(self, appends: Sequence[Append]) -> list[int | Exception]:
        """Append each as `Store.append` does, in their order and in one commit: the last seq of each, or what refused it,
        and it alone.
        """
        ...


@runtime_checkable
class Store(Protocol):
    """A place for sessions. `suture.testing.StoreContract` is the test class that every store passes."""

    def append(
        self,
        session_id: str,
        drafts: Sequence[Draft],
        *,
        expect: int | None = None,
        epoch: int | None = None,
        meta: Meta | None = None,
    ) -> int:
        """Append a batch whole and contiguous; return its last seq (the head, for an empty batch).

        `expect` is the head that the writer has seen; `epoch` that of a runner's claim, whose lease an append renews.
        A batch that is already there under the same ids is not written again: its last seq is returned.
        `meta` is merged into the session's; a value of None removes a key.

        Raises:
            Conflict: the head is not `expect`, or some of the ids, not all, are taken.
            Fenced: a later epoch than `epoch` was given out, or that epoch never was.
            StoreError: it cannot be written, or a body is larger than `MAX_BODY` (64 MiB). Nothing was.
        """
        ...

    def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        """The entries behind `after`, in order; none for an unknown session."""
        ...

    def info(self, session_id: str) -> SessionInfo | None:
        """What is known of the session; None when there is none."""
        ...

    def sessions(
        self,
        *,
        status: Status | None = None,
        meta: Meta | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[SessionInfo]:
        """Sessions by id, at most `limit`, behind the id `after`; only those of that status, and whose meta
        holds all of `meta`.

        Raises:
            ConfigurationError: there is no such status.
        """
        ...

    def claim(self, session_id: str, owner: str, ttl: float) -> Claim:
        """Claim a session, made when it is not there, for `ttl` seconds, under a new epoch.

        Raises:
            SessionBusy: somebody else holds it who is not provably dead and whose lease has not run out.
            ConfigurationError: `ttl` is no finite number; so for `renew`.
        """
        ...

    def renew(self, claim: Claim, ttl: float) -> None:
        """Extend the lease. An expired lease that nobody took can still be renewed.

        Raises:
            Fenced: a later epoch was given out, or the claim was released.
        """
        ...

    def release(self, claim: Claim) -> None:
        """Give the claim back; nothing happens when it is not in force any more."""
        ...

    def erase(self, session_id: str, entry_id: str) -> None:
        """Replace an entry's body by nothing. Its hash stays in the chain. A repeat does nothing.

        Raises:
            SessionNotFound: there is no such session, or no such entry in it.
        """
        ...

    def news(self, session_id: str | None, after: int, timeout: float) -> bool:
        """Wait until something stands behind the position `after` of that session; whether it does.

        `session_id=None`: until something is appended to any session, from this call on. Sessions share no positions, so
        `after` says nothing then. Whoever wakes looks for what is new; what came between two calls ends neither, so look
        after each, and let none last too long.
        """
        ...

    def delete(self, session_id: str) -> None:
        """Remove a session and all its entries; nothing happens when there is none."""
        ...

    def close(self) -> None:
        """Let go of files and connections. A repeat does nothing."""
        ...


@runtime_checkable
class Layered(Protocol):
    """A store that keeps what it is given in another one, in a form of its own, such as encrypted."""

    @property
    def inner(self) -> Store:
        """The store inside."""
        ...


def innermost(store: Store) -> Store:
    """The store that holds what is kept, in the form over which chains are made."""
    while isinstance(store, Layered):
        store = store.inner
    return store
