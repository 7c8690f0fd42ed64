"""Stores under a key at the command line: it comes from a file or the environment, never from an argument."""

from __future__ import annotations

from pathlib import Path

import pytest

import suture as library
from tests.doors.shell import suture

KEY = "correct horse battery"


@pytest.fixture
def keyed(tmp_path: Path) -> str:
    """A store with a session that is kept under the key."""
    url = f"sqlite:///{tmp_path / 'keyed.db'}"
    store = library.open_store(url, key=KEY.encode())
    library.Session(store, "s").steer("Hello.")
    store.close()
    return url


def test_a_key_from_a_file_or_the_environment(keyed: str, tmp_path: Path) -> None:
    """A key file without the end of its line, named by option or variable, and SUTURE_KEY are the same key."""
    file = tmp_path / "key"
    file.write_text(KEY + "\n")
    assert suture("steer", "s", "one", "--store", keyed, "--key-file", file).status == 0
    assert suture("steer", "s", "two", "--store", keyed, SUTURE_KEY_FILE=str(file)).status == 0
    assert suture("steer", "s", "three", "--store", keyed, SUTURE_KEY=KEY).status == 0


def test_random_bytes_that_end_like_a_line(tmp_path: Path) -> None:
    """Of a key of random bytes nothing is taken for the end of a line."""
    url, file = f"sqlite:///{tmp_path / 'random.db'}", tmp_path / "key"
    file.write_bytes(bytes(range(200, 230)) + b"\r\n")
    store = library.open_store(url, key=file.read_bytes())
    library.Session(store, "s").steer("Hello.")
    store.close()
    assert suture("steer", "s", "one", "--store", url, "--key-file", file).status == 0


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("", "this store was opened without one. Open it with that key: --key-file FILE."),
        ("another horse battery", "Open it with the first."),
        ("short", "The key of the store has 5 bytes and could be guessed."),
    ],
    ids=["none", "another", "short"],
)
def test_a_wrong_key(keyed: str, key: str, words: str) -> None:
    """A command under a wrong key does nothing, says which key it is, and never shows it."""
    said = suture("steer", "s", "four", "--store", keyed, SUTURE_KEY=key)
    assert said.status == 2
    assert words in said.err.replace("\n", " ")
    assert not key or key not in said.err


def test_a_key_file_that_is_not_there(keyed: str, tmp_path: Path) -> None:
    """A missing key file is named, and not taken for no key."""
    said = suture("steer", "s", "four", "--store", keyed, "--key-file", tmp_path / "nothing")
    assert said.status == 2
    assert "nothing" in said.err
