"""What answers an adapter under test: a provider on loopback, told what to serve next.

`provider_of("openai")` and `provider_of("anthropic")` are ready. For another wire, write the methods of `Provider`.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from suture.errors import ConfigurationError, MissingExtra
from suture.testing.recordings import ANTHROPIC, OPENAI, Hazard, Recording
from suture.testing.replay import Replay, ReplayServer

if TYPE_CHECKING:
    from llmock.testing import LLMockServer

StopReason: TypeAlias = Literal["stop", "tool_use", "length", "refusal"]
How: TypeAlias = Literal["truncate", "disconnect", "malformed", "stall"]


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the served model asks for; the provider makes its id."""

    name: str
    arguments: dict[str, object]


@dataclass(frozen=True, slots=True)
class Break:
    """How a stream goes wrong after so many events.

    truncate: it ends as if it were whole, without its last events. disconnect: the connection is dropped.
    malformed: one event is no JSON. stall: nothing more comes, for longer than any test waits.
    """

    how: How
    after: int


class Provider(Protocol):
    """A fake of one provider. A method that serves returns the base URL at which the next request gets it; what is given
    for several requests is served in its order.
    """

    def reply(
        self, text: str = "", calls: Sequence[Call] = (), stop_reason: StopReason | None = None, broken: Break | None = None
    ) -> str:
        """Serve text in several pieces, then the calls; the stop reason follows from the calls when it is None."""
        ...

    def fail(self, status: int, message: str, retry_after: float | None = None) -> str:
        """Serve an error of that HTTP status, in the provider's envelope; `retry_after` is in seconds."""
        ...

    def overflow(self) -> str:
        """Serve the error with which the provider refuses a conversation that is too long."""
        ...

    def silence(self) -> str:
        """Take the request, and answer nothing."""
        ...

    def replay(self, chunks: Sequence[bytes], content_type: str = "text/event-stream") -> str:
        """Serve these bytes, with status 200, each chunk sent at once."""
        ...

    def recorded(self, hazard: Hazard) -> Recording | None:
        """How this provider sends that; None where its wire has no such thing, as `lacks` of the class then says. Every
        wire has "usage".
        """
        ...

    def requests(self) -> Sequence[object]:
        """The JSON bodies of all requests, in order of arrival. Waits for those that are being served."""
        ...

    def wait_for_request(self, timeout: float) -> bool:
        """Whether a request that gets silence arrives within so many seconds."""
        ...

    def wait_for_disconnect(self, timeout: float) -> bool:
        """Whether the client of a stall or of silence closes its connection within so many seconds."""
        ...

    def reset(self) -> None:
        """Forget what was served and what was to be."""
        ...

    def close(self) -> None:
        """Stop; no thread and no socket is left."""
        ...


@dataclass(frozen=True, slots=True)
class _Wire:
    """What is particular to a wire, beside what llmock knows of it."""

    path: str
    recordings: Mapping[Hazard, Recording]
    overflow: str
    overflow_code: str | None


_WIRES: Mapping[str, _Wire] = {
    "openai": _Wire(
        "/v1",
        OPENAI,
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. "
        "Please reduce the length of the messages.",
        "context_length_exceeded",
    ),
    "anthropic": _Wire("", ANTHROPIC, "prompt is too long: 207371 tokens > 200000 maximum", None),
}

_FINISH: Mapping[StopReason, str] = {
    "stop": "stop",
    "tool_use": "tool_calls",
    "length": "length",
    "refusal": "content_filter",
}

_STALL = 60.0  # seconds; longer than any test waits
_SERVED = 10.0  # seconds for a request to be over
_LOOK = 0.02  # seconds between two looks for a request that has not arrived yet


def provider_of(wire: str) -> Provider:
    """The provider of that wire: "openai" or "anthropic". Close it when done.

    Raises:
        ConfigurationError: there is none ready for that wire.
        MissingExtra: llmock is not installed.
    """
    if wire not in _WIRES:
        known = ", ".join(_WIRES)
        raise ConfigurationError(f"There is no provider for the wire {wire!r}, only for {known}. Give your test class one.")
    return _OverLLMock(wire)


class _OverLLMock:
    """llmock for what it can serve; what it cannot is replayed by a server of our own."""

    def __init__(self, wire: str) -> None:
        self._wire = _WIRES[wire]
        self._llmock = _llmock().start()
        self._base_url = self._llmock.base_url(wire)
        self._replays = ReplayServer()
        self._replaying = False

    def reply(
        self, text: str = "", calls: Sequence[Call] = (), stop_reason: StopReason | None = None, broken: Break | None = None
    ) -> str:
        """Text and calls, in llmock's own words for each wire."""
        from llmock.scenarios import Reply, StreamFault, ToolCall

        self._replaying = False

        tool_calls = tuple(ToolCall(call.name, call.arguments) for call in calls)
        finish = None if stop_reason is None else _FINISH[stop_reason]
        self._llmock.state.scenarios.add(Reply(text, tool_calls, finish))
        if broken is not None:
            self._llmock.state.scenarios.add(StreamFault(broken.how, broken.after, _STALL))
        return self._base_url

    def fail(self, status: int, message: str, retry_after: float | None = None) -> str:
        """One error; llmock sends both spellings of a retry hint."""
        return self._fail(status, message, retry_after, None)

    def overflow(self) -> str:
        """A 400 with the provider's own sentence."""
        return self._fail(400, self._wire.overflow, None, self._wire.overflow_code)

    def silence(self) -> str:
        """No status line."""
        return self._replay(Replay(silent=True))

    def replay(self, chunks: Sequence[bytes], content_type: str = "text/event-stream") -> str:
        """The chunks, then a clean end."""
        return self._replay(Replay(tuple(chunks), content_type=content_type))

    def recorded(self, hazard: Hazard) -> Recording | None:
        """From `recordings`."""
        return self._wire.recordings.get(hazard)

    def requests(self) -> Sequence[object]:
        """Those that came to llmock, then those that got a replay."""
        served = [record.body for record in self._llmock.state.journal.records(wait=_SERVED)]
        return (*served, *self._replays.requests())

    def wait_for_request(self, timeout: float) -> bool:
        """Silence is a replay."""
        return self._replays.wait_for_request(timeout)

    def wait_for_disconnect(self, timeout: float) -> bool:
        """Whether a silent replay was left, or llmock's record of the stalled request says that it was never completed."""
        if self._replaying:
            return self._replays.wait_for_disconnect(timeout)
        deadline = time.monotonic() + timeout
        while not (records := self._llmock.state.journal.records(wait=timeout)):
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOOK)
        return not records[-1].completed

    def reset(self) -> None:
        """Both servers start anew."""
        self._replaying = False
        self._llmock.state.reset()
        self._replays.reset()

    def close(self) -> None:
        """Stop both servers."""
        self._replays.close()
        self._llmock.stop()

    def _fail(self, status: int, message: str, retry_after: float | None, code: str | None) -> str:
        from llmock.scenarios import Fail

        self._llmock.state.scenarios.add(Fail(status, retry_after, message, code))
        return self._base_url

    def _replay(self, replay: Replay) -> str:
        self._replaying = True
        self._replays.add(replay)
        return self._replays.url + self._wire.path


def _llmock() -> LLMockServer:
    try:
        testing = importlib.import_module("llmock.testing")
    except ImportError as error:
        raise MissingExtra("Testing a model adapter needs llmock: pip install 'suture[testing]'") from error
    server: LLMockServer = testing.LLMockServer()
    return server
