"""`suture erase`: what is named is taken out once somebody has said so, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.doors.conftest import entries_of
from tests.doors.shell import suture
from tests.doors.terminal import Terminal


def test_what_is_erased_is_gone(url: str) -> None:
    """The body leaves the store; what is left is whole, and a repeat says that it was done."""
    entry = entries_of(url, "done")[2]
    said = suture("erase", "done", entry.id, "--yes", "--store", url)
    assert (said.status, said.out, said.err) == (0, "Entry 3 of done is erased; its place and its hash stay.\n", "")
    again = suture("erase", "done", entry.id, "--store", url)
    assert (again.status, again.out) == (0, "Entry 3 of done was erased before.\n")
    assert [bool(one.erased) for one in entries_of(url, "done")] == [seq == 3 for seq in range(1, 8)]
    verified = suture("verify", "done", "--json", "--store", url).json
    assert (verified["ok"], verified["erased"]) == (True, 1)


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["in a pipe", "as a document"])
def test_where_nobody_can_be_asked(url: str, options: tuple[str, ...]) -> None:
    """Without --yes nothing is erased, and the way is told."""
    entry = entries_of(url, "done")[2]
    said = suture("erase", "done", entry.id, *options, "--store", url, stdin=b"y\n")
    assert said.status == 2
    assert "Say --yes" in " ".join((said.out + said.err).split())
    assert not entries_of(url, "done")[2].erased


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [("y", 0, "Entry 1 of mine is erased"), ("", 2, "Nothing was erased")],
    ids=["yes", "nothing said"],
)
def test_a_person_is_asked(url: str, tmp_path: Path, answer: str, status: int, words: str) -> None:
    """The entry is shown, and who else loses it, before anything is done."""
    assert suture("fork", "steered", "--id", "mine", "--store", url).status == 0
    entry = entries_of(url, "steered")[0]
    with Terminal("erase", "mine", entry.id, "--store", url, cwd=tmp_path) as terminal:
        asked = terminal.expect("[y/N]")
        assert "steer  Be quick." in asked
        assert "from steered, which holds it, and from all that share it?" in " ".join(asked.split())
        terminal.type(answer)
        assert terminal.status() == status
        assert words in terminal.said
    assert bool(entries_of(url, "steered")[0].erased) is (status == 0)


@pytest.mark.parametrize(
    ("session", "name", "words"),
    [
        ("done", lambda url: entries_of(url, "done")[2].id[:-1], "Did you mean '"),
        ("done", lambda _: "3", "has no entry '3'. `suture tail --after 0 --json` lists those it has."),
        ("dune", lambda url: entries_of(url, "done")[2].id, "Did you mean 'done'?"),
        ("fork", lambda url: entries_of(url, "fork")[-1].id, "Delete the session instead"),
    ],
    ids=["a slip in the entry", "a position", "a slip in the session", "what makes a fork one"],
)
def test_what_cannot_be_erased(url: str, session: str, name: Callable[[str], str], words: str) -> None:
    """The near ids are named, and nothing is erased."""
    assert suture("fork", "done", "--id", "fork", "--store", url).status == 0
    said = suture("erase", session, name(url), "--yes", "--store", url)
    assert (said.status, said.out) == (2, "")
    assert words in " ".join(said.err.split())
    assert not [one for one in entries_of(url, "fork") if one.erased]
