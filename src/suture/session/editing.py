"""The part of a session that edits it: under a claim, by what the log says at that moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Self

import msgspec

import suture.session.edits as edits
from suture.entries import Body, Draft, MessageBody, Wanted, draft, split_mark
from suture.errors import InvalidEdit, SessionBusy
from suture.messages import Message
from suture.replay import State
from suture.session.clock import new_id, now
from suture.session.handle import Handle
from suture.stores.base import Claim
from suture.stores.owner import this_owner

# An edit holds the session for a moment; one whose process died in it is replaced after so many seconds at the latest.
EDIT_LEASE = 30.0

# So long another edit may hold the session before it is taken for a run.
EDITS_TAKE = 2.0


class Editing(Handle):
    """The edits of `Session`. `epoch_of_run` is that of a run that is on through this handle, None when there is none;
    `message_id` makes ids.
    """

    message_id: Callable[[], str]
    epoch_of_run: Callable[[], int | None]

    def set(self, messages: Iterable[Message]) -> Self:
        """Put other messages in the place of the whole conversation. What waits (approvals, messages, calls of unknown
        outcome) is withdrawn, each with a finding. What was there before stays readable in `entries()`.

        Raises:
            InvalidEdit: one of them is no message.
            SessionBusy: another process is running the session.
        """
        fresh = [self._named(message) for message in edits.checked(messages)]
        self._edit(lambda state: edits.reset(state, fresh, in_run=self.epoch_of_run() is not None))
        return self

    def unset(self) -> Self:
        """Begin anew, with nothing. As `set` otherwise."""
        return self.set(())

    def remove(self, id: str) -> Message | None:
        """Take a message out of the conversation, with the results of its calls; the message, None when there is none.

        Raises:
            InvalidEdit: it is a result, or a call of it was started or waits for a person.
            SessionBusy: another process is running the session.
        """
        if not isinstance(id, str):
            raise InvalidEdit(f"{id!r:.80} is no id of a message. Look at `session.messages` for those there are.")
        removed: Message | None = None

        def decide(state: State) -> list[Wanted]:
            nonlocal removed
            wanted = edits.remove(state, id)
            removed = next((one for one in state.recorded.values() if one.id == id), None)
            return wanted

        self._edit(decide)
        return removed

    def update(self, *, id: str | None = None, tool_call_id: str | None = None, **attributes: object) -> Message | None:
        """Give a message other attributes: `content`, `files` of a user's, `tool_calls` of an assistant's, `error` of a
        result's, or any field of its kind. What is not named stays, None sets None. Calls that are left out take their
        results with them. The message as it is now; None when nothing was left of an answer, which is removed then.

        Raises:
            NoSuchMessage: there is none of that id, or no result for that call.
            InvalidEdit: it has no such attribute, a value does not fit, or a call was started or waits for a person.
            SessionBusy: another process is running the session.
        """
        target: int | None = None

        def decide(state: State) -> list[Wanted]:
            nonlocal target
            target = edits.target_of(state, id, tool_call_id) if target is None or target not in state.recorded else target
            return edits.update(state, target, attributes)

        self._edit(decide)
        return self._read_whole(lambda state: state.recorded.get(target or 0))

    def discard_pending_tool_calls(self) -> list[str]:
        """Answer every call without a result: that it was not run, or may have, as the log knows it. None of them will run,
        and a real result that still comes stands instead. The wire ids of those calls, in order.

        Raises:
            SessionBusy: another process is running the session.
        """
        ids: list[str] = []

        def decide(state: State) -> list[Wanted]:
            ids[:] = [call.call.id for call in state.talk.orphans()]
            return edits.discard(state)

        self._edit(decide)
        return ids

    def _edit(self, decide: Callable[[State], list[Wanted]]) -> None:
        """Append what `decide` makes of the state, under a claim, deciding again when others wrote in between; nothing, and
        no claim, where there is nothing to write.
        """
        if not self._read_whole(decide):
            return
        with self._claimed() as epoch:
            self.log.append_on(
                lambda: self._read_whole(lambda state: (state.head, self._drafts(decide(state)))), epoch=epoch
            )
        self.refresh()

    def _drafts(self, wanted: Iterable[Wanted]) -> list[Draft]:
        return [draft(new_id(), now(), self._with_id(body), opens, closes) for body, opens, closes in wanted]

    def _with_id(self, body: Body) -> Body:
        if isinstance(body, MessageBody) and body.message.id is None:
            return msgspec.structs.replace(body, message=self._named(body.message))
        return body

    @contextmanager
    def _claimed(self) -> Iterator[int]:
        """The epoch of the run that is on through this handle; else that of a claim of one's own, for the while."""
        if (epoch := self.epoch_of_run()) is not None:
            yield epoch
            return
        claim = self._claim()
        try:
            yield claim.epoch
        finally:
            self.log.store.release(claim)

    def _claim(self) -> Claim:
        """Claim the session; of another edit the end is waited for, of a run it is not."""
        deadline = time.monotonic() + EDITS_TAKE
        while True:
            try:
                return self.log.claim(this_owner(), EDIT_LEASE)
            except SessionBusy:
                info = self.log.info()
                is_run = info is not None and any(split_mark(one)[0] == "run" for one in info.marks)
                if is_run or time.monotonic() > deadline:
                    raise
            time.sleep(0.005)

    def _named(self, message: Message) -> Message:
        """The message with an id."""
        return message if message.id is not None else msgspec.structs.replace(message, id=self.message_id())
