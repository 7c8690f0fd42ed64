"""The vectors hold: each rule is named where it is broken, what is healed is accepted, and nobody else's code is needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from suture.formats import FORMATS
from suture.healing import convert, diagnose, heal, rules
from tests.judges import structural_problems
from tests.vectors.run import read

HERE = Path(__file__).parent
VECTORS: dict[str, dict[str, Any]] = {
    f"{path.parent.name}/{path.stem}": read(path) for path in sorted(HERE.glob("*/*.json"))
}
HEALED = {name: vector for name, vector in VECTORS.items() if "violating" in vector}
HANDED = {name: vector for name, vector in VECTORS.items() if "violating" not in vector}


@pytest.mark.parametrize("name", HEALED)
def test_a_rule_is_named_where_it_is_broken(name: str) -> None:
    """Diagnosing the violating request names the rule of the vector, and the healed one does not break it."""
    vector = HEALED[name]
    target = vector.get("target")
    assert name == f"{vector['format']}/{vector['rule']}"
    named = {id for each in diagnose(vector["violating"], vector["format"], target) for id in each.rules}
    assert vector["rule"] in named
    hints = vector.get("hints", [])
    left = [each for each in diagnose(vector["healed"], vector["format"], target) if each.severity == "REJ"]
    assert [each for each in left if each.hint not in hints] == []


@pytest.mark.parametrize("name", HEALED)
def test_what_is_violating_heals(name: str) -> None:
    """It becomes the healed request, with what only the caller can do as hints; healing that changes nothing."""
    vector = HEALED[name]
    out = heal(vector["violating"], vector["format"], vector.get("target"))
    assert out.history == vector["healed"]
    assert out.hints == vector.get("hints", [])
    again = heal(out.history, vector["format"], vector.get("target"))
    assert again.history is out.history
    assert structural_problems(vector["format"], out.history, vector.get("target")) == []


@pytest.mark.parametrize("name", HANDED)
def test_what_is_handed_over_is_valid_there(name: str) -> None:
    """The history becomes the converted request, the rule of the handoff is named, and the target finds nothing."""
    vector = HANDED[name]
    out = convert(vector["history"], vector["source"], vector["target"])
    assert out.history == vector["converted"]
    if vector.get("reported", True):
        assert vector["rule"] in {id for change in out.changes for id in change.rules}
    assert [each for each in diagnose(out.history, vector["target"]) if each.severity == "REJ" and not each.hint] == []


def test_no_two_rules_share_a_violating_request() -> None:
    """Each vector shows its own rule."""
    seen: dict[str, str] = {}
    for name, vector in HEALED.items():
        text = json.dumps([vector["format"], vector["violating"]], sort_keys=True)
        assert text not in seen, (name, seen.get(text))
        seen[text] = name


def test_every_rule_has_a_vector() -> None:
    """What nobody can be shown cannot be held."""
    shown = {vector["rule"] for vector in VECTORS.values()}
    assert {rule.id for rule in rules()} - shown == set()
    for format in FORMATS:
        assert {rule.id for rule in rules(format)} - {name.split("/")[1] for name in VECTORS} == set()
