"""Findings beside what they are about, and whether a request holds all of its history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from suture.formats.base import Decoded, Format, Json
from suture.formats.limits import Limits
from suture.formats.rule import Finding
from suture.formats.wire import index_in
from suture.healing.work import Faults
from suture.messages import Assistant


def by_thing(found: Sequence[Finding], decoded: Decoded, form: Format) -> Faults:
    """The findings by the identity of the message or part that came from the place; of None for the request."""
    at: defaultdict[int | None, list[int]] = defaultdict(list)
    for part, index in decoded.items.items():
        at[index].append(part)
    for message, home in zip(decoded.messages, decoded.homes, strict=True):
        if type(message) is not Assistant:
            at[home].append(id(message))
    at[None] = [id(None)]
    faults: defaultdict[int, list[Finding]] = defaultdict(list)
    for each in found:
        for thing in at[index_in(each.path, form.key)]:
            faults[thing].append(each)
    return faults


def is_partial(request: Json, form: Format, limits: Limits) -> bool:
    """Whether the provider has a part of the history, so that a result without a call may answer one there."""
    if any(request.get(key) for key in limits.goes_on):
        return True
    return bool(limits.references) and any(
        (message.get("type") or "item_reference") in limits.references
        for message in request[form.key]
        if "role" not in message
    )
