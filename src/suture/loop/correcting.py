"""The calls of a turn that cannot run, corrected: by asking the model once more, on the side, or a function of the
host's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from suture.call_repair import Malformed, ToolCallRepair, corrections_given, corrections_of, side_conversation
from suture.canonical import scrub
from suture.entries import Correction, Corrector, Wanted
from suture.loop.asks import Emit, Prepare, ask
from suture.loop.events import CallCorrected
from suture.loop.jobs import CorrectJob, Replied, Returned, SideJob
from suture.loop.journal import Journal
from suture.loop.plan import Flow, Plan
from suture.loop.request import Request
from suture.messages import ToolCall, Usage
from suture.replay import Call, own
from suture.tools import Ready, Refused

# What a model, asked again, can put right; whatever else refuses a call is not its doing.
_CORRECTABLE = frozenset(("unknown_tool", "validation_error"))


class Refusal(NamedTuple):
    """A call that cannot run, as it was made or corrected last, and why."""

    call: Call
    made: ToolCall
    refused: Refused


class Carrier(Protocol):
    """Who carries jobs to their end."""

    def next_job(self) -> int:
        """A number for a job."""

    def carried(self, job: SideJob | CorrectJob) -> Flow[Any]:
        """Start the job and wait for its end, which is the answer."""


class Correcting:
    """Records corrections, and asks for those that no rule can make. `usage` is what asking cost in this run, `unrecorded`
    the part of it that no entry holds.
    """

    def __init__(self, journal: Journal, plan: Plan, carrier: Carrier) -> None:
        self.journal = journal
        self.state = journal.state
        self.plan = plan
        self.carrier = carrier
        self.usage = Usage()
        self.unrecorded = Usage()

    def may_ask_about(self, call: Call, refused: Refused) -> bool:
        """Whether the call is one to ask about: it never was, and what is wrong with it is the model's own doing."""
        is_fresh = call.status == "pending" and call.correction is None and not call.released
        return self.plan.repair is not None and is_fresh and refused.error_type in _CORRECTABLE

    def by_rule(self, call: Call, ready: Ready) -> Flow[None]:
        """Record what a call was mended to where only that could be meant."""
        if ready.fixed is not None and call.status == "pending" and call.correction is None:
            yield from self._record([(call, ready.fixed, ready.reason)], "rule", None)

    def asked(self, refusals: Sequence[Refusal]) -> Flow[None]:
        """Ask about the calls, as often as the plan allows, and record what may run now. A call that stays wrong, or is
        left out of the answer, has no correction then; whatever fails leaves all as they were.
        """
        repair = self.plan.repair
        left = list(refusals)
        for _ in range(repair.rounds if isinstance(repair, ToolCallRepair) else 1):
            malformed = [Malformed(one.call.key, one.made, one.refused.reason) for one in left]
            answer = (yield from self._asked(malformed)) if left else None
            if answer is None or self.state.interrupt is not None:
                return
            left = yield from self._taken(left, *answer)

    def _asked(self, malformed: Sequence[Malformed]) -> Flow[tuple[Mapping[str, ToolCall], Corrector, Usage | None] | None]:
        """The corrections that came, from whom, and what they cost; None when asking failed."""
        history, repair = self.state.request(), self.plan.repair
        if not isinstance(repair, ToolCallRepair):
            calls = {one.key: own(one.call) for one in malformed}
            outcome = yield from self.carrier.carried(CorrectJob(self.carrier.next_job(), history, calls))
            given = outcome.value if isinstance(outcome, Returned) else None
            return (corrections_given(given, malformed), "host", None) if isinstance(outcome, Returned) else None
        side = side_conversation(history, malformed, self.plan.tools)
        request = Request(side.messages, self.plan.system, side.tools)
        outcome = yield from self.carrier.carried(SideJob(self.carrier.next_job(), request, repair.model))
        if not isinstance(outcome, Replied):
            return None
        usage = outcome.message.usage
        self.usage += usage or Usage()
        self.unrecorded += usage or Usage()
        return corrections_of(outcome.message, malformed, self.plan.tools, history), "model", usage

    def _taken(
        self, left: Sequence[Refusal], corrections: Mapping[str, ToolCall], by: Corrector, usage: Usage | None
    ) -> Flow[list[Refusal]]:
        """Check the corrections and record those that may run; those that are still wrong, to be asked about again."""
        good: list[tuple[Call, ToolCall | None, str]] = []
        wrong: list[Refusal] = []
        for call, _, refused in left:
            corrected = corrections.get(call.key)
            verdict = (yield from ask(Prepare(corrected))) if corrected is not None else None
            if isinstance(verdict, Refused) and corrected is not None:
                wrong.append(Refusal(call, corrected, verdict))
            elif corrected is None:
                good.append((call, None, refused.reason))
            else:
                assert isinstance(verdict, Ready)
                good.append((call, verdict.fixed or _with_arguments(corrected, verdict), refused.reason))
        yield from self._record(good, by, usage)
        return wrong

    def _record(self, made: Sequence[tuple[Call, ToolCall | None, str]], by: Corrector, usage: Usage | None) -> Flow[None]:
        """Write corrections down in one batch, what they cost with the first, and tell of them."""
        drafts: list[Wanted] = []
        for call, corrected, reason in made:
            cost = usage if not drafts else None
            body = Correction(call.key, call.call.name, _text_of(call.call), corrected, by, scrub(reason), cost)
            drafts.append((body, (), ()))
        if not drafts:
            return
        yield from self.journal.append(drafts)
        self.unrecorded = Usage() if usage is not None else self.unrecorded
        for call, corrected, _ in made:
            if corrected is not None:
                yield from ask(Emit(CallCorrected(call.key, own(call.call), own(corrected), by)))


def _with_arguments(call: ToolCall, ready: Ready) -> ToolCall:
    """A correction as a call whose arguments are an object."""
    if call.arguments is not None:
        return call
    return msgspec.structs.replace(call, arguments=ready.call.arguments, raw=None, error=None)


def _text_of(call: ToolCall) -> str:
    """The arguments as the model sent them."""
    return scrub(call.raw) if call.raw is not None else json.dumps(call.arguments, ensure_ascii=False)
