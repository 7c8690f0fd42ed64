"""Nasty contents of Gemini's: ids that are there, blank, reused or missing, responses in odd places and shapes, parts that
hold nothing or too much, signatures of others, roles that are none, both spellings.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]
History = list[Json]

IDS = st.sampled_from(["a", "b", "a_2"])
WORDS = st.sampled_from(["ok", "and?", " ", "No result provided"])
NAMES = st.sampled_from(["f", "g"])
ODD_NAMES = st.sampled_from(["f", "1st", "my tool", "", "unknown"])
OUTPUTS = st.integers(0, 9).map(lambda n: f"result {n}") | st.sampled_from(["", "aborted"])
RESPONSES = OUTPUTS.map(lambda text: {"output": text}) | st.sampled_from([{"error": "no"}, {"rows": [1, 2]}, {}])
ODD_RESPONSES = st.sampled_from(["plain text", [1, 2], None, 7])
SIGNATURES = st.sampled_from(["c2ln", "c2lnbmVk", "reasoning_content"])
PICTURE: Json = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
HOLLOW: list[Json] = [{}, {"text": ""}, {"text": "", "thoughtSignature": "c2ln"}, {"thoughtSignature": "c2ln"}]
CODE: Json = {"executableCode": {"language": "PYTHON", "code": "1"}}


@st.composite
def call(draw: st.DrawFn, names: st.SearchStrategy[str], *, odd: bool) -> Json:
    made: Json = {"name": draw(names), "args": draw(st.sampled_from([{}, {"n": 1}, {"n": 2}]))}
    if draw(st.booleans()):
        made["id"] = draw(IDS | st.just("") if odd else IDS)
    if odd and draw(st.booleans()):
        made["args"] = draw(st.sampled_from(['{"n": 1}', '{"n":', [1]]))
    part: Json = {draw(st.sampled_from(["functionCall", "function_call"])) if odd else "functionCall": made}
    if draw(st.booleans()):
        part["thoughtSignature"] = draw(SIGNATURES)
    if odd and draw(st.integers(0, 9)) == 0:
        part["text"] = "beside"
    return part


@st.composite
def response(draw: st.DrawFn, names: st.SearchStrategy[str], *, odd: bool) -> Json:
    made: Json = {"name": draw(names), "response": draw(RESPONSES | ODD_RESPONSES if odd else RESPONSES)}
    if draw(st.booleans()):
        made["id"] = draw(IDS | st.just("") if odd else IDS)
    return {draw(st.sampled_from(["functionResponse", "function_response"])) if odd else "functionResponse": made}


def content(*, odd: bool) -> st.SearchStrategy[Json]:
    names = NAMES | ODD_NAMES if odd else NAMES
    text = WORDS.map(lambda words: {"text": words})
    thought = st.just({"text": "hm", "thought": True})
    others = st.sampled_from([*HOLLOW, PICTURE, CODE, {"novelty": {"x": 1}}]) if odd else st.sampled_from([PICTURE, CODE])
    calls, responses = call(names, odd=odd), response(names, odd=odd)
    said = st.lists(st.one_of(text, calls, calls, thought, others), min_size=0 if odd else 1, max_size=4)
    heard = st.lists(st.one_of(text, responses, responses, st.just(PICTURE)), min_size=0 if odd else 1, max_size=4)
    mixed = st.lists(st.one_of(text, calls, responses), max_size=3)
    roles: st.SearchStrategy[Any] = st.sampled_from(["user", "model", "assistant", "function", "oracle", "system", None])
    every = [
        st.fixed_dictionaries({"role": st.just("user"), "parts": heard}),
        st.fixed_dictionaries({"role": st.just("user"), "parts": st.lists(text, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"role": st.just("model"), "parts": said}),
        st.fixed_dictionaries({"role": st.just("model"), "parts": st.lists(calls, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"role": st.just("user"), "parts": st.lists(responses, min_size=1, max_size=2)}),
    ]
    if odd:
        every += [st.fixed_dictionaries({"role": roles, "parts": mixed}), st.fixed_dictionaries({"parts": mixed})]
    return st.one_of(every)


def histories() -> st.SearchStrategy[History]:
    """Histories; every other one also with odd shapes."""
    return st.lists(content(odd=False), max_size=8) | st.lists(content(odd=True), max_size=6)


def sound() -> st.SearchStrategy[History]:
    """Turns in which every call is answered, with or without ids, and then one content of them moved, doubled or dropped."""
    sizes = st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=4)
    return sizes.map(_turns).flatmap(_disturbed)


def _turns(sizes: list[tuple[int, bool]]) -> History:
    contents: History = []
    for turn, (size, has_ids) in enumerate(sizes):
        ids: list[Json] = [{"id": f"c{turn}_{n}"} if has_ids else {} for n in range(size)]
        contents.append({"role": "user", "parts": [{"text": f"question {turn}"}]})
        if not ids:
            contents.append({"role": "model", "parts": [{"text": "yes"}]})
            continue
        calls = [{"functionCall": {"name": "f", "args": {"n": n}, **id}} for n, id in enumerate(ids)]
        results = [
            {"functionResponse": {"name": "f", "response": {"output": f"result {turn}.{n}"}, **id}}
            for n, id in enumerate(ids)
        ]
        contents += [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]
    return contents


def _disturbed(contents: History) -> st.SearchStrategy[History]:
    places = st.integers(0, len(contents) - 1)
    return st.one_of(
        st.just(contents),
        places.map(lambda at: contents[:at] + contents[at + 1 :]),
        places.map(lambda at: [*contents[: at + 1], *contents[at:]]),
        st.tuples(places, places).map(lambda pair: _moved(contents, *pair)),
    )


def _moved(contents: History, start: int, end: int) -> History:
    left = contents[:start] + contents[start + 1 :]
    return [*left[:end], contents[start], *left[end:]]


def any_history() -> st.SearchStrategy[History]:
    """Both sorts."""
    return histories() | sound()
