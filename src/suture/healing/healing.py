"""One healing: check, mend what was found, check again, until nothing is left or nothing helps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache

import msgspec

from suture.errors import UnhealableHistory
from suture.formats.base import Format, Json, Settled, Written
from suture.formats.limits import Limits
from suture.formats.rule import Finding
from suture.formats.wire import index_in, moved
from suture.healing.faults import by_thing, is_partial
from suture.healing.given import Given, checked
from suture.healing.offers import with_missing
from suture.healing.passes import run
from suture.healing.surrogates import is_sendable, without_surrogates
from suture.healing.work import Change, Healed, Options, Work, rules_of
from suture.messages import System, Text

# A format that settles a request may join a message with the one before.
JOINED = "ROLE_REPEAT"

NOTHING_LEFT = "{key}: nothing is left to send; the changes hold what there was"

# Of these the passes say nothing, since writing the message anew is what mends them.
_LAYOUT = {
    "RESULT_NOT_FIRST": "moved the result before the other blocks",
    "RESULT_NOT_PURE": "moved the result into a message of its own",
    "RESULT_SPLIT": "moved the result to the others of its turn",
    "ROLE_UNKNOWN": "gave the message the role that it has in this format",
    "CALL_MISPLACED": "moved the call into a message of the assistant's",
    "IMAGE_BESIDE": "moved the picture into the result that it stood beside",
    "ID_BLANK": "left out the blank id",
    "PART_SHAPE": "wrote the part as one that holds one thing",
    "SIGNATURE_PLACE": "moved the signature to the part that it belongs to",
    "BLOCK_SHAPE": "wrote the blocks with one member each",
    "RESULT_SHAPE": "wrote the result in a shape that results have in this format",
    "ROLE_REPEAT": "joined the message with the one before",
}


def healed(history: object, form: Format, limits: Limits, options: Options) -> Healed:
    """`heal` for a target whose limits are known, by somebody who may know why calls have no result."""
    is_request = isinstance(history, dict)
    options = options._replace(system_apart=is_request)
    given, found = checked(history, form, limits, open_tail=options.pending == "keep")
    healing = Healing(given, form, limits, options)
    now, faults = found, _to_mend(found, limits)
    left = faults
    # First the passes that the findings ask for; where their work made work for others, all of them.
    for codes in ({each.code for each in faults}, None, None):
        if not left:
            break
        healing.mend(left, codes)
        now = healing.check()
        left = _to_mend(now, limits)
    if refused := [each for each in left if each.refused]:
        raise unhealable(refused)
    hints = list(dict.fromkeys([each.hint for each in found if each.hint] + healing.hints))
    waiting = [each for each in now if each.refused]
    if not (faults or healing.given.changes):
        return Healed(history, [], hints, form.name, waiting)
    done = healing.request if is_request else healing.request[form.key]
    if not healing.request[form.key] and any(each.code == "MESSAGE_EMPTY" for each in now):
        hints.append(NOTHING_LEFT.format(key=form.key))
    return Healed(done, [*healing.given.changes, *healing.changes], hints, form.name, waiting)


def requested(work: Work, request: Json) -> Healed:
    """A request of our own, valid by every rule whatever the messages are: all passes run, and what they made is written
    beside what of the request is there.

    Raises:
        UnhealableHistory: something is left that the provider would refuse.
    """
    form, limits = work.format, work.limits
    run(work)
    request, more = _fitted(work, request)
    if not is_sendable(request, form):
        request, scrubbed = without_surrogates(request, form)
        more = [*more, *scrubbed]
    if refused := [each for each in form.check(request, limits, open_tail=False) if each.refused and not each.hint]:
        raise unhealable(refused)
    return Healed(request, [*work.changes, *more], list(dict.fromkeys(work.hints)))


def _fitted(work: Work, request: Json) -> tuple[Json, list[Change]]:
    """The request whose messages and head the work made, within every rule, and what that changed beside the work."""
    form, limits = work.format, work.limits
    request = {**request, **form.head(work.system), form.key: form.encode(work.messages)}
    if work.renamed:
        request = form.renamed(request, work.renamed)
    return settled(*with_missing(request, form, limits, work.messages), form, limits)


def settled(request: Json, before: list[Change], form: Format, limits: Limits) -> tuple[Json, list[Change]]:
    """The request within the rules that are not about its history alone."""
    request, done = form.settle(request, limits)
    return request, [*before, *[_as_change(each, form, limits) for each in done]]


def unhealable(left: Sequence[Finding]) -> UnhealableHistory:
    """The error for what no pass could mend."""
    more = f" (and {len(left) - 1} more)" if len(left) > 1 else ""
    return UnhealableHistory(f"After healing, the history still breaks a rule: {left[0]}{more} Mend that by hand.", left)


def _as_change(done: Settled, form: Format, limits: Limits) -> Change:
    rules = rules_of(done.code, form, limits, done.case)
    return Change(code=done.code, rules=rules, path=done.path, action=done.action, detail=done.detail, lost=done.lost)


def _to_mend(found: Sequence[Finding], limits: Limits) -> list[Finding]:
    """What is refused; and the order of results, where a target would give one call the result of another."""
    return [
        each
        for each in found
        if (each.severity == "REJ" or (each.code == "RESULT_ORDER" and limits.results_ordered)) and not each.hint
    ]


class Healing:
    """The request as it stands, where each of its messages was in the history that was given, and the report."""

    def __init__(self, given: Given, form: Format, limits: Limits, options: Options) -> None:
        self.given = given
        self.request = given.request
        self.form = form
        self.limits = limits
        self.options = options
        self._move(list(given.homes))
        self.changes: list[Change] = []
        self.hints: list[str] = []

    def check(self) -> list[Finding]:
        """What is wrong with the request as it stands."""
        return self.form.check(self.request, self.limits, open_tail=self.options.pending == "keep")

    def mend(self, found: Sequence[Finding], codes: Collection[str] | None) -> None:
        """Run the passes for those codes, and write what they made of the request."""
        form, raw = self.form, self.request[self.form.key]
        decoded = form.decode(raw, arguments=False)

        @cache
        def of_message(home: int) -> dict[int, list[str]]:
            return form.places(raw, decoded, home)

        def places(at: int) -> list[str]:
            return [self.at_home(path) for path in of_message(decoded.homes[at])[at]]

        offered = [offer.name for offer in form.offers(self.request)]
        options = self.options._replace(orphans="keep") if is_partial(self.request, form, self.limits) else self.options
        faults = by_thing(found, decoded, form) if self.limits.item_ids else {}
        work = Work(decoded.messages, form, self.limits, options, places, codes, offered, faults)
        work.found = frozenset(each.code for each in found)
        run(work)
        written = form.rewrite(raw, decoded, Written(work.messages, work.sources))
        moved = self._by_layout(found, work, written.homes)
        request, more = self._around({**self.request, form.key: written.messages}, work)
        self.request, over = settled(request, more, form, self.limits)
        self._move([None if home is None else self.homes[home] for home in written.homes])
        self.changes += [*work.changes, *moved, *[self._home(each) for each in over]]
        self.hints += work.hints
        joined = {index_in(each.path, form.key) for each in over if each.code == JOINED}
        self._move([home for index, home in enumerate(self.homes) if index not in joined])

    def _around(self, request: Json, work: Work) -> tuple[Json, list[Change]]:
        """The request with its system text and its tools as the messages need them."""
        head, blank = _head(self.form.lift(self.request), work.system, self.form, self.limits)
        if head is not None:
            request = {**{key: value for key, value in request.items() if key not in self.form.head_keys}, **head}
        if work.renamed:
            request = self.form.renamed(request, work.renamed)
        request, added = with_missing(request, self.form, self.limits, work.messages)
        return request, [*blank, *added]

    def _by_layout(self, found: Sequence[Finding], work: Work, homes: Sequence[int | None]) -> list[Change]:
        """What writing the messages mended and no pass spoke of; one that stood beside its like is joined if it is gone."""
        noted = {(each.code, each.path) for each in work.changes}
        kept = set(homes)

        def is_gone(each: Finding) -> bool:
            return each.code != "ROLE_REPEAT" or index_in(each.path, self.form.key) not in kept

        return [
            self._moved(each)
            for each in found
            if each.code in _LAYOUT and (each.code, self.at_home(each.path)) not in noted and is_gone(each)
        ]

    def _moved(self, found: Finding) -> Change:
        path, action = self.at_home(found.path), _LAYOUT[found.code]
        return Change(code=found.code, rules=found.rules, path=path, call_id=found.call_id, action=action)

    def _home(self, change: Change) -> Change:
        """What was done to the request as it is written, at the place that it had."""
        path = self.at_home(change.path)
        return change if path == change.path else msgspec.structs.replace(change, path=path)

    def _move(self, homes: list[int | None]) -> None:
        """Where each message of the request was at first; while all are where they were, paths are what they are."""
        self.homes = homes
        self._in_place = homes == list(range(len(homes)))

    def at_home(self, path: str) -> str:
        """The path with the index that its message had at first."""
        if self._in_place:
            return path
        index = index_in(path, self.form.key)
        return path if index is None or self.homes[index] == index else moved(path, self.form.key, self.homes[index])


def _head(
    lifted: Sequence[System], more: Sequence[System], form: Format, limits: Limits
) -> tuple[Json | None, list[Change]]:
    """The request's own system text, without blank texts and with what was found among the messages."""
    kept: list[System] = []
    changes: list[Change] = []
    for message in lifted if form.head_keys and not limits.blank_text else ():
        parts = tuple(part for part in message.parts if type(part) is not Text or part.text.strip())
        kept.append(System(parts, ext=message.ext))
        if len(parts) < len(message.parts):
            action, path = "left out a blank text", form.head_keys[0]
            rules = rules_of("TEXT_BLANK", form, limits)
            changes.append(Change(code="TEXT_BLANK", rules=rules, path=path, action=action))
    return (form.head([*(kept or lifted), *more]) if changes or more else None), changes
