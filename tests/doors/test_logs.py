"""`suture export`, `fork` and `verify`: what can be done with whole logs from a shell."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest

import suture as library
from tests.doors.shell import on_terminal, suture
from tests.judges import FORMATS, assert_valid


def damage(url: str, sql: str) -> None:
    db = apsw.Connection(url.removeprefix("sqlite:///"))
    db.execute(sql).fetchall()
    db.close()


KEY = "(SELECT key FROM sessions WHERE id = 'done')"


@pytest.mark.parametrize("format", FORMATS)
def test_a_conversation_is_exported(url: str, format: str, tmp_path: Path) -> None:
    """On stdout, or whole into a file, as one document that the format takes."""
    said = suture("export", "parked", "--format", format, "--store", url)
    assert (said.status, said.err) == (0, "")
    assert_valid(format, said.json)
    file = tmp_path / "out.json"
    written = suture("export", "parked", "--format", format, "--store", url, "-o", file, "--json")
    assert written.json == {"session": "parked", "format": format, "output": str(file)}
    assert (
        json.loads(file.read_text())
        == said.json
        == suture("export", "parked", "--format", format, "--store", url, "--json").json
    )


def test_an_unknown_format_is_named(url: str) -> None:
    """A format that is none is no traceback."""
    said = suture("export", "parked", "--format", "klingon", "--store", url)
    assert (said.status, said.out) == (2, "")
    assert "klingon" in said.err


def test_a_session_is_forked(url: str) -> None:
    """The new session shows what it shares, closes what waits, and leaves its parent as it was."""
    said = suture("fork", "parked", "--id", "mine", "--store", url)
    assert (said.status, said.out) == (0, "mine  shares the first 7 entries of parked.\n")
    assert suture("approvals", "mine", "--store", url, "--json").json == {"approvals": []}
    assert len(suture("approvals", "parked", "--store", url, "--json").json["approvals"]) == 1
    shown = suture("show", "mine", "--store", url, "--json").json
    assert shown["forked_from"] == {"session": "parked", "at": 7}
    assert "a fork of parked, whose first 7 entries it shares" in suture("show", "mine", "--store", url).out
    assert (shown["session"]["head"], shown["session"]["status"], shown["findings"]) == (8, "idle", [])
    early = suture("fork", "parked", "--at", "2", "--store", url, "--json").json
    assert (early["parent"], early["at"]) == ("parked", 2)
    assert suture("approve", early["session"], "c1", "--store", url).status == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["parked", "--at", "99"], "it has 1 to 7"),
        (["parked", "--id", "done"], "holds a session 'done' already"),
        (["parkd"], "Did you mean 'parked'?"),
        (["PARK"], "Did you mean 'parked'?"),
    ],
)
def test_a_fork_that_cannot_be(url: str, arguments: list[str], words: str) -> None:
    """What is wrong with it is said, and nothing is made."""
    said = suture("fork", *arguments, "--store", url)
    assert (said.status, said.out) == (2, "")
    assert words in " ".join(said.err.split())
    assert len(suture("sessions", "--store", url, "--json").json["sessions"]) == 4


@pytest.mark.parametrize("command", ["show", "request", "approvals", "verify", "steer", "export"])
def test_every_command_names_the_near_sessions(url: str, command: str) -> None:
    """A slip in a session's id is met with what was meant."""
    more = {"request": ["--format", "anthropic"], "export": ["--format", "anthropic"], "steer": ["hi"]}.get(command, [])
    said = suture(command, "unknwon", *more, "--store", url)
    assert said.status == 2
    assert "Did you mean 'unknown'?" in " ".join(said.err.split())


def test_a_log_is_verified(url: str) -> None:
    """One line says that it holds, how it is chained, and where it ends."""
    said = suture("verify", "done", "--store", url)
    assert said.status == 0
    assert said.out.startswith("done  7 entries hold; chained without a key, ends with ")
    document = suture("verify", "done", "--store", url, "--json").json
    assert (document["ok"], document["entries"], document["head"], document["problem"]) == (True, 7, 7, None)


def test_all_logs_are_verified(url: str) -> None:
    """Without a session every one is, and one that is wrong makes the status 1."""
    assert suture("verify", "--store", url).out.count(" hold") == 4
    damage(url, f"UPDATE entries SET body = x'7b7d' WHERE session = {KEY} AND seq = 3")
    said = suture("verify", "--store", url)
    assert said.status == 1
    assert said.out.count(" hold") == 3
    assert "done  changed: entry 3 was changed after it was written" in said.out
    documents = suture("verify", "--store", url, "--json").json["sessions"]
    assert [one["ok"] for one in documents] == [False, True, True, True]
    assert documents[0]["problem"]["seq"] == 3


def test_a_cut_log_is_told_from_one_that_ends(url: str) -> None:
    """Entries that are missing at the end are a cut, with exit status 1."""
    damage(url, f"DELETE FROM entries WHERE session = {KEY} AND seq > 5")
    said = suture("verify", "done", "--store", url, "--json")
    assert said.status == 1
    assert (said.json["problem"]["what"], said.json["problem"]["seq"]) == ("cut", 6)


def test_a_key_that_is_missing_verifies_nothing(url: str) -> None:
    """Under a key that a session was not kept under the command fails, and says so for each among others."""
    said = suture("verify", "done", "--store", url, SUTURE_KEY="correct horse battery")
    assert (said.status, said.out) == (2, "")
    assert "kept without a key" in said.err
    store = library.open_store(url, key=b"correct horse battery")
    library.Session(store, "kept").steer("Hello.")
    store.close()
    every = suture("verify", "--store", url, SUTURE_KEY="correct horse battery")
    assert every.status == 2
    assert every.out.count("not verified") == 4
    assert "kept  1 entry holds; chained under the key" in every.out


def test_a_long_log_shows_how_far_it_is(url: str) -> None:
    """On a terminal a bar says it, and the result stands alone in the end."""
    said = on_terminal("verify", "done", "--store", url)
    assert said.status == 0
    assert "7 entries" in said.out
