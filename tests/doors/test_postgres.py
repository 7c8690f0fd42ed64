"""The command line over a PostgreSQL database: no password on any screen, and looking makes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import suture as library
from tests.doors.conftest import gift, play
from tests.doors.shell import suture
from tests.postgres import at_place


@pytest.fixture
def url(postgres: str, tmp_path: Path) -> str:
    """The URL of a schema in which nothing is yet; it holds a password, which the server of the tests does not ask for."""
    with_password = postgres.replace("postgres@", "postgres:correct-horse@", 1)
    return at_place(with_password, tmp_path)


@pytest.fixture
def stored(url: str) -> str:
    """That of one with a session that waits for approval."""
    store = library.open_store(url)
    play(store, "parked", gift("ann", 900))
    store.close()
    return url


@pytest.mark.parametrize("command", [("sessions",), ("show", "parked"), ("approvals",), ("show", "prked")], ids=" ".join)
def test_no_password_is_shown(stored: str, command: tuple[str, ...]) -> None:
    """Not in what is found, not in the command that is shown to be copied, and not in an error."""
    said = suture(*command, "--store", stored)
    assert "parked" in said.out + said.err
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
