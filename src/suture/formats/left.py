"""What of a request's tools stays behind when they are offered elsewhere: fields, and tools that only one provider runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from suture.formats.base import Json, Left

# What comes to the same as saying nothing.
_NOTHING: tuple[object, ...] = (None, False, [], {})


def fields_left(raw: Json, known: Collection[str], path: str) -> Iterator[Left]:
    """The fields of an object that are not among the known ones and say something."""
    for key in sorted(raw.keys() - set(known)):
        if raw[key] not in _NOTHING:
            yield Left(path, key, raw[key])


def tools_left(tools: object, path: str, of_tool: Callable[[Json, str], Iterator[Left]]) -> Iterator[Left]:
    """What is left of a list of tools, by what is left of each."""
    if not isinstance(tools, list):
        if tools not in _NOTHING:
            yield Left(path)
        return
    for at, tool in enumerate(tools):
        if isinstance(tool, dict):
            yield from of_tool(tool, f"{path}[{at}]")
        else:
            yield Left(f"{path}[{at}]")


def whole(path: str, *names: object) -> Left:
    """All of a tool, called by the first of the names that is one."""
    return Left(path, name=next((name for name in names if isinstance(name, str) and name), "unnamed"))
