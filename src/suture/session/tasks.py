"""The session for async code: the same names, awaited where they read or write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import ParamSpec, Self, TypeVar

from suture.compaction import context_tokens
from suture.entries import Compacted, Entry, Settled
from suture.errors import SutureError
from suture.messages import Assistant, Message, ToolCall, ToolResult, Usage, User
from suture.replay import LogFinding, State
from suture.session.choices import Ids
from suture.session.family import Child
from suture.session.listeners import Listener
from suture.session.plain import Session
from suture.session.reading import final_answer
from suture.session.together import append_together
from suture.session.verifying import Verified, Watch
from suture.session.waiting import Approval, StartedCall
from suture.session.worker import in_thread
from suture.stores.base import SessionInfo, Store

P = ParamSpec("P")
T = TypeVar("T")


class AsyncSession:
    """A handle on a session. `Session` says what each method does.

    What reads or writes is awaited. Properties, `len` and iteration answer from what was last read here, by a run too, and
    what was written here; what others wrote since is among it behind `await refresh()`. A handle that has written and never
    read reads at the first look, and holds the loop up for as long. `plain` is the session underneath.
    """

    def __init__(
        self,
        store: Store,
        id: str | None = None,
        meta: Mapping[str, object] | None = None,
        heal: bool = True,
        *,
        ids: Ids = "uuid7",
    ) -> None:
        self.plain = Session(store, id, meta, heal, ids=ids)

    @classmethod
    def of(cls, session: Session) -> AsyncSession:
        """The async skin of a session."""
        skin = cls.__new__(cls)
        skin.plain = session
        return skin

    def __repr__(self) -> str:
        return f"Async{self.plain!r}"

    @property
    def id(self) -> str:
        """The session's id."""
        return self.plain.id

    @property
    def store(self) -> Store:
        """The store that the session is in."""
        return self.plain.store

    # What was last read -----------------------------------------------------------------------

    @property
    def messages(self) -> list[Message]:
        """As `Session.messages`, of what was last read."""
        return self.plain.last_whole(State.messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __len__(self) -> int:
        return self.plain.last_whole(lambda state: len(state.recorded))

    @property
    def steps(self) -> int:
        """As `Session.steps`, of what was last read."""
        return self.plain.last_read(lambda state: state.steps)

    @property
    def usage(self) -> Usage:
        """As `Session.usage`, of what was last read."""
        return self.plain.last_read(lambda state: state.usage)

    @property
    def context_tokens(self) -> int:
        """As `Session.context_tokens`, of what was last read."""
        return self.plain.last_read(context_tokens)

    @property
    def last_compaction(self) -> Compacted | None:
        """As `Session.last_compaction`, of what was last read."""
        return self.plain.last_read(lambda state: None if state.boundary is None else state.boundary.body)

    @property
    def final_assistant_message(self) -> Assistant | None:
        """As `Session.final_assistant_message`, of what was last read."""
        return self.plain.last_whole(final_answer)

    # Reading ----------------------------------------------------------------------------------

    async def refresh(self) -> State:
        """As `Session.refresh`."""
        return await in_thread(self.plain.refresh)

    async def find(self, predicate: Callable[[Message], object]) -> Message | None:
        """As `Session.find`."""
        return await in_thread(self.plain.find, predicate)

    async def replay(self) -> list[tuple[Message, int | None]]:
        """As `Session.replay`."""
        return await in_thread(self.plain.replay)

    async def request(self, format: str) -> object:
        """As `Session.request`."""
        return await in_thread(self.plain.request, format)

    async def findings(self) -> list[LogFinding]:
        """As `Session.findings`."""
        return await in_thread(self.plain.findings)

    async def entries(self, after: int = 0) -> list[Entry]:
        """As `Session.entries`."""
        return await in_thread(self.plain.entries, after)

    async def info(self) -> SessionInfo:
        """As `Session.info`."""
        return await in_thread(self.plain.info)

    async def forked_from(self) -> tuple[str, int] | None:
        """As `Session.forked_from`."""
        return await in_thread(self.plain.forked_from)

    async def orphaned_tool_call_ids(self) -> list[str]:
        """As `Session.orphaned_tool_call_ids`."""
        return await in_thread(self.plain.orphaned_tool_call_ids)

    async def pending_tool_calls(self) -> tuple[Assistant | None, list[ToolCall]]:
        """As `Session.pending_tool_calls`."""
        return await in_thread(self.plain.pending_tool_calls)

    async def pending_inbox(self) -> list[User]:
        """As `Session.pending_inbox`."""
        return await in_thread(self.plain.pending_inbox)

    async def pending_steers(self) -> list[User]:
        """As `Session.pending_steers`."""
        return await in_thread(self.plain.pending_steers)

    async def children(self) -> list[Child]:
        """As `Session.children`."""
        return await in_thread(self.plain.children)

    async def transcript(self, include_children: bool = False) -> list[dict[str, object]]:
        """As `Session.transcript`."""
        return await in_thread(self.plain.transcript, include_children)

    async def open_approvals(self) -> list[Approval]:
        """As `Session.open_approvals`."""
        return await in_thread(self.plain.open_approvals)

    async def unknown_outcomes(self) -> list[StartedCall]:
        """As `Session.unknown_outcomes`."""
        return await in_thread(self.plain.unknown_outcomes)

    async def running_calls(self) -> list[StartedCall]:
        """As `Session.running_calls`."""
        return await in_thread(self.plain.running_calls)

    # Writing ----------------------------------------------------------------------------------

    async def _written(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What that write answers, once it is among what was last read."""

        def write() -> T:
            answer = work(*args, **kwargs)
            self._catch_up()
            return answer

        return await in_thread(write)

    def _catch_up(self) -> None:
        # It is written, whether or not all can be read; whoever reads next is told.
        with suppress(SutureError):
            if self.plain.has_to_catch_up():
                self.plain.refresh()

    async def add(self, message: Message, silent: bool = False) -> Message:
        """As `Session.add`; async callbacks are awaited."""
        recorded = await self.append_message(message)
        if not silent:
            await self.plain.listeners.tell_async(recorded)
        return recorded

    def on_message(self, callback: Listener) -> Self:
        """As `Session.on_message`; the callback may be async."""
        self.plain.on_message(callback)
        return self

    async def append_message(self, message: Message) -> Message:
        """As `Session.append_message`."""
        recorded = self.plain.recorded_as(message)
        if isinstance(recorded, ToolResult):
            await self._written(self.plain.append_result, recorded)
            return recorded
        made = self.plain.drafted(recorded)
        last = await append_together(self.plain.log, (made,))
        self.plain.know((made.at_seq(last),))
        if self.plain.has_to_catch_up():
            await in_thread(self._catch_up)
        return recorded

    async def append(self, kind: str, body: object) -> Entry:
        """As `Session.append`."""
        return await self._written(self.plain.append, kind, body)

    async def set(self, messages: Iterable[Message]) -> Self:
        """As `Session.set`."""
        await in_thread(self.plain.set, messages)
        return self

    async def unset(self) -> Self:
        """As `Session.unset`."""
        await in_thread(self.plain.unset)
        return self

    async def remove(self, id: str) -> Message | None:
        """As `Session.remove`."""
        return await in_thread(self.plain.remove, id)

    async def update(
        self, *, id: str | None = None, tool_call_id: str | None = None, **attributes: object
    ) -> Message | None:
        """As `Session.update`."""
        return await in_thread(self.plain.update, id=id, tool_call_id=tool_call_id, **attributes)

    async def discard_pending_tool_calls(self) -> list[str]:
        """As `Session.discard_pending_tool_calls`."""
        return await in_thread(self.plain.discard_pending_tool_calls)

    async def steer(self, text: str, expected_turn: str | None = None) -> str:
        """As `Session.steer`."""
        return await self._written(self.plain.steer, text, expected_turn)

    async def link_child(self, name: str, id: str | None = None) -> AsyncSession:
        """As `Session.link_child`."""
        return AsyncSession.of(await self._written(self.plain.link_child, name, id))

    async def deliver_report(self, name: str, session_id: str, status: str, report: str | None = None) -> Entry | None:
        """As `Session.deliver_report`."""
        return await self._written(self.plain.deliver_report, name, session_id, status, report)

    async def interrupt(self, reason: str | None = None, by: str | None = None) -> Entry:
        """As `Session.interrupt`."""
        return await self._written(self.plain.interrupt, reason, by)

    async def export(self, format: str) -> object:
        """As `Session.export`."""
        return await in_thread(self.plain.export, format)

    async def erase(self, entry_id: str) -> None:
        """As `Session.erase`."""
        await self._written(self.plain.erase, entry_id)

    async def verify(self, watch: Watch | None = None) -> Verified:
        """As `Session.verify`; `watch` is called in a worker thread."""
        return await in_thread(self.plain.verify, watch)

    async def fork(self, at: int | None = None, id: str | None = None) -> AsyncSession:
        """As `Session.fork`."""
        return AsyncSession.of(await in_thread(self.plain.fork, at, id))

    async def approve(
        self,
        call: str,
        note: str | None = None,
        by: str | None = None,
        arguments: Mapping[str, object] | None = None,
        digest: str | None = None,
    ) -> Entry | None:
        """As `Session.approve`."""
        return await self._written(self.plain.approve, call, note, by, arguments, digest)

    async def deny(
        self, call: str, note: str | None = None, by: str | None = None, digest: str | None = None
    ) -> Entry | None:
        """As `Session.deny`."""
        return await self._written(self.plain.deny, call, note, by, digest)

    async def settle(
        self,
        call: str,
        outcome: Settled,
        content: object = None,
        by: str | None = None,
        force: bool = False,
    ) -> Entry:
        """As `Session.settle`."""
        return await self._written(self.plain.settle, call, outcome, content, by, force)
