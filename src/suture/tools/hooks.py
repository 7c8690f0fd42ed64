"""What the host's own hooks say of a call: whether it may run, and what the model is to see of its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from suture.canonical import scrub
from suture.errors import NotJson
from suture.messages import ToolCall, ToolResult
from suture.tools.context import ToolContext
from suture.tools.results import failure_of, result_of
from suture.tools.words import MAX_REASON_BYTES

# A text from `before_tool` blocks the call and says why, and so does False, without a why; any other value lets it run.
# Both hooks may be plain or async functions.
BeforeTool: TypeAlias = Callable[[ToolCall, ToolContext], object]

# What `after_tool` returns stands instead of the result; None keeps it.
AfterTool: TypeAlias = Callable[[ToolCall, ToolResult, ToolContext], object]


def blocked_because(value: object) -> str | None:
    """Why `before_tool` blocks a call, for the model; None when it does not."""
    if value is False or (isinstance(value, str) and not value.strip()):
        return "The call was not run: it is not allowed here."
    if not isinstance(value, str):
        return None
    return scrub(f"The call was not run: {value}").encode()[:MAX_REASON_BYTES].decode(errors="ignore")


def unpermitted(error: Exception) -> str:
    """What the model is told when `before_tool` raised."""
    return f"Whether this call may run could not be found out ({type(error).__name__}), so it was not run."


def reviewed(call: ToolCall, result: ToolResult, value: object) -> ToolResult:
    """The result as `after_tool` has it. A failure stays one, whatever the replacement says."""
    if value is None:
        return result
    try:
        replacement = result_of(call, value)
    except NotJson as error:
        return unreviewed(call, error)
    if not result.error:
        return replacement
    return msgspec.structs.replace(replacement, error=True, error_type=result.error_type)


def unreviewed(call: ToolCall, error: Exception) -> ToolResult:
    """The answer to a call whose result `after_tool` failed to review, which nobody may see unreviewed."""
    text = (
        f"The tool {call.name!r} ran, but its result could not be passed on ({type(error).__name__}). "
        "Check what it did before calling it again."
    )
    return failure_of(call, "after_tool_error", text)
