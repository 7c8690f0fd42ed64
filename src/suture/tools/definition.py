"""A tool as it is defined: what the model sees, the handler, and what a repeat of it does."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any, TypeAlias, get_args

from suture.arguments import parse
from suture.canonical import require_json
from suture.entries import Effect
from suture.errors import InvalidSchema, InvalidTool, NotJson
from suture.messages import ToolCall
from suture.tools.alternatives import Alternatives
from suture.tools.binding import Binding, RawArguments, Unfit
from suture.tools.context import ToolContext
from suture.tools.schemas import Schema
from suture.tools.signatures import context_of, one_value_of
from suture.tools.words import bounded

Handler: TypeAlias = Callable[..., object]
# The arguments come as a model wrote them, so what looks at them may take any JSON value out of them.
Gate: TypeAlias = bool | Callable[[dict[str, Any]], object]
Normalize: TypeAlias = Callable[[dict[str, Any]], Mapping[str, object]]
Validate: TypeAlias = Callable[[dict[str, Any]], str | list[str] | tuple[str, ...] | None]
Reconcile: TypeAlias = Callable[[ToolCall, ToolContext], object]

# What all providers take as the name of a tool.
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Unbound(ValueError):
    """The arguments of a call did not fit when its handler was to run, so it was not called."""


@dataclass(frozen=True)
class Tool:
    """A tool that a model may call. `suture.tool` makes one from code; this makes one from a JSON schema.

    `parameters` is a JSON schema. A tool made by hand is checked by it, and its handler gets one argument, the dict (and
    the context, when it has a parameter annotated `suture.ToolContext`). `binding` checks and binds in its place.

    `effect` says what a repeat does: "read" is safe to repeat, "idempotent" is repeatable under the same
    `ctx.idempotency_key`, "external" (the default) is never repeated without a person. `needs_approval` is
    True or a predicate over the arguments; a request on which nobody has decided `approval_expires` seconds later is over,
    and the call is not run. `timeout` is in seconds. `reconcile(call, ctx)` finds out what a
    lost call did and returns its result, or None when it cannot tell. `ends_turn` ends the run once the call was executed.
    `normalize(arguments)` gives back the arguments that were meant, before they are checked; `validate(arguments)` says
    what else is wrong with arguments that fit: a text, several, or None.

    Raises:
        InvalidTool: an option is none that a tool has, or the handler cannot take what the parameters say.
        InvalidSchema: `parameters` is no JSON schema.
    """

    name: str
    description: str
    parameters: dict[str, object]
    handler: Handler
    effect: Effect = "external"
    needs_approval: Gate = False
    approval_expires: float | None = None
    timeout: float | None = None
    reconcile: Reconcile | None = None
    ends_turn: bool = False
    normalize: Normalize | None = None
    validate: Validate | None = None
    context_parameter: str | None = None
    binding: Binding | None = field(default=None, repr=False)
    _binding: Binding = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse what would only be noticed in the middle of a run."""
        if wrong := _wrong_option(self):
            raise InvalidTool(f"tool {self.name!r}: {wrong}")
        object.__setattr__(self, "parameters", _own(self.name, self.parameters))
        if self.binding is None:
            object.__setattr__(self, "context_parameter", self.context_parameter or context_of(self.handler, self.name))
            object.__setattr__(self, "_binding", _raw_arguments(self.name, self.parameters, self.handler))
        elif self.parameters != _own(self.name, self.binding.schema):
            raise InvalidTool(
                f"tool {self.name!r}: its parameters are not those that its calls are checked by; "
                "make it anew with suture.tool(parameters=...), or leave `binding` out."
            )
        else:
            object.__setattr__(self, "_binding", self.binding)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the function itself, unchecked."""
        return self.handler(*args, **kwargs)

    @cached_property
    def alternatives(self) -> Alternatives:
        """What the parameters let stand where, looked up once."""
        return Alternatives(self.parameters)

    def violations(self, arguments: Mapping[str, object]) -> list[str]:
        """What is wrong with the arguments, one sentence each; none when they fit."""
        return self._binding.violations(arguments)

    def bind(self, arguments: Mapping[str, object], ctx: ToolContext) -> dict[str, object]:
        """The keyword arguments for the handler, of the types that it declares; they share nothing with the call.

        Raises:
            Unbound: they do not fit.
        """
        try:
            given = self._binding.bind(arguments)
        except Unfit as error:
            raise Unbound(bounded(self.name, error.violations)) from error
        return given | ({self.context_parameter: ctx} if self.context_parameter else {})

    def gated(self, arguments: Mapping[str, object]) -> bool:
        """Whether a person must approve the call. A predicate looks at a copy."""
        if callable(self.needs_approval):
            copied, _, reason = parse(arguments)
            if copied is None:
                raise ValueError(reason)
            return bool(self.needs_approval(copied))
        return self.needs_approval


def _raw_arguments(name: str, parameters: Mapping[str, object], handler: Handler) -> RawArguments:
    """Arguments as a JSON schema has them, for a handler that takes the dict.

    Raises:
        InvalidTool: the handler does not take one value.
        InvalidSchema: the schema is none.
    """
    try:
        schema = Schema(parameters, formats=True)
    except InvalidSchema as error:
        raise InvalidSchema(f"tool {name!r}: {error}") from error
    if parameters.get("type", "object") != "object":
        raise InvalidSchema(f'tool {name!r}: The arguments of a call are an object: say "type": "object" at $.type.')
    return RawArguments(schema, one_value_of(handler, name))


def _own(name: str, parameters: Mapping[str, object]) -> dict[str, object]:
    """The schema as a dict of the tool's own, in the order given; nobody else changes it."""
    try:
        require_json(parameters)
        owned: dict[str, object] = json.loads(json.dumps(dict(parameters)))
    except (NotJson, TypeError) as error:
        raise InvalidSchema(f"tool {name!r}: The parameters are no JSON schema: {error}") from error
    return owned


# Options --------------------------------------------------------------------------------------


def _wrong_option(tool: Tool) -> str | None:
    """What is wrong with a tool's options, none of which a type checker may have seen."""
    effects = get_args(Effect)
    if not _is_name(tool.name):
        return "providers take names of 1 to 64 letters, digits, _ and -; pass such a name=...."
    if not isinstance(tool.description, str):
        return f"description is a text, not {tool.description!r}."
    if not isinstance(tool.parameters, Mapping):
        return f"parameters is a JSON schema as a dict, not {tool.parameters!r}."
    if tool.effect not in effects:
        return f"effect {tool.effect!r} is none of {', '.join(effects)}."
    if is_coroutine_function(tool.needs_approval):
        return "needs_approval is a plain function; one that must be awaited belongs into the agent's before_tool."
    if not _is_bool_or_function(tool.needs_approval):
        return f"needs_approval is True, False or a predicate over the arguments, not {tool.needs_approval!r}."
    for option in ("timeout", "approval_expires"):
        seconds = getattr(tool, option)
        if seconds is not None and not _is_positive(seconds):
            return f"{option} is a number of seconds above 0, or None; not {seconds!r}."
    if not isinstance(tool.ends_turn, bool):
        return f"ends_turn is True or False, not {tool.ends_turn!r}."
    for option in ("normalize", "validate"):
        function = getattr(tool, option)
        if function is not None and not (callable(function) and not _is_of(inspect.iscoroutinefunction, function)):
            return f"{option} is a plain function of the arguments, or None; not {function!r}."
    if not all(map(callable, (tool.handler, tool.reconcile or tool.handler))):
        return "its handler, and its `reconcile` when it has one, are functions."
    if any(map(is_generator_function, (tool.handler, tool.reconcile))):
        return "its handler, and its `reconcile`, return a result; a generator function yields. Join what it yields."
    return None


def is_coroutine_function(function: object) -> bool:
    """Whether calling it gives something to await: a coroutine function, or an object whose call is one."""
    return _is_of(inspect.iscoroutinefunction, function)


def is_generator_function(function: object) -> bool:
    """Whether calling it gives a generator, plain or async."""
    return _is_of(inspect.isgeneratorfunction, function) or _is_of(inspect.isasyncgenfunction, function)


def _is_of(kind: Callable[[object], bool], function: object) -> bool:
    return kind(function) or kind(getattr(function, "__call__", None))  # noqa: B004


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _is_bool_or_function(value: object) -> bool:
    return isinstance(value, bool) or callable(value)


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < inf
