"""The functions that a request to Gemini declares: all of them in one entry of `tools`, as the API wants it.

The Python SDK takes the tools under `config`; there they are read and written when the request has them there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from suture.formats.base import Json, Offer
from suture.formats.gemini.parts import field, spelling_of

_DECLARATIONS = "functionDeclarations"


def declaration(name: str, description: str, parameters: Json | None) -> Json:
    """A function as it is declared; one that takes nothing has no schema, since the API refuses an empty object."""
    schema = {"parametersJsonSchema": parameters} if parameters and parameters.get("properties") else {}
    return {"name": name, "description": description, **schema}


def declarations(request: Json) -> Iterator[tuple[str, Json]]:
    """Each declaration of the request, with its path."""
    path, holder = _holder(request)
    tools = holder.get("tools")
    for at, tool in enumerate(tools if isinstance(tools, list) else ()):
        declared = field(tool, _DECLARATIONS) if isinstance(tool, dict) else None
        for nth, each in enumerate(declared if isinstance(declared, list) else ()):
            if isinstance(each, dict):
                yield f"{path}tools[{at}].{_DECLARATIONS}[{nth}]", each


def offers(request: Json) -> list[Offer]:
    """The declared functions that have a name."""
    found = [declared for _, declared in declarations(request)]
    return [
        Offer(each["name"], str(each.get("description") or ""), _schema(each))
        for each in found
        if isinstance(each.get("name"), str)
    ]


def with_offers(request: Json, offers: Sequence[Offer]) -> Json:
    """The request with these functions behind its own."""
    fresh = [declaration(*each) for each in offers]
    _, holder = _holder(request)
    tools = holder.get("tools")
    tools = list(tools) if isinstance(tools, list) else []
    for at, tool in enumerate(tools):
        if isinstance(tool, dict) and isinstance(declared := field(tool, _DECLARATIONS), list):
            tools[at] = {**tool, spelling_of(tool, _DECLARATIONS): [*declared, *fresh]}
            return _with(request, {"tools": tools})
    return _with(request, {"tools": [*tools, {_DECLARATIONS: fresh}]})


def renamed(request: Json, names: Mapping[str, str]) -> Json:
    """The request with its functions, and the choice among them, under other names."""
    _, holder = _holder(request)
    changed: Json = {}
    if isinstance(tools := holder.get("tools"), list):
        changed["tools"] = [_renamed(tool, names) for tool in tools]
    key = spelling_of(holder, "toolConfig")
    if isinstance(config := holder.get(key), dict):
        changed[key] = _chosen(config, names)
    return _with(request, changed) if changed else request


def _renamed(tool: object, names: Mapping[str, str]) -> object:
    declared = field(tool, _DECLARATIONS) if isinstance(tool, dict) else None
    if not isinstance(tool, dict) or not isinstance(declared, list):
        return tool
    fresh = [_under_new_name(each, names) for each in declared]
    return {**tool, spelling_of(tool, _DECLARATIONS): fresh}


def _under_new_name(declared: object, names: Mapping[str, str]) -> object:
    name = declared.get("name") if isinstance(declared, dict) else None
    return (
        {**declared, "name": names[name]}
        if isinstance(declared, dict) and isinstance(name, str) and name in names
        else declared
    )


def _chosen(config: Json, names: Mapping[str, str]) -> Json:
    calling = field(config, "functionCallingConfig")
    allowed = field(calling, "allowedFunctionNames") if isinstance(calling, dict) else None
    if not isinstance(calling, dict) or not isinstance(allowed, list):
        return config
    fresh = {
        **calling,
        spelling_of(calling, "allowedFunctionNames"): [
            names.get(name, name) if isinstance(name, str) else name for name in allowed
        ],
    }
    return {**config, spelling_of(config, "functionCallingConfig"): fresh}


def _holder(request: Json) -> tuple[str, Json]:
    """What of the request holds its tools, and the path to it."""
    config = request.get("config")
    return ("config.", config) if isinstance(config, dict) and "tools" not in request else ("", request)


def _with(request: Json, changed: Json) -> Json:
    _, holder = _holder(request)
    return {**request, **changed} if holder is request else {**request, "config": {**holder, **changed}}


# Schemas --------------------------------------------------------------------------------------


def _schema(declared: Json) -> Json | None:
    """The JSON schema of a function's parameters; `parameters` has a dialect of its own."""
    schema = field(declared, "parametersJsonSchema")
    if isinstance(schema, dict):
        return schema
    schema = declared.get("parameters")
    return _as_json_schema(schema) if isinstance(schema, dict) else None


def _as_json_schema(schema: Json) -> Json:
    """The schema with the names of types in small letters, and null among them where a value may be that."""
    top: Json = {}
    waiting: list[tuple[Json, Json]] = [(schema, top)]
    while waiting:
        given, fresh = waiting.pop()
        for key, value in given.items():
            fresh[key] = _copied(value, waiting)
        kind = given.get("type")
        if isinstance(kind, str):
            nullable = fresh.pop("nullable", False) is True
            fresh["type"] = [kind.lower(), "null"] if nullable else kind.lower()
    return top


def _copied(value: object, waiting: list[tuple[Json, Json]]) -> object:
    """The value, its objects empty until their turn comes."""
    if isinstance(value, dict):
        fresh: Json = {}
        waiting.append((value, fresh))
        return fresh
    if isinstance(value, list):
        return [_copied(item, waiting) if isinstance(item, dict) else item for item in value]
    return value
