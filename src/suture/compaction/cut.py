"""Where a conversation's past ends: never between a call and its result, never past a call that is still open."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from suture.compaction.tokens import tokens_of
from suture.messages import User
from suture.replay import Block, State, TurnBlock, shown


def cut_of(state: State, keep_recent: int) -> int | None:
    """The seq of the first message that stays, when about `keep_recent` tokens do; None when nothing is worth cutting.

    A kept part begins with a user's message or a turn with calls. It holds every turn of which a call is open (waits for a
    person, or may still run), and the user's message that led to it.
    """
    blocks = state.sent_blocks()
    enough = _enough(blocks, keep_recent)
    if enough is None:
        return None
    latest = _latest(state, blocks)
    places = [index for index in _places(blocks, state.talk.edited_spans) if index <= latest]
    wanted = next((index for index in places if index >= enough), places[-1] if places else 0)
    found = max((index for index in places if index <= wanted), default=0)
    return blocks[found].seq if found and state.wrong_with_boundary(blocks[found].seq) is None else None


def _enough(blocks: Sequence[Block], keep_recent: int) -> int | None:
    """The index from which on there are so many tokens; None when there are fewer in all."""
    tokens = 0
    for index in range(len(blocks) - 1, -1, -1):
        tokens += sum(map(tokens_of, shown(blocks[index])))
        if tokens >= keep_recent:
            return index
    return None


def _places(blocks: Sequence[Block], spans: Sequence[tuple[int, int]]) -> list[int]:
    """The indexes at which a kept part may begin: all that is sent before was written before, results too, and it lies in
    none of the spans.
    """
    found: list[int] = []
    reaches = [_reach(block) for block in blocks]
    firsts = sorted(spans)
    lasts = list(accumulate((last for _, last in firsts), max))
    before, behind = 0, _least_from_end(reaches)
    for index, block in enumerate(blocks):
        may_begin = isinstance(block.message, User) or isinstance(block, TurnBlock)
        if index > 0 and may_begin and before < behind[index]:
            spanned = bisect_left(firsts, (block.seq,))
            if not spanned or lasts[spanned - 1] < block.seq:
                found.append(index)
        before = max(before, reaches[index][1])
    return found


def _reach(block: Block) -> tuple[int, int]:
    """The first and the last of the seqs at which it stands, with all results."""
    reaches = [call.reach for call in block.calls] if isinstance(block, TurnBlock) else [(block.seq, block.seq)]
    return min(first for first, _ in reaches), max(last for _, last in reaches)


def _least_from_end(reaches: Sequence[tuple[int, int]]) -> list[int]:
    """For each index the least seq from there on."""
    least = [first for first, _ in reaches]
    for index in range(len(least) - 2, -1, -1):
        least[index] = min(least[index], least[index + 1])
    return least


def _latest(state: State, blocks: Sequence[Block]) -> int:
    """The last index from which on all calls are that are open, with the user's message that led to the first of them."""
    waiting = {call.seq for call in state.unanswered.values() if state.is_open(call)}
    first = next((index for index, block in enumerate(blocks) if block.seq in waiting), len(blocks))
    if first == len(blocks):
        return first
    return next((index for index in range(first, -1, -1) if isinstance(blocks[index].message, User)), 0)
