"""The JSONL store keeps the contract, and what files that people and crashes get at need beside it."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.growth import grows

import suture
import suture.stores.jsonl.names as names
from suture.entries import Draft
from suture.errors import Corrupt, Fenced, SessionBusy, StoreError, WrongKey
from suture.stores import JsonlStore, SessionInfo, Store
from suture.testing.concurrent import ConcurrentStoreContract, require_whole
from suture.testing.stores import ELSEWHERE, ODD_IDS, StoreContract, a_dead_owner, drafts, ids_of

KEY = b"of sixteen bytes"
STEPS = {"new": 11, "begun": 6, "damaged": 10}
"""The calls of an append that change something on the disk, and the moment behind them."""


class TestJsonlStore(StoreContract):
    def open(self, tmp_path: Path) -> Store:
        return JsonlStore(tmp_path / "sessions")


class TestJsonlStoreUnderAKey(StoreContract):
    def open(self, tmp_path: Path) -> Store:
        return JsonlStore(tmp_path / "sessions", key=KEY)


class TestJsonlProcesses(ConcurrentStoreContract):
    def address(self, place: Path) -> str:
        return f"jsonl:///{place}/sessions"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def store(path: Path) -> Iterator[JsonlStore]:
    with closing(JsonlStore(path)) as store:
        yield store


@pytest.fixture
def log(store: JsonlStore, path: Path) -> Path:
    """The log of session `s`: a header, and four entries of one batch each."""
    for id in "1234":
        store.append("s", drafts(id, body=b'{"text":"body of %s"}' % id.encode(), opens=[f"inbox:{id}"]))
    return path / "s.jsonl"


def told(store: Store, session_id: str = "s") -> SessionInfo:
    """What the store knows of a session that is there."""
    info = store.info(session_id)
    assert info is not None
    return info


def on_disk(path: Path) -> dict[str, tuple[bytes, int]]:
    """Every file, with its bytes and the time of its last change."""
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in path.iterdir()}


# What a log is like ---------------------------------------------------------------------------


def test_a_line_is_plain_json(store: JsonlStore, path: Path) -> None:
    """An entry is one line, with its body as JSON in it; bytes that are none stand there as base64."""
    store.append("s", [Draft("1", "note", "2026", b'{"a":[1.0,"\xc3\xbc"]}', ("run:1",), ("inbox:1",))])
    store.append("s", drafts("2", body=b"\xff"))
    header, first, second = (json.loads(line) for line in (path / "s.jsonl").read_text("utf-8").splitlines())
    assert (header["suture"], header["session"]) == (1, "s")
    assert first == {
        "seq": 1,
        "id": "1",
        "kind": "note",
        "at": "2026",
        "epoch": 0,
        "chain": store.read("s")[0].chain.hex(),
        "opens": ["run:1"],
        "closes": ["inbox:1"],
        "body": {"a": [1.0, "ü"]},
    }
    assert (second["base64"], "body" in second) == ("/w==", False)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":"\xff"}',
        b'{"a":"\\ud800"}',
        b"NaN",
        b'{"a":\n1}',
        b'{"a":\r1}',
        b' {"a":1}',
        b'{"a":1} ',
        b'{"a":1}\n',
        b'{"a":1,"a":2}',
        b"1e999",
        b"12345678901234567890123456789.0",
        b'{"a":1},"b":2',
        b'{"a":1}}',
        b'"\xe2\x80\xa8\xc2\x85"',
        b"[" * 5000 + b"]" * 5000,
        b'{"seq":1,"id":"x"}',
    ],
    ids=repr,
)
def test_odd_bodies_come_back(store: JsonlStore, path: Path, body: bytes) -> None:
    """What is nearly JSON, or JSON that readers differ about, comes back byte for byte, also from a log without a state."""
    store.append("s", drafts("1", body=body))
    store.append("s", drafts("2"))
    assert store.read("s")[0].body == body
    (path / "s.state").unlink()
    assert (store.read("s")[0].body, told(store).damage) == (body, ())


def test_no_two_ids_share_a_file() -> None:
    """Names differ where case is not told apart and accents are, fit a file system, and lead back to their ids."""
    ids = [*ODD_IDS, "x" * 201, "x" * 202, "é" * 90, "É" * 90, "%", "%41", "A", "con", "a.b", "a%2fb"]
    found = [names.name_of(id) for id in ids]
    assert len({name.casefold() for name in found}) == len(ids)
    for id, name in zip(ids, found, strict=True):
        assert name.isascii()
        assert 0 < len(name) <= 200
        assert "/" not in name
        assert not name.startswith(".")
        assert names.id_of(name) in (id, None)
    assert [names.id_of(name) for name in ("a b", "%4", "%41a", "%61", "%ff", "", ".")] == [None, None, "Aa", *[None] * 4]


def test_long_ids_are_listed(store: JsonlStore, path: Path) -> None:
    """A name that does not lead back to its id is no loss: the files say the id."""
    store.append("y" * 300, drafts("1"))
    store.append("é" * 300, drafts("1"))
    assert [info.id for info in store.sessions()] == ["y" * 300, "é" * 300]
    for state in path.glob("*.state"):
        state.unlink()
    assert [info.id for info in store.sessions()] == ["y" * 300, "é" * 300]


def _directory(file: Path) -> None:
    file.mkdir()


def _circle(file: Path) -> None:
    file.symlink_to(file)


@pytest.mark.parametrize("kind", [".jsonl", ".state"])
@pytest.mark.parametrize("instead", [_directory, _circle])
def test_a_file_that_cannot_be_opened_keeps_nobody_from_the_others(
    store: JsonlStore, path: Path, kind: str, instead: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    """A session of which nothing can be known is shown as that and under no status, so that nobody takes it for an idle one;
    the others are listed, and their approvals found.
    """
    for id in "abc":
        store.append(id, [Draft("1", "note", "", b"1", (f"inbox:{id}",))])
    file = path / f"b{kind}"
    file.unlink()
    instead(file)
    assert [(info.id, bool(info.damage)) for info in store.sessions()] == [("a", False), ("b", True), ("c", False)]
    assert file.name in store.sessions()[1].damage[0][1]
    assert [info.id for info in store.sessions(status="inbox_waiting")] == ["a", "c"]
    assert [store.sessions(status="idle"), store.sessions(meta={"user": "ada"})] == [[], []]
    assert suture.open_approvals(store) == []
    assert file.name in caplog.text
    with pytest.raises(StoreError, match=r"Is a directory|Too many levels"):
        store.info("b")


def test_only_reading_leaves_nothing(path: Path) -> None:
    """A directory that is only looked at stays as it was, also one that is nobody's."""
    path.mkdir()
    (path / "notes.txt").write_text("mine")
    with closing(JsonlStore(path)) as store:
        assert (store.sessions(), store.info("s"), store.read("s"), store.news(None, 0, 0)) == ([], None, [], False)
        store.delete("s")
        assert [file.name for file in path.iterdir()] == ["notes.txt"]


# Damage ---------------------------------------------------------------------------------------


def _lines(raw: bytes) -> list[bytes]:
    return raw.splitlines(keepends=True)


def _with(raw: bytes, index: int, line: bytes) -> bytes:
    lines = _lines(raw)
    lines[index] = line
    return b"".join(lines)


def _edited(raw: bytes) -> bytes:
    return raw.replace(b"body of 2", b"BODY of 2")


def _nul_at_the_end(raw: bytes) -> bytes:
    """A file that the file system made longer than what was written."""
    return raw[:-1] + bytes(513)


def _bytes_in_entry_2(raw: bytes) -> bytes:
    return raw.replace(b"body of 2", b"body \xff\xfe 2")


def _reordered(raw: bytes) -> bytes:
    lines = _lines(raw)
    return b"".join([*lines[:1], lines[3], lines[1], lines[4], lines[2]])


Change = Callable[[bytes], bytes]

# What became of the log; the ids that can still be read; what is said of each place, and at which position.
DAMAGE: dict[str, tuple[Change, str, list[tuple[int, str]]]] = {
    "torn": (lambda raw: raw[:-30], "123", [(4, "a record that was cut off")]),
    "torn to a byte": (lambda raw: raw[: -len(_lines(raw)[4]) + 1], "123", [(4, "1 byte, a record that was cut off")]),
    "torn before its LF": (lambda raw: raw[:-1], "1234", []),
    "glued to a torn one": (lambda raw: _with(raw, 2, _lines(raw)[2][:40]), "134", [(2, "a record that was cut off")]),
    "glued to whole ones": (lambda raw: raw.replace(b"\n", b"")[:-9], "123", [(4, "cut off")]),
    "two on a line": (lambda raw: _with(raw, 2, _lines(raw)[2][:-1]), "1234", []),
    "behind junk": (lambda raw: _with(raw, 3, b"junk" + _lines(raw)[3]), "1234", [(3, "line 4, byte")]),
    "before junk": (
        lambda raw: _with(raw, 3, _lines(raw)[3][:-1] + b"junk\n"),
        "1234",
        [(4, "4 bytes, which are no record")],
    ),
    "NUL in the middle": (
        lambda raw: _with(raw, 3, bytes(4096) + _lines(raw)[3]),
        "1234",
        [(3, "4096 bytes, all of them NUL")],
    ),
    "NUL at the end": (_nul_at_the_end, "1234", [(5, "513 bytes, all of them NUL")]),
    "NUL inside": (lambda raw: raw.replace(b"body of 2", b"body\0of 2"), "134", [(2, "NUL bytes among them")]),
    "no UTF-8": (_bytes_in_entry_2, "134", [(2, "which are no UTF-8")]),
    "a line of something else": (lambda raw: _with(raw, 3, b"hello\n" + _lines(raw)[3]), "1234", [(3, "line 4, byte")]),
    "other JSON": (lambda raw: _with(raw, 3, b'{"a":1}\n' + _lines(raw)[3]), "1234", [(3, "7 bytes, which are no record")]),
    "two places": (lambda raw: b"x\n" + _with(raw, 3, b"y\n" + _lines(raw)[3]), "1234", [(1, "line 1"), (3, "line 5")]),
    "no header": (lambda raw: b"".join(_lines(raw)[1:]), "1234", []),
    "half a header": (lambda raw: raw[20:], "1234", [(1, "line 1, byte 0")]),
    "a copy": (lambda raw: raw + _lines(raw)[2], "1234", [(5, "a copy of entry 2")]),
    "a line is gone": (lambda raw: _with(raw, 2, b""), "134", [(2, "entry 2 is missing")]),
    "lines are gone": (lambda raw: b"".join(_lines(raw)[i] for i in (0, 1, 4)), "14", [(2, "entries 2 to 3 are missing")]),
    "the end is gone": (lambda raw: b"".join(_lines(raw)[:3]), "12", [(3, "entries 3 to 4 are missing: the log once")]),
    "all is gone": (lambda _: b"", "", [(1, "entries 1 to 4 are missing: the log once")]),
    "a changed body": (_edited, "1234", [(2, "entry 2 does not follow")]),
    "a changed kind": (lambda raw: raw.replace(b'"note"', b'"nope"', 1), "1234", [(1, "entry 1 does not follow")]),
    "another order": (_reordered, "1234", []),
    "CRLF": (lambda raw: raw.replace(b"\n", b"\r\n"), "1234", []),
    "a BOM": (lambda raw: b"\xef\xbb\xbf" + raw, "1234", []),
    "blank lines": (lambda raw: b"\n \n" + raw.replace(b"\n", b"\n\n\t\n"), "1234", []),
}


@pytest.mark.parametrize("state", ["kept", "lost", "garbage"])
@pytest.mark.parametrize(("change", "ids", "damage"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_log(
    store: JsonlStore, log: Path, change: Change, ids: str, damage: list[tuple[int, str]], state: str
) -> None:
    """All that is intact loads and all that is not is reported, by a look that changes nothing; the next append moves
    the damaged bytes aside, drops no record, and keeps what was found as a finding.
    """
    if state == "lost":
        log.with_suffix(".state").unlink()
    if state == "garbage":
        log.with_suffix(".state").write_bytes(b'{"session":"s","head":')
    raw = log.read_bytes()
    broken = change(raw)
    log.write_bytes(broken)
    # Without a state nobody knows how far the log once went.
    damage = damage if state == "kept" else [fault for fault in damage if "once" not in fault[1]]
    before = on_disk(log.parent)
    for _ in range(2):
        if state != "kept" and not broken:
            assert (store.read("s"), store.info("s")) == ([], None)
            continue
        assert "".join(ids_of(store.read("s"))) == ids
        assert "".join(ids_of(store.read("s", after=2))) == ids.replace("1", "").replace("2", "")
        _require(told(store), damage)
    assert on_disk(log.parent) == before

    head = 4 if state == "kept" else max((entry.seq for entry in store.read("s")), default=0)
    assert store.append("s", drafts("new")) == head + 1
    assert "".join(ids_of(store.read("s"))) == f"{ids}new"
    _require(told(store), damage)
    _require_mended(store, log, broken)
    with closing(JsonlStore(log.parent)) as other:
        assert (other.read("s"), other.info("s")) == (store.read("s"), store.info("s"))
        assert other.append("s", drafts("newer"), expect=head + 1) == head + 2


def _require(info: SessionInfo, damage: list[tuple[int, str]]) -> None:
    assert [position for position, _ in info.damage] == [position for position, _ in damage]
    assert all(words in what for (_, what), (_, words) in zip(info.damage, damage, strict=True))


def _require_mended(store: JsonlStore, log: Path, broken: bytes) -> None:
    """Every line of the log is a record now, and bytes that are in it no more are in the file that it names."""
    lines = [json.loads(line) for line in log.read_bytes().decode().split("\n")[:-1]]
    assert log.read_bytes().endswith(b"\n")
    for line in lines:
        if "aside" in line:
            aside = (log.parent / line["file"]).read_bytes()
            assert aside[line["start"] :][: line["size"]] in broken
            assert any(line["file"] in what for _, what in told(store).damage)
    log.with_suffix(".state").rename(log.with_suffix(".away"))
    try:
        again = told(store)
    finally:
        log.with_suffix(".away").rename(log.with_suffix(".state"))
    assert {what for _, what in again.damage} >= {
        what for _, what in told(store).damage if "once went on" not in what and "; now in" in what
    }


def test_an_unacknowledged_batch_that_was_cut_off_is_not_there(store: JsonlStore, log: Path) -> None:
    """Of a batch whose last line never came nothing is shown, though its first lines are whole; its bytes are kept."""
    raw, state = log.read_bytes(), log.with_suffix(".state").read_bytes()
    store.append("s", drafts("a", "b", "c"))
    grown = _lines(log.read_bytes())
    for cut in (1, 2):
        log.write_bytes(raw + b"".join(grown[5 : 5 + cut]))
        log.with_suffix(".state").write_bytes(state)
        assert ids_of(store.read("s")) == ["1", "2", "3", "4"]
        _require(told(store), [(5, "part of a batch that was cut off")] * cut)
    assert store.append("s", drafts("next"), expect=4) == 5
    assert (log.parent / "s.damaged-1").read_bytes() == b"".join(grown[5:7])


def test_an_acknowledged_batch_that_was_damaged_keeps_its_whole_lines(store: JsonlStore, log: Path) -> None:
    """What the state vouches for was there once, so its whole lines stay, whatever became of the last."""
    store.append("s", drafts("a", "b", "c"))
    log.write_bytes(log.read_bytes()[:-20])
    assert ids_of(store.read("s")) == ["1", "2", "3", "4", "a", "b"]
    assert store.append("s", drafts("next")) == 8
    assert ids_of(store.read("s")) == ["1", "2", "3", "4", "a", "b", "next"]


def test_a_record_inside_a_damaged_body_is_no_entry(store: JsonlStore, log: Path) -> None:
    """A line of the log that somebody quoted in a text does not become an entry when the line around it is torn."""
    quoted = _lines(log.read_bytes())[3].decode().strip()
    store.append("s", drafts("5", body=json.dumps({"text": quoted}).encode()))
    log.write_bytes(log.read_bytes()[:-5])
    assert ids_of(store.read("s")) == ["1", "2", "3", "4"]


def test_two_records_at_one_position(store: JsonlStore, path: Path) -> None:
    """The one that the chain vouches for is read, wherever it stands; the other one is reported, and kept aside."""
    store.append("s", drafts("1"))
    store.append("t", drafts("1"))
    log, other = path / "s.jsonl", path / "t.jsonl"
    store.append("s", drafts("ours"))
    store.append("t", drafts("theirs"))
    ours, theirs = _lines(log.read_bytes()), _lines(other.read_bytes())
    log.write_bytes(b"".join([*ours[:2], theirs[2], ours[2]]))
    assert ids_of(store.read("s")) == ["1", "ours"]
    assert [(position, what.partition("bytes, ")[2]) for position, what in told(store).damage] == [
        (2, "another record at position 2, which is taken")
    ]
    store.append("s", drafts("3"))
    assert (path / "s.damaged-1").read_bytes() == theirs[2]


def test_the_log_of_another_session(store: JsonlStore, path: Path) -> None:
    """A log under another session's name says so: neither its name nor its chain fits."""
    store.append("s", drafts("1", "2"))
    shutil.copy(path / "s.jsonl", path / "t.jsonl")
    info = told(store, "t")
    assert info.head == 2
    assert [what for _, what in info.damage] == [
        "the file says that it is the log of session 's'",
        "entry 1 does not follow from what stands before it: one of them was changed",
    ]


# Log and state --------------------------------------------------------------------------------


def test_meta_that_somebody_wrote_by_hand_is_told(store: JsonlStore, path: Path) -> None:
    """A state whose meta nobody can read shows none, says so, and hides nothing else."""
    store.append("s", drafts("1"), meta={"n": 1})
    state = path / "s.state"
    state.write_text(state.read_text().replace(r"\"n\"", "by hand"))
    info = told(store)
    assert (info.head, info.meta, info.damage) == (1, {}, ((0, "the meta of the session cannot be read"),))


def test_a_lost_state_is_made_anew(store: JsonlStore, path: Path) -> None:
    """Marks, meta, epoch and claim come back from the log alone, and the next write makes a state of them."""
    claim = store.claim("s", ELSEWHERE, 300)
    store.append("s", drafts("1", opens=["run:1", "inbox:1"]), epoch=claim.epoch, meta={"n": 1, "gone": 1})
    store.append("s", drafts("2", closes=["inbox:1"]), meta={"ü": "\ud800", "gone": None})
    before = told(store)
    (path / "s.state").unlink()
    now = told(store)
    assert (now.head, now.chain, now.marks, now.meta, now.epoch) == (2, before.chain, {"run:1": 1}, before.meta, 1)
    assert (now.created_at, now.damage) == (before.created_at, ())
    assert now.claim is not None
    assert (now.claim.owner, now.claim.epoch) == (ELSEWHERE, 1)
    with pytest.raises(SessionBusy):
        store.claim("s", "another:owner", 300)
    assert not (path / "s.state").exists()
    store.append("s", [], epoch=claim.epoch)
    assert (path / "s.state").exists()


def test_an_epoch_that_only_was_claimed_is_not_given_out_again(store: JsonlStore, path: Path) -> None:
    """Whoever loses the state does not make two runners of one epoch."""
    first = store.claim("s", a_dead_owner(), 300)
    (path / "s.state").unlink()
    assert store.claim("s", ELSEWHERE, 300).epoch == first.epoch + 1
    with pytest.raises(Fenced):
        store.append("s", drafts("1"), epoch=first.epoch)


def test_a_state_that_is_older_than_the_log(store: JsonlStore, log: Path) -> None:
    """A kill between log and state loses nothing: the log is read, and the release that only the state knows stands."""
    claim = store.claim("s", ELSEWHERE, 300)
    store.release(claim)
    state = log.with_suffix(".state").read_bytes()
    store.append("s", drafts("5", "6"), meta={"a": 1})
    log.with_suffix(".state").write_bytes(state)
    info = told(store)
    assert (info.head, info.meta, info.damage, info.claim, info.epoch) == (6, {"a": 1}, (), None, claim.epoch)
    assert store.append("s", drafts("5", "6")) == 6
    assert store.append("s", drafts("7"), expect=6) == 7


def test_a_log_that_was_replaced_by_an_older_copy(store: JsonlStore, log: Path) -> None:
    """What is missing is said, and neither a position nor an epoch that was given out is given out again."""
    copy = log.read_bytes()
    claim = store.claim("s", a_dead_owner(), 300)
    store.append("s", drafts("5", "6"), epoch=claim.epoch)
    log.write_bytes(copy)
    _require(told(store), [(5, "entries 5 to 6 are missing: the log once went on to 6")])
    assert store.claim("s", ELSEWHERE, 300).epoch == claim.epoch + 1
    assert store.append("s", drafts("7")) == 7
    assert [entry.seq for entry in store.read("s")] == [1, 2, 3, 4, 7]
    _require(told(store), [(5, "entries 5 to 6 are missing")])


def test_a_log_that_was_replaced_by_another_future(store: JsonlStore, log: Path, tmp_path: Path) -> None:
    """Where a copy was gone on with elsewhere, the entry that is another one is named."""
    shutil.copytree(log.parent, tmp_path / "elsewhere")
    with closing(JsonlStore(tmp_path / "elsewhere")) as other:
        other.append("s", drafts("theirs", "more"))
    store.append("s", drafts("ours"))
    shutil.copy(tmp_path / "elsewhere" / "s.jsonl", log)
    _require(told(store), [(5, "entry 5 is not the one that was written there")])
    assert ids_of(store.read("s")) == ["1", "2", "3", "4", "theirs", "more"]


def test_a_copied_directory_is_a_store(store: JsonlStore, log: Path, tmp_path: Path) -> None:
    """A copy of the directory tells all that the original tells, and goes on alone."""
    shutil.copytree(log.parent, tmp_path / "copy")
    with closing(JsonlStore(tmp_path / "copy")) as copy:
        assert (copy.read("s"), copy.info("s")) == (store.read("s"), store.info("s"))
        assert copy.append("s", drafts("5"), expect=4) == 5
    assert told(store).head == 4


def test_a_log_that_was_removed_alone_is_missed(store: JsonlStore, log: Path) -> None:
    """Whoever removes a log and leaves its state makes no new session: no position and no epoch is given out again."""
    claim = store.claim("s", a_dead_owner(), 300)
    log.unlink()
    assert (store.info("s"), store.read("s")) == (None, [])
    assert store.append("s", drafts("1")) == 5
    _require(told(store), [(1, "entries 1 to 4 are missing")])
    assert told(store).marks == {}
    assert store.claim("s", ELSEWHERE, 300).epoch == claim.epoch + 1


def test_an_edit_of_the_same_length_is_noticed(store: JsonlStore, log: Path) -> None:
    """Whoever changes a byte in place changes the time of the file, and the chain tells where."""
    with log.open("r+b") as file:
        file.seek(log.read_bytes().index(b"body of 3"))
        file.write(b"BODY")
    _require(told(store), [(3, "entry 3 does not follow")])


@pytest.mark.parametrize("is_state_gone", [False, True])
def test_a_log_under_a_key_that_was_cut_is_gone_on_with_by_nobody(path: Path, is_state_gone: bool) -> None:
    """Without the key nobody shortens a log unseen, not by removing its state either."""
    with closing(JsonlStore(path, key=KEY)) as store:
        for id in "1234":
            store.append("s", drafts(id))
        log = path / "s.jsonl"
        log.write_bytes(b"".join(_lines(log.read_bytes())[:3]))
        if is_state_gone:
            (path / "s.state").unlink()
        with pytest.raises(Corrupt):
            store.append("s", drafts("new"))
        assert ids_of(store.read("s")) == ["1", "2"]


def test_a_kill_between_log_and_state_under_a_key(path: Path) -> None:
    """Lines that the key holder wrote behind a good seal are gone on with; such a log is no other's."""
    with closing(JsonlStore(path, key=KEY)) as store:
        store.append("s", drafts("1"))
        state = (path / "s.state").read_bytes()
        store.append("s", drafts("2"))
        (path / "s.state").write_bytes(state)
        assert told(store).damage == ()
        with closing(JsonlStore(path)) as keyless, pytest.raises(WrongKey):
            keyless.append("s", drafts("3"))
        assert store.append("s", drafts("3"), expect=2) == 3


# Files ----------------------------------------------------------------------------------------


def test_files_keep_their_mode(store: JsonlStore, log: Path) -> None:
    """What is written anew keeps the mode that the operator gave the log; bytes put aside are for the owner alone."""
    log.chmod(0o640)
    store.append("s", drafts("5"))
    assert log.with_suffix(".state").stat().st_mode & 0o777 == 0o640
    log.write_bytes(log.read_bytes()[:-9])
    store.append("s", drafts("6"))
    store.erase("s", "1")
    modes = {file.name: file.stat().st_mode & 0o777 for file in log.parent.glob("s.*")}
    assert modes == {"s.jsonl": 0o640, "s.state": 0o640, "s.damaged-1": 0o600}


def test_stale_files_are_no_hindrance(store: JsonlStore, log: Path) -> None:
    """What a kill left half made is written over, and gone then."""
    for name in ("s.jsonl.new", "s.state.new"):
        (log.parent / name).write_bytes(b"half" * 5000)
    (log.parent / "t.jsonl").touch()
    assert [info.id for info in store.sessions()] == ["s"]
    assert store.append("t", drafts("1")) == 1
    store.append("s", drafts("5"))
    store.erase("s", "1")
    assert {file.name for file in log.parent.glob("s.*")} == {"s.jsonl", "s.state"}
    assert told(store).damage == ()


@pytest.mark.parametrize("is_refused", [False, True])
def test_what_the_next_writer_makes_is_left_to_it(
    store: JsonlStore, log: Path, monkeypatch: pytest.MonkeyPatch, is_refused: bool
) -> None:
    """From the moment in which the log is unlocked, a file of a new log or state is somebody else's."""
    flock, rename = fcntl.flock, os.rename
    locks: list[int] = []
    files = log.with_name("s.jsonl.new"), log.with_name("s.state.new")

    def unlocked(fd: int, how: int) -> None:
        flock(fd, how)
        if how == fcntl.LOCK_UN and not locks:
            locks.append(fd)
            for file in files:
                file.write_bytes(b"the next one's")

    def refused(source: Path, target: Path) -> None:
        if is_refused and target.suffix == ".state":
            raise OSError("no")
        rename(source, target)

    monkeypatch.setattr(os, "rename", refused)
    monkeypatch.setattr(fcntl, "flock", unlocked)
    store.erase("s", "1")
    assert [file.read_bytes() for file in files] == [b"the next one's"] * 2


def test_an_erased_body_leaves_the_disk(store: JsonlStore, path: Path) -> None:
    """After an erasure its bytes stand in no file of the store, and no other line has changed."""
    secret = b'"correct horse battery staple"'
    store.append("s", drafts("1") + drafts("2", body=secret) + drafts("3"))
    before = _lines((path / "s.jsonl").read_bytes())
    store.erase("s", "2")
    assert not any(secret in file.read_bytes() for file in path.iterdir())
    after = _lines((path / "s.jsonl").read_bytes())
    assert [new == old for new, old in zip(after, before, strict=True)] == [True, True, False, True]
    assert (told(store).damage, store.append("s", drafts("4"))) == ((), 4)


def test_a_deleted_session_leaves_no_file(store: JsonlStore, log: Path) -> None:
    """Its log, its state and the bytes that were put aside go together; its name stands nowhere."""
    log.write_bytes(log.read_bytes()[:-9])
    store.append("s", drafts("5"))
    assert len(list(log.parent.glob("s.*"))) == 3
    for name in ("s.jsonl.new", "s.state.new"):
        (log.parent / name).write_bytes(b"what a kill left half made")
    store.delete("s")
    assert {file.name for file in log.parent.iterdir()} == {"suture.json", "appended"}


def test_epochs_of_sessions_that_are_gone_survive_a_disk_that_fails(
    store: JsonlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deletion that cannot be written down is refused, and those before it keep their epochs from being given again."""
    for session in ("t", "t", "t", "s", "s", "s", "s"):
        store.release(last := store.claim(session, ELSEWHERE, 300))
        if last.epoch == 3:
            store.delete("t")

    def failing(_fd: int) -> None:
        raise OSError(errno.EIO, "no")

    with monkeypatch.context() as disk:
        disk.setattr(os, "fdatasync", failing)
        with pytest.raises(StoreError):
            store.delete("s")
    assert store.info("s") is not None
    assert store.claim("t", ELSEWHERE, 300).epoch > 3


def test_a_session_whose_log_was_removed_can_be_deleted(store: JsonlStore, log: Path) -> None:
    """What is left of it goes, and one of its name begins anew, under a later epoch."""
    claim = store.claim("s", a_dead_owner(), 300)
    log.unlink()
    store.delete("s")
    assert list(log.parent.glob("s.*")) == []
    assert (store.append("s", drafts("1")), told(store).damage) == (1, ())
    assert store.claim("s", ELSEWHERE, 300).epoch == claim.epoch + 1


def test_damage_after_damage(store: JsonlStore, log: Path) -> None:
    """Each mend has a file of its own, and every finding stays."""
    for number in range(1, 12):
        log.write_bytes(log.read_bytes() + b"junk %d\n" % number)
        store.append("s", drafts(f"after-{number}"))
    assert len(told(store).damage) == 11
    assert all((log.parent / f"s.damaged-{number}").read_bytes() == b"junk %d\n" % number for number in range(1, 12))
    assert [entry.seq for entry in store.read("s")] == list(range(1, 16))


# What is refused ------------------------------------------------------------------------------


def _not_ours(path: Path) -> None:
    path.mkdir()
    (path / "data.jsonl").write_text('{"messages":[]}\n')


def _other_marker(path: Path) -> None:
    path.mkdir()
    (path / "suture.json").write_text('{"name":"my app"}\n')


def _newer(path: Path) -> None:
    path.mkdir()
    (path / "suture.json").write_text('{"suture":"jsonl","version":2}\n')


def _file(path: Path) -> None:
    path.write_text("hello")


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (_not_ours, r"data\.jsonl, which is no log of suture's"),
        (_other_marker, r"suture\.json is none of suture's"),
        (_newer, r"newer suture \(version 2"),
        (_file, "is a file, and a JSONL store is a directory"),
    ],
)
def test_what_is_not_ours_is_refused_untouched(path: Path, make: Callable[[Path], None], reason: str) -> None:
    """What is somebody else's is named and left as it is."""
    make(path)
    before = on_disk(path) if path.is_dir() else path.read_bytes()
    with pytest.raises(StoreError, match=reason) as caught:
        JsonlStore(path)
    assert str(path) in str(caught.value)
    assert (on_disk(path) if path.is_dir() else path.read_bytes()) == before


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    """The directory is made, the one that it lies in is not: a typing error would make a new empty store."""
    with pytest.raises(StoreError, match=f"{tmp_path}/no does not exist. Create it first"):
        JsonlStore(tmp_path / "no" / "where")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("file", ["s.jsonl", "s.state"])
def test_a_session_of_a_newer_version(store: JsonlStore, log: Path, file: str) -> None:
    """A log or a state that a newer version wrote is named, and stays as it is; other sessions go on."""
    if file == "s.jsonl":
        log.write_bytes(log.read_bytes().replace(b'{"suture":1', b'{"suture":2'))
    else:
        log.with_suffix(".state").write_bytes(log.with_suffix(".state").read_bytes().replace(b'"s"', b'"s","version":2', 1))
    before = on_disk(log.parent)
    for use in (lambda: store.append("s", drafts("5")), lambda: store.read("s"), lambda: store.info("s")):
        with pytest.raises(StoreError, match=r"newer suture \(version 2.*left as it"):
            use()
    assert on_disk(log.parent) == before
    assert store.append("t", drafts("1")) == 1


def test_a_closed_store_says_so(path: Path) -> None:
    """After `close` the store says what to do."""
    store = JsonlStore(path)
    store.close()
    for use in (lambda: store.append("s", drafts("1")), lambda: store.read("s"), lambda: store.news(None, 0, 1)):
        with pytest.raises(StoreError, match=r"was closed\. Open it again"):
            use()


def test_a_directory_that_is_gone_is_named(store: JsonlStore, log: Path) -> None:
    """Once the directory is gone nothing is acknowledged, and none is made."""
    shutil.rmtree(log.parent)
    with pytest.raises(StoreError, match=r"the directory was removed"):
        store.append("s", drafts("5"))
    assert not log.parent.exists()


# Locks, space and permissions -----------------------------------------------------------------


@contextmanager
def held(log: Path) -> Iterator[int]:
    """The log, locked as by a writer of another process."""
    fd = os.open(log, os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield fd
    finally:
        os.close(fd)


def test_a_locked_log_is_waited_for(store: JsonlStore, log: Path) -> None:
    """Whoever else has the log for a moment only delays an append; reading and other sessions wait for nobody."""
    with held(log) as fd:
        later = threading.Timer(0.3, fcntl.flock, [fd, fcntl.LOCK_UN])
        start = time.monotonic()
        later.start()
        assert (len(store.read("s")), told(store).head, store.append("t", drafts("1"))) == (4, 4, 1)
        assert time.monotonic() - start < 0.25
        assert store.append("s", drafts("5")) == 5
        assert time.monotonic() - start >= 0.25
        later.join()


def test_a_log_that_stays_locked_is_named(log: Path) -> None:
    """After the busy timeout the error names the file, the time and what to do; then all works again."""
    with closing(JsonlStore(log.parent, busy_timeout=0.2)) as hasty:
        with held(log):
            for write in (
                lambda: hasty.append("s", drafts("5")),
                lambda: hasty.claim("s", "me", 30),
                lambda: hasty.delete("s"),
            ):
                with pytest.raises(StoreError, match=r"locked for 0.2 s.*fuser.*busy_timeout") as caught:
                    write()
                assert str(log) in str(caught.value)
        assert hasty.append("s", drafts("5")) == 5


def test_what_a_writer_has_not_finished_is_not_seen(store: JsonlStore, log: Path) -> None:
    """While somebody writes, readers see what was finished before, and report no damage."""
    with held(log) as fd:
        os.pwrite(fd, b'{"seq":5,"id":"5","kind":"no', log.stat().st_size)
        info = told(store)
        assert (info.head, info.damage, len(store.read("s"))) == (4, (), 4)
    _require(told(store), [(5, "cut off")])


@pytest.mark.parametrize("spare", [0, 10, 200, 900, 4000])
def test_a_full_disk_is_named(child: Callable[..., Any], log: Path, spare: int) -> None:
    """What does not fit is refused whole and leaves nothing; what is there can be read, and what fits can be written."""
    before = on_disk(log.parent)
    writer = child("full", log.parent, log.stat().st_size + spare)
    assert "nothing was written" in writer.hear()
    assert writer.hear() == "4"
    assert writer.wait() == 0
    after = on_disk(log.parent)
    assert {name: raw for name, (raw, _) in after.items()} == {name: raw for name, (raw, _) in before.items()}
    with closing(JsonlStore(log.parent)) as store:
        assert (told(store).damage, store.append("s", drafts("5"))) == ((), 5)


@pytest.mark.parametrize("mode", [0o777, 0o555], ids=["directory writable", "directory read-only"])
@pytest.mark.parametrize("files", [0o444, 0o666], ids=["files read-only", "files writable"])
def test_what_may_only_be_read(child: Callable[..., Any], mode: int, files: int) -> None:
    """It can be read; an append says what is missing, and changes nothing."""
    where = Path(tempfile.mkdtemp())
    try:
        where.chmod(0o755)
        with closing(JsonlStore(where / "sessions")) as store:
            store.append("s", drafts("1", "2"))
        for file in (where / "sessions").iterdir():
            file.chmod(files)
        (where / "sessions").chmod(mode)
        before = on_disk(where / "sessions")
        reader = child("read_only_directory", where / "sessions")
        assert reader.hear() == "2"
        said = reader.hear()
        assert reader.wait() == 0
        if (mode, files) == (0o777, 0o666):
            assert said == "3"
        else:
            assert "only reading is possible here" in said
            assert on_disk(where / "sessions") == before
    finally:
        (where / "sessions").chmod(0o700)
        shutil.rmtree(where)


# Kills ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("begun", "step"), [(begun, step) for begun, last in STEPS.items() for step in range(1, last + 1)])
def test_killed_inside_an_append(child: Callable[..., Any], path: Path, step: int, begun: str) -> None:
    """Whatever step of an append a kill comes before, the batch is there whole or not at all, and the next one goes on."""
    before = _begun(path, begun)
    writer = child("stop_jsonl_at", path, step)
    said = writer.hear()
    writer.kill()
    with closing(JsonlStore(path)) as store:
        entries, info = store.read("s"), store.info("s")
        whole = [*before, "c", "d"]
        assert ids_of(entries) == whole if said == "appended" else ids_of(entries) in (before, whole)
        assert (info.head if info else 0) == len(entries)
        require_whole(entries)
        assert store.append("s", drafts("next"), expect=len(entries)) == len(entries) + 1
        assert store.append("s", drafts("c", "d")) == len(entries) + (0 if "c" in ids_of(entries) else 3)
        assert len(told(store).damage) == (begun == "damaged")


def _begun(path: Path, begun: str) -> list[str]:
    """Make what the append finds; the ids that are there."""
    if begun == "new":
        return []
    with closing(JsonlStore(path)) as store:
        store.append("s", drafts("a", "b"))
    if begun == "damaged":
        with (path / "s.jsonl").open("ab") as file:
            file.write(b"junk")
    return ["a", "b"]


@pytest.mark.parametrize("begun", STEPS)
def test_the_steps_of_an_append_are_covered(child: Callable[..., Any], path: Path, begun: str) -> None:
    """The test above stops before each call that changes something on the disk, and once behind the last of them."""
    for step, last in ((STEPS[begun] - 1, False), (STEPS[begun], True)):
        _begun(path.with_name(f"{step}"), begun)
        assert (child("stop_jsonl_at", path.with_name(f"{step}"), step).hear() == "appended") is last


# What it costs --------------------------------------------------------------------------------


class Counted:
    """How often a call of the system was made, and how many bytes it brought."""

    def __init__(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = self.bytes = 0
        self._real = getattr(os, name)
        monkeypatch.setattr(os, name, self)

    def __call__(self, *args: Any) -> Any:
        answer = self._real(*args)
        self.calls += 1
        self.bytes += len(answer) if isinstance(answer, bytes) else 0
        return answer


def test_the_end_of_a_long_log_is_read_alone(store: JsonlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last entries, or some in the middle, cost what they are long; neither does info read a log."""
    store.append("s", [Draft(str(n), "note", "", b'"%s"' % (b"x" * 2000)) for n in range(1, 2001)])
    reads = Counted("pread", monkeypatch)
    assert [entry.seq for entry in store.read("s", after=1950)] == list(range(1951, 2001))
    assert [entry.seq for entry in store.read("s", after=700, limit=3)] == [701, 702, 703]
    assert [entry.seq for entry in store.read("s", limit=2)] == [1, 2]
    assert told(store).head == 2000
    assert store.read("s", after=2000) == []
    assert reads.bytes < 2_000_000


def test_a_long_log_takes_little_more_memory_than_it_is_long(store: JsonlStore) -> None:
    """Reading all of it, with a state or without one, holds a small multiple of its bytes."""
    store.append("s", [Draft(str(n), "note", "", b'"%s"' % (b"x" * 2000)) for n in range(4000)])
    log = store._place.path / "s.jsonl"
    for times in (3, 5):
        tracemalloc.start()
        try:
            assert len(store.read("s")) == 4000
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < times * log.stat().st_size
        log.with_suffix(".state").unlink(missing_ok=True)


@pytest.mark.parametrize("state", ["kept", "lost"])
def test_the_time_to_read_a_log_grows_with_its_length(tmp_path: Path, state: str) -> None:
    """Eight times the entries take about eight times as long, and not the square of it."""

    def work(count: int) -> None:
        path = tmp_path / f"{count}-{time.monotonic_ns()}"
        with closing(JsonlStore(path)) as store:
            store.append("s", [Draft(str(n), "note", "", b'{"a":1}', (f"inbox:{n % 7}",)) for n in range(count)])
            if state == "lost":
                (path / "s.state").unlink()
            assert len(store.read("s")) == count

    assert grows(work, 1000) < 20


def test_a_damaged_line_takes_no_square_of_its_length(tmp_path: Path) -> None:
    """A torn line full of what looks like the beginning of a record is given up on in time."""

    def work(count: int) -> None:
        path = tmp_path / f"{count}-{time.monotonic_ns()}"
        with closing(JsonlStore(path)) as store:
            store.append("s", drafts("1"))
            (path / "s.jsonl").write_bytes(b'{"seq":1,"id":"a","body":[' * count)
            assert store.read("s") == []

    assert grows(work, 1000) < 20


def test_a_log_without_line_ends(tmp_path: Path) -> None:
    """All records of a long log load though they stand in one line, in a time that grows with their number."""

    def work(count: int) -> None:
        path = tmp_path / f"{count}-{time.monotonic_ns()}"
        with closing(JsonlStore(path)) as store:
            store.append("s", [Draft(str(n), "note", "", b'{"a":"\xc3\xbc"}') for n in range(count)])
            (path / "s.jsonl").write_bytes((path / "s.jsonl").read_bytes().replace(b"\n", b""))
            assert [entry.id for entry in store.read("s")] == [str(n) for n in range(count)]
            assert told(store).damage == ()

    assert grows(work, 300) < 20


def test_an_append_costs_the_same_in_a_long_log(store: JsonlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once its ids are known, an append reads nothing of a log, however long it is; and what others wrote, once."""
    store.append("s", [Draft(f"{n}", "note", "", b"1") for n in range(3000)])
    reads = Counted("pread", monkeypatch)
    store.append("s", drafts("next"))
    assert reads.bytes == 0
    with closing(JsonlStore(store._place.path)) as other:
        other.append("s", drafts("theirs"))
        reads.bytes = 0
        store.append("s", drafts("ours"))
        assert 0 < reads.bytes < 1000


def test_threads_share_a_sync(store: JsonlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Appends that wait for one another reach the disk together."""
    store.append("s", drafts("0"))
    syncs = Counted("fdatasync", monkeypatch)
    with held(store._place.path / "s.jsonl"):
        threads = [threading.Thread(target=store.append, args=("s", drafts(f"t{n}"))) for n in range(12)]
        for thread in threads:
            thread.start()
        writes = store._logs.of("s")._writes
        deadline = time.monotonic() + 30
        while len(writes._waiting) < len(threads) - 1 and time.monotonic() < deadline:  # one leads
            time.sleep(0.001)
    for thread in threads:
        thread.join(30)
    assert len(store.read("s")) == 13
    assert syncs.calls <= 3


def test_waiting_for_a_session_looks_and_does_not_read(store: JsonlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait that nothing ends asks the system for the file's size and time, and opens nothing."""
    store.append("s", drafts("1"))
    opened = Counted("open", monkeypatch)
    assert store.news("s", 1, 0.5) is False
    assert opened.calls <= 2
