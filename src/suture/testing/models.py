"""The contract of a model adapter as a test class: an adapter that passes it keeps every promise of `suture.models.Model`.

class TestMine(ModelContract):
    wire = "openai"

    def model(self, base_url, timeout):
        return MyModel("some-model", base_url=base_url, api_key="none", timeout=timeout)

All of it runs on loopback. The wires "openai" and "anthropic" are served by llmock, an independent fake server, and by
recorded streams where llmock has none; for another wire override `provider_for`. A request is one that the wire must
carry, not one that a provider would judge.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import pytest

from suture.arguments import parse
from suture.errors import (
    AuthenticationError,
    ContextOverflow,
    IncompleteStream,
    InvalidRequest,
    ModelError,
    Overloaded,
    RateLimited,
    Timeout,
    TransportError,
)
from suture.messages import Assistant, Reasoning, Text, ToolCall, ToolResult, User
from suture.models.base import Model, Piece, ReasoningDelta, Request, RequestMended, TextDelta, ToolCallDelta
from suture.testing.providers import Break, Call, Provider, StopReason, provider_of
from suture.testing.recordings import Hazard, Recording
from suture.tools import Tool, tool

PATIENT = 30.0
"""Seconds for whatever should be there at once, on a machine that is busy."""

SHORT = 0.5
"""The timeout, in seconds, of an adapter that is to run into it."""

SOON = 5.0
"""Seconds within which a connection counts as closed at once."""

TEXT = 'A longer text, "quoted" and\nbroken into lines,  with Grüße, 東京 and 😀, so that it comes in many pieces.'

LOOKUP = Call("lookup", {"city": "Paris", "nested": {"list": [1, 2.5, None, True], "text": 'a "quote" \\ 😀'}})
CALLS = (LOOKUP, Call("lookup", {"city": "Rome"}), Call("compare", {"cities": ["Paris", "Rome"], "by": "size"}))

PAIRING = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."


@tool(effect="read")
def lookup(city: str, nested: dict[str, object] | None = None) -> str:
    """Look a city up."""
    return f"{city} {nested}"


@tool(effect="read")
def compare(cities: list[str], by: str) -> str:
    """Compare cities."""
    return f"{cities} {by}"


@tool(effect="read")
def now() -> str:
    """Tell the time."""
    return "noon"


TOOLS: tuple[Tool, ...] = (lookup, compare, now)

ASKED = Request(
    (
        User.of("Where is the Seine?"),
        Assistant((Text("I look it up."), ToolCall("call_before", "lookup", {"city": "Paris"})), stop_reason="tool_use"),
        ToolResult.of("call_before", "The Seine runs through Paris.", error=False),
        User.of("Thank you. And the Tiber?"),
    ),
    system="Answer in one word.",
    tools=TOOLS,
)


@dataclass(frozen=True, slots=True)
class Heard:
    """All that came of one request."""

    pieces: tuple[Piece, ...]

    @property
    def answer(self) -> Assistant:
        """The last piece, which is the only whole one."""
        wholes = [piece for piece in self.pieces if isinstance(piece, Assistant)]
        assert len(wholes) == 1, "the stream has exactly one Assistant"
        assert self.pieces[-1] is wholes[0], "nothing comes after the Assistant"
        assert not any(isinstance(piece, RequestMended) for piece in self.pieces[1:]), "what was left out is said first"
        return wholes[0]

    @property
    def text(self) -> str:
        """The text that was streamed."""
        return "".join(piece.text for piece in self.pieces if isinstance(piece, TextDelta))

    @property
    def reasoning(self) -> str:
        """The thinking that was streamed."""
        return "".join(piece.text for piece in self.pieces if isinstance(piece, ReasoningDelta))

    @property
    def calls(self) -> list[tuple[str, str, str]]:
        """The id, name and argument text of each call that was streamed."""
        pieces = [piece for piece in self.pieces if isinstance(piece, ToolCallDelta)]
        indexes = list(dict.fromkeys(piece.index for piece in pieces))
        assert indexes == list(range(len(indexes))), "the index counts the calls, from 0"
        return [_joined([piece for piece in pieces if piece.index == index]) for index in indexes]


def _joined(pieces: Sequence[ToolCallDelta]) -> tuple[str, str, str]:
    names = {(piece.id, piece.name) for piece in pieces}
    assert len(names) == 1, f"every piece of a call has its id and its name: {names}"
    ((id, name),) = names
    return id, name, "".join(piece.arguments for piece in pieces)


def _stream(model: Model, request: Request) -> AsyncGenerator[Piece, None]:
    stream = model.stream(request)
    assert isinstance(stream, AsyncGenerator), "the stream is a generator, which can be closed"
    return stream


async def _heard(model: Model, request: Request) -> Heard:
    async with asyncio.timeout(PATIENT), aclosing(_stream(model, request)) as pieces:
        return Heard(tuple([piece async for piece in pieces]))


# What may stand in an event instead of what belongs there, made from what does.
SHAPES: dict[str, Callable[[dict[str, object]], object]] = {
    "list": lambda _: [],
    "number": lambda _: 7,
    "null": lambda _: None,
    "nothing inside": lambda _: {},
    "numbers inside": lambda data: {key: value if isinstance(value, str) else 7 for key, value in data.items()},
    "lists inside": lambda data: {key: value if isinstance(value, str) else [7] for key, value in data.items()},
    "nulls inside": lambda data: {key: value if isinstance(value, str) else None for key, value in data.items()},
}


def _reshaped(event: bytes, shape: Callable[[dict[str, object]], object]) -> bytes:
    """The event with other data under its name."""
    head, data = event.split(b"data: ")
    return head + b"data: " + json.dumps(shape(json.loads(data)), ensure_ascii=False).encode() + b"\n\n"


# What a wire may be without.
Lack: TypeAlias = Hazard | Literal["event_stream", "response_id"]


class ModelContract:
    """Every promise of the protocol as a test. Inherit it, and say how the model is made and which wire it speaks.

    Attributes:
        wire: "openai" or "anthropic"; for another one override `provider_for`.
        lacks: what the wire does not have: hazards of which its `Provider` has no recording; "event_stream" when it is
            not made of server-sent events with JSON in them; "response_id" when an answer has no id of its own.
    """

    wire = "openai"
    lacks: ClassVar[frozenset[Lack]] = frozenset()

    def model(self, base_url: str, timeout: float) -> Model:
        """The adapter to be tested; its provider is at `base_url`, and may be silent for `timeout` seconds."""
        raise NotImplementedError("say in your test class how the model is made")

    @classmethod
    def provider_for(cls) -> Provider:
        """What the model talks to in these tests. It is closed after the last one."""
        return provider_of(cls.wire)

    @pytest.fixture(scope="class")
    @classmethod
    def opened(cls) -> Iterator[Provider]:
        """The provider, the same for all tests of the class."""
        provider = cls.provider_for()
        yield provider
        provider.close()

    @pytest.fixture
    def provider(self, opened: Provider) -> Iterator[Provider]:
        """The provider, with nothing to serve."""
        opened.reset()
        yield opened
        opened.reset()

    def ask(self, base_url: str, timeout: float = PATIENT, request: Request = ASKED) -> Heard:
        """All that the model says to a request."""
        return asyncio.run(_heard(self.model(base_url, timeout), request))

    def recording(self, provider: Provider, hazard: Hazard) -> Recording | None:
        """How the provider sends that; None only where the test class says that its wire does not have it."""
        found = provider.recorded(hazard)
        assert (found is None) == (hazard in self.lacks), f"record {hazard!r} for this wire, or name it in `lacks`"
        return found

    # Answers ----------------------------------------------------------------------------------

    def test_it_is_a_model(self) -> None:
        """The object has a name to be called by, and a method that streams."""
        model = self.model("http://127.0.0.1:9/v1", PATIENT)
        assert isinstance(model, Model)
        assert model.name.strip()

    def test_text(self, provider: Provider) -> None:
        """Text comes in pieces, and the pieces are the text."""
        heard = self.ask(provider.reply(TEXT))
        assert heard.answer.text == TEXT
        assert heard.text == TEXT
        assert len([piece for piece in heard.pieces if isinstance(piece, TextDelta)]) > 1
        assert (heard.answer.calls, heard.answer.stop_reason) == ((), "stop")

    def test_who_answered(self, provider: Provider) -> None:
        """The answer names its provider, API and model, and the id under which the provider knows it."""
        origin = self.ask(provider.reply(TEXT)).answer.origin
        assert origin is not None
        assert all((origin.provider, origin.api, origin.model)), origin
        assert (origin.response_id is None) == ("response_id" in self.lacks), origin

    def test_usage(self, provider: Provider) -> None:
        """The answer says how many tokens it took."""
        usage = self.ask(provider.reply(TEXT)).answer.usage
        assert usage is not None
        assert usage.input_tokens > 0
        assert usage.output_tokens > 1

    @pytest.mark.parametrize("text", ["", "I look it up."], ids=["alone", "behind text"])
    def test_a_call(self, provider: Provider, text: str) -> None:
        """A call has an id, a name and its arguments as a dict; its pieces are the argument text."""
        heard = self.ask(provider.reply(text, [LOOKUP]))
        self._require_calls(heard, (LOOKUP,))
        assert heard.answer.text == heard.text == text

    def test_three_parallel_calls(self, provider: Provider) -> None:
        """Calls of one answer are all there, in order and apart."""
        self._require_calls(self.ask(provider.reply("", CALLS)), CALLS)

    @pytest.mark.parametrize("stop_reason", ["stop", "length", "refusal"])
    def test_stop_reasons(self, provider: Provider, stop_reason: StopReason) -> None:
        """The answer says why it ended, in suture's words."""
        assert self.ask(provider.reply(TEXT, stop_reason=stop_reason)).answer.stop_reason == stop_reason

    def test_calls_that_were_cut_by_the_length(self, provider: Provider) -> None:
        """An answer that ran out of tokens says so, calls or not."""
        assert self.ask(provider.reply("", [LOOKUP], "length")).answer.stop_reason == "length"

    @pytest.mark.parametrize(
        "hazard",
        ["reasoning", "usage", "refusal", "call_without_arguments", "broken_arguments", "interleaved_calls"],
    )
    def test_recorded_answers(self, provider: Provider, hazard: Hazard) -> None:
        """What a provider is known to send becomes the answer that it means, and the pieces tell the same."""
        recording = self.recording(provider, hazard)
        if recording is not None:
            _require_answer(self.ask(provider.replay(recording.events)), recording)

    @pytest.mark.parametrize("cut", ["slices", "carriage returns", "comments", "one chunk"])
    @pytest.mark.parametrize("hazard", ["usage", "broken_arguments"])
    def test_framing(self, provider: Provider, hazard: Hazard, cut: str) -> None:
        """The network may cut the stream anywhere, end its lines in CR LF and put comments between its events."""
        recording = self.recording(provider, hazard)
        if recording is not None and "event_stream" not in self.lacks:
            _require_answer(self.ask(provider.replay(FRAMINGS[cut](recording.events))), recording)

    def test_one_model_asked_again(self, provider: Provider) -> None:
        """A model serves one event loop after another, and two requests at once."""
        model = self.model(provider.reply("first"), PATIENT)
        assert asyncio.run(_heard(model, ASKED)).text == "first"
        for _ in range(2):
            provider.reply("both")
        assert [heard.text for heard in asyncio.run(_twice(model))] == ["both", "both"]

    # The request ------------------------------------------------------------------------------

    def test_the_request_is_whole(self, provider: Provider) -> None:
        """What was said, called, returned and offered is in the request, once."""
        self.ask(provider.reply(TEXT))
        (body,) = provider.requests()
        sent = json.dumps(body, ensure_ascii=False)
        said = ("Answer in one word.", "Where is the Seine?", "I look it up.", "runs through Paris", "And the Tiber?")
        for words in (*said, *(offered.description for offered in TOOLS)):
            assert sent.count(words) == 1, f"{words!r} is in the request {sent.count(words)} times"

    def test_a_request_without_tools(self, provider: Provider) -> None:
        """A conversation of one sentence is answered too."""
        assert self.ask(provider.reply(TEXT), request=Request((User.of("Hello"),))).text == TEXT

    # Streams that break -----------------------------------------------------------------------

    @pytest.mark.parametrize("after", [0, 1, 4])
    @pytest.mark.parametrize("calls", [(), CALLS], ids=["text", "calls"])
    def test_a_cut_stream(self, provider: Provider, calls: Sequence[Call], after: int) -> None:
        """A stream that ends without its last event is no answer, however cleanly it ended."""
        with pytest.raises(IncompleteStream):
            self.ask(provider.reply("" if calls else TEXT, calls, broken=Break("truncate", after)))

    def test_a_stream_cut_after_any_event(self, provider: Provider) -> None:
        """It takes the event that says so to make an answer whole; all of its text is not enough."""
        recording = provider.recorded("usage")
        assert recording is not None, "every wire has usage"
        cut = [recording.events[:count] for count in range(recording.unfinished)]
        self._require_trouble(provider, cut, IncompleteStream)

    @pytest.mark.parametrize("after", [0, 4])
    def test_a_dropped_connection(self, provider: Provider, after: int) -> None:
        """A connection that is lost is an error of the transport, not half an answer."""
        with pytest.raises(TransportError):
            self.ask(provider.reply(TEXT, broken=Break("disconnect", after)))

    @pytest.mark.parametrize("after", [0, 4])
    def test_a_broken_chunk(self, provider: Provider, after: int) -> None:
        """An event that is no JSON spoils the answer."""
        with pytest.raises(TransportError):
            self.ask(provider.reply(TEXT, broken=Break("malformed", after)))

    @pytest.mark.parametrize("shape", SHAPES)
    def test_an_event_of_another_shape(self, provider: Provider, shape: str) -> None:
        """An event that is JSON of a wrong shape is trouble of the provider, never a crash of the adapter."""
        if "event_stream" in self.lacks:
            return
        recording = provider.recorded("usage")
        assert recording is not None, "every wire has usage"
        events = recording.events[: recording.unfinished]
        wrong = [_reshaped(event, SHAPES[shape]) for event in events]
        self._require_trouble(
            provider,
            [[*events[:place], event] for place, event in enumerate(wrong) if event != events[place]],
            ModelError,
        )

    def test_a_page_instead_of_a_stream(self, provider: Provider) -> None:
        """A proxy's page with status 200 is no answer."""
        with pytest.raises(ModelError):
            self.ask(provider.replay([b"<html>Log in to go on</html>"], "text/html"))

    def test_an_error_in_the_stream(self, provider: Provider) -> None:
        """A provider that gives up in the middle of its answer is heard."""
        recording = self.recording(provider, "error_event")
        if recording is not None:
            assert isinstance(recording.answer, type)
            with pytest.raises(recording.answer):
                self.ask(provider.replay(recording.events))

    # Refusals ---------------------------------------------------------------------------------

    @pytest.mark.parametrize("seconds", [0.0, 7.0, 120.0])
    def test_a_rate_limit(self, provider: Provider, seconds: float) -> None:
        """A 429 says how long to wait. The run decides whether to: the adapter asks once."""
        with pytest.raises(RateLimited) as caught:
            self.ask(provider.fail(429, "Slow down.", retry_after=seconds))
        assert caught.value.retry_after == seconds
        assert len(provider.requests()) == 1

    def test_an_overloaded_provider(self, provider: Provider) -> None:
        """A 503 is told as it is, and not tried again behind the run's back."""
        with pytest.raises(Overloaded):
            self.ask(provider.fail(503, "Try again later."))
        assert len(provider.requests()) == 1

    def test_a_request_that_is_refused(self, provider: Provider) -> None:
        """A 400 tells what the provider said, since that names the message that is wrong."""
        with pytest.raises(InvalidRequest) as caught:
            self.ask(provider.fail(400, PAIRING))
        assert PAIRING in str(caught.value)

    def test_a_wrong_key(self, provider: Provider) -> None:
        """A 401 is about the key."""
        with pytest.raises(AuthenticationError):
            self.ask(provider.fail(401, "Incorrect API key provided."))

    def test_a_conversation_that_is_too_long(self, provider: Provider) -> None:
        """The refusal of a prompt beyond the window is told from other refusals, since compaction mends it."""
        with pytest.raises(ContextOverflow):
            self.ask(provider.overflow())

    @pytest.mark.parametrize("status", [403, 404, 408, 409, 413, 422, 500, 502, 504])
    def test_any_other_status(self, provider: Provider, status: int) -> None:
        """Whatever the provider refuses with, it is a ModelError."""
        with pytest.raises(ModelError):
            self.ask(provider.fail(status, "No."))

    # Nothing comes ----------------------------------------------------------------------------

    def test_nobody_listens(self) -> None:
        """A provider that is not there is an error of the transport."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))  # bound and not listening: whoever connects is refused
            with pytest.raises(TransportError):
                self.ask(f"http://127.0.0.1:{free.getsockname()[1]}/v1")

    def test_a_stall(self, provider: Provider) -> None:
        """A stream that stops for longer than the timeout is given up, and its connection closed."""
        url = provider.reply(TEXT, broken=Break("stall", 4))
        with pytest.raises(Timeout):
            self.ask(url, SHORT)
        assert provider.wait_for_disconnect(PATIENT)

    def test_silence(self, provider: Provider) -> None:
        """A provider that takes the request and says nothing is given up after the timeout."""
        url = provider.silence()
        with pytest.raises(Timeout):
            self.ask(url, SHORT)
        assert provider.wait_for_disconnect(PATIENT)

    # Stopping ---------------------------------------------------------------------------------

    def test_cancelled_in_the_middle_of_arguments(self, provider: Provider) -> None:
        """Cancelling the task that listens closes the connection at once."""
        url = provider.reply("", CALLS, broken=Break("stall", 5))
        asyncio.run(_cancelled_in_arguments(provider, self.model(url, PATIENT)))

    def test_cancelled_before_the_first_byte(self, provider: Provider) -> None:
        """Cancelling closes the connection to a provider that has not begun to answer."""
        url = provider.silence()
        asyncio.run(_cancelled_in_silence(provider, self.model(url, PATIENT)))

    def test_closed_in_the_middle_of_arguments(self, provider: Provider) -> None:
        """Closing the generator closes the connection at once."""
        url = provider.reply("", CALLS, broken=Break("stall", 5))
        asyncio.run(_closed_in_arguments(provider, self.model(url, PATIENT)))

    # What is compared -------------------------------------------------------------------------

    def _require_trouble(self, provider: Provider, streams: Sequence[Sequence[bytes]], error: type[ModelError]) -> None:
        urls = {provider.replay(chunks) for chunks in streams}
        asyncio.run(_trouble(self.model(urls.pop(), PATIENT), len(streams), error))

    def _require_calls(self, heard: Heard, calls: Sequence[Call]) -> None:
        answer = heard.answer
        assert [(call.name, call.arguments) for call in answer.calls] == [(call.name, call.arguments) for call in calls]
        assert answer.stop_reason == "tool_use"
        assert len({call.id for call in answer.calls if call.id}) == len(calls), "each call has an id of its own"
        assert [(id, name) for id, name, _ in heard.calls] == [(call.id, call.name) for call in answer.calls]
        assert [json.loads(text) for _, _, text in heard.calls] == [call.arguments for call in calls]


def _require_answer(heard: Heard, recording: Recording) -> None:
    answer, expected = heard.answer, recording.answer
    assert isinstance(expected, Assistant)
    assert answer.stop_reason == expected.stop_reason
    if expected.usage is not None:
        assert answer.usage == expected.usage
    if expected.stop_reason == "refusal":  # each wire keeps the words of a refusal in its own place
        return
    assert answer.text == heard.text == expected.text
    assert _thinking(answer) == _thinking(expected)
    assert heard.reasoning == "".join(text for text, _ in _thinking(expected))
    assert list(map(_known, answer.calls)) == list(map(_known, expected.calls))
    for call, (id, name, text) in zip(answer.calls, heard.calls, strict=True):
        assert (id, name, parse(text).arguments) == (call.id, call.name, call.arguments)
        assert call.raw == text or (call.raw is None and call.error is None), "what is no JSON object is kept as it came"


def _thinking(answer: Assistant) -> list[tuple[str, str | None]]:
    return [(part.text, part.signature) for part in answer.parts if isinstance(part, Reasoning)]


def _known(call: ToolCall) -> tuple[object, ...]:
    return call.id, call.name, call.arguments, call.error


# How streams are framed and stopped ---------------------------------------------------------------


def _in_slices(events: Sequence[bytes]) -> list[bytes]:
    """Seven bytes at a time: characters, lines and events are cut."""
    whole = b"".join(events)
    return [whole[start : start + 7] for start in range(0, len(whole), 7)]


FRAMINGS: dict[str, Callable[[Sequence[bytes]], list[bytes]]] = {
    "slices": _in_slices,
    "carriage returns": lambda events: [event.replace(b"\n", b"\r\n") for event in events],
    "comments": lambda events: [b": keep-alive\n\n" + event for event in events],
    "one chunk": lambda events: [b"".join(events)],
}


async def _trouble(model: Model, times: int, error: type[ModelError]) -> None:
    for time in range(times):
        with pytest.raises(error):
            raise AssertionError(f"stream {time + 1} of {times} is taken for an answer: {await _heard(model, ASKED)}")


async def _twice(model: Model) -> tuple[Heard, Heard]:
    return await asyncio.gather(_heard(model, ASKED), _heard(model, ASKED))


async def _listen(pieces: AsyncIterator[Piece], arguments: asyncio.Event) -> None:
    """Listen to the end; the event says that some text of a call's arguments has come."""
    async for piece in pieces:
        if isinstance(piece, ToolCallDelta) and piece.arguments:
            arguments.set()


async def _cancelled_in_arguments(provider: Provider, model: Model) -> None:
    """A task that has heard some arguments and listens on is cancelled."""
    stream, arguments = model.stream(ASKED), asyncio.Event()
    task = asyncio.create_task(_listen(stream, arguments))
    await _either(arguments.wait(), task)
    await _cancel(task)
    await _require_a_disconnect(provider)


async def _cancelled_in_silence(provider: Provider, model: Model) -> None:
    """A task whose request has arrived, and gets no answer, is cancelled."""
    stream = model.stream(ASKED)
    task = asyncio.create_task(_listen(stream, asyncio.Event()))
    assert await asyncio.to_thread(provider.wait_for_request, PATIENT), "the request does not arrive"
    await _cancel(task)
    await _require_a_disconnect(provider)


async def _closed_in_arguments(provider: Provider, model: Model) -> None:
    """A generator that has yielded some arguments is closed."""
    stream = _stream(model, ASKED)
    async with asyncio.timeout(PATIENT):
        async for piece in stream:
            if isinstance(piece, ToolCallDelta) and piece.arguments:
                break
        await stream.aclose()
    await _require_a_disconnect(provider)


async def _either(event: Coroutine[object, object, object], task: asyncio.Task[None]) -> None:
    """Wait until it happens, or raise what the task raised instead."""
    happens = asyncio.ensure_future(event)
    done, _ = await asyncio.wait([happens, task], timeout=PATIENT, return_when=asyncio.FIRST_COMPLETED)
    happens.cancel()
    if task in done:
        task.result()
    assert happens in done, "no piece of the call comes"


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    async with asyncio.timeout(PATIENT):
        with pytest.raises(asyncio.CancelledError):
            await task


async def _require_a_disconnect(provider: Provider) -> None:
    """The model closes its connection itself; the end of the event loop would do it too, and comes later."""
    assert await asyncio.to_thread(provider.wait_for_disconnect, SOON), "the provider still has its connection"
