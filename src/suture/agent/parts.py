"""What an agent is made of, checked once, when it is made."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple, TypeVar, cast

from suture.agent.recorder import Recorder
from suture.agent.signal import Signal
from suture.agent.work import GRACE, Work, unprobed
from suture.call_repair import Correct, ToolCallRepair
from suture.compaction import Compaction, context_tokens
from suture.compaction.options import RESERVE
from suture.errors import ConfigurationError, InvalidTool
from suture.loop import Plan
from suture.loop.asks import Ask
from suture.loop.retries import ONCE, RetryPolicy
from suture.messages import Part, User, parts_of
from suture.models import Model, open_model
from suture.models.windows import window_of
from suture.replay import State
from suture.session import AsyncSession, Session
from suture.tools import AfterTool, BeforeTool, Tool, is_generator_function, tool, trouble_among

H = TypeVar("H", bound=Callable[..., object] | None)


class ContextUsage(NamedTuple):
    """How many tokens a conversation has, partly by estimate, and how many its model takes; None when that is not known."""

    tokens: int
    window: int | None


class Parts:
    """What both skins are made of."""

    def __init__(
        self,
        model: Model | str,
        session: Session | AsyncSession | None = None,
        *,
        system: str | None = None,
        tools: Iterable[object] = (),
        max_steps: int | None = 16,
        max_concurrency: int = 4,
        lease: float = 30.0,
        grace: float = GRACE,
        retries: bool | RetryPolicy = True,
        tool_call_repair: bool | ToolCallRepair | Correct = False,
        compaction: bool | Compaction = True,
        before_tool: BeforeTool | None = None,
        after_tool: AfterTool | None = None,
        context: object = None,
        name: str | None = None,
    ) -> None:
        if session is not None and not isinstance(session, Session | AsyncSession):
            raise ConfigurationError(f"{session!r} is no session; make one with suture.Session(store, id).")
        if max_steps is not None and max_steps < 1:
            raise ConfigurationError(f"max_steps is at least 1, or None for no limit; not {max_steps}.")
        if max_concurrency < 1 or not 0 < lease < math.inf or not grace >= 0:
            raise ConfigurationError(
                "max_concurrency is at least 1, lease a finite number of seconds above 0, grace not below 0."
            )
        if system is not None:
            require_text("system", system)
        self.model = _model(model)
        self.system = system
        self.tools = _named(tools)
        self.max_steps = max_steps
        self.max_concurrency = max_concurrency
        self.lease = lease
        self.grace = grace
        self.retries = _policy(retries)
        self.tool_call_repair = _repair(tool_call_repair)
        self.compaction = _compaction(compaction, self.model)
        self.before_tool = _hook("before_tool(call, ctx)", before_tool, 2)
        self.after_tool = _hook("after_tool(call, result, ctx)", after_tool, 3)
        self.context = context
        self.name = name
        self._session = session
        self._probe: Callable[[str, Ask[object]], None] = unprobed

    def _recorder(self, session: Session) -> Recorder:
        return Recorder(session.log, self.lease)

    def _work(self, session: Session, recorder: Recorder, signal: Signal | None) -> Work:
        plan = Plan(
            session_id=session.id,
            tools=self.tools,
            system=self.system,
            max_steps=self.max_steps,
            max_concurrency=self.max_concurrency,
            retries=self.retries,
            before_tool=self.before_tool,
            after_tool=self.after_tool,
            repair=self.tool_call_repair,
            compaction=self.compaction,
            owner=recorder.owner,
            lease=self.lease,
        )
        return Work(self.model, session, plan, recorder, self.context, signal, self.grace, self._probe)

    def _context_usage(self, session: Session) -> ContextUsage:
        window = self.compaction.window if self.compaction is not None else window_of(self.model)
        return ContextUsage(context_tokens(session.refresh()), window)


def _model(given: Model | str) -> Model:
    model = open_model(given) if isinstance(given, str) else given
    if missing := [name for name in ("name", "stream") if not hasattr(model, name)]:
        raise ConfigurationError(f"{model!r} is no model: it has no {' and no '.join(missing)} (suture.models.base).")
    return model


def _policy(given: bool | RetryPolicy) -> RetryPolicy:
    match given:
        case RetryPolicy():
            return given
        case True:
            return RetryPolicy()
        case False:
            return ONCE
        case _:
            raise ConfigurationError(f"retries is True, False or a suture.RetryPolicy, not {given!r}.")


def _repair(given: bool | ToolCallRepair | Correct) -> ToolCallRepair | Correct | None:
    match given:
        case False:
            return None
        case True:
            return ToolCallRepair()
        case ToolCallRepair(model=str() as name):
            return replace(given, model=open_model(name))
        case ToolCallRepair(model=model):
            return given if model is None else replace(given, model=_model(cast(Model, model)))
        case _ if callable(given):
            return _hook("tool_call_repair(history, calls, tools)", given, 3)
        case _:
            raise ConfigurationError(
                "tool_call_repair is True, False, a suture.ToolCallRepair or a function of (history, calls, tools), "
                f"not {given!r}."
            )


def _compaction(given: bool | Compaction, model: Model) -> Compaction | None:
    match given:
        case False:
            return None
        case True:
            window = window_of(model)
            return Compaction(window, None if window is None else min(RESERVE, window // 4))
        case Compaction():
            window = given.window if given.window is not None else window_of(model)
            writer = given.model if given.model is None else _model(cast("Model | str", given.model))
            return replace(given, window=window, model=writer)
        case _:
            raise ConfigurationError(f"compaction is True, False or a suture.Compaction, not {given!r}.")


def _hook(what: str, given: H, count: int) -> H:
    """The hook, which is called with so many arguments."""
    if given is None:
        return given
    if not is_plain_callable(given):
        raise ConfigurationError(f"{what} is a function that returns its answer, not {given!r}.")
    if not _takes(given, count):
        raise ConfigurationError(f"{what} is called like that, and {given!r} takes other arguments.")
    return given


def is_plain_callable(given: object) -> bool:
    """Whether it can be called, and returns rather than yields."""
    return callable(given) and not is_generator_function(given)


def _takes(function: Callable[..., object], count: int) -> bool:
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # a builtin may not say what it takes
        return True
    return True


def _named(tools: object) -> dict[str, Tool]:
    if not isinstance(tools, Iterable):
        raise ConfigurationError(f"tools is a list of tools, not {tools!r}; write tools=[...].")
    named: dict[str, Tool] = {}
    for given in tools:
        made = given if isinstance(given, Tool) else tool(given)
        if made.name in named:
            raise InvalidTool(f"Two tools are called {made.name!r}; a model could not tell them apart. Rename one.")
        named[made.name] = made
    return named


def require_text(what: str, given: object) -> None:
    """Return when it is a text."""
    if not isinstance(given, str):
        raise ConfigurationError(f"{what} is a text, not {given!r:.80}.")


def user_of(prompt: str, files: Part | Iterable[Part]) -> User:
    """What a prompt and its files say, as a message.

    Raises:
        ConfigurationError: the prompt is blank, or a file is none that anybody could look at.
    """
    require_text("The prompt", prompt)
    parts = parts_of(prompt)
    if not prompt.strip():
        raise ConfigurationError("The prompt is blank. Pass words, or `resume()` to go on without any.")
    attached = (files,) if isinstance(files, Part) else tuple(files)
    if trouble := trouble_among(attached):
        raise ConfigurationError(f"files: {trouble}.")
    return User((*parts, *attached))


def begin(session: Session, recorder: Recorder) -> State:
    """Claim the session and read what is new in it: what a run begins from. From here on edits through this handle are the
    run's own.
    """
    session.open()
    recorder.claim()
    session.epoch_of_run = recorder.epoch_in_force
    state = session.refresh()
    recorder.head = state.head
    return state
