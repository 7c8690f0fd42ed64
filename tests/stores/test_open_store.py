"""Stores by URL."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.postgres import with_schema

import suture.stores
from suture.errors import ConfigurationError
from suture.stores import Draft, JsonlStore, MemoryStore, PostgresStore, SqliteStore, open_store

NOTE = Draft("1", "note", "2026-01-02T03:04:05Z", b"{}")


def test_memory() -> None:
    """Every memory store is a new one."""
    first, second = open_store("memory:"), open_store("memory:")
    assert isinstance(first, MemoryStore)
    first.append("s", [NOTE])
    assert second.read("s") == []


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite:///agent.db", "agent.db"),
        ("sqlite:///{here}/agent.db", "agent.db"),
        ("sqlite:///my agents/a b.db", "my agents/a b.db"),
        ("sqlite:///my%20agents/a%20b.db", "my agents/a b.db"),
        ("sqlite:///a%3Fb%23c%25.db", "a?b#c%.db"),
        ("sqlite:///ünï.db", "ünï.db"),
        ("sqlite:///file:x.db", "file:x.db"),
    ],
)
def test_sqlite(url: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three slashes and a relative path, or four and an absolute one; names are taken literally."""
    (tmp_path / "my agents").mkdir()
    monkeypatch.chdir(tmp_path)
    store = open_store(url.format(here=tmp_path))
    assert isinstance(store, SqliteStore)
    store.append("s", [NOTE])
    monkeypatch.chdir("/")
    assert len(store.read("s")) == 1
    store.close()
    assert {path.relative_to(tmp_path) for path in tmp_path.rglob("*.db")} == {Path(file)}


@pytest.mark.parametrize(
    ("url", "directory"),
    [
        ("jsonl:///sessions", "sessions"),
        ("jsonl:///{here}/sessions", "sessions"),
        ("jsonl:///my%20agents/a%3Fb", "my agents/a?b"),
    ],
)
def test_jsonl(url: str, directory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A JSONL store is a directory, named as a file of SQLite is."""
    (tmp_path / "my agents").mkdir()
    monkeypatch.chdir(tmp_path)
    store = open_store(url.format(here=tmp_path))
    assert isinstance(store, JsonlStore)
    store.append("s", [NOTE])
    monkeypatch.chdir("/")
    assert len(store.read("s")) == 1
    store.close()
    assert (tmp_path / directory / "s.jsonl").is_file()


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_postgres(scheme: str, postgres: str) -> None:
    """A PostgreSQL store is a database, named as libpq names it, and a schema in it."""
    url = with_schema(f"{scheme}:{postgres.partition(':')[2]}", f"open_{scheme}")
    with closing(open_store(url)) as store:
        assert isinstance(store, PostgresStore)
        assert store.append("s", [NOTE]) == 1


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("agent.db", "'sqlite:///agent.db'"),
        ("/var/agent.db", "'sqlite:////var/agent.db'"),
        ("./a:b.db", "'sqlite:///./a:b.db'"),
        ("", "'sqlite:///'"),
        ("redis://localhost", "memory:, sqlite:///file, jsonl:///dir and postgresql://..."),
        ("memory:name", "memory:, sqlite:///file"),
        ("sqlite:agent.db", "sqlite:///<path>"),
        ("sqlite://agent.db", "sqlite:///<path>"),
        ("sqlite:///", "sqlite:///<path>"),
        ("sqlite:///:memory:", "'memory:'"),
        ("sqlite:///a.db?mode=ro", "no options"),
        ("jsonl:dir", "jsonl:///<path>"),
        ("jsonl:///", "jsonl:///<path>"),
        ("jsonl:///dir#part", "no options"),
    ],
)
def test_what_is_no_store(url: str, hint: str) -> None:
    """A URL that means nothing says what would."""
    with pytest.raises(ConfigurationError) as caught:
        open_store(url)
    assert hint in str(caught.value)


def test_names() -> None:
    """The package shows its names and no others."""
    for name in suture.stores.__all__:
        assert getattr(suture.stores, name)
    with pytest.raises(AttributeError, match="NoStore"):
        suture.stores.NoStore  # noqa: B018


def test_a_store_is_imported_when_it_is_used() -> None:
    """Importing the package loads no database."""
    code = "import sys, suture.stores; print('apsw' in sys.modules, 'suture.stores.sqlite.store' in sys.modules)"
    path = ":".join(part for part in sys.path if part)
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["False", "False"]
