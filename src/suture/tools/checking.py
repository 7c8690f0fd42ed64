"""Whether a call may run. Received values are not echoed in what the model is told."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

import msgspec

from suture.arguments import parse
from suture.canonical import canonical
from suture.messages import ToolCall
from suture.tools.call_check import NotMeant, meant
from suture.tools.coercion import CallChange
from suture.tools.definition import Tool, Validate
from suture.tools.words import bounded, unknown_name


class Ready(NamedTuple):
    """The call may run. `fixed` is what it was mended to where only that could be meant, before it was normalised; None
    when the model made it so. `reason` is what was wrong with it then.
    """

    call: ToolCall
    tool: Tool
    fixed: ToolCall | None = None
    reason: str = ""


class Gated(NamedTuple):
    """The call may run once a person has approved it."""

    call: ToolCall
    tool: Tool


class Refused(NamedTuple):
    """The call may not run, and why, for the model."""

    error_type: str
    reason: str


Verdict: TypeAlias = Ready | Gated | Refused


def prepare(call: ToolCall, tools: Mapping[str, Tool]) -> Ready | Refused:
    """Whether a model's call may run if nobody has to approve it. What it can only have meant is read from it, its
    arguments are normalised, this once, then checked.
    """
    found = meant(call, tools)
    if isinstance(found, NotMeant):
        nameless = found.code.startswith("name_") or found.code == "unknown_tool"
        return Refused("unknown_tool" if nameless else "validation_error", found.reason)
    tool = tools[found.tool.name]
    if tool.normalize is not None:
        normal = _taken(call, found.read, tool, found.changes)
        if isinstance(normal, Ready) or not found.changes:
            return normal
    return _taken(call, found.call, tool, found.changes)


def _taken(made: ToolCall, call: ToolCall, tool: Tool, changes: Iterable[CallChange]) -> Ready | Refused:
    """The call, normalised and checked; `fixed` where it is not what the model made."""
    same = made.arguments is not None and canonical(made.arguments) == canonical(call.arguments)
    fixed = None if same and made.name == call.name else call
    reason = ", ".join(dict.fromkeys(change.code for change in changes)) if fixed is not None else ""
    normal = _normal(Ready(call, tool, fixed, reason))
    return normal if isinstance(normal, Refused) else _checked(normal)


def recheck(call: ToolCall, tools: Mapping[str, Tool]) -> Ready | Refused:
    """Whether a call that needs no further approval may run, by the tools and schemas of now; it is normal already."""
    read = _read(call, tools)
    return read if isinstance(read, Refused) else _checked(read)


def gate(ready: Ready) -> Verdict:
    """Whether a person has to approve a call that may run."""
    try:
        gated = ready.tool.gated(ready.call.arguments or {})
    except Exception as error:  # noqa: BLE001  a predicate is the host's code: its failure refuses its call alone
        reason = f"Whether this call needs approval could not be found out ({type(error).__name__}), so it was not run."
        return Refused("approval_error", reason)
    return Gated(ready.call, ready.tool) if gated else ready


def _read(call: ToolCall, tools: Mapping[str, Tool]) -> Ready | Refused:
    """The call with its arguments as a dict of their own."""
    found = tools.get(call.name)
    if found is None:
        return Refused("unknown_tool", unknown_name("tool", call.name, list(tools)) + ". The call was not run.")
    arguments, _, reason = parse(call.raw if call.arguments is None else call.arguments)
    if arguments is None:
        return Refused("validation_error", f"The arguments of {call.name!r} cannot be read: {reason} The call was not run.")
    return Ready(msgspec.structs.replace(call, arguments=arguments, raw=None, error=None), found)


def _normal(ready: Ready) -> Ready | Refused:
    """The call with the arguments that were meant."""
    call, tool = ready.call, ready.tool
    if tool.normalize is None:
        return ready
    try:
        given: object = tool.normalize(parse(call.arguments).arguments or {})
    except Exception as error:  # noqa: BLE001  it is the host's code: its failure refuses its call alone
        return _host_failure("normalize_error", call, "could not be normalised", type(error).__name__)
    normal = parse(given) if isinstance(given, Mapping) else None
    if normal is None or normal.arguments is None:
        _abandon(given)
        return _host_failure("normalize_error", call, "could not be normalised", "what came back is no JSON object")
    return ready._replace(call=msgspec.structs.replace(call, arguments=normal.arguments))


def _checked(ready: Ready) -> Ready | Refused:
    """The call, when its arguments fit the schema and the tool's own `validate` has nothing to say."""
    call, tool = ready.call, ready.tool
    arguments = call.arguments or {}
    if wrong := tool.violations(arguments):
        return Refused("validation_error", bounded(call.name, wrong))
    if tool.validate is None:
        return ready
    found = _validated(tool.validate, call)
    if isinstance(found, Refused):
        return found
    return Refused("validation_error", bounded(call.name, found)) if found else ready


def _validated(validate: Validate, call: ToolCall) -> list[str] | Refused:
    """What the host's code says is wrong."""
    try:
        said: object = validate(parse(call.arguments).arguments or {})
    except Exception as error:  # noqa: BLE001  it is the host's code: its failure refuses its call alone
        return _host_failure("validate_error", call, "could not be checked", type(error).__name__)
    match said:
        case None:
            return []
        case str():
            return [said] if said.strip() else []
        case list() | tuple() if all(isinstance(one, str) for one in said):
            return [one for one in said if one.strip()]
        case _:
            _abandon(said)
            return _host_failure("validate_error", call, "could not be checked", "what came back is no text")


def _host_failure(error_type: str, call: ToolCall, what: str, why: str) -> Refused:
    return Refused(error_type, f"The arguments of {call.name!r} {what} ({why}), so the call was not run.")


def _abandon(value: object) -> None:
    """A coroutine is no answer, and is not awaited."""
    if inspect.iscoroutine(value):
        value.close()
