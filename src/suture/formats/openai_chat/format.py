"""OpenAI's Chat Completions: a history to neutral messages and back, losing nothing.

What a message, part or call has beside its known keys is kept in `ext["openai-chat"]` and written back;
there, `content` says in which other shape than ours the content came.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from suture.arguments import Parsed, parse
from suture.formats.base import Decoded, Json, Offer, Rewritten, Settled, Written
from suture.formats.limits import Limits
from suture.formats.openai_chat import check as openai_check
from suture.formats.openai_chat import functions, write
from suture.formats.openai_chat.rules import RULE_OF, RULES
from suture.formats.openai_chat.write import NAME
from suture.formats.rule import Finding, Rule
from suture.formats.wire import not_a_list, not_an_object, not_content, own, rest, text_id, without_role
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

# Who copies the API; any other word behind the colon is a model of OpenAI's.
COPIES = frozenset(
    (
        "compatible",
        "openrouter",
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
_ASSISTANT = frozenset(("role", "content", "tool_calls"))
_RESULT = frozenset(("role", "content", "tool_call_id", "name"))
_CALL = frozenset(("id", "type", "function"))
_FUNCTION = frozenset(("name", "arguments"))
_TEXT = frozenset(("type", "text"))

# Where the copies put a model's thinking; the first that is there counts, and `reasoning_details` goes with it.
THOUGHTS = ("reasoning_content", "reasoning")
DETAILS = "reasoning_details"


class OpenAIChat:
    """OpenAI's Chat Completions, and everyone who copies them."""

    name: ClassVar[str] = NAME
    key: ClassVar[str] = "messages"
    head_keys: ClassVar[tuple[str, ...]] = ()
    rules: ClassVar[Mapping[str, Rule]] = RULES
    rule_of: ClassVar[Mapping[str, str]] = RULE_OF
    borrowed: ClassVar[frozenset[str]] = frozenset()
    fields: ClassVar[frozenset[str]] = frozenset(("name", "refusal", "audio", "function_call"))

    def limits(self, variant: str) -> Limits:
        """What that dialect or model takes."""
        return Limits(
            id_length=40,
            images_in_results=False,
            error_mark=False,
            developer=variant not in COPIES,
            reasoning="text" if variant in _TAKES_REASONING else "none",
            model=variant or None,
        )

    def misfit(self, message: Json) -> str | None:
        """Why it can be no message: its role is missing."""
        return without_role(message)

    def sign(self, message: Json) -> str | None:
        """What in a message only this format has."""
        if message.get("role") in ("tool", "function"):
            return f"the role {message['role']!r}"
        for key in ("tool_calls", "function_call", "tool_call_id"):
            if message.get(key):
                return f"{key!r}"
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and part.get("type") in ("image_url", "input_audio", "file"):
                return f"a {part['type']!r} part"
        return None

    def check(self, request: Json, limits: Limits, *, open_tail: bool) -> list[Finding]:
        """Every rule that the request breaks, by place."""
        return openai_check.check(request, limits, open_tail=open_tail)

    def decode(self, messages: Sequence[Json], *, arguments: bool = True) -> Decoded:
        """The neutral messages, one each."""
        read = parse if arguments else _unread
        return Decoded([_message(raw, index, read) for index, raw in enumerate(messages)], list(range(len(messages))))

    def encode(self, messages: Sequence[Message]) -> list[Json]:
        """The wire messages, one each."""
        return [write.wire(message) for message in messages]

    def takes(self, part: Part) -> bool:
        """Whether there is a part for it in a list of content."""
        return write.part_wire(part) is not None

    def is_sound(self, part: Part) -> bool:
        """Whether a part that is kept as it came has a type."""
        return type(part) is not Opaque or (isinstance(part.raw, dict) and isinstance(part.raw.get("type"), str))

    def rewrite(self, raw: Sequence[Json], decoded: Decoded, written: Written) -> Rewritten:
        """The wire messages of a healed history; what did not change stays the very object that it was."""
        out: list[Json] = []
        for message, source in zip(*written, strict=True):
            if source is None:
                out.append(write.wire(message))
            elif decoded.messages[source] is message:
                out.append(raw[source])
            else:
                out.append(write.overlay(raw[source], decoded.messages[source], message))
        return Rewritten(out, list(written.sources))

    def lift(self, _request: Json) -> list[System]:
        """Nothing: system text stands among the messages."""
        return []

    def head(self, _system: Sequence[System]) -> Json:
        """Nothing: system text stands among the messages."""
        return {}

    def offer(self, name: str, description: str, parameters: Json) -> Json:
        """A tool as `tools` lists it."""
        return functions.offer(name, description, parameters)

    def offers(self, request: Json) -> list[Offer]:
        """The functions under `tools`."""
        return functions.offers(request)

    def with_offers(self, request: Json, offers: Sequence[Offer]) -> Json:
        """The request with these functions behind its tools."""
        return functions.with_offers(request, offers)

    def renamed(self, request: Json, names: Mapping[str, str]) -> Json:
        """The request with its functions, and the choice among them, under other names."""
        return functions.renamed(request, names)

    def settle(self, request: Json, _limits: Limits) -> tuple[Json, list[Settled]]:
        """The request as it is."""
        return request, []

    def places(self, raw: Sequence[Json], decoded: Decoded, home: int) -> dict[int, list[str]]:
        """The wire path of the decoded message, then those of its parts."""
        path = f"messages[{home}]"
        listed = isinstance(raw[home].get("content"), list)
        places, calls, others = [path], 0, 0
        for part in decoded.messages[home].parts:
            if type(part) is ToolCall:
                places.append(f"{path}.tool_calls[{calls}]")
                calls += 1
            elif type(part) is Reasoning:
                places.append(f"{path}.{own(part.ext, NAME).get('field', DETAILS)}")
            else:
                places.append(f"{path}.content[{others}]" if listed else f"{path}.content")
                others += 1
        return {home: places}


# Decoding -------------------------------------------------------------------------------------


_Reader: TypeAlias = Callable[[object], Parsed]


def _unread(_text: object) -> Parsed:
    return Parsed(None)


def _message(raw: Json, index: int, read: _Reader) -> Message:
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
            return _assistant(raw, index, read)
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


def _assistant(raw: Json, index: int, read: _Reader) -> Assistant:
    content, thought = raw.get("content"), _thought(raw)
    calls = raw.get("tool_calls")
    known = _ASSISTANT if thought is None else _ASSISTANT | thought.keys()
    parts, _, ext = _content(raw, index, known, **({"tool_calls": calls} if "tool_calls" in raw and not calls else {}))
    if content is not None and thought is None and not calls and "tool_calls" not in raw:
        return Assistant(parts, None, ext)
    if thought is not None:
        parts = (_reasoning(thought), *parts)
    if calls is not None and not isinstance(calls, list):
        raise not_a_list(calls, f"messages[{index}].tool_calls")
    if calls:
        parts = (*parts, *[_call(call, index, at, read) for at, call in enumerate(calls)])
    return Assistant(parts, None, ext)


def _thought(raw: Json) -> Json | None:
    """The fields of a message that hold a model's thinking; None when it has none."""
    if THOUGHTS[0] not in raw and THOUGHTS[1] not in raw and DETAILS not in raw:
        return None
    field = next((name for name in THOUGHTS if isinstance(raw.get(name), str)), None)
    thought = {name: raw[name] for name in (field, DETAILS) if name is not None and raw.get(name)}
    return thought or ({field: raw[field]} if field is not None else None)


def _reasoning(thought: Json) -> Reasoning:
    field = next((name for name in THOUGHTS if name in thought), None)
    kept = {"field": field, "details": thought.get(DETAILS)}
    text = thought[field] if field is not None else ""
    return Reasoning(text, ext={NAME: {key: value for key, value in kept.items() if value is not None}})


def _call(raw: object, index: int, at: int, read: _Reader) -> ToolCall:
    if not isinstance(raw, dict):
        raise not_an_object(raw, f"messages[{index}].tool_calls[{at}]")
    id, function = text_id(raw.get("id")), raw.get("function")
    if raw.get("type") == "custom" and isinstance(custom := raw.get("custom"), dict):
        return ToolCall(id, text_id(custom.get("name")), {"input": custom.get("input")}, ext={NAME: {"type": "custom"}})
    if not isinstance(function, dict):
        raise not_an_object(function, f"messages[{index}].tool_calls[{at}].function")
    given = function.get("arguments")
    extra: Ext | None = None
    if len(raw) > 3 or len(function) > 2:
        more = rest(function, _FUNCTION)
        kept = {**rest(raw, _CALL), **({"function": more} if more else {})}
        extra = {NAME: kept} if kept else None
    if isinstance(given, dict):
        return ToolCall(id, text_id(function.get("name")), given, ext=extra)
    text = given if isinstance(given, str) or given is None else json.dumps(given)
    parsed = read(text)
    return ToolCall(id, text_id(function.get("name")), parsed.arguments, text, parsed.error, ext=extra)


def _result(raw: Json, index: int, content: object) -> ToolResult:
    id, name = raw.get("tool_call_id"), raw.get("name")
    if len(raw) == 3 and isinstance(content, str) and content and isinstance(id, str):
        return ToolResult(parts=(Text(content),), call_id=id)
    parts, _, ext = _content(raw, index, _RESULT)
    if own(ext, NAME).get("content") == "empty":
        ext = _ext(raw, _RESULT, {})
    if "name" in raw:
        ext = {NAME: {**own(ext, NAME), "name": name}}
    return ToolResult(parts=parts, ext=ext, call_id=text_id(id), name=name if isinstance(name, str) and name else None)


def _ext(raw: Json, known: frozenset[str], shape: Json) -> Ext | None:
    extra = {**rest(raw, known), **shape}
    return {NAME: extra} if extra else None
