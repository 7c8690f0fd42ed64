"""A conversation in a store, which any process can read, decide on, steer, interrupt and settle.

A session is a store and an id; the same id in the same store is the same session in every process. It holds
nothing that the log does not: a handle folds what is new and answers from that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Self

import msgspec

from suture.canonical import canonical
from suture.entries import (
    KINDS,
    ChildReport,
    Draft,
    Entry,
    Interrupt,
    Linked,
    MessageBody,
    Steer,
    draft,
    mark,
    read,
)
from suture.errors import (
    Conflict,
    Corrupt,
    InvalidEdit,
    NotJson,
    SessionNotFound,
)
from suture.messages import Message, ToolResult, User, parts_of
from suture.replay import State
from suture.session.choices import Ids, heals, source_of_ids, usable_id, usable_meta, usable_position
from suture.session.clock import new_id, now
from suture.session.deciding import Deciding
from suture.session.editing import Editing
from suture.session.edits import recordable
from suture.session.family import Child, child_of, labelled, require_name, transcript_of, unreadable_child
from suture.session.listeners import Listener, Listeners
from suture.session.reading import Reading
from suture.session.verifying import Verified, Watch, verify
from suture.stores.base import Store
from suture.stores.given import require_store


class Session(Reading, Editing, Deciding):
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
        require_store(store)
        super().__init__(store, usable_id(id), heal=heals(heal))
        self.message_id = source_of_ids(ids)
        self.listeners = Listeners()
        self.epoch_of_run: Callable[[], int | None] = lambda: None
        if meta := usable_meta(meta):
            self.log.append((), meta=meta)

    # Writing ----------------------------------------------------------------------------------

    def add(self, message: Message, silent: bool = False) -> Message:
        """Record a message at the end of the conversation and, unless `silent`, tell those who asked with `on_message`; it
        is given an id unless it has one.

        Raises:
            InvalidEdit: it is no message.
            NotJson: it holds what cannot be written down.
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
            InvalidEdit: it is no message.
            NotJson: it holds what cannot be written down.
        """
        recorded = self.recorded_as(message)
        if isinstance(recorded, ToolResult):
            self.append_result(recorded)
        else:
            self._append(self.drafted(recorded))
        return recorded

    def recorded_as(self, message: Message) -> Message:
        """The message as it is recorded, with an id.

        Raises:
            InvalidEdit, NotJson: as `append_message`.
        """
        return self._named(recordable(message))

    def drafted(self, message: Message) -> Draft:
        """The entry of a message that answers no call."""
        return draft(new_id(), now(), MessageBody(message))

    def append_result(self, result: ToolResult) -> None:
        """Record a result, for the call that it answers as the log stands."""
        self._append_on(lambda state: self._message(state, new_id(), MessageBody(result)))

    @staticmethod
    def _message(state: State, id: str, body: MessageBody) -> Draft:
        """A draft that closes what was open about the call that it answers, if it answers one."""
        message = body.message
        call = state.answered_by(message, body.key) if isinstance(message, ToolResult) else None
        return draft(id, now(), body, (), call.all_marks if call is not None else ())

    def append(self, kind: str, body: object) -> Entry:
        """Append an entry of the host's own kind; `body` is JSON, or bytes of JSON that are kept as they are. A body of
        the kind `message` is one as `Entry.data` of such an entry shows it.

        Raises:
            InvalidEdit: the kind is one that suture writes itself or no text, or a `message` that cannot be read.
            NotJson: the body is no JSON.
        """
        if not isinstance(kind, str):
            raise InvalidEdit(f"The kind of an entry is a text, not {kind!r:.80}.")
        if kind in KINDS and kind != "message":
            raise InvalidEdit(
                f"{kind!r} is a kind of suture's own, which its methods and its runs write. "
                "Choose another kind for what is yours."
            )
        raw = body if isinstance(body, bytes) else canonical(body)
        if isinstance(body, bytes):
            canonical(_json(body))
        entry = Draft(new_id(), kind, now(), raw)
        if kind != "message":
            return entry.at_seq(self._append(entry))
        known = _as_message(entry)
        written = self._append_on(
            lambda state: msgspec.structs.replace(entry, closes=self._message(state, entry.id, known).closes)
        )
        assert written is not None
        return written

    def _append(self, made: Draft) -> int:
        last = self.log.append((made,))
        self.know((made.at_seq(last),))
        return last

    # Inbox ------------------------------------------------------------------------------------

    def steer(self, text: str, expected_turn: str | None = None) -> str:
        """Leave a message for the run that is on, or for the next; the id under which it waits.

        With `expected_turn`, the id of the user message that it speaks of, it is left only while no other came behind that.

        Raises:
            InvalidEdit: it is no text, or a blank one.
            Conflict: the conversation is in another turn than the expected one.
        """
        if not isinstance(text, str):
            raise InvalidEdit(f"A steer is a text, not {text!r:.80}.")
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
        return made.at_seq(self._append(made))

    # Children ---------------------------------------------------------------------------------

    def link_child(self, name: str, id: str | None = None) -> Session:
        """A session of the same store that works for this one under that name: `children` and the transcript show it from
        then on. A missing `id` becomes a new UUID; a child that is linked already is handed out again.

        It is a session like any other. How its work ended is told here by `deliver_report`.

        Raises:
            InvalidEdit: the name is blank, the child goes by another one here, or it is this session itself.
        """
        child = usable_id(id)
        require_name(name)
        if child == self.id:
            raise InvalidEdit(f"Session {child!r} cannot work for itself. Leave the id out for a new session.")

        def decide(state: State) -> Draft | None:
            known = state.linked.get(child)
            if known not in (None, name):
                raise InvalidEdit(f"Session {child!r} works for {self.id!r} as {known!r} already, not as {name!r}.")
            return None if known is not None else draft(new_id(), now(), Linked(name, child))

        self._append_on(decide)
        return Session(self.store, child, heal=self.heal, ids=self.message_id)

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
        self._begin_anew()

    def fork(self, at: int | None = None, id: str | None = None) -> Session:
        """A new session that shares this one's past up to position `at` (its end when left out) and goes on by itself.

        It costs one entry, however long the past is. Calls without a result there are closed in it: neither authority nor
        pending work goes over, and this session is as it was. A missing `id` becomes a new UUID.

        Raises:
            SessionNotFound: nothing was written to this session.
            InvalidEdit: there is no such position, or a session of that id.
        """
        child = self.log.fork(usable_position(at), usable_id(id))
        fork = Session(child.store, child.session_id, heal=self.heal)
        fork.log, fork.message_id = child, self.message_id
        fork._miss()  # the entry that says what it was forked off
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


def _as_message(entry: Draft) -> MessageBody:
    try:
        body = read(entry.at_seq(0))
    except Corrupt as error:
        raise InvalidEdit(f"The body is no message: {error.__cause__}. `append_message` takes one that is.") from error
    assert isinstance(body, MessageBody)
    return body


def _json(body: bytes) -> object:
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise NotJson(f"The body is no JSON: {error}") from error
