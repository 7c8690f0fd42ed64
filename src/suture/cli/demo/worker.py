"""One run of the demo's agent, in a process of its own: `python -m suture.cli.demo.worker ...`.

Handlers count their runs in a file, and so does the model its requests: the demo reads those files, not the log.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import suture
from suture.cli.demo.scenario import EFFECTS, LIMIT, PROMPT, SLOTS, TURNS
from suture.testing import ScriptedModel

if TYPE_CHECKING:
    from suture.models import Request

# A handler that waits to be killed gives up after this many seconds.
PATIENCE = 20.0


class Ledger:
    """The files in which handlers and model write down what they were asked, a line each."""

    def __init__(self, folder: Path, *, waits_for_kill: bool) -> None:
        self.runs = folder / "runs.jsonl"
        self.requests = folder / "requests.jsonl"
        self.waits_for_kill = waits_for_kill

    def ran(self, ctx: suture.ToolContext) -> None:
        """Count a run of a handler; in the process that is to be killed, wait for that."""
        run = {
            "call": ctx.call.id,
            "tool": ctx.call.name,
            "idempotency_key": ctx.idempotency_key,
            "attempt": ctx.attempt,
            "pid": os.getpid(),
        }
        _append(self.runs, run)
        if self.waits_for_kill:
            _wait_for_kill()

    def asked(self, request: Request) -> Mapping[str, object]:
        """Keep a request as both providers would receive it, and answer it: the answers so far name the turn."""
        _append(self.requests, {format: request.wire(format) for format in ("openai-chat", "anthropic")})
        return TURNS[sum(isinstance(message, suture.Assistant) for message in request.messages)]


def _append(path: Path, line: Mapping[str, object]) -> None:
    with path.open("ab", buffering=0) as file:
        file.write(json.dumps(line).encode() + b"\n")


def _wait_for_kill() -> None:
    parent, until = os.getppid(), time.monotonic() + PATIENCE
    while os.getppid() == parent and time.monotonic() < until:
        time.sleep(0.02)
    os._exit(3)


# Tools ----------------------------------------------------------------------------------------


def _ledger(ctx: suture.ToolContext) -> Ledger:
    assert isinstance(ctx.context, Ledger)
    return ctx.context


@suture.tool(effect=EFFECTS["find_customer"])
def find_customer(name: str, ctx: suture.ToolContext) -> str:
    """Find a customer by name."""
    _ledger(ctx).ran(ctx)
    return f"{name} is customer 42."


@suture.tool(effect=EFFECTS["reserve_box"])
def reserve_box(box: str, ctx: suture.ToolContext) -> str:
    """Reserve a box; the same idempotency key reserves it once."""
    _ledger(ctx).ran(ctx)
    return f"One {box} box is reserved."


def over_limit(arguments: Mapping[str, Any]) -> bool:
    """Whether a person must approve the gift."""
    return bool(arguments["total"] > LIMIT)


@suture.tool(effect=EFFECTS["send_gift"], needs_approval=over_limit)
def send_gift(to: str, total: float, ctx: suture.ToolContext) -> str:
    """Send a gift.

    Args:
        to: Who receives it.
        total: Its price in US dollars; above 500 a person must approve.
        ctx: What the run knows of the call.
    """
    _ledger(ctx).ran(ctx)
    return f"A gift for {total:g} dollars is on its way to {to}."


# The run --------------------------------------------------------------------------------------


def main() -> None:
    """Run or resume the session, and print how that ended as one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("step", choices=["run", "resume"])
    parser.add_argument("--store", required=True)
    parser.add_argument("--session", required=True)
    parser.add_argument("--folder", required=True, type=Path)
    given = parser.parse_args()
    ledger = Ledger(given.folder, waits_for_kill=given.step == "run")
    agent = suture.Agent(
        ScriptedModel([ledger.asked] * len(TURNS)),
        suture.Session(suture.open_store(given.store), given.session),
        tools=[find_customer, reserve_box, send_gift],
        max_concurrency=SLOTS,
        context=ledger,
    )
    result = agent.run(PROMPT) if given.step == "run" else agent.resume()
    pending = [{"key": one.key, "call": one.call.id, "why": one.why} for one in result.pending]
    print(json.dumps({"status": result.status, "text": result.text, "pending": pending}))  # noqa: T201  the parent reads it


if __name__ == "__main__":
    main()
