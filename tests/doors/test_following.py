"""`suture tail`: a log is followed while others write it, on a terminal and in a pipe."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import suture as library
from tests.doors.shell import PATIENCE, environment, suture
from tests.doors.terminal import CTRL_C, Terminal


class Follower:
    """`suture tail` in a process of its own, on a pipe."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "suture.cli", "tail", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        self._read = b""

    def line(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        until = time.monotonic() + PATIENCE
        while b"\n" not in self._read:
            assert select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))[0], "it says nothing"
            piece = os.read(self.process.stdout.fileno(), 65536)
            assert piece, "it has ended"
            self._read += piece
        line, _, self._read = self._read.partition(b"\n")
        return line.decode()

    def close(self) -> None:
        """Close both pipes."""
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()

    def interrupted(self) -> tuple[int, str, str]:
        """Press Ctrl-C; its exit status, and what it said to the end."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, (self._read + out).decode(), err.decode()


@pytest.fixture
def following(url: str) -> Iterator[Any]:
    started: list[Follower] = []

    def follow(*arguments: str) -> Follower:
        started.append(Follower(*arguments, "--store", url))
        return started[-1]

    yield follow
    for one in started:
        one.process.kill()
        one.process.wait(PATIENCE)
        one.close()


def steered(url: str, session: str, text: str) -> None:
    store = library.open_store(url)
    library.Session(store, session).steer(text)
    store.close()


def test_what_others_write_is_shown_as_it_comes(url: str, following: Any) -> None:
    """First what is there behind the entry that was named, then each new entry; Ctrl-C ends it with 0 and no word."""
    follower = following("parked", "--after", "1")
    first = [follower.line() for _ in range(2)]
    assert first[0].split(maxsplit=3)[::2] == ["2", "message"]
    assert first[0].endswith("user: Send the gifts. All of them.")
    assert 'message  assistant: I send them. -> send_gift(to="ann", total=900)' in first[1]
    while not (line := follower.line()).startswith("   7"):
        assert line
    steered(url, "parked", "Be\nquick.\x1b[31m")
    assert follower.line().split(maxsplit=2)[2] == "steer  Be quick.\\x1b[31m"
    assert suture("deny", "parked", "3:0", "--by", "ann", "--note", "too dear", "--store", url).status == 0
    assert follower.line().endswith("approval_decision  3:0 denied by ann: too dear")
    assert follower.interrupted() == (0, "", "")


def test_lines_of_json_hold_the_whole_entry(url: str, following: Any) -> None:
    """Each line is one document, whatever the body holds; the last ten entries come first."""
    store = library.open_store(url)
    for n in range(12):
        library.Session(store, "noted").append("note", {"n": n, "text": "a\u2028b\n" * (n + 1)})
    store.close()
    follower = following("noted", "--json")
    lines = [json.loads(follower.line()) for _ in range(10)]
    assert [line["seq"] for line in lines] == list(range(3, 13))
    assert lines[0]["body"] == {"n": 2, "text": "a\u2028b\n" * 3}
    assert set(lines[0]) == {"seq", "id", "kind", "at", "epoch", "opens", "closes", "erased", "body"}
    steered(url, "noted", "now")
    assert json.loads(follower.line())["body"]["message"]["parts"][0]["text"] == "now"
    assert follower.interrupted() == (0, "", "")


@pytest.mark.usefixtures("url")
def test_it_ends_with_its_reader(following: Any) -> None:
    """`suture tail ... | head -1` comes back though nothing is written any more; a log that is still read goes on."""
    follower = following("done", "--after", "0")
    assert [follower.line().split()[2] for _ in range(7)][-1] == "run_finished"
    follower.process.stdout.close()
    assert follower.process.wait(PATIENCE) == 0
    assert follower.process.stderr.read() == b""


def test_a_fork_is_followed_with_what_it_shares(url: str, following: Any) -> None:
    """Its entries come under the positions that it shows: those that it shares first, then its own as they are written."""
    store = library.open_store(url)
    library.Session(store, "done").fork(id="fork")
    store.close()
    follower = following("fork", "--after", "5", "--json")
    assert [json.loads(follower.line())["seq"] for _ in range(3)] == [6, 7, 8]
    words = following("fork", "--after", "7").line().split(maxsplit=2)[2]
    assert words == "fork  of done, which it shares up to 7"
    steered(url, "fork", "Be quick.")
    entry = json.loads(follower.line())
    assert (entry["seq"], entry["kind"]) == (9, "steer")
    assert follower.interrupted()[0] == 0


def test_edits_read_as_what_they_do(url: str, following: Any) -> None:
    """What an edit changes, takes out or puts aside stands in its line, by the places that it names."""
    store = library.open_store(url)
    session = library.Session(store, "edited")
    session.set([library.User.of("Refund order 42.", id="u1"), library.User.of("Now.", id="u2")])
    session.update(id="u1", content="Refund order 43.")
    session.remove("u2")
    store.close()
    follower = following("edited")
    lines = [follower.line().split(maxsplit=2)[2] for _ in range(5)]
    assert lines[0] == "reset  all before is put aside"
    assert lines[3] == 'edit  entry 2: {"parts": [{"type": "text", "text": "Refund order 43."}]}'
    assert lines[4] == "removal  without 3"


def test_on_a_terminal_ctrl_c_ends_it_cleanly(url: str, tmp_path: Path) -> None:
    """What is shown stays shown, and no trace of Python is."""
    with Terminal("tail", "steered", "--store", url, cwd=tmp_path) as terminal:
        terminal.expect("steer  Be quick.")
        terminal.press(CTRL_C)
        assert terminal.status() == 0
        assert "Traceback" not in terminal.said
        assert "Interrupted" not in terminal.said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(("nowhere",), "no session 'nowhere'"), (("parked", "--after", "-1"), "--after")],
    ids=["unknown", "before-the-beginning"],
)
def test_what_cannot_be_followed_is_refused(url: str, arguments: tuple[str, ...], says: str) -> None:
    """Nothing is made, and it says what is wrong."""
    said = suture("tail", *arguments, "--store", url)
    assert said.status == 2
    assert says in said.err
