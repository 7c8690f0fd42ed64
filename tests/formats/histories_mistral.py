"""Nasty histories in Mistral's format: ids of others, doubled and blank ones, strays, the user behind a result, system text
anywhere, thinking, empty messages, a `prefix` that is not the last.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]
History = list[Json]

IDS = st.sampled_from(["aaaaaaaa1", "aaaaaaaa2", "call_1", "call_2", "", "aaaaaaaa1x"])
WORDS = st.sampled_from(["ok", "and?", "", "No result provided"])
RESULTS = st.integers(0, 9).map(lambda n: f"result {n}") | st.sampled_from(["", "aborted"])
ARGUMENTS = st.sampled_from(["{}", '{"n":1}', {"n": 2}, "", '{"n":', "[1]", None])
NAMES = st.sampled_from(["f", "g", "a b"])
TEXT = st.fixed_dictionaries({"type": st.just("text"), "text": st.sampled_from(["hm", "so"])})
THOUGHT = st.just({"type": "thinking", "thinking": [{"type": "text", "text": "let me see"}]})
PICTURE = st.just({"type": "image_url", "image_url": "https://example.org/a.png"})


@st.composite
def _call(draw: st.DrawFn) -> Json:
    return {"id": draw(IDS), "type": "function", "function": {"name": draw(NAMES), "arguments": draw(ARGUMENTS)}}


def _message() -> st.SearchStrategy[Json]:
    said = WORDS | st.lists(st.one_of(TEXT, THOUGHT), min_size=1, max_size=2)
    calls = st.lists(_call(), min_size=1, max_size=3)
    answer = RESULTS | st.lists(TEXT | PICTURE, min_size=1, max_size=2)
    result = st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": IDS, "content": answer})
    return st.one_of(
        st.fixed_dictionaries({"role": st.just("user"), "content": WORDS | st.lists(TEXT | PICTURE, max_size=2)}),
        st.fixed_dictionaries({"role": st.sampled_from(["system", "developer"]), "content": st.just("be kind")}),
        st.fixed_dictionaries({"role": st.just("assistant"), "content": said}, optional={"prefix": st.booleans()}),
        st.fixed_dictionaries({"role": st.just("assistant"), "content": said | st.none(), "tool_calls": calls}),
        result,
        result,
    )


def histories_mistral() -> st.SearchStrategy[History]:
    """Histories of Mistral's."""
    return st.lists(_message(), max_size=8)
