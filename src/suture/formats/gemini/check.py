"""The check of a request against what Gemini's generateContent demands.

It reads the raw JSON once, in order, and makes nothing but places while nothing is wrong.
"""

from __future__ import annotations

import re
from typing import Literal

from suture.formats.base import Json
from suture.formats.gemini.media import flaw_of
from suture.formats.gemini.parts import (
    KINDS,
    Piece,
    Segment,
    holds,
    inner,
    kinds,
    parts_of,
    pictures_in,
    pieces,
    segments,
    side_of,
    signature_of,
    text_of,
)
from suture.formats.gemini.rules import RULE_OF, RULES
from suture.formats.gemini.tools import declarations
from suture.formats.gemini.turns import Mark, Stray, Turns
from suture.formats.limits import Limits
from suture.formats.media import sentence as flaw_sentence
from suture.formats.rule import Finding, by_place, finding
from suture.formats.wire import kind_of, text_id

_CONTENT = frozenset(("role", "parts"))
_HISTORY = frozenset(("contents", "systemInstruction", "system_instruction"))
_NAME = "letters, digits, _, ., : and -, 64 at most, and the first a letter or _"


def check(request: Json, limits: Limits, *, open_tail: bool = False) -> list[Finding]:
    """Every rule that the request breaks, by place. `open_tail`: calls of the last turn may be unanswered."""
    return _Check(request, limits, open_tail=open_tail).run()


class _Check:
    """One reading of a request."""

    def __init__(self, request: Json, limits: Limits, *, open_tail: bool) -> None:
        self.request = request
        self.contents: list[Json] = request["contents"]
        self.limits = limits
        self.open_tail = open_tail
        self.name_fits = re.compile(limits.name_pattern).search
        self.id_fits = re.compile(limits.id_pattern).search
        self.signature_fits = re.compile(limits.signature_pattern or "").fullmatch
        self.takes_pictures = limits.model is None or limits.images_in_results
        self.found: list[Finding] = []
        self.turns = Turns()
        self.before: Literal["", "user", "model", "system", "result"] = ""
        self.said = -1  # the last content in which the user speaks
        self.batch: int | None = None  # where the last batch of calls begins, while nothing but responses follows it
        self.unsigned: list[Mark] = []  # the first call of each step, where it has no signature
        self.names: dict[str, str] = {}  # the name of each call, and where it stands first

    def run(self) -> list[Finding]:
        self._system()
        if not self.contents:
            rule = RULES["GEM-PARTS-EMPTY"]
            self.found.append(finding(rule, "MESSAGE_EMPTY", "contents", "There is nothing to send.", severity="DEG"))
        for i, content in enumerate(self.contents):
            self._content(i, content)
        self._pairing()
        self._last()
        self._signatures()
        self._tools()
        self.found.sort(key=by_place)
        return self.found

    def add(
        self, code: str, rule: str, path: str, sentence: str, call: str | None = None, *also: str, **facts: str | int
    ) -> None:
        others = tuple(RULES[id] for id in also)
        self.found.append(finding(RULES[rule], code, path, sentence, call, facts, also=others))

    # Contents

    def _system(self) -> None:
        for key in ("systemInstruction", "system_instruction"):
            given = self.request.get(key)
            if isinstance(given, dict) and "parts" in given:
                for at, part in enumerate(parts_of(given, key)):
                    if not kinds(part) or part.get("text") == "":
                        self._hollow(f"{key}.parts[{at}]", part, 0, at)

    def _content(self, i: int, content: Json) -> None:
        path = f"contents[{i}]"
        if not content.keys() <= _CONTENT:
            self._fields(i, content)
        parts = parts_of(content, path)
        side = side_of(content, parts)
        if side == "system":
            self._misplaced_system(i, content)
            return
        calls: list[Mark] = []
        responses: list[Mark] = []
        words = False
        for at, raw in pieces(parts):
            text = raw.get("text")
            if type(text) is str and len(raw) == 1:
                words = True
                if not text:
                    self._hollow(f"{path}.parts[{at}]", raw, i, at)
                continue
            if raw is not parts[at]:
                self._crowded(path, at, parts[at])
            kind = self._part(i, at, raw, side)
            if kind == "functionCall":
                calls.append(self._call(i, at, raw))
            elif kind == "functionResponse":
                responses.append(self._response(i, at, raw))
            else:
                words = True
        self._role(i, content, pure=bool(responses) and not (words or calls))
        if not parts:
            self.add("MESSAGE_EMPTY", "GEM-PARTS-EMPTY", path, "The content has no parts.", i=i)
            if side == "user":
                self._step("user", i, [], [])
        elif (side == "model" and responses) or (side == "user" and (calls or (responses and words))):
            self._mixed(i, content, side, {mark.j: mark for mark in calls}, {mark.j: mark for mark in responses})
        else:
            self._step("result" if responses else side, i, calls, responses)

    def _step(self, kind: str, i: int, calls: list[Mark], responses: list[Mark]) -> None:
        """What one side says, as the turns take it."""
        if not self.before and kind == "model":
            self._first(i, bool(calls))
        if kind == "result":
            self.turns.respond(i, responses)
            self.before = "result"
        elif kind == "model":
            self._model(i, calls)
            self.before = "model"
        else:
            self.turns.close()
            self.said, self.batch = i, None
            self.before = "user"

    def _model(self, i: int, calls: list[Mark]) -> None:
        if not calls:
            self.turns.close()
            self.batch = None
            return
        goes_on = self.before == "model"
        if goes_on:
            sentence = "The calls follow another content of the model's; they belong into that one."
            self.add("CALL_AFTER_MODEL", "GEM-CALL-AFTER", f"contents[{i}]", sentence, i=i)
        else:
            self.batch = i
        self._repeats(calls)
        self.turns.begin(calls, goes_on=goes_on)
        if self.limits.signature is not None:
            self._signed(calls[0], goes_on=goes_on)

    def _signed(self, first: Mark, *, goes_on: bool) -> None:
        raw = self.contents[first.i]["parts"][first.j]
        path = f"contents[{first.i}].parts[{first.j}]"
        if not goes_on and signature_of(raw, path) is None:
            self.unsigned.append(first)

    def _mixed(self, i: int, content: Json, side: str, calls: dict[int, Mark], responses: dict[int, Mark]) -> None:
        """A content that holds what belongs into several: each of them, in the order in which it will be read."""
        found = segments(content, f"contents[{i}]")
        for kind, each in found:
            if kind == "result":
                self._beside(i, each, side, calls=bool(calls))
                self._step("result", i, [], [responses[each[0].at]])
                continue
            within = [calls[piece.at] for piece in each if piece.at in calls] if kind == "model" else []
            if side == "user":
                self._strangers(within)
            self._step(kind, i, within, [])
        if side == "user" and not calls:
            self._impure(i, found)

    def _beside(self, i: int, each: list[Piece], side: str, *, calls: bool) -> None:
        """A response in a content of the model's, beside calls, or with pictures behind it."""
        first, *pictures = each
        path = f"contents[{i}].parts[{first.at}]"
        if calls:
            sentence = "A functionResponse stands in one content with calls."
            self.add("RESULT_NOT_PURE", "GEM-MIX", path, sentence, i=i, j=first.at)
        elif side == "model":
            sentence = "A functionResponse stands in a content of the model's."
            self.add("RESULT_NOT_PURE", "GEM-RESP-PURE", path, sentence, i=i, j=first.at)
        for piece in pictures:
            code = "IMAGE_BESIDE" if self.limits.images_in_results else "IMAGE_ROLE"
            sentence = "A picture stands beside the functionResponse that it belongs to."
            self.add(code, "GEM-IMG-RESP", f"contents[{i}].parts[{piece.at}]", sentence, None, "GEM-RESP-PURE", i=i)

    def _impure(self, i: int, found: list[Segment]) -> None:
        """Words beside responses."""
        if any(segment.kind == "user" for segment in found):
            at = next(segment.pieces[0].at for segment in found if segment.kind == "user")
            sentence = "The content holds a functionResponse and something else; responses stand alone."
            self.add("RESULT_NOT_PURE", "GEM-RESP-PURE", f"contents[{i}].parts[{at}]", sentence, i=i, j=at)

    def _strangers(self, calls: list[Mark]) -> None:
        for call in calls:
            sentence = "A functionCall stands in a content of the user's."
            path = f"contents[{call.i}].parts[{call.j}]"
            self.add("CALL_MISPLACED", "GEM-CALL-ROLE", path, sentence, call.id, i=call.i, j=call.j)

    # Roles and ends

    def _first(self, i: int, calls: bool) -> None:
        rule = "GEM-CALL-AFTER" if calls else "GEM-FIRST-USER"
        self.add("FIRST_NOT_USER", rule, f"contents[{i}]", "The first content is not the user's.", i=i)

    def _misplaced_system(self, i: int, content: Json) -> None:
        role = str(content["role"])
        sentence = f"System text stands among the contents, under the role {role!r}; it belongs into systemInstruction."
        self.add("SYSTEM_MISPLACED", "GEM-ROLE", f"contents[{i}]", sentence, i=i, role=role)

    def _role(self, i: int, content: Json, *, pure: bool) -> None:
        role = content.get("role")
        if role in ("user", "model", None) or (role in ("function", "tool") and pure):
            return
        sentence = f"The role {role!r} is none of Gemini's."
        self.add("ROLE_UNKNOWN", "GEM-ROLE", f"contents[{i}]", sentence, i=i, role=str(role))

    def _fields(self, i: int, content: Json) -> None:
        for key in sorted(content.keys() - _CONTENT):
            sentence = f"Contents have no field {key!r} that Gemini is known to take; it is sent as it is."
            self.add("FIELD_UNKNOWN", "GEM-FIELD", f"contents[{i}]", sentence, i=i, field=key)

    def _last(self) -> None:
        if self.before != "model":
            return
        index = len(self.contents) - 1
        parts = parts_of(self.contents[index], f"contents[{index}]")
        if not any(holds(part, "functionCall") for part in parts):
            sentence = "The last content is the model's, from which Gemini does not go on."
            self.add("LAST_ASSISTANT", "GEM-LAST-USER", f"contents[{index}]", sentence, i=index)

    # Parts

    def _part(self, i: int, at: int, raw: Json, side: str) -> str:
        """What the part holds; blank for nothing."""
        path = f"contents[{i}].parts[{at}]"
        held = kinds(raw)
        kind = held[0] if held else ""
        if kind in ("inlineData", "fileData"):
            inner(raw, kind, path)
            self._media(path, raw, i, at)
        if not kind or (kind == "text" and text_of(raw, path) == ""):
            self._hollow(path, raw, i, at)
        elif kind not in KINDS:
            sentence = f"The part holds {kind!r}, which is unknown; it is sent as it is."
            self.add("BLOCK_UNKNOWN", "GEM-PART-KIND", path, sentence, i=i, j=at, part=kind)
        if side == "model" and kind in ("text", "functionCall", "") and (signature := signature_of(raw, path)):
            self._form(signature, i, at)
        elif kind == "functionResponse" and holds(raw, "thoughtSignature"):
            sentence = "A signature stands on a functionResponse, where no model put it; it is sent as it is."
            rule = RULES["GEM-SIG-PLACE"]
            self.found.append(finding(rule, "SIGNATURE_PLACE", path, sentence, severity="DEG", facts={"i": i, "j": at}))
        return kind

    def _media(self, path: str, raw: Json, i: int, at: int) -> None:
        if flaw := flaw_of(raw):
            rule, facts = RULES[RULE_OF[flaw.code]], {"i": i, "j": at}
            self.found.append(finding(rule, flaw.code, path, flaw_sentence(flaw), facts=facts, severity=flaw.severity))

    def _form(self, signature: str, i: int, at: int) -> None:
        if not self.signature_fits(signature):
            sentence = "The signature is no base64, so it is none of Gemini's."
            self.add("SIGNATURE_FORM", "GEM-SIG-B64", f"contents[{i}].parts[{at}]", sentence, i=i, j=at)

    def _hollow(self, path: str, raw: Json, i: int, at: int) -> None:
        """A part that says nothing; one that has a signature and an empty text is how streams end."""
        if not holds(raw, "thoughtSignature"):
            sentence = "The text is empty." if "text" in raw else "The part holds nothing."
            self.add("TEXT_EMPTY", "GEM-PART-DATA", path, sentence, i=i, j=at)
        elif raw.get("text") is None:
            sentence = "The part holds a signature alone; an empty text has to stand beside it."
            self.add("PART_SHAPE", "GEM-PART-DATA", path, sentence, i=i, j=at)

    def _crowded(self, path: str, at: int, raw: Json) -> None:
        if self.found and self.found[-1].code == "PART_SHAPE" and self.found[-1].path == f"{path}.parts[{at}]":
            return
        sentence = f"The part holds {' and '.join(kinds(raw))}; a part holds one thing."
        self.add("PART_SHAPE", "GEM-PART-DATA", f"{path}.parts[{at}]", sentence, j=at)

    # Calls and responses

    def _call(self, i: int, at: int, raw: Json) -> Mark:
        path = f"contents[{i}].parts[{at}]"
        call = inner(raw, "functionCall", path)
        id, name, given = call.get("id"), call.get("name"), call.get("args")
        mark = Mark(i, at, text_id(id), text_id(name))
        self.names.setdefault(mark.name, path)
        self._id(mark, id, "call")
        if not self.name_fits(mark.name):
            sentence = f"The call's name {name!r} is no name of a function: {_NAME}."
            self.add("NAME_PATTERN", "GEM-NAME-PATTERN", path, sentence, mark.id, i=i, j=at)
        if given is not None and not isinstance(given, dict):
            code = "ARGS_TYPE" if isinstance(given, str) else "ARGS_NOT_OBJECT"
            sentence = f"The args of the call are {kind_of(given)}, not an object."
            self.add(code, "GEM-ARGS-OBJ", path, sentence, mark.id, i=i, j=at)
        if (signature := signature_of(call, f"{path}.functionCall")) is not None:
            sentence = "The signature stands inside the functionCall; it belongs beside it."
            self.add("SIGNATURE_PLACE", "GEM-SIG-PLACE", path, sentence, mark.id, i=i, j=at)
            if signature_of(raw, path) is None:
                self._form(signature, i, at)
        return mark

    def _id(self, mark: Mark, id: object, what: str) -> None:
        path = f"contents[{mark.i}].parts[{mark.j}]"
        if what == "call" and self.limits.ids_needed and not mark.id:
            self.add("ID_MISSING", "GEM-CALL-ID", path, "The call has no id, and this model wants one.", i=mark.i, j=mark.j)
        elif not mark.id and id is not None:
            self.add(
                "ID_BLANK", "GEM-RESP-ID", path, f"The id of the {what} is no text that says something.", i=mark.i, j=mark.j
            )
        elif what == "call" and mark.id and not self.id_fits(mark.id):
            sentence = f"The id {mark.id!r} holds other characters than letters, digits, _ and -."
            self.add("ID_CHARS", "GEM-CALL-ID", path, sentence, mark.id, i=mark.i, j=mark.j)
        elif what == "call" and self.limits.id_length is not None and len(mark.id) > self.limits.id_length:
            sentence = f"The id has {len(mark.id)} characters; {self.limits.id_length} are allowed."
            self.add("ID_LENGTH", "GEM-CALL-ID", path, sentence, mark.id, i=mark.i, j=mark.j)

    def _repeats(self, calls: list[Mark]) -> None:
        """Ids that two calls of a content share."""
        seen: set[str] = set()
        for call in calls:
            if call.id and call.id in seen:
                sentence = f"The id {call.id!r} was used before in the same content."
                path = f"contents[{call.i}].parts[{call.j}]"
                self.add("ID_DUPLICATE", "GEM-DUP-ID", path, sentence, call.id, i=call.i, j=call.j, id=call.id)
            seen.add(call.id)

    def _response(self, i: int, at: int, raw: Json) -> Mark:
        path = f"contents[{i}].parts[{at}]"
        response = inner(raw, "functionResponse", path)
        mark = Mark(i, at, text_id(response.get("id")), text_id(response.get("name")))
        self._id(mark, response.get("id"), "response")
        if not isinstance(given := response.get("response"), dict):
            sentence = f"The response is {kind_of(given)}, not an object."
            self.add("RESULT_SHAPE", "GEM-RESP-OBJ", path, sentence, mark.id, i=i, j=at)
        pictures = pictures_in(response, f"{path}.functionResponse") or []
        for nth, picture in enumerate(pictures):
            self._media(f"{path}.functionResponse.parts[{nth}]", picture, i, at)
        if pictures and not self.takes_pictures:
            sentence = "The functionResponse holds pictures, which only Gemini 3 takes there."
            self.add("IMAGE_ROLE", "GEM-IMG-RESP", path, sentence, mark.id, i=i, j=at)
        return mark

    # The whole

    def _pairing(self) -> None:
        missing, strays = self.turns.finish(self.batch if self.open_tail else None)
        for call in missing:
            sentence = f"The call of {call.name!r} has no response in the next content."
            self.add("CALL_UNANSWERED", "GEM-PARITY", f"contents[{call.i}].parts[{call.j}]", sentence, call.id, i=call.i)
        for stray in strays:
            self._stray(stray)
        for call, mark in self.turns.uneven:
            path = f"contents[{mark.i}].parts[{mark.j}]"
            if call.name != mark.name:
                sentence = f"The response is named {mark.name!r}, and its call {call.name!r}."
                self.add("RESULT_NAME_MISMATCH", "GEM-RESP-NAME", path, sentence, mark.id, i=mark.i, j=mark.j)
            if call.id != mark.id:
                sentence = "Of the call and its response only one has an id; both have the same, or none."
                self.add("ID_MISSING", "GEM-RESP-ID", path, sentence, mark.id or call.id, i=mark.i, j=mark.j)

    def _stray(self, stray: Stray) -> None:
        mark, call = stray.mark, stray.call
        path = f"contents[{mark.i}].parts[{mark.j}]"
        if call is not None and stray.is_behind:
            sentence = f"The responses to contents[{call.i}] are spread over several contents; they belong into one."
            self.add("RESULT_SPLIT", "GEM-PARITY", path, sentence, mark.id, i=call.i)
        elif call is not None:
            sentence = f"The response of {mark.name!r} does not stand in the content behind contents[{call.i}]."
            self.add("RESULT_DISPLACED", "GEM-RESP-AFTER", path, sentence, mark.id, i=call.i)
        elif stray.answered:
            sentence = f"The call of {mark.name!r} has a response already."
            self.add("RESULT_DUPLICATE", "GEM-PARITY", path, sentence, mark.id, i=mark.i, j=mark.j)
        else:
            sentence = f"No call in the content before asked for the response of {mark.name!r}."
            self.add("RESULT_ORPHAN", "GEM-RESP-AFTER", path, sentence, mark.id, i=mark.i, j=mark.j)

    def _signatures(self) -> None:
        """Since the user spoke, the first call of each step is signed, where the model wants that."""
        for position, first in enumerate(self.unsigned):
            if first.i > self.said:
                sentence = f"The call of {first.name!r} is the first of its step and has no signature."
                path = f"contents[{first.i}].parts[{first.j}]"
                facts: dict[str, str | int] = {"name": first.name, "n": position + 1}
                self.add("SIGNATURE_MISSING", "GEM-SIG-MISSING", path, sentence, first.id, i=first.i, **facts)

    def _tools(self) -> None:
        """Names of functions, declared and called."""
        declared: set[str] = set()
        for path, each in declarations(self.request):
            name = each.get("name")
            if not isinstance(name, str):
                rule, sentence = RULES["GEM-NAME-PATTERN"], "The function that is declared has no name."
                self.found.append(finding(rule, "NAME_PATTERN", path, sentence, hint="tools: name each function"))
                continue
            declared.add(name)
            if not self.name_fits(name):
                sentence = f"The name {name!r} is no name of a function: {_NAME}."
                self.add("NAME_PATTERN", "GEM-NAME-PATTERN", f"{path}.name", sentence, name=name)
        if self.limits.tools != "listed" or self.request.keys() <= _HISTORY:
            return
        for name, path in self.names.items():
            if name not in declared:
                code = "NAME_UNDECLARED" if declared else "TOOLS_MISSING"
                sentence = f"The history calls {name!r}, which the request does not declare."
                self.add(code, "GEM-RESP-NAME", path, sentence, name=name)
