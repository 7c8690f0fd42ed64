"""The functions among the tools of a request in the chat form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from suture.formats.base import Choice, Json, Left, Offer
from suture.formats.left import fields_left, tools_left, whole
from suture.formats.wire import EMPTY_SCHEMA

_TOOL = frozenset(("type", "function"))
_FUNCTION = frozenset(("name", "description", "parameters"))


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


# The words for a choice; Mistral has one of its own for `required`.
_WORDS: Mapping[object, Choice] = {
    "auto": Choice("auto"),
    "none": Choice("none"),
    "required": Choice("any"),
    "any": Choice("any"),
}
_WRITTEN = {"auto": "auto", "none": "none", "any": "required"}


def choice(request: Json) -> Choice | None:
    """Which functions the model may call, where the request says it in words that have a like elsewhere."""
    match request.get("tool_choice"):
        case str() as word:
            return _WORDS.get(word)
        case {"type": "function", "function": {"name": str() as name}}:
            return Choice("named", name)
    return None


def with_choice(request: Json, choice: Choice) -> Json:
    """The request with that choice."""
    named = {"type": "function", "function": {"name": choice.name}}
    return {**request, "tool_choice": _WRITTEN.get(choice.kind, named)}


def left(request: Json) -> Iterator[Left]:
    """What neither offers nor choice hold."""
    yield from tools_left(request.get("tools"), "tools", _left_of)
    if request.get("tool_choice") is not None and choice(request) is None:
        yield Left("tool_choice")


def _left_of(tool: Json, path: str) -> Iterator[Left]:
    function = tool.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        custom = tool.get("custom")
        yield whole(path, custom.get("name") if isinstance(custom, dict) else None, tool.get("name"), tool.get("type"))
        return
    known = _FUNCTION if _schema(function.get("parameters")) is not None else _FUNCTION - {"parameters"}
    yield from fields_left(function, known, path)
    yield from fields_left(tool, _TOOL, path)


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
