"""How far a long work is: a bar on a terminal, nothing anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from suture.cli.console import Page, clean

_MOST_NAME = 24  # characters of a file's name that leave room for the bar

Advance: TypeAlias = Callable[[int, int], None]  # told the bytes that were read, and how many conversations


@contextmanager
def bar(page: Page | None, name: str, size: int | None) -> Iterator[Advance]:
    """A bar under what the page shows, for a file of that size; `page` is None where none is wanted."""
    if page is None or not page.fancy:
        yield lambda _read, _done: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[done]:,} conversations", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=page.console, transient=True) as progress:
        task = progress.add_task(clean(name.rpartition("/")[2])[:_MOST_NAME], total=size, done=0)
        yield lambda read, done: progress.update(task, completed=read, done=done)
