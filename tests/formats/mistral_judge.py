"""A judge of Mistral's requests that shares no code with suture: the validator that Mistral publishes."""

from __future__ import annotations

from typing import Any

from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct.messages import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from mistral_common.protocol.instruct.validator import (
    MistralRequestValidator,
    MistralRequestValidatorV3,
    MistralRequestValidatorV11,
    ValidationMode,
)
from pydantic import BaseModel, ValidationError

Json = dict[str, Any]

_ROLES: dict[str, type[BaseModel]] = {
    "system": SystemMessage,
    "user": UserMessage,
    "assistant": AssistantMessage,
    "tool": ToolMessage,
}

# The strictest about ids, and one that also refuses words beside calls, as devstral does.
STRICT = MistralRequestValidatorV11(mode=ValidationMode.serving)
EITHER = MistralRequestValidatorV3(mode=ValidationMode.serving)


def refusal(messages: list[Json], validator: MistralRequestValidator[Any, Any, Any, Any] = STRICT) -> str | None:
    """Why Mistral would refuse the messages; None when it would not."""
    try:
        if unknown := [message["role"] for message in messages if message["role"] not in _ROLES]:
            return f"unknown roles: {unknown}"
        read: list[Any] = [_ROLES[message["role"]].model_validate(_plain(message)) for message in messages]
        validator.validate_messages(read)
    except (MistralCommonException, ValidationError, ValueError) as error:
        return str(error)
    return None


def _plain(message: Json) -> Json:
    """The message as the validator reads it: thinking is one text there."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    return {**message, "content": [_chunk(chunk) for chunk in content]}


def _chunk(chunk: Json) -> Json:
    if chunk.get("type") != "thinking":
        return chunk
    return {"type": "thinking", "thinking": "".join(piece["text"] for piece in chunk["thinking"]), "closed": True}
