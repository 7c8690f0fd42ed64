"""Marks for Anthropic's prompt cache: never more than it takes, never where it refuses them, always at the same ends."""

from __future__ import annotations

from typing import Any

import pytest

from suture.formats.anthropic.blocks import marks
from suture.formats.anthropic.cache import with_cache_marks

TOOL = {"name": "t", "description": "", "input_schema": {}}


def user(content: object) -> dict[str, Any]:
    return {"role": "user", "content": content}


def words(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in texts]


ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "a"}]}
RESULT = user([{"type": "tool_result", "tool_use_id": "c1", "content": "r"}])


def marked(request: dict[str, Any]) -> list[str]:
    """Where the marks are."""
    places = []
    for name in ("tools", "system"):
        found = request.get(name)
        places += [
            f"{name}[{at}]" for at, one in enumerate(found if isinstance(found, list) else []) if "cache_control" in one
        ]
    for at, message in enumerate(request["messages"]):
        content = message["content"] if isinstance(message["content"], list) else []
        places += [f"messages[{at}].content[{n}]" for n, one in enumerate(content) if "cache_control" in one]
    return places


ROWS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("one question", {"messages": [user("q")]}, ["messages[0].content[0]"]),
    ("all there is", {"tools": [TOOL, TOOL], "system": "s", "messages": [user("q"), ANSWER, user(words("x", "y"))]},
     ["tools[1]", "system[0]", "messages[0].content[0]", "messages[2].content[1]"]),
    ("the last two of the user's", {"messages": [user("q"), ANSWER, RESULT, ANSWER, user("z")]}, ["messages[2].content[0]", "messages[4].content[0]"]),
    ("system in blocks", {"system": words("a", "b"), "messages": [user("q")]}, ["system[1]", "messages[0].content[0]"]),
    ("an empty message", {"messages": [user([])]}, []),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "places"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_marks_stand_at_the_ends(request_: dict[str, Any], places: list[str]) -> None:
    """Tools, system text and the end of the conversation now and a turn ago; four at most; the request is not touched."""
    before = repr(request_)
    made = with_cache_marks(request_)
    assert marked(made) == places
    assert marks(made) <= 4
    assert repr(request_) == before


def test_marks_of_the_hosts_own_are_left_alone() -> None:
    """Whoever marks by hand knows what they want."""
    own = {
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        "messages": [user("q")],
    }
    assert with_cache_marks(own) is own
