"""What tests of agents and stores need: a model that follows a script, and the tests that every store passes."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from suture.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from suture.testing.stores import StoreContract as StoreContract

__all__ = ["ScriptedModel", "StoreContract"]


def __getattr__(name: str) -> object:
    if name == "StoreContract":  # needs pytest, which a program that only wants a script need not have
        return importlib.import_module("suture.testing.stores").StoreContract
    raise AttributeError(f"module 'suture.testing' has no attribute {name!r}")
