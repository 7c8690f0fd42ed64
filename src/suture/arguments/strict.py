"""The arguments of a call, read strictly: one JSON object, exactly as it was meant, or a reason why not.

Nothing is guessed. Bounds are checked before the work they bound: length, then depth, tokens and digits
by a lexical scan, then decoding, so that no text can exhaust memory, time or the stack. Integers are
exact. Null and blank text are a call without arguments.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias

import msgspec

from suture.canonical import scrub

Problem: TypeAlias = Literal[
    "invalid_json",
    "truncated",
    "concatenated",
    "invalid_arguments",
    "invalid_key",
    "duplicate_key",
    "lone_surrogate",
    "too_large",
    "too_deep",
    "too_many_nodes",
    "number_too_large",
    "non_finite_number",
    "non_json_value",
]

MAX_LENGTH = 8 * 1024 * 1024
MAX_DEPTH = 64
MAX_NODES = 10_000
MAX_NUMBER = 64 * 1024
# Python reads and writes no longer integers unless told to, so one that got in could not be sent again.
MAX_DIGITS = 4_300

# A text that is not closed runs to the end, so that the scan never looks at a character twice.
_TOKENS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]|,|-?\d[\d.eE+-]*+', re.DOTALL)
_EXCERPT = 40
_SHOWN = 2 * _EXCERPT

Holder: TypeAlias = Mapping[Any, object] | list[object] | tuple[object, ...]
_Copy: TypeAlias = dict[str, object] | list[object]


class Parsed(NamedTuple):
    """The arguments, or the code of what is wrong with them and one sentence that a model can act on."""

    arguments: dict[str, object] | None
    error: Problem | None = None
    reason: str | None = None


class Unreadable(Exception):
    """What is no JSON value within the bounds: the code of what is wrong, and one sentence that a model can act on."""

    def __init__(self, error: Problem, reason: str) -> None:
        super().__init__(reason)
        self.error = error
        self.reason = reason


def parse(raw: object) -> Parsed:
    """The arguments as a dict of their own: from text as a model wrote it, from a mapping, or from None."""
    try:
        if raw is None or (isinstance(raw, str) and not raw.strip()):
            return Parsed({})
        value = value_of(raw) if isinstance(raw, str) else raw
        if value is None:
            return Parsed({})
        if isinstance(value, dict) and isinstance(raw, str) and is_small(raw):
            return Parsed(value)
        if not isinstance(value, Mapping):
            raise Unreadable("invalid_arguments", f"The arguments are {kind_of(value)}; send one JSON object.")
        return Parsed(bounded_copy(value))
    except Unreadable as refused:
        return Parsed(None, refused.error, refused.reason)


# Text -----------------------------------------------------------------------------------------


def value_of(text: str) -> object:
    """The JSON value of the text, an object or not.

    Raises:
        Unreadable: it is none, or breaks a bound that can be seen in the text.
    """
    if (found := plain(text)) is not None:
        return found
    if len(text) > MAX_LENGTH or (not text.isascii() and len(text.encode("utf-8", "surrogatepass")) > MAX_LENGTH):
        raise Unreadable("too_large", "The arguments are longer than 8 MiB; send less in one call.")
    _scan(text)
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise Unreadable("invalid_json", _syntax(text, error)) from None
    except ValueError:
        raise _too_long() from None


def plain(text: str) -> dict[str, object] | list[object] | None:
    """The object or list in a small text, by the fast decoder; None when it is none, or more has to be looked at.

    That decoder takes the last of two equal keys. None was lost when the value is written as the text was, or, since a
    text without `\\u` escapes its quotes alone, with as many quotes.
    """
    if not _is_short(text):
        return None
    try:
        value = _quickly(text)
        again = _encode(value)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None
    is_whole = (len(again) == len(text) and again == text.encode()) or again.count(b'"') == text.count('"')
    return value if is_whole and type(value) in (dict, list) else None  # type: ignore[return-value]


def _quickly(text: str) -> object:
    """The value in a text that is short; None when it may be too deep. The type tells what is shallow."""
    try:
        return _decode_shallow(text)
    except msgspec.ValidationError:
        return _decode_any(text) if _is_flat(text) else None


def _shallow(levels: int) -> object:
    """The type of a JSON value of at most so many levels."""
    leaf = None | bool | int | float | str
    return leaf | list[_shallow(levels - 1)] | dict[str, _shallow(levels - 1)] if levels else leaf  # type: ignore[misc]


# The time to make a decoder doubles with each level.
_decode_shallow = msgspec.json.Decoder(dict[str, _shallow(5)]).decode  # type: ignore[misc]
_decode_any = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def is_small(text: str) -> bool:
    """Whether a text is too short, flat and plain for its value to break a bound or hold surrogates."""
    return _is_short(text) and _is_flat(text)


def _is_short(text: str) -> bool:
    return len(text) <= MAX_DIGITS and text.isascii() and not ("\\" in text and "\\u" in text)


def _is_flat(text: str) -> bool:
    return text.count("{") + text.count("[") <= MAX_DEPTH


def _scan(text: str) -> None:
    """Return when the text is within the bounds that can be seen without decoding it."""
    if is_small(text):
        return
    depth, nodes = 0, 1
    for match in _TOKENS.finditer(text):
        token = match[0]
        first = token[0]
        if first in "{[":
            depth, nodes = depth + 1, nodes + 1
            if depth > MAX_DEPTH:
                raise _too_deep()
        elif first in "}]":
            depth -= 1
        elif first == ",":
            nodes += 1
        elif first != '"' and (len(token) > MAX_NUMBER or (len(token) > MAX_DIGITS and token.lstrip("-").isdigit())):
            raise _too_long()
        # An empty container has one comma or value less than it has openings, hence the factor.
        if nodes > 2 * MAX_NODES:
            raise _too_many()


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """One decoded object; a second value under one key would hide the first."""
    found: dict[str, object] = {}
    for key, value in pairs:
        _put(found, key, value)
    return found


def _constant(name: str) -> object:
    raise Unreadable("non_finite_number", f"{name} is no JSON number; send a finite number or null.")


def _finite(token: str) -> float:
    number = float(token)
    return number if math.isfinite(number) else _infinite()


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_finite)


def _syntax(text: str, error: json.JSONDecodeError) -> str:
    rest = text[error.pos :]
    if not rest.strip() or error.msg.startswith("Unterminated string"):
        return f"The arguments end before the JSON object is complete, after {len(text)} characters; send it whole."
    if error.msg == "Extra data":
        return f"After the JSON object, at character {error.pos}, more text follows: {_clip(rest)}. Send one object alone."
    what = error.msg[0].lower() + error.msg[1:]
    return f"The arguments are not valid JSON at character {error.pos}: {what}, found {_clip(rest)}. Send one JSON object."


# Values ---------------------------------------------------------------------------------------


def bounded_copy(root: Holder) -> dict[str, object]:
    """A copy of the object, without surrogates.

    Raises:
        Unreadable: it breaks a bound, or holds what is not JSON.
    """
    copies: dict[str, object] = {}
    stack: list[tuple[Holder, _Copy, int]] = [(root, copies, 1)]
    nodes, size = 1, 0
    while stack:
        source, copy, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise _too_deep()
        for key, value in _items(source):
            nodes += 1
            size += len(key) + (len(value) if isinstance(value, str) else 0)
            if nodes > MAX_NODES:
                raise _too_many()
            if size > MAX_LENGTH:
                raise Unreadable("too_large", "The arguments hold more than 8 MiB of text; send less in one call.")
            kept: object
            if isinstance(value, Mapping | list | tuple):
                inner: _Copy = {} if isinstance(value, Mapping) else []
                stack.append((value, inner, depth + 1))
                kept = inner
            else:
                kept = _leaf(value)
            if isinstance(copy, dict):
                _put(copy, key, kept)
            else:
                copy.append(kept)
    return copies


def whole_copy(root: Holder) -> dict[str, object]:
    """A copy of the object, in which no text held half of a surrogate pair, of which nobody knows the other half.

    Raises:
        Unreadable: it breaks a bound, holds what is not JSON, or half of a pair.
    """
    copied = bounded_copy(root)  # first, since only what is bounded can be looked through
    _require_whole_texts(root)
    return copied


def _require_whole_texts(value: object) -> None:
    try:
        _encode(value)
    except (TypeError, ValueError, msgspec.MsgspecError):  # a text with halves, or a mapping that is no dict
        if any(_HALF.search(text) for text in _texts(value)):
            what = "A text holds half of a surrogate pair, as a cut through an emoji leaves it; send the whole character."
            raise Unreadable("lone_surrogate", what) from None


def _texts(root: object) -> Iterator[str]:
    stack = [root]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            stack.extend([*value.keys(), *value.values()])
        elif isinstance(value, list | tuple):
            stack.extend(value)


_HALF = re.compile("(?<![\ud800-\udbff])[\udc00-\udfff]|[\ud800-\udbff](?![\udc00-\udfff])")


def _items(source: Holder) -> Iterator[tuple[str, object]]:
    if not isinstance(source, Mapping):
        yield from (("", value) for value in source)
        return
    for key, value in source.items():
        if not isinstance(key, str):
            raise Unreadable("invalid_key", f"The key {_clip(repr(key))} is no text; JSON objects have text keys.")
        yield key, value


def _put(found: dict[str, object], key: str, value: object) -> None:
    name = scrub(key)
    if name in found:
        raise Unreadable("duplicate_key", f"The key {_clip(name)} is given twice in one object; give it once.")
    found[name] = value


def _leaf(value: object) -> object:
    """A value that holds no others."""
    if isinstance(value, str):
        return scrub(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not -_LONGEST < value < _LONGEST:
            raise _too_long()
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _infinite()
    what = kind_of(value)
    raise Unreadable("non_json_value", f"The arguments hold {what}; send texts, numbers, booleans, lists and objects.")


_LONGEST = 10**MAX_DIGITS


def _infinite() -> NoReturn:
    raise Unreadable("non_finite_number", "A number is too large or not finite; send a finite number or null.")


def _too_deep() -> Unreadable:
    return Unreadable("too_deep", f"The arguments are nested deeper than {MAX_DEPTH} levels; flatten them.")


def _too_many() -> Unreadable:
    return Unreadable("too_many_nodes", f"The arguments hold more than {MAX_NODES:,} values; send less in one call.")


def _too_long() -> Unreadable:
    return Unreadable("number_too_large", "A number has more digits than can be read; send it as text.")


_NAMES = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number"}


def kind_of(value: object) -> str:
    """What a value is, in words."""
    return "null" if value is None else _NAMES.get(type(value), f"a value of type {type(value).__name__}")


def _clip(text: str) -> str:
    shown = repr(text if len(text) <= _EXCERPT else text[:_EXCERPT] + "…")
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"  # escapes take up to ten times the room
