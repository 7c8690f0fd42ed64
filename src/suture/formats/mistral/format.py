"""Mistral's own Chat Completions: the chat form with ids, an order of roles and chunks of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from suture.formats.base import Json
from suture.formats.chat.check import FlawOf
from suture.formats.chat.demands import Demand
from suture.formats.chat.format import NOTES, Chat
from suture.formats.chat.read import ReadPart
from suture.formats.chat.write import Writer
from suture.formats.limits import Limits
from suture.formats.mistral.demands import MISTRAL
from suture.formats.mistral.media import flaw_of
from suture.formats.mistral.parts import NAME, SHAPE_OF_PARTS, part_of, part_wire
from suture.formats.mistral.rules import RULE_OF, RULES
from suture.formats.rule import Rule

_OWN = ("document_url", "reference")


class Mistral(Chat):
    """Mistral's Chat Completions; a model may be named."""

    name: ClassVar[str] = NAME
    rules: ClassVar[Mapping[str, Rule]] = RULES
    rule_of: ClassVar[Mapping[str, str]] = RULE_OF
    fields: ClassVar[frozenset[str]] = frozenset(("name", "prefix"))
    notes: ClassVar[frozenset[str]] = NOTES | SHAPE_OF_PARTS
    kinds: ClassVar[frozenset[str]] = frozenset(
        ("text", "image_url", "document_url", "file", "input_audio", "reference", "thinking")
    )
    demands: ClassVar[tuple[Demand, ...]] = MISTRAL
    read_part: ClassVar[ReadPart] = part_of
    flaw_of: ClassVar[FlawOf] = flaw_of
    writer: ClassVar[Writer] = Writer(NAME, part_wire)

    def limits(self, variant: str) -> Limits:
        """What that model takes."""
        return Limits(
            model=variant or None,
            id_pattern="^[a-zA-Z0-9]{9}$",
            arguments="either",
            error_mark=False,
            text_with_calls="devstral" not in variant,
            images_in_results=False,
            developer=False,
            functions=False,
            system_after_answer=False,
            user_after_result=False,
            opens_with_calls=False,
            prefill=False,
        )

    def sign(self, message: Json) -> str | None:
        """What in a message only Mistral has."""
        if message.get("prefix") is True:
            return "'prefix'"
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and (kind := _own_kind(part)):
                return kind
        return None


def _own_kind(part: Json) -> str | None:
    """What of a chunk only Mistral has."""
    kind = part.get("type")
    if kind in _OWN:
        return f"a {kind!r} chunk"
    if kind == "thinking" and isinstance(part.get("thinking"), list):
        return "a 'thinking' chunk"
    return "a picture whose address is a text" if kind == "image_url" and isinstance(part.get(kind), str) else None
