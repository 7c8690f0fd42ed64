"""Folds a log into what a conversation is, and what may be sent of it.

Pure and incremental: the same entries give the same state, one by one or at once, and adding an entry costs
what that entry costs. Healing is a view: nothing here writes. A kind that is not known is kept in the log and
skipped here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias, assert_never

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
)
from suture.errors import Corrupt
from suture.messages import Assistant, Message, ToolResult, Usage, User
from suture.replay.boundary import Boundary, contradicts_itself
from suture.replay.calls import Block, Call, TurnBlock
from suture.replay.controls import (
    fold_correction,
    fold_decision,
    fold_gap,
    fold_marks,
    fold_request,
    fold_settlement,
    fold_start,
    fold_unreadable,
    named,
)
from suture.replay.conversation import Conversation, LogFinding
from suture.replay.editing import apply, fold_edit, fold_removal
from suture.replay.timeline import Timeline
from suture.replay.view import stand_in_for, withdrawn

Inbox: TypeAlias = dict[str, tuple[int, User]]


class State:
    """What a log says, up to `head`. Only `fold` changes it.

    `talk` is the conversation. `run` is the id of the run that is on or was cut off; `interrupt` what stopped the last one,
    or is to stop this one; `last_status` how the last run ended, None when it did not; `marks` the open marks with the seqs
    that opened them, as the store keeps them. `linked` are the names of its children by session id, `reported` their
    reports; `began` and `result` say what a child's own log says of its work.
    """

    def __init__(self) -> None:
        self.head = 0
        self.run: str | None = None
        self.interrupt: Interrupt | None = None
        self.last_status: str | None = None
        self.inbox: Inbox = {}
        self.usage = Usage()
        self.findings: list[LogFinding] = []
        self.marks: dict[str, int] = {}
        self.linked: dict[str, str] = {}
        self.reported: dict[str, ChildReport] = {}
        self.began = False
        self.result: ChildResult | None = None
        self.talk = Conversation(self._find)
        self._turn_before: str | None = None
        self._chain = b""
        self._last_erased = 0
        # What `carried_before` folds: the entries behind what was carried over to a seq, or behind the beginning.
        self._base: tuple[Carried, int] | None = None
        self._since_base: list[Entry] = []

    # The conversation -------------------------------------------------------------------------

    @property
    def start(self) -> int:
        """The seq up to which it was carried over rather than read, 0 when nothing was."""
        return self.talk.start

    @property
    def boundary(self) -> Boundary | None:
        """The last compaction that counts."""
        return self.talk.boundary

    @property
    def recorded(self) -> dict[int, Message]:
        """The messages by seq, after edits."""
        return self.talk.recorded

    @property
    def calls(self) -> dict[str, Call]:
        """All calls, by key."""
        return self.talk.calls

    @property
    def unanswered(self) -> dict[str, Call]:
        """The calls without a recorded result, by key."""
        return self.talk.unanswered

    @property
    def timeline(self) -> Timeline:
        """The conversation in order."""
        return self.talk.timeline

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
        )

    def restore(self, carried: Carried, start: int) -> None:
        """Become the state at that seq, of what was carried over it; what follows is folded as ever."""
        self.clear()
        self._base = carried, start
        self.head = start
        self.run, self.interrupt, self.last_status = carried.run, carried.interrupt, carried.last_status
        self.inbox, self.usage, self.marks = dict(carried.inbox), carried.usage, dict(carried.marks)
        self.linked, self.reported = dict(carried.linked), dict(carried.reported)
        self.began, self.result = carried.began, carried.result
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
                if entry.seq > self.head + 1 and not entry.is_lost:
                    raise Corrupt(
                        f"Entries {self.head + 1} to {entry.seq - 1} are missing. Read the log from its beginning."
                    )
                if entry.seq > self.head:
                    self._since_base.append(entry)
                    self._fold(entry)
                    self.head = entry.seq
                    self._chain = entry.chain
        except BaseException:  # cut off in the middle of an entry: half of one is worse than none
            self.clear()
            raise

    def _fold(self, entry: Entry) -> None:
        if entry.is_lost:
            self._lose(entry)
            return
        self._note_marks(entry)
        if entry.kind == "reset":
            self._reset(entry)
            return
        if entry.erased:
            self._find(entry.seq, "ERASED", f"the body of this {entry.kind} was erased")
            self._note_erased(entry)
            self._go_by_marks(entry, "was erased")
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
            self.timeline.forget(turn)

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

    def _find(self, seq: int, code: str, sentence: str) -> None:
        self.findings.append(LogFinding(seq, code, sentence))

    def _unreadable(self, entry: Entry, why: str) -> None:
        """An entry that does not fit its kind is left aside; what its key and its marks say counts."""
        self._find(entry.seq, "UNREADABLE", why)
        fold_unreadable(self.talk, entry)
        self._go_by_marks(entry, "cannot be read")

    def _go_by_marks(self, entry: Entry, why: str) -> None:
        """What the marks of an entry say that has no body: a run began or ended, a message was delivered; and of calls."""
        begun = [name for kind, name in named(entry.opens) if kind == "run"]
        for run in begun:
            self.run, self.interrupt, self.last_status = run, None, None
        for kind, name in named(entry.closes):
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
            self.talk.pairing.answer(call.turn.paired, call.slot, seq, result)
            self.talk.close(call, seq)
        self.inbox.clear()
        self.run, self.interrupt, self.last_status = None, None, None
        self.marks = {name: opened for name, opened in self.marks.items() if opened == seq}

    # Views ------------------------------------------------------------------------------------

    def messages(self) -> list[Message]:
        """The conversation as recorded, in the order of the log, after edits, without stand-ins."""
        return list(self.recorded.values())

    def sent_blocks(self) -> list[Block]:
        """The blocks of what may be sent now, in their order; the summary of what came before leads them."""
        return self.timeline.sent()

    def request(self) -> tuple[Message, ...]:
        """What may be sent now: each turn followed by one result per call, in call order, under ids that are
        given once; stand-ins where nothing is recorded; nothing empty.
        """
        return self.timeline.request()

    def replay(self) -> list[tuple[Message, int | None]]:
        """The conversation from the boundary, behind its summary, with stand-ins (seq None for both); calls that will still
        run or wait for people stay open.
        """
        summary = [(self.boundary.summary, None)] if self.boundary is not None else []
        return [*summary, *(pair for block in self.timeline.sent() for pair in self._replayed(block))]

    def _replayed(self, block: Block) -> Iterator[tuple[Message, int | None]]:
        yield block.message, block.seq
        if isinstance(block, TurnBlock):
            for call in block.calls:
                answer = block.paired.answers[call.slot]
                if answer is not None:
                    yield answer.result, answer.position
                elif not self.is_open(call):
                    yield stand_in_for(call), None

    def stopped_by(self) -> str | None:
        """Why the last run stopped, as words; None when nobody stopped it."""
        if self.interrupt is not None:
            by = self.interrupt.by or "a person"
            return f"stopped by {by}" + (f" ({self.interrupt.reason})" if self.interrupt.reason else "")
        return "the step limit was reached" if self.last_status == "max_steps" else None

    # Questions --------------------------------------------------------------------------------

    def is_open(self, call: Call) -> bool:
        """Whether a run may still take the call up, or a person decide it."""
        if call.answered or call.gone or call.refused is not None:
            return False
        match call.status:
            case "parked" | "decided":
                return True
            case "started":
                return not call.outcome_unknown and self._may_go_on(call.turn)
            case _:
                return call.released or self._may_go_on(call.turn)

    def _may_go_on(self, turn: TurnBlock) -> bool:
        """Whether calls of the turn may still run unasked: nothing follows that may have passed them over."""
        return self.is_tail(turn) and turn.seq > self._last_erased

    def is_tail(self, turn: TurnBlock) -> bool:
        """Whether no assistant message follows; behind a turn that no run wrote, no message at all."""
        return self.timeline.is_tail(turn)

    def open_calls(self) -> list[Call]:
        """The calls that a run may still take up or a person decide, in order."""
        return [call for call in self.talk.in_order() if self.is_open(call)]

    def waiting_calls(self) -> list[Call]:
        """The calls that wait for a person's decision or were decided and not taken up yet, in order of request."""
        waiting = [call for call in self.unanswered.values() if call.request is not None and call.refused is None]
        waiting = [call for call in waiting if call.status in ("parked", "decided")]
        return sorted(waiting, key=lambda call: call.request.seq if call.request else 0)

    def unknown_outcomes(self) -> list[Call]:
        """The calls that started, never answered, and are not safe to repeat, in order."""
        return [call for call in self.talk.in_order() if call.outcome_unknown]

    @property
    def reply(self) -> Assistant | None:
        """The last assistant message, when no user message follows it: what the model has said to what was said last."""
        return self.timeline.reply

    @property
    def answered(self) -> bool:
        """Whether nothing waits for the model."""
        return self.timeline.answered

    @property
    def turn(self) -> str | None:
        """The id of the last user message, which all behind it answers."""
        ids = (block.message.id for block in reversed(self.timeline) if isinstance(block.message, User))
        return next(ids, self._turn_before)

    @property
    def steps(self) -> int:
        """The number of assistant messages since the last user message."""
        return self.timeline.steps

    def has_given(self, id: str) -> bool:
        """Whether a call of this conversation goes by that wire id."""
        return id in self.talk.book

    def find_calls(self, name: str) -> list[Call]:
        """The calls that a key or a wire id names."""
        named = [call for call in self.calls.values() if name in (call.key, call.call.id, call.name)]
        return sorted(named, key=lambda call: call.key != name)

    def answered_by(self, result: ToolResult, key: str | None = None) -> Call | None:
        """The call that a result would answer now."""
        return self.talk.answered_by(result, key)

    def idle_marks(self) -> tuple[str, ...]:
        """The open marks behind which nothing waits any more; the next run closes them."""
        return tuple(
            one for (kind, name), one in zip(named(self.marks), self.marks, strict=True) if self._is_idle(kind, name)
        )

    def _is_idle(self, kind: str, name: str) -> bool:
        call = self.calls.get(name)
        match kind:
            case "run":
                return name != self.run
            case "inbox":
                return name not in self.inbox
            case "settled":
                return True
            case "expires":
                asked = ((one.key, one.request.body.expires) for one in self.waiting_calls() if one.request)
                return name not in {f"{key}:{expires}" for key, expires in asked}
            case "approval" | "decided":
                status = "parked" if kind == "approval" else "decided"
                return call is None or call.refused is not None or call.status != status
            case "started":
                return call is None or not call.outcome_unknown
            case _:
                return False
