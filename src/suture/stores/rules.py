"""What every store decides in the same way, whatever it keeps its sessions on.

Who may append, whose claim is in force, what a listing shows, how meta is merged. Pure but for the question
whether an owner is dead.
"""

from __future__ import annotations

import hmac
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from suture.canonical import canonical, is_encodable
from suture.entries import MAX_BODY, Draft
from suture.errors import (
    ConfigurationError,
    Conflict,
    Corrupt,
    Fenced,
    SessionBusy,
    SessionNotFound,
    StoreError,
    WrongKey,
)
from suture.stores.base import KEY_ID, STATUSES, Claim, Meta, SessionInfo, Status, boundary_of, key_id, seal, utc
from suture.stores.owner import is_dead, pid_here

NO_META = b"{}"


# Appends --------------------------------------------------------------------------------------


def require_epoch(session_id: str, epoch: int | None, latest: int) -> None:
    """Return when a writer of that epoch, None for one without a claim, may write.

    Raises:
        Fenced: it is not the latest epoch, or none was given out at all.
    """
    if epoch is not None and (epoch != latest or epoch < 1):
        raise Fenced(
            f"session {session_id!r}: epoch {epoch} may not write, the latest is {latest}. "
            "Another runner has taken the session over, or it was deleted. Stop this run."
        )


def wrong_head(session_id: str, head: int, expect: int) -> Conflict:
    """The error of a writer that has not seen the latest entries."""
    return Conflict(
        f"session {session_id!r}: the head is {head}, not {expect} as expected. "
        f"Read what is new behind {min(head, expect)}, then decide again."
    )


def ids_taken(session_id: str, drafts: Sequence[Draft]) -> Conflict:
    """The error of a batch that is there in part, or in another order, or holds an id twice."""
    return Conflict(
        f"session {session_id!r}: some ids of this batch are taken ({', '.join(d.id for d in drafts[:3])}"
        f"{', ...' if len(drafts) > 3 else ''}). Nothing was written; give new entries new ids."
    )


def last_of_run(seqs: Sequence[int | None]) -> int | None:
    """The last of seqs that follow one another without a gap; None when they do not, or one is unknown."""
    known = [seq for seq in seqs if seq is not None]
    if not known or len(known) < len(seqs):
        return None
    return known[-1] if known == list(range(known[0], known[0] + len(known))) else None


def require_text(session_id: str, drafts: Iterable[Draft] = ()) -> None:
    """Return when every store can keep these drafts.

    Raises:
        StoreError: a text holds half a surrogate pair, or a body is too large.
    """
    if not is_encodable(session_id):
        raise StoreError(f"session {session_id!r}: the id holds half a surrogate pair. Choose an id of whole characters.")
    for draft in drafts:
        if len(draft.body) > MAX_BODY:
            raise StoreError(
                f"session {session_id!r}: the body of this {draft.kind} has {len(draft.body):,} bytes, and an entry holds "
                f"{MAX_BODY:,}. Nothing was written; keep large data elsewhere and write down where it is."
            )
        for text in (draft.id, draft.kind, draft.at, *draft.opens, *draft.closes):
            if not is_encodable(text):
                raise StoreError(
                    f"session {session_id!r}: {text!r} holds half a surrogate pair. "
                    "Use whole characters in ids, kinds, times and marks; bodies may hold any bytes."
                )


# Keys -----------------------------------------------------------------------------------------

SHORTEST_KEY = 16


def usable_key(key: bytes | None) -> bytes | None:
    """The key of a store, which is bytes and hard to guess.

    Raises:
        ConfigurationError: it is not.
    """
    if key is not None and not isinstance(key, bytes):
        kind = type(key).__name__
        raise ConfigurationError(f"The key of a store is bytes, not {kind}. A text becomes bytes by .encode().")
    if key is not None and len(key) < SHORTEST_KEY:
        raise ConfigurationError(
            f"The key of the store has {len(key)} bytes and could be guessed. Give it {SHORTEST_KEY} at least, "
            "such as secrets.token_bytes(32)."
        )
    return key


def require_seal(session_id: str, head: int, chain: bytes, sealed: bytes, key: bytes | None) -> None:
    """Return when a session with that head, chain and seal may be gone on with under the key of this store.

    Raises:
        WrongKey: it was written under another key, or without one.
        Corrupt: somebody without the key has changed its head or chain.
    """
    expected = seal(session_id, head, chain, key)
    if hmac.compare_digest(sealed, expected):
        return
    if sealed[:KEY_ID] != key_id(key):
        raise wrong_key(session_id, sealed, key)
    raise Corrupt(
        f"session {session_id!r}: its head ({head}) and chain are not those that were sealed under the key, so somebody "
        "without the key has changed them. Nothing was written. `suture verify` looks for the place."
    )


def wrong_key(session_id: str, sealed: bytes, key: bytes | None) -> WrongKey:
    """The error of a session that is sealed under another key than that of the store, or where one of them has none."""
    if not sealed:
        return WrongKey(
            f"session {session_id!r} is kept without a key, and this store has one. If it was begun under the key, "
            "somebody has taken that off: `suture verify` says. Else open the store without a key to go on with it; a fork "
            "of it goes on under the key."
        )
    if key is None:
        return WrongKey(
            f"session {session_id!r} is kept under a key ({sealed[:KEY_ID].hex()}), and this store was opened without one. "
            "Open it with that key: open_store(url, key=...)."
        )
    return WrongKey(
        f"session {session_id!r} is kept under the key {sealed[:KEY_ID].hex()}, and this store was opened with the key "
        f"{key_id(key).hex()}. Open it with the first."
    )


# Claims ---------------------------------------------------------------------------------------


def claim_of(session_id: str, owner: str | None, epoch: int, expires: float) -> Claim | None:
    """The claim that a session's row holds; None when it was released, or nobody ever claimed."""
    return None if owner is None else Claim(session_id, owner, epoch, expires)


def require_lease(ttl: object) -> None:
    """Return when every store can keep a lease of so many seconds.

    Raises:
        ConfigurationError: it is no finite number: a claim that never ends, or whose end nobody can compare, is written
            down by no store as it was meant.
    """
    if isinstance(ttl, bool) or not isinstance(ttl, int | float) or not math.isfinite(ttl):
        raise ConfigurationError(f"A lease is a finite number of seconds, not {ttl!r:.80}.")


def claim_in_force(claim: Claim | None, now: float) -> Claim | None:
    """The claim, unless its lease has run out or its owner is provably dead."""
    return None if claim is None or claim.expires <= now or is_dead(claim.owner) else claim


def require_free(claim: Claim | None, owner: str, now: float) -> None:
    """Return when that owner may claim a session on which this claim stands.

    Raises:
        SessionBusy: another owner's claim is in force.
    """
    if claim is not None and claim.owner != owner and claim_in_force(claim, now):
        pid = pid_here(claim.owner)
        where = f"process {pid} of this machine" if pid else "a process that cannot be seen from here"
        raise SessionBusy(
            f"session {claim.session_id!r} is being run by {where}; its lease has "
            f"{math.ceil(claim.expires - now)} s to go unless it is renewed. "
            "`steer` and `interrupt` reach the running run; or try again later."
        )


def claim_lost(claim: Claim) -> Fenced:
    """The error of a runner whose claim is over."""
    return Fenced(
        f"session {claim.session_id!r}: the claim of epoch {claim.epoch} was released or replaced. "
        "Stop this run; claim the session anew to go on."
    )


# Sessions -------------------------------------------------------------------------------------

_CANDIDATES = 200
_UNREADABLE_META = 0, "the meta of the session cannot be read"


def no_such_session(session_id: str) -> SessionNotFound:
    """The error of an id that the store does not hold."""
    return SessionNotFound(f"There is no session {session_id!r}. `suture sessions --store URL` lists those there are.")


def no_such_entry(session_id: str, entry_id: str) -> SessionNotFound:
    """The error of an entry id that the session does not hold."""
    return SessionNotFound(f"Session {session_id!r} has no entry {entry_id!r}. `session.entries()` lists those it has.")


def merged_meta(stored: bytes, changes: Meta | None) -> bytes:
    """The stored meta after the changes; a value of None removes its key.

    Raises:
        NotJson: the changes are not JSON.
    """
    if not changes:
        return stored
    after = {**meta_of(stored), **changes}
    return canonical({key: value for key, value in after.items() if value is not None})


def meta_of(stored: bytes) -> dict[str, object]:
    """Meta as it was given, from its stored bytes; none where somebody has changed those to what nobody can read."""
    return read_meta(stored) or {}


def read_meta(stored: bytes) -> dict[str, object] | None:
    """Meta from its stored bytes; None when they are no meta."""
    try:
        meta = json.loads(stored.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    return meta if isinstance(meta, dict) else None


_marks = msgspec.json.Decoder(tuple[str, ...])


def marks_of(stored: bytes | None) -> tuple[str, ...]:
    """The marks of an entry, from their stored bytes; what cannot be read is one that fits neither call nor chain."""
    try:
        return _marks.decode(stored) if stored else ()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ((stored or b"").decode("utf-8", "backslashreplace"),)


def info_of(
    *,
    id: str,
    head: int,
    chain: bytes,
    marks: dict[str, int],
    epoch: int,
    claim: Claim | None,
    meta: bytes,
    created: float,
    updated: float,
    sealed: bytes,
    now: float,
    damage: tuple[tuple[int, str], ...] = (),
) -> SessionInfo:
    """What is known of a session, from what a store keeps of it; times are in seconds on the store's clock."""
    known = read_meta(meta)
    return SessionInfo(
        id=id,
        head=head,
        chain=chain,
        boundary=boundary_of(marks),
        epoch=epoch,
        marks=marks,
        claim=claim_in_force(claim, now),
        meta=known or {},
        damage=damage if known is not None else (_UNREADABLE_META, *damage),
        created_at=utc(created),
        updated_at=utc(updated),
        seal=sealed,
    )


def require_listing(status: object, meta: object) -> None:
    """Return when sessions can be listed by that status and meta.

    Raises:
        ConfigurationError: there is no such status, or meta is no mapping.
    """
    if status is not None and status not in STATUSES:
        raise ConfigurationError(f"There is no status {status!r:.80}; sessions are {', '.join(STATUSES)}.")
    if meta is not None and not isinstance(meta, Mapping):
        raise ConfigurationError(f"Sessions are listed by a mapping such as {{'user': 'ada'}}, not {meta!r:.80}.")


def listed(
    page: Callable[[str | None, int], list[SessionInfo]],
    status: Status | None,
    meta: Meta | None,
    after: str | None,
    limit: int,
) -> list[SessionInfo]:
    """A listing out of pages of candidates: `page(after, size)` gives those behind an id, fewer than `size` at the end."""
    require_listing(status, meta)
    found: list[SessionInfo] = []
    size = max(limit, _CANDIDATES)
    while len(found) < limit:
        candidates = page(after, size)
        found += [info for info in candidates if is_listed(info, status, meta)]
        if len(candidates) < size:
            break
        after = candidates[-1].id
    return found[:limit]


def is_listed(info: SessionInfo, status: Status | None, meta: Meta | None) -> bool:
    """Whether a listing for that status and meta shows the session."""
    return (status is None or info.status == status) and _holds(info.meta, meta or {})


def _holds(meta: Mapping[str, object], wanted: Meta) -> bool:
    return all(key in meta and canonical(meta[key]) == canonical(value) for key, value in wanted.items())
