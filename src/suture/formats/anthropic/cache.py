"""Where Anthropic's prompt cache is to end: the tools, the system text, and the end of the conversation."""

from __future__ import annotations

from suture.formats.anthropic.blocks import marks
from suture.formats.base import Json

_MARK: Json = {"type": "ephemeral"}

# Blocks that may not be marked (the API refuses `cache_control` on thinking).
_UNMARKABLE = ("thinking", "redacted_thinking")

# Two of the conversation: the cache that the last request wrote ends where the older one stands.
_IN_MESSAGES = 2


def with_cache_marks(request: Json) -> Json:
    """The request with at most four marks, as many as the API allows (ANT-CACHE-4); as it is when it has some."""
    if marks(request):
        return request
    marked = dict(request)
    if isinstance(tools := request.get("tools"), list) and tools:
        marked["tools"] = [*tools[:-1], _with_mark(tools[-1])]
    if system := request.get("system"):
        blocks = [{"type": "text", "text": system}] if isinstance(system, str) else list(system)
        marked["system"] = [*blocks[:-1], _with_mark(blocks[-1])]
    marked["messages"] = _with_marks(request["messages"])
    return marked


def _with_marks(messages: list[Json]) -> list[Json]:
    """The messages, with the last blocks of the user's latest two marked."""
    out = list(messages)
    places = [at for at, message in enumerate(messages) if message["role"] == "user"]
    for at in places[-_IN_MESSAGES:]:
        content = messages[at]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        if blocks and blocks[-1].get("type") not in _UNMARKABLE:
            out[at] = {**messages[at], "content": [*blocks[:-1], _with_mark(blocks[-1])]}
    return out


def _with_mark(block: Json) -> Json:
    return {**block, "cache_control": _MARK}
