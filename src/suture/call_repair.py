"""Asking a model to correct calls of its own that cannot run: what it is asked, and which of its words are corrections.

The exchange is a conversation on the side: it never enters the history. A correction is taken by the id that it echoes,
or, when its id is new, by the tool that it calls when only one call of the turn can be meant; anything ambiguous is no
correction. Every correction is checked again by whoever asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import msgspec

from suture.arguments import Unreadable, parse, whole_copy
from suture.errors import ConfigurationError
from suture.messages import Assistant, Message, Text, ToolCall, User
from suture.tools import Tool

# A function that corrects calls: called with the history, the calls by key and the tools by name, it returns the corrected
# calls by key. Plain or async.
Correct: TypeAlias = Callable[[tuple[Message, ...], dict[str, ToolCall], dict[str, Tool]], object]

_NAME = "correct_call"
_MOST_ROUNDS = 5

# What one question holds at most, in calls and in characters; calls beyond are not asked about, and so not corrected.
_MOST_CALLS = 32
_LONGEST_LIST = 60_000
_LONGEST_TEXT = 4_000
_LONGEST_SCHEMA = 8_000
_LONGEST_REASON = 2_048
_LONGEST_NAMES = 4_000
_LONGEST_ID = 128


@dataclass(frozen=True)
class ToolCallRepair:
    """That a model is asked to correct calls that cannot run, how often at most for one turn, and which one is asked.

    `model` is a model's name or a `Model`, cheaper perhaps; None asks the agent's own.
    """

    rounds: int = 1
    model: object | None = None

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if type(self.rounds) is not int or self.rounds not in range(1, _MOST_ROUNDS + 1):
            raise ConfigurationError(f"The rounds of a ToolCallRepair are 1 to {_MOST_ROUNDS}, not {self.rounds!r}.")


class Malformed(NamedTuple):
    """A call that cannot run: its key, the call as the model made it last, and what is wrong with it."""

    key: str
    call: ToolCall
    reason: str


class Side(NamedTuple):
    """The conversation on the side: what is sent, and the tools that are offered in it."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]


# Asking ---------------------------------------------------------------------------------------


def side_conversation(history: Sequence[Message], malformed: Sequence[Malformed], tools: Mapping[str, Tool]) -> Side:
    """The history, and behind it the question how its calls are corrected; every tool, and one to answer with."""
    listed = _listed(malformed, tools)
    answering = _answering(tools, list(listed))
    asked = User((Text(_question(list(listed.values()), tools, answering.name)),))
    return Side((*history, asked), (*tools.values(), answering))


def _answering(tools: Mapping[str, Tool], ids: list[str]) -> Tool:
    """The tool by which a model answers, under a name that no other tool has."""
    properties = {
        "id": {"type": "string", "enum": ids, "description": "The id of the call, as listed."},
        "name": {"type": "string", "enum": list(tools), "description": "The exact name of the tool."},
        "arguments": {"type": "object", "description": "The corrected arguments, whole."},
    }
    parameters = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    described = "Correct one of the listed calls."
    return Tool(_answering_name(tools), described, parameters, lambda arguments: arguments, effect="read")


def _answering_name(tools: Collection[str]) -> str:
    return next(name for name in (_NAME, *(f"{_NAME}_{n}" for n in range(2, len(tools) + 3))) if name not in tools)


def _question(listed: Sequence[str], tools: Mapping[str, Tool], answer_by: str) -> str:
    numbered = "\n\n".join(f"{number}. {text}" for number, text in enumerate(listed, 1))
    names = _clipped(", ".join(tools) or "(none)", _LONGEST_NAMES)
    return (
        "Some tool calls of your last turn could not be run as you made them:\n\n"
        f"{numbered}\n\n"
        f"The tools are: {names}.\n\n"
        f"For each listed call that you can correct, call {answer_by!r} once, in the order of the list, with its id, "
        "the exact name of the tool and the corrected arguments. Leave out a call that should not be made or that you "
        "cannot correct. Call nothing else, and repeat no call that is not listed."
    )


def _listed(malformed: Sequence[Malformed], tools: Mapping[str, Tool]) -> dict[str, str]:
    """The calls that fit into one question, described, by the id that is shown; the schema of a tool stands with the
    first of its calls.
    """
    asked = _Asked(malformed)
    found: dict[str, str] = {}
    told: set[str] = set()
    left = _LONGEST_LIST
    for one in malformed[:_MOST_CALLS]:
        id = asked.shown_id(one)
        text = _described(one, id, None if one.call.name in told else tools.get(one.call.name))
        if len(text) > left:
            break
        left -= len(text)
        found[id] = text
        told.add(one.call.name)
    return found


def _described(one: Malformed, id: str, tool: Tool | None) -> str:
    sent = one.call.raw if one.call.raw is not None else json.dumps(one.call.arguments, ensure_ascii=False)
    lines = [
        f"id {id!r}: {one.call.name[:_LONGEST_ID]!r}",
        f"   sent: {_clipped(sent, _LONGEST_TEXT)}",
        f"   wrong: {_clipped(one.reason, _LONGEST_REASON)}",
    ]
    if tool is not None:
        schema = json.dumps(tool.parameters, ensure_ascii=False, separators=(",", ":"))
        lines.append(f"   parameters of {tool.name!r}: {_clipped(schema, _LONGEST_SCHEMA)}")
    return "\n".join(lines)


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}... ({len(text) - most} more characters)"


# What was asked about -------------------------------------------------------------------------


class _Asked:
    """The calls that cannot run, found by what an answer may name them by."""

    def __init__(self, malformed: Sequence[Malformed]) -> None:
        self.calls = {one.key: one.call for one in malformed}
        self._by_id: dict[str, list[str]] = {}
        for one in malformed:
            if one.call.id:
                self._by_id.setdefault(one.call.id, []).append(one.key)

    def named(self, id: str) -> list[str]:
        """The calls that an id names: a key, or the model's own."""
        return [id] if id in self.calls else self._by_id.get(id, [])

    def shown_id(self, one: Malformed) -> str:
        """The id by which a call is listed: the model's own, where that names it alone."""
        return one.call.id if len(one.call.id) <= _LONGEST_ID and self.named(one.call.id) == [one.key] else one.key


class _Turn(NamedTuple):
    """What else a correction could be meant for: the ids of all calls there are, and the tools of those that may run."""

    ids: set[str]
    names: set[str]


def _turn(history: Sequence[Message], asked: _Asked) -> _Turn:
    turns = [message.calls for message in history if isinstance(message, Assistant) and message.calls]
    names = {call.name for call in (turns[-1] if turns else ()) if not asked.named(call.id)}
    return _Turn({call.id for calls in turns for call in calls if call.id}, names)


# Being answered -------------------------------------------------------------------------------


class _Offered(NamedTuple):
    """A correction as it was offered; `echoes` says that its id is meant as one that was asked about, not as its own."""

    id: str
    name: str
    arguments: object
    echoes: bool = True


def corrections_of(
    reply: Assistant, malformed: Sequence[Malformed], tools: Collection[str], history: Sequence[Message]
) -> dict[str, ToolCall]:
    """The corrections in a model's reply, by the key of the call: in calls of the tool to answer with, in calls of the
    tools themselves, or as JSON in its words.
    """
    if not reply.is_whole:
        return {}
    answering = _answering_name(tools)
    offered = [_offered_by(call, answering) for call in reply.calls] or list(_offered_in(reply.text))
    asked = _Asked(malformed)
    meant = _Meaning(asked, tools, _turn(history, asked))
    return _matched([one for one in offered if one is not None], asked, meant.keys)


def corrections_given(value: object, malformed: Sequence[Malformed]) -> dict[str, ToolCall]:
    """The corrections that a host's function returned: a mapping of keys or wire ids to calls, or to dicts of `name` and
    `arguments`. What is no mapping, and an entry without a name or whose arguments are no JSON, is no correction; ids
    inside the entries do not count.
    """
    asked = _Asked(malformed)
    try:
        offered = list(_offered_from(value))
    except Exception:  # noqa: BLE001  the value is the host's, and may fail wherever it is looked at
        return {}
    return _matched(offered, asked, lambda one: asked.named(one.id))


def _offered_from(value: object) -> Iterator[_Offered]:
    for id, entry in value.items() if isinstance(value, Mapping) else ():
        name, arguments = _named(entry)
        if isinstance(id, str) and isinstance(name, str) and name:
            yield _Offered(id, name, _as_json(arguments))


def _named(entry: object) -> tuple[object, object]:
    if isinstance(entry, ToolCall):
        return entry.name, entry.raw if entry.arguments is None else entry.arguments
    return (entry.get("name"), entry.get("arguments")) if isinstance(entry, Mapping) else (None, None)


def _as_json(value: object) -> object:
    """A copy of a JSON value that is within the bounds; `_NO_JSON` of any other."""
    try:
        return whole_copy({"": value})[""]
    except Unreadable:
        return _NO_JSON


_NO_JSON = object()


def _offered_by(call: ToolCall, answering: str) -> _Offered | None:
    given = call.raw if call.arguments is None else call.arguments
    if call.name != answering:
        return _Offered(call.id, call.name, given, echoes=False)
    return _echoing(parse(given).arguments)


def _offered_in(text: str) -> Iterator[_Offered | None]:
    """Corrections that came as JSON text: an object, or a list of objects, of `id`, `name` and `arguments`."""
    try:
        value = json.loads(text.strip().removeprefix("```json").removeprefix("```").removesuffix("```"))
    except (ValueError, RecursionError):
        return
    for entry in value if isinstance(value, list) else [value]:
        yield _echoing(entry)


def _echoing(entry: object) -> _Offered | None:
    """A correction that names its call, its tool and its arguments itself."""
    match entry:
        case {"id": str(id), "name": str(name), "arguments": arguments}:
            return _Offered(id, name, _as_json(arguments))
        case _:
            return None


def _matched(offered: Iterable[_Offered], asked: _Asked, keys_of: Callable[[_Offered], list[str]]) -> dict[str, ToolCall]:
    """For each call the one correction that can be meant for it."""
    found: dict[str, list[_Offered]] = {}
    for one in offered:
        if len(keys := keys_of(one)) == 1:
            found.setdefault(keys[0], []).append(one)
    single = {key: each[0] for key, each in found.items() if len(each) == 1 and each[0].arguments is not _NO_JSON}
    return {key: _corrected(asked.calls[key], one) for key, one in single.items()}


class _Meaning:
    """Which calls a model's correction can be meant for."""

    def __init__(self, asked: _Asked, tools: Collection[str], turn: _Turn) -> None:
        self.asked = asked
        self.turn = turn
        self.of_none = [key for key, call in asked.calls.items() if call.name not in tools]
        self.of_tool: dict[str, list[str]] = {}
        for key, call in asked.calls.items():
            self.of_tool.setdefault(call.name, []).append(key)

    def keys(self, one: _Offered) -> list[str]:
        """The calls of its id; where that is a new one of its own, those of its tool, else those of no tool.

        An id that names another call of the history is no correction: it repeats that call. Nor is a call of a tool that
        a valid call of the turn has too.
        """
        named = self.asked.named(one.id)
        if one.echoes:
            return named
        if named:
            return [key for key in named if self.asked.calls[key].name == one.name]
        if one.id in self.turn.ids or one.name in self.turn.names:
            return []
        return self.of_tool.get(one.name) or self.of_none


def _corrected(call: ToolCall, one: _Offered) -> ToolCall:
    """The correction, under the id that the call had."""
    if isinstance(one.arguments, Mapping):
        return msgspec.structs.replace(call, name=one.name, arguments=dict(one.arguments), raw=None, error=None)
    raw = one.arguments if isinstance(one.arguments, str) else json.dumps(one.arguments)
    return msgspec.structs.replace(call, name=one.name, arguments=None, raw=raw, error=None)
