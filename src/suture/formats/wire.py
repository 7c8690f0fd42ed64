"""Raw wire values: what they are, what is wrong with them in words, and what is kept of them in `ext`."""

from __future__ import annotations

import json
from collections.abc import Mapping

from suture.errors import HistoryError
from suture.formats.base import Json
from suture.messages import Ext, Message, Opaque, Part

# The schema of a tool that takes nothing, or of which nothing more is known than its name.
EMPTY_SCHEMA: Json = {"type": "object", "properties": {}}

# Where other requests than the one that was named hold their history, and what is to be done.
_ELSEWHERE = {
    "contents": "Its 'contents' are Gemini's: format='gemini'.",
    "input": "Its 'input' is that of OpenAI's Responses: format='openai-responses'.",
    "messages": "Its 'messages' are those of another format: name that one with format=....",
    "conversations": "Its 'conversations' are no provider's: write them as 'messages' with 'role' and 'content'.",
}

# Where a request may hold the user's words alone.
_MAY_BE_TEXT = frozenset(("input",))

# Reading --------------------------------------------------------------------------------------


def messages_of(history: object, key: str) -> list[Json]:
    """The list of wire messages in a history: a list, or a dict that holds it under `key`. A text there is, where the
    format has it, one message of the user's.

    Raises:
        HistoryError: it is neither, or one of the messages is no object.
    """
    messages = history.get(key) if isinstance(history, dict) else history
    if isinstance(history, dict) and key not in history:
        elsewhere = (advice for other, advice in _ELSEWHERE.items() if other in history)
        advice = next(elsewhere, "Pass the request, or just its list.")
        raise HistoryError(f"The history has no {key!r}; it has {_keys(history)}. {advice}")
    if isinstance(history, dict) and key in _MAY_BE_TEXT and isinstance(messages, str):
        return [{"type": "message", "role": "user", "content": messages}]
    if not isinstance(messages, list):
        what = repr(key) if isinstance(history, dict) else "The history"
        parsed = " json.loads it, or use `suture heal FILE`." if isinstance(history, str) else ""
        raise HistoryError(f"{what} is {kind_of(messages)}, not a list of messages.{parsed}")
    for index, message in enumerate(messages):
        if type(message) is not dict and not isinstance(message, dict):
            raise not_an_object(message, f"{key}[{index}]")
    return messages


def without_role(message: Json) -> str | None:
    """What is wrong with the role of a message that needs one."""
    if isinstance(role := message.get("role"), str):
        return None
    problem = "has no role" if role is None else f"has the role {role!r}"
    return f"{problem}; every message needs one, such as 'user'."


def index_in(path: str, key: str) -> int | None:
    """The index of the wire message that a path begins with; None for one beside the history."""
    found = path.startswith(f"{key}[")
    return int(path[len(key) + 1 : path.index("]")]) if found else None


def moved(path: str, key: str, home: int | None) -> str:
    """A path that begins with a wire message, with another index; that of the whole history for a message that is new."""
    return key if home is None else f"{key}[{home}]{path[path.index(']') + 1 :]}"


def not_an_object(value: object, path: str) -> HistoryError:
    """The error for a block, part or call that is no object."""
    return HistoryError(f"{path} is {kind_of(value)}, not an object. {_as_plain(value)}")


def kind_of(value: object) -> str:
    """What a value is, in words."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), f"a {type(value).__name__}")


def _as_plain(value: object) -> str:
    if callable(getattr(value, "model_dump", None)):
        return "Pass plain JSON values: value.model_dump(exclude_none=True)."
    return "Pass plain JSON values."


def _keys(history: Json) -> str:
    return ", ".join(repr(key) for key in list(history)[:5]) or "nothing"


# Writing --------------------------------------------------------------------------------------


def has_words(raw: object, kinds: Mapping[str, str]) -> bool:
    """Whether a part that is kept as it came says of which kind it is, and holds its words where it is of one of these;
    `kinds` says under which key.
    """
    kind = raw.get("type") if isinstance(raw, dict) else None
    if not isinstance(raw, dict) or not isinstance(kind, str) or not kind:
        return False
    return kind not in kinds or isinstance(raw.get(kinds[kind]), str)


def text_id(value: object) -> str:
    """A wire id; blank when there is none, or none that is a text."""
    return value if isinstance(value, str) else ""


def rest(raw: Json, known: frozenset[str]) -> Json:
    """What a wire object holds beside the known keys."""
    return {key: value for key, value in raw.items() if key not in known}


# What of `ext` says that the words of a result are the JSON text of what came.
JSON_TEXT = "json"
_VALUES = (dict, list, str, int, float, type(None))


def is_content(value: object, path: str) -> bool:
    """Whether it is what a result may hold in most formats: a text, a list of objects, or nothing.

    Raises:
        HistoryError: it is an object of an SDK, or holds one, rather than JSON of another kind.
    """
    if not isinstance(value, _VALUES):
        raise not_content(value, path)
    if not isinstance(value, list):
        return value is None or isinstance(value, str)
    for at, part in enumerate(value):
        if not isinstance(part, _VALUES):
            raise not_an_object(part, f"{path}[{at}]")
    return all(isinstance(part, dict) for part in value)


def value_text(value: object) -> str:
    """A value as JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def shape_sentence(value: object) -> str:
    """What is wrong with a result that holds something else."""
    what = "a list of what are no parts" if isinstance(value, list) else kind_of(value)
    return f"The result is {what}; it holds a text or a list of parts."


def not_content(value: object, path: str) -> HistoryError:
    """The error for content that is neither text nor list."""
    return HistoryError(f"{path} is {kind_of(value)}; content is a text or a list of parts.")


def not_a_list(value: object, path: str) -> HistoryError:
    """The error for what has to be a list."""
    return HistoryError(f"{path} is {kind_of(value)}, not a list.")


def own(ext: Ext | None, name: str) -> Json:
    """What a message or part keeps for that format."""
    if ext is None:
        return {}
    kept = ext.get(name)
    return kept if isinstance(kept, dict) else {}


def kept_of(thing: Message | Part, name: str) -> Json:
    """What a message or part keeps for that format; a part that only its provider understands keeps nothing."""
    return {} if isinstance(thing, Opaque) else own(thing.ext, name)


def without_key(ext: Ext | None, format: str, key: str) -> Ext | None:
    """What is kept for a format, without one key."""
    kept = {name: value for name, value in own(ext, format).items() if name != key}
    others = {name: value for name, value in (ext or {}).items() if name != format}
    return ({**others, format: kept} if kept else others) or None


def object_text(arguments: Mapping[str, object]) -> str:
    """Arguments as JSON text."""
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def is_server_part(raw: object) -> bool:
    """Whether it is a call or a result of a tool that the provider runs itself."""
    kind = raw.get("type") if isinstance(raw, dict) else None
    return isinstance(kind, str) and kind.endswith(("_tool_use", "_tool_result"))


def is_cache_mark(raw: object) -> bool:
    """Whether it is a block of its own that says how far a provider may cache."""
    return isinstance(raw, dict) and "cachePoint" in raw
