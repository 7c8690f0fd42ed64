"""A request to Anthropic's Messages within the rules that are not about its history alone."""

from __future__ import annotations

from suture.formats.anthropic.blocks import is_a, marks, without_marks
from suture.formats.anthropic.check import MAX_CACHE_MARKS
from suture.formats.anthropic.servers import names_found, names_offered
from suture.formats.anthropic.thinking import is_thought
from suture.formats.anthropic.tools import with_offers
from suture.formats.base import Json, Offer, Settled
from suture.formats.limits import Limits
from suture.formats.wire import rest

GONE = "No longer available."

_MARK = frozenset(("cache_control",))


def settle(request: Json, limits: Limits) -> tuple[Json, list[Settled]]:
    """The request with marks for the cache where they may stand and no more than that, with the tools that it refers to,
    and with neighbours joined where those are refused. Of marks, those of tools and system stay, then the latest.
    """
    unmarked: list[Settled] = []
    paths: list[str] = []
    if marks(request):
        request, unmarked = _without_marks_on_thoughts(request)
        request, paths = without_marks(request, MAX_CACHE_MARKS)
    request, defined = _with_found_tools(request)
    request, joined = _joined(request) if limits.alternate else (request, [])
    fewer = [Settled("CACHE_MARKS", path, "took the mark for the cache away") for path in paths]
    return request, [*unmarked, *fewer, *defined, *joined]


def _without_marks_on_thoughts(request: Json) -> tuple[Json, list[Settled]]:
    done: list[Settled] = []
    messages = list(request["messages"])
    for index, message in enumerate(messages):
        content = message.get("content")
        if not isinstance(content, list):
            continue
        marked = [at for at, block in enumerate(content) if "cache_control" in block and is_thought(block)]
        action = "took the mark for the cache off the thinking"
        done += [Settled("CACHE_MARKS", f"messages[{index}].content[{at}]", action, case="empty") for at in marked]
        if marked:
            fresh = [rest(block, _MARK) if at in marked else block for at, block in enumerate(content)]
            messages[index] = {**message, "content": fresh}
    return ({**request, "messages": messages}, done) if done else (request, [])


def _with_found_tools(request: Json) -> tuple[Json, list[Settled]]:
    """The request with a stub for each tool that a search found and that is not defined any more."""
    offered = names_offered(request)
    if offered is None:
        return request, []
    missing = [name for name in names_found(request["messages"]) if name not in offered]
    if not missing:
        return request, []
    done = [Settled("TOOL_REFERENCE", "tools", f"defined {name!r} as a stub", GONE) for name in missing]
    return with_offers(request, [Offer(name, GONE) for name in missing]), done


# Neighbours -----------------------------------------------------------------------------------


def _joined(request: Json) -> tuple[Json, list[Settled]]:
    """The request without neighbours of one role; of thoughts the passes keep others away."""
    runs: list[list[Json]] = []
    done: list[Settled] = []
    for index, message in enumerate(request["messages"]):
        before = runs[-1][-1] if runs else None
        if before and before["role"] == message["role"] and not (_thinks(before) or _thinks(message)):
            runs[-1].append(message)
            done.append(Settled("ROLE_REPEAT", f"messages[{index}]", "joined the message with the one before"))
        else:
            runs.append([message])
    return ({**request, "messages": [_one(run) for run in runs]}, done) if done else (request, [])


def _one(run: list[Json]) -> Json:
    """Messages as one, with results before everything else; of further keys the first counts."""
    if len(run) == 1:
        return run[0]
    blocks = [block for message in run for block in _blocks(message)]
    results = [block for block in blocks if is_a(block, "tool_result")]
    others = [block for block in blocks if not is_a(block, "tool_result")]
    keys = {key: value for message in reversed(run) for key, value in message.items()}
    return {**keys, "content": [*results, *others]}


def _blocks(message: Json) -> list[Json]:
    content = message.get("content")
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _thinks(message: Json) -> bool:
    return any(is_thought(block) for block in _blocks(message))
