"""The wire formats that suture speaks, by name; each loads when it is first asked for.

A name may carry who will read it: `openai-chat:deepseek`, `anthropic:claude-opus-4-6`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module

from suture.errors import AmbiguousFormat, HistoryError, UnknownFormat
from suture.formats.base import Format, Json, Target
from suture.formats.wire import messages_of

FORMATS = {
    "openai-chat": "suture.formats.openai_chat.format:OpenAIChat",
    "openai-responses": "suture.formats.openai_responses.format:OpenAIResponses",
    "anthropic": "suture.formats.anthropic.format:Anthropic",
    "gemini": "suture.formats.gemini.format:Gemini",
    "bedrock": "suture.formats.bedrock.format:Bedrock",
    "mistral": "suture.formats.mistral.format:Mistral",
}

# Formats that speak one form: a message of the one is never foreign to the other.
KIN = {"openai-chat": "mistral", "mistral": "openai-chat"}


def names_of_formats() -> str:
    """The names of all formats, in words."""
    *names, last = map(repr, FORMATS)
    return f"{', '.join(names)} and {last}"


def target_of(name: str) -> Target:
    """A format's name, with the dialect or model that it carries."""
    if not isinstance(name, str):
        raise UnknownFormat(f"A format is named by a text, not {type(name).__name__}; there are {names_of_formats()}.")
    format, _, variant = name.partition(":")
    if format.lower() in FORMATS:
        return Target(format.lower(), _spelled(format.lower(), variant))
    meant = f" Did you mean {near!r}?" if (near := _near(name)) else ""
    raise UnknownFormat(f"There is no format {format!r}; there are {names_of_formats()}.{meant}")


# Names of models that are close to that of a dialect, and are no slip.
_NO_SLIPS = frozenset(("llama", "grok"))


def _spelled(format: str, variant: str) -> str:
    """The dialect or model as it is named; no dialect whose name has a slip."""
    word = variant.partition(":")[0].lower()
    if not word:
        return variant
    if word in (known := format_of(format).dialects):
        return word + variant[len(word) :]
    if not word.isalpha() or word in _NO_SLIPS:
        return variant
    if near := get_close_matches(word, known, 1, 0.8):
        raise UnknownFormat(
            f"There is no dialect {word!r} of {format!r}; did you mean {near[0]!r}? A model is named in full, as its maker "
            "has it."
        )
    return variant


# What people call a format, and how the names of its models begin.
_CALLED = {
    "openai": "openai-chat",
    "chat": "openai-chat",
    "responses": "openai-responses",
    "claude": "anthropic",
    "google": "gemini",
    "vertex": "gemini",
    "aws": "bedrock",
    "converse": "bedrock",
}
_MODELS = {"gpt-": "openai-chat", "claude-": "anthropic", "gemini-": "gemini", "mistral-": "mistral"}


def _near(name: str) -> str | None:
    """The format that was perhaps meant, with the model where it was one."""
    asked = name.lower()
    if model := next((format for begins, format in _MODELS.items() if asked.startswith(begins)), None):
        return f"{model}:{name}"
    format = asked.partition(":")[0]
    if format in format_of("openai-chat").dialects:
        return f"openai-chat:{asked}"
    return _CALLED.get(format) or next(iter(get_close_matches(format, FORMATS, 1, 0.7)), None)


@cache
def format_of(name: str) -> Format:
    """The format of that name, without dialect or model."""
    module, _, attribute = FORMATS[target_of(name).format].partition(":")
    found: Format = getattr(import_module(module), attribute)()
    return found


_ROLES = frozenset(("system", "developer", "user", "assistant", "model", "tool", "function"))

# Which one it is ------------------------------------------------------------------------------


# Models that Mistral's own API serves; one with a maker before it, or a tag behind it, is served by somebody else.
_MISTRAL = re.compile(r"(open-)?(mistral|mixtral|codestral|ministral|magistral|pixtral|devstral)-[\w.-]+", re.IGNORECASE)


def detect(history: object, usual: str | None = None) -> str:
    """The name of the only format that the history can be in; `usual` is the one that histories beside it are in.

    Plain words of user and assistant fit most formats alike. Mistral speaks Chat Completions; what has nothing of its own
    in it counts as `openai-chat`, unless the request's model, or what is usual, says that it is Mistral who reads it.

    Raises:
        AmbiguousFormat: it fits more than one.
        UnknownFormat: it fits none, or mixes two.
        HistoryError: it is no history.
    """
    names = [name for name in FORMATS if not isinstance(history, dict) or format_of(name).key in history]
    if not names:
        names = ["openai-chat"]  # whose error says what is missing
    key = format_of(names[0]).key
    messages = messages_of(history, key)
    signs = _signs(messages, names, key)
    if "mistral" in signs and _is_for_others(history):
        signs = {"openai-chat": signs["mistral"]}  # what is Mistral's own is a slip there
    if len(signs) > 1:
        found = ", ".join(f"{name}: {sign}" for name, sign in signs.items())
        raise UnknownFormat(
            f"The history mixes formats ({found}). Name the one that it is to be healed for with format=...."
        )
    fitting = list(signs) or _fitting(messages, names, key)
    if "openai-chat" in fitting and _is_for_mistral(history, messages, usual):
        return "mistral"
    if len(fitting) > 1 and (beside := _by_what_stands_beside(history, messages, fitting)):
        return beside
    if len(fitting) == 1:
        return fitting[0]
    if usual in fitting:
        return usual
    *others, last = map(repr, fitting)
    words = f"The history fits {', '.join(others)} and {last} alike; name the right one with format=...."
    raise AmbiguousFormat(words, fitting)


def _signs(messages: Sequence[Json], names: Sequence[str], key: str) -> dict[str, str]:
    """What each format alone has, at the first place that has it."""
    signs: dict[str, str] = {}
    for index, message in enumerate(messages):
        for name in names:
            if name not in signs and (sign := format_of(name).sign(message)):
                signs[name] = f"{key}[{index}] has {sign}"
    if "mistral" in signs:
        signs.pop("openai-chat", None)
    return signs


def _fitting(messages: Sequence[Json], names: Sequence[str], key: str) -> list[str]:
    """The formats of which each message can be one; at least one format is left."""
    fitting = list(names)
    for index, message in enumerate(messages):
        left = [name for name in fitting if format_of(name).misfit(message) is None]
        if not left:
            raise HistoryError(f"{key}[{index}] {format_of(fitting[0]).misfit(message)}")
        if message.get("role", "user") not in _ROLES:
            raise UnknownFormat(f"{key}[{index}] has the role {message['role']!r}, which no format has. Correct it.")
        fitting = left
    return [name for name in fitting if name != "mistral" or "openai-chat" not in fitting]


def _is_for_mistral(history: object, messages: Sequence[Json], usual: str | None) -> bool:
    """Whether what has the shape of Chat Completions is Mistral's: its model says so or, without one, what is usual."""
    model = history.get("model") if isinstance(history, dict) else None
    told = _MISTRAL.fullmatch(model) if isinstance(model, str) else usual == "mistral"
    return bool(told) and all(format_of("mistral").misfit(message) is None for message in messages)


def _is_for_others(history: object) -> bool:
    """Whether the request's model is none of Mistral's, wherever that is served."""
    model = history.get("model") if isinstance(history, dict) else None
    return isinstance(model, str) and bool(model) and re.search("stral|mixtral", model, re.IGNORECASE) is None


def _by_what_stands_beside(history: object, messages: Sequence[Json], fitting: Sequence[str]) -> str | None:
    """The format that the rest of the request, or where system text stands, speaks for."""
    if isinstance(history, dict):
        beside = [name for name in fitting if any(key in history for key in format_of(name).head_keys)]
        if beside:
            return "anthropic" if "anthropic" in beside else beside[0] if len(beside) == 1 else None
        offering = [name for name in fitting if format_of(name).offers(history)]
        if len(offering) == 1:
            return offering[0]
    starts = messages and messages[0].get("role") in ("system", "developer")
    return "openai-chat" if starts and "openai-chat" in fitting else None
