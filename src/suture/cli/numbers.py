"""Numbers as a file wrote them: `1.0e3` and `0.10` say the same as what Python writes for them, and stay as they came."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

_STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_TOKEN = re.compile(rb"%b|-?\d[\d.eE+-]*" % _STRING, re.DOTALL)
# What Python may write in another way; whole numbers but -0 it writes as they came.
_ODD = re.compile(rb"%b|(-?\d[\d+-]*[.eE][\d.eE+-]*|-0(?![\d.eE]))" % _STRING, re.DOTALL)


def as_they_came(written: bytes, content: bytes) -> bytes:
    """JSON that was written anew, with each of its numbers as `content` has a number of that value.

    Where several are of one value and differ in how they are written, they stay in their order; if some are gone or new,
    nobody knows which, and those are as Python writes them.
    """
    texts = _texts(content)
    if not texts:
        return written
    counts = Counter(found[0] for found in _TOKEN.finditer(written) if found[0] in texts)
    taken: Counter[bytes] = Counter()

    def text(found: re.Match[bytes]) -> bytes:
        number = found[0]
        came = texts.get(number)
        if came is None or (len(came) != counts[number] and len(set(came)) > 1):
            return number
        taken[number] += 1
        return came[min(taken[number], len(came)) - 1]

    return _TOKEN.sub(text, written)


def _texts(content: bytes) -> Mapping[bytes, Sequence[bytes]]:
    """How the numbers are written that Python writes otherwise, by how it does; with all others of their values."""
    odd = {_pythons(found[1]) for found in _ODD.finditer(content) if found[1] and _pythons(found[1]) != found[1]}
    texts: defaultdict[bytes, list[bytes]] = defaultdict(list)
    for found in _TOKEN.finditer(content) if odd else ():
        if found[0][:1] != b'"' and (number := _pythons(found[0])) in odd:
            texts[number].append(found[0])
    return texts


def _pythons(number: bytes) -> bytes:
    return json.dumps(json.loads(number)).encode()
