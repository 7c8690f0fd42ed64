"""Which result answers which call.

Wire ids come back, go missing and are invented twice, so calls and results pair by occurrence: a result
answers the nearest earlier turn that still wants one under its id (and name, when it has one), and in that
turn the first such call. Without an id the name takes its place, and another name is no answer. A real result
beats a stand-in whenever it arrives; of two real ones the later counts; exact repeats are one.
A result that came before its call is kept for it.

Incremental: adding a message costs what that message costs, whatever came before.
"""

from __future__ import annotations

from bisect import bisect
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from suture.messages import Assistant, Message, ToolCall, ToolResult
from suture.stand_ins import is_stand_in


class Answer(msgspec.Struct, frozen=True, gc=False, order=True):
    """A result, and the position of its message."""

    position: int
    result: ToolResult


class Turn(msgspec.Struct, gc=False, eq=False):
    """The calls of one assistant message and what answered each, in call order; `settled` says of each whether it
    has a real answer, or was dropped: it wants none any more.

    `is_whole` says that each answer stands directly behind the turn, in call order and under its call's own id.
    """

    position: int
    calls: Sequence[ToolCall]
    answers: list[Answer | None]
    settled: bytearray
    is_whole: bool = False

    def unanswered(self) -> list[int]:
        """The indexes of the calls without any answer."""
        return [index for index, answer in enumerate(self.answers) if answer is None]


class Answers(msgspec.Struct, frozen=True, gc=False):
    """The result answers that call; `loser` is the answer that it displaced."""

    turn: Turn
    slot: int
    loser: Answer | None


class Repeats(msgspec.Struct, frozen=True, gc=False):
    """The call was answered before, and what is there stays."""

    turn: Turn
    slot: int


class Stray(NamedTuple):
    """No call wants the result."""


Landing: TypeAlias = Answers | Repeats | Stray


class _Wanting:
    """The calls under one key that want a result, as results find them: the nearest turn's first call first.

    `bare` takes only those that nothing has answered, not even a stand-in. No call wants again, so one that does not is
    dropped where it is met.
    """

    __slots__ = ("bare", "turns")

    def __init__(self, *, bare: bool) -> None:
        self.bare = bare
        self.turns: list[tuple[Turn, deque[int]]] = []

    def add(self, turn: Turn, index: int) -> None:
        at = len(self.turns)
        if at and self.turns[-1][0].position > turn.position:  # a turn that got calls when others had come behind it
            at = bisect(self.turns, turn.position, key=lambda one: one[0].position)
        if not at or self.turns[at - 1][0] is not turn:
            self.turns.insert(at, (turn, deque()))
            at += 1
        self.turns[at - 1][1].append(index)

    def first(self) -> tuple[Turn, int] | None:
        while self.turns:
            turn, indexes = self.turns[-1]
            while indexes:
                index = indexes[0]
                if not turn.settled[index] and not (self.bare and turn.answers[index]):
                    return turn, index
                indexes.popleft()
            self.turns.pop()
        return None


class Pairing:
    """All turns of a history by position, each call beside its answer."""

    def __init__(self) -> None:
        self.turns: dict[int, Turn] = {}
        # By id, or name without one; by the name of the tool as well, or None for any; whether only bare ones are taken.
        self._wanting: dict[tuple[str, str | None, bool], _Wanting] = {}
        self._answered: dict[str, tuple[Turn, int]] = {}
        self._strays: dict[str, dict[int, Answer]] = {}
        # By id: a call that has not been looked at, since nothing else came under that id.
        self._unread: dict[str, tuple[Turn, int]] = {}
        # By id and name: the positions at which strays came, which may be gone since.
        self._came: dict[tuple[str, str], list[int]] = {}
        self._first_open = 0

    def add_turn(self, position: int, calls: Sequence[ToolCall], *, adopt: bool = True) -> Turn:
        """A turn. With `adopt` its calls take results of their ids that came before them."""
        turn = self.turns[position] = Turn(position, calls, [None] * len(calls), bytearray(len(calls)))
        for index in range(len(calls)):
            self._add_call(turn, index, adopt=adopt)
        return turn

    def _add_call(self, turn: Turn, index: int, *, adopt: bool) -> None:
        call = turn.calls[index]
        for key in _keys(call):
            self._read(key)
            self._unread[key] = turn, index
        if adopt and (early := self._early(call)):
            self._settle(turn, index, early)

    def extend(self, turn: Turn, call: ToolCall) -> int:
        """One more call of a turn that is there; its index. It takes a result of its id that came before it."""
        turn.calls = (*turn.calls, call)
        turn.answers.append(None)
        turn.settled.append(False)
        turn.is_whole = False
        self._add_call(turn, len(turn.calls) - 1, adopt=True)
        return len(turn.calls) - 1

    def change(self, turn: Turn, index: int, call: ToolCall) -> None:
        """The call at that index, under the same id, is another one."""
        for key in (*_keys(turn.calls[index]), *_keys(call)):
            self._read(key)
        turn.calls = (*turn.calls[:index], call, *turn.calls[index + 1 :])
        for key in _keys(call):
            self._want(key, turn, index)

    def drop(self, turn: Turn, index: int) -> None:
        """The call at that index is gone, and what answered it; no result answers it any more."""
        turn.answers[index] = None
        turn.settled[index] = True

    def restate(self, turn: Turn, index: int, result: ToolResult) -> None:
        """What answers the call has other words now."""
        held = turn.answers[index]
        assert held is not None
        self._settle(turn, index, Answer(held.position, result))

    def restate_stray(self, position: int, result: ToolResult) -> None:
        """What no call took has other words now; a call may still take it."""
        strays = self._strays.get(result.call_id, {})
        if position in strays:
            strays[position] = Answer(position, result)

    def add_whole_turn(self, position: int, calls: Sequence[ToolCall], results: Sequence[Message]) -> bool:
        """A turn whose results stand directly behind it, when that is all there is to say: one for each call, in order,
        and no earlier result waits for one of them. False when it is not, and nothing is added.
        """
        if len(results) != len(calls) or (len(calls) > 1 and len({call.id for call in calls}) != len(calls)):
            return False
        answers: list[Answer | None] = []
        at = position
        for call, result in zip(calls, results, strict=True):
            at += 1
            id = call.id
            if type(result) is not ToolResult or result.call_id != id or not id or self._strays.get(id):
                return False
            if result.name and result.name != call.name:
                return False
            answers.append(Answer(at, result))
        turn = self.turns[position] = Turn(position, calls, answers, bytearray(len(calls)), is_whole=True)
        for index, call in enumerate(calls):
            self._read(call.id)
            self._unread[call.id] = turn, index
        return True

    def close_before(self, position: int) -> None:
        """The calls before that position that have a real answer take none any more: what comes later under their ids is
        of others, or of none.
        """
        self._first_open = position

    def _last_answered(self, key: str) -> tuple[Turn, int] | None:
        """The call under that key which a real result answered last."""
        last = self._answered.get(key)
        if last is None or last[0].position < self._first_open or last[0].answers[last[1]] is None:  # dropped since
            return None
        return last

    def _read(self, key: str) -> None:
        """Look at the call under that id, now that more comes under it."""
        at = self._unread.pop(key, None)
        if at is None or at[0].settled[at[1]]:  # noted when it was
            return
        turn, index = at
        held = turn.answers[index]
        if held is None or is_stand_in(held.result):
            self._want(key, turn, index)
        else:
            turn.settled[index] = True
            self._answered[key] = at

    def add_result(self, position: int, result: ToolResult) -> Landing:
        """A result that names its call by wire id."""
        answer = Answer(position, result)
        found = self.wanted(result)
        return self._duplicate(answer) if found is None else self._settle(*found, answer)

    def wanted(self, result: ToolResult) -> tuple[Turn, int] | None:
        """The call that the result would answer now; settles nothing."""
        self._read(_key(result))
        found = self._wanted(result)
        last = self._last_answered(_key(result))
        if found is None or last is None:
            return found
        turn, index = found
        held = last[0].answers[last[1]]
        is_same = held is not None and _is_same(held.result, result)
        repeats = last[0].position > turn.position and (turn.answers[index] or is_same)
        return None if repeats else found

    def answer(self, turn: Turn, index: int, position: int, result: ToolResult) -> Answers | Repeats:
        """A result that names its call by key: the first real one stays."""
        held = turn.answers[index]
        if held is not None and (not is_stand_in(held.result) or is_stand_in(result)):
            return Repeats(turn, index)
        return self._settle(turn, index, Answer(position, result))

    def strays(self) -> list[Answer]:
        """The results that no call took, by position."""
        return sorted(answer for answers in self._strays.values() for answer in answers.values())

    def loose(self) -> set[int]:
        """The positions of the strays that count, one for each id, for calls that are elsewhere."""
        best: dict[str, Answer] = {}
        for stray in self.strays():
            held = best.get(stray.result.call_id)
            if held is None or _takes_over(stray.result, held.result):
                best[stray.result.call_id] = stray
        return {stray.position for stray in best.values()}

    def take_stray(self, stray: Answer, turn: Turn, index: int) -> None:
        """Give a stray result to a call that its id does not name."""
        del self._strays[stray.result.call_id][stray.position]
        self._settle(turn, index, stray)

    def _wanted(self, result: ToolResult) -> tuple[Turn, int] | None:
        """The call that wants the result: the nearest turn's, its name first, by id alone where no name fits."""
        key, bare = _key(result), is_stand_in(result)
        named = self._first(key, result.name, bare=bare) if result.name else None
        return named or self._first(key, None, bare=bare)

    def _want(self, key: str, turn: Turn, index: int) -> None:
        for name in (None, turn.calls[index].name):
            for bare in (False, True):
                self._wanting.setdefault((key, name, bare), _Wanting(bare=bare)).add(turn, index)

    def _first(self, key: str, name: str | None, *, bare: bool) -> tuple[Turn, int] | None:
        wanting = self._wanting.get((key, name, bare))
        return None if wanting is None else wanting.first()

    def _settle(self, turn: Turn, index: int, answer: Answer) -> Answers:
        loser = turn.answers[index]
        turn.answers[index] = answer
        turn.is_whole = False
        if not is_stand_in(answer.result):
            turn.settled[index] = True
            at = turn, index
            for key in _keys(turn.calls[index]):
                last = self._last_answered(key)
                held = last[0].answers[last[1]] if last is not None else None
                if held is not None and held.position > answer.position:  # only its words are new
                    continue
                unread = self._unread.get(key)
                self._answered[key] = unread if unread == at else at
        return Answers(turn, index, loser)

    def _duplicate(self, answer: Answer) -> Landing:
        """A result under an id whose calls all have one: the later real one counts. A name speaks of the last turn only."""
        key = _key(answer.result)
        last = self._last_answered(key)
        if last is not None and key.startswith(_NAMED) and last[0] is not self.turns[next(reversed(self.turns))]:
            last = None
        if last is None:
            # All that answered the calls of the key are stand-ins.
            held_by = self._first(key, None, bare=False)
            return self._stray(answer) if held_by is None else Repeats(*held_by)
        turn, index = last
        held = turn.answers[index]
        if held is not None and not _takes_over(answer.result, held.result):
            return Repeats(turn, index)
        turn.answers[index] = answer
        turn.is_whole = False
        return Answers(turn, index, held)

    def _stray(self, answer: Answer) -> Stray:
        id, name = answer.result.call_id, answer.result.name or ""
        self._strays.setdefault(id, {})[answer.position] = answer
        self._came.setdefault((id, name), []).append(answer.position)
        return Stray()

    def _early(self, call: ToolCall) -> Answer | None:
        """The nearest stray result of the call's id."""
        strays = self._strays.get(call.id)
        if not strays or not call.id:
            return None
        nearest = -1
        for name in {"", call.name}:
            came = self._came.get((call.id, name), [])
            while came and came[-1] not in strays:
                came.pop()
            nearest = max(nearest, came[-1] if came else -1)
        return strays.pop(nearest, None)


# Begins the key of a call or result that has a name and no id; no id holds it.
_NAMED = "\x00"

# What programs write for the name of a result when they have lost it.
_NO_NAMES = frozenset(("unknown", "unknown_tool", "unknown_function", "tool", "function"))


def _key(result: ToolResult) -> str:
    return result.call_id or (_NAMED + result.name if result.name else "")


def _keys(call: ToolCall) -> tuple[str, ...]:
    return (call.id,) if call.id else ("", _NAMED + call.name)


def pair(messages: Sequence[Message]) -> Pairing:
    """The pairing of a whole history; positions are indexes. Results without an id, or of calls without one,
    pair by place where their numbers match.
    """
    pairing = Pairing()
    done = -1
    for position, message in enumerate(messages):
        if type(message) is Assistant:
            if calls := message.calls:
                end = position + len(calls)
                if pairing.add_whole_turn(position, calls, messages[position + 1 : end + 1]):
                    done = end
                else:
                    pairing.add_turn(position, calls)
        elif type(message) is ToolResult and position > done:
            pairing.add_result(position, message)
    _pair_by_place(pairing)
    return pairing


def _pair_by_place(pairing: Pairing) -> None:
    """Between two turns, as many open calls as stray results, each pair missing an id: they belong together.

    Calls and results of one name are counted apart from the others.
    """
    positions = sorted(pairing.turns)
    windows: dict[int, list[Answer]] = {}
    for stray in pairing.strays():
        if before := bisect(positions, stray.position):
            windows.setdefault(positions[before - 1], []).append(stray)
    for position, strays in windows.items():
        turn = pairing.turns[position]
        _pair_evenly(pairing, turn, turn.unanswered(), strays)
        if turn.unanswered():
            _pair_by_name(pairing, turn, strays)


def _pair_by_name(pairing: Pairing, turn: Turn, strays: Sequence[Answer]) -> None:
    """The same for the calls and results of each name, and then for those that are left."""
    calls: dict[str, list[int]] = {}
    results: dict[str, list[Answer]] = {}
    for index in turn.unanswered():
        calls.setdefault(turn.calls[index].name, []).append(index)
    for stray in strays:
        results.setdefault(stray.result.name or "", []).append(stray)
    for name, indexes in calls.items():
        _pair_evenly(pairing, turn, indexes, results.get(name, ()))
    taken = {answer.position for answer in turn.answers if answer}
    _pair_evenly(pairing, turn, turn.unanswered(), [stray for stray in strays if stray.position not in taken])


def _pair_evenly(pairing: Pairing, turn: Turn, indexes: Sequence[int], strays: Sequence[Answer]) -> None:
    """Give the stray results to those calls, in order, where they are as many and each may belong."""
    if len(strays) != len(indexes):
        return
    pairs = list(zip(indexes, strays, strict=True))
    if all(_may_belong(turn.calls[index], stray.result) for index, stray in pairs):
        for index, stray in pairs:
            pairing.take_stray(stray, turn, index)


def _may_belong(call: ToolCall, result: ToolResult) -> bool:
    if call.id and result.call_id:
        return False
    return not result.name or result.name == call.name or result.name in _NO_NAMES or result.name == call.id


def _takes_over(result: ToolResult, held: ToolResult) -> bool:
    """Whether a later result counts in the place of one under the same id."""
    if is_stand_in(result):
        return False
    return is_stand_in(held) or not _is_same(held, result)


def _is_same(one: ToolResult, other: ToolResult) -> bool:
    return one.parts == other.parts and bool(one.error) == bool(other.error)
