"""The conversation that a log holds: its messages, the calls in them, and which result answers which.

A result that is late, doubled or misplaced is paired and reported. What a summary stands for is hidden: it can be read, and
what comes for it changes no request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, assert_never

from suture.entries import Carried, Compacted, MessageBody, call_key, position_of
from suture.messages import Assistant, Message, ToolResult
from suture.pairing import Answers, Pairing, Repeats, Stray, Turn
from suture.repair import IdBook
from suture.replay.boundary import Boundary, carried_turns, restored_turns, wrong_boundary
from suture.replay.calls import Block, Call, Single, TurnBlock, own
from suture.replay.timeline import Timeline


class LogFinding(NamedTuple):
    """One thing that replay had to mend or leave aside: where, a code, and a sentence for the operator."""

    seq: int
    code: str
    sentence: str


class Applied(NamedTuple):
    """An edit that counted: where it stands, the seq of the message, and what that is now, None when it is gone."""

    seq: int
    target: int
    message: Message | None


class Conversation:
    """The messages since the reset at `begun`, 0 for none; those up to `start` were carried over rather than read.

    `recorded` are the messages by seq, `calls` all calls by key, `unanswered` those without a recorded result, `answering`
    the call for which the result at a seq came, `gone` the keys of calls that were removed, `edits` what was edited since
    the last boundary, `edited_spans` from where to where what was said of calls meant other ones, `edited_at` where
    the last edit or the reset stands.
    """

    def __init__(self, find: Callable[[int, str, str], None], begun: int = 0, start: int = 0) -> None:
        self.find = find
        self.begun = begun
        self.start = start
        self.boundary: Boundary | None = None
        self.recorded: dict[int, Message] = {}
        self.timeline = Timeline()
        self.calls: dict[str, Call] = {}
        self.unanswered: dict[str, Call] = {}
        self.answering: dict[int, Call] = {}
        self.gone: set[str] = set()
        self.edits: list[Applied] = []
        self.edited_spans: list[tuple[int, int]] = []
        self.edited_at = begun
        self.pairing = Pairing()
        self.book = IdBook()

    # Messages ---------------------------------------------------------------------------------

    def take(self, seq: int, body: MessageBody) -> None:
        """Take a message in, unless what it belongs to is gone."""
        match body.message:
            case Assistant() as answer:
                self._assistant(seq, answer, body.seen)
            case ToolResult() as result:
                self._result(seq, result, body.key)
            case other:
                self.recorded[seq] = other
                self.timeline.append(Single(seq, other))

    def _is_gone(self, key: str) -> bool:
        if not self.begun:
            return key in self.gone
        position = position_of(key)
        return key in self.gone or (position is not None and position[0] <= self.begun)

    def unknown(self, key: str) -> str:
        """What to say of a call that the conversation does not hold."""
        if not self._is_gone(key):
            return f"{key}, which is no call of this log"
        return f"{key}, which was {'removed' if key in self.gone else f'withdrawn at {self.begun}'}"

    def _assistant(self, seq: int, message: Assistant, seen: int | None) -> None:
        if seen is not None and seen < self.begun:
            words = f"the conversation that this answer belongs to was replaced at {self.begun}: {message.text}"
            self.find(seq, "ANSWER_WITHDRAWN", words)
            return
        self.recorded[seq] = message
        unseen = self.timeline.take_unseen(seen) if seen is not None else []
        if calls := message.calls:
            paired = self.pairing.add_turn(seq, tuple(map(own, calls)), adopt=seen is None)
            by_loop = seen is not None
            made = [self.new_call(seq, paired, slot, by_loop=by_loop) for slot in range(len(calls))]
            self.timeline.append(TurnBlock(seq, message, paired, by_loop, tuple(made)))
        else:
            self.timeline.append(Single(seq, message))
        for late in unseen:
            self.timeline.append(late)

    # Calls and results ------------------------------------------------------------------------

    def new_call(self, seq: int, turn: Turn, slot: int, *, by_loop: bool) -> Call:
        """The call of a turn at that place, which a result that came before it may answer."""
        name = self.book.take(turn.calls[slot].id, f"{turn.position}_{slot}")
        call = Call.at(turn, slot, name, by_loop=by_loop)
        self.calls[call.key] = call
        if (early := turn.answers[slot]) is None:
            self.unanswered[call.key] = call
        else:
            self.find(seq, "RESULT_DISPLACED", f"the result of {call.key} came before its call")
            self._belongs(early.position, call)
            call.answered_at = early.position if early.position > turn.position else None
        return call

    def _belongs(self, seq: int, call: Call) -> None:
        """Keep for which call a result came, whether it stands or not."""
        self.answering[seq] = call
        call.results += (seq,)

    def counts(self, seq: int) -> bool:
        """Whether the result at that seq is what answers its call."""
        call = self.answering.get(seq)
        held = call.paired.answers[call.slot] if call is not None else None
        return held is not None and held.position == seq

    def _result(self, seq: int, result: ToolResult, key: str | None) -> None:
        if key and self._is_gone(key):
            self.find(seq, "RESULT_ORPHAN", f"{self.unknown(key)}; its result is left aside: {result.text}")
            return
        self.recorded[seq] = result
        if key is None:
            self._unkeyed(seq, result)
        elif (call := self.calls.get(key)) is not None:
            self._landed(call, seq, result, self.pairing.answer(call.paired, call.slot, seq, result))
        else:
            self.find(seq, "RESULT_ORPHAN", f"this is the result of {self.unknown(key)}: {result.text}")

    def _unkeyed(self, seq: int, result: ToolResult) -> None:
        landing = self.pairing.add_result(seq, result)
        if isinstance(landing, Stray):
            self.find(seq, "RESULT_ORPHAN", f"no call wants this result of {result.call_id!r}: {result.text}")
            return
        call = self.calls[call_key(landing.turn.position, landing.slot)]
        if self._landed(call, seq, result, landing) and not self.timeline.ends_at(call.seq):
            self.find(seq, "RESULT_DISPLACED", f"the result of {call.key} stands behind its turn in what is sent")

    def _landed(self, call: Call, seq: int, result: ToolResult, landing: Answers | Repeats) -> bool:
        """Take in a result that came for a call; whether a request shows it."""
        self._belongs(seq, call)
        if self.is_read_only(call.seq) and call.seq not in self.recorded:
            self.recorded.pop(seq)  # the message that made the call was removed
        match landing:
            case Repeats():
                self.find(seq, "RESULT_DUPLICATE", f"the call {result.call_id!r} was answered before: {result.text}")
                return False
            case Answers():
                if landing.loser is not None:
                    words = landing.loser.result.text
                    self.find(seq, "RESULT_REPLACED", f"a later result of {call.key} stands instead of: {words}")
                return not self.answered(call, seq, result)
            case _:
                assert_never(landing)

    def answered(self, call: Call, seq: int, result: ToolResult) -> bool:
        """Note that a call has an answer; whether that is hidden, and so in no request."""
        self.close(call, seq)
        return self.is_reported_hidden(call, seq, result)

    def close(self, call: Call, seq: int) -> None:
        """Note that nobody waits for an answer of a call any more."""
        self.unanswered.pop(call.key, None)
        if call.answered_at is None:
            call.answered_at = seq
        self.timeline.forget(call.seq)

    def is_reported_hidden(self, call: Call, seq: int, result: ToolResult) -> bool:
        """Whether a call is hidden by a summary; what answers it is reported then."""
        if self.boundary is None or not self.boundary.hides(call.seq):
            return False
        words = f"the call {call.key} was summarised; no request shows its result: {result.text}"
        self.find(seq, "RESULT_HIDDEN", words)
        return True

    def answered_by(self, result: ToolResult, key: str | None = None) -> Call | None:
        """The call that a result would answer now."""
        if key is not None:
            return self.unanswered.get(key)
        landing = self.pairing.wanted(result)
        return self.calls[call_key(landing[0].position, landing[1])] if landing is not None else None

    def calls_at(self, seq: int) -> Sequence[Call]:
        """The calls of the message at that seq."""
        block = self.timeline.at(seq)
        return block.calls if isinstance(block, TurnBlock) else ()

    def in_order(self) -> list[Call]:
        """The calls without a recorded result, in the order of the conversation."""
        seqs = sorted({call.seq for call in self.unanswered.values()})
        return [call for seq in seqs for call in self.calls_at(seq) if call.key in self.unanswered]

    def orphans(self) -> list[Call]:
        """Those of them whose messages are still there, as edits left them."""
        waiting = self.in_order()
        made = {seq: self._made_at(seq) for seq in {call.seq for call in waiting}}
        return [call for call in waiting if call.call.id in made[call.seq]]

    def _made_at(self, seq: int) -> frozenset[str]:
        """The wire ids of the calls that the message at that seq makes."""
        message = self.recorded.get(seq)
        return frozenset(call.id for call in message.calls) if isinstance(message, Assistant) else frozenset()

    # Boundaries -------------------------------------------------------------------------------

    def is_read_only(self, seq: int) -> bool:
        """Whether what stands at that seq is hidden by a summary."""
        return seq <= self.start or (self.boundary is not None and seq < self.boundary.body.first_kept)

    def wrong_with_boundary(self, first_kept: int, open_calls: list[Call]) -> str | None:
        """Why nothing below that seq may be hidden behind a summary; None when all of it may."""
        if self.timeline.is_straddled:
            return "an answer that was asked for before it stands behind it"
        if self.boundary is not None and first_kept < self.boundary.body.first_kept:
            return f"the conversation before entry {self.boundary.body.first_kept} is summed up already"
        if any(first < first_kept <= last for first, last in self.edited_spans):
            return f"entry {first_kept} parts a call from what was said of it before it was edited"
        before = self.timeline.hidden()
        # What is hidden takes part in no request, and whoever began behind it knows nothing of its results.
        shown = (call for call in self.calls.values() if not self.is_read_only(call.seq))
        return wrong_boundary(first_kept, [*before, *self.timeline.sent()], shown, open_calls)

    def hide(self, seq: int, body: Compacted) -> None:
        """Hide what stands before a boundary behind its summary; ids are given once behind it."""
        first = self.timeline.at(body.first_kept)
        assert first is not None
        self.boundary = Boundary(seq, body)
        self.timeline.hide(first, self.boundary.summary)
        self.pairing.close_before(body.first_kept)
        self.edits = [one for one in self.edits if one.target >= body.first_kept]
        self.edited_spans = [span for span in self.edited_spans if span[0] >= body.first_kept]
        self.book = IdBook()
        for block in self.timeline.sent():
            if isinstance(block, TurnBlock):
                for call in block.calls:
                    call.name = self.book.take(call.call.id, f"{block.seq}_{call.slot}")

    def carried_turns(self) -> Carried:
        """The part of what is carried over that speaks of messages."""
        last = self.timeline.last_answer
        return Carried(
            steps=self.timeline.steps,
            last=(last.seq, last.message) if last is not None and isinstance(last.message, Assistant) else None,
            behind=self.timeline.seqs_behind(),
            turns=carried_turns(self.calls.values(), self.timeline),
            strays=tuple((stray.position, stray.result) for stray in self.pairing.strays()),
            begun=self.begun,
        )

    def restore(self, carried: Carried) -> None:
        """Take in what was carried over."""
        self.pairing.close_before(self.start + 1)
        last: Block | None = Single(*carried.last) if carried.last is not None else None
        turns = list(restored_turns(carried, self.pairing))
        for block in turns:
            for call in block.calls:
                self.calls[call.key] = call
                if not call.answered:
                    self.unanswered[call.key] = call
            if last is not None and last.seq == block.seq:
                last = block
        self.timeline.carry(turns, last, carried.steps, carried.behind)
