"""The functions among the tools of a request to OpenAI's Responses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from suture.formats.base import Choice, Json, Left, Offer
from suture.formats.left import fields_left, tools_left, whole
from suture.formats.wire import EMPTY_SCHEMA

_FUNCTION = frozenset(("type", "name", "description", "parameters"))
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


_WORDS: Mapping[object, Choice] = {"auto": Choice("auto"), "none": Choice("none"), "required": Choice("any")}
_WRITTEN = {choice.kind: word for word, choice in _WORDS.items()}


def choice(request: Json) -> Choice | None:
    """Which tools the model may call, where the request says it in words that have a like elsewhere."""
    match request.get("tool_choice"):
        case str() as word:
            return _WORDS.get(word)
        case {"type": "function", "name": str() as name}:
            return Choice("named", name)
    return None


def with_choice(request: Json, choice: Choice) -> Json:
    """The request with that choice."""
    return {**request, "tool_choice": _WRITTEN.get(choice.kind, {"type": "function", "name": choice.name})}


def left(request: Json) -> Iterator[Left]:
    """What neither offers nor choice hold."""
    yield from tools_left(request.get("tools"), "tools", _left_of)
    if request.get("tool_choice") is not None and choice(request) is None:
        yield Left("tool_choice")


def _left_of(tool: Json, path: str) -> Iterator[Left]:
    if tool.get("type") != "function" or not isinstance(tool.get("name"), str):
        yield whole(path, tool.get("name"), tool.get("type"))
        return
    known = _FUNCTION if _schema(tool.get("parameters")) is not None else _FUNCTION - {"parameters"}
    yield from fields_left(tool, known, path)


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
