"""The example adapter keeps the contract, and the page that explains it shows it as it is."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from suture import errors
from suture.models import Model
from suture.testing import ModelContract
from tests.models.example import EXAMPLE, SOURCE, adapter

PAGE = Path(__file__).parent.parent.parent / "docs" / "how-to" / "write-a-model-adapter.md"
WORDS = PAGE.read_text(encoding="utf-8")
*SHOWN, TEST = re.findall(r"```python\n(.*?)```", WORDS, re.DOTALL)

MinimalChat = adapter()  # the module is known as `minimal_adapter` from here on


class TestMinimalChat(ModelContract):
    wire = "openai"

    def model(self, base_url: str, timeout: float) -> Model:
        return MinimalChat("some-model", base_url, timeout=timeout)


def test_the_page_shows_the_example() -> None:
    """The code of the page, top to bottom, is the example file, line for line."""
    shown = [line for block in SHOWN for line in block.splitlines() if line]
    assert shown == [line for line in SOURCE.splitlines() if line]


def test_the_test_of_the_page_runs() -> None:
    """The test class that the page shows is a contract of the example, with all that a contract needs to know."""
    page: dict[str, Any] = {}
    exec(TEST, page)
    shown = page["TestMinimalChat"]
    assert issubclass(shown, ModelContract)
    with closing(shown.provider_for()) as provider:
        shown().test_text(provider)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"^\|.*\| `(\w+)`", WORDS, re.MULTILINE))))
def test_the_errors_of_the_page_exist(name: str) -> None:
    """Each error that the page's table promises is a ModelError."""
    assert issubclass(getattr(errors, name), errors.ModelError)


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"\]\(([^)#:]+)\)", WORDS) + re.findall(r"`((?:src|tests)/[^`]+)`", WORDS)))
)
def test_the_places_that_the_page_names_exist(path: str) -> None:
    """Each link, and each file that is named, is there."""
    assert (PAGE.parent / path).exists() or (EXAMPLE.parent.parent / path).exists()
