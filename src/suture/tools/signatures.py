"""What a function says of itself: its parameters, their types, and its docstring."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, NamedTuple, Protocol, get_args, get_origin, get_type_hints

from suture.errors import InvalidTool
from suture.tools.context import ToolContext


class Doc(NamedTuple):
    """A docstring: what it describes, and what it says of each parameter or attribute."""

    description: str
    parameters: dict[str, str]


def doc_of(text: str | None) -> Doc:
    """A docstring in Google, NumPy or reST style."""
    import docstring_parser

    parsed = docstring_parser.parse(inspect.cleandoc(text or ""))
    about = {one.arg_name: " ".join((one.description or "").split()) for one in parsed.params}
    return Doc(_description(parsed), about)


class _Docstring(Protocol):
    short_description: str | None
    long_description: str | None
    blank_after_short_description: bool


def _description(doc: _Docstring) -> str:
    """The docstring without its sections, one line a paragraph."""
    gap = "\n\n" if doc.blank_after_short_description else " "
    text = gap.join(part for part in (doc.short_description, doc.long_description) if part)
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def docstring(thing: object) -> str | None:
    """What its author wrote of it; not what a dataclass or a base class says in its place."""
    if not isinstance(thing, type):
        return inspect.getdoc(_defined(thing))
    text = thing.__dict__.get("__doc__")
    return None if text and text.startswith(f"{thing.__name__}(") else text


def name_of(function: object, name: str) -> str:
    """The name given, else its own.

    Raises:
        InvalidTool: it has none.
    """
    found = name or getattr(function, "__name__", "")
    if not found:
        raise InvalidTool(f"{function!r} has no name; pass name=....")
    return str(found)


def snake_case(name: str) -> str:
    """`SendGift` as `send_gift`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


# Parameters -----------------------------------------------------------------------------------


def hints_of(thing: object, name: str) -> dict[str, object]:
    """The types of its parameters or fields.

    Raises:
        InvalidTool: one is a name that is not there.
    """
    try:
        return get_type_hints(_defined(thing), include_extras=True)
    except NameError as error:
        raise InvalidTool(f"tool {name!r}: {error}; import the name where the function is defined.") from error
    except (SyntaxError, AttributeError) as error:
        raise InvalidTool(f"tool {name!r}: an annotation is no type: {error}.") from error
    except TypeError:
        return {}  # a built-in says nothing of types


def _defined(thing: object) -> Callable[..., object]:
    """Where the annotations stand: in the function of a partial, in the `__call__` of an object."""
    while isinstance(thing, functools.partial):
        thing = thing.func
    if inspect.isroutine(thing) or isinstance(thing, type):
        return thing
    called: Callable[..., object] = type(thing).__call__
    return called


def parameters_of(function: Callable[..., object], name: str) -> list[inspect.Parameter]:
    """Its parameters, without the one for the context.

    Raises:
        InvalidTool: nothing is known of them.
    """
    hints = hints_of(function, name)
    bound = _bound_by_name(function)
    return [one for one in _signature(function, name) if not _is_context(hints.get(one.name)) and one.name not in bound]


def _bound_by_name(function: object) -> set[str]:
    """What a partial has given by name, which is the host's and not the model's."""
    bound: set[str] = set()
    while isinstance(function, functools.partial):
        bound |= function.keywords.keys()
        function = function.func
    return bound


def context_of(function: Callable[..., object], name: str) -> str | None:
    """The parameter that is annotated `suture.ToolContext`, if there is one.

    Raises:
        InvalidTool: several are.
    """
    hints = hints_of(function, name)
    found = [one.name for one in _signature(function, name) if _is_context(hints.get(one.name))]
    if len(found) > 1:
        raise InvalidTool(f"tool {name!r}: {' and '.join(found)} are all for the context; keep one.")
    return found[0] if found else None


def one_value_of(function: Callable[..., object], name: str) -> str:
    """The parameter that takes all arguments as one value. A keyword-only parameter with a default is the host's own.

    Raises:
        InvalidTool: it takes no value, or several.
    """
    found = [
        one.name
        for one in parameters_of(function, name)
        if not (one.kind is one.KEYWORD_ONLY and one.default is not one.empty)
        and one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    ]
    odd = [one.name for one in parameters_of(function, name) if not _has_name(one)]
    if len(found) != 1 or odd:
        raise InvalidTool(
            f"tool {name!r}: its function takes one value, which holds all arguments, and may take a `suture.ToolContext`;"
            f" this one takes ({', '.join([*odd, *found])})."
        )
    return found[0]


def offered(function: Callable[..., object], name: str) -> Iterator[tuple[inspect.Parameter, object, str]]:
    """Each parameter that a model is offered, with its type and what `Annotated` says of it.

    Raises:
        InvalidTool: one has no type, or no name.
    """
    hints = hints_of(function, name)
    for one in parameters_of(function, name):
        if one.name == "self" and one.name not in hints:
            raise InvalidTool(
                f"tool {name!r} is a method without its object; pass the bound method, or an object that has a `call`."
            )
        if one.name not in hints or not _has_name(one):
            raise InvalidTool(
                f"tool {name!r}: parameter {one.name!r} cannot be offered to a model; name it and give it a type."
            )
        yield one, hints[one.name], said_of(hints[one.name])


def said_of(annotation: object) -> str:
    """The text in `Annotated[int, "How many."]`."""
    return " ".join(one for one in _metadata(annotation) if isinstance(one, str))


def texts_of(hints: Mapping[str, object]) -> dict[str, str]:
    """The texts in the annotations of fields."""
    return {name: text for name, annotation in hints.items() if (text := said_of(annotation))}


def _metadata(annotation: object) -> tuple[object, ...]:
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def _is_context(annotation: object) -> bool:
    return annotation is ToolContext or ToolContext in get_args(annotation)


def _has_name(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)


def _signature(function: Callable[..., object], name: str) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise InvalidTool(
            f"tool {name!r}: nothing says what {function!r} takes; wrap it in a function of yours."
        ) from error
