"""A tool from code: a typed function, a function of one value, or a class with a `call`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import (
    Annotated,
    Any,
    NamedTuple,
    NotRequired,
    Required,
    TypeAlias,
    TypedDict,
    Unpack,
    cast,
    get_args,
    get_origin,
    overload,
)

from suture.entries import Effect
from suture.errors import InvalidTool
from suture.tools.binding import Binding, TypedParameters, TypedValue
from suture.tools.definition import (
    Gate,
    Handler,
    Normalize,
    Reconcile,
    Tool,
    Validate,
    is_generator_function,
)
from suture.tools.shapes import shown_schema
from suture.tools.signatures import (
    context_of,
    doc_of,
    docstring,
    hints_of,
    name_of,
    offered,
    one_value_of,
    parameters_of,
    snake_case,
    texts_of,
)

# A pydantic model, a dataclass, a TypedDict, or a JSON schema.
Parameters: TypeAlias = type[Any] | Mapping[str, object]


class Options(TypedDict, total=False):
    """What `tool` may be told; see there."""

    name: str | None
    description: str | None
    parameters: Parameters | None
    effect: Effect
    needs_approval: Gate
    approval_expires: float | None
    timeout: float | None
    reconcile: Reconcile | None
    ends_turn: bool
    normalize: Normalize | None
    validate: Validate | None


class _Made(NamedTuple):
    """What the code says; the options are added to it."""

    name: str
    description: str
    parameters: dict[str, object]
    handler: Handler
    binding: Binding | None  # None: the parameters are a JSON schema, which the tool itself goes by
    context_parameter: str | None


@overload
def tool(source: object, /, **options: Unpack[Options]) -> Tool: ...
@overload
def tool(**options: Unpack[Options]) -> Callable[[object], Tool]: ...
def tool(
    source: object = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Parameters | None = None,
    effect: Effect = "external",
    needs_approval: Gate = False,
    approval_expires: float | None = None,
    timeout: float | None = None,
    reconcile: Reconcile | None = None,
    ends_turn: bool = False,
    normalize: Normalize | None = None,
    validate: Validate | None = None,
) -> Tool | Callable[[object], Tool]:
    """A tool from a function or from a class with a `call`, as a decorator or called with it.

    A function's typed parameters are the tool's. With `parameters` (a pydantic model, a dataclass, a TypedDict, or a dict
    that is a JSON schema) the function takes one value, which holds all arguments. An object gives its `call`; a pydantic
    model or dataclass with a `call` gives its fields, and is made from the arguments. Each may also take a
    `suture.ToolContext`. Name and description are the function's own (docstrings in Google, NumPy or reST style), or the
    `name` and `description` of the class; those given here come first. The other options are those of `suture.Tool`.

    Raises:
        InvalidTool: a parameter has no type, or a type that no JSON value can have; an option is none that a tool has; or
            the source is none of these.
        InvalidSchema: `parameters` is a dict, but no JSON schema.
    """

    def make(source: object) -> Tool:
        made = _made(source, name, parameters)
        return Tool(
            name=made.name,
            description=made.description if description is None else description,
            parameters=made.parameters,
            handler=made.handler,
            effect=effect,
            needs_approval=needs_approval,
            approval_expires=approval_expires,
            timeout=timeout,
            reconcile=reconcile,
            ends_turn=ends_turn,
            normalize=normalize,
            validate=validate,
            context_parameter=made.context_parameter,
            binding=made.binding,
        )

    return make if source is None else make(source)


def _made(source: object, name: str | None, parameters: Parameters | None) -> _Made:
    if isinstance(source, Tool):
        raise InvalidTool(
            f"tool {source.name!r} is a tool already; change its options with dataclasses.replace(tool, ...)."
        )
    called = getattr(source, "call", None)
    if isinstance(source, type) or (callable(called) and not inspect.isroutine(source)):
        if parameters is not None:
            raise InvalidTool(f"{_named(source)}: its `call` says what the parameters are; leave out parameters=.")
        return _from_class(source, name) if isinstance(source, type) else _from_object(source, name)
    if not callable(source):
        raise InvalidTool(f"{_named(source)} is no function and has no `call`; a tool is made from either.")
    return _from_function(source, name) if parameters is None else _from_value(source, name, parameters)


def _named(source: object) -> str:
    return f"class {source.__name__}" if isinstance(source, type) else f"{type(source).__name__} object"


# Functions ------------------------------------------------------------------------------------


def _from_function(function: Handler, name: str | None) -> _Made:
    """The function's parameters are the tool's."""
    name = name_of(function, name or "")
    doc = doc_of(docstring(function))
    columns: dict[str, tuple[object, object]] = {}
    texts = dict(doc.parameters)
    from pydantic import ConfigDict, Field, TypeAdapter, create_model
    from pydantic.fields import FieldInfo

    for parameter, annotation, said in offered(function, name):
        default = ... if parameter.default is parameter.empty else parameter.default
        if isinstance(default, FieldInfo):
            raise InvalidTool(
                f"tool {name!r}: parameter {parameter.name!r} has a Field for a default; write "
                f"{parameter.name}: Annotated[..., Field(...)] and give it a default of its own."
            )
        # A pydantic field may not have every name that a parameter may have, so it stands behind an alias.
        columns[f"p{len(columns)}"] = (annotation, Field(default, alias=parameter.name))
        texts |= {parameter.name: said} if said else {}
    names = {str(cast("Any", column[1]).alias): key for key, column in columns.items()}
    with _PydanticErrors(name):
        model = create_model(name, __config__=ConfigDict(extra="forbid", allow_inf_nan=False), **columns)  # type: ignore[call-overload]
        adapter = TypeAdapter[object](model)
        schema = shown_schema(adapter.json_schema(), texts)
    return _Made(
        name, doc.description, schema, function, TypedParameters(adapter, schema, names), context_of(function, name)
    )


def _from_value(function: Handler, name: str | None, parameters: Parameters) -> _Made:
    """The function takes one value, which holds all arguments."""
    name = name_of(function, name or "")
    description = doc_of(docstring(function)).description
    context = context_of(function, name)
    if isinstance(parameters, Mapping):
        return _Made(name, description, dict(parameters), function, None, context)
    if not _is_record(parameters):
        raise InvalidTool(
            f"tool {name!r}: parameters is a pydantic model, a dataclass, a TypedDict or a JSON schema as a dict,"
            f" not {parameters!r}."
        )
    value = _value_of(parameters, name, one_value_of(function, name))
    description = description or doc_of(docstring(parameters)).description
    return _Made(name, description, dict(value.schema), function, value, context)


def _is_record(kind: object) -> bool:
    return isinstance(kind, type) and (
        hasattr(kind, "__pydantic_validator__") or is_dataclass(kind) or _is_typed_dict(kind)
    )


def _is_model(kind: type) -> bool:
    return hasattr(kind, "model_fields")


def _is_typed_dict(kind: type) -> bool:
    """Whether it is one, of `typing` or of `typing_extensions`."""
    return issubclass(kind, dict) and hasattr(kind, "__required_keys__")


def _value_of(kind: type, name: str, parameter: str) -> TypedValue:
    """All arguments as a value of that class."""
    from pydantic import TypeAdapter

    texts = doc_of(docstring(kind)).parameters | _texts_in(kind, name)
    with _PydanticErrors(name):
        adapter = TypeAdapter[object](_with_known_keys(kind, hints_of(kind, name)) if _is_typed_dict(kind) else kind)
        schema = shown_schema(adapter.json_schema(), texts)
    if schema.get("type") != "object":
        raise InvalidTool(f"tool {name!r}: the arguments of a call are an object; {kind.__name__} is none.")
    return TypedValue(adapter, schema, parameter)


def _texts_in(kind: Any, name: str) -> dict[str, str]:  # noqa: ANN401  a class of one of four kinds
    """The texts in the annotations of its fields."""
    if _is_model(kind):
        return texts_of({key: Annotated[field.annotation, *field.metadata, ""] for key, field in kind.model_fields.items()})
    hints = hints_of(kind, name)
    return texts_of({key: get_args(hint)[0] if _is_qualified(hint) else hint for key, hint in hints.items()})


def _with_known_keys(kind: Any, hints: Mapping[str, object]) -> Any:  # noqa: ANN401  a TypedDict is no type
    """The same TypedDict, as pydantic asks for it below Python 3.12."""
    from typing_extensions import TypedDict

    # `__required_keys__` knows nothing of `NotRequired` in annotations that are texts; the hint itself does.
    keys: dict[str, Any] = {
        key: hint if _is_qualified(hint) or key in kind.__required_keys__ else NotRequired[cast("Any", hint)]
        for key, hint in hints.items()
    }
    return TypedDict(kind.__name__, keys)  # type: ignore[operator]


def _is_qualified(hint: object) -> bool:
    return get_origin(hint) in (Required, NotRequired)


class _PydanticErrors:
    """What pydantic says of a type that it cannot take, as the error of a tool."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        from pydantic.errors import PydanticUserError
        from pydantic_core import SchemaError

        if isinstance(error, SchemaError):
            raise InvalidTool(f"tool {self._name!r}: a parameter has a type that cannot be checked: {error}") from error
        if isinstance(error, PydanticUserError):
            raise InvalidTool(
                f"tool {self._name!r}: a parameter has a type that no JSON value can have: {error.message}"
            ) from error


# Classes --------------------------------------------------------------------------------------


def _from_object(source: object, name: str | None) -> _Made:
    """The parameters of its `call` are the tool's."""
    kind = type(source)
    made = _from_function(cast("Any", source).call, name or _text(source, "name") or snake_case(kind.__name__))
    described = _text(source, "description") or made.description or doc_of(docstring(kind)).description
    return made._replace(description=described)


def _from_class(kind: type, name: str | None) -> _Made:
    """Its fields are the tool's parameters when it has fields; else the parameters of its `call` are."""
    if not callable(getattr(kind, "call", None)):
        raise InvalidTool(f"class {kind.__name__} has no `call` method; give it one, or pass a function.")
    if not _is_record(kind):
        try:
            source = kind()
        except TypeError as error:
            raise InvalidTool(f"class {kind.__name__} cannot be made without arguments; pass an instance.") from error
        return _from_object(source, name)
    name = name or _text(kind, "name") or snake_case(kind.__name__)
    call: Callable[..., object] = cast("Any", kind).call
    context = context_of(call, name)
    if len(parameters_of(call, name)) != 1:
        raise InvalidTool(
            f"tool {name!r}: the fields of {kind.__name__} are its parameters, so its `call` takes a `suture.ToolContext`"
            " at most; pass an instance to offer the parameters of `call`."
        )
    if is_generator_function(call):
        raise InvalidTool(f"tool {name!r}: its `call` returns a result; a generator function yields. Join what it yields.")
    value = _value_of(kind, name, "value")
    described = _text(kind, "description")
    described = described or doc_of(docstring(call)).description or doc_of(docstring(kind)).description
    return _Made(name, described, dict(value.schema), _calling(call, context), value, context and "ctx")


def _calling(call: Callable[..., object], context: str | None) -> Handler:
    """A handler that gets the value and runs its `call`: a coroutine function when that is one."""

    def given(ctx: object) -> dict[str, object]:
        return {context: ctx} if context else {}

    if inspect.iscoroutinefunction(call):

        async def waited(value: object, ctx: object = None) -> object:
            return await call(value, **given(ctx))

        return waited

    def called(value: object, ctx: object = None) -> object:
        return call(value, **given(ctx))

    return called


def _text(source: object, attribute: str) -> str:
    """A text that a class or object says of itself; a field of that name is a parameter."""
    if isinstance(source, type) and attribute in _field_names(source):
        return ""
    found = getattr(source, attribute, "")
    return found if isinstance(found, str) else ""


def _field_names(kind: Any) -> set[str]:  # noqa: ANN401
    if _is_model(kind):
        return set(kind.model_fields)
    return {one.name for one in fields(kind)} if is_dataclass(kind) else set()
