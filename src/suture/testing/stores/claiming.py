"""One runner at a time: claims, leases, and the epochs that fence whoever was replaced."""

from __future__ import annotations

import math
import os
import time
from contextlib import suppress
from itertools import pairwise

import pytest

from suture.errors import ConfigurationError, Fenced, SessionBusy
from suture.stores import Claim, Store
from suture.stores.owner import this_owner
from suture.testing.stores.ground import ELSEWHERE, Ground, a_dead_owner, at_once, drafts, lease_end


class Claiming(Ground):
    """The promises about claims, leases and epochs."""

    def test_a_claim_is_exclusive(self, store: Store, other: Store) -> None:
        """While a claim is in force nobody else gets one, and the error says who, how long and what to do."""
        before = time.time()
        claim = store.claim("it's", this_owner(), 300)
        assert (claim.session_id, claim.epoch) == ("it's", 1)
        assert before + 290 < claim.expires < time.time() + 310
        with pytest.raises(SessionBusy) as caught:
            other.claim("it's", this_owner(), 300)
        for part in ("it's", str(os.getpid()), "300 s", "steer", "interrupt"):
            assert part in str(caught.value)
        info = other.info("it's")
        assert info is not None
        assert (info.claim, info.epoch, info.status) == (claim, 1, "running")

    @pytest.mark.parametrize("ttl", [math.inf, math.nan])
    def test_a_claim_for_no_number_of_seconds_is_none_or_holds(self, store: Store, other: Store, ttl: float) -> None:
        """It is refused, or kept as one that nobody else gets over; it is not given and then forgotten."""
        with suppress(ConfigurationError):
            store.claim("s", ELSEWHERE, ttl)
            with pytest.raises(SessionBusy):
                other.claim("s", this_owner(), 300)

    def test_a_claim_makes_the_session(self, store: Store) -> None:
        """A session may be claimed before its first entry."""
        store.claim("s", ELSEWHERE, 300)
        info = store.info("s")
        assert info is not None
        assert (info.head, info.chain, info.marks) == (0, b"", {})
        assert store.append("s", drafts("1"), expect=0) == 1

    def test_only_one_of_many_claims(self, store: Store, other: Store) -> None:
        """Of those who claim at once, one gets the claim."""

        def attempt(index: int) -> bool:
            try:
                (store if index % 2 else other).claim("s", this_owner(), 300)
            except SessionBusy:
                return False
            return True

        assert sum(at_once(attempt, 8)) == 1

    def test_an_owner_may_claim_again(self, store: Store) -> None:
        """An owner is not in its own way, but the epoch is a new one."""
        owner = this_owner()
        assert [store.claim("s", owner, 300).epoch, store.claim("s", owner, 300).epoch] == [1, 2]

    def test_a_dead_owner_is_replaced_at_once(self, store: Store, other: Store) -> None:
        """A runner that provably died holds nothing, however long its lease."""
        store.append("s", drafts("1", opens=["run:a"]))
        first = store.claim("s", a_dead_owner(), 300)
        info = other.info("s")
        assert info is not None
        assert (info.claim, info.epoch, info.status) == (None, first.epoch, "abandoned")
        assert other.claim("s", this_owner(), 300).epoch == first.epoch + 1

    def test_an_overdue_owner_is_replaced(self, store: Store, other: Store) -> None:
        """A lease that ran out is in force no more."""
        first = store.claim("s", ELSEWHERE, 0.05)
        time.sleep(0.1)
        info = other.info("s")
        assert info is not None
        assert (info.claim, info.epoch) == (None, first.epoch)
        assert other.claim("s", "another:owner", 300).epoch == first.epoch + 1

    def test_epochs_only_grow(self, store: Store, other: Store) -> None:
        """No epoch is given out twice: not after a release, and not when the session was deleted and made anew."""
        epochs = []
        for index in range(6):
            claim = store.claim("s", this_owner(), 300)
            epochs.append(claim.epoch)
            if index % 3 == 2:
                other.delete("s")
            else:
                store.release(claim)
        assert all(a < b for a, b in pairwise(epochs))

    def test_a_runner_writes_under_its_epoch(self, store: Store) -> None:
        """A runner's entries carry its epoch, those of all others 0."""
        claim = store.claim("s", this_owner(), 300)
        store.append("s", drafts("1"), epoch=claim.epoch)
        store.append("s", drafts("2"))
        assert [entry.epoch for entry in store.read("s")] == [claim.epoch, 0]

    def test_an_old_epoch_is_fenced(self, store: Store, other: Store) -> None:
        """Once a later epoch was given out, or where none was, a runner writes nothing any more."""
        first = store.claim("s", this_owner(), 300)
        store.release(first)
        second = other.claim("s", this_owner(), 300)
        for epoch in (first.epoch, second.epoch + 1, 0, -1):
            with pytest.raises(Fenced):
                store.append("s", drafts("1"), epoch=epoch, meta={"a": 1})
        info = store.info("s")
        assert info is not None
        assert (info.head, info.meta) == (0, {})
        assert store.append("s", drafts("1"), epoch=second.epoch) == 1

    def test_fencing_comes_before_conflict(self, store: Store) -> None:
        """A fenced runner learns that it is fenced, whatever head it expects."""
        store.release(store.claim("s", this_owner(), 300))
        store.claim("s", this_owner(), 300)
        with pytest.raises(Fenced):
            store.append("s", drafts("1"), epoch=1, expect=7)

    def test_a_deleted_session_fences_its_runner(self, store: Store, other: Store) -> None:
        """The runner of a session that was deleted does not bring it back."""
        claim = store.claim("s", this_owner(), 300)
        other.delete("s")
        with pytest.raises(Fenced):
            store.append("s", drafts("1"), epoch=claim.epoch)
        with pytest.raises(Fenced):
            store.renew(claim, 300)
        store.release(claim)
        assert store.info("s") is None

    def test_the_latest_epoch_writes_after_its_release(self, store: Store) -> None:
        """What a run has still to say after it gave its claim back is taken, as long as nobody took over."""
        claim = store.claim("s", this_owner(), 300)
        store.release(claim)
        assert store.append("s", drafts("1"), epoch=claim.epoch) == 1
        info = store.info("s")
        assert info is not None
        assert info.claim is None

    def test_an_append_renews_the_lease(self, store: Store) -> None:
        """A runner that appends stays the runner; what others append renews nothing."""
        claim = store.claim("s", ELSEWHERE, 300)
        time.sleep(0.02)
        store.append("s", drafts("1"))
        assert lease_end(store, "s") == claim.expires
        store.append("s", drafts("2"), epoch=claim.epoch)
        renewed = lease_end(store, "s")
        assert claim.expires < renewed < claim.expires + 60
        time.sleep(0.02)
        store.append("s", [], epoch=claim.epoch)
        assert lease_end(store, "s") > renewed

    def test_renewing(self, store: Store, other: Store) -> None:
        """A lease can be made longer or shorter, and appends keep to the last one."""
        claim = store.claim("s", ELSEWHERE, 300)
        other.renew(claim, 3000)
        assert lease_end(store, "s") > claim.expires + 2000
        store.append("s", drafts("1"), epoch=claim.epoch)
        assert lease_end(store, "s") > claim.expires + 2000

    def test_an_overdue_lease_can_be_renewed(self, store: Store) -> None:
        """A lease that ran out and that nobody took is the current one still."""
        claim = store.claim("s", ELSEWHERE, 0.05)
        time.sleep(0.1)
        store.append("s", drafts("1"))
        store.renew(claim, 300)
        with pytest.raises(SessionBusy):
            store.claim("s", this_owner(), 300)

    def test_a_lost_claim_cannot_be_renewed(self, store: Store, other: Store) -> None:
        """Renewing after a release, or after somebody else took over, tells the runner to stop."""
        released = store.claim("s", this_owner(), 300)
        store.release(released)
        with pytest.raises(Fenced):
            store.renew(released, 300)
        current = other.claim("s", this_owner(), 300)
        with pytest.raises(Fenced):
            store.renew(released, 300)
        with pytest.raises(Fenced):
            store.renew(Claim("nobody", ELSEWHERE, 1, 0.0), 300)
        other.renew(current, 300)

    def test_releasing(self, store: Store, other: Store) -> None:
        """A claim is given back once; a repeat, or the release of an older one, does nothing to whoever has it now."""
        first = store.claim("s", this_owner(), 300)
        store.release(first)
        store.release(first)
        info = store.info("s")
        assert info is not None
        assert (info.claim, info.epoch) == (None, first.epoch)
        second = other.claim("s", this_owner(), 300)
        store.release(first)
        store.release(Claim("nobody", ELSEWHERE, 1, 0.0))
        assert lease_end(store, "s") == second.expires
