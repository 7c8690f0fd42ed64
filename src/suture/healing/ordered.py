"""The pass over the order of the results of one turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from suture.healing.work import Work
from suture.messages import Assistant, Message, ToolResult


def ordered(work: Work) -> None:
    """Results stand in the order of their calls, where the target matches them by it; in a request of our own, always."""
    if not (work.limits.results_ordered or work.options.strict):
        return
    for at, message in enumerate(work.messages):
        if type(message) is Assistant and len(message.calls) > 1:
            _sort(work, at, message)


def _sort(work: Work, at: int, message: Assistant) -> None:
    end = at + 1
    while end < len(work.messages) and type(work.messages[end]) is ToolResult:
        end += 1
    places = _places(message, work.messages[at + 1 : end])
    if places == sorted(places):
        return
    work.note("RESULT_ORDER", at, "put the results into the order of their calls")
    order = sorted(range(len(places)), key=places.__getitem__)
    work.messages[at + 1 : end] = [work.messages[at + 1 + index] for index in order]
    work.sources[at + 1 : end] = [work.sources[at + 1 + index] for index in order]


def _places(message: Assistant, results: Sequence[Message]) -> list[int]:
    """For each result the number of its call: by id; where it has none, by name, else the next call that has no id; behind
    all where it has none of these.
    """
    by_id: dict[str, deque[int]] = {}
    without = {slot: call.name for slot, call in enumerate(message.calls) if not call.id}
    for slot, call in enumerate(message.calls):
        if call.id:
            by_id.setdefault(call.id, deque()).append(slot)
    places: list[int] = []
    for result in results:
        assert type(result) is ToolResult
        if result.call_id:
            queue = by_id.get(result.call_id)
            places.append(queue.popleft() if queue else len(message.calls))
            continue
        named = [slot for slot, name in without.items() if result.name in (None, "", name)]
        places.append(named[0] if named else len(message.calls))
        without.pop(places[-1], None)
    return places
