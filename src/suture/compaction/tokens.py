"""How long a conversation is: what the model last reported, and an estimate of what came since."""

from __future__ import annotations

import msgspec

from suture.canonical import scrub
from suture.compaction.options import Compaction
from suture.messages import Assistant, Audio, File, Image, Message, Opaque, Part, Reasoning, Text, ToolCall
from suture.replay import Block, State, shown

# A picture or document counts as so many characters, whatever its size.
_MEDIA = 4_800
_PER_TOKEN = 4


def tokens_of(message: Message) -> int:
    """An estimate of a message's tokens: a quarter of its characters, rounded up."""
    return -(-sum(map(_characters, message.parts)) // _PER_TOKEN)


def _characters(part: Part) -> int:
    match part:
        case Text() | Reasoning():
            return len(part.text)
        case Image() | File() | Audio():
            return _MEDIA
        case ToolCall():
            return len(part.name) + (len(part.raw) if part.raw is not None else _json_length(part.arguments))
        case Opaque():
            return min(_json_length(part.raw), _MEDIA)


def _json_length(value: object) -> int:
    try:
        return len(msgspec.json.encode(value))
    except UnicodeEncodeError:
        return len(scrub(str(value)))


def context_tokens(state: State) -> int:
    """The tokens of what may be sent now: those that the last sound answer reported, and an estimate of all behind it.

    What was reported before the last compaction says nothing of what is sent now.
    """
    tokens = 0
    compacted_at = state.boundary.seq if state.boundary is not None else 0
    for block in reversed(state.sent_blocks()):
        sent = list(map(tokens_of, shown(block)))
        if reported := _reported(block, compacted_at):
            return tokens + reported + sum(sent[1:])
        tokens += sum(sent)
    return tokens + (tokens_of(state.boundary.summary) if state.boundary is not None else 0)


def _reported(block: Block, compacted_at: int) -> int:
    message = block.message
    if not isinstance(message, Assistant) or message.usage is None or block.seq <= compacted_at:
        return 0
    sound = message.stop_reason not in ("error", "aborted")
    return message.usage.input_tokens + message.usage.output_tokens if sound else 0


def is_due(state: State, options: Compaction) -> bool:
    """Whether the conversation is longer than its window allows; False where that is not known."""
    return options.limit is not None and context_tokens(state) > options.limit
