"""Nasty histories in both formats: reused, doubled and blank ids, strays, displaced and split results, placeholder
texts, empty messages and blocks, unsigned thinking, halves of server tools.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]
History = list[Json]

IDS = st.sampled_from(["a", "b", "c", "a_2", ""])
ODD_IDS = st.sampled_from(["a", "b", "a.b", "a b", "i" * 41, ""])
WORDS = st.sampled_from(["ok", "and?", "end ", "", "  ", "No result provided"])
NAMES = st.sampled_from(["f", "g"])
RESULTS = st.integers(0, 9).map(lambda n: f"result {n}") | st.sampled_from(["", "aborted", "[Tool use interrupted]"])
ARGUMENTS = st.sampled_from(["{}", '{"n":1}', '{"n":2}'])
ODD_ARGUMENTS = st.sampled_from(["", '{"n":', "[1]", None, {"n": 1}, '{"n":"\\ud83d"}'])


# A small picture, one under another name, one that is empty, one that is none.
PICTURES = [
    {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
    for media_type, data in (
        ("image/gif", "R0lGODlhAQABAAAAACw="),
        ("image/png", "R0lGODlhAQABAAAAACw="),
        ("image/png", ""),
        ("image/png", "<html>"),
    )
]


@st.composite
def openai_call(draw: st.DrawFn, ids: st.SearchStrategy[str], arguments: st.SearchStrategy[Any]) -> Json:
    function = {"name": draw(NAMES), "arguments": draw(arguments)}
    return {"id": draw(ids), "type": "function", "function": function}


def openai_message(ids: st.SearchStrategy[str], arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    calls = st.lists(openai_call(ids, arguments), min_size=1, max_size=3)
    return st.one_of(
        st.fixed_dictionaries({"role": st.just("user"), "content": WORDS}),
        st.fixed_dictionaries({"role": st.just("system"), "content": st.just("be kind")}),
        st.fixed_dictionaries({"role": st.just("assistant"), "content": WORDS}),
        st.fixed_dictionaries({"role": st.just("assistant"), "content": WORDS | st.none(), "tool_calls": calls}),
        st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": ids, "content": RESULTS}),
        st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": ids, "content": RESULTS}),
    )


def anthropic_message(ids: st.SearchStrategy[str], inputs: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    text = st.fixed_dictionaries({"type": st.just("text"), "text": WORDS})
    call = st.fixed_dictionaries({"type": st.just("tool_use"), "id": ids, "name": NAMES, "input": inputs})
    content = RESULTS | RESULTS.map(lambda words: [{"type": "text", "text": words}])
    result = st.fixed_dictionaries(
        {"type": st.just("tool_result"), "tool_use_id": ids, "content": content}, optional={"is_error": st.booleans()}
    )
    thought = st.sampled_from(
        [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "thinking", "thinking": "unsigned"},
            {"type": "thinking", "thinking": "of others", "signature": "reasoning_content"},
            {"type": "redacted_thinking", "data": "ZGF0YQ==", "cache_control": {"type": "ephemeral"}},
        ]
    )
    server = st.sampled_from(
        [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            {"type": "server_tool_use", "id": "call_9", "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": "call_9", "content": []},
        ]
    )
    picture = st.sampled_from(PICTURES)
    said = st.lists(st.one_of(text, call, call, thought, server), max_size=4)
    heard = st.lists(st.one_of(text, result, result, picture), max_size=4)
    return st.one_of(
        st.fixed_dictionaries({"role": st.just("user"), "content": heard | WORDS}),
        st.fixed_dictionaries({"role": st.just("assistant"), "content": said | WORDS}),
        st.fixed_dictionaries({"role": st.just("assistant"), "content": st.lists(call, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"role": st.just("user"), "content": st.lists(result, min_size=1, max_size=2)}),
    )


INPUTS = st.sampled_from([{}, {"n": 1}, {"n": 2}])
ODD_INPUTS = st.sampled_from(["", '{"n": 1}', '{"n":', [1], None])


def histories(format: str) -> st.SearchStrategy[History]:
    """Histories of that format; every other one also with odd ids and arguments."""
    if format == "openai-chat":
        plain, odd = openai_message(IDS, ARGUMENTS), openai_message(ODD_IDS, ARGUMENTS | ODD_ARGUMENTS)
    else:
        plain, odd = anthropic_message(IDS, INPUTS), anthropic_message(ODD_IDS, INPUTS | ODD_INPUTS)
    return st.lists(plain, max_size=8) | st.lists(odd, max_size=6)


def sound(format: str) -> st.SearchStrategy[History]:
    """Turns in which every call is answered, one id each, and then one of them moved, doubled or dropped."""
    return st.lists(st.integers(0, 3), min_size=1, max_size=4).map(lambda sizes: _turns(format, sizes)).flatmap(_disturbed)


def _turns(format: str, sizes: list[int]) -> History:
    messages: History = []
    for turn, size in enumerate(sizes):
        ids = [f"c{turn}_{n}" for n in range(size)]
        messages += _openai_turn(turn, ids) if format == "openai-chat" else _anthropic_turn(turn, ids)
    return messages


def _openai_turn(turn: int, ids: list[str]) -> History:
    calls = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ids]
    said: Json = (
        {"role": "assistant", "content": None, "tool_calls": calls} if ids else {"role": "assistant", "content": "yes"}
    )
    results: History = [{"role": "tool", "tool_call_id": id, "content": f"result of {id}"} for id in ids]
    return [{"role": "user", "content": f"question {turn}"}, said, *results]


def _anthropic_turn(turn: int, ids: list[str]) -> History:
    calls: History = [{"type": "tool_use", "id": id, "name": "f", "input": {}} for id in ids]
    results: History = [{"type": "tool_result", "tool_use_id": id, "content": f"result of {id}"} for id in ids]
    said: Json = {"role": "assistant", "content": calls or [{"type": "text", "text": "yes"}]}
    heard: History = [{"role": "user", "content": results}] if ids else []
    return [{"role": "user", "content": f"question {turn}"}, said, *heard]


def _disturbed(messages: History) -> st.SearchStrategy[History]:
    places = st.integers(0, len(messages) - 1)
    return st.one_of(
        st.just(messages),
        places.map(lambda at: messages[:at] + messages[at + 1 :]),
        places.map(lambda at: [*messages[: at + 1], *messages[at:]]),
        st.tuples(places, places).map(lambda pair: _moved(messages, *pair)),
    )


def _moved(messages: History, start: int, end: int) -> History:
    left = messages[:start] + messages[start + 1 :]
    return [*left[:end], messages[start], *left[end:]]


def any_history(format: str) -> st.SearchStrategy[History]:
    """Both sorts."""
    return histories(format) | sound(format)
