"""A slow replay to hold the fast one to, written from the words of the design. It shares nothing with `suture.replay`, and
looks through everything for each entry.

What may be sent, in short: `("summary", text)`, `("user", text)`, `("assistant", text, calls)` with each call's name and
arguments, `("result", text)`, and `("nothing", why)` where something has to stand in for a result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from suture.entries import (
    ApprovalDecision,
    ApprovalRequest,
    Compacted,
    Correction,
    Edit,
    Entry,
    Fork,
    MessageBody,
    Removal,
    Reset,
    Settlement,
    ToolStarted,
    call_digest,
    is_over,
    plain,
    read,
)
from suture.errors import Corrupt
from suture.messages import Assistant, Message, Reasoning, Text, ToolCall, ToolResult, User, encode, message_from

if TYPE_CHECKING:
    from suture.replay import State

Short: TypeAlias = tuple[object, ...]
Waits: TypeAlias = tuple[list[str], list[str], list[str]]

# What somebody else's program writes in the place of a result, as far as these tests do.
FILLED_IN = "tool was interrupted"

# How the ids of results begin that are none: those of a view, and those that a fork closes calls with.
CLOSED = "withdrawn:"
NONE = ("stand-in:", CLOSED)


@dataclass(eq=False)
class Asked:
    """A call: what the log says of it, and the results that came for it."""

    key: str
    made: ToolCall
    by_loop: bool
    answer: tuple[int, ToolResult] | None = None
    came: list[int] = field(default_factory=list)
    first_answered: int = 0
    corrected: ToolCall | None = None
    request: tuple[int, ApprovalRequest] | None = None
    decision: ApprovalDecision | None = None
    started: ToolStarted | None = None
    released: bool = False
    refused: bool = False

    @property
    def stage(self) -> str:
        if self.answer is not None:
            return "answered"
        if self.started is not None and not self.released:
            return "started"
        return "decided" if self.decision is not None else "parked" if self.request is not None else "pending"

    @property
    def is_unknown(self) -> bool:
        approved = not self.refused and (self.request is None or (self.decision is not None and self.decision.approved))
        return self.stage == "started" and (self.started is None or self.started.effect == "external" or not approved)

    @property
    def as_run(self) -> ToolCall:
        return (self.decision.call if self.decision is not None else None) or self.corrected or self.made

    @property
    def why(self) -> str:
        return (
            "not_run"
            if self.stage != "started" and (self.by_loop or self.refused or self.request is not None)
            else "unknown"
        )


@dataclass(eq=False)
class Said:
    """A message that stands in the conversation, with its calls. Keys are never given twice."""

    seq: int
    message: Message
    by_loop: bool = False
    calls: list[Asked] = field(default_factory=list)
    keys: int = 0

    def asks(self, made: ToolCall) -> Asked:
        call = Asked(f"{self.seq}:{self.keys}", made, self.by_loop)
        self.keys += 1
        return call


class SlowReplay:
    """What a log says. `hidden` and `said` are the conversation before and behind the last good boundary, `recorded` the
    messages by seq, `strays` the results that no call took.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.begun = self.erased = 0
        self.hidden: list[Said] = []
        self.said: list[Said] = []
        self.recorded: dict[int, Message] = {}
        self.strays: list[int] = []
        self.gone: set[str] = set()
        self.edited: list[tuple[int, int]] = []
        self.summary: str | None = None
        for entry in entries:
            self.take(entry)

    def take(self, entry: Entry) -> None:
        self.seq = entry.seq
        if entry.is_lost:
            self.lost(entry.seq)
            return
        try:
            body, seq = None if entry.erased else read(entry), entry.seq
        except Corrupt:
            self.unreadable(entry)
            body = None
        if body is None and entry.kind != "reset":
            self.by_marks(entry)
            return
        call = next((one for one in self.calls() if one.key == getattr(body, "key", None)), None)
        match body:
            case MessageBody(message=ToolResult() as result):
                self.result(seq, result, body.key, call)
            case MessageBody(message=Assistant() as answer):
                self.answered(seq, answer, body.seen)
            case MessageBody():
                self.recorded[seq] = body.message
                self.said.append(Said(seq, body.message))
            case ToolStarted() if call:
                call.started, call.released = body, False
            case ApprovalRequest() if call and call.answer is None:
                what = call.corrected or call.made
                same = body.provenance is not None or encode(body.call.arguments) == encode(what.arguments)
                sound = call.request is None and same and call_digest(body.call) == body.digest
                if sound and (body.call.id, body.call.name) == (call.made.id, what.name):
                    call.request = seq, body
                else:
                    call.refused = True
            case ApprovalDecision() if call and call.request and call.answer is None and call.decision is None:
                asked_at, asked = call.request
                named = (body.request, body.digest) == (asked_at, asked.digest)
                edits = body.call is None or (body.call.id, body.call.name) == (asked.call.id, asked.call.name)
                if named and edits and not is_over(asked.expires, entry.at):
                    call.decision = body
            case Correction() if call and call.stage == "pending":
                if body.call is None or body.call.id == call.made.id:
                    call.corrected = body.call
            case Settlement() if call and call.stage == "started":
                call.released = body.outcome == "released"
                if not call.released:
                    by = f", as {body.by} found out" if body.by else ""
                    words = body.content or f"This call has {body.outcome}{by}. Its own result was lost."
                    self.give(call, seq, ToolResult.of(call.made.id, words))
            case Edit():
                self.edit(body)
            case Removal():
                for target in body.targets:
                    one = self.at(target)
                    if (
                        one is not None
                        and target in self.recorded
                        and not any(call.stage in ("parked", "decided", "started") for call in one.calls)
                    ):
                        self.drop(one)
            case Reset() | None:
                self.hidden, self.said, self.recorded, self.strays, self.summary = [], [], {}, [], None
                self.edited = []
                self.begun = seq
            case Compacted():
                self.compacted(body)
            case Fork():
                for open_ in [one for one in self.calls() if one.answer is None]:
                    self.give(open_, seq, ToolResult("", call_id=open_.made.id, id=CLOSED, synthetic=open_.why))

    # What cannot be read ----------------------------------------------------------------------

    def unreadable(self, entry: Entry) -> None:
        """An entry that does not fit its kind: of a start and of what an approval is about it says enough."""
        known = plain(entry.body)
        for call in self.calls():
            if isinstance(known, dict) and known.get("key") == call.key:
                if entry.kind == "tool_started":
                    call.started, call.released = ToolStarted(call.key, "external", 1, ""), False
                elif entry.kind.startswith("approval_"):
                    call.refused = True

    def lost(self, seq: int) -> None:
        """What is missing before that seq may have started any call, and answered the model."""
        self.erased = seq
        for call in self.calls():
            if call.answer is None and call.started is None:
                call.started = ToolStarted(call.key, "external", 1, "")

    def by_marks(self, entry: Entry) -> None:
        """An entry without a body that can be read says by its marks that a call was started or answered; what it says of
        approvals and edits is doubtful, so the call is not run.
        """
        if entry.erased and entry.kind == "message" and not entry.closes:
            self.erased = entry.seq
        for call in self.calls():
            opened = {kind for kind in ("started", "approval", "decided") if f"{kind}:{call.key}" in entry.opens}
            closed = [one for one in entry.closes if one.endswith(f":{call.key}") and call.answer is None]
            if "started" in opened:
                call.started, call.released = ToolStarted(call.key, "external", 1, ""), False
            call.refused |= bool(opened - {"started"}) or (bool(closed) and entry.kind in ("edit", "removal"))
            if f"started:{call.key}" in closed and entry.kind in ("message", "settlement"):
                self.give(call, entry.seq, ToolResult("", call_id=call.made.id, id=CLOSED, synthetic="lost"))

    # Which result answers which call ----------------------------------------------------------

    def result(self, seq: int, result: ToolResult, key: str | None, call: Asked | None) -> None:
        """By key where it has one; else the nearest turn's first call of that id that has no real result."""
        if key is not None:
            if key in self.gone or int(key.partition(":")[0]) <= self.begun:
                return
            self.recorded[seq] = result
            if call is None:
                return
            self.came(call, seq)
            if call.answer is None or (fills_in(call.answer[1]) and not fills_in(result)):
                self.give(call, seq, result)
            return
        self.recorded[seq] = result
        turns = sorted([*self.hidden, *self.said], key=lambda one: -one.seq)
        same = [one for turn in turns for one in turn.calls if one.made.id == result.call_id]
        open_ = [one for one in same if one.answer is None or (fills_in(one.answer[1]) and not fills_in(result))]
        call = next((one for one in open_ if one.made.name == result.name), None) or next(iter(open_), None)
        real = [one for one in same if one.answer is not None and not fills_in(one.answer[1])]
        real = [one for one in real if not self.is_hidden(one)]  # those are done with
        last = max(real, key=lambda one: one.answer[0] if one.answer else 0, default=None)
        if call is not None and last is not None and turn_of(last) > turn_of(call):
            # A later call of the id has its result: this is that one's again, unless it says something else.
            assert last.answer is not None
            if call.answer is not None or says_same(last.answer[1], result):
                call = None
        if call is None:
            call = last or next((one for one in same if one.answer is not None and fills_in(one.answer[1])), None)
            if call is None:
                self.strays.append(seq)
                return
            assert call.answer is not None
            if fills_in(result) or says_same(call.answer[1], result):
                self.came(call, seq)
                return
        self.came(call, seq)
        self.give(call, seq, result)

    def came(self, call: Asked, seq: int) -> None:
        """A result came for a call; it goes with it, where the message that made the call was removed."""
        call.came.append(seq)
        if turn_of(call) not in self.recorded:
            del self.recorded[seq]

    def give(self, call: Asked, seq: int, result: ToolResult) -> None:
        call.answer = seq, result
        call.first_answered = call.first_answered or seq

    def adopt(self, call: Asked) -> Asked:
        """A call that no run wrote takes the last result of its id that came before it."""
        for seq in reversed(self.strays):
            stray = self.recorded[seq]
            assert isinstance(stray, ToolResult)
            if call.made.id == stray.call_id != "" and (not stray.name or stray.name == call.made.name):
                self.strays.remove(seq)
                call.came.append(seq)
                call.answer = seq, stray
                call.first_answered = seq if seq > turn_of(call) else 0
                break
        return call

    # Answers, edits, boundaries ---------------------------------------------------------------

    def answered(self, seq: int, answer: Assistant, seen: int | None) -> None:
        """What came while the model answered stands behind its answer."""
        if seen is not None and seen < self.begun:
            return
        self.recorded[seq] = answer
        turn, late = Said(seq, answer, seen is not None), list[Said]()
        last = max((one.seq for one in (*self.hidden, *self.said) if isinstance(one.message, Assistant)), default=0)
        while seen is not None and self.said and self.said[-1].seq > max(seen, last):
            late.insert(0, self.said.pop())
        for made in answer.calls:
            call = turn.asks(made)
            turn.calls.append(call if turn.by_loop else self.adopt(call))
        self.said += [turn, *late]

    def edit(self, body: Edit) -> None:
        """Calls keep their keys, by id; those that are gone take their results with them."""
        one, old = self.at(body.target), self.recorded.get(body.target)
        if old is None:
            return
        new = message_from({**msgspec.to_builtins(old), **body.changes})
        if one is None:  # a result
            assert isinstance(new, ToolResult)
            self.recorded[body.target] = new
            for call in self.calls():
                if call.answer is not None and call.answer[0] == body.target:
                    call.answer = body.target, new
            return
        left, calls, touched = list(one.calls), list[tuple[ToolCall, Asked | None]](), list[Asked]()
        for made in new.calls if isinstance(new, Assistant) else ():
            same = next((call for call in left if call.made.id == made.id), None)
            calls.append((made, same))
            if same is not None:
                left.remove(same)
                touched += [same] if encode(same.made) != encode(made) else []
        if any(call.stage in ("parked", "decided", "started") for call in (*touched, *left)):
            return
        if isinstance(new, Assistant) and not any(is_something(part) for part in new.parts):
            self.drop(one)
            return
        for call in left:
            self.forget(call)
        if one not in self.hidden:
            for call in touched:
                self.note_edited(call)
            self.edited += [(one.seq, self.seq) for _, same in calls if same is None]
        if one in self.hidden:  # changed where it is read, and nowhere else
            self.recorded[body.target] = new
            return
        for call in touched:
            call.made = next(made for made, same in calls if same is call)
            call.corrected = call.request = call.decision = None
        one.by_loop &= bool(one.calls)
        one.message = self.recorded[body.target] = new
        one.calls = [same or self.adopt(by_hand(one.asks(made))) for made, same in calls]

    def drop(self, one: Said) -> None:
        for call in one.calls:
            self.forget(call)
        self.recorded.pop(one.seq, None)
        if one in self.said:
            self.said.remove(one)

    def note_edited(self, call: Asked) -> None:
        """What was said up to here, or up to its last result, may have been of a call that is another one now."""
        reach = self.reach(call)
        self.edited.append((min(reach), self.seq if call.answer is None else max(reach)))

    def reach(self, call: Asked) -> list[int]:
        """Where a call stands, with all results that came for it."""
        return [turn_of(call), call.first_answered or turn_of(call), *call.came]

    def forget(self, call: Asked) -> None:
        if not self.is_hidden(call):
            self.gone.add(call.key)
            self.note_edited(call)
        for seq in call.came:
            self.recorded.pop(seq, None)

    def compacted(self, body: Compacted) -> None:
        """Good is a boundary at a message, which parts neither a call from its result nor an answer from what it answers,
        leaves nothing open behind it, and does not go back behind the last one.
        """
        everything = [*self.hidden, *self.said]
        at = next((index for index, one in enumerate(everything) if one.seq == body.first_kept), None)
        if at is None or not body.summary.strip():
            return
        before, kept = everything[:at], everything[at:]
        calls = [call for one in before for call in one.calls]
        reaches = [*map(self.reach, self.calls()), *self.edited]
        ordered = max((one.seq for one in before), default=0) < body.first_kept <= min(one.seq for one in kept)
        parted = any(min(reach) < body.first_kept <= max(reach) for reach in reaches)
        if at >= len(self.hidden) and ordered and not parted and not any(self.is_open(call) for call in calls):
            self.hidden, self.said, self.summary = before, kept, body.summary

    # What there is ----------------------------------------------------------------------------

    def calls(self) -> Iterator[Asked]:
        return (call for one in (*self.hidden, *self.said) for call in one.calls)

    def is_hidden(self, call: Asked) -> bool:
        return any(call in one.calls for one in self.hidden)

    def at(self, seq: int) -> Said | None:
        return next((one for one in (*self.hidden, *self.said) if one.seq == seq), None)

    def is_open(self, call: Asked) -> bool:
        """Whether a run may still take it up, or a person decide it."""
        if call.stage == "answered" or call.refused or call.is_unknown:
            return False
        if call.released or call.stage in ("parked", "decided"):
            return True
        turn = next(one for one in (*self.hidden, *self.said) if call in one.calls)
        if turn.seq <= self.erased:  # that may have been a turn, behind which nothing of this one runs
            return False
        answers = [one for one in (*self.hidden, *self.said) if isinstance(one.message, Assistant)]
        return turn is (answers[-1] if turn.by_loop else self.said[-1] if self.said else None)

    def waits(self) -> Waits:
        """The keys of the calls that are open, that wait for people, and of which nobody knows what became."""
        bare = [call for call in self.calls() if call.answer is None]
        waiting = (call.key for call in bare if call.stage in ("parked", "decided") and not call.refused)
        return (
            sorted(call.key for call in bare if self.is_open(call)),
            sorted(waiting),
            sorted(call.key for call in bare if call.is_unknown),
        )

    def messages(self) -> list[Message]:
        """The conversation as recorded."""
        return [self.recorded[seq] for seq in sorted(self.recorded)]

    def request(self) -> list[Short]:
        """What may be sent."""
        return self._shown(skip_open=False)

    def replay(self) -> list[Short]:
        """The same, with calls open that will still run or wait for people."""
        return self._shown(skip_open=True)

    def _shown(self, *, skip_open: bool) -> list[Short]:
        shown: list[Short] = [] if self.summary is None else [("summary", self.summary)]
        for one in self.said:
            if one.message.parts or skip_open:
                made = [call.made if skip_open else call.as_run for call in one.calls]
                shown.append(short_of(one.message, made))
            for call in one.calls:
                if call.answer is not None:
                    shown.append(result_in_short(call.answer[1]))
                elif not (skip_open and self.is_open(call)):
                    shown.append(("nothing", call.why))
        return shown


def waits_of(state: State) -> Waits:
    """What the fast replay says of calls that wait, as the slow one does."""
    found = state.open_calls(), state.waiting_calls(), state.unknown_outcomes()
    still_open, waiting, unknown = (sorted(call.key for call in calls) for calls in found)
    return still_open, waiting, unknown


def turn_of(call: Asked) -> int:
    return int(call.key.partition(":")[0])


def by_hand(call: Asked) -> Asked:
    call.by_loop = False
    return call


def fills_in(result: ToolResult) -> bool:
    """Whether it only says that there is no result."""
    return result.text == FILLED_IN if result.synthetic is None else result.synthetic != "denied"


def says_same(one: ToolResult, other: ToolResult) -> bool:
    return (one.parts, bool(one.error)) == (other.parts, bool(other.error))


def is_something(part: object) -> bool:
    return not isinstance(part, Reasoning) and not (isinstance(part, Text) and not part.text.strip())


def short_of(message: Message, calls: Iterable[ToolCall]) -> Short:
    if isinstance(message, Assistant):
        return "assistant", message.text, tuple((one.name, encode([one.arguments, one.raw])) for one in calls)
    return ("user" if isinstance(message, User) else "system"), message.text


def result_in_short(result: ToolResult) -> Short:
    is_none = (result.id or "").startswith(NONE) or result.synthetic == "lost"
    return ("nothing", result.synthetic) if is_none else ("result", result.text)


def in_short(messages: Iterable[Message]) -> list[Short]:
    """Messages as the fast replay gives them, in the words of the slow one."""
    shown: list[Short] = []
    for message in messages:
        if isinstance(message, ToolResult):
            shown.append(result_in_short(message))
        elif (message.id or "").startswith("summary:"):
            shown.append(("summary", message.text.rpartition("summary:\n\n")[2]))
        else:
            shown.append(short_of(message, message.calls if isinstance(message, Assistant) else ()))
    return shown
