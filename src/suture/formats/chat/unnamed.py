"""Calls and results without ids, as servers that match them by place have them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from suture.formats.base import Json
from suture.formats.wire import not_a_list, not_an_object, text_id


def with_ids(messages: Sequence[Json]) -> list[Json]:
    """The messages, with an id of their own for calls that have none, and the same for the results that answer them."""
    out: list[Json] = []
    waiting = _Waiting()
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            out.append(_answering(message, waiting))
            continue
        waiting = _Waiting()
        has_calls = message["role"] == "assistant" and message.get("tool_calls")
        out.append(_named(message, index, waiting) if has_calls else message)
    return out


class _Waiting:
    """The calls of a turn that were given an id and have no result yet."""

    def __init__(self) -> None:
        self._in_order: deque[str] = deque()
        self._by_name: dict[str, deque[str]] = {}
        self._answered: set[str] = set()

    def add(self, name: str, id: str) -> None:
        self._in_order.append(id)
        self._by_name.setdefault(name, deque()).append(id)

    def take(self, name: str) -> str | None:
        """The first of that name, or the first of all, where a result has no name."""
        queue = self._by_name.get(name, deque()) if name else self._in_order
        while queue and (id := queue.popleft()):
            if id not in self._answered:
                self._answered.add(id)
                return id
        return None


def _named(message: Json, index: int, waiting: _Waiting) -> Json:
    calls = message["tool_calls"]
    if not isinstance(calls, list):
        raise not_a_list(calls, f"messages[{index}].tool_calls")
    fresh: list[Json] = []
    for at, call in enumerate(calls):
        if not isinstance(call, dict):
            raise not_an_object(call, f"messages[{index}].tool_calls[{at}]")
        if not text_id(call.get("id")):
            function = call.get("function")
            call = {**call, "id": f"call_{index}_{at}"}
            waiting.add(text_id(function.get("name")) if isinstance(function, dict) else "", call["id"])
        fresh.append(call)
    return {**message, "tool_calls": fresh}


def _answering(message: Json, waiting: _Waiting) -> Json:
    if text_id(message.get("tool_call_id")):
        return message
    id = waiting.take(text_id(message.get("tool_name")) or text_id(message.get("name")))
    return message if id is None else {**message, "tool_call_id": id}
