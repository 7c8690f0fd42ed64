"""Deeds and runs to draw: what anybody may do to a session, and how somebody may run it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from hypothesis import strategies as st

from suture.errors import Overloaded
from suture.loop.request import Request
from suture.models.scripted import ScriptedModel
from tests.agent.deeds import Op
from tests.agent.world import NAMES, TEXTS, World
from tests.loop.scenarios import is_asked_to_sum_up

T = TypeVar("T")

# What happens to a session while somebody runs it. The last two take it away from them.
MEANWHILE = (
    *("user", "calls", "result", "result_again", "result_by_key", "steer", "interrupt", "approve", "deny", "settle"),
    *(
        "update",
        "set",
        "erase",
        "report",
        "forge_edit",
        "forge_removal",
        "forge_settlement",
        "forge_garbage",
        "overtake",
        "take_over",
    ),
)

# What happens inside of a handler.
INSIDE = (
    "user",
    "steer",
    "interrupt",
    "update",
    "update_calls",
    "remove",
    "set",
    "unset",
    "discard",
    "erase",
    "result_by_key",
    "calls",
)


class Turn(NamedTuple):
    """An answer of the model's: words, and calls as tool and arguments."""

    text: str
    calls: tuple[tuple[str, object], ...] = ()

    def step(self, world: World) -> Mapping[str, object]:
        """Without calls it is paused, and goes on when it is sent back."""
        calls = [{"id": world.new_id(), "name": name, "arguments": arguments} for name, arguments in self.calls]
        stopped = {} if calls else {"stop_reason": "pause"}
        return {"text": self.text, "calls": calls, "usage": {"input_tokens": 7, "output_tokens": len(calls)}, **stopped}


@dataclass(frozen=True)
class Plan:
    """A run: its prompt, or None to go on; what the model answers; and what happens meanwhile.

    `inside` is done by the first handler that runs, `meanwhile` by somebody else before the run's question of that number,
    and the run `dies` at another. With `tight`, its past is summed up as often as it can be. The model `fails` so often
    before its first answer, and is asked twice at most.
    """

    prompt: str | None
    turns: tuple[Turn, ...] = ()
    inside: Op | None = None
    meanwhile: tuple[int, Op] | None = None
    dies: int | None = None
    tight: bool = False
    fails: int = 0
    is_async: bool = False
    max_steps: int = 4
    max_concurrency: int = 4


def model_of(plan: Plan, world: World) -> ScriptedModel:
    """A model that gives the plan's turns, and then no more calls."""
    turns = deque(plan.turns)

    def step(request: Request) -> Mapping[str, object]:
        if is_asked_to_sum_up(request):
            return {"text": world.summary()}
        return turns.popleft().step(world) if turns else {"text": "done", "usage": {"output_tokens": 1}}

    return ScriptedModel([*[Overloaded("Too many.", retry_after=0.0)] * plan.fails, *[step] * 40])


# Drawing --------------------------------------------------------------------------------------

ARGUMENTS = st.sampled_from(({"n": 1}, {"n": 2}, {"n": 3}, {"n": "4"}, {"m": 1}, '{"n": 5'))
CALLS = st.lists(st.tuples(st.sampled_from(NAMES), ARGUMENTS), max_size=3).map(tuple)
TURNS = st.lists(st.builds(Turn, st.sampled_from(("on it", "")), CALLS), min_size=1, max_size=3).map(tuple)
QUESTIONS = st.integers(1, 12) | st.integers(1, 80)  # most runs ask no more than the fewer


def ops(names: tuple[str, ...]) -> st.SearchStrategy[Op]:
    """Any of these deeds."""
    return st.builds(Op, st.sampled_from(names), st.integers(0, 19), st.sampled_from(TEXTS))


def seldom(one: st.SearchStrategy[T]) -> st.SearchStrategy[T | None]:
    """Nothing, mostly."""
    return st.none() | st.none() | one


def plans(prompts: tuple[str | None, ...] = ("go", "again", None)) -> st.SearchStrategy[Plan]:
    """Any run."""
    return st.builds(
        Plan,
        st.sampled_from(prompts),
        TURNS,
        inside=seldom(ops(INSIDE)),
        meanwhile=seldom(st.tuples(QUESTIONS, ops(MEANWHILE))),
        dies=seldom(QUESTIONS),
        tight=st.booleans(),
        fails=st.sampled_from((0, 0, 0, 1, 2)),
        is_async=st.booleans(),
        max_steps=st.sampled_from((1, 4, 4)),
        max_concurrency=st.sampled_from((1, 4, 4)),
    )
