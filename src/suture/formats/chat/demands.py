"""What only some targets of the chat form demand: each a reading of the request, made where the limits ask for it.

No demand knows a provider; which dialect has which limits, and by which rule, is data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from suture.formats.base import Json
from suture.formats.chat import tools
from suture.formats.chat.found import Found
from suture.formats.chat.thinking import FIELD, THOUGHTS, thinks
from suture.formats.limits import Limits
from suture.formats.wire import text_id

Messages: TypeAlias = Sequence[Json]


class Demand(NamedTuple):
    """A check, and for which limits it is made."""

    holds: Callable[[Limits], bool]
    check: Callable[[Found, Json, Messages], None]


# Messages of other roles are sent as they came, so that nothing is demanded of them.
_ROLES = frozenset(("system", "developer", "user", "assistant", "tool"))

# Content and fields ---------------------------------------------------------------------------


def bare_calls(found: Found, _request: Json, messages: Messages) -> None:
    """The content of a message that only has calls is null, or an empty text, as the target wants it."""
    wants_text = found.limits.bare_calls == "text"
    for index, message in enumerate(messages):
        if message["role"] != "assistant" or not message.get("tool_calls"):
            continue
        content, path = message.get("content"), f"messages[{index}].content"
        if wants_text and content is None:
            sentence = "The content beside the calls is null; here it is an empty text."
            found.add("CONTENT_NULL", path, sentence, rule=_null(found), i=index)
        elif not wants_text and content == "":
            sentence = "The content beside the calls is an empty text; here it is null."
            found.add("TEXT_EMPTY", path, sentence, rule=_null(found), i=index)


def _null(found: Found) -> str:
    return found.rule_of["CONTENT_SHAPE"]


def text_lists(found: Found, _request: Json, messages: Messages) -> None:
    """Content that is words alone is one text; so is all content where pictures have a field of their own."""
    apart = found.limits.images_apart
    for index, message in enumerate(messages):
        content = message.get("content") if message["role"] in _ROLES else None
        if isinstance(content, list) and content and (apart or all(_is_text(part) for part in content)):
            path = f"messages[{index}].content"
            found.add("CONTENT_SHAPE", path, "The content is a list of parts; here it is one text.", i=index)


def _is_text(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "text"


def silent(found: Found, _request: Json, messages: Messages) -> None:
    """Each message says something, calls and results aside."""
    for index, message in enumerate(messages):
        if message["role"] in ("user", "system", "developer") and message.get("content") == "":
            found.add("TEXT_EMPTY", f"messages[{index}].content", "The message says nothing.", i=index)


# What of a message stands in which role alone.
ROLE_OF = {
    "tool_calls": "assistant",
    "function_call": "assistant",
    "refusal": "assistant",
    "audio": "assistant",
    "tool_call_id": "tool",
}
_SHAPE = frozenset(("role", "content", "tool_calls", "tool_call_id"))


def fields(found: Found, _request: Json, messages: Messages) -> None:
    """A message has no fields but those that the target knows for its role."""
    known = _SHAPE | (found.limits.fields or frozenset()) | {"function_call"}  # which `legacy_calls` finds
    for index, message in enumerate(messages):
        role = message["role"]
        for key in message if role in _ROLES else ():
            if key in known and ROLE_OF.get(key, role) == role:
                continue
            sentence = f"Messages of the role {role!r} have no field {key!r} here."
            found.add("FIELD_UNKNOWN", f"messages[{index}].{key}", sentence, i=index, role=role, field=key)


def legacy_calls(found: Found, _request: Json, messages: Messages) -> None:
    """Calls are tool calls; the one function call of old is not known."""
    for index, message in enumerate(messages):
        if message["role"] == "assistant" and isinstance(message.get("function_call"), dict):
            path = f"messages[{index}].function_call"
            sentence = "The field 'function_call' is not known here; tool calls took its place."
            found.add("CALL_LEGACY", path, sentence, severity="REJ", i=index)


def thoughts(found: Found, request: Json, messages: Messages) -> None:
    """While thinking is on, a message with calls carries the thinking before them."""
    if not thinks(request, found.limits, messages):
        return
    for index, message in enumerate(messages):
        if message["role"] != "assistant" or not message.get("tool_calls"):
            continue
        thought = message.get(FIELD)
        if not isinstance(thought, str) or not (thought or not found.limits.reasoning_field):
            sentence = f"The message has calls and no {FIELD!r}; with thinking on it is wanted back."
            found.add("REASONING_FIELD_MISSING", f"messages[{index}]", sentence, i=index)


def results_ordered(found: Found, _request: Json, messages: Messages) -> None:
    """Results stand in the order of their calls, where they are matched by it."""
    order: dict[str, int] = {}
    last = -1
    for index, message in enumerate(messages):
        if message["role"] != "tool":
            calls = message.get("tool_calls") if message["role"] == "assistant" else None
            ids = [text_id(call.get("id")) for call in calls or () if isinstance(call, dict)]
            order, last = {id: at for at, id in enumerate(ids)}, -1
            continue
        place = order.get(text_id(message.get("tool_call_id")), last)
        if place < last:
            sentence = "The result stands behind that of a later call, and results are matched by their order."
            found.add("RESULT_ORDER", f"messages[{index}]", sentence, text_id(message.get("tool_call_id")), i=index)
        last = max(last, place)


# Who speaks when ------------------------------------------------------------------------------

_SYSTEM = ("system", "developer")


def needs_user(found: Found, _request: Json, messages: Messages) -> None:
    """The user says something."""
    if all(message["role"] in (*_SYSTEM, "assistant", "tool") for message in messages):
        found.add("NO_USER", "messages", "No message is the user's.")


def first_user(found: Found, _request: Json, messages: Messages) -> None:
    """Behind the leading system text the user speaks first."""
    first = next((index for index, message in enumerate(messages) if message["role"] not in _SYSTEM), None)
    if first is not None and messages[first]["role"] == "assistant":
        found.add("FIRST_NOT_USER", f"messages[{first}]", "The first to speak is not the user.", i=first)


def alternate(found: Found, _request: Json, messages: Messages) -> None:
    """No two messages of one role stand beside each other, results aside."""
    for index in range(1, len(messages)):
        role = messages[index]["role"]
        if role != messages[index - 1]["role"] or role == "tool":
            continue
        if role in ("user", "assistant") or (role == "system" and found.limits.system == "one"):
            sentence = f"Two messages of the role {role!r} stand beside each other."
            found.add("ROLE_REPEAT", f"messages[{index}]", sentence, i=index, role=role)


def user_after_result(found: Found, _request: Json, messages: Messages) -> None:
    """The assistant speaks between a result and the user."""
    for index in range(1, len(messages)):
        if messages[index]["role"] == "user" and messages[index - 1]["role"] == "tool":
            found.add("USER_AFTER_TOOL", f"messages[{index}]", "The user speaks directly behind a result.", i=index)


def system_first(found: Found, _request: Json, messages: Messages) -> None:
    """System text stands before everything else."""
    leading = True
    for index, message in enumerate(messages):
        leading = leading and message["role"] in _SYSTEM
        if not leading and message["role"] == "system":
            sentence = "System text stands behind other messages; here it comes first."
            found.add("SYSTEM_MISPLACED", f"messages[{index}]", sentence, i=index, role="system")


def system_after_answer(found: Found, _request: Json, messages: Messages) -> None:
    """System text does not follow the assistant or a result."""
    for index in range(1, len(messages)):
        before = messages[index - 1]["role"]
        if messages[index]["role"] == "system" and before in ("assistant", "tool"):
            sentence = f"System text stands directly behind a message of the role {before!r}."
            found.add("SYSTEM_MISPLACED", f"messages[{index}]", sentence, i=index, role="system", before=before)


def last_user(found: Found, _request: Json, messages: Messages) -> None:
    """The last message is one that the model answers, or one that it is asked to go on with."""
    last = messages[-1]
    if last["role"] == "assistant" and not last.get("tool_calls") and last.get("prefix") is not True:
        at = len(messages) - 1
        found.add("LAST_ASSISTANT", f"messages[{at}]", "The last message is the assistant's.", i=at)


def ignored_thoughts(found: Found, _request: Json, messages: Messages) -> None:
    """Reasoning that copies put beside the words; OpenAI's own models never see it."""
    for index, message in enumerate(messages):
        for key in THOUGHTS if message["role"] == "assistant" and len(message) > 2 else ():
            if message.get(key):
                sentence = f"Chat Completions take no reasoning back, so {key!r} is not read; it is sent as it is."
                found.add("THINKING_FOREIGN", f"messages[{index}].{key}", sentence, severity="DEG", i=index, field=key)


DEMANDS: tuple[Demand, ...] = (
    Demand(lambda limits: limits.developer and limits.model is not None, ignored_thoughts),
    Demand(lambda limits: limits.bare_calls != "any", bare_calls),
    Demand(lambda limits: not limits.text_lists, text_lists),
    Demand(lambda limits: not limits.silent, silent),
    Demand(lambda limits: limits.fields is not None, fields),
    Demand(lambda limits: not limits.functions, legacy_calls),
    Demand(lambda limits: limits.reasoning_field is not None, thoughts),
    Demand(lambda limits: limits.results_ordered, results_ordered),
    Demand(lambda limits: limits.needs_user, needs_user),
    Demand(lambda limits: limits.first_user, first_user),
    Demand(lambda limits: limits.alternate, alternate),
    Demand(lambda limits: not limits.user_after_result, user_after_result),
    Demand(lambda limits: limits.system in ("first", "one"), system_first),
    Demand(lambda limits: not limits.system_after_answer, system_after_answer),
    Demand(lambda limits: not limits.prefill, last_user),
    Demand(lambda limits: limits.tools == "listed", tools.undeclared),
    Demand(lambda limits: limits.description_length is not None, tools.descriptions),
    Demand(lambda limits: limits.schemas != "any", tools.schemas),
)
