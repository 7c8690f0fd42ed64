"""The tools of a request to Converse: `toolConfig`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from suture.formats.base import Json, Offer
from suture.formats.wire import EMPTY_SCHEMA


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
    given = request.get("toolConfig")
    config = given if isinstance(given, dict) else {}
    return {**request, "toolConfig": {**config, "tools": [*tools_of(request), *[offer(*each) for each in offers]]}}


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
    config = request.get("toolConfig")
    given = config.get("tools") if isinstance(config, dict) else None
    return given if isinstance(given, list) else []


def _renamed(holder: object, key: str, names: Mapping[str, str]) -> object:
    match holder:
        case {**fields} if isinstance(inner := fields.get(key), dict) and inner.get("name") in names:
            return {**fields, key: {**inner, "name": names[inner["name"]]}}
    return holder
