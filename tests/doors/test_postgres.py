"""The command line over a PostgreSQL database: the same commands, and no password on any screen."""

from __future__ import annotations

from pathlib import Path

import pytest

import suture as library
from tests.doors.conftest import gift, kinds_of, play
from tests.doors.shell import suture
from tests.postgres import at_place


@pytest.fixture
def url(postgres: str, tmp_path: Path) -> str:
    """The URL of a schema in which nothing is yet; it holds a password, which the server of the tests does not ask for."""
    with_password = postgres.replace("postgres@", "postgres:correct-horse@", 1)
    return at_place(with_password, tmp_path)


@pytest.fixture
def stored(url: str) -> str:
    """That of one with a session that is done, and one that waits for approval."""
    store = library.open_store(url)
    play(store, "done", gift("bob", 10))
    play(store, "parked", gift("ann", 900))
    store.close()
    return url


def test_looking_and_deciding(stored: str) -> None:
    """Sessions are listed, shown, decided on and steered as in a file."""
    listed = suture("sessions", "--store", stored)
    assert (listed.status, listed.err) == (0, "")
    assert [line.split()[:2] for line in listed.out.splitlines()[1:]] == [["done", "idle"], ["parked", "awaiting_approval"]]
    assert (
        suture("sessions", "--status", "awaiting_approval", "--store", stored, "--json").json["sessions"][0]["id"]
        == "parked"
    )
    shown = suture("show", "done", "--store", stored)
    assert (shown.status, "sent 10 to bob" in shown.out) == (0, True)
    assert suture("request", "done", "--format", "anthropic", "--store", stored).status == 0
    waiting = suture("approvals", "--store", stored)
    assert (waiting.status, "suture approve parked 3:0" in waiting.out) == (0, True)
    assert suture("approve", "parked", "c1", "--by", "ann", "--store", stored).status == 0
    assert suture("steer", "done", "And bob?", "--store", stored).status == 0
    assert kinds_of(stored, "parked")[-1] == "approval_decision"
    for said in (listed, shown, waiting):
        assert "correct-horse" not in said.out + said.err


def test_looking_makes_no_store(url: str) -> None:
    """A command that looks into a database without our tables says so, and makes none."""
    for command in (["sessions"], ["show", "done"], ["approvals"]):
        said = suture(*command, "--store", url)
        assert said.status == 2
        assert "There is no store at" in said.err
        assert "correct-horse" not in said.err
        assert not library.stores.PostgresStore.exists(url)


def test_a_server_that_is_away(tmp_path: Path) -> None:
    """The command says which server it is, and shows no password."""
    said = suture("sessions", "--store", f"postgresql://me:correct-horse@/agents?host={tmp_path}", "--json")
    assert said.status == 2
    assert "the server cannot be reached" in said.json["error"]["message"]
    assert "correct-horse" not in said.out + said.err
