"""Compaction, in a run and on its own: when it is due, the summary that is asked for on the side, the entry that it is."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import msgspec

from suture.compaction import Compaction, asked_for, context_tokens, cut_of, is_due, summary_in, tokens_of
from suture.compaction.summary import LONGEST_PAST
from suture.entries import Compacted, mark, split_mark
from suture.errors import CompactionError
from suture.loop.asks import AppendNext, Emit, Next, Start, Stop, Written, ask
from suture.loop.events import CompactionFailed, CompactionFinished, CompactionStarting
from suture.loop.jobs import Done, Failed, News, Replied, SideJob, Signalled
from suture.loop.journal import Journal
from suture.loop.plan import Flow, Plan
from suture.loop.request import Request
from suture.messages import Message, Usage, User
from suture.replay import State, shown

# A summary that cannot be used is asked for once more, shorter.
_ATTEMPTS = 2

# A summariser whose window is known is shown so many characters for each of its tokens.
_PER_TOKEN = 3


class Carrier(Protocol):
    """Who carries jobs to their end."""

    @property
    def is_stopping(self) -> bool:
        """Whether nothing more is to be begun."""

    def next_job(self) -> int:
        """A number for a job."""

    def carried(self, job: SideJob) -> Flow[Any]:
        """Start the job and wait for its end, which is the answer."""


class _Summary(NamedTuple):
    text: str
    usage: Usage


class Compactor:
    """Compacts a session. `usage` is what summaries cost in this run, `unrecorded` the part of it that no entry holds."""

    def __init__(self, journal: Journal, plan: Plan, carrier: Carrier) -> None:
        self.journal = journal
        self.state = journal.state
        self.plan = plan
        self.carrier = carrier
        self.usage = Usage()
        self.unrecorded = Usage()
        self._has_failed = False

    def when_due(self) -> Flow[None]:
        """Compact when the conversation is longer than it may be."""
        options = self.plan.compaction
        if options is not None and is_due(self.state, options):
            yield from self._automatic(options, options.kept)

    def on_overflow(self) -> Flow[bool]:
        """Compact when the provider has said that the conversation is too long for it; whether that was done."""
        options = self.plan.compaction
        if options is None:
            return False
        return (yield from self._automatic(options, min(options.kept, max(1, context_tokens(self.state) // 2))))

    def _automatic(self, options: Compaction, kept: int) -> Flow[bool]:
        """One that failed is not tried again in this run."""
        if self._has_failed:
            return False
        try:
            return (yield from self.now(options, kept)) is not None
        except CompactionError as error:
            self._has_failed = True
            yield from ask(Emit(CompactionFailed(error)))
            return False

    def now(self, options: Compaction, kept: int) -> Flow[Compacted | None]:
        """Compact so that about `kept` tokens stay; None when nothing is worth it, or no more is to be begun.

        Raises:
            CompactionError: no summary could be had. Nothing was written.
        """
        first_kept = cut_of(self.state, kept)
        if first_kept is None:
            return None
        before, edited_at = context_tokens(self.state), self.state.talk.edited_at
        yield from ask(Emit(CompactionStarting(before)))
        summary = yield from self._summary(first_kept, options)
        return None if summary is None else (yield from self._record(first_kept, before, edited_at, summary))

    # The summary ------------------------------------------------------------------------------

    def _summary(self, first_kept: int, options: Compaction) -> Flow[_Summary | None]:
        past, previous = self._past(first_kept), self.state.boundary
        longest = LONGEST_PAST if options.limit is None else options.limit * _PER_TOKEN
        spent, wrong = Usage(), "it came back cut off or blank"
        for attempt in range(_ATTEMPTS):
            asked = asked_for(
                past,
                previous.body.summary if previous is not None else None,
                options.instructions,
                longest=longest // (attempt + 1),
                again=attempt > 0,
            )
            job = SideJob(self.carrier.next_job(), Request(asked.messages, asked.system), options.model)
            outcome = yield from self.carrier.carried(job)
            if isinstance(outcome, Replied):
                usage = outcome.message.usage or Usage()
                spent += usage
                self.usage += usage
                if (text := summary_in(outcome.message)) is not None:
                    return _Summary(text, spent)
            elif isinstance(outcome, Failed):
                wrong = f"the model failed ({outcome.error})"
            if self.carrier.is_stopping:
                self.unrecorded += spent
                return None
        self.unrecorded += spent
        raise CompactionError(f"No summary could be had, so nothing was compacted: {wrong}.", spent)

    def _past(self, first_kept: int) -> tuple[Message, ...]:
        """What is to be summarised, each turn followed by its results."""
        blocks = self.state.sent_blocks()
        return tuple(message for block in blocks if block.seq < first_kept for message in shown(block))

    # The entry --------------------------------------------------------------------------------

    def _record(self, first_kept: int, before: int, edited_at: int, summary: _Summary) -> Flow[Compacted]:
        """Write it down. What others write meanwhile changes nothing that it says, and it stands behind that; unless they
        edit, and what was summed up is not what is there, or answer what was summed up.
        """
        self._require_good(first_kept, edited_at, summary)
        kept = sum(tokens_of(one) for block in self.state.sent_blocks() if block.seq >= first_kept for one in shown(block))
        body = Compacted(
            summary=summary.text,
            first_kept=first_kept,
            carried=self.state.carried_before(first_kept),
            tokens_before=before,
            tokens_after=kept + tokens_of(User.of(summary.text)),
            usage=summary.usage,
        )
        written = yield from self.journal.draft([(body, (mark("boundary", str(first_kept)),), ())])
        while True:
            closes = tuple(one for one in self.state.marks if split_mark(one)[0] == "boundary")
            drafts = tuple(msgspec.structs.replace(one, closes=closes) for one in written)
            answer = yield from ask(AppendNext(drafts, self.state.head))
            self.state.fold(answer.entries)
            if isinstance(answer, Written):
                break
            self._require_good(first_kept, edited_at, summary)
        yield from ask(Emit(CompactionFinished(body.summary, before, body.tokens_after)))
        return body

    def _require_good(self, first_kept: int, edited_at: int, summary: _Summary) -> None:
        if self.state.talk.edited_at != edited_at:
            wrong: str | None = "the conversation was edited"
        else:
            wrong = self.state.wrong_with_boundary(first_kept)
        if wrong is not None:
            self.unrecorded += summary.usage
            what = f"Nothing was compacted, for while it was summed up, {wrong}. Compact it again."
            raise CompactionError(what, summary.usage)


# On its own -----------------------------------------------------------------------------------


def compact(state: State, plan: Plan) -> Flow[Compacted | None]:
    """Compact a session while no run is on; None when nothing is worth it, or it was stopped.

    Raises:
        CompactionError: no summary could be had. Nothing was written.
    """
    options = plan.compaction or Compaction()
    return (yield from Compactor(Journal(state), plan, _Alone(state)).now(options, options.kept))


class _Alone:
    """Carries one job at a time while no run is on. A signal, or an interrupt that anybody writes, stops it."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.is_stopping = False
        self._jobs = 0

    def next_job(self) -> int:
        self._jobs += 1
        return self._jobs

    def carried(self, job: SideJob) -> Flow[Any]:
        yield from ask(Start(job))
        while True:
            for one in (yield from ask(Next())):
                match one:
                    case Done() if one.job == job:
                        return one.outcome
                    case News(entries):
                        self.state.fold(entries)
                        yield from self._stop(job, any(entry.kind == "interrupt" for entry in entries))
                    case Signalled():
                        yield from self._stop(job, True)
                    case Done():
                        pass

    def _stop(self, job: SideJob, is_asked: bool) -> Flow[None]:
        if is_asked and not self.is_stopping:
            self.is_stopping = True
            yield from ask(Stop(job))
