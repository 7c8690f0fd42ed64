"""History files: read whole or not at all, written whole or not at all.

A file holds a request (an object with `messages`), a list of messages, or one message per line. What is
written has the shape of what was read; a history that did not change is written as the bytes that it was.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, NoReturn, TypeAlias, TypeVar

from suture.cli.console import json_bytes
from suture.errors import HistoryError, UnhealableHistory

MAX_BYTES = 256 * 1024 * 1024
STDIN = "-"

T = TypeVar("T")
Shape: TypeAlias = Literal["json", "lines"]

_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x00\x00\xfe\xff": "UTF-32"}


@dataclass(frozen=True)
class HistoryFile:
    """What a file holds. `content` are its bytes, without the byte order mark that it may have begun with."""

    name: str
    content: bytes
    history: object
    shape: Shape
    had_bom: bool

    def through(self, work: Callable[[object], T]) -> T:
        """What `work` makes of the history; its errors name the file."""
        try:
            return work(self.history)
        except UnhealableHistory:
            raise
        except HistoryError as error:
            raise type(error)(f"{self.name}: {error}") from error
        except RecursionError as error:
            raise _broken(self.name, None, error, whole=True) from error

    def written(self, history: object) -> bytes:
        """That history in this file's shape."""
        if history is self.history:
            return self.content
        if self.shape == "lines" and isinstance(history, list):
            return b"".join(json_bytes(message, indent=None) for message in history)
        return json_bytes(history)


def read_history(path: str) -> HistoryFile:
    """The history in a file, or on stdin for "-".

    Raises:
        HistoryError: it cannot be read; the message names the file, the place, and what to do.
    """
    name = "<stdin>" if path == STDIN else path
    content = _content(path, name)
    had_bom = content.startswith(_BOM)
    content = content.removeprefix(_BOM)
    if not content.strip():
        raise HistoryError(f"{name}: the file is empty. A history is at least a list: [].")
    shape, history = _parsed(_decoded(content, name), name)
    return HistoryFile(name, content, history, shape, had_bom)


# Bytes ----------------------------------------------------------------------------------------


def _content(path: str, name: str) -> bytes:
    try:
        if path == STDIN:
            return _bounded(sys.stdin.buffer, name)
        with Path(path).open("rb") as file:
            if os.fstat(file.fileno()).st_size > MAX_BYTES:
                _too_large(name)
            return _bounded(file, name)
    except OSError as error:
        raise HistoryError(f"{name}: cannot be read: {_reason(error)}.") from error


def _reason(error: Exception) -> str:
    """Why the system refused, in its words."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def _bounded(file: BinaryIO, name: str) -> bytes:
    content = file.read(MAX_BYTES + 1)
    return content if len(content) <= MAX_BYTES else _too_large(name)


def _too_large(name: str) -> NoReturn:
    raise HistoryError(f"{name}: larger than {MAX_BYTES // 1024**2} MiB, which no provider takes. Cut the history first.")


def _decoded(content: bytes, name: str) -> str:
    for bom, encoding in _OTHER_BOMS.items():
        if content.startswith(bom):
            raise HistoryError(f"{name}: the file is {encoding}, and JSON is UTF-8. Save it as UTF-8.")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise HistoryError(
            f"{name}:{line}: byte {error.start} ({content[error.start]:#04x}) is not UTF-8. Save the file as UTF-8."
        ) from error


# JSON -----------------------------------------------------------------------------------------


def _parsed(text: str, name: str) -> tuple[Shape, object]:
    try:
        value = _json(text)
    except json.JSONDecodeError as error:
        if not _is_lines(text, name):
            raise _broken(name, error.lineno, error, whole=True) from error
        return "lines", _lines(text, name)
    except (ValueError, RecursionError) as error:
        raise _broken(name, None, error, whole=True) from error
    return ("lines", [value]) if _is_message(value) else ("json", value)


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


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and "role" in value and "messages" not in value


def _lines(text: str, name: str) -> list[object]:
    messages = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            message = _json(line)
        except (ValueError, RecursionError) as error:
            raise _broken(name, number, error, whole=False) from error
        if isinstance(message, dict) and "messages" in message:
            raise HistoryError(
                f"{name}:{number}: the line is a whole history, not a message. Put each history into a file of its own."
            )
        messages.append(message)
    return messages


def _json(text: str) -> object:
    return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number; use null or a text instead")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if abs(number) != float("inf") else _refuse_constant(digits)


def _broken(name: str, line: int | None, error: Exception, *, whole: bool) -> HistoryError:
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


# Writing --------------------------------------------------------------------------------------


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it holds the old content or the new, never a part.

    Raises:
        HistoryError: it cannot be written. What was there still is.
    """
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            target.write_bytes(content)
        else:
            _replace(target, content)
    except (OSError, RuntimeError) as error:  # RuntimeError: a circle of links
        raise HistoryError(f"{path}: cannot be written: {_reason(error)}.") from error


def _replace(target: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), _mode(target))
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """The mode of the file that is replaced; of a new one what the umask leaves."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
