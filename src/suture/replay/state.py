"""Folds a log into what a conversation is, and what may be sent of it.

Pure and incremental: the same entries give the same state, one by one or at once, and adding an entry costs
what that entry costs. Healing is a view: nothing here writes. A kind that is not known is kept in the log and
skipped here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

import msgspec

from suture.entries import (
    ApprovalDecision,
    ApprovalRequest,
    Body,
    Carried,
    ChildReport,
    ChildResult,
    ChildStarted,
    Compacted,
    Correction,
    Edit,
    Entry,
    Fork,
    Interrupt,
    Linked,
    MessageBody,
    Removal,
    Reset,
    Retry,
    RunFinished,
    RunStarted,
    Settlement,
    Steer,
    ToolStarted,
    mark,
    read,
    split_mark,
)
from suture.errors import Corrupt
from suture.messages import Assistant, Usage
from suture.replay.boundary import contradicts_itself
from suture.replay.calls import TurnBlock
from suture.replay.controls import (
    fold_correction,
    fold_decision,
    fold_gap,
    fold_marks,
    fold_request,
    fold_settlement,
    fold_start,
    fold_unreadable,
)
from suture.replay.conversation import Conversation
from suture.replay.editing import apply, fold_edit, fold_removal
from suture.replay.facts import Facts
from suture.replay.view import stand_in_for, withdrawn


class State(Facts):
    """The facts of a log as it grows. Only `fold` and `restore` change them."""

    def __init__(self) -> None:
        super().__init__()
        self._chain = b""
        # What `carried_before` folds: the entries behind what was carried over to a seq, or behind the beginning.
        self._base: tuple[Carried, int] | None = None
        self._since_base: list[Entry] = []

    # Carrying over ----------------------------------------------------------------------------

    def carried_before(self, seq: int) -> Carried:
        """What a fold of all below that seq carries over; it costs what was written since the last boundary.

        What stood there was edited since, and that is no part of what follows.
        """
        fold = State()
        if self._base is not None:
            fold.restore(*self._base)
        fold.fold(entry for entry in self._since_base if entry.seq < seq)
        for edit in self.talk.edits:
            if edit.target < seq <= edit.seq:
                apply(fold.talk, edit)
        return fold.carry()

    def carry(self) -> Carried:
        """What a fold needs to go on from here without what came before."""
        return msgspec.structs.replace(
            self.talk.carried_turns(),
            run=self.run,
            interrupt=self.interrupt,
            last_status=self.last_status,
            turn=self.turn,
            usage=self.usage,
            inbox=dict(self.inbox),
            linked=dict(self.linked),
            reported=dict(self.reported),
            began=self.began,
            result=self.result,
            marks=dict(self.marks),
            gap=self._last_erased,
        )

    def restore(self, carried: Carried, start: int) -> None:
        """Become the state at that seq, of what was carried over it; what follows is folded as ever."""
        self.clear()
        self._base = carried, start
        self.head = start
        self.run, self.interrupt, self.last_status = carried.run, carried.interrupt, carried.last_status
        self.inbox, self.usage, self.marks = dict(carried.inbox), carried.usage, dict(carried.marks)
        self.linked, self.reported = dict(carried.linked), dict(carried.reported)
        self.began, self.result, self._last_erased = carried.began, carried.result, carried.gap
        self.talk = Conversation(self._find, carried.begun, start)
        self.talk.restore(carried)
        self._turn_before = carried.turn

    def clear(self) -> None:
        """Become the state of an empty log."""
        self.__init__()  # type: ignore[misc]

    # Folding ----------------------------------------------------------------------------------

    def fold(self, entries: Iterable[Entry]) -> None:
        """Take in entries, in order of seq; what was taken in before is skipped."""
        try:
            for entry in entries:
                seq = entry.seq
                if seq <= self.head:
                    continue
                if seq > self.head + 1 and not entry.is_lost:
                    raise Corrupt(f"Entries {self.head + 1} to {seq - 1} are missing. Read the log from its beginning.")
                self._since_base.append(entry)
                self._fold(entry)
                self.head, self.last_id = seq, entry.id
                self._chain = entry.chain
        except BaseException:  # cut off in the middle of an entry: half of one is worse than none
            self.clear()
            raise

    def _fold(self, entry: Entry) -> None:
        if entry.opens or entry.closes:
            self._note_marks(entry)
        if not entry.kind or entry.erased or entry.kind == "reset":
            self._fold_unread(entry)
            return
        try:
            body = read(entry)
        except Corrupt as error:
            self._unreadable(entry, str(error))
            return
        if body is None:
            self._go_by_marks(entry, "is of a kind that this version does not know")
        else:
            self._take(entry, body)

    def _fold_unread(self, entry: Entry) -> None:
        """Take in an entry that has no body, or needs none."""
        if entry.kind == "reset":
            self._reset(entry)
        elif entry.erased:
            self._find(entry.seq, "ERASED", f"the body of this {entry.kind} was erased")
            self._note_erased(entry)
            self._go_by_marks(entry, "was erased")
        elif entry.is_lost:
            self._lose(entry)
        else:
            self._go_by_marks(entry, "is of a kind that this version does not know")

    def _lose(self, entry: Entry) -> None:
        """Go on behind entries that are gone: what they said of a call that was open nobody knows, so it may have run."""
        first = self.head + 1
        which = f"entry {first} is" if first == entry.seq else f"entries {first} to {entry.seq} are"
        self._find(entry.seq, "MISSING", f"{which} missing; what was open before may have gone on there")
        self._last_erased = entry.seq
        fold_gap(self.talk, entry)

    def _note_erased(self, entry: Entry) -> None:
        """Remember where a message stood that answered no call, since it may have been a turn of the model's."""
        if entry.kind == "message" and not entry.closes:
            self._last_erased = entry.seq

    def _note_marks(self, entry: Entry) -> None:
        """Keep the open marks as the store does, also those of an entry that cannot be read."""
        for name in entry.closes:
            self.marks.pop(name, None)
        for name in entry.opens:
            self.marks[name] = entry.seq

    def _take(self, entry: Entry, body: Body) -> None:
        match body:
            case MessageBody():
                self._message(entry.seq, body)
            case ToolStarted():
                fold_start(self.talk, entry, body)
            case ApprovalRequest():
                fold_request(self.talk, entry, body)
            case ApprovalDecision():
                fold_decision(self.talk, entry, body)
            case Correction():
                self.usage += body.usage or Usage()
                fold_correction(self.talk, entry.seq, body)
            case Steer():
                self.inbox[body.id] = (entry.seq, body.message)
            case Interrupt():
                if self.run is not None:
                    self.interrupt = body
                    self._note_stop()
            case Settlement():
                fold_settlement(self.talk, entry.seq, body)
            case Edit():
                fold_edit(self.talk, entry.seq, body)
            case Removal():
                fold_removal(self.talk, entry.seq, body)
            case Reset():
                self._reset(entry)
            case Compacted():
                self._compacted(entry.seq, body)
            case Linked():
                self.linked.setdefault(body.session_id, body.name)
            case ChildStarted():
                self.began = True
            case ChildResult():
                self.result = body
            case ChildReport():
                self._reported(entry.seq, body)
            case Fork():
                self._forked(entry.seq, body)
            case Retry():
                self.usage += body.usage or Usage()
            case RunStarted():
                self.run, self.interrupt, self.last_status = body.run, None, None
                self.began = True
            case RunFinished():
                self.run, self.last_status = None, body.status
                self.usage += body.unanswered or Usage()
                self._note_stop()
            case _:
                assert_never(body)

    def _reported(self, seq: int, body: ChildReport) -> None:
        if body.session_id in self.reported:
            self._find(
                seq, "REPORT_REPEATED", f"{body.name} ({body.session_id}) has reported before; this is not delivered"
            )
            return
        self.reported[body.session_id] = body
        self.inbox[body.id] = (seq, body.message)

    def _compacted(self, seq: int, body: Compacted) -> None:
        self.usage += body.usage or Usage()
        if 0 < body.first_kept <= self.start:
            return  # an older one than that which this fold began from
        blank = None if body.summary.strip() else "its summary is blank"
        if why := blank or self.wrong_with_boundary(body.first_kept):
            self._find(seq, "BOUNDARY_INVALID", f"the compaction is not used: {why}")
            return
        if body.carried is not None and not contradicts_itself(body.carried, body.first_kept - 1):
            self._base = body.carried, body.first_kept - 1
            self._since_base = [entry for entry in self._since_base if entry.seq >= body.first_kept]
        self.talk.hide(seq, body)

    def wrong_with_boundary(self, first_kept: int) -> str | None:
        """Why nothing below that seq may be hidden behind a summary; None when all of it may."""
        return self.talk.wrong_with_boundary(first_kept, self.open_calls())

    def _note_stop(self) -> None:
        """Remember why the calls of the last turn were left; what older ones say was sent and stays."""
        turn = self.timeline.last_answer
        if isinstance(turn, TurnBlock) and (reason := self.stopped_by()) is not None:
            for call in turn.calls:
                call.reason = reason
            self.timeline.forget(turn.seq)

    def _reset(self, entry: Entry) -> None:
        """Begin a new conversation. What was open in the old one is withdrawn, and said so."""
        for call in self.talk.in_order():
            call.gone = True
            named = f"{call.key} ({call.call.name})"
            if call.status == "started":
                self._find(entry.seq, "OUTCOME_WITHDRAWN", f"{named} had started; whether it took effect is not known")
            elif call.status in ("parked", "decided"):
                self._find(entry.seq, "APPROVAL_WITHDRAWN", f"{named} waited for a person, and will not run")
        for _, message in self.inbox.values():
            self._find(entry.seq, "INBOX_WITHDRAWN", f"a message that waited was never delivered: {message.text}")
        self.inbox = {}
        if self.run is None or mark("run", self.run) in entry.closes:
            self.run = self.interrupt = self.last_status = None
        self.talk = Conversation(self._find, entry.seq, self.start)
        self._turn_before = None
        self._base, self._since_base = (self.carry(), entry.seq), []

    def _unreadable(self, entry: Entry, why: str) -> None:
        """An entry that does not fit its kind is left aside; what its key and its marks say counts."""
        self._find(entry.seq, "UNREADABLE", why)
        fold_unreadable(self.talk, entry)
        self._go_by_marks(entry, "cannot be read")

    def _go_by_marks(self, entry: Entry, why: str) -> None:
        """What the marks of an entry say that has no body: a run began or ended, a message was delivered; and of calls."""
        begun = [name for kind, name in map(split_mark, entry.opens) if kind == "run"]
        for run in begun:
            self.run, self.interrupt, self.last_status = run, None, None
        for kind, name in map(split_mark, entry.closes):
            if kind == "run" and self.run == name and not begun:
                self.run, self.last_status = None, "unknown"
            elif kind == "inbox":
                self.inbox.pop(name, None)
        fold_marks(self.talk, entry, why)

    # Messages ---------------------------------------------------------------------------------

    def _message(self, seq: int, body: MessageBody) -> None:
        message = body.message
        if body.inbox is not None:
            self.inbox.pop(body.inbox, None)
        if isinstance(message, Assistant) and message.usage is not None and not body.restated:
            self.usage += message.usage
        self.talk.take(seq, body)

    # Forks ------------------------------------------------------------------------------------

    def _forked(self, seq: int, body: Fork) -> None:
        """Close what was open in the parent: no authority and no pending work goes over."""
        if body.at != seq - 1:
            self._find(seq, "FORK_INVALID", f"a fork at {body.at} cannot begin here and is not used")
            return
        if self._chain and self._chain.hex() != body.chain:
            self._find(seq, "FORK_CHANGED", f"the log of {body.parent!r} is not the one that was forked at {body.at}")
        for call in self.talk.in_order():
            result = withdrawn(call) if self.is_open(call) or call.outcome_unknown else stand_in_for(call)
            self.talk.pairing.answer(call.paired, call.slot, seq, result)
            self.talk.close(call, seq)
        self.inbox.clear()
        self.run, self.interrupt, self.last_status = None, None, None
        self.marks = {name: opened for name, opened in self.marks.items() if opened == seq}
