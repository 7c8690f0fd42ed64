"""The words of a conversation: messages and their parts, the same for every provider.

All are frozen. What a provider sent beside the fields named here survives in `ext`; a part of a kind
that this version does not know survives as `Opaque`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from suture.canonical import scrubbed
from suture.errors import Corrupt

if TYPE_CHECKING:
    from msgspec import StructMeta
else:
    StructMeta = type(msgspec.Struct)  # older versions have no name for it

Ext: TypeAlias = dict[str, object]


class Usage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Tokens of one or more model calls. Cache figures are subsets of `input_tokens`; `cost` is in US dollars.

    `a + b` sums; a cost that is unknown on either side stays unknown, unless that side counted no token.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None

    def __add__(self, other: Usage) -> Usage:
        if self == Usage():
            return other
        if other == Usage():
            return self
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            cost,
        )


class Origin(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What produced an assistant message; signatures and ids are only good there."""

    provider: str
    api: str = ""
    model: str = ""
    response_id: str | None = None


# Parts ----------------------------------------------------------------------------------------


class _Part(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="type"):
    pass


class Text(_Part, frozen=True, gc=False, omit_defaults=True, tag="text"):
    """Words."""

    text: str
    signature: str | None = None
    ext: Ext | None = None


class Reasoning(_Part, frozen=True, gc=False, omit_defaults=True, tag="reasoning"):
    """A model's thinking. `signature` and `encrypted` are opaque and bound to the model that made them."""

    text: str = ""
    signature: str | None = None
    encrypted: str | None = None
    redacted: bool = False
    item_id: str | None = None
    ext: Ext | None = None


class Image(_Part, frozen=True, gc=False, omit_defaults=True, tag="image"):
    """A picture: base64 `data`, a `url`, or a provider's `file_id`."""

    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    media_type: str | None = None
    ext: Ext | None = None


class File(_Part, frozen=True, gc=False, omit_defaults=True, tag="file"):
    """A document: base64 `data`, a `url`, or a provider's `file_id`."""

    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    media_type: str | None = None
    name: str | None = None
    ext: Ext | None = None


class Audio(_Part, frozen=True, gc=False, omit_defaults=True, tag="audio"):
    """A sound: base64 `data`, a `url`, or a provider's `file_id`."""

    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    media_type: str | None = None
    ext: Ext | None = None


class ToolCall(_Part, frozen=True, gc=False, omit_defaults=True, tag="tool_call"):
    """A call that a model asked for.

    `arguments` is None when what came is no JSON object; `raw` then holds the text as it came and `error`
    the code of what is wrong with it. `id` is the wire id; blank when the provider gave none.
    """

    id: str
    name: str
    arguments: dict[str, object] | None = None
    raw: str | None = None
    error: str | None = None
    item_id: str | None = None
    signature: str | None = None
    ext: Ext | None = None


class Opaque(_Part, frozen=True, gc=False, omit_defaults=True, tag="opaque"):
    """A part that only its provider understands, kept as it came."""

    provider: str
    raw: object = None


Part: TypeAlias = Text | Reasoning | Image | File | Audio | ToolCall | Opaque

# Messages -------------------------------------------------------------------------------------


class _Message(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="role"):
    parts: tuple[Part, ...] = ()
    id: str | None = None
    ext: Ext | None = None

    @property
    def text(self) -> str:
        """The words of all text parts, joined."""
        if len(self.parts) == 1 and type(self.parts[0]) is Text:
            return self.parts[0].text
        return "".join(part.text for part in self.parts if type(part) is Text)


class System(_Message, frozen=True, gc=False, omit_defaults=True, tag="system"):
    """Instructions."""

    @staticmethod
    def of(content: str | Part | Iterable[str | Part], id: str | None = None) -> System:
        """A system message of texts and parts."""
        return System(parts_of(content), id)


class User(_Message, frozen=True, gc=False, omit_defaults=True, tag="user"):
    """What a person, or the host in their place, says."""

    @staticmethod
    def of(content: str | Part | Iterable[str | Part], id: str | None = None) -> User:
        """A user message of texts and parts."""
        return User(parts_of(content), id)


class Assistant(_Message, frozen=True, gc=False, omit_defaults=True, tag="assistant"):
    """What a model answered. `stop_reason` is stop, tool_use, length, refusal, pause, error or aborted."""

    stop_reason: str | None = None
    usage: Usage | None = None
    origin: Origin | None = None

    @staticmethod
    def of(content: str | Part | Iterable[str | Part], id: str | None = None) -> Assistant:
        """An assistant message of texts and parts."""
        return Assistant(parts_of(content), id)

    @property
    def is_whole(self) -> bool:
        """Whether the model ended its turn by itself; one that was cut off may hold half a call."""
        return self.stop_reason in (None, "stop", "tool_use", "pause")

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple([part for part in self.parts if type(part) is ToolCall])


class _Answering(StructMeta):
    """Makes a `ToolResult` as a handler writes it, content first. Decoding goes past it; copying names every field."""

    def __call__(
        cls,  # noqa: N805
        content: object = (),
        ui: object = None,
        error: bool | None = None,
        *,
        parts: object = None,
        id: str | None = None,
        ext: Ext | None = None,
        call_id: str = "",
        name: str | None = None,
        error_type: str | None = None,
        synthetic: str | None = None,
    ) -> object:
        return super().__call__(
            parts=_content(content) if parts is None else parts,
            id=id,
            ext=ext,
            call_id=call_id,
            name=name,
            error=error,
            error_type=error_type,
            ui=ui,
            synthetic=synthetic,
        )


class ToolResult(_Message, frozen=True, gc=False, omit_defaults=True, tag="tool", kw_only=True, metaclass=_Answering):
    """The answer to one call: `ToolResult("3 rows", {"chart": 1})`, `ToolResult("no such table", error=True)`.

    `content` is a text, a part, or a list that holds a part (its texts become parts too), and becomes `parts`; any other
    JSON value becomes one text of JSON, once the result is recorded. `error` is None where it is unknown. `ui` is for the
    host and never sent. `synthetic` says why the result stands in for one that is not there: not_run, unknown, lost,
    timeout, denied; None for a real one.
    """

    call_id: str = ""
    name: str | None = None
    error: bool | None = None
    error_type: str | None = None
    ui: object = None
    synthetic: str | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            content: object = (),
            ui: object = None,
            error: bool | None = None,
            *,
            parts: tuple[Part, ...] | None = None,
            id: str | None = None,
            ext: Ext | None = None,
            call_id: str = "",
            name: str | None = None,
            error_type: str | None = None,
            synthetic: str | None = None,
        ) -> None: ...

    @staticmethod
    def of(call_id: str, content: str | Part | Iterable[str | Part], error: bool | None = None) -> ToolResult:
        """A result of texts and parts for the call of that id."""
        return ToolResult(parts=parts_of(content), call_id=call_id, error=error)


def _content(content: object) -> tuple[object, ...]:
    """Texts and parts as parts. Any other value stands alone in the tuple, for whoever writes the result down."""
    match content:
        case None:
            return ()
        case tuple() if not content:
            return ()
        case _ if isinstance(content, str | Part):
            return parts_of(content)
        case list() | tuple() if any(isinstance(item, Part) for item in content):
            return parts_of(content) if all(isinstance(item, str | Part) for item in content) else (content,)
        case _:
            return (content,)


Message: TypeAlias = System | User | Assistant | ToolResult


def parts_of(content: str | Part | Iterable[str | Part]) -> tuple[Part, ...]:
    """Texts and parts as a tuple of parts; an empty text is no part."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if isinstance(content, Text | Reasoning | Image | File | Audio | ToolCall | Opaque):
        return (content,)
    return tuple(part for item in content for part in parts_of(item))


# Encoding -------------------------------------------------------------------------------------

_ENCODER = msgspec.json.Encoder()
_PARTS = ("text", "reasoning", "image", "file", "audio", "tool_call", "opaque")  # no set: what is looked up may be anything


def encode(value: object) -> bytes:
    """A word, or a struct that holds words, as JSON; surrogates are scrubbed."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _ENCODER.encode(scrubbed(msgspec.to_builtins(value)))


def with_known_parts(message: object) -> object:
    """A message as plain JSON, with each part of an unknown kind wrapped as `Opaque`."""
    if not isinstance(message, dict) or not isinstance(message.get("parts"), list):
        return message
    parts = [
        part
        if isinstance(part, dict) and part.get("type") in _PARTS
        else {"type": "opaque", "provider": "suture", "raw": part}
        for part in message["parts"]
    ]
    return {**message, "parts": parts}


def message_from(value: object) -> Message:
    """A message from plain JSON, as `encode` writes it.

    Raises:
        Corrupt: the role is unknown or a field has the wrong type.
    """
    try:
        message: Message = msgspec.convert(with_known_parts(value), Message)
    except (msgspec.ValidationError, RecursionError) as error:
        raise Corrupt(f"no message of this version: {error}") from error
    return message
