"""The functions among the tools of a request in the chat form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from suture.formats.base import Json, Offer
from suture.formats.wire import EMPTY_SCHEMA


def offer(name: str, description: str, parameters: Json | None) -> Json:
    """A function as `tools` lists it."""
    function = {"name": name, "description": description, "parameters": parameters or EMPTY_SCHEMA}
    return {"type": "function", "function": function}


def offers(request: Json) -> list[Offer]:
    """The functions that have a name."""
    functions = [tool.get("function") for tool in _tools(request)]
    return [
        Offer(function["name"], str(function.get("description") or ""), _schema(function.get("parameters")))
        for function in functions
        if isinstance(function, dict) and isinstance(function.get("name"), str)
    ]


def with_offers(request: Json, offers: Sequence[Offer]) -> Json:
    """The request with these functions behind its tools."""
    given = request.get("tools")
    return {**request, "tools": [*(given if isinstance(given, list) else ()), *[offer(*each) for each in offers]]}


def with_functions(request: Json, fresh: Mapping[int, Json]) -> Json:
    """The request with other functions in the place of those of its tools, by index."""
    tools = [{**tool, "function": fresh[at]} if at in fresh else tool for at, tool in enumerate(request["tools"])]
    return {**request, "tools": tools}


def renamed(request: Json, names: Mapping[str, str]) -> Json:
    """The request with its functions, and the choice among them, under other names."""
    changed = dict(request)
    if _tools(request):
        changed["tools"] = [_renamed(tool, names) for tool in request["tools"]]
    if isinstance(request.get("tool_choice"), dict):
        changed["tool_choice"] = _renamed(request["tool_choice"], names)
    return changed


def _renamed(tool: object, names: Mapping[str, str]) -> object:
    function = tool.get("function") if isinstance(tool, dict) else None
    if not isinstance(tool, dict) or not isinstance(function, dict) or function.get("name") not in names:
        return tool
    return {**tool, "function": {**function, "name": names[function["name"]]}}


def _tools(request: Json) -> list[Json]:
    given = request.get("tools")
    return [tool for tool in given if isinstance(tool, dict)] if isinstance(given, list) else []


def _schema(value: object) -> Json | None:
    return value if isinstance(value, dict) else None
