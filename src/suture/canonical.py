"""One text for one JSON value, and texts that every encoder takes.

Digests, call keys and derived ids rest on `canonical`: keys sorted, no white space, integers exact,
`1` and `1.0` apart, non-finite numbers refused.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping

from suture.errors import NotJson

MAX_DEPTH = 200

_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")


def canonical(value: object) -> bytes:
    """The value as canonical JSON.

    Raises:
        NotJson: it holds something that is not JSON, a non-finite number, an integer of thousands of digits, or more
            than 200 levels.
    """
    require_json(value)
    try:
        text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError as error:  # all that is left: an integer with more digits than Python reads
        raise NotJson(f"{error}. Pass such a number as a text.") from error
    return text.encode("utf-8", "surrogatepass")


def digest(value: object) -> str:
    """The SHA-256 of the value's canonical JSON, in hex."""
    return hashlib.sha256(canonical(value)).hexdigest()


def require_json(value: object, at: str = "$", depth: int = 0) -> None:
    """Return when the value is JSON through and through.

    Raises:
        NotJson: naming the first place that is not.
    """
    if value is None or isinstance(value, str | bool | int):
        return
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotJson(f"{at}: {value} is no JSON number; use null or a text instead.")
        return
    if depth >= MAX_DEPTH:
        raise NotJson(f"{at}: nested deeper than {MAX_DEPTH} levels; flatten the value.")
    if isinstance(value, dict | Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise NotJson(f"{at}: the key {key!r} is no text; JSON objects have text keys.")
            require_json(item, f"{at}.{key}", depth + 1)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            require_json(item, f"{at}[{index}]", depth + 1)
    else:
        raise NotJson(f"{at}: {type(value).__name__} is not JSON; convert it to text, a list or a dict first.")


def is_encodable(text: str) -> bool:
    """Whether the text holds no surrogate code point."""
    return text.isascii() or not _SURROGATES.search(text)


def scrub(text: str) -> str:
    """The text without surrogates: split pairs are joined, lone halves become U+FFFD (rule ANT-SURROGATE)."""
    return text if is_encodable(text) else _SURROGATES.sub(_joined, text)


def _joined(match: re.Match[str]) -> str:
    return match[0].encode("utf-16", "surrogatepass").decode("utf-16") if len(match[0]) == 2 else "\ufffd"


def scrubbed(value: object) -> object:
    """A JSON value with `scrub` applied to every text in it, keys included; the same object when nothing changed."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, list | tuple):
        items = [scrubbed(item) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if isinstance(value, dict):
        pairs = {scrub(key): scrubbed(item) for key, item in value.items()}
        same = all(new is old for new, old in zip(pairs.values(), value.values(), strict=False))
        return value if same and pairs.keys() == value.keys() else pairs
    return value
