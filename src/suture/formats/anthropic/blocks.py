"""What can be said of Anthropic's blocks without reading a whole request."""

from __future__ import annotations

from collections.abc import Sequence

from suture.formats.base import Json
from suture.formats.wire import rest, text_id


def is_a(block: object, kind: str) -> bool:
    """Whether it is a block of that type."""
    return isinstance(block, dict) and block.get("type") == kind


def marks(request: Json) -> int:
    """How many blocks carry `cache_control`."""
    lists: list[object] = [request.get("tools"), request.get("system")]
    lists += [message.get("content") for message in request["messages"]]
    blocks = (block for each in lists if isinstance(each, list) for block in each)
    return sum(isinstance(block, dict) and "cache_control" in block for block in blocks)


_MARK = frozenset(("cache_control",))


def without_marks(request: Json, most: int) -> tuple[Json, list[str]]:
    """The request with at most so many marks, and the paths of those that went: the earliest of the messages."""
    over = marks(request) - most
    if over <= 0:
        return request, []
    messages = list(request["messages"])
    paths: list[str] = []
    for index, message in enumerate(messages):
        content = message.get("content")
        if len(paths) == over or not isinstance(content, list):
            continue
        fresh: list[Json] = []
        for at, block in enumerate(content):
            marked = "cache_control" in block and len(paths) < over
            if marked:
                paths.append(f"messages[{index}].content[{at}]")
            fresh.append(rest(block, _MARK) if marked else block)
        if any(new is not old for new, old in zip(fresh, content, strict=True)):
            messages[index] = {**message, "content": fresh}
    return {**request, "messages": messages}, paths


def results_behind(content: object) -> bool:
    """Whether a result stands behind something else."""
    seen = False
    for block in content if isinstance(content, list) else ():
        if block.get("type") != "tool_result":
            seen = True
        elif seen:
            return True
    return False


def continues(before: Json, message: Json) -> bool:
    """Whether an assistant message only adds calls to those of the one before it, as blocks of one answer do."""
    left, right = before.get("content"), message.get("content")
    if not (isinstance(left, list) and isinstance(right, list) and left and right):
        return False
    return is_a(left[-1], "tool_use") and all(is_a(block, "tool_use") for block in right)


def lonely(blocks: Sequence[object]) -> list[int]:
    """The indexes of server tools' calls without a result behind them, and of results without a call before."""
    alone: set[int] = set()
    calls: dict[str, int] = {}
    for at, block in enumerate(blocks):
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(block, dict) or not isinstance(kind, str):
            continue
        if kind.endswith("_tool_use"):
            calls[text_id(block.get("id"))] = at
            alone.add(at)
        elif kind.endswith("_tool_result"):
            id = text_id(block.get("tool_use_id"))
            if id in calls:
                alone.discard(calls[id])
            else:
                alone.add(at)
    return sorted(alone)


def source_of(caller: object) -> str | None:
    """The id of the server tool's call whose code made a call; None where the model made it itself."""
    source = caller.get("tool_id") if isinstance(caller, dict) else None
    return source if isinstance(source, str) else None


def found_tools(block: Json) -> list[str]:
    """The names of the tools that a tool search found."""
    content = block.get("content")
    found = content.get("tool_references") if isinstance(content, dict) else None
    names = [each.get("tool_name") for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    return [name for name in names if isinstance(name, str)]
