"""What a chat shows of a conversation that it picks up: its end, and what waits for a person or a run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from suture.cli.chat.screen import Screen
from suture.cli.chat.setup import Setup
from suture.cli.chat.words import RECAP, bounded, call_words, result_piece
from suture.cli.console import Piece
from suture.cli.render import CallLine, Line, transcript

if TYPE_CHECKING:
    from suture import Approval, Message, StartedCall, User

_LAST = 6  # messages


def tell_recap(screen: Screen, pairs: list[tuple[Message, int | None]], waiting: Iterable[str]) -> None:
    """The last messages, calls beside their results; `waiting` are the keys of calls that wait for a person."""
    lines, keys = transcript(pairs).lines, set(waiting)
    if len(lines) > _LAST:
        screen.line((f"... {len(lines) - _LAST} messages before", "dim"))
    for line in lines[-_LAST:]:
        _tell_line(screen, line)
        for call in line.calls:
            screen.line(*_call(call, keys), indent=2)


def _tell_line(screen: Screen, line: Line) -> None:
    if line.role == "user":
        screen.line(("> ", "cyan"), bounded(line.words, RECAP))
    elif line.words:
        screen.line(bounded(line.words, RECAP))


def _call(line: CallLine, waiting: set[str]) -> tuple[Piece, ...]:
    beside: Piece = ("no result", "yellow")
    if line.key in waiting:
        beside = ("waits for a person", "yellow")
    elif line.answer is not None:
        beside = result_piece(line.answer)
    return (f"{line.key or '·'} ", "dim"), (call_words(line.call), "magenta"), ("  ->  ", "dim"), beside


def tell_inbox(screen: Screen, inbox: Iterable[User]) -> None:
    """Messages that the next run delivers."""
    for message in inbox:
        screen.line(("Not delivered yet: ", "yellow"), bounded(message.text, RECAP))


def tell_unknown(screen: Screen, setup: Setup, id: str, one: StartedCall) -> None:
    """A call of unknown outcome, and the command that settles it."""
    screen.line(("Outcome unknown: ", "yellow"), (f"{one.key} ", "dim"), (call_words(one.call), "magenta"))
    screen.line((f"It started at {one.started_at} and never answered. Find out what it did, then say so:", "dim"), indent=2)
    screen.line((setup.elsewhere("settle", id, one.key, "completed"), "cyan"), indent=2)
    screen.line(("or failed; or released if it did not happen, so that it runs.", "dim"), indent=2)


def tell_approval(screen: Screen, one: Approval) -> None:
    """A call that a person is to decide on, in full."""
    screen.line(
        ("May this run? ", "bold yellow"),
        (f"{one.key} ", "dim"),
        (one.call.name, "bold magenta"),
        ("  " + one.effect, "yellow"),
    )
    if one.description:
        screen.line(one.description, indent=2)
    if one.provenance:
        screen.line((f"changed before approval: {one.provenance}", "yellow"), indent=2)
    screen.line(json.dumps(one.call.arguments, ensure_ascii=False, indent=2), indent=2)
    if one.expires:
        screen.line((f"expires {one.expires}", "dim"), indent=2)


def tell_decision(screen: Screen, one: Approval) -> None:
    """A decision that somebody made elsewhere."""
    by = f" by {one.by}" if one.by else ""
    note = f": {one.note}" if one.note else ""
    screen.line(
        (f"{one.key} ", "dim"), one.call.name, f" was {'approved' if one.decision else 'denied'}{by}, elsewhere{note}"
    )


def tell_parked(screen: Screen, setup: Setup, id: str, one: Approval) -> None:
    """A call that was put off, and how it is decided from any process."""
    screen.line(("Waits for a person: ", "yellow"), (f"{one.key} ", "dim"), (call_words(one.call), "magenta"))
    screen.line(("Decide it in chat with /approvals, or from anywhere with", "dim"), indent=2)
    screen.line((setup.elsewhere("approve", id, one.key), "cyan"), indent=2)
    screen.line(("or deny.", "dim"), indent=2)
