"""Texts that cannot be encoded: halves of surrogate pairs, as a cut through an emoji leaves them."""

from __future__ import annotations

import msgspec

from suture.canonical import scrubbed
from suture.errors import NotJson
from suture.formats.base import Format, Json
from suture.formats.rule import Finding, finding
from suture.healing.plain import is_plain, require_plain
from suture.healing.work import Change

SURROGATE = "SURROGATE_LONE"


def is_sendable(request: Json, form: Format) -> bool:
    """Whether the messages and the system text can be encoded as they are.

    Raises:
        NotJson: they hold what is no JSON at all; the message names the place.
    """
    try:
        if not is_plain(request, form):
            require_plain(request, form)
    except UnicodeEncodeError:
        require_plain(request, form)
        return False
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        require_plain(request, form)
        raise NotJson("The history holds a value that is not JSON; pass plain JSON values.") from None
    return True


def surrogate_finding(path: str, form: Format) -> Finding:
    """What is wrong with a text that cannot be encoded."""
    sentence = "The text holds half a surrogate pair, so the request cannot be encoded."
    return finding(form.rules[form.rule_of[SURROGATE]], SURROGATE, path, sentence)


def without_surrogates(request: Json, form: Format) -> tuple[Json, list[Change]]:
    """The request with split pairs joined and lone halves replaced."""
    action = "joined split surrogate pairs and replaced lone halves"
    rules = (form.rule_of[SURROGATE],)
    changes = [Change(code=SURROGATE, rules=rules, path=path, action=action) for path in _places(request, form)]
    clean: Json = {key: scrubbed(request[key]) for key in (*form.head_keys, form.key) if key in request}
    return {**request, **clean}, changes


def _places(request: Json, form: Format) -> list[str]:
    parts: list[tuple[str, object]] = [(key, request.get(key)) for key in form.head_keys]
    parts += [(f"{form.key}[{index}]", message) for index, message in enumerate(request[form.key])]
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
