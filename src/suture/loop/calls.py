"""The calls of a run: screened, parked or refused, started and recorded, by what the log knows of each."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple, assert_never

from suture.canonical import canonical
from suture.entries import (
    ApprovalRequest,
    Interrupt,
    Settlement,
    ToolStarted,
    call_digest,
    is_over,
    is_repeatable,
    mark,
    request_marks,
)
from suture.errors import NotJson
from suture.loop.asks import Emit, Gate, Look, Next, Now, Prepare, Recheck, Start, Stop, ask
from suture.loop.correcting import Correcting, Refusal
from suture.loop.events import ApprovalNeeded, ToolStarting
from suture.loop.jobs import (
    CorrectJob,
    Done,
    Elapsed,
    Failed,
    Happened,
    ModelJob,
    News,
    Outcome,
    PermitJob,
    Raised,
    ReconcileJob,
    Replied,
    Returned,
    SideJob,
    Signalled,
    Stopped,
    TimedOut,
    ToolJob,
    Unreviewed,
    WaitJob,
)
from suture.loop.journal import Answered, Journal
from suture.loop.plan import Flow, Plan, idempotency_key
from suture.messages import ToolCall, ToolResult
from suture.repair import stand_in
from suture.replay import Call, State, own
from suture.tools import (
    Gated,
    Ready,
    Refused,
    Tool,
    Verdict,
    blocked_because,
    failure_of,
    is_coroutine_function,
    raised,
    result_of,
    unpermitted,
)


class _Executable(NamedTuple):
    """A call that may run as `prepared`, which was made of it as it was `made`."""

    call: Call
    made: ToolCall
    prepared: ToolCall
    tool: Tool


def expired(state: State) -> Flow[list[Call]]:
    """The calls whose requests are over, and on which nobody decided in time. The clock is asked only where one can be."""
    parked = [call for call in state.waiting_calls() if call.status == "parked"]
    ending = [(call, call.request.body.expires) for call in parked if call.request and call.request.body.expires]
    if not ending:
        return []
    at = yield from ask(Now())
    return [call for call, expires in ending if is_over(expires, at)]


def is_refused(state: State, call: Call) -> bool:
    """Whether the next run has to answer the call with "was not run", since its authority is in doubt."""
    return call.refused is not None and call.status != "started" and not call.answered and state.is_tail(call.seq)


class Calls:
    """The calls that a run takes up, and the jobs that are on. `landed` are ends that nobody has looked at yet,
    `executed` the keys of the calls whose handlers have ended in this run.
    """

    def __init__(self, journal: Journal, plan: Plan) -> None:
        self.journal = journal
        self.state = journal.state
        self.plan = plan
        self.landed: deque[Done] = deque()
        self._jobs = 0
        self._running: dict[int, ToolJob | ReconcileJob] = {}
        self._reconciled: set[str] = set()
        self.executed: set[str] = set()
        self._taken_up: dict[str, Call] = {}
        self._overtaken = False
        self.correcting = Correcting(journal, plan, self)

    def next_job(self) -> int:
        """A number for a job, counted from 1."""
        self._jobs += 1
        return self._jobs

    @property
    def is_stopping(self) -> bool:
        """Whether nothing more is to be begun, since somebody stopped the run."""
        return self.state.interrupt is not None

    # What happened ----------------------------------------------------------------------------

    def look(self) -> Flow[None]:
        """Take in what has happened by now."""
        happened = yield from ask(Look())
        yield from self.take(happened)

    def take(self, happened: Iterable[Happened]) -> Flow[None]:
        """Fold news, turn a signal into an interrupt, and keep what jobs brought for whoever waits for them."""
        for one in happened:
            match one:
                case News(entries):
                    self.state.fold(entries)
                case Signalled(reason):
                    if self.state.interrupt is None:
                        yield from self.journal.append([(Interrupt(reason, "the program"), (), ())])
                case Done():
                    self.landed.append(one)
                case _:
                    assert_never(one)

    def carried(self, job: ModelJob | WaitJob | PermitJob | SideJob | CorrectJob) -> Flow[Any]:
        """Start the job and wait for its end, which is the answer. Results that land meanwhile are recorded; an interrupt
        stops it.
        """
        yield from ask(Start(job))
        stopping = False
        while True:
            yield from self.take((yield from ask(Next())))
            for done in list(self.landed):
                self.landed.remove(done)
                if done.job == job:
                    return done.outcome
                yield from self.tool_done(done)
            if self.state.interrupt is not None and not stopping:
                stopping = True
                yield from ask(Stop(job))

    # Taking calls up --------------------------------------------------------------------------

    def settle(self) -> Flow[None]:
        """Take up every open call that can be taken up, until none is left or the run is to stop."""
        while self.state.interrupt is None:
            self._overtaken = False
            batch = yield from self._prepare()
            if batch:
                yield from self._execute(batch)
            elif not self._overtaken:
                return

    def _prepare(self) -> Flow[list[_Executable]]:
        """Screen the open calls in order: answer those that are refused, park those that a person must approve."""
        ready: list[_Executable] = []
        malformed: list[Refusal] = []
        for call in [call for call in self.state.unanswered.values() if is_refused(self.state, call)]:
            yield from self.journal.answer([(call, stand_in(call.corrected, "not_run", call.refused))])
        yield from self._close_expired()
        for call in self.state.open_calls():
            if self.state.interrupt is not None:
                break
            match call.status:
                case "parked" | "answered" | "settled":
                    continue
                case "decided":
                    yield from self._decided(call, ready)
                case "started":
                    yield from self._rechecked(call, ready)
                case "pending":
                    yield from self._screened(call, ready, malformed)
                case _:
                    assert_never(call.status)
        yield from self._corrected(malformed, ready)
        ready.sort(key=lambda item: (item.call.seq, item.call.slot))
        return [*ready, *self._reconcilable()]

    def _close_expired(self) -> Flow[None]:
        over = yield from expired(self.state)
        reason = "nobody decided on it before the request for approval expired"
        yield from self.journal.answer([(call, stand_in(call.corrected, "not_run", reason)) for call in over])

    def _screened(self, call: Call, ready: list[_Executable], malformed: list[Refusal]) -> Flow[None]:
        """Take up a call that never started, or keep it for correction; a person may have to approve it first."""
        made = call.call
        verdict = yield from ask(Prepare(call.corrected))
        if isinstance(verdict, Refused) and self.correcting.may_ask_about(call, verdict):
            malformed.append(Refusal(call, call.corrected, verdict))
            return
        if isinstance(verdict, Ready):
            yield from self.correcting.by_rule(call, verdict)
        permitted = yield from self._permitted(call, verdict)
        if isinstance(permitted, Ready) and not call.released:
            permitted = yield from ask(Gate(permitted))
        yield from self._go_by(permitted, call, made, ready)

    def _corrected(self, malformed: list[Refusal], ready: list[_Executable]) -> Flow[None]:
        """Have calls corrected that cannot run; those that still cannot are answered with the reason."""
        if not malformed or self.state.interrupt is not None:
            return
        yield from self.correcting.asked(malformed)
        for call, _, refused in malformed:
            if self.state.interrupt is not None:
                return
            if call.correction is None or call.correction.call is None:
                yield from self._refuse(call, refused)
            else:
                yield from self._screened(call, ready, [])

    def _rechecked(self, call: Call, ready: list[_Executable]) -> Flow[None]:
        """Take up a call that was approved, or had started. What a person saw is not normalised."""
        made = call.call
        verdict = yield from ask(Prepare(call.corrected) if call.request is None else Recheck(call.prepared))
        yield from self._go_by((yield from self._permitted(call, verdict)), call, made, ready)

    def _permitted(self, call: Call, verdict: Ready | Refused) -> Flow[Verdict | None]:
        """Whether the call may run by the host's hook, too; None when it is left as it is."""
        if isinstance(verdict, Refused) or self.plan.before_tool is None:
            return verdict
        attempt = self._attempt_at(_Executable(call, call.call, verdict.call, verdict.tool))
        outcome = yield from self.carried(PermitJob(self.next_job(), attempt))
        if isinstance(outcome, Stopped) or call.answered:  # others may have answered it while the hook was asked
            return None
        reason = blocked_because(outcome.value) if isinstance(outcome, Returned) else unpermitted(outcome.error)
        return Refused("blocked", reason) if reason is not None else verdict

    def _go_by(self, verdict: Verdict | None, call: Call, made: ToolCall, ready: list[_Executable]) -> Flow[None]:
        """Do as the verdict says, which was given on the call as it was `made`; of one that was edited or taken away since,
        it says nothing.
        """
        if call.gone or call.call is not made:
            self._overtaken = True
            return
        match verdict:
            case None:
                pass
            case Ready(call=prepared, tool=tool):
                ready.append(_Executable(call, made, prepared, tool))
            case Gated(prepared, tool):
                yield from self._park(call, prepared, tool)
            case Refused() as refused:
                yield from self._refuse(call, refused)
            case _:
                assert_never(verdict)

    def _decided(self, call: Call, ready: list[_Executable]) -> Flow[None]:
        assert call.decision is not None
        if call.decision.body.approved:
            yield from self._rechecked(call, ready)
        else:
            yield from self.journal.answer([(call, stand_in(call.corrected, "denied", call.decision.body.note))])

    def _refuse(self, call: Call, refused: Refused) -> Flow[None]:
        """Answer with why the call may not run; one that had started may have run all the same."""
        if call.status == "started":
            result = stand_in(call.corrected, "unknown", f"another attempt was refused ({refused.error_type})")
        else:
            result = failure_of(call.corrected, refused.error_type, refused.reason)
        yield from self.journal.answer([(call, result)])

    def _park(self, call: Call, prepared: ToolCall, tool: Tool) -> Flow[None]:
        seconds = tool.approval_expires
        expires = None if seconds is None else (yield from ask(Now(ahead=seconds)))
        changed = canonical(prepared.arguments) != canonical(call.corrected.arguments)
        body = ApprovalRequest(
            key=call.key,
            call=prepared,
            digest=call_digest(prepared),
            effect=tool.effect,
            description=tool.description,
            parameters=tool.parameters,
            provenance=_provenance(call, normalised=changed),
            expires=expires,
        )
        yield from self.journal.append([(body, request_marks(call.key, expires), ())])
        yield from ask(Emit(ApprovalNeeded(call.key, body)))

    def _reconcilable(self) -> list[_Executable]:
        """The calls of unknown outcome whose tool can find out; each is asked once in a run."""
        found = [(call, self.plan.tools.get(call.corrected.name)) for call in self.state.unknown_outcomes()]
        fresh = [
            _Executable(call, call.call, call.prepared, tool)
            for call, tool in found
            if tool is not None and tool.reconcile is not None and call.key not in self._reconciled
        ]
        self._reconciled.update(item.call.key for item in fresh)
        return fresh

    def _execute(self, batch: list[_Executable]) -> Flow[None]:
        """Run the calls, at most `max_concurrency` at once; each result is recorded as it lands."""
        waiting = deque(batch)
        stopping = False
        yield from self.look()  # the host's code was asked meanwhile, and somebody may have stopped the run
        while waiting or self._running:
            while waiting and len(self._running) < self.plan.max_concurrency and self.state.interrupt is None:
                item = waiting.popleft()
                if self._may_start(item):
                    yield from self._start(item)
            if not self._running:
                return
            if self.state.interrupt is not None and not stopping:
                stopping = True
                for job in list(self._running.values()):
                    yield from ask(Stop(job))
            yield from self.take((yield from ask(Next())))
            while self.landed:
                yield from self.tool_done(self.landed.popleft())

    def _may_start(self, item: _Executable) -> bool:
        """Whether the call still is what it was when it was prepared: it may be answered, refused or edited since."""
        call = item.call
        if call.gone or call.call is not item.made:
            return False
        return (self.state.is_open(call) and call.authorised) or (call.outcome_unknown and not call.answered)

    def _start(self, item: _Executable) -> Flow[None]:
        """Start a handler. The start is written directly before it, so a log without one knows it never ran."""
        call, key, job = item.call, item.call.key, self._attempt_at(item)
        if call.outcome_unknown:
            reconcile = ReconcileJob(job.id, key, job.call, job.tool, job.attempt - 1, job.idempotency_key)
            self._running[reconcile.id] = reconcile
            self._taken_up[key] = call
            yield from ask(Start(reconcile))
            return
        yield from ask(Emit(ToolStarting(key, own(item.prepared), job.attempt)))
        # A timeout ends an async handler; a plain one may go on for as long as its process lives.
        ends = item.tool.timeout is not None and is_coroutine_function(item.tool.handler)
        expires = item.tool.timeout + self.plan.lease if ends and item.tool.timeout is not None else None
        body = ToolStarted(key, item.tool.effect, job.attempt, job.idempotency_key, self.plan.owner, expires)
        opens = () if is_repeatable(item.tool.effect) else (mark("started", key),)
        yield from self.journal.append([(body, opens, ())])
        if self.state.interrupt is not None or call.gone or call.call is not item.made:
            # It came to light with the append: what was to start never did.
            yield from self._release(key)
            return
        self._running[job.id] = job
        self._taken_up[key] = call
        yield from ask(Start(job))

    def _release(self, key: str) -> Flow[None]:
        """Take back a start that was written, and did not happen."""
        body = Settlement(key, "released", (), "the run, which was stopped before the handler started")
        yield from self.journal.append([(body, (mark("settled", key),), (mark("started", key),))])

    def _attempt_at(self, item: _Executable) -> ToolJob:
        """The next attempt at a call."""
        call, key = item.call, item.call.key
        attempt = call.attempt.body.attempt if call.attempt is not None else 0
        once = idempotency_key(self.plan.session_id, key)
        return ToolJob(self.next_job(), key, item.prepared, item.tool, attempt + 1, once)

    def tool_done(self, done: Done) -> Flow[None]:
        """Record what a handler brought. Of a stopped one nothing is known, so nothing is recorded."""
        job = done.job
        if not isinstance(job, ToolJob | ReconcileJob):
            return
        self._running.pop(job.id, None)
        result = result_of_job(job, done.outcome)
        if result is not None:
            self.executed.add(job.key)
            yield from self.journal.answer([(self._taken_up[job.key], result)])

    def ends(self, done: Iterable[Done]) -> list[Answered]:
        """The answers that the ends of jobs give, those that nobody has looked at before first."""
        found = [
            (self._taken_up[one.job.key], result_of_job(one.job, one.outcome))
            for one in (*self.landed, *done)
            if isinstance(one.job, ToolJob | ReconcileJob)
        ]
        return [(call, result) for call, result in found if result is not None]


def _provenance(call: Call, *, normalised: bool) -> str | None:
    """What made of the model's call the one that waits for approval."""
    corrected = f"corrected by the {call.correction.by}" if call.corrected is not call.call and call.correction else None
    return ", ".join(word for word in (corrected, "normalize" if normalised else None) if word) or None


def result_of_job(job: ToolJob | ReconcileJob, outcome: Outcome) -> ToolResult | None:
    """The answer that an outcome gives the call; None when it gives none."""
    match outcome:
        case Returned(value):
            if isinstance(job, ReconcileJob) and value is None:
                return None
            try:
                return result_of(job.call, value)
            except NotJson as error:
                return raised(job.call, error)
        case Raised(error):
            return None if isinstance(job, ReconcileJob) else raised(job.call, error)
        case TimedOut():
            if isinstance(job, ReconcileJob):
                return None
            return stand_in(job.call, "timeout", f"{job.tool.timeout:g} seconds" if job.tool.timeout else None)
        case Unreviewed():
            return stand_in(job.call, "lost", "its review was cut off")
        case Stopped() | Replied() | Failed() | Elapsed():
            return None
        case _:
            assert_never(outcome)
