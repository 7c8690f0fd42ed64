"""Whether a request asks its model to think, and where the chat form keeps what a model thought."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from suture.formats.base import Json
from suture.formats.limits import Limits

FIELD = "reasoning_content"
THOUGHTS = (FIELD, "reasoning", "reasoning_details")

_OFF = (False, "disabled", "none", "off")
_SWITCHES = ("thinking", "enable_thinking", "reasoning_effort")


def thinks(request: Json, limits: Limits, messages: Sequence[Json]) -> bool:
    """Whether thinking is on, as far as can be seen: the request says so, its model always thinks, or a message has its
    thinking. A history that lost all of it shows nothing, so where nobody names the model it is taken to be on: a
    stand-in that nobody asks for is ignored.
    """
    given = request.get("model") or limits.model
    model = given if isinstance(given, str) else ""
    switches = [value for value in _switches(request) if value is not None]
    if any(map(_is_off, switches)) or (limits.unthinking and re.search(limits.unthinking, model)):
        return False
    if switches or not model or (limits.thinking and re.search(limits.thinking, model)):
        return True
    return any(message["role"] == "assistant" and any(message.get(key) for key in THOUGHTS) for message in messages)


def _switches(request: Json) -> Iterator[object]:
    inside = [request.get(key) for key in ("extra_body", "chat_template_kwargs")]
    for holder in (request, *inside):
        if isinstance(holder, dict):
            yield from (holder.get(key) for key in _SWITCHES)


def _is_off(value: object) -> bool:
    if isinstance(value, dict):
        value = value.get("type", value.get("enabled"))
    return isinstance(value, bool | str) and value in _OFF
