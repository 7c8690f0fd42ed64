"""Anthropic's Messages over Anthropic's SDK."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from suture.errors import ConfigurationError, MissingExtra
from suture.formats.anthropic.cache import with_cache_marks
from suture.formats.base import Json
from suture.healing import THINKING_OFF, Change, Healed
from suture.messages import Assistant, Origin
from suture.models.anthropic_assembly import Assembly
from suture.models.base import Piece, Request, RequestMended
from suture.models.clients import Clients, Given
from suture.models.failures import as_model_errors, reading, require_events
from suture.models.options import (
    refuse_fields,
    require_address,
    require_async,
    require_plain,
    require_seconds,
    require_tokens,
)
from suture.tools import as_logged

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

API = "anthropic"

_THOUGHTLESS = Change(
    code="THINKING_NOT_FIRST",
    rules=("ANT-THINK-FIRST",),
    path="thinking",
    action="asked without thinking, since the turn that is under way began without",
)
_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


class Anthropic:
    """A model that speaks Anthropic's Messages.

    Args:
        model: Anthropic's name for it, such as "claude-opus-4-6".
        base_url: where it is; `$ANTHROPIC_BASE_URL`, else Anthropic itself.
        api_key: the key; `$ANTHROPIC_API_KEY` (or `$ANTHROPIC_AUTH_TOKEN`) when left out.
        max_tokens: of an answer, thinking included. The API asks for a limit; older models allow 4,096 or 8,192.
        thinking: tokens that the model may think, at least 1,024 and below `max_tokens`; None for a model that does not.
        cache: whether to mark what the prompt cache should keep: tools, system text, the conversation so far.
        timeout: seconds of silence after which an answer is given up.
        extra: further fields of every request, such as {"temperature": 0}; None takes a field away.
        client: an `AsyncAnthropic` of your own instead of `base_url`, `api_key` and `timeout`. It serves one event loop,
            closing it is yours; its retries are switched off.

    Raises:
        ConfigurationError: there is no key, or a limit makes no sense.
        MissingExtra: Anthropic's SDK is not installed.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        max_tokens: int = 8192,
        thinking: int | None = None,
        cache: bool = True,
        timeout: float = 600.0,
        extra: Mapping[str, object] | None = None,
        client: AsyncAnthropic | None = None,
    ) -> None:
        sdk = _sdk()
        require_seconds(timeout)
        require_tokens("max_tokens", max_tokens, 1, None)
        if thinking is not None:
            require_tokens("thinking", thinking, 1024, max_tokens)
        self.name = f"anthropic:{model}"
        url = str(client.base_url) if client is not None else base_url or os.environ.get("ANTHROPIC_BASE_URL") or ""
        self._whom = f"{self.name} at {url}" if url else self.name
        self.model = model
        self.origin = Origin("anthropic", API, model)
        self._cache = cache
        self._fields: Json = {"max_tokens": max_tokens}
        if thinking is not None:
            self._fields["thinking"] = {"type": "enabled", "budget_tokens": thinking}
        self._fields |= extra or {}
        refuse_fields(extra or {}, ("model", "messages", "stream", "max_tokens", "thinking"))
        self._key: str | None = None
        if client is not None:
            require_async(client, sdk.AsyncAnthropic)
            self._key = client.api_key
            self._clients: Clients[Any] | Given[Any] = Given(client.with_options(max_retries=0))
            return

        def make() -> AsyncAnthropic:
            made: AsyncAnthropic = sdk.AsyncAnthropic(api_key=api_key, base_url=base_url, timeout=timeout, max_retries=0)
            return made

        require_address(url, self.name)
        for key in (api_key, *map(os.environ.get, _KEYS)):
            require_plain(key, self.name)
        self._key = api_key or next(filter(None, map(os.environ.get, _KEYS)), None)
        if not (api_key or any(map(os.environ.get, _KEYS)) or _signed_in(make, self.name)):
            raise ConfigurationError(f"{self.name} needs a key: set ANTHROPIC_API_KEY, or pass api_key=....")
        self._clients = Clients(make, self.name)

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """The answer in pieces, and last the whole of it.

        Raises:
            ModelError: there is none.
        """
        sent = request.fitted(API, self.model, self.origin)
        changes = [*sent.changes, *([_THOUGHTLESS] if self._must_not_think(sent) else [])]
        if changes:
            yield RequestMended(tuple(changes))
        answer = Assembly(self._whom, self.origin)
        with as_model_errors(self._whom, self._key):
            client: Any = await self._clients.here()
            async with await client.messages.create(**self._body(sent)) as events:
                require_events(events.response, self._whom)
                async for event in events:
                    with reading(self._whom):
                        deltas = answer.add(event.model_dump(exclude_unset=True, warnings=False))
                    for delta in deltas:
                        yield delta
        with reading(self._whom):
            whole = as_logged(Assistant, answer.answer())
        yield whole

    def _must_not_think(self, sent: Healed) -> bool:
        """Whether thinking is wanted, and the turn that is under way has none to go on from."""
        return "thinking" in self._fields and THINKING_OFF in sent.hints

    def close(self) -> None:
        """Close its connections, from plain code. `asyncio.run` does so by itself at its end."""
        self._clients.close()

    async def aclose(self) -> None:
        """Close its connections on the event loop that runs."""
        await self._clients.aclose()

    def _body(self, sent: Healed) -> Json:
        """The arguments of the SDK's `create`."""
        assert isinstance(sent.history, dict)
        request = with_cache_marks(sent.history) if self._cache else sent.history
        fields = {**request, **self._fields}
        if self._must_not_think(sent):
            fields.pop("thinking", None)
        fields = {key: value for key, value in fields.items() if value is not None}
        named = {key: fields.pop(key) for key in ("messages", "max_tokens")}
        return {"model": self.model, "stream": True, **named, "extra_body": fields}


def _signed_in(make: Callable[[], AsyncAnthropic], name: str) -> bool:
    """Whether the SDK finds credentials of its own, such as a profile."""
    try:
        return make().credentials is not None
    except Exception as error:
        raise ConfigurationError(f"{name} cannot be set up: {error}") from error


def _sdk() -> Any:  # noqa: ANN401  the SDK is there or not
    try:
        import anthropic
    except ImportError as error:
        raise MissingExtra(
            "Anthropic models need Anthropic's SDK. Install it with: pip install 'suture[anthropic]'"
        ) from error
    return anthropic
