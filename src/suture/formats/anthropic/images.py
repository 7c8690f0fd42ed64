"""What is wrong with the pictures of a request to Anthropic's Messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from suture.formats.anthropic.rules import RULE_OF, RULES
from suture.formats.base import Json
from suture.formats.limits import Pictures
from suture.formats.pictures import fault_of, is_wide
from suture.formats.rule import Finding, Severity, finding


class Picture(NamedTuple):
    """A picture's block, and its place; the path is longer inside a result."""

    i: int
    j: int
    path: str
    block: Json


def findings(pictures: list[Picture], limits: Pictures) -> Iterator[Finding]:
    """What would be refused of each, and of so many."""
    wide: list[Picture] = []
    left = len(pictures)
    for picture in pictures:
        source = picture.block.get("source")
        if not isinstance(source, dict) or source.get("type") != "base64":
            continue
        data, media_type = source.get("data"), source.get("media_type")
        text = data if isinstance(data, str) else ""
        fault = fault_of(text, media_type if isinstance(media_type, str) else None, limits)
        if fault is not None:
            left -= fault.certain and not fault.media_type
            facts = {"i": picture.i, "j": picture.j, **fault.facts}
            sentence = f"The picture would be refused: {fault.why}."
            severity: Severity | None = None if fault.certain else "DEG"
            rule = RULES[RULE_OF[fault.code]]
            yield finding(rule, fault.code, picture.path, sentence, facts=facts, severity=severity)
        if (fault is None or not fault.certain or fault.media_type) and is_wide(text, limits.side_of_many):
            wide.append(picture)
    for picture in wide if left > limits.many else ():
        sentence = f"The request has {left} pictures, and this one is more than {limits.side_of_many} pixels wide or high."
        facts = {"i": picture.i, "j": picture.j, "most": limits.side_of_many}
        yield finding(RULES["ANT-IMG-MANY"], "IMAGE_DIMENSION", picture.path, sentence, facts=facts)
