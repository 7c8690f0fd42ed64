"""What the open marks say of a session, as tables."""

from __future__ import annotations

from itertools import chain, combinations
from typing import get_args

import pytest

from suture.entries import MarkKind
from suture.stores.base import Claim, SessionInfo, Status, boundary_of, needs_runner, status_of, statuses_with

NEEDS_RUNNER = [
    ("", False),
    ("boundary:7", False),
    ("run:a", True),
    ("decided:1:0", True),
    ("settled:1:0", True),
    ("inbox:m", True),
    ("approval:1:0", False),
    ("started:1:0", False),
    ("approval:1:0 started:1:1", False),
    ("inbox:m approval:1:0", False),
    ("inbox:m started:1:0", False),
    ("inbox:m boundary:7", True),
    ("decided:1:0 approval:1:1", True),
    ("settled:1:0 started:1:1", True),
    ("run:a approval:1:0", True),
    ("inbox:m approval:1:0 decided:1:1", True),
    ("runner:a", False),
    ("note:run:a", False),
]

STATUS: list[tuple[str, Status]] = [
    ("", "idle"),
    ("boundary:7", "idle"),
    ("note:x", "idle"),
    ("run:a", "abandoned"),
    ("run:a approval:1:0 started:1:1 inbox:m", "abandoned"),
    ("approval:1:0", "awaiting_approval"),
    ("approval:1:0 started:1:1 inbox:m decided:1:2", "awaiting_approval"),
    ("started:1:0", "unknown_outcome"),
    ("started:1:0 inbox:m settled:1:1", "unknown_outcome"),
    ("inbox:m", "inbox_waiting"),
    ("decided:1:0", "inbox_waiting"),
    ("settled:1:0", "inbox_waiting"),
]


def marks_of(text: str) -> dict[str, int]:
    return {mark: seq for seq, mark in enumerate(text.split(), 1)}


@pytest.mark.parametrize(("marks", "expected"), NEEDS_RUNNER)
def test_needs_runner(marks: str, expected: bool) -> None:
    """A run that was cut off, a decision, a settlement, or an inbox that nothing holds up."""
    assert needs_runner(marks_of(marks)) is expected
    assert SessionInfo("s", marks=marks_of(marks)).needs_runner is expected


LATE, NOON, EARLY = "2026-01-02T12:00:00.001Z", "2026-01-02T12:00:00.000Z", "2026-01-02T11:59:59.999Z"

EXPIRY = [
    (f"approval:1:0 expires:1:0:{NOON}", EARLY, False),
    (f"approval:1:0 expires:1:0:{NOON}", NOON, False),
    (f"approval:1:0 expires:1:0:{NOON}", LATE, True),
    (f"approval:1:0 expires:1:0:{NOON}", "", False),
    (f"approval:1:0 approval:1:1 expires:1:1:{NOON}", LATE, True),
    (f"approval:1:0 expires:1:1:{NOON}", LATE, False),
    (f"expires:1:0:{NOON}", LATE, False),
    (f"inbox:m approval:1:0 expires:1:0:{NOON}", EARLY, False),
    (f"inbox:m approval:1:0 expires:1:0:{NOON}", LATE, True),
    ("approval:1:0 expires:1:0:noon", LATE, False),
    ("approval:1:0 expires:1:0 expires: expires", LATE, False),
]


@pytest.mark.parametrize(("marks", "at", "expected"), EXPIRY)
def test_a_request_that_expired_needs_a_runner(marks: str, at: str, expected: bool) -> None:
    """Once nobody can decide any more a run has to answer the call; what is decided or answered, or no time, needs none."""
    assert needs_runner(marks_of(marks), at) is expected


def test_whether_it_expired_goes_by_the_clock() -> None:
    """What a store says of a session is held to the time at which somebody asks."""
    for year, expected in (("2000", True), ("9999", False)):
        info = SessionInfo("s", marks=marks_of(f"approval:1:0 expires:1:0:{year}-01-02T12:00:00.000Z"))
        assert (info.needs_runner, info.status) == (expected, "awaiting_approval")
        claimed = SessionInfo("s", marks=info.marks, claim=Claim("s", "me", 1, 0.0))
        assert not claimed.needs_runner


@pytest.mark.parametrize(("marks", "expected"), STATUS)
def test_status(marks: str, expected: Status) -> None:
    """What the session does or waits for; a live runner comes before all."""
    assert status_of(marks_of(marks), running=False) == expected
    assert status_of(marks_of(marks), running=True) == "running"
    assert SessionInfo("s", marks=marks_of(marks)).status == expected


BOUNDARIES = [
    ("", 0),
    ("run:9", 0),
    ("boundary:7", 7),
    ("boundary:7 boundary:30", 30),
    # Any host can write a mark; one that is none of suture's stops no listing.
    (f"boundary:7 boundary:{'9' * 5000} boundary:08 boundary:\u0669 boundary:x boundary:", 7),
]


@pytest.mark.parametrize(("marks", "expected"), BOUNDARIES)
def test_boundary(marks: str, expected: int) -> None:
    """The first kept seq of the last compaction."""
    assert boundary_of(marks_of(marks)) == expected


@pytest.mark.parametrize("kind", get_args(MarkKind))
def test_what_has_a_mark_is_among_its_statuses(kind: MarkKind) -> None:
    """Whatever else is open and whether it runs, a session is listed under one of the statuses that its mark allows for."""
    others = [each for each in get_args(MarkKind) if each != kind]
    for chosen in chain.from_iterable(combinations(others, count) for count in range(len(others) + 1)):
        for running in (True, False):
            marks = {f"{each}:1": 1 for each in (kind, *chosen)}
            assert status_of(marks, running=running) in statuses_with(kind)
    assert len(statuses_with(kind)) == len(set(statuses_with(kind)))
