"""The pass over the order of results in a request of our own."""

from __future__ import annotations

from suture.healing.work import Work
from suture.messages import Assistant, Message, ToolResult


def sequence(work: Work) -> None:
    """In a request of our own the results of a turn stand in the order of its calls (some targets match them by place)."""
    if not work.options.strict:
        return
    for at, message in enumerate(work.messages):
        if type(message) is Assistant and len(message.calls) > 1:
            _sort(work, at, {call.id: place for place, call in enumerate(message.calls)})


def _sort(work: Work, at: int, places: dict[str, int]) -> None:
    end = at + 1
    while end < len(work.messages) and type(work.messages[end]) is ToolResult:
        end += 1

    def place(index: int) -> int:
        result: Message = work.messages[index]
        return places.get(result.call_id, len(places)) if type(result) is ToolResult else len(places)

    found = list(range(at + 1, end))
    wanted = sorted(found, key=place)
    if wanted != found:
        work.note("RESULT_ORDER", at, "put the results into the order of their calls")
        messages, sources = [work.messages[index] for index in wanted], [work.sources[index] for index in wanted]
        work.messages[at + 1 : end], work.sources[at + 1 : end] = messages, sources
