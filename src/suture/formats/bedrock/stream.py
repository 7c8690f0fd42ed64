"""A stream of Converse, put together: events as boto3 yields them become one assistant message.

An event is a dict with one member, its kind. Text blocks may begin without a `contentBlockStart`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from suture.arguments import parse
from suture.errors import IncompleteStream
from suture.formats.base import Json
from suture.formats.bedrock.blocks import SERVER
from suture.formats.bedrock.parts import part_of
from suture.messages import Assistant, Part, ToolCall, Usage

STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_use",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "refusal",
    "content_filtered": "refusal",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
}


class Streamed(NamedTuple):
    """What a stream gave. The message has its stop reason in suture's words, and its usage; `stop_reason` is Bedrock's."""

    message: Assistant
    stop_reason: str


class _Block:
    """A block that is being written: how it began, and its pieces by kind."""

    def __init__(self, start: Json) -> None:
        self.start = start
        self.texts: list[str] = []
        self.inputs: list[str] = []
        self.thoughts: list[str] = []
        self.signatures: list[str] = []
        self.redacted: list[str | bytes] = []
        self.citations: list[object] = []
        self.results: list[Json] = []
        self.sources: list[object] = []

    def add(self, delta: Json) -> None:
        """Take in a piece; a kind that is not known here adds nothing."""
        match delta:
            case {"text": str() as text}:
                self.texts.append(text)
            case {"toolUse": {"input": str() as text}}:
                self.inputs.append(text)
            case {"reasoningContent": {"text": str() as text}}:
                self.thoughts.append(text)
            case {"reasoningContent": {"signature": str() as text}}:
                self.signatures.append(text)
            case {"reasoningContent": {"redactedContent": str() | bytes() as data}}:
                self.redacted.append(data)
            case {"citation": dict() as citation}:
                self.citations.append(citation)
            case {"toolResult": list() as parts}:
                self.results += parts
            case {"image": {"source": source}}:
                self.sources.append(source)

    def wire(self) -> Json | None:
        """The block as it would have come in one piece; None where it says nothing, and would be refused when sent back."""
        match self.start:
            case {"toolUse": dict() as call}:
                return {"toolUse": {**call, "input": _input("".join(self.inputs), is_server=call.get("type") == SERVER)}}
            case {"toolResult": dict() as result}:
                return {"toolResult": {**result, "content": _joined(self.results)}}
            case {"image": dict() as image}:
                return {"image": {**image, "source": self.sources[-1]}} if self.sources else None
        if self.redacted:
            return {"reasoningContent": {"redactedContent": _whole(self.redacted)}}
        if self.thoughts or self.signatures:
            signature = {"signature": "".join(self.signatures)} if self.signatures else {}
            return {"reasoningContent": {"reasoningText": {"text": "".join(self.thoughts), **signature}}}
        text = "".join(self.texts)
        if self.citations:
            return {"citationsContent": {"content": [{"text": text}], "citations": self.citations}}
        return {"text": text} if text.strip() else None

    def part(self) -> Part | None:
        """The block as a part. A call's input that cannot be read is kept as its text."""
        if (wire := self.wire()) is None:
            return None
        part = part_of(wire, "content")
        if type(part) is not ToolCall or not self.inputs:
            return part
        raw = "".join(self.inputs)
        arguments, error, _ = parse(raw)
        return msgspec.structs.replace(part, arguments=arguments, raw=None if error is None else raw, error=error)


class Assembly:
    """One answer that is being streamed."""

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._has_begun = False
        self._stop: str | None = None
        self._usage = Usage()

    def add(self, event: Json) -> None:
        """Take in an event.

        Raises:
            IncompleteStream: it says that the answer broke off.
            ValueError: it has a shape that no answer has.
        """
        match event:
            case {"messageStart": _}:
                if self._has_begun:
                    raise ValueError("a second answer begins before the first has ended")
                self._has_begun = True
            case {"contentBlockStart": {"contentBlockIndex": int() as index, "start": dict() as start}}:
                if index in self._blocks:
                    raise ValueError("a block begins at a place where another is")
                self._blocks[index] = _Block(start)
            case {"contentBlockDelta": {"contentBlockIndex": int() as index, "delta": dict() as delta}}:
                self._blocks.setdefault(index, _Block({})).add(delta)
            case {"messageStop": {"stopReason": str() as stop}}:
                self._stop = stop
            case {"metadata": dict() as metadata}:
                self._usage = usage_of(metadata.get("usage"))
            case _ if failure := next((name for name in event if name.endswith("Exception")), None):
                raise IncompleteStream(f"Bedrock ended its answer with {failure}, so none of it was kept. Ask again.")

    def answer(self) -> Streamed:
        """The whole answer.

        Raises:
            IncompleteStream: the stream ended before its `messageStop`, or for an unknown reason that may have cut a call.
        """
        if self._stop is None:
            raise IncompleteStream("Bedrock ended its answer before it was whole, so none of it was kept. Ask again.")
        parts = [part for _, block in sorted(self._blocks.items()) if (part := block.part()) is not None]
        if self._stop not in STOPS and any(type(part) is ToolCall for part in parts):
            raise IncompleteStream(f"Bedrock stopped for the unknown reason {self._stop!r:.60}, so none of it was kept.")
        message = Assistant(tuple(parts), stop_reason=STOPS.get(self._stop, "stop"), usage=self._usage)
        return Streamed(message, self._stop)


def assemble(events: Iterable[Json]) -> Streamed:
    """The answer that a whole stream of events gives.

    Raises:
        IncompleteStream: the stream ended before its `messageStop`, or says that it broke off.
        ValueError: an event has a shape that no answer has.
    """
    assembly = Assembly()
    for event in events:
        assembly.add(event)
    return assembly.answer()


def usage_of(wire: object) -> Usage:
    """The tokens of an answer. Bedrock counts what its cache read and wrote beside the input, we within it."""
    figures: dict[str, Any] = wire if isinstance(wire, dict) else {}
    names = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    given, out, read, written = (_count(figures.get(name)) for name in names)
    return Usage(input_tokens=given + read + written, output_tokens=out, cache_read_tokens=read, cache_write_tokens=written)


def _count(value: object) -> int:
    return value if type(value) is int and value > 0 else 0


def _input(raw: str, *, is_server: bool) -> object:
    """The input of a call: an object, or its text where that is none. What only Bedrock reads is an object always."""
    arguments = parse(raw).arguments
    return arguments if arguments is not None else {"_raw": raw} if is_server else raw


def _joined(parts: list[Json]) -> list[Json]:
    """The blocks of a result, of which texts come in pieces."""
    blocks: list[Json] = []
    for is_text, run in groupby(parts, key=lambda part: isinstance(part.get("text"), str)):
        group = list(run)
        blocks += [{"text": "".join(part["text"] for part in group)}] if is_text else group
    return blocks


def _whole(pieces: list[str | bytes]) -> str | bytes:
    if all(isinstance(piece, bytes) for piece in pieces):
        return b"".join(piece for piece in pieces if isinstance(piece, bytes))
    return "".join(piece for piece in pieces if isinstance(piece, str))
