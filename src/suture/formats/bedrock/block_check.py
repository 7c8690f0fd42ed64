"""The check of one message's blocks against what Bedrock's Converse demands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from suture.formats.base import Json
from suture.formats.bedrock.blocks import (
    MEMBERS,
    is_a,
    is_known_thought,
    is_regular_in_result,
    is_result,
    is_server_call,
    not_a_text,
    pieces,
)
from suture.formats.bedrock.documents import documents_in, fits, stands_alone
from suture.formats.bedrock.media import MEDIA, flaw_of
from suture.formats.bedrock.parts import words_in
from suture.formats.bedrock.rules import RULE_OF, RULES
from suture.formats.limits import Limits
from suture.formats.media import sentence as flaw_sentence
from suture.formats.pairs import Pairs
from suture.formats.rule import Finding, Severity, finding
from suture.formats.wire import is_content, kind_of, not_an_object, shape_sentence, text_id

_PICTURES = frozenset(("image", "document", "video"))


class BlockCheck:
    """What is found in blocks, one message after the other; calls and results go to `pairs`."""

    def __init__(self, limits: Limits, pairs: Pairs) -> None:
        self.limits = limits
        self.pairs = pairs
        self.found: list[Finding] = []
        self.has_tools = False
        self._id_fits = re.compile(limits.id_pattern).search
        self._name_fits = re.compile(limits.name_pattern).search
        self._documents: set[str] = set()
        self._thoughts: dict[tuple[int, str | bytes], Json] = {}  # by message and signature
        self._has_documents = False  # the message that is being read

    def add(self, code: str, path: str, sentence: str, call: str | None = None, /, **facts: str | int) -> None:
        """Report a rule broken at a place."""
        self.put(code, path, sentence, call, facts)

    def put(
        self,
        code: str,
        path: str,
        sentence: str,
        call: str | None,
        facts: Mapping[str, str | int],
        severity: Severity | None = None,
        hint: str | None = None,
    ) -> None:
        """The same with another severity than the rule's, or with what only the caller can do."""
        rule = RULES[RULE_OF[code]]
        self.found.append(finding(rule, code, path, sentence, call, facts, severity=severity, hint=hint))

    def read(self, index: int, role: str, content: list[Any]) -> None:
        """The blocks of a message; `others` counts what is said beside calls, results and reasoning."""
        calls = results = others = 0
        for at, whole in enumerate(content):
            if _is_words(whole) and not calls:
                others += 1
                continue
            if not isinstance(whole, dict):
                raise not_an_object(whole, f"messages[{index}].content[{at}]")
            if len(whole) != 1:
                self._shape(index, at, whole)
            for block in (whole,) if len(whole) == 1 else pieces(whole):
                if "toolResult" in block and is_result(block):
                    results += self._result(index, at, block, role, behind=calls + others > 0)
                elif "toolUse" in block and not is_server_call(block):
                    calls += self._call(index, at, block, role)
                else:
                    others += self._other_block(index, at, block, role)
                    if calls and self.limits.calls_last and "cachePoint" not in block:
                        path = f"messages[{index}].content[{at}]"
                        self.add("CALL_NOT_TAIL", path, "Something follows a call; calls come last.", i=index, j=at)
        if others and (calls or results):
            self._together(index, content, calls, results)
        if self._has_documents:
            self._named(index, content, role)
            self._has_documents = False

    def _other_block(self, index: int, at: int, block: Json, role: str) -> bool:
        """Whether a block that is neither call nor result says something."""
        if "text" in block:
            text = block["text"]
            if not isinstance(text, str) or not text or text.isspace():
                self.blank(f"messages[{index}].content[{at}]", index, at, text)
        elif "reasoningContent" in block:
            self._reasoning(index, at, block["reasoningContent"], role)
            return False
        elif len(block) == 1 and not block.keys() & MEMBERS:
            self._unknown(index, at, next(iter(block)))
        elif block.keys() & MEDIA:
            self._has_documents = self._has_documents or "document" in block
            self._media(f"messages[{index}].content[{at}]", block, {"i": index, "j": at})
        return "cachePoint" not in block

    def _shape(self, index: int, at: int, block: Json) -> None:
        path = f"messages[{index}].content[{at}]"
        if block and len(pieces(block)[0]) == 1:
            names = ", ".join(repr(key) for key in list(block)[:5])
            self.add("BLOCK_SHAPE", path, f"A block has one member; this one has {names}.", i=index, j=at)
            return
        sentence = "The block is of no kind that Converse has. Check in which format the history is."
        self.put("BLOCK_UNKNOWN", path, sentence, None, {"i": index, "j": at, "block": ""}, severity="REJ")

    def blank(self, path: str, i: int, j: int, text: object) -> None:
        """Report what is no text that says something.

        Raises:
            HistoryError: it is no text at all.
        """
        if text is not None and not isinstance(text, str):
            raise not_a_text(text, f"{path}.text")
        code, what = ("TEXT_BLANK", "white space alone") if text else ("TEXT_EMPTY", "empty")
        self.add(code, path, f"The text is {what}.", i=i, j=j)

    def _call(self, index: int, at: int, block: Json, role: str) -> int:
        inner, path = block["toolUse"], f"messages[{index}].content[{at}]"
        if not isinstance(inner, dict):
            raise not_an_object(inner, f"{path}.toolUse")
        self.has_tools = True
        if role != "assistant":
            sentence = f"A call stands in a message of the role {role!r}."
            found = finding(RULES["BDR-USE-ROLE"], "CALL_MISPLACED", path, sentence, facts={"i": index, "j": at})
            self.found.append(found)
            return 0
        id, name, given = inner.get("toolUseId"), inner.get("name"), inner.get("input")
        self.pairs.add_call(index, at, text_id(id))
        if not (self._is_id(id) and isinstance(name, str) and self._name_fits(name)):
            self._names(path, id, name, {"i": index, "j": at, "m": index + 1, "k": at + 1, "field": "toolUseId"})
        if not isinstance(given, dict):
            code = "ARGS_TYPE" if isinstance(given, str) else "ARGS_NOT_OBJECT"
            sentence = f"The input of the call is {kind_of(given)}, not an object."
            self.add(code, path, sentence, text_id(id) or None, i=index, j=at)
        return 1

    def _is_id(self, id: object) -> bool:
        longest = self.limits.id_length
        return isinstance(id, str) and (longest is None or len(id) <= longest) and self._id_fits(id) is not None

    def _names(self, path: str, id: object, name: object, facts: dict[str, str | int]) -> None:
        """What is wrong with the id and the name of a call."""
        if not isinstance(id, str) or not id:
            self.add("ID_MISSING", path, "The call has no id that is a text.", **facts)
        elif self.limits.id_length is not None and len(id) > self.limits.id_length:
            sentence = f"The id has {len(id)} characters; {self.limits.id_length} are allowed."
            self.add("ID_LENGTH", path, sentence, id, **facts)
        elif not self._id_fits(id):
            self.add("ID_CHARS", path, f"The id {id!r} holds other characters than letters, digits, _ and -.", id, **facts)
        if not isinstance(name, str) or not self._name_fits(name):
            sentence = f"The call's name {name!r} is no name of a tool: up to 64 letters, digits, _ and -."
            self.add("NAME_PATTERN", path, sentence, text_id(id) or None, **{**facts, "field": "name"})

    def _result(self, index: int, at: int, block: Json, role: str, *, behind: bool) -> int:
        inner, path = block["toolResult"], f"messages[{index}].content[{at}]"
        if not isinstance(inner, dict):
            raise not_an_object(inner, f"{path}.toolResult")
        self.has_tools = True
        id, content = text_id(inner.get("toolUseId")), inner.get("content")
        if role != "user":
            self.add("RESULT_NOT_PURE", path, f"A result stands in a message of the role {role!r}.", id or None, i=index)
        elif self.pairs.add_result(index, at, id) and behind:
            sentence = "The result stands behind other blocks; results come first."
            self.add("RESULT_NOT_FIRST", path, sentence, id, i=index - 1, j=at, ids=id)
        if not is_content(content, f"{path}.toolResult.content"):
            self.add("RESULT_SHAPE", path, shape_sentence(content), id or None, i=index, j=at, k=0)
        elif isinstance(content, list):
            for nth, part in enumerate(content):
                if not _is_words(part):
                    self._in_result(index, at, nth, part, f"{path}.toolResult.content[{nth}]")
        else:
            sentence = f"The content of the result is {kind_of(content)}, not a list of blocks."
            self.add("BLOCK_SHAPE", path, sentence, id or None, i=index, j=at)
        if inner.get("status") == "error" and not _says_something(content):
            self.add("RESULT_EMPTY_ERROR", path, "The error says nothing.", id or None, i=index, j=at)
        return 1

    def _in_result(self, index: int, at: int, nth: int, part: Json, path: str) -> None:
        facts: dict[str, str | int] = {"i": index, "j": at, "k": nth}
        self._has_documents = self._has_documents or "document" in part
        text = part.get("text", "-")
        if not isinstance(text, str) or not text or text.isspace():
            self.blank(path, index, at, text)
        if len(part) == 1 and not is_regular_in_result(part) and "json" in part:
            sentence = f"The JSON of a result is an object; this is {kind_of(part['json'])}."
            self.add("RESULT_SHAPE", path, sentence, **facts)
        elif len(part) != 1:
            self.add("BLOCK_SHAPE", path, "A block has one member.", **facts)
        if part.keys() & MEDIA:
            self._media(path, part, facts)
        if not self.limits.images_in_results and part.keys() & _PICTURES:
            self.add("IMAGE_ROLE", path, "This model takes words alone in results.", **facts)

    def _media(self, path: str, block: Json, facts: Mapping[str, str | int]) -> None:
        if flaw := flaw_of(block):
            self.put(flaw.code, path, flaw_sentence(flaw), None, facts, flaw.severity)

    def _reasoning(self, index: int, at: int, inner: object, role: str) -> None:
        path = f"messages[{index}].content[{at}]"
        if not isinstance(inner, dict):
            raise not_an_object(inner, f"{path}.reasoningContent")
        if not is_known_thought(inner):
            return
        text = inner.get("reasoningText")
        signature = text.get("signature") if isinstance(text, dict) else inner.get("redactedContent")
        if role != "assistant":
            self.add("THINKING_UNSIGNED", path, f"Reasoning stands in a message of the role {role!r}.", i=index, j=at)
        elif self.limits.reasoning == "signed":
            if not isinstance(signature, str | bytes) or not signature.strip():
                self.add("THINKING_UNSIGNED", path, "The reasoning has no signature.", i=index, j=at)
            elif (
                self._thoughts.setdefault((index, signature), inner) is not inner
                and self._thoughts[index, signature] == inner
            ):
                sentence = "The thought stands in the message before; a copy of it went in."
                self.add("THINKING_MODIFIED", path, sentence, i=index, j=at)
        elif self.limits.reasoning_back == "none" or "redactedContent" in inner:
            self.add("THINKING_FOREIGN", path, "This model takes no such reasoning back.", i=index, j=at)
        elif signature is not None:
            self.add("SIGNATURE_FORM", path, "This model takes reasoning without a signature.", i=index, j=at)
        elif not isinstance(text, dict):
            self.add("BLOCK_SHAPE", path, "The words of reasoning stand under 'reasoningText'.", i=index, j=at)

    def _unknown(self, index: int, at: int, kind: str) -> None:
        path = f"messages[{index}].content[{at}]"
        facts: dict[str, str | int] = {"i": index, "j": at, "block": kind}
        if kind == "type":
            self._shape(index, at, {})
            return
        self.put("BLOCK_UNKNOWN", path, f"The block is of the unknown kind {kind!r}; it is sent as it is.", None, facts)

    def _together(self, index: int, content: list[Json], calls: int, results: int) -> None:
        """Words beside tool blocks, which some models refuse."""
        path = f"messages[{index}]"
        beside = calls and not self.limits.text_with_calls
        if beside and any("text" in block or words_in(block) for block in content):
            self.add("TEXT_WITH_TOOL", path, "Words stand beside calls.", i=index, block="use")
        if results and not self.limits.user_after_result:
            self.add("USER_AFTER_TOOL", path, "Words stand beside results.", i=index, block="result")

    def _named(self, index: int, content: list[Any], role: str) -> None:
        for place in documents_in(index, content):
            if not isinstance(place.block["document"], dict):
                raise not_an_object(place.block["document"], f"{place.path}.document")
            name = place.name
            if not fits(name):
                self.add("DOCUMENT_NAME", place.path, f"The document's name {name!r} may not be sent.", i=index, j=place.j)
            elif name in self._documents:
                self.add("DOCUMENT_NAME", place.path, f"A document before has the name {name!r}.", i=index, j=place.j)
            self._documents.add(str(name))
        if role == "user" and stands_alone(content):
            self.add("DOCUMENT_ALONE", f"messages[{index}]", "A document stands without a text beside it.", i=index)


def _is_words(block: object) -> bool:
    """Whether it is a text in which nothing is wrong."""
    if type(block) is not dict or len(block) != 1:
        return False
    text = block.get("text")
    return isinstance(text, str) and bool(text) and not text.isspace()


def _says_something(content: object) -> bool:
    return bool(content) if not isinstance(content, list) else any(not is_a(b, "text") or b["text"] for b in content)
