"""Who reads Chat Completions: OpenAI and those who copied them, each a row of what it takes.

The word behind the colon of a target names a row, and a model may follow it: `openai-chat:vllm:google/gemma-3-27b-it`.
Any other word is a model: of OpenAI's own where it is named so, else of whoever makes models of that name, else of a copy
of which nothing more is known. `Limits.rules` says which rule stands for which finding there.
"""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple

import msgspec

from suture.formats.limits import Limits

_openai = partial(Limits, id_length=40, images_in_results=False, error_mark=False)
_copy = partial(_openai, developer=False, functions=False)

OPENAI = _openai(description_length=1024)

_KIMI = _copy(
    reasoning="text",
    reasoning_field=".",
    thinking=r"thinking|k2\.[5-9]",
    unthinking="moonshot-v1|kimi-k2-(0711|0905|turbo|instruct)|kimi-latest",
    rules={"REASONING_FIELD_MISSING": "KIMI-REASONING", "RESULT_ORPHAN": "KIMI-ID"},
)
_NULL = {"CONTENT_NULL": "OAI-NULL-DIALECT"}
_ROUTED = {"TEXT_EMPTY": "XAI-CONTENT", "MESSAGE_EMPTY": "XAI-CONTENT"}

# A chat template that wants user and assistant in turn, with at most one system message before them.
_TEMPLATE = _copy(
    system="one",
    first_user=True,
    alternate=True,
    user_after_result=False,
    prefill=False,
    text_lists=False,
    rules={"SYSTEM_MISPLACED": "TMPL-ALTERNATE"},
)

DIALECTS: dict[str, Limits] = {
    "azure": OPENAI,
    "compatible": _copy(),
    "deepseek": _copy(
        reasoning="text",
        reasoning_field="",
        thinking="reasoner|thinking|speciale|-r1",
        unthinking="^deepseek-(chat|coder)$",
    ),
    "kimi": _KIMI,
    "moonshot": _KIMI,
    "qwen": _copy(rules={"CALL_UNANSWERED": "QWEN-PAIR", "RESULT_DISPLACED": "QWEN-PAIR"}),
    "glm": _copy(needs_user=True, rules={"ID_DUPLICATE": "GLM-1214", "MESSAGE_EMPTY": "GLM-1214", "NO_USER": "GLM-1214"}),
    "minimax": _copy(
        system="first", schemas="given", rules={"RESULT_ORPHAN": "MM-TOOLID", "RESULT_DUPLICATE": "MM-TOOLID"}
    ),
    "groq": _copy(
        text_lists=False,
        fields=frozenset(("name", "tool_calls", "tool_call_id")),
        tools="listed",
        rules={"FIELD_UNKNOWN": "GRQ-UNKNOWN-PROP"},
    ),
    "xai": _copy(silent=False, rules=_ROUTED),
    "together": _copy(),
    "openrouter": _copy(
        id_pattern="^[a-zA-Z0-9_-]+$",
        ids_unique_in="history",
        silent=False,
        rules=_ROUTED | {"ID_CHARS": "ORT-ID", "ID_REUSED": "ORT-ID"},
    ),
    "perplexity": _copy(system="first", first_user=True, alternate=True, rules={"SYSTEM_MISPLACED": "TMPL-ALTERNATE"}),
    "vllm": _copy(rules={"ARGS_UNPARSABLE": "VLLM-ARGS-JSON"}),
    "llamacpp": _copy(rules={"ARGS_UNPARSABLE": "LCPP-ARGS-JSON"}),
    "lmstudio": _copy(bare_calls="text", rules=_NULL),
    "ollama": _copy(bare_calls="text", schemas="maps", rules=_NULL | {"SCHEMA_UNSUPPORTED": "OLC-CONTENT"}),
    "nim": _copy(bare_calls="null", rules={"TEXT_EMPTY": "OAI-NULL-DIALECT"}),
    "strict-template": _TEMPLATE,
    "cohere": _copy(
        silent=False,
        rules={
            "CALL_UNANSWERED": "COH-CALL",
            "RESULT_DISPLACED": "COH-CALL",
            "TEXT_EMPTY": "COH-EMPTY",
            "MESSAGE_EMPTY": "COH-EMPTY",
        },
    ),
    "ollama-native": _copy(
        id_length=None,
        ids_needed=False,
        arguments="object",
        text_lists=False,
        images_apart=True,
        results_ordered=True,
        rules={
            "ARGS_TYPE": "OLL-ARGS-OBJ",
            "ARGS_NOT_OBJECT": "OLL-ARGS-OBJ",
            "ARGS_UNPARSABLE": "OLL-ARGS-OBJ",
            "CONTENT_SHAPE": "OLL-CONTENT-STR",
            "RESULT_ORDER": "OLL-ORDER",
        },
    ),
}

# Servers that answer Chat Completions for OpenAI's own SDK, and are not OpenAI's.
COPIES = frozenset(DIALECTS) - {"azure", "ollama-native"}


class Served(NamedTuple):
    """What holds for the models of that name where one of those dialects serves them by their chat template."""

    dialects: frozenset[str]
    models: str
    limits: Limits


SERVED: tuple[Served, ...] = (
    Served(
        frozenset(("vllm", "llamacpp", "lmstudio", "compatible")),
        "(?i)gemma|mistral|mixtral|ministral|llama-?2|zephyr",
        _TEMPLATE,
    ),
)


# OpenAI's own models; gpt-oss is served by others.
_OWN = re.compile(r"(?:openai/|ft:)?(?:gpt-(?!oss)|o\d|chatgpt-|codex|computer-use)", re.IGNORECASE)
# What the names of a maker's models hold, and the row that is theirs.
_MAKERS: tuple[tuple[str, str], ...] = (
    ("deepseek", "deepseek"),
    ("kimi|moonshot", "kimi"),
    ("qwen|qwq", "qwen"),
    ("glm", "glm"),
    ("minimax", "minimax"),
    ("grok", "xai"),
    ("sonar", "perplexity"),
    ("command-", "cohere"),
)


def limits_of(variant: str) -> Limits:
    """What that dialect or model takes."""
    dialect, _, model = variant.partition(":")
    row = DIALECTS.get(dialect)
    if row is None and (not variant or _OWN.match(variant)):
        return msgspec.structs.replace(OPENAI, model=variant or None)
    if row is None:
        model = variant
        dialect = next((row for names, row in _MAKERS if re.search(names, variant, re.IGNORECASE)), "")
        row = DIALECTS[dialect or "compatible"]
    for served in SERVED if model else ():
        if dialect in served.dialects and re.search(served.models, model):
            row = _both(row, served.limits)
    if model and row.unthinking and re.search(row.unthinking, model):
        row = msgspec.structs.replace(row, reasoning_field=None)
    return msgspec.structs.replace(row, model=model or None)


def _both(row: Limits, more: Limits) -> Limits:
    """The row, with all that the other limits say beside what every copy has."""
    plain, changes = _copy(), {}
    for name in Limits.__struct_fields__:
        if name != "rules" and getattr(more, name) != getattr(plain, name):
            changes[name] = getattr(more, name)
    return msgspec.structs.replace(row, **changes, rules={**more.rules, **row.rules})
