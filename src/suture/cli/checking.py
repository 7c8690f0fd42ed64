"""`suture check`: what a provider would refuse in files of histories, told as a compiler tells it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import click

from suture.cli.console import FAILED, FINE, FOUND, Page, as_json, failure, json_bytes, message_of, print_json, write
from suture.cli.files import Broken, HistoryFile, Source
from suture.cli.histories import for_target, in_format, require_formats, some_files, told
from suture.cli.mending import bracketed, finding_document
from suture.cli.progress import bar
from suture.errors import HistoryError

if TYPE_CHECKING:
    from suture import Finding


class Looked(NamedTuple):
    """What was found in a history, and the format that it was read as; none where it fits several and is fine in each."""

    findings: Sequence[Finding]
    format: str | None


Look: TypeAlias = "Callable[[object, str | None], Looked]"


@click.command()
@some_files
@in_format
@for_target
@as_json
def check(files: Sequence[str], format: str | None, target: str | None, as_json: bool) -> int:
    """Say what a provider would refuse.

    A line per finding, as a compiler writes them: `file:path: CODE [RULES]: sentence`. What a provider is not known to
    refuse is a warning, says so, and does not make the status 1.

    A FILE with a whole conversation in each line is a data set: it is checked line by line, `file:line:path: ...`, and one
    line on stderr says what was found in all. Without --format it is guessed, and stderr says which it was when there is
    something to say. --json prints one document, `{files: [{file, format, findings}]}`; of a data set one per line.
    """
    import suture
    from suture.formats import target_of

    require_formats(format, target)
    named = format or target
    sources = [Source(path, is_named=named is not None) for path in files]

    def look(history: object, usual: str | None) -> Looked:
        name = named or told(history, usual)
        found = suture.diagnose(history, format=format or name, target=target)
        return Looked(found, None if name is None else target_of(name).format)

    if not as_json:
        words = Words(is_named=named is not None)
        return _check(sources, look, words, words.page if words.page.fancy else words.aside)
    documents = Documents() if any(source.is_data_set for source in sources) else Document()
    return _check(sources, look, documents, None)


class Checked(NamedTuple):
    """What came of checking a history: findings, or why it could not be checked."""

    name: str
    line: int | None = None
    findings: Sequence[Finding] = ()
    format: str | None = None
    error: HistoryError | None = None

    @property
    def status(self) -> int:
        """0 fine, 1 refused or a broken line, 2 a file that cannot be read."""
        if self.error is not None:
            return FAILED if self.line is None else FOUND
        return FOUND if any(one.refused for one in self.findings) else FINE


def _checked(source: Source, look: Look) -> Iterator[Checked]:
    try:
        for given in source.histories():
            yield _found(given, source, look)
    except HistoryError as error:
        yield Checked(source.name, error=error)


def _found(given: HistoryFile | Broken, source: Source, look: Look) -> Checked:
    if isinstance(given, Broken):
        return Checked(source.name, given.line, error=given.error)
    try:
        return Checked(given.name, given.line, *given.through(look))
    except HistoryError as error:
        return Checked(given.name, given.line, error=error)


@dataclass
class Count:
    """What was found in a source."""

    conversations: int = 0
    refused: int = 0
    warned: int = 0
    broken: int = 0
    status: int = FINE
    formats: dict[str, None] = field(default_factory=dict)

    def add(self, one: Checked) -> None:
        """Count it in."""
        self.conversations += 1
        self.formats |= {one.format: None} if one.format else {}
        self.status = max(self.status, one.status)
        if one.error is not None:
            self.broken += 1
        elif one.status == FOUND:
            self.refused += 1
        elif one.findings:
            self.warned += 1

    def in_words(self, read: str) -> str:
        """What was found in all of it, and as what it was read."""
        parts = [
            f"{self.conversations:,} conversation{'s' * (self.conversations != 1)}{read}",
            f"{self.refused:,} would be refused" if self.refused else "none would be refused",
        ]
        parts += [f"{self.warned:,} with warnings alone"] if self.warned else []
        parts += [f"{self.broken:,} could not be read"] if self.broken else []
        return ", ".join(parts)


class Report(Protocol):
    """Tells what was found."""

    def tell(self, source: Source, one: Checked) -> None:
        """Tell of one history."""

    def end(self, source: Source, count: Count) -> None:
        """Tell of a whole source."""

    def close(self) -> None:
        """Tell what is left to be told."""


def _check(sources: Sequence[Source], look: Look, report: Report, page: Page | None) -> int:
    status = FINE
    for source in sources:
        count = Count()
        with bar(page if source.is_data_set else None, source.name, source.size) as advance:
            for one in _checked(source, look):
                report.tell(source, one)
                count.add(one)
                advance(source.position, count.conversations)
        report.end(source, count)
        status = max(status, count.status)
    report.close()
    return status


# In words -------------------------------------------------------------------------------------


@dataclass
class Words:
    """Findings on stdout, faults of files on stderr."""

    page: Page = field(default_factory=Page)
    aside: Page = field(default_factory=lambda: Page(stderr=True))
    is_named: bool = False  # nobody has to be told as which format it was read

    def tell(self, source: Source, one: Checked) -> None:  # noqa: ARG002  the findings name it
        """A line for each finding."""
        if one.error is not None:
            self.aside.line(("Error: ", "bold red"), message_of(one.error))
        for each in one.findings:
            place, rules = (f"{one.name}:{each.path}: ", "dim"), (bracketed(each.rules), "dim")
            kind = ("", "") if each.refused else ("warning: ", "bold yellow")
            self.page.line(
                place, kind, (each.code, "red" if each.refused else "yellow"), rules, f": {each.sentence}", whole=True
            )

    def end(self, source: Source, count: Count) -> None:
        """One line for a data set, and for a file of which the format was guessed; a fine one has it on a terminal."""
        read = "" if self.is_named or not count.formats else f"read as {' and '.join(count.formats)}"
        if source.is_data_set:
            self.aside.line(f"{source.name}: {count.in_words(f' {read}' if read else '')}.")
        elif read and (count.refused or count.warned):
            self.aside.line(f"{source.name}: {read}.")
        elif read and self.aside.fancy:
            self.aside.line(f"{source.name}: {read}, and nothing is wrong with it.")

    def close(self) -> None:
        """Everything is told."""


# As JSON --------------------------------------------------------------------------------------


@dataclass
class Document:
    """One document, with all files."""

    files: list[dict[str, object]] = field(default_factory=list)

    def tell(self, source: Source, one: Checked) -> None:
        """Keep it for the document."""
        self.files.append({"file": source.name, **_document(one)})

    def end(self, source: Source, count: Count) -> None:
        """Nothing more is told of a file."""

    def close(self) -> None:
        """Print it."""
        print_json({"files": self.files})


@dataclass
class Documents:
    """A document in a line for each conversation."""

    def tell(self, source: Source, one: Checked) -> None:
        """Print it."""
        write(json_bytes({"file": source.name, "line": one.line, **_document(one)}, indent=None))

    def end(self, source: Source, count: Count) -> None:
        """Nothing more is told of a file."""

    def close(self) -> None:
        """Everything is told."""


def _document(one: Checked) -> dict[str, object]:
    if one.error is not None:
        return failure(one.error)
    return {"format": one.format, "findings": [finding_document(each) for each in one.findings]}
