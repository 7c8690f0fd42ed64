"""Heals a provider's message history: what comes out, that provider accepts; the report says what was done.

A history in which nothing is wrong comes back as the same object. The input is never changed. The same
history heals the same way every time, healing again changes nothing, and what cannot be made valid is
refused loudly. Real results move rather than vanish; whatever is left out stands in the report in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from suture.errors import ConfigurationError
from suture.formats import FORMATS, detect, format_of, target_of
from suture.formats.base import Finding, Format, Json, Limits, Target, fill
from suture.healing.healing import healed, request_of, require_format, trimmed, unhealable
from suture.healing.parts import THINKING_OFF
from suture.healing.passes import run
from suture.healing.surrogates import is_sendable, surrogate_findings, without_surrogates
from suture.healing.work import Change, Healed, Options, Work
from suture.messages import Message, Origin, System

__all__ = [
    "THINKING_OFF",
    "Change",
    "Finding",
    "Healed",
    "diagnose",
    "dump_messages",
    "fit",
    "heal",
    "load_messages",
    "refusal",
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

    `history` is a list of messages, or a request that holds them under `messages`; `target` names a dialect
    or a model of the same format. `pending` says what becomes of unanswered calls of the last turn: they are
    answered with a stand-in, kept for the caller to run, or dropped. `orphans` says whether results without a
    call are dropped or quoted as a note of the user's. An empty history comes back as it is.

    Raises:
        UnknownFormat, AmbiguousFormat: no format is named, and none or more than one fits; or the history
            is in another than was named.
        HistoryError: the history cannot be read; the message names the place.
        UnhealableHistory: something is left that the provider would refuse.
    """
    _require(pending, "pending", ("answer", "keep", "drop"))
    _require(orphans, "orphans", ("drop", "quote"))
    form, limits = _target(history, format, target)
    return healed(history, form, limits, Options(pending, orphans))


def diagnose(history: object, format: str | None = None, target: str | None = None) -> list[Finding]:
    """What the provider would refuse or take badly, by place; changes nothing. An empty history is one finding."""
    form, limits = _target(history, format, target)
    request = request_of(history)
    surrogates = [] if is_sendable(request) else surrogate_findings(request, form)
    found = form.check(request, limits, open_tail=False)
    require_format(request["messages"], form, found)
    return [*surrogates, *found]


def refusal(found: Finding) -> str:
    """What the provider answers to a finding, in its own words; blank where they are not known."""
    for name in FORMATS:
        rules = format_of(name).rules
        for id in found.rules:
            if id in rules:
                return fill(rules[id].error, found.facts)
    return ""


def load_messages(history: object, format: str | None = None) -> list[Message]:
    """The history as neutral messages; `dump_messages` writes them back as they were."""
    form, _ = _target(history, format, None)
    request = request_of(history)
    if not is_sendable(request):
        request, _ = without_surrogates(request, form)
    require_format(request["messages"], form)
    return [*form.lift(request), *form.decode(request["messages"]).messages]


def dump_messages(messages: Sequence[Message], format: str, model: str | None = None) -> Json:
    """The messages as a request of that format, as they are; `fit` makes it one that is valid."""
    goal = _named(format, model)
    form = format_of(goal.format)
    leading = 0
    if form.limits(goal.variant).system == "apart":
        leading = next((at for at, message in enumerate(messages) if type(message) is not System), len(messages))
    system = [message for message in messages[:leading] if type(message) is System]
    return {**form.head(system), "messages": form.encode(messages[leading:])}


def fit(messages: Sequence[Message], format: str, model: str | None = None, reader: Origin | None = None) -> Healed:
    """The messages as a request of that format, valid by its strictest reading whatever they are.

    Every call is answered, ids are unique in the whole request, nothing foreign or private is sent. `model` is a
    model or a dialect of the format; `reader` is who will be asked, and gets the reasoning back that it made itself.
    """
    goal = _named(format, model)
    form = format_of(goal.format)
    limits = form.limits(goal.variant)
    work = Work(
        messages, form, limits, Options(strict=True, system_apart=True, reader=reader), lambda at: [f"messages[{at}]"]
    )
    run(work)
    request, more = trimmed({**form.head(work.system), "messages": form.encode(work.messages)}, form)
    changes = [*work.changes, *more]
    if not is_sendable(request):
        request, more = without_surrogates(request, form)
        changes += more
    if left := [each for each in form.check(request, limits, open_tail=False) if each.refused and not each.hint]:
        raise unhealable(left)
    return Healed(request, changes, list(dict.fromkeys(work.hints)))


# What is asked for ----------------------------------------------------------------------------


def _named(format: str, model: str | None) -> Target:
    goal = target_of(format)
    return goal._replace(variant=model) if model else goal


def _target(history: object, format: str | None, target: str | None) -> tuple[Format, Limits]:
    source = target_of(format or target or detect(history))
    goal = source if target is None else target_of(target)
    if goal.format != source.format:
        raise ConfigurationError(
            f"The history is in the format {source.format!r}, and the target {goal.format!r} is another: healing keeps the "
            "format. Name a target of the same one; to change it, load_messages and then dump_messages."
        )
    form = format_of(source.format)
    return form, form.limits(goal.variant)


def _require(value: object, name: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigurationError(f"{name}={value!r} is none of {', '.join(map(repr, allowed))}.")
