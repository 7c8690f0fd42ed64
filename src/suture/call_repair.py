"""Asking a model to correct calls of its own that cannot run: what it is asked, and which of its words are corrections.

The exchange is a conversation on the side: it never enters the history. A correction is taken by the id that it echoes,
else by the tool that it calls when only one call can be meant; anything ambiguous is no correction. Every correction is
checked again by whoever asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import msgspec

from suture.arguments import parse
from suture.errors import ConfigurationError
from suture.messages import Assistant, Message, Text, ToolCall, User
from suture.tools import Tool

# A function that corrects calls: called with the history, the calls by key and the tools by name, it returns the corrected
# calls by key. Plain or async.
Correct: TypeAlias = Callable[[tuple[Message, ...], dict[str, ToolCall], dict[str, Tool]], object]

_NAME = "correct_call"
_LONGEST_TEXT = 4_000
_LONGEST_SCHEMA = 8_000
_MOST_ROUNDS = 5


@dataclass(frozen=True)
class ToolCallRepair:
    """That a model is asked to correct calls that cannot run, how often at most for one turn, and which one is asked.

    `model` is a model's name or a `Model`, cheaper perhaps; None asks the agent's own.
    """

    rounds: int = 1
    model: object | None = None

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.rounds not in range(1, _MOST_ROUNDS + 1) or isinstance(self.rounds, bool):
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
    answering = _answering(tools, [_shown_id(one, malformed) for one in malformed])
    asked = User((Text(_question(malformed, tools, answering.name)),))
    return Side((*history, asked), (*tools.values(), answering))


def _answering(tools: Mapping[str, Tool], keys: list[str]) -> Tool:
    """The tool by which a model answers, under a name that no other tool has."""
    name = next(name for name in (_NAME, *(f"{_NAME}_{n}" for n in range(2, len(tools) + 3))) if name not in tools)
    properties = {
        "id": {"type": "string", "enum": keys, "description": "The id of the call, as listed."},
        "name": {"type": "string", "enum": list(tools), "description": "The exact name of the tool."},
        "arguments": {"type": "object", "description": "The corrected arguments, whole."},
    }
    parameters = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return Tool(name, "Correct one of the listed calls.", parameters, lambda arguments: arguments, effect="read")


def _question(malformed: Sequence[Malformed], tools: Mapping[str, Tool], answer_by: str) -> str:
    described = [_described(one, _shown_id(one, malformed), tools) for one in malformed]
    listed = "\n\n".join(f"{number}. {text}" for number, text in enumerate(described, 1))
    names = ", ".join(tools) or "(none)"
    return (
        "Some tool calls of your last turn could not be run as you made them:\n\n"
        f"{listed}\n\n"
        f"The tools are: {names}.\n\n"
        f"For each listed call that you can correct, call {answer_by!r} once, in the order of the list, with its id, "
        "the exact name of the tool and the corrected arguments. Leave out a call that should not be made or that you "
        "cannot correct. Call nothing else, and repeat no call that is not listed."
    )


def _shown_id(one: Malformed, malformed: Sequence[Malformed]) -> str:
    """The id by which a call is listed: the model's own, where that names it alone."""
    return one.call.id if len(_keys_named(one.call.id, malformed)) == 1 else one.key


def _described(one: Malformed, id: str, tools: Mapping[str, Tool]) -> str:
    sent = one.call.raw if one.call.raw is not None else json.dumps(one.call.arguments, ensure_ascii=False)
    lines = [
        f"id {id!r}: {one.call.name!r}",
        f"   sent: {_clipped(sent, _LONGEST_TEXT)}",
        f"   wrong: {one.reason}",
    ]
    if (tool := tools.get(one.call.name)) is not None:
        schema = json.dumps(tool.parameters, ensure_ascii=False, separators=(",", ":"))
        lines.append(f"   parameters of {tool.name!r}: {_clipped(schema, _LONGEST_SCHEMA)}")
    return "\n".join(lines)


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}... ({len(text) - most} more characters)"


# Being answered -------------------------------------------------------------------------------


class _Offered(NamedTuple):
    """A correction as it was offered; `echoes` says that its id is one that was asked about, not one of its own."""

    id: str
    name: str
    arguments: object
    echoes: bool = True


def corrections_of(reply: Assistant, malformed: Sequence[Malformed], tools: Collection[str]) -> dict[str, ToolCall]:
    """The corrections in a model's reply, by the key of the call: in calls of the tool to answer with, in calls of the
    tools themselves, or as JSON in its words.
    """
    if not reply.is_whole:
        return {}
    offered = [_offered_by(call) for call in reply.calls] or list(_offered_in(reply.text))
    return _matched(offered, malformed, lambda one: _keys_meant(one, malformed, tools))


def corrections_given(value: object, malformed: Sequence[Malformed]) -> dict[str, ToolCall]:
    """The corrections that a host's function returned: a mapping of keys or wire ids to calls, or to dicts of `name` and
    `arguments`. What is no mapping, and an entry without a name, is no correction; ids inside the entries do not count.
    """
    if not isinstance(value, Mapping):
        return {}
    offered = [_Offered(str(id), *_named(entry)) for id, entry in value.items()]
    return _matched([one for one in offered if one.name], malformed, lambda one: _keys_named(one.id, malformed))


def _named(entry: object) -> tuple[str, object]:
    if isinstance(entry, ToolCall):
        return entry.name, entry.raw if entry.arguments is None else entry.arguments
    if isinstance(entry, Mapping) and isinstance(name := entry.get("name"), str):
        return name, entry.get("arguments")
    return "", None


def _offered_by(call: ToolCall) -> _Offered:
    arguments = parse(call.raw if call.arguments is None else call.arguments).arguments or {}
    if arguments.keys() == {"id", "name", "arguments"} and call.name.startswith(_NAME):
        return _Offered(str(arguments["id"]), str(arguments["name"]), arguments["arguments"])
    return _Offered(call.id, call.name, call.raw if call.arguments is None else call.arguments, echoes=False)


def _offered_in(text: str) -> Iterator[_Offered]:
    """Corrections that came as JSON text: an object, or a list of objects, of `id`, `name` and `arguments`."""
    try:
        value = json.loads(text.strip().removeprefix("```json").removeprefix("```").removesuffix("```"))
    except (ValueError, RecursionError):
        return
    for entry in value if isinstance(value, list) else [value]:
        if isinstance(entry, dict) and {"id", "name", "arguments"} <= entry.keys():
            yield _Offered(str(entry["id"]), str(entry["name"]), entry["arguments"])


def _matched(
    offered: Iterable[_Offered], malformed: Sequence[Malformed], keys_of: Callable[[_Offered], list[str]]
) -> dict[str, ToolCall]:
    """For each call the one correction that can be meant for it."""
    found: dict[str, list[_Offered]] = {}
    for one in offered:
        if len(keys := keys_of(one)) == 1:
            found.setdefault(keys[0], []).append(one)
    calls = {one.key: one.call for one in malformed}
    return {key: _corrected(calls[key], each[0]) for key, each in found.items() if len(each) == 1}


def _keys_named(id: str, malformed: Sequence[Malformed]) -> list[str]:
    return [one.key for one in malformed if one.key == id] or [one.key for one in malformed if one.call.id == id]


def _keys_meant(one: _Offered, malformed: Sequence[Malformed], tools: Collection[str]) -> list[str]:
    """The calls that a correction can be meant for: that of its id, else of its tool, else of a tool that there is not.

    An id that was not asked for may be one by accident, as of servers that count from 0; then the tool must be the same.
    """
    named = _keys_named(one.id, malformed)
    if named and one.echoes:
        return named
    of_tool = [each.key for each in malformed if each.call.name == one.name]
    of_none = [each.key for each in malformed if each.call.name not in tools]
    meant = of_tool or of_none
    return [key for key in named if key in meant] or meant


def _corrected(call: ToolCall, one: _Offered) -> ToolCall:
    """The correction, under the id that the call had."""
    if isinstance(one.arguments, Mapping):
        return msgspec.structs.replace(call, name=one.name, arguments=dict(one.arguments), raw=None, error=None)
    raw = one.arguments if isinstance(one.arguments, str) else json.dumps(one.arguments, default=str)
    return msgspec.structs.replace(call, name=one.name, arguments=None, raw=raw, error=None)
