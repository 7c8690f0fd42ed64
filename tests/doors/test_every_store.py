"""Every command that looks after sessions, over every store that a command can see: the same words, the same ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import suture as library
from tests.agent.kept import changing, hand_at
from tests.doors.conftest import entries_of, gift, kinds_of, play
from tests.doors.shell import Said, suture
from tests.doors.test_following import Follower
from tests.judges import assert_valid
from tests.postgres import at_place

STORES = ("sqlite", "jsonl", "postgresql")


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store of that kind with a session that is done, one that waits for approval, and one of unknown outcome."""
    match request.param:
        case "sqlite":
            url = f"sqlite:///{tmp_path}/agent.db"
        case "jsonl":
            url = f"jsonl:///{tmp_path}/sessions"
        case _:
            url = at_place(request.getfixturevalue("postgres"), tmp_path)
    with closing(library.open_store(url)) as store:
        library.Session(store, "done", meta={"tenant": "acme"})
        play(store, "done", gift("bob", 10))
        play(store, "parked", gift("ann", 900), gift("bob", 901, "c2"))
        play(store, "unknown", gift("slow", 9))
    return url


@pytest.fixture
def run(url: str) -> Callable[..., Said]:
    """A command over that store."""
    return lambda *words: suture(*words, "--store", url)


def test_looking(run: Callable[..., Said]) -> None:
    """Sessions are listed, filtered, shown, sent, exported and verified."""
    listed = run("sessions")
    assert (listed.status, listed.err) == (0, "")
    statuses = [line.split()[:2] for line in listed.out.splitlines()[1:]]
    assert statuses == [["done", "idle"], ["parked", "awaiting_approval"], ["unknown", "abandoned"]]
    for options, found in ((("--status", "abandoned"), ["unknown"]), (("--meta", "tenant=acme"), ["done"])):
        assert [one["id"] for one in run("sessions", *options, "--json").json["sessions"]] == found
    shown = run("show", "done")
    assert (shown.status, "sent 10 to bob" in shown.out) == (0, True)
    assert_valid("anthropic", run("request", "parked", "--format", "anthropic").json)
    assert_valid("openai-chat", run("export", "done", "--format", "openai-chat").json)
    verified = run("verify", "--json")
    assert (verified.status, [one["ok"] for one in verified.json["sessions"]]) == (0, [True] * 3)
    missed = run("show", "dune")
    assert (missed.status, missed.out) == (2, "")
    assert "Did you mean 'done'?" in missed.err


def test_deciding(run: Callable[..., Said], url: str) -> None:
    """Calls are listed, decided once, by whoever is first; a fork of what waits decides nothing."""
    waiting = run("approvals", "--json").json["approvals"]
    assert [(one["session"], one["key"]) for one in waiting] == [("parked", "3:0"), ("parked", "3:1")]
    assert (run("fork", "parked", "--id", "fork").status, run("approvals", "fork", "--json").json) == (0, {"approvals": []})
    assert run("approve", "parked", "c1", "--by", "ann", "--digest", waiting[0]["digest"]).status == 0
    late = run("deny", "parked", "3:0", "--json")
    assert (late.status, late.json["error"]["type"]) == (2, "AlreadyDecided")
    assert run("deny", "parked", "c2", "--note", "too dear", "--json").json["call"] == "3:1"
    assert list(kinds_of(url, "parked")).count("approval_decision") == 2
    assert run("sessions", "--status", "inbox_waiting", "--json").json["sessions"][0]["needs_runner"] is True


def test_acting(run: Callable[..., Said], url: str) -> None:
    """Sessions are steered, stopped and settled; the first settlement stands."""
    assert run("steer", "done", "And a card.").out == "The next run of done delivers it.\n"
    assert run("interrupt", "done", "--by", "ann").out == "No run of done is on; there was nothing to stop.\n"
    assert kinds_of(url, "done")[-2:] == ["steer", "interrupt"]
    settled = run("settle", "unknown", "c1", "completed", "--content", "It is there.", "--by", "ann", "--json")
    assert (settled.status, settled.json["call"]) == (0, "3:0")
    again = run("settle", "unknown", "3:0", "failed")
    assert (again.status, again.out) == (2, "")
    assert "was settled as completed by ann before, and that stands. Those that wait: none." in again.err


def test_forking_and_verifying(run: Callable[..., Said], url: str) -> None:
    """A fork shares what it says; whatever is done to a log is named, in it and in what shares it, with exit status 1."""
    early = run("fork", "done", "--at", "4", "--id", "early")
    assert (early.status, early.out) == (0, "early  shares the first 4 entries of done.\n")
    assert run("fork", "done", "--at", "99").status == 2
    assert "holds a session 'parked' already" in run("fork", "done", "--id", "parked").err
    shown = run("show", "early", "--json").json
    assert (shown["forked_from"], shown["session"]["head"]) == ({"session": "done", "at": 4}, 5)
    assert run("sessions", "--json").json["sessions"][1] == shown["session"]
    assert [line.split()[:3] for line in run("sessions").out.splitlines()[1:3]] == [
        ["done", "idle", "7"],
        ["early", "idle", "5"],
    ]
    assert run("verify").out.count("entries hold") == 4
    with changing(hand_at(url), "done") as now:
        now.set(3, body=b"{}")
    said = run("verify")
    assert (said.status, said.out.count("entries hold")) == (1, 2)
    assert "done  changed: entry 3 was changed after it was written" in said.out
    assert "early  changed (in done): entry 3 was changed after it was written" in said.out
    with changing(hand_at(url), "parked") as now:
        now.drop(6, 7, 8)
    said = run("verify", "parked", "--json")
    assert (said.status, said.json["problem"]["what"], said.json["problem"]["seq"]) == (1, "cut", 6)


def test_erasing(run: Callable[..., Said], url: str) -> None:
    """A body is gone from the log and from what is sent; the log is whole, and the near entry is named for a slip."""
    entry = next(one for one in entries_of(url, "done") if b"sent 10 to bob" in one.body)
    missed = run("erase", "done", entry.id[:-1], "--yes")
    assert (missed.status, f"Did you mean '{entry.id}'?" in missed.err) == (2, True)
    erased = run("erase", "done", entry.id, "--yes", "--json")
    assert erased.json == {"session": "done", "entry": entry.id, "seq": entry.seq, "held_by": "done", "repeat": False}
    assert run("erase", "done", entry.id, "--yes", "--json").json["repeat"] is True
    assert "sent 10 to bob" not in run("show", "done").out
    assert_valid("anthropic", run("request", "done", "--format", "anthropic").json)
    verified = run("verify", "done", "--json").json
    assert (verified["ok"], verified["erased"]) == (True, 1)


@pytest.fixture
def follower(url: str) -> Iterator[Any]:
    made = Follower("done", "--json", "--after", "0", "--store", url)
    yield made
    made.process.kill()
    made.process.communicate()


def test_following(run: Callable[..., Said], follower: Any) -> None:
    """A line of JSON for each entry, then each as another process writes it."""
    assert [json.loads(follower.line())["seq"] for _ in range(7)] == list(range(1, 8))
    assert run("steer", "done", "Now.").status == 0
    assert json.loads(follower.line())["kind"] == "steer"
    assert follower.interrupted() == (0, "", "")
