"""Passes over items that a provider stores: their ids, the reasoning that led to them, and requests that go on there.

They mend what the check found, where it found it. What refers to reasoning that is gone is refused by its id, so the id
goes with it. A request of our own names no stored item at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from suture.formats.rule import Finding
from suture.formats.wire import object_text, own, without_key
from suture.healing.item_parts import is_server_call, is_silent, less, nameless, without_field, words_of
from suture.healing.own_items import unnamed
from suture.healing.work import Work, as_text, in_full
from suture.messages import Assistant, File, Image, Message, Part, Reasoning, Text, ToolCall, ToolResult

_ID_GOES = frozenset(("ITEM_ID_PREFIX", "ITEM_ID_FORM", "ITEM_ID_DUPLICATE", "REASONING_MISSING"))
_THOUGHT_GOES = ("ITEM_ID_UNRESOLVABLE", "ENCRYPTED_FOREIGN", "REASONING_DANGLING")
ITEMS = (
    _ID_GOES
    | frozenset(_THOUGHT_GOES)
    | frozenset(
        (
            "REASONING_SUMMARY_MISSING",
            "FIELD_MISSING",
            "FIELD_UNKNOWN",
            "MESSAGE_EMPTY",
            "RESULT_KIND_MISMATCH",
            "PART_ROLE",
            "IMAGE_ROLE",
            "ID_CHARS",
            "ARGS_TYPE",
        )
    )
)


def chain(work: Work) -> None:
    """A request that goes on behind a stored response holds what came since, and nothing that is stored.

    That is all from the first output without a call, which is in the stored response. Else it is what stands behind the
    last thing that a model made: outputs too, since a response that has them would have been followed by another.
    """
    if "CHAIN_CONFLICT" not in work.faults_of(None):
        return
    new = _first_loose(work.messages)
    if new is None:
        new = len(work.messages)
        while new and type(work.messages[new - 1]) is not Assistant:
            new -= 1
    for at in range(new):
        work.note("CHAIN_CONFLICT", at, "left out what the stored response has", detail=in_full(work.messages[at]))
    work.keep([at >= new for at in range(len(work.messages))])


def _first_loose(messages: Sequence[Message]) -> int | None:
    """The index of the first result that no call before it asked for."""
    called: set[str] = set()
    for at, message in enumerate(messages):
        if type(message) is Assistant:
            called |= {call.id for call in message.calls}
        elif type(message) is ToolResult and message.call_id not in called:
            return at
    return None


def items(work: Work) -> None:
    """Each item has an id that may be sent or none, the fields that it needs, and no others."""
    if not work.limits.item_ids:
        return
    if work.options.strict:
        unnamed(work)
    elif work.faults:
        _Mending(work).run()


def led_nowhere(work: Work) -> None:
    """Reasoning at the end of a turn has led to nothing; only a request of our own has not been checked for it yet."""
    if not (work.limits.item_ids and work.options.strict):
        return
    for at, message in enumerate(work.messages):
        thoughts = _at_end(message) if type(message) is Assistant else []
        for part in thoughts:
            work.note("REASONING_DANGLING", at, "left out reasoning", part=part, detail=part.text, lost="reasoning")
        if thoughts:
            work.remove(at, thoughts)
    work.keep([type(message) is not Assistant or bool(message.parts) for message in work.messages])


def _at_end(message: Message) -> list[Reasoning]:
    found: list[Reasoning] = []
    for part in reversed(message.parts):
        if type(part) is not Reasoning:
            break
        found.append(part)
    return found


def _followers(message: Message) -> list[Part | None]:
    """For each part the next one behind it that is no reasoning."""
    found: list[Part | None] = []
    behind: Part | None = None
    for part in reversed(message.parts):
        found.append(behind)
        behind = behind if type(part) is Reasoning else part
    return found[::-1]


class _Mending:
    """One pass over a history; what was found stands beside the parts that it was found at."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.name = work.format.name
        self.unled = False  # the reasoning before was taken away, so ids that refer to it go as well
        self.calls: Counter[str] | None = None
        self.results: Counter[str] = Counter()

    def run(self) -> None:
        keep = [True] * len(self.work.messages)
        for at, message in enumerate(self.work.messages):
            if type(message) is Assistant:
                keep[at] = self._turn(at, message)
                continue
            if type(message) is not ToolResult:
                self.unled = False
            if faults := self.work.faults_of(message):
                keep[at] = self._said(at, message, faults)
        self.work.keep(keep)

    def _note(self, code: str, at: int, action: str, part: Part | None, *, detail: str = "", lost: bool = False) -> None:
        call = part.id if type(part) is ToolCall else None
        kind = type(part)
        what = "reasoning" if kind is Reasoning else "call" if kind is ToolCall else "image" if kind is Image else "text"
        self.work.note(code, at, action, part=part, call=call, detail=detail, lost=what if lost else "none")  # type: ignore[arg-type]

    # What nobody's model made

    def _said(self, at: int, message: Message, faults: Mapping[str, Finding]) -> bool:
        """Whether the message, or the output, is kept."""
        work, call = self.work, message.call_id if type(message) is ToolResult else None
        again = faults.get("ITEM_ID_DUPLICATE")
        if again and again.facts.get("same") and call is None:
            work.note("ITEM_ID_DUPLICATE", at, "left out a copy of an earlier item", detail=in_full(message))
            return False
        for code in sorted(_ID_GOES & faults.keys()):
            work.note(code, at, "took the item's id away", call=call)
            self._reshape(at, "id")
        for found in work.faults.get(id(message), ()):
            if found.code == "FIELD_UNKNOWN":
                self._without_field(at, found, None)
        if "PART_ROLE" in faults:
            work.note("PART_ROLE", at, "gave the words the type of their place")
            parts = tuple([self._retyped(part) for part in work.messages[at].parts])
            work.replace(at, parts=parts)
        if type(message) is ToolResult:
            self._output(at, message, faults)
        return True

    def _output(self, at: int, message: ToolResult, faults: Mapping[str, Finding]) -> None:
        work = self.work
        if "FIELD_MISSING" in faults:
            work.note("FIELD_MISSING", at, "added an empty output", call=message.call_id)
            self._reshape(at, "content")
        if "ID_CHARS" in faults:
            action = f"kept the call's id {message.call_id!r} of the two"
            work.note("ID_CHARS", at, action, call=message.call_id)
            work.replace(at, call_id=message.call_id)
        if "RESULT_KIND_MISMATCH" in faults:
            work.note("RESULT_KIND_MISMATCH", at, "made it an output of the kind of its call", call=message.call_id)
            work.replace(at, ext=None)

    def _reshape(self, at: int, key: str) -> None:
        self.work.replace(at, ext=without_key(self.work.messages[at].ext, self.name, key))

    def _without_field(self, at: int, found: Finding, part: Part | None) -> None:
        field = str(found.facts["field"])
        self.work.note("FIELD_UNKNOWN", at, f"left out the field {field!r}", part=part)
        if part is None:
            self._reshape(at, field)

    def _retyped(self, part: Part) -> Part:
        """The words without the type under which they came."""
        return msgspec.structs.replace(part, ext=less(part.ext, self.name, "type")) if type(part) is Text else part

    # A turn of the model's

    def _turn(self, at: int, message: Assistant) -> bool:
        """Whether anything of the turn is kept."""
        if not (self.unled or any(self.work.faults.get(id(part)) for part in message.parts)):
            self.unled = self.unled and not any(type(part) is Reasoning for part in message.parts)
            return True
        out: list[Part] = []
        silent = is_silent(message)
        for part, follower in zip(message.parts, _followers(message), strict=True):
            faults = self.work.faults_of(part)
            fresh = (
                self._thought(at, part, faults, self._loses(follower, silent=silent))
                if type(part) is Reasoning
                else self._made(at, part, faults, silent=silent)
            )
            out += [] if fresh is None else [fresh]
        if len(out) == len(message.parts) and all(new is old for new, old in zip(out, message.parts, strict=True)):
            return True
        self.work.replace(at, parts=tuple(out))
        return bool(out)

    def _loses(self, follower: Part | None, *, silent: bool) -> bool:
        """Whether what reasoning led to goes, or loses the id by which it is known."""
        codes = frozenset(() if follower is None else self.work.faults_of(follower))
        return bool(codes & _ID_GOES) or ("MESSAGE_EMPTY" in codes and not silent)

    def _thought(self, at: int, part: Reasoning, faults: Mapping[str, Finding], loses: bool) -> Part | None:
        again = faults.get("ITEM_ID_DUPLICATE")
        if again and again.facts.get("same"):
            self._note("ITEM_ID_DUPLICATE", at, "left out a copy of an earlier item", part)
            self.unled = False
            return None
        gone = next((code for code in _THOUGHT_GOES if code in faults), None)
        nameless = next((code for code in sorted(_ID_GOES) if code in faults), "REASONING_DANGLING" if loses else None)
        self.unled = gone is not None or nameless is not None
        if gone or (nameless and not part.encrypted):
            self._note(gone or nameless or "", at, "left out reasoning", part, detail=words_of(part), lost=True)
            return None
        fresh = part
        if nameless:
            self._note(nameless, at, "took the item's id away", part)
            fresh = msgspec.structs.replace(fresh, item_id=None, ext=less(fresh.ext, self.name, "id"))
        if "REASONING_SUMMARY_MISSING" in faults:
            self._note("REASONING_SUMMARY_MISSING", at, "added an empty summary", part)
            kept = {**own(fresh.ext, self.name), "summary": []}
            fresh = msgspec.structs.replace(fresh, ext={**(fresh.ext or {}), self.name: kept})
        return self._with_known_fields(at, part, fresh)

    def _made(self, at: int, part: Part, faults: Mapping[str, Finding], *, silent: bool) -> Part | None:
        """A message, a call, or what only the provider understands; None when it goes. `silent`: its turn says nothing."""
        if self._goes(at, part, faults, silent=silent):
            return None
        fresh = part
        code = next((code for code in sorted(_ID_GOES) if code in faults), "REASONING_MISSING" if self.unled else None)
        if code and nameless(part, self.name) is not part:
            self._note(code, at, "took the item's id away", part)
            fresh = nameless(part, self.name)
        if type(fresh) is Text and "PART_ROLE" in faults:
            self._note("PART_ROLE", at, "gave the words the type of their place", part)
            fresh = self._retyped(fresh)
        if type(fresh) is ToolCall and "ID_CHARS" in faults:
            self._note("ID_CHARS", at, f"took the call's id {fresh.id!r} and that of its item apart", part)
            fresh = msgspec.structs.replace(fresh)
        if type(fresh) is ToolCall and "ARGS_TYPE" in faults and "input" in (fresh.arguments or {}):
            fresh = self._with_input(at, part, fresh)
        return self._with_known_fields(at, part, fresh)

    def _goes(self, at: int, part: Part, faults: Mapping[str, Finding], *, silent: bool) -> bool:
        again = faults.get("ITEM_ID_DUPLICATE")
        if again and again.facts.get("same") and (type(part) is not ToolCall or self._is_spare(part)):
            self._note("ITEM_ID_DUPLICATE", at, "left out a copy of an earlier item", part, detail=as_text(part))
            return True
        if "MESSAGE_EMPTY" in faults and not silent:
            self._note("MESSAGE_EMPTY", at, "left out the empty message", part)
            return True
        if "IMAGE_ROLE" in faults and type(part) in (Image, File):
            self._note("IMAGE_ROLE", at, "left out a picture or file of the model's", part, detail=as_text(part), lost=True)
            return True
        refers = "ITEM_ID_UNRESOLVABLE" in faults or (self.unled and is_server_call(part))
        if refers:
            code = "ITEM_ID_UNRESOLVABLE" if "ITEM_ID_UNRESOLVABLE" in faults else "REASONING_MISSING"
            self._note(code, at, "left out what refers to what is gone", part, detail=as_text(part), lost=True)
        return refers

    def _is_spare(self, call: ToolCall) -> bool:
        """Whether there are fewer outputs of that id than calls, so that the copy has none of its own."""
        if self.calls is None:
            turns = [message for message in self.work.given if type(message) is Assistant]
            self.calls = Counter(each.id for message in turns for each in message.calls)
            self.results = Counter(message.call_id for message in self.work.given if type(message) is ToolResult)
        is_spare = self.calls[call.id] > max(self.results[call.id], 1)
        self.calls[call.id] -= is_spare
        return is_spare

    def _with_input(self, at: int, part: Part, call: ToolCall) -> ToolCall:
        """The call of a custom tool with a text as its input."""
        given = (call.arguments or {}).get("input")
        text = given if isinstance(given, str) else "" if given is None else object_text({"input": given})[9:-1]
        self._note("ARGS_TYPE", at, "wrote the input as text", part, detail=text)
        return msgspec.structs.replace(call, arguments={"input": text})

    def _with_known_fields(self, at: int, part: Part, fresh: Part) -> Part:
        """The part without fields that no request has."""
        for found in self.work.faults.get(id(part), ()):
            if found.code == "FIELD_UNKNOWN":
                field = str(found.facts["field"])
                if (trimmed := without_field(fresh, self.name, field)) is not fresh:
                    self._without_field(at, found, part)
                    fresh = trimmed
        return fresh
