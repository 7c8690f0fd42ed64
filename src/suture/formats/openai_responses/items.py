"""What can be said of one input item of OpenAI's Responses by itself: what it is, whose it is, which id it has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from suture.formats.base import Json
from suture.formats.wire import text_id

NAME = "openai-responses"

# Who wrote an item: somebody who is no model ("said"), the model ("message", "call", "reasoning"), whoever ran a call
# ("output"). What only the provider understands is "kept" as it came and counts as the model's.
Place: TypeAlias = Literal["said", "message", "call", "output", "reasoning", "kept"]

# The calls that are for the caller to run, each with the kind of its output.
CALLS: Mapping[str, str] = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
    "tool_search_call": "tool_search_output",
}
OUTPUTS = frozenset(CALLS.values())

# What such a call asks for, where that is no text.
PAYLOAD = frozenset(("action", "actions", "operation", "arguments"))

# How the id of an item must begin.
PREFIXES: Mapping[str, str] = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}

# What only the provider runs; these items refer to its store by their ids.
SERVER_CALLS = frozenset(
    ("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call", "program")
)
# Of no use to anybody but the response that they came from.
OF_ONE_RESPONSE = SERVER_CALLS | frozenset(
    ("item_reference", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "program_output")
)
_SIGNS = frozenset((*CALLS, *OUTPUTS, *OF_ONE_RESPONSE, "reasoning", "compaction"))
PART_SIGNS = frozenset(("input_text", "input_image", "input_file", "output_text"))

_CALL_FIELDS = frozenset(("type", "id", "call_id", "name", "status", "caller", "namespace", "created_by"))
_OUTPUT_FIELDS = _CALL_FIELDS | {"output"}
# What each kind of item may carry; of a kind that is not listed nothing is known.
FIELDS: Mapping[str, frozenset[str]] = {
    "message": frozenset(("type", "role", "content", "id", "status", "phase", "created_by")),
    "reasoning": frozenset(("type", "id", "summary", "content", "encrypted_content", "status", "created_by")),
    "function_call": _CALL_FIELDS | {"arguments", "parsed_arguments"},
    "custom_tool_call": _CALL_FIELDS | {"input"},
    "function_call_output": _OUTPUT_FIELDS,
    "custom_tool_call_output": _OUTPUT_FIELDS,
}

# Two ids packed into one, as some programs store them: that of the call and that of its item.
_COMPOSITE = re.compile(r"([^|\s]+)\|((?:fc|ctc)[A-Za-z0-9_-]*)")


def place_of(item: Json) -> Place:
    """Who wrote the item."""
    kind = item.get("type")
    if kind is None or kind == "message":
        role = item.get("role")
        return "message" if role == "assistant" else "said" if isinstance(role, str) else "kept"
    if kind in CALLS:
        return "call" if _is_callers(item, kind) else "kept"
    if kind in OUTPUTS:
        return "output" if _is_callers(item, kind) else "kept"
    return "reasoning" if kind == "reasoning" else "kept"


def _is_callers(item: Json, kind: str) -> bool:
    """Whether the call is run by the caller; the provider searches for tools itself, too."""
    if not kind.startswith("tool_search"):
        return True
    return item.get("execution") == "client" or (item.get("execution") != "server" and item.get("call_id") is not None)


def sign_of(item: Json) -> str | None:
    """What in an item no other format has."""
    kind = item.get("type")
    if isinstance(kind, str) and kind in _SIGNS:
        return f"a {kind!r} item"
    content = item.get("content")
    for part in content if isinstance(content, list) else ():
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(kind, str) and kind in PART_SIGNS:
            return f"a {kind!r} part"
    return None


def is_reference(item: Json) -> bool:
    """Whether the item only names one that the provider has."""
    kind = item.get("type")
    return kind == "item_reference" or (kind is None and isinstance(item.get("id"), str) and item.keys() <= {"id", "type"})


def call_id(item: Json) -> str:
    """The id that call and output share; an older form of a shell's output has it as its own id."""
    id = text_id(item.get("call_id"))
    return id or (text_id(item.get("id")) if item.get("type") == "local_shell_call_output" else "")


def unpacked(id: str) -> tuple[str, str] | None:
    """The call's id and the item's, of two that were packed into one (X-ID-COMPOSITE)."""
    found = _COMPOSITE.fullmatch(id) if "|" in id else None
    return (found[1], found[2]) if found else None


def plain_id(id: str) -> str:
    """The call's id, without an item's that was packed into it."""
    return (unpacked(id) or (id,))[0]


def takes(output: str, call: str) -> bool:
    """Whether an output of that kind answers a call of that kind."""
    return CALLS[call] == output or (call == "local_shell_call" and output == "function_call_output")


def is_token(value: object) -> bool:
    """Whether it can be what a provider made: one text of visible characters."""
    return isinstance(value, str) and bool(value) and value.isascii() and value.isprintable() and " " not in value
