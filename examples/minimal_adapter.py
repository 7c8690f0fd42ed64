"""A whole model adapter: the OpenAI chat wire over plain HTTP, without an SDK. It passes `suture.testing.ModelContract`.

agent = suture.Agent(MinimalChat("qwen3", "http://127.0.0.1:8000/v1"))
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx2
import msgspec

from suture import Assistant, Part, Reasoning, Request, Text, ToolCall, Usage, errors
from suture.arguments import parse
from suture.messages import Origin
from suture.models.base import Piece, ReasoningDelta, RequestMended, TextDelta, ToolCallDelta

TLS = httpx2.create_ssl_context()  # once, since it reads every certificate there is


class MinimalChat:
    """The model of that name behind `base_url`. `timeout` is in seconds: to connect, and between two pieces."""

    def __init__(self, model: str, base_url: str, api_key: str = "none", timeout: float = 600.0) -> None:
        self.name = f"minimal:{model}"
        self._model = model
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._headers = {"authorization": f"Bearer {api_key}"}
        self._timeout = timeout

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """The answer in pieces, and last the whole of it."""
        fitted = request.fitted("openai-chat")  # the messages and tools as this wire takes them
        if fitted.changes:
            yield RequestMended(tuple(fitted.changes))
        history: Any = fitted.history
        body = {**history, "model": self._model, "stream": True, "stream_options": {"include_usage": True}}
        draft = Draft(self._model)
        with trouble_named():
            # Both blocks close the connection when they are left, by an error or a cancelled task too.
            async with httpx2.AsyncClient(verify=TLS, timeout=self._timeout, headers=self._headers) as client:
                async with client.stream("POST", self._url, json=body) as response:
                    if response.is_error:
                        raise refused(response, await response.aread())
                    async for event in httpx2.EventSource(response):
                        if event.data != "[DONE]":
                            for piece in draft.take(msgspec.json.decode(event.data, type=Chunk)):
                                yield piece
        yield draft.whole()


# The wire: what is used of it. Decoding refuses what has another shape. ------------------------


class Function(msgspec.Struct):
    """A piece of a function call; the name comes with the first."""

    name: str | None = None
    arguments: str | None = None


class CallPiece(msgspec.Struct):
    """A piece of the call at `index`; the id comes with the first."""

    index: int
    function: Function
    id: str | None = None


class Delta(msgspec.Struct):
    """What a chunk adds."""

    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[CallPiece] | None = None


class Choice(msgspec.Struct):
    """The answer; only one was asked for."""

    delta: Delta
    finish_reason: str | None = None


class Tokens(msgspec.Struct):
    """What the answer cost; the details are parts of the counts."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: dict[str, int | None] | None = None
    completion_tokens_details: dict[str, int | None] | None = None


class Trouble(msgspec.Struct):
    """What the provider says of an error."""

    message: str = ""
    code: str | int | None = None


class Chunk(msgspec.Struct):
    """One event. The last one has the usage and no choice; one with an error, as in the body of a 400, ends the answer."""

    id: str = ""
    choices: list[Choice] = []
    usage: Tokens | None = None
    error: Trouble | None = None


# The answer as it grows ------------------------------------------------------------------------


class CallDraft(msgspec.Struct):
    """A call as far as it has come."""

    id: str
    name: str
    arguments: str = ""

    def whole(self) -> ToolCall:
        """The call; what is no JSON object is kept as it came."""
        arguments, problem, _ = parse(self.arguments)
        return ToolCall(self.id, self.name, arguments, self.arguments if problem else None, problem)


class Draft:
    """An answer as far as it has come."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._id, self._reasoning, self._text = "", "", ""
        self._calls: dict[int, CallDraft] = {}
        self._finish: str | None = None
        self._refused = False
        self._usage: Usage | None = None

    def take(self, chunk: Chunk) -> Iterator[Piece]:
        """Add a chunk to the draft; what it adds, in pieces."""
        if chunk.error is not None:
            raise errors.Overloaded(f"The provider broke off: {chunk.error.message}")
        self._id = chunk.id or self._id
        if chunk.usage is not None:
            self._usage = usage_of(chunk.usage)
        for choice in chunk.choices:
            yield from self._delta(choice.delta)
            self._finish = choice.finish_reason or self._finish

    def _delta(self, delta: Delta) -> Iterator[Piece]:
        if delta.reasoning_content:
            self._reasoning += delta.reasoning_content
            yield ReasoningDelta(delta.reasoning_content)
        for text in (delta.content, delta.refusal):
            if text:
                self._text += text
                yield TextDelta(text)
        self._refused = self._refused or bool(delta.refusal)
        for piece in delta.tool_calls or ():
            call = self._calls.setdefault(piece.index, CallDraft(piece.id or "", piece.function.name or ""))
            call.arguments += piece.function.arguments or ""
            yield ToolCallDelta(piece.index, call.id, call.name, piece.function.arguments or "")

    def whole(self) -> Assistant:
        """The answer, once the provider has said why it ended."""
        if self._finish is None:
            raise errors.IncompleteStream
        parts: list[Part] = [Reasoning(self._reasoning)] if self._reasoning else []
        parts += [Text(self._text)] if self._text else []
        parts += [call.whole() for call in self._calls.values()]
        stop_reason = "refusal" if self._refused else STOP_REASONS.get(self._finish, "stop")
        origin = Origin("minimal", "openai-chat", self._model, self._id)
        return Assistant(tuple(parts), stop_reason=stop_reason, usage=self._usage, origin=origin)


STOP_REASONS = {"stop": "stop", "tool_calls": "tool_use", "length": "length", "content_filter": "refusal"}


def usage_of(tokens: Tokens) -> Usage:
    """The tokens in suture's words."""
    cached = (tokens.prompt_tokens_details or {}).get("cached_tokens") or 0
    thought = (tokens.completion_tokens_details or {}).get("reasoning_tokens") or 0
    return Usage(tokens.prompt_tokens, tokens.completion_tokens, cached, reasoning_tokens=thought)


# Trouble ---------------------------------------------------------------------------------------


@contextmanager
def trouble_named() -> Iterator[None]:
    """Turns what can go wrong on the way into the errors that `run` knows; anything else would end the run."""
    try:
        yield
    except httpx2.TimeoutException as error:
        raise errors.Timeout from error
    except httpx2.RequestError as error:
        raise errors.TransportError from error
    except msgspec.DecodeError as error:
        raise errors.TransportError(f"The provider sent a broken piece: {error}") from error


def refused(response: httpx2.Response, body: bytes) -> errors.ModelError:
    """The error for a status of 400 or above, in the provider's own words."""
    said = Trouble(f"HTTP status {response.status_code}")
    with suppress(msgspec.DecodeError):  # a proxy sends a page
        said = msgspec.json.decode(body, type=Chunk).error or said
    match response.status_code:
        case 401 | 403:
            return errors.AuthenticationError(said.message)
        case 408:
            return errors.Timeout(said.message)
        case 429:
            return errors.RateLimited(said.message, retry_after=seconds(response.headers.get("retry-after")))
        case 400 if said.code == "context_length_exceeded":
            return errors.ContextOverflow(said.message)
        case status if status >= 500:
            return errors.Overloaded(said.message)
        case _:
            return errors.InvalidRequest(said.message)


def seconds(hint: str | None) -> float | None:
    """How long to wait; None where the provider gave no number."""
    return float(hint) if hint and hint.replace(".", "", 1).isdecimal() else None
