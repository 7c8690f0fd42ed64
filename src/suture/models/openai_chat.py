"""OpenAI's Chat Completions over OpenAI's SDK: OpenAI, Azure, and every server that copies the API."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from suture.errors import ConfigurationError, MissingExtra
from suture.formats.base import Json
from suture.formats.openai_chat.dialects import COPIES
from suture.messages import Assistant, Origin
from suture.models.base import Piece, Request, RequestMended
from suture.models.bounds import text_of
from suture.models.clients import Clients, Given
from suture.models.failures import as_model_errors, reading, require_events
from suture.models.openai_assembly import Assembly
from suture.models.options import refuse_fields, require_address, require_async, require_plain, require_seconds
from suture.repair import IdBook, with_call_ids
from suture.tools import as_logged

if TYPE_CHECKING:
    from openai import AsyncOpenAI

API = "openai-chat"

# Whose server it is, by what its address ends in, and so which dialect it speaks (`suture.formats.openai_chat`).
_DIALECTS = {
    "api.openai.com": "",
    "azure.com": "",
    "api.deepseek.com": "deepseek",
    "moonshot.ai": "moonshot",
    "moonshot.cn": "moonshot",
    "api.groq.com": "groq",
    "api.x.ai": "xai",
    "together.xyz": "together",
    "together.ai": "together",
    "openrouter.ai": "openrouter",
    "dashscope.aliyuncs.com": "qwen",
    "bigmodel.cn": "glm",
    "z.ai": "glm",
    "minimax.io": "minimax",
    "minimaxi.com": "minimax",
    "api.perplexity.ai": "perplexity",
    "integrate.api.nvidia.com": "nim",
    "cohere.com": "cohere",
    "cohere.ai": "cohere",
}
_OTHERS = "compatible"


class OpenAIChat:
    """A model that speaks Chat Completions.

    Args:
        model: the provider's name for it, such as "gpt-5.2".
        base_url: where it is; `$OPENAI_BASE_URL`, else OpenAI itself.
        api_key: the key; `$OPENAI_API_KEY` when left out. A server that is not OpenAI's may need none.
        dialect: who copied the API, such as "deepseek" or "vllm"; told from `base_url` when left out.
        timeout: seconds of silence after which an answer is given up.
        extra: further fields of every request, such as {"temperature": 0}; None takes a field away.
        client: an `AsyncOpenAI` of your own, such as `AsyncAzureOpenAI`, instead of `base_url`, `api_key` and `timeout`.
            It serves one event loop, closing it is yours; its retries are switched off.

    Raises:
        ConfigurationError: there is no key.
        MissingExtra: OpenAI's SDK is not installed.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dialect: str | None = None,
        timeout: float = 600.0,
        extra: Mapping[str, object] | None = None,
        client: AsyncOpenAI | None = None,
    ) -> None:
        sdk = _sdk()
        require_seconds(timeout)
        url = str(client.base_url) if client is not None else base_url or os.environ.get("OPENAI_BASE_URL") or ""
        host = urlsplit(url).hostname or "api.openai.com"
        self.name = f"openai:{model}"
        self._whom = f"{self.name} at {url}" if url else self.name
        self.model = model
        self.dialect = _known(dialect) if dialect is not None else _dialect_of(host)
        self.origin = Origin("openai" if not self.dialect else host, API, model)
        self._extra = dict(extra or {})
        refuse_fields(self._extra, ("model", "messages", "stream"))
        self._key: str | None = None
        if client is not None:
            require_async(client, sdk.AsyncOpenAI)
            self._key = text_of(client.api_key)
            self._clients: Clients[Any] | Given[Any] = Given(client.with_options(max_retries=0))
            return
        require_address(url, self.name)
        key = self._key = api_key or os.environ.get("OPENAI_API_KEY") or ("none" if self.dialect else None)
        if key is None:
            raise ConfigurationError(
                f"{self.name} needs a key: set OPENAI_API_KEY, or pass api_key=.... "
                "For a server of your own set OPENAI_BASE_URL, or pass base_url=...."
            )
        require_plain(key, self.name)
        self._clients = Clients(
            lambda: sdk.AsyncOpenAI(api_key=key, base_url=url or None, timeout=timeout, max_retries=0), self.name
        )

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """The answer in pieces, and last the whole of it.

        Raises:
            ModelError: there is none.
        """
        sent = request.fitted(API, f"{self.dialect}:{self.model}" if self.dialect else self.model, self.origin)
        if sent.changes:
            yield RequestMended(tuple(sent.changes))
        answer = Assembly(self._whom, self.origin)
        with as_model_errors(self._whom, self._key):
            client: Any = await self._clients.here()
            async with await client.chat.completions.create(**self._body(sent.history)) as chunks:
                require_events(chunks.response, self._whom)
                async for chunk in chunks:
                    with reading(self._whom):
                        deltas = answer.add(chunk.model_dump(exclude_unset=True, warnings=False))
                    for delta in deltas:
                        yield delta
        with reading(self._whom):
            whole = as_logged(Assistant, answer.answer())
        yield _with_own_ids(whole, request) if self.dialect else whole

    def close(self) -> None:
        """Close its connections, from plain code. `asyncio.run` does so by itself at its end."""
        self._clients.close()

    async def aclose(self) -> None:
        """Close its connections on the event loop that runs."""
        await self._clients.aclose()

    def _body(self, history: object) -> Json:
        """The arguments of the SDK's `create`."""
        assert isinstance(history, dict)
        more = {"stream_options": {"include_usage": True}, **{k: v for k, v in history.items() if k != "messages"}}
        more = {key: value for key, value in {**more, **self._extra}.items() if value is not None}
        return {"model": self.model, "messages": history["messages"], "stream": True, "extra_body": more}


def _with_own_ids(answer: Assistant, request: Request) -> Assistant:
    """The answer with ids that nobody had before: some copies give none, or begin anew with each answer (X-ID-REUSE)."""
    if not answer.calls:
        return answer
    book = IdBook()
    calls_before = 0
    for message in request.messages:
        for call in message.calls if isinstance(message, Assistant) else ():
            book.take(call.id, "")
            calls_before += 1
    names = [book.take(call.id.strip(), str(calls_before + at)) for at, call in enumerate(answer.calls, 1)]
    return with_call_ids(answer, names)


def _sdk() -> Any:  # noqa: ANN401  the SDK is there or not
    try:
        import openai
    except ImportError as error:
        raise MissingExtra("OpenAI models need OpenAI's SDK. Install it with: pip install 'suture[openai]'") from error
    return openai


def _known(dialect: str) -> str:
    if dialect not in ("", *COPIES):
        raise ConfigurationError(
            f"dialect={dialect!r} is none of {', '.join(sorted(COPIES))}, and not '' for OpenAI's own."
        )
    return dialect


def _dialect_of(host: str) -> str:
    for suffix, dialect in _DIALECTS.items():
        if host == suffix or host.endswith(f".{suffix}"):
            return dialect
    return _OTHERS
