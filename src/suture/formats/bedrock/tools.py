"""The tools of a request to Converse: `toolConfig`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from suture.formats.base import Choice, Json, Left, Offer
from suture.formats.left import fields_left, tools_left, whole
from suture.formats.wire import EMPTY_SCHEMA

_SPEC = frozenset(("name", "description", "inputSchema"))
_CONFIG = frozenset(("tools", "toolChoice"))


def offer(name: str, description: str, parameters: Json | None) -> Json:
    """A tool as `toolConfig.tools` lists it; a blank description is refused, so there is none then."""
    words = {"description": description} if description else {}
    return {"toolSpec": {"name": name, **words, "inputSchema": {"json": parameters or EMPTY_SCHEMA}}}


def offers(request: Json) -> list[Offer]:
    """The tools that have a specification; those that Bedrock runs have none."""
    found = []
    for tool in tools_of(request):
        match tool:
            case {"toolSpec": {"name": str() as name, "inputSchema": {"json": dict() as schema}} as spec}:
                found.append(Offer(name, str(spec.get("description") or ""), schema))
    return found


def with_offers(request: Json, offers: Sequence[Offer]) -> Json:
    """The request with these tools behind its own."""
    config = config_of(request)
    return {**request, "toolConfig": {**config, "tools": [*tools_of(request), *[offer(*each) for each in offers]]}}


def choice(request: Json) -> Choice | None:
    """Which tools the model may call, where the request says so."""
    match config_of(request).get("toolChoice"):
        case {"auto": _}:
            return Choice("auto")
        case {"any": _}:
            return Choice("any")
        case {"tool": {"name": str() as name}}:
            return Choice("named", name)
    return None


def with_choice(request: Json, choice: Choice) -> Json:
    """The request with that choice; as it is for none at all, which Converse cannot say."""
    if choice.kind == "none":
        return request
    says: Json = {"tool": {"name": choice.name}} if choice.kind == "named" else {choice.kind: {}}
    return {**request, "toolConfig": {**config_of(request), "toolChoice": says}}


def left(request: Json) -> Iterator[Left]:
    """What neither offers nor choice hold."""
    config = config_of(request)
    if not config and request.get("toolConfig"):
        yield Left("toolConfig")
    yield from tools_left(config.get("tools"), "toolConfig.tools", _left_of)
    if config.get("toolChoice") is not None and choice(request) is None:
        yield Left("toolConfig.toolChoice")
    yield from fields_left(config, _CONFIG, "toolConfig")


def _left_of(tool: Json, path: str) -> Iterator[Left]:
    """A tool, a mark for the cache among the tools, or a tool that Bedrock runs."""
    match tool:
        case {"toolSpec": {"name": str(), "inputSchema": {"json": dict()}} as spec}:
            yield from fields_left(spec, _SPEC, path)
        case {"cachePoint": mark}:
            yield Left(path, "cachePoint", mark)
        case _:
            inner = next((each for each in tool.values() if isinstance(each, dict)), {})
            yield whole(path, inner.get("name"), next(iter(tool), None))


def config_of(request: Json) -> Json:
    """The request's `toolConfig`."""
    config = request.get("toolConfig")
    return config if isinstance(config, dict) else {}


def renamed(request: Json, names: Mapping[str, str]) -> Json:
    """The request with its tools, and the choice among them, under other names."""
    config = request.get("toolConfig")
    if not isinstance(config, dict):
        return request
    changed = dict(config)
    if tools := tools_of(request):
        changed["tools"] = [_renamed(tool, "toolSpec", names) for tool in tools]
    if isinstance(choice := config.get("toolChoice"), dict):
        changed["toolChoice"] = _renamed(choice, "tool", names)
    return {**request, "toolConfig": changed}


def tools_of(request: Json) -> list[object]:
    """What `toolConfig` lists."""
    given = config_of(request).get("tools")
    return given if isinstance(given, list) else []


def _renamed(holder: object, key: str, names: Mapping[str, str]) -> object:
    match holder:
        case {**fields} if isinstance(inner := fields.get(key), dict) and inner.get("name") in names:
            return {**fields, key: {**inner, "name": names[inner["name"]]}}
    return holder
