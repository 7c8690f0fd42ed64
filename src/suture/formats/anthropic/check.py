"""The check of a request against what Anthropic's Messages demand.

It reads the raw JSON once, in order, and makes nothing while nothing is wrong. Neighbouring messages of one
role count as one turn, as the API joins them; all results of a turn stand in one message all the same.
"""

from __future__ import annotations

import re
from typing import Any

from suture.formats.anthropic import thinking
from suture.formats.anthropic.blocks import continues, is_a, source_of
from suture.formats.anthropic.images import Picture
from suture.formats.anthropic.images import findings as of_pictures
from suture.formats.anthropic.media import flaw_of
from suture.formats.anthropic.rules import RULE_OF, RULES
from suture.formats.anthropic.servers import Caller, Reference, Servers
from suture.formats.base import Json
from suture.formats.limits import Limits
from suture.formats.media import sentence as flaw_sentence
from suture.formats.pairs import Call, Pairs, Stray
from suture.formats.rule import Finding, Severity, by_place, finding
from suture.formats.wire import (
    is_content,
    is_server_part,
    kind_of,
    not_a_list,
    not_an_object,
    not_content,
    shape_sentence,
    text_id,
)

MAX_CACHE_MARKS = 4

_MESSAGE = frozenset(("role", "content"))
_SOURCED = ("image", "document")
_BLOCKS = frozenset(
    (
        "search_result",
        "container_upload",
        "compaction",
        "tool_reference",
        "browser_state",
        # Of betas: what changes the tools or the instructions in the middle of a conversation.
        "mid_conv_system",
        "mcp_tool_listing",
        "tool_addition",
        "tool_removal",
    )
)
# Words as other APIs of the family put them; a text block takes them.
WORDS = frozenset(("input_text", "output_text"))
_HEAD = frozenset(("messages", "system"))


def check(request: Json, limits: Limits, *, open_tail: bool = False) -> list[Finding]:
    """Every rule that the request breaks, by place. `open_tail`: calls of the last turn may be unanswered."""
    return _Check(request, limits, open_tail=open_tail).run()


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
        self.spoken: int | None = None
        self.pairs = Pairs(unique_in_history=limits.ids_unique_in == "history")
        self.marks = 0
        self.called = False
        self.thinking: list[int] = []
        self.pictures: list[Picture] = []
        self.servers = Servers()
        self.thought_fits = re.compile(limits.thought_pattern or "").fullmatch
        self.ends: dict[tuple[int, str], int] = {}  # where the run of messages of a role ends that begins there

    def run(self) -> list[Finding]:
        alternate = self.limits.alternate
        self._ends()
        self._system()
        for index, message in enumerate(self.messages):
            role = message["role"]
            content = message.get("content")
            if len(message) > 2:
                self._fields(index, message)
            if alternate and index and role == self.messages[index - 1]["role"]:
                self._repeats(index, role)
            if role == "assistant":
                if self.pairs.open and not continues(self.messages[index - 1], message):
                    self.pairs.close()
            elif role != "user":
                self.pairs.close()
                if role != "system":
                    self._other(index, role)
                    continue
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
        self._tools()
        self._thinking()
        self.found += self.servers.findings(self.request, self.limits)
        if self.pictures and self.limits.pictures:
            self.found += of_pictures(self.pictures, self.limits.pictures)
        if len(self.found) > 1:
            self.found.sort(key=by_place)
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
        elif first == "assistant":
            self.add("FIRST_NOT_USER", "ANT-FIRST-USER", "messages[0]", "The first message is not the user's.")
        if last["role"] == "assistant":
            self._last(len(self.messages) - 1, last.get("content"))

    def _last(self, index: int, content: object) -> None:
        path = f"messages[{index}]"
        tail = content[-1] if isinstance(content, list) and content else content
        if isinstance(tail, dict) and str(tail.get("type")).endswith(("tool_use", "tool_result")):
            return
        if not self.limits.prefill:
            self.add(
                "LAST_ASSISTANT", "ANT-PREFILL", path, "The last message is the assistant's, which this model refuses."
            )
        text = tail.get("text") if isinstance(tail, dict) and is_a(tail, "text") else tail
        if isinstance(text, str) and text.strip() and text[-1].isspace():
            self.add("TRAILING_WHITESPACE", "ANT-TRAIL-WS", path, "The last message ends in white space.")

    def _system(self) -> None:
        content = self.request.get("system")
        if isinstance(content, list):
            for at, block in enumerate(content):
                if not isinstance(block, dict):
                    raise not_an_object(block, f"system[{at}]")
                self.marks += "cache_control" in block
                if is_a(block, "text") and not str(block.get("text")).strip():
                    self._blank(f"system[{at}]", 0, at, block.get("text"), marked="cache_control" in block)
        elif content is not None and not isinstance(content, str):
            raise not_content(content, "system")

    def _other(self, index: int, role: str) -> None:
        sentence = f"The role {role!r} is none that Anthropic is known to take; the message is sent as it is."
        self.add("ROLE_UNKNOWN", "ANT-ROLE", f"messages[{index}]", sentence, role=role)

    def _fields(self, index: int, message: Json) -> None:
        for key in sorted(message.keys() - _MESSAGE):
            sentence = f"Messages have no field {key!r} that Anthropic is known to take; it is sent as it is."
            self.add("FIELD_UNKNOWN", "ANT-FIELD", f"messages[{index}]", sentence, i=index, field=key)

    def _empty(self, index: int) -> None:
        self.add("MESSAGE_EMPTY", "ANT-EMPTY-MSG", f"messages[{index}]", "The message is empty.", i=index)

    def _repeats(self, index: int, role: str) -> None:
        sentence = f"The message before is of the role {role!r}, too."
        self.add("ROLE_REPEAT", "ANT-ALTERNATE", f"messages[{index}]", sentence, i=index, role=role)

    def _blank(self, path: str, i: int, j: int, text: object, *, marked: bool = False) -> None:
        empty = not text
        code, rule = ("TEXT_EMPTY", "ANT-EMPTY-TEXT") if empty else ("TEXT_BLANK", "ANT-BLANK-TEXT")
        sentence = "The text is empty." if empty else "The text is white space alone."
        facts: dict[str, str | int] = {"i": i, "j": j, "block": "text"}
        also = (RULES["ANT-CACHE-EMPTY"],) if marked else ()
        self.found.append(finding(RULES[rule], code, path, sentence, facts=facts, also=also))

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
                    self._blank(f"messages[{index}].content[{at}]", index, at, text, marked="cache_control" in block)
            elif kind == "tool_use":
                if role == "assistant":
                    self._call(index, at, block)
                    calls += 1
                    continue
                self._misplaced(index, at, "tool_use", role)
            elif kind in ("thinking", "redacted_thinking"):
                self._signed(index, at, block, role)
            elif kind in _SOURCED:
                self._source(index, at, f"messages[{index}].content[{at}]", block)
            elif is_server_part(block):
                if role == "assistant":
                    servers += 1
                else:
                    self._misplaced(index, at, str(kind), role)
            elif not isinstance(kind, str) or kind not in _BLOCKS:
                self._unknown(index, at, kind, block)
            if calls:
                self._not_tail(index, at, kind)
        if servers:
            self.servers.messages.append(index)

    def _call(self, index: int, at: int, block: Json) -> None:
        id, name = block.get("id"), block.get("name")
        self.called = True
        if len(block) > 4 and (source := source_of(block.get("caller"))) is not None:
            self.servers.callers.append(Caller(index, at, text_id(id), source))
        self.pairs.add_call(index, at, text_id(id))
        path = f"messages[{index}].content[{at}]"
        if not isinstance(id, str) or not id:
            self.add("ID_MISSING", "ANT-ID-PATTERN", path, "The call has no id that is a text.", i=index, j=at)
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
        if not is_content(content, f"{path}.content"):
            self.add("RESULT_SHAPE", "ANT-RESULT-CONTENT", path, shape_sentence(content), _text(id), i=index, j=at)
        elif isinstance(content, list):
            for nth, part in enumerate(content):
                kind = part.get("type")
                if kind == "text" and not str(part.get("text") or "").strip():
                    self._blank(f"{path}.content[{nth}]", index, at, part.get("text"), marked="cache_control" in part)
                elif kind in _SOURCED:
                    self._source(index, at, f"{path}.content[{nth}]", part)
                elif kind == "tool_reference" and isinstance(name := part.get("tool_name"), str):
                    self.servers.references.append(Reference(index, f"{path}.content[{nth}]", name))
        if block.get("is_error") is True and not _says_something(content):
            self.add("RESULT_EMPTY_ERROR", "ANT-ERR-EMPTY", path, "The error says nothing.", _text(id), i=index, j=at)

    def _source(self, index: int, at: int, path: str, block: Json) -> None:
        """A picture or document; of the data of pictures more is said where all of them are known."""
        if flaw := flaw_of(block):
            self.add(flaw.code, RULE_OF[flaw.code], path, flaw_sentence(flaw), i=index, j=at)
        elif block["type"] == "image":
            self.pictures.append(Picture(index, at, path, block))

    def _misplaced(self, index: int, at: int, kind: str, role: str) -> None:
        path = f"messages[{index}].content[{at}]"
        sentence = f"A {kind!r} block stands in a message of the role {role!r}."
        if kind == "tool_result":
            self.add("RESULT_NOT_PURE", "ANT-ORPHAN-RESULT", path, sentence, i=index, j=at)
        else:
            self.add("CALL_MISPLACED", "ANT-USE-ROLE", path, sentence, i=index, j=at, block=kind)

    def _not_tail(self, index: int, at: int, kind: object) -> None:
        sentence = f"A {kind!r} block follows a call; calls come last."
        self.add("CALL_NOT_TAIL", "ANT-USE-TAIL", f"messages[{index}].content[{at}]", sentence, i=index, j=at)

    def _signed(self, index: int, at: int, block: Json, role: str) -> None:
        is_plain = block["type"] == "thinking"
        signature = block.get("signature" if is_plain else "data")
        path = f"messages[{index}].content[{at}]"
        if "cache_control" in block:
            sentence = "The thinking carries a mark for the cache, which it may not."
            facts: dict[str, str | int] = {"i": index, "j": at, "block": str(block["type"])}
            self.found.append(finding(RULES["ANT-CACHE-EMPTY"], "CACHE_MARKS", path, sentence, facts=facts))
        if role != "assistant" or not isinstance(signature, str) or not signature.strip():
            self._thought("THINKING_UNSIGNED", "ANT-THINK-SIG-REQ", index, at, "The thinking has no signature.")
        elif is_plain and not self.thought_fits(signature):
            sentence = "The signature of the thinking is none that a model of Anthropic's gives."
            self._thought("THINKING_FOREIGN", "ANT-THINK-SIG-BAD", index, at, sentence)
        if not self.thinking or self.thinking[-1] != index:
            self.thinking.append(index)

    def _thought(self, code: str, rule: str, i: int, j: int, sentence: str) -> None:
        also = (RULES["ANT-THINK-OLD"],) if i < self._spoken() else ()
        path = f"messages[{i}].content[{j}]"
        self.found.append(finding(RULES[rule], code, path, sentence, facts={"i": i, "j": j}, also=also))

    def _spoken(self) -> int:
        """The last message in which the user said something, rather than answering calls alone."""
        if self.spoken is None:
            at = len(self.messages) - 1
            while at >= 0 and not _speaks(self.messages[at]):
                at -= 1
            self.spoken = at
        return self.spoken

    def _unknown(self, index: int, at: int, kind: object, block: Json) -> None:
        path, rule = f"messages[{index}].content[{at}]", RULES["ANT-UNKNOWN-BLOCK"]
        facts: dict[str, str | int] = {"i": index, "j": at, "block": str(kind)}
        if isinstance(kind, str) and kind in WORDS and isinstance(block.get("text"), str):
            sentence = f"The block is of the type {kind!r}, which is another API's; here it is 'text'."
            self.found.append(finding(rule, "BLOCK_UNKNOWN", path, sentence, facts=facts))
        elif isinstance(kind, str):
            sentence = f"The block is of the unknown type {kind!r}; it is sent as it is."
            self.found.append(finding(rule, "BLOCK_UNKNOWN", path, sentence, facts=facts, severity="DEG"))
        else:
            sentence = "The block has no 'type'. Check in which format the history is."
            self.found.append(finding(rule, "BLOCK_UNKNOWN", path, sentence, facts=facts))

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

    def _open_from(self) -> int | None:
        """The first message of the last turn, when only results follow it."""
        index = len(self.messages) - 1
        while index >= 0 and self.messages[index]["role"] == "user":
            content = self.messages[index].get("content")
            if not isinstance(content, list) or not all(is_a(block, "tool_result") for block in content):
                return None
            index -= 1
        if index < 0 or self.messages[index]["role"] != "assistant":
            return None
        return self._start_of_turn(index)

    def _start_of_turn(self, index: int) -> int:
        """The first of the assistant messages whose calls that one goes on with."""
        while (
            index and self.messages[index - 1]["role"] == "assistant" and continues(*self.messages[index - 1 : index + 1])
        ):
            index -= 1
        return index

    def _stray(self, stray: Stray, ids: dict[int, str]) -> None:
        path = f"messages[{stray.i}].content[{stray.j}]"
        call = stray.call
        if call is not None and self._is_split(call, stray):
            sentence = f"The results of messages[{call.i}] are spread over several messages; they belong into one."
            self.add("RESULT_SPLIT", "ANT-ADJ-RESULT", path, sentence, stray.id, i=call.i, ids=ids[call.i])
        elif call is not None and call.i < stray.i == self._end(call.i + 1, "assistant"):
            sentence = f"The assistant's next message follows the call {stray.id!r}; calls come last."
            path = f"messages[{call.i}].content[{call.j}]"
            self.add("CALL_NOT_TAIL", "ANT-USE-TAIL", path, sentence, stray.id, i=call.i, ids=ids[call.i])
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
        """Whether the result stands behind the first of several messages of the user that follow the call."""
        is_behind = call.i + 1 < stray.i < self._end(call.i + 1, "user")
        return is_behind and any(is_a(block, "tool_result") for block in _list(self.messages[call.i + 1])[:1])

    def _end(self, start: int, role: str) -> int:
        """The end of the run of messages of that role that begins there."""
        if (start, role) not in self.ends:
            end = start
            while end < len(self.messages) and self.messages[end]["role"] == role:
                end += 1
            self.ends[start, role] = end
        return self.ends[start, role]

    def _cache(self) -> None:
        tools = self.request.get("tools")
        if tools is not None and not isinstance(tools, list):
            raise not_a_list(tools, "tools")
        marks = self.marks + sum("cache_control" in tool for tool in tools or () if isinstance(tool, dict))
        if marks > MAX_CACHE_MARKS:
            sentence = f"{marks} blocks carry cache_control; {MAX_CACHE_MARKS} may."
            self.add("CACHE_MARKS", "ANT-CACHE-4", "messages", sentence, n=marks)

    def _tools(self) -> None:
        """A whole request whose history has calls, without tools."""
        if not self.called or self.request.get("tools") or self.request.keys() <= _HEAD:
            return
        sentence = "The history has calls of tools, and the request defines none."
        severity: Severity = "REJ" if self.limits.tools == "needed" else "DEG"
        rule = RULES["ANT-TOOLS-REQ"]
        self.found.append(finding(rule, "TOOLS_MISSING", "tools", sentence, severity=severity))

    def _thinking(self) -> None:
        if self.thinking:
            self.found += thinking.copies(self.messages, self.thinking)
            self.found += thinking.at_the_end(self.request, self.limits)
        if (self.thinking or "thinking" in self.request) and (start := self._open_from()) is not None:
            self.found += thinking.in_the_open_turn(self.request, start)


def _speaks(message: Json) -> bool:
    content = message.get("content")
    is_words = not isinstance(content, list) or any(not is_a(block, "tool_result") for block in content)
    return message["role"] == "user" and is_words


def _says_something(content: object) -> bool:
    return bool(content) if not isinstance(content, list) else any(not is_a(b, "text") or b.get("text") for b in content)


def _list(message: Json) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _text(id: object) -> str | None:
    return id if isinstance(id, str) else None
