"""What only some targets demand of the tools of a request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from suture.formats.base import Json
from suture.formats.chat.found import Found
from suture.formats.chat.functions import offers
from suture.formats.chat.schemas import has_odd_properties


def listed(request: Json) -> Iterator[tuple[int, Json]]:
    """The functions among the tools, each with its index."""
    tools = request.get("tools")
    for at, tool in enumerate(tools if isinstance(tools, list) else ()):
        function = tool.get("function") if isinstance(tool, dict) else None
        if isinstance(function, dict):
            yield at, function


def descriptions(found: Found, request: Json, _messages: Sequence[Json]) -> None:
    """The description of a function is not too long."""
    most = found.limits.description_length or 0
    for at, function in listed(request):
        text = function.get("description")
        if isinstance(text, str) and len(text) > most:
            sentence = f"The description has {len(text)} characters; {most} are allowed."
            path = f"tools[{at}].function.description"
            found.add("SCHEMA_UNSUPPORTED", path, sentence, i=at, n=len(text), most=most)


def schemas(found: Found, request: Json, _messages: Sequence[Json]) -> None:
    """A function says which parameters it takes, in the form that the target reads."""
    for at, function in listed(request):
        path = f"tools[{at}].function.parameters"
        if found.limits.schemas == "given":
            if not function.get("parameters"):
                found.add("FIELD_MISSING", path, "The function does not say which parameters it takes.", i=at)
        elif has_odd_properties(function.get("parameters")):
            found.add("SCHEMA_UNSUPPORTED", path, "The 'properties' of the schema are no object.", i=at)


def undeclared(found: Found, request: Json, messages: Sequence[Json]) -> None:
    """Each tool that the history calls is among those of the request; of a history alone they are not known."""
    if request.keys() <= {"messages"}:
        return
    offered = {offer.name for offer in offers(request)}
    for index, message in enumerate(messages):
        calls = message.get("tool_calls") if message["role"] == "assistant" else None
        for at, call in enumerate(calls or ()):
            function = call.get("function")
            name = function.get("name") if isinstance(function, dict) else None
            if isinstance(name, str) and name not in offered:
                code = "NAME_UNDECLARED" if offered else "TOOLS_MISSING"
                sentence = f"The tool {name!r} is called and not among the tools of the request."
                path = f"messages[{index}].tool_calls[{at}].function.name"
                found.add(code, path, sentence, call.get("id"), i=index, j=at, name=name)
