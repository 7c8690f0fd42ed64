"""The time and new ids, as they stand in logs."""

from __future__ import annotations

import os
import time
import uuid
from datetime import UTC, datetime


def now() -> str:
    """The time, UTC, ISO 8601 to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def new_id() -> str:
    """A UUID of version 7: ids made later sort later."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    value = (milliseconds & (1 << 48) - 1) << 80 | 7 << 76 | (random >> 68 & 0xFFF) << 64 | 2 << 62 | random & (1 << 62) - 1
    return str(uuid.UUID(int=value))
