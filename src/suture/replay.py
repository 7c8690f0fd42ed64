"""Folds a log into what a conversation is, and what may be sent of it.

Pure and incremental: the same entries give the same state, one by one or at once, and adding an entry costs
what that entry costs. Healing is a view: nothing here writes. A kind that is not known is kept in the log and
skipped here. A result that is late, doubled or misplaced is paired and reported; a decision counts only for
the request, key and digest that it names, and a call whose authority is in doubt is never run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias, assert_never

import msgspec

from suture.entries import (
    ApprovalDecision,
    ApprovalRequest,
    Body,
    Entry,
    Interrupt,
    MessageBody,
    RunFinished,
    RunStarted,
    Settlement,
    Steer,
    ToolStarted,
    call_digest,
    call_key,
    plain,
    position_of,
    read,
)
from suture.errors import Corrupt
from suture.messages import Assistant, Message, Text, ToolCall, ToolResult, Usage, User
from suture.pairing import Answers, Landing, Pairing, Repeats, Stray, Turn
from suture.repair import IdBook, Why, stand_in, with_call_ids

CallStatus: TypeAlias = Literal["pending", "started", "parked", "decided", "answered", "settled"]


class LogFinding(NamedTuple):
    """One thing that replay had to mend or leave aside: where, a code, and a sentence for the operator."""

    seq: int
    code: str
    sentence: str


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


class Call:
    """One call of the log, by key, and all that the log knows of it.

    `refused` says why its authority is in doubt, `reason` why the run that should have run it stopped.
    """

    __slots__ = (
        "attempt",
        "call",
        "decision",
        "key",
        "reason",
        "refused",
        "released",
        "request",
        "settlement",
        "slot",
        "turn",
    )

    def __init__(self, key: str, call: ToolCall, turn: TurnBlock, slot: int) -> None:
        self.key = key
        self.call = call
        self.turn = turn
        self.slot = slot
        self.request: Request | None = None
        self.decision: Decision | None = None
        self.attempt: Attempt | None = None
        self.settlement: Settlement | None = None
        self.released = False
        self.refused: str | None = None
        self.reason: str | None = None

    @property
    def answered(self) -> bool:
        """Whether a result is recorded."""
        return self.turn.paired.answers[self.slot] is not None

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
        return self.status == "started" and self.attempt is not None and self.attempt.body.effect == "external"

    @property
    def prepared(self) -> ToolCall:
        """The call that may run: as a reviewer edited it, as it was prepared for approval, or as the model made it."""
        if self.decision is not None and self.decision.body.call is not None:
            return self.decision.body.call
        return self.request.body.call if self.request is not None else self.call


class Single:
    """A message of the conversation that asks for no calls."""

    __slots__ = ("at", "message", "seq")

    def __init__(self, seq: int, message: Message) -> None:
        self.seq = seq
        self.message = message
        self.at = 0


class TurnBlock:
    """An assistant message with calls, and what answers them. `names` are its calls' wire ids, once in a session."""

    __slots__ = ("at", "by_loop", "calls", "message", "names", "paired", "seq")

    def __init__(self, seq: int, message: Assistant, paired: Turn, names: list[str], *, by_loop: bool) -> None:
        self.seq = seq
        self.message = message
        self.paired = paired
        self.names = names
        self.by_loop = by_loop
        self.calls = [Call(call_key(seq, slot), call, self, slot) for slot, call in enumerate(paired.calls)]
        self.at = 0


Block: TypeAlias = Single | TurnBlock
Inbox: TypeAlias = dict[str, tuple[int, User]]


class State:
    """What a log says, up to `head`. Only `fold` changes it.

    `run` is the id of the run that is on or was cut off; `interrupt` what stopped the last one, or is to stop
    this one; `last_status` how the last run ended, None when it did not.
    """

    def __init__(self) -> None:
        self.head = 0
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
        self.settled: set[str] = set()
        self._last_assistant: Block | None = None
        self._pairing = Pairing()
        self._book = IdBook()
        self._view = _RequestView(self)

    # Folding ----------------------------------------------------------------------------------

    def fold(self, entries: Iterable[Entry]) -> None:
        """Take in entries, in order of seq; what was taken in before is skipped."""
        for entry in entries:
            if entry.seq > self.head:
                self._fold(entry)
                self.head = entry.seq

    def _fold(self, entry: Entry) -> None:
        if entry.erased:
            self._find(entry.seq, "ERASED", f"the body of this {entry.kind} was erased")
            return
        try:
            body = read(entry)
        except Corrupt as error:
            self._unreadable(entry, str(error))
            return
        if body is not None:
            self._take(entry, body)

    def _take(self, entry: Entry, body: Body) -> None:
        match body:
            case MessageBody():
                self._message(entry.seq, body)
            case ToolStarted():
                self._started(entry, body)
            case ApprovalRequest():
                self._requested(entry, body)
            case ApprovalDecision():
                self._decided(entry.seq, body)
            case Steer():
                self.inbox[body.id] = (entry.seq, body.message)
            case Interrupt():
                if self.run is not None:
                    self.interrupt = body
                    self._note_stop()
            case Settlement():
                self._settled(entry.seq, body)
            case RunStarted():
                self.run, self.interrupt, self.last_status = body.run, None, None
            case RunFinished():
                self.run, self.last_status = None, body.status
                self.settled.clear()
                self._note_stop()
            case _:
                assert_never(body)

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
        """An entry that does not fit its kind is left aside; one of authority refuses the call that it concerns."""
        self._find(entry.seq, "UNREADABLE", why)
        value = plain(entry.body)
        key = value.get("key") if isinstance(value, dict) else None
        call = self.calls.get(key) if isinstance(key, str) else None
        if call is not None and entry.kind.startswith("approval_"):
            call.refused = f"entry {entry.seq} of kind {entry.kind} cannot be read"
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
        self.settled.clear()
        unseen = self._unseen(seen)
        if calls := message.calls:
            paired = self._pairing.add_turn(seq, calls, adopt=seen is None)
            names = [self._book.take(call.id, f"{seq}_{slot}") for slot, call in enumerate(calls)]
            block = TurnBlock(seq, message, paired, names, by_loop=seen is not None)
            self._append(block)
            self._last_assistant = block
            for call in block.calls:
                self.calls[call.key] = call
                if not call.answered:
                    self.unanswered[call.key] = call
        else:
            self._last_assistant = Single(seq, message)
            self._append(self._last_assistant)
        for late in unseen:
            self._append(late)

    def _unseen(self, seen: int | None) -> list[Block]:
        """Take off the tail what was written while the model answered; it stands behind the answer."""
        late: list[Block] = []
        while seen is not None and self.blocks and self.blocks[-1].seq > seen:
            block = self.blocks[-1]
            if not isinstance(block, Single) or isinstance(block.message, Assistant):
                break
            self._view.forget(block)
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
        self.unanswered.pop(call.key, None)
        if not keyed and self.blocks[-1] is not call.turn:
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
        if doubt := _doubt(call, body):
            call.refused = doubt
            self._find(entry.seq, "APPROVAL_INVALID", f"{body.key} will not run: {doubt}")
        else:
            call.request = Request(entry.seq, entry.at, body)
        self._touch(call.turn)

    def _decided(self, seq: int, body: ApprovalDecision) -> None:
        call = self.calls.get(body.key)
        request = call.request if call is not None else None
        if call is None or request is None or (body.request, body.digest) != (request.seq, request.body.digest):
            self._find(seq, "DECISION_INVALID", f"the decision on {body.key} names no request of this log and is not used")
        elif call.decision is not None or call.answered:
            self._find(seq, "DECISION_LATE", f"{body.key} was decided before; this decision is not used")
        else:
            call.decision = Decision(seq, body)
            self._touch(call.turn)

    def _settled(self, seq: int, body: Settlement) -> None:
        call = self.calls.get(body.key)
        if call is None or call.status != "started":
            self._find(seq, "SETTLEMENT_LATE", f"{body.key} waits for no settlement; this one is not used")
            return
        self.settled.add(call.key)
        if body.outcome == "released":
            call.released = True
        else:
            result = settled_result(call, body)
            self._pairing.answer(call.turn.paired, call.slot, seq, result)
            call.settlement = body
            self.unanswered.pop(call.key, None)
        self._touch(call.turn)

    def _touch(self, block: Block) -> None:
        self._view.forget(block)

    # Views ------------------------------------------------------------------------------------

    def messages(self) -> list[Message]:
        """The conversation as recorded, in the order of the log, without stand-ins."""
        return [message for _, message in self.recorded]

    def request(self) -> tuple[Message, ...]:
        """What may be sent now: each turn followed by one result per call, in call order, under ids that are
        given once; stand-ins where nothing is recorded; nothing empty.
        """
        return self._view.messages()

    def replay(self) -> list[tuple[Message, int | None]]:
        """The conversation with stand-ins (seq None); calls that will still run or wait for people stay open."""
        return [pair for block in self.blocks for pair in self._replayed(block)]

    def _replayed(self, block: Block) -> Iterator[tuple[Message, int | None]]:
        yield block.message, block.seq
        if isinstance(block, TurnBlock):
            for call in block.calls:
                answer = block.paired.answers[call.slot]
                if answer is not None:
                    yield answer.result, answer.position
                elif not self.is_open(call):
                    yield self.stand_in(call), None

    def stand_in(self, call: Call) -> ToolResult:
        """What a request says of a call without a result, by what the log knows of it."""
        why, reason = self._unanswered_because(call)
        return msgspec.structs.replace(stand_in(call.call, why, reason), id=f"stand-in:{call.key}")

    def _unanswered_because(self, call: Call) -> tuple[Why, str | None]:
        if call.refused is not None:
            return "not_run", call.refused
        match call.status:
            case "parked":
                return "not_run", "it waits for a person's approval"
            case "decided":
                return "not_run", "it was decided and has not been taken up yet"
            case "started":
                return "unknown", call.reason
            case _:
                return ("not_run", call.reason or "the run ended first") if call.turn.by_loop else ("unknown", None)

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
    def answered(self) -> bool:
        """Whether nothing waits for the model: the conversation is empty or ends in an answer without calls."""
        return not self.blocks or (isinstance(self.blocks[-1], Single) and self.blocks[-1] is self._last_assistant)

    @property
    def steps(self) -> int:
        """The number of assistant messages since the last user message."""
        count = 0
        for block in reversed(self.blocks):
            if isinstance(block.message, User):
                break
            count += isinstance(block.message, Assistant)
        return count

    def find_calls(self, name: str) -> list[Call]:
        """The calls that a key or a wire id names."""
        if (call := self.calls.get(name)) is not None:
            return [call]
        if position_of(name) is not None:
            return []
        return [call for call in self.calls.values() if name in (call.call.id, call.turn.names[call.slot])]


class _RequestView:
    """The messages of a request, kept from one to the next; forgetting a block costs what stands behind it."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._messages: list[Message] = []
        self._starts: list[int] = []

    def forget(self, block: Block) -> None:
        """Work the block out anew, and all behind it."""
        if block.at < len(self._starts):
            del self._messages[self._starts[block.at] :]
            del self._starts[block.at :]

    def messages(self) -> tuple[Message, ...]:
        for block in self._state.blocks[len(self._starts) :]:
            self._starts.append(len(self._messages))
            if isinstance(block, TurnBlock):
                self._messages.extend(self._turn(block))
            elif block.message.parts:
                self._messages.append(block.message)
        return tuple(self._messages)

    def _turn(self, block: TurnBlock) -> Iterator[Message]:
        renamed = any(name != call.id for name, call in zip(block.names, block.paired.calls, strict=True))
        yield with_call_ids(block.message, block.names) if renamed else block.message
        for call in block.calls:
            answer = block.paired.answers[call.slot]
            result = answer.result if answer is not None else self._state.stand_in(call)
            name = block.names[call.slot]
            yield result if result.call_id == name else msgspec.structs.replace(result, call_id=name)


def settled_result(call: Call, body: Settlement) -> ToolResult:
    """The result that a settlement gives a call."""
    return ToolResult(
        parts=body.content or (Text(_settled_text(body)),),
        id=f"settled:{call.key}",
        call_id=call.call.id,
        name=call.call.name,
        error=body.outcome == "failed",
        error_type="settled" if body.outcome == "failed" else None,
    )


def _settled_text(body: Settlement) -> str:
    by = f", as {body.by} found out" if body.by else ""
    return f"This call {'has completed' if body.outcome == 'completed' else 'has failed'}{by}. Its own result was lost."


def _doubt(call: Call, body: ApprovalRequest) -> str | None:
    """Why a request may not speak for its call; None when it may."""
    if call.request is not None:
        return "an approval was asked for twice"
    if call_digest(body.call) != body.digest:
        return "the approval request does not match its own digest"
    if (body.call.id, body.call.name) != (call.call.id, call.call.name):
        return "the approval request names another call"
    if body.provenance is None and body.call.arguments != call.call.arguments:
        return "the approval request holds other arguments than the call"
    return None
