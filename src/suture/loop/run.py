"""One run: settle what is open, deliver what waits, ask the model, run its calls, until there is an answer.

Order and meaning live here, and nothing else: every effect is a question (`asks`), every fact comes from
the log through `replay.State`. So a run that was cut off anywhere goes on from the log alone.

What a run does with an open call, by what the log knows of it:

    never started                       screen it, then execute, park or refuse it
    never started, a person interrupted `resume` executes it; a new prompt answers it "was not run"
    parked                              wait; a new prompt is refused (AwaitingApproval)
    parked, and its request has expired answer it "was not run"
    decided                             execute or answer "a person said no", by the decision
    started, read or idempotent         again, under the same idempotency key
    started, external, reconcile        ask the tool what happened; when it cannot tell, as the next row
    started, external                   never again: a new prompt goes on past it, `resume` waits for a person

Decided in `replay.Call` (what a call's status is, `outcome_unknown`), `State.is_open` (whether a run may take it up)
and `calls.Calls` (what is done then).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from suture.entries import RunFinished, RunStarted, mark
from suture.errors import AwaitingApproval, ContextOverflow
from suture.loop.asks import AppendNext, Emit, NewId, Written, ask
from suture.loop.attempts import Attempts, said
from suture.loop.calls import Calls, expired, is_refused
from suture.loop.compacting import Compactor
from suture.loop.events import Finished
from suture.loop.journal import Journal, answering
from suture.loop.plan import Closing, Ended, Flow, Plan, Status, is_handed_off, pending_of
from suture.loop.request import Request
from suture.messages import Assistant, Usage, User
from suture.repair import stand_in
from suture.replay import Call, State, TurnBlock, named


def run(state: State, plan: Plan, prompt: User | None = None) -> Flow[Ended]:
    """A run with a new prompt, or without one the rest of what was begun.

    Raises:
        AwaitingApproval: there is a prompt, and calls wait for a person. The prompt is not written.
    """
    over = yield from expired(state)
    if prompt is not None:
        _refuse_while_waiting(state, over)
    elif not over and _nothing_to_do(state, plan):
        return Ended(_resting_status(state), state.reply, pending_of(state))
    return (yield from _Run(state, plan, prompt).go())


def _refuse_while_waiting(state: State, over: Sequence[Call] = ()) -> None:
    if waiting := [call for call in state.waiting_calls() if call not in over]:
        raise AwaitingApproval(
            f"These calls wait for a person, or for `resume` once decided: {named(waiting)}. Decide them with `approve` or "
            "`deny`, then `resume`; a message for the model goes in with `steer`.",
            [call.key for call in waiting],
        )


def _nothing_to_do(state: State, plan: Plan) -> bool:
    """Whether a run without a prompt would change nothing."""
    if state.run is not None or state.idle_marks():
        return False
    working = [call for call in state.open_calls() if call.status != "parked"]
    if working or any(is_refused(state, call) for call in state.unanswered.values()):
        return False
    return any(call.status == "parked" for call in state.open_calls()) or (
        not state.inbox and (state.answered or is_handed_off(state, plan.tools)) and not _unknown_in_tail(state)
    )


def _resting_status(state: State) -> Status:
    if state.waiting_calls():
        return "awaiting_approval"
    return "completed" if state.answered else "handed_off"


def _unknown_in_tail(state: State) -> list[Call]:
    """The calls of unknown outcome that the model has not been told of."""
    return [call for call in state.unknown_outcomes() if state.is_tail(call.seq)]


class _Run:
    """A run in progress. Methods are flows: they ask, and fold what the answers bring into the state."""

    def __init__(self, state: State, plan: Plan, prompt: User | None) -> None:
        self.state = state
        self.plan = plan
        self.prompt = prompt
        self.promptless = prompt is None
        self.journal = Journal(state)
        self.calls = Calls(self.journal, plan)
        self.model = Attempts(self.journal, self.calls, plan)
        self.compactor = Compactor(self.journal, plan, self.calls)
        self.id = ""
        self.steps = 0
        self.kept = Usage()

    def go(self) -> Flow[Ended]:
        try:
            return (yield from self._go())
        except Closing as closing:
            yield from self.journal.close(self.calls.ends(closing.landed), fenced=closing.fenced)
            raise

    def _go(self) -> Flow[Ended]:
        yield from self._begin()
        while True:
            status = yield from self._advance()
            if status == "interrupted":
                yield from self._hand_over_prompt()
            if (yield from self._finish(status)):
                break
        if status == "awaiting_approval" and self.prompt is not None:
            _refuse_while_waiting(self.state)
        return Ended(
            status=status,
            message=self.state.reply,
            pending=pending_of(self.state),
            usage=self.usage,
            steps=self.steps,
            error=self.model.error,
            changes=self.model.changes,
        )

    @property
    def usage(self) -> Usage:
        """What the attempts of this run cost, as far as it is known; also those whose answer was not kept."""
        return self.kept + self.model.usage + self.calls.correcting.usage + self.compactor.usage

    def _begin(self) -> Flow[None]:
        """Open the run. What a person stopped is closed in the same batch, since opening forgets the stop."""
        stopped = self.state.stopped_by() if self.state.interrupt is not None and not self.promptless else None
        self.id = yield from ask(NewId())
        stale = (mark("run", self.state.run),) if self.state.run is not None else ()
        never = [call for call in self.state.open_calls() if stopped and call.status == "pending"]
        answers = [(call, stand_in(call.call, "not_run", stopped)) for call in never]
        yield from self.journal.append([(RunStarted(self.id), (mark("run", self.id),), stale), *map(answering, answers)])
        yield from self.journal.tell(answers)

    def _advance(self) -> Flow[Status]:
        """Go on until there is a reason to end."""
        while True:
            yield from self.calls.look()
            if self.state.interrupt is not None:
                return "interrupted"
            yield from self.calls.settle()
            if self.state.interrupt is not None:
                return "interrupted"
            if waiting := self.state.waiting_calls():
                if all(call.status == "parked" for call in waiting):
                    return "awaiting_approval"
                continue
            if self.promptless and _unknown_in_tail(self.state):
                return "unknown_outcome"
            if self.prompt is None and self._hands_off():
                return "handed_off"
            yield from self._deliver()
            if self.state.answered and not self.state.inbox:
                return "completed"
            if self.state.answered:
                continue
            if self._out_of_steps():
                return "max_steps"
            yield from self.compactor.when_due()
            if self.state.interrupt is not None:
                return "interrupted"
            if not (yield from self._ask_model()):
                return "error" if self.model.error is not None else "interrupted"
            if self.state.open_calls() and self._out_of_steps():
                return "max_steps"

    def _hands_off(self) -> bool:
        """Whether a tool ended the turn. What waits for delivery is left for the next run, unless that is this one."""
        if not is_handed_off(self.state, self.plan.tools):
            return False
        return not self.state.inbox or not self.calls.executed.isdisjoint(self._keys_of_last_turn())

    def _keys_of_last_turn(self) -> Iterator[str]:
        last = self.state.timeline.last
        return (call.key for call in last.calls) if isinstance(last, TurnBlock) else iter(())

    def _out_of_steps(self) -> bool:
        return self.plan.max_steps is not None and self.state.steps >= self.plan.max_steps

    def _finish(self, status: Status) -> Flow[bool]:
        """End the run, unless something arrived that it can still take up."""
        error = said(self.model.error) if self.model.error is not None else None
        lost = (self.model.unanswered or Usage()) + self.calls.correcting.unrecorded + self.compactor.unrecorded
        body = RunFinished(self.id, status, self.usage, error, lost if lost != Usage() else None)
        while True:
            # Taken before anything is asked: whoever else reads through the same handle moves the head meanwhile.
            head, closes = self.state.head, (mark("run", self.id), *self.state.idle_marks())
            written = yield from self.journal.draft([(body, (), closes)])
            answer = yield from ask(AppendNext(written, head))
            self.state.fold(answer.entries)
            if isinstance(answer, Written):
                yield from ask(Emit(Finished(status)))
                return True
            if status in ("completed", "awaiting_approval", "unknown_outcome"):
                return False

    def _deliver(self) -> Flow[None]:
        """Deliver the inbox in order of arrival, then the prompt."""
        for id, (_, message) in sorted(self.state.inbox.items(), key=lambda item: item[1][0]):
            if id in self.state.inbox:  # it may have been withdrawn meanwhile
                yield from self.journal.record(message, closes=(mark("inbox", id),), inbox=id)
        yield from self._hand_over_prompt()

    def _hand_over_prompt(self) -> Flow[None]:
        """Record the prompt, once. A run that is stopped before its turn comes still records what was said to it."""
        if self.prompt is not None:
            prompt, self.prompt = self.prompt, None
            yield from self.journal.record(prompt)

    # The model --------------------------------------------------------------------------------

    def _ask_model(self) -> Flow[bool]:
        """Ask the model and record its answer; whether there is one."""
        seen, message = yield from self._answer()
        if isinstance(self.model.error, ContextOverflow) and (yield from self.compactor.on_overflow()):
            seen, message = yield from self._answer()
        if message is not None:
            yield from self._take_answer(message, seen)
        return message is not None

    def _answer(self) -> Flow[tuple[int, Assistant | None]]:
        """The last seq of a request, and the answer to it."""
        seen = self.state.head
        request = Request(self.state.request(), self.plan.system, tuple(self.plan.tools.values()))
        return seen, (yield from self.model.answer(request))

    def _take_answer(self, message: Assistant, seen: int) -> Flow[None]:
        self.steps += 1
        self.kept += message.usage or Usage()
        yield from self.journal.record(message, seen=seen)
        if not message.is_whole:
            reason = f"the model's turn ended early ({message.stop_reason})"
            never = [(call, stand_in(call.call, "not_run", reason)) for call in self.state.open_calls()]
            yield from self.journal.answer(item for item in never if item[0].status == "pending")
