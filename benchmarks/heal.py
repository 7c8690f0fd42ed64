"""heal against turnsafe's repair, on the same histories, alternating within one run. Prints medians and ratios.

    PYTHONPATH=src python benchmarks/heal.py [MESSAGES]

A history has a fault in one turn of 50: a lost, a late, a doubled or a parentless result in turn. Growth is how many times
longer ten times the messages take, ours and theirs; bad shapes show that cost grows with size alone.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import turnsafe

from suture.healing import heal

Json = dict[str, Any]

ROUNDS = 9
FAULT_EVERY = 50
FAULTS = ("lost", "late", "twice", "stray")


def openai_history(size: int, *, faults: bool) -> list[Json]:
    """Turns of question, call, result, answer."""
    messages: list[Json] = []
    for turn in range(size // 4):
        id = f"call_{turn}"
        fault = FAULTS[turn // FAULT_EVERY % len(FAULTS)] if faults and turn % FAULT_EVERY == 7 else ""
        question = {"role": "user", "content": f"Question {turn}: {'what about it? ' * 8}"}
        arguments = json.dumps({"query": "x" * 40, "limit": turn})
        call = {"id": id, "type": "function", "function": {"name": "search", "arguments": arguments}}
        result = {"role": "tool", "tool_call_id": id, "content": f"Result {turn}: {'found it. ' * 20}"}
        answer = {"role": "assistant", "content": f"Answer {turn}: {'that is so. ' * 8}."}
        messages += [question, {"role": "assistant", "content": None, "tool_calls": [call]}]
        messages += {
            "": [result, answer],
            "lost": [answer, {"role": "user", "content": "And?"}],
            "late": [answer, result],
            "twice": [result, result, answer],
            "stray": [result, answer, {**result, "tool_call_id": f"gone_{turn}"}],
        }[fault]
    return messages


def anthropic_history(size: int, *, faults: bool) -> list[Json]:
    """The same turns in Anthropic's blocks."""
    return blocks(openai_history(size, faults=faults))


def blocks(history: list[Json]) -> list[Json]:
    """The messages in Anthropic's blocks."""
    messages: list[Json] = []
    for message in history:
        content: list[Json] = [{"type": "text", "text": message["content"]}]
        if message["role"] == "tool":
            content = [{"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}]
        elif "tool_calls" in message:
            content = [use(call) for call in message["tool_calls"]]
        messages.append({"role": "assistant" if message["role"] == "assistant" else "user", "content": content})
    return messages


def use(call: Json) -> Json:
    arguments = json.loads(call["function"]["arguments"])
    return {"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": arguments}


FORMATS: dict[str, tuple[str, Callable[..., list[Json]]]] = {
    "openai-chat": ("openai", openai_history),
    "anthropic": ("anthropic", anthropic_history),
}


def shapes(size: int) -> dict[str, list[Json]]:
    """Histories that are quadratic traps."""
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in range(size)]
    results = [{"role": "tool", "tool_call_id": f"c{n}", "content": str(n)} for n in range(size)]
    same = [{**call, "id": "c"} for call in calls]
    one = [{**result, "tool_call_id": "c"} for result in results]
    user = {"role": "user", "content": "go"}
    nameless = [said([{**call, "id": ""} for call in calls]), *({**result, "tool_call_id": ""} for result in results)]
    return {
        "parallel calls, no results": [user, said(calls)],
        "parallel calls, first result late": [user, said(calls), *results[1:], user, results[0]],
        "parentless results": [user, *results],
        "one id, one turn": [user, said(same), *one],
        "one id, every turn": [user, *(m for call, result in zip(same, one, strict=True) for m in (said([call]), result))],
        "one id, results alone": [user, *one],
        "no ids": [user, *nameless],
    }


def said(calls: list[Json]) -> Json:
    return {"role": "assistant", "content": None, "tool_calls": calls}


def seconds(work: Callable[[], object]) -> float:
    gc.collect()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(name: str, ours: Callable[[], object], theirs: Callable[[], object]) -> None:
    """One line: medians in milliseconds, and how many times theirs ours takes."""
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
    mine, other = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
    print(f"{name:42} suture {mine:8.1f} ms   turnsafe {other:8.1f} ms   ratio {mine / other:5.2f}")


def against_turnsafe(format: str, provider: str, faulty: list[Json], valid: list[Json]) -> None:
    """Healing against repairing, and finding nothing against validating."""
    healed = heal(faulty, format)
    assert healed.changed
    assert isinstance(healed.history, list)
    assert turnsafe.validate(healed.history, provider).ok
    assert heal(valid, format).history is valid
    compare(
        f"heal, {len(faulty)} messages, {format}", lambda: heal(faulty, format), lambda: turnsafe.repair(faulty, provider)
    )
    compare(f"valid history, {format}", lambda: heal(valid, format), lambda: turnsafe.validate(valid, provider))


def growth_of_both(name: str, small: list[Json], large: list[Json], format: str, provider: str) -> None:
    """One line: how many times longer the larger takes, ours and theirs, and theirs against ours there."""

    def least(history: list[Json], work: Callable[[list[Json]], object]) -> float:
        return min(seconds(lambda: work(history)) for _ in range(3))

    def ours(history: list[Json]) -> object:
        return heal(history, format)

    def theirs(history: list[Json]) -> object:
        return turnsafe.repair(history, provider)

    mine, other = least(large, ours), least(large, theirs)
    growths = f"suture {mine / least(small, ours):6.1f}   turnsafe {other / least(small, theirs):6.1f}"
    print(f"{name:42} growth {growths}   ratio {mine / other:5.2f}")


def against_turnsafe_in_size(size: int) -> None:
    """Ten times the messages, of plain histories with faults, of one turn of parallel calls, and of orphan results."""
    for format, (provider, build) in FORMATS.items():
        name = f"{size} to {size * 10} messages, {format}"
        growth_of_both(name, build(size, faults=True), build(size * 10, faults=True), format, provider)
    for name, of_size in TURNS.items():
        title = f"200 to 2,000 {name}"
        growth_of_both(title, of_size(200), of_size(2000), "openai-chat", "openai")
        growth_of_both(f"{title}, anthropic", blocks(of_size(200)), blocks(of_size(2000)), "anthropic", "anthropic")


def _parallel(size: int) -> list[Json]:
    """One turn of parallel calls, answered but for one of ten."""
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in range(size)]
    results = [{"role": "tool", "tool_call_id": f"c{n}", "content": str(n)} for n in range(size) if n % 10]
    return [{"role": "user", "content": "go"}, said(calls), *results, {"role": "user", "content": "and?"}]


def _orphans(size: int) -> list[Json]:
    """Results of which every call is gone."""
    results = [{"role": "tool", "tool_call_id": f"c{n}", "content": str(n)} for n in range(size)]
    return [{"role": "user", "content": "go"}, *results, {"role": "user", "content": "and?"}]


TURNS: dict[str, Callable[[int], list[Json]]] = {"parallel calls": _parallel, "orphan results": _orphans}


def growth(name: str, small: list[Json], large: list[Json]) -> None:
    """One line: the time at both sizes. Four times the items should take four times as long."""
    short = min(seconds(lambda: heal(small, "openai-chat")) for _ in range(3)) * 1000
    long = min(seconds(lambda: heal(large, "openai-chat")) for _ in range(3)) * 1000
    print(f"{name:42} 1,000: {short:7.1f} ms   4,000: {long:7.1f} ms   growth {long / short:5.1f}")


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for format, (provider, build) in FORMATS.items():
        against_turnsafe(format, provider, build(size, faults=True), build(size, faults=False))
    against_turnsafe_in_size(size)
    small, large = shapes(1000), shapes(4000)
    for name in small:
        growth(name, small[name], large[name])


if __name__ == "__main__":
    main()
