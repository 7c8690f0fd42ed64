"""The calls of a log, by key, and the blocks of a conversation that they stand in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from suture.canonical import canonical
from suture.entries import (
    ApprovalDecision,
    ApprovalRequest,
    Correction,
    Settlement,
    ToolStarted,
    call_digest,
    call_key,
    call_marks,
    is_repeatable,
    is_time,
)
from suture.messages import Assistant, Message, Text, ToolCall, ToolResult
from suture.pairing import Turn

# So many calls are named in an error.
_NAMED = 20

CallStatus: TypeAlias = Literal["pending", "started", "parked", "decided", "answered", "settled"]


class Request(NamedTuple):
    """An approval request, and where it stands."""

    seq: int
    at: str
    body: ApprovalRequest


class Decision(NamedTuple):
    """The decision that counts, and where it stands."""

    seq: int
    body: ApprovalDecision


class Attempt(NamedTuple):
    """The last start of a call's handler, and where it stands."""

    seq: int
    at: str
    epoch: int
    body: ToolStarted


# No collector walks what a long log is made of (`gc=False`), so none of it may lead back to itself: a call knows its turn's
# seq, and not the turn.
class Call(msgspec.Struct, gc=False, eq=False):
    """One call of the log, by key, and all that the log knows of it.

    `paired` is its turn as results find it, and `slot` its place there; `name` is its wire id, once in a session; `by_loop`
    whether a run wrote it; `results` the seqs of all results that came for it. `correction` is the last that was made of
    it; `refused` says why its authority is in doubt, `reason` why the run that should have run it stopped; `answered_at`
    where its first answer stands that came behind it; `gone` that it is no part of the conversation any more.
    """

    key: str
    call: ToolCall
    paired: Turn
    slot: int
    name: str
    by_loop: bool
    gone: bool = False
    results: tuple[int, ...] = ()
    correction: Correction | None = None
    request: Request | None = None
    decision: Decision | None = None
    attempt: Attempt | None = None
    settlement: Settlement | None = None
    released: bool = False
    refused: str | None = None
    reason: str | None = None
    answered_at: int | None = None

    @staticmethod
    def at(paired: Turn, slot: int, name: str, *, by_loop: bool) -> Call:
        """The call at that place of a turn."""
        return Call(call_key(paired.position, slot), paired.calls[slot], paired, slot, name, by_loop)

    @property
    def seq(self) -> int:
        """Where the message stands that makes the call."""
        return self.paired.position

    def change(self, call: ToolCall) -> None:
        """The call is another one, by an edit: what was made of the old one says nothing of it."""
        self.call = call
        self.correction = self.request = self.decision = None

    @property
    def all_marks(self) -> tuple[str, ...]:
        """All marks that its answer closes."""
        return call_marks(self.key, self.request.body.expires if self.request is not None else None)

    @property
    def answered(self) -> bool:
        """Whether a result is recorded."""
        return self.paired.answers[self.slot] is not None

    @property
    def reach(self) -> tuple[int, int]:
        """The first and the last of the seqs at which the call stands, and all results that came for it, counted or not."""
        seqs = (self.seq, self.answered_at or self.seq, *self.results[:1], *self.results[-1:])
        return min(seqs), max(seqs)

    @property
    def status(self) -> CallStatus:
        """Where the call stands: an answer outranks a start, a start a decision, a decision a request."""
        if self.answered:
            return "answered" if self.settlement is None else "settled"
        if self.attempt is not None and not self.released:
            return "started"
        if self.decision is not None:
            return "decided"
        return "parked" if self.request is not None else "pending"

    @property
    def outcome_unknown(self) -> bool:
        """Whether it started, never answered, and must not be repeated without a person."""
        if self.status != "started" or self.attempt is None:
            return False
        return not is_repeatable(self.attempt.body.effect) or not self.authorised

    @property
    def authorised(self) -> bool:
        """Whether it may run at all: no approval was asked for, or one was given, and nothing is in doubt."""
        approved = self.decision is not None and self.decision.body.approved
        return self.refused is None and (self.request is None or approved)

    @property
    def corrected(self) -> ToolCall:
        """The call as it was corrected, or as the model made it."""
        correction = self.correction
        return correction.call if correction is not None and correction.call is not None else self.call

    @property
    def edited(self) -> ToolCall | None:
        """The call as a reviewer made it; None when nobody edited it."""
        return self.decision.body.call if self.decision is not None else None

    @property
    def prepared(self) -> ToolCall:
        """The call that may run: as a reviewer edited it, as it was prepared for approval, or as it was corrected."""
        if self.edited is not None:
            return self.edited
        return self.request.body.call if self.request is not None else self.corrected


class Single(msgspec.Struct, gc=False, eq=False):
    """A message of the conversation that asks for no calls."""

    seq: int
    message: Message
    at: int = 0


class TurnBlock(msgspec.Struct, gc=False, eq=False):
    """An assistant message with calls, in the order in which it makes them, and what answers them."""

    seq: int
    message: Assistant
    paired: Turn
    by_loop: bool
    calls: tuple[Call, ...] = ()
    at: int = 0


Block: TypeAlias = Single | TurnBlock


def named(calls: Sequence[Call]) -> str:
    """Calls as an error names them: each by key and tool, the first ones of many."""
    words = ", ".join(f"{call.key} ({call.call.name})" for call in calls[:_NAMED]) or "none"
    return words if len(calls) <= _NAMED else f"{words} and {len(calls) - _NAMED} more"


# Rules ----------------------------------------------------------------------------------------


def settled_result(call: Call, body: Settlement) -> ToolResult:
    """The result that a settlement gives a call."""
    return ToolResult(
        parts=body.content or (Text(_settled_text(body)),),
        id=f"settled:{call.key}",
        call_id=call.call.id,
        name=call.corrected.name,
        error=body.outcome == "failed",
        error_type="settled" if body.outcome == "failed" else None,
    )


def _settled_text(body: Settlement) -> str:
    by = f", as {body.by} found out" if body.by else ""
    return f"This call {'has completed' if body.outcome == 'completed' else 'has failed'}{by}. Its own result was lost."


def own(call: ToolCall) -> ToolCall:
    """A copy that shares nothing which anybody could change."""
    return msgspec.structs.replace(call, arguments=_copied(call.arguments))


def _copied(value: object) -> object:
    """A copy of plain JSON, in a fifth of the time of `deepcopy`; every call pays it."""
    if type(value) is dict:
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if type(value) is list else value


def is_edit_of(call: ToolCall, decision: ApprovalDecision) -> bool:
    """Whether a decision's own call is that call with other arguments, under the digest that the decision names."""
    edited = decision.call
    if edited is None or edited.arguments is None or (edited.id, edited.name) != (call.id, call.name):
        return False
    return decision.edited == call_digest(edited)


def doubt_about(call: Call, body: ApprovalRequest) -> str | None:
    """Why a request may not speak for its call; None when it may."""
    if call.request is not None:
        return "an approval was asked for twice"
    if call_digest(body.call) != body.digest:
        return "the approval request does not match its own digest"
    if body.expires is not None and not is_time(body.expires):
        return f"the approval request expires at {body.expires!r}, which is no time"
    if (body.call.id, body.call.name) != (call.call.id, call.corrected.name):
        return "the approval request names another call"
    if body.provenance is None and canonical(body.call.arguments) != canonical(call.corrected.arguments):
        return "the approval request holds other arguments than the call"
    return None
