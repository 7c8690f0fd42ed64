"""Anthropic's Messages: a history to neutral messages and back, losing nothing.

A user message holds results and words; it becomes one `ToolResult` per result, then one `User`. What a
message or block has beside its known keys is kept in `ext["anthropic"]` and written back; there, `content`
says in which other shape than ours the content came.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, ClassVar

from suture.formats import anthropic_check
from suture.formats.anthropic_rules import RULE_OF, RULES
from suture.formats.base import (
    Decoded,
    Finding,
    Json,
    Limits,
    Rule,
    Written,
    not_an_object,
    not_content,
    own,
    rest,
    text_id,
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

NAME = "anthropic"

_AS_TEXT: Ext = {NAME: {"content": "text"}}
_MESSAGE = frozenset(("role", "content"))
_TEXT = frozenset(("type", "text"))
_THINKING = frozenset(("type", "thinking", "signature"))
_REDACTED = frozenset(("type", "data"))
_CALL = frozenset(("type", "id", "name", "input"))
_RESULT = frozenset(("type", "tool_use_id", "content", "is_error"))
_IMAGE = frozenset(("type", "source"))
_DOCUMENT = frozenset(("type", "source", "title"))
_MARK = frozenset(("cache_control",))
_SOURCES = {"base64": {"type", "media_type", "data"}, "url": {"type", "url"}, "file": {"type", "file_id"}}
# From 4.6 on, Claude models want a request to end with a user message (ANT-PREFILL).
_MODEL = re.compile(r"claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")


class Anthropic:
    """Anthropic's Messages."""

    name: ClassVar[str] = NAME
    rules: ClassVar[Mapping[str, Rule]] = RULES
    rule_of: ClassVar[Mapping[str, str]] = RULE_OF

    def limits(self, variant: str) -> Limits:
        """What a model of that name takes."""
        version = _MODEL.search(variant)
        return Limits(
            id_pattern="^[a-zA-Z0-9_-]+$",
            ids_unique_in="history",
            arguments="object",
            blank_text=False,
            first_user=True,
            joins_turns=True,
            system="apart",
            calls_last=True,
            prefill=version is None or (int(version[1]), int(version[2] or 0)) < (4, 6),
            reasoning="signed",
            model=variant or None,
        )

    def sign(self, message: Json) -> str | None:
        """The first block in a message that no other format has."""
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            kind = block.get("type") if isinstance(block, dict) else None
            if isinstance(kind, str) and kind.endswith(("tool_use", "tool_result", "thinking")):
                return f"a {kind!r} block"
        return None

    def check(self, request: Json, limits: Limits, *, open_tail: bool) -> list[Finding]:
        """Every rule that the request breaks, by place."""
        return anthropic_check.check(request, limits, open_tail=open_tail)

    def decode(self, messages: Sequence[Json]) -> Decoded:
        """The neutral messages."""
        found: list[Message] = []
        homes: list[int] = []
        for index, raw in enumerate(messages):
            role = raw["role"]
            if role == "user":
                for message in _user(raw, index):
                    found.append(message)
                    homes.append(index)
            else:
                found.append(_assistant(raw, index) if role == "assistant" else _other(raw, index))
                homes.append(index)
        return Decoded(found, homes)

    def encode(self, messages: Sequence[Message]) -> list[Json]:
        """The wire messages, one per turn of a role; thinking keeps its message to itself."""
        drafts: list[list[Message]] = []
        for message in messages:
            if drafts and _role(drafts[-1][0]) == _role(message) and not _frozen([*drafts[-1], message]):
                drafts[-1].append(message)
            else:
                drafts.append([message])
        return [_wire(draft) for draft in drafts]

    def takes(self, part: Part) -> bool:
        """Whether there is a block for the part."""
        return block_of(part) is not None

    def rewrite(self, raw: Sequence[Json], decoded: Decoded, written: Written) -> list[Json]:
        """The wire messages of a healed history; what did not change stays the very object that it was."""
        return _Rewriting(raw, decoded, written).run()

    def lift(self, request: Json) -> list[System]:
        """The request's `system`."""
        content = request.get("system")
        if not content:
            return []
        if isinstance(content, str):
            return [System((Text(content),))]
        return [System(_parts(content, "system"), None, {NAME: {"content": "list"}})]

    def head(self, system: Sequence[System]) -> Json:
        """The request's `system`: a text when it came as one, or is one."""
        parts = [part for message in system for part in message.parts]
        if not parts:
            return {}
        as_list = any(own(message.ext, NAME).get("content") == "list" for message in system)
        if not as_list and len(parts) == 1 and _is_plain(tuple(parts)):
            return {"system": system[0].text}
        return {"system": [block for part in parts if (block := block_of(part)) is not None]}

    def trim(self, request: Json) -> tuple[Json, list[str]]:
        """The request with at most four marks for the cache: those of tools and system stay, then the latest."""
        over = anthropic_check.marks(request) - anthropic_check.MAX_CACHE_MARKS
        if over <= 0:
            return request, []
        messages = list(request["messages"])
        paths: list[str] = []
        for index, message in enumerate(messages):
            content = message.get("content")
            if len(paths) == over or not isinstance(content, list):
                continue
            fresh: list[Json] = []
            for at, block in enumerate(content):
                marked = "cache_control" in block and len(paths) < over
                if marked:
                    paths.append(f"messages[{index}].content[{at}]")
                fresh.append(rest(block, _MARK) if marked else block)
            if any(new is not old for new, old in zip(fresh, content, strict=True)):
                messages[index] = {**message, "content": fresh}
        return {**request, "messages": messages}, paths

    def place(self, raw: Sequence[Json], decoded: Decoded, index: int, part: int | None = None) -> str:
        """The wire path of a decoded message, or of one of its parts."""
        home, message = decoded.homes[index], decoded.messages[index]
        path = f"messages[{home}]"
        content = raw[home].get("content")
        if not isinstance(content, list) or (part is None and type(message) is not ToolResult):
            return path
        if type(message) is Assistant:
            return f"{path}.content[{part}]"
        is_result = type(message) is ToolResult
        nth = index - bisect_left(decoded.homes, home) if is_result else part or 0
        places = [at for at, block in enumerate(content) if (block.get("type") == "tool_result") is is_result]
        return f"{path}.content[{places[nth]}]" if nth < len(places) else path


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
            results.append(_result(block, f"messages[{index}].content[{at}]"))
        else:
            parts.append(part_of(block))
    if parts or not results:
        results.append(User(tuple(parts), None, _ext(raw, _MESSAGE)))
    return results


def _assistant(raw: Json, index: int) -> Message:
    content = raw.get("content")
    if not isinstance(content, list):
        return Assistant(*_plain(raw, index))
    return Assistant(_parts(content, f"messages[{index}].content"), None, _ext(raw, _MESSAGE) if len(raw) > 2 else None)


def _other(raw: Json, index: int) -> Message:
    """A message of another role: system text, or what only Anthropic understands."""
    if raw["role"] != "system":
        return User((Opaque(NAME, raw),))
    content = raw.get("content")
    if isinstance(content, list):
        return System(_parts(content, f"messages[{index}].content"), None, _ext(raw, _MESSAGE))
    return System(*_plain(raw, index))


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
        case "thinking" if isinstance(text := block.get("thinking"), str):
            signature = block.get("signature")
            known = _THINKING if isinstance(signature, str) else _THINKING - {"signature"}
            return Reasoning(text, signature if isinstance(signature, str) else None, ext=_ext(block, known))
        case "redacted_thinking" if isinstance(data := block.get("data"), str):
            return Reasoning(encrypted=data, redacted=True, ext=_ext(block, _REDACTED))
        case "image" if fields := _source(block):
            return Image(**fields, ext=_ext(block, _IMAGE))
        case "document" if (fields := _source(block)) and isinstance(block.get("title", ""), str):
            return File(**fields, name=block.get("title"), ext=_ext(block, _DOCUMENT))
    return Opaque(NAME, block)


def _result(block: Json, path: str) -> ToolResult:
    content = block.get("content")
    error = block.get("is_error")
    extra: Json = {} if error is None or isinstance(error, bool) else {"is_error": error}
    parts: tuple[Part, ...] = ()
    if isinstance(content, str):
        parts = (Text(content),) if content else ()
    elif isinstance(content, list):
        parts = _parts(content, f"{path}.content")
        if len(parts) < 2:
            extra["content"] = "list"
    elif content is None:
        extra["content"] = "absent"
    else:
        raise not_content(content, f"{path}.content")
    return ToolResult(
        parts,
        None,
        _ext(block, _RESULT, **extra) if extra or len(block) > 3 else None,
        call_id=text_id(block.get("tool_use_id")),
        error=error if isinstance(error, bool) else None,
    )


def _source(block: Json) -> dict[str, str] | None:
    """The fields of a picture or document whose source is of a kind we know."""
    source = block.get("source")
    if not isinstance(source, dict) or _SOURCES.get(str(source.get("type"))) != source.keys():
        return None
    fields = {key: value for key, value in source.items() if key != "type" and isinstance(value, str)}
    return fields if len(fields) == len(source) - 1 else None


def _ext(raw: Json, known: frozenset[str], **shape: object) -> Ext | None:
    extra = {**rest(raw, known), **shape}
    return {NAME: extra} if extra else None


# Encoding -------------------------------------------------------------------------------------


def _role(message: Message) -> str:
    match message:
        case Assistant():
            return "assistant"
        case System():
            return "system"
        case User(parts=(Opaque(provider="anthropic", raw={"role": str() as role}),)):
            return role
    return "user"


def _frozen(messages: Sequence[Message]) -> bool:
    """Whether thinking stands in an assistant message, which must stay as its model made it (ANT-THINK-FROZEN)."""
    return any(type(part) is Reasoning for message in messages if type(message) is Assistant for part in message.parts)


def _wire(messages: Sequence[Message], base: Json | None = None) -> Json:
    """One wire message of neutral messages that share a role."""
    first = messages[0]
    if base is None and len(messages) == 1 and (whole := _whole(first)):
        return whole
    keys = base if base is not None else _keys(messages)
    blocks = [block for message in messages for block in blocks_of(message)]
    as_text = len(messages) == 1 and own(first.ext, NAME).get("content") == "text" and _is_plain(first.parts)
    return {**keys, "role": _role(first), "content": first.text if as_text else blocks}


def _whole(message: Message) -> Json | None:
    """The wire message that an unknown role is kept as."""
    part = message.parts[0] if len(message.parts) == 1 else None
    return part.raw if type(part) is Opaque and isinstance(part.raw, dict) and "role" in part.raw else None


def _keys(messages: Sequence[Message]) -> Json:
    """Further keys of the message; the first that has any counts."""
    kept = (own(message.ext, NAME) for message in messages if type(message) is not ToolResult)
    return next((rest(keys, _SHAPE) for keys in kept if keys), {})


_SHAPE = frozenset(("content",))


def blocks_of(message: Message) -> list[Json]:
    """The blocks of a message."""
    if type(message) is ToolResult:
        return [_result_block(message)]
    return [block for part in message.parts if (block := block_of(part)) is not None]


def block_of(part: Part) -> Json | None:
    """One part as a block; None where Anthropic has none for it."""
    if isinstance(part, Opaque):
        return part.raw if part.provider == NAME and isinstance(part.raw, dict) else None
    kept = own(part.ext, NAME)
    match part:
        case Text():
            return {"type": "text", "text": part.text, **kept}
        case ToolCall():
            arguments = part.arguments if part.arguments is not None else {"_raw": part.raw or ""}
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": arguments, **kept}
        case Reasoning(redacted=True):
            return {"type": "redacted_thinking", "data": part.encrypted, **kept}
        case Reasoning():
            signature = {} if part.signature is None else {"signature": part.signature}
            return {"type": "thinking", "thinking": part.text, **signature, **kept}
        case Image():
            return {"type": "image", "source": _source_of(part), **kept}
        case File():
            title = {} if part.name is None else {"title": part.name}
            return {"type": "document", "source": _source_of(part), **title, **kept}
    return None


def _source_of(part: Image | File) -> Json:
    if part.data is not None:
        return {"type": "base64", "media_type": part.media_type, "data": part.data}
    if part.url is not None:
        return {"type": "url", "url": part.url}
    return {"type": "file", "file_id": part.file_id}


def _result_block(result: ToolResult) -> Json:
    kept = own(result.ext, NAME)
    shape = kept.get("content")
    block: Json = {"type": "tool_result", "tool_use_id": result.call_id}
    if shape != "absent" or result.parts:
        plain = shape != "list" and _is_plain(result.parts)
        block["content"] = result.text if plain else [b for part in result.parts if (b := block_of(part))]
    if result.error is not None:
        block["is_error"] = result.error
    return {**block, **rest(kept, _SHAPE)}


def _is_plain(parts: tuple[Part, ...]) -> bool:
    """Whether the parts are one text without anything of its own, or nothing."""
    return not parts or (len(parts) == 1 and type(parts[0]) is Text and parts[0].ext is None)


class _Rewriting:
    """One rewrite: neighbours in the input stay apart, what became neighbours is joined (ANT-ALTERNATE)."""

    def __init__(self, raw: Sequence[Json], decoded: Decoded, written: Written) -> None:
        self.raw = raw
        self.decoded = decoded
        self.written = written
        self.sizes = Counter(decoded.homes)

    def run(self) -> list[Json]:
        drafts: list[list[int]] = []
        for at, message in enumerate(self.written.messages):
            if drafts and self._joins(drafts[-1][-1], at, message):
                drafts[-1].append(at)
            else:
                drafts.append([at])
        return [self._write(draft) for draft in drafts]

    def _home(self, at: int) -> int | None:
        source = self.written.sources[at]
        return None if source is None else self.decoded.homes[source]

    def _joins(self, before: int, at: int, message: Message) -> bool:
        if _role(message) != "user" or _role(self.written.messages[before]) != "user":
            return False
        left, right = self._home(before), self._home(at)
        return type(message) is ToolResult or left is None or right is None or right != left + 1

    def _write(self, draft: list[int]) -> Json:
        home = self._home(draft[0])
        if home is not None and self._is_intact(draft, home):
            return self.raw[home]
        messages = [self.written.messages[at] for at in draft]
        speaker = next((at for at in draft if type(self.written.messages[at]) is not ToolResult), draft[0])
        origin = self._home(speaker)
        base = {} if origin is None else rest(self.raw[origin], _MESSAGE)
        wire = _wire(messages, base)
        if isinstance(wire["content"], list):
            wire["content"] = [block for at in draft for block in self._blocks(at)]
        return wire

    def _is_intact(self, draft: list[int], home: int) -> bool:
        """Whether the draft is one message of the input, all of it, in an order that may be sent."""
        return (
            len(draft) == self.sizes[home]
            and all(self._home(at) == home and self._is_same(at) for at in draft)
            and all(left < right for left, right in pairwise(self.written.sources[at] or 0 for at in draft))
            and not (len(draft) > 1 and anthropic_check.results_behind(self.raw[home]["content"]))
        )

    def _is_same(self, at: int) -> bool:
        source = self.written.sources[at]
        return source is not None and self.decoded.messages[source] is self.written.messages[at]

    def _blocks(self, at: int) -> list[Json]:
        """The blocks of a message, those that did not change as they came."""
        message, source = self.written.messages[at], self.written.sources[at]
        if source is None:
            return blocks_of(message)
        old, home = self.decoded.messages[source], self.decoded.homes[source]
        content = self.raw[home].get("content")
        if not isinstance(content, list):
            return blocks_of(message)
        if type(message) is ToolResult:
            return [self._result(home, source)] if message is old else blocks_of(message)
        given = [block for block in content if type(old) is not User or block.get("type") != "tool_result"]
        as_came = {id(part): block for part, block in zip(old.parts, given, strict=True)}
        fresh = ((part, as_came.get(id(part))) for part in message.parts)
        return [block for part, came in fresh if (block := came if came is not None else block_of(part)) is not None]

    def _result(self, home: int, source: int) -> Json:
        nth = source - bisect_left(self.decoded.homes, home)
        results = (block for block in self.raw[home]["content"] if block.get("type") == "tool_result")
        return next(islice(results, nth, None))
