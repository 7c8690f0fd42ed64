"""What a vendor's SDK, or the transport below it, raises, as the one error that suture knows it by.

The SDKs of OpenAI and Anthropic are made by one generator and fail alike: an error with a status, an error of the
connection, or whatever their transport raises in the middle of a stream. None is imported here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from math import isfinite
from typing import Protocol

from suture.canonical import scrub
from suture.errors import (
    AuthenticationError,
    ContentRefused,
    ContextOverflow,
    HistoryError,
    InvalidRequest,
    ModelError,
    Overloaded,
    RateLimited,
    SutureError,
    Timeout,
    TransportError,
)

# What a provider says of a conversation that is too long, and of content that it will not answer.
_TOO_LONG = (
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "maximum context",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "request_too_large",
)
_REFUSED = ("content_filter", "content_policy", "content management policy", "flagged by", "safety system")

# By status, and by the type that an error in the middle of a stream has instead of one.
_BY_STATUS: dict[int, type[ModelError]] = {
    401: AuthenticationError,
    402: AuthenticationError,
    403: AuthenticationError,
    408: Timeout,
    409: Overloaded,
    413: ContextOverflow,
    425: Overloaded,
    429: RateLimited,
    504: Timeout,
}
_BY_TYPE: dict[str, type[ModelError]] = {
    "authentication_error": AuthenticationError,
    "permission_error": AuthenticationError,
    "billing_error": AuthenticationError,
    "rate_limit_error": RateLimited,
    "rate_limit_exceeded": RateLimited,
    "overloaded_error": Overloaded,
    "api_error": Overloaded,
    "server_error": Overloaded,
    "timeout_error": Timeout,
    "request_too_large": ContextOverflow,
    "invalid_request_error": InvalidRequest,
    "not_found_error": InvalidRequest,
}

_SDKS = frozenset(("openai", "anthropic"))
_TRANSPORTS = frozenset(
    ("httpx", "httpx2", "httpcore", "httpcore2", "anyio", "h11", "h2", "ssl", "socket", "pydantic", "pydantic_core")
)
_BROKEN = (OSError, EOFError, RecursionError, JSONDecodeError, UnicodeDecodeError)
_MAX_TEXT = 2000
_SHORTEST_SECRET = 8

# Whatever else is there is asked for by others.
_NOT_FOUND = " Check the model's name, and base_url: OpenAI's addresses mostly end in /v1, Anthropic's do not."


class Response(Protocol):
    """What an SDK shows of a response."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers."""


@contextmanager
def as_model_errors(name: str, secret: str | None = None) -> Iterator[None]:
    """Turn what an SDK raises into a ModelError; `name` is the model that was asked, `secret` the key that no error tells.

    Raises:
        ModelError: the SDK or its transport failed. What is neither goes through as it is.
    """
    try:
        yield
    except SutureError:
        raise
    except Exception as error:
        failure = failure_of(error, name)
        if failure is None:
            raise
        if secret is not None and len(secret) >= _SHORTEST_SECRET and secret in str(failure):
            # Without the cause, which tells it too.
            raise type(failure)(str(failure).replace(secret, "(the key)"), retry_after=failure.retry_after) from None
        raise failure from error


# What reading an answer of a shape that none has raises.
_SHAPES = (AttributeError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError, HistoryError)


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Take in what came; `name` is the model that sent it.

    Raises:
        TransportError: it has a shape that no answer has.
    """
    try:
        yield
    except _SHAPES as error:
        what = f"{type(error).__name__}: {_said(error)}"
        raise TransportError(f"{name} sent what is no answer ({what}), so nothing of it was kept. Ask again.") from error


def require_events(response: Response, name: str) -> None:
    """Return when the answer may be a stream of events.

    Raises:
        InvalidRequest: it is a page, as of a proxy or of a wrong address.
    """
    kind = response.headers.get("content-type", "")
    if kind.startswith("text/html"):
        raise InvalidRequest(f"{name} answered with a page ({kind}) and no stream of events. Check base_url.")


def failure_of(error: Exception, name: str) -> ModelError | None:
    """The error that suture knows it by; None when it comes neither from a provider nor from the transport."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return _refusal(error, status, name)
    if _is_timeout(error):
        return Timeout(f"{name} did not answer in time ({_said(error)}). Ask again, or give the model a longer timeout.")
    if _is_transport(error):
        return TransportError(f"The connection to {name} broke ({_why(error)}), so nothing of it was kept. Ask again.")
    if hasattr(error, "body"):  # an error that a stream brought, which has no status
        return _refusal(error, None, name)
    if _modules(error) & _SDKS:  # nothing was sent: the SDK found no credentials, or could not use them
        return AuthenticationError(f"{name} could not be asked: {_said(error)}")
    return None


def _refusal(error: Exception, status: int | None, name: str) -> ModelError:
    """What the provider itself answered."""
    said = _said(error)
    kind = _kind_of(error, status, said.lower())
    lead = f"{name} answered {status}" if status not in (None, 200) else f"{name} broke its answer off"
    # Only the first lines: some providers answer with the request.
    hint = _NOT_FOUND if status == 404 else ""
    return kind(f"{lead}: {said}{hint}", retry_after=retry_after(_headers(error)))


def _kind_of(error: Exception, status: int | None, said: str) -> type[ModelError]:
    body = getattr(error, "body", None)
    words = " ".join([said, *(str(value).lower() for value in _error_of(body).values() if isinstance(value, str))])
    if status in (400, 413, 422, 200, None):
        if any(text in words for text in _TOO_LONG):
            return ContextOverflow
        if any(text in words for text in _REFUSED):
            return ContentRefused
    if status is not None and status >= 400:
        return _by_status(status)
    inner = _error_of(body)
    if isinstance(code := inner.get("code"), int) and 400 <= code <= 599:
        return _by_status(code)
    return next((_BY_TYPE[str(inner[key])] for key in ("type", "code") if str(inner.get(key)) in _BY_TYPE), Overloaded)


def _by_status(status: int) -> type[ModelError]:
    found = _BY_STATUS.get(status)
    return found if found is not None else Overloaded if status >= 500 else InvalidRequest


def _error_of(body: object) -> Mapping[str, object]:
    """The object that says what is wrong, wherever the provider put it."""
    inner = body.get("error", body) if isinstance(body, dict) else None
    return inner if isinstance(inner, dict) else {}


def _said(error: Exception) -> str:
    """What the provider, or the error, says."""
    body = getattr(error, "body", None)
    message = _error_of(body).get("message") or (body.get("error") if isinstance(body, dict) else body)
    text = message if isinstance(message, str) and message else str(error)
    return " ".join(scrub(text[: 4 * _MAX_TEXT]).split())[:_MAX_TEXT] or type(error).__name__


def _why(error: Exception) -> str:
    """What the transport says, which the SDK may have put behind a word of its own."""
    said, cause = _said(error), error.__cause__
    behind = _said(cause) if isinstance(cause, Exception) else ""
    return said if behind in said else f"{said} {behind}"


def _is_timeout(error: Exception) -> bool:
    return isinstance(error, TimeoutError) or any("Timeout" in kind.__name__ for kind in type(error).__mro__)


def _is_transport(error: Exception) -> bool:
    """Whether the connection failed, or what came over it is no JSON."""
    named = any(kind.__name__ == "APIConnectionError" for kind in type(error).__mro__)
    return named or bool(_modules(error) & _TRANSPORTS) or isinstance(error, _BROKEN)


def _modules(error: Exception) -> set[str]:
    """The packages that made the error."""
    return {kind.__module__.partition(".")[0] for kind in type(error).__mro__}


# When to ask again ----------------------------------------------------------------------------


def _headers(error: Exception) -> Mapping[str, str]:
    headers = getattr(getattr(error, "response", None), "headers", None)
    return headers if headers is not None else {}


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a provider asks to wait: `retry-after-ms`, or `retry-after` as seconds or a date."""
    if (wait := _number(headers.get("retry-after-ms"))) is not None:
        return wait / 1000
    given = headers.get("retry-after")
    if (wait := _number(given)) is not None:
        return wait
    try:
        until = parsedate_to_datetime(given or "")
    except (ValueError, OverflowError):
        return None
    now = datetime.now(UTC)
    return max(0.0, ((until if until.tzinfo else until.replace(tzinfo=UTC)) - now).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if isfinite(number) and number >= 0 else None
