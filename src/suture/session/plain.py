"""A conversation in a store, which any process can read, decide on, steer, interrupt and settle.

A session is a store and an id; the same id in the same store is the same session in every process. It holds
nothing that the log does not: a handle folds what is new and answers from that.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Self, TypeVar

import msgspec

from suture.canonical import canonical
from suture.compaction import context_tokens
from suture.entries import (
    KINDS,
    ApprovalDecision,
    ChildReport,
    Compacted,
    Draft,
    Entry,
    Interrupt,
    MessageBody,
    Settled,
    Settlement,
    Steer,
    call_digest,
    call_marks,
    draft,
    is_over,
    mark,
    read,
)
from suture.errors import (
    ConfigurationError,
    Conflict,
    Corrupt,
    InvalidEdit,
    NoSuchApproval,
    NotJson,
    SessionNotFound,
)
from suture.healing import fit
from suture.messages import Assistant, Message, Part, ToolCall, ToolResult, Usage, User, parts_of
from suture.replay import Call, LogFinding, State
from suture.session.choices import Ids, heals, source_of_ids
from suture.session.clock import new_id, now
from suture.session.editing import PATIENCE, Editing
from suture.session.exporting import whole_conversation
from suture.session.family import Child, child_of, labelled, transcript_of, unreadable_child
from suture.session.listeners import Listener, Listeners
from suture.session.log import SessionLog
from suture.session.near import not_found
from suture.session.opening import opening_of
from suture.session.verifying import Verified, Watch, verify
from suture.session.waiting import (
    Approval,
    StartedCall,
    approval_of,
    check_repeat,
    edited_call,
    gated_call,
    one_call,
    started_call_of,
)
from suture.stores.base import SessionInfo, Store
from suture.stores.owner import is_dead
from suture.tools import spelled_out

T = TypeVar("T")


class Session(Editing):
    """A handle on a session.

    A missing `id` becomes a new UUID; `meta` is merged into what the store keeps of it; with `heal=False`, or
    `SUTURE_HEAL=0` in the environment, `replay()` hands out what is recorded, untouched. `ids` is where messages without an
    id get one from: "uuid7", "uuid4" or a function.
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
        if not isinstance(store, Store):
            raise ConfigurationError(f"{store!r} is no store; open one with suture.open_store('sqlite:///agent.db').")
        self.heal = heals(heal)
        self.message_id = source_of_ids(ids)
        self.listeners = Listeners()
        self.epoch_of_run: Callable[[], int | None] = lambda: None
        self.id = str(uuid.uuid4()) if id is None else id
        self.log = SessionLog(store, self.id)
        self.state = State()
        self.lock = threading.RLock()
        self._whole: State | None = None  # from the beginning, once somebody asks for what a compaction hides
        self._opened = False
        if meta:
            self.log.append((), meta=meta)

    @property
    def store(self) -> Store:
        """The store that the session is in."""
        return self.log.store

    def __repr__(self) -> str:
        return f"Session({self.id!r}, head={self.state.head})"

    # Reading ----------------------------------------------------------------------------------

    def refresh(self) -> State:
        """Read what is new in the log. Every method does this first."""
        return self._read(lambda state: state)

    def _read(self, look: Callable[[State], T]) -> T:
        """Read what is new, and look. The store is read before the lock is taken, so nobody waits for it behind that."""
        self.open()
        state = self.state
        entries = self.log.read(after=state.head)
        with self.lock:
            state.fold(entries)
            return look(state)

    def open(self) -> None:
        """Begin to read at the last boundary, so that what lies before it is not read. Every method does this first."""
        if self._opened:
            return
        opening = opening_of(self.log)
        with self.lock:
            if opening is not None and self.state.head == 0:
                opening.apply(self.state)
            self._opened = True

    def _read_whole(self, look: Callable[[State], T]) -> T:
        """Read what is new, and look at a state that began with the first entry."""
        self.open()
        return self._read(look) if self.state.start == 0 else self._look_at_whole(look, None)

    def _look_at_whole(self, look: Callable[[State], T], until: int | None) -> T:
        whole = self._whole or State()
        entries = self.log.read(after=whole.head, limit=None if until is None else until - whole.head)
        with self.lock:
            whole.fold(entries)
            self._whole = whole
            return look(whole)

    def last_read(self, look: Callable[[State], T]) -> T:
        """Look at what was last read, and read nothing."""
        with self.lock:
            return look(self.state)

    def last_whole(self, look: Callable[[State], T]) -> T:
        """Look at what was last read, from the first entry on; only what a compaction hides may have to be read for it."""
        with self.lock:
            return look(self.state) if self.state.start == 0 else self._look_at_whole(look, self.state.head)

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

    # Writing ----------------------------------------------------------------------------------

    def add(self, message: Message, silent: bool = False) -> Message:
        """Record a message at the end of the conversation and, unless `silent`, tell those who asked with `on_message`; it
        is given an id unless it has one.

        Raises:
            NotJson: a result whose content cannot be written down.
        """
        recorded = self.append_message(message)
        if not silent:
            self.listeners.tell(recorded)
        return recorded

    def on_message(self, callback: Listener) -> Self:
        """Call back with each message that comes in through this handle: what is added, and the answers and results of a
        run. Prompts, stand-ins and edits are not told. What a callback raises goes to the caller; the message stays.

        Raises:
            ConfigurationError: it cannot be called.
        """
        self.listeners.add(callback)
        return self

    def append_message(self, message: Message) -> Message:
        """Record a message in one append and tell nobody; it is given an id unless it has one.

        Raises:
            NotJson: a result whose content cannot be written down.
        """
        recorded = self._named(spelled_out(message) if isinstance(message, ToolResult) else message)
        if isinstance(recorded, ToolResult):
            self._append_on(lambda state: self._message(state, new_id(), MessageBody(recorded)))
        else:
            self._append(draft(new_id(), now(), MessageBody(recorded)))
        return recorded

    @staticmethod
    def _message(state: State, id: str, body: MessageBody) -> Draft:
        """A draft that closes what was open about the call that it answers, if it answers one."""
        message = body.message
        call = state.answered_by(message, body.key) if isinstance(message, ToolResult) else None
        return draft(id, now(), body, (), call_marks(call.key) if call is not None else ())

    def append(self, kind: str, body: object) -> Entry:
        """Append an entry of the host's own kind; `body` is JSON, or bytes of JSON that are kept as they are. A body of
        the kind `message` is one as `Entry.data` of such an entry shows it.

        Raises:
            InvalidEdit: the kind is one that suture writes itself, or a `message` that cannot be read.
            NotJson: the body is no JSON.
        """
        if kind in KINDS and kind != "message":
            raise InvalidEdit(f"{kind!r} is a kind of suture's own; use the method that writes it, or choose another kind.")
        raw = body if isinstance(body, bytes) else canonical(body)
        if isinstance(body, bytes):
            canonical(_json(body))
        entry = Draft(new_id(), kind, now(), raw)
        if kind != "message":
            return _entry(self._append(entry), entry)
        known = _as_message(entry)
        written = self._append_on(
            lambda state: msgspec.structs.replace(entry, closes=self._message(state, entry.id, known).closes)
        )
        assert written is not None
        return written

    def _append(self, *drafts: Draft, expect: int | None = None) -> int:
        return self.log.append(drafts, expect=expect)

    # Inbox ------------------------------------------------------------------------------------

    def steer(self, text: str, expected_turn: str | None = None) -> str:
        """Leave a message for the run that is on, or for the next; the id under which it waits.

        With `expected_turn`, the id of the user message that it speaks of, it is left only while no other came behind that.

        Raises:
            InvalidEdit: the text is blank.
            Conflict: the conversation is in another turn than the expected one.
        """
        if not text.strip():
            raise InvalidEdit("A steer needs words; this one is blank.")
        id = new_id()
        made = draft(new_id(), now(), Steer(id, User(parts_of(text), id=id)), (mark("inbox", id),))
        if expected_turn is None:
            self._append(made)
        else:
            self._append_on(lambda state: _in_turn(state, expected_turn, made))
        return id

    def pending_inbox(self) -> list[User]:
        """The messages that wait for delivery, in order of arrival."""
        return self._read(lambda state: [message for _, message in _arrived(state)])

    def pending_steers(self) -> list[User]:
        """The steers among `pending_inbox()`; the others are reports of children."""
        return self._read(lambda state: [message for id, message in _arrived(state) if id not in _report_ids(state)])

    def interrupt(self, reason: str | None = None, by: str | None = None) -> Entry:
        """Stop the run that is on, in whatever process it is. Without one it is recorded and stops nothing."""
        body = Interrupt(reason, by)
        made = draft(new_id(), now(), body)
        return _entry(self._append(made), made)

    # Children ---------------------------------------------------------------------------------

    def children(self) -> list[Child]:
        """The sessions that work for this one, in order of their links: what each does, or how it ended. One whose log
        cannot be read has failed, unless it has reported.
        """
        links, reported = self._read(lambda state: (dict(state.linked), dict(state.reported)))
        return [self._child(id, name, reported.get(id)) for id, name in links.items()]

    def _child(self, id: str, name: str, reported: ChildReport | None) -> Child:
        try:
            return child_of(id, name, Session(self.store, id).refresh(), self.store.info(id), reported)
        except (Corrupt, SessionNotFound) as error:
            return unreadable_child(id, name, error, reported)

    def deliver_report(self, name: str, session_id: str, status: str, report: str | None = None) -> Entry | None:
        """Leave what a child has to say for the run that is on, or for the next, as a labelled message.

        `status` is done, stopped or failed, or a word of your own. A child reports once: None when it has.
        """

        def decide(state: State) -> Draft | None:
            if session_id in state.reported:
                return None
            id = new_id()
            message = msgspec.structs.replace(labelled(name, status, report), id=id)
            body = ChildReport(id, name, session_id, status, message, report)
            return draft(new_id(), now(), body, (mark("inbox", id),))

        return self._append_on(decide)

    def transcript(self, include_children: bool = False) -> list[dict[str, object]]:
        """The log as JSON for people to read: `seq`, `id`, `kind`, `at` and `body` of each entry, media left out.

        With children, the entries of each stand behind the link to it, once, with their `origin`: the child's name and
        the beginning of its id, those of its parents before it. Whoever may see this session sees its children with it.
        """
        return list(transcript_of(self.store, self.id, include_children=include_children))

    # Approvals --------------------------------------------------------------------------------

    def open_approvals(self) -> list[Approval]:
        """The calls that wait for a decision, or for a run to take their decision up, in order of request."""
        return self._read(lambda state: [approval_of(call) for call in state.waiting_calls()])

    def approve(
        self,
        call: str,
        note: str | None = None,
        by: str | None = None,
        arguments: Mapping[str, object] | None = None,
        digest: str | None = None,
    ) -> Entry | None:
        """Let a call run. `call` is its key or wire id; `arguments` replaces what it runs with; `digest` makes sure
        that it is still the call that was shown. Needs no agent; the next `resume` runs it.

        Returns:
            The decision's entry, None when it was decided the same way before.

        Raises:
            NoSuchApproval: no such call waits, its digest differs, or its request has expired.
            AmbiguousCall: the id fits several calls.
            AlreadyDecided: it was decided the other way.
            InvalidEdit: the edited arguments do not fit.
        """
        return self._decide(call, approved=True, note=note, by=by, arguments=arguments, digest=digest)

    def deny(self, call: str, note: str | None = None, by: str | None = None, digest: str | None = None) -> Entry | None:
        """Say no to a call; the model reads the note. As `approve` otherwise."""
        return self._decide(call, approved=False, note=note, by=by, arguments=None, digest=digest)

    def _decide(
        self,
        name: str,
        *,
        approved: bool,
        note: str | None,
        by: str | None,
        arguments: Mapping[str, object] | None,
        digest: str | None,
    ) -> Entry | None:
        key: str | None = None

        def decide(state: State) -> Draft | None:
            nonlocal key
            call = gated_call(state, key or name)
            key = call.key  # looked up once: on a retry the name could fit another call than the one that was meant
            assert call.request is not None
            request = call.request.body
            _require_digest(call, digest)
            edited = edited_call(request, arguments)
            if call.decision is not None:
                check_repeat(call, approved=approved, edited=edited)
                return None
            if call.answered:
                raise NoSuchApproval(f"The call {call.key} is answered already; nothing waits for a decision.")
            if is_over(request.expires, at := now()):
                raise NoSuchApproval(f"The request for {call.key} expired at {request.expires}; the call will not be run.")
            seal = None if edited is None else call_digest(edited)
            body = ApprovalDecision(call.request.seq, call.key, request.digest, approved, note, by, edited, seal)
            return draft(new_id(), at, body, (mark("decided", call.key),), (mark("approval", call.key),))

        return self._append_on(decide)

    def _append_on(self, decide: Callable[[State], Draft | None]) -> Entry | None:
        """Append what `decide` makes of the state, deciding again whenever others wrote in between."""
        deadline = time.monotonic() + PATIENCE
        while True:
            head, made = self._read(lambda state: (state.head, decide(state)))
            if made is None:
                return None
            try:
                return _entry(self._append(made, expect=head), made)
            except Conflict:
                if time.monotonic() > deadline:
                    raise

    # Outcomes ---------------------------------------------------------------------------------

    def unknown_outcomes(self) -> list[StartedCall]:
        """The calls that started, never answered, and are not safe to repeat; without those that a live run holds."""
        live = self._live_epoch()
        return self._read(
            lambda state: [started_call_of(call) for call in state.unknown_outcomes() if _epoch(call) != live]
        )

    def running_calls(self) -> list[StartedCall]:
        """The calls that a live run has started and whose result is not there yet."""
        live = self._live_epoch()
        if live is None:
            return []
        return self._read(
            lambda state: [started_call_of(call) for call in state.unanswered.values() if _epoch(call) == live]
        )

    def _live_epoch(self) -> int | None:
        """The epoch of the run that is on; None when none is."""
        info = self.log.info()
        return info.claim.epoch if info is not None and info.claim is not None else None

    def settle(
        self,
        call: str,
        outcome: Settled,
        content: str | Part | tuple[Part, ...] | None = None,
        by: str | None = None,
        force: bool = False,
    ) -> Entry:
        """Say what became of a call of unknown outcome. `completed` and `failed` answer it, with `content`;
        `released` says that it did not happen: it runs anew, under the same idempotency key.

        Raises:
            InvalidEdit: the call waits for no settlement; or, unless `force` is set, a live run holds it, or it is released
                while the earlier attempt may still be running.
            AmbiguousCall: the id fits several calls.
        """
        if outcome not in ("completed", "failed", "released"):
            raise InvalidEdit(f"{outcome!r} is no outcome; say completed, failed or released.")
        body_content = parts_of(content) if content is not None else ()

        def decide(state: State) -> Draft:
            found = one_call(state.find_calls(call), call, InvalidEdit)
            if not found.outcome_unknown:
                raise InvalidEdit(
                    f"The call {found.key} ({found.call.name}) is {found.status}, and waits for no settlement. "
                    "`unknown_outcomes()` lists those that do."
                )
            if not force:
                self._require_gone(found, released=outcome == "released")
            body = Settlement(found.key, outcome, body_content, by)
            return draft(new_id(), now(), body, (mark("settled", found.key),), (mark("started", found.key),))

        entry = self._append_on(decide)
        assert entry is not None
        return entry

    def _require_gone(self, call: Call, *, released: bool) -> None:
        """Refuse while a live run holds the call; to release it, also while the attempt can still be running: its owner
        lives, and nothing has ended the handler.
        """
        if _epoch(call) == self._live_epoch():
            raise InvalidEdit(
                f"The call {call.key} ({call.call.name}) is running now. Wait for it, or stop the run with `interrupt`; "
                "pass force=True if you know better."
            )
        if released and (age := _may_run_for(call)) is not None:
            raise InvalidEdit(
                f"The attempt at {call.key} ({call.call.name}) may still be running, {age} after its start. Wait until its "
                "process has ended, settle it as completed or failed, or pass force=True if you know that it did not run."
            )

    # The whole log ----------------------------------------------------------------------------

    def verify(self, watch: Watch | None = None) -> Verified:
        """Whether the log is as it was written, with what it shares; `suture.verify` says what is told and what raised."""
        return verify(self.store, self.id, watch)

    def erase(self, entry_id: str) -> None:
        """Take the body of an entry out of the store, for privacy; its hash stays, so the chain holds. Repeats do nothing.

        Of a shared entry it is taken from all that share it. Requests are valid afterwards, and `findings` names the place;
        no call is run because something was erased. What other entries say of it (approval requests, corrections,
        summaries) stays in those. Other handles that have read it, and a run that is on, keep what they read.

        Raises:
            SessionNotFound: there is no such session, or no such entry in it.
            InvalidEdit: the entry says what the session was forked off.
        """
        self.log.erase(entry_id)
        with self.lock:
            self.state, self._whole, self._opened = State(), None, False

    def fork(self, at: int | None = None, id: str | None = None) -> Session:
        """A new session that shares this one's past up to position `at` (its end when left out) and goes on by itself.

        It costs one entry, however long the past is. Calls without a result there are closed in it: neither authority nor
        pending work goes over, and this session is as it was. A missing `id` becomes a new UUID.

        Raises:
            SessionNotFound: nothing was written to this session.
            InvalidEdit: there is no such position, or a session of that id.
        """
        child = self.log.fork(at, str(uuid.uuid4()) if id is None else id)
        fork = Session(child.store, child.session_id, heal=self.heal, ids=self.message_id)
        fork.log = child
        return fork


# Rules ----------------------------------------------------------------------------------------


def _in_turn(state: State, expected: str, made: Draft) -> Draft:
    if state.turn != expected:
        raise Conflict(
            f"The conversation is in the turn of the user message {state.turn!r}, not {expected!r}; nothing was left for "
            "it. Read what is new, then steer again."
        )
    return made


def _arrived(state: State) -> list[tuple[str, User]]:
    """What waits for delivery, by id, in order of arrival."""
    waiting = sorted(state.inbox.items(), key=lambda item: item[1][0])
    return [(id, message) for id, (_, message) in waiting]


def _report_ids(state: State) -> set[str]:
    return {report.id for report in state.reported.values()}


def _epoch(call: Call) -> int | None:
    """The epoch of the run that started the call and has no result of it yet; None when none did."""
    return call.attempt.epoch if call.attempt is not None and call.status == "started" else None


def _may_run_for(call: Call) -> str | None:
    """How long an attempt that can still be running has been; None when it cannot."""
    assert call.attempt is not None
    started = call.attempt.body
    if is_dead(started.owner):
        return None
    try:
        age = (datetime.now(UTC) - datetime.fromisoformat(call.attempt.at)).total_seconds()
    except (ValueError, TypeError):
        return "an unknown time"
    return None if started.expires is not None and age > started.expires else f"{age:.0f} s"


def _require_digest(call: Call, digest: str | None) -> None:
    assert call.request is not None
    if digest is not None and digest != call.request.body.digest:
        raise NoSuchApproval(
            f"The call {call.key} that waits has the digest {call.request.body.digest}, not {digest}: it is not the call "
            "that was shown. Look at `open_approvals()` again before deciding."
        )


def final_answer(state: State) -> Assistant | None:
    """The last answer of a conversation as recorded."""
    return next((message for message in reversed(state.recorded.values()) if isinstance(message, Assistant)), None)


def _pending(state: State) -> tuple[Assistant | None, list[ToolCall]]:
    last = final_answer(state)
    return last, [call.call for call in state.talk.orphans() if state.recorded[call.turn.seq] is last]


def _as_message(entry: Draft) -> MessageBody:
    try:
        body = read(Entry(0, entry.id, entry.kind, entry.at, entry.body))
    except Corrupt as error:
        raise InvalidEdit(f"The body is no message: {error.__cause__}. `append_message` takes one that is.") from error
    assert isinstance(body, MessageBody)
    return body


def _json(body: bytes) -> object:
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise NotJson(f"The body is no JSON: {error}") from error


def _entry(seq: int, made: Draft) -> Entry:
    return Entry(seq, made.id, made.kind, made.at, made.body, 0, made.opens, made.closes)
