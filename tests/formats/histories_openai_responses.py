"""Nasty lists of Responses items: strays, displaced, doubled and mismatched outputs, reasoning that led to nothing, ids
that are bad, doubled or refer to nothing, empty messages, fields that no request has.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]
Items = list[Json]

IDS = st.sampled_from(["a", "b", "c", "a_2", ""])
ODD_IDS = st.sampled_from(["a", "b", "i" * 65, "a|fc_1", "b|fc_2", ""])
ARGUMENTS = st.sampled_from(["{}", '{"n":1}', '{"n":2}'])
ODD_ARGUMENTS = st.sampled_from(["", '{"n":', "[1]", None, {"n": 1}, '{"n":"\\ud83d"}'])
WORDS = st.sampled_from(["ok", "and?", "", "  ", "No result provided"])
RESULTS = st.integers(0, 9).map(lambda n: f"result {n}") | st.sampled_from(["", "aborted"])
NAMES = st.sampled_from(["f", "g"])
KINDS = st.sampled_from(["function_call", "function_call", "custom_tool_call"])
MORE_KINDS = st.sampled_from(["local_shell_call", "shell_call", "apply_patch_call", "computer_call", "tool_search_call"])
PICTURE = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"}
SCREEN = {"type": "computer_screenshot", "file_id": "file-1"}


def item_ids(prefix: str) -> st.SearchStrategy[Any]:
    """Ids of items: good ones that come back, and such as may not be sent."""
    return st.sampled_from([f"{prefix}_1", f"{prefix}_2", f"{prefix}_3", "item_1", "", "x" * 65, f"{prefix}_1!"])


@st.composite
def call(
    draw: st.DrawFn, ids: st.SearchStrategy[Any], arguments: st.SearchStrategy[Any], kinds: st.SearchStrategy[str]
) -> Json:
    kind = draw(kinds)
    made: Json = {"type": kind, "call_id": draw(ids)}
    if kind == "function_call":
        made |= {"name": draw(NAMES), "arguments": draw(arguments)}
    elif kind == "custom_tool_call":
        made |= {"name": draw(NAMES), "input": draw(WORDS)}
    elif kind == "apply_patch_call":
        made |= {"operation": {"type": "delete_file", "path": "a"}, "status": "completed"}
    elif kind == "tool_search_call":
        made |= {"arguments": {"query": "x"}, "execution": "client"}
    else:
        made |= {"action": {"type": "exec", "command": ["ls"], "env": {}}}
    return draw(with_id(made, {"function_call": "fc", "custom_tool_call": "ctc"}.get(kind, kind[:2])))


def with_id(item: Json, prefix: str) -> st.SearchStrategy[Json]:
    return st.just(item) | item_ids(prefix).map(lambda id: {**item, "id": id})


@st.composite
def output(draw: st.DrawFn, ids: st.SearchStrategy[Any], kinds: st.SearchStrategy[str]) -> Json:
    kind, said = draw(kinds), draw(RESULTS)
    made: Json = {"type": f"{kind}_output", "call_id": draw(ids)}
    if kind == "shell_call":
        return {**made, "output": [{"stdout": said, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]}
    if kind == "apply_patch_call":
        return {**made, "status": "completed", "output": said}
    if kind == "computer_call":
        return {**made, "output": SCREEN}
    if kind == "tool_search_call":
        return {**made, "type": "tool_search_output", "execution": "client", "status": "completed", "tools": []}
    if kind == "local_shell_call":
        return {**made, "id": made["call_id"], "output": said}
    shapes: list[Any] = [said, said, [{"type": "input_text", "text": said}, PICTURE], None]
    shape = draw(st.sampled_from(shapes))
    return made if shape is None else {**made, "output": shape}


def said(role: str) -> st.SearchStrategy[Json]:
    kind = "output_text" if role == "assistant" else "input_text"
    part = WORDS.map(lambda text: {"type": kind, "text": text})
    content = WORDS | st.lists(part, max_size=2)
    message = st.fixed_dictionaries({"type": st.just("message"), "role": st.just(role), "content": content})
    plain = st.fixed_dictionaries({"role": st.just(role), "content": content})
    return (message | plain).flatmap(lambda item: with_id(item, "msg"))


def reasoning() -> st.SearchStrategy[Json]:
    more: dict[str, st.SearchStrategy[Any]] = {
        "id": item_ids("rs"),
        "encrypted_content": st.sampled_from(["gAAAAABo", "no token", None]),
    }
    summary = st.sampled_from([[], [{"type": "summary_text", "text": "hm"}]])
    whole = st.fixed_dictionaries({"type": st.just("reasoning"), "summary": summary}, optional=more)
    return whole | st.just({"type": "reasoning", "id": "rs_9"})


def kept() -> st.SearchStrategy[Json]:
    """What only the provider understands."""
    return st.sampled_from(
        [
            {"type": "web_search_call", "id": "ws_1", "status": "completed"},
            {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
            {"type": "compaction", "encrypted_content": "gAAAAABo"},
            {"type": "from_the_future", "what": 1},
        ]
    )


def item(ids: st.SearchStrategy[Any], arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    """One item."""
    some = st.one_of(call(ids, arguments, KINDS), call(ids, arguments, KINDS), output(ids, KINDS), output(ids, KINDS))
    others = st.one_of(said("user"), said("developer"), said("assistant"), reasoning(), kept())
    return st.one_of(some, some, others, call(ids, arguments, MORE_KINDS), output(ids, MORE_KINDS))


def items() -> st.SearchStrategy[Items]:
    """Lists of items: anything at all, the same with odd ids and arguments, and turns with one thing wrong."""
    plain, odd = item(IDS, ARGUMENTS), item(ODD_IDS, ARGUMENTS | ODD_ARGUMENTS)
    return st.lists(plain, max_size=8) | st.lists(odd, max_size=6) | sound()


def sound() -> st.SearchStrategy[Items]:
    """Turns in which everything has its place, and then one item of them moved, doubled or dropped."""
    sizes = st.lists(st.integers(0, 3), min_size=1, max_size=4)
    return sizes.map(lambda each: turns(each)).flatmap(_disturbed)


def turns(sizes: list[int]) -> Items:
    """A turn for each size, with that many calls and their outputs."""
    out: Items = []
    for turn, size in enumerate(sizes):
        out.append({"type": "message", "role": "user", "content": f"question {turn}"})
        out.append({"type": "reasoning", "id": f"rs_{turn}", "summary": [], "encrypted_content": f"gAAAAABo{turn}"})
        ids = [f"c{turn}_{n}" for n in range(size)]
        for id in ids:
            out.append({"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": "f", "arguments": "{}"})
        out += [{"type": "function_call_output", "call_id": id, "output": f"result of {id}"} for id in ids]
        content = [{"type": "output_text", "text": "yes", "annotations": []}]
        out.append({"type": "message", "id": f"msg_{turn}", "role": "assistant", "content": content, "status": "completed"})
    return out


def _disturbed(given: Items) -> st.SearchStrategy[Items]:
    places = st.integers(0, len(given) - 1)
    return st.one_of(
        st.just(given),
        places.map(lambda at: given[:at] + given[at + 1 :]),
        places.map(lambda at: [*given[: at + 1], *given[at:]]),
        st.tuples(places, places).map(lambda pair: _moved(given, *pair)),
    )


def _moved(given: Items, start: int, end: int) -> Items:
    left = given[:start] + given[start + 1 :]
    return [*left[:end], given[start], *left[end:]]
