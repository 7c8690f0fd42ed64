"""What an error says, whatever kind of thing it is: text, a document in any envelope, an SDK's exception, a response.

Nothing of an SDK is imported: an object is asked for the names under which SDKs keep what the provider said.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from suture.formats.wording import MOST

# Where exceptions and responses keep what was said, that nearest to the provider first.
_KEPT = ("body", "details", "detail", "message", "response", "text", "errors", "exceptions", "__cause__", "__context__")

_MOST_OBJECTS = 64
_MOST_VALUES = 4096  # of one list or object


def texts_of(error: object) -> Iterator[str]:
    """Each text that an error holds, bounded; never raises, whatever the error's own code does."""
    waiting: deque[object] = deque([error])
    seen: set[int] = set()
    texts: set[str] = set()
    while waiting and len(seen) < _MOST_OBJECTS:
        each = waiting.popleft()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        text, more = _read(each)
        if text and text not in texts:
            texts.add(text)
            yield text
        waiting.extend(more)


def _read(value: object) -> tuple[str, list[object]]:
    """What a thing says, and what it keeps; nothing where its own code breaks."""
    try:
        if _is_document(value):
            return _flat(value), []
        return _text(value), [] if isinstance(value, str | bytes | bytearray) else list(_kept(value))
    except Exception:  # noqa: BLE001  a stranger's attributes may raise anything
        return "", []


def _is_document(value: object) -> bool:
    """Whether it is an object or a list; what only counts up holds nothing that anybody said."""
    return isinstance(value, Mapping | Sequence) and not isinstance(value, str | bytes | bytearray | memoryview | range)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value[:MOST]
    if isinstance(value, bytes | bytearray):
        return value[:MOST].decode(errors="replace")
    return _as_str(value)[:MOST]


def _flat(document: object) -> str:
    """All keys and values of a document, in its order; of one that holds itself each object and list once."""
    said: list[str] = []
    room = MOST
    waiting = [document]
    seen: set[int] = set()
    while waiting and room > 0:
        each = waiting.pop()
        room -= 1
        if not _is_document(each):
            said.append(_text(each))
            room -= len(said[-1])
        elif id(each) not in seen:
            seen.add(id(each))
            waiting += reversed(_inside(each))
    return " ; ".join(said)[:MOST]


def _inside(document: object) -> list[object]:
    """The keys and values of a document, one after the other."""
    try:
        if isinstance(document, Mapping):
            return [one for pair in islice(document.items(), _MOST_VALUES) for one in pair]
        return list(islice(document, _MOST_VALUES)) if isinstance(document, Sequence) else []
    except Exception:  # noqa: BLE001  a stranger's container may raise anything
        return []


def _as_str(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001  a stranger's __str__ may raise anything
        return ""


def _kept(owner: object) -> Iterator[object]:
    for name in _KEPT:
        value = _attribute(owner, name)
        # Of a method, and of what is only there for programs, nobody can read anything.
        if value is not None and not callable(value) and not isinstance(value, type):
            yield value


def _attribute(owner: object, name: str) -> object:
    try:
        if name == "text" and getattr(owner, "_content", None) is False:
            return None  # a response that was not read yet: asking would read it from the network
        return getattr(owner, name, None)
    except Exception:  # noqa: BLE001  a stranger's property may raise anything
        return None
