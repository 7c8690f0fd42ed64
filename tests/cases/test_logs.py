"""The field's cases of logs that carry no exact outcome: what must hold of each, holds in a JSONL store."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from suture.entries import Draft
from suture.errors import NotJson
from suture.messages import Assistant, ToolCall, ToolResult, User
from suture.session import Session
from suture.stores import JsonlStore
from tests.cases.logs import AT, ID, written
from tests.judges import FORMATS, assert_valid

FIELD = Path(__file__).parent / "field"
NEXT = Draft("next", "note", AT, b"{}")


@pytest.fixture
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((FIELD / f"{request.param}.json").read_text("utf-8"))
    return loaded


@pytest.fixture
def store(case: dict[str, Any], tmp_path: Path) -> Iterator[JsonlStore]:
    """A store that holds the case's log."""
    written(case, tmp_path / "sessions")
    with closing(JsonlStore(tmp_path / "sessions")) as store:
        yield store


def of(name: str) -> pytest.MarkDecorator:
    """The case of that name."""
    return pytest.mark.parametrize("case", [name], indirect=True)


def damage(store: JsonlStore) -> list[tuple[int, str]]:
    info = store.info(ID)
    assert info is not None
    return list(info.damage)


def records(store: JsonlStore) -> list[Any]:
    return [json.loads(entry.body) for entry in store.read(ID)]


@of("080-log-torn-tail")
def test_a_torn_tail(store: JsonlStore, tmp_path: Path) -> None:
    """The torn bytes are reported with their place, and the next append starts on a fresh line."""
    log = tmp_path / "sessions" / f"{ID}.jsonl"
    torn = log.read_bytes().rpartition(b"\n")[2]
    (position, what), *more = damage(store)
    assert (position, more) == (3, [])
    assert f"line 3, byte {log.stat().st_size - len(torn)}: {len(torn)} bytes, a record that was cut off" in what
    assert store.append(ID, [NEXT]) == 3
    assert all(json.loads(line) for line in log.read_bytes().splitlines())
    assert (tmp_path / "sessions" / f"{ID}.damaged-1").read_bytes() == torn + b"\n"


@of("082-log-append-glued-to-torn-tail")
def test_a_record_that_is_glued_to_a_torn_one(store: JsonlStore) -> None:
    """The cut prefix is reported, and the record behind it is there, before and after the next append."""
    for _ in range(2):
        assert [record.get("seq") for record in records(store)][:3] == [1, 3, 4]
        assert ["a record that was cut off" in what for _, what in damage(store)] == [True]
        store.append(ID, [NEXT])


@of("084-log-bad-line-in-middle")
def test_a_bad_line_in_the_middle(store: JsonlStore, tmp_path: Path) -> None:
    """Exactly one damaged line is reported, with its number; loading leaves its bytes on the disk."""
    before = (tmp_path / "sessions" / f"{ID}.jsonl").read_bytes()
    assert [record["seq"] for record in records(store)] == [1, 2, 3, 4]
    assert [what.partition(",")[0] for _, what in damage(store)] == ["line 2"]
    assert (tmp_path / "sessions" / f"{ID}.jsonl").read_bytes() == before


@of("088-log-bad-utf8-in-middle")
def test_bytes_that_are_no_text(store: JsonlStore) -> None:
    """The records around the line load, and the line is reported; nothing is raised."""
    assert [record["seq"] for record in records(store)] == [1, 3]
    assert ["line 2" in what and "no UTF-8" in what for _, what in damage(store)] == [True]


@of("090-log-nan-value")
def test_a_number_that_is_none(store: JsonlStore, tmp_path: Path) -> None:
    """Both records load with what else they hold; no file and no request ever holds a bare NaN, nor is one taken in."""
    first, second = records(store)
    assert (first["content"]["n"], math.isnan(first["content"]["ratio"]), second["seq"]) == (3, True, 4)
    session = Session(store, "new")
    session.add(User.of("How much?"))
    session.add(Assistant((ToolCall("c1", "rate", {}),)))
    with pytest.raises(NotJson, match="use null or a text"):
        session.add(ToolResult({"ratio": math.nan, "n": 3}, call_id="c1"))
    for format in FORMATS:
        assert_valid(format, session.request(format))
        json.dumps(session.request(format), allow_nan=False)
    for file in (tmp_path / "sessions").glob("*.jsonl"):
        for line in file.read_text("utf-8").splitlines():
            json.loads(line, parse_constant=pytest.fail)


@of("092-log-duplicate-seq-two-writers")
def test_two_writers_at_one_position(store: JsonlStore, tmp_path: Path) -> None:
    """Nothing is raised or lost: the branch that was gone on with is read, the other record is reported and kept
    aside, and the next position is a new one.
    """
    assert [record.get("writer") for record in records(store)] == [None, "B", "B"]
    assert [position for position, what in damage(store) if "another record at position 2" in what] == [2]
    assert store.append(ID, [NEXT]) == 4
    assert b"from writer A" in (tmp_path / "sessions" / f"{ID}.damaged-1").read_bytes()
    assert any(f"{ID}.damaged-1" in what for _, what in damage(store))


@of("096-log-missing-parent")
def test_a_parent_that_was_never_written(store: JsonlStore) -> None:
    """All records are in the history, and the hole before the third is reported."""
    assert [message.text for message in Session(store, ID)] == ["one", "two", "three", "four"]
    assert [(position, "does not follow" in what) for position, what in damage(store)] == [(3, True)]


@of("098-log-progress-events-fork")
def test_progress_is_no_part_of_the_history(store: JsonlStore) -> None:
    """The result is in the history, whatever hung below a progress event; progress is sent to no model."""
    session = Session(store, ID)
    assert [message.text for message in session] == ["go", "working", "ok", "next"]
    for format in FORMATS:
        assert_valid(format, session.request(format))
        assert "50%" not in json.dumps(session.request(format))
        assert "ok" in json.dumps(session.request(format))
