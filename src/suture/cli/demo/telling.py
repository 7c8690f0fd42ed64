"""Tells the story to whoever watches: short headings, one idea per step, calls beside their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from suture.cli.console import Page, Piece
from suture.cli.demo.scenario import FIND, LIMIT, RESERVE, SEND, SLOTS
from suture.cli.demo.story import Did, Healed, Killed, Over, Resumed, Scene, Stage
from suture.cli.stores import shown

PROVIDERS = {"openai-chat": "OpenAI", "anthropic": "Anthropic"}
DEEDS = {
    "settle": "A person found out what became of it:",
    "approve": "A person approves; this process builds no agent:",
    "steer": "Another one leaves a message for the model:",
}
# What the kill left behind, in the order in which it is told.
LEFT = (
    (FIND, "find_customer", "never started"),
    (RESERVE, "reserve_box", "repeatable under its key"),
    (SEND, "send_gift", "may have happened"),
)


def begin(page: Page, stage: Stage) -> None:
    """What is about to happen, and where."""
    page.line(("suture demo: a run is killed inside a tool, and its conversation goes on", "bold"))
    page.line((f"Session {stage.session_id} on {shown(stage.url)}", "dim"))
    page.line(("Every pid is a real process; --store is left out of the commands shown.", "dim"))


def tell(page: Page, scene: Scene) -> None:
    """One scene."""
    match scene:
        case Killed():
            _killed(page, scene)
        case Healed():
            _healed(page, scene)
        case Resumed():
            _resumed(page, scene)
        case Did():
            _process(page, scene.pid, DEEDS[scene.deed])
            page.line((f"$ {scene.command}", "cyan"), indent=5)
        case Over():
            scene.whole.tell(page, title="The whole conversation")
        case _:
            assert_never(scene)


# Scenes ---------------------------------------------------------------------------------------


def _killed(page: Page, scene: Killed) -> None:
    _step(page, 1, "A run is killed inside a tool")
    _process(page, scene.pid, f"runs an agent. Its model asks for three calls; {SLOTS} run at a time.")
    _process(page, scene.pid, ("SIGKILL", "bold red"), " while reserve_box and send_gift run.")
    scene.left.tell(page, title="What the log holds")


def _healed(page: Page, scene: Healed) -> None:
    _step(page, 2, "Sent as it stands, every provider refuses it, each time anew")
    for format, words in scene.refusals.items():
        page.line((PROVIDERS[format], "bold"), (" answers 400:", "bold red"), indent=3)
        page.line((words, "red"), indent=5)
    scene.shown.tell(page, title="What suture sends instead")
    page.line((f"{len(scene.changes)} changes, each reported:", "bold"), indent=3)
    for change in scene.changes:
        page.line(f"{change.path}  ", (change.code, "yellow"), f"  {change.action}", indent=5)


def _resumed(page: Page, scene: Resumed) -> None:
    match scene.status:
        case "unknown_outcome":
            _step(page, 3, "Another process goes on at once")
            _process(
                page,
                scene.pid,
                f"resumes within {scene.seconds:.1f} s: the owner is seen to be dead, so no lease is waited for.",
            )
            for call, tool, known in LEFT:
                page.line((f"{tool:<14}", "bold"), f"{known:<25} ", _fate(scene, call), indent=5)
        case "awaiting_approval":
            _step(page, 4, "A person decides, from anywhere")
            _process(page, scene.pid, f"resumes. The model wants a gift over {LIMIT} dollars: the call parks.")
        case _:
            _process(
                page, scene.pid, f"resumes: the gift is sent, the message follows its result, the run is {scene.status}."
            )


def _fate(scene: Resumed, call: str) -> Piece:
    """What the run did with a call that the kill had left open."""
    for run in scene.ran:
        if run["call"] == call:
            again = f"runs again (attempt {run['attempt']}, same key)"
            return ("runs now, for the first time" if run["attempt"] == 1 else again), "green"
    waits = any(one["call"] == call for one in scene.waiting)
    return ("NOT repeated: outcome unknown", "bold yellow") if waits else ("left alone", "red")


# The end --------------------------------------------------------------------------------------


def end(page: Page, found: dict[str, Any]) -> None:
    """What really ran, and whether all was as promised."""
    _step(page, 5, "What really ran, counted by the handlers themselves")
    rows: list[Sequence[Piece]] = [
        ((one["call"], "dim"), one["tool"], one["effect"], (str(one["runs"]), "bold")) for one in found["tool_runs"]
    ]
    page.table(("call", "tool", "effect", "runs"), rows, indent=3)
    page.line()
    _verdict(page, found)


def _verdict(page: Page, found: dict[str, Any]) -> None:
    count = found["requests"]
    if found["requests_valid"]:
        _kept(page, f"{count} requests, each valid for OpenAI chat and Anthropic")
        page.line(("(the judge shares no code with suture, and refuses the history of step 1)", "dim"), indent=5)
    for one in found["refused"]:
        _broken(page, f"request {one['request']} is refused as {one['format']}: {'; '.join(one['why'])}")
    for promise, kept in found.items():
        if kept is False and promise not in ("requests_valid", "as_promised"):
            _broken(page, f"not as promised: {promise}")
    if found["as_promised"]:
        _kept(page, "nothing lost, nothing repeated that must not be, nothing refused")


def _kept(page: Page, words: str) -> None:
    page.line(("✓ ", "bold green"), words, indent=3)


def _broken(page: Page, words: str) -> None:
    page.line(("✗ ", "bold red"), words, indent=3)


def _step(page: Page, number: int, title: str) -> None:
    page.line()
    page.line((f"{number}. {title}", "bold reverse" if page.fancy else ""))


def _process(page: Page, pid: int, *pieces: Piece) -> None:
    page.line((f"pid {pid}  ", "dim"), *pieces, indent=3)
