"""Logs for tests, written entry by entry with plain values."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from suture.entries import (
    ApprovalDecision,
    ApprovalRequest,
    Body,
    Correction,
    Edit,
    Effect,
    Entry,
    Interrupt,
    MessageBody,
    Removal,
    Reset,
    RunFinished,
    RunStarted,
    Settled,
    Settlement,
    Steer,
    ToolStarted,
    call_digest,
    draft,
    lost,
)
from suture.messages import Assistant, Message, Text, ToolCall, ToolResult, User
from suture.replay import State

AT = "2026-01-01T00:00:00.000Z"


def at(seconds: float) -> str:
    """The time so many seconds behind that of these logs."""
    moved = datetime.fromisoformat(AT) + timedelta(seconds=seconds)
    return moved.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def call(id: str, name: str = "act", **arguments: object) -> ToolCall:
    return ToolCall(id, name, dict(arguments))


class Log:
    """A log that grows by one entry a method; each returns the entry's seq."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def put(self, body: Body, epoch: int = 0, time: str = AT) -> int:
        seq = len(self.entries) + 1
        made = draft(f"e{seq}", time, body)
        self.entries.append(Entry(seq, made.id, made.kind, made.at, made.body, epoch))
        return seq

    def raw(self, kind: str, body: bytes) -> int:
        seq = len(self.entries) + 1
        self.entries.append(Entry(seq, f"e{seq}", kind, AT, body))
        return seq

    def erased(self, kind: str = "message", opens: tuple[str, ...] = (), closes: tuple[str, ...] = ()) -> int:
        seq = len(self.entries) + 1
        self.entries.append(Entry(seq, f"e{seq}", kind, AT, b"", opens=opens, closes=closes, erased=b"hash"))
        return seq

    def lost(self) -> int:
        self.entries.append(lost(len(self.entries) + 1))
        return len(self.entries)

    def correction(self, key: str, made: ToolCall) -> int:
        return self.put(Correction(key, made.name, "{}", made, "host"))

    def message(self, message: Message, seen: int | None = None, key: str | None = None) -> int:
        return self.put(MessageBody(message, seen=seen, key=key))

    def user(self, text: str = "go") -> int:
        return self.message(User.of(text))

    def answer(self, text: str = "", *calls: ToolCall, seen: int | None = None) -> int:
        """An answer that a run wrote, of a request that held all up to `seen`: everything, unless it is said."""
        at = len(self.entries) if seen is None else seen
        return self.message(Assistant((*((Text(text),) if text else ()), *calls)), seen=at)

    def foreign(self, *calls: ToolCall) -> int:
        """An assistant message that no run wrote."""
        return self.message(Assistant(calls))

    def result(self, id: str, text: str = "ok", key: str | None = None) -> int:
        return self.message(ToolResult.of(id, text), key=key)

    def started(self, key: str, effect: Effect = "external", attempt: int = 1) -> int:
        return self.put(ToolStarted(key, effect, attempt, f"once-{key}"), epoch=1)

    def asked(self, key: str, made: ToolCall, expires: str | None = None) -> int:
        return self.put(ApprovalRequest(key, made, call_digest(made), "external", expires=expires))

    def decided(
        self, request: int, key: str, made: ToolCall, approved: bool, note: str | None = None, time: str = AT
    ) -> int:
        return self.put(ApprovalDecision(request, key, call_digest(made), approved, note), time=time)

    def settled(self, key: str, outcome: Settled, text: str = "") -> int:
        return self.put(Settlement(key, outcome, (Text(text),) if text else (), "ann"))

    def steer(self, text: str = "quick") -> int:
        id = f"s{len(self.entries) + 1}"
        return self.put(Steer(id, User.of(text, id=id)))

    def interrupt(self, reason: str | None = None, by: str | None = "ann") -> int:
        return self.put(Interrupt(reason, by))

    def edit(self, target: int, **changes: object) -> int:
        """An edit of the message at that seq; parts are given as words or calls."""
        plain = {name: msgspec.to_builtins(value) for name, value in changes.items()}
        return self.put(Edit(target, plain))

    def removal(self, *targets: int) -> int:
        return self.put(Removal(targets))

    def reset(self) -> int:
        return self.put(Reset())

    def begun(self) -> int:
        return self.put(RunStarted("r1"))

    def ended(self, status: str = "completed") -> int:
        return self.put(RunFinished("r1", status))

    @property
    def state(self) -> State:
        state = State()
        state.fold(self.entries)
        return state


def shape(messages: Iterable[Message]) -> list[str]:
    """A conversation in short: `u:go`, `a:text[c1,c2]`, `t(c1):ok`; stand-ins as `t(c1)!not_run`."""
    return [_short(message) for message in messages]


def _short(message: Message) -> str:
    if isinstance(message, ToolResult):
        return f"t({message.call_id})!{message.synthetic}" if message.synthetic else f"t({message.call_id}):{message.text}"
    if isinstance(message, Assistant):
        calls = ",".join(one.id for one in message.calls)
        return f"a:{message.text}[{calls}]" if calls else f"a:{message.text}"
    return f"{'u' if isinstance(message, User) else 's'}:{message.text}"
