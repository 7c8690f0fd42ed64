"""The adapter over OpenAI's SDK keeps the contract."""

from __future__ import annotations

from suture.models import Model, OpenAIChat
from suture.testing import ModelContract


class TestOpenAIChat(ModelContract):
    wire = "openai"

    def model(self, base_url: str, timeout: float) -> Model:
        return OpenAIChat("some-model", base_url=base_url, api_key="none", timeout=timeout)
