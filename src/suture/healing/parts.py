"""Passes over the parts of messages: reasoning, what is foreign, their order, pictures."""

from __future__ import annotations

import re

import msgspec

from suture.formats.wire import is_cache_mark, own, without_key
from suture.healing.work import Lost, Work, as_text
from suture.messages import Assistant, Ext, Image, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult, User

THINKING_OFF = "thinking: off"


def reasoning(work: Work) -> None:
    """Only reasoning that the target takes back is sent: signed, and by the model that is asked."""
    for at, message in enumerate(work.messages):
        thoughts = [part for part in message.parts if type(part) is Reasoning]
        if not thoughts:
            continue
        refused = [(part, code) for part in thoughts if (code := _refusal(work, message, part))]
        for part, code in refused:
            detail = part.text or "(redacted)"
            work.note(code, at, "left out reasoning", part=part, detail=detail, lost="reasoning")
        if refused:
            work.remove(at, [part for part, _ in refused])
            _hint(work, at)
        elif work.limits.reasoning == "text" and work.options.strict:
            _as_words(work, at, message)
    _hint_at_end(work)


def _refusal(work: Work, message: Message, part: Reasoning) -> str | None:
    """Why the target would not take the reasoning back."""
    limits = work.limits
    if type(message) is not Assistant:
        return "THINKING_UNSIGNED"
    if limits.reasoning == "text":
        return None
    if limits.reasoning == "none":
        came_so = own(part.ext, work.format.name)
        return None if came_so and (not work.options.strict or _is_own(work, message)) else "THINKING_FOREIGN"
    if not (part.encrypted if part.redacted else (part.signature or "").strip()):
        return "THINKING_UNSIGNED"
    if limits.thought_pattern and part.signature and not re.fullmatch(limits.thought_pattern, part.signature):
        return "THINKING_FOREIGN"
    origin = message.origin
    if origin is None:
        return None
    elsewhere = origin.provider and work.format.name not in (origin.provider, origin.api)
    other = limits.model and origin.model and _undated(origin.model) != _undated(limits.model)
    return "THINKING_FOREIGN" if elsewhere or other else None


def _undated(model: str) -> str:
    """The name of a model without the day of its release."""
    return re.sub(r"[-@]20\d{6}$", "", model)


def _is_own(work: Work, message: Assistant) -> bool:
    """Whether the one that is asked made the message."""
    made, reader = message.origin, work.options.reader
    if made is None or reader is None:
        return False
    return (made.provider, made.api, made.model) == (reader.provider, reader.api, reader.model)


def _as_words(work: Work, at: int, message: Message) -> None:
    """Where thinking is wanted back whoever made it, its maker gets it as it came, everybody else its words."""
    if type(message) is Assistant and _is_own(work, message):
        return
    name = work.format.name
    for part in message.parts:
        if type(part) is Reasoning and (details := own(part.ext, name).get("details")):
            detail = as_text(msgspec.structs.replace(part, ext={name: {"details": details}}))
            work.note(
                "THINKING_FOREIGN",
                at,
                "left out all but the words of reasoning",
                part=part,
                detail=detail,
                lost="reasoning",
            )
    words = {name: {"field": "reasoning_content"}}
    parts = [msgspec.structs.replace(part, ext=words) if type(part) is Reasoning else part for part in message.parts]
    work.replace(at, parts=tuple(parts))


def _hint(work: Work, at: int) -> None:
    """With thinking on, a turn that waits for the model's next words must begin with its thinking (ANT-THINK-FIRST)."""
    message = work.messages[at]
    waits = type(message) is Assistant and message.calls
    if work.limits.reasoning == "signed" and waits and all(type(m) is ToolResult for m in work.messages[at + 1 :]):
        work.hints.append(THINKING_OFF)


def _hint_at_end(work: Work) -> None:
    """The same for a turn that never had any, as that of another model. Only a request of our own asks for thinking."""
    at = next((at for at in range(len(work.messages) - 1, -1, -1) if type(work.messages[at]) is Assistant), None)
    if at is None or not work.options.strict:
        return
    parts = work.messages[at].parts
    if parts and type(parts[0]) is not Reasoning:
        _hint(work, at)


def leave_out_thinking(work: Work, at: int) -> None:
    """Leave out the reasoning of a message in which its neighbours change: it is refused then (ANT-THINK-FROZEN)."""
    thoughts = [part for part in work.messages[at].parts if type(part) is Reasoning]
    for part in thoughts:
        work.note("THINKING_MODIFIED", at, "left out reasoning", part=part, detail=part.text, lost="reasoning")
    work.remove(at, thoughts)
    _hint(work, at)


def foreign(work: Work) -> None:
    """Nothing is sent that has no form in the target, or no place in its message."""
    keep = [True] * len(work.messages)
    for at, message in enumerate(work.messages):
        gone = [part for part in message.parts if type(part) is not Text and not _may_stand(work, message, part)]
        for part in gone:
            lost: Lost = "call" if type(part) is ToolCall else "image" if type(part) is Image else "text"
            work.note("BLOCK_UNKNOWN", at, "left out what has no place here", part=part, detail=as_text(part), lost=lost)
        if gone:
            work.remove(at, gone)
            # A message of a role that only its own provider knows is kept as one such part.
            keep[at] = not is_message(message)
        if message.ext is not None and (work.options.strict or work.limits.fields is not None):
            _without_fields(work, at, message.ext)
    work.keep(keep)


def is_message(message: Message) -> bool:
    """Whether it is a whole wire message, kept as it came, of a role that only its own provider knows."""
    part = message.parts[0] if type(message) is User and len(message.parts) == 1 else None
    return type(part) is Opaque and isinstance(part.raw, dict) and isinstance(part.raw.get("role"), str)


def _without_fields(work: Work, at: int, ext: Ext) -> None:
    """Leave out what the message carries for this format that its provider would not know."""
    name = work.format.name
    known = work.limits.fields if work.limits.fields is not None else work.format.fields
    gone = own(ext, name).keys() - known - work.format.notes
    for key in sorted(gone):
        work.note("FIELD_UNKNOWN", at, f"left out the field {key!r}", detail=repr(own(ext, name)[key]))
        work.replace(at, ext=without_key(work.messages[at].ext, name, key))


def _may_stand(work: Work, message: Message, part: Part) -> bool:
    if type(part) is ToolCall:
        return type(message) is Assistant
    sound = not work.options.strict or work.format.is_sound(part)
    return type(part) is Reasoning or (sound and work.format.takes(part))


def order(work: Work) -> None:
    """Calls end their message, where the target wants that. Thinking never moves, so it is left out instead."""
    if work.limits.words_before_calls:
        _words_first(work)
    if not work.limits.calls_last:
        return
    for at, message in enumerate(work.messages):
        if type(message) is not Assistant or not message.calls or not _behind(message):
            continue
        if any(type(part) is Reasoning for part in _behind(message)):
            leave_out_thinking(work, at)
        parts = work.messages[at].parts
        behind = _behind(work.messages[at])
        if behind:
            first = next(index for index, part in enumerate(parts) if type(part) is ToolCall)
            calls = [part for part in parts[first:] if _is_tail(part)]
            work.note("CALL_NOT_TAIL", at, "moved what stood behind the calls before them", part=behind[0])
            work.replace(at, parts=(*parts[:first], *behind, *calls))


def _words_first(work: Work) -> None:
    for at, message in enumerate(work.messages):
        behind = [part for part in _behind(message) if type(part) is Text] if type(message) is Assistant else []
        if behind:
            first = next(index for index, part in enumerate(message.parts) if type(part) is ToolCall)
            rest = [part for part in message.parts[first:] if type(part) is not Text]
            work.note("CALL_NOT_TAIL", at, "moved the words behind the calls before them", part=behind[0])
            work.replace(at, parts=(*message.parts[:first], *behind, *rest))


def _behind(message: Message) -> list[Part]:
    """What follows the first call and is none."""
    first = next((index for index, part in enumerate(message.parts) if type(part) is ToolCall), len(message.parts))
    return [part for part in message.parts[first:] if not _is_tail(part)]


def _is_tail(part: Part) -> bool:
    """Whether it may follow a call: another, or a mark of where the cache ends."""
    return type(part) is ToolCall or (type(part) is Opaque and is_cache_mark(part.raw))


def pictures(work: Work) -> None:
    """Where results hold words alone, their pictures follow the whole batch in a message of the user's."""
    if work.limits.images_in_results:
        return
    messages: list[Message] = []
    sources: list[int | None] = []
    moved: list[Part] = []
    for at, source in enumerate(work.sources):
        if moved and type(work.messages[at]) is not ToolResult:
            messages.append(User(tuple(moved)))
            sources.append(None)
            moved = []
        moved += _without_pictures(work, at)
        messages.append(work.messages[at])
        sources.append(source)
    if moved:
        messages.append(User(tuple(moved)))
        sources.append(None)
    work.messages, work.sources = messages, sources


def _without_pictures(work: Work, at: int) -> list[Part]:
    """Take out what may not stand in the message; what of it is to follow the results."""
    message = work.messages[at]
    if type(message) is ToolResult:
        media = [part for part in message.parts if type(part) is not Text]
        if not media:
            return []
        work.note("IMAGE_ROLE", at, "moved what is no text behind the results", call=message.call_id)
        words = tuple(part for part in message.parts if type(part) is Text)
        work.replace(at, parts=words or (Text("(see below)"),))
        return [Text(f"From the result of {message.call_id or message.name}:"), *media]
    if type(message) is not User and not work.limits.images_in_answers:
        gone = [part for part in message.parts if type(part) is Image]
        for part in gone:
            work.note("IMAGE_ROLE", at, "left out a picture", part=part, detail=as_text(part), lost="image")
        if gone:
            work.remove(at, gone)
    return []
