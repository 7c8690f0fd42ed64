"""Converse's blocks as they came: each is an object with one member, whose name is its kind.

What has more members than one, or a text where a list of blocks belongs, says plainly enough what is meant; it is read as
that, and written with one member each (BDR-BLOCKS).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from suture.errors import HistoryError
from suture.formats.base import Json
from suture.formats.wire import kind_of, not_an_object, not_content

# What a block of a message may be.
MEMBERS = frozenset(
    (
        "text",
        "image",
        "document",
        "video",
        "audio",
        "toolUse",
        "toolResult",
        "reasoningContent",
        "cachePoint",
        "guardContent",
        "citationsContent",
        "searchResult",
        "toolAddition",
        "toolRemoval",
    )
)
# What a block of a result may be.
IN_RESULTS = frozenset(("text", "json", "image", "document", "video", "searchResult"))
# What reasoning may hold; `text` and `signature` where somebody forgot the `reasoningText` around them.
_THOUGHTS = frozenset(("reasoningText", "redactedContent", "text", "signature"))
_KNOWN = MEMBERS | IN_RESULTS

SERVER = "server_tool_use"


def is_a(block: object, member: str) -> bool:
    """Whether the block has that member."""
    return isinstance(block, dict) and member in block


def not_a_text(value: object, path: str) -> HistoryError:
    """The error for what has to be a text."""
    return HistoryError(f"{path} is {kind_of(value)}, not a text.")


def pieces(block: Json) -> list[Json]:
    """The block as blocks of one member each; the very block where it has one, or is of no kind that is known here.

    Members that are null are none, and a `type` beside members says what they say.
    """
    if len(block) == 1 or ("type" in block and not block.keys() & _KNOWN):
        return [block]
    return [{key: value} for key, value in block.items() if value is not None and key != "type"] or [block]


def is_nameless(raw: object) -> bool:
    """Whether what was kept as it came has no member that is known here, and a type in its place."""
    return not isinstance(raw, dict) or not raw or ("type" in raw and not raw.keys() & _KNOWN)


def blocks_of(content: object, path: str) -> Iterator[tuple[int, Json]]:
    """The blocks of a message, each with its index in the content that came.

    Raises:
        HistoryError: the content is neither text nor list, or a block is no object.
    """
    if content is None or content == "":
        return
    if isinstance(content, str):
        yield 0, {"text": content}
        return
    if not isinstance(content, list):
        raise not_content(content, path)
    for at, block in enumerate(content):
        if not isinstance(block, dict):
            raise not_an_object(block, f"{path}[{at}]")
        for piece in pieces(block):
            yield at, piece


class Answer(NamedTuple):
    """A result, with the marks for the cache that stand before it among the results."""

    at: int
    block: Json
    marks: list[Json]


def arranged(blocks: Iterable[tuple[int, Json]]) -> tuple[list[Answer], list[tuple[int, Json]]]:
    """The results of a message, and its other blocks, each with its index. A mark goes with the result behind it."""
    results: list[Answer] = []
    others: list[tuple[int, Json]] = []
    marks: list[tuple[int, Json]] = []
    for at, block in blocks:
        if is_result(block):
            results.append(Answer(at, block, [mark for _, mark in marks]))
            marks = []
        elif "cachePoint" in block:
            marks.append((at, block))
        else:
            others += [*marks, (at, block)]
            marks = []
    return results, [*others, *marks]


def is_result(block: Json) -> bool:
    """Whether the block answers a call, rather than being the work of a tool that Bedrock runs itself."""
    inner = block.get("toolResult")
    return "toolResult" in block and not (isinstance(inner, dict) and isinstance(inner.get("type"), str))


def is_call(block: object) -> bool:
    """Whether the block is a call for the caller to run."""
    return is_a(block, "toolUse") and isinstance(block, dict) and not is_server_call(block)


def is_server_call(block: Json) -> bool:
    """Whether the block calls a tool that Bedrock runs itself."""
    inner = block.get("toolUse")
    return isinstance(inner, dict) and inner.get("type") == SERVER


def is_regular(block: Json) -> bool:
    """Whether the block may be sent as it came, as far as its shape goes (BDR-BLOCKS, BDR-RESULT-JSON)."""
    if len(block) != 1 or block.get("text", "") is None:
        return False
    if isinstance(inner := block.get("toolResult"), dict):
        content = inner.get("content")
        return isinstance(content, list) and all(is_regular_in_result(part) for part in content)
    inner = block.get("reasoningContent")
    return not isinstance(inner, dict) or not is_known_thought(inner) or is_regular_thought(inner)


def is_known_thought(inner: Json) -> bool:
    """Whether reasoning is of a kind that is known here; its words stand in the wrong place now and then."""
    return not inner or not inner.keys() - _THOUGHTS


def is_regular_thought(inner: Json) -> bool:
    """Whether reasoning of such a kind has its form."""
    text = inner.get("reasoningText")
    is_words = isinstance(text, dict) and isinstance(text.get("text"), str)
    return len(inner) == 1 and (is_words or isinstance(inner.get("redactedContent"), str | bytes))


def is_regular_in_result(part: object) -> bool:
    """The same for a block of a result, where JSON has to be an object."""
    if not isinstance(part, dict) or len(part) != 1 or part.get("text", "") is None:
        return False
    return "json" not in part or isinstance(part["json"], dict)


def is_regular_message(raw: Json) -> bool:
    """Whether all blocks of the message are."""
    content = raw.get("content")
    return isinstance(content, list) and all(is_regular(block) for block in content)


def results_behind(raw: Json) -> bool:
    """Whether a result stands behind something else; a mark for the cache may stand anywhere."""
    seen = False
    for block in raw["content"]:
        if is_result(block):
            if seen:
                return True
        elif "cachePoint" not in block:
            seen = True
    return False


def continues(before: Json, message: Json) -> bool:
    """Whether an assistant message only adds calls to those of the one before it, as blocks of one answer do."""
    left, right = before.get("content"), message.get("content")
    if not (isinstance(left, list) and isinstance(right, list) and left and right):
        return False
    return is_call(left[-1]) and all(is_call(block) for block in right)
