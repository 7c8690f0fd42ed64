"""A history in which every call is answered, at once, exactly once.

Texts stand in for results that are not there, and are never mixed up: the call was not run; it may have run; it did
not finish in time; it ran and its result was lost; a person said no. Which one is true is the caller's knowledge.

`mend` never changes its input, moves real results rather than replacing them, and names each thing it did.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from suture.messages import Assistant, Message, Text, ToolCall, ToolResult, User
from suture.pairing import Answer, Pairing, Turn, pair

Why: TypeAlias = Literal["not_run", "unknown", "lost", "timeout", "denied"]
Unanswered: TypeAlias = Literal["answer", "keep", "drop"]
Orphans: TypeAlias = Literal["drop", "quote", "keep"]


def stand_in_text(why: Why, reason: str | None = None) -> str:
    """The words that stand in for a result."""
    because = f": {reason.strip().rstrip('.')}" if reason and reason.strip() else ""
    match why:
        case "not_run":
            return f"This call was not run{because}."
        case "unknown":
            return (
                f"This call did not finish{because}. No result of it was recorded. It may have run and taken effect; "
                "check before repeating it."
            )
        case "lost":
            return f"This call ran, and its result was lost{because}. It has taken effect; do not repeat it unchecked."
        case "timeout":
            return (
                f"This call did not finish in time{because}. It may still be running and may take effect; "
                "check before repeating it."
            )
        case "denied":
            return f"A person decided that this call must not run{because}."


def stand_in(call: ToolCall, why: Why, reason: str | None = None) -> ToolResult:
    """A marked result for a call that has none; an error unless a person said no."""
    return ToolResult(
        parts=(Text(stand_in_text(why, reason)),),
        call_id=call.id,
        name=call.name,
        error=why != "denied",
        error_type={"not_run": "not_run", "denied": "denied", "timeout": "timeout"}.get(why, "interrupted"),
        synthetic=why,
    )


# Mending --------------------------------------------------------------------------------------


class Mend(NamedTuple):
    """One thing that `mend` did: a diagnosis code, the index of the message concerned, and the words lost.

    `slot` is the index of the call among those of its turn, where the message is an assistant's.
    """

    code: str
    position: int
    call_id: str
    action: str
    detail: str = ""
    lost: Literal["none", "text", "call", "result"] = "none"
    slot: int | None = None


class Mended(NamedTuple):
    """Messages, each with the index of the message that it was (None for one that is new), and what was done."""

    messages: list[Message]
    sources: list[int | None]
    mends: list[Mend]


def mend(
    messages: Sequence[Message],
    *,
    middle: Unanswered = "answer",
    tail: Unanswered = "answer",
    orphans: Orphans = "drop",
    why: Why = "unknown",
    reason: str | None = None,
) -> Mended:
    """The messages with each result directly behind its turn, one per call.

    `middle` and `tail` say what becomes of unanswered calls: of the last turn, when only results follow it,
    and of every other. `orphans` are results without a call; kept, they stay where they are, for a call that is elsewhere,
    one for each id.
    """
    pairing = pair(messages)
    return Mended(*_Mending(messages, pairing, middle, tail, orphans, why, reason).run())


class _Mending:
    """One pass over a history; order in the output is order of the input, results aside."""

    def __init__(
        self,
        messages: Sequence[Message],
        pairing: Pairing,
        middle: Unanswered,
        tail: Unanswered,
        orphans: Orphans,
        why: Why,
        reason: str | None,
    ) -> None:
        self.messages = messages
        self.pairing = pairing
        self.middle = middle
        self.tail = tail
        self.orphans = orphans
        self.why = why
        self.reason = reason
        self.boundary = _last_open(messages)
        self.placed = {answer.position for turn in pairing.turns.values() for answer in turn.answers if answer}
        self.strays = {stray.position for stray in pairing.strays()}
        self.loose = pairing.loose() if orphans == "keep" else set[int]()
        self.out: list[Message] = []
        self.sources: list[int | None] = []
        self.mends: list[Mend] = []

    def run(self) -> tuple[list[Message], list[int | None], list[Mend]]:
        for position, message in enumerate(self.messages):
            if type(message) is ToolResult:
                if position not in self.placed:
                    self._leave_out(position, message)
            elif type(message) is Assistant and position in self.pairing.turns:
                self._turn(position, message, self.pairing.turns[position])
            else:
                self._emit(message, position)
        return self.out, self.sources, self.mends

    def _emit(self, message: Message, source: int | None) -> None:
        self.out.append(message)
        self.sources.append(source)

    def _turn(self, position: int, message: Assistant, turn: Turn) -> None:
        if turn.is_whole or _is_whole(position, turn):
            end = position + 1 + len(turn.calls)
            self.out += self.messages[position:end]
            self.sources += range(position, end)
            return
        dropped: set[int] = set()
        answers: list[Answer | None] = list(turn.answers)
        missing = turn.unanswered()
        fate = (self.tail if position == self.boundary else self.middle) if missing else "keep"
        if fate == "drop":
            dropped = set(missing)
            message = self._without(position, message, turn, dropped)
        if message.parts:
            self._emit(message, position)
        in_place = _in_place(position, self.messages, answers)
        order = self._order(position, turn, in_place)
        end = 0 if in_place else _end_of_results(position, self.messages)
        for index in order:
            answer = answers[index]
            if answer is not None:
                self._answer(answer, turn, index, moved=not (in_place or position < answer.position < end))
            elif index not in dropped and fate == "answer":
                self._stand_in(position, turn.calls[index], index)

    def _order(self, position: int, turn: Turn, in_place: bool) -> list[int]:
        """Call order; the order found, where all answers already stand behind their turn."""
        indexes = list(range(len(turn.calls)))
        if in_place and not turn.unanswered():
            return sorted(indexes, key=lambda index: turn.answers[index].position)  # type: ignore[union-attr]
        present = [answer.position for answer in turn.answers if answer is not None]
        if in_place and present != sorted(present):
            self.mends.append(Mend("RESULT_ORDER", position, "", "put the results into the order of their calls"))
        return indexes

    def _answer(self, answer: Answer, turn: Turn, index: int, *, moved: bool) -> None:
        call, result = turn.calls[index], answer.result
        if moved:
            action = "moved the result to directly behind its call"
            self.mends.append(Mend("RESULT_DISPLACED", answer.position, call.id, action))
        if result.call_id != call.id:
            action = f"gave the result the id of its call, {call.id!r}"
            self.mends.append(Mend("ID_MISSING", answer.position, call.id, action))
            result = msgspec.structs.replace(result, call_id=call.id)
        self._emit(result, answer.position)

    def _stand_in(self, position: int, call: ToolCall, slot: int) -> None:
        result = stand_in(call, self.why, self.reason)
        self.mends.append(Mend("CALL_UNANSWERED", position, call.id, "added a result", result.text, slot=slot))
        self._emit(result, None)

    def _without(self, position: int, message: Assistant, turn: Turn, dropped: set[int]) -> Assistant:
        """The assistant message without some of its calls."""
        action = "removed the unanswered call"
        gone: set[int] = set()
        for slot in sorted(dropped):
            call = turn.calls[slot]
            gone.add(id(call))
            detail = f"{call.name}({call.raw or ''})" if call.arguments is None else f"{call.name}({call.arguments})"
            self.mends.append(Mend("CALL_UNANSWERED", position, call.id, action, detail, "call", slot))
        parts = tuple(part for part in message.parts if id(part) not in gone)
        if not parts:
            self.mends.append(Mend("MESSAGE_EMPTY", position, "", "removed the message, which held nothing else"))
        return msgspec.structs.replace(message, parts=parts)

    def _leave_out(self, position: int, result: ToolResult) -> None:
        if position not in self.strays or (result.call_id and self.orphans == "keep" and position not in self.loose):
            action = "left out a second result of the same call"
            self.mends.append(Mend("RESULT_DUPLICATE", position, result.call_id, action, result.text, "result"))
            return
        if self.orphans == "keep" and result.call_id:
            self._emit(result, position)
            return
        if self.orphans == "quote":
            self.mends.append(Mend("RESULT_ORPHAN", position, result.call_id, "turned the result into a user's note"))
            self._emit(_note(result), None)
            return
        action = "left out a result that no call asked for"
        self.mends.append(Mend("RESULT_ORPHAN", position, result.call_id, action, result.text, "result"))


def _note(result: ToolResult) -> User:
    name = f" of {result.name}" if result.name else ""
    return User((Text(f"[Result{name} of an earlier tool call]"), *result.parts))


def _is_whole(position: int, turn: Turn) -> bool:
    """Whether each call has its result directly behind the turn, in call order and under its own id."""
    for at, (call, answer) in enumerate(zip(turn.calls, turn.answers, strict=True), position + 1):
        if answer is None or answer.position != at or answer.result.call_id != call.id:
            return False
    return True


def _end_of_results(position: int, messages: Sequence[Message]) -> int:
    """The index behind the run of results that follows the turn."""
    at = position + 1
    while at < len(messages) and type(messages[at]) is ToolResult:
        at += 1
    return at


def _in_place(position: int, messages: Sequence[Message], answers: Sequence[Answer | None]) -> bool:
    """Whether every answer that is there stands in the run of results directly behind the turn."""
    found = [answer.position for answer in answers if answer is not None]
    if not found:
        return True
    last = max(found)
    if min(found) <= position:
        return False
    return all(type(messages[at]) is ToolResult for at in range(position + 1, last))


def _last_open(messages: Sequence[Message]) -> int | None:
    """The last message that is no result, when it is an assistant's."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if type(message) is not ToolResult:
            return position if type(message) is Assistant else None
    return None


# Ids ------------------------------------------------------------------------------------------


class IdBook:
    """Wire ids that are given once: the first call of an id keeps it, later ones get a derived one.

    Derived ids depend on what came before alone, so a longer history has the same ids in its beginning.
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def __contains__(self, id: str) -> bool:
        """Whether the id is given."""
        return id in self._taken

    def take(self, id: str, place: str) -> str:
        """The id when it is free, else one derived from it; `place` names a call that has none."""
        wanted = name = id or f"call_{place}"
        while name in self._taken:
            self._next[wanted] = self._next.get(wanted, 1) + 1
            name = f"{wanted}_{self._next[wanted]}"
        self._taken.add(name)
        return name

    def release(self, name: str) -> None:
        """Nothing goes by that id any more; it may be given again."""
        self._taken.discard(name)


def with_unique_ids(
    messages: Sequence[Message], *, scope: Literal["turn", "history"], needed: bool = True
) -> tuple[list[Message], list[Mend]]:
    """The messages with ids unique in the scope, calls and results renamed together; where ids are needed, none is missing.

    Every result must stand behind its turn, as `mend` leaves it. `position` of a mend is an index of the input.
    """
    book, out, mends = IdBook(), list(messages), list[Mend]()
    for position, ordinal, message in _turns(messages):
        if scope == "turn":
            book = IdBook()
        calls = message.calls
        names = [book.take(call.id, f"{ordinal}_{index}") if call.id or needed else "" for index, call in enumerate(calls)]
        if all(name == call.id for name, call in zip(names, calls, strict=True)):
            continue
        seen: set[str] = set()
        for slot, (name, call) in enumerate(zip(names, calls, strict=True)):
            if name != call.id:
                code = "ID_MISSING" if not call.id else "ID_DUPLICATE" if call.id in seen else "ID_REUSED"
                action = f"named the call {name!r}, and its result with it"
                mends.append(Mend(code, position, call.id, action, slot=slot))
            seen.add(call.id)
        out[position] = with_call_ids(message, names)
        _rename_results(messages, out, position, calls, names)
    return out, mends


def with_call_ids(message: Assistant, names: Sequence[str]) -> Assistant:
    """The message with its calls named anew, in order."""
    fresh = iter(names)
    parts = tuple(
        msgspec.structs.replace(part, id=name) if type(part) is ToolCall and part.id != (name := next(fresh)) else part
        for part in message.parts
    )
    return msgspec.structs.replace(message, parts=parts)


def _turns(messages: Sequence[Message]) -> Iterator[tuple[int, int, Assistant]]:
    """Each assistant message with calls, with its index and its number among them."""
    ordinal = 0
    for position, message in enumerate(messages):
        if type(message) is Assistant and message.calls:
            yield position, ordinal, message
            ordinal += 1


def _rename_results(
    messages: Sequence[Message], out: list[Message], position: int, calls: Sequence[ToolCall], names: Sequence[str]
) -> None:
    """Rename the results behind a turn; under one id they are told by their names, then by the order of the calls."""
    named: dict[tuple[str, str], deque[int]] = {}
    for slot, call in enumerate(calls):
        named.setdefault((call.id, call.name), deque()).append(slot)
    others: list[int] = []
    taken: set[int] = set()

    def rename(at: int, result: ToolResult, slot: int) -> None:
        taken.add(slot)
        out[at] = msgspec.structs.replace(result, call_id=names[slot])

    for at in range(position + 1, len(messages)):
        result = messages[at]
        if type(result) is not ToolResult:
            break
        if result.name and (slots := named.get((result.call_id, result.name))):
            rename(at, result, slots.popleft())
        else:
            others.append(at)
    left: dict[str, deque[int]] = {}
    for slot, call in enumerate(calls):
        if slot not in taken:
            left.setdefault(call.id, deque()).append(slot)
    for at in others:
        result = messages[at]
        if type(result) is ToolResult and (slots := left.get(result.call_id)):
            rename(at, result, slots.popleft())


# Riffer's two transforms ----------------------------------------------------------------------


def fill_orphans(messages: Sequence[Message]) -> tuple[Sequence[Message], list[str]]:
    """The messages with a stand-in for every unanswered call, and the ids of those calls, in order.

    Real results move next to their calls, second results and results without a call are left out, and ids
    become unique; `heal` does the same on a wire format and reports each. The input is not changed; the same
    object comes back when nothing had to be done.
    """
    mended = mend(messages)
    named, renamed = with_unique_ids(mended.messages, scope="history")
    if not mended.mends and not renamed:
        return messages, []
    filled = [
        message.call_id
        for message, source in zip(named, mended.sources, strict=True)
        if source is None and type(message) is ToolResult
    ]
    return named, filled


def prune_orphans(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages without unanswered calls and without results that no call asked for.

    Words and real results of a turn stay. Unanswered calls of the last turn stay too, to be run, when only
    results follow it. The input is not changed; the same object comes back when nothing had to be done.
    """
    mended = mend(messages, middle="drop", tail="keep")
    named, renamed = with_unique_ids(mended.messages, scope="history")
    return named if mended.mends or renamed else messages
