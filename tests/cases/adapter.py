"""The case runner's door into suture: histories, tool calls and logs in, what suture makes of them out."""

from __future__ import annotations

from typing import Any

import msgspec

from suture.formats import format_of, target_of
from suture.formats.base import Limits
from suture.heal import fit, healed, load_messages
from suture.messages import Assistant, Message, Origin
from suture.passes import Options
from suture.repair import Why

Case = dict[str, Any]

# Why a run stopped, as a case tells it: what is known of its open calls, and the words for it.
REASONS: dict[str, tuple[Why, str]] = {
    "max_steps": ("not_run", "the step limit was reached"),
    "user_interrupt": ("unknown", "the user interrupted it"),
}


def history(case: Case) -> Case:
    """The healed list alone, as it would be sent to that provider."""
    given, name = case["input"], case["format"]
    form = format_of(target_of(name).format)
    messages = [*_forgetting(given), *_prompt(given)]
    if "minted_by" in given:
        return {"messages": _for_another_model(messages, name, given)}
    options = _options(given)
    return {"messages": healed(messages, form, _limits(form.limits(""), given.get("target", {})), options).history}


def tool_call(case: Case) -> Case:
    """Checking calls comes with the issue that builds `check_call`."""
    raise NotImplementedError(f"{case['kind']}: tool calls are checked by a later issue")


def log(case: Case) -> Case:
    """Reading logs in the neutral shape comes with the issue that builds the line store."""
    raise NotImplementedError(f"{case['kind']}: logs are read by a later issue")


def _prompt(given: Case) -> list[Case]:
    """The user's next words, where the case has some."""
    text = given.get("then", {}).get("new_user_prompt") or given.get("fork", {}).get("task")
    if text is None:
        return []
    as_text = all(isinstance(message.get("content"), str | None) for message in given["messages"])
    return [{"role": "user", "content": text if as_text else [{"type": "text", "text": text}]}]


def _forgetting(given: Case) -> list[Case]:
    """The messages without what the caller wants forgotten; healing closes the gap."""
    words = {word for text in given.get("forget", []) for word in text.split()}
    return [message for message in given["messages"] if message.get("tool_call_id") not in words]


def _limits(limits: Limits, target: Case) -> Limits:
    names = {"max_id_length": "id_length", "id_pattern": "id_pattern", "name_pattern": "name_pattern", "prefill": "prefill"}
    return msgspec.structs.replace(limits, **{names[key]: value for key, value in target.items() if key in names})


def _options(given: Case) -> Options:
    """What the case knows of its open calls."""
    if given.get("pending_approval"):
        return Options(pending="keep")
    if "rejected" in given.get("decisions", {}).values():
        return Options(why="denied", reason="the user rejected it")
    why, reason = REASONS.get(given.get("reason", ""), ("unknown", None))
    return Options(why=why, reason=reason)


def _for_another_model(messages: list[Case], name: str, given: Case) -> list[Case]:
    """The messages for a model that did not make them all."""
    minted = given["minted_by"]
    loaded: list[Message] = []
    for index, message in enumerate(load_messages(messages, name)):
        if isinstance(message, Assistant) and str(index) in minted:
            message = msgspec.structs.replace(message, origin=Origin(name, model=minted[str(index)]))
        loaded.append(message)
    request = fit(loaded, name, given.get("target", {}).get("model")).history
    assert isinstance(request, dict)
    found: list[Case] = request["messages"]
    return found
