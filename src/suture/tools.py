"""Tools: what a model may call, checked before it runs.

A tool is made from a typed function: its name, its docstring and its parameters' types are what the model
sees and what its calls are checked against. A call that does not fit never reaches the function; its answer
is a text from which the model can correct itself. Received values are not echoed in it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar, get_args, get_type_hints, overload

import msgspec

from suture.arguments import parse
from suture.canonical import canonical, require_json
from suture.entries import Effect
from suture.errors import Corrupt, InvalidSchema, InvalidTool, NotJson
from suture.messages import Assistant, Audio, File, Image, Part, Text, ToolCall, ToolResult, encode, message_from, parts_of

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

Handler: TypeAlias = Callable[..., object]
# The arguments come as a model wrote them, so a predicate may take any JSON value out of them.
Gate: TypeAlias = bool | Callable[[dict[str, Any]], object]

M = TypeVar("M", Assistant, ToolResult)

MAX_VIOLATIONS = 8
MAX_REASON_BYTES = 2048


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
    """A tool that a model may call.

    `effect` says what a repeat does: "read" is safe to repeat, "idempotent" is repeatable under the same
    `ctx.idempotency_key`, "external" (the default) is never repeated without a person. `needs_approval` is
    True or a predicate over the arguments. `timeout` is in seconds. `reconcile(call, ctx)` finds out what a
    lost call did and returns its result, or None when it cannot tell.
    """

    name: str
    description: str
    parameters: dict[str, object]
    handler: Handler
    effect: Effect = "external"
    needs_approval: Gate = False
    timeout: float | None = None
    reconcile: Callable[[ToolCall, ToolContext], object] | None = None
    context_parameter: str | None = None
    model: type[BaseModel] | None = field(default=None, repr=False)

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
            return _violations(error, list(self._properties()))
        except InvalidTool:
            raise
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
        except InvalidTool:
            raise
        except Exception as error:
            raise Unbound(_bounded(self.name, self.violations(arguments) or [_said(error)])) from error
        given = {info.alias or name: getattr(validated, name) for name, info in type(validated).model_fields.items()}
        return given | ({self.context_parameter: ctx} if self.context_parameter else {})

    def gated(self, arguments: Mapping[str, object]) -> bool:
        """Whether a person must approve the call."""
        if callable(self.needs_approval):
            return bool(self.needs_approval(dict(arguments)))
        return self.needs_approval

    def _validated(self, arguments: Mapping[str, object]) -> BaseModel:
        if self.model is None:
            raise InvalidTool(f"tool {self.name!r} was not made by suture.tool; make it from a function.")
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


# Making one -----------------------------------------------------------------------------------


@overload
def tool(function: Handler, /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    effect: Effect = "external",
    needs_approval: Gate = False,
    timeout: float | None = None,
    reconcile: Callable[[ToolCall, ToolContext], object] | None = None,
) -> Callable[[Handler], Tool]: ...
def tool(
    function: Handler | None = None,
    /,
    *,
    name: str | None = None,
    effect: Effect = "external",
    needs_approval: Gate = False,
    timeout: float | None = None,
    reconcile: Callable[[ToolCall, ToolContext], object] | None = None,
) -> Tool | Callable[[Handler], Tool]:
    """A tool from a function with typed parameters and a docstring (Google, NumPy or reST style).

    Raises:
        InvalidTool: a parameter has no type, or a type that no JSON value can have; or an option is none that a tool has.
    """

    def make(function: Handler) -> Tool:
        made = _from_function(function, name)
        return replace(made, effect=effect, needs_approval=needs_approval, timeout=timeout, reconcile=reconcile)

    return make if function is None else make(function)


def _from_function(function: Handler, name: str | None) -> Tool:
    if isinstance(function, Tool):
        return function
    import docstring_parser
    from pydantic import ConfigDict, Field, create_model
    from pydantic.errors import PydanticUserError

    name = name or getattr(function, "__name__", None)
    if not name:
        raise InvalidTool(f"{function!r} has no name; pass name=....")
    doc = docstring_parser.parse(inspect.getdoc(function) or "")
    about = {parameter.arg_name: " ".join((parameter.description or "").split()) for parameter in doc.params}
    hints = _hints(function, name)
    fields: dict[str, tuple[object, object]] = {}
    context_parameter = None
    for parameter in inspect.signature(function).parameters.values():
        annotation = hints.get(parameter.name)
        if annotation is ToolContext:
            context_parameter = parameter.name
            continue
        if annotation is None or parameter.kind in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
            parameter.POSITIONAL_ONLY,
        ):
            raise InvalidTool(
                f"tool {name!r}: parameter {parameter.name!r} cannot be offered to a model; name it and give it a type."
            )
        default = ... if parameter.default is parameter.empty else parameter.default
        described = Field(default, description=about.get(parameter.name) or None, alias=parameter.name)
        fields[f"p{len(fields)}"] = (annotation, described)
    try:
        model: type[BaseModel] = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)  # type: ignore[call-overload]
        schema = model.model_json_schema()
    except PydanticUserError as error:
        raise InvalidTool(f"tool {name!r}: a parameter has a type that no JSON value can have: {error.message}") from error
    return Tool(
        name=name,
        description=_description(doc),
        parameters=_without_titles(schema),
        handler=function,
        context_parameter=context_parameter,
        model=model,
    )


def _hints(function: Handler, name: str) -> dict[str, object]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise InvalidTool(f"tool {name!r}: {error}; import the name where the function is defined.") from error


class _Docstring(Protocol):
    short_description: str | None
    long_description: str | None
    blank_after_short_description: bool


def _description(doc: _Docstring) -> str:
    """The docstring without its sections, one line a paragraph."""
    gap = "\n\n" if doc.blank_after_short_description else " "
    text = gap.join(part for part in (doc.short_description, doc.long_description) if part)
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _without_titles(schema: dict[str, object]) -> dict[str, object]:
    """The schema without the titles that pydantic adds; a property called "title" stays."""

    def clean(node: object, *, names: bool = False) -> object:
        if isinstance(node, list):
            return [clean(item) for item in node]
        if not isinstance(node, dict):
            return node
        kept = {key: item for key, item in node.items() if names or key != "title" or not isinstance(item, str)}
        return {key: clean(item, names=key in ("properties", "$defs") and not names) for key, item in kept.items()}

    cleaned = clean(schema)
    assert isinstance(cleaned, dict)
    return cleaned


# Checking a call ------------------------------------------------------------------------------


class Ready(NamedTuple):
    """The call may run."""

    call: ToolCall
    tool: Tool


class Gated(NamedTuple):
    """The call may run once a person has approved it."""

    call: ToolCall
    tool: Tool


class Refused(NamedTuple):
    """The call may not run, and why, for the model."""

    error_type: str
    reason: str


Verdict: TypeAlias = Ready | Gated | Refused


def screen(call: ToolCall, tools: Mapping[str, Tool]) -> Verdict:
    """Whether a model's call may run."""
    verdict = recheck(call, tools)
    if isinstance(verdict, Refused):
        return verdict
    try:
        gated = verdict.tool.gated(verdict.call.arguments or {})
    except Exception as error:  # noqa: BLE001  a predicate is the host's code: its failure refuses its call alone
        reason = f"Whether this call needs approval could not be found out ({type(error).__name__}), so it was not run."
        return Refused("approval_error", reason)
    return Gated(verdict.call, verdict.tool) if gated else verdict


def recheck(call: ToolCall, tools: Mapping[str, Tool]) -> Ready | Refused:
    """Whether a call that needs no further approval may run, by the tools and schemas of now."""
    found = tools.get(call.name)
    if found is None:
        return Refused("unknown_tool", _unknown("tool", call.name, list(tools)) + ". The call was not run.")
    arguments, _, reason = parse(call.raw if call.arguments is None else call.arguments)
    if arguments is None:
        return Refused("validation_error", f"The arguments of {call.name!r} cannot be read: {reason} The call was not run.")
    if wrong := found.violations(arguments):
        return Refused("validation_error", _bounded(call.name, wrong))
    return Ready(msgspec.structs.replace(call, arguments=arguments, raw=None, error=None), found)


def schema_violations(schema: Mapping[str, object], arguments: Mapping[str, object]) -> list[str]:
    """What is wrong with arguments by a JSON schema, one sentence each. References to files or the network are refused.

    Raises:
        InvalidSchema: the schema itself is not one.
    """
    import jsonschema_rs

    def refuse(uri: str) -> dict[str, object]:
        raise ValueError(f"the reference {uri} leads out of the schema; inline it")

    try:
        validator = jsonschema_rs.validator_for(dict(schema), retriever=refuse)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise InvalidSchema(f"The parameters are no JSON schema: {error}") from error
    return [
        f"{'.'.join(map(str, error.instance_path)) or 'the arguments'}: {error.message[:200]}"
        for error in validator.iter_errors(dict(arguments))
    ]


def _bounded(name: str, violations: Sequence[str]) -> str:
    """All that is wrong in one text of bounded length."""
    shown = [" ".join(violation.split()) for violation in violations[:MAX_VIOLATIONS]]
    more = f"; and {len(violations) - MAX_VIOLATIONS} more" if len(violations) > MAX_VIOLATIONS else ""
    text = (
        f"The arguments of {name!r} do not fit: {'; '.join(shown)}{more}. The call was not run; correct it and call again."
    )
    return text.encode()[:MAX_REASON_BYTES].decode(errors="ignore")


def _violations(error: ValidationError, known: list[str]) -> list[str]:
    found = []
    for item in error.errors(include_url=False, include_context=False, include_input=True):
        place = _place(item["loc"])
        match item["type"]:
            case "extra_forbidden" if len(item["loc"]) == 1:
                found.append(_unknown("parameter", place, known))
            case "extra_forbidden":
                found.append(f"unknown key {place!r}")
            case "missing":
                found.append(f"{place!r} is missing")
            case _:
                came = _json_type(item["input"])
                found.append(f"{place!r}: {item['msg'][:1].lower()}{item['msg'][1:]}, but {came} came")
    return found


def _place(location: Iterable[int | str]) -> str:
    place = ""
    for step in location:
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else step
    return place[:120]


def _json_type(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list() | tuple():
            return "a list"
        case _:
            return "an object"


def _unknown(what: str, name: str, known: Sequence[str]) -> str:
    """'unknown parameter 'titile' (did you mean 'title'?); expected project_id, title'."""
    near = get_close_matches(name, known, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    listed = ", ".join(known[:40]) + (", ..." if len(known) > 40 else "")
    return f"unknown {what} {name[:120]!r}{hint}; expected {listed or f'no {what} at all'}"


# Results --------------------------------------------------------------------------------------


def result_of(call: ToolCall, value: object) -> ToolResult:
    """What a handler returned, as the answer to its call, exactly as a log will give it back.

    A text stands as it is, None is an empty answer, parts and lists of parts stand as they are, a `ToolResult`
    gives its parts, `ui` and `error`; every other value becomes JSON text.

    Raises:
        NotJson: the value cannot be written down.
    """
    try:
        return as_logged(ToolResult, _answer(call, value))
    except NotJson:
        raise
    except Exception as error:
        raise NotJson(_said(error)) from error


def _answer(call: ToolCall, value: object) -> ToolResult:
    if isinstance(value, ToolResult):
        require_json(value.ui)
        changed = {"parts": parts_of(value.parts), "call_id": call.id, "name": call.name, "error": bool(value.error)}
        return msgspec.structs.replace(value, **changed)
    return ToolResult(parts=_parts(value), call_id=call.id, name=call.name, error=False)


def failure_of(call: ToolCall, error_type: str, text: str) -> ToolResult:
    """An error that the model reads as the answer to its call."""
    return ToolResult(parts=(Text(text),), call_id=call.id, name=call.name, error=True, error_type=error_type)


def raised(call: ToolCall, error: Exception) -> ToolResult:
    """The answer to a call whose handler raised, or returned what cannot be sent."""
    if isinstance(error, Unbound):
        return failure_of(call, "validation_error", str(error))
    if isinstance(error, NotJson):
        text = f"The tool {call.name!r} ran, but its result cannot be written down: {_said(error)}"
        return failure_of(call, "result_error", text[:MAX_REASON_BYTES])
    text = f"The tool {call.name!r} failed: {_said(error)}. Check what it did before calling it again."
    return failure_of(call, "execution_error", text[:MAX_REASON_BYTES])


def _said(error: Exception) -> str:
    """What an error says of itself, which is the host's code."""
    name = "" if type(error) is NotJson else type(error).__name__
    try:
        return ": ".join(part for part in (name, str(error)) if part)
    except Exception:  # noqa: BLE001  as above
        return name


def _parts(value: object) -> tuple[Part, ...]:
    match value:
        case None:
            return ()
        case str():
            return (Text(value),) if value else ()
        case Text() | Image() | File() | Audio():
            return (value,)
        case list() | tuple() if value and all(isinstance(item, Text | Image | File | Audio) for item in value):
            return tuple(value)
        case _:
            require_json(value)  # first: it bounds the depth
            return (Text(canonical(_plain(value)).decode("utf-8", "replace")),)


# Words that the host made ---------------------------------------------------------------------


def as_logged(kind: type[M], message: M) -> M:
    """The message as a log gives it back: what is appended is what can be read.

    Raises:
        NotJson: it would not come back; names the place.
    """
    for index, part in enumerate(message.parts):
        if not isinstance(part, Part):
            raise NotJson(f"$.parts[{index}]: {type(part).__name__} is no part; wrap a text in suture.messages.Text.")
    try:
        logged = message_from(msgspec.json.decode(encode(_plain(message))))
    except NotJson:
        raise
    except Corrupt as error:
        raise NotJson(str(error)) from error
    except Exception as error:
        raise NotJson(_said(error)) from error
    assert isinstance(logged, kind)
    return logged


def _plain(value: object, at: str = "$") -> object:
    """Plain JSON, of the exact types that every encoder takes; structs with their tags."""
    match value:
        case None | bool():
            return value
        case str():
            return str.__str__(value)
        case int():
            return int(value)
        case float():
            require_json(value, at)
            return float(value)
        case msgspec.Struct():
            fields = {name: _plain(getattr(value, name), f"{at}.{name}") for name in value.__struct_fields__}
            return _tag(value) | fields
        case Mapping():
            return {_key(key, at): _plain(item, f"{at}.{key}") for key, item in value.items()}
        case list() | tuple():
            return [_plain(item, f"{at}[{index}]") for index, item in enumerate(value)]
        case _:
            raise NotJson(f"{at}: {type(value).__name__} is not JSON; convert it to text, a list or a dict first.")


def _key(key: object, at: str) -> str:
    require_json({key: None}, at)
    return str.__str__(key)


def _tag(word: msgspec.Struct) -> dict[str, object]:
    config = word.__struct_config__
    return {config.tag_field: config.tag} if config.tag_field is not None else {}
