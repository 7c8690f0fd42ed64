"""One run in a process of its own: `python -m tests.live.talker URL DATABASE EXTRA [PROMPT]`; without a prompt it resumes.

It says each piece of the answer as it comes, and last the status, in lines of JSON.
"""

from __future__ import annotations

import json
import os
import sys

import suture
from suture.loop.events import TextDelta
from suture.models import OpenAIChat
from tests.live.children import LIMIT

SESSION = "talk"


def say(word: str) -> None:
    os.write(1, json.dumps(word).encode() + b"\n")


def main(url: str, database: str, extra: str, prompt: str | None = None) -> None:
    session = suture.Session(suture.open_store(f"sqlite:///{database}"), id=SESSION)
    model = OpenAIChat("smollm2-135m", base_url=f"{url}/v1", timeout=LIMIT, extra=json.loads(extra))
    stream = suture.Agent(model, session=session).stream(prompt)
    for event in stream:
        if isinstance(event, TextDelta):
            say(event.text)
    say(stream.result.status)


if __name__ == "__main__":
    main(*sys.argv[1:])
