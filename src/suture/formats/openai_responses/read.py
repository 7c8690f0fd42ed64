"""OpenAI's Responses, read: input items to neutral messages, losing nothing.

One assistant message holds what a model made in one turn: reasoning, messages and calls, in the order in which they
came. Behind a call, a message of the model's begins the next turn. What an item has beside its known keys is kept in
`ext["openai-responses"]`: for a message of the model's under `item` of the first of its parts. There, `content` says in
which other shape than ours the content came, `type` of which kind a call, an output or a text is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TypeAlias

from suture.arguments import Parsed, parse
from suture.formats.base import Decoded, Json
from suture.formats.openai_responses.items import NAME, PAYLOAD, call_id, place_of, plain_id, unpacked
from suture.formats.openai_responses.parts import fields_of, objects, part_of
from suture.formats.wire import JSON_TEXT, is_content, not_a_list, not_an_object, not_content, rest, text_id, value_text
from suture.messages import (
    Assistant,
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

_MESSAGE = frozenset(("type", "role", "content"))
_REASONING = frozenset(("type", "id", "encrypted_content"))
_FUNCTION = frozenset(("type", "call_id", "name", "arguments"))
_CUSTOM = frozenset(("type", "call_id", "name", "input"))
_OTHER_CALL = frozenset(("type", "call_id")) | PAYLOAD
_SAID = frozenset(("stdout", "stderr"))
_OUTPUT = frozenset(("type", "call_id", "output"))

_Reader: TypeAlias = Callable[[object], Parsed]


def decode(items: Sequence[Json], *, arguments: bool) -> Decoded:
    """The neutral messages, each with the index of its first item, and the index of the item behind each part."""
    return _Reading(items, parse if arguments else _unread).run()


def _unread(_text: object) -> Parsed:
    return Parsed(None)


class _Reading:
    """One reading of a list of items."""

    def __init__(self, items: Sequence[Json], read: _Reader) -> None:
        self.raw = items
        self.read = read
        self.messages: list[Message] = []
        self.homes: list[int] = []
        self.items: dict[int, int] = {}
        self.turn: list[tuple[int, tuple[Part, ...]]] = []
        self.called = False

    def run(self) -> Decoded:
        for index, item in enumerate(self.raw):
            match place_of(item):
                case "said":
                    self._emit(_said(item, index), index)
                case "output":
                    self._emit(_output(item, index), index)
                case "message":
                    begun = self._close_behind_call() if self.called else []
                    self.turn = begun or self.turn
                    self._add(index, _message(item, index, begins=not self._ends_in_words()))
                case "call":
                    self._add(index, (_call(item, self.read),))
                    self.called = True
                case "reasoning":
                    self._add(index, (_reasoning(item),))
                case "kept":
                    self._add(index, (Opaque(NAME, item),))
        self._close()
        return Decoded(self.messages, self.homes, self.items)

    def _add(self, index: int, parts: tuple[Part, ...]) -> None:
        self.turn.append((index, parts))
        for part in parts:
            self.items[id(part)] = index

    def _emit(self, message: Message, index: int) -> None:
        self._close()
        self.messages.append(message)
        self.homes.append(index)

    def _close(self) -> None:
        if self.turn:
            self.messages.append(Assistant(tuple([part for _, parts in self.turn for part in parts])))
            self.homes.append(self.turn[0][0])
            self.turn, self.called = [], False

    def _close_behind_call(self) -> list[tuple[int, tuple[Part, ...]]]:
        """Close the turn, but for the reasoning at its end, which led to what comes now."""
        at = len(self.turn)
        while at and type(self.turn[at - 1][1][0]) is Reasoning:
            at -= 1
        left = self.turn[at:]
        self.turn = self.turn[:at]
        self._close()
        return left

    def _ends_in_words(self) -> bool:
        """Whether words stand directly before, so that the next item has to say that it is another."""
        return bool(self.turn) and type(self.turn[-1][1][-1]) not in (Reasoning, ToolCall, Opaque)


# Messages -------------------------------------------------------------------------------------


def _said(raw: Json, index: int) -> Message:
    role = raw["role"]
    if role not in ("user", "system", "developer"):
        return User((Opaque(NAME, raw),))
    content = raw.get("content")
    shape: Json = {} if raw.get("type") == "message" else {"type": raw.get("type")}
    parts: tuple[Part, ...] = ()
    if isinstance(content, str):
        parts = (Text(content),)
    elif isinstance(content, list):
        parts = tuple([part_of(part) for part in objects(content, f"input[{index}].content")])
        shape["content"] = "list"
    elif content is None:
        shape["content"] = "null"
    else:
        raise not_content(content, f"input[{index}].content")
    if role == "developer":
        shape["role"] = role
    ext = _ext(raw, _MESSAGE, shape)
    return User(parts, None, ext) if role == "user" else System(parts, None, ext)


def _message(raw: Json, index: int, *, begins: bool) -> tuple[Part, ...]:
    """The parts of a message of the model's; at least one, which carries what the item has beside them."""
    content = raw.get("content")
    item = rest(raw, _MESSAGE)
    if raw.get("type") != "message":
        item["type"] = raw.get("type")
    parts: list[Part] = []
    if isinstance(content, str):
        parts = [Text(content)]
    elif isinstance(content, list):
        parts = [part_of(part) for part in objects(content, f"input[{index}].content")]
        item["content"] = "list" if parts else "none"
    elif content is None:
        item["content"] = "null"
    else:
        raise not_content(content, f"input[{index}].content")
    if any(type(part) is Opaque for part in parts):
        return (Opaque(NAME, raw),)
    if item or not begins:
        first = parts[0] if parts else Text("")
        parts[:1] = [_with(first, item)]
    return tuple(parts or [Text("")])


def _with(part: Part, item: Json) -> Part:
    """The part, carrying what its item has beside it."""
    match part:
        case Text(ext=ext):
            return Text(part.text, None, {NAME: {**_kept(ext), "item": item}})
        case Image(ext=ext):
            return Image(part.data, part.url, part.file_id, part.media_type, {NAME: {**_kept(ext), "item": item}})
        case File(ext=ext):
            kept: Ext = {NAME: {**_kept(ext), "item": item}}
            return File(part.data, part.url, part.file_id, part.media_type, part.name, kept)
    return part


def _kept(ext: Ext | None) -> Json:
    kept = (ext or {}).get(NAME)
    return kept if isinstance(kept, dict) else {}


# Reasoning, calls and outputs -----------------------------------------------------------------


def _reasoning(raw: Json) -> Reasoning:
    summary = raw.get("summary")
    content = raw.get("content")
    words = [
        part["text"]
        for part in (*(summary if isinstance(summary, list) else ()), *(content if isinstance(content, list) else ()))
        if isinstance(part, dict) and isinstance(part.get("text"), str)
    ]
    item_id, encrypted = raw.get("id"), raw.get("encrypted_content")
    known = _REASONING - {key for key in ("id", "encrypted_content") if key in raw and not isinstance(raw[key], str)}
    return Reasoning(
        "\n\n".join(words),
        encrypted=encrypted if isinstance(encrypted, str) else None,
        item_id=item_id if isinstance(item_id, str) else None,
        ext={NAME: {"type": "reasoning", **rest(raw, known | {"type"})}},
    )


def _call(raw: Json, read: _Reader) -> ToolCall:
    kind, wire_id, item_id = raw["type"], call_id(raw), raw.get("id")
    packed = unpacked(wire_id)
    own_id = item_id if isinstance(item_id, str) else packed[1] if packed and "id" not in raw else None
    known = {"id"} if own_id is not None else set()
    shape: Json = {} if kind == "function_call" else {"type": kind}
    id = plain_id(wire_id)
    if kind == "function_call":
        given = raw.get("arguments")
        text = given if isinstance(given, str) or given is None else json.dumps(given)
        parsed = Parsed(given) if isinstance(given, dict) else read(text)
        came = None if isinstance(given, dict) else text
        ext = _ext(raw, _FUNCTION | known, shape)
        return ToolCall(id, text_id(raw.get("name")), parsed.arguments, came, parsed.error, own_id, ext=ext)
    if kind == "custom_tool_call":
        ext = _ext(raw, _CUSTOM | known, shape)
        return ToolCall(id, text_id(raw.get("name")), {"input": raw.get("input")}, item_id=own_id, ext=ext)
    payload = {key: value for key, value in raw.items() if key in PAYLOAD}
    name = kind.removesuffix("_call")
    return ToolCall(id, name, payload, item_id=own_id, ext=_ext(raw, _OTHER_CALL | known, shape))


def _output(raw: Json, index: int) -> ToolResult:
    kind, output = raw["type"], raw.get("output")
    path = f"input[{index}].output"
    shape: Json = {} if kind == "function_call_output" else {"type": kind}
    error: bool | None = None
    parts: tuple[Part, ...] = ()
    if kind in ("shell_call_output", "tool_search_output", "computer_call_output"):
        parts, held = _held(raw, path)
        shape |= held
    elif not is_content(output, path):
        parts = (Text(value_text(output)),)
        shape["content"] = JSON_TEXT
    elif isinstance(output, str):
        parts = (Text(output),) if output else ()
    elif isinstance(output, list):
        parts = tuple([part_of(part) for part in objects(output, path)])
        shape["content"] = "list"
    else:
        shape["content"] = "null" if "output" in raw else "absent"
    if kind == "apply_patch_call_output":
        error = {"failed": True, "completed": False}.get(str(raw.get("status")))
    ext = _ext(raw, _OUTPUT | {"tools"} if kind == "tool_search_output" else _OUTPUT, shape)
    return ToolResult(parts=parts, ext=ext, call_id=plain_id(call_id(raw)), error=error)


def _held(raw: Json, path: str) -> tuple[tuple[Part, ...], Json]:
    """What an output that is no text says, and the whole of it as it came."""
    key = "tools" if raw["type"] == "tool_search_output" else "output"
    held = raw.get(key)
    if raw["type"] == "computer_call_output":
        if held is not None and not isinstance(held, dict):
            raise not_an_object(held, path)
        fields = fields_of(held or {}, {"image_url": "url", "file_id": "file_id"})
        return (Image(url=fields.get("url"), file_id=fields.get("file_id")),) if fields else (), {"held": held}
    if held is not None and not isinstance(held, list):
        raise not_a_list(held, path.replace("output", key))
    return words_of(held), {"held": held}


def words_of(held: object) -> tuple[Part, ...]:
    """The words of a shell's output, or of found tools."""
    chunks = [chunk for chunk in (held if isinstance(held, list) else ()) if isinstance(chunk, dict)]
    if any("stdout" in chunk or "stderr" in chunk for chunk in chunks):
        said = "".join(text_id(chunk.get(key)) for chunk in chunks for key in ("stdout", "stderr"))
    else:
        said = json.dumps(chunks, ensure_ascii=False) if chunks else ""
    return (Text(said),) if said else ()


def unworded(held: object) -> Json:
    """What an output held beside its words: how each command of a shell ended."""
    chunks = [chunk for chunk in (held if isinstance(held, list) else ()) if isinstance(chunk, dict)]
    ends = [rest(chunk, _SAID) for chunk in chunks if not chunk.keys().isdisjoint(_SAID)]
    return {"output": ends} if any(ends) else {}


def _ext(raw: Json, known: frozenset[str], shape: Json) -> Ext | None:
    extra = {**rest(raw, known), **shape}
    return {NAME: extra} if extra else None
