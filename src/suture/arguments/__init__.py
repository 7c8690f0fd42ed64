"""The arguments of a call as a model wrote them: read strictly (`parse`), or with the slips of a complete text mended
(`mend`).

Nothing is guessed either way: a text that was cut off, or could mean two things, is refused with a reason.
"""

from suture.arguments.sloppy import Mended, Slip, mend
from suture.arguments.strict import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_LENGTH,
    MAX_NODES,
    MAX_NUMBER,
    Parsed,
    Problem,
    Unreadable,
    bounded_copy,
    is_small,
    kind_of,
    parse,
    plain,
    value_of,
    whole_copy,
)
from suture.arguments.surroundings import Callee

__all__ = [
    "MAX_DEPTH",
    "MAX_DIGITS",
    "MAX_LENGTH",
    "MAX_NODES",
    "MAX_NUMBER",
    "Callee",
    "Mended",
    "Parsed",
    "Problem",
    "Slip",
    "Unreadable",
    "bounded_copy",
    "is_small",
    "kind_of",
    "mend",
    "parse",
    "plain",
    "value_of",
    "whole_copy",
]
