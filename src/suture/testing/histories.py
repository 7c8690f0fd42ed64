"""Histories as programs leave them behind, from a seed: sound ones in every wire format, and what breaks them.

Needs nothing but Python. The same source of chance gives the same history; `suture.testing.strategies` gives them to
hypothesis.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, NamedTuple, TypeAlias

Json: TypeAlias = dict[str, Any]
History: TypeAlias = list[Json]

KEYS: Mapping[str, str] = {
    "openai-chat": "messages",
    "openai-responses": "input",
    "anthropic": "messages",
    "gemini": "contents",
    "bedrock": "messages",
    "mistral": "messages",
}

# Whose last message has to be the user's.
_ENDS_WITH_USER = ("gemini", "mistral")

_NAMES = ("search", "read_file", "send")
_WORDS = ("Go on.", "What about it?", "Let me see.", "It is so.", "No result provided", "aborted")
_ODD_IDS = ("", "a.b", "functions.f:0", "a b", "i" * 70, "call_0")
_ODD_TEXTS = ("", "  ", "\n", "cut \ud83d", "end ")
# What is no JSON, and what is JSON of another kind than its place wants.
_JUNK: tuple[object, ...] = (
    *(b"ab", bytearray(b"ab"), {1, 2}, frozenset(("a",)), {1: 2}, {None: 1}, ("a",), 1j, ..., float("nan"), 10**400),
    *(None, True, 5, 1.5, "", "x", "\ud83d", {}, [], {"type": {}}, {"type": []}, {"type": "x"}, {"a": 1}, ["a"], [None]),
    *([[]], [{}], [{"type": "text", "text": 5}], {"role": []}, {"text": {}}, {"type": "text", "text": None}),
    {"\ud83d": {1: 2}},
)
_ODD_ARGUMENTS = ("", '{"n":', "[1]", "null", '"x"', '{"n":"\\ud83d"}')


class _Turn(NamedTuple):
    """What is said in one turn, before any provider writes it: a question, words, calls with their results."""

    question: str
    words: str
    calls: list[tuple[str, str, int]]  # id, name, argument
    results: list[str]
    answer: str
    thought: str


def sound_history(format: str, chance: Random, turns: int = 3) -> History:
    """A history in which nothing is wrong: questions, answers, and calls of which each has its result."""
    write = _WRITERS[format]
    drawn = [_turn(number, chance) for number in range(chance.randint(1, max(1, turns)))]
    history = [message for turn in drawn for message in write(turn, chance)]
    if format in _ENDS_WITH_USER or chance.random() < 0.5:
        history.append(write(_Turn("And now?", "", [], [], "x", ""), chance)[0])
    return history


def broken_history(format: str, chance: Random, turns: int = 3, faults: int = 3) -> History:
    """A sound history to which up to so many things have happened: messages and parts lost, doubled or moved, ids reused
    or odd, texts blank or cut, arguments broken, roles repeated.
    """
    history = sound_history(format, chance, turns)
    for _ in range(chance.randint(0, faults)):
        history = chance.choice(_FAULTS)(format, history, chance)
    return history


def junk_history(format: str, chance: Random, turns: int = 2, places: int = 3) -> History:
    """A broken history in which up to so many values are what belongs nowhere, are gone, or stand under another key."""
    history = copy.deepcopy(broken_history(format, chance, turns, faults=1))
    for _ in range(chance.randint(1, places)):
        holders = _holders(history)
        if not holders:
            break
        holder = chance.choice(holders)
        keys = list(range(len(holder))) if isinstance(holder, list) else list(holder)
        key = chance.choice(keys)
        what = chance.random()
        if what < 0.15:
            del holder[key]
        elif what < 0.25 and isinstance(holder, dict):
            holder[chance.choice(_KEYS)] = copy.deepcopy(chance.choice(_JUNK))
        else:
            holder[key] = copy.deepcopy(chance.choice(_JUNK))
    return history


# Keys that mean something in one format or another.
_KEYS = (
    *("type", "role", "content", "text", "id", "name", "input", "arguments", "tool_calls", "function", "function_call"),
    *("call_id", "output", "summary", "encrypted_content", "status", "thinking", "signature", "is_error", "source"),
    *("parts", "functionCall", "functionResponse", "thoughtSignature", "toolUse", "toolResult", "reasoningContent", "zz"),
    *("reasoning_details", "reasoning_content", "prefix", "tool_call_id", "tool_use_id", "image_url", "inlineData"),
    *("cache_control", "json", "document"),
)


def _holders(history: History) -> list[Any]:
    """Every object and list in it that holds something."""
    found: list[Any] = []
    stack: list[Any] = list(history)
    while stack:
        value = stack.pop()
        if isinstance(value, dict | list) and value:
            found.append(value)
            stack.extend(value.values() if isinstance(value, dict) else value)
    return found


def _turn(number: int, chance: Random) -> _Turn:
    count = chance.choice((0, 1, 1, 2, 3))
    calls = [(f"call{number}{at}AbCdE"[:9], chance.choice(_NAMES), at) for at in range(count)]
    results = [f"result {number}.{at} {chance.randint(0, 99)}" for at in range(count)]
    words = chance.choice(_WORDS[:4]) if chance.random() < 0.4 else ""
    thought = "Hm." if chance.random() < 0.2 else ""
    return _Turn(f"Question {number}?", words, calls, results, f"Answer {number}.", thought)


# Writing --------------------------------------------------------------------------------------


def _chat(turn: _Turn, chance: Random) -> History:
    calls = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps({"n": n})}}
        for id, name, n in turn.calls
    ]
    results = [
        {"role": "tool", "tool_call_id": call[0], "content": text}
        for call, text in zip(turn.calls, turn.results, strict=True)
    ]
    said = [{"role": "assistant", "content": turn.words or chance.choice((None, "")), "tool_calls": calls}, *results]
    return [
        {"role": "user", "content": turn.question},
        *(said if calls else ()),
        {"role": "assistant", "content": turn.answer},
    ]


def _mistral(turn: _Turn, chance: Random) -> History:
    history = _chat(turn, chance)
    for message in history:
        if message.get("tool_calls"):
            message["content"] = ""
    return history


def _responses(turn: _Turn, chance: Random) -> History:
    items: History = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": turn.question}]}]
    if turn.words:
        items.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": turn.words}]})
    kinds = [chance.choice(("function_call", "function_call", "custom_tool_call")) for _ in turn.calls]
    for (id, name, n), kind in zip(turn.calls, kinds, strict=True):
        body = {"arguments": json.dumps({"n": n})} if kind == "function_call" else {"input": f"patch {n}"}
        items.append({"type": kind, "call_id": id, "name": name, **body})
    for (id, _, _), kind, text in zip(turn.calls, kinds, turn.results, strict=True):
        items.append({"type": f"{kind}_output", "call_id": id, "output": text})
    return [*items, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": turn.answer}]}]


def _anthropic(turn: _Turn, chance: Random) -> History:
    content: History = []
    if turn.thought and turn.calls:
        content.append({"type": "thinking", "thinking": turn.thought, "signature": "c2lnbmVkIGJ5IGl0cyBtYWtlcg=="})
    if turn.words:
        content.append({"type": "text", "text": turn.words})
    content += [{"type": "tool_use", "id": id, "name": name, "input": {"n": n}} for id, name, n in turn.calls]
    results = [
        {"type": "tool_result", "tool_use_id": call[0], "content": chance.choice((text, [{"type": "text", "text": text}]))}
        for call, text in zip(turn.calls, turn.results, strict=True)
    ]
    said = [{"role": "assistant", "content": content}, {"role": "user", "content": results}] if turn.calls else []
    return [{"role": "user", "content": turn.question}, *said, _words("assistant", turn.answer)]


def _words(role: str, text: str) -> Json:
    return {"role": role, "content": [{"type": "text", "text": text}]}


def _gemini(turn: _Turn, chance: Random) -> History:
    with_ids = chance.random() < 0.5
    parts: History = [{"text": turn.words}] if turn.words else []
    parts += [
        {"functionCall": {"name": name, "args": {"n": n}, **({"id": id} if with_ids else {})}} for id, name, n in turn.calls
    ]
    results = [
        {"functionResponse": {"name": name, "response": {"output": text}, **({"id": id} if with_ids else {})}}
        for (id, name, _), text in zip(turn.calls, turn.results, strict=True)
    ]
    said = [{"role": "model", "parts": parts}, {"role": "user", "parts": results}] if turn.calls else []
    question = {"role": "user", "parts": [{"text": turn.question}]}
    return [question, *said, {"role": "model", "parts": [{"text": turn.answer}]}]


def _bedrock(turn: _Turn, chance: Random) -> History:
    content: History = [{"text": turn.words}] if turn.words else []
    content += [{"toolUse": {"toolUseId": id, "name": name, "input": {"n": n}}} for id, name, n in turn.calls]
    results = [
        {"toolResult": {"toolUseId": call[0], "content": [chance.choice(({"text": text}, {"json": {"text": text}}))]}}
        for call, text in zip(turn.calls, turn.results, strict=True)
    ]
    said = [{"role": "assistant", "content": content}, {"role": "user", "content": results}] if turn.calls else []
    question = {"role": "user", "content": [{"text": turn.question}]}
    return [question, *said, {"role": "assistant", "content": [{"text": turn.answer}]}]


_WRITERS: Mapping[str, Callable[[_Turn, Random], History]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock": _bedrock,
    "mistral": _mistral,
}


# What happens to them -------------------------------------------------------------------------


def _lose(_format: str, history: History, chance: Random) -> History:
    """A message is gone, as after a trimmer."""
    at = chance.randrange(len(history)) if history else 0
    return history[:at] + history[at + 1 :]


def _cut(_format: str, history: History, chance: Random) -> History:
    """Only a window is left, as after compaction or a crash."""
    start = chance.randint(0, len(history))
    return history[start:] if chance.random() < 0.5 else history[:start]


def _double(_format: str, history: History, chance: Random) -> History:
    """A message stands twice, as after a retried write."""
    if not history:
        return history
    at = chance.randrange(len(history))
    return [*history[: at + 1], copy.deepcopy(history[at]), *history[at + 1 :]]


def _move(_format: str, history: History, chance: Random) -> History:
    """A message stands somewhere else, as when writers race."""
    if not history:
        return history
    at, to = chance.randrange(len(history)), chance.randrange(len(history))
    left = history[:at] + history[at + 1 :]
    return [*left[:to], history[at], *left[to:]]


def _interrupt(format: str, history: History, chance: Random) -> History:
    """Somebody speaks where they should not."""
    spoken = _WRITERS[format](_Turn("Wait.", "", [], [], "x", ""), chance)[0]
    at = chance.randint(0, len(history))
    return [*history[:at], spoken, *history[at:]]


def _within(change: Callable[[list[Any], Random], None]) -> Callable[[str, History, Random], History]:
    """A change to a list of blocks, parts or calls inside a message."""

    def fault(_format: str, history: History, chance: Random) -> History:
        changed = copy.deepcopy(history)
        lists = [value for message in changed for value in message.values() if isinstance(value, list) and value]
        if lists:
            change(chance.choice(lists), chance)
        return changed

    return fault


def _lose_part(parts: list[Any], chance: Random) -> None:
    del parts[chance.randrange(len(parts))]


def _double_part(parts: list[Any], chance: Random) -> None:
    parts.insert(0, copy.deepcopy(chance.choice(parts)))


def _shuffle_parts(parts: list[Any], chance: Random) -> None:
    chance.shuffle(parts)


def _at_keys(keys: frozenset[str], values: tuple[object, ...]) -> Callable[[str, History, Random], History]:
    """A value under one of the keys becomes another."""

    def fault(_format: str, history: History, chance: Random) -> History:
        changed = copy.deepcopy(history)
        if places := [(holder, key) for holder, key in _places(changed) if key in keys]:
            holder, key = chance.choice(places)
            holder[key] = chance.choice(values)
        return changed

    return fault


def _places(history: History) -> list[tuple[Json, str]]:
    """Every text that stands under a key, outermost first."""
    found: list[tuple[Json, str]] = []
    stack: list[Any] = list(history)
    while stack:
        value = stack.pop(0)
        if isinstance(value, dict):
            found += [(value, key) for key, item in value.items() if isinstance(item, str)]
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return found


def _broken_input(format: str, history: History, chance: Random) -> History:
    """The input of a call is no object."""
    changed = copy.deepcopy(history)
    stack: list[Any] = list(changed)
    holders: list[tuple[Json, str]] = []
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            holders += [(value, key) for key in ("arguments", "input", "args") if key in value and "name" in value]
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    texts = [each for each in holders if isinstance(each[0][each[1]], str)]
    if holders and format in ("anthropic", "bedrock"):
        holder, key = chance.choice(holders)
        holder[key] = chance.choice(("", '{"n": 1}', '{"n":', [1], None))
    elif texts and format != "gemini":
        holder, key = chance.choice(texts)
        if key == "arguments":
            holder[key] = chance.choice(_ODD_ARGUMENTS)
    return changed


_IDS = frozenset(("id", "call_id", "tool_call_id", "tool_use_id", "toolUseId"))
_FAULTS: tuple[Callable[[str, History, Random], History], ...] = (
    _lose,
    _lose,
    _cut,
    _double,
    _move,
    _move,
    _interrupt,
    _within(_lose_part),
    _within(_lose_part),
    _within(_double_part),
    _within(_shuffle_parts),
    _at_keys(_IDS, _ODD_IDS),
    _at_keys(_IDS, ("call00AbC", "call10AbC")),
    _at_keys(frozenset(("text", "content", "output")), _ODD_TEXTS),
    _at_keys(frozenset(("text", "content", "output")), ("aborted", "[Tool use interrupted]")),
    _at_keys(frozenset(("name",)), ("multi_tool_use.parallel", "f" * 70, "1st")),
    _at_keys(frozenset(("signature",)), ("", "reasoning_content")),
    _broken_input,
)
