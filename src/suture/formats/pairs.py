"""Which calls and results of a history stand where they must, read in order."""

from __future__ import annotations

from typing import NamedTuple


class Call(NamedTuple):
    """A call's place: message, and index in it."""

    i: int
    j: int
    id: str


class Stray(NamedTuple):
    """A result that answers no call where it stands; `call` is the one that it belongs to, where there is one."""

    i: int
    j: int
    id: str
    call: Call | None
    answered: bool


class Unpaired(NamedTuple):
    """What does not pair: calls, results, and ids used again, each with the message of its first use.

    `ids` lists, for each turn by index, the ids that lack a result, as the provider does.
    """

    unanswered: list[Call]
    strays: list[Stray]
    repeated: list[tuple[int, Call]]
    ids: dict[int, str]


class Pairs:
    """Calls and results of a history, read in order: which stand where they must, and what is left over.

    This only says what a provider would refuse. What belongs together is for `pairing`, which looks further.
    """

    def __init__(self, *, unique_in_history: bool) -> None:
        self.open: dict[str, list[Call]] = {}
        self._unique_in_history = unique_in_history
        self._used: dict[str, int] = {}
        self._answered: set[str] = set()
        self._repeated: list[tuple[int, Call]] = []
        self._unanswered: list[Call] = []
        self._strays: list[tuple[int, int, str]] = []

    def add_call(self, i: int, j: int, id: str) -> None:
        """A call of the turn that is being read."""
        call = Call(i, j, id)
        waiting = self.open.setdefault(id, [])
        waiting.append(call)
        if id and id in self._used and (self._unique_in_history or len(waiting) > 1):
            self._repeated.append((self._used[id], call))
        self._used[id] = self._used.get(id, i) if self._unique_in_history else i

    def add_result(self, i: int, j: int, id: str) -> bool:
        """Whether a result, in a place where one is allowed, answers an open call."""
        waiting = self.open.get(id)
        if not waiting or not id:
            self._strays.append((i, j, id))
            return False
        waiting.pop(0)
        if not waiting:
            del self.open[id]
            self._answered.add(id)
        return True

    def close(self) -> None:
        """No more results for the turn: what is open stays unanswered."""
        for calls in self.open.values():
            self._unanswered += calls
        self.open = {}

    def finish(self, open_from: int | None) -> Unpaired:
        """What is left over; calls of the turn that begins at that message may be unanswered."""
        self.close()
        wanting: dict[str, list[Call]] = {}
        for call in sorted(self._unanswered, reverse=True):
            wanting.setdefault(call.id, []).append(call)
        strays = []
        for i, j, id in self._strays:
            belongs = wanting[id].pop() if id and wanting.get(id) else None
            strays.append(Stray(i, j, id, belongs, answered=id in self._answered))
        missing = sorted(call for calls in wanting.values() for call in calls)
        left = [call for call in missing if open_from is None or call.i < open_from]
        ids: dict[int, dict[str, None]] = {}
        for call in (*left, *(stray.call for stray in strays if stray.call)):
            ids.setdefault(call.i, {})[call.id] = None
        return Unpaired(left, strays, self._repeated, {i: ", ".join(names) for i, names in ids.items()})
