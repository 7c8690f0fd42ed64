"""A history on its way from one provider to another: read in the one's words, written as a request to the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from suture.formats.base import Format, Json
from suture.formats.limits import Limits
from suture.healing.given import checked
from suture.healing.healing import fitted, unhealable
from suture.healing.losses import losses, of_tools
from suture.healing.passes import run
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


def converted(history: object, source: Format, form: Format, limits: Limits) -> Healed:
    """`convert` between formats that are known."""
    given, _ = checked(history, source, source.limits(""), open_tail=True)
    raw = given.request[source.key]
    lifted = source.lift(given.request)
    decoded = source.decode(raw)
    maker = Origin(source.name)
    messages: list[Message] = [*lifted, *[_made_by(message, maker) for message in decoded.messages]]

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
    run(work)
    request, more = fitted(work, form.with_offers({}, offers) if offers else {})
    if refused := [each for each in form.check(request, limits, open_tail=False) if each.refused and not each.hint]:
        raise unhealable(refused)
    changes = [_handed_over(change) for change in [*given.changes, *work.changes, *more]]
    left: list[str] = []
    if source.name != form.name:
        changes += losses(messages, work.sources, places, source, limits)
        lost, left = of_tools(given.request, source)
        changes += lost
    return Healed(request, changes, list(dict.fromkeys([*work.hints, *_not_carried(given.request, source, left)])))


def _made_by(message: Message, maker: Origin) -> Message:
    if type(message) is not Assistant or message.origin is not None:
        return message
    return msgspec.structs.replace(message, origin=maker)


def _handed_over(change: Change) -> Change:
    rule = _HANDOFF.get(change.code)
    return change if rule is None else msgspec.structs.replace(change, rules=(*change.rules, rule))


def _not_carried(request: Json, source: Format, tools: Sequence[str]) -> Sequence[str]:
    """A hint for what of the request only its provider understands."""
    offered = source.with_offers({}, source.offers(request)) if source.offers(request) else {}
    left = [
        key for key in request if key not in (source.key, *source.head_keys, *offered) and not (tools and key == "tools")
    ]
    return [f"not carried over: {', '.join([*left, *tools])}"] if left or tools else []
