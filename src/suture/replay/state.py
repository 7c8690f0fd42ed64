"""Folds a log into what a conversation is, and what may be sent of it.

Pure and incremental: the same entries give the same state, one by one or at once, and adding an entry costs
what that entry costs. Healing is a view: nothing here writes. A kind that is not known is kept in the log and
skipped here. A result that is late, doubled or misplaced is paired and reported; a decision counts only for
the request, key and digest that it names, and a call whose authority is in doubt is never run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias, assert_never

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
    Entry,
    Interrupt,
    Linked,
    MessageBody,
    Retry,
    RunFinished,
    RunStarted,
    Settlement,
    Steer,
    ToolStarted,
    call_key,
    is_over,
    plain,
    read,
)
from suture.errors import Corrupt
from suture.messages import Assistant, Message, ToolResult, Usage, User
from suture.pairing import Answers, Landing, Pairing, Repeats, Stray
from suture.repair import IdBook, stand_in
from suture.replay.boundary import (
    Boundary,
    carried_turns,
    last_of,
    restored_turns,
    wrong_boundary,
)
from suture.replay.calls import (
    Attempt,
    Block,
    Call,
    Decision,
    Request,
    Single,
    TurnBlock,
    doubt_about,
    is_edit_of,
    own,
    settled_result,
)
from suture.replay.view import RequestView, stand_in_for

Inbox: TypeAlias = dict[str, tuple[int, User]]


class LogFinding(NamedTuple):
    """One thing that replay had to mend or leave aside: where, a code, and a sentence for the operator."""

    seq: int
    code: str
    sentence: str


class State:
    """What a log says, up to `head`. Only `fold` changes it.

    `start` is the seq up to which it was carried over rather than read, 0 when nothing was; `boundary` the last compaction
    that counts. `run` is the id of the run that is on or was cut off; `interrupt` what stopped the last one, or is to stop
    this one; `last_status` how the last run ended, None when it did not; `marks` the open marks with the seqs that
    opened them, as the store keeps them. `linked` are the names of its children by session id, `reported` their reports;
    `began` and `result` say what a child's own log says of its work.
    """

    def __init__(self) -> None:
        self.head = 0
        self.start = 0
        self.boundary: Boundary | None = None
        self.run: str | None = None
        self.interrupt: Interrupt | None = None
        self.last_status: str | None = None
        self.inbox: Inbox = {}
        self.usage = Usage()
        self.findings: list[LogFinding] = []
        self.recorded: list[tuple[int, Message]] = []
        self.blocks: list[Block] = []
        self.calls: dict[str, Call] = {}
        self.unanswered: dict[str, Call] = {}
        self.marks: dict[str, int] = {}
        self.linked: dict[str, str] = {}
        self.reported: dict[str, ChildReport] = {}
        self.began = False
        self.result: ChildResult | None = None
        self._last_assistant: Block | None = None
        self._pairing = Pairing()
        self._book = IdBook()
        self._view = RequestView(self.blocks)
        self._turn_before: str | None = None
        self._steps_before = 0
        self._behind: tuple[int, ...] = ()
        self._is_straddled = False
        # What `carried_before` folds: the entries behind what was carried over to a seq, or behind the beginning.
        self._base: tuple[Carried, int] | None = None
        self._since_base: list[Entry] = []

    # Carrying over ----------------------------------------------------------------------------

    def carried_before(self, seq: int) -> Carried:
        """What a fold of all below that seq carries over; it costs what was written since the last boundary."""
        fold = State()
        if self._base is not None:
            fold.restore(*self._base)
        fold.fold(entry for entry in self._since_base if entry.seq < seq)
        return fold.carry()

    def carry(self) -> Carried:
        """What a fold needs to go on from here without what came before."""
        last = self._last_assistant
        return Carried(
            run=self.run,
            interrupt=self.interrupt,
            last_status=self.last_status,
            turn=self.turn,
            steps=self.steps,
            usage=self.usage,
            last=last_of(last),
            behind=self._seqs_behind(last),
            turns=carried_turns(self.calls.values()),
            strays=tuple((stray.position, stray.result) for stray in self._pairing.strays()),
            inbox=dict(self.inbox),
            linked=dict(self.linked),
            reported=dict(self.reported),
            began=self.began,
            result=self.result,
            marks=dict(self.marks),
        )

    def _seqs_behind(self, last: Block | None) -> tuple[int, ...]:
        """The seqs of the messages behind the last answer, which the next one may not have seen."""
        seqs = list(self._behind) if last is None or last.at < 0 else []
        for block in reversed(self.blocks):
            if block is last:
                break
            seqs.append(block.seq)
        return tuple(seqs)

    def restore(self, carried: Carried, start: int) -> None:
        """Become the state at that seq, of what was carried over it; what follows is folded as ever."""
        self.clear()
        self._base = carried, start
        self.head = self.start = start
        self.run, self.interrupt, self.last_status = carried.run, carried.interrupt, carried.last_status
        self.inbox, self.usage, self.marks = dict(carried.inbox), carried.usage, dict(carried.marks)
        self.linked, self.reported = dict(carried.linked), dict(carried.reported)
        self.began, self.result = carried.began, carried.result
        if carried.last is not None:
            self._last_assistant = Single(*carried.last)
            self._last_assistant.at = -1
        for block in restored_turns(carried, self._pairing):
            self._adopt(block)
        self._turn_before, self._steps_before, self._behind = carried.turn, carried.steps, carried.behind

    def clear(self) -> None:
        """Become the state of an empty log."""
        self.__init__()  # type: ignore[misc]

    def _adopt(self, block: TurnBlock) -> None:
        """Know the calls of a turn that stands in no conversation here."""
        for call in block.calls:
            self.calls[call.key] = call
            if not call.answered:
                self.unanswered[call.key] = call
        if self._last_assistant is not None and self._last_assistant.seq == block.seq:
            self._last_assistant = block

    # Folding ----------------------------------------------------------------------------------

    def fold(self, entries: Iterable[Entry]) -> None:
        """Take in entries, in order of seq; what was taken in before is skipped."""
        try:
            for entry in entries:
                if entry.seq > self.head + 1:
                    raise Corrupt(
                        f"Entries {self.head + 1} to {entry.seq - 1} are missing. Read the log from its beginning."
                    )
                if entry.seq > self.head:
                    self._since_base.append(entry)
                    self._fold(entry)
                    self.head = entry.seq
        except BaseException:  # cut off in the middle of an entry: half of one is worse than none
            self.clear()
            raise

    def _fold(self, entry: Entry) -> None:
        self._note_marks(entry)
        if entry.erased:
            self._find(entry.seq, "ERASED", f"the body of this {entry.kind} was erased")
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
                self._started(entry, body)
            case ApprovalRequest():
                self._requested(entry, body)
            case ApprovalDecision():
                self._decided(entry, body)
            case Correction():
                self._corrected(entry.seq, body)
            case Steer():
                self.inbox[body.id] = (entry.seq, body.message)
            case Interrupt():
                if self.run is not None:
                    self.interrupt = body
                    self._note_stop()
            case Settlement():
                self._settled(entry.seq, body)
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
            case Retry():
                self.usage += body.usage or Usage()
            case RunStarted():
                self.run, self.interrupt, self.last_status = body.run, None, None
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
        if body.carried is not None:
            self._base = body.carried, body.first_kept - 1
            self._since_base = [entry for entry in self._since_base if entry.seq >= body.first_kept]
        at = next(at for at, block in enumerate(self.blocks) if block.seq == body.first_kept)
        self.boundary = Boundary(seq, body, at)
        self._book = IdBook()
        for block in self.blocks[at:]:
            if isinstance(block, TurnBlock):
                block.names = self._names(block.seq, block.message)
        self._view = RequestView(self.blocks, at, (self.boundary.summary,))

    def wrong_with_boundary(self, first_kept: int) -> str | None:
        """Why nothing below that seq may be hidden behind a summary; None when all of it may."""
        if self._is_straddled:
            return "an answer that was asked for before it stands behind it"
        return wrong_boundary(first_kept, self.blocks, self.calls.values(), self.open_calls())

    def _names(self, seq: int, message: Assistant) -> list[str]:
        """The wire ids of an answer's calls as requests have them, given once since the last boundary."""
        return [self._book.take(call.id, f"{seq}_{slot}") for slot, call in enumerate(message.calls)]

    def _note_stop(self) -> None:
        """Remember why the calls of the last turn were left; what older ones say was sent and stays."""
        turn = self._last_assistant
        if isinstance(turn, TurnBlock) and (reason := self.stopped_by()) is not None:
            for call in turn.calls:
                call.reason = reason
            self._view.forget(turn)

    def _find(self, seq: int, code: str, sentence: str) -> None:
        self.findings.append(LogFinding(seq, code, sentence))

    def _unreadable(self, entry: Entry, why: str) -> None:
        """An entry that does not fit its kind is left aside; what its key and its marks say counts."""
        self._find(entry.seq, "UNREADABLE", why)
        value = plain(entry.body)
        key = value.get("key") if isinstance(value, dict) else None
        call = self.calls.get(key) if isinstance(key, str) else None
        if call is not None and entry.kind == "tool_started":
            self._started_unreadably(entry, call)
        elif call is not None and entry.kind.startswith("approval_"):
            self._refuse(call, f"entry {entry.seq} of kind {entry.kind} cannot be read")
        self._go_by_marks(entry, "cannot be read")

    def _go_by_marks(self, entry: Entry, why: str) -> None:
        """What the marks of an entry say that has no body: a start is one, an answer was one, a doubtful control runs
        nothing, a delivery was one.
        """
        for kind, name in _named(entry.opens):
            call = self.calls.get(name)
            if kind == "run":
                self.run, self.interrupt, self.last_status = name, None, None
            elif call is not None and kind == "started":
                self._started_unreadably(entry, call)
            elif call is not None and kind in ("approval", "decided"):
                self._refuse(call, f"entry {entry.seq} of kind {entry.kind} {why}")
        for kind, name in _named(entry.closes):
            call = self.calls.get(name)
            if kind == "run" and self.run == name and not any(one == "run" for one, _ in _named(entry.opens)):
                self.run, self.last_status = None, "unknown"
            elif kind == "inbox":
                self.inbox.pop(name, None)
            elif call is not None and kind == "started" and entry.kind in ("message", "settlement") and not call.answered:
                result = stand_in(call.call, "lost", f"entry {entry.seq} {why}")
                self._pairing.answer(call.turn.paired, call.slot, entry.seq, result)
                self._answered(call, entry.seq)
                self._touch(call.turn)

    def _started_unreadably(self, entry: Entry, call: Call) -> None:
        """A start of which nothing says that it may be repeated."""
        attempt = call.attempt.body.attempt + 1 if call.attempt is not None else 1
        self._started(entry, ToolStarted(call.key, "external", attempt, idempotency_key=""))

    def _refuse(self, call: Call, why: str) -> None:
        call.refused = call.refused or why
        self._touch(call.turn)

    # Messages ---------------------------------------------------------------------------------

    def _message(self, seq: int, body: MessageBody) -> None:
        message = body.message
        self.recorded.append((seq, message))
        if body.inbox is not None:
            self.inbox.pop(body.inbox, None)
        if isinstance(message, Assistant):
            self._assistant(seq, message, body.seen)
        elif isinstance(message, ToolResult):
            self._result(seq, message, body.key)
        else:
            self._append(Single(seq, message))

    def _append(self, block: Block) -> None:
        block.at = len(self.blocks)
        self.blocks.append(block)

    def _assistant(self, seq: int, message: Assistant, seen: int | None) -> None:
        if message.usage is not None:
            self.usage += message.usage
        unseen = self._unseen(seen)
        if calls := message.calls:
            paired = self._pairing.add_turn(seq, tuple(map(own, calls)), adopt=seen is None)
            block = TurnBlock(seq, message, paired, self._names(seq, message), by_loop=seen is not None)
            self._append(block)
            self._last_assistant = block
            for call in block.calls:
                self.calls[call.key] = call
                if call.answered:
                    self._find(seq, "RESULT_DISPLACED", f"the result of {call.key} came before its call")
                else:
                    self.unanswered[call.key] = call
        else:
            self._last_assistant = Single(seq, message)
            self._append(self._last_assistant)
        for late in unseen:
            self._append(late)

    def _unseen(self, seen: int | None) -> list[Block]:
        """Take off the tail what was written while the model answered; it stands behind the answer."""
        late: list[Block] = []
        if seen is None:
            return late
        before = self._last_assistant.seq if self._last_assistant is not None else 0
        self._is_straddled |= any(one > max(seen, before) for one in self._behind)
        self._behind = ()
        while self.blocks and self.blocks[-1].seq > max(seen, before):  # a run asks only once it holds the answer before
            self._view.forget(self.blocks[-1])
            late.append(self.blocks.pop())
        return late[::-1]

    def _result(self, seq: int, result: ToolResult, key: str | None) -> None:
        call = self.calls.get(key) if key is not None else None
        if call is not None:
            landing = self._pairing.answer(call.turn.paired, call.slot, seq, result)
        else:
            landing = self._pairing.add_result(seq, result)
        self._landed(seq, result, landing, keyed=call is not None)

    def _landed(self, seq: int, result: ToolResult, landing: Landing, *, keyed: bool) -> None:
        match landing:
            case Stray():
                self._find(seq, "RESULT_ORPHAN", f"no call wants this result of {result.call_id!r}: {result.text}")
                return
            case Repeats():
                self._find(seq, "RESULT_DUPLICATE", f"the call {result.call_id!r} was answered before: {result.text}")
                return
            case Answers():
                call = self.calls[call_key(landing.turn.position, landing.slot)]
            case _:
                assert_never(landing)
        if landing.loser is not None:
            words = landing.loser.result.text
            self._find(seq, "RESULT_REPLACED", f"a later result of {call.key} stands instead of: {words}")
        self._answered(call, seq)
        if self.boundary is not None and self.boundary.hides(call.turn):
            self._hidden(call, seq, result)
        elif not keyed and self.blocks[-1] is not call.turn:
            self._find(seq, "RESULT_DISPLACED", f"the result of {call.key} stands behind its turn in what is sent")
        self._touch(call.turn)

    # Calls ------------------------------------------------------------------------------------

    def _started(self, entry: Entry, body: ToolStarted) -> None:
        call = self.calls.get(body.key)
        if call is None:
            self._find(entry.seq, "CALL_UNKNOWN", f"a handler started for {body.key}, which is no call of this log")
            return
        call.attempt = Attempt(entry.seq, entry.at, entry.epoch, body)
        call.released = False
        self._touch(call.turn)

    def _requested(self, entry: Entry, body: ApprovalRequest) -> None:
        call = self.calls.get(body.key)
        if call is None:
            self._find(entry.seq, "APPROVAL_INVALID", f"an approval is asked for {body.key}, which is no call of this log")
            return
        if call.answered:
            self._find(entry.seq, "APPROVAL_INVALID", f"an approval is asked for {body.key}, which is answered")
            return
        if doubt := doubt_about(call, body):
            call.refused = doubt
            self._find(entry.seq, "APPROVAL_INVALID", f"{body.key} will not run: {doubt}")
        else:
            call.request = Request(entry.seq, entry.at, body)
        self._touch(call.turn)

    def _decided(self, entry: Entry, body: ApprovalDecision) -> None:
        seq = entry.seq
        call = self.calls.get(body.key)
        request = call.request if call is not None else None
        if call is None or request is None or (body.request, body.digest) != (request.seq, request.body.digest):
            self._find(seq, "DECISION_INVALID", f"the decision on {body.key} names no request of this log and is not used")
        elif body.call is not None and not is_edit_of(request.body.call, body):
            self._find(
                seq, "DECISION_INVALID", f"the decision on {body.key} puts another call in its place and is not used"
            )
        elif call.decision is not None or call.answered:
            self._find(seq, "DECISION_LATE", f"{body.key} was decided before; this decision is not used")
        elif is_over(request.body.expires, entry.at):
            self._find(seq, "DECISION_LATE", f"the request for {body.key} had expired; this decision is not used")
        else:
            call.decision = Decision(seq, body)
            self._touch(call.turn)

    def _corrected(self, seq: int, body: Correction) -> None:
        self.usage += body.usage or Usage()
        call = self.calls.get(body.key)
        if call is None or call.status != "pending" or (body.call is not None and body.call.id != call.call.id):
            self._find(seq, "CORRECTION_INVALID", f"{body.key} waits for no such correction; this one is not used")
            return
        call.correction = body
        self._touch(call.turn)

    def _settled(self, seq: int, body: Settlement) -> None:
        call = self.calls.get(body.key)
        if call is None or call.status != "started":
            self._find(seq, "SETTLEMENT_LATE", f"{body.key} waits for no settlement; this one is not used")
            return
        if body.outcome == "released":
            call.released = True
        else:
            result = settled_result(call, body)
            self._pairing.answer(call.turn.paired, call.slot, seq, result)
            call.settlement = body
            self._answered(call, seq)
            if self.boundary is not None and self.boundary.hides(call.turn):
                self._hidden(call, seq, result)
        self._touch(call.turn)

    def _answered(self, call: Call, seq: int) -> None:
        self.unanswered.pop(call.key, None)
        if call.answered_at is None:
            call.answered_at = seq

    def _hidden(self, call: Call, seq: int, result: ToolResult) -> None:
        self._find(seq, "RESULT_HIDDEN", f"the call {call.key} was summarised; no request shows its result: {result.text}")

    def _touch(self, block: Block) -> None:
        self._view.forget(block)

    # Views ------------------------------------------------------------------------------------

    def messages(self) -> list[Message]:
        """The conversation as recorded, in the order of the log, without stand-ins."""
        return [message for _, message in self.recorded]

    def sent_blocks(self) -> list[Block]:
        """The blocks of what may be sent now, in their order; the summary of what came before leads them."""
        return self.blocks if self.boundary is None else self.blocks[self.boundary.at :]

    def request(self) -> tuple[Message, ...]:
        """What may be sent now: each turn followed by one result per call, in call order, under ids that are
        given once; stand-ins where nothing is recorded; nothing empty.
        """
        return self._view.messages()

    def replay(self) -> list[tuple[Message, int | None]]:
        """The conversation from the boundary, behind its summary, with stand-ins (seq None for both); calls that will still
        run or wait for people stay open.
        """
        if self.boundary is None:
            return [pair for block in self.blocks for pair in self._replayed(block)]
        kept = (pair for block in self.blocks[self.boundary.at :] for pair in self._replayed(block))
        return [(self.boundary.summary, None), *kept]

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
        if call.answered or call.refused is not None:
            return False
        match call.status:
            case "parked" | "decided":
                return True
            case "started":
                return not call.outcome_unknown and self.is_tail(call.turn)
            case _:
                return call.released or self.is_tail(call.turn)

    def is_tail(self, turn: TurnBlock) -> bool:
        """Whether no assistant message follows; behind a turn that no run wrote, no message at all."""
        return turn is (self._last_assistant if turn.by_loop else self.blocks[-1])

    def open_calls(self) -> list[Call]:
        """The calls that a run may still take up or a person decide, in order."""
        return [call for call in self.unanswered.values() if self.is_open(call)]

    def waiting_calls(self) -> list[Call]:
        """The calls that wait for a person's decision or were decided and not taken up yet, in order of request."""
        waiting = [call for call in self.unanswered.values() if call.request is not None and call.refused is None]
        waiting = [call for call in waiting if call.status in ("parked", "decided")]
        return sorted(waiting, key=lambda call: call.request.seq if call.request else 0)

    def unknown_outcomes(self) -> list[Call]:
        """The calls that started, never answered, and are not safe to repeat, in order."""
        return [call for call in self.unanswered.values() if call.outcome_unknown]

    @property
    def last_assistant(self) -> Assistant | None:
        """The last assistant message, whatever follows it."""
        block = self._last_assistant
        return block.message if block is not None and isinstance(block.message, Assistant) else None

    @property
    def reply(self) -> Assistant | None:
        """The last assistant message, when no user message follows it: what the model has said to what was said last."""
        for block in reversed(self.blocks):
            if isinstance(block.message, User):
                return None
            if isinstance(block.message, Assistant):
                return block.message
        return self.last_assistant if self._steps_before else None

    @property
    def answered(self) -> bool:
        """Whether nothing waits for the model: the conversation is empty or ends in an answer without calls.

        A paused turn (of a provider that runs tools itself) is none: it goes on when it is sent back.
        """
        if not self.blocks:
            return True
        last = self.blocks[-1]
        paused = isinstance(last.message, Assistant) and last.message.stop_reason == "pause"
        return isinstance(last, Single) and last is self._last_assistant and not paused

    @property
    def turn(self) -> str | None:
        """The id of the last user message, which all behind it answers."""
        ids = (message.id for _, message in reversed(self.recorded) if isinstance(message, User))
        return next(ids, self._turn_before)

    @property
    def steps(self) -> int:
        """The number of assistant messages since the last user message."""
        count = 0
        for block in reversed(self.blocks):
            if isinstance(block.message, User):
                return count
            count += isinstance(block.message, Assistant)
        return count + self._steps_before

    def has_given(self, id: str) -> bool:
        """Whether a call of this conversation goes by that wire id."""
        return id in self._book

    def find_calls(self, name: str) -> list[Call]:
        """The calls that a key or a wire id names."""
        named = [call for call in self.calls.values() if name in (call.key, call.call.id, call.turn.names[call.slot])]
        return sorted(named, key=lambda call: call.key != name)

    def answered_by(self, result: ToolResult, key: str | None = None) -> Call | None:
        """The call that a result would answer now."""
        if key is not None:
            return self.unanswered.get(key)
        landing = self._pairing.wanted(result)
        return self.calls[call_key(landing[0].position, landing[1])] if landing is not None else None

    def idle_marks(self) -> tuple[str, ...]:
        """The open marks behind which nothing waits any more; the next run closes them."""
        return tuple(
            one for (kind, name), one in zip(_named(self.marks), self.marks, strict=True) if self._is_idle(kind, name)
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
            case "approval" | "decided":
                status = "parked" if kind == "approval" else "decided"
                return call is None or call.refused is not None or call.status != status
            case "started":
                return call is None or not call.outcome_unknown
            case _:
                return False


def _named(marks: Iterable[str]) -> list[tuple[str, str]]:
    """Marks as pairs of kind and name."""
    return [(kind, name) for kind, _, name in (one.partition(":") for one in marks)]
