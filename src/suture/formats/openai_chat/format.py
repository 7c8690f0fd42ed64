"""OpenAI's Chat Completions, and everyone who copies them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from suture.formats.base import Json
from suture.formats.chat.check import FlawOf
from suture.formats.chat.format import Chat
from suture.formats.chat.read import ReadPart
from suture.formats.chat.write import Writer
from suture.formats.limits import Limits
from suture.formats.openai_chat.dialects import DIALECTS, limits_of
from suture.formats.openai_chat.media import flaw_of
from suture.formats.openai_chat.parts import NAME, part_of, part_wire
from suture.formats.openai_chat.rules import RULE_OF, RULES
from suture.formats.rule import Rule


class OpenAIChat(Chat):
    """OpenAI's Chat Completions; a dialect or a model names who reads them."""

    name: ClassVar[str] = NAME
    dialects: ClassVar[frozenset[str]] = frozenset(DIALECTS)
    rules: ClassVar[Mapping[str, Rule]] = RULES
    rule_of: ClassVar[Mapping[str, str]] = RULE_OF
    fields: ClassVar[frozenset[str]] = frozenset(("name", "refusal", "audio", "function_call"))
    kinds: ClassVar[frozenset[str]] = frozenset(("text", "image_url", "input_audio", "file", "refusal"))
    read_part: ClassVar[ReadPart] = part_of
    flaw_of: ClassVar[FlawOf] = flaw_of
    writer: ClassVar[Writer] = Writer(NAME, part_wire)

    def limits(self, variant: str) -> Limits:
        """What that dialect or model takes."""
        return limits_of(variant)

    def sign(self, message: Json) -> str | None:
        """What in a message only the chat form has."""
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
