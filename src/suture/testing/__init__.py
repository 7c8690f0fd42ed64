"""What tests of agents, stores and models need: a model that follows a script, and the tests that every store, every
model adapter and every wire format passes.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from suture.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from suture.testing.concurrent import ConcurrentStoreContract as ConcurrentStoreContract
    from suture.testing.formats import FormatContract as FormatContract
    from suture.testing.models import ModelContract as ModelContract
    from suture.testing.stores import StoreContract as StoreContract

__all__ = ["ConcurrentStoreContract", "FormatContract", "ModelContract", "ScriptedModel", "StoreContract"]

# These need pytest, which a program that only wants a script need not have.
_CONTRACTS = {
    "ConcurrentStoreContract": "suture.testing.concurrent",
    "FormatContract": "suture.testing.formats",
    "ModelContract": "suture.testing.models",
    "StoreContract": "suture.testing.stores",
}


def __getattr__(name: str) -> object:
    if name not in _CONTRACTS:
        raise AttributeError(f"module 'suture.testing' has no attribute {name!r}")
    module = _CONTRACTS[name]
    if module not in sys.modules:
        importlib.import_module("pytest").register_assert_rewrite(module)  # so that a failure shows what was compared
    return getattr(importlib.import_module(module), name)
