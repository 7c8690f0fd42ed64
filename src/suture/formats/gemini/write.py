"""Contents of Gemini's, written: neutral messages to contents, and a healed history around what did not change.

Results of a batch stand in a content of their own, whatever the user says beside them (GEM-RESP-PURE).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby

from suture.formats.base import Decoded, Json, Rewritten, Written
from suture.formats.gemini.parts import (
    KINDS,
    NAME,
    Segment,
    is_as_written,
    is_one_content,
    is_role_right,
    is_snake,
    kinds,
    segments,
    snaked,
)
from suture.formats.wire import object_text, own, rest
from suture.messages import (
    Assistant,
    Audio,
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    System,
    Text,
    ToolCall,
    ToolResult,
)

_ROLES: dict[type, str] = {Assistant: "model", System: "system"}  # system text among the contents is refused, not hidden
_ROLE = frozenset(("role",))
_TEXT = frozenset(("spelling",))
_THOUGHT = frozenset(("spelling", "thought"))
_MEDIA = frozenset(("spelling", "inlineData", "fileData", "mimeType"))
_CALL = frozenset(("spelling", "functionCall", "args"))
_SIGNATURE = frozenset(("thoughtSignature", "thought_signature"))
_RESULT = frozenset(("spelling", "functionResponse", "parts", "content", "response"))
_MEDIA_TYPES = {Image: "image/png", Audio: "audio/wav", File: "application/pdf"}


def encode(messages: Sequence[Message]) -> list[Json]:
    """The contents: one per message, and one for the results of a batch."""
    return [_content(draft, parts_of) for draft in _drafts(messages)]


def _drafts(messages: Sequence[Message]) -> list[list[Message]]:
    found: list[list[Message]] = []
    for is_result, group in groupby(messages, lambda message: type(message) is ToolResult):
        batch = list(group)
        found += [batch] if is_result else [[message] for message in batch]
    return found


def _content(draft: Sequence[Message], write: Callable[[Message], list[Json]]) -> Json:
    """One content of a message, or of the results of a batch."""
    first = draft[0]
    kept = own(first.ext, NAME)
    if type(first) is ToolResult:
        kept = kept.get("content", {})
    role = kept.get("role", _ROLES.get(type(first), "user"))
    written = {"role": role} if role != "" else {}
    return {**written, "parts": [part for message in draft for part in write(message)], **rest(kept, _ROLE)}


def parts_of(message: Message) -> list[Json]:
    """The parts of a message."""
    if type(message) is ToolResult:
        return [result_part(message)]
    return [raw for part in message.parts if (raw := part_wire(part)) is not None]


# Parts ----------------------------------------------------------------------------------------


def part_wire(part: Part) -> Json | None:
    """One part; None where Gemini has none for it."""
    if isinstance(part, Opaque):
        return part.raw if part.provider == NAME and isinstance(part.raw, dict) else None
    kept = own(part.ext, NAME)
    match part:
        case Text():
            return _spelled({"text": part.text, **_signed(part, kept, _TEXT)}, kept)
        case Reasoning():
            thought = {"text": part.text, "thought": True, **_signed(part, kept, _THOUGHT)}
            return _spelled(thought, kept) if kept else None
        case ToolCall():
            return _spelled({"functionCall": _call(part, kept), **_signed(part, kept, _CALL)}, kept)
        case Image() | Audio() | File():
            return _media(part, kept)


def _signed(part: Text | Reasoning | ToolCall, kept: Json, known: frozenset[str]) -> Json:
    """What stands beside what a part holds: its signature, which takes the place of one that was null, and the rest."""
    if not part.signature:
        return rest(kept, known)
    return {"thoughtSignature": part.signature, **rest(kept, known | _SIGNATURE)}


def _spelled(raw: Json, kept: Json) -> Json:
    """The part with its keys spelled as they came."""
    spelling = kept.get("spelling")
    if not spelling:
        return raw
    return {
        spelling.get(key, key): _spelled(value, kept)
        if key in ("inlineData", "fileData") and isinstance(value, dict)
        else value
        for key, value in raw.items()
    }


def _call(call: ToolCall, kept: Json) -> Json:
    id = {"id": call.id} if call.id else {}
    arguments = call.arguments if call.arguments is not None else {"_raw": call.raw or ""}
    args: Json = {"args": arguments}
    if not arguments and "args" in kept:
        args = {} if kept["args"] == "absent" else {"args": None}
    return {**id, "name": call.name, **args, **_beside(kept, "functionCall", id)}


def _media(part: Image | Audio | File, kept: Json) -> Json | None:
    more = rest(kept, _MEDIA)
    named = {"displayName": part.name} if type(part) is File and part.name else {}
    media_type, data, uri = part.media_type, part.data, part.url or part.file_id
    if data is None and uri is not None and uri.startswith("data:"):  # OpenAI puts data into the address
        declared, _, inside = uri.removeprefix("data:").partition(";base64,")
        media_type, data = media_type or declared, inside or None
    typed = {} if kept.get("mimeType") == "absent" else {"mimeType": media_type or _MEDIA_TYPES[type(part)]}
    if data is not None:
        body = {**typed, "data": data, **named, **kept.get("inlineData", {})}
        return _spelled({"inlineData": body, **more}, kept)
    if uri is None or "://" not in uri:  # a file that another provider holds
        return None
    body = {**typed, "fileUri": uri, **named, **kept.get("fileData", {})}
    return _spelled({"fileData": body, **more}, kept)


def result_part(result: ToolResult) -> Json:
    """A result as its part: an object under `response`, pictures under `parts`."""
    kept = own(result.ext, NAME)
    media = [raw for part in result.parts if type(part) is not Text and (raw := part_wire(part)) is not None]
    parts = {"parts": media} if media or kept.get("parts") == "empty" else {}
    id = {"id": result.call_id} if result.call_id else {}
    inside = {**id, "name": result.name or "", "response": _response(result, kept), **parts}
    inside |= _beside(kept, "functionResponse", id)
    return _spelled({"functionResponse": inside, **rest(kept, _RESULT)}, kept)


def _beside(kept: Json, key: str, id: Json) -> Json:
    """What came beside the named fields; an id that was null gives way to one."""
    return {name: value for name, value in kept.get(key, {}).items() if name not in id}


def _response(result: ToolResult, kept: Json) -> Json:
    whole, words = kept.get("response"), result.text
    if isinstance(whole, dict) and object_text(whole) == words:
        return whole
    return {"error" if result.error else "output": words}


def is_part(raw: object) -> bool:
    """Whether what was kept as it came may be sent as a part: it holds one thing that Gemini is known to take."""
    return isinstance(raw, dict) and len(held := kinds(raw)) == 1 and held[0] in KINDS


def head(system: Sequence[System]) -> Json:
    """The request's `systemInstruction`, in the shape in which it came."""
    parts = [part for message in system for part in message.parts]
    if not parts:
        return {}
    shape = own(system[0].ext, NAME)
    key = shape.get("key", "systemInstruction")
    if shape.get("shape") == "text" and len(parts) == 1 and type(parts[0]) is Text and parts[0].ext is None:
        return {key: parts[0].text}
    written = [raw for part in parts if (raw := part_wire(part)) is not None]
    return {key: {**shape.get("content", {}), "parts": written}}


# Rewriting ------------------------------------------------------------------------------------


class Rewriting:
    """One healed history: each content that did not change stays the object that it was, and so does each part."""

    def __init__(self, raw: Sequence[Json], decoded: Decoded, written: Written) -> None:
        self.raw = raw
        self.decoded = decoded
        self.messages = written.messages
        self.sources = written.sources
        self.homes = [None if source is None else decoded.homes[source] for source in written.sources]
        self.sizes = Counter(decoded.homes)
        self.is_snake = is_snake(raw)
        self.segments: dict[int, list[Segment]] = {}
        self.as_came = self._as_came()

    def run(self) -> Rewritten:
        """The contents, and where each was before."""
        drafts: list[list[int]] = []
        for at, message in enumerate(self.messages):
            if at and type(message) is ToolResult and type(self.messages[at - 1]) is ToolResult:
                drafts[-1].append(at)
            else:
                drafts.append([at])
        return Rewritten([self._write(draft) for draft in drafts], [self._home(draft) for draft in drafts])

    def _home(self, draft: Sequence[int]) -> int | None:
        return next((home for at in draft if (home := self.homes[at]) is not None), None)

    def _write(self, draft: Sequence[int]) -> Json:
        home = self.homes[draft[0]]
        if home is not None and self._is_intact(draft, home):
            return self.raw[home]
        return _content([self.messages[at] for at in draft], self._parts)

    def _is_intact(self, draft: Sequence[int], home: int) -> bool:
        """Whether the draft is one content of the input, all of it, which may be sent as it is."""
        if len(draft) != self.sizes[home] or not all(self.homes[at] == home and self._is_same(at) for at in draft):
            return False
        sources = [self.sources[at] or 0 for at in draft]
        if sources != sorted(sources):
            return False
        content, found = self.raw[home], self._segments(home)
        if not (is_role_right(content, found) and is_one_content(content, found)):
            return False
        whole = content.get("parts")
        each = [piece for segment in found for piece in segment.pieces]
        return all(piece.raw is whole[piece.at] and is_as_written(piece.raw) for piece in each)  # type: ignore[index]

    def _is_same(self, at: int) -> bool:
        source = self.sources[at]
        return source is not None and self.decoded.messages[source] is self.messages[at]

    def _segments(self, home: int) -> list[Segment]:
        if home not in self.segments:
            self.segments[home] = segments(self.raw[home], f"contents[{home}]")
        return self.segments[home]

    def _as_came(self) -> dict[int, Json]:
        """The part that each neutral part, or result, came as, by its identity: those that may be sent as they are."""
        found: dict[int, Json] = {}
        for home in self.sizes:
            whole = self.raw[home].get("parts") or ()
            first, last = self.decoded.range_of(home)
            for message, segment in zip(self.decoded.messages[first:last], self._segments(home), strict=True):
                is_result = type(message) is ToolResult
                if is_result and len(segment.pieces) > 1:
                    continue
                parts = (message,) if is_result else message.parts
                for part, piece in zip(parts, segment.pieces, strict=True):
                    if piece.raw is whole[piece.at] and is_as_written(piece.raw):
                        found[id(part)] = piece.raw
        return found

    def _parts(self, message: Message) -> list[Json]:
        """The parts of a message; those that did not change as they came."""
        if type(message) is ToolResult:
            return [self.as_came.get(id(message)) or self._new(result_part(message))]
        found: list[Json] = []
        for part in message.parts:
            if (came := self.as_came.get(id(part))) is not None:
                found.append(came)
            elif (fresh := part_wire(part)) is not None:
                found.append(self._new(fresh))
        return found

    def _new(self, raw: Json) -> Json:
        return snaked(raw) if self.is_snake else raw
