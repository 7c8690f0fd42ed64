"""The chat form, written: neutral messages to wire messages, and changes laid over what came."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from suture.formats.base import Json
from suture.formats.chat.objects import arguments_text
from suture.formats.wire import own, rest
from suture.messages import Assistant, Message, Opaque, Part, Reasoning, System, Text, ToolCall, ToolResult, User

WritePart: TypeAlias = Callable[[Part], Json | None]

_SHAPE = frozenset(("content", "role"))
_CALL = frozenset(("function", "arguments"))
_BETWEEN = {Assistant: "", ToolResult: "\n"}


class Writer:
    """Writes the messages of one format: `name` is the format's, `part` writes one part of a list of content, or None."""

    def __init__(self, name: str, part: WritePart) -> None:
        self.name = name
        self.part = part

    def message(self, message: Message) -> Json:
        """The wire message."""
        kept = own(message.ext, self.name)
        match message:
            case User(parts=(Opaque(provider=self.name, raw=dict() as raw),)) if isinstance(raw.get("role"), str):
                return raw
            case ToolResult():
                head: Json = {"role": "tool", **({"tool_call_id": message.call_id} if message.call_id else {})}
                if message.name and kept.get("name"):
                    kept = {**kept, "name": message.name}
            case Assistant():
                return self._assistant(message, kept)
            case System():
                head = {"role": kept.get("role", "system")}
            case User():
                head = {"role": "user"}
        if calls := [self.call(part) for part in message.parts if type(part) is ToolCall]:
            head = {**head, "tool_calls": calls}
        return {**head, "content": self._content(message, kept), **rest(kept, _SHAPE)}

    def _assistant(self, message: Assistant, kept: Json) -> Json:
        raw: Json = {"role": "assistant"}
        shape = kept.get("content")
        content = self._content(message, kept)
        if content or shape == "empty":
            raw["content"] = content
        elif shape != "absent":
            raw["content"] = None
        thoughts = self._thoughts(message)
        raw |= thoughts
        if calls := [self.call(call) for call in message.calls]:
            raw["tool_calls"] = calls
        return {**raw, **rest(kept, _SHAPE | thoughts.keys())}

    def _thoughts(self, message: Assistant) -> Json:
        """The fields in which a model's thinking came; nothing when it came from elsewhere."""
        fields: Json = {}
        for part in message.parts:
            if type(part) is Reasoning:
                kept = own(part.ext, self.name)
                if "field" in kept:
                    before = fields.get(kept["field"])
                    fields[kept["field"]] = f"{before}\n\n{part.text}" if before else part.text
                if "details" in kept:
                    fields["reasoning_details"] = kept["details"]
        return fields

    def _content(self, message: Message, kept: Json) -> str | list[Json]:
        """The words as one text; a list where there is more than words, or where one came."""
        parts = self.parts(message)
        if not parts:
            return ""
        if kept.get("content") != "list" and all(type(part) is Text and not own(part.ext, self.name) for part in parts):
            between = _BETWEEN.get(type(message), "\n\n")
            return between.join(part.text for part in parts if type(part) is Text)
        return [raw for part in parts if (raw := self.part(part)) is not None]

    def parts(self, message: Message) -> list[Part]:
        """The parts that stand in the content: thinking does only where the format has a part for it."""
        return [part for part in message.parts if type(part) is not ToolCall and not self._is_beside(part)]

    def _is_beside(self, part: Part) -> bool:
        return type(part) is Reasoning and self.part(part) is None

    def call(self, call: ToolCall) -> Json:
        """One call; servers that match calls by place give no ids."""
        named = {"id": call.id} if call.id else {}
        kept = own(call.ext, self.name)
        if kept.get("type") == "custom":
            return {**named, "type": "custom", "custom": {"name": call.name, **(call.arguments or {})}}
        function = {"name": call.name, "arguments": self._arguments(call, kept), **kept.get("function", {})}
        return {**named, "type": "function", "function": function, **rest(kept, _CALL)}

    def _arguments(self, call: ToolCall, kept: Json) -> object:
        """The arguments as text, or as the object that came and nobody has written as text since."""
        came_so = call.raw is None and call.arguments is not None and kept.get("arguments") == "object"
        return call.arguments if came_so else arguments_text(call)

    def overlay(self, raw: Json, old: Message, message: Message) -> Json:
        """The raw message with what changed; calls and content that did not change stay the very objects."""
        fresh = self.message(message)
        words = [id(part) for part in self.parts(message)]
        if words and words == [id(part) for part in self.parts(old)] and _same_shape(old, message, self.name):
            fresh["content"] = raw["content"]
        if isinstance(message, Assistant) and isinstance(old, Assistant) and message.calls:
            as_came = dict(zip(map(id, old.calls), raw.get("tool_calls") or (), strict=True))
            fresh["tool_calls"] = [as_came.get(id(call)) or self.call(call) for call in message.calls]
        return {**{key: fresh[key] for key in raw if key in fresh}, **fresh}


def _same_shape(old: Message, message: Message, name: str) -> bool:
    return own(old.ext, name).get("content") == own(message.ext, name).get("content")
