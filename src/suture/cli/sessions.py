"""Sessions of a store: `sessions` lists them, `show` one as a conversation, `request` what may be sent of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

import click

from suture.cli.console import FINE, FOUND, Page, Piece, as_json, command, in_line, print_json, quoted
from suture.cli.histories import FORMATS
from suture.cli.render import Transcript, call_text, decision_text, transcript
from suture.cli.stores import in_store, opened, session_at, shown

if TYPE_CHECKING:
    from suture import Approval, Child, Session, StartedCall, Store
    from suture.stores import SessionInfo, Status

STATUSES = ("running", "idle", "awaiting_approval", "unknown_outcome", "inbox_waiting", "abandoned")
COLOURS = {"running": "green", "idle": "dim", "abandoned": "red"}

_NEXT = {
    "Approvals": "`suture approvals` shows each with its digest, `suture approve` and `deny` decide.",
    "Outcome unknown": "Find out what became of each, and say it: completed, failed, or released if it did not happen.",
}

_PAGE = 500


# Listing --------------------------------------------------------------------------------------


@click.command()
@in_store
@click.option("--status", type=click.Choice(STATUSES), help="Only those of this status.")
@click.option("--meta", multiple=True, metavar="KEY=VALUE", help="Only those whose meta holds it; may be repeated.")
@click.option("--limit", type=click.IntRange(1, sys.maxsize), metavar="N", help="At most so many; all when left out.")
@click.option("--after", metavar="ID", help="Only those whose id comes behind this one, as the last of a page.")
@as_json
def sessions(
    url: str, status: Status | None, meta: tuple[str, ...], limit: int | None, after: str | None, as_json: bool
) -> int:
    """List the sessions of a store, in the order of their ids.

    A VALUE of --meta is JSON, such as 7 or true; what is no JSON is a text. With --limit, `next` of the document is the
    --after of the next page, null at the end.
    """
    from suture.session import as_read

    wanted = dict(map(_pair, meta))
    with opened(url) as store:
        ahead = None if limit is None else limit + 1
        page = list(islice(_all(store, status, wanted, after, ahead), ahead))
        found = [as_read(store, info) for info in page[:limit]]
    more = len(page) > len(found)
    if as_json:
        print_json({"sessions": [info_document(info) for info in found], "next": found[-1].id if more else None})
        return FINE
    if not found:
        Page(stderr=True).line(f"{shown(url)}: no sessions{_kind(status, wanted, after)}.")
        return FINE
    Page().table(("session", "status", "head", "needs runner", "updated"), [_row(info) for info in found])
    if damaged := [in_line(info.id) for info in found if info.damage]:
        Page(stderr=True).line(("Damaged: ", "red"), f"{', '.join(damaged)}; `suture show` says where.")
    if more:
        Page(stderr=True).line(("More follow: ", "dim"), f"--after {quoted(found[-1].id)}")
    return FINE


def _pair(text: str) -> tuple[str, object]:
    key, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f"{text!r} is no KEY=VALUE. Say, for example, user=ann.", param_hint="--meta")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _kind(status: Status | None, meta: Mapping[str, object], after: str | None) -> str:
    """Which sessions were asked for, in words behind a blank."""
    kinds = (
        f" of status {status}" if status else "",
        " with that meta" if meta else "",
        f" behind {after}" if after else "",
    )
    return "".join(kinds)


def _all(
    store: Store, status: Status | None, meta: Mapping[str, object], after: str | None, limit: int | None
) -> Iterator[SessionInfo]:
    while page := store.sessions(status=status, meta=meta, after=after, limit=min(_PAGE, limit or _PAGE)):
        yield from page
        after = page[-1].id


def _row(info: SessionInfo) -> tuple[Piece, ...]:
    unread = info.damage and not info.head
    status = ("unreadable", "red") if unread else (info.status, COLOURS.get(info.status, "yellow"))
    runner = ("yes", "yellow") if info.needs_runner else ("no", "dim")
    return (info.id, "bold"), status, str(info.head), runner, (info.updated_at, "dim")


def info_document(info: SessionInfo) -> dict[str, object]:
    """What a store knows of a session, as JSON."""
    return {
        "id": info.id,
        "status": info.status,
        "needs_runner": info.needs_runner,
        "head": info.head,
        "marks": dict(info.marks),
        "meta": dict(info.meta),
        "created_at": info.created_at,
        "updated_at": info.updated_at,
        "damage": [{"position": position, "what": what} for position, what in info.damage],
    }


# Showing --------------------------------------------------------------------------------------


@click.command()
@click.argument("session")
@in_store
@as_json
def show(session: str, url: str, as_json: bool) -> int:
    """Show SESSION, and all of it that waits for somebody."""
    with session_at(url, session) as handle:
        view = _View(handle, url)
    if as_json:
        print_json(view.document())
    else:
        view.tell(Page())
    return FOUND if view.info.damage else FINE


class _View:
    """All that `show` says of a session."""

    def __init__(self, session: Session, url: str) -> None:
        self.url = shown(url)
        calls = session.refresh().calls
        corrections = {key: call.correction for key, call in calls.items() if call.correction}
        decisions = {key: call.decision.body for key, call in calls.items() if call.decision}
        self.transcript: Transcript = transcript(session.replay(), corrections, decisions)
        self.approvals: list[Approval] = session.open_approvals()
        self.inbox = [message.text for message in session.pending_inbox()]
        self.unknown: list[StartedCall] = session.unknown_outcomes()
        self.running: list[StartedCall] = session.running_calls()
        self.findings = [{"seq": one.seq, "code": one.code, "sentence": one.sentence} for one in session.findings()]
        self.children: list[Child] = session.children()
        self.tokens = session.context_tokens
        self.compaction = session.last_compaction
        self.info: SessionInfo = session.info()
        self.forked_from = session.forked_from()

    def document(self) -> dict[str, object]:
        return {
            "session": info_document(self.info),
            "forked_from": None
            if self.forked_from is None
            else dict(zip(("session", "at"), self.forked_from, strict=True)),
            "messages": self.transcript.document(),
            "approvals": [approval_document(self.info.id, one) for one in self.approvals],
            "inbox": self.inbox,
            "unknown_outcomes": [_started_document(one) for one in self.unknown],
            "running_calls": [_started_document(one) for one in self.running],
            "children": [vars(one) for one in self.children],
            "context_tokens": self.tokens,
            "first_kept": None if self.compaction is None else self.compaction.first_kept,
            "findings": self.findings,
        }

    def tell(self, page: Page) -> None:
        info = self.info
        status = (info.status, COLOURS.get(info.status, "yellow"))
        runner = ", needs a runner" if info.needs_runner else ""
        page.line(
            (in_line(info.id), "bold"), "  ", status, (f"{runner}, {entries(info.head)}, updated {info.updated_at}", "dim")
        )
        if self.forked_from is not None:
            parent, at = self.forked_from
            page.line((f"a fork of {in_line(parent)}, whose first {at} entries it shares", "dim"))
        if info.meta:
            page.line((json.dumps(info.meta, ensure_ascii=False), "dim"), indent=2)
        if self.transcript.lines:
            page.line()
            waiting = {one.key: _waits(one) for one in self.approvals}
            self.transcript.tell(page, waiting | {one.key: f"running since {one.started_at}" for one in self.running})
        self._tell_waiting(page)

    def _tell_waiting(self, page: Page) -> None:
        sections: list[tuple[str, list[str]]] = [
            ("Approvals", [f"{one.key}  {call_text(one.call)}: {_waits(one)}" for one in self.approvals]),
            ("Running", [f"{one.key}  {call_text(one.call)}, since {one.started_at}" for one in self.running]),
            ("Inbox", self.inbox),
            ("Children", [f"{in_line(one.name)}  {in_line(one.id)}: {_ended(one)}" for one in self.children]),
            ("Findings", [f"entry {one['seq']}: {one['code']}: {one['sentence']}" for one in self.findings]),
            ("Damage", [f"{position}: {what}" for position, what in self.info.damage]),
            ("Outcome unknown", [_lost(one) for one in self.unknown]),
        ]
        for title, lines in sections:
            if lines:
                page.heading(title)
            for line in lines:
                page.line(line, indent=2)
            if lines and title in _NEXT:
                page.line((_NEXT[title], "dim"), indent=2)
        for one in self.unknown:
            settles = command("settle", self.info.id, one.key, "completed", "--store", self.url)
            page.line((settles, "cyan"), indent=2, whole=True)


def entries(count: int) -> str:
    """So many entries, in words."""
    return "1 entry" if count == 1 else f"{count} entries"


def _lost(one: StartedCall) -> str:
    return f"{one.key}  {call_text(one.call)}, started {one.started_at}, idempotency key {one.idempotency_key}"


def _ended(child: Child) -> str:
    said = child.error or child.report
    return f"{child.status}: {said}" if said else child.status


def is_late(approval: Approval) -> bool:
    """Whether nobody has decided, and nobody can any more."""
    from suture.entries import is_over
    from suture.session import now

    return approval.decision is None and is_over(approval.expires, now())


def _waits(approval: Approval) -> str:
    if is_late(approval):
        return f"nobody decided until {approval.expires}; the next run answers that it was not run"
    if approval.decision is None:
        return "waits for approval"
    return f"{decided(approval)}, waits for a run to take it up"


def decided(approval: Approval) -> str:
    """How a decided call was decided, in words."""
    return decision_text(approval.decision is True, approval.by, approval.edited, approval.note)


def approval_document(session: str, one: Approval) -> dict[str, object]:
    """A call that waits for a decision, as JSON; `decision` is null until there is one."""
    return {
        "session": session,
        "key": one.key,
        "call": {"id": one.call.id, "name": one.call.name, "arguments": one.call.arguments},
        "effect": one.effect,
        "description": one.description,
        "parameters": one.parameters,
        "digest": one.digest,
        "provenance": one.provenance,
        "requested_at": one.requested_at,
        "expires": one.expires,
        "decision": one.decision,
        "note": one.note,
        "by": one.by,
        "edited": None if one.edited is None else one.edited.arguments,
    }


def _started_document(one: StartedCall) -> dict[str, object]:
    return {
        "key": one.key,
        "call": {"id": one.call.id, "name": one.call.name, "arguments": one.call.arguments},
        "started_at": one.started_at,
        "attempt": one.attempt,
        "idempotency_key": one.idempotency_key,
    }


# Requests -------------------------------------------------------------------------------------


@click.command()
@click.argument("session")
@click.option("--format", "format", required=True, metavar="F", help=f"{FORMATS}.")
@in_store
@as_json
def request(session: str, format: str, url: str, as_json: bool) -> int:  # noqa: ARG001  it prints JSON either way
    """Print what may be sent of SESSION now."""
    with session_at(url, session) as handle:
        print_json(handle.request(format))
    return FINE
