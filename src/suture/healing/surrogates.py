"""Texts that cannot be encoded: halves of surrogate pairs, as a cut through an emoji leaves them."""

from __future__ import annotations

import msgspec

from suture.canonical import require_json, scrubbed
from suture.errors import NotJson
from suture.formats.base import Finding, Format, Json, finding
from suture.healing.work import Change

_CODE = "SURROGATE_LONE"


def is_sendable(request: Json) -> bool:
    """Whether the messages and the system text can be encoded as they are.

    Raises:
        NotJson: they hold what is no JSON at all; the message names the place.
    """
    try:
        msgspec.json.encode((request["messages"], request.get("system")))
    except UnicodeEncodeError:
        require_json(request["messages"], "messages")
        return False
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        require_json(request["messages"], "messages")
        require_json(request.get("system"), "system")
        raise NotJson("The history holds a value that is not JSON; pass plain JSON values.") from None
    return True


def surrogate_findings(request: Json, form: Format) -> list[Finding]:
    """One for each text that cannot be encoded."""
    rule = form.rules[form.rule_of[_CODE]]
    sentence = "The text holds half a surrogate pair, so the request cannot be encoded."
    return [finding(rule, _CODE, path, sentence) for path in _places(request)]


def without_surrogates(request: Json, form: Format) -> tuple[Json, list[Change]]:
    """The request with split pairs joined and lone halves replaced."""
    action = "joined split surrogate pairs and replaced lone halves"
    rules = (form.rule_of[_CODE],)
    changes = [Change(code=_CODE, rules=rules, path=path, action=action) for path in _places(request)]
    clean: Json = {key: scrubbed(request[key]) for key in ("system", "messages") if key in request}
    return {**request, **clean}, changes


def _places(request: Json) -> list[str]:
    parts: list[tuple[str, object]] = [("system", request.get("system"))]
    parts += [(f"messages[{index}]", message) for index, message in enumerate(request["messages"])]
    return [place for path, part in parts if not _encodes(part) for place in _inside(part, path)]


def _inside(value: object, path: str) -> list[str]:
    """Where in a value the texts and keys are that cannot be encoded."""
    if isinstance(value, dict):
        keys = [f"{path} (a key)" for key in value if not _encodes(key)]
        return keys + [place for key, item in value.items() for place in _inside(item, f"{path}.{key}")]
    if isinstance(value, list | tuple):
        return [place for index, item in enumerate(value) for place in _inside(item, f"{path}[{index}]")]
    return [] if _encodes(value) else [path]


def _encodes(value: object) -> bool:
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return False
    return True
