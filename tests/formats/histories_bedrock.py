"""Nasty histories of Bedrock's Converse: what the other formats' hold, and odd shapes of blocks besides."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.formats.histories import IDS, INPUTS, NAMES, ODD_IDS, ODD_INPUTS, WORDS, History, Json

RESULTS = st.integers(0, 9).map(lambda n: f"result {n}") | st.sampled_from(["", "aborted", "[Tool use interrupted]"])
PICTURE: Json = {"image": {"format": "png", "source": {"bytes": "iVBORw0KGgo="}}}
MARK: Json = {"cachePoint": {"type": "default"}}
SIGNED: Json = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}}
THOUGHTS: list[Json] = [
    SIGNED,
    {"reasoningContent": {"reasoningText": {"text": "unsigned"}}},
    {"reasoningContent": {"redactedContent": "b3BhcXVl"}},
    {"reasoningContent": {"text": "in the wrong place"}},
]


def document(name: str) -> Json:
    return {"document": {"format": "pdf", "name": name, "source": {"bytes": "JVBERi0="}}}


def call(ids: st.SearchStrategy[str], inputs: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    inner = st.fixed_dictionaries({"toolUseId": ids, "name": NAMES, "input": inputs})
    return inner.map(lambda use: {"toolUse": use})


def result(ids: st.SearchStrategy[str], *, odd: bool) -> st.SearchStrategy[Json]:
    part: st.SearchStrategy[Json] = RESULTS.map(lambda words: {"text": words}) | st.just({"json": {"n": 1}})
    contents: st.SearchStrategy[Any] = st.lists(part, min_size=1, max_size=2)
    if odd:
        odd_part = part | st.sampled_from([{"json": [1, 2]}, {"type": "text", "text": "typed"}, PICTURE, document("a.b")])
        contents = st.lists(odd_part, max_size=3) | RESULTS
    inner = st.fixed_dictionaries(
        {"toolUseId": ids, "content": contents}, optional={"status": st.sampled_from(["error", "success"])}
    )
    return inner.map(lambda given: {"toolResult": given})


def messages(*, odd: bool) -> st.SearchStrategy[Json]:
    ids, inputs = (ODD_IDS, INPUTS | ODD_INPUTS) if odd else (IDS, INPUTS)
    text = WORDS.map(lambda words: {"text": words})
    calls, results = call(ids, inputs), result(ids, odd=odd)
    said = [text, calls, calls, st.sampled_from(THOUGHTS)]
    heard = [text, results, results, st.just(MARK)]
    if odd:
        shapes: list[Json] = [{"type": "text", "text": "typed"}, {"text": "x", "cachePoint": None}, {}, {"hologram": {}}]
        said += [st.sampled_from(shapes)]
        heard += [st.sampled_from([*shapes, PICTURE, document("a.b"), document("a"), {"text": "x", **PICTURE}]), calls]
    return st.one_of(
        message("user", st.lists(st.one_of(heard), max_size=4) | (WORDS if odd else st.nothing())),
        message("assistant", st.lists(st.one_of(said), max_size=4) | (WORDS if odd else st.nothing())),
        message("assistant", st.lists(calls, min_size=1, max_size=2)),
        message("user", st.lists(results, min_size=1, max_size=2)),
        message("system", st.just([{"text": "be kind"}])) if odd else st.nothing(),
    )


def message(role: str, content: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({"role": st.just(role), "content": content})


def histories() -> st.SearchStrategy[History]:
    """Histories; every other one also with odd ids, inputs and shapes."""
    return st.lists(messages(odd=False), max_size=8) | st.lists(messages(odd=True), max_size=6)
