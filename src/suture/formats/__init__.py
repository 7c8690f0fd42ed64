"""The wire formats that suture speaks, by name; each loads when it is first asked for.

A name may carry who will read it: `openai-chat:deepseek`, `anthropic:claude-opus-4-6`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from suture.errors import AmbiguousFormat, UnknownFormat
from suture.formats.base import Format, Target, messages_of

FORMATS = {
    "openai-chat": "suture.formats.openai_chat.format:OpenAIChat",
    "anthropic": "suture.formats.anthropic.format:Anthropic",
}
_LATER = ("openai-responses", "gemini", "bedrock", "mistral")
_COMES = "which comes in a later version of suture"
_HERE = " and ".join(repr(name) for name in FORMATS)


def target_of(name: str) -> Target:
    """A format's name, with the dialect or model that it carries."""
    if not isinstance(name, str):
        raise UnknownFormat(f"A format is named by a text, not {type(name).__name__}; there are {_HERE}.")
    format, _, variant = name.partition(":")
    if format in _LATER:
        raise UnknownFormat(f"The format {format!r} comes in a later version of suture; there are {_HERE}.")
    if format not in FORMATS:
        raise UnknownFormat(f"There is no format {format!r}; there are {_HERE}.")
    return Target(format, variant)


@cache
def format_of(name: str) -> Format:
    """The format of that name, without dialect or model."""
    module, _, attribute = FORMATS[target_of(name).format].partition(":")
    found: Format = getattr(import_module(module), attribute)()
    return found


_ROLES = frozenset(("system", "developer", "user", "assistant", "tool", "function"))


def detect(history: object) -> str:
    """The name of the only format that the history can be in.

    Plain words of user and assistant fit every format alike, so they are for the caller to name.

    Raises:
        AmbiguousFormat: it fits more than one.
        UnknownFormat: it fits none, or mixes two.
    """
    _refuse_later(history)
    messages = messages_of(history)
    signs: dict[str, str] = {}
    for index, message in enumerate(messages):
        for name in FORMATS:
            if name not in signs and (sign := format_of(name).sign(message)):
                signs[name] = f"messages[{index}] has {sign}"
    if not signs and isinstance(history, dict) and "system" in history:
        return "anthropic"
    if not signs and messages and messages[0]["role"] == "system":
        return "openai-chat"
    if len(signs) == 1:
        return next(iter(signs))
    if signs:
        found = ", ".join(f"{name}: {sign}" for name, sign in signs.items())
        raise UnknownFormat(
            f"The history mixes formats ({found}). Bring it into one, or name the right one with format=...."
        )
    for index, message in enumerate(messages):
        if message["role"] not in _ROLES:
            raise UnknownFormat(f"messages[{index}] has the role {message['role']!r}, which no format has. Correct it.")
    raise AmbiguousFormat(f"The history fits {_HERE} alike; name the right one with format=....")


def _refuse_later(history: object) -> None:
    """Say so when the history is in a format that is known and not there yet."""
    if isinstance(history, dict) and "messages" not in history:
        for key, name in (("input", "openai-responses"), ("contents", "gemini")):
            if key in history:
                raise UnknownFormat(f"A history with {key!r} is in the format {name!r}, {_COMES}; there are {_HERE}.")
    items = history.get("messages") if isinstance(history, dict) else history
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if not isinstance(item, dict):
            return
        later = "gemini" if "parts" in item and "content" not in item else None
        if "role" not in item and str(item.get("type")).endswith(("_call", "_call_output", "reasoning", "item_reference")):
            later = "openai-responses"
        if later is not None:
            raise UnknownFormat(f"messages[{index}] is of the format {later!r}, {_COMES}; there are {_HERE}.")
