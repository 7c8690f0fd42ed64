"""The example store keeps the contracts, and the page that explains it shows it as it is."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from suture.stores import Store
from suture.testing import ConcurrentStoreContract, StoreContract

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "examples" / "minimal_store.py"
SOURCE = EXAMPLE.read_text(encoding="utf-8")
PAGE = ROOT / "docs" / "how-to" / "write-a-store.md"
WORDS = PAGE.read_text(encoding="utf-8")
*SHOWN, TEST = re.findall(r"```python\n(.*?)```", WORDS, re.DOTALL)


def example() -> ModuleType:
    """The module of the example."""
    module = sys.modules["minimal_store"] = ModuleType("minimal_store")  # where its classes look for each other's names
    exec(compile(SOURCE, str(EXAMPLE), "exec"), module.__dict__)
    return module


def opened(address: str) -> Store:
    """The store at an address; a child process calls this."""
    made: Store = example().FileStore(address)
    return made


class TestFileStore(StoreContract):
    appends = 8

    def open(self, tmp_path: Path) -> Store:
        return opened(str(tmp_path / "sessions"))


class TestFileStoreProcesses(ConcurrentStoreContract):
    opener = "tests.stores.test_minimal_store:opened"
    openings, appends, races, kills, forks = 2, 30, 10, 3, 4

    def address(self, place: Path) -> str:
        return str(place / "sessions")


def test_the_page_shows_the_example() -> None:
    """The code of the page, top to bottom, is the example file, line for line."""
    shown = [line for block in SHOWN for line in block.splitlines() if line]
    assert shown == [line for line in SOURCE.splitlines() if line]


def test_the_test_of_the_page_runs(tmp_path: Path) -> None:
    """The test classes that the page shows are contracts of the example."""
    example()
    page: dict[str, Any] = {}
    exec(TEST, page)
    one, many = page["TestFileStore"], page["TestFileStoreProcesses"]
    assert issubclass(one, StoreContract)
    assert issubclass(many, ConcurrentStoreContract)
    one().test_seqs_start_at_one_and_have_no_gap(one().open(tmp_path))
    assert len(many().opened(tmp_path).read("s")) == 5


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"\]\(([^)#:]+)\)", WORDS) + re.findall(r"`((?:src|tests)/[^`]+)`", WORDS)))
)
def test_the_places_that_the_page_names_exist(path: str) -> None:
    """Each link, and each file that is named, is there."""
    assert (PAGE.parent / path).exists() or (ROOT / path).exists()
