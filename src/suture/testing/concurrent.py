"""The contract of a store that several processes use at once, and that a kill may hit anywhere.

class TestMyProcesses(ConcurrentStoreContract):
    opener = "my_package.store:MyStore"

    def address(self, place):
        return str(place / "sessions")
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import pytest

from suture.entries import Entry
from suture.errors import SessionBusy
from suture.stores import Store
from suture.stores.base import link
from suture.stores.owner import this_owner
from suture.testing.processes import Child
from suture.testing.store_child import opener_of
from suture.testing.stores.ground import drafts

Start: TypeAlias = Callable[..., Child]


def require_whole(entries: Sequence[Entry], session_id: str = "s") -> None:
    """The session's log has no gap and its chain holds, over erased bodies too."""
    chain = b""
    for seq, entry in enumerate(entries, 1):
        assert entry.seq == seq
        chain = link(chain, session_id, seq, entry)
        assert entry.chain == chain


class ConcurrentStoreContract:
    """What holds between processes as tests. Inherit it and say how any process opens the store.

    Attributes:
        opener: `module:name` of a callable that opens the store at an address, in this process and in its children.
        openers, openings: so many processes open a new store at once, so many times.
        writers, appends: so many processes append so many batches of three each.
        sessions, rounds: they append so often to each of so many sessions in turn.
        erasures: so many entries are erased by each writer.
        races: how often two processes want the same head, or the same claim.
        kills: how often a process is killed in the middle of what it does.
        forks: how often a process forks while its threads append.
        limit: after so many seconds a process that has not ended is killed.
    """

    opener = "suture.stores:open_store"
    openers, openings = 6, 8
    writers, appends = 2, 150
    sessions, rounds = 8, 6
    erasures = 20
    races = 40
    kills = 10
    forks = 12
    limit = 60.0

    def address(self, place: Path) -> str:
        """What the opener is called with for the store kept at `place`, a directory that is there. The same for the
        same place, and another one, at which no store is, for another place.
        """
        raise NotImplementedError("say in your test class at which address the store of a place is opened")

    def opened(self, place: Path) -> Store:
        """A handle of this process on the store at the place."""
        return opener_of(self.opener)(self.address(place))

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        """A handle of this process on the store that the children open."""
        with closing(self.opened(tmp_path)) as store:
            yield store

    @pytest.fixture
    def child(self, tmp_path: Path) -> Iterator[Start]:
        """Starts a process that does one of the works of `store_child`: `child("append", "s", 100)`."""
        children: list[Child] = []

        def start(work: str, *words: object) -> Child:
            command = ["-m", "suture.testing.store_child", work, self.opener, self.address(tmp_path), *words]
            children.append(Child(command, self.limit))
            return children[-1]

        yield start
        for each in children:
            each.end()

    # Writing at once --------------------------------------------------------------------------

    def test_processes_open_a_new_store_at_once(self, child: Start, tmp_path: Path) -> None:
        """Processes that make the same store at the same moment can all use it."""
        children = [child("open_each") for _ in range(self.openers)]
        for index in range(self.openings):
            place = tmp_path / f"new-{index}"
            place.mkdir()
            for each in children:
                each.say(self.address(place))
            assert [each.hear() for each in children] == ["done"] * self.openers
            with closing(self.opened(place)) as store:
                entries = store.read("s")
            assert {entry.id for entry in entries} == {f"{each.pid}.0" for each in children}
            require_whole(entries)

    def test_processes_lose_nothing(self, child: Start, store: Store) -> None:
        """Processes append to one session: no gap, nothing lost, every batch whole and in its order, all meta merged."""
        children = [child("append", "s", self.appends) for _ in range(self.writers)]
        _begin(children)
        seen = self._watched(store, children)
        assert [each.wait() for each in children] == [0] * self.writers
        entries, info = store.read("s"), store.info("s")
        require_whole(entries)
        assert seen <= len(entries) == 3 * self.appends * self.writers
        batches = [[entry.id.rpartition(".") for entry in entries[at : at + 3]] for at in range(0, len(entries), 3)]
        for batch in batches:
            assert [index for _, _, index in batch] == ["0", "1", "2"]
            assert len({name for name, _, _ in batch}) == 1
        for each in children:
            mine = [batch[0][0] for batch in batches if batch[0][0].startswith(f"{each.pid}-")]
            assert mine == [f"{each.pid}-{index}" for index in range(self.appends)]
        assert info is not None
        assert (info.head, info.chain) == (len(entries), entries[-1].chain)
        assert info.meta == {f"{each.pid}-{n}": n for each in children for n in range(self.appends)}

    def _watched(self, store: Store, children: Sequence[Child]) -> int:
        """Read while they write: what is there is whole, grows, and never changes. How much was seen at last."""
        seen: list[Entry] = []
        while any(each.process.poll() is None for each in children):
            now, info = store.read("s"), store.info("s")
            assert now[: len(seen)] == seen
            assert len(now) % 3 == 0
            require_whole(now)
            assert info is None or info.head >= len(now)
            seen = now
        return len(seen)

    def test_processes_write_sessions_of_their_own(self, child: Start, store: Store) -> None:
        """Sessions are apart, whoever writes them at once; a listing shows them all."""
        names = [f"s{index}" for index in range(self.writers)]
        children = [child("append", name, self.appends // 3) for name in names]
        _begin(children)
        assert [each.wait() for each in children] == [0] * self.writers
        for name, each in zip(names, children, strict=True):
            entries = store.read(name)
            require_whole(entries, name)
            assert len(entries) == self.appends // 3 * 3
            assert all(entry.id.startswith(f"{each.pid}-") for entry in entries)
        assert [info.id for info in store.sessions()] == names

    def test_processes_share_many_sessions(self, child: Start, store: Store) -> None:
        """Processes append to the same sessions in turn: each holds all that each of them wrote, whole and in its order."""
        children = [child("append_over", self.sessions, self.rounds) for _ in range(self.writers)]
        _begin(children)
        assert [each.wait() for each in children] == [0] * self.writers
        names = [f"s{index:03}" for index in range(self.sessions)]
        assert [info.id for info in store.sessions()] == names
        for name in names:
            entries = store.read(name)
            require_whole(entries, name)
            for each in children:
                mine = [entry.id for entry in entries if entry.id.startswith(f"{each.pid}-")]
                assert mine == [f"{each.pid}-{index}.{at}" for index in range(self.rounds) for at in range(3)]
            assert len(entries) == 3 * self.rounds * self.writers

    def test_one_process_wins_each_head(self, child: Start, store: Store) -> None:
        """Of two processes that expect the same head one appends, and the other is told, every time."""
        children = [child("expect") for _ in range(2)]
        assert [each.hear() for each in children] == ["ready", "ready"]
        for head in range(self.races):
            for each in children:
                each.say(head)
            assert sorted(each.hear() for each in children) == ["lost", "won"]
        entries = store.read("s")
        assert len(entries) == self.races
        require_whole(entries)

    def test_processes_erase_at_once(self, child: Start, store: Store) -> None:
        """Processes erase entries of one session while others append: all of them go, and nothing else is lost."""
        before = store.append("s", drafts(*map(str, range(self.erasures * self.writers)), body=b'{"secret":true}'))
        writers = [child("append", "s", self.erasures) for _ in range(2)]
        erasers = [child("erase", index, self.writers) for index in range(self.writers)]
        said = [[each.hear()] for each in erasers]  # by now they know what there is to erase
        _begin(writers)
        for first, (lines, each) in enumerate(zip(said, erasers, strict=True)):
            lines += [each.hear() for _ in range(self.erasures - 1)]
            assert lines == [str(index) for index in reversed(range(first, before, self.writers))]
        assert [each.wait() for each in writers] == [0, 0]
        entries = store.read("s")
        require_whole(entries)
        assert [bool(entry.erased) for entry in entries] == [entry.seq <= before for entry in entries]
        assert len(entries) == before + 2 * 3 * self.erasures

    # Claims -----------------------------------------------------------------------------------

    def test_one_process_gets_each_claim(self, child: Start) -> None:
        """Of two processes that claim a session at once one gets it, every time, and no epoch is given out twice."""
        children = [child("claim") for _ in range(2)]
        assert [each.hear() for each in children] == ["ready", "ready"]
        epochs: list[int] = []
        for _ in range(self.races):
            for each in children:
                each.say("s")
            answers = sorted(each.hear() for each in children)
            assert answers[1] == "busy"
            epochs.append(int(answers[0]))
            for each in children:
                each.say()
        assert epochs == sorted(set(epochs))

    def test_a_living_process_keeps_its_claim_and_a_dead_one_loses_it(self, child: Start, store: Store) -> None:
        """While the owner lives the error names it; killed, it is replaced at once, under a later epoch."""
        owner = child("hold", 300)
        epoch = int(owner.hear())
        with pytest.raises(SessionBusy, match=str(owner.pid)):
            store.claim("s", this_owner(), 300)
        owner.kill()
        assert store.claim("s", this_owner(), 300).epoch > epoch

    def test_a_process_that_froze_past_its_lease_is_fenced(self, child: Start, store: Store) -> None:
        """Whoever was away when its lease ran out, and was replaced, can neither append nor renew any more."""
        owner = child("hold", 0.3)
        epoch = int(owner.hear())
        owner.freeze()
        time.sleep(0.5)
        claim = store.claim("s", this_owner(), 300)
        assert claim.epoch > epoch
        owner.thaw()
        owner.say()
        assert [owner.hear(), owner.hear()] == ["fenced", "fenced"]
        assert store.read("s") == []

    def test_a_process_that_froze_and_was_not_replaced_goes_on(self, child: Start, store: Store) -> None:
        """A lease that ran out and that nobody took is still the current one."""
        owner = child("hold", 0.1)
        owner.hear()
        owner.freeze()
        time.sleep(0.3)
        owner.thaw()
        owner.say()
        assert [owner.hear(), owner.hear()] == ["done", "done"]
        with pytest.raises(SessionBusy):
            store.claim("s", this_owner(), 300)

    # News -------------------------------------------------------------------------------------

    @pytest.mark.parametrize("session_id", ["s", ""], ids=["one session", "any"])
    def test_news_of_another_process(self, child: Start, store: Store, session_id: str) -> None:
        """A wait ends soon after another process appended."""
        head = store.append("s", drafts("1"))
        listener = child("listen", session_id, head)
        assert listener.hear() == "ready"
        with ThreadPoolExecutor(1) as ears:
            for _ in range(2):
                told, known = ears.submit(listener.hear), head
                wait([told], 0.2)  # so that it mostly waits already
                written = time.monotonic()
                while not told.done() and time.monotonic() - written < 10:
                    # Whoever waits for any session is told of what comes from then on, and begins when nobody knows.
                    if head == known or not session_id:
                        head = store.append("s", drafts(f"next-{head}"))
                    wait([told], 0.2)
                assert told.done()
                assert told.result() == "True"
                listener.say(head)

    # Forks ------------------------------------------------------------------------------------

    def test_both_sides_of_a_fork_go_on(self, child: Start, store: Store) -> None:
        """A store that was open at a fork works on both sides, and closing it on one takes nothing from the other."""
        parent = child("fork_and_go_on")
        assert parent.hear() == "0"
        assert parent.wait() == 0
        entries = store.read("s")
        assert [entry.id for entry in entries] == ["before.0", "child-1.0", "parent.0", "child-2.0"]
        require_whole(entries)

    def test_forking_among_threads(self, child: Start, store: Store) -> None:
        """Forks while other threads append leave no lock behind and lose nothing."""
        parent = child("fork_among_threads", self.forks, self.appends // 3)
        assert parent.hear() == str(self.forks)
        assert parent.wait() == 0
        entries = store.read("s")
        require_whole(entries)
        assert len({entry.id for entry in entries}) == len(entries) == self.forks + 3 * (self.appends // 3)

    # Kills ------------------------------------------------------------------------------------

    def test_killed_while_it_appends(self, child: Start, store: Store, tmp_path: Path) -> None:
        """Nothing that was acknowledged is lost, no part of a batch is there, and it opens and goes on without a hand."""
        chance = random.Random(7)
        acknowledged = 0
        for _ in range(self.kills):
            writer = child("append_for_ever")
            for _ in range(chance.randrange(1, 60)):
                acknowledged = int(writer.hear())
            time.sleep(chance.random() * 0.003)
            writer.kill()
            acknowledged = max([acknowledged, *(int(line) for line in writer.rest())])
            with closing(self.opened(tmp_path)) as new:
                entries, info = new.read("s"), new.info("s")
            assert acknowledged <= len(entries) <= acknowledged + 3
            assert len(entries) % 3 == 0
            require_whole(entries)
            assert info is not None
            assert (info.head, info.chain) == (len(entries), entries[-1].chain)
            assert store.read("s") == entries
            acknowledged = len(entries)
        assert store.append("s", drafts("last"), expect=acknowledged) == acknowledged + 1

    def test_killed_while_it_claims(self, child: Start, store: Store) -> None:
        """Whatever a kill leaves of a claim, the session can be claimed at once, under an epoch that nobody had."""
        chance = random.Random(11)
        epochs = [0]
        for _ in range(self.kills):
            runner = child("claim_for_ever")
            said = [int(runner.hear()) for _ in range(chance.randrange(1, 40))]
            time.sleep(chance.random() * 0.003)
            runner.kill()
            said += [int(line) for line in runner.rest()]
            claim = store.claim("s", this_owner(), 300)
            epochs += [*said, claim.epoch]
            require_whole(store.read("s"))
            store.release(claim)
        assert all(a < b for a, b in pairwise(epochs))

    def test_killed_while_it_erases(self, child: Start, store: Store) -> None:
        """Every entry is there, each body whole or erased, and what was acknowledged is erased."""
        chance = random.Random(13)
        count = 60
        store.append("s", drafts(*map(str, range(count)), body=b'{"secret":true}'))
        for _ in range(max(self.kills // 3, 1)):
            eraser = child("erase")
            erased = {eraser.hear() for _ in range(chance.randrange(1, count // 2))}
            eraser.kill()
            erased |= set(eraser.rest())
            entries = store.read("s")
            require_whole(entries)
            assert len(entries) == count
            for entry in entries:
                assert (entry.body, bool(entry.erased)) in ((b"", True), (b'{"secret":true}', False))
                assert entry.erased or entry.id not in erased
        assert store.append("s", drafts("last")) == count + 1


def _begin(children: Sequence[Child]) -> None:
    """Tell them to begin once all are ready."""
    assert [each.hear() for each in children] == ["ready"] * len(children)
    for each in children:
        each.say()
