"""The passes of healing, in their order: each makes one family of rules hold, and reports what it did.

Some make work for those behind them: a text that goes can empty a message, and a message that goes can
bring two of the user's together. What a target takes is data (`Limits`), so that passes know no provider, but for
those that serve what one provider alone has. A pass replaces messages, and never changes one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from suture.healing.calls import IDS, arguments, names, pairs, result_names
from suture.healing.empty import blanks, empties, failures
from suture.healing.fields import fields
from suture.healing.flaws import flaws
from suture.healing.functions import functions
from suture.healing.hollow import hollow
from suture.healing.items import ITEMS, chain, items, led_nowhere
from suture.healing.joined import joined, rejoined
from suture.healing.media import media
from suture.healing.misplaced import misplaced
from suture.healing.neighbours import apart, bridge, neighbours
from suture.healing.order import prefixes, roles, tail
from suture.healing.ordered import ordered
from suture.healing.parts import foreign, order, pictures, reasoning
from suture.healing.servers import server_words, servers
from suture.healing.shapes import pictures_apart, results_as_text, shapes
from suture.healing.signatures import signatures, stand_in_signatures
from suture.healing.thought_fields import MISSING, thought_fields
from suture.healing.thoughts import thoughts
from suture.healing.unsigned import unsigned
from suture.healing.work import Work

Pass: TypeAlias = Callable[[Work], None]

_RESULTS = frozenset(
    (
        "CALL_UNANSWERED",
        "RESULT_ORPHAN",
        "RESULT_DUPLICATE",
        "RESULT_DISPLACED",
        "RESULT_SPLIT",
        "RESULT_NOT_FIRST",
        "RESULT_NOT_PURE",
        "RESULT_NAME_MISMATCH",
        "CALL_NOT_TAIL",
    )
)
_SERVERS = frozenset(
    ("CALL_MISPLACED", "SERVER_CALL_UNPAIRED", "SERVER_RESULT_ORPHAN", "CALLER_DANGLING", "ID_CHARS", "CALL_NOT_TAIL")
)
_THOUGHTS = frozenset(("THINKING_MODIFIED", "THINKING_DISABLED_FINAL"))
_PICTURES = frozenset(("IMAGE_EMPTY", "IMAGE_UNSUPPORTED", "IMAGE_DIMENSION", "IMAGE_BYTES"))
_FLAWS = frozenset(("IMAGE_EMPTY", "IMAGE_SHAPE", "IMAGE_UNSUPPORTED"))
_BLANK = frozenset(("TEXT_EMPTY", "TEXT_BLANK", "RESULT_EMPTY_ERROR", "MESSAGE_EMPTY"))
_EMPTY = (
    _BLANK
    | _SERVERS
    | _THOUGHTS
    | _FLAWS
    | frozenset(("CONTENT_NULL", "FIELD_UNKNOWN", "THINKING_UNSIGNED", "THINKING_FOREIGN", "BLOCK_UNKNOWN"))
)

# Each pass, and the codes of the findings that it mends, or that another pass mends and so makes work for it.
# Who speaks first, last and beside whom is looked at every time.
PASSES: tuple[tuple[Pass, frozenset[str] | None], ...] = (
    (chain, frozenset(("CHAIN_CONFLICT",))),
    (hollow, frozenset(("BLOCK_UNKNOWN", "TEXT_EMPTY", "TEXT_BLANK", "PART_ROLE"))),
    (items, ITEMS),
    (misplaced, frozenset(("CALL_MISPLACED",))),
    (functions, frozenset(("CALL_LEGACY",))),
    (results_as_text, frozenset(("RESULT_SHAPE",))),
    (arguments, frozenset(("CALL_MISPLACED", "ARGS_TYPE", "ARGS_NOT_OBJECT", "ARGS_UNPARSABLE", "SURROGATE_LONE"))),
    (joined, frozenset(("CALL_AFTER_MODEL",))),
    (pairs, IDS | _RESULTS | frozenset(("CALL_MISPLACED",))),
    (ordered, frozenset(("RESULT_ORDER",))),
    (reasoning, frozenset(("THINKING_UNSIGNED", "THINKING_FOREIGN"))),
    (unsigned, frozenset(("SIGNATURE_FORM", "THINKING_FOREIGN"))),
    (thought_fields, frozenset((MISSING,))),
    (thoughts, _THOUGHTS),
    (server_words, frozenset(("BLOCK_UNKNOWN",))),
    (foreign, frozenset(("BLOCK_UNKNOWN", "FIELD_UNKNOWN"))),
    (fields, frozenset(("FIELD_UNKNOWN",))),
    (order, frozenset(("CALL_NOT_TAIL",))),
    (servers, _SERVERS),
    (signatures, frozenset(("SIGNATURE_FORM",))),
    (flaws, _FLAWS),
    (pictures, frozenset(("IMAGE_ROLE",))),
    (media, _PICTURES),
    (pictures_apart, frozenset(("CONTENT_SHAPE",))),
    (apart, frozenset(("TEXT_WITH_TOOL",))),
    (failures, frozenset(("RESULT_EMPTY_ERROR",))),
    (blanks, _BLANK),
    (empties, _EMPTY),
    (led_nowhere, frozenset(("REASONING_DANGLING",))),
    (rejoined, None),
    (roles, None),
    (bridge, None),
    (neighbours, None),
    (prefixes, frozenset(("PREFIX_NOT_LAST",))),
    (tail, None),
    (stand_in_signatures, frozenset(("SIGNATURE_MISSING", "SIGNATURE_FORM"))),
    (shapes, frozenset(("CONTENT_NULL", "TEXT_EMPTY", "CONTENT_SHAPE"))),
    (names, frozenset(("NAME_PATTERN", "TOOLS_MISSING", "NAME_UNDECLARED"))),
    (result_names, None),
)


def run(work: Work) -> None:
    """The passes that mend what is to be mended."""
    for step, codes in PASSES:
        if codes is None or work.wants(codes):
            step(work)
