"""A stream of Mistral's, put together: chunks as they come, and the whole message at the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from suture.errors import IncompleteStream
from suture.formats.base import Json
from suture.formats.wire import object_text


class Answer(NamedTuple):
    """The assistant message as it is sent back, why the model stopped, and what was counted, where that was said."""

    message: Json
    finish_reason: str
    usage: Json | None = None


def assembled(chunks: Iterable[Json]) -> Answer:
    """The whole answer of a stream; each chunk may stand under `data`, as Mistral's SDK hands it out.

    Raises:
        IncompleteStream: the stream ended without a `finish_reason`, or the model broke off.
    """
    assembly = Assembly()
    for chunk in chunks:
        assembly.add(chunk)
    return assembly.answer()


class Assembly:
    """One answer that is being streamed."""

    def __init__(self) -> None:
        self._content: list[Json] = []
        self._is_listed = False
        self._calls: list[Json] = []
        self._last_of: dict[object, Json] = {}
        self._finish: str | None = None
        self._usage: Json | None = None

    def add(self, chunk: Json) -> None:
        """Take in a chunk."""
        event = chunk.get("data")
        chunk = event if isinstance(event, dict) else chunk
        if isinstance(usage := chunk.get("usage"), dict):
            self._usage = usage
        for choice in chunk.get("choices") or ():
            if isinstance(choice, dict) and choice.get("index") in (0, None):
                delta = choice.get("delta") or choice.get("message")
                self._delta(delta if isinstance(delta, dict) else {})
                reason = choice.get("finish_reason")
                self._finish = self._finish or (reason if isinstance(reason, str) else None)

    def _delta(self, delta: Json) -> None:
        content = delta.get("content")
        if isinstance(content, str) and content:
            self._words(content)
        for chunk in content if isinstance(content, list) else ():
            if isinstance(chunk, dict):
                self._is_listed = True
                self._chunk(chunk)
        for piece in delta.get("tool_calls") or ():
            if isinstance(piece, dict):
                self._call(piece)

    def _words(self, text: str) -> None:
        last = self._content[-1] if self._content else {}
        if last.get("type") == "text":
            last["text"].append(text)
        else:
            self._content.append({"type": "text", "text": [text]})

    def _chunk(self, chunk: Json) -> None:
        """A chunk of content: text and thinking go on where they stopped, anything else stands alone."""
        last = self._content[-1] if self._content else {}
        match chunk:
            case {"type": "text", "text": str() as text} if len(chunk) == 2:
                self._words(text)
            case {"type": "thinking", "thinking": list() as pieces} if last.get("type") == "thinking":
                last["thinking"] += [piece for piece in pieces if isinstance(piece, dict)]
                last |= {key: value for key, value in chunk.items() if key != "thinking"}
            case {"type": "thinking", "thinking": list() as pieces}:
                self._content.append({**chunk, "thinking": [piece for piece in pieces if isinstance(piece, dict)]})
            case _:
                self._content.append(chunk)

    def _call(self, piece: Json) -> None:
        """A piece of a call: of that with its index, unless it brings another id; else of the last one."""
        key, id = piece.get("index"), _text(piece.get("id"))
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        call = self._last_of.get(key)
        if call is None or (id not in ("", "null") and call["id"] not in ("", "null", id)):
            call = {"id": id, "name": "", "arguments": []}
            self._calls.append(call)
        self._last_of[key] = call
        call["id"] = call["id"] if call["id"] not in ("", "null") else id
        call["name"] = call["name"] or _text(function.get("name"))
        given = function.get("arguments")
        call["arguments"].append(object_text(given) if isinstance(given, dict) else _text(given))

    def answer(self) -> Answer:
        """The whole answer.

        Raises:
            IncompleteStream: it has no `finish_reason`, or the model broke off.
        """
        if self._finish is None:
            raise IncompleteStream("Mistral ended its answer before it was whole, so none of it is kept. Ask again.")
        if self._finish == "error":
            raise IncompleteStream("Mistral broke its answer off, so none of it is kept. Ask again.")
        message: Json = {"role": "assistant", "content": self._whole()}
        if self._calls:
            message["tool_calls"] = [_whole_call(call) for call in self._calls]
        return Answer(message, self._finish, self._usage)

    def _whole(self) -> str | list[Json]:
        """The content: one text, unless chunks came."""
        chunks = [_whole_chunk(chunk) for chunk in self._content]
        return chunks if self._is_listed else "".join(chunk["text"] for chunk in chunks)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _whole_call(call: Json) -> Json:
    function = {"name": call["name"], "arguments": "".join(call["arguments"])}
    return {"id": call["id"], "type": "function", "function": function}


def _whole_chunk(chunk: Json) -> Json:
    match chunk:
        case {"type": "text", "text": list() as pieces}:
            return {**chunk, "text": "".join(pieces)}
        case {"type": "thinking"}:
            return {**chunk, "thinking": _joined(chunk["thinking"])}
    return chunk


def _joined(pieces: list[Json]) -> list[Json]:
    """Pieces of thinking, neighbouring texts as one."""
    out: list[Json] = []
    for piece in pieces:
        last = out[-1] if out else {}
        if _is_plain(last) and _is_plain(piece):
            last["texts"].append(piece["text"])
        else:
            out.append({**piece, "texts": [piece["text"]]} if _is_plain(piece) else piece)
    return [_settled(piece) for piece in out]


def _is_plain(piece: Json) -> bool:
    """Whether the piece is a text that goes on in the next."""
    return piece.get("type") == "text" and isinstance(piece.get("text"), str)


def _settled(piece: Json) -> Json:
    return {"type": "text", "text": "".join(piece["texts"])} if "texts" in piece else piece
