"""The words of the log: entries, the drafts that become entries, and the body of each kind.

A body stays raw bytes until its kind is asked for. A decoded body is never written back over the
original, so what a newer version wrote survives whoever reads it.

Marks are short clear words by which a store knows what waits, without reading bodies:

    run:<run>          a run is on                        until it ends, or the next one takes over
    approval:<key>     a call waits for a person          until the first decision, or an answer
    expires:<key>:<at> that request is over at that time  until the first decision, or an answer
    decided:<key>      a decision waits for a runner      until that call's answer
    started:<key>      a call that must not be repeated   until its answer or a settlement
    settled:<key>      a settlement waits for a runner    until the next turn, or that call's answer
    inbox:<id>         a message waits for delivery       until it is delivered
    boundary:<seq>     the log before it is summarised    until the next compaction

A call is named by its key, `<assistant's seq>:<index>`; a wire id may come back, a key never does.
"""

from __future__ import annotations

import hashlib
import re
from typing import ClassVar, Literal, TypeAlias

import msgspec

from suture.canonical import MAX_DEPTH, digest
from suture.errors import Corrupt, InvalidEdit, NotJson
from suture.messages import Assistant, Message, Part, ToolCall, ToolResult, Usage, User, encode, with_known_parts

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
_NESTING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[][{}]', re.DOTALL)
_NUMBER = re.compile("0|[1-9][0-9]{0,17}")

Corrector: TypeAlias = Literal["rule", "model", "host"]
Effect: TypeAlias = Literal["read", "idempotent", "external"]
Settled: TypeAlias = Literal["completed", "failed", "released"]
ChildEnd: TypeAlias = Literal["done", "stopped", "failed"]
MarkKind: TypeAlias = Literal["run", "approval", "decided", "started", "settled", "inbox", "boundary", "expires"]


# How many bytes a body may hold: more than any provider takes in a request.
MAX_BODY = 64 * 1024 * 1024


class Draft(msgspec.Struct, frozen=True, gc=False):
    """What a writer wants appended. The writer makes `id`, so an append of unknown outcome can be looked for."""

    id: str
    kind: str
    at: str
    body: bytes
    opens: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()

    @property
    def body_hash(self) -> bytes:
        """The hash by which the chain holds the body."""
        return hashlib.sha256(self.body).digest()

    def at_seq(self, seq: int, epoch: int = 0) -> Entry:
        """The entry that it becomes at that seq, as its writer knows it: without a chain value."""
        return Entry(seq, self.id, self.kind, self.at, self.body, epoch, self.opens, self.closes)


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One position of a log.

    `seq` starts at 1 and has no gaps; `at` is UTC, ISO 8601; `epoch` is the claim under which a runner wrote
    it, 0 for everybody else; `chain` binds it to all before it and is blank on entries not read from a store.
    `erased` is the hash of a body that was erased, `sealed` that of a body which is kept in another form than this
    one, such as encrypted; both are blank on every other entry.
    """

    seq: int
    id: str
    kind: str
    at: str
    body: bytes
    epoch: int = 0
    opens: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()
    chain: bytes = b""
    erased: bytes = b""
    sealed: bytes = b""

    @property
    def body_hash(self) -> bytes:
        """The hash by which the chain holds the body."""
        return self.erased or self.sealed or hashlib.sha256(self.body).digest()

    @property
    def data(self) -> object:
        """The body as plain JSON values, unknown fields included."""
        return plain(self.body)

    @property
    def is_lost(self) -> bool:
        """Whether it stands for entries that a store does not hold any more: the last one, and all before it that lack."""
        return not self.kind and not self.id


def lost(seq: int) -> Entry:
    """What stands in a log for entries up to that position which its store has lost."""
    return Entry(seq, "", "", "", b"")


# Bodies ---------------------------------------------------------------------------------------


class _Body(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    levels: ClassVar[int] = MAX_DEPTH  # how deep its JSON may be nested: whoever looks into it takes a step per level


class MessageBody(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `message`. `seen`: the last seq of an assistant's request. `key`: the call that a result answers.
    `inbox`: the id of the inbox entry that this delivers; one append is delivery and consumption. `restated`: a reset
    begins with it, so that what it cost is no cost of this session.
    """

    message: Message
    seen: int | None = None
    key: str | None = None
    inbox: str | None = None
    restated: bool = False


class ToolStarted(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `tool_started`: written directly before a handler starts. `expires` is how many seconds after `at`
    the attempt can still be running at the latest; None where nothing bounds it.
    """

    key: str
    effect: Effect
    attempt: int
    idempotency_key: str
    owner: str = ""
    expires: float | None = None


class ApprovalRequest(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `approval_request`: the exact call that would run, and all that is needed to show and check it. `expires` is the
    time behind which no decision counts any more.
    """

    key: str
    call: ToolCall
    digest: str
    effect: Effect
    description: str = ""
    parameters: dict[str, object] | None = None
    provenance: str | None = None
    expires: str | None = None


class ApprovalDecision(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `approval_decision`: good only for the request, key and digest that it names. `call` is the call as
    the reviewer edited it, `edited` the digest of that.
    """

    request: int
    key: str
    digest: str
    approved: bool
    note: str | None = None
    by: str | None = None
    call: ToolCall | None = None
    edited: str | None = None


class Correction(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `correction`: what was made of a call that could not run as the model made it. `text` is the arguments as the
    model sent them, under the `name` that it gave; `call` is the call that may run, None when asking the model brought
    none; `reason` says what was wrong. `usage` is what asking cost.
    """

    key: str
    name: str
    text: str
    call: ToolCall | None
    by: Corrector
    reason: str = ""
    usage: Usage | None = None


class Steer(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `steer`: a user message for the running or the next run."""

    id: str
    message: User


class Interrupt(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `interrupt`: stop the run that is on."""

    reason: str | None = None
    by: str | None = None


class Fork(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `fork`, the first of a session's own entries: up to position `at` its log is that of `parent`, where the chain
    value (in hex) at that position is `chain`. `compaction` is the position of the compaction in force there.

    What was open there is closed: neither authority nor pending work goes over.
    """

    parent: str
    at: int
    chain: str
    compaction: int | None = None


class Settlement(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `settlement`: what became of a call that had started. `released`: known not to have happened."""

    key: str
    outcome: Settled
    content: tuple[Part, ...] = ()
    by: str | None = None


class Linked(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `child`, in the parent's log: a session works for this one under that name."""

    name: str
    session_id: str


class ChildStarted(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `child_started`, in the child's log: it has begun to work."""


class ChildResult(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `child_result`, in the child's log: how its work ended. The last one counts."""

    status: ChildEnd
    report: str | None = None
    error: str | None = None


class ChildReport(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `child_report`, in the parent's log: what a child has to say, as a message that waits under `id`."""

    id: str
    name: str
    session_id: str
    status: str
    message: User
    report: str | None = None


class CarriedCall(_Body, frozen=True, gc=False, omit_defaults=True):
    """What a log knows of the call in that slot of its turn: each field as `replay.Call` has it, with where it stands.
    `answer` stands in for a result, since a real one closes a call; `added` says that an edit made the call.
    """

    slot: int
    answer: tuple[int, ToolResult] | None = None
    correction: Correction | None = None
    request: tuple[int, str, ApprovalRequest] | None = None
    decision: tuple[int, ApprovalDecision] | None = None
    attempt: tuple[int, str, int, ToolStarted] | None = None
    released: bool = False
    refused: str | None = None
    reason: str | None = None
    added: bool = False


class CarriedTurn(_Body, frozen=True, gc=False, omit_defaults=True):
    """An assistant message, and those of its calls that no real result has answered. `names` are the ids of all its calls
    in requests, in order, and `slots` their indexes: 0, 1, 2 and so on, unless an edit moved them. `size` is how many
    indexes were given, where that is more.
    """

    seq: int
    message: Assistant
    by_loop: bool
    names: tuple[str, ...]
    calls: tuple[CarriedCall, ...]
    slots: tuple[int, ...] = ()
    size: int = 0


class Carried(_Body, frozen=True, gc=False, omit_defaults=True):
    """What a fold knew at a position, the conversation aside: with it, and what follows, a log is folded from there.

    `last` is the last assistant message with its seq, `behind` the seqs of the messages that followed it, `steps` how many
    there were since the last user message, whose id is `turn`; `strays` are results without a call, `inbox` the messages
    that wait; `linked` and `reported` are the children, by session id; `marks` the open ones; `begun` is the seq of the
    last reset, `gap` that of the last entry which is gone and may have been an answer.
    """

    run: str | None = None
    interrupt: Interrupt | None = None
    last_status: str | None = None
    turn: str | None = None
    steps: int = 0
    usage: Usage = Usage()
    last: tuple[int, Assistant] | None = None
    behind: tuple[int, ...] = ()
    turns: tuple[CarriedTurn, ...] = ()
    strays: tuple[tuple[int, ToolResult], ...] = ()
    inbox: dict[str, tuple[int, User]] = {}
    linked: dict[str, str] = {}
    reported: dict[str, ChildReport] = {}
    began: bool = False
    result: ChildResult | None = None
    marks: dict[str, int] = {}
    begun: int = 0
    gap: int = 0


class Compacted(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `compaction`: `summary` stands for all before the seq `first_kept`. `carried` is what the fold knew directly
    before that, without messages; tokens are estimates of the context, `usage` what the summary cost.
    """

    levels: ClassVar[int] = MAX_DEPTH + 8  # what other bodies hold stands in `carried`, some levels deeper

    summary: str
    first_kept: int
    carried: Carried | None = None
    tokens_before: int = 0
    tokens_after: int = 0
    usage: Usage | None = None


class Edit(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `edit`: the message at seq `target` holds other values from here on; `changes` are its fields, as JSON."""

    target: int
    changes: dict[str, object]


class Removal(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `removal`: the messages at these seqs leave the conversation, with all results of their calls."""

    targets: tuple[int, ...]


class Reset(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `reset`: the conversation begins anew behind it; what was open is withdrawn. It says so without its body."""


class Retry(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `retry`: an attempt of the model's failed, the first being 1, and is made again after `delay` seconds.

    `usage` is what the attempt cost, where it is known.
    """

    attempt: int
    error: str
    delay: float
    usage: Usage | None = None


class RunStarted(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `run_started`."""

    run: str


class RunFinished(_Body, frozen=True, gc=False, omit_defaults=True):
    """kind `run_finished`. `usage` is of the whole run; `unanswered` is the part of it that no other entry holds: what
    the last attempt cost when it brought no answer.
    """

    run: str
    status: str
    usage: Usage | None = None
    error: str | None = None
    unanswered: Usage | None = None


Body: TypeAlias = (
    MessageBody
    | ToolStarted
    | ApprovalRequest
    | ApprovalDecision
    | Correction
    | Steer
    | Interrupt
    | Settlement
    | Compacted
    | Linked
    | ChildStarted
    | ChildResult
    | ChildReport
    | Edit
    | Removal
    | Reset
    | Fork
    | Retry
    | RunStarted
    | RunFinished
)

KINDS: dict[str, type[Body]] = {
    "message": MessageBody,
    "tool_started": ToolStarted,
    "approval_request": ApprovalRequest,
    "approval_decision": ApprovalDecision,
    "correction": Correction,
    "steer": Steer,
    "interrupt": Interrupt,
    "settlement": Settlement,
    "compaction": Compacted,
    "child": Linked,
    "child_started": ChildStarted,
    "child_result": ChildResult,
    "child_report": ChildReport,
    "edit": Edit,
    "removal": Removal,
    "reset": Reset,
    "fork": Fork,
    "retry": Retry,
    "run_started": RunStarted,
    "run_finished": RunFinished,
}

_KIND_OF = {body: kind for kind, body in KINDS.items()}
_DECODERS = {kind: msgspec.json.Decoder(body) for kind, body in KINDS.items()}


# A body, the marks that it opens, and those that it closes.
Wanted: TypeAlias = tuple[Body, tuple[str, ...], tuple[str, ...]]


def draft(id: str, at: str, body: Body, opens: tuple[str, ...] = (), closes: tuple[str, ...] = ()) -> Draft:
    """A draft of one of suture's own kinds, which is read again as it was given.

    Raises:
        NotJson: something in it is no JSON, or nested too deep to be read again.
        InvalidEdit: something in it is of another type than its field, so that nobody could read it again.
    """
    kind = _KIND_OF[type(body)]
    try:
        encoded = encode(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise NotJson(f"This {kind} cannot be written down: {error}.") from error
    if _is_deeper(encoded, body.levels):
        raise NotJson(
            f"This {kind} is nested deeper than {body.levels} levels, and was not written down. Flatten what it holds."
        )
    try:
        _decoded(kind, encoded)
    except Corrupt as error:
        # A frozen struct checks no types, and an entry that cannot be read counts for nothing: it would be lost in silence.
        raise InvalidEdit(f"This {kind} could not be read again, and was not written down: {error.__cause__}.") from error
    return Draft(id, kind, at, encoded, opens, closes)


def read(entry: Entry) -> Body | None:
    """The entry's body; None when its kind is not one of suture's own.

    Raises:
        Corrupt: the kind is known and the body does not fit it.
    """
    kind = entry.kind
    if kind not in KINDS:
        return None
    if _is_deeper(entry.body, levels := KINDS[kind].levels):
        raise Corrupt(f"entry {entry.seq}: this {kind} is nested deeper than {levels} levels.")
    try:
        return _decoded(kind, entry.body)
    except Corrupt as error:
        raise Corrupt(f"entry {entry.seq}: {error}") from error.__cause__


def _decoded(kind: str, body: bytes) -> Body:
    """The body of a known kind; parts of kinds that are not known are kept as `Opaque`.

    Raises:
        Corrupt: it does not fit the kind; the cause says where.
    """
    try:
        return _DECODERS[kind].decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        first = error
    value = plain(body)
    if isinstance(value, dict) and "message" in value:
        value = {**value, "message": with_known_parts(value["message"])}
    try:
        return msgspec.convert(value, KINDS[kind])
    except (msgspec.ValidationError, RecursionError):
        raise Corrupt(f"no {kind} of this version: {first}") from first


def _is_deeper(body: bytes, levels: int) -> bool:
    """Whether JSON is nested deeper than that. A bracket in a text is none, so texts are looked at where there are many."""
    # A level has two brackets, so a short body has too few; nor has one with few of them.
    if len(body) <= 2 * levels or body.count(b"{") + body.count(b"[") <= levels:
        return False
    depth = 0
    for found in _NESTING.finditer(body):
        match found[0][:1]:
            case b"{" | b"[":
                depth += 1
                if depth > levels:
                    return True
            case b"}" | b"]":
                depth -= 1
            case _:
                pass  # a text
    return False


def plain(body: bytes) -> object:
    """JSON bytes as plain values; None when they are no JSON."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


# Marks ----------------------------------------------------------------------------------------


def call_key(seq: int, index: int) -> str:
    """The name of the call at that index of the assistant message at that seq."""
    return f"{seq}:{index}"


def position_of(key: str) -> tuple[int, int] | None:
    """The seq and index of a call key; None when the text is no key."""
    seq, _, index = key.partition(":")
    found = number_of(seq), number_of(index)
    return None if found[0] is None or found[1] is None else (found[0], found[1])


def number_of(text: str) -> int | None:
    """The seq or index that the text is, as suture writes it; None for any other text, whoever wrote it."""
    return int(text) if _NUMBER.fullmatch(text) else None


def is_repeatable(effect: Effect) -> bool:
    """Whether a call of that effect may run again after an attempt whose outcome nobody knows."""
    return effect != "external"


def is_time(text: str) -> bool:
    """Whether the text is a time as suture writes it: UTC, ISO 8601 to the millisecond. Those sort as texts."""
    return _TIME.fullmatch(text) is not None


def is_over(expires: str | None, at: str) -> bool:
    """Whether what expires then is over at that time. Where a time cannot be read, it is."""
    return expires is not None and not (is_time(expires) and is_time(at) and at <= expires)


def call_digest(call: ToolCall) -> str:
    """What a decision binds to: the call's wire id, name and arguments."""
    return digest({"id": call.id, "name": call.name, "arguments": call.arguments, "raw": call.raw})


def mark(kind: MarkKind, name: str) -> str:
    """The mark of that kind for a run, a call key, an inbox id or a seq."""
    return f"{kind}:{name}"


def split_mark(mark: str) -> tuple[str, str]:
    """The kind of a mark, and what it is for, blank for a text that is no mark of ours."""
    kind, _, name = mark.partition(":")
    return kind, name


def request_marks(key: str, expires: str | None) -> tuple[str, ...]:
    """The marks that a request for approval opens, and a decision closes."""
    return (mark("approval", key), *((mark("expires", f"{key}:{expires}"),) if expires is not None else ()))


def call_marks(key: str, expires: str | None = None) -> tuple[str, ...]:
    """All marks that the answer to a call closes, whose request for approval is over then."""
    return *request_marks(key, expires), mark("decided", key), mark("started", key), mark("settled", key)


def expiry_of(name: str) -> tuple[str, str]:
    """The call key and the time in the name of an `expires` mark."""
    seq, _, rest = name.partition(":")
    index, _, at = rest.partition(":")
    return f"{seq}:{index}", at
