"""The time and new ids, as they stand in logs."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache

# Later than any clock says.
NEVER = "9999-12-31T23:59:59.999Z"


def now(ahead: float = 0.0) -> str:
    """The time that many seconds from now, UTC, ISO 8601 to the millisecond."""
    if not ahead:
        seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
        return f"{_second(seconds)}.{nanoseconds // 1_000_000:03}Z"
    try:
        moment = datetime.now(UTC) + timedelta(seconds=ahead)
    except OverflowError:
        return NEVER
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@lru_cache(maxsize=1)  # every append asks for the time
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


_VARIANTS = "89ab"


def new_id() -> str:
    """A UUID of version 7: ids made later sort later."""
    # As text from the start: an append has two, and `uuid.UUID` takes twice as long.
    milliseconds = (time.time_ns() // 1_000_000).to_bytes(6).hex()
    bits = os.urandom(10)
    random = bits[:9].hex()
    variant = _VARIANTS[bits[9] & 3]
    return f"{milliseconds[:8]}-{milliseconds[8:]}-7{random[:3]}-{variant}{random[3:6]}-{random[6:]}"
