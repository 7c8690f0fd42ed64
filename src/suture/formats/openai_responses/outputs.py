"""What answers a call, written as an item of the kind that the call wants."""

from __future__ import annotations

from collections.abc import Sequence

from suture.formats.base import Json
from suture.formats.openai_responses.items import CALLS, NAME, OUTPUTS
from suture.formats.openai_responses.parts import is_plain, part_wire
from suture.formats.openai_responses.read import words_of
from suture.formats.wire import own, rest
from suture.messages import Image, Part, Text, ToolResult

_SHAPE = frozenset(("type", "content", "held"))

# A picture in which nothing is to be seen, for a screen of which there is none.
BLANK = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="


def output_item(result: ToolResult, call: str) -> Json:
    """The output, of the kind in which it came, or else of the kind of its call."""
    kept, kind = own(result.ext, NAME), _kind(result, call)
    item: Json = {"type": kind, "call_id": result.call_id, **_said(result, kind, kept), **rest(kept, _SHAPE)}
    if kind == "local_shell_call_output" and "id" not in item:
        item["id"] = result.call_id
    return item


def _kind(result: ToolResult, call: str) -> str:
    """The kind that it came as; one that names none came as a function's, or is to answer its call."""
    kept = own(result.ext, NAME)
    kind = kept.get("type")
    if isinstance(kind, str) and kind in OUTPUTS:
        return kind
    is_real_of_shell = call == "local_shell_call" and result.synthetic is None
    return "function_call_output" if kept or is_real_of_shell else CALLS[call]


def _said(result: ToolResult, kind: str, kept: Json) -> Json:
    match kind:
        case "shell_call_output":
            same = kept.get("held") is not None and words_of(kept["held"]) == result.parts
            return {"output": kept["held"] if same else [_chunk(result)]}
        case "tool_search_output":
            return {"execution": "client", "tools": kept.get("held") or []}
        case "computer_call_output":
            return {"output": kept.get("held") or _screen(result)}
        case "apply_patch_call_output":
            empty = {"absent": {}, "null": {"output": None}}.get(str(kept.get("content")))
            output: Json = empty if empty is not None and not result.parts else {"output": result.text}
            return {"status": "failed" if result.error else "completed", **output}
        case "local_shell_call_output":
            return {"output": result.text}
    if kept.get("content") == "absent" and not result.parts:
        return {}
    return {"output": content_of("output", result.parts, kept.get("content"))}


def _chunk(result: ToolResult) -> Json:
    words = {"stdout": "", "stderr": result.text} if result.error else {"stdout": result.text, "stderr": ""}
    outcome = {"type": "exit", "exit_code": 1 if result.error else 0}
    return {**words, "outcome": {"type": "timeout"} if result.synthetic == "timeout" else outcome}


def _screen(result: ToolResult) -> Json:
    picture = next((part_wire(part, "output") for part in result.parts if type(part) is Image), None)
    given = {key: value for key, value in (picture or {}).items() if key in ("image_url", "file_id")}
    return {"type": "computer_screenshot", **(given or {"image_url": BLANK})}


def unsaid(result: ToolResult, call: str) -> str:
    """The words that an output of that kind has no place for: a screen is a picture, and tools are tools."""
    came = own(result.ext, NAME)
    return "" if came or _kind(result, call) not in ("computer_call_output", "tool_search_output") else result.text


def content_of(role: str, parts: Sequence[Part], shape: object) -> str | list[Json] | None:
    """The parts as one text; a list where there is more than words, or where one came."""
    if shape in ("none", "list") and not parts:
        return []
    if shape == "null" and not parts:
        return None
    if shape == "none" and [part.text for part in parts if type(part) is Text] == [""]:
        return []
    if not parts:
        return ""
    if shape != "list" and len(parts) == 1 and type(parts[0]) is Text and is_plain(parts[0]):
        return parts[0].text
    if role == "output" and shape != "list" and all(is_plain(part) for part in parts):
        return "\n".join(part.text for part in parts if type(part) is Text)
    return [wire for part in parts if (wire := part_wire(part, role)) is not None]
