"""What SDKs raise, as the error that says what to do next."""

from __future__ import annotations

import json
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from suture.errors import (
    AuthenticationError,
    ContentRefused,
    ContextOverflow,
    InvalidRequest,
    ModelError,
    Overloaded,
    RateLimited,
    Timeout,
    TransportError,
)
from suture.models.failures import as_model_errors, failure_of, reading, retry_after

REQUEST = httpx2.Request("POST", "http://127.0.0.1/v1")


def refused(status: int, body: object = None, headers: dict[str, str] | None = None) -> list[Exception]:
    """The errors by which both SDKs tell of a response."""
    response = httpx2.Response(status, json=body, headers=headers, request=REQUEST)
    clients: list[Any] = [openai.AsyncOpenAI(api_key="k"), anthropic.AsyncAnthropic(api_key="k")]
    return [client._make_status_error_from_response(response) for client in clients]


def error(message: str, **more: str) -> dict[str, object]:
    return {"error": {"message": message, **more}}


STATUSES: list[tuple[int, object, type[ModelError]]] = [
    (400, error("messages.1: `tool_use` ids were found without `tool_result`"), InvalidRequest),
    (400, error("too long", code="context_length_exceeded"), ContextOverflow),
    (400, error("prompt is too long: 210000 tokens > 200000 maximum"), ContextOverflow),
    (400, error("the request exceeds the available context size"), ContextOverflow),
    (400, error("flagged", code="content_filter"), ContentRefused),
    (401, error("no"), AuthenticationError),
    (402, error("pay"), AuthenticationError),
    (403, error("no"), AuthenticationError),
    (404, error("no such model"), InvalidRequest),
    (408, None, Timeout),
    (409, error("lock"), Overloaded),
    (413, error("request_too_large"), ContextOverflow),
    (422, error("bad"), InvalidRequest),
    (429, error("slow down"), RateLimited),
    (500, error("oops"), Overloaded),
    (503, "<html>busy</html>", Overloaded),
    (504, None, Timeout),
    (529, error("busy", type="overloaded_error"), Overloaded),
]


@pytest.mark.parametrize(("status", "body", "kind"), STATUSES)
def test_a_status_is_one_kind_of_error(status: int, body: object, kind: type[ModelError]) -> None:
    """By both SDKs, with the status and the provider's own words, and without anything that is not its answer."""
    for raised in refused(status, body):
        failure = failure_of(raised, "model:m")
        assert type(failure) is kind
        assert str(failure).startswith(f"model:m answered {status}: ")
        if isinstance(body, dict):
            assert body["error"]["message"] in str(failure)


IN_STREAM: list[tuple[dict[str, str], type[ModelError]]] = [
    ({"type": "overloaded_error", "message": "Overloaded"}, Overloaded),
    ({"type": "rate_limit_error", "message": "slow"}, RateLimited),
    ({"type": "api_error", "message": "oops"}, Overloaded),
    ({"type": "authentication_error", "message": "no"}, AuthenticationError),
    ({"type": "invalid_request_error", "message": "prompt is too long"}, ContextOverflow),
    ({"type": "invalid_request_error", "message": "bad"}, InvalidRequest),
    ({"code": "rate_limit_exceeded", "message": "slow"}, RateLimited),
    ({"type": "who knows", "message": "strange"}, Overloaded),
]


@pytest.mark.parametrize(("body", "kind"), IN_STREAM)
def test_an_error_in_the_middle_of_a_stream_has_no_status(body: dict[str, str], kind: type[ModelError]) -> None:
    """Its type, code or words tell; one that says nothing may pass by itself."""
    for raised in (openai.APIError("x", REQUEST, body=body), *refused(200, {"type": "error", "error": body})):
        failure = failure_of(raised, "model:m")
        assert type(failure) is kind
        assert str(failure) == f"model:m broke its answer off: {body['message']}"


TRANSPORT: list[tuple[Exception, type[ModelError]]] = [
    (openai.APIConnectionError(request=REQUEST), TransportError),
    (anthropic.APIConnectionError(request=REQUEST), TransportError),
    (openai.APITimeoutError(REQUEST), Timeout),
    (anthropic.APITimeoutError(REQUEST), Timeout),
    (httpx2.RemoteProtocolError("peer closed"), TransportError),
    (httpx2.ReadError("reset"), TransportError),
    (httpx2.ReadTimeout("slow"), Timeout),
    (json.JSONDecodeError("Expecting value", "{", 1), TransportError),
    (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), TransportError),
    (ConnectionResetError("reset"), TransportError),
    (TimeoutError(), Timeout),
    (openai.OpenAIError("no token"), AuthenticationError),
    (anthropic.CredentialsError("expired"), AuthenticationError),
]


@pytest.mark.parametrize(("raised", "kind"), TRANSPORT, ids=lambda one: getattr(one, "__name__", type(one).__name__))
def test_whatever_the_transport_raises_is_told(raised: Exception, kind: type[ModelError]) -> None:
    """Raw errors of the transport come through both SDKs in the middle of a stream."""
    with pytest.raises(ModelError) as told, as_model_errors("model:m"):
        raise raised
    assert type(told.value) is kind
    assert told.value.__cause__ is raised


def test_the_hosts_own_mistake_is_none_of_the_models() -> None:
    """An error of another kind goes through as the same object; one of ours is not wrapped again."""
    for raised in (ZeroDivisionError("x"), RateLimited("slow", retry_after=2.0)):
        with pytest.raises(type(raised)) as told, as_model_errors("model:m"):
            raise raised
        assert told.value is raised


@pytest.mark.parametrize("raised", [KeyError("choices"), TypeError("x"), AttributeError("get"), ValueError("v")])
def test_an_answer_of_a_shape_that_none_has_is_a_broken_connection(raised: Exception) -> None:
    """A server that sends nonsense is asked again, not the host's bug report."""
    with (
        pytest.raises(TransportError, match=r"model:m sent what is no answer \(.*\), so nothing of it was kept"),
        reading("model:m"),
    ):
        raise raised


HINTS: list[tuple[dict[str, str], float | None]] = [
    ({"retry-after": "3"}, 3.0),
    ({"retry-after": "0.5"}, 0.5),
    ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
    ({}, None),
    ({"retry-after": "soon"}, None),
    ({"retry-after": "-1"}, None),
    ({"retry-after": "inf"}, None),
    ({"retry-after": "nan"}, None),
    ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
]


@pytest.mark.parametrize(("headers", "wait"), HINTS)
def test_when_to_ask_again(headers: dict[str, str], wait: float | None) -> None:
    """Seconds, milliseconds or a date; what is no time is no hint."""
    assert retry_after(headers) == wait
    for raised in refused(429, error("slow"), headers):
        failure = failure_of(raised, "m")
        assert failure is not None
        assert failure.retry_after == wait


def test_a_date_to_ask_again_is_counted_from_now() -> None:
    """An HTTP date in the future is that many seconds."""
    wait = retry_after({"retry-after": format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)})
    assert wait is not None
    assert 80 < wait <= 90


def test_an_endless_error_is_cut() -> None:
    """A provider that answers with the whole request does not fill the log."""
    for raised in refused(400, error("x" * 100_000)):
        assert len(str(failure_of(raised, "m"))) < 2100


KEY = "sk-verysecretkey"


@pytest.mark.parametrize("status", [401, 400, 500])
def test_a_key_that_the_provider_quotes_is_not_told(status: int) -> None:
    """Neither the error nor what caused it tells the key, since both end in logs."""
    for raised in refused(status, error(f"Incorrect API key provided: {KEY}. Bearer {KEY}")):
        with pytest.raises(ModelError) as told, as_model_errors("model:m", KEY):
            raise raised
        assert KEY not in "".join(traceback.format_exception(told.value))
        assert "Incorrect API key provided: (the key)." in str(told.value)


@pytest.mark.parametrize(
    ("code", "kind"), [(401, AuthenticationError), (429, RateLimited), (503, Overloaded), (404, InvalidRequest)]
)
def test_a_number_in_the_stream_is_a_status(code: int, kind: type[ModelError]) -> None:
    """Copies of the API put the status into the event, where their own answer has said 200 before."""
    failure = failure_of(openai.APIError("x", REQUEST, body={"code": code, "message": "m"}), "model:m")
    assert type(failure) is kind


@pytest.mark.parametrize("raised", [RecursionError("deep"), OverflowError("large"), IndexError("x")])
def test_no_answer_is_too_odd_to_fail_well(raised: Exception) -> None:
    """Whatever reading it raises is one failed attempt."""
    with pytest.raises(TransportError), reading("model:m"):
        raise raised


def test_odd_words_of_a_provider_can_be_written_down() -> None:
    """Lone surrogates, error texts that are no objects, and times beyond the calendar."""
    raw = b'{"error": "just words \\ud800"}'
    response = httpx2.Response(400, content=raw, headers={"content-type": "application/json"}, request=REQUEST)
    failure = failure_of(openai.AsyncOpenAI(api_key="k")._make_status_error_from_response(response), "m")
    assert failure is not None
    str(failure).encode()
    assert "just words" in str(failure)
    assert retry_after({"retry-after": "Mon, 01 Jan 2024 00:00:00 +999999999999999999"}) is None
