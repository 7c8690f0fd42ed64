"""Heals a provider's message history: what comes out, that provider accepts; the report says what was done.

A history in which nothing is wrong comes back as the same object. The input is never changed. The same
history heals the same way every time, healing again changes nothing, and what cannot be made valid is
refused loudly. Real results move rather than vanish; whatever is left out stands in the report in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from suture.canonical import require_json, scrubbed
from suture.errors import ConfigurationError, NotJson, UnhealableHistory, UnknownFormat
from suture.formats import FORMATS, detect, format_of, target_of
from suture.formats.base import Finding, Format, Json, Limits, Target, Written, fill, finding, messages_of
from suture.messages import Message, System, Text
from suture.passes import Change, Options, Work, run

__all__ = ["Change", "Finding", "Healed", "diagnose", "dump_messages", "fit", "heal", "load_messages", "refusal"]

Pending: TypeAlias = Literal["answer", "keep", "drop"]
Orphans: TypeAlias = Literal["drop", "quote"]


class Healed(msgspec.Struct, frozen=True):
    """A history that may be sent, in the shape in which it was given, and what was done to it.

    `history` is the very object that was given when nothing had to change. `hints` name what only the
    caller can change in the request, such as `thinking: off`.
    """

    history: object
    changes: list[Change] = []
    hints: list[str] = []

    @property
    def changed(self) -> bool:
        """Whether anything was done."""
        return bool(self.changes)


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
        UnknownFormat, AmbiguousFormat: no format is named, and none or more than one fits.
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
    request = _request(history, messages_of(history))
    surrogates = [] if _is_sendable(request) else _surrogates(request, form)
    found = form.check(request, limits, open_tail=False)
    if any(each.severity == "REJ" for each in found):
        _require_format(request["messages"], form)
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
    request = _request(history, messages_of(history))
    if not _is_sendable(request):
        request, _ = _without_surrogates(request, form)
    _require_format(request["messages"], form)
    return [*form.lift(request), *form.decode(request["messages"]).messages]


def dump_messages(messages: Sequence[Message], format: str, model: str | None = None) -> Json:
    """The messages as a request of that format, as they are; `fit` makes it one that is valid."""
    goal = _named(format, model)
    form = format_of(goal.format)
    leading = 0
    if form.limits(goal.variant).system == "apart":
        leading = next((at for at, message in enumerate(messages) if not isinstance(message, System)), len(messages))
    system = [message for message in messages[:leading] if isinstance(message, System)]
    return {**form.head(system), "messages": form.encode(messages[leading:])}


def fit(messages: Sequence[Message], format: str, model: str | None = None) -> Healed:
    """The messages as a request of that format, valid by its strictest reading whatever they are.

    Every call is answered, ids are unique in the whole request, nothing foreign or private is sent.
    """
    goal = _named(format, model)
    form = format_of(goal.format)
    limits = form.limits(goal.variant)
    work = Work(messages, form, limits, Options(strict=True, system_apart=True), lambda at, _: f"messages[{at}]")
    run(work)
    request = {**form.head(work.system), "messages": form.encode(work.messages)}
    request, changes = _trimmed(request, form)
    left = [f for f in form.check(request, limits, open_tail=False) if f.refused and not f.hint]
    if left:
        raise _unhealable(left)
    return Healed(request, [*work.changes, *changes], work.hints)


# One healing ----------------------------------------------------------------------------------


def healed(history: object, form: Format, limits: Limits, options: Options) -> Healed:
    """`heal` for a target whose limits are known."""
    request = _request(history, messages_of(history))
    unencodable = not _is_sendable(request)
    open_tail = options.pending == "keep"
    changes: list[Change] = []
    if unencodable:
        request, changes = _without_surrogates(request, form)
    found = form.check(request, limits, open_tail=open_tail)
    hints = [each.hint for each in found if each.hint]
    if not any(each.severity == "REJ" and not each.hint for each in found):
        return Healed(_in_shape(history, request) if changes else history, changes, hints)
    _require_format(request["messages"], form)
    for _ in range(2):
        request, more, told = _pass(request, form, limits, options._replace(system_apart=isinstance(history, dict)))
        changes += more
        hints += told
        left = [f for f in form.check(request, limits, open_tail=open_tail) if f.severity == "REJ" and not f.hint]
        if not left:
            break
    if left := [f for f in left if f.refused]:
        raise _unhealable(left)
    return Healed(_in_shape(history, request), changes, list(dict.fromkeys(hints)))


def _pass(request: Json, form: Format, limits: Limits, options: Options) -> tuple[Json, list[Change], list[str]]:
    """One run of all passes over a request."""
    raw = request["messages"]
    decoded = form.decode(raw)
    work = Work(decoded.messages, form, limits, options, lambda at, part: form.place(raw, decoded, at, part))
    run(work)
    fresh = {**request, "messages": form.rewrite(raw, decoded, Written(work.messages, work.sources))}
    head, changes = _head(form.lift(request), work.system, form)
    fresh, trimmed = _trimmed({**fresh, **head}, form)
    return fresh, [*work.changes, *changes, *trimmed], work.hints


def _head(lifted: Sequence[System], more: Sequence[System], form: Format) -> tuple[Json, list[Change]]:
    """The request's own system text, without blank texts and with what was found among the messages."""
    kept: list[System] = []
    changes: list[Change] = []
    for message in lifted:
        parts = tuple(part for part in message.parts if type(part) is not Text or part.text.strip())
        if len(parts) < len(message.parts):
            rules = (form.rule_of["TEXT_BLANK"],)
            changes.append(
                Change(code="TEXT_BLANK", rules=rules, path="system", call_id=None, action="left out a blank text")
            )
        if parts:
            kept.append(message if len(parts) == len(message.parts) else System(parts, ext=message.ext))
    if not (changes or more):
        return {}, []
    return form.head([*kept, *more]) or {"system": []}, changes


def _trimmed(request: Json, form: Format) -> tuple[Json, list[Change]]:
    """The request within the limits that count over all of it."""
    request, paths = form.trim(request)
    rule = form.rule_of.get("CACHE_MARKS", "")
    return request, [
        Change(code="CACHE_MARKS", rules=(rule,), path=path, call_id=None, action="took the mark for the cache away")
        for path in paths
    ]


def _unhealable(left: Sequence[Finding]) -> UnhealableHistory:
    more = f" (and {len(left) - 1} more)" if len(left) > 1 else ""
    return UnhealableHistory(f"After healing, the history still breaks a rule: {left[0]}{more}. Mend that by hand.", left)


# Reading --------------------------------------------------------------------------------------


def _named(format: str, model: str | None) -> Target:
    goal = target_of(format)
    return goal._replace(variant=model) if model else goal


def _target(history: object, format: str | None, target: str | None) -> tuple[Format, Limits]:
    source = target_of(format if format is not None else detect(history))
    goal = source if target is None else target_of(target)
    if goal.format != source.format:
        raise ConfigurationError(
            f"heal keeps the format of a history ({source.format}); {goal.format!r} is another. Use load_messages and "
            "dump_messages to change it."
        )
    form = format_of(source.format)
    return form, form.limits(goal.variant)


def _require(value: object, name: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigurationError(f"{name}={value!r} is none of {', '.join(map(repr, allowed))}.")


def _is_sendable(request: Json) -> bool:
    """Whether the request can be encoded as it is.

    Raises:
        NotJson: it holds what is no JSON at all.
    """
    try:
        msgspec.json.encode((request["messages"], request.get("system")))
    except UnicodeEncodeError:
        require_json(request["messages"], "messages")
        return False
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        require_json(request["messages"], "messages")
        require_json(request.get("system"), "system")
        raise NotJson("The history holds a value that is not JSON; pass plain JSON values.") from None
    return True


def _request(history: object, messages: list[Json]) -> Json:
    return history if isinstance(history, dict) else {"messages": messages}


def _in_shape(history: object, request: Json) -> object:
    return request if isinstance(history, dict) else request["messages"]


def _require_format(messages: Sequence[Json], form: Format) -> None:
    """Refuse a history that is in another format than was said, before anything is done to it."""
    for name in FORMATS:
        other = format_of(name)
        if other.name == form.name:
            continue
        for index, message in enumerate(messages):
            if (sign := other.sign(message)) and not form.sign(message):
                raise UnknownFormat(
                    f"messages[{index}] has {sign}, which is {other.name}'s and not {form.name}'s. "
                    f"Name the format that the history is in: format={other.name!r}."
                )


# Surrogates -----------------------------------------------------------------------------------


def _surrogates(request: Json, form: Format) -> list[Finding]:
    """The texts that cannot be encoded."""
    rule = form.rules[form.rule_of["SURROGATE_LONE"]]
    sentence = "The text holds half a surrogate pair, so the request cannot be encoded."
    return [finding(rule, "SURROGATE_LONE", path, sentence) for path in _unencodable(request)]


def _unencodable(request: Json) -> list[str]:
    parts: list[tuple[str, object]] = [("system", request.get("system"))]
    parts += [(f"messages[{index}]", message) for index, message in enumerate(request["messages"])]
    if _encodes([part for _, part in parts]):
        return []
    return [place for path, part in parts if not _encodes(part) for place in _places(part, path)]


def _encodes(value: object) -> bool:
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return False
    return True


def _places(value: object, path: str) -> list[str]:
    """Where in a value the texts and keys are that cannot be encoded."""
    if isinstance(value, dict):
        keys = [f"{path} (a key)" for key in value if not _encodes(key)]
        return keys + [place for key, item in value.items() for place in _places(item, f"{path}.{key}" if path else key)]
    if isinstance(value, list | tuple):
        return [place for index, item in enumerate(value) for place in _places(item, f"{path}[{index}]")]
    return [] if _encodes(value) else [path]


def _without_surrogates(request: Json, form: Format) -> tuple[Json, list[Change]]:
    action = "joined split surrogate pairs and replaced lone halves"
    rules = (form.rule_of["SURROGATE_LONE"],)
    changes = [
        Change(code="SURROGATE_LONE", rules=rules, path=path, call_id=None, action=action) for path in _unencodable(request)
    ]
    clean: Json = {key: scrubbed(request[key]) for key in ("system", "messages") if key in request}
    return {**request, **clean}, changes
