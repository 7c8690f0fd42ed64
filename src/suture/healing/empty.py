"""Passes over emptiness: texts, results and messages that say nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence

from suture.formats.wire import own, without_key
from suture.healing.parts import leave_out_thinking
from suture.healing.work import Lost, Work
from suture.messages import Assistant, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult, User

NOTHING = "(no content)"
SILENT = "(no output)"
FAILED = "The tool failed and said nothing."

# What an assistant message of Chat Completions may hold beside words and calls.
_SPEAKS = ("refusal", "audio", "function_call")


def blanks(work: Work) -> None:
    """Texts say something, and so does a result that is an error, where the target wants that."""
    if work.limits.blank_text:
        return
    for at, message in enumerate(work.messages):
        gone = [part for part in message.parts if is_blank(work, part)]
        if type(message) is ToolResult:
            if not work.limits.blank_results:
                _result(work, at, message, gone)
        elif gone:
            for part in gone:
                code = "TEXT_BLANK" if type(part) is Text and part.text else "TEXT_EMPTY"
                work.note(code, at, "left out a blank text", part=part)
            if work.limits.reasoning == "signed" and _is_between_thoughts(message, gone):
                leave_out_thinking(work, at)
            work.remove(at, gone)


def is_blank(work: Work, part: Part) -> bool:
    """Whether it is a text that says nothing, also one that came without its words; a signature, where those are sent,
    says something.
    """
    if type(part) is Opaque and isinstance(part.raw, dict):
        return part.raw.get("type") == "text" and part.raw.get("text") is None
    if type(part) is not Text or part.text.strip() or (part.signature and work.limits.signature_pattern is not None):
        return False
    return not (part.text and work.limits.white_space)


def failures(work: Work) -> None:
    """In a request of our own a failed call says that it failed, where the target has no mark for that (X-ERR-FLAG)."""
    if work.limits.error_mark or not work.options.strict:
        return
    for at, message in enumerate(work.messages):
        silent = all(type(part) is Text and not part.text.strip() for part in message.parts)
        if type(message) is ToolResult and message.error and silent:
            work.note("RESULT_EMPTY_ERROR", at, "said that the tool failed", call=message.call_id, detail=FAILED)
            work.replace(at, parts=(Text(FAILED),))


def _result(work: Work, at: int, result: ToolResult, gone: Sequence[Part]) -> None:
    # A result that is one blank text goes out as that text, which is allowed; in a list it is not.
    listed = work.limits.result_lists or len(result.parts) > 1 or own(result.ext, work.format.name).get("content") == "list"
    blank = {id(part) for part in gone} if listed else set()
    left = tuple([part for part in result.parts if id(part) not in blank])
    if len(left) < len(result.parts):
        words = () if left else (Text(FAILED if result.error else SILENT),)
        detail = "".join(part.text for part in words)
        work.note("TEXT_BLANK", at, "left out a blank text of a result", call=result.call_id, detail=detail)
        work.replace(at, parts=left or words)
    elif result.error and len(gone) == len(result.parts):
        work.note("RESULT_EMPTY_ERROR", at, "said that the tool failed", call=result.call_id, detail=FAILED)
        work.replace(at, parts=(Text(FAILED),))


def _is_between_thoughts(message: Message, gone: Sequence[Part]) -> bool:
    thoughts = [index for index, part in enumerate(message.parts) if type(part) is Reasoning]
    left = {id(part) for part in gone}
    return bool(thoughts) and any(id(part) in left for part in message.parts[thoughts[0] : thoughts[-1]])


def empties(work: Work) -> None:
    """No message is empty: an assistant's is left out, and one of the user's says that it held nothing."""
    keep = [True] * len(work.messages)
    before: Message | None = None
    for at, message in enumerate(work.messages):
        if message.ext is not None:
            _shape(work, at, message)
        if _says_nothing(work, message):
            keep[at] = _fill(work, at, message, before)
        if keep[at]:
            before = message
    work.keep(keep)


def _shape(work: Work, at: int, message: Message) -> None:
    """Content that is null or an empty list where a text is wanted, and a list of calls that is empty."""
    name = work.format.name
    kept = own(message.ext, name)
    shape = kept.get("content")
    if work.limits.blank_text and (shape == "null" or (shape == "list" and _has_no_words(work, message))):
        work.note("CONTENT_NULL" if shape == "null" else "TEXT_EMPTY", at, "wrote an empty text")
        work.replace(at, ext=without_key(work.messages[at].ext, name, "content"))
    if kept.get("tool_calls") == []:
        work.note("FIELD_UNKNOWN", at, "left out the empty list of calls")
        work.replace(at, ext=without_key(work.messages[at].ext, name, "tool_calls"))


def _has_no_words(work: Work, message: Message) -> bool:
    """Whether nothing stands in the content; thinking does where the format has a part for it."""
    return all(
        type(part) is ToolCall or (type(part) is Reasoning and not work.format.takes(part)) for part in message.parts
    )


def _says_nothing(work: Work, message: Message) -> bool:
    if not work.limits.blank_text:
        return not message.parts and type(message) is not ToolResult
    if type(message) is not Assistant:
        return not (work.limits.silent or message.parts or type(message) is ToolResult)
    kept = own(message.ext, work.format.name)
    listed = kept.get("content") == "list" and work.limits.text_lists
    if any(kept.get(key) for key in _SPEAKS) or (listed and not _has_no_words(work, message)):
        return False
    return all(type(part) is Reasoning or (type(part) is Text and not part.text) for part in message.parts)


def _fill(work: Work, at: int, message: Message, before: Message | None) -> bool:
    """Whether the empty message is kept: one of the user's is, unless it stands behind another; with words, any is."""
    if not work.limits.silent:
        work.note("MESSAGE_EMPTY", at, "said that the message was empty", detail=NOTHING)
        left = [part for part in message.parts if type(part) is not Text]
        work.replace(at, parts=(*left, Text(NOTHING)))
        return True
    if type(message) is User and type(before) not in (User, ToolResult):
        work.note("MESSAGE_EMPTY", at, "said that the message was empty", detail=NOTHING)
        work.replace(at, parts=(Text(NOTHING),))
        return True
    kept = [each for each in (message.ext or {}).values() if isinstance(each, dict)]
    spoken = {key: each[key] for each in kept for key in _SPEAKS if each.get(key)}
    lost: Lost = "reasoning" if message.parts else "text" if spoken else "none"
    detail = "".join(part.text for part in message.parts if type(part) is Reasoning)
    detail += json.dumps(spoken) if spoken else ""
    work.note("MESSAGE_EMPTY", at, "left out the empty message", detail=detail, lost=lost)
    return False
