"""The adapter over Anthropic's SDK keeps the contract."""

from __future__ import annotations

from suture.models import Anthropic, Model
from suture.testing import ModelContract


class TestAnthropic(ModelContract):
    wire = "anthropic"
    lacks = frozenset({"interleaved_calls"})  # its blocks come one after the other

    def model(self, base_url: str, timeout: float) -> Model:
        return Anthropic("some-model", base_url=base_url, api_key="none", timeout=timeout)
