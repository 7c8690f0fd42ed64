"""Anthropic's Messages, written: neutral messages to blocks, and a healed history around what did not change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from suture.formats.anthropic.blocks import results_behind
from suture.formats.base import Decoded, Json, Rewritten, Written
from suture.formats.wire import own, rest
from suture.messages import (
    Assistant,
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

_MESSAGE = frozenset(("role", "content"))
_SHAPE = frozenset(("content",))


def encode(messages: Sequence[Message]) -> list[Json]:
    """The wire messages, one per turn of a role; thinking keeps its message to itself."""
    drafts: list[list[Message]] = []
    for message in messages:
        if drafts and _role(drafts[-1][0]) == _role(message) and not (_thinks(drafts[-1][-1]) or _thinks(message)):
            drafts[-1].append(message)
        else:
            drafts.append([message])
    return [_wire(draft) for draft in drafts]


def head(system: Sequence[System]) -> Json:
    """The request's `system`: a text when it is one, else blocks."""
    parts = tuple([part for message in system for part in message.parts])
    if not parts:
        return {}
    came_as_list = any(own(message.ext, NAME).get("content") == "list" for message in system)
    if not came_as_list and len(parts) == 1 and type(parts[0]) is Text and not own(parts[0].ext, NAME):
        return {"system": parts[0].text}
    return {"system": [block for part in parts if (block := block_of(part)) is not None]}


def _role(message: Message) -> str:
    match message:
        case Assistant():
            return "assistant"
        case System():
            return "system"
        case User(parts=(Opaque(provider="anthropic", raw={"role": str() as role}),)):
            return role
    return "user"


def _is_users(message: Message) -> bool:
    """Whether the message goes into one of the user's."""
    return type(message) is ToolResult or (type(message) is User and _whole(message) is None)


def _thinks(message: Message) -> bool:
    """Whether thinking stands in the message, which must then stay as its model made it (ANT-THINK-FROZEN)."""
    return type(message) is Assistant and any(type(part) is Reasoning for part in message.parts)


def _wire(messages: Sequence[Message]) -> Json:
    """One wire message of neutral messages that share a role."""
    first = messages[0]
    if len(messages) == 1 and (whole := _whole(first)):
        return whole
    keys = [rest(own(message.ext, NAME), _SHAPE) for message in messages if type(message) is not ToolResult]
    content = first.text if len(messages) == 1 and _came_as_text(first) else [b for m in messages for b in blocks_of(m)]
    return {"role": _role(first), "content": content, **_merged(keys)}


def _merged(keys: Sequence[Json]) -> Json:
    """Further keys of several messages; the first that has one counts."""
    return {key: value for each in reversed(keys) for key, value in each.items()}


def _whole(message: Message) -> Json | None:
    """The wire message that a message of an unknown role is kept as."""
    part = message.parts[0] if len(message.parts) == 1 else None
    raw = part.raw if type(part) is Opaque else None
    return raw if isinstance(raw, dict) and isinstance(raw.get("role"), str) else None


def _came_as_text(message: Message) -> bool:
    return own(message.ext, NAME).get("content") == "text" and _is_plain(message.parts)


def blocks_of(message: Message) -> list[Json]:
    """The blocks of a message."""
    if type(message) is ToolResult:
        return [_result_block(message)]
    return [block for part in message.parts if (block := block_of(part)) is not None]


# Blocks that have words of ours: one of these that is kept as it came lacks what it needs.
_OURS = frozenset(("text", "tool_use", "tool_result", "thinking", "redacted_thinking"))


def is_block(raw: object) -> bool:
    """Whether what was kept as it came may be sent as a block (ANT-UNKNOWN-BLOCK)."""
    kind = raw.get("type") if isinstance(raw, dict) else None
    return isinstance(kind, str) and bool(kind) and kind not in _OURS


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
            return {"type": "redacted_thinking", "data": part.encrypted or "", **kept}
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
        return {
            "type": "base64",
            "media_type": part.media_type or ("image/png" if type(part) is Image else "application/pdf"),
            "data": part.data,
        }
    if part.url is None:
        return {"type": "file", "file_id": part.file_id}
    # OpenAI puts data into the address.
    kind, _, data = part.url.removeprefix("data:").partition(";base64,")
    if part.url.startswith("data:") and data:
        return {"type": "base64", "media_type": kind, "data": data}
    return {"type": "url", "url": part.url}


def _result_block(result: ToolResult) -> Json:
    kept = own(result.ext, NAME)
    shape = kept.get("content")
    block: Json = {"type": "tool_result", "tool_use_id": result.call_id}
    if shape != "absent" or result.parts:
        plain = shape != "list" and _is_plain(result.parts)
        block["content"] = result.text if plain else [b for part in result.parts if (b := block_of(part))]
    if result.error:
        block["is_error"] = True
    return {**block, **rest(kept, _SHAPE)}


def _is_plain(parts: tuple[Part, ...]) -> bool:
    """Whether the parts are one text without anything of its own, or nothing."""
    return not parts or (len(parts) == 1 and type(parts[0]) is Text and not own(parts[0].ext, NAME))


class Rewriting:
    """One healed history: neighbours in the input stay apart, what became neighbours is joined (ANT-ALTERNATE)."""

    def __init__(self, raw: Sequence[Json], decoded: Decoded, written: Written) -> None:
        self.raw = raw
        self.decoded = decoded
        self.messages = written.messages
        self.sources = written.sources
        self.homes = [None if source is None else decoded.homes[source] for source in written.sources]
        self.sizes = Counter(decoded.homes)
        self.results: dict[int, dict[int, Json]] = {}

    def run(self) -> Rewritten:
        """The wire messages; what did not change is the very object that it was."""
        drafts: list[list[int]] = []
        before: Message | None = None
        for at, message in enumerate(self.messages):
            if before is not None and _is_users(message) and _is_users(before) and self._joins(at):
                drafts[-1].append(at)
            else:
                drafts.append([at])
            before = message
        return Rewritten([self._write(draft) for draft in drafts], [self._first_home(draft) for draft in drafts])

    def _first_home(self, draft: list[int]) -> int | None:
        home = self.homes[draft[0]]
        if home is not None or len(draft) == 1:
            return home
        return next((home for at in draft if (home := self.homes[at]) is not None), None)

    def _joins(self, at: int) -> bool:
        """Whether the user's message goes into one with that before it."""
        left, right = self.homes[at - 1], self.homes[at]
        if type(self.messages[at]) is ToolResult or left is None or right is None:
            return True
        return right != left + 1 or self.raw[left]["role"] != "user"

    def _write(self, draft: list[int]) -> Json:
        home = self.homes[draft[0]]
        if home is not None and self._is_intact(draft, home):
            return self.raw[home]
        messages = [self.messages[at] for at in draft]
        homes = [home for at in draft if (home := self.homes[at]) is not None]
        wire = {**_merged([rest(self.raw[home], _MESSAGE) for home in homes]), **_wire(messages)}
        if isinstance(wire["content"], list):
            wire["content"] = [block for at in draft for block in self._blocks(at)]
        return wire

    def _is_intact(self, draft: list[int], home: int) -> bool:
        """Whether the draft is one message of the input, all of it, in an order that may be sent."""
        if len(draft) != self.sizes[home]:
            return False
        if len(draft) == 1:
            return self._is_same(draft[0])
        if not all(self.homes[at] == home and self._is_same(at) for at in draft):
            return False
        sources = [self.sources[at] or 0 for at in draft]
        return all(left < right for left, right in pairwise(sources)) and not results_behind(self.raw[home]["content"])

    def _is_same(self, at: int) -> bool:
        source = self.sources[at]
        return source is not None and self.decoded.messages[source] is self.messages[at]

    def _blocks(self, at: int) -> list[Json]:
        """The blocks of a message; those that did not change as they came."""
        message, source = self.messages[at], self.sources[at]
        if source is None:
            return blocks_of(message)
        old, home = self.decoded.messages[source], self.decoded.homes[source]
        content = self.raw[home].get("content")
        if not isinstance(content, list):
            return blocks_of(message)
        if type(old) is ToolResult:
            return [self._result(home, source)] if message is old else blocks_of(message)
        given = [block for block in content if block.get("type") != "tool_result"]
        if len(given) != len(old.parts):
            return blocks_of(message)
        as_came = {id(part): block for part, block in zip(old.parts, given, strict=True)}
        pairs = [(part, as_came.get(id(part))) for part in message.parts]
        return [block for part, came in pairs if (block := block_of(part) if came is None else came) is not None]

    def _result(self, home: int, source: int) -> Json:
        if home not in self.results:
            blocks = [block for block in self.raw[home]["content"] if block.get("type") == "tool_result"]
            self.results[home] = dict(zip(self.decoded.results_of(home), blocks, strict=True))
        return self.results[home][source]
