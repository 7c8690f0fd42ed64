"""The example adapter, as it is or with one thing changed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from suture.models import Model

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "minimal_adapter.py"
SOURCE = EXAMPLE.read_text(encoding="utf-8")


def adapter(source: str = SOURCE, name: str = "minimal_adapter") -> Callable[..., Model]:
    """The class `MinimalChat` of that source."""
    module = sys.modules[name] = ModuleType(name)  # where its classes look for each other's names
    exec(compile(source, str(EXAMPLE), "exec"), module.__dict__)
    made: Callable[..., Model] = module.MinimalChat
    return made
