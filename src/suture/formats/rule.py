"""What a wire format demands: a rule is data, and a finding is a rule broken at a place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

Severity: TypeAlias = Literal["REJ", "DEG", "IGN"]
Certainty: TypeAlias = Literal["S", "R", "D", "C", "I", "M"]

# Certainties on which nothing is refused: what was inferred, and what is remembered.
HYPOTHETICAL = frozenset(("I", "M"))
SUREST = "SDCRIM"  # certainties, the surest first


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider demands.

    `mend` says what healing does about it. `error` is what the provider answers, with `{ids}`, `{i}` and the like where
    the facts of a finding go; `texts` are patterns of other wordings, each searched for in an error with its quotes made
    plain. `severity`: REJ refused, DEG accepted with a worse answer, IGN ignored. `certainty`: S three or more independent
    reports, R one or two, D official documentation, C read in a respected project's source, I inferred, M from memory; of
    the last two only a warning comes. `since` and `models` say when and for which models or dialects; blank means all.
    `variant` is the dialect or model to heal for, where the format alone takes what breaks the rule; `healed` says whether
    healing does something about it in a history, or only the caller, or nobody, can.
    """

    id: str
    statement: str
    mend: str
    error: str = ""
    texts: tuple[str, ...] = ()
    severity: Severity = "REJ"
    certainty: Certainty = "S"
    evidence: str = ""
    since: str = ""
    models: str = ""
    variant: str = ""
    healed: bool = True

    @property
    def is_warning(self) -> bool:
        """Whether breaking it is no reason to fail."""
        return self.severity != "REJ" or self.certainty in HYPOTHETICAL


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A rule broken at a place. `facts` fill the provider's text; `hint` is what only the caller can change."""

    code: str
    rules: tuple[str, ...]
    path: str
    severity: Severity
    certainty: Certainty
    sentence: str
    call_id: str | None = None
    hint: str | None = None
    facts: dict[str, str | int] = {}

    @property
    def refused(self) -> bool:
        """Whether the provider is known to refuse the history for it."""
        return self.severity == "REJ" and self.certainty not in HYPOTHETICAL

    def __str__(self) -> str:
        return f"{self.path}: {self.code} [{', '.join(self.rules)}]: {self.sentence}"


def by_id(*rules: Rule) -> dict[str, Rule]:
    """The rules, by id."""
    return {rule.id: rule for rule in rules}


def fill(template: str, facts: Mapping[str, str | int]) -> str:
    """The provider's text with the facts in it; what is not known stays as a variable."""
    return re.sub(r"\{(\w+)\}", lambda match: str(facts.get(match[1], f"<{match[1]}>")), template)


def finding(
    rule: Rule,
    code: str,
    path: str,
    sentence: str,
    call: str | None = None,
    facts: Mapping[str, str | int] | None = None,
    *,
    severity: Severity | None = None,
    hint: str | None = None,
    also: tuple[Rule, ...] = (),
) -> Finding:
    """A finding with the rule's severity and certainty; of several rules, that of the surest."""
    surest = min((rule.certainty, *[each.certainty for each in also]), key=SUREST.index) if also else rule.certainty
    return Finding(
        code=code,
        rules=(rule.id, *[each.id for each in also]),
        path=path,
        severity=severity or rule.severity,
        certainty=surest,
        sentence=sentence,
        call_id=call,
        hint=hint,
        facts=dict(facts or {}),
    )


def by_place(found: Finding) -> list[int]:
    """Orders findings as the history does."""
    return [int(number) for number in re.findall(r"\d+", found.path)]
