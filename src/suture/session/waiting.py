"""What waits for a person: calls to decide, and calls whose outcome nobody knows."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass

import msgspec

from suture.arguments import parse
from suture.entries import ApprovalRequest, Effect, call_digest
from suture.errors import AlreadyDecided, AmbiguousCall, InvalidEdit, NoSuchApproval
from suture.messages import ToolCall
from suture.replay import Call, State, named, own
from suture.tools import schema_violations


@dataclass(frozen=True)
class Approval:
    """A call that waits for a decision, or for a run to take its decision up.

    Of a decided one `decision` is set, with the `note`, `by` and `edited` (the call that a reviewer made of it) of whoever
    decided.
    """

    key: str
    call: ToolCall
    digest: str
    effect: Effect
    description: str
    parameters: dict[str, object] | None
    provenance: str | None
    requested_at: str
    expires: str | None
    decision: bool | None = None
    note: str | None = None
    by: str | None = None
    edited: ToolCall | None = None


@dataclass(frozen=True)
class StartedCall:
    """A call that started and has no result: it is running, or its outcome is unknown."""

    key: str
    call: ToolCall
    started_at: str
    attempt: int
    idempotency_key: str


def approval_of(call: Call) -> Approval:
    """What a person is shown of a call that an approval was asked for."""
    assert call.request is not None
    body = call.request.body
    decided = call.decision.body if call.decision is not None else None
    return Approval(
        key=call.key,
        call=own(body.call),
        digest=body.digest,
        effect=body.effect,
        description=body.description,
        parameters=deepcopy(body.parameters),
        provenance=body.provenance,
        requested_at=call.request.at,
        expires=body.expires,
        decision=decided.approved if decided else None,
        note=decided.note if decided else None,
        by=decided.by if decided else None,
        edited=own(decided.call) if decided and decided.call else None,
    )


def started_call_of(call: Call) -> StartedCall:
    """What a person is shown of a call that started."""
    assert call.attempt is not None
    started = call.attempt.body
    return StartedCall(call.key, own(call.prepared), call.attempt.at, started.attempt, started.idempotency_key)


# Finding the call that is meant ----------------------------------------------------------------


def _one_call(found: list[Call], name: str) -> Call:
    """The one call that was found; several are AmbiguousCall."""
    if len(found) > 1:
        keys = [call.key for call in found]
        raise AmbiguousCall(f"The id {name!r} fits several calls: {', '.join(keys)}. Name one by its key.", keys)
    return found[0]


def gated_call(state: State, name: str) -> Call:
    """The call of that name which an approval was asked for; of several the one that is still open."""
    asked = [call for call in state.find_calls(name) if call.request is not None and call.refused is None]
    waiting = [call for call in asked if not call.answered]
    if not asked:
        waits = named(state.waiting_calls())
        raise NoSuchApproval(f"No call {name!r} waits for a decision. Those that wait: {waits}.")
    return _one_call(waiting or asked[-1:], name)


def lost_call(state: State, name: str) -> Call:
    """The call of that name whose outcome is unknown."""
    found = state.find_calls(name)
    lost = [call for call in found if call.outcome_unknown]
    if not lost:
        what = _not_lost(found[-1]) if found else f"No call {name!r} waits for a settlement."
        raise InvalidEdit(f"{what} Those that wait: {named(state.unknown_outcomes())}.")
    return _one_call(lost, name)


def _not_lost(call: Call) -> str:
    made = call.settlement
    if made is None:
        return f"The call {call.key} ({call.call.name}) is {call.status}, and waits for no settlement."
    by = f" by {made.by}" if made.by else ""
    return f"The call {call.key} ({call.call.name}) was settled as {made.outcome}{by} before, and that stands."


def edited_call(request: ApprovalRequest, arguments: Mapping[str, object] | None) -> ToolCall | None:
    """The call with a reviewer's arguments, None when they change nothing; they must fit the schema of the request."""
    if arguments is None:
        return None
    if not isinstance(arguments, Mapping):
        raise InvalidEdit(f"The edited arguments are an object, such as {{'total': 5}}, not {arguments!r:.80}.")
    checked, _, reason = parse(dict(arguments))
    if checked is None:
        raise InvalidEdit(f"The edited arguments cannot be used: {reason}")
    edited = msgspec.structs.replace(request.call, arguments=checked, raw=None, error=None)
    if call_digest(edited) == request.digest:
        return None
    if request.parameters is not None and (wrong := schema_violations(request.parameters, checked)):
        raise InvalidEdit(f"The edited arguments do not fit {request.call.name!r}: {'; '.join(wrong[:8])}.")
    return edited


def _seal(call: ToolCall | None) -> str | None:
    """What an edit is compared by: 1, 1.0 and true are not the same."""
    return None if call is None else call_digest(call)


def check_repeat(call: Call, *, approved: bool, edited: ToolCall | None) -> None:
    """A decision on a decided call is nothing when it says the same, and refused when it does not."""
    assert call.decision is not None
    made = call.decision.body
    if made.approved is not approved or (approved and _seal(edited) != _seal(made.call)):
        how = "denied" if not made.approved else "approved" if made.call is None else "approved with other arguments"
        by = f" by {made.by}" if made.by else ""
        raise AlreadyDecided(f"The call {call.key} ({call.call.name}) was {how}{by} before, and that decision stands.")
