"""The tools of a request to Anthropic's Messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from suture.formats.base import Choice, Json, Left, Offer
from suture.formats.left import fields_left, tools_left, whole
from suture.formats.wire import EMPTY_SCHEMA

_TOOL = frozenset(("type", "name", "description", "input_schema"))
_CHOICE = frozenset(("type", "name"))


def offer(name: str, description: str, parameters: Json | None) -> Json:
    """A tool as `tools` lists it."""
    return {"name": name, "description": description, "input_schema": parameters or EMPTY_SCHEMA}


def offers(request: Json) -> list[Offer]:
    """The tools that have an input schema; those that Anthropic runs have none."""
    return [
        Offer(tool["name"], str(tool.get("description") or ""), tool["input_schema"])
        for tool in _tools(request)
        if isinstance(tool.get("name"), str) and isinstance(tool.get("input_schema"), dict)
    ]


def with_offers(request: Json, offers: Sequence[Offer]) -> Json:
    """The request with these tools behind its own."""
    given = request.get("tools")
    return {**request, "tools": [*(given if isinstance(given, list) else ()), *[offer(*each) for each in offers]]}


def choice(request: Json) -> Choice | None:
    """Which tools the model may call, where the request says so."""
    match request.get("tool_choice"):
        case {"type": "auto" | "any" | "none" as kind}:
            return Choice(kind)
        case {"type": "tool", "name": str() as name}:
            return Choice("named", name)
    return None


def with_choice(request: Json, choice: Choice) -> Json:
    """The request with that choice."""
    named = {"type": "tool", "name": choice.name}
    return {**request, "tool_choice": named if choice.kind == "named" else {"type": choice.kind}}


def left(request: Json) -> Iterator[Left]:
    """What neither offers nor choice hold."""
    yield from tools_left(request.get("tools"), "tools", _left_of)
    given = request.get("tool_choice")
    if isinstance(given, dict) and choice(request) is not None:
        yield from fields_left(given, _CHOICE, "tool_choice")
    elif given is not None:
        yield Left("tool_choice")


def _left_of(tool: Json, path: str) -> Iterator[Left]:
    if not isinstance(tool.get("name"), str) or not isinstance(tool.get("input_schema"), dict):
        yield whole(path, tool.get("name"), tool.get("type"))
        return
    yield from fields_left(tool, _TOOL if tool.get("type") == "custom" else _TOOL - {"type"}, path)


def renamed(request: Json, names: Mapping[str, str]) -> Json:
    """The request with its tools, and the choice among them, under other names."""
    changed = dict(request)
    if _tools(request):
        changed["tools"] = [
            {**tool, "name": names[tool["name"]]} if isinstance(tool, dict) and _is_in(tool.get("name"), names) else tool
            for tool in request["tools"]
        ]
    choice = request.get("tool_choice")
    if isinstance(choice, dict) and _is_in(choice.get("name"), names):
        changed["tool_choice"] = {**choice, "name": names[choice["name"]]}
    return changed


def _is_in(name: object, names: Mapping[str, str]) -> bool:
    return isinstance(name, str) and name in names


def _tools(request: Json) -> list[Json]:
    given = request.get("tools")
    return [tool for tool in given if isinstance(tool, dict)] if isinstance(given, list) else []
