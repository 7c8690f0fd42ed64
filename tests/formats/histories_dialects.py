"""Histories of Chat Completions with all that its copies differ in: reasoning fields, content as null, text or list, pictures,
system text anywhere, functions of old, unknown fields and roles.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tests.formats.histories import ARGUMENTS, ODD_ARGUMENTS, ODD_IDS, RESULTS, WORDS, History, Json, openai_call

TEXTS = st.lists(st.sampled_from([{"type": "text", "text": "hm"}, {"type": "text", "text": "so"}]), max_size=2)
PICTURES = st.sampled_from(
    [
        [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}],
        [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}],
    ]
)
FIELDS = {
    "reasoning_content": st.sampled_from(["", "thought", None]),
    "reasoning": st.just("thought"),
    "refusal": st.none(),
    "name": st.just("ada"),
}


def _message() -> st.SearchStrategy[Json]:
    calls = st.lists(openai_call(ODD_IDS, ARGUMENTS | ODD_ARGUMENTS), min_size=1, max_size=3)
    words = WORDS | TEXTS
    role = st.sampled_from(["system", "developer"])
    result = st.fixed_dictionaries(
        {"role": st.just("tool"), "tool_call_id": ODD_IDS, "content": RESULTS | TEXTS | PICTURES | st.none()}
    )
    legacy = st.fixed_dictionaries({"name": st.sampled_from(["f", "g"]), "arguments": ARGUMENTS | ODD_ARGUMENTS})
    return st.one_of(
        st.fixed_dictionaries({"role": st.just("user"), "content": words | PICTURES}, optional={"tool_calls": calls}),
        st.fixed_dictionaries({"role": role, "content": words}),
        st.fixed_dictionaries({"role": st.just("assistant"), "content": words | st.none()}, optional=FIELDS),
        st.fixed_dictionaries(
            {"role": st.just("assistant"), "content": words | st.none(), "tool_calls": calls}, optional=FIELDS
        ),
        result,
        result,
        st.fixed_dictionaries({"role": st.just("assistant"), "content": st.none(), "function_call": legacy}),
        st.fixed_dictionaries({"role": st.just("function"), "name": st.sampled_from(["f", "g"]), "content": RESULTS}),
        st.fixed_dictionaries({"role": st.just("narrator"), "content": WORDS}),
    )


def histories_dialects() -> st.SearchStrategy[History]:
    """Histories with something for every dialect."""
    return st.lists(_message(), max_size=7)
