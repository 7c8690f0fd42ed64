"""What is logged at INFO and above tells what happened, and never what was said.

All loggers are heard: those of suture, of the vendors' SDKs and of the transport below them.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Iterator

import pytest
from llmock.scenarios import Fail, Reply, StreamFault, ToolCall
from llmock.testing import LLMockServer

from suture.agent import Agent, AsyncAgent, Result
from suture.loop.retries import RetryPolicy
from suture.models import Model
from suture.session import Session
from suture.stores.memory import MemoryStore
from suture.tools import tool
from tests.loop.scenarios import Driver
from tests.models.served import WIRES, Wire, adapter_of, bodies

QUICK = RetryPolicy(attempts=2, base=0.0, max_delay=0.0)

# Each stands for something private, in a place of its own.
SECRETS = {
    "system": "secret-of-the-instructions",
    "prompt": "secret-of-the-user",
    "said": "secret-of-the-model",
    "broken": "secret-of-an-answer-that-broke",
    "argument": "secret-of-an-argument",
    "result": "secret-of-a-result",
    "raised": "secret-of-an-exception",
    "note": "secret-of-an-approval",
    "refused": "secret-that-the-provider-quotes",
}


@tool(effect="external", needs_approval=True)
def send(words: str) -> str:
    """Send words."""
    return f"{words} {SECRETS['result']}"


@tool(effect="read")
async def look(words: str) -> str:
    """Look for words."""
    raise LookupError(f"{words} {SECRETS['raised']}")


@pytest.fixture
def heard(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Everything at INFO and above, whoever says it."""
    with caplog.at_level(logging.INFO):
        yield caplog


def lines(heard: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """The logger of each line, and all that a formatter could make of it."""
    return [(record.name, _whole(record)) for record in heard.records]


def _whole(record: logging.LogRecord) -> str:
    raised = "".join(traceback.format_exception(*record.exc_info)) if record.exc_info else ""
    return f"{record.getMessage()} {record.args!r} {raised}"


def serve(server: LLMockServer) -> None:
    """A failure that passes, a stream that breaks, calls that wait and fail, an answer; then a refusal."""
    calls = tuple(ToolCall(name, {"words": SECRETS["argument"]}) for name in ("send", "look"))
    unknown = ToolCall("unknown", {"words": SECRETS["argument"]})
    server.state.scenarios.add(
        Fail(503, retry_after=0.0, message=SECRETS["refused"]),
        Reply(SECRETS["said"], (*calls, unknown)),
        Reply(SECRETS["broken"]),
        Reply(SECRETS["said"]),
        StreamFault("stall", 1000),  # the answer is over before
        StreamFault("truncate", 4),
    )


def go(driver: Driver, model: Model, session: Session, prompt: str | None) -> Result:
    """One run of either agent."""
    tools, system = [send, look], SECRETS["system"]
    if driver == "sync":
        agent = Agent(model, session, system=system, tools=tools, retries=QUICK)
        return agent.resume() if prompt is None else agent.run(prompt)
    later = AsyncAgent(model, session, system=system, tools=tools, retries=QUICK)
    return asyncio.run(_go(later, prompt))


async def _go(agent: AsyncAgent, prompt: str | None) -> Result:
    return await (agent.resume() if prompt is None else agent.run(prompt))


@pytest.mark.parametrize("driver", ["sync", "async"])
@pytest.mark.parametrize("wire", WIRES)
def test_no_word_of_anybody_is_logged(
    wire: Wire, driver: Driver, server: LLMockServer, heard: pytest.LogCaptureFixture
) -> None:
    """Runs with retries, tools, an approval and an error are told in the log without what anybody said."""
    serve(server)
    session = Session(MemoryStore())
    with adapter_of(wire, server) as model:
        assert go(driver, model, session, SECRETS["prompt"]).status == "awaiting_approval"
        (approval,) = session.open_approvals()
        session.approve(approval.key, note=SECRETS["note"], by="ann")
        assert go(driver, model, session, None).status == "completed"
        server.state.scenarios.add(Fail(400, message=f"Invalid: {SECRETS['refused']}"))
        failed = go(driver, model, session, SECRETS["prompt"])
        assert failed.status == "error"
        assert SECRETS["refused"] in str(failed.error)

    sent = str(bodies(server))  # the secrets did go over the wire, so there was something to keep back
    assert all(SECRETS[name] in sent for name in ("system", "prompt", "said", "argument", "result", "raised"))

    logged = lines(heard)
    assert {"suture", "httpx2"} <= {name for name, _ in logged}
    assert any("awaiting_approval" in line for _, line in logged)
    assert any("Overloaded" in line for _, line in logged)
    leaks = [(name, line) for name, line in logged for secret in SECRETS.values() if secret in line]
    assert leaks == []
