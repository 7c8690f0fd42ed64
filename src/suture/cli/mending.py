"""What `heal` and `convert` do alike: histories in, histories out, and a report of what was done to each.

One history or a data set, one file or many: each conversation is read, mended, written and told before the next, so that
memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from suture.cli.console import FAILED, FINE, FOUND, Page, failure, json_bytes, message_of, print_json, write
from suture.cli.files import Broken, HistoryFile, Source
from suture.cli.progress import bar
from suture.cli.writing import Nowhere, Output, Replacement, Stdout
from suture.errors import HistoryError, UnhealableHistory

if TYPE_CHECKING:
    from suture import Change, Healed

Work: TypeAlias = "Callable[[object, str | None], Healed]"  # a history, and the format that is usual beside it

_LEFT = "not carried over: "  # how a hint begins that names what a move leaves behind

# What the caller does about a hint.
_UNLESS = {"thinking: off": "you send it with thinking off"}


class Mended(NamedTuple):
    """A history and what became of it."""

    given: HistoryFile
    healed: Healed


class Failed(NamedTuple):
    """What could not be mended, and why. `content` are its bytes, in pieces, where it is a line."""

    name: str
    error: HistoryError
    line: int | None = None
    content: Iterable[bytes] = ()

    @property
    def status(self) -> int:
        """1 for bad data in a file that could be worked on, 2 for a file that could not."""
        return FOUND if self.line is not None or isinstance(self.error, UnhealableHistory) else FAILED


def mended(source: Source, work: Work) -> Iterator[Mended | Failed]:
    """What becomes of each history of a source."""
    try:
        for given in source.histories():
            yield _mended(given, source, work)
    except HistoryError as error:
        yield Failed(source.name, error)


def _mended(given: HistoryFile | Broken, source: Source, work: Work) -> Mended | Failed:
    if isinstance(given, Broken):
        return Failed(source.name, given.error, given.line, given.content)
    try:
        return Mended(given, given.through(work))
    except HistoryError as error:
        return Failed(given.name, error, given.line, [given.content])


# Where they go --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where what was mended is to be written; without any, nowhere."""

    output: Path | None = None
    in_place: bool = False
    on_stdout: bool = False
    in_lines: bool = False  # all into one data set

    def of(self, source: Source) -> Output:
        """The output of one source, where each has its own."""
        return Replacement(Path(source.path), backup=True)

    def common(self) -> Output:
        """The output of all."""
        return Replacement(self.output) if self.output is not None else Stdout() if self.on_stdout else Nowhere()

    def takes(self, one: Mended | Failed) -> Iterable[bytes]:
        """What of it is written: what cannot be mended stays in its place, and goes nowhere else."""
        if isinstance(one, Failed):
            return one.content if self.in_place else ()
        written = one.given.in_a_line if self.in_lines else one.given.written
        return [written(one.healed.history)]


@dataclass
class Count:
    """What was done to a source."""

    conversations: int = 0
    changed: int = 0
    changes: int = 0
    failed: int = 0
    status: int = FINE
    formats: dict[str, None] = field(default_factory=dict)
    unless: dict[str, None] = field(default_factory=dict)
    refused: int = 0
    left: dict[str, None] = field(default_factory=dict)

    def add(self, one: Mended | Failed) -> None:
        """Count it in."""
        self.conversations += 1
        if isinstance(one, Failed):
            self.failed += 1
            self.status = max(self.status, one.status)
        else:
            self.changed += one.healed.history is not one.given.history
            self.changes += len(one.healed.changes)
            self.formats |= {one.healed.format: None} if one.healed.format else {}
            self.left |= {hint.removeprefix(_LEFT): None for hint in one.healed.hints if hint.startswith(_LEFT)}
            self._add_refused([each.hint for each in one.healed.refused if each.hint])

    def _add_refused(self, hints: Sequence[str]) -> None:
        """What is refused until the caller does something is not fine."""
        if hints:
            self.refused += 1
            self.status = max(self.status, FOUND)
            self.unless |= {_UNLESS.get(hint, f"you change the request ({hint})"): None for hint in hints}


class Report(Protocol):
    """Tells what was done."""

    def tell(self, source: Source, one: Mended | Failed) -> None:
        """Tell of one history."""

    def end(self, source: Source, count: Count, backup: Path | None) -> None:
        """Tell of a whole source."""

    def close(self) -> None:
        """Tell what is left to be told."""


def mend(sources: Sequence[Source], work: Work, place: Place, report: Report, page: Page | None) -> int:
    """Mend each history of each source; the exit status. `page` is where a bar may be shown.

    A file in which nothing was mended stays as it is.
    """
    counts = []
    if place.in_place:
        for source in sources:
            with place.of(source) as output:
                counts.append(_mend(source, work, place, output, report, page))
                report.end(source, counts[-1], output.keep() if counts[-1].changed else None)
    else:
        with place.common() as output:
            for source in sources:
                counts.append(_mend(source, work, place, output, report, page))
                report.end(source, counts[-1], None)
            if any(count.conversations > count.failed for count in counts):
                output.keep()
    report.close()
    return max(count.status for count in counts)


def _mend(source: Source, work: Work, place: Place, output: Output, report: Report, page: Page | None) -> Count:
    count = Count()
    with bar(page if source.is_data_set else None, source.name, source.size) as advance:
        for one in mended(source, work):
            for content in place.takes(one):
                output.write(content)
            report.tell(source, one)
            count.add(one)
            advance(source.position, count.conversations)
    return count


# In words -------------------------------------------------------------------------------------


@dataclass
class Words:
    """Lines for a person, on stderr. A conversation of a data set that nothing was done to is not worth a line."""

    page: Page = field(default_factory=lambda: Page(stderr=True))
    did: str = "healed"
    is_named: bool = False  # nobody has to be told as which format it was read

    def tell(self, source: Source, one: Mended | Failed) -> None:
        """The changes, or why there are none."""
        if isinstance(one, Failed):
            self._failed(one)
            return
        if one.given.had_bom:
            self.page.line(f"{source.name}: the byte order mark at the beginning was left out.")
        tell_changes(self.page, one)

    def _failed(self, one: Failed) -> None:
        if isinstance(one.error, UnhealableHistory):
            tell_unhealable(self.page, one.name, one.error)
        else:
            self.page.line(("Error: ", "bold red"), message_of(one.error))

    def end(self, source: Source, count: Count, backup: Path | None) -> None:
        """One line on what was done in all."""
        kept = f" The old one is {backup}." if backup else ""
        if source.is_data_set:
            self.page.line(f"{source.name}: {self._in_all(count)}.{kept}")
        elif not count.failed:
            read = "" if self.is_named or not count.formats else f"read as {' and '.join(count.formats)}, "
            self.page.line(f"{source.name}: {read}{self._counted(count)}.{kept}")

    def close(self) -> None:
        """Everything is told."""

    def _in_all(self, count: Count) -> str:
        untouched = count.conversations - count.changed - count.failed
        read = "" if self.is_named or not count.formats else f" read as {' and '.join(count.formats)}"
        parts = [f"{count.conversations:,} conversation{'s' * (count.conversations != 1)}{read}"]
        if count.changed:
            parts.append(f"{count.changed:,} {self.did} with {count.changes:,} change{'s' * (count.changes != 1)}")
        parts += [f"{untouched:,} as they were"] if untouched else []
        parts += [f"{count.refused:,} still refused unless {' and '.join(count.unless)}"] if count.refused else []
        parts += [f"{count.failed:,} could not be {self.did}"] if count.failed else []
        return ", ".join(parts)

    def _counted(self, count: Count) -> str:
        if count.changes:
            done = f"{self.did} with {count.changes} change{'s' * (count.changes > 1)}"
        elif self.did == "healed":
            done = "nothing had to change"
        else:
            done = self.did if count.left else f"{self.did}, and nothing was lost"
        done += f"; left behind: {', '.join(count.left)}" if count.left else ""
        return f"{done}; still refused unless {' and '.join(count.unless)}" if count.refused else done


def tell_changes(page: Page, one: Mended) -> None:
    """Each change and hint of a history, where it was."""
    name, before = one.given.name, ""
    for change in one.healed.changes:
        where, rules = (f"{name}:{change.path}: ", "dim"), (bracketed(change.rules), "dim")
        page.line(where, (change.code, "yellow"), rules, f": {change.action}", whole=True)
        if change.detail and change.detail != before:
            page.line(("lost: " if change.lost != "none" else "now: ", "dim"), change.detail, indent=4)
        before = change.detail
    for finding in one.healed.refused:
        page.line((f"{name}:", "dim"), str(finding), whole=True)
    for hint in one.healed.hints:
        page.line((f"{name}: ", "dim"), ("hint", "cyan"), f": {hint}")


def bracketed(rules: Sequence[str]) -> str:
    """Ids of rules as a compiler writes them behind a finding."""
    return f" [{', '.join(rules)}]" if rules else ""


def tell_unhealable(page: Page, name: str, error: UnhealableHistory) -> None:
    """What is left that nothing could mend."""
    page.line((f"{name}: ", "dim"), message_of(error))
    for one in error.findings:
        page.line(f"{name}:{one}", whole=True)


# As JSON --------------------------------------------------------------------------------------


@dataclass
class Document:
    """One document: of the only file, or of all under `files`."""

    is_only: bool
    files: list[dict[str, object]] = field(default_factory=list)

    def tell(self, source: Source, one: Mended | Failed) -> None:
        """Keep it for the document."""
        self.files.append(_document(one) if self.is_only else {"file": source.name, **_document(one)})

    def end(self, source: Source, count: Count, backup: Path | None) -> None:
        """Nothing more is told of a file."""

    def close(self) -> None:
        """Print it."""
        print_json(self.files[0] if self.is_only else {"files": self.files})


@dataclass
class Documents:
    """A document in a line for each conversation, as soon as it is known."""

    def tell(self, source: Source, one: Mended | Failed) -> None:
        """Print it."""
        line = one.line if isinstance(one, Failed) else one.given.line
        write(json_bytes({"file": source.name, "line": line, **_document(one)}, indent=None))

    def end(self, source: Source, count: Count, backup: Path | None) -> None:
        """Nothing more is told of a file."""

    def close(self) -> None:
        """Everything is told."""


def _document(one: Mended | Failed) -> dict[str, object]:
    if isinstance(one, Failed):
        more = one.error.findings if isinstance(one.error, UnhealableHistory) else None
        return (
            failure(one.error) if more is None else failure(one.error, findings=[finding_document(each) for each in more])
        )
    healed = one.healed
    return {
        "format": healed.format or None,
        "history": healed.history,
        "changes": [_change(change) for change in healed.changes],
        "hints": list(healed.hints),
        "refused": [finding_document(each) for each in healed.refused],
    }


def _change(change: Change) -> dict[str, object]:
    fields = ("code", "rules", "path", "call_id", "action", "detail", "lost")
    return {name: getattr(change, name) for name in fields}


def finding_document(finding: object) -> dict[str, object]:
    """A finding as JSON. `refused` is whether the provider is known to refuse the history for it."""
    fields = ("code", "rules", "path", "severity", "certainty", "call_id", "sentence", "hint", "refused")
    return {name: getattr(finding, name) for name in fields}
