"""What is wrong with the tools that Anthropic runs itself, in a history: their pairs, their ids, and what refers to them.

Their calls and results pair inside one message. One exception: code that calls the client's tools waits for their results,
so its own result comes in a later message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from suture.formats.anthropic.blocks import found_tools, is_a, lonely
from suture.formats.anthropic.rules import RULES
from suture.formats.base import Json
from suture.formats.limits import Limits
from suture.formats.rule import Finding, finding
from suture.formats.wire import text_id

_HEAD = frozenset(("messages", "system"))


class Caller(NamedTuple):
    """A call of the client's tools that code made: its place, its id, and the id of the server tool's call."""

    i: int
    j: int
    id: str
    source: str


class Reference(NamedTuple):
    """A tool that a search found."""

    i: int
    path: str
    name: str


class Servers:
    """What a reading of the request met of server tools; judged when all is read."""

    def __init__(self) -> None:
        self.messages: list[int] = []
        self.callers: list[Caller] = []
        self.references: list[Reference] = []

    def findings(self, request: Json, limits: Limits) -> Iterator[Finding]:
        """Every rule about them that the request breaks."""
        first: dict[str, int] = {}
        if self.messages:
            yield from self._pairs(request, limits, first)
        for caller in self.callers:
            if first.get(caller.source, caller.i + 1) > caller.i:
                yield _dangling(caller)
        yield from self._unknown_tools(request)

    def _pairs(self, request: Json, limits: Limits, first: dict[str, int]) -> Iterator[Finding]:
        messages: list[Json] = request["messages"]
        held = {caller.source for caller in self.callers}
        fits = re.compile(limits.server_ids or "").search
        for index in self.messages:
            content = messages[index]["content"]
            # A paused turn ends in such a call, and goes on when it is sent back.
            is_paused = index == len(messages) - 1 and not any(is_a(block, "tool_use") for block in content)
            for at in lonely(content):
                block = content[at]
                id = text_id(block.get("id") or block.get("tool_use_id"))
                is_call = block["type"].endswith("_tool_use")
                waits = id in held if is_call else id in held and id in first
                if not waits and not (is_call and is_paused):
                    yield _half(index, at, block, id, is_call=is_call)
            for at, block in enumerate(content):
                if is_a(block, "server_tool_use"):
                    id = text_id(block.get("id"))
                    first.setdefault(id, index)
                    if not fits(id):
                        yield _foreign(index, at, id)
                elif is_a(block, "mcp_tool_use") and (known := names_of_servers(request)) is not None:
                    if block.get("server_name") not in known:
                        yield _unserved(index, at, block)
                elif is_a(block, "tool_search_tool_result"):
                    path = f"messages[{index}].content[{at}]"
                    self.references += [Reference(index, path, name) for name in found_tools(block)]

    def _unknown_tools(self, request: Json) -> Iterator[Finding]:
        offered = names_offered(request) if self.references else None
        for reference in self.references if offered is not None else ():
            if reference.name not in (offered or ()):
                sentence = f"A search found the tool {reference.name!r}, which is not among the tools of the request."
                facts: Mapping[str, str | int] = {"i": reference.i, "name": reference.name}
                yield finding(RULES["ANT-TOOLREF"], "TOOL_REFERENCE", reference.path, sentence, facts=facts)


def names_offered(request: Json) -> set[str] | None:
    """The names of a request's tools; None where they are not known, as in a history alone or with a set of tools."""
    if request.keys() <= _HEAD:
        return None
    tools = request.get("tools")
    names = [tool.get("name") if isinstance(tool, dict) else None for tool in tools] if isinstance(tools, list) else []
    known = {name for name in names if isinstance(name, str)}
    return known if len(known) == len(set(map(str, names))) else None


def names_of_servers(request: Json) -> list[object] | None:
    """The names of a request's servers of tools; None where they are not known, as in a history alone."""
    if request.keys() <= _HEAD:
        return None
    servers = request.get("mcp_servers")
    return [each.get("name") for each in servers if isinstance(each, dict)] if isinstance(servers, list) else []


def names_found(messages: list[Json]) -> list[str]:
    """The tools that searches of the history found, also those of the client's own search."""
    found: dict[str, None] = {}
    for message in messages:
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if is_a(block, "tool_search_tool_result"):
                found |= dict.fromkeys(found_tools(block))
            elif is_a(block, "tool_result") and isinstance(block.get("content"), list):
                names = [each.get("tool_name") for each in block["content"] if is_a(each, "tool_reference")]
                found |= dict.fromkeys(name for name in names if isinstance(name, str))
    return list(found)


def _half(i: int, at: int, block: Json, id: str, *, is_call: bool) -> Finding:
    kind, path = str(block["type"]), f"messages[{i}].content[{at}]"
    is_mcp = kind.startswith("mcp_")
    if is_call:
        rule = RULES["ANT-MCP-PAIR" if is_mcp else "ANT-SRV-UNPAIRED"]
        sentence = f"The server tool's call {id!r} has no result in its message."
        facts: Mapping[str, str | int] = {"i": i, "id": id, "block": kind.replace("_tool_use", "_tool_result")}
        return finding(rule, "SERVER_CALL_UNPAIRED", path, sentence, id or None, facts)
    rule = RULES["ANT-MCP-PAIR" if is_mcp else "ANT-SRV-ORPHAN"]
    sentence = f"No call of a server tool in this message asked for the result {id!r}."
    return finding(rule, "SERVER_RESULT_ORPHAN", path, sentence, id or None, {"i": i, "j": at, "id": id, "block": kind})


def _unserved(i: int, at: int, block: Json) -> Finding:
    """What is known of this is inferred, so only a remark."""
    name = block.get("server_name")
    sentence = f"The server {name!r} that the call went to is not among the request's 'mcp_servers'."
    facts: Mapping[str, str | int] = {"i": i, "id": text_id(block.get("id"))}
    rule, path = RULES["ANT-MCP-PAIR"], f"messages[{i}].content[{at}]"
    return finding(rule, "TOOL_REFERENCE", path, sentence, facts=facts, severity="DEG")


def _foreign(i: int, at: int, id: str) -> Finding:
    sentence = f"The id {id!r} of a server tool's call is none that Anthropic gave."
    path = f"messages[{i}].content[{at}]"
    return finding(RULES["ANT-SERVER-ID"], "ID_CHARS", path, sentence, id or None, {"i": i, "j": at, "id": id})


def _dangling(caller: Caller) -> Finding:
    sentence = f"The call says that {caller.source!r} made it, and no such call of a server tool stands before it."
    facts: Mapping[str, str | int] = {"i": caller.i, "j": caller.j, "id": caller.id, "source": caller.source}
    path = f"messages[{caller.i}].content[{caller.j}]"
    return finding(RULES["ANT-CALLER-SRC"], "CALLER_DANGLING", path, sentence, caller.id or None, facts)
