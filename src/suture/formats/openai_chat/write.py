"""OpenAI's Chat Completions, written: neutral messages to wire messages, and changes laid over what came."""

from __future__ import annotations

from suture.arguments import parse
from suture.formats.base import Json
from suture.formats.openai_chat.check import is_object_text
from suture.formats.wire import object_text, own, rest
from suture.messages import (
    Assistant,
    Audio,
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    System,
    Text,
    ToolCall,
    ToolResult,
    User,
)

NAME = "openai-chat"

_SHAPE = frozenset(("content",))


def wire(message: Message) -> Json:
    """The wire message."""
    kept = own(message.ext, NAME)
    match message:
        case User(parts=(Opaque(provider="openai-chat", raw=dict() as raw),)) if "role" in raw:
            return raw
        case ToolResult():
            head: Json = {"role": "tool", "tool_call_id": message.call_id}
        case Assistant():
            return _assistant_wire(message, kept)
        case System():
            head = {"role": kept.get("role", "system")}
        case User():
            head = {"role": "user"}
    return {**head, "content": _content_wire(message, kept), **rest(kept, frozenset(("content", "role")))}


def _assistant_wire(message: Assistant, kept: Json) -> Json:
    calls = [call_wire(call) for call in message.calls]
    raw: Json = {"role": "assistant"}
    shape = kept.get("content")
    content = _content_wire(message, kept)
    if content or shape == "empty":
        raw["content"] = content
    elif shape != "absent":
        raw["content"] = None
    for part in message.parts:
        if type(part) is Reasoning:
            raw |= _thought(part)
    if calls:
        raw["tool_calls"] = calls
    return {**raw, **rest(kept, _SHAPE)}


def _thought(part: Reasoning) -> Json:
    """The fields in which a model's thinking came; nothing when it came from elsewhere."""
    kept = own(part.ext, NAME)
    words = {kept["field"]: part.text} if "field" in kept else {}
    return words | ({"reasoning_details": kept["details"]} if "details" in kept else {})


def _content_wire(message: Message, kept: Json) -> str | list[Json]:
    """The words as one text; a list where there is more than words, or where one came."""
    parts = [part for part in message.parts if type(part) not in (ToolCall, Reasoning)]
    if not parts:
        return ""
    if kept.get("content") != "list" and all(type(part) is Text and not own(part.ext, NAME) for part in parts):
        return {Assistant: "", ToolResult: "\n"}.get(type(message), "\n\n").join(
            part.text for part in parts if type(part) is Text
        )
    return [raw for part in parts if (raw := part_wire(part)) is not None]


def part_wire(part: Part) -> Json | None:
    """One part of a content list; None where Chat Completions have none for it."""
    if isinstance(part, Opaque):
        return part.raw if part.provider == NAME and isinstance(part.raw, dict) else None
    kept = own(part.ext, NAME)
    match part:
        case Text():
            return {"type": "text", "text": part.text, **kept}
        case Image(url=str() | None as url, data=data) if url or data:
            return _with_inner("image_url", {"url": url or f"data:{part.media_type or 'image/png'};base64,{data}"}, kept)
        case Audio(data=str(), media_type=str() as kind):
            return _with_inner("input_audio", {"data": part.data, "format": kind.removeprefix("audio/")}, kept)
        case File(file_id=str()):
            return _with_inner("file", {"file_id": part.file_id}, kept)
        case File(url=str() | None as url, data=data) if url or data:
            text = url or f"data:{part.media_type or 'application/pdf'};base64,{data}"
            return _with_inner("file", {"file_data": text, "filename": part.name or "document"}, kept)
    return None


def _with_inner(key: str, inner: Json, kept: Json) -> Json:
    return {"type": key, key: {**inner, **kept.get(key, {})}, **rest(kept, frozenset((key,)))}


def call_wire(call: ToolCall) -> Json:
    """One call."""
    kept = own(call.ext, NAME)
    if kept.get("type") == "custom":
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, **(call.arguments or {})}}
    function = {"name": call.name, "arguments": arguments_text(call), **kept.get("function", {})}
    return {"id": call.id, "type": "function", "function": function, **rest(kept, frozenset(("function",)))}


def arguments_text(call: ToolCall) -> str:
    """The arguments as they came, unless somebody has changed them since."""
    if call.arguments is None:
        return call.raw or "{}"
    text = object_text(call.arguments)
    return call.raw if call.raw is not None and _is_text_of(call.raw, text) else text


def _is_text_of(raw: str, text: str) -> bool:
    if raw == text:
        return True
    parsed = parse(raw).arguments
    return parsed is not None and object_text(parsed) == text and is_object_text(raw)


def overlay(raw: Json, old: Message, message: Message) -> Json:
    """The raw message with what changed; calls and content that did not change stay the very objects."""
    fresh = wire(message)
    words = _words(message)
    if words and words == _words(old):
        fresh["content"] = raw["content"]
    if isinstance(message, Assistant) and isinstance(old, Assistant) and message.calls:
        as_came = dict(zip(map(id, old.calls), raw["tool_calls"], strict=True))
        fresh["tool_calls"] = [as_came.get(id(call)) or call_wire(call) for call in message.calls]
    return {**{key: fresh[key] for key in raw if key in fresh}, **fresh}


def _words(message: Message) -> list[int]:
    """The identities of what stands in the content."""
    return [id(part) for part in message.parts if type(part) not in (ToolCall, Reasoning)]
