"""The check of a request against what Bedrock's Converse demands.

It reads the raw JSON once, in order, and makes nothing while nothing is wrong. Only the one message behind a turn may
answer its calls, since neighbours of one role are refused.
"""

from __future__ import annotations

from typing import Any

from suture.formats.base import Json
from suture.formats.bedrock.block_check import BlockCheck
from suture.formats.bedrock.blocks import continues, is_a, is_call
from suture.formats.bedrock.cache import MOST, marks
from suture.formats.bedrock.models import family_of
from suture.formats.bedrock.parts import words_in
from suture.formats.bedrock.tools import tools_of
from suture.formats.limits import Limits
from suture.formats.pairs import Pairs, Stray
from suture.formats.rule import Finding, by_place
from suture.formats.wire import not_an_object, not_content

THINKING_OFF = "thinking: off"
DEFINE_TOOLS = "toolConfig: define the tools that the history calls"

_MESSAGE = frozenset(("role", "content"))
_ROLES = frozenset(("user", "assistant", "system"))


def check(request: Json, limits: Limits, *, open_tail: bool = False, whole: bool = False) -> list[Finding]:
    """Every rule that the request breaks, by place. `open_tail`: calls of the last turn may be unanswered; `whole`: it is a
    request, rather than a history alone.
    """
    return _Check(request, limits, open_tail=open_tail, whole=whole).run()


class _Check:
    """One reading of a request."""

    def __init__(self, request: Json, limits: Limits, *, open_tail: bool, whole: bool) -> None:
        self.request = request
        self.messages: list[Json] = request["messages"]
        self.limits = limits
        self.whole = whole
        self.family = family_of(limits.model or "")
        self.open_tail = open_tail
        self.pairs = Pairs(unique_in_history=limits.ids_unique_in == "history")
        self.blocks = BlockCheck(limits, self.pairs)
        self.ends: dict[int, int] = {}  # where the run of user messages ends that begins there
        self.starts: dict[int, int] = {}  # of an assistant message that goes on with a turn: where that begins
        self.last_of: dict[int, int] = {}  # where the turn that begins there ends
        self.has_spoken = False  # somebody other than the system

    def run(self) -> list[Finding]:
        self._ends()
        self._system()
        before = ""
        for index, message in enumerate(self.messages):
            role = message["role"]
            if len(message) > 2:
                self._fields(index, message)
            self.has_spoken = self.has_spoken or role != "system"
            if role == before and self.has_spoken and role in _ROLES:
                self.blocks.add(
                    "ROLE_REPEAT", f"messages[{index}]", f"Two messages of the role {role!r} stand in a row.", i=index
                )
            if role == "assistant":
                self._turn(index, message)
            elif role != "user":
                self.pairs.close()
                self._other(index, role)
            if role in _ROLES:
                self._content(index, role, message.get("content"))
            if role == "user" and self.pairs.open:
                self.pairs.close()
            before = role
        self._pairing()
        self._around()
        return sorted(self.blocks.found, key=by_place)

    # Messages

    def _ends(self) -> None:
        """The first and the last message."""
        if not self.messages:
            self.blocks.put("MESSAGE_EMPTY", "messages", "There is nothing to send.", None, {}, severity="DEG")
            return
        first, last = self.messages[0]["role"], self.messages[-1]
        if first == "system":
            sentence = "System text stands at the head of the messages; it belongs into the request's 'system'."
            self.blocks.add("SYSTEM_MISPLACED", "messages[0]", sentence, role=first)
        elif first == "assistant":
            self.blocks.add("FIRST_NOT_USER", "messages[0]", "The first message is not the user's.")
        if last["role"] == "assistant":
            self._last(f"messages[{len(self.messages) - 1}]", last.get("content"))

    def _last(self, path: str, content: object) -> None:
        tail = content[-1] if isinstance(content, list) and content else content
        if is_a(tail, "toolUse") or is_a(tail, "toolResult"):
            return
        if not self.limits.prefill:
            self.blocks.add("LAST_ASSISTANT", path, "The last message is the assistant's, which this model refuses.")
        text = tail if isinstance(tail, str) else words_in(tail)
        if not self.limits.trailing_space and text.strip() and text[-1].isspace():
            self.blocks.add("TRAILING_WHITESPACE", path, "The last message ends in white space.")

    def _system(self) -> None:
        content = self.request.get("system")
        if isinstance(content, str):
            self.blocks.add("BLOCK_SHAPE", "system", "System text is a list of blocks, not a text.", i=0, j=0)
        elif isinstance(content, list):
            for at, block in enumerate(content):
                if not isinstance(block, dict):
                    raise not_an_object(block, f"system[{at}]")
                text = block.get("text", "-")
                if not isinstance(text, str) or not text or text.isspace():
                    self.blocks.blank(f"system[{at}]", 0, at, text)
        elif content is not None:
            raise not_content(content, "system")

    def _turn(self, index: int, message: Json) -> None:
        """An assistant message: another turn, unless it goes on with the calls of the one before."""
        if not self.pairs.open:
            return
        if not continues(self.messages[index - 1], message):
            self.pairs.close()
            return
        start = self.starts[index] = self.starts.get(index - 1, index - 1)
        self.last_of[start] = index

    def _other(self, index: int, role: str) -> None:
        if not self.has_spoken:
            return
        sentence = f"The role {role!r} is none that every model takes; the message is sent as it is."
        self.blocks.add("ROLE_UNKNOWN", f"messages[{index}]", sentence, role=role, m=index + 1)

    def _fields(self, index: int, message: Json) -> None:
        for key in sorted(message.keys() - _MESSAGE):
            sentence = f"Messages have no field {key!r} that Converse is known to take; it is sent as it is."
            self.blocks.add("FIELD_UNKNOWN", f"messages[{index}]", sentence, i=index, field=key)

    def _content(self, index: int, role: str, content: object) -> None:
        if isinstance(content, list) and content:
            self.blocks.read(index, role, content)
        elif not content and (content is None or isinstance(content, str | list)):
            self.blocks.add("MESSAGE_EMPTY", f"messages[{index}]", "The message is empty.", i=index)
        elif isinstance(content, str):
            path = f"messages[{index}].content"
            self.blocks.add("BLOCK_SHAPE", path, "The content is a text, not a list of blocks.", i=index, j=0)
            if content.isspace():
                self.blocks.blank(path, index, 0, content)
        else:
            raise not_content(content, f"messages[{index}].content")

    # The whole

    def _pairing(self) -> None:
        broken = self.pairs.finish(self._open_from() if self.open_tail else None)
        for first, call in broken.repeated:
            code = "ID_DUPLICATE" if first == call.i else "ID_REUSED"
            sentence = f"The id {call.id!r} was used before, in messages[{first}]."
            self.blocks.add(
                code, f"messages[{call.i}].content[{call.j}]", sentence, call.id, i=call.i, j=call.j, id=call.id
            )
        for call in broken.unanswered:
            path = f"messages[{call.i}].content[{call.j}]"
            sentence = f"The call {call.id!r} has no result in the next message."
            self.blocks.add("CALL_UNANSWERED", path, sentence, call.id, n=call.i + 1, ids=broken.ids[call.i])
        for stray in broken.strays:
            self._stray(stray, broken.ids)

    def _stray(self, stray: Stray, ids: dict[int, str]) -> None:
        path, call = f"messages[{stray.i}].content[{stray.j}]", stray.call
        if call is not None:
            facts: dict[str, str | int] = {"n": call.i + 1, "ids": ids[call.i]}
            if self._is_split(call.i, stray.i):
                sentence = f"The results of messages[{call.i}] are spread over several messages; they belong into one."
                self.blocks.add("RESULT_SPLIT", path, sentence, stray.id, **facts)
            else:
                sentence = f"The result of the call {stray.id!r} does not stand in the message behind messages[{call.i}]."
                self.blocks.add("RESULT_DISPLACED", path, sentence, stray.id, **facts)
        elif stray.answered:
            self.blocks.add("RESULT_DUPLICATE", path, f"The call {stray.id!r} has a result already.", stray.id, i=stray.i)
        else:
            sentence = f"No call in the message before asked for the result {stray.id!r}."
            self.blocks.add("RESULT_ORPHAN", path, sentence, stray.id or None, i=stray.i)

    def _is_split(self, start: int, at: int) -> bool:
        """Whether it is one of several messages of the user's behind the call, the first of which begins with a result."""
        first = self.last_of.get(self.starts.get(start, start), start) + 1
        blocks = _list(self.messages[first]) if first < at else []
        return first < at < self._end(first) and any(is_a(block, "toolResult") for block in blocks[:1])

    def _end(self, start: int) -> int:
        """The end of the run of user messages that begins there."""
        if start not in self.ends:
            end = start
            while end < len(self.messages) and self.messages[end]["role"] == "user":
                end += 1
            self.ends[start] = end
        return self.ends[start]

    def _open_from(self) -> int | None:
        """The first message of the last turn, when only results follow it."""
        index = len(self.messages) - 1
        while index >= 0 and self.messages[index]["role"] == "user":
            blocks = _list(self.messages[index])
            if not blocks or not is_a(blocks[-1], "toolResult"):
                return None
            if not all(is_a(block, "toolResult") or is_a(block, "cachePoint") for block in blocks):
                return None
            index -= 1
        if index < 0 or self.messages[index]["role"] != "assistant":
            return None
        while (
            index and self.messages[index - 1]["role"] == "assistant" and continues(*self.messages[index - 1 : index + 1])
        ):
            index -= 1
        return index

    def _around(self) -> None:
        """What the request needs beside its history."""
        if self.blocks.has_tools and not tools_of(self.request):
            sentence = "The history holds calls or results, and the request defines no tools."
            if self.whole:
                self.blocks.add("TOOLS_MISSING", "toolConfig", sentence)
            else:
                self.blocks.put("TOOLS_MISSING", "toolConfig", sentence, None, {}, severity="DEG", hint=DEFINE_TOOLS)
        if self.family.signed:
            if (number := marks(self.request)) > MOST:
                self.blocks.add("CACHE_MARKS", "messages", f"{number} marks for the cache; {MOST} are allowed.", n=number)
            self._thinking()

    def _thinking(self) -> None:
        """With thinking on, the turn whose results come last begins with its thinking, or the caller turns it off."""
        extra = self.request.get("additionalModelRequestFields")
        thinking = extra.get("thinking") if isinstance(extra, dict) else None
        if not isinstance(thinking, dict) or thinking.get("type") != "enabled" or (start := self._open_from()) is None:
            return
        content = _list(self.messages[start])
        if any(is_call(block) for block in content) and not is_a(content[0], "reasoningContent"):
            sentence = "Thinking is on, and the turn that called the tools does not begin with its thinking."
            facts = {"i": start, "block": next(iter(content[0]), "")}
            self.blocks.put("THINKING_NOT_FIRST", f"messages[{start}].content[0]", sentence, None, facts, hint=THINKING_OFF)


def _list(message: Json) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else []
