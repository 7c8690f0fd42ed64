"""`suture rules`: what providers demand of a history, where that is known from, and what healing does about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from suture.cli.console import FINE, Page, Piece, as_json, print_json

if TYPE_CHECKING:
    from suture import Rule

SEVERITIES: Mapping[str, str] = {
    "REJ": "refused",
    "DEG": "taken, with a worse answer",
    "IGN": "ignored",
}
CERTAINTIES: Mapping[str, str] = {
    "S": "three or more independent reports",
    "R": "one or two reports",
    "D": "official documentation",
    "C": "read in the source of a respected project",
    "I": "inferred from rules like it, so only a warning",
    "M": "from memory and not confirmed, so only a warning",
}
HANDOFF = "handoff"


@click.command()
@click.argument("rule", required=False, metavar="[RULE-ID]")
@click.option("--format", "format", metavar="F", help="Those of one format, such as anthropic.")
@as_json
def rules(rule: str | None, format: str | None, as_json: bool) -> int:
    """List the rules that providers hold histories to.

    With a RULE-ID, the whole of that rule: what the provider answers, where it was seen, and what healing does.
    """
    known = list(_known(format))
    if rule is None:
        _list(known, as_json)
    else:
        _show(_named(rule, known), as_json)
    return FINE


def _known(format: str | None) -> Iterator[tuple[str, Rule]]:
    """Each rule with the format whose it is; those of a handoff are behind those of all formats."""
    import suture
    from suture.formats import FORMATS, target_of

    names = list(FORMATS) if format is None else [target_of(format).format]
    seen: set[str] = set()
    for name in names:
        for rule in suture.rules(name):
            seen.add(rule.id)
            yield name, rule
    if format is None:
        yield from ((HANDOFF, rule) for rule in suture.rules() if rule.id not in seen)


def _named(id: str, known: Sequence[tuple[str, Rule]]) -> tuple[str, Rule]:
    for format, rule in known:
        if rule.id == id.upper():
            return format, rule
    near = get_close_matches(id.upper(), [rule.id for _, rule in known], 1)
    hint = f" Near it is {near[0]}." if near else " `suture rules` lists them."
    raise click.UsageError(f"There is no rule {id!r}.{hint}")


def _list(known: Sequence[tuple[str, Rule]], as_json: bool) -> None:
    if as_json:
        print_json({"rules": [_document(format, rule) for format, rule in known]})
        return
    rows: list[tuple[Piece, ...]] = [
        (format, (rule.id, "bold"), (rule.severity, _colour(rule)), rule.certainty, rule.statement)
        for format, rule in known
    ]
    page = Page()
    page.table(("FORMAT", "RULE", "SEVERITY", "SURE", "DEMANDS"), rows)
    page.line()
    for name, letters in (("severity", SEVERITIES), ("sure", CERTAINTIES)):
        page.line((f"{name}: ", "dim"), "; ".join(f"{letter} {words}" for letter, words in letters.items()))


def _colour(rule: Rule) -> str:
    return "yellow" if rule.is_warning else "red"


def _show(found: tuple[str, Rule], as_json: bool) -> None:
    format, rule = found
    if as_json:
        print_json(_document(format, rule))
        return
    page = Page()
    page.line((rule.id, "bold"), f" ({format})")
    for name, words in _facts(rule):
        page.line((f"{name + ':':<10}", "dim"), words, indent=2)


def _facts(rule: Rule) -> Iterator[tuple[str, str]]:
    """What there is to say of a rule, and under which name."""
    yield "demands", rule.statement
    yield "healing", rule.mend
    yield "severity", f"{rule.severity}, {SEVERITIES[rule.severity]}"
    yield "sure", f"{rule.certainty}, {CERTAINTIES[rule.certainty]}"
    for name in ("models", "since", "error", "evidence"):
        if words := getattr(rule, name):
            yield {"error": "answer", "evidence": "seen in"}.get(name, name), words


def _document(format: str, rule: Rule) -> dict[str, Any]:
    import msgspec

    return {"format": format, **msgspec.to_builtins(rule)}
