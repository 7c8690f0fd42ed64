"""Compaction: `options` say when and how, `tokens` how long a conversation is, `cut` where its past ends, `summary` what a
model is asked to make of that.
"""

from suture.compaction.cut import cut_of
from suture.compaction.options import Compaction
from suture.compaction.summary import Asked, asked_for, summary_in
from suture.compaction.tokens import context_tokens, is_due, tokens_of

__all__ = ["Asked", "Compaction", "asked_for", "context_tokens", "cut_of", "is_due", "summary_in", "tokens_of"]
