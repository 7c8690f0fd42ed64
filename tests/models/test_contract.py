"""The contract of models bites: an adapter with one thing wrong fails in the test that is about it."""

from __future__ import annotations

import gc
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest

from suture.errors import ConfigurationError
from suture.models import Model
from suture.testing import ModelContract, models
from suture.testing.providers import Break, Provider, provider_of
from tests.models.example import SOURCE, adapter

# A stream that is read by a task of its own, which nobody stops.
PUMPED = """
    async def stream(self, request):
        import asyncio
        queue = asyncio.Queue()
        async def pump():
            async for piece in self._pumped(request):
                queue.put_nowait(piece)
        self.task = asyncio.create_task(pump())
        while not isinstance(piece := await queue.get(), Assistant):
            yield piece
        yield piece

    async def _pumped(self"""

# A reader of events who trusts that the network delivers them one by one.
NAIVE = """
async def naive(response):
    async for chunk in response.aiter_bytes():
        for part in chunk.decode(errors="replace").split("\\n\\n"):
            if part.startswith("data: "):
                yield httpx2.ServerSentEvent(data=part[6:])


class MinimalChat"""

STREAM = "    async def stream(self"
DECODED = "msgspec.json.decode(event.data, type=Chunk)"
REFUSED = "                    if response.is_error:\n"
AGAIN = f"""{REFUSED}\
                        async for piece in self.stream(request):
                            yield piece
                        return
"""
BODY = '{**history, "model"'

ONE_CLIENT = {
    "suppress\n": "nullcontext, suppress\n",
    "async with httpx2": "async with nullcontext(self.__dict__.setdefault('one', httpx2",
    "headers=self._headers) as": "headers=self._headers))) as",
}

ASKING = b"""POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 46\r\n\r\n\
{"model": "m", "stream": true, "messages": []}"""

# What a program without llmock sees.
NAMED = """
import suture, suture.testing.providers as providers
try:
    providers.provider_of("openai")
except suture.MissingExtra as error:
    assert "pip install 'suture[testing]'" in str(error)
else:
    raise AssertionError("not missed")
"""

# What is wrong, the texts of the example that are changed for it, the test that must fail, and what it must say.
WRONG: list[tuple[str, dict[str, str], str, dict[str, Any], str]] = [
    ("takes a cut stream", {"self._finish is None": "False"}, "a_cut_stream", {"calls": (), "after": 4}, "DID NOT RAISE"),
    ("takes an empty stream", {"self._finish is None": "False"}, "a_cut_stream", {"calls": (), "after": 0}, "DID NOT RAISE"),
    ("takes cut calls", {"self._finish is None": "False"}, "a_cut_stream", {"calls": models.CALLS, "after": 4}, "DID NOT RAISE"),
    ("takes text for the end", {"self._finish is None": "not self._text"}, "a_stream_cut_after_any_event", {}, "is taken for an answer"),
    ("drops the hint", {"seconds(response.headers.get(\"retry-after\"))": "None"}, "a_rate_limit", {"seconds": 7.0}, "AssertionError"),
    ("takes no hint of 0", {"return float(hint)": "return float(hint) or None"}, "a_rate_limit", {"seconds": 0.0}, "AssertionError"),
    ("mends arguments", {"self.name, arguments, ": "self.name, arguments or {}, "}, "recorded_answers", {"hazard": "broken_arguments"}, "AssertionError"),
    ("drops broken arguments", {"self.arguments if problem": "None if problem"}, "recorded_answers", {"hazard": "broken_arguments"}, "AssertionError"),
    ("calls blank arguments broken", {"parse(self.arguments)": "parse(self.arguments or '?')"}, "recorded_answers", {"hazard": "call_without_arguments"}, "AssertionError"),
    ("lets a lost connection through", {"except httpx2.RequestError": "except KeyError"}, "a_dropped_connection", {"after": 4}, "RemoteProtocolError"),
    ("lets a refused connection through", {"except httpx2.RequestError": "except KeyError"}, "nobody_listens", {}, "ConnectError"),
    ("lets a decoder's error through", {"    except msgspec.DecodeError as": "    except KeyError as"}, "a_broken_chunk", {"after": 4}, "DecodeError"),
    ("skips a broken chunk", {DECODED: f"{DECODED} if event.data[-1] == '}}' else Chunk()"}, "a_broken_chunk", {"after": 4}, "DID NOT RAISE"),
    ("trusts the shape", {"type=Chunk)):": "type=Any)):"}, "an_event_of_another_shape", {"shape": "list"}, "AttributeError"),
    ("hears no error", {"chunk.error is not None": "False"}, "an_error_in_the_stream", {}, "IncompleteStream"),
    ("waits for ever for a piece", {"timeout=self._timeout": "timeout=None"}, "a_stall", {}, "TimeoutError"),
    ("waits for ever for a word", {"timeout=self._timeout": "timeout=None"}, "silence", {}, "TimeoutError"),
    ("calls a stall a lost connection", {"except httpx2.TimeoutException": "except KeyError"}, "a_stall", {}, "TransportError"),
    ("listens on when cancelled", {STREAM: PUMPED}, "cancelled_in_the_middle_of_arguments", {}, "AssertionError"),
    ("asks on when cancelled", {STREAM: PUMPED}, "cancelled_before_the_first_byte", {}, "AssertionError"),
    ("listens on when closed", {STREAM: PUMPED}, "closed_in_the_middle_of_arguments", {}, "AssertionError"),
    ("calls its cancellation an error", {"except httpx2.RequestError": "except BaseException"}, "cancelled_in_the_middle_of_arguments", {}, "TransportError"),
    ("loses the second call", {"self._calls.values()": "list(self._calls.values())[::2]"}, "three_parallel_calls", {}, "AssertionError"),
    ("joins all calls", {"setdefault(piece.index": "setdefault(0"}, "three_parallel_calls", {}, "AssertionError"),
    ("adds to the last call", {"            call.arguments +=": "            call = [*self._calls.values()][-1]\n            call.arguments +="}, "recorded_answers", {"hazard": "interleaved_calls"}, "AssertionError"),
    ("names a call once", {"call.id, call.name, piece": "piece.id or '', piece.function.name or '', piece"}, "a_call", {"text": ""}, "AssertionError"),
    ("counts calls from 1", {"ToolCallDelta(piece.index": "ToolCallDelta(piece.index + 1"}, "a_call", {"text": ""}, "AssertionError"),
    ("drops text before a call", {"[Text(self._text)] if": "[Text(self._text)] if not self._calls and"}, "a_call", {"text": "I look it up."}, "AssertionError"),
    ("tells all again", {"yield TextDelta(text)": "yield TextDelta(self._text)"}, "text", {}, "AssertionError"),
    ("tells nothing until the end", {"                yield TextDelta(text)\n": ""}, "text", {}, "AssertionError"),
    ("goes on after the whole", {"yield draft.whole()": "yield draft.whole()\n        yield TextDelta('!')"}, "text", {}, "AssertionError"),
    ("says all twice", {"yield draft.whole()": "yield draft.whole()\n        yield draft.whole()"}, "text", {}, "AssertionError"),
    ("is always done", {"STOP_REASONS.get(self._finish, \"stop\")": "'stop'"}, "stop_reasons", {"stop_reason": "length"}, "AssertionError"),
    ("uses the provider's word", {"STOP_REASONS.get(self._finish, \"stop\")": "self._finish"}, "a_call", {"text": ""}, "AssertionError"),
    ("takes a refusal for an answer", {"\"refusal\" if self._refused else ": ""}, "recorded_answers", {"hazard": "refusal"}, "AssertionError"),
    ("lets calls hide the length", {"\"refusal\" if self._refused else ": "'tool_use' if self._calls else "}, "calls_that_were_cut_by_the_length", {}, "AssertionError"),
    ("asks for no usage", {", \"stream_options\": {\"include_usage\": True}": ""}, "usage", {}, "AssertionError"),
    ("forgets the cache", {"cached, reasoning_tokens": "0, reasoning_tokens"}, "recorded_answers", {"hazard": "usage"}, "AssertionError"),
    ("keeps its thinking", {"yield ReasoningDelta(delta.reasoning_content)": "yield from ()"}, "recorded_answers", {"hazard": "reasoning"}, "AssertionError"),
    ("forgets its thinking", {"[Reasoning(self._reasoning)] if": "[] if"}, "recorded_answers", {"hazard": "reasoning"}, "AssertionError"),
    ("forgets who answered", {"self._model, self._id)": "self._model)"}, "who_answered", {}, "AssertionError"),
    ("cuts characters", {"httpx2.EventSource(response)": "naive(response)", "\nclass MinimalChat": NAIVE}, "framing", {"hazard": "usage", "cut": "slices"}, "TransportError"),
    ("knows one line end", {"httpx2.EventSource(response)": "naive(response)", "\nclass MinimalChat": NAIVE}, "framing", {"hazard": "usage", "cut": "carriage returns"}, "TransportError"),
    ("has one client for all loops", ONE_CLIENT, "one_model_asked_again", {}, "RuntimeError"),
    ("tries again by itself", {REFUSED: AGAIN}, "an_overloaded_provider", {}, "DID NOT RAISE"),
    ("tries a limit again by itself", {REFUSED: AGAIN}, "a_rate_limit", {"seconds": 7.0}, "DID NOT RAISE"),
    ("takes 503 for a bad request", {"case status if status >= 500": "case status if status >= 600"}, "an_overloaded_provider", {}, "InvalidRequest"),
    ("hides what is wrong", {"errors.InvalidRequest(said.message)": "errors.InvalidRequest()"}, "a_request_that_is_refused", {}, "AssertionError"),
    ("does not know a wrong key", {"case 401 | 403": "case 403"}, "a_wrong_key", {}, "InvalidRequest"),
    ("takes all 400s for one", {"\"context_length_exceeded\"": "'?'"}, "a_conversation_that_is_too_long", {}, "InvalidRequest"),
    ("trusts a page", {"    with suppress(msgspec.DecodeError):": "    if 1:", "said = msgspec.json.decode(body, type=Chunk).error or said": "said = {}['error']"}, "any_other_status", {"status": 502}, "KeyError"),
    ("leaves the system prompt out", {BODY: '{**history, "messages": history["messages"][1:], "model"'}, "the_request_is_whole", {}, "AssertionError"),
    ("leaves the tools out", {BODY: '{"messages": history["messages"], "model"'}, "the_request_is_whole", {}, "AssertionError"),
    ("says the system prompt twice", {BODY: '{**history, "messages": [history["messages"][0], *history["messages"]], "model"'}, "the_request_is_whole", {}, "AssertionError"),
    ("sends tools as null", {BODY: '{**history, "x": history["tools"], "model"'}, "a_request_without_tools", {}, "KeyError"),
]  # fmt: skip


def contract(changes: dict[str, str]) -> ModelContract:
    """The contract of the example adapter with these texts of its source replaced."""
    source = SOURCE
    for old, new in changes.items():
        assert old in source, f"the example has no {old!r} to be changed"
        source = source.replace(old, new)
    made = adapter(source, "changed_adapter")

    class Changed(ModelContract):
        def model(self, base_url: str, timeout: float) -> Model:
            return made("some-model", base_url, timeout=timeout)

    return Changed()


@pytest.fixture(scope="module")
def opened() -> Iterator[Provider]:
    with closing(provider_of("openai")) as provider:
        gc.freeze()  # what is there already need not be looked at after every row
        yield provider
        gc.unfreeze()


@pytest.fixture
def run(opened: Provider) -> Iterator[Callable[..., None]]:
    """Runs one test of a contract."""

    def run(contract: ModelContract, test: str, given: dict[str, Any]) -> None:
        opened.reset()
        method: Callable[..., None] = getattr(contract, f"test_{test}")
        needs = method.__code__.co_varnames[: method.__code__.co_argcount]
        method(**given, **({"provider": opened} if "provider" in needs else {}))

    yield run
    opened.reset()


@pytest.mark.parametrize(("changes", "test", "given", "says"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_wrong_adapter_is_caught(
    run: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, str],
    test: str,
    given: dict[str, Any],
    says: str,
) -> None:
    """With one thing wrong, the test that is about it fails, and for that reason."""
    monkeypatch.setattr(models, "SOON", 0.5)  # what is late in a row of the table never comes
    monkeypatch.setattr(models, "PATIENT", 2.0 if says == "TimeoutError" else models.PATIENT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a wrong adapter may leave its connection to the collector
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            run(contract(changes), test, given)
        assert says in f"{caught.typename}: {caught.value}"
        del caught
        gc.collect()


def test_each_row_is_a_case_of_the_contract() -> None:
    """What a row asks is asked of every adapter, and so of the example without the change."""
    for name, _, test, given, _ in WRONG:
        marks = getattr(getattr(ModelContract, f"test_{test}"), "pytestmark", ())
        cases = {mark.args[0]: list(mark.args[1]) for mark in marks}
        assert given.keys() == cases.keys(), name
        assert all(value in cases[key] for key, value in given.items()), name


def test_pieces_that_are_no_deltas_are_heard(run: Callable[..., None]) -> None:
    """An adapter may say first what it had to leave out."""
    draft = "        draft = Draft(self._model)\n"
    says_so = contract({draft: f"{draft}        yield RequestMended(())\n"})
    run(says_so, "text", {})
    run(says_so, "a_call", {"text": ""})
    run(says_so, "closed_in_the_middle_of_arguments", {})


@pytest.mark.parametrize("then", ["silence", "stall"])
def test_a_provider_that_is_closed_leaves_nothing(then: str) -> None:
    """No thread and no open port is left, whether or not the client went away."""
    before = set(threading.enumerate())
    with closing(provider_of("openai")) as provider:
        silent = then == "silence"
        port = urlsplit(provider.silence() if silent else provider.reply(models.TEXT, broken=Break("stall", 2))).port
        assert port is not None
        with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
            client.sendall(ASKING)
            assert provider.wait_for_request(30) if silent else client.recv(1)
            assert not provider.wait_for_disconnect(0.1)
            if silent:
                provider.close()  # while the client hangs on
    deadline = time.monotonic() + 30
    while (left := set(threading.enumerate()) - before) and time.monotonic() < deadline:
        time.sleep(0.01)  # the server tells its workers to end, and does not wait for them
    assert not left
    with socket.socket() as again:
        assert again.connect_ex(("127.0.0.1", port)) != 0


def test_a_wire_without_a_provider() -> None:
    """A wire that has none ready is named, with those that have one."""
    with pytest.raises(ConfigurationError, match="'morse', only for openai, anthropic"):
        provider_of("morse")


@pytest.mark.parametrize(
    ("missing", "code"),
    [
        (("pytest", "llmock"), "import suture.testing, suture.testing.providers"),
        (("llmock",), "from suture.testing import ModelContract, StoreContract"),
        (("llmock",), NAMED),
    ],
    ids=["nothing", "no llmock", "llmock named"],
)
def test_what_is_not_installed(missing: tuple[str, ...], code: str) -> None:
    """Importing asks for neither pytest nor llmock; needing llmock names the extra that has it."""
    hidden = f"import sys; sys.modules.update(dict.fromkeys({missing!r}))\n{code}"
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
