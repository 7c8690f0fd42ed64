"""Google Gemini's generateContent: what it is called, what its models take, and the request around the contents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from suture.formats.base import Choice, Decoded, Flaw, Json, Left, Offer, Rewritten, Settled, Written
from suture.formats.gemini import check as gemini_check
from suture.formats.gemini import read, tools, write
from suture.formats.gemini.media import flaw_of
from suture.formats.gemini.parts import NAME, parts_of, segments
from suture.formats.gemini.rules import RULE_OF, RULES
from suture.formats.limits import Limits
from suture.formats.rule import Finding, Rule
from suture.formats.wire import kept_of, not_content, rest
from suture.messages import Ext, Message, Opaque, Part, Reasoning, System, Text

# What Google documents as the stand-in for a signature that is lost (GEM-SIG-MISSING).
SENTINEL = "skip_thought_signature_validator"
# Base64 in either alphabet, padded, as the API writes bytes.
_BASE64 = "(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}==|[A-Za-z0-9+/_-]{3}=)?"

_VERSION = re.compile(r"gemini-(\d+)")
# Models of others behind Google's endpoints, which want ids as their makers do (GEM-CALL-ID).
_OTHERS = re.compile(r"(?:^|/)(?:claude-|gpt-oss-)")

# What `ext` says of the shape in which something came.
NOTES = frozenset(("spelling", "args", "response", "parts", "content", "role", "thought", "mimeType", "shape", "key"))


class Gemini:
    """Google Gemini's generateContent."""

    name: ClassVar[str] = NAME
    key: ClassVar[str] = "contents"
    head_keys: ClassVar[tuple[str, ...]] = ("systemInstruction", "system_instruction")
    tool_keys: ClassVar[tuple[str, ...]] = ("tools", "toolConfig", "tool_config", "config")
    choice_path: ClassVar[str] = "toolConfig"
    model_key: ClassVar[str] = ""
    dialects: ClassVar[frozenset[str]] = frozenset()
    rules: ClassVar[Mapping[str, Rule]] = RULES
    rule_of: ClassVar[Mapping[str, str]] = RULE_OF
    bytes_under: ClassVar[frozenset[str]] = frozenset(("data", "thoughtSignature", "thought_signature"))
    borrowed: ClassVar[frozenset[str]] = frozenset()
    fields: ClassVar[frozenset[str]] = frozenset()
    notes: ClassVar[frozenset[str]] = NOTES

    def limits(self, variant: str) -> Limits:
        """What a model of that name takes. Signatures and pictures in results came with Gemini 3."""
        version = _VERSION.search(variant)
        is_third = version is not None and int(version[1]) >= 3
        needs_ids = _OTHERS.search(variant) is not None
        return Limits(
            id_pattern="^[a-zA-Z0-9_-]+$" if needs_ids else "",
            id_length=64 if needs_ids else None,
            ids_needed=needs_ids,
            result_names=True,
            name_pattern=r"^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}\Z",
            arguments="object",
            calls_after_words=False,
            blank_text=False,
            white_space=True,
            blank_results=True,
            images_in_results=is_third,
            images_in_answers=True,
            first_user=True,
            system="apart",
            system_inside=False,
            prefill=False,
            pauses=False,
            signature=SENTINEL if is_third else None,
            signature_pattern=_BASE64,
            tools="listed" if is_third else "free",
            rules={} if needs_ids else {"ID_MISSING": "GEM-RESP-ID"},
            model=variant or None,
        )

    def misfit(self, message: Json) -> str | None:
        """Why it can be no content: it has `content`, or neither role nor parts."""
        role = message.get("role")
        if role is not None and not isinstance(role, str):
            return f"has the role {role!r}; a role is a text, such as 'user'."
        if "parts" in message or (role is not None and "content" not in message):
            return None
        return "has no 'parts'; a content of Gemini's has a list of them."

    def sign(self, message: Json) -> str | None:
        """What in a message only this format has."""
        return "'parts'" if "parts" in message else "the role 'model'" if message.get("role") == "model" else None

    def check(self, request: Json, limits: Limits, *, open_tail: bool) -> list[Finding]:
        """Every rule that the request breaks, by place."""
        return gemini_check.check(request, limits, open_tail=open_tail)

    def decode(self, messages: Sequence[Json], *, arguments: bool = True) -> Decoded:  # noqa: ARG002 - all are objects
        """The neutral messages."""
        return read.decode(messages)

    def encode(self, messages: Sequence[Message]) -> list[Json]:
        """The contents, one per message, and one for the results of a batch."""
        return write.encode(messages)

    def takes(self, part: Part) -> bool:
        """Whether there is a part for it."""
        return write.part_wire(part) is not None

    def readable(self, part: Part) -> Part | None:
        """The part; no thought that has neither words nor a signature."""
        return None if type(part) is Reasoning and not (part.text or part.signature or part.encrypted) else part

    def flaw(self, part: Part) -> Flaw | None:
        """What is wrong with the content of a picture, sound or file as it would be written."""
        raw = write.part_wire(part)
        return None if raw is None else flaw_of(raw)

    def part_of(self, raw: Json) -> Part:
        """A part that holds one thing, read."""
        return read.part_of(raw, "part")

    def is_sound(self, part: Part) -> bool:
        """Whether a part that is kept as it came holds one thing that Gemini is known to take."""
        return type(part) is not Opaque or write.is_part(part.raw)

    def rewrite(self, raw: Sequence[Json], decoded: Decoded, written: Written) -> Rewritten:
        """The contents of a healed history; what did not change stays the very object that it was."""
        return write.Rewriting(raw, decoded, written).run()

    def places(self, raw: Sequence[Json], decoded: Decoded, home: int) -> dict[int, list[str]]:
        """For each decoded message that came from that content: its path, then those of its parts."""
        path = f"contents[{home}]"
        found: dict[int, list[str]] = {}
        for index, segment in zip(range(*decoded.range_of(home)), segments(raw[home], path), strict=True):
            places = [f"{path}.parts[{piece.at}]" for piece in segment.pieces]
            found[index] = places[:1] if segment.kind == "result" else [path, *places]
        return found

    def beside(self, thing: Message | Part) -> Json:
        """What a message or part holds for this format alone; a result keeps what its content had."""
        kept = kept_of(thing, NAME)
        content = kept.get("content")
        return {**rest(content if isinstance(content, dict) else {}, NOTES), **rest(kept, NOTES)}

    # The request around the history

    def lift(self, request: Json) -> list[System]:
        """The request's system instruction: a text, a content, or a single part."""
        key = next((key for key in self.head_keys if request.get(key)), None)
        if key is None:
            return []
        given = request[key]
        named = {"key": key} if key != self.head_keys[0] else {}
        if isinstance(given, str):
            return [System((Text(given),), None, {NAME: {**named, "shape": "text"}})]
        if not isinstance(given, dict):
            raise not_content(given, key)
        parts = parts_of(given, key) if "parts" in given else [given]
        more = rest(given, frozenset(("parts",))) if "parts" in given else {}
        kept = {**named, **({"content": more} if more else {})}
        ext: Ext | None = {NAME: kept} if kept else None
        return [System(tuple(read.part_of(part, f"{key}.parts[{at}]") for at, part in enumerate(parts)), None, ext)]

    def head(self, system: Sequence[System]) -> Json:
        """The request's system instruction, in the shape in which it came."""
        return write.head(system)

    def offer(self, name: str, description: str, parameters: Json) -> Json:
        """A tool as `tools` lists it."""
        return {"functionDeclarations": [tools.declaration(name, description, parameters)]}

    def offers(self, request: Json) -> list[Offer]:
        """The declared functions that have a name."""
        return tools.offers(request)

    def with_offers(self, request: Json, offers: Sequence[Offer]) -> Json:
        """The request with these functions behind its own."""
        return tools.with_offers(request, offers)

    def left(self, request: Json) -> list[Left]:
        """What the request says of its tools that neither its offers nor its choice hold."""
        return list(tools.left(request))

    def choice(self, request: Json) -> Choice | None:
        """Which tools the model may call; None where the request does not say, or says it in words of its own."""
        return tools.choice(request)

    def with_choice(self, request: Json, choice: Choice) -> Json:
        """The request with that choice."""
        return tools.with_choice(request, choice)

    def renamed(self, request: Json, names: Mapping[str, str]) -> Json:
        """The request with its functions, and the choice among them, under other names."""
        return tools.renamed(request, names)

    def settle(self, request: Json, _limits: Limits) -> tuple[Json, list[Settled]]:
        """The request as it is: no rule of Gemini's is about anything but history and tools."""
        return request, []
