"""What may stand in a log that no session would write: whoever writes into a store by hand, and what newer versions write."""

from __future__ import annotations

from suture.entries import (
    ApprovalDecision,
    ApprovalRequest,
    Compacted,
    Correction,
    Draft,
    Edit,
    Removal,
    Settlement,
    ToolStarted,
    call_digest,
    call_marks,
    draft,
    mark,
    plain,
)
from suture.messages import Text, ToolCall, encode
from suture.session import new_id, now
from tests.agent.people import Somebody
from tests.agent.world import LONG_AGO


class Forger(Somebody):
    """Who writes it: as `Somebody` otherwise."""

    def forge_request(self) -> None:
        """Under a digest that may be wrong, and over when it is made."""
        for call in self.one_call():
            digest = call_digest(call.corrected) if self.pick % 4 else "0" * 64
            expires = LONG_AGO if self.pick % 3 == 0 else None
            self.write(ApprovalRequest(call.key, call.corrected, digest, "external", expires=expires))

    def forge_decision(self) -> None:
        """Of this request or another one, on its call or another one."""
        asked = [call.request for call in self.session.refresh().calls.values() if call.request is not None]
        for (seq, _, body), call in zip(self.one_of(asked), self.one_call(), strict=False):
            digest = body.digest if self.pick % 3 else "0" * 64
            key = body.key if self.pick % 2 else call.key
            self.write(ApprovalDecision(seq, key, digest, approved=self.pick % 5 > 2))

    def forge_start(self) -> None:
        for call in self.one_call():
            self.write(ToolStarted(call.key, "external", 1, "somebody's"))

    def forge_settlement(self) -> None:
        """Of a call that may wait for none; it never denies what ran."""
        for call in self.one_call():
            self.write(Settlement(call.key, "failed" if self.pick % 2 else "completed", (Text(self.text or "so"),)))

    def forge_correction(self) -> None:
        for call in self.one_call():
            made = ToolCall(call.call.id, call.call.name, {"n": self.pick})
            self.write(Correction(call.key, made.name, "{}", made, "host"))

    def forge_edit(self) -> None:
        """Of some entry, which may be no message, or have no such field."""
        part = Text(self.text) if self.pick % 2 else self.made()
        changes: dict[str, object] = {"parts": [plain(encode(part))]} if self.pick % 5 else {"mood": self.text}
        self.write(Edit(self.pick % (self.session.refresh().head + 2), changes))

    def forge_removal(self) -> None:
        self.write(Removal((self.pick % (self.session.refresh().head + 2), self.pick)))

    def forge_compaction(self) -> None:
        """Wherever a message stands, a good place or not."""
        state = self.session.refresh()
        for seq in self.one_of(seq for seq in state.recorded if seq > state.start):
            body = Compacted(self.world.summary(), seq, state.carried_before(seq))
            closes = tuple(one for one in state.marks if one.startswith("boundary:"))
            boundary = (mark("boundary", str(seq)),)
            self.session.log.append([draft(new_id(), now(), body, boundary, closes)], expect=state.head)

    def forge_garbage(self) -> None:
        """It cannot be read, or is of a kind that nobody knows; of some its marks or its key tell what it is about."""
        kind, body = KINDS[self.pick % len(KINDS)], {self.text: "1"}
        opens: tuple[str, ...] = ()
        closes: tuple[str, ...] = ()
        for call in self.one_call() if self.text else []:
            body, closes = {"key": call.key, "key of": self.text}, call_marks(call.key)
            if self.pick % 3 == 0:
                opens, closes = (mark(("started", "approval", "decided")[self.pick % 9 // 3], call.key),), ()
        self.session.log.append([Draft(new_id(), kind, now(), encode(body), opens, closes)])


KINDS = (
    "weather",
    "message",
    "edit",
    "settlement",
    "steer",
    "tool_started",
    "approval_request",
    "approval_decision",
    "correction",
    "removal",
    "compaction",
)
