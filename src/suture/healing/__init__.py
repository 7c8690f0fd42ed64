"""Heals a provider's message history: what comes out, that provider accepts; the report says what was done.

A history in which nothing is wrong comes back as the same object. The input is never changed. The same
history heals the same way every time, healing again changes nothing, and what cannot be made valid is
refused loudly. Real results move rather than vanish; whatever is left out stands in the report in full.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import takewhile
from typing import Literal, TypeAlias

import msgspec

from suture.errors import ConfigurationError
from suture.formats import FORMATS, format_of, target_of
from suture.formats.base import Format, Json, Offer, Target, model_of
from suture.formats.handoff import HANDOFF
from suture.formats.limits import Limits
from suture.formats.rule import Finding, Rule, fill
from suture.formats.wire import own
from suture.healing.converting import converted
from suture.healing.explaining import Cause, explain
from suture.healing.given import checked
from suture.healing.guessing import guess
from suture.healing.healing import healed, requested
from suture.healing.parts import THINKING_OFF
from suture.healing.plain import place_named
from suture.healing.surrogates import SURROGATE, surrogate_finding
from suture.healing.tightening import can_tighten, tightened
from suture.healing.work import Change, Healed, Options, Work
from suture.messages import Message, Origin, System

__all__ = [
    "THINKING_OFF",
    "Cause",
    "Change",
    "Finding",
    "Healed",
    "Rule",
    "can_tighten",
    "convert",
    "diagnose",
    "dump_messages",
    "explain",
    "fit",
    "guess",
    "heal",
    "load_messages",
    "refusal",
    "rules",
]

Pending: TypeAlias = Literal["answer", "keep", "drop"]
Orphans: TypeAlias = Literal["drop", "quote"]


def heal(
    history: object,
    format: str | None = None,
    target: str | None = None,
    pending: Pending = "answer",
    orphans: Orphans = "drop",
) -> Healed:
    """The history as its provider accepts it.

    `history` is a list of messages, or a request that holds them under `messages`, `input` or `contents`. `target` names a
    dialect or a model of the same format, and without one the model that the request names counts. `pending` says what
    becomes of unanswered calls of the last turn, when nothing follows it but results: they are answered with a
    stand-in, kept for the caller to run, or dropped; calls behind which somebody speaks are answered. `orphans` says
    whether results without a call are dropped or quoted as a note of the user's. An empty history comes back as it
    is; one of which nothing is left comes back empty, with a hint, since providers refuse that. One that fits several
    formats and is fine in each comes back as it is, too, when none is named.

    Raises:
        UnknownFormat, AmbiguousFormat: no format is named, and none fits, or several that do not agree; or the history
            is in another than was named.
        HistoryError: the history cannot be read; the message names the place.
        UnhealableHistory: something is left that the provider would refuse.
    """
    _require(pending, "pending", ("answer", "keep", "drop"))
    _require(orphans, "orphans", ("drop", "quote"))
    with place_named(history, format or target):
        if (source := _source(history, format or target)) is None:
            return Healed(history)
        form, limits = _target(history, source, target)
        return healed(history, form, limits, Options(pending, orphans))


def diagnose(history: object, format: str | None = None, target: str | None = None) -> list[Finding]:
    """What the provider would refuse or take badly, by place; changes nothing.

    Of a history that fits several formats and is fine in each nothing is said, when none is named. An empty one is one
    finding of the format that was named.

    Raises:
        UnknownFormat, AmbiguousFormat, HistoryError: as `heal`.
    """
    with place_named(history, format or target):
        if (source := _source(history, format or target)) is None:
            return []
        form, limits = _target(history, source, target)
        given, found = checked(history, form, limits)
    surrogates = [surrogate_finding(change.path, form) for change in given.changes if change.code == SURROGATE]
    return [*surrogates, *given.mixed, *[given.at_home(each, form) for each in found]]


def convert(history: object, source: str | None = None, target: str | None = None) -> Healed:
    """The history as a request to another provider, valid there; what it cannot take is in the report.

    `source` is the history's format, guessed when left out; `target` is another, with the dialect or model that will read
    it where that matters. What comes back is a dict in the target's shape: the history, system text, tools and the choice
    among them. Reasoning that only its maker can check is left out; of the request's other keys, and of tools that only
    their provider runs, a hint says that they are not carried over.

    Raises:
        UnknownFormat, AmbiguousFormat, HistoryError, UnhealableHistory: as `heal`.
    """
    if target is None:
        raise ConfigurationError("convert needs a target: the format that the history is to be in, such as 'anthropic'.")
    goal = target_of(target)
    form = format_of(goal.format)
    with place_named(history, source):
        origin = format_of(target_of(source or guess(history).format).format)
        done = converted(history, origin, form, form.limits(goal.variant))
    return msgspec.structs.replace(done, format=origin.name)


def rules(format: str | None = None) -> list[Rule]:
    """The rules of a format, or of all: what each demands, how sure that is, and what healing does about it."""
    names = [target_of(format).format] if format is not None else list(FORMATS)
    found = {id: rule for name in names for id, rule in format_of(name).rules.items()}
    return [*found.values(), *(HANDOFF.values() if format is None else ())]


def refusal(found: Finding) -> str:
    """What the provider answers to a finding, in its own words; blank where they are not known."""
    known = _by_id()
    return next((fill(known[id].error, found.facts) for id in found.rules if id in known), "")


@cache
def _by_id() -> Mapping[str, Rule]:
    return {rule.id: rule for rule in rules()}


def load_messages(history: object, format: str | None = None) -> list[Message]:
    """The history as neutral messages; `dump_messages` writes them back as they were."""
    with place_named(history, format):
        form = format_of(target_of(format or guess(history).format).format)
        request = checked(history, form, form.limits(""), open_tail=True)[0].request
        return [*form.lift(request), *form.decode(request[form.key]).messages]


def dump_messages(messages: Sequence[Message], format: str, model: str | None = None) -> Json:
    """The messages as a request of that format, as they are; `fit` makes it one that is valid."""
    goal = _named(format, model)
    form = format_of(goal.format)
    apart = form.limits(goal.variant).system == "apart"

    def is_beside(message: Message) -> bool:
        return type(message) is System and (apart or own(message.ext, form.name).get("role") in form.head_keys)

    system = list(takewhile(is_beside, messages))
    return {**form.head([each for each in system if type(each) is System]), form.key: form.encode(messages[len(system) :])}


def fit(
    messages: Sequence[Message],
    format: str,
    model: str | None = None,
    reader: Origin | None = None,
    refused_by: Collection[str] = (),
    offers: Sequence[Offer] = (),
) -> Healed:
    """The messages as a request of that format, valid by its strictest reading whatever they are.

    Every call is answered, ids are unique in the whole request, nothing foreign or private is sent. `model` is a
    model or a dialect of the format; `reader` is who will be asked, and gets the reasoning back that it made itself.
    `refused_by` are rules by which it has refused these messages before; they are taken to hold. `offers` are the tools
    of the request.
    """
    goal = _named(format, model)
    form = format_of(goal.format)
    limits = tightened(form.limits(goal.variant), refused_by)
    options = Options(strict=True, system_apart=True, reader=reader)
    work = Work(messages, form, limits, options, lambda at: [f"messages[{at}]"], offered=[offer.name for offer in offers])
    return requested(work, form.with_offers({}, offers) if offers else {})


# What is asked for ----------------------------------------------------------------------------


def _named(format: str, model: str | None) -> Target:
    goal = target_of(format)
    return goal._replace(variant=model) if model else goal


def _source(history: object, named: str | None) -> str | None:
    """The format of a history, as it is named or told; None where it fits several and is fine in each."""
    if named is not None:
        return named
    found = guess(history)
    return found.format if found.is_told else None


def _target(history: object, named: str, target: str | None) -> tuple[Format, Limits]:
    source = target_of(named)
    goal = source if target is None else target_of(target)
    if goal.format != source.format:
        raise ConfigurationError(
            f"The history is in the format {source.format!r}, and the target {goal.format!r} is another: healing keeps the "
            "format. Name a target of the same one; `convert` moves the history to another."
        )
    form = format_of(source.format)
    return form, form.limits(goal.variant or (model_of(history, form) if target is None else ""))


def _require(value: object, name: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigurationError(f"{name}={value!r} is none of {', '.join(map(repr, allowed))}.")
