"""Sessions that work for another: what became of each, what it reports, and one transcript of them all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from suture.canonical import MAX_DEPTH
from suture.entries import ChildReport, Entry, Linked, plain, read
from suture.errors import Corrupt, InvalidEdit, SessionNotFound, SutureError
from suture.messages import User, parts_of
from suture.replay import State
from suture.session.log import SessionLog
from suture.stores.base import SessionInfo, Store

ChildStatus: TypeAlias = Literal["queued", "running", "interrupted", "done", "stopped", "failed"]

# Objects with `data` that hold base64 of some media: parts of ours by their type, those of a provider by one of these.
_MEDIA_TYPES = ("image", "file", "audio")
_MEDIA_KEYS = ("media_type", "mime_type", "mimeType")


@dataclass(frozen=True)
class Child:
    """A session that works for this one.

    `status` is queued until it begins to work, running while a live run has it, and interrupted when none has and it has
    not ended; then how it ended. `report` is what it brought, `error` why it failed.
    """

    id: str
    name: str
    status: ChildStatus
    report: str | None = None
    error: str | None = None


# Children -------------------------------------------------------------------------------------


def child_of(id: str, name: str, state: State, info: SessionInfo | None, reported: ChildReport | None) -> Child:
    """What a child's own log says of its work, or its report where that log has no end."""
    if (ended := state.result) is not None:
        return Child(id, name, ended.status, ended.report, ended.error)
    match reported:
        case ChildReport(status="failed"):
            return Child(id, name, "failed", error=reported.report)
        case ChildReport(status="done" | "stopped" as status):
            return Child(id, name, status, reported.report)
        case _:
            return Child(id, name, _unfinished(state, info))


def require_name(given: object) -> None:
    """Return when a child can go by that name.

    Raises:
        InvalidEdit: it is no text, or a blank one.
    """
    if not isinstance(given, str) or not given.strip():
        raise InvalidEdit(f"A child needs a name that says what it works on, not {given!r:.80}.")


def unreadable_child(id: str, name: str, why: SutureError, reported: ChildReport | None) -> Child:
    """What is known of a child whose log cannot be read: what it reported, else why not."""
    known = child_of(id, name, State(), None, reported)
    return known if reported is not None else Child(id, name, "failed", error=f"Its log cannot be read: {why}")


def _unfinished(state: State, info: SessionInfo | None) -> ChildStatus:
    if info is not None and info.claim is not None:
        return "running"
    return "interrupted" if state.began else "queued"


def labelled(name: str, status: str, report: str | None) -> User:
    """The message by which a model hears of a child."""
    match status:
        case "done":
            head = f"The subagent {name!r} has finished"
        case "failed":
            head = f"The subagent {name!r} has failed"
        case "stopped":
            return User(parts_of(f"The subagent {name!r} was stopped."))
        case _:
            head = f"The subagent {name!r} reports (status {status})"
    return User(parts_of(f"{head}:\n\n{report}" if report else f"{head}."))


# Transcripts ----------------------------------------------------------------------------------


def transcript_of(store: Store, session_id: str, *, include_children: bool) -> Iterator[dict[str, object]]:
    """The entries of a session as JSON, media left out; with those of each child behind the link to it, once."""
    expanded = {session_id}
    levels = [("", iter(SessionLog(store, session_id).read()))]
    while levels:
        origin, entries = levels[-1]
        entry = next(entries, None)
        if entry is None:
            levels.pop()
            continue
        yield _shown(entry, origin)
        link = _link_of(entry) if include_children else None
        if link is not None and link.session_id not in expanded:
            expanded.add(link.session_id)
            below = f"{link.name}#{link.session_id[:8]}"
            levels.append((f"{origin}>{below}" if origin else below, iter(_readable(store, link.session_id))))


def _readable(store: Store, session_id: str) -> list[Entry]:
    """The log of a session with what it shares; its own entries alone where that is gone."""
    try:
        return SessionLog(store, session_id).read()
    except (Corrupt, SessionNotFound):
        return store.read(session_id)


def _link_of(entry: Entry) -> Linked | None:
    if entry.kind != "child" or entry.erased:
        return None
    try:
        body = read(entry)
    except Corrupt:
        return None
    return body if isinstance(body, Linked) else None


def _shown(entry: Entry, origin: str) -> dict[str, object]:
    shown = {"seq": entry.seq, "id": entry.id, "kind": entry.kind, "at": entry.at, "body": without_media(plain(entry.body))}
    return {**shown, "origin": origin} if origin else shown


def without_media(value: object, levels: int = MAX_DEPTH) -> object:
    """A JSON value in which the data of pictures, files and sounds gives way to a word on its size, and so does what lies
    that many levels deep.
    """
    if not isinstance(value, list | dict):
        return value
    if levels == 0:
        return {"omitted": f"what is nested deeper than {MAX_DEPTH} levels"}
    if isinstance(value, list):
        return [without_media(item, levels - 1) for item in value]
    kept = {key: without_media(item, levels - 1) for key, item in value.items()}
    data = value.get("data")
    if isinstance(data, str) and (value.get("type") in _MEDIA_TYPES or any(key in value for key in _MEDIA_KEYS)):
        del kept["data"]
        kept["omitted"] = f"{len(data)} characters of data"
    return kept
