"""The story that the demo tells, played with real processes on a real store, scene by scene.

A scene says what has just happened, by what this process can see from outside: exit statuses, the session's
log, and the files in which handlers and model wrote what they were asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import suture
from suture.cli.demo.judge import FORMATS
from suture.cli.demo.processes import Ended, Processes
from suture.cli.demo.scenario import FOUND_OUT, GATED, SEND, STEER
from suture.cli.render import Transcript, transcript

CLI = "suture.cli"
WORKER = "suture.cli.demo.worker"

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Killed:
    """The run was killed inside two handlers; `left` is what it recorded."""

    pid: int
    status: int
    left: Transcript
    started: Sequence[str]


@dataclass(frozen=True)
class Healed:
    """What providers answer to the history as it stands, by format, and what suture sends instead."""

    refusals: dict[str, str]
    naive: dict[str, Json]
    instead: dict[str, object]
    shown: Transcript
    changes: Sequence[suture.Change]


@dataclass(frozen=True)
class Resumed:
    """A run went on with what was begun. `ran` are the handlers that it ran."""

    pid: int
    seconds: float
    status: str
    ran: Sequence[Json]
    waiting: Sequence[Json]
    text: str = ""


@dataclass(frozen=True)
class Did:
    """A person did something by a command."""

    deed: str
    pid: int
    command: str
    said: Json


@dataclass(frozen=True)
class Over:
    """The conversation at its end, and whether the steer stood right behind the last results."""

    whole: Transcript
    delivered: bool


Scene: TypeAlias = Killed | Healed | Resumed | Did | Over


@dataclass
class Stage:
    """Where the story is played."""

    url: str
    session_id: str
    folder: Path
    processes: Processes
    store: suture.Store
    pids: dict[str, int] = field(default_factory=dict)

    def session(self, *, heal: bool = True) -> suture.Session:
        """A handle on the session; without `heal` it shows what is recorded."""
        return suture.Session(self.store, self.session_id, heal=heal)

    def runs(self) -> list[Json]:
        """The runs of handlers by now, as they counted themselves."""
        return _lines(self.folder / "runs.jsonl")

    def requests(self) -> list[Json]:
        """The requests that the model received by now, each as both providers would have."""
        return _lines(self.folder / "requests.jsonl")


def _lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def play(stage: Stage) -> Iterator[Scene]:
    """The scenes, each once it has happened."""
    yield _killed(stage)
    yield _healed(stage)
    yield _resumed(stage, "resume")
    yield _command(stage, "settle", _key(stage, SEND), "completed", "--content", FOUND_OUT, "--by", "ann")
    yield _resumed(stage, "continue")
    yield _command(stage, "approve", _key(stage, GATED), "--by", "ann", "--note", "he has earned it")
    yield _command(stage, "steer", STEER)
    yield _resumed(stage, "finish")
    yield Over(transcript(stage.session().replay()), _delivered(stage.requests()))


# Scenes ---------------------------------------------------------------------------------------


def _killed(stage: Stage) -> Killed:
    process = stage.processes.start(_worker(stage, "run"))
    stage.pids["run"] = process.pid
    status = stage.processes.kill_when(process, lambda: len(stage.runs()) >= 2)
    left = transcript(stage.session(heal=False).replay())
    return Killed(process.pid, status, left, [run["call"] for run in stage.runs()])


def _healed(stage: Stage) -> Healed:
    recorded = stage.session().messages
    naive = {format: suture.dump_messages(recorded, format) for format in FORMATS}
    instead = {format: stage.session().request(format) for format in FORMATS}
    refusals = {format: _refusal(naive[format], format) for format in FORMATS}
    changes = suture.heal(naive["openai-chat"], "openai-chat").changes
    return Healed(refusals, naive, instead, _as_sent(recorded, instead["openai-chat"]), changes)


def _refusal(request: object, format: str) -> str:
    """What the provider answers to the request, in its own words."""
    return suture.refusal(next(one for one in suture.diagnose(request, format) if one.refused))


def _as_sent(recorded: Sequence[suture.Message], request: object) -> Transcript:
    """The transcript of a request, in which results that nobody recorded are marked."""
    real = {message.call_id for message in recorded if isinstance(message, suture.ToolResult)}
    sent = transcript((message, None) for message in suture.load_messages(request, "openai-chat"))
    for call in sent.calls:
        call.stand_in = call.call.id not in real
    return sent


def _resumed(stage: Stage, step: str) -> Resumed:
    before = len(stage.runs())
    ended = stage.processes.run(_worker(stage, "resume"))
    stage.pids[step] = ended.pid
    said = _said(ended)
    return Resumed(ended.pid, ended.seconds, said["status"], stage.runs()[before:], said["pending"], said["text"])


def _command(stage: Stage, deed: str, *arguments: str) -> Did:
    """One of the command line's own commands."""
    ended = stage.processes.run([CLI, deed, stage.session_id, *arguments, "--store", stage.url, "--json"])
    stage.pids[deed] = ended.pid
    shown = " ".join(_quoted(one) for one in (deed, stage.session_id, *arguments))
    return Did(deed, ended.pid, f"suture {shown}", _said(ended))


def _worker(stage: Stage, step: str) -> list[str]:
    return [WORKER, step, "--store", stage.url, "--session", stage.session_id, "--folder", str(stage.folder)]


def _said(ended: Ended) -> Json:
    said: Json = json.loads(ended.out)
    return said


def _quoted(argument: str) -> str:
    return f'"{argument}"' if " " in argument else argument


def _key(stage: Stage, call_id: str) -> str:
    """The key of the call with that wire id."""
    calls = transcript(stage.session().replay()).calls
    return next(call.key for call in calls if call.call.id == call_id and call.key)


def _delivered(requests: Sequence[Json]) -> bool:
    """Whether the last request ends in the steer, directly behind the result of the approved call."""
    *_, result, steer = requests[-1]["openai-chat"]["messages"]
    return (result.get("tool_call_id"), steer.get("role"), steer.get("content")) == (GATED, "user", STEER)
