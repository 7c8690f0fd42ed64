"""One healing: check, mend what was found, check again, until nothing is left or nothing helps."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache

from suture.errors import UnhealableHistory, UnknownFormat
from suture.formats import FORMATS, format_of
from suture.formats.base import Finding, Format, Json, Limits, Written, messages_of
from suture.healing.passes import run
from suture.healing.surrogates import is_sendable, without_surrogates
from suture.healing.work import Change, Healed, Options, Work
from suture.messages import System, Text

_INDEX = re.compile(r"messages\[(\d+)\]")

# Of these the passes say nothing, since writing the message anew is what mends them.
_LAYOUT = {
    "RESULT_NOT_FIRST": "moved the result before the other blocks",
    "RESULT_NOT_PURE": "moved the result out of the assistant's message",
    "RESULT_SPLIT": "moved the result to the others of its turn",
}


def healed(history: object, form: Format, limits: Limits, options: Options) -> Healed:
    """`heal` for a target whose limits are known, by somebody who may know why calls have no result."""
    request = request_of(history)
    changes: list[Change] = []
    if not is_sendable(request):
        request, changes = without_surrogates(request, form)
    healing = _Healing(request, form, limits, options._replace(system_apart=isinstance(history, dict)))
    found = healing.check()
    require_format(request["messages"], form, found)
    faults = left = _to_mend(found)
    # First the passes that the findings ask for; where their work made work for others, all of them.
    for codes in ({each.code for each in faults}, None, None):
        if not left:
            break
        healing.mend(left, codes)
        left = _to_mend(healing.check())
    if refused := [each for each in left if each.refused]:
        raise unhealable(refused)
    hints = list(dict.fromkeys([each.hint for each in found if each.hint] + healing.hints))
    if not (faults or changes):
        return Healed(history, [], hints)
    done = healing.request if isinstance(history, dict) else healing.request["messages"]
    return Healed(done, changes + healing.changes, hints)


def _to_mend(found: Sequence[Finding]) -> list[Finding]:
    return [each for each in found if each.severity == "REJ" and not each.hint]


class _Healing:
    """The request as it stands, where each of its messages was in the history that was given, and the report."""

    def __init__(self, request: Json, form: Format, limits: Limits, options: Options) -> None:
        self.request = request
        self.form = form
        self.limits = limits
        self.options = options
        self.homes: list[int | None] = list(range(len(request["messages"])))
        self.changes: list[Change] = []
        self.hints: list[str] = []

    def check(self) -> list[Finding]:
        return self.form.check(self.request, self.limits, open_tail=self.options.pending == "keep")

    def mend(self, found: Sequence[Finding], codes: Collection[str] | None) -> None:
        """Run the passes for those codes, and write what they made of the request."""
        raw = self.request["messages"]
        decoded = self.form.decode(raw, arguments=False)

        @cache
        def of_message(home: int) -> dict[int, list[str]]:
            return self.form.places(raw, decoded, home)

        def places(at: int) -> list[str]:
            return [self._at_home(path) for path in of_message(decoded.homes[at])[at]]

        work = Work(decoded.messages, self.form, self.limits, self.options, places, codes)
        run(work)
        moved = [self._moved(each) for each in found if each.code in _LAYOUT]
        written = self.form.rewrite(raw, decoded, Written(work.messages, work.sources))
        head, blank = _head(self.form.lift(self.request), work.system, self.form)
        request = {**self.request, "messages": written.messages}
        self.request, over = trimmed(request if head is None else _with_head(request, head), self.form)
        self.changes += [*work.changes, *moved, *blank, *over]
        self.hints += work.hints
        self.homes = [None if home is None else self.homes[home] for home in written.homes]

    def _moved(self, found: Finding) -> Change:
        path, action = self._at_home(found.path), _LAYOUT[found.code]
        return Change(code=found.code, rules=found.rules, path=path, call_id=found.call_id, action=action)

    def _at_home(self, path: str) -> str:
        """The path with the index that its message had at first."""
        found = _INDEX.match(path)
        if found is None or (home := self.homes[int(found[1])]) == int(found[1]):
            return path
        return "messages" if home is None else f"messages[{home}]{path[found.end() :]}"


def _head(lifted: Sequence[System], more: Sequence[System], form: Format) -> tuple[Json | None, list[Change]]:
    """The request's own system text, without blank texts and with what was found among the messages."""
    kept: list[System] = []
    changes: list[Change] = []
    for message in lifted:
        parts = tuple(part for part in message.parts if type(part) is not Text or part.text.strip())
        kept.append(System(parts, ext=message.ext))
        if len(parts) < len(message.parts):
            rules = (form.rule_of["TEXT_BLANK"],)
            changes.append(Change(code="TEXT_BLANK", rules=rules, path="system", action="left out a blank text"))
    return (form.head([*kept, *more]) if changes or more else None), changes


def _with_head(request: Json, head: Json) -> Json:
    return {**{key: value for key, value in request.items() if key != "system"}, **head}


def trimmed(request: Json, form: Format) -> tuple[Json, list[Change]]:
    """The request within the limits that count over all of it."""
    request, paths = form.trim(request)
    rules = (form.rule_of.get("CACHE_MARKS", ""),)
    action = "took the mark for the cache away"
    return request, [Change(code="CACHE_MARKS", rules=rules, path=path, action=action) for path in paths]


def unhealable(left: Sequence[Finding]) -> UnhealableHistory:
    """The error for what no pass could mend."""
    more = f" (and {len(left) - 1} more)" if len(left) > 1 else ""
    return UnhealableHistory(f"After healing, the history still breaks a rule: {left[0]}{more} Mend that by hand.", left)


# What was given -------------------------------------------------------------------------------


def request_of(history: object) -> Json:
    """The history as a request."""
    messages = messages_of(history)
    return history if isinstance(history, dict) else {"messages": messages}


def require_format(messages: Sequence[Json], form: Format, found: Sequence[Finding] | None = None) -> None:
    """Refuse a history that is in another format than was said, before anything is done to it.

    What only another format has is always found at its place, so with `found` only those places are looked at.
    """
    others = [format_of(name) for name in FORMATS if name != form.name]
    for index in range(len(messages)) if found is None else _indexes(found):
        message = messages[index]
        if "parts" in message and "content" not in message:
            raise UnknownFormat(
                f"messages[{index}] has 'parts', which is gemini's, which comes in a later version of suture."
            )
        for other in others:
            if (sign := other.sign(message)) and not form.sign(message):
                raise UnknownFormat(
                    f"messages[{index}] has {sign}, which is {other.name}'s and not {form.name}'s. "
                    f"Name the format that the history is in: format={other.name!r}."
                )


def _indexes(found: Sequence[Finding]) -> list[int]:
    """The messages that the findings are about, in order."""
    return sorted({int(match[1]) for each in found if (match := _INDEX.match(each.path))})
