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
        text = _text(each)
        if text and text not in texts:
            texts.add(text)
            yield text
        if not isinstance(each, str | bytes | bytearray | Mapping | Sequence):
            waiting.extend(_kept(each))


def _text(value: object) -> str:
    match value:
        case str():
            return value[:MOST]
        case bytes() | bytearray():
            return value[:MOST].decode(errors="replace")
        case Mapping() | Sequence():
            return _flat(value)
        case _:
            return _as_str(value)[:MOST]


def _flat(document: object) -> str:
    """All keys and values of a document, in its order."""
    said: list[str] = []
    room = MOST
    waiting = [document]
    while waiting and room > 0:
        each = waiting.pop()
        room -= 1  # a document that holds itself comes to an end
        match each:
            case str() | bytes() | bytearray():
                said.append(_text(each))
            case Mapping():
                pairs = list(islice(each.items(), _MOST_VALUES))
                waiting += [one for key, value in reversed(pairs) for one in (value, key)]
            case Sequence():
                waiting += reversed(each[:_MOST_VALUES])
            case _:
                said.append(_as_str(each)[:MOST])
        room -= len(said[-1]) if said else 0
    return " ; ".join(said)[:MOST]


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
    if name == "text" and getattr(owner, "_content", None) is False:
        return None  # a response that was not read yet: asking would read it from the network
    try:
        return getattr(owner, name, None)
    except Exception:  # noqa: BLE001  a stranger's property may raise anything
        return None
