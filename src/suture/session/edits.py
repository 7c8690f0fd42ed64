"""What an edit writes, by what the log says: pure, so that it can be worked out anew when somebody wrote in between."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from types import UnionType

import msgspec

from suture.entries import Edit, MessageBody, Removal, Reset, Wanted, plain, split_mark
from suture.errors import Corrupt, InvalidEdit, NoSuchMessage, NotJson
from suture.messages import (
    Assistant,
    Audio,
    File,
    Image,
    Message,
    Opaque,
    Part,
    System,
    Text,
    ToolCall,
    ToolResult,
    User,
    encode,
    parts_of,
)
from suture.repair import stand_in
from suture.replay import Call, State, edited, fields_of, matched, refusal, stand_in_for
from suture.tools import as_logged, spelled_out

# Beside the fields of a message: the names under which parts of it are given.
_NAMES: dict[type[Message], tuple[str, ...]] = {
    System: ("content",),
    User: ("content", "files"),
    Assistant: ("content", "tool_calls"),
    ToolResult: ("content",),
}
_DISCARDED = "it was discarded"


# Finding what is meant --------------------------------------------------------------------------


def target_of(state: State, id: str | None, tool_call_id: str | None) -> int:
    """The seq of the message that an update means.

    Raises:
        InvalidEdit: not exactly one of the two is given.
        NoSuchMessage: there is none.
    """
    if (id is None) == (tool_call_id is None):
        raise InvalidEdit("An update needs either the id of a message, or the tool_call_id of a result; give one of them.")
    if id is not None:
        found = next((seq for seq, message in state.recorded.items() if message.id == id), None)
    else:
        named = [seq for seq, one in state.recorded.items() if isinstance(one, ToolResult) and one.call_id == tool_call_id]
        found = next((seq for seq in named if state.talk.counts(seq)), next(iter(named), None))
    if found is None:
        raise _missing(id) if tool_call_id is None else _missing_result(state, tool_call_id)
    return found


def _missing(id: str | None) -> NoSuchMessage:
    return NoSuchMessage(f"The session has no message with id={id!r}. Look at `session.messages` for those it has.")


def _missing_result(state: State, name: str) -> NoSuchMessage:
    calls = state.find_calls(name)
    if any(call.settlement is not None for call in calls):
        return NoSuchMessage(
            f"The call {name!r} was settled and has no result of its own. `add` the result, and it counts instead."
        )
    if calls:
        return NoSuchMessage(
            f"The call {name!r} has no result yet, and `update` changes those that are there. `add` the result, or decide "
            "or settle the call."
        )
    return NoSuchMessage(
        f"The session has no message with tool_call_id={name!r}. Look at `session.messages` for those it has."
    )


# Updates ----------------------------------------------------------------------------------------


def update(state: State, target: int, attributes: Mapping[str, object]) -> list[Wanted]:
    """What gives a message other attributes; nothing when it has them.

    Raises:
        InvalidEdit: the message has no such attribute, a value does not fit, or a call is touched that may not be.
        NotJson: a value that cannot be written down.
    """
    message = state.recorded[target]
    changes = _changes(message, attributes)
    try:
        new = edited(message, changes)
    except Corrupt as error:
        raise InvalidEdit(f"The message cannot be changed like that: {error}.") from error
    if encode(new) == encode(message):
        return []
    dropped: list[Call] = []
    if isinstance(new, Assistant):
        calls = matched(state.talk.calls_at(target), new.calls)
        _require_free(calls.touched)
        dropped = calls.dropped
    return [(Edit(target, changes), (), _marks_of(dropped))]


def _marks_of(calls: Iterable[Call]) -> tuple[str, ...]:
    return tuple(one for call in calls for one in call.all_marks)


def _require_free(calls: Iterable[Call]) -> None:
    if why := refusal(calls):
        raise InvalidEdit(
            f"This cannot be changed now: {why}. Decide or settle the call first, answer it with "
            "`discard_pending_tool_calls`, or replace the conversation with `set`."
        )


def _changes(message: Message, attributes: Mapping[str, object]) -> dict[str, object]:
    """The fields that the attributes give a message, as JSON."""
    known = (*_NAMES[type(message)], *fields_of(type(message)))
    for name in attributes:
        if name not in known:
            near = get_close_matches(name, known)
            hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise InvalidEdit(
                f"{_kind(message)} has no attribute {name!r} that can be changed; it has {', '.join(known)}.{hint}"
            )
    given = {name: value for name, value in attributes.items() if name in fields_of(type(message))}
    if "parts" in given:
        given["parts"] = _listed("parts", given["parts"], Part)
    if spoken := attributes.keys() - given.keys():
        if "parts" in given:
            raise InvalidEdit(f"`parts` is all of a message; leave it out, or {' and '.join(sorted(spoken))}.")
        given["parts"] = _parts(message, attributes)
    if isinstance(message, ToolResult) and "parts" in given and message.synthetic is not None:
        given.setdefault("synthetic", None)  # what somebody says of a call is no stand-in any more
    return {name: _json(name, value) for name, value in given.items()}


def _json(name: str, value: object) -> object:
    try:
        return plain(encode(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise NotJson(
            f"{name}: {error}. Pass only None, booleans, finite numbers, texts, lists, dicts and parts."
        ) from error


def _kind(message: Message) -> str:
    match message:
        case ToolResult():
            return "A tool's result"
        case Assistant():
            return "An assistant's message"
        case User():
            return "A user's message"
        case System():
            return "A system message"


def _parts(message: Message, attributes: Mapping[str, object]) -> tuple[Part, ...]:
    """The parts of a message in which words, files or calls are others."""
    parts = message.parts
    if isinstance(message, ToolResult):
        return spelled_out(ToolResult(attributes["content"])).parts
    if "content" in attributes:
        parts = _with_words(parts, _words(message, attributes["content"]))
    if "files" in attributes:
        words = tuple(part for part in parts if isinstance(part, Text))
        parts = (*words, *_listed("files", attributes["files"], Image | File | Audio | Opaque))
    if "tool_calls" in attributes:
        parts = _with_calls(parts, _listed("tool_calls", attributes["tool_calls"], ToolCall))
    return parts


def _listed(name: str, given: object, kind: type[Part] | UnionType) -> tuple[Part, ...]:
    items = () if given is None else tuple(given) if isinstance(given, Iterable) else (given,)
    if wrong := [item for item in items if not isinstance(item, kind)]:
        raise InvalidEdit(f"{name} holds {wrong[0]!r:.80}, which is no part of a message that belongs there.")
    return items


def _words(message: Message, given: object) -> tuple[Text, ...]:
    items = given if isinstance(given, list | tuple) else () if given is None else (given,)
    if any(not isinstance(item, str | Text) for item in items):
        raise InvalidEdit(
            f"The content of {_kind(message).lower()} is words; give everything else in `parts`, which is all of it."
        )
    return tuple(part for part in parts_of([item for item in items if item]) if isinstance(part, Text))


def _with_words(parts: Sequence[Part], words: tuple[Text, ...]) -> tuple[Part, ...]:
    """The parts with other words, where the first words were; else before the first call."""
    places = [at for at, part in enumerate(parts) if isinstance(part, Text)]
    places += [at for at, part in enumerate(parts) if isinstance(part, ToolCall)]
    at = places[0] if places else len(parts)
    before, behind = parts[:at], parts[at:]
    return (*before, *words, *(part for part in behind if not isinstance(part, Text)))


def _with_calls(parts: Sequence[Part], calls: Sequence[Part]) -> tuple[Part, ...]:
    """The parts with other calls: each that stays in its place, new ones at the end; all at the end in another order."""
    made = [call for call in calls if isinstance(call, ToolCall)]
    old = [part.id for part in parts if isinstance(part, ToolCall)]
    stay = [id for id in old if id in {call.id for call in made}]
    if len(set(old)) < len(old) or [call.id for call in made[: len(stay)]] != stay:
        return (*(part for part in parts if not isinstance(part, ToolCall)), *made)
    fresh = {call.id: call for call in made[: len(stay)]}
    kept = (fresh.get(part.id) if isinstance(part, ToolCall) else part for part in parts)
    return (*(part for part in kept if part is not None), *made[len(stay) :])


# Removals, resets, discards ---------------------------------------------------------------------


def remove(state: State, id: str) -> list[Wanted]:
    """What takes away the first message of that id; nothing when there is none.

    Raises:
        InvalidEdit: it is a result, or one of its calls may not be touched.
    """
    target = next((seq for seq, message in state.recorded.items() if message.id == id), None)
    if target is None:
        return []
    if isinstance(state.recorded[target], ToolResult):
        raise InvalidEdit(
            f"The message {id!r} is the result of a call, which would be left without one. Change it with `update`, or "
            "remove the message that made the call."
        )
    calls = state.talk.calls_at(target)
    _require_free(calls)
    return [(Removal((target,)), (), _marks_of(calls))]


def reset(state: State, messages: Sequence[Message], *, in_run: bool) -> list[Wanted]:
    """What puts other messages in the place of all; whatever is open is withdrawn, save the run that does so."""
    kinds = ("approval", "decided", "started", "settled", "inbox", "boundary", "expires", *(() if in_run else ("run",)))
    closes = tuple(one for one in state.marks if split_mark(one)[0] in kinds)
    return [(Reset(), (), closes), *((MessageBody(message, restated=True), (), ()) for message in messages)]


def checked(messages: object) -> list[Message]:
    """Messages that can be recorded.

    Raises:
        InvalidEdit: one is none.
        NotJson: one holds what cannot be written down.
    """
    if not isinstance(messages, Iterable):
        raise InvalidEdit(f"`set` takes a list of messages, not {messages!r:.80}.")
    return [recordable(message, f" at index {at}") for at, message in enumerate(messages)]


def recordable(message: object, where: str = "") -> Message:
    """The message as it can be recorded.

    Raises:
        InvalidEdit: it is none.
        NotJson: it holds what cannot be written down.
    """
    if not isinstance(message, System | User | Assistant | ToolResult):
        raise InvalidEdit(
            f"{message!r:.80}{where} is no message. `suture.load_messages` reads those of a wire format; "
            "`suture.User.of(text)` makes one."
        )
    written: Message = spelled_out(message) if isinstance(message, ToolResult) else message
    return as_logged(type(written), written)


def discard(state: State) -> list[Wanted]:
    """What answers every open call with what is known of it: that it was not run, or may have."""
    return [(MessageBody(_discarded(call), key=call.key), (), call.all_marks) for call in state.talk.orphans()]


def _discarded(call: Call) -> ToolResult:
    known = stand_in_for(call)
    result = stand_in(call.corrected, "unknown" if known.synthetic == "unknown" else "not_run", _DISCARDED)
    return msgspec.structs.replace(result, call_id=call.call.id)
