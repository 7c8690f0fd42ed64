"""What a run writes down: every entry goes through here, and is folded as soon as it stands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from suture.entries import Draft, MessageBody, Settled, Settlement, Wanted, mark
from suture.entries import draft as make_draft
from suture.loop.asks import Append, AppendUnclaimed, Emit, NewId, NewMessageId, Now, ask
from suture.loop.events import MessageRecorded, ToolFinished
from suture.loop.plan import Flow
from suture.messages import Message, ToolResult
from suture.replay import Call, State

# A call, and the result that answers it.
Answered: TypeAlias = tuple[Call, ToolResult]


class Journal:
    """The log of one run, and the state that is folded from it.

    `_recording` and `_drafts` are the answers whose append was not yet confirmed.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self._recording: list[Answered] = []
        self._drafts: tuple[Draft, ...] = ()

    def draft(self, wanted: Iterable[Wanted]) -> Flow[tuple[Draft, ...]]:
        """Bodies as drafts, with ids and the time; a message that has no id is given one."""
        at = yield from ask(Now())
        drafts = []
        for body, opens, closes in wanted:
            id = yield from ask(NewId())
            if isinstance(body, MessageBody) and body.message.id is None:
                named = yield from ask(NewMessageId())
                body = msgspec.structs.replace(body, message=msgspec.structs.replace(body.message, id=named))
            drafts.append(make_draft(id, at, body, opens, closes))
        return tuple(drafts)

    def append(self, wanted: Iterable[Wanted]) -> Flow[tuple[int, ...]]:
        """Append bodies with what they open and close; their seqs."""
        return (yield from self._write((yield from self.draft(wanted))))

    def _write(self, drafts: tuple[Draft, ...]) -> Flow[tuple[int, ...]]:
        written = yield from ask(Append(drafts))
        self.state.fold(written.entries)
        seqs = {entry.id: entry.seq for entry in written.entries}
        return tuple(seqs[one.id] for one in drafts)

    def record(
        self, message: Message, *, closes: tuple[str, ...] = (), seen: int | None = None, inbox: str | None = None
    ) -> Flow[None]:
        """Record a message that answers no call, and tell; unless it was edited out before anybody could be told."""
        (seq,) = yield from self.append([(MessageBody(message, seen=seen, inbox=inbox), (), closes)])
        if (recorded := self.state.recorded.get(seq)) is not None:
            yield from ask(Emit(MessageRecorded(seq, recorded)))

    def answer(self, answers: Iterable[Answered]) -> Flow[None]:
        """Record results of calls, and tell."""
        self._recording = list(answers)
        if self._recording:
            self._drafts = yield from self.draft(map(answering, self._recording))
            seqs = yield from self._write(self._drafts)
            self._recording = [
                (call, self._as_recorded(seq, result)) for seq, (call, result) in zip(seqs, self._recording, strict=True)
            ]
        recorded, self._recording, self._drafts = self._recording, [], ()
        yield from self.tell(recorded)

    def _as_recorded(self, seq: int, result: ToolResult) -> ToolResult:
        """The result with its id; as it came, where the call is gone for which it came."""
        recorded = self.state.recorded.get(seq)
        return recorded if isinstance(recorded, ToolResult) else result

    def tell(self, answers: Iterable[Answered]) -> Flow[None]:
        """Tell watchers of results that stand."""
        for call, result in answers:
            yield from ask(Emit(ToolFinished(call.key, result)))

    def close(self, landed: Iterable[Answered], *, fenced: bool) -> Flow[None]:
        """Record, once more and for the last time, what handlers brought. A fenced runner may only settle it."""
        landed = list(landed)
        if fenced:
            started = [(call, result) for call, result in (*self._recording, *landed) if call.attempt is not None]
            drafts = yield from self.draft(map(_settling, _known(started)))
            if drafts:
                yield from ask(AppendUnclaimed(drafts))
            return
        # What was being recorded goes as the same drafts, since they may stand already: a store takes them once.
        again = self._drafts or (yield from self.draft(map(answering, _known(self._recording))))
        for drafts in (again, (yield from self.draft(map(answering, _known(landed))))):
            if drafts:
                yield from ask(Append(drafts))


def answering(answered: Answered) -> Wanted:
    """The result's body; it closes all that was open about its call."""
    call, result = answered
    return MessageBody(result, key=call.key), (), call.all_marks


def _settling(answered: Answered) -> Wanted:
    call, result = answered
    outcome: Settled = "failed" if result.error and result.synthetic is None else "completed"
    body = Settlement(call.key, outcome, result.parts, "the runner that was replaced")
    return body, (mark("settled", call.key),), (mark("started", call.key),)


def _known(answered: Iterable[Answered]) -> list[Answered]:
    """Those of calls that are known to have ended: the result is the handler's own, or says that it was lost."""
    return [(call, result) for call, result in answered if result.synthetic in (None, "lost")]
