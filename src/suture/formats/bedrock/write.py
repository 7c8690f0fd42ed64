"""Converse's messages, written: neutral messages to blocks, and a healed history around what did not change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from suture.formats.base import Decoded, Json, Rewritten, Written
from suture.formats.bedrock.blocks import arranged, blocks_of, is_regular, is_regular_message, results_behind
from suture.formats.bedrock.parts import NAME, block_of
from suture.formats.wire import own, rest
from suture.messages import Assistant, Message, Opaque, System, ToolResult, User

# In `ext` of a result: the marks for the cache that stand before it.
MARKS = "marks"

_MESSAGE = frozenset(("role", "content"))
_SHAPE = frozenset((MARKS,))


def encode(messages: Sequence[Message]) -> list[Json]:
    """The wire messages; results and words of the user that stand beside each other are one."""
    drafts: list[list[Message]] = []
    for message in messages:
        if drafts and _is_users(message) and _is_users(drafts[-1][-1]):
            drafts[-1].append(message)
        else:
            drafts.append([message])
    return [_wire(draft, [block for message in draft for block in written(message)]) for draft in drafts]


def head(system: Sequence[System]) -> Json:
    """The request's `system`."""
    blocks = [block for message in system for part in message.parts if (block := block_of(part)) is not None]
    return {"system": blocks} if blocks else {}


def written(message: Message) -> list[Json]:
    """The blocks of a message."""
    blocks = [block for part in message.parts if (block := block_of(part)) is not None]
    if type(message) is not ToolResult:
        return blocks
    status = {} if message.error is None else {"status": "error" if message.error else "success"}
    extra = rest(own(message.ext, NAME), _SHAPE)
    return [*_marks(message), {"toolResult": {"toolUseId": message.call_id, "content": blocks, **status, **extra}}]


def _marks(result: ToolResult) -> list[Json]:
    marks = own(result.ext, NAME).get(MARKS)
    return marks if isinstance(marks, list) else []


def _wire(draft: Sequence[Message], blocks: list[Json]) -> Json:
    """One wire message of neutral ones that share a role."""
    if len(draft) == 1 and (whole := _whole(draft[0])):
        return whole
    keys = [own(message.ext, NAME) for message in draft if type(message) is not ToolResult]
    return {"role": _role(draft[0]), "content": blocks, **_merged(keys)}


def _role(message: Message) -> str:
    match message:
        case Assistant():
            return "assistant"
        case System():
            return "system"
    return "user"


def _merged(keys: Sequence[Json]) -> Json:
    """Further keys of several messages; the first that has one counts."""
    return {key: value for each in reversed(keys) for key, value in each.items()}


def _whole(message: Message) -> Json | None:
    """The wire message that a message of an unknown role is kept as."""
    part = message.parts[0] if type(message) is User and len(message.parts) == 1 else None
    raw = part.raw if type(part) is Opaque else None
    return raw if isinstance(raw, dict) and isinstance(raw.get("role"), str) else None


def _is_users(message: Message) -> bool:
    """Whether the message goes into one of the user's."""
    return type(message) is ToolResult or (type(message) is User and _whole(message) is None)


class Rewriting:
    """One healed history: what the user says and the results beside it are one message (BDR-ALTERNATE)."""

    def __init__(self, raw: Sequence[Json], decoded: Decoded, healed: Written) -> None:
        self.raw = raw
        self.decoded = decoded
        self.messages = healed.messages
        self.sources = healed.sources
        self.homes = [None if source is None else decoded.homes[source] for source in healed.sources]
        self.sizes = Counter(decoded.homes)
        self.given: dict[int, tuple[dict[int, Json], list[Json]]] = {}

    def run(self) -> Rewritten:
        """The wire messages; what did not change is the very object that it was."""
        drafts: list[list[int]] = []
        before: Message | None = None
        for at, message in enumerate(self.messages):
            if before is not None and _is_users(message) and _is_users(before):
                drafts[-1].append(at)
            else:
                drafts.append([at])
            before = message
        return Rewritten([self._write(draft) for draft in drafts], [self._home(draft) for draft in drafts])

    def _home(self, draft: list[int]) -> int | None:
        return next((home for at in draft if (home := self.homes[at]) is not None), None)

    def _write(self, draft: list[int]) -> Json:
        home = self.homes[draft[0]]
        if home is not None and self._is_intact(draft, home):
            return self.raw[home]
        wire = _wire([self.messages[at] for at in draft], [block for at in draft for block in self._blocks(at)])
        homes = [home for at in draft if (home := self.homes[at]) is not None]
        more = _merged([rest(self.raw[home], _MESSAGE) for home in homes])
        return wire if wire.keys() >= more.keys() else {**wire, **more}

    def _is_intact(self, draft: list[int], home: int) -> bool:
        """Whether the draft is one message of the input, all of it, in an order and in a shape that may be sent."""
        if len(draft) != self.sizes[home] or not all(self.homes[at] == home and self._is_same(at) for at in draft):
            return False
        if _whole(self.messages[draft[0]]):
            return True
        sources = [self.sources[at] or 0 for at in draft]
        in_order = all(left < right for left, right in pairwise(sources))
        return in_order and is_regular_message(self.raw[home]) and not results_behind(self.raw[home])

    def _is_same(self, at: int) -> bool:
        source = self.sources[at]
        return source is not None and self.decoded.messages[source] is self.messages[at]

    def _blocks(self, at: int) -> list[Json]:
        """The blocks of a message; those that did not change as they came."""
        message, source = self.messages[at], self.sources[at]
        if source is None:
            return written(message)
        old, home = self.decoded.messages[source], self.decoded.homes[source]
        if _whole(old):
            return written(message)
        results, given = self._as_given(home)
        if type(old) is ToolResult:
            came = results[source] if message is old else {}
            return [*_marks(old), came] if is_regular(came) else written(message)
        as_came = {id(part): block for part, block in zip(old.parts, given, strict=True) if is_regular(block)}
        pairs = [(part, as_came.get(id(part))) for part in message.parts]
        return [block for part, came in pairs if (block := block_of(part) if came is None else came) is not None]

    def _as_given(self, home: int) -> tuple[dict[int, Json], list[Json]]:
        """The results of a message of the input, by the index of what each became, and its other blocks."""
        if home not in self.given:
            content = self.raw[home].get("content")
            answers, others = arranged(blocks_of(content, f"messages[{home}].content"))
            results = [answer.block for answer in answers]
            by_index = dict(zip(self.decoded.results_of(home), results, strict=True))
            self.given[home] = by_index, [block for _, block in others]
        return self.given[home]
