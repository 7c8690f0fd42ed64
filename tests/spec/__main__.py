"""Prints each numbered behaviour of the specification with the tests that show it: `make spec`.

A test names its rows with `@pytest.mark.spec("S12")`; its docstring says the behaviour.
"""

from __future__ import annotations

import inspect
import sys

import pytest

# Behaviours of the systems that suture grew from, and defects of the repair of calls that it must not have.
# With a hyphen: mistakes that those systems have made and mended once, by system (Riffer, ask-agent, Mistri).
ROWS = [
    *(f"S{number}" for number in range(1, 176)),
    *(f"A{number}" for number in range(1, 20)),
    *(f"R-{number}" for number in range(1, 20)),
    *(f"A-{number}" for number in range(1, 24)),
    *(f"M-{number}" for number in range(1, 51)),
]


class Collector:
    """Gathers marks while the tests run, and what became of each test."""

    def __init__(self) -> None:
        self.tests: dict[str, list[tuple[str, str]]] = {}
        self.outcome: dict[str, str] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        marked = []
        for item in items:
            ids = [id for mark in item.iter_markers("spec") for id in mark.args]
            sentence = (inspect.getdoc(getattr(item, "function", None)) or "").partition("\n")[0]
            for id in ids:
                self.tests.setdefault(id, []).append((item.nodeid, sentence))
            if ids:
                marked.append(item)
        items[:] = marked

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.failed:
            self.outcome[report.nodeid] = report.outcome


def main() -> int:
    collector = Collector()
    pytest.main(["-q", "--no-header", "-p", "no:cacheprovider"], plugins=[collector])
    for id in ROWS:
        tests = collector.tests.get(id, [])
        print(f"{id:5} {tests[0][1] if tests else '-'}")
        for test, _ in tests:
            print(f"      {collector.outcome.get(test, 'not run'):7} {test}")
    print(f"\n{sum(id in collector.tests for id in ROWS)} of {len(ROWS)} behaviours are shown by a test.")
    unknown = sorted(set(collector.tests) - set(ROWS))
    if unknown:
        print(f"Marks that name no behaviour: {unknown}", file=sys.stderr)
    return 1 if unknown or "failed" in collector.outcome.values() else 0


if __name__ == "__main__":
    raise SystemExit(main())
