"""The call and the tools that `check_call` was given; what only other providers have is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from suture.arguments import kind_of
from suture.errors import ConfigurationError
from suture.messages import ToolCall
from suture.tools.schemas import Schema

if TYPE_CHECKING:
    from typing_extensions import TypeIs


class Checkable(Protocol):
    """What a call is checked against: a tool, or the description of one."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def parameters(self) -> Mapping[str, object]:
        """The JSON schema of its arguments."""

    def violations(self, arguments: Mapping[str, object]) -> list[str]:
        """What is wrong with arguments, one sentence each; none when they fit."""


class Described(NamedTuple):
    """A tool that is only described: its name, and the schema of its arguments."""

    name: str
    parameters: Mapping[str, object]

    def violations(self, arguments: Mapping[str, object]) -> list[str]:
        """What is wrong with arguments by the schema."""
        return Schema(self.parameters, formats=False).violations(arguments)


# Where other providers have the arguments of a call, and the schema of a tool.
_OTHERS_ARGUMENTS = ("input", "args", "parameters", "params", "kwargs", "tool_input")
_OTHERS_SCHEMAS = (
    *("input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema", "schema", "json_schema"),
    *("args_schema", "inputParameters", "input_parameters"),
)


def call_of(given: object) -> ToolCall:
    """The call.

    Raises:
        ConfigurationError: it is none, or has its arguments under another provider's word.
    """
    if isinstance(given, ToolCall):
        return given
    call = _unwrapped_of(given, "function") if type(given) is dict or isinstance(given, Mapping) else None
    if call is None or ("name" not in call and "arguments" not in call):
        raise ConfigurationError(
            "check_call takes a ToolCall, or a dict of 'id', 'name' and 'arguments'; Chat Completions' own form of it too."
        )
    if foreign := _foreign(call, "arguments", _OTHERS_ARGUMENTS):
        raise ConfigurationError(
            f"The call has {foreign!r}, as other providers have it; check_call reads its arguments from 'arguments'."
        )
    id, name, arguments = call.get("id"), call.get("name"), call.get("arguments")
    id, name = id if isinstance(id, str) else "", name if isinstance(name, str) else ""
    if isinstance(arguments, dict):
        return ToolCall(id, name, arguments)
    if arguments is None or isinstance(arguments, str):
        return ToolCall(id, name, None, arguments)
    try:
        return ToolCall(id, name, None, json.dumps(arguments))
    except (TypeError, ValueError, RecursionError):
        raise ConfigurationError(
            f"The arguments of a call are JSON text, a dict or None, not {kind_of(arguments)}."
        ) from None


def listed_of(tools: object) -> Sequence[object]:
    """The tools one by one.

    Raises:
        ConfigurationError: they are no list of them.
    """
    if isinstance(tools, list):
        return tools
    if _is_checkable(tools) or (isinstance(tools, Mapping) and ("name" in tools or "function" in tools)):
        raise ConfigurationError("The tools to check a call against are a list of them; this is one: write [tool].")
    if isinstance(tools, Mapping):
        return list(tools.values())
    if isinstance(tools, str | bytes) or not isinstance(tools, Iterable):
        raise ConfigurationError(
            f"The tools to check a call against are a list of them, of Tools or dicts; not {kind_of(tools)}. "
            "Write [] where there are none."
        )
    return list(tools)


def by_name(tools: Iterable[object]) -> dict[str, Checkable]:
    """The tools by their names.

    Raises:
        ConfigurationError: one is none, has its schema under another provider's word, or has the name of another.
    """
    found: dict[str, Checkable] = {}
    for tool in map(_checkable, tools):
        if found.setdefault(tool.name, tool) != tool:
            raise ConfigurationError(f"Two tools have the name {tool.name!r}, so which one is called is not clear.")
    return found


def _checkable(tool: object) -> Checkable:
    if _is_checkable(tool):
        return tool
    if not isinstance(tool, Mapping):
        raise ConfigurationError(
            f"A tool to check calls against is a Tool or a dict of 'name' and 'parameters', not {kind_of(tool)}."
        )
    described = _unwrapped_of(tool, "function")
    name, parameters = described.get("name"), described.get("parameters")
    if foreign := _foreign(described, "parameters", _OTHERS_SCHEMAS):
        raise ConfigurationError(
            f"The tool {name!r} has {foreign!r}, as other providers have it; check_call reads its schema from 'parameters'."
        )
    if not isinstance(name, str) or not (parameters is None or isinstance(parameters, dict)):
        raise ConfigurationError("A tool to check calls against is a Tool, or a dict of 'name' and 'parameters'.")
    return Described(name, parameters or {})


def _is_checkable(tool: object) -> TypeIs[Checkable]:
    return not isinstance(tool, Mapping) and callable(getattr(tool, "violations", None))


def _foreign(given: Mapping[str, object], ours: str, others: Iterable[str]) -> str | None:
    """Another provider's word beside ours, with something else in it: nobody looks at what stands there."""
    return next((key for key in others if given.get(key) is not None and given[key] != given.get(ours)), None)


def _unwrapped_of(given: Mapping[str, object], key: str) -> Mapping[str, object]:
    """What Chat Completions wraps into a `function`, with what stands beside it."""
    inner = given.get(key)
    return {**given, **inner} if isinstance(inner, Mapping) else given
