"""Passes over the shapes of content: null or an empty text, one text or a list."""

from __future__ import annotations

import msgspec

from suture.formats.wire import JSON_TEXT, own, without_key
from suture.healing.parts import is_message
from suture.healing.work import Lost, Work, as_text
from suture.messages import Assistant, Ext, Image, Message, Part, Reasoning, Text, ToolCall, ToolResult

_DATA = ";base64,"


def results_as_text(work: Work) -> None:
    """A result that came as JSON of another kind than results are is the text of it."""
    for at, message in enumerate(work.messages):
        if type(message) is ToolResult and any(_is_json_text(kept) for kept in (message.ext or {}).values()):
            if work.options.strict:
                work.note("RESULT_SHAPE", at, "wrote the result as JSON text", call=message.call_id)
            work.replace(at, ext=without_key(message.ext, work.format.name, "content"))


def _is_json_text(kept: object) -> bool:
    return isinstance(kept, dict) and kept.get("content") == JSON_TEXT


def shapes(work: Work) -> None:
    """Content has the shape that the target takes: beside calls, and where it is words alone."""
    limits = work.limits
    if limits.bare_calls == "any" and limits.text_lists:
        return
    for at, message in enumerate(work.messages):
        if limits.bare_calls != "any" and type(message) is Assistant and message.calls and not _content(message):
            _bare(work, at, message)
        if not limits.text_lists:
            _one_text(work, at)


def pictures_apart(work: Work) -> None:
    """Pictures stand in a field of their message, where its content is one text; all else that is no text is left out."""
    for at in range(len(work.messages)) if work.limits.images_apart else ():
        _move_pictures(work, at)


def _content(message: Message) -> list[Part]:
    return [part for part in message.parts if type(part) not in (ToolCall, Reasoning)]


def _bare(work: Work, at: int, message: Assistant) -> None:
    """The content of a message that only has calls."""
    name = work.format.name
    wanted = "empty" if work.limits.bare_calls == "text" else None
    shape = own(message.ext, name).get("content")
    if shape == wanted or (wanted is None and shape == "absent"):
        return
    if wanted is not None:
        if not work.options.strict:
            work.note("CONTENT_NULL", at, "wrote the content as an empty text")
        work.replace(at, ext=_with_shape(message.ext, name, wanted))
    else:
        if not work.options.strict:
            work.note("TEXT_EMPTY", at, "wrote the content as null")
        work.replace(at, ext=without_key(message.ext, name, "content"))


def _with_shape(ext: Ext | None, name: str, shape: str) -> Ext:
    return {**(ext or {}), name: {**own(ext, name), "content": shape}}


def _one_text(work: Work, at: int) -> None:
    """Words that stand in a list of parts, and marks on them, become one text."""
    message, name = work.messages[at], work.format.name
    content = _content(message)
    listed = own(message.ext, name).get("content") == "list"
    marked = [part for part in content if type(part) is Text and own(part.ext, name)]
    if not all(type(part) is Text for part in content) or not (listed or marked):
        return
    detail = "".join(as_text(part) for part in marked)
    work.note("CONTENT_SHAPE", at, "wrote the parts of the content as one text", detail=detail)
    parts = [msgspec.structs.replace(part, ext=None) if type(part) is Text else part for part in message.parts]
    work.replace(at, parts=tuple(parts), ext=without_key(message.ext, name, "content") if listed else message.ext)


def _move_pictures(work: Work, at: int) -> None:
    message, name = work.messages[at], work.format.name
    if is_message(message):
        return
    others = [part for part in _content(message) if type(part) is not Text]
    if not others:
        return
    data = [each for part in others if (each := _data_of(part))]
    for part in others:
        if not _data_of(part):
            lost: Lost = "image" if type(part) is Image else "text"
            work.note("CONTENT_SHAPE", at, "left out what is no text", part=part, detail=as_text(part), lost=lost)
    if data:
        work.note("CONTENT_SHAPE", at, "moved the pictures into 'images'", part=others[0])
        kept = own(message.ext, name)
        given = kept.get("images")
        images = [*(given if isinstance(given, list) else ()), *data]
        work.replace(at, ext={**(message.ext or {}), name: {**kept, "images": images}})
    work.remove(at, others)


def _data_of(part: Part) -> str | None:
    """The base64 of a picture that is at hand."""
    if type(part) is not Image:
        return None
    return part.data or (part.url.partition(_DATA)[2] if part.url and _DATA in part.url else None)
