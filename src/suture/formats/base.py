"""The words of a wire format: its rules, what breaks them, its limits, and how it is read and written.

A rule is data: what must hold, what the provider says when it does not, and how sure we are. A finding is
a rule broken at a place. Formats are pure both ways and do no mending; `heal` does, by their limits.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from suture.errors import HistoryError
from suture.messages import Ext, Message, Part, System, ToolResult

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
    trailing_space: bool = True
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

    def range_of(self, home: int) -> tuple[int, int]:
        """The first index of what came from that wire message, and the one behind the last."""
        return bisect_left(self.homes, home), bisect_right(self.homes, home)

    def results_of(self, home: int) -> list[int]:
        """The indexes of the results that came from that wire message."""
        return [index for index in range(*self.range_of(home)) if type(self.messages[index]) is ToolResult]


class Written(NamedTuple):
    """Healed neutral messages, each with the index of the decoded one that it was; None for one that is new."""

    messages: Sequence[Message]
    sources: Sequence[int | None]


class Rewritten(NamedTuple):
    """Wire messages, each with the index of the one that it was before; None for one that is new."""

    messages: list[Json]
    homes: list[int | None]


class Format(Protocol):
    """One wire format."""

    name: ClassVar[str]
    rules: ClassVar[Mapping[str, Rule]]
    rule_of: ClassVar[Mapping[str, str]]  # code of a finding -> id of the rule behind it
    fields: ClassVar[frozenset[str]]  # what a message may carry beside what the neutral words name

    def limits(self, variant: str) -> Limits:
        """What that dialect or model takes."""

    def sign(self, message: Json) -> str | None:
        """What in a message only this format has, in words."""

    def check(self, request: Json, limits: Limits, *, open_tail: bool) -> list[Finding]:
        """Every rule that the request breaks, by place. `open_tail`: the last turn's calls may be unanswered."""

    def decode(self, messages: Sequence[Json], *, arguments: bool = True) -> Decoded:
        """The neutral messages, losing nothing: what has no field of its own is kept in `ext`.

        Without `arguments`, those that came as text are not read; healing has no need of them.
        """

    def encode(self, messages: Sequence[Message]) -> list[Json]:
        """The wire messages."""

    def takes(self, part: Part) -> bool:
        """Whether the format has a form for the part."""

    def is_sound(self, part: Part) -> bool:
        """Whether a part that is kept as it came could be read; what is not sound is no part of a request of our own."""

    def rewrite(self, raw: Sequence[Json], decoded: Decoded, written: Written) -> Rewritten:
        """The wire messages of a healed history; what did not change stays the very object that it was."""

    def lift(self, request: Json, /) -> list[System]:
        """The system text that stands beside the messages."""

    def head(self, system: Sequence[System], /) -> Json:
        """What of a request holds system text that stands beside the messages."""

    def offer(self, name: str, description: str, parameters: Json) -> Json:
        """A tool as a request's `tools` lists it; `parameters` is its JSON schema."""

    def trim(self, request: Json) -> tuple[Json, list[str]]:
        """The request within limits that count over all of it, and the paths of what was taken away."""

    def places(self, raw: Sequence[Json], decoded: Decoded, home: int) -> dict[int, list[str]]:
        """For each decoded message that came from that wire message: its path, then those of its parts."""


# Reading --------------------------------------------------------------------------------------


def messages_of(history: object) -> list[Json]:
    """The list of wire messages in a history: a list, or a dict that holds it under `messages`.

    Raises:
        HistoryError: it is neither, or one of the messages is no object.
    """
    messages = history.get("messages") if isinstance(history, dict) else history
    if isinstance(history, dict) and "messages" not in history:
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
    """A wire id; blank when there is none, or none that is a text."""
    return value if isinstance(value, str) else ""


def rest(raw: Json, known: frozenset[str]) -> Json:
    """What a wire object holds beside the known keys."""
    return {key: value for key, value in raw.items() if key not in known}


def fill(template: str, facts: Mapping[str, str | int]) -> str:
    """The provider's text with the facts in it; what is not known stays as a variable."""
    return re.sub(r"\{(\w+)\}", lambda match: str(facts.get(match[1], f"<{match[1]}>")), template)


def not_content(value: object, path: str) -> HistoryError:
    """The error for content that is neither text nor list."""
    return HistoryError(f"{path} is {kind_of(value)}; content is a text or a list of parts.")


def not_a_list(value: object, path: str) -> HistoryError:
    """The error for what has to be a list."""
    return HistoryError(f"{path} is {kind_of(value)}, not a list.")


def own(ext: Ext | None, name: str) -> Json:
    """What a message or part keeps for that format."""
    if ext is None:
        return {}
    kept = ext.get(name)
    return kept if isinstance(kept, dict) else {}


def without_key(ext: Ext | None, format: str, key: str) -> Ext | None:
    """What is kept for a format, without one key."""
    kept = {name: value for name, value in own(ext, format).items() if name != key}
    others = {name: value for name, value in (ext or {}).items() if name != format}
    return ({**others, format: kept} if kept else others) or None


def object_text(arguments: Mapping[str, object]) -> str:
    """Arguments as JSON text."""
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def by_id(*rules: Rule) -> dict[str, Rule]:
    """The rules, by id."""
    return {rule.id: rule for rule in rules}


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


def by_place(found: Finding) -> list[int]:
    """Orders findings as the history does."""
    return [int(number) for number in re.findall(r"\d+", found.path)]
