"""Documents of a request to Converse: their names, and the text that stands beside them (BDR-DOC-NAME)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from suture.formats.base import Json, Settled
from suture.formats.bedrock.blocks import is_a

LONGEST = 200
BESIDE = "(see the document)"

# The documentation has no underscore; two live checks say that it is taken (vercel/ai#20366).
_FITS = re.compile(r"(?!.*\s\s)[a-zA-Z0-9_\s()\[\]-]{1,200}\Z", re.ASCII | re.DOTALL)


class Place(NamedTuple):
    """A document: message, block, and block of a result where it stands in one."""

    i: int
    j: int
    nth: int | None
    block: Json

    @property
    def path(self) -> str:
        """Where it stands."""
        inner = "" if self.nth is None else f".toolResult.content[{self.nth}]"
        return f"messages[{self.i}].content[{self.j}]{inner}"

    @property
    def name(self) -> object:
        """What it is called."""
        document = self.block["document"]
        return document.get("name") if isinstance(document, dict) else None


def fits(name: object) -> bool:
    """Whether the name may be sent."""
    return isinstance(name, str) and _FITS.match(name) is not None


def documents_in(index: int, content: object) -> Iterator[Place]:
    """The documents of a message and of the results in it, in order."""
    for j, block in enumerate(content if isinstance(content, list) else ()):
        if is_a(block, "document"):
            yield Place(index, j, None, block)
        elif is_a(block, "toolResult") and isinstance(block["toolResult"], dict):
            inner = block["toolResult"].get("content")
            for nth, part in enumerate(inner if isinstance(inner, list) else ()):
                if is_a(part, "document"):
                    yield Place(index, j, nth, part)


def stands_alone(content: object) -> bool:
    """Whether a message holds a document and no text."""
    blocks = content if isinstance(content, list) else []
    return any(is_a(block, "document") for block in blocks) and not any(is_a(block, "text") for block in blocks)


def with_named_documents(request: Json) -> tuple[Json, list[Settled]]:
    """The request with documents whose names fit and come once, each beside a text, and what was done for that."""
    taken: dict[str, int] = {}
    done: list[Settled] = []
    messages = list(request["messages"])
    for index, message in enumerate(messages):
        content = message.get("content")
        names: dict[tuple[int, int | None], str] = {}
        for place in documents_in(index, content):
            name = _free(place.name, taken)
            if name != place.name:
                names[place.j, place.nth] = name
                action = f"named the document {name!r}"
                done.append(Settled("DOCUMENT_NAME", place.path, action, str(place.name or "")))
        if names:
            touched = {j for j, _ in names}
            content = [_renamed(block, j, names) if j in touched else block for j, block in enumerate(content)]
        if stands_alone(content):
            at = next(j for j, block in enumerate(content) if is_a(block, "document"))
            content = [*content[:at], {"text": BESIDE}, *content[at:]]
            done.append(Settled("DOCUMENT_ALONE", f"messages[{index}]", "put a text beside the document", BESIDE))
        if content is not message.get("content"):
            messages[index] = {**message, "content": content}
    return ({**request, "messages": messages} if done else request), done


def _free(name: object, taken: dict[str, int]) -> str:
    """The name where it fits and is free, else one like it. It depends on what came before alone."""
    wanted = found = name if isinstance(name, str) and fits(name) else _like(name)
    while found in taken:
        taken[wanted] += 1
        found = f"{wanted[: LONGEST - 6]}-{taken[wanted]}"
    taken[found] = 1
    return found


def _like(name: object) -> str:
    plain = re.sub(r"[^a-zA-Z0-9_ ()\[\]-]+", "-", name) if isinstance(name, str) else ""
    return re.sub(" +", " ", plain).strip(" -")[:LONGEST].strip() or "document"


def _renamed(block: Json, j: int, names: dict[tuple[int, int | None], str]) -> Json:
    if (j, None) in names:
        return _with_name(block, names[j, None])
    inner = block["toolResult"]
    parts = [_with_name(part, names[j, nth]) if (j, nth) in names else part for nth, part in enumerate(inner["content"])]
    return {**block, "toolResult": {**inner, "content": parts}}


def _with_name(block: Json, name: str) -> Json:
    document = block["document"]
    return {**block, "document": {**(document if isinstance(document, dict) else {}), "name": name}}
