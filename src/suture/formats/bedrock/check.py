"""The check of a request against what Bedrock's Converse demands.

It reads the raw JSON once, in order, and makes nothing while nothing is wrong. Only the one message behind a turn may
answer its calls, since neighbours of one role are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from suture.formats.base import Json
from suture.formats.bedrock.blocks import (
    MEMBERS,
    continues,
    is_a,
    is_call,
    is_known_thought,
    is_regular_in_result,
    is_result,
    is_server_call,
    not_a_text,
    pieces,
)
from suture.formats.bedrock.cache import MOST, marks
from suture.formats.bedrock.documents import documents_in, fits, stands_alone
from suture.formats.bedrock.models import family_of
from suture.formats.bedrock.parts import words_in
from suture.formats.bedrock.rules import RULE_OF, RULES
from suture.formats.bedrock.tools import tools_of
from suture.formats.limits import Limits
from suture.formats.pairs import Pairs, Stray
from suture.formats.rule import Finding, Severity, by_place, finding
from suture.formats.wire import kind_of, not_an_object, not_content, text_id

THINKING_OFF = "thinking: off"
DEFINE_TOOLS = "toolConfig: define the tools that the history calls"

_MESSAGE = frozenset(("role", "content"))
_ROLES = frozenset(("user", "assistant", "system"))
_MEDIA = frozenset(("image", "document", "video"))


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
        self.id_fits = re.compile(limits.id_pattern).search
        self.name_fits = re.compile(limits.name_pattern).search
        self.found: list[Finding] = []
        self.open_tail = open_tail
        self.pairs = Pairs(unique_in_history=limits.ids_unique_in == "history")
        self.ends: dict[int, int] = {}  # where the run of user messages ends that begins there
        self.starts: dict[int, int] = {}  # of an assistant message that goes on with a turn: where that begins
        self.last_of: dict[int, int] = {}  # where the turn that begins there ends
        self.documents: set[str] = set()
        self.has_documents = False  # the message that is being read
        self.has_tools = False
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
                self.add("ROLE_REPEAT", f"messages[{index}]", f"Two messages of the role {role!r} stand in a row.", i=index)
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
        self.found.sort(key=by_place)
        return self.found

    def add(self, code: str, path: str, sentence: str, call: str | None = None, /, **facts: str | int) -> None:
        self.put(code, path, sentence, call, facts)

    def put(
        self,
        code: str,
        path: str,
        sentence: str,
        call: str | None,
        facts: Mapping[str, str | int],
        severity: Severity | None = None,
        hint: str | None = None,
    ) -> None:
        rule = RULES[RULE_OF[code]]
        self.found.append(finding(rule, code, path, sentence, call, facts, severity=severity, hint=hint))

    # Messages

    def _ends(self) -> None:
        """The first and the last message."""
        if not self.messages:
            self.put("MESSAGE_EMPTY", "messages", "There is nothing to send.", None, {}, severity="DEG")
            return
        first, last = self.messages[0]["role"], self.messages[-1]
        if first == "system":
            sentence = "System text stands at the head of the messages; it belongs into the request's 'system'."
            self.add("SYSTEM_MISPLACED", "messages[0]", sentence, role=first)
        elif first == "assistant":
            self.add("FIRST_NOT_USER", "messages[0]", "The first message is not the user's.")
        if last["role"] == "assistant":
            self._last(f"messages[{len(self.messages) - 1}]", last.get("content"))

    def _last(self, path: str, content: object) -> None:
        tail = content[-1] if isinstance(content, list) and content else content
        if is_a(tail, "toolUse") or is_a(tail, "toolResult"):
            return
        if not self.limits.prefill:
            self.add("LAST_ASSISTANT", path, "The last message is the assistant's, which this model refuses.")
        text = tail if isinstance(tail, str) else words_in(tail)
        if not self.limits.trailing_space and text.strip() and text[-1].isspace():
            self.add("TRAILING_WHITESPACE", path, "The last message ends in white space.")

    def _system(self) -> None:
        content = self.request.get("system")
        if isinstance(content, str):
            self.add("BLOCK_SHAPE", "system", "System text is a list of blocks, not a text.", i=0, j=0)
        elif isinstance(content, list):
            for at, block in enumerate(content):
                if not isinstance(block, dict):
                    raise not_an_object(block, f"system[{at}]")
                text = block.get("text", "-")
                if not isinstance(text, str) or not text or text.isspace():
                    self._blank(f"system[{at}]", 0, at, text)
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
        self.add("ROLE_UNKNOWN", f"messages[{index}]", sentence, role=role, m=index + 1)

    def _fields(self, index: int, message: Json) -> None:
        for key in sorted(message.keys() - _MESSAGE):
            sentence = f"Messages have no field {key!r} that Converse is known to take; it is sent as it is."
            self.add("FIELD_UNKNOWN", f"messages[{index}]", sentence, i=index, field=key)

    def _content(self, index: int, role: str, content: object) -> None:
        if isinstance(content, list) and content:
            self._blocks(index, role, content)
        elif not content and (content is None or isinstance(content, str | list)):
            self.add("MESSAGE_EMPTY", f"messages[{index}]", "The message is empty.", i=index)
        elif isinstance(content, str):
            path = f"messages[{index}].content"
            self.add("BLOCK_SHAPE", path, "The content is a text, not a list of blocks.", i=index, j=0)
            if content.isspace():
                self._blank(path, index, 0, content)
        else:
            raise not_content(content, f"messages[{index}].content")

    # Blocks

    def _blocks(self, index: int, role: str, content: list[Any]) -> None:
        """The blocks of a message; `others` counts what is said beside calls, results and reasoning."""
        calls = results = others = 0
        for at, whole in enumerate(content):
            if _is_words(whole) and not calls:
                others += 1
                continue
            if not isinstance(whole, dict):
                raise not_an_object(whole, f"messages[{index}].content[{at}]")
            if len(whole) != 1:
                self._shape(index, at, whole)
            for block in (whole,) if len(whole) == 1 else pieces(whole):
                if "toolResult" in block and is_result(block):
                    results += self._result(index, at, block, role, behind=calls + others > 0)
                elif "toolUse" in block and not is_server_call(block):
                    calls += self._call(index, at, block, role)
                else:
                    others += self._other_block(index, at, block, role)
                    if calls and self.limits.calls_last:
                        path = f"messages[{index}].content[{at}]"
                        self.add("CALL_NOT_TAIL", path, "Something follows a call; calls come last.", i=index, j=at)
        if others and (calls or results):
            self._together(index, content, calls, results)
        if self.has_documents:
            self._documents(index, content, role)
            self.has_documents = False

    def _other_block(self, index: int, at: int, block: Json, role: str) -> bool:
        """Whether a block that is neither call nor result says something."""
        if "text" in block:
            text = block["text"]
            if not isinstance(text, str) or not text or text.isspace():
                self._blank(f"messages[{index}].content[{at}]", index, at, text)
        elif "reasoningContent" in block:
            self._reasoning(index, at, block["reasoningContent"], role)
            return False
        elif len(block) == 1 and not block.keys() & MEMBERS:
            self._unknown(index, at, next(iter(block)))
        elif "document" in block:
            self.has_documents = True
        return "cachePoint" not in block

    def _shape(self, index: int, at: int, block: Json) -> None:
        path = f"messages[{index}].content[{at}]"
        if block and len(pieces(block)[0]) == 1:
            names = ", ".join(repr(key) for key in list(block)[:5])
            self.add("BLOCK_SHAPE", path, f"A block has one member; this one has {names}.", i=index, j=at)
            return
        sentence = "The block is of no kind that Converse has. Check in which format the history is."
        self.put("BLOCK_UNKNOWN", path, sentence, None, {"i": index, "j": at, "block": ""}, severity="REJ")

    def _blank(self, path: str, i: int, j: int, text: object) -> None:
        if text is not None and not isinstance(text, str):
            raise not_a_text(text, f"{path}.text")
        code, what = ("TEXT_BLANK", "white space alone") if text else ("TEXT_EMPTY", "empty")
        self.add(code, path, f"The text is {what}.", i=i, j=j)

    def _call(self, index: int, at: int, block: Json, role: str) -> int:
        inner, path = block["toolUse"], f"messages[{index}].content[{at}]"
        if not isinstance(inner, dict):
            raise not_an_object(inner, f"{path}.toolUse")
        self.has_tools = True
        if role != "assistant":
            sentence = f"A call stands in a message of the role {role!r}."
            found = finding(RULES["BDR-USE-ROLE"], "BLOCK_UNKNOWN", path, sentence, facts={"i": index, "j": at})
            self.found.append(found)
            return 0
        id, name, given = inner.get("toolUseId"), inner.get("name"), inner.get("input")
        self.pairs.add_call(index, at, text_id(id))
        if not (self._is_id(id) and isinstance(name, str) and self.name_fits(name)):
            self._names(path, id, name, {"i": index, "j": at, "m": index + 1, "k": at + 1, "field": "toolUseId"})
        if not isinstance(given, dict):
            code = "ARGS_TYPE" if isinstance(given, str) else "ARGS_NOT_OBJECT"
            sentence = f"The input of the call is {kind_of(given)}, not an object."
            self.add(code, path, sentence, text_id(id) or None, i=index, j=at)
        return 1

    def _is_id(self, id: object) -> bool:
        longest = self.limits.id_length
        return isinstance(id, str) and (longest is None or len(id) <= longest) and self.id_fits(id) is not None

    def _names(self, path: str, id: object, name: object, facts: dict[str, str | int]) -> None:
        """What is wrong with the id and the name of a call."""
        if not isinstance(id, str) or not id:
            self.add("ID_MISSING", path, "The call has no id that is a text.", **facts)
        elif self.limits.id_length is not None and len(id) > self.limits.id_length:
            sentence = f"The id has {len(id)} characters; {self.limits.id_length} are allowed."
            self.add("ID_LENGTH", path, sentence, id, **facts)
        elif not self.id_fits(id):
            self.add("ID_CHARS", path, f"The id {id!r} holds other characters than letters, digits, _ and -.", id, **facts)
        if not isinstance(name, str) or not self.name_fits(name):
            sentence = f"The call's name {name!r} is no name of a tool: up to 64 letters, digits, _ and -."
            self.add("NAME_PATTERN", path, sentence, text_id(id) or None, **{**facts, "field": "name"})

    def _result(self, index: int, at: int, block: Json, role: str, *, behind: bool) -> int:
        inner, path = block["toolResult"], f"messages[{index}].content[{at}]"
        if not isinstance(inner, dict):
            raise not_an_object(inner, f"{path}.toolResult")
        self.has_tools = True
        id, content = text_id(inner.get("toolUseId")), inner.get("content")
        if role != "user":
            self.add("RESULT_NOT_PURE", path, f"A result stands in a message of the role {role!r}.", id or None, i=index)
        elif self.pairs.add_result(index, at, id) and behind:
            sentence = "The result stands behind other blocks; results come first."
            self.add("RESULT_NOT_FIRST", path, sentence, id, i=index - 1, j=at, ids=id)
        if isinstance(content, list):
            for nth, part in enumerate(content):
                if not _is_words(part):
                    self._in_result(index, at, nth, part, f"{path}.toolResult.content[{nth}]")
        elif content is None or isinstance(content, str):
            sentence = f"The content of the result is {kind_of(content)}, not a list of blocks."
            self.add("BLOCK_SHAPE", path, sentence, id or None, i=index, j=at)
        else:
            raise not_content(content, f"{path}.toolResult.content")
        if inner.get("status") == "error" and not _says_something(content):
            self.add("RESULT_EMPTY_ERROR", path, "The error says nothing.", id or None, i=index, j=at)
        return 1

    def _in_result(self, index: int, at: int, nth: int, part: object, path: str) -> None:
        if not isinstance(part, dict):
            raise not_an_object(part, path)
        facts: dict[str, str | int] = {"i": index, "j": at, "k": nth}
        self.has_documents = self.has_documents or "document" in part
        text = part.get("text", "-")
        if not isinstance(text, str) or not text or text.isspace():
            self._blank(path, index, at, text)
        if len(part) == 1 and not is_regular_in_result(part) and "json" in part:
            sentence = f"The JSON of a result is an object; this is {kind_of(part['json'])}."
            self.add("RESULT_SHAPE", path, sentence, **facts)
        elif len(part) != 1:
            self.add("BLOCK_SHAPE", path, "A block has one member.", **facts)
        if not self.limits.images_in_results and part.keys() & _MEDIA:
            self.add("IMAGE_ROLE", path, "This model takes words alone in results.", **facts)

    def _reasoning(self, index: int, at: int, inner: object, role: str) -> None:
        path = f"messages[{index}].content[{at}]"
        if not isinstance(inner, dict):
            raise not_an_object(inner, f"{path}.reasoningContent")
        if not is_known_thought(inner):
            return
        text = inner.get("reasoningText")
        signature = text.get("signature") if isinstance(text, dict) else inner.get("redactedContent")
        if role != "assistant":
            self.add("THINKING_UNSIGNED", path, f"Reasoning stands in a message of the role {role!r}.", i=index, j=at)
        elif self.limits.reasoning == "signed":
            if not isinstance(signature, str | bytes) or not signature.strip():
                self.add("THINKING_UNSIGNED", path, "The reasoning has no signature.", i=index, j=at)
        elif self.limits.reasoning_back == "none" or "redactedContent" in inner:
            self.add("THINKING_FOREIGN", path, "This model takes no such reasoning back.", i=index, j=at)
        elif signature is not None:
            self.add("SIGNATURE_FORM", path, "This model takes reasoning without a signature.", i=index, j=at)
        elif not isinstance(text, dict):
            self.add("BLOCK_SHAPE", path, "The words of reasoning stand under 'reasoningText'.", i=index, j=at)

    def _unknown(self, index: int, at: int, kind: str) -> None:
        path = f"messages[{index}].content[{at}]"
        facts: dict[str, str | int] = {"i": index, "j": at, "block": kind}
        if kind == "type":
            self._shape(index, at, {})
            return
        self.put("BLOCK_UNKNOWN", path, f"The block is of the unknown kind {kind!r}; it is sent as it is.", None, facts)

    def _together(self, index: int, content: list[Json], calls: int, results: int) -> None:
        """Words beside tool blocks, which some models refuse."""
        path = f"messages[{index}]"
        beside = calls and not self.limits.text_with_calls
        if beside and any("text" in block or words_in(block) for block in content):
            self.add("TEXT_WITH_TOOL", path, "Words stand beside calls.", i=index, block="use")
        if results and not self.limits.user_after_result:
            self.add("USER_AFTER_TOOL", path, "Words stand beside results.", i=index, block="result")

    def _documents(self, index: int, content: list[Any], role: str) -> None:
        for place in documents_in(index, content):
            if not isinstance(place.block["document"], dict):
                raise not_an_object(place.block["document"], f"{place.path}.document")
            name = place.name
            if not fits(name):
                self.add("DOCUMENT_NAME", place.path, f"The document's name {name!r} may not be sent.", i=index, j=place.j)
            elif name in self.documents:
                self.add("DOCUMENT_NAME", place.path, f"A document before has the name {name!r}.", i=index, j=place.j)
            self.documents.add(str(name))
        if role == "user" and stands_alone(content):
            self.add("DOCUMENT_ALONE", f"messages[{index}]", "A document stands without a text beside it.", i=index)

    # The whole

    def _pairing(self) -> None:
        broken = self.pairs.finish(self._open_from() if self.open_tail else None)
        for first, call in broken.repeated:
            code = "ID_DUPLICATE" if first == call.i else "ID_REUSED"
            sentence = f"The id {call.id!r} was used before, in messages[{first}]."
            self.add(code, f"messages[{call.i}].content[{call.j}]", sentence, call.id, i=call.i, j=call.j, id=call.id)
        for call in broken.unanswered:
            path = f"messages[{call.i}].content[{call.j}]"
            sentence = f"The call {call.id!r} has no result in the next message."
            self.add("CALL_UNANSWERED", path, sentence, call.id, n=call.i + 1, ids=broken.ids[call.i])
        for stray in broken.strays:
            self._stray(stray, broken.ids)

    def _stray(self, stray: Stray, ids: dict[int, str]) -> None:
        path, call = f"messages[{stray.i}].content[{stray.j}]", stray.call
        if call is not None:
            facts: dict[str, str | int] = {"n": call.i + 1, "ids": ids[call.i]}
            if self._is_split(call.i, stray.i):
                sentence = f"The results of messages[{call.i}] are spread over several messages; they belong into one."
                self.add("RESULT_SPLIT", path, sentence, stray.id, **facts)
            else:
                sentence = f"The result of the call {stray.id!r} does not stand in the message behind messages[{call.i}]."
                self.add("RESULT_DISPLACED", path, sentence, stray.id, **facts)
        elif stray.answered:
            self.add("RESULT_DUPLICATE", path, f"The call {stray.id!r} has a result already.", stray.id, i=stray.i)
        else:
            sentence = f"No call in the message before asked for the result {stray.id!r}."
            self.add("RESULT_ORPHAN", path, sentence, stray.id or None, i=stray.i)

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
        if self.has_tools and not tools_of(self.request):
            sentence = "The history holds calls or results, and the request defines no tools."
            if self.whole:
                self.add("TOOLS_MISSING", "toolConfig", sentence)
            else:
                self.put("TOOLS_MISSING", "toolConfig", sentence, None, {}, severity="DEG", hint=DEFINE_TOOLS)
        if self.family.signed:
            if (number := marks(self.request)) > MOST:
                self.add("CACHE_MARKS", "messages", f"{number} marks for the cache; {MOST} are allowed.", n=number)
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
            self.put("THINKING_NOT_FIRST", f"messages[{start}].content[0]", sentence, None, facts, hint=THINKING_OFF)


def _is_words(block: object) -> bool:
    """Whether it is a text in which nothing is wrong."""
    if type(block) is not dict or len(block) != 1:
        return False
    text = block.get("text")
    return isinstance(text, str) and bool(text) and not text.isspace()


def _says_something(content: object) -> bool:
    return bool(content) if not isinstance(content, list) else any(not is_a(b, "text") or b["text"] for b in content)


def _list(message: Json) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else []
