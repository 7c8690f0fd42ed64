"""What a provider's error means: the rules that its words belong to, and what healing would do about each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import msgspec

from suture.formats import FORMATS, format_of
from suture.formats.base import Target
from suture.formats.rule import SUREST, Certainty, Rule, Severity
from suture.formats.wording import Match, Said, Wording, ids_in, paths_in, said
from suture.healing.unwrapping import texts_of

_MOST_PLACES = 16

# Who takes requests in OpenAI's form and hands them on, and the words by which their errors are known.
_RELAYS: Mapping[str, re.Pattern[str]] = {
    "OpenRouter": re.compile(r"provider returned error|\bprovider_name\b|\bopenrouter\b", re.IGNORECASE),
    "LiteLLM": re.compile(r"\blitellm\b", re.IGNORECASE),
}
_OF_RELAYS = "openai-chat"


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that an error speaks of.

    `statement` is what the provider demands and `mend` what healing does about it; `paths` and `call_ids` are those that
    the error names, as it writes them. `call` and `command` are what mends the history, in a program and at a shell; blank
    where only the caller can, by another request. `relay` is who handed the error on: the history is in the form that it
    takes, so `command` names no format of another's. `severity` and `certainty` are those of the rule.
    """

    rule: str
    format: str
    statement: str
    mend: str
    severity: Severity
    certainty: Certainty
    paths: tuple[str, ...] = ()
    call_ids: tuple[str, ...] = ()
    call: str
    command: str
    relay: str = ""

    def __str__(self) -> str:
        return f"{self.rule}: {self.statement} {self.mend}"


def explain(error: object) -> list[Cause]:
    """The rules that a provider's error speaks of, the one that says most of it first; none when nothing is known of it.

    `error` is a text, a document in whatever envelope, an exception of an SDK, a response, or a `ModelError`; errors inside
    of errors count too. Several rules that are refused in the same words stand with the surest
    first. Nothing is guessed from what merely looks alike: an unknown error gives an empty list.
    """
    best: dict[str, _Found] = {}
    for found in _all(error):
        best[found.known.id] = min(best.get(found.known.id, found), found, key=lambda one: one.rank)
    order = {known.id: at for at, known in enumerate(_known())}
    relay = _relay(error) if best else ""
    return [_cause(one, relay) for one in sorted(best.values(), key=lambda one: (*one.rank, order[one.known.id]))]


class _Known(NamedTuple):
    """A rule with its words, and the format whose rule it is."""

    format: str
    rule: Rule
    wording: Wording

    @property
    def id(self) -> str:
        return self.rule.id


class _Found(NamedTuple):
    """Where an error has a rule's words."""

    known: _Known
    match: Match
    said: Said

    @property
    def rank(self) -> tuple[int, int, int]:
        """What says most of the error comes first, of what says as much the surest."""
        return -self.match.size, self.match.missing, SUREST.index(self.known.rule.certainty)


def _all(error: object) -> Iterator[_Found]:
    """Every place at which an error has the words of a rule."""
    for text in texts_of(error):
        for each in said(text):
            for known in _known():
                if match := known.wording.find(each):
                    yield _Found(known, match, each)


@cache
def _known() -> Sequence[_Known]:
    """All rules, each once, with the first format that has it."""
    known: dict[str, _Known] = {}
    for name in FORMATS:
        for rule in format_of(name).rules.values():
            known.setdefault(rule.id, _Known(name, rule, Wording(rule)))
    return list(known.values())


def _relay(error: object) -> str:
    """Who handed the error on; blank when nobody is known to have."""
    texts = list(texts_of(error))
    return next((name for name, words in _RELAYS.items() if any(words.search(text) for text in texts)), "")


def _cause(found: _Found, relay: str) -> Cause:
    rule = found.known.rule
    goal = _goal(found.known, found.said)
    option = "target" if goal.variant else "format"
    is_named = not relay or goal.format == _OF_RELAYS
    named, chosen = (f', {option}="{goal}"', f" --{option} {goal}") if is_named else ("", "")
    return Cause(
        rule=rule.id,
        format=found.known.format,
        statement=rule.statement,
        mend=rule.mend,
        severity=rule.severity,
        certainty=rule.certainty,
        paths=tuple(paths_in(found.said)[:_MOST_PLACES]),
        call_ids=tuple(ids_in(found.said, found.match.facts)[:_MOST_PLACES]),
        call=f"suture.heal(history{named})" if rule.healed else "",
        command=f"suture heal FILE{chosen} --in-place" if rule.healed else "",
        relay=relay,
    )


def _goal(known: _Known, said: Said) -> Target:
    """What the history is to be healed for: the dialect that has the rule, where it is one dialect's."""
    if known.format == "anthropic" and _is_converse(said):
        return Target("bedrock")
    return Target(known.format, known.rule.variant)


def _is_converse(said: Said) -> bool:
    """Whether Anthropic's words came through Bedrock's Converse, where the history is in Bedrock's format."""
    words = said.words
    return "bedrock" in FORMATS and (" converse operation " in words or " model returned the following errors " in words)
