"""What a check of the chat form finds, each under the rule that stands for it at that target."""

from __future__ import annotations

from collections.abc import Mapping

from suture.formats.limits import Limits
from suture.formats.rule import Finding, Rule, Severity, finding

# Codes where a dialect's own rule says again, in other words, what the rule of the format says.
_SAID_AGAIN = frozenset(
    (
        "CALL_UNANSWERED",
        "RESULT_ORPHAN",
        "RESULT_DUPLICATE",
        "RESULT_DISPLACED",
        "ID_DUPLICATE",
        "ARGS_UNPARSABLE",
        "CONTENT_NULL",
        "TEXT_EMPTY",
        "MESSAGE_EMPTY",
        "SYSTEM_MISPLACED",
    )
)


class Found:
    """The findings of one check. `rules` and `rule_of` are the format's, `limits` those of the target."""

    def __init__(self, rules: Mapping[str, Rule], rule_of: Mapping[str, str], limits: Limits) -> None:
        self.rules = rules
        self.rule_of = rule_of
        self.limits = limits
        self.findings: list[Finding] = []

    def add(
        self,
        code: str,
        path: str,
        sentence: str,
        call: str | None = None,
        *,
        rule: str | None = None,
        also: str | None = None,
        severity: Severity | None = None,
        **facts: str | int,
    ) -> None:
        """A finding under the dialect's rule for the code, or the format's, or the one that is named.

        `also` is a code whose rule is broken with it.
        """
        here = rule or self.limits.rules.get(code) or self.rule_of[code]
        more = [self.rule_of[code]] if rule is None and code in _SAID_AGAIN else []
        more += [self.rule_of[also]] if also else []
        others = tuple([self.rules[id] for id in dict.fromkeys(more) if id != here])
        self.findings.append(finding(self.rules[here], code, path, sentence, call, facts, severity=severity, also=others))
