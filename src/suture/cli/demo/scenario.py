"""What happens in the demo, as data: who asks for what, and what the scripted model answers, turn by turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

LIMIT: Final = 500
PROMPT: Final = "Send Sarah the spring box, and her boss Tom the big one."
STEER: Final = "Please answer in one short sentence."
FOUND_OUT: Final = "Parcel 7731 is on its way to Sarah."

# The calls of the first turn. Two run at a time, so at the kill the third has never started.
SLOTS: Final = 2
RESERVE, SEND, FIND, GATED = "call_1", "call_2", "call_3", "call_4"

EFFECTS: Final[Mapping[str, Literal["read", "idempotent", "external"]]] = {
    "reserve_box": "idempotent",
    "send_gift": "external",
    "find_customer": "read",
}

# How often each handler has to have run at the end: the idempotent one once more after the kill, the others once.
PROMISED: Final[Mapping[str, int]] = {RESERVE: 2, SEND: 1, FIND: 1, GATED: 1}

TURNS: Final[Sequence[Mapping[str, object]]] = (
    {
        "text": "I reserve the spring box, send it, and look Tom up.",
        "calls": [
            {"id": RESERVE, "name": "reserve_box", "arguments": {"box": "spring"}},
            {"id": SEND, "name": "send_gift", "arguments": {"to": "Sarah", "total": 120}},
            {"id": FIND, "name": "find_customer", "arguments": {"name": "Tom"}},
        ],
    },
    {
        "text": "Sarah's box is on its way. Now the big one for Tom.",
        "calls": [{"id": GATED, "name": "send_gift", "arguments": {"to": "Tom", "total": 900}}],
    },
    {"text": "Both boxes are on their way."},
)
