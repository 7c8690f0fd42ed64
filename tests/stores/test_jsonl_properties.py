"""Whatever becomes of the bytes of a log: all that is intact loads, nothing is raised, and the next append goes on."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from suture.stores import Entry, JsonlStore
from suture.stores.jsonl.scan import Damaged, pieces
from suture.testing.stores import drafts

SETTINGS = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
COUNT = 6

places = st.floats(0, 1)
junk = st.one_of(
    st.binary(min_size=1, max_size=40),
    st.sampled_from([b"\n", b"\r\n", bytes(16), b'{"seq":', b'{"seq":3,"id":"x"}', b"\xef\xbb\xbf", b'"', b"}", b"\\"]),
)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), places, junk),
        st.tuples(st.just("remove"), places, st.integers(1, 400)),
        st.tuples(st.just("overwrite"), places, junk),
        st.tuples(st.just("repeat"), places, st.integers(1, 400)),
        st.tuples(st.just("cut"), places, st.just(0)),
    ),
    max_size=4,
)


def changed(raw: bytes, steps: list[tuple[str, float, bytes | int]]) -> bytes:
    for what, place, how in steps:
        at = int(place * len(raw))
        match what, how:
            case "insert", bytes():
                raw = raw[:at] + how + raw[at:]
            case "remove", int():
                raw = raw[:at] + raw[at + how :]
            case "overwrite", bytes():
                raw = raw[:at] + how + raw[at + len(how) :]
            case "repeat", int():
                raw = raw[: at + how] + raw[at:]
            case _:
                raw = raw[:at]
    return raw


@contextmanager
def a_log() -> Iterator[tuple[JsonlStore, Path, dict[bytes, str]]]:
    """A store, its log of six entries of one batch each, and the id that each line holds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sessions"
        with closing(JsonlStore(path)) as store:
            for index in range(COUNT):
                store.append("s", drafts(f"{index}", body=b'{"text":"body %d"}' % index))
            log = path / "s.jsonl"
            lines = log.read_bytes().splitlines()[1:]
            yield store, log, {line: f"{index}" for index, line in enumerate(lines)}


def intact(raw: bytes, known: dict[bytes, str]) -> set[str]:
    """The ids of the entries whose lines are there, each on a line of its own."""
    return {known[line] for line in raw.split(b"\n") if line in known}


@SETTINGS
@given(changes, st.sampled_from(["kept", "lost", "older"]))
def test_intact_entries_outlive_any_damage(steps: list[tuple[str, float, bytes | int]], state: str) -> None:
    """Each entry whose line is whole is read before and after the next append, which is read too; positions grow."""
    with a_log() as (store, log, known):
        side = log.with_suffix(".state")
        kept = side.read_bytes()
        if state == "older":
            store.append("s", drafts("late"))
            side.write_bytes(kept)
            known |= {log.read_bytes().splitlines()[-1]: "late"}
        raw = changed(log.read_bytes(), steps)
        log.write_bytes(raw)
        if state == "lost":
            side.unlink()
        before = store.read("s")
        assert {entry.id for entry in before} >= intact(raw, known)
        _require_ordered(before)
        info = store.info("s")
        head = store.append("s", drafts("next"))
        assert head > max((entry.seq for entry in before), default=0)
        assert info is None or head == info.head + 1
        after = store.read("s")
        assert after[:-1] == before
        assert after[-1].id == "next"
        with closing(JsonlStore(log.parent)) as other:
            assert (other.read("s"), other.info("s")) == (after, store.info("s"))
        assert not any(isinstance(piece, Damaged) for piece in pieces(log.read_bytes()))
        side.unlink()
        assert store.read("s") == after


def _require_ordered(entries: list[Entry]) -> None:
    seqs = [entry.seq for entry in entries]
    assert seqs == sorted(set(seqs))


@SETTINGS
@given(changes)
def test_no_byte_of_a_damaged_record_is_lost(steps: list[tuple[str, float, bytes | int]]) -> None:
    """What a mend takes out of a log stands in the files that it names: each damaged place, byte for byte."""
    with a_log() as (store, log, _):
        raw = changed(log.read_bytes(), steps)
        log.write_bytes(raw)
        store.append("s", drafts("next"))
        aside = b"".join(file.read_bytes() for file in sorted(log.parent.glob("s.damaged-*")))
        for piece in pieces(raw):
            if isinstance(piece, Damaged):
                assert raw[piece.start : piece.end] in aside


@SETTINGS
@given(st.binary(max_size=300))
def test_any_file_can_be_looked_at(raw: bytes) -> None:
    """Bytes of any kind under the name of a log are read around, and reported unless they are blank."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sessions"
        with closing(JsonlStore(path)) as store:
            store.append("other", drafts("1"))
            (path / "s.jsonl").write_bytes(raw)
            assert store.read("s") == []
            info = store.info("s")
            assert info is None or info.head == 0
            assert bool(info is not None and info.damage) is bool(raw.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r\n"))
            assert store.append("s", drafts("1")) == 1
