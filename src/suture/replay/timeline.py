"""The blocks of a conversation in order: what stands where, what is last, and what may be sent of it.

A block that is taken away leaves its place empty, so that no other moves. What a summary stands for is hidden: it is in no
request, is never last, and nothing is taken off it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from suture.messages import Assistant, Message, User
from suture.replay.calls import Block, Single, TurnBlock
from suture.replay.view import RequestView


class Timeline:
    """Blocks by place and by seq; `last_answer` is that of the last assistant message.

    Of what was carried over rather than read, `steps_before` is how many answers there were since the last user message,
    and `behind` the seqs of the messages behind the last answer. `is_straddled`: an answer to what came before messages
    that are hidden stands behind them.
    """

    def __init__(self) -> None:
        self._places: list[Block | None] = []
        self._by_seq: dict[int, Block] = {}
        self._first = 0
        self._view = RequestView(self._places)
        self._carried: Block | None = None
        self.last_answer: Block | None = None
        self.steps_before = 0
        self.behind: tuple[int, ...] = ()
        self.is_straddled = False

    def __iter__(self) -> Iterator[Block]:
        return (block for block in self._places if block is not None)

    def __reversed__(self) -> Iterator[Block]:
        return (block for block in reversed(self._places) if block is not None)

    @property
    def last(self) -> Block | None:
        """The last block of what is sent."""
        return self._places[-1] if len(self._places) > self._first else None

    def ends_at(self, seq: int) -> bool:
        """Whether the last block of what is sent is the one at that seq."""
        return (last := self.last) is not None and last.seq == seq

    def at(self, seq: int) -> Block | None:
        """The block of the message at that seq."""
        return self._by_seq.get(seq)

    def turn(self, seq: int) -> TurnBlock:
        """The turn at that seq, which is known to stand there."""
        block = self._by_seq[seq]
        assert isinstance(block, TurnBlock)
        return block

    def sent(self) -> list[Block]:
        """The blocks of what may be sent now."""
        return [block for block in self._places[self._first :] if block is not None]

    def hidden(self) -> list[Block]:
        """The blocks that a summary stands for."""
        return [block for block in self._places[: self._first] if block is not None]

    # Changing ---------------------------------------------------------------------------------

    def append(self, block: Block) -> None:
        """Put a block behind all others."""
        block.at = len(self._places)
        self._places.append(block)
        self._by_seq[block.seq] = block
        if isinstance(block.message, Assistant):
            self.last_answer = block

    def carry(self, turns: Sequence[TurnBlock], last_answer: Block | None, steps: int, behind: tuple[int, ...]) -> None:
        """Know the turns and the last answer of what was carried over, which stand at no place here."""
        for block in (*turns, *((last_answer,) if last_answer is not None else ())):
            block.at = -1
        self._by_seq.update((turn.seq, turn) for turn in turns)
        self.last_answer = self._carried = last_answer
        self.steps_before, self.behind = steps, behind

    def take_unseen(self, seen: int) -> list[Block]:
        """Take off the tail what was written behind `seen`, before which an answer stands that was not there yet."""
        late: list[Block] = []
        if self.ends_at(seen):
            return late
        # A run asks only once it holds the answer before.
        seen = max(seen, self.last_answer.seq if self.last_answer is not None else 0)
        while (last := self.last) is not None and last.seq > seen:
            late.append(last)
            self.remove(last)
        if self.last is None:
            self.is_straddled |= any(one > seen for one in self.seqs_behind())
        return late[::-1]

    def seqs_behind(self) -> tuple[int, ...]:
        """The seqs of the messages behind the last answer, which the next one may not have seen."""
        last = self.last_answer
        seqs = list(self.behind) if last is None or last.at < 0 else []
        for block in reversed(self):
            if block is last:
                break
            seqs.append(block.seq)
        return tuple(seqs)

    def replace(self, block: Block, other: Block) -> None:
        """Put another block in the place of one."""
        self.forget(block.seq)
        other.at = block.at
        self._places[block.at] = self._by_seq[block.seq] = other
        if self.last_answer is block:
            self.last_answer = other

    def remove(self, block: Block) -> None:
        """Take a block away."""
        self.forget(block.seq)
        del self._by_seq[block.seq]
        self._places[block.at] = None
        while len(self._places) > self._first and self._places[-1] is None:
            self._places.pop()
        self._view.cut(len(self._places))
        if self.last_answer is block:
            answers = (one for one in reversed(self) if isinstance(one.message, Assistant))
            self.last_answer = next(answers, self._carried)

    def hide(self, first: Block, summary: Message) -> None:
        """Send the summary in the place of all before that block."""
        self._first = first.at
        self._view = RequestView(self._places, self._first, (summary,))

    def forget(self, seq: int) -> None:
        """Work out anew what is sent of the block there, and of all behind it."""
        self._view.cut(self._by_seq[seq].at)

    def request(self) -> tuple[Message, ...]:
        """What may be sent now."""
        return self._view.messages()

    # Whose turn it is -------------------------------------------------------------------------

    def is_tail(self, seq: int) -> bool:
        """Whether no assistant message follows the turn there; behind a turn that no run wrote, no message at all."""
        turn = self.turn(seq)
        return turn is (self.last_answer if turn.by_loop else self.last)

    @property
    def reply(self) -> Assistant | None:
        """The last assistant message, when no user message follows it: what the model has said to what was said last."""
        for block in reversed(self):
            if isinstance(block.message, User):
                return None
            if isinstance(block.message, Assistant):
                return block.message
        last = self._carried.message if self._carried is not None and self.steps_before else None
        return last if isinstance(last, Assistant) else None

    @property
    def answered(self) -> bool:
        """Whether nothing waits for the model: the conversation is empty or ends in an answer without calls.

        A paused turn (of a provider that runs tools itself) is none: it goes on when it is sent back.
        """
        last = self.last
        if last is None:
            return True
        paused = isinstance(last.message, Assistant) and last.message.stop_reason == "pause"
        return isinstance(last, Single) and last is self.last_answer and not paused

    @property
    def steps(self) -> int:
        """The number of assistant messages since the last user message."""
        count = 0
        for block in reversed(self):
            if isinstance(block.message, User):
                return count
            count += isinstance(block.message, Assistant)
        return count + self.steps_before
