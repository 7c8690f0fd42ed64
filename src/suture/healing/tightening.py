"""What a target is taken to want once it has refused a request by a rule: its limits, tightened by what the rule says.

For servers that were not known for what they are: a copy under an address of its own, a relay before another provider.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from suture.formats.limits import Limits

_ALTERNATE: Mapping[str, Any] = {"alternate": True}
_LAST: Mapping[str, Any] = {"prefill": False}
_NO_REASONING: Mapping[str, Any] = {"reasoning": "none"}
_BRIDGED: Mapping[str, Any] = {"user_after_result": False}
_APART: Mapping[str, Any] = {"text_with_calls": False, "user_after_result": False}
_LETTERS = "^[a-zA-Z0-9_-]+$"

# By rule, the limits that hold where it does. Rules whose own format has them as limits already need no row.
_ROWS: Mapping[str, Mapping[str, Any]] = {
    "OAI-DEV-ROLE": {"developer": False},
    "OAI-LEGACY-FUNCTION": {"functions": False},
    "OAI-NULL-DIALECT": {"bare_calls": "text", "text_lists": False},
    "OAI-REASONING": _NO_REASONING,
    "GRQ-UNKNOWN-PROP": {"fields": frozenset(("name",)), **_NO_REASONING},
    "TMPL-ALTERNATE": {"alternate": True, "system": "one"},
    "TMPL-LAST": _LAST,
    "GLM-1214": {"needs_user": True, "ids_unique_in": "history", "silent": False},
    "DS-REASONING": {"reasoning": "text", "reasoning_field": ""},
    "KIMI-REASONING": {"reasoning": "text", "reasoning_field": "."},
    "MIS-ID-9": {"id_pattern": "^[a-zA-Z0-9]{9}$"},
    "MIS-TOOL-THEN-USER": _BRIDGED,
    "MIS-LAST-ROLE": _LAST,
    "MIS-EITHER": {"text_with_calls": False, "silent": False},
    "ANT-ID-PATTERN": {"id_pattern": _LETTERS, "ids_unique_in": "history"},
    "ANT-DUP-USE-ID": {"ids_unique_in": "history"},
    "ANT-EMPTY-TEXT": {"blank_text": False},
    "ANT-BLANK-TEXT": {"blank_text": False},
    "ANT-ALTERNATE": _ALTERNATE,
    "ANT-PREFILL": _LAST,
    "ANT-THINK-SIG-BAD": _NO_REASONING,
    "ANT-THINK-SIG-REQ": _NO_REASONING,
    "ANT-THINK-FROZEN": _NO_REASONING,
    "RSP-ENCRYPTED": _NO_REASONING,
    "GEM-SIG-MISSING": {"signature": "skip_thought_signature_validator", "signature_pattern": ".+"},
    "GEM-LAST-USER": _LAST,
    "BDR-ID-NAME": {"id_pattern": _LETTERS, "id_length": 64},
    "BDR-ALTERNATE": _ALTERNATE,
    "BDR-SAME-TURN": _APART,
    "BDR-REASON-SIG": _NO_REASONING,
}


def can_tighten(rules: Collection[str]) -> frozenset[str]:
    """Those of the rules by which limits can be tightened."""
    return frozenset(rules) & _ROWS.keys()


def tightened(limits: Limits, rules: Collection[str]) -> Limits:
    """The limits of somebody who has refused a request by these rules."""
    for rule in sorted(can_tighten(rules)):
        limits = msgspec.structs.replace(limits, **_ROWS[rule])
    return limits
