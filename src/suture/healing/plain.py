"""What a history must be before anything reads it: plain JSON, through and through.

At the door one pass in C looks at the messages and the system text, and only where that one is not content are the values
walked, to name the place. The rest of a request is its caller's, and may hold what an SDK takes. Depth, and a list or
object where a text belongs, no such pass sees: when the reading of a history breaks, they are looked for, and an error of
which the history is not the cause goes on as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain

import msgspec

from suture.canonical import require_json
from suture.errors import HistoryError, SutureError
from suture.formats import FORMATS, format_of
from suture.formats.base import Format, Json
from suture.formats.wire import kind_of

_SLICE = 64  # messages

# What is a text in every format.
_TEXTS = frozenset(("type", "role", "id", "name", "call_id", "tool_call_id", "tool_use_id", "toolUseId", "text"))
# What tools are given and give, or their schemas say: its keys are nobody else's.
_OF_TOOLS = frozenset(("input", "args", "arguments", "response", "json", "parameters", "input_schema", "inputSchema"))

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def is_plain(request: Json, form: Format) -> bool:
    """Whether the messages and the system text come back as they were when they are encoded and read; what is no JSON is
    encoded as what it is like, a set as a list.

    Raises:
        UnicodeEncodeError, TypeError, ValueError, RecursionError, MsgspecError: they cannot be encoded.
    """
    messages = request[form.key]
    # In slices, since what is made of a whole history sets off Python's collector.
    slices = (messages[at : at + _SLICE] for at in range(0, len(messages), _SLICE))
    return all(_decode(_encode(each)) == each for each in chain(slices, [request.get(key) for key in form.head_keys]))


def require_plain(request: Json, form: Format) -> None:
    """Return when they are JSON, but for what the format's own SDK has.

    Raises:
        NotJson: naming the first place that is not.
    """
    for key in (form.key, *form.head_keys):
        _require_json(request.get(key), key, form.bytes_under)


def _require_json(value: object, at: str, keys: frozenset[str]) -> None:
    try:
        require_json(_ours(value, keys), at)
    except RecursionError:
        require_json(value, at)


def _ours(value: object, keys: frozenset[str]) -> object:
    """The value without what an SDK has in it: bytes under those keys, and objects, of which whoever reads them says more.

    What a call or a result holds is none of that.
    """
    if callable(getattr(value, "model_dump", None)):
        return None
    if isinstance(value, list):
        return [_ours(item, keys) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: None if key in keys and isinstance(item, bytes) else item if key in _OF_TOOLS else _ours(item, keys)
        for key, item in value.items()
    }


@contextmanager
def place_named(history: object, format: str | None) -> Iterator[None]:
    """An error that the history is to blame for becomes one that names the place."""
    try:
        yield
    except SutureError:
        raise
    except (TypeError, ValueError, AttributeError, LookupError, RecursionError) as error:
        whole = history if isinstance(history, Mapping) else {format_of(format).key if format else "messages": history}
        for name, value in whole.items():
            _require_json(value, str(name), _anybodys_bytes())
            if (path := _no_text(value, str(name))) is not None:
                raise HistoryError(f"{path}, not a text. Correct it, or leave it out.") from error
        raise


def _anybodys_bytes() -> frozenset[str]:
    return frozenset(key for name in FORMATS for key in format_of(name).bytes_under)


def _no_text(value: object, path: str) -> str | None:
    """The first place where a text belongs and something else stands, and what that is."""
    if isinstance(value, list | tuple):
        each = (_no_text(item, f"{path}[{at}]") for at, item in enumerate(value))
        return next((found for found in each if found), None)
    if not isinstance(value, Mapping):
        return None
    for key, item in value.items():
        if key in _TEXTS and not isinstance(item, str | None):
            return f"{path}.{key} is {kind_of(item)}"
        if key not in _OF_TOOLS and (found := _no_text(item, f"{path}.{key}")):
            return found
    return None
