"""The cases from the field, each run as `run.py` runs it; kinds that later issues build are named by kind."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).parent
FORMATS = ("openai-chat", "anthropic", "bedrock")

# What later issues build: these may fail now, whatever the case. Everything else has to pass.
LATER_FORMATS = ("openai-responses", "gemini", "mistral", "jsonl-log", "tool-call")
LATER_KINDS = ("size",)


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
OURS = [case for case in CASES if case["format"] in FORMATS and case["kind"] not in LATER_KINDS]


@pytest.mark.parametrize("case", OURS, ids=[case["id"] for case in OURS])
def test_a_history_from_the_field_heals(case: dict[str, Any]) -> None:
    """What users of other programs reported is mended as the report asks."""
    outcome = RUN.run_case(case, RUN.load_adapter(HERE / "adapter.py"))
    assert outcome["status"] == "passed", outcome.get("detail")


def test_every_case_is_ours_or_of_a_later_issue() -> None:
    """No case is left out by accident."""
    later = [case for case in CASES if case["format"] in LATER_FORMATS or case["kind"] in LATER_KINDS]
    assert len(OURS) + len(later) == len(CASES)
    assert len(OURS) >= 29
