"""What an edit makes of a message, and what it may not touch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from suture.entries import Edit, Removal
from suture.errors import Corrupt
from suture.messages import Assistant, Message, Reasoning, System, Text, ToolCall, ToolResult, User, encode, message_from
from suture.replay.calls import Block, Call, Single, TurnBlock, own
from suture.replay.conversation import Applied, Conversation

# What a message is known by. It stays, whatever else of it changes.
_KEPT = frozenset(("id", "call_id"))


def fields_of(kind: type[Message]) -> tuple[str, ...]:
    """The fields of a message of that kind that an edit may change."""
    return tuple(name for name in kind.__struct_fields__ if name not in _KEPT)


def edited(message: Message, changes: Mapping[str, object]) -> Message:
    """The message with other values in some fields, given as JSON.

    Raises:
        Corrupt: it has no such field, or one that stays as it is, or the value does not fit.
    """
    if strange := sorted(changes.keys() - set(fields_of(type(message)))):
        raise Corrupt(f"{', '.join(strange)} cannot be changed in a message of this kind")
    whole = message_from({**msgspec.to_builtins(message), **changes})
    return msgspec.structs.replace(message, **{name: getattr(whole, name) for name in changes})


def is_hollow(message: Message) -> bool:
    """Whether it is an answer with neither words nor calls, which says nothing to anybody."""
    return isinstance(message, Assistant) and all(
        isinstance(part, Reasoning) or (isinstance(part, Text) and not part.text.strip()) for part in message.parts
    )


class Matched(NamedTuple):
    """The calls of an edited turn: each with the call that it was, None for a new one; and the calls that are gone."""

    calls: list[tuple[ToolCall, Call | None]]
    dropped: list[Call]

    @property
    def touched(self) -> list[Call]:
        """The calls that are gone or have changed."""
        return [*self.dropped, *(old for new, old in self.calls if old is not None and not is_same(new, old.call))]


def matched(old: Sequence[Call], new: Iterable[ToolCall]) -> Matched:
    """Which call is which: a wire id names the first that has it and is not taken."""
    left: dict[str, list[Call]] = {}
    for call in old:
        left.setdefault(call.call.id, []).append(call)
    pairs: list[tuple[ToolCall, Call | None]] = []
    for made in new:
        same = left.get(made.id)
        pairs.append((made, same.pop(0) if same else None))
    return Matched(pairs, [call for calls in left.values() for call in calls])


def is_same(one: ToolCall, other: ToolCall) -> bool:
    """Whether two calls say the same; 1, 1.0 and true do not."""
    return encode(one) == encode(other)


def refusal(touched: Iterable[Call]) -> str | None:
    """Why calls may not be changed or taken away: somebody runs one, or was asked about it. None when they may."""
    for call in touched:
        if call.status == "started":
            return f"the call {call.key} ({call.call.name}) has started, and its result is not there yet"
        if call.status in ("parked", "decided"):
            return f"the call {call.key} ({call.call.name}) waits for a person's decision, or for a run to take it up"
    return None


# In a fold --------------------------------------------------------------------------------------


def fold_edit(talk: Conversation, seq: int, body: Edit) -> None:
    """Take in an edit: what it names is changed, or a finding says why not."""
    if body.target <= talk.start:
        return  # it is about what was carried over, and changes nothing that is sent
    message = talk.recorded.get(body.target)
    if message is None:
        talk.find(seq, "EDIT_UNKNOWN", f"{body.target} is no message of the conversation, so nothing was changed")
        return
    try:
        new = edited(message, body.changes)
        if isinstance(new, Assistant):
            _require_free(matched(talk.calls_at(body.target), new.calls).touched)
    except Corrupt as error:
        talk.find(seq, "EDIT_INVALID", f"the message at {body.target} stays as it was: {error}")
        return
    if is_hollow(new):
        talk.find(seq, "MESSAGE_EMPTY", f"nothing was left of the answer at {body.target}, so it was removed")
    apply(talk, Applied(seq, body.target, None if is_hollow(new) else new))


def fold_removal(talk: Conversation, seq: int, body: Removal) -> None:
    """Take in a removal, of each message that it names by itself."""
    for target in body.targets:
        if target <= talk.start:
            continue
        message = talk.recorded.get(target)
        if message is None:
            talk.find(seq, "EDIT_UNKNOWN", f"{target} is no message of the conversation, so nothing was removed")
        elif isinstance(message, ToolResult):
            talk.find(seq, "EDIT_INVALID", f"{target} is a result, which is removed with its call alone; it stays")
        elif why := refusal(talk.calls_at(target)):
            talk.find(seq, "EDIT_INVALID", f"the message at {target} was not removed: {why}")
        else:
            apply(talk, Applied(seq, target, None))


def _require_free(calls: Iterable[Call]) -> None:
    if why := refusal(calls):
        raise Corrupt(why)


def apply(talk: Conversation, edit: Applied) -> None:
    """Make an edit count. What a summary hides is changed where it is read, and nowhere else."""
    talk.edited_at = edit.seq
    if talk.is_read_only(edit.target):
        _restate(talk, edit)
        return
    talk.edits.append(edit)
    match edit.message:
        case None:
            _take_away(talk, edit.target, edit.seq)
        case ToolResult() as result:
            _edit_result(talk, edit, result)
        case Assistant() as answer:
            _edit_answer(talk, edit, answer)
        case System() | User() as other:
            talk.recorded[edit.target] = other
            _replace(talk, Single(edit.target, other))


def _restate(talk: Conversation, edit: Applied) -> None:
    """Change what is read of a hidden message."""
    made = () if not isinstance(edit.message, Assistant) else edit.message.calls
    for call in matched(talk.calls_at(edit.target), made).dropped:
        for seq in call.results:
            talk.recorded.pop(seq, None)
    if edit.message is None:
        talk.recorded.pop(edit.target, None)
    else:
        talk.recorded[edit.target] = edit.message


def _edit_result(talk: Conversation, edit: Applied, new: ToolResult) -> None:
    talk.recorded[edit.target] = new
    call = talk.answering.get(edit.target)
    if call is None:
        talk.pairing.restate_stray(edit.target, new)
        talk.find(edit.seq, "RESULT_ORPHAN", f"no call wants the result at {edit.target}, which was edited: {new.text}")
    elif talk.counts(edit.target):
        talk.pairing.restate(call.paired, call.slot, new)
        talk.timeline.forget(call.seq)
        talk.is_reported_hidden(call, edit.seq, new)
    else:
        words = f"another result of {call.key} stands than the edited one: {new.text}"
        talk.find(edit.seq, "RESULT_DUPLICATE", words)


def _edit_answer(talk: Conversation, edit: Applied, new: Assistant) -> None:
    """Put an answer in the place of what it was. Calls keep their keys, by id; those that are gone take their results
    with them.
    """
    old = talk.timeline.at(edit.target)
    calls = matched(talk.calls_at(edit.target), new.calls)
    for call in calls.dropped:
        _drop(talk, call, edit.seq)
    talk.recorded[edit.target] = new
    if not calls.calls:
        _replace(talk, Single(edit.target, new))
    elif isinstance(old, TurnBlock):
        old.message = new
        old.calls = _edited_calls(talk, edit.seq, old, calls)
        talk.timeline.forget(old.seq)
    else:
        turn = TurnBlock(edit.target, new, talk.pairing.add_turn(edit.target, ()), False)
        _replace(talk, turn)
        turn.calls = _edited_calls(talk, edit.seq, turn, calls)


def _edited_calls(talk: Conversation, seq: int, turn: TurnBlock, calls: Matched) -> tuple[Call, ...]:
    found: list[Call] = []
    touched = {id(call) for call in calls.touched}
    for made, call in calls.calls:
        if call is None:
            slot = talk.pairing.extend(turn.paired, own(made))
            talk.edited_spans.append((turn.seq, seq))
            found.append(talk.new_call(seq, turn.paired, slot, by_loop=False))
            continue
        if id(call) in touched:
            _note_span(talk, call, seq)
            call.change(own(made))
            talk.pairing.change(turn.paired, call.slot, call.call)
        found.append(call)
    return tuple(found)


def _replace(talk: Conversation, block: Block) -> None:
    old = talk.timeline.at(block.seq)
    assert old is not None
    talk.timeline.replace(old, block)


def _take_away(talk: Conversation, target: int, seq: int) -> None:
    block = talk.timeline.at(target)
    assert block is not None
    for call in talk.calls_at(target):
        _drop(talk, call, seq)
    del talk.recorded[target]
    talk.timeline.remove(block)


def _note_span(talk: Conversation, call: Call, seq: int) -> None:
    """Keep where entries may speak of a call as it was before an edit; of an answered one all are known."""
    first, last = call.reach
    talk.edited_spans.append((first, last if call.answered else seq))


def _drop(talk: Conversation, call: Call, seq: int) -> None:
    """Take a call out of the conversation, and all results that came for it."""
    _note_span(talk, call, seq)
    for position in call.results:
        talk.recorded.pop(position, None)
        talk.answering.pop(position, None)
    talk.pairing.drop(call.paired, call.slot)
    talk.book.release(call.name)
    talk.unanswered.pop(call.key, None)
    del talk.calls[call.key]
    talk.gone.add(call.key)
    call.gone = True
