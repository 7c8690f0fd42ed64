"""A wait for news ends soon after something was appended, and not before."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from suture.stores import Store
from suture.testing.stores.ground import ELSEWHERE, Ground, drafts


class Hearing(Ground):
    """The promises of `news`."""

    def test_news_that_is_there_already(self, store: Store) -> None:
        """What stands behind `after` is news at once."""
        store.append("s", drafts("1", "2"))
        start = time.monotonic()
        assert store.news("s", 1, 10) is True
        assert time.monotonic() - start < 5
        assert store.news("s", 2, 0) is False

    def test_no_news(self, store: Store) -> None:
        """Without news the wait ends with its time."""
        store.append("s", drafts("1"))
        for session, after in (("s", 1), (None, 0), (None, -1), ("nobody", 0)):
            start = time.monotonic()
            assert store.news(session, after, 0.1) is False
            assert 0.09 <= time.monotonic() - start < 5

    @pytest.mark.parametrize(("session", "after"), [("s", 1), (None, 0), (None, 1), (None, 1_000_000)])
    def test_news_wakes(self, store: Store, other: Store, session: str | None, after: int) -> None:
        """A wait ends soon after somebody appended; one for any session does whatever position it names."""
        store.append("s", drafts("1"))
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(store.news, session, after, 30)
            time.sleep(0.15)
            assert not waiting.done()
            written = time.monotonic()
            other.append("s", drafts("2"))
            assert waiting.result(30) is True
            assert time.monotonic() - written < 5

    def test_whoever_is_woken_finds_what_came(self, store: Store) -> None:
        """News is told when it can be read, not before."""

        def look() -> int:
            store.news(None, 0, 30)
            info = store.info("s")
            return info.head if info is not None else 0

        with ThreadPoolExecutor(1) as pool:
            for head in range(1, 26):
                looking = pool.submit(look)
                time.sleep(0.005)
                store.append("s", drafts(f"{head}"))
                while not looking.done():
                    # It may have begun to wait behind the append.
                    time.sleep(0.005)
                    store.append("more", drafts(f"{head}-{time.monotonic_ns()}"))
                assert looking.result(30) == head

    def test_news_of_another_session(self, store: Store, other: Store) -> None:
        """Waiting for one session is not ended by another; waiting for any is, by one that is new too."""
        store.append("s", drafts("1"))
        with ThreadPoolExecutor(2) as pool:
            one = pool.submit(store.news, "s", 1, 0.4)
            any_ = pool.submit(store.news, None, 0, 30)
            time.sleep(0.15)
            other.append("t", drafts("1"))
            assert (one.result(30), any_.result(30)) == (False, True)

    def test_a_deletion_hides_no_news(self, store: Store, other: Store) -> None:
        """What is appended anywhere is news, whatever else was deleted meanwhile."""
        store.append("long", drafts(*map(str, range(50))))
        with ThreadPoolExecutor(1) as pool:
            started = time.monotonic()
            waiting = pool.submit(store.news, None, 0, 10)
            time.sleep(0.1)
            other.delete("long")
            other.append("s", drafts("1"))
            assert waiting.result(30) is True
            assert time.monotonic() - started < 5

    def test_claims_and_deletions_are_no_news(self, store: Store, other: Store) -> None:
        """Only what is appended is news."""
        store.append("s", drafts("1"))
        store.append("t", drafts("1"))
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(store.news, None, 0, 0.4)
            time.sleep(0.1)
            other.renew(other.claim("s", ELSEWHERE, 300), 300)
            other.erase("s", "1")
            other.append("s", [], meta={"a": 1})
            other.delete("t")
            assert waiting.result(30) is False
