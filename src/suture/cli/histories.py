"""Histories in files: `heal` mends one, `check` says what a provider would refuse."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from suture.cli.console import FAILED, FINE, FOUND, Page, as_json, failure, message_of, print_json, write
from suture.cli.files import HistoryFile, read_history, write_whole
from suture.errors import HistoryError, UnhealableHistory

if TYPE_CHECKING:
    from suture import Change, Finding, Healed

in_format = click.option("--format", "format", metavar="F", help="Its format, such as openai-chat; guessed when left out.")
for_target = click.option("--target", metavar="T", help="Who will read it, such as anthropic:claude-opus-4-6.")
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
into_output = click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the history here, not to stdout.")


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@in_format
@for_target
@on_pending
@on_orphans
@into_output
@as_json
def heal(
    file: str,
    format: str | None,
    target: str | None,
    pending: Literal["answer", "keep", "drop"],
    orphans: Literal["drop", "quote"],
    output: Path | None,
    as_json: bool,
) -> int:
    """Mend the history in FILE, so that it is not refused.

    FILE is a request with `messages`, a list of messages, or one message per line; "-" is stdin. The history
    goes to stdout or to -o, in the shape of FILE; what was changed goes to stderr.
    """
    import suture

    given = read_history(file)
    try:
        healed = given.through(
            lambda history: suture.heal(history, format=format, target=target, pending=pending, orphans=orphans)
        )
    except UnhealableHistory as error:
        _tell_unhealable(given.name, error, as_json)
        return FOUND
    content = given.written(healed.history)
    if output is not None:
        write_whole(output, content)
    if as_json:
        changes = [_change(change) for change in healed.changes]
        print_json({"history": healed.history, "changes": changes, "hints": list(healed.hints)})
    else:
        _tell_changes(given, healed)
        if output is None:
            write(content)
    return FINE


def _change(change: Change) -> dict[str, object]:
    fields = ("code", "rules", "path", "call_id", "action", "detail", "lost")
    return {field: getattr(change, field) for field in fields}


def _tell_changes(given: HistoryFile, healed: Healed) -> None:
    page = Page(stderr=True)
    if given.had_bom:
        page.line(f"{given.name}: the byte order mark at the beginning was left out.")
    before = ""
    for change in healed.changes:
        rules = (_bracketed(change.rules), "dim")
        page.line(
            (f"{given.name}:{change.path}: ", "dim"), (change.code, "yellow"), rules, f": {change.action}", whole=True
        )
        if change.detail and change.detail != before:
            page.line(("lost: " if change.lost != "none" else "now: ", "dim"), change.detail, indent=4)
        before = change.detail
    for hint in healed.hints:
        page.line((f"{given.name}: ", "dim"), ("hint", "cyan"), f": {hint}")
    page.line(f"{given.name}: {_counted(len(healed.changes))}.")


def _bracketed(rules: Sequence[str]) -> str:
    return f" [{', '.join(rules)}]" if rules else ""


def _counted(changes: int) -> str:
    match changes:
        case 0:
            return "nothing had to change"
        case 1:
            return "healed with 1 change"
        case _:
            return f"healed with {changes} changes"


def _tell_unhealable(name: str, error: UnhealableHistory, as_json: bool) -> None:
    if as_json:
        print_json(failure(error, findings=[_finding(one) for one in error.findings]))
        return
    page = Page(stderr=True)
    page.line((f"{name}: ", "dim"), message_of(error))
    for one in error.findings:
        page.line(f"{name}:{one}", whole=True)


# Checking -------------------------------------------------------------------------------------


@click.command()
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@in_format
@for_target
@as_json
def check(paths: Sequence[str], format: str | None, target: str | None, as_json: bool) -> int:
    """Say what a provider would refuse in each FILE.

    A line per finding, as a compiler writes them: `file:path: CODE [RULES]: sentence`.
    """
    checked = [_checked(path, format, target) for path in paths]
    if as_json:
        print_json({"files": [one.document() for one in checked]})
    else:
        for one in checked:
            one.tell()
    return max(one.status for one in checked)


class _Checked:
    """What came of checking a file: findings, or why it could not be checked."""

    def __init__(self, name: str, findings: Sequence[Finding] = (), error: HistoryError | None = None) -> None:
        self.name = name
        self.findings = findings
        self.error = error

    @property
    def status(self) -> int:
        if self.error is not None:
            return FAILED
        return FOUND if any(one.severity == "REJ" for one in self.findings) else FINE

    def document(self) -> dict[str, object]:
        if self.error is not None:
            return {"file": self.name, **failure(self.error)}
        return {"file": self.name, "findings": [_finding(one) for one in self.findings]}

    def tell(self) -> None:
        if self.error is not None:
            Page(stderr=True).line(("Error: ", "bold red"), message_of(self.error))
            return
        page = Page()
        for one in self.findings:
            colour = "red" if one.severity == "REJ" else "yellow"
            where, rules = (f"{self.name}:{one.path}: ", "dim"), (_bracketed(one.rules), "dim")
            page.line(where, (one.code, colour), rules, f": {one.sentence}", whole=True)


def _checked(path: str, format: str | None, target: str | None) -> _Checked:
    import suture

    try:
        given = read_history(path)
        found = given.through(lambda history: suture.diagnose(history, format=format, target=target))
    except HistoryError as error:
        return _Checked("<stdin>" if path == "-" else path, error=error)
    return _Checked(given.name, found)


def _finding(finding: object) -> dict[str, object]:
    fields = ("code", "rules", "path", "severity", "certainty", "call_id", "sentence")
    return {field: getattr(finding, field, None) for field in fields}
