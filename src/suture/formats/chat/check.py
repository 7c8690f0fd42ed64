"""The check of a request in the chat form: what is wrong with roles, content, calls and results.

It reads the raw JSON once, in order, and makes nothing while nothing is wrong. What only some targets demand is read
behind it (`demands`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from suture.formats.base import Flaw, Json
from suture.formats.chat.demands import Demand
from suture.formats.chat.found import Found
from suture.formats.chat.objects import is_object_text
from suture.formats.chat.unnamed import with_ids
from suture.formats.limits import Limits
from suture.formats.media import sentence as flaw_sentence
from suture.formats.pairs import Pairs, Stray
from suture.formats.rule import Finding, Rule, by_place
from suture.formats.wire import is_content, kind_of, not_a_list, not_an_object, not_content, shape_sentence, text_id

# Roles of whose messages it is known that pictures do not stand in them.
_PICTURELESS = frozenset(("system", "developer", "assistant", "tool"))
# Messages of other roles are sent as they came, whatever they hold.
_KNOWN = _PICTURELESS | {"user", "function"}
_SPEAKS = ("refusal", "audio", "function_call")


FlawOf: TypeAlias = Callable[[Json], Flaw | None]


class Check:
    """One reading of a request. `kinds` are the types of parts that the format knows, `flaw_of` says what one lacks."""

    def __init__(
        self,
        request: Json,
        limits: Limits,
        rules: Mapping[str, Rule],
        rule_of: Mapping[str, str],
        kinds: frozenset[str],
        flaw_of: FlawOf,
    ) -> None:
        self.request = request
        self.messages: list[Json] = request["messages"] if limits.ids_needed else with_ids(request["messages"])
        self.limits = limits
        self.kinds = kinds
        self.flaw_of = flaw_of
        self.longest = limits.id_length or 1 << 30
        self.id_fits = re.compile(limits.id_pattern).search
        self.name_fits = re.compile(limits.name_pattern).search
        self.found = Found(rules, rule_of, limits)
        self.add = self.found.add
        self.pairs = Pairs(unique_in_history=limits.ids_unique_in == "history")

    def run(self, demands: Sequence[Demand], *, open_tail: bool) -> list[Finding]:
        """Every rule that the request breaks, by place. `open_tail`: calls of the last turn may be unanswered."""
        if not self.messages:
            self.add("MESSAGE_EMPTY", "messages", "There is nothing to send.", severity="DEG")
            return self.found.findings
        for index, message in enumerate(self.messages):
            role = message["role"]
            content = message.get("content")
            if role == "tool":
                self.pairs.add_result(index, 0, text_id(message.get("tool_call_id")))
            else:
                if self.pairs.open:
                    self.pairs.close()
                if role == "assistant":
                    if not content or "tool_calls" in message:
                        self._assistant(index, message, content)
                elif role not in ("user", "system"):
                    self._other(index, role)
                elif len(message) > 2 and isinstance(calls := message.get("tool_calls"), list):
                    self._misplaced(index, role, len(calls))
            if not isinstance(content, str) and role in _KNOWN:
                self._content(index, message, role, content)
        self._pairing(open_tail=open_tail)
        for demand in demands:
            if demand.holds(self.limits):
                demand.check(self.found, self.request, self.messages)
        self.found.findings.sort(key=by_place)
        return self.found.findings

    # Messages

    def _assistant(self, index: int, message: Json, content: object) -> None:
        calls = message.get("tool_calls")
        if calls:
            if not isinstance(calls, list):
                raise not_a_list(calls, f"messages[{index}].tool_calls")
            for at, call in enumerate(calls):
                self._call(index, at, call)
            return
        if calls is not None and not isinstance(calls, list):
            raise not_a_list(calls, f"messages[{index}].tool_calls")
        if calls is not None:
            sentence = "The list of calls is empty; without calls there is no 'tool_calls'."
            self.add("FIELD_UNKNOWN", f"messages[{index}].tool_calls", sentence, i=index)
        if not content and not any(message.get(key) for key in _SPEAKS):
            self.add(
                "MESSAGE_EMPTY", f"messages[{index}]", "The assistant message says nothing and calls nothing.", i=index
            )

    def _misplaced(self, index: int, role: str, count: int) -> None:
        for at in range(count):
            sentence = f"A call stands in a message of the role {role!r}."
            self.add("CALL_MISPLACED", f"messages[{index}].tool_calls[{at}]", sentence, i=index, j=at)

    def _other(self, index: int, role: str) -> None:
        path = f"messages[{index}]"
        if role == "developer":
            if not self.limits.developer:
                sentence = "The role 'developer' is OpenAI's own; here it is 'system'."
                self.add("SYSTEM_MISPLACED", path, sentence, i=index)
        elif role == "function":
            self._function(index, path)
        else:
            sentence = f"The role {role!r} is none that is known here; the message is sent as it is."
            self.add("ROLE_UNKNOWN", path, sentence, severity="DEG", i=index, role=role)

    def _function(self, index: int, path: str) -> None:
        if self.limits.functions:
            sentence = "The role 'function' is refused by most copies of the API; the message is sent as it is."
            self.add("CALL_LEGACY", path, sentence, severity="DEG", i=index)
        else:
            sentence = "The role 'function' is not known here; tools took its place."
            self.add("CALL_LEGACY", path, sentence, severity="REJ", i=index, role="function")

    def _content(self, index: int, message: Json, role: str, content: object) -> None:
        """Content that is no text."""
        path = f"messages[{index}].content"
        if role == "tool" and not is_content(content, path):
            self.add("RESULT_SHAPE", path, shape_sentence(content), text_id(message.get("tool_call_id")) or None, i=index)
            return
        if isinstance(content, list):
            self._parts(index, role, content)
            if not content and not (role == "assistant" and not message.get("tool_calls")):
                self.add("TEXT_EMPTY", path, "The list of parts is empty.", i=index)
        elif content is not None:
            raise not_content(content, path)
        elif role in ("user", "system", "tool", "developer"):
            self.add("CONTENT_NULL", path, "The content is null.", text_id(message.get("tool_call_id")) or None, i=index)

    def _parts(self, index: int, role: str, content: list[Any]) -> None:
        for at, part in enumerate(content):
            path = f"messages[{index}].content[{at}]"
            if not isinstance(part, dict):
                raise not_an_object(part, path)
            kind = part.get("type")
            if kind == "image_url" and role in _PICTURELESS:
                sentence = f"A picture stands in a message of the role {role!r}."
                self.add("IMAGE_ROLE", path, sentence, i=index, role=role)
            elif not isinstance(kind, str):
                sentence = "The part has no 'type'. Check in which format the history is."
                self.add("BLOCK_UNKNOWN", path, sentence, i=index)
            elif kind == "text" and not isinstance(part.get("text"), str):
                self.add("BLOCK_UNKNOWN", path, "The part is a text and holds none.", i=index)
            elif kind not in self.kinds:
                sentence = f"The part is of the unknown type {kind!r}; it is sent as it is."
                self.add("BLOCK_UNKNOWN", path, sentence, severity="DEG")
            if kind != "text" and (flaw := self.flaw_of(part)):
                self.add(flaw.code, path, flaw_sentence(flaw), severity=flaw.severity, i=index, j=at)

    # Calls

    def _call(self, index: int, at: int, call: object) -> None:
        if not isinstance(call, dict):
            raise not_an_object(call, f"messages[{index}].tool_calls[{at}]")
        id = call.get("id")
        self.pairs.add_call(index, at, text_id(id))
        if not isinstance(id, str) or not id or len(id) > self.longest or not self.id_fits(id):
            self._id(index, at, id)
        if call.get("type") == "custom":
            return
        function = call.get("function")
        if not isinstance(function, dict):
            raise not_an_object(function, f"messages[{index}].tool_calls[{at}].function")
        name, arguments = function.get("name"), function.get("arguments")
        if not isinstance(name, str) or not self.name_fits(name):
            self._name(index, at, id, name)
        if not isinstance(arguments, str) or not is_object_text(arguments):
            if not isinstance(arguments, dict) or self.limits.arguments == "text":
                self._arguments(index, at, id, arguments)
        elif self.limits.arguments == "object":
            self._text(index, at, id)

    def _id(self, index: int, at: int, id: object) -> None:
        path = f"messages[{index}].tool_calls[{at}].id"
        if not isinstance(id, str) or not id:
            self.add("ID_MISSING", path, "The call has no id that is a text.", i=index, j=at)
        elif len(id) > self.longest:
            sentence = f"The id has {len(id)} characters; {self.longest} are allowed."
            self.add("ID_LENGTH", path, sentence, id, i=index, j=at, n=len(id), most=self.longest, id=id)
        else:
            sentence = f"The id {id!r} does not fit {self.limits.id_pattern}."
            self.add("ID_CHARS", path, sentence, id, i=index, j=at, n=len(id), most=self.longest, id=id)

    def _name(self, index: int, at: int, id: object, name: object) -> None:
        sentence = f"The call's name {name!r} is no name of a tool: up to 64 letters, digits, _ and -."
        path = f"messages[{index}].tool_calls[{at}].function.name"
        self.add("NAME_PATTERN", path, sentence, text_id(id), i=index, j=at, name=str(name))

    def _text(self, index: int, at: int, id: object) -> None:
        path = f"messages[{index}].tool_calls[{at}].function.arguments"
        self.add("ARGS_TYPE", path, "The arguments are text, not an object.", text_id(id), i=index, j=at)

    def _arguments(self, index: int, at: int, id: object, arguments: object) -> None:
        path = f"messages[{index}].tool_calls[{at}].function.arguments"
        if not isinstance(arguments, str):
            sentence = f"The arguments are {kind_of(arguments)}, not the JSON text of an object."
            self.add("ARGS_TYPE", path, sentence, text_id(id), i=index, j=at)
            return
        try:
            value = json.loads(arguments)
        except (ValueError, RecursionError):
            sentence = "The arguments are no JSON; they were probably cut off."
            self.add("ARGS_UNPARSABLE", path, sentence, text_id(id), i=index, j=at, n=len(arguments))
            return
        if isinstance(value, dict):
            sentence = "The arguments hold half a surrogate pair, or a number that is none."
            self.add("SURROGATE_LONE", path, sentence, text_id(id), i=index, j=at)
        else:
            sentence = f"The arguments are {kind_of(value)}, not an object."
            self.add("ARGS_NOT_OBJECT", path, sentence, text_id(id), i=index, j=at)

    # The whole

    def _pairing(self, *, open_tail: bool) -> None:
        broken = self.pairs.finish(self._open_from() if open_tail else None)
        for first, call in broken.repeated:
            path = f"messages[{call.i}].tool_calls[{call.j}].id"
            code = "ID_DUPLICATE" if first == call.i else "ID_REUSED"
            sentence = f"The id {call.id!r} was used before, in messages[{first}]."
            self.add(code, path, sentence, call.id, i=call.i, j=call.j, id=call.id)
        for call in broken.unanswered:
            path = f"messages[{call.i}].tool_calls[{call.j}]"
            sentence = f"The call {call.id!r} has no tool message directly behind its turn."
            self.add("CALL_UNANSWERED", path, sentence, call.id, i=call.i, ids=broken.ids[call.i])
        for stray in broken.strays:
            self._stray(stray, broken.ids)

    def _open_from(self) -> int | None:
        """The last turn, when only results follow it."""
        index = len(self.messages) - 1
        while index >= 0 and self.messages[index]["role"] == "tool":
            index -= 1
        return index if index >= 0 and self.messages[index]["role"] == "assistant" else None

    def _stray(self, stray: Stray, ids: dict[int, str]) -> None:
        path = f"messages[{stray.i}]"
        if stray.call is not None:
            i = stray.call.i
            sentence = f"The result of the call {stray.id!r} does not stand directly behind messages[{i}]."
            self.add("RESULT_DISPLACED", path, sentence, stray.id, also="CALL_UNANSWERED", i=i, ids=ids[i], id=stray.id)
        elif stray.answered:
            sentence = f"The call {stray.id!r} has a result already."
            self.add("RESULT_DUPLICATE", path, sentence, stray.id, i=stray.i, id=stray.id)
        else:
            sentence = f"No call in the turn before asked for the result {stray.id!r}."
            self.add("RESULT_ORPHAN", path, sentence, stray.id, i=stray.i, id=stray.id)
