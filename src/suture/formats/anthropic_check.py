"""The check of a request against what Anthropic's Messages demand.

It reads the raw JSON once, in order, and makes nothing while nothing is wrong. Neighbouring messages of one
role count as one turn, as the API joins them; all results of a turn stand in one message all the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from suture.formats.anthropic_rules import RULES
from suture.formats.base import (
    Call,
    Finding,
    Json,
    Limits,
    Pairs,
    Stray,
    by_place,
    finding,
    kind_of,
    not_an_object,
    not_content,
    text_id,
)

MAX_CACHE_MARKS = 4

_BLOCKS = frozenset(
    ("text", "image", "document", "search_result", "redacted_thinking", "container_upload", "compaction", "tool_reference")
)


def check(request: Json, limits: Limits, *, open_tail: bool = False) -> list[Finding]:
    """Every rule that the request breaks, by place. `open_tail`: calls of the last turn may be unanswered."""
    return _Check(request, limits, open_tail=open_tail).run()


def marks(request: Json) -> int:
    """How many blocks carry `cache_control`."""
    lists: list[object] = [request.get("tools"), request.get("system")]
    lists += [message.get("content") for message in request["messages"]]
    blocks = (block for each in lists if isinstance(each, list) for block in each)
    return sum(isinstance(block, dict) and "cache_control" in block for block in blocks)


def results_behind(content: object) -> bool:
    """Whether a result stands behind something else."""
    seen = False
    for block in content if isinstance(content, list) else ():
        if block.get("type") != "tool_result":
            seen = True
        elif seen:
            return True
    return False


def continues(before: Json, message: Json) -> bool:
    """Whether an assistant message only adds calls to those of the one before it, as blocks of one answer do."""
    left, right = before.get("content"), message.get("content")
    if not (isinstance(left, list) and isinstance(right, list) and left and right):
        return False
    return _is(left[-1], "tool_use") and all(_is(block, "tool_use") for block in right)


def _is(block: object, kind: str) -> bool:
    return isinstance(block, dict) and block.get("type") == kind


class _Check:
    """One reading of a request."""

    def __init__(self, request: Json, limits: Limits, *, open_tail: bool) -> None:
        self.request = request
        self.messages: list[Json] = request["messages"]
        self.limits = limits
        self.id_fits = re.compile(limits.id_pattern).search
        self.name_fits = re.compile(limits.name_pattern).search
        self.found: list[Finding] = []
        self.open_tail = open_tail
        self.pairs = Pairs(unique_in_history=limits.ids_unique_in == "history")
        self.marks = 0

    def run(self) -> list[Finding]:
        self._ends()
        self._system()
        for index, message in enumerate(self.messages):
            role = message["role"]
            content = message.get("content")
            if role == "assistant":
                if self.pairs.open and not continues(self.messages[index - 1], message):
                    self.pairs.close()
            elif role != "user":
                self.pairs.close()
                self._other(index, role)
            if isinstance(content, list):
                self._blocks(index, role, content)
            elif content is None or content == "":
                self._empty(index)
            elif not isinstance(content, str):
                raise not_content(content, f"messages[{index}].content")
            elif not content.strip():
                self._blank(f"messages[{index}].content", index, 0, content)
            if role == "user" and self.pairs.open:
                self.pairs.close()
        self._pairing()
        self._cache()
        self._thinking()
        return self.found

    def add(self, code: str, rule: str, path: str, sentence: str, call: str | None = None, **facts: str | int) -> None:
        self.found.append(finding(RULES[rule], code, path, sentence, call, facts))

    # Messages

    def _ends(self) -> None:
        """The first and the last message."""
        if not self.messages:
            self.found.append(
                finding(RULES["ANT-EMPTY-MSG"], "MESSAGE_EMPTY", "messages", "There is nothing to send.", severity="DEG")
            )
            return
        first, last = self.messages[0]["role"], self.messages[-1]
        if first == "system":
            sentence = "System text stands at the head of the messages; it belongs into the request's 'system'."
            self.add("SYSTEM_MISPLACED", "ANT-SYSTEM-ROLE", "messages[0]", sentence, role=first)
        elif first != "user":
            self.add("FIRST_NOT_USER", "ANT-FIRST-USER", "messages[0]", "The first message is not the user's.")
        if last["role"] == "assistant":
            self._last(len(self.messages) - 1, last.get("content"))

    def _last(self, index: int, content: object) -> None:
        path = f"messages[{index}]"
        tail = content[-1] if isinstance(content, list) and content else content
        if _is(tail, "tool_use"):
            return
        if not self.limits.prefill:
            self.add(
                "LAST_ASSISTANT", "ANT-PREFILL", path, "The last message is the assistant's, which this model refuses."
            )
        text = tail.get("text") if isinstance(tail, dict) and _is(tail, "text") else tail
        if isinstance(text, str) and text.strip() and text[-1].isspace():
            self.add("TRAILING_WHITESPACE", "ANT-TRAIL-WS", path, "The last message ends in white space.")

    def _system(self) -> None:
        content = self.request.get("system")
        if isinstance(content, list):
            for at, block in enumerate(content):
                if not isinstance(block, dict):
                    raise not_an_object(block, f"system[{at}]")
                self.marks += "cache_control" in block
                if _is(block, "text") and not str(block.get("text")).strip():
                    self._blank(f"system[{at}]", 0, at, block.get("text"))
        elif content is not None and not isinstance(content, str):
            raise not_content(content, "system")

    def _other(self, index: int, role: str) -> None:
        if role == "system":
            return
        sentence = f"The role {role!r} is none that Anthropic is known to take; the message is sent as it is."
        self.add("ROLE_UNKNOWN", "ANT-ROLE", f"messages[{index}]", sentence, role=role)

    def _empty(self, index: int) -> None:
        self.add("MESSAGE_EMPTY", "ANT-EMPTY-MSG", f"messages[{index}]", "The message is empty.", i=index)

    def _blank(self, path: str, i: int, j: int, text: object) -> None:
        empty = not text
        code, rule = ("TEXT_EMPTY", "ANT-EMPTY-TEXT") if empty else ("TEXT_BLANK", "ANT-BLANK-TEXT")
        sentence = "The text is empty." if empty else "The text is white space alone."
        self.add(code, rule, path, sentence, i=i, j=j)

    # Blocks

    def _blocks(self, index: int, role: str, content: list[Any]) -> None:
        if not content:
            self._empty(index)
            return
        calls = others = servers = 0
        for at, block in enumerate(content):
            if not isinstance(block, dict):
                raise not_an_object(block, f"messages[{index}].content[{at}]")
            kind = block.get("type")
            if len(block) > 2 and "cache_control" in block:
                self.marks += 1
            if kind == "tool_result":
                if role == "user":
                    self._result(index, at, block, behind=others > 0)
                else:
                    self._misplaced(index, at, "tool_result", role)
                continue
            others += 1
            if kind == "text":
                text = block.get("text")
                if not isinstance(text, str) or not text or text.isspace():
                    self._blank(f"messages[{index}].content[{at}]", index, at, text)
            elif kind == "tool_use":
                if role == "assistant":
                    self._call(index, at, block)
                    calls += 1
                    continue
                self._misplaced(index, at, "tool_use", role)
            elif kind == "thinking":
                self._signed(index, at, block, role)
            elif isinstance(kind, str) and kind.endswith(("_tool_use", "_tool_result")):
                servers += 1
            elif kind not in _BLOCKS:
                self._unknown(index, at, kind)
            if calls:
                self._not_tail(index, at, kind)
        if servers:
            self._servers(index, content)

    def _call(self, index: int, at: int, block: Json) -> None:
        id, name = block.get("id"), block.get("name")
        self.pairs.add_call(index, at, text_id(id))
        path = f"messages[{index}].content[{at}]"
        if not isinstance(id, str) or not id:
            self.add("ID_MISSING", "ANT-ID-PATTERN", path, "The call has no id.", i=index, j=at)
        elif not self.id_fits(id):
            sentence = f"The id {id!r} holds other characters than letters, digits, _ and -."
            self.add("ID_CHARS", "ANT-ID-PATTERN", path, sentence, id, i=index, j=at, id=id)
        elif self.limits.id_length is not None and len(id) > self.limits.id_length:
            sentence = f"The id has {len(id)} characters; {self.limits.id_length} are allowed."
            self.add("ID_LENGTH", "ANT-ID-PATTERN", path, sentence, id, i=index, j=at, id=id)
        if not isinstance(name, str) or not self.name_fits(name):
            sentence = f"The call's name {name!r} is no name of a tool: up to 64 letters, digits, _ and -."
            self.add("NAME_PATTERN", "ANT-NAME", path, sentence, _text(id), i=index, j=at)
        if not isinstance(given := block.get("input"), dict):
            code = "ARGS_TYPE" if isinstance(given, str) else "ARGS_NOT_OBJECT"
            sentence = f"The input of the call is {kind_of(given)}, not an object."
            self.add(code, "ANT-INPUT-OBJ", path, sentence, _text(id), i=index, j=at)

    def _result(self, index: int, at: int, block: Json, *, behind: bool) -> None:
        id, content = block.get("tool_use_id"), block.get("content")
        answers = self.pairs.add_result(index, at, text_id(id))
        path = f"messages[{index}].content[{at}]"
        if behind and answers:
            sentence = "The result stands behind other blocks; results come first."
            self.add(
                "RESULT_NOT_FIRST", "ANT-RESULT-FIRST", path, sentence, _text(id), i=index - 1, j=at, ids=_text(id) or ""
            )
        if isinstance(content, list):
            for nth, part in enumerate(content):
                if not isinstance(part, dict):
                    raise not_an_object(part, f"{path}.content[{nth}]")
                if part.get("type") == "text" and not str(part.get("text") or "").strip():
                    self._blank(f"{path}.content[{nth}]", index, at, part.get("text"))
        elif content is not None and not isinstance(content, str):
            raise not_content(content, f"{path}.content")
        if block.get("is_error") is True and not _says_something(content):
            self.add("RESULT_EMPTY_ERROR", "ANT-ERR-EMPTY", path, "The error says nothing.", _text(id), i=index, j=at)

    def _misplaced(self, index: int, at: int, kind: str, role: str) -> None:
        path = f"messages[{index}].content[{at}]"
        sentence = f"A {kind!r} block stands in a message of the role {role!r}."
        if kind == "tool_result":
            self.add("RESULT_DISPLACED", "ANT-ORPHAN-RESULT", path, sentence, i=index, j=at)
        else:
            self.add("BLOCK_UNKNOWN", "ANT-USE-ROLE", path, sentence, i=index, j=at, block=kind)

    def _not_tail(self, index: int, at: int, kind: object) -> None:
        sentence = f"A {kind!r} block follows a call; calls come last."
        self.add("CALL_NOT_TAIL", "ANT-USE-TAIL", f"messages[{index}].content[{at}]", sentence, i=index, j=at)

    def _signed(self, index: int, at: int, block: Json, role: str) -> None:
        signature = block.get("signature")
        if role != "assistant" or not isinstance(signature, str) or not signature.strip():
            path = f"messages[{index}].content[{at}]"
            self.add("THINKING_UNSIGNED", "ANT-THINK-SIG-REQ", path, "The thinking has no signature.", i=index, j=at)

    def _unknown(self, index: int, at: int, kind: object) -> None:
        sentence = f"The block is of the unknown type {kind!r}; it is sent as it is."
        path = f"messages[{index}].content[{at}]"
        self.add("BLOCK_UNKNOWN", "ANT-UNKNOWN-BLOCK", path, sentence, i=index, j=at, block=str(kind))

    def _servers(self, index: int, content: list[Json]) -> None:
        """Calls of server tools without their results in the same message, and the other way round."""
        is_last = index == len(self.messages) - 1
        for at in lonely(content):
            block = content[at]
            kind = str(block["type"])
            path = f"messages[{index}].content[{at}]"
            if kind.endswith("_tool_use"):
                id = text_id(block.get("id"))
                # A paused turn ends in such a call, and goes on when it is sent back.
                if not is_last:
                    sentence = f"The server tool's call {id!r} has no result in its message."
                    self.add("SERVER_CALL_UNPAIRED", "ANT-SRV-UNPAIRED", path, sentence, id, i=index, id=id, block=kind)
            else:
                id = text_id(block.get("tool_use_id"))
                sentence = f"No call of a server tool in this message asked for the result {id!r}."
                self.add("SERVER_RESULT_ORPHAN", "ANT-SRV-ORPHAN", path, sentence, id, i=index, j=at, id=id, block=kind)

    # The whole

    def _pairing(self) -> None:
        broken = self.pairs.finish(self._open_from() if self.open_tail else None)
        for first, call in broken.repeated:
            path = f"messages[{call.i}].content[{call.j}]"
            code = "ID_DUPLICATE" if first == call.i else "ID_REUSED"
            sentence = f"The id {call.id!r} was used before, in messages[{first}]."
            self.add(code, "ANT-DUP-USE-ID", path, sentence, call.id, i=call.i, j=call.j, id=call.id)
        for call in broken.unanswered:
            path = f"messages[{call.i}].content[{call.j}]"
            sentence = f"The call {call.id!r} has no result in the next message."
            self.add("CALL_UNANSWERED", "ANT-ADJ-RESULT", path, sentence, call.id, i=call.i, ids=broken.ids[call.i])
        for stray in broken.strays:
            self._stray(stray, broken.ids)
        self.found.sort(key=by_place)

    def _open_from(self) -> int | None:
        """The first message of the last turn, when only results follow it."""
        index = len(self.messages) - 1
        while index >= 0 and self.messages[index]["role"] == "user":
            content = self.messages[index].get("content")
            if not isinstance(content, list) or not all(_is(block, "tool_result") for block in content):
                return None
            index -= 1
        while index > 0 and self.messages[index - 1]["role"] == self.messages[index]["role"] == "assistant":
            index -= 1
        return index if index >= 0 and self.messages[index]["role"] == "assistant" else None

    def _stray(self, stray: Stray, ids: dict[int, str]) -> None:
        path = f"messages[{stray.i}].content[{stray.j}]"
        call = stray.call
        if call is not None and self._is_split(call, stray):
            sentence = f"The results of messages[{call.i}] are spread over several messages; they belong into one."
            self.add("RESULT_SPLIT", "ANT-ADJ-RESULT", path, sentence, stray.id, i=call.i, ids=ids[call.i])
        elif call is not None:
            sentence = f"The result of the call {stray.id!r} does not stand in the message behind messages[{call.i}]."
            self.add("RESULT_DISPLACED", "ANT-ADJ-RESULT", path, sentence, stray.id, i=call.i, ids=ids[call.i])
        elif stray.answered:
            sentence = f"The call {stray.id!r} has a result already."
            self.add("RESULT_DUPLICATE", "ANT-DUP-RESULT", path, sentence, stray.id, i=stray.i, j=stray.j, id=stray.id)
        else:
            sentence = f"No call in the message before asked for the result {stray.id!r}."
            self.add("RESULT_ORPHAN", "ANT-ORPHAN-RESULT", path, sentence, stray.id, i=stray.i, j=stray.j, id=stray.id)

    def _is_split(self, call: Call, stray: Stray) -> bool:
        """Whether the result stands behind the first of several messages of the user."""
        if stray.i <= call.i + 1 or not any(_is(b, "tool_result") for b in _list(self.messages[call.i + 1])):
            return False
        return all(message["role"] == "user" for message in self.messages[call.i + 1 : stray.i])

    def _cache(self) -> None:
        tools = self.request.get("tools")
        marks = self.marks + sum("cache_control" in tool for tool in tools or () if isinstance(tool, dict))
        if marks > MAX_CACHE_MARKS:
            sentence = f"{marks} blocks carry cache_control; {MAX_CACHE_MARKS} may."
            self.add("CACHE_MARKS", "ANT-CACHE-4", "messages", sentence, n=marks)

    def _thinking(self) -> None:
        """With thinking on, the last turn that calls tools begins with thinking; only the caller can turn it off."""
        thinking = self.request.get("thinking")
        if not isinstance(thinking, dict) or thinking.get("type") not in ("enabled", "adaptive"):
            return
        for index in range(len(self.messages) - 1, -1, -1):
            message = self.messages[index]
            content = message.get("content")
            if message["role"] == "assistant":
                break
            if not isinstance(content, list) or not all(_is(block, "tool_result") for block in content):
                return
        else:
            return
        first = content[0] if isinstance(content, list) and content else None
        if isinstance(first, dict) and str(first.get("type")) not in ("thinking", "redacted_thinking"):
            path = f"messages[{index}].content[0]"
            sentence = "Thinking is on, and the turn that called the tools does not begin with its thinking."
            self.found.append(
                finding(
                    RULES["ANT-THINK-FIRST"],
                    "THINKING_NOT_FIRST",
                    path,
                    sentence,
                    facts={"i": index, "block": str(first.get("type"))},
                    hint="thinking: off",
                )
            )


def lonely(blocks: Sequence[object]) -> list[int]:
    """The indexes of server tools' calls without a result behind them, and of results without a call before."""
    alone: set[int] = set()
    calls: dict[str, int] = {}
    for at, block in enumerate(blocks):
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(block, dict) or not isinstance(kind, str):
            continue
        if kind.endswith("_tool_use"):
            calls[text_id(block.get("id"))] = at
            alone.add(at)
        elif kind.endswith("_tool_result"):
            id = text_id(block.get("tool_use_id"))
            if id in calls:
                alone.discard(calls[id])
            else:
                alone.add(at)
    return sorted(alone)


def _says_something(content: object) -> bool:
    return bool(content) if not isinstance(content, list) else any(not _is(b, "text") or b.get("text") for b in content)


def _list(message: Json) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _text(id: object) -> str | None:
    return id if isinstance(id, str) else None
