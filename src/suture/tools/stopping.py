"""How providers say that a model's answer did not come to its own end, so that a call in it may not be whole."""

from __future__ import annotations

import re
from enum import Enum

from suture.arguments import kind_of
from suture.errors import ConfigurationError

# Cut off by a limit; withheld or broken off by a filter; or broken by a failure, or by whoever stopped it.
_CUT_OFF = (
    *("length", "max_tokens", "max_output_tokens", "max_completion_tokens", "max_new_tokens", "max_length", "token_limit"),
    *("model_length", "model_context_window_exceeded", "context_length_exceeded", "context_window_exceeded", "incomplete"),
    *("error_limit", "insufficient_system_resource", "truncated", "repetition_truncation"),
    *("content_filter", "content_filtered", "refusal", "safety", "sensitive", "guardrail_intervened", "recitation"),
    *("prohibited_content", "spii", "blocklist", "language", "image_safety", "image_prohibited_content"),
    *(
        "image_recitation",
        "image_other",
        "error_toxic",
        "content_policy",
        "content_policy_violation",
        "moderation",
        "blocked",
    ),
    *("malformed_function_call", "malformed_tool_use", "malformed_tool_call", "malformed_model_output"),
    *("malformed_response", "unexpected_tool_call", "too_many_tool_calls", "missing_thought_signature", "other"),
    *("error", "server_error", "engine_error", "network_error", "connection_error", "failed", "failure", "timeout"),
    *("timed_out", "abort", "aborted", "cancel", "cancelled", "canceled", "user_cancelled", "user_canceled", "user_abort"),
    *("interrupted", "interrupt", "disconnected", "preempted", "expired"),
)
_NOT_LETTERS = re.compile(r"[\W_]+")
# What the enums of some APIs write before each of their values, and a member of an SDK's enum, written out.
_PREFIX = re.compile(r"(?:finish|stop)reason")
_MEMBER = re.compile(r"<?(?:[A-Za-z]\w*\.)+(\w+)(?:: .*>)?", re.DOTALL)


def _folded(word: str) -> str:
    return _PREFIX.sub("", _NOT_LETTERS.sub("", word).lower(), count=1)


_BY_LETTERS = {_folded(word): word for word in _CUT_OFF}


def cut_off(reason: object) -> str | None:
    """The word for why an answer ended early, in small letters; None when it came to its own end, or nothing is known.

    `reason` is a provider's word in any case, or a member of an SDK's enum, as such or written out.

    Raises:
        ConfigurationError: it is neither.
    """
    if reason is None:
        return None
    if isinstance(reason, Enum):
        reason = reason.value if isinstance(reason.value, str) else reason.name
    if not isinstance(reason, str):
        raise ConfigurationError(
            f"stop_reason is why the model's turn ended, as the provider says it: a text such as 'length', "
            f"or None when it is not known; not {kind_of(reason)}."
        )
    member = _MEMBER.fullmatch(reason.strip())
    return _BY_LETTERS.get(_folded(member[1] if member else reason))
