"""The functions among the tools of a request to OpenAI's Responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from suture.formats.base import Json, Offer
from suture.formats.wire import EMPTY_SCHEMA

_NAMED = ("function", "custom")


def offer(name: str, description: str, parameters: Json | None) -> Json:
    """A function as `tools` lists it; strict schemas are another dialect of JSON schema, so it is none of them."""
    schema = parameters or EMPTY_SCHEMA
    return {"type": "function", "name": name, "description": description, "parameters": schema, "strict": False}


def offers(request: Json) -> list[Offer]:
    """The functions that have a name."""
    return [
        Offer(tool["name"], str(tool.get("description") or ""), _schema(tool.get("parameters")))
        for tool in _tools(request)
        if tool.get("type") == "function" and isinstance(tool.get("name"), str)
    ]


def with_offers(request: Json, offers: Sequence[Offer]) -> Json:
    """The request with these functions behind its tools."""
    given = request.get("tools")
    return {**request, "tools": [*(given if isinstance(given, list) else ()), *[offer(*each) for each in offers]]}


def renamed(request: Json, names: Mapping[str, str]) -> Json:
    """The request with its functions, and the choice among them, under other names."""
    changed = dict(request)
    if _tools(request):
        changed["tools"] = [_renamed(tool, names) for tool in request["tools"]]
    choice = request.get("tool_choice")
    if isinstance(choice, dict):
        changed["tool_choice"] = _renamed(choice, names)
        if isinstance(allowed := choice.get("tools"), list):
            changed["tool_choice"] = {**choice, "tools": [_renamed(tool, names) for tool in allowed]}
    return changed


def _renamed(tool: object, names: Mapping[str, str]) -> object:
    if not isinstance(tool, dict) or tool.get("type") not in _NAMED:
        return tool
    name = tool.get("name")
    return {**tool, "name": names[name]} if isinstance(name, str) and name in names else tool


def _tools(request: Json) -> list[Json]:
    given = request.get("tools")
    return [tool for tool in given if isinstance(tool, dict)] if isinstance(given, list) else []


def _schema(value: object) -> Json | None:
    return value if isinstance(value, dict) else None
