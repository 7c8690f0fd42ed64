"""A stream of generateContent, put together: pieces as they come, and at the end the content as it must be sent back.

Gemini checks the signatures of what it is sent back against the parts that they came with. So only texts without one are
joined, parts keep their order, and a part that carries nothing but a signature stays one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from suture.errors import ContentRefused, IncompleteStream, InvalidAnswer
from suture.formats.base import Json
from suture.formats.gemini.parts import field, holds, kinds
from suture.formats.wire import kind_of

_TEXT_ALONE = frozenset(("text", "thought"))


class Answer(NamedTuple):
    """A whole answer: the content as it is to be sent back, why the model stopped, and its count of tokens as it came."""

    content: Json
    finish_reason: str
    usage: Json
    response_id: str | None = None
    model_version: str | None = None


class Assembly:
    """One answer that is being streamed, in either spelling. Chunks are taken as they are and never changed."""

    def __init__(self) -> None:
        self._parts: list[Json] = []
        self._texts: list[str] = []  # of the last part, while it grows
        self._finish: str | None = None
        self._usage: Json = {}
        self._id: str | None = None
        self._version: str | None = None

    def add(self, chunk: object) -> list[Json]:
        """Take in a chunk; the parts that it adds to the answer.

        Raises:
            ContentRefused: the prompt was blocked, so there is no answer.
            InvalidAnswer: it has a shape that no answer has, or holds half a call.
        """
        given = _object(chunk, "a chunk")
        self._about(given)
        if (candidate := _first(given)) is None:
            return []
        if isinstance(reason := field(candidate, "finishReason"), str):
            self._finish = reason
        content = candidate.get("content")
        if content is None:
            return []
        parts = _object(content, "the content").get("parts") or []
        if not isinstance(parts, list):
            raise InvalidAnswer(f"The parts of the answer are {kind_of(parts)}, not a list, so none of it was kept.")
        fresh = [_object(part, "a part") for part in parts]
        for part in fresh:
            self._take(part)
        return fresh

    def answer(self) -> Answer:
        """The whole answer.

        Raises:
            IncompleteStream: the stream ended without a finish reason.
        """
        if self._finish is None:
            raise IncompleteStream("Gemini ended its answer without a finish reason, so none of it was kept. Ask again.")
        self._close()
        content: Json = {"role": "model", "parts": list(self._parts)}
        return Answer(content, self._finish, dict(self._usage), self._id, self._version)

    def _about(self, chunk: Json) -> None:
        """What a chunk says beside the answer."""
        usage = field(chunk, "usageMetadata")
        if usage is not None:
            self._usage |= {key: value for key, value in _object(usage, "the usage").items() if value is not None}
        self._id = _text(field(chunk, "responseId")) or self._id
        self._version = _text(field(chunk, "modelVersion")) or self._version
        feedback = field(chunk, "promptFeedback")
        if feedback is not None and (reason := field(_object(feedback, "the feedback"), "blockReason")):
            raise ContentRefused(f"Gemini refused the prompt ({reason}). Change what was said.")

    def _take(self, part: Json) -> None:
        if not kinds(part) and not holds(part, "thoughtSignature"):
            return
        if part.get("text") == "" and not holds(part, "thoughtSignature"):
            return
        _require_whole(part)
        if self._parts and _is_text_alone(part) and _is_text_alone(self._parts[-1]) and _same_sort(self._parts[-1], part):
            self._texts.append(part["text"])
            return
        self._close()
        self._parts.append({"text": "", **part} if not kinds(part) else part)
        self._texts = [part["text"]] if _is_text_alone(part) else []

    def _close(self) -> None:
        """The last part as one text."""
        if len(self._texts) > 1:
            self._parts[-1] = {**self._parts[-1], "text": "".join(self._texts)}
            self._texts = self._texts[:0]


def assemble(chunks: Iterable[object]) -> Answer:
    """The whole answer of a stream that has ended.

    Raises:
        IncompleteStream, ContentRefused, InvalidAnswer: as `Assembly`.
    """
    assembly = Assembly()
    for chunk in chunks:
        assembly.add(chunk)
    return assembly.answer()


def _first(chunk: Json) -> Json | None:
    """The candidate that counts, where the chunk has one; others are asked for on purpose, and are not kept."""
    candidates = chunk.get("candidates") or []
    if not isinstance(candidates, list):
        raise InvalidAnswer(f"The candidates are {kind_of(candidates)}, not a list, so nothing of the answer was kept.")
    each = [_object(candidate, "a candidate") for candidate in candidates]
    return next((candidate for candidate in each if not candidate.get("index")), None)


def _require_whole(part: Json) -> None:
    """A call whose arguments come in pieces is refused: half a call is none."""
    call = field(part, "functionCall")
    if isinstance(call, dict) and (holds(call, "partialArgs") or field(call, "willContinue")):
        raise InvalidAnswer(
            "Gemini streams the arguments of a call in pieces, which suture does not put together. Leave "
            "'streamFunctionCallArguments' off."
        )


def _is_text_alone(part: Json) -> bool:
    """Whether the part is a text, thought or not, with nothing of its own beside it."""
    present = {key for key, value in part.items() if value is not None}
    return isinstance(part.get("text"), str) and present <= _TEXT_ALONE


def _same_sort(before: Json, part: Json) -> bool:
    return (before.get("thought") is True) == (part.get("thought") is True)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _object(value: object, what: str) -> Json:
    if not isinstance(value, dict):
        raise InvalidAnswer(f"Gemini sent {kind_of(value)} for {what}, so nothing of the answer was kept.")
    return value
