"""The markup of chat templates that means nothing by itself: control tokens, and the elements that wrap a call.

What is known is listed. Any other element could be an argument, and any other token could say something, as do
`<amount>5</amount>` and `<|cancel|>`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import NamedTuple

_PIECE = re.compile(r"<([|｜]?)(/?)([A-Za-z][\w :▁.-]*)(/?)([|｜]?)>")
_SEPARATORS = re.compile(r"[ \u2581-]")
# The end of thoughts that stand elsewhere, or none; a value inside of them is none of a call.
_THOUGHTS = ("think", "thinking", "thought", "reasoning")
_THOUGHT = re.compile(rf"(?:<(?:{'|'.join(_THOUGHTS)})>\s*)?</(?:{'|'.join(_THOUGHTS)})>")

# Around one call, or around all of an answer's; by their names without a namespace.
_WRAPPERS = frozenset(
    (
        "args",
        "arguments",
        "call",
        "function",
        "function_call",
        "function_calls",
        "functions",
        "input",
        "invoke",
        "json",
        "params",
        "parameters",
        "tool",
        "tool_call",
        "tool_calls",
        "tool_input",
        "tool_use",
    )
)
# With its beginning it would strike the value out.
_END_OF_TEXT = "s"
# Around a name or one argument, where the wrapping went wrong: their ends alone stick to the name of a tool.
_PIECES = frozenset(("arg_key", "arg_value", "function_name", "name", "parameter", "tool_name"))

_OPENING = frozenset(
    (
        "action_start",
        "begin_of_sentence",
        "begin_of_text",
        "bos",
        "channel",
        "constrain",
        "im_start",
        "message",
        "plugin",
        "python_tag",
        "start",
        "start_action",
        "start_header_id",
        "start_of_turn",
        "start_of_turn_token",
        "tool_call",
        "tool_call_argument_begin",
        "tool_call_begin",
        "tool_call_start",
        "tool_calls",
        "tool_calls_begin",
        "tool_calls_section_begin",
        "tool_sep",
    )
)
_CLOSING = frozenset(
    (
        "action_end",
        "call",
        "end",
        "end_action",
        "end_header_id",
        "end_of_sentence",
        "end_of_text",
        "end_of_turn",
        "end_of_turn_token",
        "endoftext",
        "eom",
        "eom_id",
        "eos",
        "eot",
        "eot_id",
        "im_end",
        "pad",
        "return",
        "tool_call_argument_end",
        "tool_call_end",
        "tool_calls_end",
        "tool_calls_section_end",
    )
)
# Those that are written without bars; any other name without them is an element's.
_BARE = frozenset(("bos", "end_of_turn", "eos", "pad", "start_of_turn"))
# What the tokens of a header name: who speaks, on which channel, in what form.
HEADERS = frozenset(("assistant", "commentary", "json", "commentary json"))


class _Piece(NamedTuple):
    """A control token, or one tag of an element; its name in small letters, without a namespace."""

    name: str
    is_token: bool
    is_end: bool


def words_before(text: str, own: Collection[str]) -> str | None:
    """What stands before a value, with a line's end for each piece of known markup; None when some is unknown.

    `own` are names, in small letters, of which an element would give the value.
    """

    def known(piece: _Piece) -> bool:
        if piece.is_token:
            return piece.name in _OPENING or piece.name in _CLOSING
        return piece.name in _WRAPPERS and piece.name not in own

    return _without(text if any(name in own for name in _THOUGHTS) else _THOUGHT.sub("\n", text), known)


def words_behind(text: str, own: Collection[str]) -> str | None:
    """The same of what stands behind a value, where nothing may begin."""

    def known(piece: _Piece) -> bool:
        if piece.is_token:
            return piece.name in _CLOSING or (piece.is_end and piece.name in _OPENING)
        return piece.is_end and (piece.name in _WRAPPERS or piece.name == _END_OF_TEXT) and piece.name not in own

    return _without(text, known)


def words_on_name(text: str) -> str | None:
    """The same of what sticks to the end of a tool's name."""

    def known(piece: _Piece) -> bool:
        if piece.is_token:
            return piece.name in _OPENING or piece.name in _CLOSING
        return piece.is_end and (piece.name in _WRAPPERS or piece.name in _PIECES or piece.name == _END_OF_TEXT)

    return _without(text, known)


def _without(text: str, known: Callable[[_Piece], bool]) -> str | None:
    left: list[str] = []
    at = 0
    for found in _PIECE.finditer(text):
        if not known(_piece(found)):
            return None
        left.append(text[at : found.start()])
        at = found.end()
    rest = "\n".join([*left, text[at:]])
    return None if "<" in rest or ">" in rest else rest


def _piece(found: re.Match[str]) -> _Piece:
    bar, slash, written, closed, other_bar = found.groups()
    name = _SEPARATORS.sub("_", written.rpartition(":")[2].strip().lower())
    return _Piece(name, bool(bar or other_bar) or name in _BARE, bool(slash or closed))
