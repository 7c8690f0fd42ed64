"""The pass over pictures, sounds and files whose content is missing, or not in the form that it has in the target."""

from __future__ import annotations

import msgspec

from suture.formats.base import Flaw, Format
from suture.formats.media import EMPTY
from suture.healing.parts import is_message
from suture.healing.work import Lost, Work, as_text
from suture.messages import Audio, File, Image, Message, Opaque, Part, Reasoning, Text, ToolCall

_KINDS = (Image, File, Audio, Opaque)
_HOLLOW = Flaw(EMPTY, "it holds nothing")


def flaws(work: Work) -> None:
    """What can only be meant in one way is written so; what cannot be sent is left out, and reported as it came."""
    for at, message in enumerate(work.messages):
        if is_message(message) or not any(type(part) in _KINDS for part in message.parts):
            continue
        left = [_without_flaw(work, at, part) if type(part) in _KINDS else part for part in message.parts]
        if any(new is not old for new, old in zip(left, message.parts, strict=True)):
            work.replace(at, parts=tuple([part for part in left if part is not None]))


def as_meant(message: Message, source: Format) -> Message:
    """A message of that format with the content of its pictures, sounds and files as it can only be meant."""
    if not any(type(part) in _KINDS for part in message.parts):
        return message
    parts = tuple([_meant(part, source) if type(part) in _KINDS else part for part in message.parts])
    return msgspec.structs.replace(message, parts=parts)


def _meant(part: Part, source: Format) -> Part:
    flaw = source.flaw(part)
    return part if flaw is None or flaw.instead is None else source.part_of(flaw.instead)


def _is_hollow(part: Part) -> bool:
    """Whether it is one that holds nothing, whatever the format."""
    return not isinstance(part, Opaque | Text | Reasoning | ToolCall) and not (part.data or part.url or part.file_id)


def _without_flaw(work: Work, at: int, part: Part) -> Part | None:
    """The part without its flaw; None where there is none without."""
    flaw = work.format.flaw(part) if work.format.takes(part) else _HOLLOW if _is_hollow(part) else None
    if flaw is None or flaw.severity == "DEG":
        return part
    if flaw.instead is not None:
        work.note(flaw.code, at, "wrote the content in the form that it has here", part=part, detail=flaw.why)
        return work.format.part_of(flaw.instead)
    lost: Lost = "none" if flaw.code == EMPTY else "image"
    work.note(flaw.code, at, f"left it out: {flaw.why}", part=part, detail=as_text(part), lost=lost)
    return None
