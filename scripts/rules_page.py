"""Writes `docs/reference/rules.md` from the rules themselves: `make docs`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import suture
from suture.cli.rules import CERTAINTIES, HANDOFF, SEVERITIES
from suture.formats import FORMATS
from suture.formats.codes import CODES

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "rules.md"

_INTRODUCTION = """\
# Rules

What providers demand of a history, and what healing does where it is broken. `suture rules` lists the same,
`suture rules RULE-ID` shows one of them, and `suture explain TEXT` finds the one that an error means.
This page is made from the code by `make docs`.

An *answer* is what the provider says, with its facts in braces. How sure a rule is stands behind how bad it is:

| | |
|---|---|
"""
_CODES = "Findings and changes carry one of these words, the same in every format, for programs to tell them apart."


def page() -> str:
    """The page, as it is to be."""
    legend = "".join(f"| {letter} | {words} |\n" for letter, words in [*SEVERITIES.items(), *CERTAINTIES.items()])
    return _INTRODUCTION + legend + "\n" + "\n".join(_sections())


def _sections() -> Iterator[str]:
    shown: set[str] = set()
    for name in FORMATS:
        yield f"## {name}\n\nHow it is read and healed: [{name}](formats/{name}.md).\n"
        shared = [rule.id for rule in suture.rules(name) if rule.id in shown]
        if shared:
            yield f"Also, as above: {', '.join(shared)}.\n"
        for rule in suture.rules(name):
            if rule.id not in shown:
                shown.add(rule.id)
                yield _entry(rule)
    yield f"## {HANDOFF}\n\nWhat changes when a history moves from one provider to another, whichever two they are.\n"
    for rule in suture.rules():
        if rule.id not in shown:
            yield _entry(rule)
    yield f"## codes\n\n{_CODES}\n\n| code | what it means |\n|---|---|"
    yield from (f"| `{code}` | {words} |" for code, words in CODES.items())


def _entry(rule: suture.Rule) -> str:
    lines = [f"### {rule.id}\n", f"{_plain(rule.statement)}\n", f"- Healing: {_plain(rule.mend)}"]
    if rule.error:
        lines.append(f"- Answer: {_code(rule.error)}")
    facts = [f"{rule.severity}, {rule.certainty}"]
    facts += [f"for {_plain(rule.models)}"] if rule.models else []
    facts += [f"since {_plain(rule.since)}"] if rule.since else []
    facts += [f"seen in {_plain(rule.evidence)}"] if rule.evidence else []
    return "\n".join([*lines, f"- {'; '.join(facts)}\n"])


def _plain(words: str) -> str:
    """The words, none of which is a sign of Markdown."""
    return re.sub(r"[\\<>*\[\]|]|(?<!\w)_|_(?!\w)", lambda sign: f"\\{sign[0]}", words)


def _code(words: str) -> str:
    """The words as they are, whatever quotes they have in them."""
    return f"`` {words} ``" if "`" in words else f"`{words}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
