"""Running the host's code: handlers, `reconcile`, and the hooks around them; plain in a thread, async on an event loop.

A job ends with one item, whatever ends it: a run that waits for it would wait for ever otherwise. An error that nothing
may hold breaks the run; carried as an item, it does not end the event loop that met it.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, wait
from copy import deepcopy
from typing import TypeAlias, assert_never

from suture.agent.work import Broken, Context, HostJob, Item, Reviewing, end_of, is_stopped
from suture.errors import NotJson
from suture.loop import Plan
from suture.loop.calls import result_of_job
from suture.loop.jobs import CorrectJob, Done, PermitJob, Raised, ReconcileJob, Returned, ToolJob
from suture.messages import ToolResult
from suture.replay import own
from suture.session.worker import in_thread
from suture.tools import Unbound, is_coroutine_function, reviewed, unreviewed

# Carries a coroutine to its end on an event loop that is not this thread's.
Carry: TypeAlias = "Callable[[Coroutine[object, None, Item]], Future[Item]]"


def is_async(job: HostJob, plan: Plan) -> bool:
    """Whether what the job calls is a coroutine function."""
    return is_coroutine_function(_target(job, plan))


def _target(job: HostJob, plan: Plan) -> object:
    match job:
        case ToolJob():
            return job.tool.handler
        case ReconcileJob():
            return job.tool.reconcile
        case PermitJob():
            return plan.before_tool
        case CorrectJob():
            return plan.repair
        case _:
            assert_never(job)


def _call(job: HostJob, ctx: Context, plan: Plan) -> object:
    """Call it; a coroutine when it is async. Nothing that it is given can change what is recorded."""
    match job:
        case ToolJob():
            try:
                given = job.tool.bind(job.call.arguments or {}, ctx)
            except Unbound as error:
                raise _NotCalled(error) from error
            return job.tool.handler(**given)
        case ReconcileJob():
            assert job.tool.reconcile is not None
            return job.tool.reconcile(own(job.call), ctx)
        case PermitJob():
            assert plan.before_tool is not None
            return plan.before_tool(own(job.attempt.call), ctx)
        case CorrectJob():
            assert callable(plan.repair)
            history, calls = deepcopy(job.history), {key: own(call) for key, call in job.calls.items()}
            return plan.repair(history, calls, dict(plan.tools))
        case _:
            assert_never(job)


class _NotCalled(Exception):
    """The arguments did not fit when the handler was to run."""

    def __init__(self, why: Unbound) -> None:
        super().__init__(str(why))
        self.why = why


# Plain ----------------------------------------------------------------------------------------


def end_of_plain(job: HostJob, ctx: Context, plan: Plan, carry: Carry) -> Item:
    """Run plain code to its end, in this thread; what it returns to be awaited is awaited where `carry` takes it."""
    try:
        value = _call(job, ctx, plan)
        item = _carried(job, value, carry) if inspect.isawaitable(value) else Done(job, Returned(value))
    except BaseException as error:  # noqa: BLE001  a job ends with one item
        item = _end_by(job, error)
    if plan.after_tool is None or (result := _to_review(item)) is None:
        return item
    ctx.report(Reviewing(job))
    try:
        value = plan.after_tool(own(ctx.call), deepcopy(result), ctx)
        seen = _carried(job, value, carry) if inspect.isawaitable(value) else Done(job, Returned(value))
    except BaseException as error:  # noqa: BLE001  as above
        seen = _end_by(job, error)
    return _as_reviewed(result, seen)


def _carried(job: HostJob, value: Awaitable[object], carry: Carry) -> Item:
    future = carry(_end_of_awaited(job, value))
    wait([future])
    return end_of(job, future)


# Async ----------------------------------------------------------------------------------------


async def end_of_async(job: HostJob, ctx: Context, plan: Plan) -> Item:
    """Run async code to its end."""
    item = await _end_of_call(job, lambda: _call(job, ctx, plan))
    hook = plan.after_tool
    if hook is None or (result := _to_review(item)) is None:
        return item
    ctx.report(Reviewing(job))
    ask = lambda: hook(own(ctx.call), deepcopy(result), ctx)  # noqa: E731
    if is_coroutine_function(hook):
        return _as_reviewed(result, await _end_of_call(job, ask))
    return _as_reviewed(result, await _end_of_call(job, lambda: in_thread(ask)))


async def _end_of_call(job: HostJob, call: Callable[[], object]) -> Item:
    """The end of a call, and of what it returns to be awaited, however often."""
    try:
        value = call()
    except BaseException as error:  # noqa: BLE001  as above
        return _end_by(job, error)
    item: Item = Done(job, Returned(value))
    while isinstance(item, Done) and isinstance(item.outcome, Returned) and inspect.isawaitable(item.outcome.value):
        item = await _end_of_awaited(job, item.outcome.value)
    return item


async def _end_of_awaited(job: HostJob, value: Awaitable[object]) -> Item:
    try:
        return Done(job, Returned(await value))
    except asyncio.CancelledError as error:
        if is_stopped():
            raise
        return _end_by(job, error)
    except BaseException as error:  # noqa: BLE001  as above
        return _end_by(job, error)


# Both -----------------------------------------------------------------------------------------


def _end_by(job: HostJob, error: BaseException) -> Item:
    """A failure of the host's code concerns its call alone; whatever else it raises ends the run."""
    if isinstance(error, asyncio.CancelledError):
        return Done(job, Raised(RuntimeError("what it waited for was cancelled")))
    if isinstance(error, _NotCalled):
        return Done(job, Raised(error.why))
    if isinstance(error, Unbound | NotJson):  # of the handler's own making: this handler did run
        return Done(job, Raised(RuntimeError(str(error))))
    return Done(job, Raised(error)) if isinstance(error, Exception) else Broken(job, error)


def _to_review(item: Item) -> ToolResult | None:
    """What a handler brought, for `after_tool`; None when no handler ran."""
    if not isinstance(item, Done) or not isinstance(item.job, ToolJob | ReconcileJob):
        return None
    if isinstance(item.outcome, Raised) and isinstance(item.outcome.error, Unbound):
        return None
    return result_of_job(item.job, item.outcome)


def _as_reviewed(result: ToolResult, seen: Item) -> Item:
    """The end of a job whose result the hook has seen."""
    if not isinstance(seen, Done) or not isinstance(seen.job, ToolJob | ReconcileJob):
        return seen
    match seen.outcome:
        case Returned(value):
            return Done(seen.job, Returned(reviewed(seen.job.call, result, value)))
        case Raised(error):
            return Done(seen.job, Returned(unreviewed(seen.job.call, error)))
        case _:
            return seen
