"""What may be sent of a conversation, kept from one request to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from suture.messages import Assistant, Message, ToolCall, ToolResult
from suture.repair import Why, stand_in
from suture.replay.calls import Block, Call, TurnBlock


class RequestView:
    """The messages of a request, kept from one to the next: those of `lead`, then the blocks from the place `first` on.

    Forgetting a place costs what stands behind it.
    """

    def __init__(self, places: Sequence[Block | None], first: int = 0, lead: Sequence[Message] = ()) -> None:
        self._places = places
        self._first = first
        self._messages = list(lead)
        self._starts: list[int] = []

    def cut(self, place: int) -> None:
        """Work out anew what stands at that place, and all behind it."""
        at = place - self._first
        if 0 <= at < len(self._starts):
            del self._messages[self._starts[at] :]
            del self._starts[at:]

    def messages(self) -> tuple[Message, ...]:
        """Each turn followed by one result per call, in call order, under ids that are given once; nothing empty."""
        for block in self._places[self._first + len(self._starts) :]:
            self._starts.append(len(self._messages))
            self._messages.extend(shown(block) if block is not None else ())
        return tuple(self._messages)


def shown(block: Block) -> list[Message]:
    """A block as a request has it: a turn followed by one result per call, in call order; nothing that is empty."""
    if isinstance(block, TurnBlock):
        return list(_turn(block))
    return [block.message] if block.message.parts else []


def _turn(block: TurnBlock) -> Iterator[Message]:
    yield _as_it_ran(block)
    for call in block.calls:
        answer = block.paired.answers[call.slot]
        result = answer.result if answer is not None else stand_in_for(call)
        yield result if result.call_id == call.name else msgspec.structs.replace(result, call_id=call.name)


def _as_it_ran(block: TurnBlock) -> Assistant:
    """The assistant message with ids that are given once, and with its calls as they were corrected or let run."""
    if all(call.edited is None and call.corrected is call.call and call.call.id == call.name for call in block.calls):
        return block.message
    sent = iter(msgspec.structs.replace(call.edited or call.corrected, id=call.name) for call in block.calls)
    parts = tuple(next(sent) if type(part) is ToolCall else part for part in block.message.parts)
    return msgspec.structs.replace(block.message, parts=parts)


def stand_in_for(call: Call) -> ToolResult:
    """What a request says of a call without a result, by what the log knows of it."""
    why, reason = _unanswered_because(call)
    return msgspec.structs.replace(stand_in(call.corrected, why, reason), id=f"stand-in:{call.key}")


def withdrawn(call: Call) -> ToolResult:
    """What closes a call that was open where the session was forked: in the parent it goes on."""
    why, reason = _withdrawn_because(call)
    return msgspec.structs.replace(stand_in(call.corrected, why, reason), id=f"withdrawn:{call.key}")


def _withdrawn_because(call: Call) -> tuple[Why, str]:
    match call.status:
        case "parked":
            return "not_run", "it waited for a person's approval where this conversation was forked, and was withdrawn"
        case "decided":
            return "not_run", "what was decided about it is good only in the conversation that this one was forked off"
        case "started":
            return "unknown", "it was started in the conversation that this one was forked off"
        case _:
            if call.by_loop:
                return "not_run", "this conversation was forked before it was run"
            return "unknown", "this conversation was forked before a result of it was there"


def _unanswered_because(call: Call) -> tuple[Why, str | None]:
    if call.refused is not None and call.status != "started":
        return "not_run", call.refused
    match call.status:
        case "parked":
            return "not_run", "it waits for a person's approval"
        case "decided":
            return "not_run", "it was decided and has not been taken up yet"
        case "started":
            return "unknown", call.reason
        case _:
            return ("not_run", call.reason or "the run ended first") if call.by_loop else ("unknown", None)
