"""The case runner's door into suture: histories, tool calls and logs in, what suture makes of them out."""

from __future__ import annotations

from typing import Any

import msgspec

from suture.formats import format_of
from suture.formats.limits import Limits
from suture.healing import fit, load_messages
from suture.healing.healing import healed
from suture.healing.work import Options
from suture.messages import Assistant, Message, Origin
from suture.pairing import pair
from suture.repair import Why, stand_in_text
from suture.tools import check_call

Case = dict[str, Any]

# Why a run stopped, as a case tells it: what is known of its open calls, and the words for it.
REASONS: dict[str, tuple[Why, str]] = {
    "max_steps": ("not_run", "the step limit was reached"),
    "user_interrupt": ("unknown", "the user interrupted it"),
}
LIMITS = {"max_id_length": "id_length", "id_pattern": "id_pattern", "name_pattern": "name_pattern", "prefill": "prefill"}


def history(case: Case) -> Case:
    """The healed list alone, as it would be sent to that provider."""
    given, name = case["input"], case["format"]
    form = format_of(name)
    messages = _forgetting(given, name)
    messages += [*_known_outcomes(messages, given, name), *_prompt(given)]
    if "minted_by" in given:
        return {"messages": _for_another_model(messages, name, given)}
    target = given.get("target", {})
    limits = _limits(form.limits(str(target.get("model", ""))), target)
    return {"messages": healed(messages, form, limits, _options(given)).history}


def tool_call(case: Case) -> Case:
    """What `check_call` says of the call, its arguments as they may run."""
    given = case["input"]
    found = check_call(given["call"], given["tools"], given.get("finish_reason"))
    call = found.call and {"id": found.call.id, "name": found.call.name, "arguments": found.call.arguments}
    return {"status": found.status, "call": call, "reason": found.reason, "code": found.code}


def log(case: Case) -> Case:
    """Reading logs in the neutral shape comes with the issue that builds the line store."""
    raise NotImplementedError(f"{case['kind']}: a later issue reads logs")


def _prompt(given: Case) -> list[Case]:
    """The user's next words, where the case has some."""
    text = given.get("then", {}).get("new_user_prompt") or given.get("fork", {}).get("task")
    if text is None:
        return []
    said = next((message["content"] for message in given["messages"] if message["role"] == "user"), "")
    return [{"role": "user", "content": text if isinstance(said, str) else [{"type": "text", "text": text}]}]


def _forgetting(given: Case, name: str) -> list[Case]:
    """The messages without the results that are to be forgotten; healing closes the gap."""
    gone = {word for text in given.get("forget", []) for word in text.split()}
    if name != "anthropic":
        return [message for message in given["messages"] if message.get("tool_call_id") not in gone]
    messages = []
    for message in given["messages"]:
        content = message["content"]
        if isinstance(content, list):
            content = [block for block in content if block.get("tool_use_id") not in gone]
        messages += [{**message, "content": content}] if content else []
    return messages


def _known_outcomes(messages: list[Case], given: Case, name: str) -> list[Case]:
    """Results for open calls of which the case knows more than healing can; healing puts them in their place."""
    decisions, waiting = given.get("decisions", {}), " ".join(given.get("pending_approval", []))
    texts: dict[str, str] = {}
    for message in reversed(pair(load_messages(messages, name)).turns.values() if decisions or waiting else ()):
        for slot in message.unanswered():
            id = message.calls[slot].id
            if decisions.get(id) in ("rejected", "reject", "denied", "deny"):
                texts[id] = stand_in_text("denied", "the user rejected it")
            elif waiting and id not in waiting:
                texts[id] = stand_in_text("unknown")
        break
    if name == "anthropic":
        blocks = [
            {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": True} for id, text in texts.items()
        ]
        return [{"role": "user", "content": blocks}] if blocks else []
    return [{"role": "tool", "tool_call_id": id, "content": text} for id, text in texts.items()]


def _limits(limits: Limits, target: Case) -> Limits:
    return msgspec.structs.replace(limits, **{LIMITS[key]: value for key, value in target.items() if key in LIMITS})


def _options(given: Case) -> Options:
    """What the case knows of its open calls."""
    if given.get("pending_approval"):
        return Options(pending="keep")
    if "forget" in given:
        return Options(why="lost", reason="it was removed from the conversation")
    if (reason := given.get("reason")) in REASONS:
        return Options(why=REASONS[reason][0], reason=REASONS[reason][1])
    return Options()


def _for_another_model(messages: list[Case], name: str, given: Case) -> list[Case]:
    """The messages for a model that did not make them all."""
    decoded = format_of(name).decode(messages)
    loaded: list[Message] = []
    for message, home in zip(decoded.messages, decoded.homes, strict=True):
        made_by = given["minted_by"].get(str(home))
        known = isinstance(message, Assistant) and made_by
        loaded.append(msgspec.structs.replace(message, origin=Origin(name, model=made_by)) if known else message)
    request = fit(loaded, name, given.get("target", {}).get("model")).history
    assert isinstance(request, dict)
    found: list[Case] = request["messages"]
    return found
