"""The words of a wire format: its rules, what breaks them, its limits, and how it is read and written.

A rule is data: what must hold, what the provider says when it does not, and how sure we are. A finding is
a rule broken at a place. Formats are pure both ways and do no mending; `heal` does, by their limits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from suture.errors import HistoryError
from suture.messages import Ext, Message, Part, System

Severity: TypeAlias = Literal["REJ", "DEG", "IGN"]
Certainty: TypeAlias = Literal["S", "R", "D", "C", "I", "M"]
Json: TypeAlias = dict[str, Any]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider demands.

    `error` is what it answers, with `{ids}`, `{i}` and the like where the facts of a finding go.
    `severity`: REJ refused, DEG accepted with a worse answer, IGN ignored. `certainty`: S three or more
    independent reports, R one or two, D official documentation, C read in a respected project's source,
    I inferred, M from memory, so never a reason to fail.
    """

    id: str
    statement: str
    error: str = ""
    severity: Severity = "REJ"
    certainty: Certainty = "S"
    evidence: str = ""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A rule broken at a place. `facts` fill the provider's text; `hint` is what only the caller can change."""

    code: str
    rules: tuple[str, ...]
    path: str
    severity: Severity
    certainty: Certainty
    sentence: str
    call_id: str | None = None
    hint: str | None = None
    facts: dict[str, str | int] = {}

    @property
    def refused(self) -> bool:
        """Whether the provider is known to refuse the history for it."""
        return self.severity == "REJ" and self.certainty != "M"

    def __str__(self) -> str:
        return f"{self.path}: {self.code} [{', '.join(self.rules)}]: {self.sentence}"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a target takes, as far as healing depends on it."""

    id_pattern: str = ".+"
    id_length: int | None = None
    ids_unique_in: Literal["turn", "history"] = "turn"
    name_pattern: str = "^[a-zA-Z0-9_-]{1,64}$"
    arguments: Literal["text", "object"] = "text"
    blank_text: bool = True
    images_in_results: bool = True
    first_user: bool = False
    calls_last: bool = False
    prefill: bool = True
    reasoning: Literal["none", "signed", "text"] = "none"
    developer: bool = True
    joins_turns: bool = False
    system: Literal["among", "apart"] = "among"
    model: str | None = None


class Target(NamedTuple):
    """A wire format, and who will read it: a dialect or a model, when one was named."""

    format: str
    variant: str = ""

    def __str__(self) -> str:
        return f"{self.format}:{self.variant}" if self.variant else self.format


class Decoded(NamedTuple):
    """A history as neutral messages, each with the index of the wire message that it came from."""

    messages: list[Message]
    homes: list[int]


class Written(NamedTuple):
    """Healed neutral messages, each with the index of the decoded one that it was; None for one that is new."""

    messages: Sequence[Message]
    sources: Sequence[int | None]


class Format(Protocol):
    """One wire format."""

    name: ClassVar[str]
    rules: ClassVar[Mapping[str, Rule]]
    rule_of: ClassVar[Mapping[str, str]]  # code of a finding -> id of the rule behind it

    def limits(self, variant: str) -> Limits:
        """What that dialect or model takes."""

    def sign(self, message: Json) -> str | None:
        """What in a message only this format has, in words."""

    def check(self, request: Json, limits: Limits, *, open_tail: bool) -> list[Finding]:
        """Every rule that the request breaks, by place. `open_tail`: the last turn's calls may be unanswered."""

    def decode(self, messages: Sequence[Json]) -> Decoded:
        """The neutral messages, losing nothing: what has no field of its own is kept in `ext`."""

    def encode(self, messages: Sequence[Message]) -> list[Json]:
        """The wire messages."""

    def takes(self, part: Part) -> bool:
        """Whether the format has a form for the part."""

    def rewrite(self, raw: Sequence[Json], decoded: Decoded, written: Written) -> list[Json]:
        """The wire messages of a healed history; what did not change stays the very object that it was."""

    def lift(self, request: Json, /) -> list[System]:
        """The system text that stands beside the messages."""

    def head(self, system: Sequence[System], /) -> Json:
        """What of a request holds system text that stands beside the messages."""

    def trim(self, request: Json) -> tuple[Json, list[str]]:
        """The request within limits that count over all of it, and the paths of what was taken away."""

    def place(self, raw: Sequence[Json], decoded: Decoded, index: int, part: int | None = None) -> str:
        """The wire path of a decoded message, or of one of its parts."""


# Reading --------------------------------------------------------------------------------------


def messages_of(history: object) -> list[Json]:
    """The list of wire messages in a history: a list, or a dict that holds it under `messages`.

    Raises:
        HistoryError: it is neither, or one of the messages is no object.
    """
    messages = history.get("messages") if isinstance(history, dict) else history
    if isinstance(history, dict) and messages is None:
        raise HistoryError(f"The history has no 'messages'; it has {_keys(history)}. Pass the request, or just its list.")
    if not isinstance(messages, list):
        what = "'messages'" if isinstance(history, dict) else "The history"
        raise HistoryError(f"{what} is {kind_of(messages)}, not a list of messages.")
    for index, message in enumerate(messages):
        if type(message) is not dict and not isinstance(message, dict):
            raise HistoryError(f"messages[{index}] is {kind_of(message)}, not an object. {_as_plain(message)}")
        if not isinstance(role := message.get("role"), str):
            problem = "has no role" if role is None else f"has the role {role!r}"
            raise HistoryError(f"messages[{index}] {problem}; every message needs one, such as 'user'.")
    return messages


def not_an_object(value: object, path: str) -> HistoryError:
    """The error for a block, part or call that is no object."""
    return HistoryError(f"{path} is {kind_of(value)}, not an object. {_as_plain(value)}")


def kind_of(value: object) -> str:
    """What a value is, in words."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), f"a {type(value).__name__}")


def _as_plain(value: object) -> str:
    if callable(getattr(value, "model_dump", None)):
        return "Pass plain JSON values: value.model_dump(exclude_none=True)."
    return "Pass plain JSON values."


def _keys(history: Json) -> str:
    return ", ".join(repr(key) for key in list(history)[:5]) or "nothing"


# Writing --------------------------------------------------------------------------------------


def text_id(value: object) -> str:
    """A wire id as text; blank when there is none."""
    if isinstance(value, str):
        return value
    return "" if value is None or isinstance(value, bool) else str(value)


def rest(raw: Json, known: frozenset[str]) -> Json:
    """What a wire object holds beside the known keys."""
    return {key: value for key, value in raw.items() if key not in known}


def fill(template: str, facts: Mapping[str, str | int]) -> str:
    """The provider's text with the facts in it; what is not known stays as a variable."""
    return re.sub(r"\{(\w+)\}", lambda match: str(facts.get(match[1], f"<{match[1]}>")), template)


def not_content(value: object, path: str) -> HistoryError:
    """The error for content that is neither text nor list."""
    return HistoryError(f"{path} is {kind_of(value)}; content is a text or a list of parts.")


def own(ext: Ext | None, name: str) -> Json:
    """What a message or part keeps for that format."""
    if ext is None:
        return {}
    kept = ext.get(name)
    return kept if isinstance(kept, dict) else {}


def object_text(arguments: Mapping[str, object]) -> str:
    """Arguments as JSON text."""
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def by_id(*rules: Rule) -> dict[str, Rule]:
    """The rules, by id."""
    return {rule.id: rule for rule in rules}


def quoted(ids: Iterable[str]) -> str:
    """Ids for a sentence."""
    return ", ".join(repr(id) for id in ids)


# Checking -------------------------------------------------------------------------------------


def finding(
    rule: Rule,
    code: str,
    path: str,
    sentence: str,
    call: str | None = None,
    facts: Mapping[str, str | int] | None = None,
    *,
    severity: Severity | None = None,
    hint: str | None = None,
) -> Finding:
    """A finding with the rule's severity and certainty."""
    return Finding(
        code=code,
        rules=(rule.id,),
        path=path,
        severity=severity or rule.severity,
        certainty=rule.certainty,
        sentence=sentence,
        call_id=call,
        hint=hint,
        facts=dict(facts or {}),
    )


class Call(NamedTuple):
    """A call's place: message, and index in it."""

    i: int
    j: int
    id: str


class Stray(NamedTuple):
    """A result that answers no call where it stands; `call` is the one that it belongs to, where there is one."""

    i: int
    j: int
    id: str
    call: Call | None
    answered: bool


class Unpaired(NamedTuple):
    """What does not pair: calls, results, and ids used again, each with the message of its first use.

    `ids` lists, for each turn by index, the ids that lack a result, as the provider does.
    """

    unanswered: list[Call]
    strays: list[Stray]
    repeated: list[tuple[int, Call]]
    ids: dict[int, str]


class Pairs:
    """Calls and results of a history, read in order: which stand where they must, and what is left over.

    This only says what a provider would refuse. What belongs together is for `pairing`, which looks further.
    """

    def __init__(self, *, unique_in_history: bool) -> None:
        self.open: dict[str, list[Call]] = {}
        self._unique_in_history = unique_in_history
        self._used: dict[str, int] = {}
        self._answered: set[str] = set()
        self._repeated: list[tuple[int, Call]] = []
        self._unanswered: list[Call] = []
        self._strays: list[tuple[int, int, str]] = []

    def add_call(self, i: int, j: int, id: str) -> None:
        """A call of the turn that is being read."""
        call = Call(i, j, id)
        waiting = self.open.setdefault(id, [])
        waiting.append(call)
        if id and id in self._used and (self._unique_in_history or len(waiting) > 1):
            self._repeated.append((self._used[id], call))
        self._used[id] = self._used.get(id, i) if self._unique_in_history else i

    def add_result(self, i: int, j: int, id: str) -> bool:
        """Whether a result, in a place where one is allowed, answers an open call."""
        waiting = self.open.get(id)
        if not waiting or not id:
            self._strays.append((i, j, id))
            return False
        waiting.pop()
        if not waiting:
            del self.open[id]
            self._answered.add(id)
        return True

    def close(self) -> None:
        """No more results for the turn: what is open stays unanswered."""
        for calls in self.open.values():
            self._unanswered += calls
        self.open = {}

    def finish(self, open_from: int | None) -> Unpaired:
        """What is left over; calls of the turn that begins at that message may be unanswered."""
        self.close()
        wanting: dict[str, list[Call]] = {}
        for call in sorted(self._unanswered, reverse=True):
            wanting.setdefault(call.id, []).append(call)
        strays = []
        for i, j, id in self._strays:
            belongs = wanting[id].pop() if id and wanting.get(id) else None
            strays.append(Stray(i, j, id, belongs, answered=id in self._answered))
        missing = sorted(call for calls in wanting.values() for call in calls)
        left = [call for call in missing if open_from is None or call.i < open_from]
        ids: dict[int, dict[str, None]] = {}
        for call in (*left, *(stray.call for stray in strays if stray.call)):
            ids.setdefault(call.i, {})[call.id] = None
        return Unpaired(left, strays, self._repeated, {i: ", ".join(names) for i, names in ids.items()})


def by_place(found: Finding) -> list[int]:
    """Orders findings as the history does."""
    return [int(number) for number in re.findall(r"\d+", found.path)]
