"""What Mistral alone demands of the chat form."""

from __future__ import annotations

from suture.formats.base import Json
from suture.formats.chat.demands import DEMANDS, Demand, Messages
from suture.formats.chat.found import Found
from suture.formats.rule import Severity

_FIELDS = frozenset(("role", "content", "tool_calls", "tool_call_id", "name", "prefix"))


def text_with_calls(found: Found, _request: Json, messages: Messages) -> None:
    """Words and calls stand in messages of their own; most models take both in one."""
    severity: Severity = "DEG" if found.limits.text_with_calls else "REJ"
    for index, message in enumerate(messages):
        if message["role"] == "assistant" and message.get("tool_calls") and _has_words(message.get("content")):
            sentence = "The message has words beside its calls, which some models refuse."
            found.add("TEXT_WITH_TOOL", f"messages[{index}]", sentence, severity=severity, i=index)


def _has_words(content: object) -> bool:
    if isinstance(content, list):
        return any(isinstance(part, dict) and part.get("type") == "text" and part.get("text") for part in content)
    return bool(content)


def prefix_last(found: Found, _request: Json, messages: Messages) -> None:
    """Only the last message is one that the model is to go on with."""
    for index, message in enumerate(messages[:-1]):
        if message["role"] == "assistant" and message.get("prefix") is True:
            sentence = "The message has 'prefix' and is not the last."
            found.add("PREFIX_NOT_LAST", f"messages[{index}].prefix", sentence, i=index)


def opening(found: Found, _request: Json, messages: Messages) -> None:
    """The first message is none with calls, nor one alone that the model is to go on with."""
    first = messages[0]
    if first["role"] == "assistant" and (first.get("tool_calls") or (len(messages) == 1 and first.get("prefix") is True)):
        sentence = "The conversation begins with calls, or with what the model is to go on with."
        found.add("FIRST_NOT_USER", "messages[0]", sentence, i=0)


def known_fields(found: Found, _request: Json, messages: Messages) -> None:
    """A message has no fields but those that Mistral is known to take."""
    for index, message in enumerate(messages):
        if len(message) > 2:
            for key in message.keys() - _FIELDS:
                sentence = f"Messages have no field {key!r} that Mistral is known to take; it is sent as it is."
                found.add("FIELD_UNKNOWN", f"messages[{index}].{key}", sentence, i=index, field=key)


def foreign_thinking(found: Found, _request: Json, messages: Messages) -> None:
    """Thinking that another provider signed."""
    for index, message in enumerate(messages):
        content = message.get("content")
        for at, chunk in enumerate(content if isinstance(content, list) else ()):
            if isinstance(chunk, dict) and chunk.get("type") == "thinking" and chunk.get("signature"):
                path, sentence = f"messages[{index}].content[{at}]", "The thinking is signed, as another provider's is."
                found.add("THINKING_FOREIGN", path, sentence, severity="DEG", i=index, j=at)


def _always(_limits: object) -> bool:
    return True


MISTRAL = (
    *DEMANDS,
    Demand(_always, text_with_calls),
    Demand(_always, prefix_last),
    Demand(_always, opening),
    Demand(_always, foreign_thinking),
    Demand(_always, known_fields),
)
