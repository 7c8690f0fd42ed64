"""An adapter against the vendor's SDK below it: one streamed answer, alternating within one run. Medians and ratios.

    python -m benchmarks.adapters

The server is llmock on loopback, in a process of its own. `agent` is a whole turn with a memory store.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import openai

from suture import Assistant, AsyncAgent, AsyncSession, User, open_model, open_store
from suture.models import Model, Request

WORDS = 400  # chunks of an answer
ROUNDS = 25

_SERVER = f"""
import sys
from llmock.scenarios import Reply
from llmock.testing import LLMockServer
with LLMockServer() as server:
    server.state.scenarios.add(Reply(text="word " * {WORDS}, times=None))
    print(server.base_url("openai"), server.base_url("anthropic"), flush=True)
    sys.stdin.read()
"""

Ask = Callable[[], Awaitable[str]]


def _openai(url: str) -> Ask:
    client = openai.AsyncOpenAI(api_key="k", base_url=url, max_retries=0)

    async def ask() -> str:
        words = ""
        messages: Any = [{"role": "user", "content": "q"}]
        async with await client.chat.completions.create(model="m", messages=messages, stream=True) as chunks:
            async for chunk in chunks:
                words += (chunk.choices[0].delta.content or "") if chunk.choices else ""
        return words

    return ask


def _anthropic(url: str) -> Ask:
    client = anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=0)

    async def ask() -> str:
        words = ""
        messages: Any = [{"role": "user", "content": "q"}]
        async with await client.messages.create(model="m", messages=messages, max_tokens=100, stream=True) as events:
            async for event in events:
                words += getattr(event.delta, "text", "") if event.type == "content_block_delta" else ""
        return words

    return ask


def _adapter(model: Model) -> Ask:
    request = Request((User.of("q"),))

    async def ask() -> str:
        *_, whole = [piece async for piece in model.stream(request)]
        assert isinstance(whole, Assistant)
        return whole.text

    return ask


def _agent(model: Model) -> Ask:
    agent = AsyncAgent(model)

    async def ask() -> str:
        return (await agent.run("q", session=AsyncSession(open_store("memory:")))).text

    return ask


async def _compare(raw: Ask, model: Model) -> list[float]:
    """Medians, in seconds: of the SDK alone, the adapter, a whole turn."""
    asks = (raw, _adapter(model), _agent(model))
    took: list[list[float]] = [[] for _ in asks]
    for turn in range(ROUNDS + 1):
        for at, ask in enumerate(asks):
            start = time.perf_counter()
            words = await ask()
            assert words.split() == ["word"] * WORDS
            if turn:  # the first opens connections
                took[at].append(time.perf_counter() - start)
    return [statistics.median(one) for one in took]


def main() -> None:
    """Print both providers."""
    server = subprocess.Popen([sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        chat, messages = server.stdout.readline().split()
        rows = (
            ("openai", _openai(chat), open_model("openai:m", base_url=chat, api_key="k")),
            ("anthropic", _anthropic(messages), open_model("anthropic:m", base_url=messages, api_key="k")),
        )
        for name, raw, model in rows:
            sdk, adapter, agent = asyncio.run(_compare(raw, model))
            print(
                f"  {name:<10} SDK {sdk * 1000:6.1f} ms   adapter {adapter * 1000:6.1f} ms ({adapter / sdk:.2f})   "
                f"agent {agent * 1000:6.1f} ms ({agent / sdk:.2f})"
            )
    finally:
        server.terminate()
        server.communicate(timeout=20)


if __name__ == "__main__":
    main()
