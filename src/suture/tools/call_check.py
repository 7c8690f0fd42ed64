"""Whether a call that a model made may run as it is, as it can only have been meant, or not without asking again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from suture.arguments import Callee, Unreadable, is_small, kind_of, mend, plain, value_of, whole_copy
from suture.messages import ToolCall
from suture.tools.alternatives import Alternatives
from suture.tools.coercion import CallChange, coerced
from suture.tools.definition import Tool
from suture.tools.given import Checkable, by_name, call_of, listed_of
from suture.tools.naming import Unnamed, named
from suture.tools.nodes import flat, names_of
from suture.tools.spelling import Spellings
from suture.tools.stopping import cut_off
from suture.tools.words import bounded, unknown_name

Status: TypeAlias = Literal["valid", "fixed", "ask"]

# A parameter inside a value, as the markup of some templates has it: it was swallowed by the one before.
_SWALLOWED = re.compile(r"""<(?:\w+:)?parameter(?:\s+name\s*=\s*["']?|=)([\w.-]+)|<arg_key>\s*([\w.-]+)\s*</arg_key>""")

# The end of an element, and the next that begins.
_ENDED = re.compile(r"</([\w.-]+)>\s*<([\w.-]+)>")


class CallCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be said of a call.

    `status`: "valid", it may run as it is; "fixed", it may run as `call` has it, after `changes`; "ask", it may not run,
    and `reason` tells the model why, without repeating what it sent. `code` is a stable word for what was wrong first;
    blank when nothing was. `call` has its arguments as a dict, and is None when the model has to be asked.
    """

    status: Status
    call: ToolCall | None = None
    code: str = ""
    reason: str = ""
    changes: list[CallChange] = []


def check_call(
    call: ToolCall | Mapping[str, object],
    tools: Iterable[Checkable | Mapping[str, object]],
    stop_reason: str | None = None,
) -> CallCheck:
    """Whether a call may run: as it is, as it can only have been meant, or not without asking the model again.

    `call` is a `ToolCall`, or a dict of `id`, `name` and `arguments` (JSON text, a dict, or None). `tools` are tools, or
    dicts of `name` and `parameters` (a JSON schema; without one, any arguments fit). Chat Completions' `function` around
    either is looked into; what only other providers have is refused.

    `stop_reason` is why the model's turn ended, in any provider's word or as a member of its SDK's enum: a call of a turn
    that was cut off or withheld is never run. Syntax, the tool's name and its arguments are mended where only one
    thing can be meant, and checked again. Nothing is run, and nothing of the host's is asked.

    Raises:
        ConfigurationError: the call, a tool or the stop reason is none, or two tools have one name; says what is expected.
        InvalidSchema: the parameters of a tool are no JSON schema.
    """
    found = call if type(call) is ToolCall else call_of(call)
    listed = tools if type(tools) is list else listed_of(tools)
    if stop_reason is None and (plainly := _plainly(found, listed)):
        return plainly
    return checked(found, by_name(listed), stop_reason)


def checked(call: ToolCall, tools: Mapping[str, Checkable], stop_reason: str | None = None) -> CallCheck:
    """`check_call` for tools by name."""
    if early := cut_off(stop_reason):
        reason = f"The answer ended early ({early}), so this call may not be whole and was not run."
        return CallCheck(status="ask", code="truncated", reason=f"{reason} Make it again, in smaller parts.")
    found = meant(call, tools)
    if isinstance(found, NotMeant):
        return CallCheck(status="ask", code=found.code, reason=found.reason)
    if found.wrong:
        return CallCheck(status="ask", code="validation_error", reason=bounded(found.tool.name, found.wrong))
    if not found.changes:
        return CallCheck(status="valid", call=found.call)
    return CallCheck(status="fixed", call=found.call, code=found.changes[0].code, changes=found.changes)


def _plainly(call: ToolCall, tools: Sequence[object]) -> CallCheck | None:
    """The check of a call in which nothing is wrong at first sight, as most are."""
    if call.raw is None or call.arguments is not None or "<" in call.raw:
        return None
    named_so = [tool for tool in tools if isinstance(tool, Tool) and tool.name == call.name]
    arguments = plain(call.raw) if len(named_so) == 1 else None
    if type(arguments) is not dict or named_so[0].violations(arguments):
        return None
    fresh = ToolCall(call.id, call.name, arguments, None, None, call.item_id, call.signature, call.ext)
    return CallCheck(status="valid", call=fresh)


class Meant(NamedTuple):
    """What a call can only have meant: the tool, and the arguments as a dict of their own. `read` is the call before any
    value was changed; `wrong` is what does not fit all the same, one sentence each.
    """

    call: ToolCall
    read: ToolCall
    tool: Checkable
    changes: list[CallChange]
    wrong: list[str]


class NotMeant(Exception):
    """A call of which nobody can say what it means: a code, and the reason for the model."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def meant(call: ToolCall, tools: Mapping[str, Checkable]) -> Meant | NotMeant:
    """What a call can only have meant."""
    try:
        return _Reading(call, tools).run()
    except NotMeant as unclear:
        return unclear


class _Reading:
    """One call on its way through the steps: its name, the syntax of its arguments, their shape, their values."""

    def __init__(self, call: ToolCall, tools: Mapping[str, Checkable]) -> None:
        self.call = call
        self.tools = tools
        self.given: object = call.raw if call.arguments is None else call.arguments
        self.changes: list[CallChange] = []

    def run(self) -> Meant:
        tool = self._tool()
        arguments = self._object(tool, self._value(tool))
        read = msgspec.structs.replace(self.call, name=tool.name, arguments=arguments, raw=None, error=None)
        arguments, wrong = self._fitting(tool, arguments)
        return Meant(msgspec.structs.replace(read, arguments=arguments), read, tool, self.changes, wrong)

    def _tool(self) -> Checkable:
        found = named(self.call.name, self.tools)
        if isinstance(found, Unnamed):
            raise NotMeant(found.fault, _nameless(self.call.name, found, list(self.tools)))
        if found.slip is not None:
            self.changes.append(CallChange(code=found.slip, old=self.call.name, new=found.name))
        return self.tools[found.name]

    def _value(self, tool: Checkable) -> object:
        """What came as arguments, read; a text with slips as what it can only mean."""
        given = self.given
        if not isinstance(given, str):
            return given if given is not None else {}
        if not given.strip():
            self.changes += [CallChange(code="empty_arguments", old=given, new={})]
            return {}
        try:
            return value_of(given)
        except Unreadable as error:
            if error.error != "invalid_json":
                raise _unreadable(tool.name, error) from None
        return self._mended(tool, given)

    def _mended(self, tool: Checkable, text: str) -> object:
        try:
            value, slips = mend(text, Callee(tool.name, frozenset(_parameters_of(tool))))
        except Unreadable as error:
            raise _unreadable(tool.name, error) from None
        self.changes += [CallChange(code=slip, old=text, new=value) for slip in slips]
        return value

    def _object(self, tool: Checkable, value: object) -> dict[str, object]:
        """The one object that a value is or holds."""
        if isinstance(value, str):
            value = self._unwrapped(tool, value)
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and _is_for(tool, value[0]):
            self.changes.append(CallChange(code="list_for_object", old=value, new=value[0]))
            value = value[0]
        if value is None:
            self.changes.append(CallChange(code="empty_arguments", old=None, new={}))
            value = {}
        if not isinstance(value, dict):
            what = f"The arguments are {kind_of(value)}; send one JSON object."
            raise NotMeant("not_an_object", f"The arguments of {tool.name!r} cannot be read: {what} The call was not run.")
        if isinstance(self.given, str) and is_small(self.given):
            return value
        try:
            return whole_copy(value)
        except Unreadable as error:
            raise _unreadable(tool.name, error) from None

    def _unwrapped(self, tool: Checkable, text: str) -> object:
        """What a text inside the arguments' text holds, when that is JSON again; once."""
        if text.lstrip()[:1] not in ("{", "["):
            return text
        try:
            value = value_of(text)
        except Unreadable as error:
            if error.error != "invalid_json":
                raise _unreadable(tool.name, error) from None
            value = self._mended(tool, text)
        self.changes.append(CallChange(code="double_encoded", old=text, new=value))
        return value

    def _fitting(self, tool: Checkable, arguments: dict[str, object]) -> tuple[dict[str, object], list[str]]:
        """The arguments as the tool takes them, as far as they can only mean that, and what is still wrong."""
        if wrong := tool.violations(arguments):
            arguments, wrong = self._coerced(tool, arguments, wrong)
        if swallowed := _swallowed(arguments, _parameters_of(tool)):
            what = f"the text of a parameter holds the markup of another, {swallowed!r}; give each its own value"
            raise NotMeant("markup_leak", bounded(tool.name, [what]))
        return arguments, wrong

    def _coerced(
        self, tool: Checkable, arguments: dict[str, object], wrong: list[str]
    ) -> tuple[dict[str, object], list[str]]:
        fresh, changes, left = arguments, list[CallChange](), wrong
        schema = tool.alternatives if isinstance(tool, Tool) else Alternatives(tool.parameters)
        for exact in (False, True):
            try:
                fresh, changes = coerced(schema, arguments, exact=exact)
            except Unreadable as error:
                raise _unreadable(tool.name, error) from None
            if changes and not (left := tool.violations(fresh)):
                break
        if not changes:
            return arguments, wrong
        self.changes += changes
        return fresh, left


# Words ----------------------------------------------------------------------------------------


def _nameless(name: str, found: Unnamed, known: list[str]) -> str:
    match found.fault:
        case "name_missing":
            return f"The call names no tool; {unknown_name('tool', name, known)}. The call was not run."
        case "name_ambiguous":
            return f"The name could mean {' or '.join(map(repr, found.near))}; use the exact name. The call was not run."
        case "concatenated":
            both = " and ".join(map(repr, found.near))
            return f"Two calls run into each other, of {both}; make one call for each. None was run."
        case "name_overfull":
            return f"More than the name of a tool stands in it; call {found.near[0]!r} by that alone. The call was not run."
        case "unknown_tool":
            return unknown_name("tool", name, known) + ". The call was not run."


def _unreadable(name: str, error: Unreadable) -> NotMeant:
    return NotMeant(error.error, f"The arguments of {name!r} cannot be read: {error.reason} The call was not run.")


def _is_for(tool: Checkable, held: Mapping[str, object]) -> bool:
    """Whether the one object in a list is the arguments, and not an item of one of them."""
    known = Spellings(_parameters_of(tool))
    return not held or not _parameters_of(tool) or any(known.alike(key) for key in held)


def _parameters_of(tool: Checkable) -> list[str]:
    return names_of(flat([tool.parameters], tool.parameters))


def _swallowed(arguments: Mapping[str, object], parameters: Sequence[str]) -> str | None:
    """The parameter whose markup stands inside the text of another, and which is missing itself."""
    absent = [name for name in parameters if name not in arguments]
    stack = list(arguments.items()) if absent else []
    while stack:
        key, value = stack.pop()
        if isinstance(value, dict):
            stack.extend(value.items())
        elif isinstance(value, list):
            stack.extend((key, item) for item in value)
        elif isinstance(value, str) and "<" in value:
            named = (found[1] or found[2] for found in _SWALLOWED.finditer(value))
            ended = (found[2] for found in _ENDED.finditer(value) if found[1] == key)
            if name := next((name for name in (*named, *ended) if name in absent), None):
                return name
    return None
