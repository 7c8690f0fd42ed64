"""What writes that share a commit make of a session: new lines, and the state behind them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

import suture.stores.rules as rules
from suture.canonical import canonical
from suture.entries import Draft
from suture.stores.base import Claim, Meta, marked, seal
from suture.stores.group_commit import Write
from suture.stores.jsonl.lines import ClaimLine, Line, MetaLine, batch, entry_line, linked
from suture.stores.jsonl.state import State, merged, with_claim


class Batch:
    """A session while its log is locked. `ids` are the seqs of the entry ids in its log; `lines` come behind those."""

    def __init__(self, state: State, ids: Mapping[str, int], key: bytes | None) -> None:
        self.state = state
        self.lines: list[bytes] = []
        self.new_ids: dict[str, int] = {}
        self._ids = ids
        self._key = key

    def do(self, writes: Sequence[Write[Batch]]) -> None:
        """Do each of the writes: one that is refused leaves nothing, and takes no other with it.

        Raises:
            Exception: the refusal of a write that is alone.
        """
        for write in writes:
            before = self.state, len(self.lines), dict(self.new_ids)
            try:
                write.answer, write.error = write.work(self), None
            except Exception as error:
                self.state, count, self.new_ids = before
                del self.lines[count:]
                if len(writes) == 1:
                    raise
                write.error = error

    # Appends ----------------------------------------------------------------------------------

    def append(self, drafts: Sequence[Draft], expect: int | None, epoch: int | None, meta: Meta | None) -> int:
        """Append as `Store.append` says."""
        state = self._own()
        rules.require_epoch(state.session, epoch, state.epoch)
        there = rules.last_of_run([self._seq_of(draft.id) for draft in drafts])
        if there is not None:
            return there
        if expect is not None and expect != state.head:
            raise rules.wrong_head(state.session, state.head, expect)
        if any(self._seq_of(draft.id) for draft in drafts) or len({draft.id for draft in drafts}) < len(drafts):
            raise rules.ids_taken(state.session, drafts)
        now = time.time()
        if epoch is not None and state.owner is not None:
            state = msgspec.structs.replace(state, expires=now + state.ttl)
        if drafts or meta:
            state = self._written(state, drafts, epoch or 0, meta, now)
        if state.created:
            self.state = state
        return state.head

    def _written(self, state: State, drafts: Sequence[Draft], epoch: int, meta: Meta | None, now: float) -> State:
        lines: list[Line] = []
        if meta:
            canonical(meta)  # refuses what is no JSON
            lines.append(MetaLine(json.dumps(dict(meta)), now))
        head, chain, marks = state.known.head, state.known.chain, dict(state.marks)
        for draft in drafts:
            head += 1
            chain = linked(chain, state.session, head, draft, self._key)
            lines.append(entry_line(head, draft, epoch, chain))
            marks = marked(marks, head, draft) if draft.opens or draft.closes else marks
            self.new_ids[draft.id] = head
        self.lines.append(batch(lines))
        return msgspec.structs.replace(
            state,
            created=state.created or now,
            updated=now,
            head=head,
            chain=chain.hex(),
            seal=seal(state.session, head, chain, self._key).hex(),
            marks=marks,
            meta=merged(state.meta, meta),
        )

    def _seq_of(self, id: str) -> int | None:
        return self.new_ids.get(id) or self._ids.get(id)

    def _own(self) -> State:
        """The state, of a session that a store of this key may go on with; of a new one that is sealed under it."""
        state = self.state
        if not state.created:
            return msgspec.structs.replace(state, seal=seal(state.session, 0, b"", self._key).hex())
        rules.require_seal(state.session, *state.known, bytes.fromhex(state.seal), self._key)
        return state

    # Claims -----------------------------------------------------------------------------------

    def claim(self, owner: str, ttl: float, floor: Callable[[], int]) -> Claim:
        """Claim as `Store.claim` says, under an epoch above the floor too."""
        state, now = self._own(), time.time()
        rules.require_free(state.claim, owner, now)
        line = ClaimLine(max(state.epoch, floor()) + 1, owner, ttl, now + ttl)
        self.lines.append(batch([line]))
        if not state.created:
            state = msgspec.structs.replace(state, created=now, updated=now)
        self.state = with_claim(state, line)
        return Claim(state.session, owner, line.claim, line.expires)

    def renew(self, claim: Claim, ttl: float) -> None:
        """Extend the lease as `Store.renew` says."""
        if not self._holds(claim):
            raise rules.claim_lost(claim)
        self.state = msgspec.structs.replace(self.state, ttl=ttl, expires=time.time() + ttl)

    def release(self, claim: Claim) -> None:
        """Give the claim back, if it is in force."""
        if self._holds(claim):
            self.state = msgspec.structs.replace(self.state, owner=None)

    def _holds(self, claim: Claim) -> bool:
        return self.state.owner is not None and self.state.epoch == claim.epoch
