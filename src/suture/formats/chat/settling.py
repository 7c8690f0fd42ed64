"""What of a request beside its history has to have another form: its tools, and arguments that are objects."""

from __future__ import annotations

from suture.arguments import parse
from suture.formats.base import Json, Settled
from suture.formats.chat.functions import with_functions
from suture.formats.chat.schemas import has_odd_properties, with_properties
from suture.formats.chat.tools import listed
from suture.formats.limits import Limits
from suture.formats.wire import EMPTY_SCHEMA


def settled(request: Json, limits: Limits) -> tuple[Json, list[Settled]]:
    """The request as the target takes it, and what was done for that; the same object where nothing had to be."""
    if limits.arguments == "object":
        request = {**request, "messages": [_with_objects(message) for message in request["messages"]]}
    fresh: dict[int, Json] = {}
    done: list[Settled] = []
    for at, function in listed(request):
        changed = _described(function, at, limits, done)
        changed = _with_schema(changed, at, limits, done)
        if changed is not function:
            fresh[at] = changed
    return (with_functions(request, fresh) if fresh else request), done


def _described(function: Json, at: int, limits: Limits, done: list[Settled]) -> Json:
    text, most = function.get("description"), limits.description_length
    if most is None or not isinstance(text, str) or len(text) <= most:
        return function
    path = f"tools[{at}].function.description"
    done.append(Settled("SCHEMA_UNSUPPORTED", path, f"cut the description to {most} characters", text, "text"))
    return {**function, "description": f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"}


def _with_schema(function: Json, at: int, limits: Limits, done: list[Settled]) -> Json:
    schema, path = function.get("parameters"), f"tools[{at}].function.parameters"
    if limits.schemas == "given" and not schema:
        done.append(Settled("FIELD_MISSING", path, "said that the function takes no parameters"))
        return {**function, "parameters": EMPTY_SCHEMA}
    if limits.schemas == "maps" and isinstance(schema, dict) and has_odd_properties(schema):
        done.append(Settled("SCHEMA_UNSUPPORTED", path, "wrote 'properties' that were no object as an empty one"))
        return {**function, "parameters": with_properties(schema)}
    return function


def _with_objects(message: Json) -> Json:
    """The message with the arguments of its calls as objects; the same object where they are."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not any(_is_text(call) for call in calls):
        return message
    return {**message, "tool_calls": [_with_object(call) if _is_text(call) else call for call in calls]}


def _is_text(call: Json) -> bool:
    function = call.get("function")
    return isinstance(function, dict) and isinstance(function.get("arguments"), str)


def _with_object(call: Json) -> Json:
    """The call with its arguments read; text that holds no object stays, for the check to find."""
    function = call["function"]
    given = parse(function["arguments"]).arguments
    return call if given is None else {**call, "function": {**function, "arguments": given}}
