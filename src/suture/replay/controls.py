"""What is done about a call: its starts, the requests for approval and the decisions on them, corrections, settlements.

A decision counts only for the request, key and digest that it names, and a call whose authority is in doubt is never run.
Of an entry that cannot be read its key and its marks count, on the side of caution.
"""

from __future__ import annotations

from suture.entries import (
    ApprovalDecision,
    ApprovalRequest,
    Correction,
    Entry,
    Settlement,
    ToolStarted,
    is_over,
    plain,
    split_mark,
)
from suture.repair import stand_in
from suture.replay.calls import Attempt, Call, Decision, Request, doubt_about, is_edit_of, settled_result
from suture.replay.conversation import Conversation


def fold_start(talk: Conversation, entry: Entry, body: ToolStarted) -> None:
    """Take in that a handler was started."""
    call = talk.calls.get(body.key)
    if call is None:
        talk.find(entry.seq, "CALL_UNKNOWN", f"a handler started for {talk.unknown(body.key)}")
        return
    call.attempt = Attempt(entry.seq, entry.at, entry.epoch, body)
    call.released = False
    talk.timeline.forget(call.seq)


def fold_request(talk: Conversation, entry: Entry, body: ApprovalRequest) -> None:
    """Take in that a person was asked."""
    call = talk.calls.get(body.key)
    if call is None:
        talk.find(entry.seq, "APPROVAL_INVALID", f"an approval is asked for {talk.unknown(body.key)}")
        return
    if call.answered:
        talk.find(entry.seq, "APPROVAL_INVALID", f"an approval is asked for {body.key}, which is answered")
        return
    if doubt := doubt_about(call, body):
        call.refused = doubt
        talk.find(entry.seq, "APPROVAL_INVALID", f"{body.key} will not run: {doubt}")
    else:
        call.request = Request(entry.seq, entry.at, body)
    talk.timeline.forget(call.seq)


def fold_decision(talk: Conversation, entry: Entry, body: ApprovalDecision) -> None:
    """Take in what a person decided: the first decision on a request that had not expired counts."""
    seq = entry.seq
    call = talk.calls.get(body.key)
    request = call.request if call is not None else None
    if call is None or request is None or (body.request, body.digest) != (request.seq, request.body.digest):
        talk.find(seq, "DECISION_INVALID", f"the decision on {body.key} names no request of this log and is not used")
    elif body.call is not None and not is_edit_of(request.body.call, body):
        talk.find(seq, "DECISION_INVALID", f"the decision on {body.key} puts another call in its place and is not used")
    elif call.decision is not None or call.answered:
        talk.find(seq, "DECISION_LATE", f"{body.key} was decided before; this decision is not used")
    elif is_over(request.body.expires, entry.at):
        talk.find(seq, "DECISION_LATE", f"the request for {body.key} had expired; this decision is not used")
    else:
        call.decision = Decision(seq, body)
        talk.timeline.forget(call.seq)


def fold_correction(talk: Conversation, seq: int, body: Correction) -> None:
    """Take in what was made of a call, or why nothing could be."""
    call = talk.calls.get(body.key)
    if call is None or call.status != "pending" or (body.call is not None and body.call.id != call.call.id):
        talk.find(seq, "CORRECTION_INVALID", f"{body.key} waits for no such correction; this one is not used")
        return
    call.correction = body
    talk.timeline.forget(call.seq)


def fold_settlement(talk: Conversation, seq: int, body: Settlement) -> None:
    """Take in what became of a call that had started."""
    call = talk.calls.get(body.key)
    if call is None or call.status != "started":
        talk.find(seq, "SETTLEMENT_LATE", f"{body.key} waits for no settlement; this one is not used")
        return
    if body.outcome == "released":
        call.released = True
    else:
        result = settled_result(call, body)
        talk.pairing.answer(call.paired, call.slot, seq, result)
        call.settlement = body
        talk.answered(call, seq, result)
    talk.timeline.forget(call.seq)


# What cannot be read ----------------------------------------------------------------------------


def fold_unreadable(talk: Conversation, entry: Entry) -> None:
    """Take in an entry that does not fit its kind, if it names a call: a start is one, and what it says of authority is in
    doubt.
    """
    value = plain(entry.body)
    key = value.get("key") if isinstance(value, dict) else None
    call = talk.calls.get(key) if isinstance(key, str) else None
    if call is not None and entry.kind == "tool_started":
        _start(talk, entry, call)
    elif call is not None and entry.kind.startswith("approval_"):
        _refuse(talk, call, f"entry {entry.seq} of kind {entry.kind} cannot be read")


def fold_gap(talk: Conversation, entry: Entry) -> None:
    """Take in that entries are missing before this one: each open call may have been started by one of them."""
    for call in talk.in_order():
        if call.attempt is None:
            _start(talk, entry, call)


def fold_marks(talk: Conversation, entry: Entry, why: str) -> None:
    """Take in what the marks of an entry without a body say of calls: a start is one, an answer was one, a doubtful control
    runs nothing.
    """
    for kind, name in map(split_mark, entry.opens):
        if (call := talk.calls.get(name)) is None:
            continue
        if kind == "started":
            _start(talk, entry, call)
        elif kind in ("approval", "decided"):
            _refuse(talk, call, f"entry {entry.seq} of kind {entry.kind} {why}")
    for kind, name in map(split_mark, entry.closes):
        if (call := talk.calls.get(name)) is None or call.answered:
            continue
        if entry.kind in ("edit", "removal"):
            _refuse(talk, call, f"entry {entry.seq} of kind {entry.kind} {why}")
        elif kind == "started" and entry.kind in ("message", "settlement"):
            result = stand_in(call.call, "lost", f"entry {entry.seq} {why}")
            talk.pairing.answer(call.paired, call.slot, entry.seq, result)
            talk.answered(call, entry.seq, result)


def _start(talk: Conversation, entry: Entry, call: Call) -> None:
    """A start of which nothing says that it may be repeated."""
    attempt = call.attempt.body.attempt + 1 if call.attempt is not None else 1
    fold_start(talk, entry, ToolStarted(call.key, "external", attempt, idempotency_key=""))


def _refuse(talk: Conversation, call: Call, why: str) -> None:
    call.refused = call.refused or why
    talk.timeline.forget(call.seq)
