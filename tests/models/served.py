"""The real adapters over a fake provider on loopback: what makes them, what tells the provider, what it received."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import AbstractContextManager, aclosing, contextmanager
from typing import Literal, TypeAlias

from llmock.scenarios import Fail, Reply, ToolCall
from llmock.testing import LLMockServer

from suture.models import Anthropic, Model, OpenAIChat
from suture.models.base import Piece, Request
from tests.judges import assert_valid
from tests.loop.scenarios import DONE, ON_IT, Asked, ModelOf, Scenario, World, is_first_turn

Wire: TypeAlias = Literal["openai", "anthropic"]

WIRES: tuple[Wire, ...] = ("openai", "anthropic")
FORMAT_OF: dict[Wire, str] = {"openai": "openai-chat", "anthropic": "anthropic"}
PATIENT = 30.0
SERVED = 10.0  # seconds for a request that is being served to be over


@contextmanager
def adapter(wire: Wire, base_url: str, timeout: float = PATIENT, *, dialect: str | None = None) -> Iterator[Model]:
    """The adapter of that wire for whoever serves at that address; `timeout` is in seconds of silence. Of OpenAI's API
    they speak that dialect; "" is OpenAI's own.
    """
    model = bare_adapter(wire, base_url, timeout, dialect=dialect)
    try:
        yield model
    finally:
        model.close()


def bare_adapter(
    wire: Wire, base_url: str, timeout: float = PATIENT, *, dialect: str | None = None
) -> OpenAIChat | Anthropic:
    """The same, for a process that will be killed."""
    match wire:
        case "openai":
            return OpenAIChat("some-model", base_url=base_url, api_key="none", timeout=timeout, dialect=dialect)
        case "anthropic":
            return Anthropic("some-model", base_url=base_url, api_key="none", timeout=timeout)


def adapter_of(wire: Wire, server: LLMockServer, timeout: float = PATIENT) -> AbstractContextManager[Model]:
    """The adapter of that wire for that server."""
    return adapter(wire, server.base_url(wire), timeout)


def bodies(server: LLMockServer) -> list[dict[str, object]]:
    """The bodies of all requests that the server got, in order of arrival."""
    return [record.body for record in server.state.journal.records(wait=SERVED)]


def assert_received_valid(server: LLMockServer, wire: Wire) -> None:
    """Something came over the wire, and judges that share no code with suture find no fault with any of it."""
    received = bodies(server)
    assert received, "no request came over the wire"
    for body in received:
        assert_valid(FORMAT_OF[wire], body)


class Heard:
    """A model that keeps what it was asked, and lets the world hear what it streams."""

    def __init__(self, model: Model, world: World) -> None:
        self.name = model.name
        self.requests: list[Request] = []
        self.model = model
        self.world = world

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """What the model streams."""
        self.requests.append(request)
        pieces = self.model.stream(request)
        assert isinstance(pieces, AsyncGenerator)
        async with aclosing(pieces):
            async for piece in pieces:
                self.world.hearing(piece)
                yield piece


class Told(Heard):
    """A model whose provider is told, before each request, what to answer: as scenarios have it, whoever asks."""

    def __init__(self, model: Model, world: World, server: LLMockServer, scenario: Scenario) -> None:
        super().__init__(model, world)
        self.server = server
        self.scenario = scenario

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """What the model streams."""
        await self.world.thinking(0 if is_first_turn(request) else 1)
        self.server.state.scenarios.clear()
        self.server.state.scenarios.add(self._answer(request))
        async with aclosing(super().stream(request)) as pieces:
            async for piece in pieces:
                yield piece

    def _answer(self, request: Request) -> Fail | Reply:
        # Given for good: a request that was cancelled may still arrive, and must not take it away from the next.
        if len(self.requests) < self.scenario.fails:
            return Fail(503, retry_after=0.0, times=None)
        if not (self.scenario.calls and is_first_turn(request)):
            return Reply(DONE, times=None)
        calls = tuple(ToolCall(name, {"n": n}) for n, name in enumerate(self.scenario.calls))
        return Reply(ON_IT, calls, times=None)


def told(model: Model, server: LLMockServer) -> ModelOf:
    """Makes models of stories that all ask that one."""

    def make(scenario: Scenario, world: World, _steps: int) -> Asked:
        return Told(model, world, server, scenario)

    return make
