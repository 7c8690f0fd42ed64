"""Asking the host's hooks. Either may be a plain or an async function, under both drivers."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeAlias, assert_never

from suture.agent.jobs import Work
from suture.loop.asks import Permit, Review
from suture.messages import ToolResult
from suture.session.worker import in_thread
from suture.tools import blocked_because, reviewed, unpermitted, unreviewed

Hooked: TypeAlias = Permit | Review
HookAnswer: TypeAlias = ToolResult | str | None


def ask_hook(question: Hooked, work: Work, wait: Callable[[Awaitable[object]], object]) -> HookAnswer:
    """The hook's answer; `wait` awaits what an async one returns."""
    try:
        value = _called(question, work)
        return _answer(question, wait(value) if inspect.isawaitable(value) else value)
    except Exception as error:  # noqa: BLE001  a hook is the host's code: its failure concerns its call alone
        return _failed(question, error)


async def ask_hook_async(question: Hooked, work: Work) -> HookAnswer:
    """The hook's answer; a plain hook runs in a worker thread, since it may block."""
    try:
        hook = work.plan.before_tool if isinstance(question, Permit) else work.plan.after_tool
        value = _called(question, work) if inspect.iscoroutinefunction(hook) else await in_thread(_called, question, work)
        return _answer(question, await value if inspect.isawaitable(value) else value)
    except Exception as error:  # noqa: BLE001  as above
        return _failed(question, error)


def _called(question: Hooked, work: Work) -> object:
    ctx = work.context_of(question.job, lambda _event: None)
    match question:
        case Permit(job):
            assert work.plan.before_tool is not None
            return work.plan.before_tool(job.call, ctx)
        case Review(job, result):
            assert work.plan.after_tool is not None
            return work.plan.after_tool(job.call, result, ctx)
        case _:
            assert_never(question)


def _answer(question: Hooked, value: object) -> HookAnswer:
    match question:
        case Permit():
            return blocked_because(value)
        case Review(job, result):
            return reviewed(job.call, result, value)
        case _:
            assert_never(question)


def _failed(question: Hooked, error: Exception) -> HookAnswer:
    match question:
        case Permit():
            return unpermitted(error)
        case Review(job):
            return unreviewed(job.call, error)
        case _:
            assert_never(question)
