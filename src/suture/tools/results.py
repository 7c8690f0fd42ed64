"""What handlers bring, as words that the log gives back as they were written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from suture.canonical import canonical, require_json
from suture.errors import Corrupt, NotJson
from suture.messages import (
    Audio,
    File,
    Image,
    Message,
    Part,
    Text,
    ToolCall,
    ToolResult,
    encode,
    message_from,
    parts_of,
)
from suture.tools.definition import Unbound
from suture.tools.jsonable import json_of
from suture.tools.media import trouble_among
from suture.tools.words import MAX_REASON_BYTES, clipped, said

M = TypeVar("M", bound=Message)

MIB = 1024 * 1024

# What one result may hold: text and JSON, for the model and for the host, and the same with media (base64).
MAX_WORDS = 8 * MIB
MAX_ALL = 32 * MIB


def result_of(call: ToolCall, value: object) -> ToolResult:
    """What a handler returned, as the answer to its call, exactly as a log will give it back.

    A text stands as it is, None is an empty answer, parts stand as they are, and so do lists that hold a part (with their
    other items as texts); a `ToolResult` gives its content, `ui` and `error`; every other value becomes JSON text.

    Raises:
        NotJson: the value cannot be written down, is deeper than 64 levels, or is larger than a result may be: 8 MiB of
            text and JSON, and 32 MiB with the data of its images, files and sounds.
    """
    try:
        answer = as_logged(ToolResult, _answer(call, value))
        _require_bounds(answer)
        if len(encode(answer)) > MAX_ALL + MAX_WORDS:
            raise NotJson("what it carries beside its content is too large. Leave it out.")
        return answer
    except NotJson:
        raise
    except Exception as error:
        raise NotJson(said(error)) from error


def _answer(call: ToolCall, value: object) -> ToolResult:
    if isinstance(value, ToolResult):
        changed = {"parts": _content_of(value), "call_id": call.id, "name": call.name, "error": bool(value.error)}
        # A handler that returns has run, whatever it says; the log names its messages.
        changed |= {"synthetic": None, "id": None}
        return msgspec.structs.replace(value, ui=json_of(value.ui), **changed)
    return ToolResult(parts=_parts(value), call_id=call.id, name=call.name, error=False)


def _content_of(result: ToolResult) -> tuple[Part, ...]:
    """Its parts; what was given as its content and is no part stands alone in there."""
    match result.parts:
        case tuple((content,)) if not isinstance(content, Part):
            return _parts(content)
        case parts:
            return parts_of(parts)


def spelled_out(result: ToolResult) -> ToolResult:
    """The result with what was given as its content in parts.

    Raises:
        NotJson: the content cannot be written down.
    """
    if all(isinstance(part, Part) for part in result.parts):
        return result
    return msgspec.structs.replace(result, parts=_content_of(result))


def failure_of(call: ToolCall, error_type: str, text: str) -> ToolResult:
    """An error that the model reads as the answer to its call."""
    return ToolResult(parts=(Text(text),), call_id=call.id, name=call.name, error=True, error_type=error_type)


def raised(call: ToolCall, error: Exception) -> ToolResult:
    """The answer to a call whose handler raised, or returned what cannot be sent."""
    if isinstance(error, Unbound):
        return failure_of(call, "validation_error", str(error))
    if isinstance(error, NotJson):
        lead = f"The tool {call.name!r} ran, but its result cannot be written down: "
        return failure_of(call, "result_error", lead + clipped(said(error), MAX_REASON_BYTES))
    what = clipped(said(error), MAX_REASON_BYTES - 200)
    text = f"The tool {call.name!r} failed: {what}. Check what it did before calling it again."
    return failure_of(call, "execution_error", text)


def _parts(value: object) -> tuple[Part, ...]:
    match value:
        case None:
            return ()
        case str():
            return (Text(value),) if value else ()
        case Text() | Image() | File() | Audio():
            return (value,)
        case list() | tuple() if any(isinstance(item, Text | Image | File | Audio) for item in value):
            return tuple(part for item in value for part in _parts(item))
        case _:
            return (Text(canonical(json_of(value)).decode("utf-8", "replace")),)


# Bounds ---------------------------------------------------------------------------------------


def _require_bounds(answer: ToolResult) -> None:
    """Return when the result is no larger than a result may be, and each of its parts has something to show."""
    if trouble := trouble_among(answer.parts):
        raise NotJson(trouble)
    media = sum(len(part.data or "") for part in answer.parts if isinstance(part, Image | File | Audio))
    words = sum(map(_words, answer.parts)) + (0 if answer.ui is None else len(canonical(answer.ui)))
    if words > MAX_WORDS:
        raise NotJson(_too_large(words, "text and JSON", MAX_WORDS))
    if words + media > MAX_ALL:
        raise NotJson(_too_large(words + media, "text, JSON and media", MAX_ALL))


def _words(part: Part) -> int:
    """The bytes of a part beside its media."""
    match part:
        case Text():
            return len(part.text.encode())
        case Image() | File() | Audio():
            return len(encode(msgspec.structs.replace(part, data=None)))
        case _:
            return len(encode(part))


def _too_large(size: int, what: str, limit: int) -> str:
    return f"it holds {size:,} bytes of {what}, and the limit is {limit:,} ({limit // MIB} MiB). Ask for less."


# Words that the host made ---------------------------------------------------------------------


def as_logged(kind: type[M], message: M) -> M:
    """The message as a log gives it back: what is appended is what can be read.

    Raises:
        NotJson: it would not come back; names the place.
    """
    same = _read_back(message)
    if isinstance(same, kind):
        return same
    if not isinstance(message.parts, tuple | list):
        raise NotJson(f"$.parts: {type(message.parts).__name__} is no tuple of parts; `{kind.__name__}.of(...)` makes one.")
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


_decoder = msgspec.json.Decoder(Message)


def _read_back(message: Message) -> Message | None:
    """The message as it is read, when that is the same; None when somebody has to look at what it holds."""
    try:
        read = _decoder.decode(encode(message))
        return read if read == message else None
    except Exception:  # noqa: BLE001 - whatever a host put into it
        return None


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
