"""What is wrong with the thinking in a history, as far as a request shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from suture.formats.anthropic.blocks import is_a
from suture.formats.anthropic.rules import RULES
from suture.formats.base import Json
from suture.formats.limits import Limits
from suture.formats.rule import Finding, finding

OFF = "thinking: off"

_HEAD = frozenset(("messages", "system"))
_THOUGHTS = ("thinking", "redacted_thinking")


def is_thought(block: object) -> bool:
    """Whether it is a block of thinking."""
    return is_a(block, "thinking") or is_a(block, "redacted_thinking")


def copies(messages: list[Json], thinking: list[int]) -> Iterator[Finding]:
    """Thoughts that stand twice in their message; no model signs the same twice. `thinking` are the messages with any."""
    for index in thinking:
        first: dict[str, Json] = {}
        for at, block in enumerate(messages[index]["content"]):
            signature = _signature(block) if is_thought(block) else None
            if signature and first.get(signature) == block:
                sentence = "The thought stands in the message before; a copy of it went in."
                yield _finding("ANT-THINK-FROZEN", "THINKING_MODIFIED", index, at, sentence)
            elif signature:
                first.setdefault(signature, block)


def _signature(block: Json) -> str | None:
    signature = block.get("signature") or block.get("data")
    return signature if isinstance(signature, str) else None


def at_the_end(request: Json, limits: Limits) -> Iterator[Finding]:
    """With thinking off, thoughts in a final message of the assistant's; one with calls is not final for long."""
    messages = request["messages"]
    last = messages[-1] if messages else {}
    content = last.get("content")
    if last.get("role") != "assistant" or not isinstance(content, list) or not limits.prefill or not _is_off(request):
        return
    if any(is_a(block, "tool_use") for block in content):
        return
    for at, block in enumerate(content):
        if is_thought(block):
            sentence = "Thinking is off, and the final message of the assistant's holds some."
            yield _finding("ANT-THINK-OFF-FINAL", "THINKING_DISABLED_FINAL", len(messages) - 1, at, sentence)


def _is_off(request: Json) -> bool:
    """Whether the model is asked not to think; of a history alone that is not known."""
    thinking = request.get("thinking")
    if isinstance(thinking, dict):
        return thinking.get("type") == "disabled"
    return thinking is None and not request.keys() <= _HEAD


def in_the_open_turn(request: Json, start: int) -> Iterator[Finding]:
    """What of the turn whose results come last only the caller can put right; it begins at that message."""
    content = request["messages"][start].get("content")
    if not isinstance(content, list) or not any(is_a(block, "tool_use") for block in content):
        return
    thinking = request.get("thinking")
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    if kind == "enabled" and not is_thought(content[0]):
        yield _not_first(start, content)
    for at in range(1, len(content)) if kind != "disabled" else ():
        left, right = content[at - 1], content[at]
        if is_a(left, "thinking") and is_a(right, "thinking") and left != right:
            yield _torn(start, at)


def _not_first(start: int, content: list[Any]) -> Finding:
    """With thinking on, the turn whose results come last begins with its thinking, or the caller turns it off."""
    facts: Mapping[str, str | int] = {"i": start, "block": str(content[0].get("type"))}
    sentence = "Thinking is on, and the turn that called the tools does not begin with its thinking."
    rule, path = RULES["ANT-THINK-FIRST"], f"messages[{start}].content[0]"
    return finding(rule, "THINKING_NOT_FIRST", path, sentence, facts=facts, hint=OFF)


def _torn(start: int, at: int) -> Finding:
    """What stood between two thoughts is gone, most often a pair of a server tool; a remark, as it may be so by nature."""
    sentence = "Two thoughts stand side by side; what stood between them seems to be gone."
    also = (RULES["ANT-THINK-FROZEN"],)
    rule, path = RULES["ANT-SRV-KEEP"], f"messages[{start}].content[{at}]"
    facts: Mapping[str, str | int] = {"i": start, "j": at}
    return finding(rule, "THINKING_MODIFIED", path, sentence, facts=facts, severity="DEG", hint=OFF, also=also)


def _finding(rule: str, code: str, i: int, j: int, sentence: str) -> Finding:
    return finding(RULES[rule], code, f"messages[{i}].content[{j}]", sentence, facts={"i": i, "j": j})
