"""Which calls and responses of a history stand where Gemini wants them: each batch answered by the very next content.

Ids are optional there, so a response without one is told by its name. This only says what is refused; what belongs
together is for `pairing`, which looks further.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

_Key: TypeAlias = tuple[str, str, str]


class Mark(NamedTuple):
    """The place of a call or a response, its id (blank without one) and its name."""

    i: int
    j: int
    id: str
    name: str


class Stray(NamedTuple):
    """A response that answers no call where it stands; `call` is the one that it belongs to, where there is one."""

    mark: Mark
    call: Mark | None
    answered: bool
    is_behind: bool  # behind a content that answers the same turn


class Pair(NamedTuple):
    """A call and the response that answers it under another id or name."""

    call: Mark
    response: Mark


class Turns:
    """The turns of a history, read in order."""

    def __init__(self) -> None:
        self.uneven: list[Pair] = []  # pairs whose ids or names differ
        self._open: list[Mark] = []
        self._home: int | None = None  # the content that answers the turn
        self._last: Sequence[Mark] = ()
        self._names: frozenset[str] | None = None  # of the last turn's calls, once they are asked for
        self._missing: list[Mark] = []
        self._strays: list[tuple[Mark, bool, bool]] = []
        self._answered: set[str] = set()

    def begin(self, calls: list[Mark], *, goes_on: bool) -> None:
        """The calls of a content of the model; `goes_on` with the batch of the content before."""
        if not goes_on:
            self.close()
            self._last = ()
        self._names = None
        self._open = [*self._open, *calls] if self._open else calls
        self._last = [*self._last, *calls] if self._last else calls

    def respond(self, i: int, responses: list[Mark]) -> None:
        """The responses of a content."""
        left = responses
        is_behind = self._home is not None and self._home != i
        if self._open and not is_behind:
            self._home = i
            left = self._match(responses)
        for mark in left:
            if self._names is None:
                self._names = frozenset(call.name for call in self._last)
            known = mark.id in self._answered if mark.id else mark.name in self._names
            self._strays.append((mark, known, is_behind))

    def close(self) -> None:
        """No more responses for the turn: what is open stays unanswered."""
        self._missing += self._open
        self._open, self._home = [], None

    def finish(self, open_from: int | None) -> tuple[list[Mark], list[Stray]]:
        """Calls without a response, and responses without a call; those of the turn that begins there may be open."""
        self.close()
        by_id: dict[str, list[Mark]] = {}
        by_name: dict[str, deque[Mark]] = {}
        for call in self._missing:
            if call.id:
                by_id.setdefault(call.id, []).append(call)
            else:
                by_name.setdefault(call.name, deque()).append(call)
        strays = []
        taken: set[tuple[int, int]] = set()
        for mark, known, is_behind in self._strays:
            waiting = by_id.get(mark.id) if mark.id else by_name.get(mark.name)
            belongs = waiting[0] if waiting and (mark.id or waiting[0].i < mark.i) else None
            if belongs is not None and waiting:
                waiting.remove(belongs)
                taken.add((belongs.i, belongs.j))
            strays.append(Stray(mark, belongs, known, is_behind))
        left = [
            call for call in self._missing if (call.i, call.j) not in taken and (open_from is None or call.i < open_from)
        ]
        return left, strays

    def _match(self, responses: list[Mark]) -> list[Mark]:
        """Take the open calls that these answer; the responses that are left."""
        calls = self._open
        if len(calls) == len(responses) and all(
            call.id == mark.id and call.name == mark.name for call, mark in zip(calls, responses, strict=True)
        ):
            self._answered.update(call.id for call in calls)
            self._open = []
            return []
        left = self._by(calls, responses)
        if len(left) == len(self._open) and all(
            not (call.id and mark.id) for call, mark in zip(self._open, left, strict=True)
        ):
            self.uneven += [Pair(call, mark) for call, mark in zip(self._open, left, strict=True)]
            self._open = []
            return []
        return left

    def _by(self, calls: list[Mark], responses: list[Mark]) -> list[Mark]:
        """Match by id, then by name where one of the two has no id; the responses that are left."""
        queues: dict[_Key, deque[Mark]] = {}
        for call in calls:
            for key in _keys(call):
                queues.setdefault(key, deque()).append(call)
        taken: set[int] = set()
        left: list[Mark] = []
        for mark in responses:
            found = _next(queues, mark, taken)
            if found is None:
                left.append(mark)
                continue
            taken.add(id(found))
            self._answered.add(found.id)
            if (found.id, found.name) != (mark.id, mark.name):
                self.uneven.append(Pair(found, mark))
        self._open = [call for call in calls if id(call) not in taken]
        return left


def _keys(call: Mark) -> list[_Key]:
    """Under what a call is looked for: its id and name, its id, its name."""
    if not call.id:
        return [("", call.name, "bare")]
    return [(call.id, call.name, "both"), (call.id, "", "id"), ("", call.name, "any")]


def _next(queues: dict[_Key, deque[Mark]], mark: Mark, taken: set[int]) -> Mark | None:
    """The first call that wants the response and has none yet."""
    by_name = [("", mark.name, "bare")] if mark.id else [("", mark.name, "bare"), ("", mark.name, "any")]
    by_id = [(mark.id, mark.name, "both"), (mark.id, "", "id")] if mark.id else []
    for key in (*by_id, *by_name):
        queue = queues.get(key)
        while queue and id(queue[0]) in taken:
            queue.popleft()
        if queue:
            return queue.popleft()
    return None
