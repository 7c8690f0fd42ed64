"""Answers a run's questions with plain values: a list for a log, a list of answers for a model, no clock, no thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from suture.call_repair import Correct, ToolCallRepair
from suture.entries import Draft, Entry
from suture.errors import ModelError
from suture.loop import Ended, Plan, run
from suture.loop.asks import (
    Append,
    AppendNext,
    Ask,
    Draw,
    Emit,
    Gate,
    Look,
    NewId,
    NewMessageId,
    Next,
    Now,
    Overtaken,
    Prepare,
    Recheck,
    Start,
    Stop,
    Written,
)
from suture.loop.jobs import (
    CorrectJob,
    Done,
    Elapsed,
    Failed,
    Happened,
    Job,
    ModelJob,
    News,
    Outcome,
    PermitJob,
    Raised,
    ReconcileJob,
    Replied,
    Returned,
    SideJob,
    Stopped,
    ToolJob,
    WaitJob,
)
from suture.loop.retries import RetryPolicy
from suture.messages import Assistant, User
from suture.tools import BeforeTool, Tool, gate, prepare, recheck
from tests.rules.logs import Log, at, shape


@dataclass
class Desk:
    """One run over a log. `started` lists what was started as `key#attempt` or `key?` for a reconcile."""

    log: Log
    tools: Mapping[str, Tool]
    answers: list[Assistant | ModelError] = field(default_factory=list)
    max_steps: int | None = 16
    max_concurrency: int = 4
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    before_tool: BeforeTool | None = None
    repair: ToolCallRepair | Correct | None = None
    corrections: list[Assistant | ModelError] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    requests: list[list[str]] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    while_waiting: list[object] = field(default_factory=list)
    stop_at_start: bool = False
    now: float = 0.0
    _ids: int = 0
    _jobs: list[Job] = field(default_factory=list)
    _seen: int = 0

    def run(self, prompt: str | None = None) -> Ended:
        """Carry a run over the log to its end."""
        state = self.state = self.log.state
        self._seen = state.head
        plan = Plan(
            "s",
            dict(self.tools),
            max_steps=self.max_steps,
            max_concurrency=self.max_concurrency,
            retries=self.retries,
            before_tool=self.before_tool,
            repair=self.repair,
        )
        flow = run(state, plan, None if prompt is None else User.of(prompt))
        answer: object = None
        while True:
            try:
                question = flow.send(answer)
            except StopIteration as stop:
                ended: Ended = stop.value
                return ended
            answer = self._answer(question)

    def _answer(self, question: Ask[object]) -> object:
        match question:
            case Append(drafts):
                return Written(self._write(drafts))
            case AppendNext(drafts, expect):
                if len(self.log.entries) != expect:
                    return Overtaken(self._news())
                return Written(self._write(drafts))
            case Prepare(call):
                return prepare(call, self.tools)
            case Gate(ready):
                return gate(ready)
            case Draw():
                return 0.5
            case Recheck(call):
                return recheck(call, self.tools)
            case Start(job):
                self._start(job)
            case Stop(job):
                self._jobs.remove(job)
                self._stopped = Done(job, Stopped())
            case Look():
                return self._looked()
            case Next():
                return self._next()
            case Emit(event):
                self.events.append(event.type)
            case Now(ahead):
                return at(self.now + ahead)
            case NewId() | NewMessageId():
                self._ids += 1
                return f"n{self._ids}"
            case _:
                raise AssertionError(question)
        return None

    def _write(self, drafts: Iterable[Draft]) -> tuple[Entry, ...]:
        if self.stop_at_start and any(one.kind == "tool_started" for one in drafts):
            self.stop_at_start = False
            self.log.interrupt("enough")
        for one in drafts:
            seq = len(self.log.entries) + 1
            self.log.entries.append(Entry(seq, one.id, one.kind, one.at, one.body, 7, one.opens, one.closes))
        return self._news()

    def _news(self) -> tuple[Entry, ...]:
        fresh = tuple(self.log.entries[self._seen :])
        self._seen = len(self.log.entries)
        return fresh

    def _start(self, job: Job) -> None:
        self._jobs.append(job)
        match job:
            case ModelJob(request=request):
                self.requests.append(shape(request.messages))
            case ToolJob(key=key, attempt=attempt):
                self.started.append(f"{key}#{attempt}")
            case ReconcileJob(key=key):
                self.started.append(f"{key}?")

    def _looked(self) -> tuple[Happened, ...]:
        fresh = self._news()
        return (News(fresh),) if fresh else ()

    def _next(self) -> tuple[Happened, ...]:
        """What others do meanwhile, then the end of the job that was started first."""
        if self.while_waiting:
            meanwhile = self.while_waiting.pop(0)
            if callable(meanwhile):
                meanwhile(self.log)
                return (News(self._news()),)
        if not self._jobs:
            return (self._stopped,)
        job = self._jobs.pop(0)
        return (Done(job, self._outcome(job)),)

    def _outcome(self, job: Job) -> Outcome:
        if isinstance(job, WaitJob):
            return Elapsed()
        if isinstance(job, ModelJob):
            answer = self.answers.pop(0)
            return Replied(answer) if isinstance(answer, Assistant) else Failed(answer)
        try:
            if isinstance(job, PermitJob):
                assert self.before_tool is not None
                return Returned(self.before_tool(job.attempt.call, None))  # type: ignore[arg-type]
            if isinstance(job, SideJob):
                corrected = self.corrections.pop(0)
                return Replied(corrected) if isinstance(corrected, Assistant) else Failed(corrected)
            if isinstance(job, CorrectJob):
                assert callable(self.repair)
                return Returned(self.repair(job.history, job.calls, dict(self.tools)))
            if isinstance(job, ReconcileJob):
                assert job.tool.reconcile is not None
                return Returned(job.tool.reconcile(job.call, None))  # type: ignore[arg-type]
            return Returned(job.tool.handler(**(job.call.arguments or {})))
        except Exception as error:  # noqa: BLE001  as a driver does
            return Raised(error)
