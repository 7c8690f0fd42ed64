"""Where a compaction parts a log, and what is carried over that place.

What lies before a boundary is in no request any more: a summary stands for it. What a fold knew there is written down
with the compaction (`State.carry`), so that the log can be folded from the boundary on (`State.restore`) to the same end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from suture.entries import Carried, CarriedCall, CarriedTurn, Compacted
from suture.messages import Text, ToolCall, ToolResult, User
from suture.pairing import Pairing
from suture.replay.calls import Attempt, Block, Call, Decision, Request, TurnBlock, own
from suture.replay.timeline import Timeline

# How many indexes of calls that edits took away are carried over; reading from the beginning costs less than more of them.
_MOST_GAPS = 65_536

PREFACE = "The conversation before this point was summarised to save space. The summary:"


class Boundary(NamedTuple):
    """A compaction that counts: its seq, and its body."""

    seq: int
    body: Compacted

    @property
    def summary(self) -> User:
        """The message that stands for all before the boundary."""
        return User((Text(f"{PREFACE}\n\n{self.body.summary}"),), id=f"summary:{self.seq}")

    def hides(self, seq: int) -> bool:
        """Whether that lies before the boundary."""
        return seq < self.body.first_kept


def wrong_boundary(first: int, blocks: list[Block], calls: Iterable[Call], open_calls: Iterable[Call]) -> str | None:
    """Why nothing below that seq may be hidden behind a boundary; None when it is a good one."""
    at = _index_of(first, blocks)
    if at is None:
        return f"no message stands at entry {first}, from where it keeps the conversation"
    if any(block.seq > first for block in blocks[:at]) or any(block.seq < first for block in blocks[at:]):
        return f"an answer that was asked for before entry {first} stands behind it"
    if still := next((call.key for call in open_calls if call.seq < first), None):
        return f"the call {still} before entry {first} is still open"
    split = (call.key for call in calls if call.reach[0] < first <= call.reach[1])
    if parted := next(split, None):
        return f"entry {first} parts the call {parted} from a result of it"
    return None


def _index_of(seq: int, blocks: list[Block]) -> int | None:
    """The index of the block at that seq."""
    return next((at for at in range(len(blocks) - 1, -1, -1) if blocks[at].seq == seq), None)


# Calls over the boundary ----------------------------------------------------------------------


def carried_turns(calls: Iterable[Call], timeline: Timeline) -> tuple[CarriedTurn, ...]:
    """The turns with a call that no real result has answered, with what is known of those calls."""
    bare = sorted((call for call in calls if not call.paired.settled[call.slot]), key=lambda call: call.seq)
    return tuple(_carried_turn(timeline.turn(seq), list(group)) for seq, group in groupby(bare, key=lambda call: call.seq))


def _carried_turn(turn: TurnBlock, calls: list[Call]) -> CarriedTurn:
    names, slots = tuple(call.name for call in turn.calls), tuple(call.slot for call in turn.calls)
    size = len(turn.paired.answers)
    is_plain = slots == tuple(range(size))
    carried = tuple(_carried_call(turn, call) for call in sorted(calls, key=lambda call: call.slot))
    return CarriedTurn(
        turn.seq, turn.message, turn.by_loop, names, carried, () if is_plain else slots, 0 if is_plain else size
    )


def _carried_call(turn: TurnBlock, call: Call) -> CarriedCall:
    held = turn.paired.answers[call.slot]
    answer = (held.position, held.result) if held is not None else None
    known = call.correction, call.request, call.decision, call.attempt
    is_added = call.by_loop is not turn.by_loop
    return CarriedCall(call.slot, answer, *known, call.released, call.refused, call.reason, is_added)


def contradicts_itself(carried: Carried, start: int) -> bool:
    """Whether what was carried over to that seq can be no state there, so that the log is read from its beginning."""
    seqs = [one.seq for one in carried.turns]
    placed = *carried.strays, *carried.inbox.values(), *((carried.last,) if carried.last is not None else ())
    return (
        not all(0 < seq <= start for seq in (*seqs, *carried.behind, *(seq for seq, _ in placed)))
        or not (0 <= carried.begun <= start and 0 <= carried.gap <= start)
        or carried.steps < 0
        or len(set(seqs)) < len(seqs)
        or sum(max(one.size - len(one.message.calls), 0) for one in carried.turns) > _MOST_GAPS
        or any(_turn_contradicts_itself(one, start) for one in carried.turns)
    )


def _turn_contradicts_itself(turn: CarriedTurn, start: int) -> bool:
    made = turn.message.calls
    slots = turn.slots or tuple(range(len(made)))
    known = [call.slot for call in turn.calls]
    return (
        not len(made) == len(slots) == len(turn.names) == len(set(slots))
        or not all(0 <= slot < max(turn.size, len(made)) for slot in slots)
        or len(set(known)) < len(known)
        or not set(known) <= set(slots)
        or any(call.answer is not None and not 0 < call.answer[0] <= start for call in turn.calls)
    )


def restored_turns(carried: Carried, pairing: Pairing) -> Iterator[TurnBlock]:
    """The turns as blocks that stand in no conversation, their answered calls answered."""
    for position, result in carried.strays:
        pairing.add_result(position, result)
    for one in carried.turns:
        made = one.message.calls
        slots = one.slots or tuple(range(len(made)))
        calls = [ToolCall("", "")] * max(one.size, len(made))
        for slot, call in zip(slots, made, strict=False):
            calls[slot] = own(call)
        block = TurnBlock(one.seq, one.message, pairing.add_turn(one.seq, calls, adopt=False), one.by_loop)
        bare = {call.slot: call for call in one.calls}
        for slot in set(range(len(calls))) - set(slots):
            pairing.drop(block.paired, slot)
        named = zip(slots, one.names, strict=False)
        block.calls = tuple([_restored(block, slot, name, bare.get(slot), pairing) for slot, name in named])
        yield block


def _restored(block: TurnBlock, slot: int, name: str, known: CarriedCall | None, pairing: Pairing) -> Call:
    """A call of a turn that was carried over; of one that was answered nothing else is known."""
    call = Call.at(block.paired, slot, name, by_loop=block.by_loop and not (known is not None and known.added))
    if known is None:
        pairing.answer(block.paired, slot, block.seq, ToolResult.of(call.call.id, "answered"))
        return call
    if known.answer is not None:
        pairing.answer(block.paired, slot, *known.answer)
    _restore(call, known)
    return call


def _restore(call: Call, known: CarriedCall) -> None:
    call.correction = known.correction
    call.request = None if known.request is None else Request(*known.request)
    call.decision = None if known.decision is None else Decision(*known.decision)
    call.attempt = None if known.attempt is None else Attempt(*known.attempt)
    call.released, call.refused, call.reason = known.released, known.refused, known.reason
