"""What was given to be healed: one request, all of it sendable and in one format, and where each message came from.

Programs that change their provider in the middle leave messages of another format behind; those are read as what they
are and written in the format of the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import msgspec

from suture.errors import HistoryError, UnknownFormat
from suture.formats import FORMATS, KIN, format_of
from suture.formats.base import Decoded, Format, Json
from suture.formats.handoff import HANDOFF
from suture.formats.limits import Limits
from suture.formats.rule import Finding, finding
from suture.formats.wire import index_in, messages_of, moved, text_id
from suture.healing.losses import losses
from suture.healing.surrogates import is_sendable, without_surrogates
from suture.healing.work import Change, Lost, as_text
from suture.messages import Image, Message, Part, Reasoning, ToolCall, ToolResult

_CODE = "FORMAT_MIXED"


class Given(NamedTuple):
    """A request, for each of its messages the index that it had, and what was done to it before anything else."""

    request: Json
    homes: Sequence[int]
    changes: Sequence[Change] = ()
    mixed: Sequence[Finding] = ()  # messages of another format

    def at_home(self, found: Finding, form: Format) -> Finding:
        """The finding at the index that its message had."""
        index = index_in(found.path, form.key)
        if index is None or self.homes[index] == index:
            return found
        return msgspec.structs.replace(found, path=moved(found.path, form.key, self.homes[index]))


def checked(history: object, form: Format, limits: Limits, *, open_tail: bool = False) -> tuple[Given, list[Finding]]:
    """The history as a request of that format, all of it, and what its check finds.

    What only another format has is always found at its place, so only those places are looked at.

    Raises:
        UnknownFormat: everything that tells a format is another's.
        HistoryError: it cannot be read; the message names the place.
    """
    given = _read(history, form)
    found = form.check(given.request, limits, open_tail=open_tail)
    places = sorted({index for each in found if (index := index_in(each.path, form.key)) is not None})
    foreign = _foreign(given.request[form.key], places, form)
    if not foreign:
        return given, found
    given = _translated(given, foreign, form)
    return given, form.check(given.request, limits, open_tail=open_tail)


def _read(history: object, form: Format) -> Given:
    """The history as a request without halves of surrogate pairs, whose messages can be of that format."""
    messages = messages_of(history, form.key)
    request: Json = history if isinstance(history, dict) else {form.key: messages}
    if request[form.key] is not messages:  # a text, read as one message
        request = {**request, form.key: messages}
    changes: list[Change] = []
    if not is_sendable(request, form):
        request, changes = without_surrogates(request, form)
    given = Given(request, range(len(messages)), changes)
    misfits = [index for index, message in enumerate(request[form.key]) if form.misfit(message) is not None]
    if not misfits:
        return given
    if foreign := _foreign(request[form.key], misfits, form):
        given = _translated(given, foreign, form)
    for index, message in enumerate(given.request[form.key]):
        if problem := form.misfit(message):
            raise HistoryError(f"{form.key}[{given.homes[index]}] {problem}")
    return given


# Messages of another format -------------------------------------------------------------------


class _Foreign(NamedTuple):
    format: Format
    sign: str


def _foreign(messages: Sequence[Json], places: Iterable[int], form: Format) -> dict[int, _Foreign]:
    """Which of those messages are of another format, and of which."""
    kin = [form, *([format_of(KIN[form.name])] if form.name in KIN else ())]
    others = [format_of(name) for name in FORMATS if name not in {each.name for each in kin}]
    found: dict[int, _Foreign] = {}
    for index in places:
        if any(each.sign(messages[index]) for each in kin):
            continue
        for other in others:
            if (sign := other.sign(_without(messages[index], form.borrowed))) and other.misfit(messages[index]) is None:
                found[index] = _Foreign(other, sign)
                break
    if found and not any(each.sign(message) for message in messages for each in kin):
        index, (whose, sign) = next(iter(found.items()))
        raise UnknownFormat(
            f"{form.key}[{index}] has {sign}, which is {whose.name}'s and not {form.name}'s. "
            f"Name the format that the history is in: format={whose.name!r}. "
            f"To move it there: `convert` with target={form.name!r}."
        )
    return found


def _without(message: Json, borrowed: frozenset[str]) -> Json:
    """The message without the parts that its own format's healing reads, whoever's they are."""
    content = message.get("content")
    if not borrowed or not isinstance(content, list):
        return message
    kept = [part for part in content if not (isinstance(part, dict) and text_id(part.get("type")) in borrowed)]
    return message if len(kept) == len(content) else {**message, "content": kept}


def _translated(given: Given, foreign: dict[int, _Foreign], form: Format) -> Given:
    """The messages of other formats, written in this one; neighbours of one format are read together."""
    raw = given.request[form.key]
    out: list[Json] = []
    homes: list[int] = []
    mixed = list(given.mixed)
    changes = list(given.changes)

    def source(index: int) -> str:
        return foreign[index].format.name if index in foreign else ""

    for name, group in groupby(range(len(raw)), key=source):
        indexes = list(group)
        if not name:
            out += [raw[index] for index in indexes]
            homes += [given.homes[index] for index in indexes]
            continue
        other = format_of(name)
        theirs = [raw[index] for index in indexes]
        decoded = other.decode(theirs)
        changes += _losses(theirs, decoded, other, form, [given.homes[index] for index in indexes])
        for message, home in zip(decoded.messages, decoded.homes, strict=True):
            index = given.homes[indexes[home]]
            fitting, gone = _fitting(message, form)
            written = form.encode([fitting]) if fitting.parts or type(fitting) is ToolResult else []
            out += written
            homes += [index] * len(written)
            changes += [_left_out(part, f"{form.key}[{index}]") for part in gone]
        for index in indexes:
            path = f"{form.key}[{given.homes[index]}]"
            sentence = f"The message has {foreign[index].sign}, which is {name}'s and not {form.name}'s."
            mixed.append(finding(HANDOFF["X-MIXED"], _CODE, path, sentence))
            changes.append(Change(code=_CODE, rules=("X-MIXED",), path=path, action=f"read it as {name}'s"))
    return Given({**given.request, form.key: out}, homes, changes, mixed)


def _losses(raw: Sequence[Json], decoded: Decoded, source: Format, form: Format, homes: Sequence[int]) -> Iterator[Change]:
    """What the messages had for their own provider alone; `homes` are their indexes in the history."""

    def places(at: int) -> list[str]:
        home = decoded.homes[at]
        paths = source.places(raw, decoded, home)[at]
        return [moved(f"{form.key}{path.removeprefix(source.key)}", form.key, homes[home]) for path in paths]

    return losses(decoded.messages, range(len(decoded.messages)), places, source, form.limits(""))


def _fitting(message: Message, form: Format) -> tuple[Message, list[Part]]:
    """The message without the parts that the format has no form for, and those parts."""
    fits = [type(part) is ToolCall or form.takes(part) for part in message.parts]
    kept = tuple([part for part, is_kept in zip(message.parts, fits, strict=True) if is_kept])
    gone = [part for part, is_kept in zip(message.parts, fits, strict=True) if not is_kept]
    return msgspec.structs.replace(message, parts=kept, ext=None), gone


def _left_out(part: Part, path: str) -> Change:
    lost: Lost = "reasoning" if type(part) is Reasoning else "image" if type(part) is Image else "text"
    action = "left out what has no place in this format"
    return Change(code=_CODE, rules=("X-MIXED",), path=path, action=action, detail=as_text(part), lost=lost)
