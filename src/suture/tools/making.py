"""A tool from a typed function and its docstring."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, get_type_hints, overload

from suture.entries import Effect
from suture.errors import InvalidTool
from suture.messages import ToolCall
from suture.tools.definition import Gate, Handler, Tool, ToolContext

if TYPE_CHECKING:
    from pydantic import BaseModel


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
