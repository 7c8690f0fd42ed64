"""Marks for Bedrock's prompt cache, of which Claude takes four (ANT-CACHE-4)."""

from __future__ import annotations

from suture.formats.base import Json
from suture.formats.bedrock.blocks import is_a
from suture.formats.bedrock.tools import tools_of

MOST = 4


def marks(request: Json) -> int:
    """How many marks the request holds."""
    lists: list[object] = [tools_of(request), request.get("system")]
    lists += [message.get("content") for message in request["messages"]]
    return sum(is_a(block, "cachePoint") for each in lists if isinstance(each, list) for block in each)


def without_marks(request: Json) -> tuple[Json, list[str]]:
    """The request with at most four marks, and the paths of those that went: the earliest of the messages.

    One that would leave its message empty stays.
    """
    over = marks(request) - MOST
    if over <= 0:
        return request, []
    messages = list(request["messages"])
    paths: list[str] = []
    for index, message in enumerate(messages):
        content = message.get("content")
        if len(paths) == over or not isinstance(content, list):
            continue
        kept: list[object] = []
        for at, block in enumerate(content):
            is_last = at == len(content) - 1 and not kept
            if is_a(block, "cachePoint") and len(paths) < over and not is_last:
                paths.append(f"messages[{index}].content[{at}]")
            else:
                kept.append(block)
        if len(kept) < len(content):
            messages[index] = {**message, "content": kept}
    return {**request, "messages": messages}, paths
