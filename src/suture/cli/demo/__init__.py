"""`suture demo`: a run is killed inside a tool, and its conversation goes on. Real processes, no key, no network."""

from __future__ import annotations

import contextlib
import shutil
import signal
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from suture.cli.console import FINE, FOUND, Page, as_json, print_json
from suture.cli.stores import require_shared, shown

if TYPE_CHECKING:
    from suture.cli.demo.story import Stage


@click.command()
@click.option("--store", "url", metavar="URL", help="Play on this store instead of a file in a temporary folder.")
@click.option("--keep", is_flag=True, help="Keep the temporary folder, to look at it afterwards.")
@as_json
def demo(url: str | None, keep: bool, as_json: bool) -> int:
    """Watch a run die inside a tool and go on.

    Real processes on a real store; it needs no key and no network, and takes a few seconds.
    """
    if url is not None:
        require_shared(url)
    with _folder(keep) as folder, _stage(url, folder) as stage:
        found = _played(stage, Page() if not as_json else None)
    if as_json:
        print_json(found)
    elif keep:
        Page().line(f"Kept in {folder}; look at it with: suture show {stage.session_id} --store {shown(stage.url)}")
    return FINE if found["as_promised"] else FOUND


def _played(stage: Stage, page: Page | None) -> dict[str, object]:
    """Play the story, telling each scene as it happens; the report."""
    from suture.cli.demo import telling
    from suture.cli.demo.report import Evidence, report
    from suture.cli.demo.story import play

    scenes = []
    if page is not None:
        telling.begin(page, stage)
    for scene in play(stage):
        scenes.append(scene)
        if page is not None:
            telling.tell(page, scene)
    found = report(Evidence(scenes, stage.runs(), stage.requests()))
    if page is not None:
        telling.end(page, found)
    return {"session": stage.session_id, "store": shown(stage.url), "pids": stage.pids, **found}


@contextlib.contextmanager
def _folder(keep: bool) -> Iterator[Path]:
    """A temporary folder, gone afterwards unless it is to be kept; a terminated demo cleans up, too."""
    before = signal.signal(signal.SIGTERM, _terminated)
    folder = Path(tempfile.mkdtemp(prefix="suture-demo-"))
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
        signal.signal(signal.SIGTERM, before)


def _terminated(*_: object) -> NoReturn:
    raise KeyboardInterrupt


@contextlib.contextmanager
def _stage(url: str | None, folder: Path) -> Iterator[Stage]:
    import suture
    from suture.cli.demo.processes import processes
    from suture.cli.demo.story import Stage

    url = url or f"sqlite:///{folder / 'demo.db'}"
    store = suture.open_store(url)
    try:
        with processes() as started:
            yield Stage(url, f"demo-{uuid.uuid4().hex[:8]}", folder, started, store)
    finally:
        store.close()
