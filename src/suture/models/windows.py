"""How long a conversation a model takes, by its name, as far as its maker has said so.

From the makers' model pages, read in 2026; a newer model of a family takes at least what is written here.
"""

from __future__ import annotations

from suture.models.base import Model

# By the beginning of the name behind the vendor's; the first that fits counts, so longer ones stand first. Tokens.
_WINDOWS = (
    ("claude-", 200_000),
    ("gpt-5", 400_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-3.5-turbo", 16_385),
    ("chatgpt-4o", 128_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
)

_VENDORS = ("anthropic", "openai")


def window_of(model: Model) -> int | None:
    """The tokens that a model takes in all: what it says itself as `window`, else what is known by its name; None when
    nothing is.
    """
    own: object = getattr(model, "window", None)
    if isinstance(own, int):
        return own
    vendor, _, name = model.name.partition(":")
    if vendor not in _VENDORS:
        return None
    return next((tokens for start, tokens in _WINDOWS if name.startswith(start)), None)
