"""Who answers behind Bedrock, as far as it decides what a history may hold: one row per family of models."""

from __future__ import annotations

from typing import NamedTuple

from suture.formats.anthropic.format import Anthropic
from suture.formats.limits import ReasoningBack


class Family(NamedTuple):
    """Models that take the same histories. `mark` is what their ids hold."""

    mark: str
    signed: bool  # reasoning goes back signed, or not at all (BDR-REASON-SIG)
    back: ReasoningBack  # what goes back of reasoning where it is not signed
    together: bool  # words and tool blocks may share a message (BDR-SAME-TURN)
    media: bool  # results may hold pictures and documents (BDR-RESULT-MEDIA)
    choices: frozenset[str] = frozenset(("auto",))  # what `toolChoice` may say; none of them takes `none`


_ALL = frozenset(("auto", "any", "named"))
CLAUDE = Family("anthropic.", signed=True, back="as it came", together=True, media=True, choices=_ALL)

# The first row whose mark is in the model's id counts. An id that says nothing (that of a profile, or none) counts as
# Claude's; a family that has no row of its own as OTHER.
FAMILIES = (
    CLAUDE,
    Family("claude", signed=True, back="as it came", together=True, media=True, choices=_ALL),
    Family("amazon.nova", signed=False, back="unsigned", together=True, media=True, choices=_ALL),
    Family("meta.llama", signed=False, back="unsigned", together=False, media=False),
    Family("mistral.", signed=False, back="unsigned", together=False, media=False, choices=frozenset(("auto", "any"))),
    Family("cohere.", signed=False, back="unsigned", together=False, media=False),
    Family("deepseek.", signed=False, back="none", together=True, media=False),
)
OTHER = Family("", signed=False, back="unsigned", together=True, media=False)

# Who else has models there; an id without any of these names nobody.
_OTHERS = ("amazon.", "ai21.", "google.", "luma.", "minimax.", "moonshot", "nvidia.", "openai.", "qwen.", "writer.", "zai.")
_ANTHROPIC = Anthropic()


def family_of(model: str) -> Family:
    """The family of a model id such as `us.anthropic.claude-sonnet-4-6`, or of the ARN that holds one."""
    for family in FAMILIES:
        if family.mark in model:
            return family
    return OTHER if any(name in model for name in _OTHERS) else CLAUDE


def takes_prefill(model: str) -> bool:
    """Whether the model goes on with an assistant's last message, which Claude from 4.6 on does not (ANT-PREFILL)."""
    return not family_of(model).signed or _ANTHROPIC.limits(model).prefill
