"""The tools of a request, as its history needs them: a model that sees calls of tools that it is not offered is refused
by some providers, and calls them again at others.
"""

from __future__ import annotations

from collections.abc import Sequence

from suture.formats.base import Format, Json, Offer, is_whole
from suture.formats.limits import Limits
from suture.healing.work import Change, rules_of
from suture.messages import Assistant, Message

STUB = "No longer available."


def with_missing(request: Json, form: Format, limits: Limits, messages: Sequence[Message]) -> tuple[Json, list[Change]]:
    """The request with a stub for each tool that the history calls and the target wants defined, and does not find.

    A history alone is left as it is: which tools its request has is not known.
    """
    if limits.tools == "free" or not is_whole(request, form):
        return request, []
    offered = {offer.name for offer in form.offers(request)}
    called = dict.fromkeys(call.name for message in messages if type(message) is Assistant for call in message.calls)
    if limits.tools == "needed" and offered:
        return request, []
    missing = [name for name in called if name not in offered]
    if not missing:
        return request, []
    code = "NAME_UNDECLARED" if offered else "TOOLS_MISSING"
    path = form.tool_keys[0]
    changes = [
        Change(
            code=code,
            rules=rules_of(code, form, limits),
            path=path,
            action=f"defined {name!r} as a stub",
            detail=STUB,
        )
        for name in missing
    ]
    return form.with_offers(request, [Offer(name, STUB) for name in missing]), changes
