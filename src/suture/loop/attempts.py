"""One answer of the model, through as many attempts as it takes and the policy allows."""

from __future__ import annotations

from dataclasses import replace

from suture.canonical import scrub
from suture.entries import Retry
from suture.errors import InvalidAnswer, InvalidRequest, ModelError
from suture.healing import Change, can_tighten, explain
from suture.loop.asks import Draw, Emit, ask
from suture.loop.calls import Calls
from suture.loop.events import Retrying
from suture.loop.jobs import Failed, ModelJob, Replied, WaitJob
from suture.loop.journal import Journal
from suture.loop.plan import Flow, Plan
from suture.loop.request import Request
from suture.loop.retries import fault_of, is_empty
from suture.messages import Assistant, Usage

_MAX_ERROR = 2000


def said(error: ModelError) -> str:
    """What the log keeps of a failure."""
    return scrub(f"{type(error).__name__}: {error}"[:_MAX_ERROR])


class Attempts:
    """Asks the model. `changes` is what adapters changed in what was sent; `error` why there is no answer, and
    `unanswered` what attempts cost that brought no answer in the end.
    """

    def __init__(self, journal: Journal, calls: Calls, plan: Plan) -> None:
        self.state = journal.state
        self.journal = journal
        self.calls = calls
        self.plan = plan
        self.error: ModelError | None = None
        self.usage = Usage()
        self.unanswered: Usage | None = None
        self._changes: dict[Change, None] = {}
        self._refused_by: frozenset[str] = frozenset()

    @property
    def changes(self) -> tuple[Change, ...]:
        """What was changed in the conversation to be sent, each change once."""
        return tuple(self._changes)

    def answer(self, request: Request) -> Flow[Assistant | None]:
        """The model's answer; None when there is none, or the run is to stop."""
        attempt, self.error = 0, None
        while True:
            attempt += 1
            sent = replace(request, refused_by=self._refused_by) if self._refused_by else request
            outcome = yield from self.calls.carried(ModelJob(self.calls.next_job(), sent))
            if not isinstance(outcome, Replied | Failed):
                return None
            self._changes.update(dict.fromkeys(outcome.changes))
            message = outcome.message if isinstance(outcome, Replied) else None
            error = outcome.error if isinstance(outcome, Failed) else self._wrong_with(outcome.message)
            if error is None:
                return message
            usage = message.usage if message is not None else None
            if self.state.interrupt is not None:  # who stopped the run wants no other attempt, and no error for it
                self._give_up(None, usage)
                return None
            delay = self._mended(attempt, error)
            if delay is None:
                delay = self.plan.retries.delay(attempt, error, (yield from ask(Draw())))
            if delay is None and message is not None and fault_of(message, self.state) is None:
                return message  # an empty answer is better than none
            if delay is None:
                self._give_up(error, usage)
                return None
            yield from self._wait(attempt, error, delay, usage)
            if self.state.interrupt is not None:
                return None

    def _mended(self, attempt: int, error: ModelError) -> float | None:
        """No wait at all where the error names a rule that the request can be made to keep: it is sent again so, and every
        later one of the run is; None where it names none, or was made to keep it before.
        """
        if not isinstance(error, InvalidRequest) or attempt >= self.plan.retries.attempts:
            return None
        rules = can_tighten([cause.rule for cause in explain(error)]) - self._refused_by
        self._refused_by |= rules
        return 0.0 if rules else None

    def _give_up(self, error: ModelError | None, usage: Usage | None) -> None:
        self.error = error
        if usage is not None:
            self.unanswered = (self.unanswered or Usage()) + usage
        self.usage += usage or Usage()

    def _wrong_with(self, message: Assistant) -> ModelError | None:
        """Why an answer is not kept."""
        if fault := fault_of(message, self.state):
            return InvalidAnswer(f"The model's turn cannot be kept: {fault}. None of it was.")
        if is_empty(message):
            return InvalidAnswer("The model answered nothing.")
        return None

    def _wait(self, attempt: int, error: ModelError, delay: float, usage: Usage | None) -> Flow[None]:
        """Record the failed attempt and wait; an interrupt cuts the wait."""
        self.usage += usage or Usage()
        yield from self.journal.append([(Retry(attempt, said(error), delay, usage), (), ())])
        yield from ask(Emit(Retrying(attempt, error, delay)))
        yield from self.calls.carried(WaitJob(self.calls.next_job(), delay))
