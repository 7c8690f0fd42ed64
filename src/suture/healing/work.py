"""A history on its way through the passes, and the report of what they did."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from suture.formats.base import Format
from suture.formats.limits import Limits
from suture.formats.rule import Finding
from suture.messages import Message, Origin, Part, System, Text, ToolCall
from suture.repair import Orphans, Unanswered, Why

Faults: TypeAlias = Mapping[int, Sequence[Finding]]
Lost: TypeAlias = Literal["none", "text", "reasoning", "image", "call", "result"]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that healing did.

    `path` is where in the history that was given. `detail` is the full text of what was left out, or the
    words that were put in. `lost` says what the model will not see of it.
    """

    code: str
    rules: tuple[str, ...]
    path: str
    call_id: str | None = None
    action: str
    detail: str = ""
    lost: Lost = "none"

    def __str__(self) -> str:
        return f"{self.path}: {self.code} [{', '.join(self.rules)}]: {self.action}"


class Healed(msgspec.Struct, frozen=True):
    """A history that may be sent, in the shape in which it was given, and what was done to it.

    `history` is the very object that was given when nothing had to change. `hints` name what only the
    caller can change in the request, such as `thinking: off`; `refused` is what the provider refuses until
    then. `format` is the one that it was read as, blank where it fits several and is fine in each.
    """

    history: object
    changes: list[Change] = []
    hints: list[str] = []
    format: str = ""
    refused: list[Finding] = []

    @property
    def changed(self) -> bool:
        """Whether anything was done."""
        return bool(self.changes)


class Options(NamedTuple):
    """What the caller wants done; `why` and `reason` are what is known of calls without a result."""

    pending: Unanswered = "answer"
    orphans: Orphans = "drop"
    why: Why = "unknown"
    reason: str | None = None
    strict: bool = False  # a request of our own: ids unique in the history, nothing foreign, no system text inside
    system_apart: bool = False  # the history has a place for system text beside its messages
    reader: Origin | None = None  # who is asked: takes back the reasoning that it made itself


class Paths:
    """The wire paths of one message and its parts."""

    def __init__(self, message: Message, places: Sequence[str]) -> None:
        self.message = places[0]
        self._pairs = list(zip(message.parts, places[1:], strict=False))

    @cached_property
    def _parts(self) -> dict[int, str]:
        return {id(part): place for part, place in self._pairs}

    @cached_property
    def _calls(self) -> list[str]:
        return [place for part, place in self._pairs if type(part) is ToolCall]

    def of(self, part: Part | None, slot: int | None) -> str:
        """The path of a part as it came, of the call of that number, or of the message."""
        if slot is not None and slot < len(self._calls):
            return self._calls[slot]
        return self.message if part is None else self._parts.get(id(part), self.message)


class Work:
    """Messages, the index that each had at first (None for a new one), and what was done so far.

    `codes` are those of the findings that are to be mended; None asks for everything. `offered` are the names of the
    request's tools, and `renamed` those of tools that had to change, in the request as well. `system` is system text that
    moves out of the messages. `found` are the codes of what is wrong now, whatever is to be mended (None where no check was
    made), and `faults` the findings themselves, by the identity of the message or part that they are about, and of None for
    the request: for passes that mend where something was found, and nowhere else.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        format: Format,
        limits: Limits,
        options: Options,
        places: Callable[[int], Sequence[str]],
        codes: Collection[str] | None = None,
        offered: Sequence[str] = (),
        faults: Faults | None = None,
    ) -> None:
        self.given = messages
        self.messages: list[Message] = list(messages)
        self.sources: list[int | None] = list(range(len(messages)))
        self.format = format
        self.limits = limits
        self.options = options
        self.codes = codes
        self.offered = offered
        self.found: Collection[str] | None = None
        self.faults = faults or {}
        self.renamed: dict[str, str] = {}
        self.system: list[System] = []
        self.changes: list[Change] = []
        self.hints: list[str] = []
        self._places = places
        self._paths: dict[int, Paths] = {}

    def wants(self, codes: Collection[str]) -> bool:
        """Whether one of the codes is to be mended."""
        return self.codes is None or not set(codes).isdisjoint(self.codes)

    def faults_of(self, thing: Message | Part | None) -> Mapping[str, Finding]:
        """The findings about a message or part as it came, or about the request, by code."""
        return {each.code: each for each in self.faults.get(id(thing), ())}

    def has_found(self, code: str) -> bool:
        """Whether the check found the code; a request of our own, which none was made of, may have it anywhere."""
        return self.found is None or code in self.found

    def note(
        self,
        code: str,
        at: int,
        action: str,
        *,
        part: Part | None = None,
        slot: int | None = None,
        call: str | None = None,
        detail: str = "",
        lost: Lost = "none",
        case: str = "",
    ) -> None:
        """Report a change of the message at that index now, of a part of it, or of its call of that number.

        `case` tells rules of one code apart.
        """
        self.report(code, self.sources[at], action, part=part, slot=slot, call=call, detail=detail, lost=lost, case=case)

    def report(
        self,
        code: str,
        source: int | None,
        action: str,
        *,
        part: Part | None = None,
        slot: int | None = None,
        call: str | None = None,
        detail: str = "",
        lost: Lost = "none",
        case: str = "",
    ) -> None:
        """Report a change of what was the message at that index at first."""
        self.changes.append(
            Change(
                code=code,
                rules=rules_of(code, self.format, self.limits, case),
                path=self.format.key if source is None else self._path(source, part, slot),
                call_id=call or None,
                action=action,
                detail=detail,
                lost=lost,
            )
        )

    def _path(self, source: int, part: Part | None, slot: int | None) -> str:
        if source not in self._paths:
            self._paths[source] = Paths(self.given[source], self._places(source))
        return self._paths[source].of(part, slot)

    def replace(self, at: int, **fields: object) -> None:
        """Give the message at that index other fields."""
        self.messages[at] = msgspec.structs.replace(self.messages[at], **fields)

    def remove(self, at: int, gone: Sequence[Part]) -> None:
        """Take parts out of the message at that index."""
        left = {id(part) for part in gone}
        self.replace(at, parts=tuple([part for part in self.messages[at].parts if id(part) not in left]))

    def keep(self, keep: Sequence[bool]) -> None:
        """Keep only those messages."""
        if not all(keep):
            self.messages = [message for message, kept in zip(self.messages, keep, strict=True) if kept]
            self.sources = [source for source, kept in zip(self.sources, keep, strict=True) if kept]


def rules_of(code: str, form: Format, limits: Limits, case: str = "") -> tuple[str, ...]:
    """The id of the rule behind a code, where there is one; of several, that of the case."""
    rule = form.rule_of.get(f"{code} {case}") if case else None
    rule = rule or limits.rules.get(code) or form.rule_of.get(code)
    return (rule,) if rule else ()


def as_text(part: Part) -> str:
    """A part as JSON text, for the report."""
    return as_json(msgspec.to_builtins(part))


def in_full(message: Message) -> str:
    """All that a message holds, for the report: its words, and what is no text as JSON."""
    return "\n".join(filter(None, [message.text, *[as_text(part) for part in message.parts if type(part) is not Text]]))


def as_json(value: object) -> str:
    """A value as JSON text for the report, which shows what is no JSON as best it can."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return repr(value)
