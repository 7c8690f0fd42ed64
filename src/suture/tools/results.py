"""What handlers bring, as words that the log gives back as they were written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from suture.canonical import canonical, require_json
from suture.errors import Corrupt, NotJson
from suture.messages import (
    Assistant,
    Audio,
    File,
    Image,
    Part,
    Text,
    ToolCall,
    ToolResult,
    encode,
    message_from,
    parts_of,
)
from suture.tools.definition import Unbound
from suture.tools.violations import MAX_REASON_BYTES, said

M = TypeVar("M", Assistant, ToolResult)


def result_of(call: ToolCall, value: object) -> ToolResult:
    """What a handler returned, as the answer to its call, exactly as a log will give it back.

    A text stands as it is, None is an empty answer, parts and lists of parts stand as they are, a `ToolResult`
    gives its parts, `ui` and `error`; every other value becomes JSON text.

    Raises:
        NotJson: the value cannot be written down.
    """
    try:
        return as_logged(ToolResult, _answer(call, value))
    except NotJson:
        raise
    except Exception as error:
        raise NotJson(said(error)) from error


def _answer(call: ToolCall, value: object) -> ToolResult:
    if isinstance(value, ToolResult):
        require_json(value.ui)
        changed = {"parts": parts_of(value.parts), "call_id": call.id, "name": call.name, "error": bool(value.error)}
        return msgspec.structs.replace(value, **changed)
    return ToolResult(parts=_parts(value), call_id=call.id, name=call.name, error=False)


def failure_of(call: ToolCall, error_type: str, text: str) -> ToolResult:
    """An error that the model reads as the answer to its call."""
    return ToolResult(parts=(Text(text),), call_id=call.id, name=call.name, error=True, error_type=error_type)


def raised(call: ToolCall, error: Exception) -> ToolResult:
    """The answer to a call whose handler raised, or returned what cannot be sent."""
    if isinstance(error, Unbound):
        return failure_of(call, "validation_error", str(error))
    if isinstance(error, NotJson):
        text = f"The tool {call.name!r} ran, but its result cannot be written down: {said(error)}"
        return failure_of(call, "result_error", text[:MAX_REASON_BYTES])
    text = f"The tool {call.name!r} failed: {said(error)}. Check what it did before calling it again."
    return failure_of(call, "execution_error", text[:MAX_REASON_BYTES])


def _parts(value: object) -> tuple[Part, ...]:
    match value:
        case None:
            return ()
        case str():
            return (Text(value),) if value else ()
        case Text() | Image() | File() | Audio():
            return (value,)
        case list() | tuple() if value and all(isinstance(item, Text | Image | File | Audio) for item in value):
            return tuple(value)
        case _:
            require_json(value)  # first: it bounds the depth
            return (Text(canonical(_plain(value)).decode("utf-8", "replace")),)


# Words that the host made ---------------------------------------------------------------------


def as_logged(kind: type[M], message: M) -> M:
    """The message as a log gives it back: what is appended is what can be read.

    Raises:
        NotJson: it would not come back; names the place.
    """
    for index, part in enumerate(message.parts):
        if not isinstance(part, Part):
            raise NotJson(f"$.parts[{index}]: {type(part).__name__} is no part; wrap a text in suture.messages.Text.")
    try:
        logged = message_from(msgspec.json.decode(encode(_plain(message))))
    except NotJson:
        raise
    except Corrupt as error:
        raise NotJson(str(error)) from error
    except Exception as error:
        raise NotJson(said(error)) from error
    assert isinstance(logged, kind)
    return logged


def _plain(value: object, at: str = "$") -> object:
    """Plain JSON, of the exact types that every encoder takes; structs with their tags."""
    match value:
        case None | bool():
            return value
        case str():
            return str.__str__(value)
        case int():
            return int(value)
        case float():
            require_json(value, at)
            return float(value)
        case msgspec.Struct():
            fields = {name: _plain(getattr(value, name), f"{at}.{name}") for name in value.__struct_fields__}
            return _tag(value) | fields
        case Mapping():
            return {_key(key, at): _plain(item, f"{at}.{key}") for key, item in value.items()}
        case list() | tuple():
            return [_plain(item, f"{at}[{index}]") for index, item in enumerate(value)]
        case _:
            raise NotJson(f"{at}: {type(value).__name__} is not JSON; convert it to text, a list or a dict first.")


def _key(key: object, at: str) -> str:
    require_json({key: None}, at)
    return str.__str__(key)


def _tag(word: msgspec.Struct) -> dict[str, object]:
    config = word.__struct_config__
    return {config.tag_field: config.tag} if config.tag_field is not None else {}
