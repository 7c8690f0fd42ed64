"""Histories in files: `heal` mends them, `convert` moves them to another provider."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import click

from suture.cli.console import Page, as_json
from suture.cli.files import STDIN, Source
from suture.cli.mending import Document, Documents, Place, Report, Words, Work, mend

FORMATS = "openai-chat, openai-responses, anthropic, gemini, bedrock or mistral"
in_format = click.option("--format", "format", metavar="F", help=f"Their format, guessed when left out: {FORMATS}.")
for_target = click.option("--target", metavar="T", help="Who will read them, such as anthropic:claude-opus-4-6.")
on_pending = click.option(
    "--pending",
    type=click.Choice(["answer", "keep", "drop"]),
    default="answer",
    show_default=True,
    help="What becomes of unanswered calls of the last turn.",
)
on_orphans = click.option(
    "--orphans",
    type=click.Choice(["drop", "quote"]),
    default="drop",
    show_default=True,
    help="What becomes of results that no call asked for.",
)
some_files = click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True))
into_output = click.option("-o", "--output", type=click.Path(path_type=Path), help="Write there, and not to stdout.")
in_its_place = click.option(
    "--in-place",
    is_flag=True,
    help="Write each FILE anew. The old one stays beside it as FILE.bak, or FILE.bak.2 and so on.",
)


@click.command()
@some_files
@in_format
@for_target
@on_pending
@on_orphans
@into_output
@in_its_place
@as_json
def heal(
    files: Sequence[str],
    format: str | None,
    target: str | None,
    pending: Literal["answer", "keep", "drop"],
    orphans: Literal["drop", "quote"],
    output: Path | None,
    in_place: bool,
    as_json: bool,
) -> int:
    """Mend histories, so that they are not refused.

    A FILE is a request with `messages`, `input` or `contents`, a list of messages, or one message per line; "-" is stdin.
    It goes to stdout, to -o or into its place, in the shape that it had; what was changed goes to stderr.

    A FILE with a whole conversation in each line is a data set. It is mended line by line, however long it is. A line
    that cannot be mended is reported, the status is 1, and the rest goes on; in place the line stays as it is, elsewhere
    it is left out. Several FILEs without --in-place become one data set.

    Without --format it is guessed from what only one format has, and the last line says which it was; in a data set what
    fits several is read as the first line that tells one. What only the request can put right is told as "still refused
    unless ...", and the status is 1.

    --json prints one document, `{format, history, changes, hints, refused}`; of several FILEs `{files: [...]}`; of a data
    set one per line.
    """
    import suture

    require_formats(format, target)

    def work(history: object, usual: str | None) -> suture.Healed:
        name = format if format or target else told(history, usual)
        return suture.heal(history, format=name, target=target, pending=pending, orphans=orphans)

    report = Words(did="healed", is_named=bool(format or target))
    return _mend(files, work, output, in_place, as_json, report)


@click.command()
@some_files
@click.option("--from", "--format", "source", metavar="F", help=f"Their format, guessed when left out: {FORMATS}.")
@click.option(
    "--target",
    "--to",
    "target",
    metavar="T",
    required=True,
    help="The format to move to, such as anthropic:claude-opus-4-6.",
)
@into_output
@in_its_place
@as_json
def convert(
    files: Sequence[str], source: str | None, target: str, output: Path | None, in_place: bool, as_json: bool
) -> int:
    """Move histories to another provider.

    A FILE is what `heal` takes, a data set too. What comes out is a request in the target's format, valid there, with the
    system text and the tools; on stdout, in -o or in its place. What the target cannot take goes to stderr.

    --json prints what it prints for `heal`.
    """
    import suture

    require_formats(source, target)

    def work(history: object, usual: str | None) -> suture.Healed:
        return suture.convert(history, source or told(history, usual), target)

    return _mend(files, work, output, in_place, as_json, Words(did="converted", is_named=source is not None))


def told(history: object, usual: str | None) -> str | None:
    """The format that a history tells, or that is usual beside it; None where it fits several and is fine in each."""
    from suture.healing import guess

    found = guess(history, usual)
    return found.format if found.is_told else None


def require_formats(*names: str | None) -> None:
    """Return when each is a format; else one error is raised here, and not one for each line of a data set."""
    import suture

    for name in names:
        if name is not None:
            suture.rules(name)


def _mend(files: Sequence[str], work: Work, output: Path | None, in_place: bool, as_json: bool, words: Words) -> int:
    _require_places(files, output, in_place)
    sources = [Source(path, is_named=words.is_named) for path in files]
    on_stdout = output is None and not in_place and not as_json
    place = Place(output, in_place, on_stdout, in_lines=len(files) > 1 and not in_place)
    report = _documents(sources) if as_json else words
    says_it_there = (on_stdout or as_json) and sys.stdout.isatty()
    return mend(sources, work, place, report, None if says_it_there else Page(stderr=True))


def _require_places(files: Sequence[str], output: Path | None, in_place: bool) -> None:
    if in_place and output is not None:
        raise click.UsageError("--in-place writes each FILE anew, and -o another one. Leave one of them out.")
    if in_place and (other := next((file for file in files if not _is_file(file)), None)):
        raise click.UsageError(f"--in-place writes files anew, and {other!r} is none. Use -o.")
    if output is not None and any(_are_one(file, output) for file in files):
        raise click.UsageError(f"-o would replace {str(output)!r}, which is read. Use --in-place; it keeps the old one.")


def _is_file(path: str) -> bool:
    return path != STDIN and (Path(path).is_file() or not Path(path).exists())  # what is not there is told when it is read


def _are_one(path: str, output: Path) -> bool:
    """Whether what is read is the file that is to be written, under whatever name."""
    try:
        read = os.fstat(sys.stdin.fileno()) if path == STDIN else Path(path).stat()
        return output.is_file() and os.path.samestat(read, output.stat())
    except OSError:
        return False  # reading or writing it says what is wrong


def _documents(sources: Sequence[Source]) -> Report:
    if any(source.is_data_set for source in sources):
        return Documents()
    return Document(is_only=len(sources) == 1)
