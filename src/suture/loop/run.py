"""One run: settle what is open, deliver what waits, ask the model, run its calls, until there is an answer.

Order and meaning live here, and nothing else: every effect is a question (`asks`), every fact comes from
the log through `replay.State`. So a run that was cut off anywhere goes on from the log alone.

What a run does with an open call, by what the log knows of it:

    never started                       screen it, then execute, park or refuse it
    never started, a person interrupted `resume` executes it; a new prompt answers it "was not run"
    parked                              wait; a new prompt is refused (AwaitingApproval)
    decided                             execute or answer "a person said no", by the decision
    started, read or idempotent         again, under the same idempotency key
    started, external, reconcile        ask the tool what happened; when it cannot tell, as the next row
    started, external                   never again: a new prompt goes on past it, `resume` waits for a person
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, assert_never

import msgspec

from suture.canonical import digest
from suture.entries import (
    ApprovalRequest,
    Body,
    Draft,
    Interrupt,
    MessageBody,
    RunFinished,
    RunStarted,
    Settled,
    Settlement,
    ToolStarted,
    call_digest,
    call_marks,
    draft,
    mark,
)
from suture.errors import AwaitingApproval, ModelError
from suture.loop.asks import (
    Append,
    AppendNext,
    AppendUnclaimed,
    Ask,
    Done,
    Emit,
    Failed,
    Happened,
    Look,
    ModelJob,
    NewId,
    News,
    Next,
    Now,
    Raised,
    Recheck,
    ReconcileJob,
    Replied,
    Request,
    Returned,
    Screen,
    Signalled,
    Start,
    Stop,
    Stopped,
    TimedOut,
    ToolJob,
    Written,
    ask,
)
from suture.loop.events import ApprovalNeeded, Finished, MessageRecorded, ToolFinished, ToolStarting
from suture.messages import Assistant, Message, ToolCall, ToolResult, Usage, User
from suture.repair import stand_in
from suture.replay import Call, State
from suture.tools import Gated, Ready, Refused, Tool, failure_of, raised, result_of

T = TypeVar("T")
Flow: TypeAlias = Generator[Ask[Any], Any, T]
Status: TypeAlias = Literal[
    "completed", "awaiting_approval", "unknown_outcome", "interrupted", "max_steps", "budget", "error", "handed_off"
]

# A body, the marks that it opens, and those that it closes.
_Wanted: TypeAlias = tuple[Body, tuple[str, ...], tuple[str, ...]]

# A call, and the result that answers it.
_Answered: TypeAlias = tuple[Call, ToolResult]

# A turn that stopped for one of these is whole, so its calls may run; any other may be cut off.
_WHOLE = (None, "stop", "tool_use")


@dataclass(frozen=True)
class Plan:
    """What a run works with. `owner` and `lease` (seconds) are those of its claim."""

    session_id: str
    tools: dict[str, Tool] = field(default_factory=dict)
    system: str | None = None
    max_steps: int | None = 16
    max_concurrency: int = 4
    owner: str = ""
    lease: float = 30.0


class Pending(NamedTuple):
    """A call that waits for somebody."""

    key: str
    call: ToolCall
    why: Literal["approval", "unknown_outcome"]


@dataclass(frozen=True)
class Ended:
    """How a run ended. `message` is the last answer; `steps` and `usage` are of this run alone."""

    status: Status
    message: Assistant | None
    pending: tuple[Pending, ...] = ()
    usage: Usage = field(default_factory=Usage)
    steps: int = 0
    error: ModelError | None = None


class Closing(Exception):
    """The run must end now: write down what handlers brought, start nothing.

    `landed` are the jobs that still ended; `fenced` says that the claim is lost.
    """

    def __init__(self, landed: Iterable[Done], *, fenced: bool) -> None:
        super().__init__()
        self.landed = tuple(landed)
        self.fenced = fenced


def run(state: State, plan: Plan, prompt: User | None = None) -> Flow[Ended]:
    """A run with a new prompt, or without one the rest of what was begun.

    Raises:
        AwaitingApproval: there is a prompt, and calls wait for a person. The prompt is not written.
    """
    if prompt is not None:
        _refuse_while_waiting(state)
    elif _nothing_to_do(state):
        return Ended(_resting_status(state), state.last_assistant, pending_of(state))
    return (yield from _Run(state, plan, prompt).go())


def pending_of(state: State) -> tuple[Pending, ...]:
    """Every call that waits for somebody: for a decision, then for a settlement."""
    parked = [Pending(call.key, call.prepared, "approval") for call in state.waiting_calls() if call.status == "parked"]
    unknown = [Pending(call.key, call.call, "unknown_outcome") for call in state.unknown_outcomes()]
    return (*parked, *unknown)


def _refuse_while_waiting(state: State) -> None:
    if waiting := state.waiting_calls():
        named = ", ".join(f"{call.key} ({call.call.name})" for call in waiting)
        raise AwaitingApproval(
            f"These calls wait for a person, or for `resume` once decided: {named}. Decide them with `approve` or `deny`, "
            "then `resume`; a message for the model goes in with `steer`.",
            [call.key for call in waiting],
        )


def _nothing_to_do(state: State) -> bool:
    """Whether a run without a prompt would change nothing."""
    if state.run is not None or state.settled:
        return False
    working = [call for call in state.open_calls() if call.status != "parked"]
    if working or any(call.turn.by_loop and call.refused is not None for call in state.unanswered.values()):
        return False
    return any(call.status == "parked" for call in state.open_calls()) or (
        not state.inbox and state.answered and not _unknown_in_tail(state)
    )


def _resting_status(state: State) -> Status:
    return "awaiting_approval" if state.waiting_calls() else "completed"


def _unknown_in_tail(state: State) -> list[Call]:
    """The calls of unknown outcome that the model has not been told of."""
    return [call for call in state.unknown_outcomes() if state.is_tail(call.turn)]


class _Executable(NamedTuple):
    call: Call
    prepared: ToolCall
    tool: Tool


class _Run:
    """A run in progress. Methods are flows: they ask, and fold what the answers bring into the state."""

    def __init__(self, state: State, plan: Plan, prompt: User | None) -> None:
        self.state = state
        self.plan = plan
        self.prompt = prompt
        self.promptless = prompt is None
        self.id = ""
        self.jobs = 0
        self.steps = 0
        self.usage = Usage()
        self.error: ModelError | None = None
        self.running: dict[int, ToolJob | ReconcileJob] = {}
        self.landed: deque[Done] = deque()
        self.recording: list[_Answered] = []
        self.drafts: tuple[Draft, ...] = ()
        self.reconciled: set[str] = set()

    # Order ------------------------------------------------------------------------------------

    def go(self) -> Flow[Ended]:
        try:
            return (yield from self._go())
        except Closing as closing:
            yield from self._close(closing)
            raise

    def _go(self) -> Flow[Ended]:
        yield from self._begin()
        while True:
            status = yield from self._advance()
            if (yield from self._finish(status)):
                break
        if status == "awaiting_approval" and self.prompt is not None:
            _refuse_while_waiting(self.state)
        return Ended(status, self.state.last_assistant, pending_of(self.state), self.usage, self.steps, self.error)

    def _begin(self) -> Flow[None]:
        """Open the run. What a person stopped is closed in the same batch, since opening forgets the stop."""
        stopped = self.state.stopped_by() if self.state.interrupt is not None and not self.promptless else None
        self.id = yield from ask(NewId())
        stale = (mark("run", self.state.run),) if self.state.run is not None else ()
        never = [call for call in self.state.open_calls() if stopped and call.status == "pending"]
        answers = [(call, stand_in(call.call, "not_run", stopped)) for call in never]
        yield from self._append([(RunStarted(self.id), (mark("run", self.id),), stale), *map(_answering, answers)])
        yield from self._tell(answers)

    def _close(self, closing: Closing) -> Flow[None]:
        """Record the results that are there. A fenced runner may only settle what its handlers finished."""
        done = [
            (self.state.calls[one.job.key], _result(one.job, one))
            for one in (*self.landed, *closing.landed)
            if not isinstance(one.job, ModelJob)
        ]
        landed = [(call, result) for call, result in done if result is not None]
        if closing.fenced:
            drafts = yield from self._draft(map(_settling, _real([*self.recording, *landed])))
            if drafts:
                yield from ask(AppendUnclaimed(drafts))
            return
        # What was being recorded goes as the same drafts, since they may stand already: a store takes them once.
        begun = self.drafts or (yield from self._draft(map(_answering, _real(self.recording))))
        for drafts in (begun, (yield from self._draft(map(_answering, _real(landed))))):
            if drafts:
                yield from ask(Append(drafts))

    def _advance(self) -> Flow[Status]:
        """Go on until there is a reason to end."""
        while True:
            yield from self._look()
            if self.state.interrupt is not None:
                return "interrupted"
            yield from self._settle()
            if self.state.interrupt is not None:
                return "interrupted"
            if self.state.waiting_calls():
                return "awaiting_approval"
            if self.promptless and _unknown_in_tail(self.state):
                return "unknown_outcome"
            yield from self._deliver()
            if self.state.answered:
                return "completed"
            if self._out_of_steps():
                return "max_steps"
            if not (yield from self._ask_model()):
                return "error" if self.error is not None else "interrupted"
            if self.state.open_calls() and self._out_of_steps():
                return "max_steps"

    def _out_of_steps(self) -> bool:
        return self.plan.max_steps is not None and self.state.steps >= self.plan.max_steps

    def _finish(self, status: Status) -> Flow[bool]:
        """End the run, unless something arrived that it can still take up."""
        error = str(self.error) if self.error is not None else None
        body = RunFinished(self.id, status, self.usage, error)
        closes = (mark("run", self.id), *self._settled_marks())
        while True:
            written = yield from self._draft([(body, (), closes)])
            answer = yield from ask(AppendNext(written, self.state.head))
            self.state.fold(answer.entries)
            if isinstance(answer, Written):
                yield from ask(Emit(Finished(status)))
                return True
            if status in ("completed", "awaiting_approval", "unknown_outcome"):
                return False

    # Entries ----------------------------------------------------------------------------------

    def _draft(self, wanted: Iterable[_Wanted]) -> Flow[tuple[Draft, ...]]:
        at = yield from ask(Now())
        drafts = []
        for body, opens, closes in wanted:
            id = yield from ask(NewId())
            if isinstance(body, MessageBody) and body.message.id is None:
                body = msgspec.structs.replace(body, message=msgspec.structs.replace(body.message, id=id))
            drafts.append(draft(id, at, body, opens, closes))
        return tuple(drafts)

    def _append(self, wanted: Iterable[_Wanted]) -> Flow[tuple[int, ...]]:
        """Append bodies with what they open and close; their seqs."""
        return (yield from self._write((yield from self._draft(wanted))))

    def _write(self, drafts: tuple[Draft, ...]) -> Flow[tuple[int, ...]]:
        written = yield from ask(Append(drafts))
        self.state.fold(written.entries)
        seqs = {entry.id: entry.seq for entry in written.entries}
        return tuple(seqs[one.id] for one in drafts)

    def _record(
        self, message: Message, *, closes: tuple[str, ...] = (), seen: int | None = None, inbox: str | None = None
    ) -> Flow[None]:
        (seq,) = yield from self._append([(MessageBody(message, seen=seen, inbox=inbox), (), closes)])
        recorded = next(one for at, one in reversed(self.state.recorded) if at == seq)
        yield from ask(Emit(MessageRecorded(seq, recorded)))

    def _answer(self, answers: Iterable[_Answered]) -> Flow[None]:
        """Record results of calls, and tell."""
        self.recording = list(answers)
        if self.recording:
            self.drafts = yield from self._draft(map(_answering, self.recording))
            yield from self._write(self.drafts)
        recorded, self.recording, self.drafts = self.recording, [], ()
        yield from self._tell(recorded)

    def _tell(self, answers: Iterable[_Answered]) -> Flow[None]:
        for call, result in answers:
            yield from ask(Emit(ToolFinished(call.key, result)))

    # What happened ----------------------------------------------------------------------------

    def _look(self) -> Flow[None]:
        happened = yield from ask(Look())
        yield from self._take(happened)

    def _take(self, happened: Iterable[Happened]) -> Flow[None]:
        """Fold news, turn a signal into an interrupt, and keep what jobs brought for whoever waits for them."""
        for one in happened:
            match one:
                case News(entries):
                    self.state.fold(entries)
                case Signalled(reason):
                    if self.state.interrupt is None:
                        yield from self._append([(Interrupt(reason, "the program"), (), ())])
                case Done():
                    self.landed.append(one)
                case _:
                    assert_never(one)

    def _deliver(self) -> Flow[None]:
        """Deliver the inbox in order of arrival, then the prompt."""
        for id, (_, message) in sorted(self.state.inbox.items(), key=lambda item: item[1][0]):
            yield from self._record(message, closes=(mark("inbox", id),), inbox=id)
        if self.prompt is not None:
            prompt, self.prompt = self.prompt, None
            yield from self._record(prompt)

    # The model --------------------------------------------------------------------------------

    def _ask_model(self) -> Flow[bool]:
        """Ask the model and record its answer; whether there is one."""
        seen = self.state.head
        request = Request(self.state.request(), self.plan.system, tuple(self.plan.tools.values()))
        job = ModelJob(self._next_job(), request)
        yield from ask(Start(job))
        outcome = yield from self._until_done(job)
        match outcome:
            case Replied(message):
                yield from self._take_answer(message, seen)
                return True
            case Failed(error):
                self.error = error
            case _:
                pass
        return False

    def _until_done(self, job: ModelJob) -> Flow[object]:
        stopping = False
        while True:
            yield from self._take((yield from ask(Next())))
            for done in list(self.landed):
                self.landed.remove(done)
                if done.job is job or done.job == job:
                    return done.outcome
                yield from self._tool_done(done)
            if self.state.interrupt is not None and not stopping:
                stopping = True
                yield from ask(Stop(job))

    def _take_answer(self, message: Assistant, seen: int) -> Flow[None]:
        self.steps += 1
        self.usage += message.usage or Usage()
        yield from self._record(message, closes=self._settled_marks(), seen=seen)
        if message.stop_reason not in _WHOLE:
            reason = f"the model's turn ended early ({message.stop_reason})"
            never = [(call, stand_in(call.call, "not_run", reason)) for call in self.state.open_calls()]
            yield from self._answer(item for item in never if item[0].status == "pending")

    def _settled_marks(self) -> tuple[str, ...]:
        """What is closed once settlements are taken up: their own marks, and all of a call that is answered."""
        calls = self.state.calls
        answered = [key for key in sorted(self.state.settled) if key in calls and calls[key].answered]
        own = [mark("settled", key) for key in sorted(self.state.settled.difference(answered))]
        return (*own, *(one for key in answered for one in call_marks(key)))

    def _next_job(self) -> int:
        self.jobs += 1
        return self.jobs

    # Calls ------------------------------------------------------------------------------------

    def _settle(self) -> Flow[None]:
        """Take up every open call that can be taken up, until none is left or the run is to stop."""
        while self.state.interrupt is None:
            batch = yield from self._prepare()
            if not batch:
                return
            yield from self._execute(batch)

    def _prepare(self) -> Flow[list[_Executable]]:
        """Screen the open calls in order: answer those that are refused, park those that a person must approve."""
        ready: list[_Executable] = []
        for call in [call for call in self.state.unanswered.values() if call.refused and self.state.is_tail(call.turn)]:
            yield from self._answer([(call, stand_in(call.call, "not_run", call.refused))])
        for call in self.state.open_calls():
            match call.status:
                case "parked" | "answered" | "settled":
                    continue
                case "decided":
                    yield from self._decided(call, ready)
                case "started":
                    yield from self._rechecked(call, ready)
                case "pending":
                    yield from self._screened(call, ready)
                case _:
                    assert_never(call.status)
        return [*ready, *self._reconcilable()]

    def _screened(self, call: Call, ready: list[_Executable]) -> Flow[None]:
        if call.released:
            return (yield from self._rechecked(call, ready))
        match (yield from ask(Screen(call.call))):
            case Ready(prepared, tool):
                ready.append(_Executable(call, prepared, tool))
            case Gated(prepared, tool):
                yield from self._park(call, prepared, tool)
            case Refused() as refused:
                yield from self._refuse(call, refused)
        return None

    def _rechecked(self, call: Call, ready: list[_Executable]) -> Flow[None]:
        match (yield from ask(Recheck(call.prepared))):
            case Ready(prepared, tool):
                ready.append(_Executable(call, prepared, tool))
            case Refused() as refused:
                yield from self._refuse(call, refused)
        return None

    def _decided(self, call: Call, ready: list[_Executable]) -> Flow[None]:
        assert call.decision is not None
        if call.decision.body.approved:
            yield from self._rechecked(call, ready)
        else:
            yield from self._answer([(call, stand_in(call.call, "denied", call.decision.body.note))])

    def _refuse(self, call: Call, refused: Refused) -> Flow[None]:
        yield from self._answer([(call, failure_of(call.call, refused.error_type, refused.reason))])

    def _park(self, call: Call, prepared: ToolCall, tool: Tool) -> Flow[None]:
        changed = prepared.arguments != call.call.arguments
        body = ApprovalRequest(
            key=call.key,
            call=prepared,
            digest=call_digest(prepared),
            effect=tool.effect,
            description=tool.description,
            parameters=tool.parameters,
            provenance="arguments" if changed else None,
        )
        yield from self._append([(body, (mark("approval", call.key),), ())])
        yield from ask(Emit(ApprovalNeeded(call.key, body)))

    def _reconcilable(self) -> list[_Executable]:
        """The calls of unknown outcome whose tool can find out; each is asked once in a run."""
        found = [(call, self.plan.tools.get(call.call.name)) for call in self.state.unknown_outcomes()]
        fresh = [
            _Executable(call, call.prepared, tool)
            for call, tool in found
            if tool is not None and tool.reconcile is not None and call.key not in self.reconciled
        ]
        self.reconciled.update(item.call.key for item in fresh)
        return fresh

    def _execute(self, batch: list[_Executable]) -> Flow[None]:
        """Run the calls, at most `max_concurrency` at once; each result is recorded as it lands."""
        waiting = deque(batch)
        stopping = False
        while waiting or self.running:
            while waiting and len(self.running) < self.plan.max_concurrency and self.state.interrupt is None:
                yield from self._start(waiting.popleft())
            if not self.running:
                return
            if self.state.interrupt is not None and not stopping:
                stopping = True
                for job in list(self.running.values()):
                    yield from ask(Stop(job))
            yield from self._take((yield from ask(Next())))
            while self.landed:
                yield from self._tool_done(self.landed.popleft())

    def _start(self, item: _Executable) -> Flow[None]:
        """Start a handler. The start is written directly before it, so a log without one knows it never ran."""
        call, key = item.call, item.call.key
        attempt = call.attempt.body.attempt if call.attempt is not None else 0
        once = idempotency_key(self.plan.session_id, key)
        if call.outcome_unknown:
            reconcile = ReconcileJob(self._next_job(), key, item.prepared, item.tool, attempt, once)
            self.running[reconcile.id] = reconcile
            yield from ask(Start(reconcile))
            return
        job = ToolJob(self._next_job(), key, item.prepared, item.tool, attempt + 1, once)
        yield from ask(Emit(ToolStarting(key, item.prepared, job.attempt)))
        expires = None if item.tool.timeout is None else item.tool.timeout + self.plan.lease
        body = ToolStarted(key, item.tool.effect, job.attempt, once, self.plan.owner, expires)
        opens = (mark("started", key),) if item.tool.effect == "external" else ()
        yield from self._append([(body, opens, ())])
        self.running[job.id] = job
        yield from ask(Start(job))

    def _tool_done(self, done: Done) -> Flow[None]:
        """Record what a handler brought. Of a stopped one nothing is known, so nothing is recorded."""
        job = done.job
        if isinstance(job, ModelJob):
            return
        self.running.pop(job.id, None)
        call = self.state.calls[job.key]
        result = _result(job, done)
        if result is not None:
            yield from self._answer([(call, result)])


def _answering(answered: _Answered) -> _Wanted:
    call, result = answered
    return MessageBody(result, key=call.key), (), call_marks(call.key)


def _settling(answered: _Answered) -> _Wanted:
    call, result = answered
    outcome: Settled = "failed" if result.error else "completed"
    body = Settlement(call.key, outcome, result.parts, "the runner that was replaced")
    return body, (mark("settled", call.key),), (mark("started", call.key),)


def _real(answered: Iterable[_Answered]) -> list[_Answered]:
    """Those whose result is the handler's own."""
    return [(call, result) for call, result in answered if result.synthetic is None]


def _result(job: ToolJob | ReconcileJob, done: Done) -> ToolResult | None:
    """The answer that an outcome gives the call; None when it gives none."""
    match done.outcome:
        case Returned(value):
            if isinstance(job, ReconcileJob) and value is None:
                return None
            try:
                return result_of(job.call, value)
            except ValueError as error:
                return raised(job.call, error)
        case Raised(error):
            return None if isinstance(job, ReconcileJob) else raised(job.call, error)
        case TimedOut():
            if isinstance(job, ReconcileJob):
                return None
            return stand_in(job.call, "timeout", f"{job.tool.timeout:g} seconds" if job.tool.timeout else None)
        case Stopped() | Replied() | Failed():
            return None
        case _:
            assert_never(done.outcome)


def idempotency_key(session_id: str, key: str) -> str:
    """The same for every attempt at a call and every settlement of it."""
    return digest([session_id, key])
