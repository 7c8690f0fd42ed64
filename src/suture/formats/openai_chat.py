"""OpenAI's Chat Completions: a history to neutral messages and back, losing nothing.

What a message, part or call has beside its known keys is kept in `ext["openai-chat"]` and written back;
there, `content` says in which other shape than ours the content came.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from suture.arguments import parse
from suture.formats import openai_check
from suture.formats.base import (
    Decoded,
    Finding,
    Json,
    Limits,
    Rule,
    Written,
    not_an_object,
    not_content,
    object_text,
    own,
    rest,
    text_id,
)
from suture.formats.openai_rules import RULE_OF, RULES
from suture.messages import (
    Assistant,
    Audio,
    Ext,
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
# Who copies the API; any other word behind the colon is a model of OpenAI's.
_COPIES = frozenset(
    (
        "deepseek",
        "kimi",
        "moonshot",
        "qwen",
        "glm",
        "minimax",
        "groq",
        "xai",
        "together",
        "vllm",
        "llamacpp",
        "ollama",
        "lmstudio",
    )
)
_TAKES_REASONING = frozenset(("deepseek", "kimi", "moonshot"))

_MESSAGE = frozenset(("role", "content"))
_ASSISTANT = frozenset(("role", "content", "tool_calls", "reasoning_content"))
_RESULT = frozenset(("role", "content", "tool_call_id", "name"))
_CALL = frozenset(("id", "type", "function"))
_FUNCTION = frozenset(("name", "arguments"))
_TEXT = frozenset(("type", "text"))
_SHAPE = frozenset(("content",))
_FIELD: Ext = {NAME: {"field": "reasoning_content"}}


class OpenAIChat:
    """OpenAI's Chat Completions, and everyone who copies them."""

    name: ClassVar[str] = NAME
    rules: ClassVar[Mapping[str, Rule]] = RULES
    rule_of: ClassVar[Mapping[str, str]] = RULE_OF

    def limits(self, variant: str) -> Limits:
        """What that dialect or model takes."""
        return Limits(
            id_length=40,
            images_in_results=False,
            developer=variant not in _COPIES,
            reasoning="text" if variant in _TAKES_REASONING else "none",
            model=variant or None,
        )

    def sign(self, message: Json) -> str | None:
        """What in a message only this format has."""
        if message["role"] in ("tool", "function", "developer"):
            return f"the role {message['role']!r}"
        for key in ("tool_calls", "function_call", "tool_call_id"):
            if message.get(key):
                return f"{key!r}"
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and part.get("type") in ("image_url", "input_audio", "file", "refusal"):
                return f"a {part['type']!r} part"
        return None

    def check(self, request: Json, limits: Limits, *, open_tail: bool) -> list[Finding]:
        """Every rule that the request breaks, by place."""
        return openai_check.check(request, limits, open_tail=open_tail)

    def decode(self, messages: Sequence[Json]) -> Decoded:
        """The neutral messages, one each."""
        return Decoded([_message(raw, index) for index, raw in enumerate(messages)], list(range(len(messages))))

    def encode(self, messages: Sequence[Message]) -> list[Json]:
        """The wire messages, one each."""
        return [wire(message) for message in messages]

    def takes(self, part: Part) -> bool:
        """Whether there is a part for it in a list of content."""
        return part_wire(part) is not None

    def rewrite(self, raw: Sequence[Json], decoded: Decoded, written: Written) -> list[Json]:
        """The wire messages of a healed history; what did not change stays the very object that it was."""
        out: list[Json] = []
        for message, source in zip(*written, strict=True):
            if source is None:
                out.append(wire(message))
            elif decoded.messages[source] is message:
                out.append(raw[source])
            else:
                out.append(_overlay(raw[source], decoded.messages[source], message))
        return out

    def lift(self, _request: Json) -> list[System]:
        """Nothing: system text stands among the messages."""
        return []

    def head(self, _system: Sequence[System]) -> Json:
        """Nothing: system text stands among the messages."""
        return {}

    def trim(self, request: Json) -> tuple[Json, list[str]]:
        """The request as it is; nothing counts over all of it."""
        return request, []

    def place(self, raw: Sequence[Json], decoded: Decoded, index: int, part: int | None = None) -> str:
        """The wire path of a decoded message, or of one of its parts."""
        message = decoded.messages[index]
        path = f"messages[{decoded.homes[index]}]"
        if part is None:
            return path
        before = message.parts[:part]
        if type(message.parts[part]) is ToolCall:
            return f"{path}.tool_calls[{sum(type(p) is ToolCall for p in before)}]"
        if type(message.parts[part]) is Reasoning:
            return f"{path}.reasoning_content"
        if not isinstance(raw[decoded.homes[index]].get("content"), list):
            return f"{path}.content"
        return f"{path}.content[{sum(type(p) is not Reasoning for p in before)}]"


# Decoding -------------------------------------------------------------------------------------


def _message(raw: Json, index: int) -> Message:
    content = raw.get("content")
    match raw["role"]:
        case "user":
            if len(raw) == 2 and isinstance(content, str) and content:
                return User((Text(content),))
            return User(*_content(raw, index, _MESSAGE))
        case "tool":
            return _result(raw, index, content)
        case "assistant":
            if len(raw) == 2 and isinstance(content, str) and content:
                return Assistant((Text(content),))
            return _assistant(raw, index)
        case "system":
            return System(*_content(raw, index, _MESSAGE))
        case "developer":
            return System(*_content(raw, index, _MESSAGE, role="developer"))
    return User((Opaque(NAME, raw),))


def _content(raw: Json, index: int, known: frozenset[str], **shape: object) -> tuple[tuple[Part, ...], None, Ext | None]:
    """Parts, no id, and `ext` of a message."""
    content = raw.get("content")
    parts: tuple[Part, ...] = ()
    if isinstance(content, str):
        parts = (Text(content),) if content else ()
        if not content:
            shape["content"] = "empty"
    elif isinstance(content, list):
        parts = _parts(content, f"messages[{index}].content")
        shape["content"] = "list"
    elif content is not None:
        raise not_content(content, f"messages[{index}].content")
    elif raw["role"] != "assistant":
        shape["content"] = "null"
    elif "content" not in raw:
        shape["content"] = "absent"
    return parts, None, _ext(raw, known, shape)


def _parts(content: list[Any], path: str) -> tuple[Part, ...]:
    for at, part in enumerate(content):
        if not isinstance(part, dict):
            raise not_an_object(part, f"{path}[{at}]")
    return tuple([part_of(part) for part in content])


def part_of(raw: Json) -> Part:
    """One part of a content list."""
    match raw:
        case {"type": "text", "text": str() as text}:
            return Text(text, None, _ext(raw, _TEXT, {}))
        case {"type": "image_url", "image_url": {"url": str() as url} as inner}:
            return Image(url=url, ext=_inner(raw, inner, "image_url", "url"))
        case {"type": "input_audio", "input_audio": {"data": str() as data, "format": str() as kind} as inner}:
            return Audio(data=data, media_type=f"audio/{kind}", ext=_inner(raw, inner, "input_audio", "data", "format"))
        case {"type": "file", "file": {"file_id": str() as id} as inner}:
            return File(file_id=id, ext=_inner(raw, inner, "file", "file_id"))
        case {"type": "file", "file": {"file_data": str() as data, "filename": str() as name} as inner}:
            return File(url=data, name=name, ext=_inner(raw, inner, "file", "file_data", "filename"))
    return Opaque(NAME, raw)


def _inner(raw: Json, inner: Json, key: str, *known: str) -> Ext | None:
    extra = rest(raw, frozenset(("type", key)))
    more = rest(inner, frozenset(known))
    kept = {**extra, key: more} if more else extra
    return {NAME: kept} if kept else None


def _assistant(raw: Json, index: int) -> Assistant:
    content, reasoning = raw.get("content"), raw.get("reasoning_content")
    calls = raw.get("tool_calls")
    parts, _, ext = _content(raw, index, _ASSISTANT, **({"tool_calls": calls} if "tool_calls" in raw and not calls else {}))
    if content is not None and not isinstance(reasoning, str) and not calls and "tool_calls" not in raw:
        return Assistant(parts, None, ext)
    if isinstance(reasoning, str):
        parts = (Reasoning(reasoning, ext=_FIELD), *parts)
    if isinstance(calls, list):
        parts = (*parts, *[_call(call, f"messages[{index}].tool_calls[{at}]") for at, call in enumerate(calls)])
    return Assistant(parts, None, ext)


def _call(raw: object, path: str) -> ToolCall:
    if not isinstance(raw, dict):
        raise not_an_object(raw, path)
    id, function = text_id(raw.get("id")), raw.get("function")
    if raw.get("type") == "custom" and isinstance(custom := raw.get("custom"), dict):
        return ToolCall(id, text_id(custom.get("name")), {"input": custom.get("input")}, ext={NAME: {"type": "custom"}})
    if not isinstance(function, dict):
        raise not_an_object(function, f"{path}.function")
    given = function.get("arguments")
    extra: Ext | None = None
    if len(raw) > 3 or len(function) > 2:
        more = rest(function, _FUNCTION)
        kept = {**rest(raw, _CALL), **({"function": more} if more else {})}
        extra = {NAME: kept} if kept else None
    if isinstance(given, dict):
        return ToolCall(id, text_id(function.get("name")), given, ext=extra)
    text = given if isinstance(given, str) or given is None else json.dumps(given)
    parsed = parse(text)
    return ToolCall(id, text_id(function.get("name")), parsed.arguments, text, parsed.error, ext=extra)


def _result(raw: Json, index: int, content: object) -> ToolResult:
    id, name = raw.get("tool_call_id"), raw.get("name")
    if len(raw) == 3 and isinstance(content, str) and content and isinstance(id, str):
        return ToolResult((Text(content),), call_id=id)
    parts, _, ext = _content(raw, index, _RESULT)
    if own(ext, NAME).get("content") == "empty":
        ext = _ext(raw, _RESULT, {})
    return ToolResult(parts, None, ext, call_id=text_id(id), name=name if isinstance(name, str) and name else None)


def _ext(raw: Json, known: frozenset[str], shape: Json) -> Ext | None:
    extra = {**rest(raw, known), **shape}
    return {NAME: extra} if extra else None


# Encoding -------------------------------------------------------------------------------------


def wire(message: Message) -> Json:
    """The wire message."""
    kept = own(message.ext, NAME)
    match message:
        case User(parts=(Opaque(provider="openai-chat", raw={"role": str()} as raw),)):
            return raw
        case ToolResult():
            name = {} if message.name is None or message.ext is None else {"name": message.name}
            head: Json = {"role": "tool", "tool_call_id": message.call_id, **name}
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
    if content or not calls or shape == "empty":
        raw["content"] = content
    elif shape != "absent":
        raw["content"] = None
    for part in message.parts:
        if type(part) is Reasoning and (field := own(part.ext, NAME).get("field")):
            raw[field] = part.text
    if calls:
        raw["tool_calls"] = calls
    return {**raw, **rest(kept, _SHAPE)}


def _content_wire(message: Message, kept: Json) -> str | list[Json]:
    """The words as one text; a list where there is more than words, or where one came."""
    parts = [part for part in message.parts if type(part) not in (ToolCall, Reasoning)]
    if not parts:
        return ""
    if kept.get("content") != "list" and all(type(part) is Text and part.ext is None for part in parts):
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
            return _with_inner("image_url", {"url": url or f"data:{part.media_type};base64,{data}"}, kept)
        case Audio(data=str(), media_type=str() as kind):
            return _with_inner("input_audio", {"data": part.data, "format": kind.removeprefix("audio/")}, kept)
        case File(file_id=str()):
            return _with_inner("file", {"file_id": part.file_id}, kept)
        case File(url=str() | None as url, data=data) if url or data:
            text = url or f"data:{part.media_type};base64,{data}"
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
    return parsed is not None and object_text(parsed) == text and openai_check.is_object_text(raw)


def _overlay(raw: Json, old: Message, message: Message) -> Json:
    """The raw message with what changed; calls and content that did not change stay the very objects."""
    fresh = wire(message)
    if type(message) is type(old) and _words(message) == _words(old) and "content" in raw and raw["content"] is not None:
        fresh["content"] = raw["content"]
    if isinstance(message, Assistant) and isinstance(old, Assistant) and message.calls:
        as_came = dict(zip(map(id, old.calls), raw.get("tool_calls") or (), strict=True))
        fresh["tool_calls"] = [as_came.get(id(call)) or call_wire(call) for call in message.calls]
    gone = raw.keys() - fresh.keys()
    return {key: fresh[key] for key in raw if key not in gone} | fresh


def _words(message: Message) -> list[int]:
    return [id(part) for part in message.parts if type(part) is not ToolCall]
