"""Tools named as `module:attribute`, found as Python finds them, the current directory first."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from suture.errors import ToolError

if TYPE_CHECKING:
    from suture import Tool


def gathered(names: Iterable[str]) -> list[Tool]:
    """The tools of all those names.

    Raises:
        BadParameter: a name leads to no module, no attribute, or nothing that a model could call.
    """
    if names and (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    return [tool for name in names for tool in _named(name)]


def _named(name: str) -> list[Tool]:
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        _refuse(f"{name!r} is not MODULE:ATTR, such as my_tools:search.")
    found = _attribute(name, _module(name, module), attribute)
    made = [_made(name, one) for one in (found if isinstance(found, list | tuple) else [found])]
    if not made:
        _refuse(f"{name!r} is an empty list. Put a tool or a typed function into it.")
    return made


def _module(name: str, module: str) -> object:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and f"{module}.".startswith(f"{error.name}."):
            _refuse(
                f"{name!r}: there is no module {error.name!r}. It is looked for in this directory, then where Python looks."
            )
        _refuse(f"{name!r}: the module needs another that is not there: {error}.")
    except (Exception, SystemExit) as error:  # noqa: BLE001  a module is the user's code and may raise anything
        _refuse(f"{name!r}: the module cannot be imported: {type(error).__name__}: {error}")


def _attribute(name: str, module: object, attribute: str) -> object:
    try:
        return reduce(getattr, attribute.split("."), module)
    except AttributeError:
        _refuse(f"{name!r}: the module has no attribute {attribute!r}.")


def _made(name: str, found: object) -> Tool:
    import suture

    if isinstance(found, suture.Tool):
        return found
    if found is None:  # of which `suture.tool` makes a decorator
        _refuse(f"{name!r} is None. Name a tool, a typed function, a class with a `call`, or a list of them.")
    try:
        return suture.tool(found)
    except ToolError as error:
        _refuse(f"{name!r}: {error}")


def _refuse(why: str) -> NoReturn:
    raise click.BadParameter(why, param_hint="--tools")
