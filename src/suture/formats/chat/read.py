"""The chat form, read: wire messages to neutral ones, one each, losing nothing.

What a message, part or call has beside its known keys is kept in `ext` under the format's name and written back; there,
`content` says in which other shape than ours the content came, and `arguments` that they came as an object.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from suture.arguments import Parsed, parse
from suture.formats.base import Json
from suture.formats.wire import (
    JSON_TEXT,
    is_content,
    not_a_list,
    not_an_object,
    not_content,
    own,
    rest,
    text_id,
    value_text,
)
from suture.messages import Assistant, Ext, Message, Opaque, Part, Reasoning, System, Text, ToolCall, ToolResult, User

ReadPart: TypeAlias = Callable[[Json], Part]
ReadText: TypeAlias = Callable[[object], Parsed]

# Where the copies put a model's thinking; the first that is there counts, and `reasoning_details` goes with it.
THOUGHTS = ("reasoning_content", "reasoning")
DETAILS = "reasoning_details"

_MESSAGE = frozenset(("role", "content"))
_ASSISTANT = frozenset(("role", "content", "tool_calls"))
_RESULT = frozenset(("role", "content", "tool_call_id", "name"))
_CALL = frozenset(("id", "type", "function"))
_FUNCTION = frozenset(("name", "arguments"))


class Reader:
    """Reads the messages of one format: `name` is the format's, `part` reads one part of a list of content.

    Without `arguments`, those that came as text stay unread; healing has no need of them.
    """

    def __init__(self, name: str, part: ReadPart, *, arguments: bool) -> None:
        self.name = name
        self.part = part
        self.read: ReadText = parse if arguments else _unread

    def message(self, raw: Json, index: int) -> Message:
        """The neutral message."""
        content = raw.get("content")
        match raw["role"]:
            case "user":
                if len(raw) == 2 and isinstance(content, str) and content:
                    return User((Text(content),))
                return User(*self._spoken(raw, index))
            case "tool":
                return self._result(raw, index, content)
            case "assistant":
                if len(raw) == 2 and isinstance(content, str) and content:
                    return Assistant((Text(content),))
                return self._assistant(raw, index)
            case "system":
                return System(*self._spoken(raw, index))
            case "developer":
                return System(*self._content(raw, index, _MESSAGE, role="developer"))
        return User((Opaque(self.name, raw),))

    def _spoken(self, raw: Json, index: int) -> tuple[tuple[Part, ...], None, Ext | None]:
        """The same for what no model said; calls that got into it are behind its words."""
        calls = raw.get("tool_calls")
        if type(calls) is not list or not calls:
            return self._content(raw, index, _MESSAGE)
        parts, _, ext = self._content(raw, index, _ASSISTANT)
        return (*parts, *[self._call(call, index, at) for at, call in enumerate(calls)]), None, ext

    def _content(
        self, raw: Json, index: int, known: frozenset[str], **shape: object
    ) -> tuple[tuple[Part, ...], None, Ext | None]:
        """Parts, no id, and `ext` of a message."""
        content = raw.get("content")
        parts: tuple[Part, ...] = ()
        if isinstance(content, str):
            parts = (Text(content),) if content else ()
            if not content:
                shape["content"] = "empty"
        elif isinstance(content, list):
            parts = self._parts(content, f"messages[{index}].content")
            shape["content"] = "list"
        elif content is not None:
            raise not_content(content, f"messages[{index}].content")
        elif raw["role"] != "assistant":
            shape["content"] = "null"
        elif "content" not in raw:
            shape["content"] = "absent"
        return parts, None, self._ext(raw, known, shape)

    def _parts(self, content: list[Any], path: str) -> tuple[Part, ...]:
        for at, part in enumerate(content):
            if not isinstance(part, dict):
                raise not_an_object(part, f"{path}[{at}]")
        return tuple([self.part(part) for part in content])

    def _assistant(self, raw: Json, index: int) -> Assistant:
        content, calls = raw.get("content"), raw.get("tool_calls")
        if len(raw) == 3 and "content" in raw and _is_said(content) and type(calls) is list and calls:
            said = () if content is None else (Text(content),)
            return Assistant((*said, *[self._call(call, index, at) for at, call in enumerate(calls)]))
        thought = _thought(raw)
        known = _ASSISTANT if thought is None else _ASSISTANT | thought.keys()
        empty = {"tool_calls": calls} if "tool_calls" in raw and not calls else {}
        parts, _, ext = self._content(raw, index, known, **empty)
        if content is not None and thought is None and not calls and "tool_calls" not in raw:
            return Assistant(parts, None, ext)
        if thought is not None:
            parts = (self._reasoning(thought), *parts)
        if calls is not None and not isinstance(calls, list):
            raise not_a_list(calls, f"messages[{index}].tool_calls")
        if calls:
            parts = (*parts, *[self._call(call, index, at) for at, call in enumerate(calls)])
        return Assistant(parts, None, ext)

    def _reasoning(self, thought: Json) -> Reasoning:
        field = next((name for name in THOUGHTS if name in thought), None)
        kept = {"field": field, "details": thought.get(DETAILS)}
        text = thought[field] if field is not None else ""
        return Reasoning(text, ext={self.name: {key: value for key, value in kept.items() if value is not None}})

    def _call(self, raw: object, index: int, at: int) -> ToolCall:
        if not isinstance(raw, dict):
            raise not_an_object(raw, f"messages[{index}].tool_calls[{at}]")
        id, function = text_id(raw.get("id")), raw.get("function")
        if raw.get("type") == "custom" and isinstance(custom := raw.get("custom"), dict):
            ext: Ext = {self.name: {"type": "custom"}}
            return ToolCall(id, text_id(custom.get("name")), {"input": custom.get("input")}, ext=ext)
        if not isinstance(function, dict):
            raise not_an_object(function, f"messages[{index}].tool_calls[{at}].function")
        given = function.get("arguments")
        kept: Json = {"arguments": "object"} if isinstance(given, dict) else {}
        if len(raw) > 3 or len(function) > 2:
            more = rest(function, _FUNCTION)
            kept |= {**rest(raw, _CALL), **({"function": more} if more else {})}
        extra: Ext | None = {self.name: kept} if kept else None
        if isinstance(given, dict):
            return ToolCall(id, text_id(function.get("name")), given, ext=extra)
        text = given if isinstance(given, str) or given is None else json.dumps(given)
        parsed = self.read(text)
        return ToolCall(id, text_id(function.get("name")), parsed.arguments, text, parsed.error, ext=extra)

    def _result(self, raw: Json, index: int, content: object) -> ToolResult:
        id, name = raw.get("tool_call_id"), raw.get("name")
        if len(raw) == 3 and isinstance(content, str) and content and isinstance(id, str):
            return ToolResult(parts=(Text(content),), call_id=id)
        if not is_content(content, f"messages[{index}].content"):
            raw = {**raw, "content": value_text(content)}
        parts, _, ext = self._content(raw, index, _RESULT)
        if raw.get("content") is not content:
            ext = {self.name: {**own(ext, self.name), "content": JSON_TEXT}}
        if own(ext, self.name).get("content") == "empty":
            ext = self._ext(raw, _RESULT, {})
        if "name" in raw:
            ext = {self.name: {**own(ext, self.name), "name": name}}
        named = name or raw.get("tool_name")
        return ToolResult(
            parts=parts, ext=ext, call_id=text_id(id), name=named if isinstance(named, str) and named else None
        )

    def _ext(self, raw: Json, known: frozenset[str], shape: Json) -> Ext | None:
        extra = {**rest(raw, known), **shape}
        return {self.name: extra} if extra else None


def _unread(_text: object) -> Parsed:
    return Parsed(None)


def _thought(raw: Json) -> Json | None:
    """The fields of a message that hold a model's thinking; None when it has none."""
    if THOUGHTS[0] not in raw and THOUGHTS[1] not in raw and DETAILS not in raw:
        return None
    field = next((name for name in THOUGHTS if isinstance(raw.get(name), str)), None)
    thought = {name: raw[name] for name in (field, DETAILS) if name is not None and raw.get(name)}
    return thought or ({field: raw[field]} if field is not None else None)


def _is_said(content: object) -> bool:
    """Whether it is a text, or null, as beside calls."""
    return content is None or (type(content) is str and bool(content))
