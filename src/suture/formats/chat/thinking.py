"""Whether a request asks its model to think, and where the chat form keeps what a model thought."""

from __future__ import annotations

import re
from collections.abc import Iterator

from suture.formats.base import Json
from suture.formats.limits import Limits

FIELD = "reasoning_content"

_OFF = (False, "disabled", "none", "off")
_SWITCHES = ("thinking", "enable_thinking", "reasoning_effort")


def thinks(request: Json, limits: Limits) -> bool:
    """Whether the model may think: it is none that never does, and the request does not switch it off."""
    model = request.get("model")
    if limits.unthinking and isinstance(model, str) and re.search(limits.unthinking, model):
        return False
    return not any(_is_off(value) for value in _switches(request))


def _switches(request: Json) -> Iterator[object]:
    inside = [request.get(key) for key in ("extra_body", "chat_template_kwargs")]
    for holder in (request, *inside):
        if isinstance(holder, dict):
            yield from (holder.get(key) for key in _SWITCHES)


def _is_off(value: object) -> bool:
    if isinstance(value, dict):
        value = value.get("type", value.get("enabled"))
    return isinstance(value, bool | str) and value in _OFF
