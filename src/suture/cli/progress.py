"""How far a long work is: a bar on a terminal, nothing anywhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from suture.cli.console import Page, clean

_MOST_NAME = 24  # characters of a file's name that leave room for the bar


class Advance(Protocol):
    """Is told how far the work is, of how much where that is only known now, and how many things are done."""

    def __call__(self, read: int, done: int, size: int | None = None, /) -> None:
        """Show it."""


@contextmanager
def bar(page: Page | None, name: str, size: int | None, things: str = "conversations") -> Iterator[Advance]:
    """A bar under what the page shows, for a work of that size; `page` is None where none is wanted."""
    if page is None or not page.fancy:
        yield lambda _read, _done, _size=None: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[done]:,} {task.fields[things]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=page.console, transient=True) as progress:
        task = progress.add_task(clean(name.rpartition("/")[2])[:_MOST_NAME], total=size, done=0, things=things)
        yield lambda read, done, total=size: progress.update(task, completed=read, done=done, total=total)
