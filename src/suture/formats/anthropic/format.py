"""Anthropic's Messages: a history to neutral messages and back, losing nothing.

A user message holds results and words; it becomes one `ToolResult` per result, then one `User`. What a
message or block has beside its known keys is kept in `ext["anthropic"]` and written back; there, `content`
says in which other shape than ours the content came.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from suture.formats.anthropic import check as anthropic_check
from suture.formats.anthropic import settling, tools, write
from suture.formats.anthropic.media import flaw_of
from suture.formats.anthropic.rules import RULE_OF, RULES
from suture.formats.anthropic.write import NAME
from suture.formats.base import Choice, Decoded, Flaw, Json, Left, Offer, Rewritten, Settled, Written, split
from suture.formats.limits import Limits, Pictures
from suture.formats.rule import Finding, Rule
from suture.formats.wire import (
    JSON_TEXT,
    has_words,
    is_content,
    kept_of,
    not_an_object,
    not_content,
    rest,
    text_id,
    value_text,
    without_role,
)
from suture.messages import (
    Assistant,
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

# Blocks that are words, and the key under which those stand.
_WORDS = {"text": "text"}
_AS_TEXT: Ext = {NAME: {"content": "text"}}
_MESSAGE = frozenset(("role", "content"))
_TEXT = frozenset(("type", "text"))
_THINKING = frozenset(("type", "thinking", "signature"))
_REDACTED = frozenset(("type", "data"))
_CALL = frozenset(("type", "id", "name", "input"))
_RESULT = frozenset(("type", "tool_use_id", "content", "is_error"))
_IMAGE = frozenset(("type", "source"))
_DOCUMENT = frozenset(("type", "source", "title"))
_SOURCES = {"base64": {"type", "media_type", "data"}, "url": {"type", "url"}, "file": {"type", "file_id"}}
# Relays and clouds that speak the API as it once was: roles alternate, tools are defined, pictures are smaller.
DIALECTS = frozenset(("relay", "bedrock"))
_OLDER = Pictures(size=5 * 1024 * 1024)
# From 4.6 on, Claude models want a request to end with a user message (ANT-PREFILL).
_MODEL = re.compile(r"claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")

# Anthropic's signatures are opaque, so only what is known to be none is told apart: what programs put where another maker's
# thinking had no signature, and texts that could not be sent as one.
_SIGNATURE = (
    r"\s*(?!(?:reasoning|reasoning_content|reasoning_details|thinking|signature|none|null"
    r"|skip_thought_signature_validator|context_engineering_is_the_way_to_go)\s*\Z)[!-~]+\s*"
)


class Anthropic:
    """Anthropic's Messages."""

    name: ClassVar[str] = NAME
    key: ClassVar[str] = "messages"
    head_keys: ClassVar[tuple[str, ...]] = ("system",)
    tool_keys: ClassVar[tuple[str, ...]] = ("tools", "tool_choice")
    choice_path: ClassVar[str] = "tool_choice"
    model_key: ClassVar[str] = "model"
    dialects: ClassVar[frozenset[str]] = DIALECTS
    rules: ClassVar[Mapping[str, Rule]] = RULES
    rule_of: ClassVar[Mapping[str, str]] = RULE_OF
    notes: ClassVar[frozenset[str]] = frozenset(("content", "is_error"))
    bytes_under: ClassVar[frozenset[str]] = frozenset()
    borrowed: ClassVar[frozenset[str]] = anthropic_check.WORDS
    fields: ClassVar[frozenset[str]] = frozenset(("cache_control",))

    def limits(self, variant: str) -> Limits:
        """What a model or a dialect of that name takes."""
        dialect, model = split(variant, self.dialects)
        version = _MODEL.search(model)
        return Limits(
            id_pattern="^[a-zA-Z0-9_-]+$",
            ids_unique_in="history",
            arguments="object",
            blank_text=False,
            first_user=True,
            joins_turns=True,
            system="apart",
            calls_last=True,
            trailing_space=False,
            alternate=bool(dialect),
            tools="needed" if dialect else "free",
            pictures=_OLDER if dialect else Pictures(),
            thought_pattern=_SIGNATURE,
            server_ids="^srvtoolu_[a-zA-Z0-9_]+$",
            prefill=version is None or (int(version[1]), int(version[2] or 0)) < (4, 6),
            reasoning="signed",
            model=model or None,
        )

    def misfit(self, message: Json) -> str | None:
        """Why it can be no message: its role is missing."""
        return without_role(message)

    def sign(self, message: Json) -> str | None:
        """The first block in a message that no other format has."""
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "thinking" and isinstance(block.get("thinking"), list):
                continue  # Mistral's, whose thinking is a list of chunks
            if isinstance(kind, str) and kind.endswith(("tool_use", "tool_result", "thinking")):
                return f"a {kind!r} block"
        return None

    def check(self, request: Json, limits: Limits, *, open_tail: bool) -> list[Finding]:
        """Every rule that the request breaks, by place."""
        return anthropic_check.check(request, limits, open_tail=open_tail)

    def decode(self, messages: Sequence[Json], *, arguments: bool = True) -> Decoded:  # noqa: ARG002 - all are objects
        """The neutral messages."""
        found: list[Message] = []
        homes: list[int] = []
        for index, raw in enumerate(messages):
            role = raw["role"]
            made = (
                _user(raw, index)
                if role == "user"
                else _assistant(raw, index)
                if role == "assistant"
                else _other(raw, index)
            )
            found += made
            homes += [index] * len(made)
        return Decoded(found, homes)

    def encode(self, messages: Sequence[Message]) -> list[Json]:
        """The wire messages, one per turn of a role; thinking keeps its message to itself."""
        return write.encode(messages)

    def takes(self, part: Part) -> bool:
        """Whether there is a block for the part."""
        return write.block_of(part) is not None

    def readable(self, part: Part) -> Part | None:
        """The part; none that is kept as it came without a type, or as a text of something else."""
        return None if type(part) is Opaque and not has_words(part.raw, _WORDS) else part

    def flaw(self, part: Part) -> Flaw | None:
        """What is wrong with the source of a picture or document as it would be written."""
        block = write.block_of(part)
        return None if block is None else flaw_of(block)

    def part_of(self, raw: Json) -> Part:
        """A block, read."""
        return part_of(raw)

    def is_sound(self, part: Part) -> bool:
        """Whether a part that is kept as it came has what a block needs."""
        return type(part) is not Opaque or write.is_block(part.raw)

    def rewrite(self, raw: Sequence[Json], decoded: Decoded, written: Written) -> Rewritten:
        """The wire messages of a healed history; what did not change stays the very object that it was."""
        return write.Rewriting(raw, decoded, written).run()

    def beside(self, thing: Message | Part) -> Json:
        """What a message or part holds for this format alone."""
        return rest(kept_of(thing, NAME), self.notes)

    def lift(self, request: Json) -> list[System]:
        """The request's `system`."""
        content = request.get("system")
        if not content:
            return []
        if isinstance(content, str):
            return [System((Text(content),))]
        if not isinstance(content, list):
            raise not_content(content, "system")
        return [System(_parts(content, "system"), None, {NAME: {"content": "list"}})]

    def head(self, system: Sequence[System]) -> Json:
        """The request's `system`: a text when it is one, else blocks."""
        return write.head(system)

    def offer(self, name: str, description: str, parameters: Json) -> Json:
        """A tool as `tools` lists it."""
        return tools.offer(name, description, parameters)

    def offers(self, request: Json) -> list[Offer]:
        """The tools that have an input schema."""
        return tools.offers(request)

    def with_offers(self, request: Json, offers: Sequence[Offer]) -> Json:
        """The request with these tools behind its own."""
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
        """The request with its tools, and the choice among them, under other names."""
        return tools.renamed(request, names)

    def settle(self, request: Json, limits: Limits) -> tuple[Json, list[Settled]]:
        """The request within the rules on marks for the cache, on tools that were found, and on neighbours of one role."""
        return settling.settle(request, limits)

    def places(self, raw: Sequence[Json], decoded: Decoded, home: int) -> dict[int, list[str]]:
        """For each decoded message that came from that wire message: its path, then those of its parts."""
        path = f"messages[{home}]"
        content = raw[home].get("content")
        first, last = decoded.range_of(home)
        if not isinstance(content, list) or raw[home]["role"] not in ("user", "assistant"):
            return {index: [path] for index in range(first, last)}
        results = [f"{path}.content[{at}]" for at, block in enumerate(content) if _is_result(block)]
        others = [f"{path}.content[{at}]" for at, block in enumerate(content) if not _is_result(block)]
        found = {index: [place] for index, place in zip(decoded.results_of(home), results, strict=True)}
        return {index: found.get(index, [path, *others]) for index in range(first, last)}


# Decoding -------------------------------------------------------------------------------------


def _user(raw: Json, index: int) -> list[Message]:
    content = raw.get("content")
    if not isinstance(content, list):
        return [User(*_plain(raw, index))]
    results: list[Message] = []
    parts: list[Part] = []
    for at, block in enumerate(content):
        if not isinstance(block, dict):
            raise not_an_object(block, f"messages[{index}].content[{at}]")
        if block.get("type") == "tool_result":
            results.append(_result(block, index, at))
        else:
            parts.append(part_of(block))
    if parts or not results:
        results.append(User(tuple(parts), None, _ext(raw, _MESSAGE) if len(raw) > 2 else None))
    return results


def _assistant(raw: Json, index: int) -> list[Message]:
    """The message; a result that got into it follows as what it is."""
    content = raw.get("content")
    if not isinstance(content, list):
        return [Assistant(*_plain(raw, index))]
    parts = _parts(content, f"messages[{index}].content")
    ext = _ext(raw, _MESSAGE) if len(raw) > 2 else None
    if not any(type(part) is Opaque for part in parts):
        return [Assistant(parts, None, ext)]
    results = [_result(block, index, at) for at, block in enumerate(content) if _is_result(block)]
    words = [part for part, block in zip(parts, content, strict=True) if not _is_result(block)]
    return [Assistant(tuple(words), None, ext), *results]


def _is_result(block: Json) -> bool:
    return block.get("type") == "tool_result"


def _other(raw: Json, index: int) -> list[Message]:
    """A message of another role: system text, or what only Anthropic understands."""
    if raw["role"] != "system":
        return [User((Opaque(NAME, raw),))]
    content = raw.get("content")
    if isinstance(content, list):
        return [System(_parts(content, f"messages[{index}].content"), None, _ext(raw, _MESSAGE))]
    return [System(*_plain(raw, index))]


def _plain(raw: Json, index: int) -> tuple[tuple[Part, ...], None, Ext | None]:
    """Parts, no id, and `ext` of a message whose content is no list."""
    content = raw.get("content")
    if content is None:
        return (), None, _ext(raw, _MESSAGE)
    if not isinstance(content, str):
        raise not_content(content, f"messages[{index}].content")
    return (Text(content),), None, _AS_TEXT if len(raw) == 2 else _ext(raw, _MESSAGE, content="text")


def _parts(blocks: list[Any], path: str) -> tuple[Part, ...]:
    try:
        return tuple([part_of(block) for block in blocks])
    except AttributeError:
        at, block = next((at, block) for at, block in enumerate(blocks) if not isinstance(block, dict))
        raise not_an_object(block, f"{path}[{at}]") from None


def part_of(block: Json) -> Part:
    """One block as a part."""
    match block.get("type"):
        case "text" if isinstance(text := block.get("text"), str):
            return Text(text) if len(block) == 2 else Text(text, None, _ext(block, _TEXT))
        case "tool_use":
            given = block.get("input")
            is_object = isinstance(given, dict)
            return ToolCall(
                text_id(block.get("id")),
                text_id(block.get("name")),
                given if is_object else None,
                raw=given if isinstance(given, str) else None if is_object or given is None else json.dumps(given),
                error=None if is_object else "invalid_arguments",
                ext=None if len(block) == 4 else _ext(block, _CALL),
            )
        case "thinking":
            signature = block.get("signature")
            signed = signature if isinstance(signature, str) else None
            return Reasoning(text_id(block.get("thinking")), signed, ext=_ext(block, _THINKING))
        case "redacted_thinking":
            return Reasoning(encrypted=text_id(block.get("data")) or None, redacted=True, ext=_ext(block, _REDACTED))
        case "image" if fields := _source(block):
            return Image(**fields, ext=_ext(block, _IMAGE))
        case "document" if (fields := _source(block)) and isinstance(block.get("title", ""), str):
            return File(**fields, name=block.get("title"), ext=_ext(block, _DOCUMENT))
    return Opaque(NAME, block)


def _result(block: Json, index: int, at: int) -> ToolResult:
    content = block.get("content")
    error = block.get("is_error")
    extra: Json = {"is_error": error} if "is_error" in block and error is not True else {}
    parts: tuple[Part, ...] = ()
    if not is_content(content, f"messages[{index}].content[{at}].content"):
        parts = (Text(value_text(content)),)
        extra["content"] = JSON_TEXT
    elif isinstance(content, str):
        parts = (Text(content),) if content else ()
    elif isinstance(content, list):
        parts = _parts(content, f"messages[{index}].content[{at}].content")
        extra["content"] = "list"
    else:
        extra["content"] = "absent"
    return ToolResult(
        parts=parts,
        ext=_ext(block, _RESULT, **extra) if extra or len(block) > 3 else None,
        call_id=text_id(block.get("tool_use_id")),
        error=error if isinstance(error, bool) else None,
    )


def _source(block: Json) -> dict[str, str] | None:
    """The fields of a picture or document whose source is of a kind we know."""
    source = block.get("source")
    if not isinstance(source, dict) or _SOURCES.get(str(source.get("type"))) != source.keys():
        return None
    fields = {key: value for key, value in source.items() if key != "type" and isinstance(value, str)}
    is_whole = len(fields) == len(source) - 1 and not fields.get("url", "").startswith("data:")
    return fields if is_whole else None


def _ext(raw: Json, known: frozenset[str], **shape: object) -> Ext | None:
    extra = {**rest(raw, known), **shape}
    return {NAME: extra} if extra else None
