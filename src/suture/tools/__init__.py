"""Tools: what a model may call, checked before it runs.

A tool is made from a typed function, from a class, or from a JSON schema: its name, its words and its parameters
are what the model sees and what its calls are checked against. A call that does not fit never reaches the handler;
its answer is a text from which the model can correct itself. Received values are not echoed in it.
"""

from suture.tools.binding import Binding
from suture.tools.call_check import CallCheck, check_call
from suture.tools.checking import Gated, Ready, Refused, Verdict, gate, prepare, recheck
from suture.tools.coercion import CallChange
from suture.tools.context import ToolContext
from suture.tools.definition import Gate, Handler, Tool, Unbound, is_coroutine_function, is_generator_function
from suture.tools.hooks import AfterTool, BeforeTool, blocked_because, reviewed, unpermitted, unreviewed
from suture.tools.making import tool
from suture.tools.media import trouble_among
from suture.tools.results import as_logged, failure_of, raised, result_of, spelled_out
from suture.tools.schemas import schema_violations

__all__ = [
    "AfterTool",
    "BeforeTool",
    "Binding",
    "CallChange",
    "CallCheck",
    "Gate",
    "Gated",
    "Handler",
    "Ready",
    "Refused",
    "Tool",
    "ToolContext",
    "Unbound",
    "Verdict",
    "as_logged",
    "blocked_because",
    "check_call",
    "failure_of",
    "gate",
    "is_coroutine_function",
    "is_generator_function",
    "prepare",
    "raised",
    "recheck",
    "result_of",
    "reviewed",
    "schema_violations",
    "spelled_out",
    "tool",
    "trouble_among",
    "unpermitted",
    "unreviewed",
]
