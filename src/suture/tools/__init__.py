"""Tools: what a model may call, checked before it runs.

A tool is made from a typed function: its name, its docstring and its parameters' types are what the model
sees and what its calls are checked against. A call that does not fit never reaches the function; its answer
is a text from which the model can correct itself. Received values are not echoed in it.
"""

from suture.tools.checking import Gated, Ready, Refused, Verdict, recheck, screen
from suture.tools.definition import Gate, Handler, Tool, ToolContext
from suture.tools.making import tool
from suture.tools.results import as_logged, failure_of, raised, result_of
from suture.tools.violations import schema_violations

__all__ = [
    "Gate",
    "Gated",
    "Handler",
    "Ready",
    "Refused",
    "Tool",
    "ToolContext",
    "Verdict",
    "as_logged",
    "failure_of",
    "raised",
    "recheck",
    "result_of",
    "schema_violations",
    "screen",
    "tool",
]
