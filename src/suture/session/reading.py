"""The part of a session that answers questions about its conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from suture.compaction import context_tokens
from suture.entries import Compacted, Entry
from suture.healing import fit
from suture.messages import Assistant, Message, ToolCall, Usage
from suture.replay import LogFinding, State
from suture.session.exporting import whole_conversation
from suture.session.handle import Handle
from suture.session.near import not_found
from suture.stores.base import SessionInfo


class Reading(Handle):
    """What `Session` says of itself. All of it is read from the log."""

    @property
    def messages(self) -> list[Message]:
        """The conversation as recorded: real results only, in the order of the log."""
        return self._read_whole(State.messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __len__(self) -> int:
        return self._read_whole(lambda state: len(state.recorded))

    def find(self, predicate: Callable[[Message], object]) -> Message | None:
        """The first message of which the predicate holds."""
        return next((message for message in self.messages if predicate(message)), None)

    def replay(self) -> list[tuple[Message, int | None]]:
        """The conversation with each result behind its call, and stand-ins (seq None) where there is none; calls
        that will still run or wait for people stay open at the end.
        """
        if self.heal:
            return self._read(State.replay)
        return self._read_whole(lambda state: [(message, seq) for seq, message in state.recorded.items()])

    def request(self, format: str) -> object:
        """What may be sent now in that wire format, such as {"messages": [...]}: always valid."""
        return fit(self._read(State.request), format).history

    def export(self, format: str) -> object:
        """The whole conversation in that wire format, valid, also what a compaction hides from requests."""
        return fit(whole_conversation(self.log), format).history

    def findings(self) -> list[LogFinding]:
        """What replay had to mend or leave aside, with positions."""
        return self._read_whole(lambda state: list(state.findings))

    def entries(self, after: int = 0) -> list[Entry]:
        """The log itself, behind a seq; of a fork with what it shares, under the positions that it shows."""
        return self.log.read(after=after)

    def info(self) -> SessionInfo:
        """What the store knows of the session without reading it.

        Raises:
            SessionNotFound: nothing was ever written to it.
        """
        info = self.log.info()
        if info is None:
            raise not_found(self.store, self.id)
        return info

    def forked_from(self) -> tuple[str, int] | None:
        """The session whose past this one shares, and up to which position; None when it was not forked."""
        origin = self.log.origin()
        return None if origin is None else (origin.parent, origin.at)

    @property
    def steps(self) -> int:
        """The number of answers since the last user message."""
        return self._read(lambda state: state.steps)

    @property
    def usage(self) -> Usage:
        """The tokens of all answers of the session."""
        return self._read(lambda state: state.usage)

    @property
    def context_tokens(self) -> int:
        """About how many tokens `request` has: what the model reported last, and an estimate of what came behind that."""
        return self._read(context_tokens)

    @property
    def last_compaction(self) -> Compacted | None:
        """The last compaction that counts: its `summary`, and the seq `first_kept` from which on all is kept."""
        return self._read(lambda state: None if state.boundary is None else state.boundary.body)

    @property
    def final_assistant_message(self) -> Assistant | None:
        """The last answer, whatever follows it."""
        return self._read_whole(final_answer)

    def orphaned_tool_call_ids(self) -> list[str]:
        """The wire ids of all calls without a recorded result, in order."""
        return self._read_whole(lambda state: [call.call.id for call in state.talk.orphans()])

    def pending_tool_calls(self) -> tuple[Assistant | None, list[ToolCall]]:
        """The last answer, and those of its calls that have no recorded result."""
        return self._read_whole(_pending)


# Rules ----------------------------------------------------------------------------------------


def final_answer(state: State) -> Assistant | None:
    """The last answer of a conversation as recorded."""
    return next((message for message in reversed(state.recorded.values()) if isinstance(message, Assistant)), None)


def _pending(state: State) -> tuple[Assistant | None, list[ToolCall]]:
    last = final_answer(state)
    return last, [call.call for call in state.talk.orphans() if state.recorded[call.seq] is last]
