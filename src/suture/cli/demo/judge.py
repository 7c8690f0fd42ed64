"""A strict judge of requests, for OpenAI chat and for Anthropic.

It knows plain JSON and nothing of suture: no pairing, no replay, no formats. It asks for more than the
providers do (ids given once in the whole request, nothing empty), so what it passes is safe to send.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

FORMATS = ("openai-chat", "anthropic")

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ANTHROPIC_ID = re.compile(r"[a-zA-Z0-9_-]+")
_OPENAI_ROLES = ("system", "developer", "user", "assistant", "tool")
_OPENAI_ID = 40  # characters at most


def refusals(format: str, request: Any) -> list[str]:  # noqa: ANN401  whatever came
    """Why the provider would refuse the request; nothing when it would take it."""
    messages = request.get("messages") if isinstance(request, dict) else None
    if not isinstance(messages, list) or not messages:
        return ["there are no messages"]
    if not all(isinstance(message, dict) for message in messages):
        return ["a message is no object"]
    judge = {"openai-chat": _openai, "anthropic": _anthropic}[format]
    return [*_unsendable(request), *judge(messages)]


def _unsendable(request: Json) -> Iterator[str]:
    try:
        json.dumps(request, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        yield f"the request is no JSON: {type(error).__name__}"


# OpenAI chat ----------------------------------------------------------------------------------


def _openai(messages: list[Json]) -> Iterator[str]:
    used: set[str] = set()
    waiting: list[str] = []
    for at, message in enumerate(messages):
        role = message.get("role")
        if role == "tool":
            id = message.get("tool_call_id")
            if id in waiting:
                waiting.remove(id)
            else:
                yield f"message {at}: a result for {id!r}, which no call before it waits for"
        elif waiting:
            yield f"message {at}: comes before the results of {waiting}"
            waiting = []
        if role not in _OPENAI_ROLES:
            yield f"message {at}: the role {role!r}"
        yield from (f"message {at}: {problem}" for problem in _openai_content(message))
        for call in _listed(message, "tool_calls"):
            yield from (f"message {at}: {problem}" for problem in _openai_call(call, used))
            waiting.append(str(call.get("id")))
    if waiting:
        yield f"the end: comes before the results of {waiting}"


def _openai_content(message: Json) -> Iterator[str]:
    content, role = message.get("content"), message.get("role")
    if role != "assistant" and "tool_calls" in message:
        yield f"a {role} message with calls"
    if role == "assistant" and message.get("tool_calls") == []:
        yield "an empty list of calls"
    if content is None and role == "assistant" and message.get("tool_calls"):
        return
    if isinstance(content, list):
        if not content or not all(isinstance(part, dict) for part in content):
            yield "content is an empty list, or holds no parts"
        elif any(part.get("type") == "text" and not part.get("text") for part in content):
            yield "an empty text"
    elif not isinstance(content, str):
        yield f"content is {type(content).__name__}"
    elif not content and role == "assistant" and not message.get("tool_calls"):
        yield "an assistant message with nothing in it"


def _openai_call(call: Json, used: set[str]) -> Iterator[str]:
    id, function = call.get("id"), call.get("function")
    yield from _id(id, used)
    if isinstance(id, str) and len(id) > _OPENAI_ID:
        yield f"the id {id!r} has more than {_OPENAI_ID} characters"
    if call.get("type") != "function" or not isinstance(function, dict):
        yield f"the call {id!r} is no function call"
        return
    yield from _name(function.get("name"))
    try:
        if not isinstance(json.loads(function["arguments"]), dict):
            yield f"the arguments of {id!r} are no object"
    except (KeyError, TypeError, ValueError):
        yield f"the arguments of {id!r} are no JSON text"


# Anthropic ------------------------------------------------------------------------------------


def _anthropic(messages: list[Json]) -> Iterator[str]:
    used: set[str] = set()
    waiting: list[str] = []
    if messages[0].get("role") != "user":
        yield "message 0: is not the user's"
    if messages[-1].get("role") != "user":
        yield f"message {len(messages) - 1}: the last one is not the user's"
    for at, message in enumerate(messages):
        if message.get("role") not in ("user", "assistant"):
            yield f"message {at}: the role {message.get('role')!r}"
        blocks = _blocks(message)
        yield from (f"message {at}: {problem}" for problem in _anthropic_blocks(message, blocks))
        yield from (f"message {at}: {problem}" for problem in _answers(blocks, waiting))
        waiting = []
        for block in blocks:
            if block.get("type") == "tool_use":
                yield from (f"message {at}: {problem}" for problem in _tool_use(block, used))
                waiting.append(str(block.get("id")))
    if waiting:
        yield f"the end: comes before the results of {waiting}"


def _blocks(message: Json) -> list[Json]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _anthropic_blocks(message: Json, blocks: list[Json]) -> Iterator[str]:
    if not blocks or (isinstance(message.get("content"), list) and len(blocks) != len(message["content"])):
        yield "there is nothing in it, or something that is no block"
    kinds = [block.get("type") for block in blocks]
    for block in blocks:
        if block.get("type") == "text" and not str(block.get("text") or "").strip():
            yield "an empty text"
        if block.get("type") == "thinking" and not (block.get("signature") and block.get("thinking")):
            yield "thinking without its signature"
    if "tool_use" in kinds and (
        message.get("role") != "assistant" or set(kinds[kinds.index("tool_use") :]) != {"tool_use"}
    ):
        yield "calls that are not at the end of an assistant message"
    results = kinds.count("tool_result")
    if results and (message.get("role") != "user" or kinds[:results] != ["tool_result"] * results):
        yield "results that are not at the beginning of a user message"


def _answers(blocks: list[Json], waiting: list[str]) -> Iterator[str]:
    """The results of a message answer the calls of the one before, all of them, each once."""
    open_ids = list(waiting)
    for block in blocks:
        if block.get("type") != "tool_result":
            continue
        id = block.get("tool_use_id")
        if id in open_ids:
            open_ids.remove(id)
        else:
            yield f"a result for {id!r}, which no call before it waits for"
        content = block.get("content")
        if isinstance(content, list) and any(not str(part.get("text", "x")).strip() for part in content):
            yield f"an empty text in the result of {id!r}"
    if open_ids:
        yield f"comes before the results of {open_ids}"


def _tool_use(block: Json, used: set[str]) -> Iterator[str]:
    id = block.get("id")
    yield from _id(id, used)
    if isinstance(id, str) and not _ANTHROPIC_ID.fullmatch(id):
        yield f"the id {id!r} has characters that are not taken"
    yield from _name(block.get("name"))
    if not isinstance(block.get("input"), dict):
        yield f"the input of {id!r} is no object"


# Both -----------------------------------------------------------------------------------------


def _listed(message: Json, key: str) -> list[Json]:
    value = message.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _id(id: Any, used: set[str]) -> Iterator[str]:  # noqa: ANN401
    if not isinstance(id, str) or not id:
        yield "a call without an id"
    elif id in used:
        yield f"the id {id!r} is used again"
    used.add(str(id))


def _name(name: Any) -> Iterator[str]:  # noqa: ANN401
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        yield f"the tool name {name!r}"
