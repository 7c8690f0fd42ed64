"""A history on its way from one provider to another: read in the one's words, written as a request to the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from suture.formats.base import Format, Json, Left, Offer, model_of
from suture.formats.limits import Limits
from suture.healing.faults import is_partial
from suture.healing.flaws import as_meant
from suture.healing.given import checked
from suture.healing.healing import requested
from suture.healing.losses import losses, of_tools
from suture.healing.work import Change, Healed, Options, Work
from suture.messages import Assistant, Message, Origin

# The rules of a handoff behind the codes of what was changed.
_HANDOFF: Mapping[str, str] = {
    "ID_CHARS": "X-ID-FORM",
    "ID_LENGTH": "X-ID-FORM",
    "ID_REUSED": "X-ID-REUSE",
    "ID_DUPLICATE": "X-ID-REUSE",
    "ID_MISSING": "X-ID-MISSING",
    "THINKING_FOREIGN": "X-THINK-FOREIGN",
    "THINKING_UNSIGNED": "X-THINK-FOREIGN",
    "ENCRYPTED_FOREIGN": "X-THINK-FOREIGN",
    "SIGNATURE_MISSING": "X-THINK-LOOP",
    "SIGNATURE_FORM": "X-THINK-FOREIGN",
    "REASONING_FIELD_MISSING": "X-THINK-LOOP",
    "IMAGE_ROLE": "X-IMG-RESULT",
    "RESULT_ORDER": "X-ORDER",
    "SYSTEM_MISPLACED": "X-SYSTEM",
    "LAST_ASSISTANT": "X-TAIL",
    "USER_AFTER_TOOL": "X-BRIDGE",
    "NAME_PATTERN": "X-NAME",
    "ARGS_TYPE": "X-ARGS",
    "ARGS_NOT_OBJECT": "X-ARGS",
    "ARGS_UNPARSABLE": "X-ARGS",
    "RESULT_SHAPE": "X-RESULT-SHAPE",
    "RESULT_EMPTY_ERROR": "X-ERR-FLAG",
    "BLOCK_UNKNOWN": "X-SERVER-TOOL",
    "FIELD_UNKNOWN": "X-UNKNOWN-KEY",
    "CACHE_MARKS": "X-CACHE",
    "SURROGATE_LONE": "X-SURROGATE",
}
# What of a schema leaves it one of an object of whatever fields.
_SAYS_NOTHING = frozenset(("type", "properties", "required", "title", "$schema"))

REST_ELSEWHERE = "only what the request holds was converted; the rest of the conversation is at its provider"


def converted(history: object, source: Format, form: Format, limits: Limits) -> Healed:
    """`convert` between formats that are known."""
    given, _ = checked(history, source, source.limits(""), open_tail=True)
    raw = given.request[source.key]
    lifted = source.lift(given.request)
    decoded = source.decode(raw)
    # Nobody says which model made a turn; the one that the request names is the one that was spoken with.
    maker = Origin(source.name, model=model_of(given.request, source))
    messages: list[Message] = [*lifted, *[_made_by(as_meant(message, source), maker) for message in decoded.messages]]

    def places(at: int) -> list[str]:
        if at < len(lifted):
            return [source.head_keys[0]]
        home = decoded.homes[at - len(lifted)]
        paths = source.places(raw, decoded, home)[at - len(lifted)]
        prefix, origin = f"{source.key}[{home}]", f"{source.key}[{given.homes[home]}]"
        return [path.replace(prefix, origin, 1) for path in paths]

    offers = source.offers(given.request)
    options = Options(strict=True, system_apart=True)
    work = Work(messages, form, limits, options, places, offered=[offer.name for offer in offers])
    tools, left = _tools(given.request, offers, source, form, limits)
    made = requested(work, tools)
    changes = [_handed_over(change, source, form) for change in [*given.changes, *made.changes]]
    if source.name != form.name:
        changes += losses(messages, work.sources, places, source, limits)
    lost, whole = of_tools(left)
    keys = [key for key in given.request if key not in (source.key, *source.head_keys, *source.tool_keys)]
    hints = [f"not carried over: {', '.join([*keys, *whole])}"] if keys or whole else []
    if is_partial(given.request, source, source.limits("")):
        hints.append(REST_ELSEWHERE)
    return Healed(made.history, [*changes, *lost], list(dict.fromkeys([*made.hints, *hints])))


def _tools(request: Json, offers: Sequence[Offer], source: Format, form: Format, limits: Limits) -> tuple[Json, list[Left]]:
    """The tools of a request, and the choice among them, as another provider takes them, and what stays behind."""
    if source.name == form.name:
        return {key: request[key] for key in source.tool_keys if key in request}, []
    tools = form.with_offers({}, offers) if offers else {}
    left = [*source.left(request), *_schemas_left(offers, form.offers(tools))]
    choice = source.choice(request)
    if choice is None:
        return tools, left
    is_known = choice.kind in limits.choices and (choice.kind != "named" or choice.name in {each.name for each in offers})
    chosen = form.with_choice(tools, choice) if offers and is_known else tools
    return chosen, left if form.choice(chosen) == choice else [*left, Left(source.choice_path)]


def _schemas_left(offers: Sequence[Offer], written: Sequence[Offer]) -> Iterator[Left]:
    """The schemas that the target has no form for, though they say something."""
    for offer, fresh in zip(offers, written, strict=True):
        given = offer.parameters or {}
        says = {key for key in given.keys() - _SAYS_NOTHING if not isinstance(given[key], bool)}
        if fresh.parameters is None and says:
            yield Left(f"tools ({offer.name})", "parameters", given)


def _made_by(message: Message, maker: Origin) -> Message:
    if type(message) is not Assistant or message.origin is not None:
        return message
    return msgspec.structs.replace(message, origin=maker)


def _handed_over(change: Change, source: Format, form: Format) -> Change:
    rule = _HANDOFF.get(change.code)
    if not change.rules and rule is None:
        rule = source.rule_of.get(change.code)  # what was mended is known at the source alone
    if rule == "X-THINK-FOREIGN" and source.name == form.name:
        rule = "X-THINK-MODEL"
    return change if rule is None else msgspec.structs.replace(change, rules=(*change.rules, rule))
