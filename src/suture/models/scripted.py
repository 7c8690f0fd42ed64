"""A model that answers from a script, for tests and demonstrations: no key, no network."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from suture.arguments import parse
from suture.errors import ConfigurationError
from suture.messages import Assistant, Origin, Part, Reasoning, Text, ToolCall, Usage
from suture.models.base import Piece, ReasoningDelta, Request, TextDelta, ToolCallDelta

Turn: TypeAlias = Mapping[str, object]
Answer: TypeAlias = Turn | BaseException
Step: TypeAlias = Answer | Callable[[Request], Answer | Awaitable[Answer]]

_KEYS = frozenset(("text", "calls", "stop_reason", "usage", "reasoning"))
_PIECE = 24  # characters of a delta


class ScriptedModel:
    """Answers each request with the next step of a script.

    A step is a dict with any of `text`, `calls` (dicts of id, name and arguments: a dict, or the raw text as a
    model would write it), `reasoning`, `stop_reason`, `usage` (a dict or Usage); an exception, which is raised
    instead; or a function of the request that returns either, plain or async. `requests` holds what was asked.
    """

    def __init__(self, script: Sequence[Step], name: str = "scripted") -> None:
        self.name = name
        self.requests: list[Request] = []
        self._script = list(script)

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """The next step's answer, text and argument text in pieces."""
        self.requests.append(request)
        asked = len(self.requests)
        if asked > len(self._script):
            raise ConfigurationError(f"The script has {len(self._script)} steps, and request {asked} came. Add a step.")
        answer = await _answer(self._script[asked - 1], request)
        if isinstance(answer, BaseException):
            raise answer
        for piece in pieces(answer, self.name):
            yield piece


def from_file(path: str) -> ScriptedModel:
    """A model that answers from a JSON file: a list of turns, as `ScriptedModel` takes them. It begins with the first turn
    in each process; calls that name no id get one that the conversation has not seen.

    Raises:
        ConfigurationError: the file cannot be read, or holds something else.
    """
    try:
        script = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"The script {path!r} cannot be read: {error}. It is a JSON list of turns.") from error
    if not isinstance(script, list) or not all(isinstance(turn, dict) for turn in script):
        raise ConfigurationError(f'The script {path!r} is no JSON list of turns, such as [{{"text": "Hello."}}].')
    for turn in script:
        pieces(turn, "")
    return ScriptedModel([partial(_with_ids, turn) for turn in script], name=f"scripted:{path}")


def _with_ids(turn: Turn, request: Request) -> Turn:
    """The turn with an id for each call that has none, so that a script may begin anew in an old conversation."""
    if not (calls := turn.get("calls")):
        return turn
    assert isinstance(calls, list)
    before = sum(len(message.calls) for message in request.messages if isinstance(message, Assistant))
    return {**turn, "calls": [{"id": f"call_{before + at}", **call} for at, call in enumerate(calls, 1)]}


async def _answer(step: Step, request: Request) -> Answer:
    if not callable(step):
        return step
    answer = step(request)
    return await answer if inspect.isawaitable(answer) else answer


def pieces(turn: Turn, model: str) -> list[Piece]:
    """A turn of a script as a model would stream it.

    Raises:
        ConfigurationError: the turn has a key or a value that no script has.
    """
    if unknown := set(turn) - _KEYS:
        raise ConfigurationError(f"A scripted turn has {sorted(unknown)}; it may have {sorted(_KEYS)}.")
    out: list[Piece] = []
    parts: list[Part] = []
    if reasoning := str(turn.get("reasoning") or ""):
        parts.append(Reasoning(reasoning))
        out += [ReasoningDelta(piece) for piece in _cut(reasoning)]
    if text := str(turn.get("text") or ""):
        parts.append(Text(text))
        out += [TextDelta(piece) for piece in _cut(text)]
    calls = turn.get("calls") or ()
    if not isinstance(calls, Sequence):
        raise ConfigurationError("The `calls` of a scripted turn are a list of dicts with id, name and arguments.")
    for index, call in enumerate(calls):
        part, raw = _call(call)
        parts.append(part)
        out += [ToolCallDelta(index, part.id, part.name, piece) for piece in _cut(raw)]
    stop_reason = str(turn.get("stop_reason") or ("tool_use" if calls else "stop"))
    origin = Origin(provider="scripted", model=model)
    return [*out, Assistant(tuple(parts), stop_reason=stop_reason, usage=_usage(turn.get("usage")), origin=origin)]


def _cut(text: str) -> list[str]:
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]


def _call(call: object) -> tuple[ToolCall, str]:
    if not isinstance(call, Mapping) or "name" not in call:
        raise ConfigurationError(f"A scripted call is a dict with id, name and arguments, not {call!r}.")
    given = call.get("arguments")
    raw = given if isinstance(given, str) else json.dumps(given if given is not None else {})
    arguments, error, _ = parse(raw)
    kept = None if error is None else raw
    return ToolCall(str(call.get("id") or ""), str(call["name"]), arguments, kept, error), raw


def _usage(given: object) -> Usage | None:
    match given:
        case None | Usage():
            return given
        case Mapping():
            return Usage(**given)
        case _:
            raise ConfigurationError("The `usage` of a scripted turn is a dict of token counts, or a Usage.")
