"""What people do to sessions, from any process: decide on calls, steer, interrupt, settle. None of it needs an agent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

import click

from suture.cli.console import FINE, Page, as_json, command, in_line, print_json
from suture.cli.render import call_text
from suture.cli.sessions import approval_document, is_late
from suture.cli.stores import in_store, opened, session_at, shown

if TYPE_CHECKING:
    from suture import Approval, Session
    from suture.stores import Entry

by_whom = click.option("--by", metavar="WHO", help="Who decides; it is recorded.")
with_note = click.option("--note", metavar="TEXT", help="Why; of a denial the model reads it.")
with_digest = click.option("--digest", metavar="D", help="Decide only if the call still has this digest.")


# Approvals ------------------------------------------------------------------------------------


@click.command()
@click.argument("session", required=False)
@in_store
@as_json
def approvals(session: str | None, url: str, as_json: bool) -> int:
    """List the calls that wait for a person.

    Of all sessions those are listed on which nobody has decided; of one SESSION also those that are decided, until a run
    takes the decision up.
    """
    import suture

    if session is None:
        with opened(url) as store:
            waiting = suture.open_approvals(store)
    else:
        with session_at(url, session) as handle:
            waiting = [(session, one) for one in handle.open_approvals()]
    if as_json:
        print_json({"approvals": [approval_document(id, one) for id, one in waiting]})
        return FINE
    for id, one in waiting:
        _tell_approval(Page(), id, one, url)
    if not waiting:
        Page(stderr=True).line("No call waits for a person.")
    return FINE


def _tell_approval(page: Page, session: str, one: Approval, url: str) -> None:
    page.line((one.key, "bold"), "  ", call_text(one.call), ("  " + one.effect, "yellow"))
    if one.description:
        page.line(one.description, indent=2)
    if one.provenance:
        page.line(f"changed before approval: {one.provenance}", indent=2)
    page.line((f"session {in_line(session)}, wire id {in_line(one.call.id)}, asked {one.requested_at}", "dim"), indent=2)
    page.line((f"digest {one.digest}", "dim"), indent=2)
    if one.decision is not None:
        page.line((f"{'approved' if one.decision else 'denied'}; the next run takes it up", "green"), indent=2)
    elif is_late(one):
        page.line((f"expired {one.expires}; the next run answers that it was not run", "yellow"), indent=2)
    else:
        if one.expires:
            page.line((f"expires {one.expires}", "yellow"), indent=2)
        page.line((command("approve", session, one.key, "--store", shown(url)), "cyan"), indent=2, whole=True)


# Decisions ------------------------------------------------------------------------------------


@click.command()
@click.argument("session")
@click.argument("call")
@in_store
@with_note
@by_whom
@click.option("--arguments", metavar="JSON", help="Let it run with these arguments instead.")
@with_digest
@as_json
def approve(
    session: str,
    call: str,
    url: str,
    note: str | None,
    by: str | None,
    arguments: str | None,
    digest: str | None,
    as_json: bool,
) -> int:
    """Let CALL of SESSION run.

    CALL is its key, such as 12:0, or its wire id; `suture approvals` shows both. The next run takes it up.
    """
    edited = None if arguments is None else _object(arguments)
    with session_at(url, session) as handle:
        entry = handle.approve(call, note=note, by=by, arguments=edited, digest=digest)
        key, maker = _decided(handle, call, entry)
    _tell_decision(session, key, maker, "approved", entry, as_json)
    return FINE


@click.command()
@click.argument("session")
@click.argument("call")
@in_store
@with_note
@by_whom
@with_digest
@as_json
def deny(session: str, call: str, url: str, note: str | None, by: str | None, digest: str | None, as_json: bool) -> int:
    """Say no to CALL of SESSION; the model reads the note."""
    with session_at(url, session) as handle:
        entry = handle.deny(call, note=note, by=by, digest=digest)
        key, maker = _decided(handle, call, entry)
    _tell_decision(session, key, maker, "denied", entry, as_json)
    return FINE


def _object(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise click.BadParameter(
            f"not JSON: {error}. Say, for example, '{{\"total\": 100}}'.", param_hint="--arguments"
        ) from error
    if not isinstance(value, dict):
        raise click.BadParameter("not a JSON object. Say, for example, '{\"total\": 100}'.", param_hint="--arguments")
    return value


def _decided(session: Session, call: str, entry: Entry | None) -> tuple[str, str | None]:
    """The key of the call that was decided, and who did: with that entry, or before."""
    name = _key_of(entry) or call
    made = [one.decision.body for one in session.refresh().find_calls(name) if one.decision is not None]
    return (made[-1].key, made[-1].by) if made else (name, None)


def _tell_decision(session: str, key: str, by: str | None, decision: str, entry: Entry | None, as_json: bool) -> None:
    if as_json:
        seq = None if entry is None else entry.seq
        print_json({"session": session, "call": key, "decision": decision, "repeat": entry is None, "seq": seq})
    elif entry is None:
        Page().line(
            f"{key} of {in_line(session)} was {decision}{f' by {in_line(by)}' if by else ''} before; "
            "nothing had to be written."
        )
    else:
        Page().line((f"{key} of {in_line(session)} is {decision}", "green"), "; the next run takes it up.")


def _key_of(entry: Entry | None) -> str | None:
    body = None if entry is None else entry.data
    key = body.get("key") if isinstance(body, dict) else None
    return key if isinstance(key, str) else None


# Steering and stopping ------------------------------------------------------------------------


@click.command()
@click.argument("session")
@click.argument("text")
@in_store
@click.option("--expected-turn", metavar="ID", help="Only while the user message of this id is the last one.")
@as_json
def steer(session: str, text: str, url: str, expected_turn: str | None, as_json: bool) -> int:
    """Leave TEXT for the model of SESSION.

    The run that is on delivers it with its next request, or the next run does.
    """
    with session_at(url, session) as handle:
        id = handle.steer(text, expected_turn=expected_turn)
        running = handle.info().status == "running"
    if as_json:
        print_json({"session": session, "inbox": id, "running": running})
    else:
        Page().line(
            f"The run of {in_line(session)} that is on delivers it, or the next one when it ends or waits for a person "
            "first."
            if running
            else f"The next run of {in_line(session)} delivers it."
        )
    return FINE


@click.command()
@click.argument("session")
@in_store
@click.option("--reason", metavar="TEXT", help="Why; of a call that is left without a result the model reads it.")
@by_whom
@as_json
def interrupt(session: str, url: str, reason: str | None, by: str | None, as_json: bool) -> int:
    """Stop the run of SESSION, wherever it is."""
    with session_at(url, session) as handle:
        running = handle.info().status == "running"
        entry = handle.interrupt(reason=reason, by=by)
    if as_json:
        print_json({"session": session, "running": running, "seq": entry.seq})
    elif running:
        Page().line(f"The run of {in_line(session)} was asked to stop.")
    else:
        Page().line(f"No run of {in_line(session)} is on; there was nothing to stop.")
    return FINE


# Outcomes -------------------------------------------------------------------------------------


@click.command()
@click.argument("session")
@click.argument("call")
@click.argument("outcome", type=click.Choice(["completed", "failed", "released"]))
@in_store
@click.option("--content", metavar="TEXT", help="What the call brought; the model reads it as its result.")
@by_whom
@click.option("--force", is_flag=True, help="Release it although the attempt may still be running.")
@as_json
def settle(
    session: str,
    call: str,
    outcome: Literal["completed", "failed", "released"],
    url: str,
    content: str | None,
    by: str | None,
    force: bool,
    as_json: bool,
) -> int:
    """Say what became of CALL, which never answered.

    CALL had started when its run was cut off, and must not be repeated unchecked; `suture show` lists such calls.
    completed and failed answer it; released says that it did not happen, so that the next run runs it.
    """
    with session_at(url, session) as handle:
        entry = handle.settle(call, outcome, content=content, by=by, force=force)
    key = _key_of(entry) or call
    if as_json:
        print_json({"session": session, "call": key, "outcome": outcome, "seq": entry.seq})
    else:
        Page().line((f"{key} of {in_line(session)} is settled as {outcome}", "green"), "; the next run goes on with it.")
    return FINE
