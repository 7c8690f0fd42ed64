"""The file name of a session: one per id on every file system, also where case and accents do not tell names apart."""

from __future__ import annotations

import hashlib
import re

_LONGEST = 200
_KEPT = 100
_plain = re.compile(rb"[^a-z0-9_-]")
_whole = re.compile(r"(?:[a-z0-9_-]|%[0-9a-f]{2})*")

EMPTY = "%"
"""The name of the session whose id is the empty text: no other id makes it."""


def name_of(session_id: str) -> str:
    """The id with all but small letters, digits, `_` and `-` as `%` and two digits per byte; of a long one the
    beginning and its SHA-256.
    """
    name = _plain.sub(lambda found: b"%%%02x" % ord(found[0]), session_id.encode()).decode("ascii")
    if len(name) <= _LONGEST:
        return name or EMPTY
    return f"{name[:_KEPT]}.{hashlib.sha256(session_id.encode()).hexdigest()}"


def id_of(name: str) -> str | None:
    """The id of a session whose file has that name; None when the name does not tell, as that of a long id."""
    if name == EMPTY:
        return ""
    if not name or not _whole.fullmatch(name):
        return None
    raw = re.sub(rb"%([0-9a-f]{2})", lambda found: bytes.fromhex(found[1].decode()), name.encode())
    try:
        id = raw.decode()
    except UnicodeDecodeError:
        return None
    return id if name_of(id) == name else None
