"""A tool as it is defined: what the model sees, the handler, and what a repeat of it does."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, get_args

from suture.canonical import canonical
from suture.entries import Effect
from suture.errors import InvalidTool
from suture.messages import ToolCall
from suture.tools.violations import bounded, said, violations_of

if TYPE_CHECKING:
    from pydantic import BaseModel

Handler: TypeAlias = Callable[..., object]
# The arguments come as a model wrote them, so a predicate may take any JSON value out of them.
Gate: TypeAlias = bool | Callable[[dict[str, Any]], object]


class ToolContext(Protocol):
    """What a handler may know of its call. Ask for it with a parameter annotated `suture.ToolContext`."""

    @property
    def session(self) -> object:
        """A handle on the session of the run."""

    @property
    def key(self) -> str:
        """The call's key, by which `approve`, `settle` and the log name it."""

    @property
    def call(self) -> ToolCall:
        """The call as it runs."""

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt at this call and no other call; hand it to the service that acts."""

    @property
    def attempt(self) -> int:
        """1 for the first attempt."""

    @property
    def interrupted(self) -> bool:
        """Whether the run is to stop; a long handler looks here and returns early."""

    @property
    def deadline(self) -> float | None:
        """When the tool's timeout strikes, on the clock of `time.monotonic`; None without a timeout."""

    @property
    def context(self) -> object:
        """What the agent was given as `context`."""

    def progress(self, text: str) -> None:
        """Tell watchers how far the call is. Nothing of it is stored."""


class Unbound(ValueError):
    """The arguments of a call did not fit when its handler was to run, so it was not called."""


@dataclass(frozen=True)
class Tool:
    """A tool that a model may call. `suture.tool` makes one; `model` is what its arguments are checked and bound by.

    `effect` says what a repeat does: "read" is safe to repeat, "idempotent" is repeatable under the same
    `ctx.idempotency_key`, "external" (the default) is never repeated without a person. `needs_approval` is
    True or a predicate over the arguments. `timeout` is in seconds. `reconcile(call, ctx)` finds out what a
    lost call did and returns its result, or None when it cannot tell.
    """

    name: str
    description: str
    parameters: dict[str, object]
    handler: Handler
    model: type[BaseModel] = field(repr=False)
    effect: Effect = "external"
    needs_approval: Gate = False
    timeout: float | None = None
    reconcile: Callable[[ToolCall, ToolContext], object] | None = None
    context_parameter: str | None = None

    def __post_init__(self) -> None:
        """Refuse what would only be noticed in the middle of a run."""
        if wrong := _wrong_option(self):
            raise InvalidTool(f"tool {self.name!r}: {wrong}")

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the function itself, unchecked."""
        return self.handler(*args, **kwargs)

    def violations(self, arguments: Mapping[str, object]) -> list[str]:
        """What is wrong with the arguments, one sentence each; none when they fit."""
        from pydantic import ValidationError

        try:
            self._validated(arguments)
        except ValidationError as error:
            return violations_of(error, list(self._properties()))
        except Exception as error:  # noqa: BLE001  a validator is the host's code: its failure refuses its call alone
            return [f"the tool's own check of them failed ({type(error).__name__})"]
        return []

    def bind(self, arguments: Mapping[str, object], ctx: ToolContext) -> dict[str, object]:
        """The keyword arguments for the handler, of the types that it declares; they share nothing with the call.

        Raises:
            Unbound: they do not fit.
        """
        try:
            validated = self._validated(arguments)
        except Exception as error:
            raise Unbound(bounded(self.name, self.violations(arguments) or [said(error)])) from error
        given = {info.alias or name: getattr(validated, name) for name, info in type(validated).model_fields.items()}
        return given | ({self.context_parameter: ctx} if self.context_parameter else {})

    def gated(self, arguments: Mapping[str, object]) -> bool:
        """Whether a person must approve the call."""
        if callable(self.needs_approval):
            return bool(self.needs_approval(dict(arguments)))
        return self.needs_approval

    def _validated(self, arguments: Mapping[str, object]) -> BaseModel:
        return self.model.model_validate_json(canonical(arguments), strict=True)

    def _properties(self) -> Mapping[str, object]:
        properties = self.parameters.get("properties")
        return properties if isinstance(properties, dict) else {}


def _wrong_option(tool: Tool) -> str | None:
    """What is wrong with a tool's options, none of which a type checker may have seen."""
    effects = get_args(Effect)
    if tool.effect not in effects:
        return f"effect {tool.effect!r} is none of {', '.join(effects)}."
    if not _is_bool_or_function(tool.needs_approval):
        return f"needs_approval is True, False or a predicate over the arguments, not {tool.needs_approval!r}."
    if tool.timeout is not None and not _is_positive(tool.timeout):
        return f"timeout is a number of seconds above 0, or None; not {tool.timeout!r}."
    if not all(map(callable, (tool.handler, tool.reconcile or tool.handler))):
        return "its handler, and its `reconcile` when it has one, are functions."
    if any(map(_is_generator_function, (tool.handler, tool.reconcile))):
        return "its handler, and its `reconcile`, return a result; a generator function yields. Join what it yields."
    return None


def _is_generator_function(function: object) -> bool:
    called = (function, getattr(function, "__call__", None))  # noqa: B004
    return any(inspect.isgeneratorfunction(one) or inspect.isasyncgenfunction(one) for one in called)


def _is_bool_or_function(value: object) -> bool:
    return isinstance(value, bool) or callable(value)


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < inf
