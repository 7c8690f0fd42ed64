"""What a wire format is: how it is told from others, checked, read and written.

Formats are pure both ways and do no mending; `heal` does, by their limits. A wire message is an element of the list
that holds the history: a message, a content, or an input item.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

from suture.formats.limits import Limits
from suture.formats.rule import Finding, Rule, Severity
from suture.messages import Message, Part, System, ToolResult

Json: TypeAlias = dict[str, Any]


class Target(NamedTuple):
    """A wire format, and who will read it: a dialect or a model, when one was named."""

    format: str
    variant: str = ""

    def __str__(self) -> str:
        return f"{self.format}:{self.variant}" if self.variant else self.format


class Decoded(NamedTuple):
    """A history as neutral messages, each with the index of the wire message that it came from.

    Where one neutral message comes from several wire messages, its home is the first of them, and `items` holds the index
    of each by the identity of the part that it became.
    """

    messages: list[Message]
    homes: list[int]
    items: Mapping[int, int] = {}

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


class Offer(NamedTuple):
    """A tool as a request offers it to the model."""

    name: str
    description: str = ""
    parameters: Json | None = None  # its JSON schema


class Choice(NamedTuple):
    """Which tools a request lets its model call: `any` is one of them at least, `named` the one of that name."""

    kind: Literal["auto", "any", "none", "named"]
    name: str = ""


class Left(NamedTuple):
    """What a request says of tools that no `Offer` and no `Choice` holds: a field of what is at the path, or all of it.

    `name` is what all of it is called, as a reader knows it.
    """

    path: str
    field: str = ""
    value: object = None
    name: str = ""


class Settled(NamedTuple):
    """One thing that was done to a request beside its history; `lost` is the text that is gone.

    `case` tells rules of one code apart, as in the table of a format: `CACHE_MARKS empty`.
    """

    code: str
    path: str
    action: str
    detail: str = ""
    lost: Literal["none", "text", "call", "image"] = "none"
    case: str = ""


class Flaw(NamedTuple):
    """What is wrong with the content of a picture, sound or file: the code of the finding, and the words for it.

    `instead` is the part as it can only be meant; None where it cannot be sent. `severity` is that of the finding, where it
    is not the rule's.
    """

    code: str
    why: str
    instead: Json | None = None
    severity: Severity | None = None


class Format(Protocol):
    """One wire format."""

    name: ClassVar[str]
    key: ClassVar[str]  # what of a request holds the history
    head_keys: ClassVar[tuple[str, ...]]  # what of a request may hold system text beside it, the usual one first
    choice_path: ClassVar[str]  # where a request says which tools its model may call
    tool_keys: ClassVar[tuple[str, ...]]  # what of a request may hold its tools and the choice among them
    model_key: ClassVar[str]  # what of a request names its model; blank where that stands beside it
    dialects: ClassVar[frozenset[str]]  # who else reads the format, by the word behind the colon of a target
    rules: ClassVar[Mapping[str, Rule]]
    rule_of: ClassVar[Mapping[str, str]]  # code of a finding -> id of the rule behind it
    fields: ClassVar[frozenset[str]]  # what a message may carry beside what the neutral words name
    notes: ClassVar[frozenset[str]]  # what of `ext` only says in which shape something came
    bytes_under: ClassVar[frozenset[str]]  # keys of parts whose value may be Python bytes, as an SDK has them
    borrowed: ClassVar[frozenset[str]]  # types of parts that are others', and that healing reads where they stand

    def limits(self, variant: str) -> Limits:
        """What that dialect or model takes."""

    def misfit(self, message: Json) -> str | None:
        """Why it can be no message of this format, in words, such as `has no role`; None when it can."""

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

    def readable(self, part: Part) -> Part | None:
        """The part without what nothing can be read in; None where that is all of it, the very part where it is none."""

    def flaw(self, part: Part) -> Flaw | None:
        """What is wrong with the content of a picture, sound or file as it would be written; None where nothing is."""

    def part_of(self, raw: Json, /) -> Part:
        """A part as it stands in a message, read."""

    def is_sound(self, part: Part) -> bool:
        """Whether a part that is kept as it came could be read; what is not sound is no part of a request of our own."""

    def rewrite(self, raw: Sequence[Json], decoded: Decoded, written: Written) -> Rewritten:
        """The wire messages of a healed history; what did not change stays the very object that it was."""

    def places(self, raw: Sequence[Json], decoded: Decoded, home: int) -> dict[int, list[str]]:
        """For each decoded message that came from that wire message: its path, then those of its parts."""

    def beside(self, thing: Message | Part) -> Json:
        """What a message or part holds for this format alone, by its names there: all of `ext` but notes of shape."""

    # The request around the history

    def lift(self, request: Json, /) -> list[System]:
        """The system text that stands beside the messages."""

    def head(self, system: Sequence[System], /) -> Json:
        """What of a request holds system text that stands beside the messages."""

    def offer(self, name: str, description: str, parameters: Json) -> Json:
        """A tool as a request lists it; `parameters` is its JSON schema."""

    def offers(self, request: Json, /) -> list[Offer]:
        """The tools of the request that have a name and a schema; what the provider runs itself is none of them."""

    def with_offers(self, request: Json, offers: Sequence[Offer], /) -> Json:
        """The request with these tools behind its own."""

    def left(self, request: Json, /) -> list[Left]:
        """What the request says of its tools that neither its offers nor its choice hold."""

    def choice(self, request: Json, /) -> Choice | None:
        """Which tools the model may call; None where the request does not say, or says it in words of its own."""

    def with_choice(self, request: Json, choice: Choice, /) -> Json:
        """The request with that choice; as it is where the format cannot say so."""

    def renamed(self, request: Json, names: Mapping[str, str], /) -> Json:
        """The request with its tools, and the choice among them, under other names."""

    def settle(self, request: Json, limits: Limits, /) -> tuple[Json, list[Settled]]:
        """The request within the rules that are not about its history alone, and what was done for that."""


def is_whole(request: Json, form: Format) -> bool:
    """Whether it is a request, rather than a history alone: it holds more than messages and system text."""
    return not request.keys() <= {form.key, *form.head_keys}


def model_of(history: object, form: Format) -> str:
    """The model that a request itself names; blank where it names none, or is a history alone."""
    model = history.get(form.model_key) if isinstance(history, dict) else None
    return model if isinstance(model, str) else ""


def split(variant: str, dialects: Collection[str]) -> tuple[str, str]:
    """The dialect and the model of what stands behind the colon of a target; each blank where it is not named."""
    dialect, _, model = variant.partition(":")
    return (dialect, model) if dialect in dialects else ("", variant)
