"""One block of Converse as a part, and a part as a block.

Bytes are base64 text in plain JSON, and Python `bytes` in what boto3 takes and gives. A part holds base64 text either
way; `ext["bedrock"]["came"]` says `bytes` where it came as those, and it is written back so.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from binascii import Error as NotBase64

from suture.formats.base import Json
from suture.formats.bedrock.blocks import is_known_thought, is_result, is_server_call, not_a_text
from suture.formats.wire import not_an_object, own, rest, text_id
from suture.messages import Audio, Ext, File, Image, Opaque, Part, Reasoning, Text, ToolCall

NAME = "bedrock"

# In `ext`: how the part came. `bytes`, the member of reasoning, or the whole block that a text was read from.
_CAME = "came"
_BLOCK = "block"
SHAPE = frozenset((_CAME, _BLOCK))

_CALL = frozenset(("toolUseId", "name", "input"))
_THOUGHT = frozenset(("text", "signature", "reasoningText"))
_MEDIA = frozenset(("format", "source"))
_DOCUMENT = frozenset(("format", "source", "name"))

IMAGES = frozenset(("png", "jpeg", "gif", "webp"))
_SOUNDS = {"mp3": "mp3", "mpeg": "mp3", "wav": "wav", "x-wav": "wav", "wave": "wav"}
DOCUMENTS = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "html": "text/html",
    "txt": "text/plain",
    "md": "text/markdown",
}
FORMATS = {kind: format for format, kind in DOCUMENTS.items()}

# Reading --------------------------------------------------------------------------------------


def part_of(block: Json, path: str) -> Part:
    """One block of one member as a part; a result is none.

    Raises:
        HistoryError: the member is of another type than its kind has.
    """
    if "text" in block:
        return _text(block, path)
    if "toolUse" in block:
        return _call(block, path)
    if "reasoningContent" in block:
        return _reasoning(block, path)
    match block:
        case {"image": {"format": str() as format, "source": {"bytes": str() | bytes() as data, **more}} as inner} if (
            format in IMAGES and not more
        ):
            return Image(_base64(data), media_type=f"image/{format}", ext=_ext(rest(inner, _MEDIA), data))
        case {"document": {"format": str() as format, "source": {"bytes": str() | bytes() as data, **more}} as inner} if (
            format in DOCUMENTS and not more and isinstance(inner.get("name"), str)
        ):
            ext = _ext(rest(inner, _DOCUMENT), data)
            return File(_base64(data), media_type=DOCUMENTS[format], name=inner["name"], ext=ext)
        case {"audio": {"format": str() as format, "source": {"bytes": str() | bytes() as data, **more}} as inner} if (
            not more
        ):
            return Audio(_base64(data), media_type=f"audio/{format}", ext=_ext(rest(inner, _MEDIA), data))
        case {"json": value}:
            words = json.dumps(value, ensure_ascii=False)
            return Text(words, ext={NAME: {_BLOCK: block}} if isinstance(value, dict) else None)
        case {"guardContent": _} | {"citationsContent": _} if words := _words_inside(block):
            return Text(words, ext={NAME: {_BLOCK: block}})
    return Opaque(NAME, block)


def words_in(block: object) -> str:
    """The words of a block that has some; blank for any other."""
    text = block.get("text") if isinstance(block, dict) else None
    return text if isinstance(text, str) else _words_inside(block)


def _words_inside(block: object) -> str:
    match block:
        case {"guardContent": {"text": {"text": str() as text}}} if text.strip():
            return text
        case {"citationsContent": {"content": list() as content}}:
            texts = [piece.get("text") for piece in content if isinstance(piece, dict)]
            said = "".join(text for text in texts if isinstance(text, str))
            return said if said.strip() else ""
    return ""


def _text(block: Json, path: str) -> Part:
    text = block["text"]
    if isinstance(text, str):
        return Text(text)
    if text is None:
        return Text("")
    raise not_a_text(text, f"{path}.text")


def _call(block: Json, path: str) -> Part:
    inner = block["toolUse"]
    if not isinstance(inner, dict):
        raise not_an_object(inner, f"{path}.toolUse")
    if is_server_call(block):
        return Opaque(NAME, block)
    given = inner.get("input")
    is_object = isinstance(given, dict)
    return ToolCall(
        text_id(inner.get("toolUseId")),
        text_id(inner.get("name")),
        given if is_object else None,
        raw=given if isinstance(given, str) else None if is_object or given is None else json.dumps(given),
        error=None if is_object else "invalid_arguments",
        ext=None if len(inner) == 3 else _ext(rest(inner, _CALL)),
    )


def _reasoning(block: Json, path: str) -> Part:
    inner = block["reasoningContent"]
    if not isinstance(inner, dict):
        raise not_an_object(inner, f"{path}.reasoningContent")
    if not is_known_thought(inner):
        return Opaque(NAME, block)
    if "redactedContent" in inner:
        data = inner["redactedContent"]
        came = "bytes" if isinstance(data, bytes) else "redactedContent"
        encrypted = _base64(data) if isinstance(data, str | bytes) else None
        return Reasoning(encrypted=encrypted, redacted=True, ext={NAME: {_CAME: came}})
    thought = inner.get("reasoningText")
    thought = thought if isinstance(thought, dict) else inner
    signature = thought.get("signature")
    ext: Json = {_CAME: "reasoningText", **rest(thought, _THOUGHT)}
    return Reasoning(text_id(thought.get("text")), signature if isinstance(signature, str) else None, ext={NAME: ext})


def _base64(data: str | bytes) -> str:
    return data if isinstance(data, str) else b64encode(data).decode()


def _ext(extra: Json, data: object = None) -> Ext | None:
    kept = {**extra, _CAME: "bytes"} if isinstance(data, bytes) else extra
    return {NAME: kept} if kept else None


# Writing --------------------------------------------------------------------------------------


def is_block(raw: object) -> bool:
    """Whether what was kept as it came may be sent as a block."""
    if not isinstance(raw, dict) or len(raw) != 1 or raw.keys() & {"text", "reasoningContent", "type"}:
        return False
    return is_server_call(raw) if "toolUse" in raw else not is_result(raw)


def block_of(part: Part) -> Json | None:
    """One part as a block; None where Converse has none for it."""
    if isinstance(part, Opaque):
        return part.raw if part.provider == NAME and isinstance(part.raw, dict) and part.raw else None
    kept = own(part.ext, NAME)
    extra = rest(kept, SHAPE)
    match part:
        case Text():
            came = kept.get(_BLOCK)
            return came if isinstance(came, dict) and _says(came, part.text) else {"text": part.text}
        case ToolCall():
            arguments = part.arguments if part.arguments is not None else {"_raw": part.raw or ""}
            return {"toolUse": {"toolUseId": part.id, "name": part.name, "input": arguments, **extra}}
        case Reasoning(redacted=True):
            return {"reasoningContent": {"redactedContent": _as_came(part.encrypted or "", kept)}}
        case Reasoning():
            signature = {} if part.signature is None else {"signature": part.signature}
            return {"reasoningContent": {"reasoningText": {"text": part.text, **signature, **extra}}}
        case Image():
            return _media("image", _image_format(part), part, extra)
        case File():
            named = {"name": part.name or "document", **extra}
            return _media("document", _document_format(part), part, named)
        case Audio():
            subtype = (part.media_type or "").removeprefix("audio/")
            return _media("audio", _SOUNDS.get(subtype, subtype) or None, part, extra)
    return None


def unsaid(kept: Json) -> Json:
    """What the block that a text was read from holds beside its words."""
    match kept.get(_BLOCK):
        case {"citationsContent": dict() as inner}:
            return rest(inner, frozenset(("content",)))
        case {"guardContent": inner}:
            return {"guardContent": inner}
    return {}


def _says(block: Json, text: str) -> bool:
    """Whether the block that a text was read from still says it."""
    said = json.dumps(block["json"], ensure_ascii=False) if "json" in block else _words_inside(block)
    return said == text


def _media(member: str, format: str | None, part: Image | File | Audio, extra: Json) -> Json | None:
    source = _source_of(part)
    return {member: {"format": format, **extra, "source": source}} if format and source else None


def _source_of(part: Image | File | Audio) -> Json | None:
    if part.data is not None:
        return {"bytes": _as_came(part.data, own(part.ext, NAME))}
    url = part.url or ""
    if url.startswith("s3://"):
        return {"s3Location": {"uri": url}}
    _, marked, data = url.partition(";base64,")  # OpenAI puts data into the address
    return {"bytes": data} if url.startswith("data:") and marked and data else None


def _as_came(data: str, kept: Json) -> str | bytes:
    """Base64 text, or the bytes that it stands for where it came as bytes."""
    if kept.get(_CAME) != "bytes":
        return data
    try:
        return b64decode(data, validate=True)
    except NotBase64:
        return data


def _kind_of(part: Image | File | Audio) -> str:
    """The media type of what a part holds; blank where nobody said."""
    url = part.url or ""
    return part.media_type or (url[5 : url.find(";")] if url.startswith("data:") and ";" in url else "")


def _image_format(part: Image) -> str | None:
    subtype = (_kind_of(part) or "image/png").removeprefix("image/")
    subtype = "jpeg" if subtype == "jpg" else subtype
    return subtype if subtype in IMAGES else None


def _document_format(part: File) -> str | None:
    """By media type, else by the ending of the name."""
    if (kind := _kind_of(part)) in FORMATS:
        return FORMATS[kind]
    ending = (part.name or "").rpartition(".")[2].lower()
    return ending if ending in DOCUMENTS else None if kind or "." in (part.name or "") else "pdf"
