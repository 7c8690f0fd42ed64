"""Models: what one is (`base`), `open_model`, which finds one by name, and the adapters, each loaded on use.

openai:gpt-5.2               OpenAI's Chat Completions, or whatever speaks them at a `base_url`
anthropic:claude-opus-4-6    Anthropic's Messages
scripted:script.json         a file of answers, for tests and demonstrations: no key, no network
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from suture.errors import ConfigurationError
from suture.models.base import Model, Request

if TYPE_CHECKING:
    from suture.models.anthropic import Anthropic
    from suture.models.openai_chat import OpenAIChat
    from suture.models.scripted import ScriptedModel

__all__ = ["Anthropic", "Model", "OpenAIChat", "Request", "ScriptedModel", "open_model"]

_CLASSES = {
    "Anthropic": "suture.models.anthropic",
    "OpenAIChat": "suture.models.openai_chat",
    "ScriptedModel": "suture.models.scripted",
}

# How a provider's models are opened: the module, and what in it takes the model's name and the options.
_OPENERS = {
    "openai": ("suture.models.openai_chat", "OpenAIChat"),
    "anthropic": ("suture.models.anthropic", "Anthropic"),
    "scripted": ("suture.models.scripted", "from_file"),
}
_LATER = ("openai-responses", "google", "bedrock", "mistral")


def open_model(name: str, **options: object) -> Model:
    """The model of that name, such as "openai:gpt-5.2"; `options` are those of its adapter, such as `base_url`.

    Raises:
        ConfigurationError: no adapter has that name, or it does not take such an option, or a key is missing.
        MissingExtra: the vendor's SDK is not installed.
    """
    if not isinstance(name, str):
        raise ConfigurationError(f"{name!r} is no model's name. {_known()}")
    provider, colon, model = name.partition(":")
    if provider in _LATER:
        raise ConfigurationError(f"{name!r}: {provider} models are not there yet in this version. {_known()}")
    if provider not in _OPENERS:
        raise ConfigurationError(f"{name!r} names no provider that suture knows. {_known()}")
    if not colon or not model.strip():
        raise ConfigurationError(f"{name!r} names no model. Say '{provider}:<model>'.")
    module, opener = _OPENERS[provider]
    made: Callable[..., Model] = getattr(import_module(module), opener)
    known = [name for name, one in inspect.signature(made).parameters.items() if one.kind is one.KEYWORD_ONLY]
    if unknown := sorted(options.keys() - set(known)):
        said = ", ".join(known) or "none"
        raise ConfigurationError(f"{provider!r} models take no option {unknown[0]!r}; they take {said}.")
    return made(model, **options)


def _known() -> str:
    return "Say 'openai:<model>', 'anthropic:<model>' or 'scripted:<file>', or pass a model object."


def __getattr__(name: str) -> object:
    if name not in _CLASSES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_CLASSES[name]), name)
