"""What the items of a request refer to: reasoning and what it led to, ids and the provider's store, a chain of responses.

What refers to something is only a fault where that is known to be gone. Which model reads the request decides whether an
id without reasoning before it is suspicious (docs/decisions/020).
"""

from __future__ import annotations

import re

from suture.formats.base import Json
from suture.formats.limits import Limits
from suture.formats.openai_responses.findings import found
from suture.formats.openai_responses.items import PREFIXES, Place, is_reference, place_of
from suture.formats.rule import Finding
from suture.formats.wire import text_id

CHAIN_HINT = "previous_response_id: leave it out, or send only what is new since that response"

# Models by name, behind a vendor's: those that reason before they answer, and those that never do.
_REASONS = re.compile(r"(?:^|/)(?:o\d|gpt-5(?![\w.-]*-chat)|gpt-oss|codex|computer-use)")
_NEVER_REASONS = re.compile(r"(?:^|/)(?:gpt-3|gpt-4|chatgpt|gpt-5[\w.-]*-chat)")


class Links:
    """One reading of the links of a request."""

    def __init__(self, request: Json, limits: Limits) -> None:
        self.items: list[Json] = request["input"]
        self.goes_on = any(request.get(key) for key in limits.goes_on)
        self.is_partial = self.goes_on or any(map(is_reference, self.items))
        self.is_chained = bool(request.get("previous_response_id"))
        self.is_unstored = request.get("store") is False
        model = limits.model or text_id(request.get("model"))
        silent = isinstance(effort := request.get("reasoning"), dict) and effort.get("effort") == "none"
        self.reasons = bool(_REASONS.search(model)) and not silent
        self.never_reasons = silent or bool(_NEVER_REASONS.search(model))
        self.found: list[Finding] = []
        self.led: list[int] = []  # reasoning that has led to nothing yet
        self.reasoned = False  # since somebody spoke who is no model
        self.any_reasoning = False
        self.unled: list[int] = []  # messages with an id and no reasoning before them
        self.stored: int | None = None  # the last item that a chain of responses must have
        self.is_new = False  # an output came whose call is stored, so that all that follows is new
        self.called: set[object] = set()

    def add(self, index: int, place: Place, item: Json) -> None:
        """The next item."""
        if place == "reasoning":
            self._reasoning(index, item)
        elif place in ("said", "output"):
            self._lead_nowhere()
            self.reasoned = self.reasoned and place == "output"
        else:
            self.led = []
            if place == "kept":
                self._kept(index, item)
            elif not self.reasoned and "id" in item and not self.goes_on and not self.never_reasons:
                self._without_reasoning(index, item)
        if self.is_chained and not self.is_new:
            self._chained(index, place, item)

    def _chained(self, index: int, place: Place, item: Json) -> None:
        id = item.get("call_id")
        if place == "output" and id not in self.called:
            self.is_new = True
            return
        if place == "call":
            self.called.add(id)
        if _is_stored(place, item):
            self.stored = index

    def _reasoning(self, index: int, item: Json) -> None:
        self.led.append(index)
        self.reasoned = self.any_reasoning = True
        if self.is_unstored and item.get("id") is not None and not item.get("encrypted_content"):
            self._unresolvable(
                index, item, "The reasoning is not in the request, and the request says that none is stored."
            )

    def _kept(self, index: int, item: Json) -> None:
        if is_reference(item):
            self.reasoned = True
            if self.is_unstored:
                self._unresolvable(index, item, "The item refers to one that is stored, and the request says that none is.")

    def _unresolvable(self, index: int, item: Json, sentence: str) -> None:
        self.found.append(found("ITEM_ID_UNRESOLVABLE", f"input[{index}]", sentence, i=index, id=text_id(item.get("id"))))

    def _without_reasoning(self, index: int, item: Json) -> None:
        """A call's id refers to the reasoning that led to it; a message's does where the model is known to reason."""
        kind = item.get("type") or "message"
        if not (kind in PREFIXES and text_id(item["id"]).startswith(PREFIXES[kind] + "_")):
            return
        if kind == "message":
            self.unled.append(index)
        else:
            self._missing(index, item, kind, "RSP-CALL-REASON")

    def _missing(self, index: int, item: Json, kind: str, rule: str) -> None:
        sentence = f"The {kind} is sent with the id {item['id']!r} of its item, and no reasoning stands before it."
        path, call = f"input[{index}].id", text_id(item.get("call_id"))
        each = found("REASONING_MISSING", path, sentence, call, rule=rule, i=index, id=item["id"], type=kind)
        self.found.append(each)

    def _lead_nowhere(self) -> None:
        for index in self.led:
            id = text_id(self.items[index].get("id"))
            sentence = "Nothing of the model's follows the reasoning."
            self.found.append(found("REASONING_DANGLING", f"input[{index}]", sentence, i=index, id=id))
        self.led = []

    def finish(self) -> list[Finding]:
        """What refers to nothing."""
        self._lead_nowhere()
        if self.reasons or self.any_reasoning:
            for index in self.unled:
                self._missing(index, self.items[index], "message", "RSP-MSG-REASON")
        if self.stored is not None:
            self.found.append(self._chain(self.stored))
        return self.found

    def _chain(self, last: int) -> Finding:
        """The request goes on behind a stored response, and repeats what is stored."""
        sentence = "The request goes on behind 'previous_response_id', and repeats what that response has."
        new = self.items[last + 1 :]
        is_clear = self.is_new or (bool(new) and all(place_of(item) in ("said", "output") for item in new))
        hint = None if is_clear else CHAIN_HINT
        id = text_id(self.items[last].get("id")) or text_id(self.items[last].get("call_id"))
        return found("CHAIN_CONFLICT", "previous_response_id", sentence, hint=hint, id=id)


def _is_stored(place: Place, item: Json) -> bool:
    """Whether a response made the item; a message without an id may be the caller's."""
    return place in ("reasoning", "call") or (place == "message" and bool(item.get("id")))
