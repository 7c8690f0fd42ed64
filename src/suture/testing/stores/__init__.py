"""The contract of a store as a test class: a store that passes it keeps every promise of `suture.stores.Store`.

class TestMine(StoreContract):
    def open(self, tmp_path):
        return MyStore(tmp_path / "sessions")
"""

from __future__ import annotations

from suture.testing.stores.chaining import Chaining
from suture.testing.stores.claiming import Claiming
from suture.testing.stores.ground import ELSEWHERE, ODD_IDS, a_dead_owner, drafts, ids_of
from suture.testing.stores.hearing import Hearing
from suture.testing.stores.keeping import Keeping
from suture.testing.stores.listing import Listing
from suture.testing.stores.racing import Racing

__all__ = ["ELSEWHERE", "ODD_IDS", "StoreContract", "a_dead_owner", "drafts", "ids_of"]


class StoreContract(Hearing, Claiming, Listing, Chaining, Racing, Keeping):
    """Every promise of the protocol as a test. Inherit it and say how to open the store.

    Attributes:
        durable: whether a second `open` of the same `tmp_path` sees what the first wrote.
        together: whether it commits what many append at once (`suture.stores.base.Together`).
        appends: how often each of eight threads appends to a session that they share, and to one of its own.
    """
