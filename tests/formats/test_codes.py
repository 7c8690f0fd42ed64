"""Codes have one home: what findings and changes are called stands in the table, with what it means."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from random import Random

import pytest

from suture.formats import FORMATS, format_of
from suture.formats.codes import CODES
from suture.healing import fit, load_messages
from suture.testing.histories import broken_history

SOURCE = Path(__file__).parent.parent.parent / "src" / "suture"
HOMES = ("formats", "healing", "repair.py")
CODE = re.compile(r"[A-Z]+(?:_[A-Z]+)+")
# Words of that form that are no codes: fields and enumerations of providers.
OTHERS = frozenset(("FUNCTION_CALL", "THINKING_OFF"))


def literals(path: Path) -> set[str]:
    """The texts in the code that look like codes."""
    found = {node.value for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Constant)}
    return {text.split()[0] for text in found if isinstance(text, str) and CODE.fullmatch(text.split(" ")[0])} - OTHERS


def used() -> set[str]:
    files = [path for home in HOMES for path in ((SOURCE / home).rglob("*.py") if "." not in home else [SOURCE / home])]
    return set[str]().union(*(literals(path) for path in files if path.name != "codes.py"))


def test_each_code_that_is_used_is_in_the_table() -> None:
    """A slip in a code would be a code of its own, of which nobody knows what it means."""
    assert used() - CODES.keys() == set()


def test_the_table_has_none_that_nobody_uses() -> None:
    """What is not found any more is gone."""
    assert CODES.keys() - used() == set()


@pytest.mark.parametrize("target", FORMATS)
def test_a_rule_is_behind_every_change(target: str) -> None:
    """Whatever a request of our own has to leave out or to add, somebody demands it."""
    for number, source in enumerate([*FORMATS] * 40):
        messages = load_messages(broken_history(source, Random(number)), source)
        assert [str(change) for change in fit(messages, target).changes if not change.rules] == []


@pytest.mark.parametrize("format", FORMATS)
def test_rules_stand_behind_codes_of_the_table(format: str) -> None:
    """Each key of a format's table is a code, or one and the case of it."""
    assert {key.split()[0] for key in format_of(format).rule_of} <= CODES.keys()
