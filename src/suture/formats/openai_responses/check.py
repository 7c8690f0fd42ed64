"""The check of a request against what OpenAI's Responses demand.

It reads the raw JSON once, in order, and makes nothing while nothing is wrong. Items of the model's in a row are one
turn; outputs stand directly behind it, and what the model says behind a call begins the next.
"""

from __future__ import annotations

import re
from typing import Any

from suture.errors import HistoryError
from suture.formats.base import Json
from suture.formats.chat.objects import is_object_text
from suture.formats.handoff import HANDOFF
from suture.formats.limits import Limits
from suture.formats.media import sentence as flaw_sentence
from suture.formats.openai_responses import findings
from suture.formats.openai_responses.findings import found, is_item_id
from suture.formats.openai_responses.items import (
    FIELDS,
    PREFIXES,
    is_reference,
    is_token,
    place_of,
    plain_id,
    takes,
    unpacked,
)
from suture.formats.openai_responses.items import call_id as id_of
from suture.formats.openai_responses.links import Links
from suture.formats.openai_responses.media import MEDIA, flaw_of
from suture.formats.openai_responses.parts import WORDS
from suture.formats.pairs import Pairs, Stray
from suture.formats.rule import Finding, by_place, finding
from suture.formats.wire import has_words, is_content, kind_of, not_a_list, not_an_object, not_content, shape_sentence

# Who copies the API; of these it is known that they refuse the `status` of an item that they sent themselves.
COPIES = frozenset(("compatible", "vllm", "llamacpp", "ollama", "lmstudio", "openrouter", "xai", "groq"))

_WORDS = ("input_text", "output_text", "text")
ROLES = frozenset(("user", "system", "developer"))
_SAYS = {"output_text": "text", "input_text": "text", "text": "text", "refusal": "refusal"}
_LISTED = ("shell_call_output",)


def check(request: Json, limits: Limits, *, open_tail: bool = False) -> list[Finding]:
    """Every rule that the request breaks, by place. `open_tail`: calls of the last turn may be unanswered."""
    return _Check(request, limits).run(open_tail=open_tail)


class _Check:
    """One reading of a request."""

    def __init__(self, request: Json, limits: Limits) -> None:
        self.items: list[Json] = request["input"]
        self.request = request
        self.limits = limits
        self.longest = limits.id_length or 1 << 30
        self.id_fits = re.compile(limits.id_pattern).search
        self.name_fits = re.compile(limits.name_pattern).search
        self.no_status = not limits.item_status
        self.found: list[Finding] = []
        self.pairs = Pairs(unique_in_history=limits.ids_unique_in == "history")
        self.links = Links(request, limits)
        self.ids: dict[str, int] = {}
        self.loose: set[str] = set()  # ids of outputs whose calls the provider has
        self.start: int | None = None  # where the turn begins that is being read
        self.called = self.answered = False

    def run(self, *, open_tail: bool) -> list[Finding]:
        if not self.items and not self.links.goes_on:
            return [found("MESSAGE_EMPTY", "input", "There is nothing to send.", severity="DEG")]
        if not isinstance(text := self.request.get("instructions"), str | None):
            raise HistoryError(f"instructions is {kind_of(text)}, not a text.")
        for index, item in enumerate(self.items):
            place = place_of(item)
            kind = item.get("type") or "message"
            self.links.add(index, place, item)
            if place == "said":
                self._close()
                if item["role"] not in ROLES:
                    self._unknown_role(index, item["role"])
                    continue
                self._said(index, item)
            elif place == "output":
                self.answered = True
                self._output(index, item, kind)
            else:
                self._of_model(index, is_message=place == "message")
                if place == "call":
                    self._call(index, item, kind)
                elif place == "message":
                    self._message(index, item)
                elif place == "reasoning":
                    self._reasoning(index, item)
            self._item(index, item, kind)
        self._pairing(open_tail=open_tail)
        self.found += self.links.finish()
        self.found.sort(key=by_place)
        return self.found

    # Turns

    def _of_model(self, index: int, *, is_message: bool) -> None:
        """An item of the model's: it goes on with the turn or begins one."""
        if self.start is None or self.answered or (is_message and self.called):
            self._close()
            self.start = index

    def _close(self) -> None:
        if self.pairs.open:
            self.pairs.close()
        self.start, self.called, self.answered = None, False, False

    # Items

    def _item(self, index: int, item: Json, kind: str) -> None:
        """What is wrong with an item of any kind: its id and its fields."""
        known = FIELDS.get(kind)
        if known is not None and not item.keys() <= known:
            self.found += findings.unknown_fields(index, kind, item)
        if "status" in item:
            self._status(index, item)
        if (id := item.get("id")) is None or is_reference(item) or kind == "local_shell_call_output":
            return
        if not isinstance(id, str) or not is_item_id(id) or not id.startswith(PREFIXES.get(kind, "")):
            self.found.append(findings.item_id(index, kind, id))
        elif id in self.ids:
            first = self.ids[id]
            sentence = f"The id {id!r} of the item stands at input[{first}] already."
            same = int(item == self.items[first])
            self.found.append(found("ITEM_ID_DUPLICATE", f"input[{index}].id", sentence, i=index, id=id, same=same))
        else:
            self.ids[id] = index

    def _status(self, index: int, item: Json) -> None:
        echoed = place_of(item) == "said" or item["status"] is None or self.no_status
        if echoed and item.get("type") != "apply_patch_call_output":
            self.found.append(findings.echo(index, "status", f"input[{index}].status"))

    def _unknown_role(self, index: int, role: str) -> None:
        sentence = f"The role {role!r} is none that OpenAI is known to take; the message is sent as it is."
        self.found.append(found("ROLE_UNKNOWN", f"input[{index}]", sentence, i=index, role=role))

    def _said(self, index: int, item: Json) -> None:
        role, content = item["role"], item.get("content")
        path = f"input[{index}].content"
        if isinstance(content, list):
            self._parts(index, role, content)
            if not content:
                self.found.append(found("TEXT_EMPTY", path, "The list of parts is empty.", i=index))
        elif content is None:
            self.found.append(found("CONTENT_NULL", path, "The content is null.", i=index))
        elif not isinstance(content, str):
            raise not_content(content, path)

    def _message(self, index: int, item: Json) -> None:
        content = item.get("content")
        says = bool(content)
        if isinstance(content, list):
            self._parts(index, "assistant", content)
            says = any(part.get(_SAYS.get(str(part.get("type")), "type")) for part in content)
        elif content is not None and not isinstance(content, str):
            raise not_content(content, f"input[{index}].content")
        if not says:
            self.found.append(found("MESSAGE_EMPTY", f"input[{index}]", "The model's message says nothing.", i=index))

    def _parts(self, index: int, role: str, content: list[Any]) -> None:
        for at, part in enumerate(content):
            path = f"input[{index}].content[{at}]"
            if not isinstance(part, dict):
                raise not_an_object(part, path)
            kind = part.get("type")
            wanted = "output_text" if role == "assistant" else "input_text"
            if not has_words(part, WORDS):
                self._unknown_part(index, path, kind)
            elif kind == wanted or (kind == "refusal" and role == "assistant"):
                if "parsed" in part:
                    self.found.append(findings.echo(index, "parsed", f"{path}.parsed"))
            elif kind in _WORDS or (kind in MEDIA and role == "assistant"):
                self.found.append(findings.part_role(index, at, role, kind))
            elif kind in MEDIA:
                self._media(index, path, part)
            else:
                self._unknown_part(index, path, kind)

    def _media(self, index: int, path: str, part: Json) -> None:
        if flaw := flaw_of(part):
            self.found.append(found(flaw.code, path, flaw_sentence(flaw), severity=flaw.severity, i=index))

    def _unknown_part(self, index: int, path: str, kind: object) -> None:
        if isinstance(kind, str) and kind in WORDS:
            sentence = f"The part is of the type {kind!r} and holds no words."
            self.found.append(found("BLOCK_UNKNOWN", path, sentence, severity="REJ", i=index, type=kind_of(None)))
        elif isinstance(kind, str):
            sentence = f"The part is of the unknown type {kind!r}; it is sent as it is."
            self.found.append(found("BLOCK_UNKNOWN", path, sentence, severity="DEG", i=index, type=kind))
        else:
            sentence = "The part has no 'type'. Check in which format the history is."
            self.found.append(found("BLOCK_UNKNOWN", path, sentence, severity="REJ", i=index, type=kind_of(kind)))

    def _reasoning(self, index: int, item: Json) -> None:
        summary, encrypted = item.get("summary"), item.get("encrypted_content")
        if not isinstance(summary, list):
            if summary is not None:
                raise not_a_list(summary, f"input[{index}].summary")
            sentence = "The reasoning has no summary, not even an empty list."
            self.found.append(found("REASONING_SUMMARY_MISSING", f"input[{index}].summary", sentence, i=index))
        if not isinstance(item.get("content"), list | None):
            raise not_a_list(item["content"], f"input[{index}].content")
        if encrypted is not None and not is_token(encrypted):
            sentence = "The encrypted content is none that a provider makes: one text without white space."
            path = f"input[{index}].encrypted_content"
            self.found.append(found("ENCRYPTED_FOREIGN", path, sentence, i=index, head=str(encrypted)[:8]))

    # Calls and outputs

    def _call(self, index: int, item: Json, kind: str) -> None:
        id, path = item.get("call_id"), f"input[{index}].call_id"
        plain = plain_id(id_of(item))
        self.called = True
        self.pairs.add_call(index, 0, plain)
        if isinstance(id, str) and unpacked(id):
            self._packed(path, id)
        elif not isinstance(id, str) or not id or len(id) > self.longest or not self.id_fits(id):
            self.found.append(findings.call_id(index, id, self.longest, self.limits.id_pattern))
        if kind not in ("function_call", "custom_tool_call"):
            return
        name = item.get("name")
        if not isinstance(name, str) or not self.name_fits(name):
            self.found.append(findings.name(index, plain, name))
        if kind == "custom_tool_call":
            if not isinstance(given := item.get("input"), str):
                sentence = f"The input of the call is {kind_of(given)}, not a text."
                self.found.append(found("ARGS_TYPE", f"input[{index}].input", sentence, plain, i=index))
        elif not isinstance(given := item.get("arguments"), str) or not is_object_text(given):
            self.found.append(findings.arguments(index, plain, given))
        if "parsed_arguments" in item:
            self.found.append(findings.echo(index, "parsed_arguments", f"input[{index}].parsed_arguments"))

    def _packed(self, path: str, id: str) -> None:
        sentence = f"The id {id!r} is two: the call's and that of its item."
        self.found.append(finding(HANDOFF["X-ID-COMPOSITE"], "ID_CHARS", path, sentence, plain_id(id)))

    def _output(self, index: int, item: Json, kind: str) -> None:
        raw_id = id_of(item)
        id = plain_id(raw_id)
        if raw_id != id:
            self._packed(f"input[{index}].call_id", raw_id)
        waiting = self.pairs.open.get(id) if self.start is not None else None
        if waiting:
            fits = [at for at, call in enumerate(waiting) if takes(kind, self.items[call.i]["type"])]
            if fits:
                waiting.insert(0, waiting.pop(fits[0]))
            else:
                self._other_kind(index, id, kind, self.items[waiting[0].i]["type"])
        self.pairs.add_result(index, 0, id)
        self._content(index, item, kind)

    def _other_kind(self, index: int, id: str, kind: str, call: str) -> None:
        sentence = f"The call {id!r} is a {call!r}, and this is a {kind!r}."
        self.found.append(found("RESULT_KIND_MISMATCH", f"input[{index}]", sentence, id, i=index, id=id))

    def _content(self, index: int, item: Json, kind: str) -> None:
        """What an output holds."""
        path, output = f"input[{index}].output", item.get("output")
        if isinstance(output, str):
            if kind in _LISTED:
                raise not_a_list(output, path)
        elif kind == "tool_search_output" or (kind == "apply_patch_call_output" and output is None):
            return
        elif output is None:
            sentence = "The output is missing; one that is empty is an empty text."
            id = plain_id(id_of(item))
            self.found.append(found("FIELD_MISSING", path, sentence, id, i=index))
        elif kind == "computer_call_output":
            if not isinstance(output, dict):
                raise not_an_object(output, path)
        elif kind in _LISTED and not isinstance(output, list):
            raise not_a_list(output, path)
        elif kind not in _LISTED and not is_content(output, path):
            self.found.append(found("RESULT_SHAPE", path, shape_sentence(output), plain_id(id_of(item)), i=index))
        else:
            self._output_parts(index, output, path, is_shell=kind in _LISTED)

    def _output_parts(self, index: int, parts: list[Any], path: str, *, is_shell: bool) -> None:
        for at, part in enumerate(parts):
            if not isinstance(part, dict):
                raise not_an_object(part, f"{path}[{at}]")
            kind = part.get("type")
            if not is_shell and (not has_words(part, WORDS) or kind not in ("input_text", "output_text", *MEDIA)):
                self._unknown_part(index, f"{path}[{at}]", kind)
            elif kind in MEDIA:
                self._media(index, f"{path}[{at}]", part)

    # The whole

    def _pairing(self, *, open_tail: bool) -> None:
        broken = self.pairs.finish(self.start if open_tail else None)
        for first, call in broken.repeated:
            sentence = f"The id {call.id!r} was used before, at input[{first}]."
            self.found.append(found("ID_DUPLICATE", f"input[{call.i}].call_id", sentence, call.id, i=call.i, id=call.id))
        for call in broken.unanswered:
            sentence = f"The call {call.id!r} has no output directly behind its turn."
            self.found.append(found("CALL_UNANSWERED", f"input[{call.i}]", sentence, call.id, i=call.i, id=call.id))
        for stray in broken.strays:
            self._stray(stray)

    def _stray(self, stray: Stray) -> None:
        path = f"input[{stray.i}]"
        if stray.call is not None:
            sentence = f"The output of the call {stray.id!r} does not stand directly behind the turn of its call."
            self.found.append(found("RESULT_DISPLACED", path, sentence, stray.id, i=stray.call.i, id=stray.id))
        elif stray.answered:
            sentence = f"The call {stray.id!r} has an output already."
            self.found.append(found("RESULT_DUPLICATE", path, sentence, stray.id, i=stray.i, id=stray.id))
        elif self.links.is_partial and stray.id:
            if stray.id in self.loose:
                sentence = f"The call {stray.id!r} has an output in this request already."
                self.found.append(found("RESULT_DUPLICATE", path, sentence, stray.id, i=stray.i, id=stray.id))
            self.loose.add(stray.id)
        else:
            sentence = f"No call in the turn before asked for the output {stray.id!r}."
            self.found.append(found("RESULT_ORPHAN", path, sentence, stray.id, i=stray.i, id=stray.id))
