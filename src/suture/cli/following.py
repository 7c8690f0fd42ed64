"""`suture tail`: a log as it grows, entry by entry."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from suture.cli.console import FINE, Page, is_read, json_bytes, write
from suture.cli.stores import in_store, session_at

if TYPE_CHECKING:
    from suture import Session
    from suture.stores import Entry

_LAST = 10
_PAGE = 500
_PATIENCE = 2.0  # seconds; so long a reader that went away is not noticed
_WIDTH = 400

_STYLES = {"message": "bold", "approval_request": "yellow", "approval_decision": "green", "interrupt": "red"}


@click.command()
@click.argument("session")
@in_store
@click.option(
    "--after", type=click.IntRange(min=0), metavar="SEQ", help=f"Begin behind this entry, not {_LAST} before the end."
)
@click.option("--json", "as_json", is_flag=True, help="Print each entry as a line of JSON and nothing else.")
def tail(session: str, url: str, after: int | None, as_json: bool) -> int:
    """Follow the log of SESSION as it grows.

    Its last entries are shown, then each as it is written, by whatever process. Ctrl-C ends it, and so does the end of
    whoever reads it, such as `grep -m1 run_finished`.
    """
    with session_at(url, session) as handle:
        begin = max(handle.info().head - _LAST, 0) if after is None else after
        try:
            _follow(handle, begin, as_json)
        except KeyboardInterrupt:
            return FINE
    return FINE


def _follow(session: Session, after: int, as_json: bool) -> None:
    page = Page()
    while is_read():
        for entry in session.log.read(after=after, limit=_PAGE):
            if as_json:
                write(json_bytes(_document(entry), indent=None))
            else:
                page.line(
                    (f"{entry.seq:>4}  {_clock(entry.at)}  ", "dim"), (f"{entry.kind}  ", _style(entry)), words_of(entry)
                )
            after = entry.seq
        session.log.news(after, _PATIENCE)


def _document(entry: Entry) -> dict[str, object]:
    return {
        "seq": entry.seq,
        "id": entry.id,
        "kind": entry.kind,
        "at": entry.at,
        "epoch": entry.epoch,
        "opens": entry.opens,
        "closes": entry.closes,
        "erased": bool(entry.erased),
        "body": entry.data,
    }


def _clock(at: str) -> str:
    """The time of day, UTC, where the text has one."""
    return at[11:19] if len(at) > 19 else at


def _style(entry: Entry) -> str:
    return _STYLES.get(entry.kind, "dim")


def words_of(entry: Entry) -> str:
    """An entry in one line; what is not known of it as JSON."""
    if entry.erased:
        return "(erased)"
    if entry.is_lost:
        return "(missing up to here)"
    words = " ".join(_said(entry.kind, entry.data).split())
    return words if len(words) <= _WIDTH else f"{words[:_WIDTH]}…"


def _said(kind: str, body: object) -> str:
    match kind, body:
        case "message", {"message": dict(message)}:
            return f"{message.get('role')}: {_message(message)}"
        case "steer" | "child_report", {"message": dict(message)}:
            return _message(message)
        case "approval_request", {"key": key, "call": call}:
            return f"{key} {_call(call)} waits for a person"
        case "approval_decision", {"key": key, **decision}:
            verdict = "approved" if decision.get("approved") is True else "denied"
            return f"{key} {verdict}{_by(decision)}{_because(decision, 'note')}"
        case "tool_started", {"key": key, "attempt": attempt, "effect": effect}:
            return f"{key} attempt {attempt}, {effect}"
        case "settlement", {"key": key, "outcome": outcome, **more}:
            return f"{key} {outcome}{_by(more)}"
        case "correction", {"key": key, **more}:
            return f"{key} {_call(more.get('call'))}{_by(more)}{_because(more, 'reason')}"
        case "interrupt", dict(stop):
            return f"stop{_by(stop)}{_because(stop, 'reason')}"
        case "run_started", {"run": run}:
            return f"run {run}"
        case "edit", {"target": target, "changes": changes}:
            return f"entry {target}: {json.dumps(changes, ensure_ascii=False)}"
        case "removal", {"targets": list(targets)}:
            return f"without {', '.join(map(str, targets))}"
        case "reset", dict():
            return "all before is put aside"
        case "run_finished", {"status": status, **more}:
            return f"{status}{_because(more, 'error')}"
        case "retry", {"attempt": attempt, "error": error, "delay": delay}:
            return f"attempt {attempt} failed, again in {delay} s: {error}"
        case "fork", {"parent": parent, "at": at}:
            return f"of {parent}, which it shares up to {at}"
        case "compaction", {"first_kept": first, "summary": summary}:
            return f"all before {first} is summarised: {summary}"
        case _:
            return json.dumps(body, ensure_ascii=False)


def _message(message: dict[object, object]) -> str:
    parts = message.get("parts")
    return " ".join(_part(part) for part in parts) if isinstance(parts, list) else ""


def _part(part: object) -> str:
    match part:
        case {"type": "text", "text": str(words)}:
            return words
        case {"type": "tool_call"}:
            return f"-> {_call(part)}"
        case {"type": str(kind)}:
            return f"[{kind}]"
        case _:
            return "[?]"


def _call(call: object) -> str:
    match call:
        case {"name": name, "arguments": dict(arguments)}:
            given = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in arguments.items())
            return f"{name}({given})"
        case {"name": name, **more}:
            return f"{name}({more.get('raw') or ''})"
        case _:
            return ""


def _by(body: dict[object, object]) -> str:
    return f" by {body['by']}" if body.get("by") else ""


def _because(body: dict[object, object], key: str) -> str:
    return f": {body[key]}" if body.get(key) else ""
