"""The part of a session that decides on calls: approvals, and what became of those whose outcome nobody knows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from suture.entries import (
    ApprovalDecision,
    Draft,
    Entry,
    Settled,
    Settlement,
    call_digest,
    draft,
    is_over,
    mark,
    request_marks,
)
from suture.errors import InvalidEdit, NoSuchApproval
from suture.messages import ToolResult
from suture.replay import Call, State
from suture.session.clock import new_id, now
from suture.session.handle import Handle
from suture.session.waiting import (
    Approval,
    StartedCall,
    approval_of,
    check_repeat,
    edited_call,
    gated_call,
    lost_call,
    started_call_of,
)
from suture.stores.owner import is_dead
from suture.tools import spelled_out


class Deciding(Handle):
    """What `Session` is told by people. None of it needs an agent; the next run takes it up."""

    # Approvals --------------------------------------------------------------------------------

    def open_approvals(self) -> list[Approval]:
        """The calls that wait for a decision, or for a run to take their decision up, in order of request."""
        return self._read(lambda state: [approval_of(call) for call in state.waiting_calls()])

    def approve(
        self,
        call: str,
        note: str | None = None,
        by: str | None = None,
        arguments: Mapping[str, object] | None = None,
        digest: str | None = None,
    ) -> Entry | None:
        """Let a call run. `call` is its key or wire id; `arguments` replaces what it runs with; `digest` makes sure
        that it is still the call that was shown. Needs no agent; the next `resume` runs it.

        Returns:
            The decision's entry, None when it was decided the same way before.

        Raises:
            NoSuchApproval: no such call waits, its digest differs, or its request has expired.
            AmbiguousCall: the id fits several calls.
            AlreadyDecided: it was decided the other way.
            InvalidEdit: the edited arguments do not fit.
        """
        return self._decide(call, approved=True, note=note, by=by, arguments=arguments, digest=digest)

    def deny(self, call: str, note: str | None = None, by: str | None = None, digest: str | None = None) -> Entry | None:
        """Say no to a call; the model reads the note. As `approve` otherwise."""
        return self._decide(call, approved=False, note=note, by=by, arguments=None, digest=digest)

    def _decide(
        self,
        name: str,
        *,
        approved: bool,
        note: str | None,
        by: str | None,
        arguments: Mapping[str, object] | None,
        digest: str | None,
    ) -> Entry | None:
        key: str | None = None

        def decide(state: State) -> Draft | None:
            nonlocal key
            call = gated_call(state, key or name)
            key = call.key  # looked up once: on a retry the name could fit another call than the one that was meant
            assert call.request is not None
            request = call.request.body
            _require_digest(call, digest)
            edited = edited_call(request, arguments)
            if call.decision is not None:
                check_repeat(call, approved=approved, edited=edited)
                return None
            if call.answered:
                raise NoSuchApproval(f"The call {call.key} is answered already; nothing waits for a decision.")
            if is_over(request.expires, at := now()):
                raise NoSuchApproval(f"The request for {call.key} expired at {request.expires}; the call will not be run.")
            seal = None if edited is None else call_digest(edited)
            body = ApprovalDecision(call.request.seq, call.key, request.digest, approved, note, by, edited, seal)
            return draft(new_id(), at, body, (mark("decided", call.key),), request_marks(call.key, request.expires))

        return self._append_on(decide)

    # Outcomes ---------------------------------------------------------------------------------

    def unknown_outcomes(self) -> list[StartedCall]:
        """The calls that started, never answered, and are not safe to repeat; without those that a live run holds."""
        live = self._live_epoch()
        return self._read(
            lambda state: [started_call_of(call) for call in state.unknown_outcomes() if _epoch(call) != live]
        )

    def running_calls(self) -> list[StartedCall]:
        """The calls that a live run has started and whose result is not there yet."""
        live = self._live_epoch()
        if live is None:
            return []
        return self._read(
            lambda state: [started_call_of(call) for call in state.unanswered.values() if _epoch(call) == live]
        )

    def _live_epoch(self) -> int | None:
        """The epoch of the run that is on; None when none is."""
        info = self.log.info()
        return info.claim.epoch if info is not None and info.claim is not None else None

    def settle(
        self,
        call: str,
        outcome: Settled,
        content: object = None,
        by: str | None = None,
        force: bool = False,
    ) -> Entry:
        """Say what became of a call of unknown outcome. `completed` and `failed` answer it, with `content`, anything that a
        tool may return; `released` says that it did not happen: it runs anew, under the same idempotency key.

        Raises:
            InvalidEdit: the call waits for no settlement; or, unless `force` is set, a live run holds it, or it is released
                while the earlier attempt may still be running.
            AmbiguousCall: the id fits several calls.
            NotJson: the content cannot be written down.
        """
        if outcome not in ("completed", "failed", "released"):
            raise InvalidEdit(f"{outcome!r} is no outcome; say completed, failed or released.")
        body_content = spelled_out(ToolResult(content)).parts

        key: str | None = None

        def decide(state: State) -> Draft:
            nonlocal key
            found = lost_call(state, key or call)
            key = found.key  # as for a decision
            if not force:
                self._require_gone(found, released=outcome == "released")
            body = Settlement(found.key, outcome, body_content, by)
            return draft(new_id(), now(), body, (mark("settled", found.key),), (mark("started", found.key),))

        entry = self._append_on(decide)
        assert entry is not None
        return entry

    def _require_gone(self, call: Call, *, released: bool) -> None:
        """Refuse while a live run holds the call; to release it, also while the attempt can still be running: its owner
        lives, and nothing has ended the handler.
        """
        if _epoch(call) == self._live_epoch():
            raise InvalidEdit(
                f"The call {call.key} ({call.call.name}) is running now. Wait for it, or stop the run with `interrupt`; "
                "pass force=True if you know better."
            )
        if released and (age := _may_run_for(call)) is not None:
            raise InvalidEdit(
                f"The attempt at {call.key} ({call.call.name}) may still be running, {age} after its start. Wait until its "
                "process has ended, settle it as completed or failed, or pass force=True if you know that it did not run."
            )


# Rules ----------------------------------------------------------------------------------------


def _epoch(call: Call) -> int | None:
    """The epoch of the run that started the call and has no result of it yet; None when none did."""
    return call.attempt.epoch if call.attempt is not None and call.status == "started" else None


def _may_run_for(call: Call) -> str | None:
    """How long an attempt that can still be running has been; None when it cannot."""
    assert call.attempt is not None
    started = call.attempt.body
    if is_dead(started.owner):
        return None
    try:
        age = (datetime.now(UTC) - datetime.fromisoformat(call.attempt.at)).total_seconds()
    except (ValueError, TypeError):
        return "an unknown time"
    return None if started.expires is not None and age > started.expires else f"{age:.0f} s"


def _require_digest(call: Call, digest: str | None) -> None:
    assert call.request is not None
    if digest is not None and digest != call.request.body.digest:
        raise NoSuchApproval(
            f"The call {call.key} that waits has the digest {call.request.body.digest}, not {digest}: it is not the call "
            "that was shown. Look at `open_approvals()` again before deciding."
        )
