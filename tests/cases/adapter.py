"""The case runner's door into suture: histories, tool calls and logs in, what suture makes of them out."""

from __future__ import annotations

from itertools import pairwise
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
    messages += [*_known_outcomes(messages, given, name), *_prompt(given, form.key)]
    if "minted_by" in given:
        return {form.key: _for_another_model(messages, name, given)}
    target = given.get("target", {})
    limits = _limits(form.limits(str(target.get("model") or target.get("family") or "")), target)
    done = healed(messages, form, limits, _options(given)).history
    return {form.key: _as_cases_have_it(done, messages) if name == "gemini" else done}


def _as_cases_have_it(contents: Any, given: list[Case]) -> list[Case]:
    """Gemini's contents with what the user says behind results in the content of those, as the cases write it.

    A content of results that holds anything else is refused (GEM-RESP-PURE), so healing keeps the two apart; to a case they
    are one turn, unless it has them apart itself.
    """
    apart = [pair for pair in pairwise(given) if _is_results(pair[0])]
    out: list[Case] = []
    for content in contents:
        is_behind = out and _is_results(out[-1]) and content.get("role") == "user" and not _is_results(content)
        if is_behind and (out[-1], content) not in apart:
            out[-1] = {**out[-1], "parts": [*out[-1]["parts"], *content["parts"]]}
        else:
            out.append(content)
    return out


def _is_results(content: Case) -> bool:
    return any("functionResponse" in part for part in content.get("parts") or ())


def tool_call(case: Case) -> Case:
    """Checking calls comes with the issue that builds `check_call`."""
    raise NotImplementedError(f"{case['kind']}: a later issue checks tool calls")


def log(case: Case) -> Case:
    """Reading logs in the neutral shape comes with the issue that builds the line store."""
    raise NotImplementedError(f"{case['kind']}: a later issue reads logs")


def _prompt(given: Case, key: str) -> list[Case]:
    """The user's next words, where the case has some."""
    text = given.get("then", {}).get("new_user_prompt") or given.get("fork", {}).get("task")
    if text is None:
        return []
    if key == "contents":
        return [{"role": "user", "parts": [{"text": text}]}]
    said = next((message["content"] for message in given[key] if message["role"] == "user"), "")
    return [{"role": "user", "content": text if isinstance(said, str) else [{"type": "text", "text": text}]}]


def _forgetting(given: Case, name: str) -> list[Case]:
    """The messages without the results that are to be forgotten; healing closes the gap."""
    gone = {word for text in given.get("forget", []) for word in text.split()}
    key = format_of(name).key
    if name == "gemini":
        return [
            left for content in given[key] if (left := _without_responses(content, gone))["parts"] or not content["parts"]
        ]
    if name != "anthropic":
        return [message for message in given[key] if message.get("tool_call_id") not in gone]
    messages = []
    for message in given["messages"]:
        content = message["content"]
        if isinstance(content, list):
            content = [block for block in content if block.get("tool_use_id") not in gone]
        messages += [{**message, "content": content}] if content else []
    return messages


def _without_responses(content: Case, gone: set[str]) -> Case:
    parts = [part for part in content.get("parts") or () if part.get("functionResponse", {}).get("id") not in gone]
    return {**content, "parts": parts}


def _known_outcomes(messages: list[Case], given: Case, name: str) -> list[Case]:
    """Results for open calls of which the case knows more than healing can; healing puts them in their place."""
    decisions, waiting = given.get("decisions", {}), " ".join(given.get("pending_approval", []))
    texts: dict[str, str] = {}
    names: dict[str, str] = {}
    for message in reversed(pair(load_messages(messages, name)).turns.values() if decisions or waiting else ()):
        for slot in message.unanswered():
            id = message.calls[slot].id
            names[id] = message.calls[slot].name
            if decisions.get(id) in ("rejected", "reject", "denied", "deny"):
                texts[id] = stand_in_text("denied", "the user rejected it")
            elif waiting and id not in waiting:
                texts[id] = stand_in_text("unknown")
        break
    if name == "gemini":
        parts = [
            {"functionResponse": {"id": id, "name": names[id], "response": {"error": text}}} for id, text in texts.items()
        ]
        return [{"role": "user", "parts": parts}] if parts else []
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
    found: list[Case] = request[format_of(name).key]
    return found
