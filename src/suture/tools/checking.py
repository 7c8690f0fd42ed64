"""Whether a call may run. Received values are not echoed in what the model is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import msgspec

from suture.arguments import parse
from suture.messages import ToolCall
from suture.tools.definition import Tool
from suture.tools.violations import bounded, unknown_name


class Ready(NamedTuple):
    """The call may run."""

    call: ToolCall
    tool: Tool


class Gated(NamedTuple):
    """The call may run once a person has approved it."""

    call: ToolCall
    tool: Tool


class Refused(NamedTuple):
    """The call may not run, and why, for the model."""

    error_type: str
    reason: str


Verdict: TypeAlias = Ready | Gated | Refused


def screen(call: ToolCall, tools: Mapping[str, Tool]) -> Verdict:
    """Whether a model's call may run."""
    verdict = recheck(call, tools)
    if isinstance(verdict, Refused):
        return verdict
    try:
        gated = verdict.tool.gated(verdict.call.arguments or {})
    except Exception as error:  # noqa: BLE001  a predicate is the host's code: its failure refuses its call alone
        reason = f"Whether this call needs approval could not be found out ({type(error).__name__}), so it was not run."
        return Refused("approval_error", reason)
    return Gated(verdict.call, verdict.tool) if gated else verdict


def recheck(call: ToolCall, tools: Mapping[str, Tool]) -> Ready | Refused:
    """Whether a call that needs no further approval may run, by the tools and schemas of now."""
    found = tools.get(call.name)
    if found is None:
        return Refused("unknown_tool", unknown_name("tool", call.name, list(tools)) + ". The call was not run.")
    arguments, _, reason = parse(call.raw if call.arguments is None else call.arguments)
    if arguments is None:
        return Refused("validation_error", f"The arguments of {call.name!r} cannot be read: {reason} The call was not run.")
    if wrong := found.violations(arguments):
        return Refused("validation_error", bounded(call.name, wrong))
    return Ready(msgspec.structs.replace(call, arguments=arguments, raw=None, error=None), found)
