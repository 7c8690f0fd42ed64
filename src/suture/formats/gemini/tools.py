"""The functions that a request to Gemini declares: all of them in one entry of `tools`, as the API wants it.

The Python SDK takes the tools under `config`; there they are read and written when the request has them there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from suture.formats.base import Choice, Json, Left, Offer
from suture.formats.gemini.parts import CAMEL, field, spelling_of
from suture.formats.left import fields_left, tools_left, whole

_DECLARATIONS = "functionDeclarations"
_DECLARED = frozenset(("name", "description", "parameters", "parametersJsonSchema", "parameters_json_schema"))


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


# Modes of calling; one that holds answers to a schema has no like elsewhere.
_MODES: Mapping[object, Choice] = {"AUTO": Choice("auto"), "ANY": Choice("any"), "NONE": Choice("none")}
_WRITTEN = {choice.kind: mode for mode, choice in _MODES.items()}


def choice(request: Json) -> Choice | None:
    """Which functions the model may call, where the request says it in words that have a like elsewhere."""
    calling = _calling(_holder(request)[1])
    allowed = field(calling, "allowedFunctionNames")
    mode = calling.get("mode")
    found = _MODES.get(mode.upper()) if isinstance(mode, str) else None
    if not allowed:
        return found
    match allowed:
        case [str() as name] if found == Choice("any"):
            return Choice("named", name)
    return None


def with_choice(request: Json, choice: Choice) -> Json:
    """The request with that choice."""
    calling: Json = {"mode": _WRITTEN.get(choice.kind, "ANY")}
    if choice.kind == "named":
        calling["allowedFunctionNames"] = [choice.name]
    return _with(request, {"toolConfig": {"functionCallingConfig": calling}})


def left(request: Json) -> Iterator[Left]:
    """What neither offers nor choice hold; of the SDK's `config` all that is not about tools."""
    path, holder = _holder(request)
    yield from tools_left(holder.get("tools"), f"{path}tools", _left_of)
    config = field(holder, "toolConfig")
    key = f"{path}{spelling_of(holder, 'toolConfig')}"
    calling = _calling(holder)
    if isinstance(config, dict):
        yield from fields_left(config, {spelling_of(config, "functionCallingConfig")}, key)
        if calling and choice(request) is None:
            yield Left(f"{key}.{spelling_of(config, 'functionCallingConfig')}")
        else:
            yield from fields_left(calling, {"mode", spelling_of(calling, "allowedFunctionNames")}, key)
    elif config is not None:
        yield Left(key)
    beside = request.get("config")
    if isinstance(beside, dict):
        known = {"tools", spelling_of(holder, "toolConfig")} if beside is holder else set[str]()
        yield from (Left(f"config.{each}") for each in beside if each not in known)
    elif beside is not None:
        yield Left("config")


def _left_of(tool: Json, path: str) -> Iterator[Left]:
    """What of an entry of `tools` is no declared function: a tool of Google's under each other key."""
    for key in tool:
        if CAMEL.get(key, key) != _DECLARATIONS and tool[key] is not None:
            yield whole(path, key)
    for nth, declared in enumerate(_declared(tool)):
        place = f"{path}.{_DECLARATIONS}[{nth}]"
        if isinstance(declared, dict) and isinstance(declared.get("name"), str):
            yield from fields_left(declared, _DECLARED, place)
        else:
            yield whole(place)


def _calling(holder: Json) -> Json:
    config = field(holder, "toolConfig")
    calling = field(config, "functionCallingConfig") if isinstance(config, dict) else None
    return calling if isinstance(calling, dict) else {}


def _declared(tool: Json) -> list[object]:
    declared = field(tool, _DECLARATIONS)
    return declared if isinstance(declared, list) else []


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
