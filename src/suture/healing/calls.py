"""Passes over calls and results: arguments, pairing, ids and names."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence

import msgspec

from suture.arguments import parse
from suture.canonical import digest, scrub
from suture.formats.chat.objects import is_object_text
from suture.formats.limits import Limits
from suture.formats.wire import object_text, own
from suture.healing.turns import Slot, join_turns, origins_of, slots_of, split_turns
from suture.healing.work import Change, Work, in_full, rules_of
from suture.messages import Assistant, Part, ToolCall, ToolResult
from suture.repair import Mend, mend, with_call_ids, with_unique_ids

IDS = frozenset(("ID_DUPLICATE", "ID_REUSED", "ID_MISSING", "ID_CHARS", "ID_LENGTH"))


def arguments(work: Work) -> None:
    """Each call carries an object, in the form in which the target takes it."""
    for at, message in enumerate(work.messages):
        if type(message) is not Assistant or not message.calls:
            continue
        fresh = tuple([_with_arguments(work, at, part) if type(part) is ToolCall else part for part in message.parts])
        if any(new is not old for new, old in zip(fresh, message.parts, strict=True)):
            work.replace(at, parts=fresh)


def _with_arguments(work: Work, at: int, call: ToolCall) -> ToolCall:
    as_text = work.limits.arguments != "object"
    if _is_sendable(work, call, as_text=as_text):
        return call
    given, code, action = _readable(call, as_text=as_text)
    work.note(code, at, action, part=call, call=call.id, detail=object_text(given))
    return msgspec.structs.replace(call, arguments=given, raw=object_text(given) if as_text else None, error=None)


def _readable(call: ToolCall, *, as_text: bool) -> tuple[dict[str, object], str, str]:
    """The object to send, the code of what was wrong, and what was done."""
    if call.arguments is not None:
        return call.arguments, "ARGS_TYPE", "wrote the arguments as text"
    arguments, error, _ = parse(call.raw)
    if arguments is None:
        code = "ARGS_NOT_OBJECT" if error == "invalid_arguments" else "ARGS_UNPARSABLE"
        return {"_raw": scrub(call.raw or "")}, code, "kept the unreadable arguments under '_raw' of an object"
    if not arguments and not (call.raw or "").strip():
        return {}, "ARGS_TYPE", "wrote arguments that were not there as an empty object"
    if as_text:
        return arguments, "SURROGATE_LONE", "replaced halves of surrogate pairs"
    return arguments, "ARGS_TYPE", "read the arguments as an object"


def _is_sendable(work: Work, call: ToolCall, *, as_text: bool) -> bool:
    """Whether the arguments can be written as they are."""
    kept = own(call.ext, work.format.name)
    if call.arguments is not None and kept.get("arguments") == "object" and work.limits.arguments == "text":
        return False
    if call.arguments is not None and (not as_text or work.options.strict or work.limits.arguments == "either"):
        return True
    if not as_text:
        return False
    if call.raw is None:
        return "type" in kept  # a call of another kind than a function
    return is_object_text(call.raw)


# Pairing --------------------------------------------------------------------------------------


def pairs(work: Work) -> None:
    """Each call has its result directly behind its turn, under an id that the target takes."""
    options = work.options
    if not options.strict and work.wants(("ID_DUPLICATE", "ID_REUSED", "CALL_UNANSWERED")):
        _copies(work)
    turns = join_turns(work) if work.limits.joins_turns else {}
    given = work.sources
    mended = mend(work.messages, tail=options.pending, orphans=options.orphans, why=options.why, reason=options.reason)
    slots = slots_of(turns)
    for done in mended.mends:
        _note(work, done, slots)
    work.messages = mended.messages
    work.sources = [None if source is None else given[source] for source in mended.sources]
    shares = {at: turns[source] for at, source in enumerate(mended.sources) if source in turns} if turns else {}
    origins = {at: origins_of(work.messages[at], share) for at, share in shares.items()}
    if work.wants(IDS):
        _name_calls(work, {at: [origin for origin in each if origin.slot is not None] for at, each in origins.items()})
    if not options.strict:
        split_turns(work, shares, origins)


def _copies(work: Work) -> None:
    """Leave out calls that a writer stored twice: the same in all respects, and without a result of their own."""
    results = Counter(message.call_id for message in work.messages if type(message) is ToolResult)
    keep = [True] * len(work.messages)
    for at, message in enumerate(work.messages):
        if type(message) is not Assistant or not message.parts:
            continue
        before = work.messages[at - 1] if at else None
        if type(before) is Assistant and message.calls and _is_copy(before, message, results):
            work.note("ID_DUPLICATE", at, "left out a copy of the message before")
            keep[at] = False
        elif len(message.parts) > 1 and (gone := _copied(message, results)):
            for part in gone:
                work.note("ID_DUPLICATE", at, "left out a copy of a call", part=part, call=part.id)
            work.remove(at, gone)
    work.keep(keep)


def _is_copy(before: Assistant, message: Assistant, results: Counter[str]) -> bool:
    return before.parts == message.parts and all(call.id and results[call.id] < 2 for call in message.calls)


def _copied(message: Assistant, results: Counter[str]) -> list[ToolCall]:
    """The calls that repeat an earlier one of the message, as far as there are fewer results than calls."""
    left = Counter(call.id for call in message.calls)
    first: dict[str, ToolCall] = {}
    gone: list[ToolCall] = []
    for call in message.calls:
        repeats = call.id and call == first.setdefault(call.id, call) and call is not first[call.id]
        if repeats and left[call.id] > max(results[call.id], 1):
            gone.append(call)
            left[call.id] -= 1
    return gone


def _note(work: Work, done: Mend, slots: dict[int, list[Slot]]) -> None:
    """Report what pairing did to a message; in a joined turn, to the message that the call came from."""
    place = Slot(work.sources[done.position], done.slot)
    if done.slot is not None and done.position in slots:
        place = slots[done.position][done.slot]
    lost = done.lost
    detail = in_full(work.messages[done.position]) if lost == "result" else done.detail
    work.report(done.code, place.source, done.action, slot=place.slot, call=done.call_id, detail=detail, lost=lost)


# Ids and names --------------------------------------------------------------------------------


def _name_calls(work: Work, slots: dict[int, list[Slot]]) -> None:
    """Ids are there, unique in their scope, and of the form that the target takes."""
    scope = "history" if work.options.strict else work.limits.ids_unique_in
    named, mends = with_unique_ids(work.messages, scope=scope, needed=work.limits.ids_needed)
    for done in mends:
        _note(work, done, slots)
    work.messages = named
    limits = work.limits
    fits = re.compile(limits.id_pattern).search
    longest = limits.id_length or 1 << 30
    ids = dict.fromkeys(call.id for message in named if type(message) is Assistant for call in message.calls)
    names: dict[str, str] = {}
    for id in [id for id in ids if id and (len(id) > longest or not fits(id))]:
        if name := next((name for name in _candidates(id, limits) if name not in ids and fits(name)), None):
            names[id] = name
            ids[name] = None
    if names:
        _rename(work, names, longest)


def _rename(work: Work, names: dict[str, str], longest: int) -> None:
    """Give calls and their results other ids."""
    for at, message in enumerate(work.messages):
        if type(message) is ToolResult and message.call_id in names:
            work.replace(at, call_id=names[message.call_id])
        elif type(message) is Assistant and not names.keys().isdisjoint(call.id for call in message.calls):
            for slot, call in enumerate(message.calls):
                if call.id in names:
                    code = "ID_LENGTH" if len(call.id) > longest else "ID_CHARS"
                    action = f"named the call {names[call.id]!r}, and its result with it"
                    work.note(code, at, action, slot=slot, call=call.id)
            work.messages[at] = with_call_ids(message, [names.get(call.id, call.id) for call in message.calls])


def _candidates(id: str, limits: Limits) -> Iterator[str]:
    """Ids to take instead, the most telling first. Each is a function of the id alone, so it never changes."""
    hash = digest(id)
    most = min(limits.id_length or 64, 64)
    telling = re.sub("[^a-zA-Z0-9_-]", "_", id)
    for length in (8, 16, 32):
        if length < most:
            yield f"{telling[: most - length - 1]}_{hash[:length]}"
    yield hash[:most]
    yield from (hash[start : start + 9] for start in range(0, 55, 9))


def names(work: Work) -> None:
    """Names of tools are of the form that the target takes, in the request as in the history; two never become one."""
    renamed = _new_names(work)
    work.renamed = renamed
    called = {call.name for message in work.messages if type(message) is Assistant for call in message.calls}
    for name in [name for name in renamed if name not in called]:
        rules = rules_of("NAME_PATTERN", work.format, work.limits)
        action = f"named the tool {renamed[name]!r}"
        path = work.format.tool_keys[0]
        work.changes.append(Change(code="NAME_PATTERN", rules=rules, path=path, action=action, detail=name))
    for at, message in enumerate(work.messages if renamed else ()):
        if type(message) is ToolResult and message.name in renamed:
            work.replace(at, name=renamed[message.name])
        if type(message) is not Assistant or renamed.keys().isdisjoint(call.name for call in message.calls):
            continue
        for slot, call in enumerate(message.calls):
            if call.name in renamed:
                action = f"named the tool {renamed[call.name]!r}"
                work.note("NAME_PATTERN", at, action, slot=slot, call=call.id, detail=call.name)
        work.replace(at, parts=tuple([_renamed(part, renamed) for part in message.parts]))


def _new_names(work: Work) -> dict[str, str]:
    """For each name that the target refuses, the one to take instead: a function of the name alone where that is free."""
    fits = re.compile(work.limits.name_pattern).search
    known = dict.fromkeys(call.name for message in work.messages if type(message) is Assistant for call in message.calls)
    known |= dict.fromkeys(work.offered)
    renamed: dict[str, str] = {}
    for name in [name for name in known if not fits(name)]:
        plain = re.sub("[^a-zA-Z0-9_-]", "_", name)[:64] or "unnamed"
        if not fits(plain):
            plain = f"_{plain}"[:64]
        renamed[name] = plain if plain not in known else f"{plain[:55]}_{digest(name)[:8]}"
        known[renamed[name]] = None
    return renamed


def result_names(work: Work) -> None:
    """Each result carries the name of its call, where the target wants it to."""
    if not work.limits.result_names:
        return
    for at, message in enumerate(work.messages):
        if type(message) is Assistant and message.calls:
            _name_results(work, at + 1, message.calls)


def _name_results(work: Work, start: int, calls: Sequence[ToolCall]) -> None:
    """Name the results behind a turn: those that have the name of a call keep it, the others take the rest in order."""
    left: dict[str, Counter[str]] = {}
    for call in calls:
        left.setdefault(call.id, Counter())[call.name] += 1
    others: list[int] = []
    for at in range(start, len(work.messages)):
        message = work.messages[at]
        if type(message) is not ToolResult:
            break
        if (names := left.get(message.call_id)) is None:
            continue
        if message.name and names[message.name]:
            names[message.name] -= 1
        else:
            others.append(at)
    queues = {id: deque(names.elements()) for id, names in left.items()} if others else {}
    for at in others:
        call_id = work.messages[at].call_id  # type: ignore[union-attr]
        if queue := queues[call_id]:
            name = queue.popleft()
            work.note("RESULT_NAME_MISMATCH", at, f"named the result {name!r}, as its call", call=call_id)
            work.replace(at, name=name)


def _renamed(part: Part, names: dict[str, str]) -> Part:
    if type(part) is ToolCall and part.name in names:
        return msgspec.structs.replace(part, name=names[part.name])
    return part
