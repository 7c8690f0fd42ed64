"""The passes of healing: each makes one family of rules hold, over neutral messages, and notes what it did.

They run in one order (`run`), since some make work for others: a dropped text can empty a message, an
emptied message can bring two of the user's together. What a target takes is data (`Limits`), so that a pass
knows no provider. A pass replaces messages, and never changes one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from suture.arguments import parse
from suture.canonical import digest, scrub, scrubbed
from suture.formats.anthropic_check import lonely
from suture.formats.base import Format, Limits, object_text, own
from suture.formats.openai_check import is_object_text
from suture.messages import (
    Assistant,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    System,
    Text,
    ToolCall,
    ToolResult,
    User,
    message_from,
)
from suture.repair import Mend, Orphans, Unanswered, Why, mend, with_call_ids, with_unique_ids

Lost: TypeAlias = Literal["none", "text", "reasoning", "image", "call", "result"]

NOTHING = "(no content)"
CONTINUED = "(conversation continues)"
GO_ON = "Continue."
FAILED = "The tool failed and said nothing."


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that healing did.

    `detail` is the full text of what was left out, or the words that were put in. `lost` says what the model
    will not see: nothing, or text, reasoning, an image, a call, a result.
    """

    code: str
    rules: tuple[str, ...]
    path: str
    call_id: str | None
    action: str
    detail: str = ""
    lost: Lost = "none"


class Options(NamedTuple):
    """What the caller wants done; `why` and `reason` are what is known of calls without a result."""

    pending: Unanswered = "answer"
    orphans: Orphans = "drop"
    why: Why = "unknown"
    reason: str | None = None
    strict: bool = False  # for a request of our own: ids unique in the history, nothing foreign sent
    system_apart: bool = False  # the history has a place for system text beside its messages


class Work:
    """A history on its way: messages, the index each had at first (None for a new one), and the changes so far."""

    def __init__(
        self,
        messages: Sequence[Message],
        format: Format,
        limits: Limits,
        options: Options,
        place: Callable[[int, int | None], str],
    ) -> None:
        self.given = messages
        self.messages: list[Message] = list(messages)
        self.sources: list[int | None] = list(range(len(messages)))
        self.format = format
        self.limits = limits
        self.options = options
        self.place = place
        self.system: list[System] = []
        self.changes: list[Change] = []
        self.hints: list[str] = []

    def note(
        self,
        code: str,
        at: int,
        action: str,
        *,
        part: Part | None = None,
        call: str | None = None,
        detail: str = "",
        lost: Lost = "none",
    ) -> None:
        """A change of the message at that index now, or of one of its parts."""
        self._record(code, self.sources[at], self._place(at, part), call, action, detail, lost)

    def record_mend(self, done: Mend, source: int | None) -> None:
        """What pairing did to a message."""
        index = None
        if source is not None and type(message := self.given[source]) is Assistant:
            calls = (at for at, part in enumerate(message.parts) if type(part) is ToolCall and part.id == done.call_id)
            index = next(calls, None)
        self._record(done.code, source, index, done.call_id or None, done.action, done.detail, done.lost)

    def _record(
        self, code: str, source: int | None, index: int | None, call: str | None, action: str, detail: str, lost: Lost
    ) -> None:
        rule = self.format.rule_of.get(code)
        self.changes.append(
            Change(
                code=code,
                rules=(rule,) if rule else (),
                path="messages" if source is None else self.place(source, index),
                call_id=call,
                action=action,
                detail=detail,
                lost=lost,
            )
        )

    def _place(self, at: int, part: Part | None) -> int | None:
        """Which part of the message that was given it is, or came from."""
        source = self.sources[at]
        if source is None or part is None:
            return None
        given, now = self.given[source].parts, self.messages[at].parts
        found = next((index for index, candidate in enumerate(given) if candidate is part), None)
        if found is not None or type(part) is not ToolCall:
            return found
        calls = [index for index, candidate in enumerate(given) if type(candidate) is ToolCall]
        nth = [candidate is part for candidate in now if type(candidate) is ToolCall].index(True)
        return calls[nth] if nth < len(calls) else None

    def replace(self, at: int, **fields: object) -> None:
        """The message at that index, with other fields."""
        self.messages[at] = msgspec.structs.replace(self.messages[at], **fields)

    def keep(self, keep: Sequence[bool]) -> None:
        """Only those messages."""
        self.messages = [message for message, kept in zip(self.messages, keep, strict=True) if kept]
        self.sources = [source for source, kept in zip(self.sources, keep, strict=True) if kept]

    def insert(self, at: int, message: Message) -> None:
        """A new message before that index."""
        self.messages.insert(at, message)
        self.sources.insert(at, None)


def run(work: Work) -> None:
    """All passes, in the order in which each leaves alone what those before it did."""
    surrogates(work)
    arguments(work)
    pairs(work)
    reasoning(work)
    foreign(work)
    order(work)
    servers(work)
    pictures(work)
    blanks(work)
    empties(work)
    roles(work)
    tail(work)
    names(work)


# Before pairing -------------------------------------------------------------------------------


def surrogates(work: Work) -> None:
    """Texts can be encoded: split pairs are joined, lone halves replaced."""
    try:
        msgspec.json.encode(work.messages)
    except UnicodeEncodeError:
        for at, message in enumerate(work.messages):
            plain = msgspec.to_builtins(message)
            clean = scrubbed(plain)
            if clean is not plain:
                work.note("SURROGATE_LONE", at, "joined split surrogate pairs and replaced lone halves")
                work.messages[at] = message_from(clean)


def arguments(work: Work) -> None:
    """Each call carries an object, in the form in which the target takes it."""
    for at, message in enumerate(work.messages):
        if type(message) is not Assistant:
            continue
        fresh = [_with_arguments(work, at, part) if type(part) is ToolCall else part for part in message.parts]
        if any(new is not old for new, old in zip(fresh, message.parts, strict=True)):
            work.replace(at, parts=tuple(fresh))


def _with_arguments(work: Work, at: int, call: ToolCall) -> ToolCall:
    as_text = work.limits.arguments == "text"
    if call.arguments is not None and (not as_text or _has_text(work, call)):
        return call
    if as_text and call.raw is not None and is_object_text(call.raw):
        return call
    parsed = parse(call.raw)
    if call.arguments is not None:
        given, code, action = call.arguments, "ARGS_TYPE", "wrote the arguments as text"
    elif parsed.arguments is not None:
        given, code, action = parsed.arguments, "ARGS_TYPE", "read the arguments as an object"
    else:
        given = {"_raw": scrub(call.raw or "")}
        code = "ARGS_NOT_OBJECT" if parsed.error == "invalid_arguments" else "ARGS_UNPARSABLE"
        action = "kept the unreadable arguments under '_raw' of an object"
    work.note(code, at, action, part=call, call=call.id or None, detail=call.raw or "")
    return msgspec.structs.replace(call, arguments=given, raw=object_text(given) if as_text else None, error=None)


def _has_text(work: Work, call: ToolCall) -> bool:
    """Whether a call with an object has, or needs, no other text than can be sent."""
    if call.raw is None:
        return work.options.strict or own(call.ext, work.format.name).get("type") == "custom"
    return work.options.strict or is_object_text(call.raw)


# Pairing --------------------------------------------------------------------------------------


def pairs(work: Work) -> None:
    """Each call has its result directly behind its turn, under an id that the target takes."""
    options = work.options
    turns = _join_turns(work)
    given_sources = work.sources
    mended = mend(work.messages, tail=options.pending, orphans=options.orphans, why=options.why, reason=options.reason)
    for done in mended.mends:
        work.record_mend(done, given_sources[done.position])
    work.messages = mended.messages
    work.sources = [None if source is None else given_sources[source] for source in mended.sources]
    shares = {at: turns[source] for at, source in enumerate(mended.sources) if source is not None and source in turns}
    counts = {at: _counts(work.messages[at], share) for at, share in shares.items()}
    _name_calls(work)
    if not options.strict:
        _split_turns(work, shares, counts)


class _Share(NamedTuple):
    """One message of a joined turn."""

    message: Message
    source: int | None


def _join_turns(work: Work) -> dict[int, list[_Share]]:
    """Join assistant messages that go on with the calls of the one before, where the target reads them as one."""
    if not work.limits.joins_turns:
        return {}
    turns: dict[int, list[_Share]] = {}
    messages: list[Message] = []
    sources: list[int | None] = []
    for message, source in zip(work.messages, work.sources, strict=True):
        before = messages[-1] if messages else None
        if before is not None and _goes_on(before, message):
            at = len(messages) - 1
            turns.setdefault(at, [_Share(before, sources[at])]).append(_Share(message, source))
            messages[at] = msgspec.structs.replace(before, parts=(*before.parts, *message.parts))
        else:
            messages.append(message)
            sources.append(source)
    if turns:
        work.messages, work.sources = messages, sources
    return turns


def _goes_on(before: Message, message: Message) -> bool:
    if type(message) is not Assistant or type(before) is not Assistant or not (before.parts and message.parts):
        return False
    return type(before.parts[-1]) is ToolCall and all(type(part) is ToolCall for part in message.parts)


def _counts(message: Message, share: Sequence[_Share]) -> list[int]:
    """How many parts of a joined message are left of each that it was made of."""
    left = {id(part) for part in message.parts}
    return [sum(id(part) in left for part in one.message.parts) for one in share]


def _split_turns(work: Work, shares: dict[int, list[_Share]], counts: dict[int, list[int]]) -> None:
    """Undo `_join_turns`."""
    if not shares:
        return
    messages: list[Message] = []
    sources: list[int | None] = []
    for at, (message, source) in enumerate(zip(work.messages, work.sources, strict=True)):
        if at not in shares:
            messages.append(message)
            sources.append(source)
            continue
        start = 0
        for one, count in zip(shares[at], counts[at], strict=True):
            parts = message.parts[start : start + count]
            start += count
            same = len(parts) == len(one.message.parts) and all(map(_is, parts, one.message.parts))
            if parts:
                messages.append(one.message if same else msgspec.structs.replace(one.message, parts=parts))
                sources.append(one.source)
    work.messages, work.sources = messages, sources


def _is(left: object, right: object) -> bool:
    return left is right


def _name_calls(work: Work) -> None:
    """Ids are there, unique in their scope, and of the form that the target takes."""
    named, mends = with_unique_ids(work.messages, scope="history" if work.options.strict else work.limits.ids_unique_in)
    for done in mends:
        work.record_mend(done, work.sources[done.position])
    work.messages = named
    _fit_ids(work)


def _fit_ids(work: Work) -> None:
    limits = work.limits
    fits = re.compile(limits.id_pattern).search
    ids = dict.fromkeys(call.id for message in work.messages if type(message) is Assistant for call in message.calls)
    long = limits.id_length or 1 << 30
    bad = [id for id in ids if len(id) > long or not fits(id)]
    if not bad:
        return
    names: dict[str, str] = {}
    for id in bad:
        names[id] = next(name for name in _candidates(id, limits) if name not in ids and fits(name))
        ids[names[id]] = None
    for at, message in enumerate(work.messages):
        if type(message) is Assistant and any(call.id in names for call in message.calls):
            for call in message.calls:
                if call.id in names:
                    code = "ID_LENGTH" if len(call.id) > long else "ID_CHARS"
                    action = f"named the call {names[call.id]!r}, and its result with it"
                    work.note(code, at, action, part=call, call=call.id)
            work.messages[at] = with_call_ids(message, [names.get(call.id, call.id) for call in message.calls])
        elif type(message) is ToolResult and message.call_id in names:
            work.replace(at, call_id=names[message.call_id])


def _candidates(id: str, limits: Limits) -> list[str]:
    """Ids to take instead, the most telling first; each is a function of the id alone."""
    hash = digest(id)
    most = min(limits.id_length or 64, 64)
    telling = re.sub("[^a-zA-Z0-9_-]", "_", id)
    lengths = [length for length in (8, 16, 32) if length < most]
    named = [f"{telling[: most - length - 1]}_{hash[:length]}" for length in lengths]
    return [*named, hash[:most], *(hash[start : start + 9] for start in range(0, 55, 9))]


# Parts ----------------------------------------------------------------------------------------


def reasoning(work: Work) -> None:
    """Only reasoning that the target takes back is sent: signed, and by the model that is asked."""
    for at, message in enumerate(work.messages):
        if not any(type(part) is Reasoning for part in message.parts):
            continue
        code = "THINKING_UNSIGNED"
        gone: list[Part] = []
        for part in message.parts:
            if type(part) is Reasoning and (why := _refused(work, message, part)):
                code = why
                gone.append(part)
                detail = part.text or "(redacted)"
                work.note(code, at, "left out reasoning", part=part, detail=detail, lost="reasoning")
        if gone:
            _without(work, at, gone)
            if work.limits.reasoning == "signed" and _is_last_turn(work, at) and message.parts:
                work.hints.append("thinking: off")


def _refused(work: Work, message: Message, part: Reasoning) -> str | None:
    limits = work.limits
    if type(message) is not Assistant:
        return "THINKING_UNSIGNED"
    if limits.reasoning != "signed":
        kept = bool(own(part.ext, work.format.name).get("field")) and not work.options.strict
        return None if kept or limits.reasoning == "text" else "THINKING_FOREIGN"
    if not (part.encrypted if part.redacted else (part.signature or "").strip()):
        return "THINKING_UNSIGNED"
    origin = message.origin
    elsewhere = origin is not None and (
        (origin.provider and work.format.name not in (origin.provider, origin.api))
        or bool(limits.model and origin.model and origin.model != limits.model)
    )
    return "THINKING_FOREIGN" if elsewhere else None


def _is_last_turn(work: Work, at: int) -> bool:
    """Whether the message called tools and no words of the user have followed."""
    message = work.messages[at]
    calls = type(message) is Assistant and bool(message.calls)
    return calls and not any(type(later) in (User, Assistant) for later in work.messages[at + 1 :])


def _without(work: Work, at: int, gone: Sequence[Part]) -> None:
    left = {id(part) for part in gone}
    work.replace(at, parts=tuple(part for part in work.messages[at].parts if id(part) not in left))


def foreign(work: Work) -> None:
    """Nothing is sent that has no form in the target, or no place in its message."""
    for at, message in enumerate(work.messages):
        gone = [part for part in message.parts if type(part) is not Text and not _may_stand(work, message, part)]
        for part in gone:
            lost: Lost = "call" if type(part) is ToolCall else "image" if type(part) is Image else "text"
            detail = msgspec.json.encode(part).decode()
            work.note("BLOCK_UNKNOWN", at, "left out what has no place here", part=part, detail=detail, lost=lost)
        if gone:
            _without(work, at, gone)


def _may_stand(work: Work, message: Message, part: Part) -> bool:
    if type(part) is ToolCall:
        return type(message) is Assistant
    return type(part) is Reasoning or work.format.takes(part)


def order(work: Work) -> None:
    """Calls end their message, where the target wants that. Thinking never moves, so it is left out."""
    if not work.limits.calls_last:
        return
    for at, message in enumerate(work.messages):
        if type(message) is not Assistant or not message.calls:
            continue
        first = next(index for index, part in enumerate(message.parts) if type(part) is ToolCall)
        behind = [part for part in message.parts[first:] if type(part) is not ToolCall]
        if not behind:
            continue
        if any(type(part) is Reasoning for part in behind):
            _leave_out_thinking(work, at)
        behind = [part for part in behind if type(part) is not Reasoning]
        if behind:
            parts = work.messages[at].parts
            first = next(index for index, part in enumerate(parts) if type(part) is ToolCall)
            calls = [part for part in parts if type(part) is ToolCall]
            work.note("CALL_NOT_TAIL", at, "moved what stood behind the calls before them", part=behind[0])
            work.replace(at, parts=(*parts[:first], *behind, *calls))


def _leave_out_thinking(work: Work, at: int) -> None:
    """Leave out all reasoning of a message in which its place changes: it is refused then (ANT-THINK-FROZEN)."""
    thoughts = [part for part in work.messages[at].parts if type(part) is Reasoning]
    for part in thoughts:
        work.note("THINKING_MODIFIED", at, "left out reasoning", part=part, detail=part.text, lost="reasoning")
    _without(work, at, thoughts)
    if _is_last_turn(work, at):
        work.hints.append("thinking: off")


def servers(work: Work) -> None:
    """A server tool's call and its result stand in one message, or neither is sent."""
    for at, message in enumerate(work.messages):
        if type(message) is not Assistant or not any(type(part) is Opaque for part in message.parts):
            continue
        blocks = [part.raw if type(part) is Opaque else None for part in message.parts]
        alone = [message.parts[index] for index in lonely(blocks)]
        # A paused turn ends in a call, and goes on when it is sent back.
        gone = [part for part in alone if not (at == len(work.messages) - 1 and _is_server_call(part))]
        for part in gone:
            code = "SERVER_CALL_UNPAIRED" if _is_server_call(part) else "SERVER_RESULT_ORPHAN"
            lost: Lost = "call" if _is_server_call(part) else "result"
            detail = msgspec.json.encode(part.raw if type(part) is Opaque else None).decode()
            work.note(code, at, "left out half of a server tool's pair", part=part, detail=detail, lost=lost)
        if gone:
            _without(work, at, gone)


def _is_server_call(part: Part) -> bool:
    return type(part) is Opaque and isinstance(part.raw, dict) and str(part.raw.get("type")).endswith("_tool_use")


def pictures(work: Work) -> None:
    """Where results hold words alone, their pictures follow the whole batch in a message of the user's."""
    if work.limits.images_in_results:
        return
    at = 0
    while at < len(work.messages):
        message = work.messages[at]
        if type(message) is ToolResult:
            at = _hoist(work, at)
            continue
        gone = [] if type(message) is User else [part for part in message.parts if type(part) is Image]
        for part in gone:
            work.note("IMAGE_ROLE", at, "left out a picture", part=part, lost="image")
        if gone:
            _without(work, at, gone)
        at += 1


def _hoist(work: Work, at: int) -> int:
    """Move the pictures of the batch of results that begins there behind it; the index behind all that."""
    moved: list[Part] = []
    while at < len(work.messages) and type(result := work.messages[at]) is ToolResult:
        media = [part for part in result.parts if type(part) is not Text]
        if media:
            work.note("IMAGE_ROLE", at, "moved what is no text behind the results", call=result.call_id)
            moved += [Text(f"From the result of {result.call_id}:"), *media]
            words = tuple(part for part in result.parts if type(part) is Text)
            work.replace(at, parts=words or (Text("(see below)"),))
        at += 1
    if moved:
        work.insert(at, User(tuple(moved)))
        at += 1
    return at


# Emptiness ------------------------------------------------------------------------------------


def blanks(work: Work) -> None:
    """Texts say something, and so does a result that is an error, where the target wants that."""
    if work.limits.blank_text:
        return
    for at, message in enumerate(work.messages):
        gone = [part for part in message.parts if type(part) is Text and not part.text.strip()]
        if type(message) is ToolResult:
            _say_something(work, at, message, gone)
        elif gone:
            for part in gone:
                code = "TEXT_BLANK" if type(part) is Text and part.text else "TEXT_EMPTY"
                work.note(code, at, "left out a blank text", part=part)
            _thaw(work, at, gone)
            _without(work, at, gone)


def _say_something(work: Work, at: int, result: ToolResult, gone: Sequence[Part]) -> None:
    listed = len(result.parts) > 1 or own(result.ext, work.format.name).get("content") == "list"
    if gone and listed:
        for _ in gone:
            work.note("TEXT_BLANK", at, "left out a blank text of a result", call=result.call_id)
        _without(work, at, gone)
        result = work.messages[at]  # type: ignore[assignment]
        if not result.parts:
            work.replace(at, ext=_without_shape(result, work.format.name))
    if result.error and not any(type(part) is not Text or part.text.strip() for part in result.parts):
        work.note("RESULT_EMPTY_ERROR", at, "said that the tool failed", call=result.call_id, detail=FAILED)
        work.replace(at, parts=(Text(FAILED),), ext=_without_shape(result, work.format.name))


def _thaw(work: Work, at: int, gone: Sequence[Part]) -> None:
    """Leave out reasoning between which a text goes."""
    parts = work.messages[at].parts
    thoughts = [index for index, part in enumerate(parts) if type(part) is Reasoning]
    left = {id(part) for part in gone}
    if thoughts and any(id(part) in left for part in parts[thoughts[0] : thoughts[-1]]):
        _leave_out_thinking(work, at)


def empties(work: Work) -> None:
    """No message is empty: an assistant's is left out, and one of the user's says that it held nothing."""
    keep = [True] * len(work.messages)
    for at, message in enumerate(work.messages):
        if shape := own(message.ext, work.format.name).get("content"):
            _shape(work, at, message, shape)
        if type(message) is Assistant and own(message.ext, work.format.name).get("tool_calls") == []:
            work.note("FIELD_UNKNOWN", at, "left out the empty list of calls")
            work.replace(at, ext=_without_key(message.ext, work.format.name, "tool_calls"))
        if _says_nothing(work, message):
            keep[at] = _fill(work, at, message, before=at > 0 and work.messages[at - 1])
    if not all(keep):
        work.keep(keep)


def _shape(work: Work, at: int, message: Message, shape: object) -> None:
    """Content that is null, or an empty list, where a text is wanted."""
    if message.parts and not (shape == "list" and all(type(part) is ToolCall for part in message.parts)):
        return
    if shape in ("null", "list") and work.limits.blank_text:
        code = "CONTENT_NULL" if shape == "null" else "TEXT_EMPTY"
        work.note(code, at, "wrote an empty text")
        work.replace(at, ext=_without_shape(message, work.format.name))


def _says_nothing(work: Work, message: Message) -> bool:
    if not work.limits.blank_text:
        return not message.parts and type(message) is not ToolResult
    if type(message) is not Assistant:
        return False
    kept = own(message.ext, work.format.name)
    if any(kept.get(key) for key in _SPEAKS) or (kept.get("content") == "list" and message.parts):
        return False
    return all(type(part) is Reasoning or (type(part) is Text and not part.text) for part in message.parts)


_SPEAKS = ("refusal", "audio", "function_call")


def _fill(work: Work, at: int, message: Message, *, before: Message | Literal[False]) -> bool:
    """Whether the empty message is kept: one of the user's is, unless it stands behind another."""
    if type(message) is User and not (before and type(before) in (User, ToolResult)):
        work.note("MESSAGE_EMPTY", at, "said that the message was empty", detail=NOTHING)
        work.replace(at, parts=(Text(NOTHING),))
        return True
    lost: Lost = "reasoning" if message.parts else "none"
    detail = "".join(part.text for part in message.parts if type(part) is Reasoning)
    work.note("MESSAGE_EMPTY", at, "left out the empty message", detail=detail, lost=lost)
    return False


def _without_shape(message: Message, format: str) -> dict[str, object] | None:
    return _without_key(message.ext, format, "content")


def _without_key(ext: dict[str, object] | None, format: str, key: str) -> dict[str, object] | None:
    kept = {name: value for name, value in own(ext, format).items() if name != key}
    rest = {name: value for name, value in (ext or {}).items() if name != format}
    return ({**rest, format: kept} if kept else rest) or None


# Order ----------------------------------------------------------------------------------------


def roles(work: Work) -> None:
    """System text stands where the target takes it, and the user speaks first where it wants that."""
    _developers(work)
    if work.limits.system == "apart":
        _systems(work)
    if not work.limits.first_user or not work.messages:
        return
    if type(work.messages[0]) is Assistant:
        work.note("FIRST_NOT_USER", 0, "put a message of the user's first", detail=CONTINUED)
        work.insert(0, User((Text(CONTINUED),)))


def _developers(work: Work) -> None:
    if work.limits.developer:
        return
    for at, message in enumerate(work.messages):
        if type(message) is System and own(message.ext, work.format.name).get("role") == "developer":
            work.note("SYSTEM_MISPLACED", at, "changed the role 'developer' to 'system'")
            work.replace(at, ext=_without_key(message.ext, work.format.name, "role"))


def _systems(work: Work) -> None:
    """Leading system text moves out of the messages; what cannot, becomes words of the user's."""
    leading = True
    keep = [True] * len(work.messages)
    for at, message in enumerate(work.messages):
        if type(message) is not System:
            leading = False
        elif leading and work.options.system_apart:
            if not work.options.strict:
                work.note("SYSTEM_MISPLACED", at, "moved the text to the request's 'system'")
            work.system.append(message)
            keep[at] = False
        elif leading or work.options.strict:
            work.note("SYSTEM_MISPLACED", at, "turned the system text into words of the user's")
            if leading:
                work.hints.append("system: pass the leading system text as the request's own 'system'")
            work.messages[at] = User((Text("[System message]"), *message.parts))
    if not all(keep):
        work.keep(keep)


def tail(work: Work) -> None:
    """The end is one from which the model can go on."""
    last = work.messages[-1] if work.messages else None
    if type(last) is not Assistant or (last.parts and type(last.parts[-1]) is ToolCall):
        return
    at = len(work.messages) - 1
    if not work.limits.prefill:
        work.note("LAST_ASSISTANT", at, "added a message of the user's", detail=GO_ON)
        work.insert(at + 1, User((Text(GO_ON),)))
        return
    part = last.parts[-1] if last.parts else None
    if work.limits.first_user and type(part) is Text and part.text != part.text.rstrip():
        work.note("TRAILING_WHITESPACE", at, "cut the white space at the end", part=part)
        work.replace(at, parts=(*last.parts[:-1], msgspec.structs.replace(part, text=part.text.rstrip())))


def names(work: Work) -> None:
    """Names of tools are of the form that the target takes; two names never become one."""
    fits = re.compile(work.limits.name_pattern).search
    known = dict.fromkeys(call.name for message in work.messages if type(message) is Assistant for call in message.calls)
    renamed: dict[str, str] = {}
    for name in [name for name in known if not fits(name)]:
        plain = re.sub("[^a-zA-Z0-9_-]", "_", name)[:64] or "unnamed"
        renamed[name] = plain if plain not in known else f"{plain[:55]}_{digest(name)[:8]}"
        known[renamed[name]] = None
    for at, message in enumerate(work.messages if renamed else ()):
        if type(message) is not Assistant or not any(call.name in renamed for call in message.calls):
            continue
        parts: list[Part] = []
        for part in message.parts:
            if type(part) is ToolCall and part.name in renamed:
                action = f"named the tool {renamed[part.name]!r}"
                work.note("NAME_PATTERN", at, action, part=part, call=part.id, detail=part.name)
                parts.append(msgspec.structs.replace(part, name=renamed[part.name]))
            else:
                parts.append(part)
        work.replace(at, parts=tuple(parts))
