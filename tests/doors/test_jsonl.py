"""The command line over a directory of logs: damage is shown, and looking makes nothing."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import suture as library
from tests.doors.conftest import gift, play
from tests.doors.shell import suture


@pytest.fixture
def stored(tmp_path: Path) -> str:
    """A directory with a session that is done."""
    url = f"jsonl:///{tmp_path}/sessions"
    with closing(library.open_store(url)) as store:
        play(store, "done", gift("bob", 10))
    return url


def test_damage_is_shown(stored: str, tmp_path: Path) -> None:
    """A session whose log was damaged says where and how, and its conversation is shown all the same."""
    log = tmp_path / "sessions" / "done.jsonl"
    log.write_bytes(log.read_bytes() + b"junk\n")
    shown = suture("show", "done", "--store", stored)
    assert (shown.status, "sent 10 to bob" in shown.out) == (1, True)
    assert "4 bytes, which are no record" in " ".join(shown.out.split())
    said = suture("sessions", "--store", stored)
    assert (said.status, said.err) == (0, "Damaged: done; `suture show` says where.\n")
    listed = suture("sessions", "--store", stored, "--json").json["sessions"][0]
    assert [damage["what"].partition(", which ")[2] for damage in listed["damage"]] == ["are no record"]


def test_a_session_that_cannot_be_opened_is_listed_as_that(stored: str, tmp_path: Path) -> None:
    """It is none that is idle, and the others are shown with their own status."""
    (tmp_path / "sessions" / "alien.jsonl").mkdir()
    listed = suture("sessions", "--store", stored).out.splitlines()[1:]
    assert [line.split()[:2] for line in listed] == [["alien", "unreadable"], ["done", "idle"]]


def test_looking_makes_no_store(tmp_path: Path) -> None:
    """A command that looks at a directory that is not there says so, and makes none."""
    said = suture("sessions", "--store", f"jsonl:///{tmp_path}/sessions")
    assert said.status == 2
    assert "There is no store at" in said.err
    assert list(tmp_path.iterdir()) == []
