"""What a log says of a conversation: the facts that a fold keeps, and what follows from them.

Healing is a view: what may be sent now is worked out here, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import TypeAlias

from suture.entries import ChildReport, ChildResult, Interrupt, split_mark
from suture.messages import Assistant, Message, ToolResult, Usage, User
from suture.replay.boundary import Boundary
from suture.replay.calls import Block, Call, TurnBlock
from suture.replay.conversation import Conversation, LogFinding
from suture.replay.timeline import Timeline
from suture.replay.view import stand_in_for

Inbox: TypeAlias = dict[str, tuple[int, User]]


class Facts:
    """What a log says, up to `head`, where the entry `last_id` stands; blank where none was read.

    `talk` is the conversation. `run` is the id of the run that is on or was cut off; `interrupt` what stopped the last one,
    or is to stop this one; `last_status` how the last run ended, None when it did not; `marks` the open marks with the seqs
    that opened them, as the store keeps them. `linked` are the names of its children by session id, `reported` their
    reports; `began` and `result` say what a child's own log says of its work.
    """

    def __init__(self) -> None:
        self.head = 0
        self.last_id = ""
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
        self._last_erased = 0

    def _find(self, seq: int, code: str, sentence: str) -> None:
        self.findings.append(LogFinding(seq, code, sentence))

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
                return not call.outcome_unknown and self._may_go_on(call.seq)
            case _:
                return call.released or self._may_go_on(call.seq)

    def _may_go_on(self, seq: int) -> bool:
        """Whether calls of the turn there may still run unasked: nothing follows that may have passed them over."""
        return self.is_tail(seq) and seq > self._last_erased

    def is_tail(self, seq: int) -> bool:
        """Whether no assistant message follows the turn there; behind a turn that no run wrote, no message at all."""
        return self.timeline.is_tail(seq)

    def open_calls(self) -> list[Call]:
        """The calls that a run may still take up or a person decide, in order."""
        return [call for call in self.talk.in_order() if self.is_open(call)]

    def waiting_calls(self) -> list[Call]:
        """The calls that wait for a person's decision or were decided and not taken up yet, in order of request."""
        asked = [(call.request.seq, call) for call in self.unanswered.values() if call.request is not None]
        waiting = [pair for pair in asked if pair[1].refused is None and pair[1].status in ("parked", "decided")]
        return [call for _, call in sorted(waiting, key=itemgetter(0))]

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
        return tuple(one for one in self.marks if self._is_idle(*split_mark(one)))

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
