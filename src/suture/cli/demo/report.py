"""What the demo promises, and whether it was kept: from the scenes, the handlers' own counts and the requests."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from suture.cli.demo.judge import FORMATS, refusals
from suture.cli.demo.scenario import EFFECTS, FIND, GATED, PROMISED, RESERVE, SEND
from suture.cli.demo.story import Did, Healed, Killed, Over, Resumed, Scene

Json: TypeAlias = dict[str, Any]


class Evidence(NamedTuple):
    """What the story left: its scenes, the runs that handlers counted, and the requests that the model received."""

    scenes: Sequence[Scene]
    runs: Sequence[Json]
    requests: Sequence[Json]


def report(evidence: Evidence) -> Json:
    """The document of the demo; `as_promised` says whether all of it is as it has to be."""
    promises = _promises(evidence)
    refused = refused_requests(evidence.requests)
    valid = bool(evidence.requests) and not refused
    return {
        **promises,
        "tool_runs": tool_runs(evidence),
        "requests": len(evidence.requests),
        "requests_valid": valid,
        "refused": refused,
        "as_promised": valid and all(promises.values()),
    }


def refused_requests(requests: Sequence[Mapping[str, object]]) -> list[Json]:
    """The requests that the judge refuses, each with its number, its format and why."""
    judged = [(at, format, refusals(format, one.get(format))) for at, one in enumerate(requests) for format in FORMATS]
    return [{"request": at, "format": format, "why": why} for at, format, why in judged if why]


def tool_runs(evidence: Evidence) -> list[Json]:
    """Each call of the story, and how often its handler ran by its own count."""
    over = next(scene for scene in evidence.scenes if isinstance(scene, Over))
    return [
        {
            "call": call.key,
            "tool": call.call.name,
            "effect": EFFECTS[call.call.name],
            "runs": len(_runs_of(evidence.runs, call.call.id)),
        }
        for call in over.whole.calls
    ]


def _runs_of(runs: Sequence[Json], call_id: str) -> list[Json]:
    return [run for run in runs if run["call"] == call_id]


# Promises -------------------------------------------------------------------------------------


def _promises(evidence: Evidence) -> dict[str, bool]:
    scenes = evidence.scenes
    resumed, parked, finished = (scene for scene in scenes if isinstance(scene, Resumed))
    settled, approved, steered = (scene for scene in scenes if isinstance(scene, Did))
    over = next(scene for scene in scenes if isinstance(scene, Over))
    return {
        "killed": all(_was_killed(scene) for scene in scenes if isinstance(scene, Killed)),
        "healed": all(_was_healed(scene) for scene in scenes if isinstance(scene, Healed)),
        "resumed": _was_resumed(resumed),
        "settled": settled.said["outcome"] == "completed" and (parked.status, parked.ran) == ("awaiting_approval", []),
        "approved": not approved.said["repeat"] and [run["call"] for run in finished.ran] == [GATED],
        "steered": bool(steered.said["inbox"]) and over.delivered,
        "completed": finished.status == "completed",
        "repeated_safely": _repeated_safely(evidence.runs),
    }


def _was_killed(scene: Killed) -> bool:
    """It died by the signal, inside two handlers; the third call had never started and none was answered."""
    unanswered = [call for call in scene.left.calls if call.answer is None]
    return scene.status == -signal.SIGKILL and sorted(scene.started) == [RESERVE, SEND] and len(unanswered) == 3


def _was_healed(scene: Healed) -> bool:
    """The judge refuses the history as it stood and takes what suture would send; the providers' words are known."""
    before = all(refusals(format, scene.naive[format]) for format in FORMATS)
    after = not any(refusals(format, scene.instead[format]) for format in FORMATS)
    return before and after and all(scene.refusals.values()) and bool(scene.changes)


def _was_resumed(scene: Resumed) -> bool:
    """What never started and what may be repeated ran; what may not waits for a person."""
    ran = sorted(run["call"] for run in scene.ran)
    waits = [(one["call"], one["why"]) for one in scene.waiting]
    return scene.status == "unknown_outcome" and ran == [RESERVE, FIND] and waits == [(SEND, "unknown_outcome")]


def _repeated_safely(runs: Sequence[Json]) -> bool:
    """Each handler ran as often as promised, and all runs of a call had one idempotency key, its own."""
    keys = {id: {run["idempotency_key"] for run in _runs_of(runs, id)} for id in PROMISED}
    counts = {id: len(_runs_of(runs, id)) for id in PROMISED}
    return counts == PROMISED and all(len(found) == 1 for found in keys.values()) and len(set.union(*keys.values())) == 4
