"""Contents of Gemini's, read: to neutral messages, losing nothing.

What a part has beside the fields that have neutral names is kept in `ext["gemini"]`; `spelling` there says which keys came
as the Python SDK spells them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from suture.errors import HistoryError
from suture.formats.base import Decoded, Json
from suture.formats.gemini.parts import (
    CAMEL,
    NAME,
    Segment,
    field,
    inner,
    kinds,
    pictures_in,
    segments,
    signature_of,
    spelling_of,
    text_of,
)
from suture.formats.wire import object_text, rest, text_id
from suture.messages import (
    Assistant,
    Audio,
    Ext,
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    System,
    Text,
    ToolCall,
    ToolResult,
    User,
)

_CONTENT = frozenset(("role", "parts"))
# Roles beside the usual one; a blank one stands for none.
_UNUSUAL: dict[str, tuple[object, ...]] = {"user": (None, ""), "result": (None, "", "function", "tool")}


def decode(contents: Sequence[Json]) -> Decoded:
    """The neutral messages: of a content with results one for each, then one of the words beside them."""
    found: list[Message] = []
    homes: list[int] = []
    for index, content in enumerate(contents):
        made = [_plain(content)] if _is_plain(content) else _messages(content, f"contents[{index}]")
        found += made
        homes += [index] * len(made)
    return Decoded(found, homes)


def _is_plain(content: Json) -> bool:
    """Whether the content is one text of the user's or the model's, as most are."""
    parts = content.get("parts")
    if len(content) != 2 or content.get("role") not in ("user", "model") or type(parts) is not list or len(parts) != 1:
        return False
    part = parts[0]
    return type(part) is dict and len(part) == 1 and type(part.get("text")) is str


def _plain(content: Json) -> Message:
    text = Text(content["parts"][0]["text"])
    return User((text,)) if content["role"] == "user" else Assistant((text,))


def _messages(content: Json, path: str) -> list[Message]:
    found = segments(content, path)
    exts = [_content_ext(content, found[0].kind), *[None for _ in found[1:]]]
    return [_message(segment, path, ext) for segment, ext in zip(found, exts, strict=True)]


def _content_ext(content: Json, kind: str) -> Ext | None:
    """What a content has beside its parts, and how the role of its first message is written where that may be so."""
    extra = rest(content, _CONTENT)
    role = content.get("role", "")
    if role in _UNUSUAL.get(kind, ()):
        extra["role"] = role
    return {NAME: extra} if extra else None


def _message(segment: Segment, path: str, ext: Ext | None) -> Message:
    if segment.kind == "result":
        return _result(segment, path, ext)
    parts = tuple([part_of(piece.raw, f"{path}.parts[{piece.at}]") for piece in segment.pieces])
    match segment.kind:
        case "model":
            return Assistant(parts, None, ext)
        case "system":
            return System(parts, None, ext)
        case "user":
            return User(parts, None, ext)


# Parts ----------------------------------------------------------------------------------------


def part_of(raw: Json, path: str) -> Part:
    """A part that holds one thing. One that holds nothing is an empty text.

    Raises:
        HistoryError: what it holds is of the wrong type.
    """
    held = kinds(raw)
    match held[0] if held else "":
        case "text" | "":
            return _text(raw, path)
        case "functionCall":
            return _call(raw, path)
        case "inlineData" | "fileData" as kind:
            return _media(raw, kind, path)
    return Opaque(NAME, raw)


def _text(raw: Json, path: str) -> Text | Reasoning:
    text = text_of(raw, path)
    signature = signature_of(raw, path)
    if raw.get("thought") is True:
        kept = _kept(raw, "text", "thought", *_read(signature))
        return Reasoning(text or "", signature, ext={NAME: {"thought": True, **kept}})
    kept = _kept(raw, "text", *_read(signature)) if len(raw) > 1 or text is None else {}
    return Text(text or "", signature, {NAME: kept} if kept else None)


def _read(signature: str | None) -> tuple[str, ...]:
    return ("thoughtSignature",) if signature else ()


def _kept(raw: Json, *known: str) -> Json:
    """What a part has beside what was read, and how what was read is spelled."""
    names = {spelling_of(raw, key): key for key in known}
    extra = {key: value for key, value in raw.items() if key not in names}
    spelled = {key: name for name, key in names.items() if name in CAMEL}
    return {**extra, "spelling": spelled} if spelled else extra


def _call(raw: Json, path: str) -> ToolCall:
    call = inner(raw, "functionCall", path)
    given = call.get("args")
    is_object = isinstance(given, dict)
    own = signature_of(raw, path)
    signature = own or signature_of(call, f"{path}.functionCall")
    kept = _kept(raw, "functionCall", *_read(own)) if len(raw) > 1 or "functionCall" not in raw else {}
    known = {"name", "args", *_id_key(call), spelling_of(call, "thoughtSignature")}
    if more := rest(call, frozenset(known)):
        kept["functionCall"] = more
    if given is None:
        kept["args"] = "null" if "args" in call else "absent"
    return ToolCall(
        text_id(call.get("id")),
        text_id(call.get("name")),
        given if isinstance(given, dict) else {} if given is None else None,
        raw=None if is_object or given is None else given if isinstance(given, str) else _json(given, path),
        error=None if is_object or given is None else "invalid_arguments",
        signature=signature,
        ext={NAME: kept} if kept else None,
    )


def _media(raw: Json, kind: str, path: str) -> Image | Audio | File | Opaque:
    data = inner(raw, kind, path)
    media, body = field(data, "mimeType"), field(data, "data" if kind == "inlineData" else "fileUri")
    if not isinstance(body, str) or not (media is None or (isinstance(media, str) and media)):
        return Opaque(NAME, raw)
    names = ["data" if kind == "inlineData" else "fileUri", *(["mimeType"] if media is not None else [])]
    kept = _kept(raw, kind)
    more = _kept(data, *names)
    if spelled := more.pop("spelling", None):
        kept["spelling"] = {**kept.get("spelling", {}), **spelled}
    if more:
        kept[kind] = more
    if media is None:
        kept["mimeType"] = "absent"
    ext: Ext | None = {NAME: kept} if kept else None
    where = {"data": body} if kind == "inlineData" else {"url" if _is_open(body) else "file_id": body}
    if media is not None and media.startswith("image/"):
        return Image(**where, media_type=media, ext=ext)
    if media is not None and media.startswith("audio/"):
        return Audio(**where, media_type=media, ext=ext)
    return File(**where, media_type=media, ext=ext)


def _is_open(uri: str) -> bool:
    """Whether anybody can fetch it: it is no file that was uploaded to Google."""
    return uri.startswith(("https://", "http://")) and "generativelanguage.googleapis.com" not in uri


# Results --------------------------------------------------------------------------------------


def _result(segment: Segment, path: str, ext: Ext | None) -> ToolResult:
    """A result: its words, or its object as JSON text, and the pictures inside it or behind it."""
    first, *behind = segment.pieces
    path = f"{path}.parts[{first.at}]"
    response = inner(first.raw, "functionResponse", path)
    kept = _kept(first.raw, "functionResponse")
    known = {"name", "response", *_id_key(response)}
    beside = pictures_in(response, f"{path}.functionResponse")
    media: list[Part] = []
    if beside is not None:
        known.add("parts")
        media = [part_of(part, f"{path}.functionResponse.parts[{at}]") for at, part in enumerate(beside)]
        if not beside:
            kept["parts"] = "empty"
    media += [part_of(piece.raw, f"{path}.parts[{piece.at}]") for piece in behind]
    if more := rest(response, frozenset(known)):
        kept["functionResponse"] = more
    if ext is not None:
        kept["content"] = ext[NAME]
    words, error, whole = _said(response.get("response"), path)
    if whole is not None:
        kept["response"] = whole
    return ToolResult(
        parts=(*((Text(words),) if words else ()), *media),
        ext={NAME: kept} if kept else None,
        call_id=text_id(response.get("id")),
        name=text_id(response.get("name")) or None,
        error=error,
    )


def _said(response: object, path: str) -> tuple[str, bool | None, Json | None]:
    """The words of a response, whether it is an error, and its object where it is more than words."""
    match response:
        case None:
            return "", None, None
        case str():
            return response, None, None
        case {"output": str() as words, **others} if not others:
            return words, False, None
        case {"error": str() as words, **others} if not others:
            return words, True, None
        case dict():
            return _json(response, path), None, response
    whole = {"output": response}
    return _json(whole, path), None, whole


def _json(value: object, path: str) -> str:
    """A value as JSON text.

    Raises:
        HistoryError: it is none, such as bytes.
    """
    try:
        return object_text(value) if isinstance(value, dict) else json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise HistoryError(f"{path} holds a value that is not JSON ({error}). Pass plain JSON values.") from None


def _id_key(call: Json) -> tuple[str, ...]:
    """The key of an id that is there; one that is null is kept as it came."""
    return ("id",) if call.get("id") is not None else ()
