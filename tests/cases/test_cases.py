"""The cases from the field, each run as `run.py` runs it."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).parent

# Cases that we hold to be wrong, and why: they fail, and would be noticed if they passed.
CONTESTED = {"007-gemini-interrupt-orphan": "docs/decisions/023-results-of-gemini-stand-alone.md"}


def load(name: str) -> ModuleType:
    """A module that stands beside the cases, under its bare name, as its neighbours import it."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


_, _, RUN = load("checkers"), load("match"), load("run")
CASES: list[dict[str, Any]] = [json.loads(path.read_text("utf-8")) for path in sorted((HERE / "field").glob("*.json"))]


def rows() -> list[Any]:
    """The cases, contested ones marked as failing."""
    marks = {id: [pytest.mark.xfail(reason=why, strict=True)] for id, why in CONTESTED.items()}
    return [pytest.param(case, id=case["id"], marks=marks.get(case["id"], [])) for case in CASES]


@pytest.mark.parametrize("case", rows())
def test_a_case_from_the_field_comes_out_right(case: dict[str, Any]) -> None:
    """What users of other programs reported is mended, or asked about, as the report wants it."""
    outcome = RUN.run_case(case, RUN.load_adapter(HERE / "adapter.py"))
    # Logs without an exact outcome are run and not judged; what must hold of them is shown by tests of their own.
    is_judged = case["format"] != "jsonl-log" or case["expect"]["repaired"] is not None
    assert outcome["status"] == ("passed" if is_judged else "skipped"), outcome.get("detail")


def test_every_case_is_run() -> None:
    """No case is left out by accident."""
    assert len(rows()) >= 110
    assert {case["id"] for case in CASES} >= CONTESTED.keys()
