"""JSON as files hold it: UTF-8, finite, one document or one in each line; what is wrong is told with its place."""

from __future__ import annotations

import json
from typing import Literal, NoReturn

from suture.errors import HistoryError

BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x00\x00\xfe\xff": "UTF-32"}


def decoded(content: bytes, name: str, *, is_line: bool = False) -> str:
    """The text of a file, or of a line of it.

    Raises:
        HistoryError: it is not UTF-8.
    """
    for bom, encoding in _OTHER_BOMS.items():
        if content.startswith(bom):
            raise HistoryError(f"{name}: the file is {encoding}, and JSON is UTF-8. Save it as UTF-8.")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        where = name if is_line else f"{name}:{line}"
        raise HistoryError(
            f"{where}: byte {error.start} ({content[error.start]:#04x}) is not UTF-8. Save the file as UTF-8."
        ) from error


def history_of(text: str, name: str) -> tuple[Literal["json", "lines"], object]:
    """The history that a text is: one document, or one message per line.

    Raises:
        HistoryError: it is neither.
    """
    try:
        value = _json(text)
    except json.JSONDecodeError as error:
        if not _is_lines(text, name):
            raise broken(name, error.lineno, error, whole=True) from error
        return "lines", _messages(text, name)
    except (ValueError, RecursionError) as error:
        raise broken(name, None, error, whole=True) from error
    return ("lines", [value]) if _is_message(value) else ("json", value)


def line_of(text: str, name: str) -> object:
    """The whole conversation that a line of a data set is.

    Raises:
        HistoryError: it is none.
    """
    try:
        value = _json(text)
    except (ValueError, RecursionError) as error:
        raise broken(name, None, error, whole=False) from error
    if _is_conversation(value):
        return value
    if _is_message(value):
        raise HistoryError(
            f"{name}: the line is one message, and others are whole conversations. Put its conversation into one line."
        )
    raise _no_conversation(value, name)


def _no_conversation(value: object, name: str) -> HistoryError:
    """The error for a line of another shape than a provider's."""
    shapes = f"neither a list nor an object with {_in_words(_KEYS)}"
    foreign = next((key for key in _FOREIGN if isinstance(value, dict) and key in value), None)
    advice = "" if foreign is None else f" Write its {foreign!r} as 'messages' with 'role' and 'content'."
    return HistoryError(f"{name}: the line is no conversation: {shapes}.{advice}")


def kind_of(line: bytes) -> Literal["conversation", "message"] | None:
    """What a line by itself is; None when it is neither."""
    try:
        value = _json(line.decode())
    except (ValueError, RecursionError):
        return None
    return "conversation" if _is_conversation(value) else "message" if isinstance(value, dict) else None


def format_of(line: bytes) -> str | None:
    """The format that a line of a data set tells by itself; None when it fits several, or is none."""
    from suture.formats import detect

    try:
        return detect(line_of(line.removeprefix(BOM).decode(), ""))
    except (HistoryError, ValueError, RecursionError):
        return None


# What a value is ------------------------------------------------------------------------------

_KEYS = ("messages", "input", "contents")
_FOREIGN = ("conversations", "conversation", "dialog", "dialogue")  # where data sets of other programs keep theirs


def _in_words(keys: tuple[str, ...]) -> str:
    *others, last = map(repr, keys)
    return f"{', '.join(others)} or {last}"


def _is_conversation(value: object) -> bool:
    """Whether it is a list, or a request. Some items of Responses have an `input` of their own, and a type."""
    if isinstance(value, list):
        return True
    if not isinstance(value, dict):
        return False
    return "messages" in value or "contents" in value or ("input" in value and not value.keys() & {"type", "role"})


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and "role" in value and "messages" not in value


def _is_lines(text: str, name: str) -> bool:
    """Whether the text is meant as one message per line: its name says so, or its first or second line is an object."""
    if name.endswith((".jsonl", ".ndjson")):
        return True
    return any(_is_object(line) for line in [line for line in text.split("\n", 3)[:3] if line.strip()][:2])


def _is_object(line: str) -> bool:
    try:
        return isinstance(_json(line), dict)
    except (ValueError, RecursionError):
        return False


def _messages(text: str, name: str) -> list[object]:
    messages = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            message = _json(line)
        except (ValueError, RecursionError) as error:
            raise broken(name, number, error, whole=False) from error
        if isinstance(message, dict) and "messages" in message:
            raise HistoryError(
                f"{name}:{number}: the line is a whole conversation, and others are messages. Put each conversation into "
                "one line."
            )
        if isinstance(message, dict) and "role" not in message and any(key in message for key in _FOREIGN):
            raise _no_conversation(message, f"{name}:{number}")
        messages.append(message)
    return messages


# JSON -----------------------------------------------------------------------------------------


def _json(text: str) -> object:
    """The value; two values under one key would be one of them lost, so that is an error."""
    value: object = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    # As many quotes as there were: no key is gone. Where a text escapes its quotes otherwise, the second reading tells.
    if json.dumps(value, ensure_ascii=False).count('"') != text.count('"'):
        json.loads(text, object_pairs_hook=_once)
    return value


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if found.setdefault(key, value) != value:
            raise ValueError(f"an object has the key {key[:40]!r} twice; keep the one that is meant")
    return found


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number; use null or a text instead")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if abs(number) != float("inf") else _refuse_constant(digits)


def broken(name: str, line: int | None, error: Exception, *, whole: bool) -> HistoryError:
    """The error that says where a text is no JSON, and what to do."""
    where = name if line is None else f"{name}:{line}"
    if isinstance(error, RecursionError):
        return HistoryError(f"{where}: nested deeper than suture reads. Flatten it.")
    if not isinstance(error, json.JSONDecodeError):
        return HistoryError(f"{where}: not JSON: {_number_fault(error)}.")
    unit = "file" if whole else "line"
    if error.msg.startswith("Unterminated string") or not error.doc[error.pos :].strip():
        return HistoryError(f"{where}: not JSON: the {unit} ends in the middle. It may have been cut off; get it whole.")
    what = f"{error.msg[:1].lower()}{error.msg[1:]}"
    return HistoryError(f"{where}: not JSON at column {error.colno}: {what}. Correct that {unit}, then try again.")


def _number_fault(error: Exception) -> str:
    return "a number has thousands of digits" if "digits" in str(error) else str(error)
