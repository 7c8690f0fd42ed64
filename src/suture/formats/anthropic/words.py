"""What Anthropic's own tools did, in a few words, for whoever cannot take the blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

_LONGEST_INPUT = 200
_MOST_SOURCES = 5
_LONGEST = 1000


def summary(call: Mapping[str, object], result: Mapping[str, object] | None) -> str:
    """The tool's name, what it was asked where that is short, and what it found: titles and addresses, or plain output.

    What is encrypted, ids, and pages in full are not in it.
    """
    name = str(call.get("name") or call.get("type"))
    server = f" of {call['server_name']}" if isinstance(call.get("server_name"), str) else ""
    asked = _asked(call.get("input"))
    begin = f"[Used the tool {name}{server}{asked}"
    if result is None:
        return f"{begin}; no result of it was recorded.]"
    found = "; ".join(_found(result.get("content")))[:_LONGEST]
    return f"{begin}: {found}]" if found else f"{begin}.]"


def _asked(given: object) -> str:
    if not isinstance(given, Mapping) or not given:
        return ""
    text = str(given["query"]) if set(given) == {"query"} else json.dumps(given, ensure_ascii=False)
    return f" ({text})" if len(text) <= _LONGEST_INPUT else ""


def _found(content: object) -> Iterator[str]:
    """Sources of a list, output of code, the code of an error, the tools of a search."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for item in content[:_MOST_SOURCES]:
            yield from _item(item)
        if len(content) > _MOST_SOURCES:
            yield f"and {len(content) - _MOST_SOURCES} more"
    elif isinstance(content, Mapping):
        yield from _item(content)


def _item(item: object) -> Iterator[str]:
    if not isinstance(item, Mapping):
        return
    title, url = item.get("title"), item.get("url")
    if isinstance(url, str):
        yield f"{title} ({url})" if isinstance(title, str) else url
        return
    for key in ("text", "stdout", "stderr", "error_code"):
        if isinstance(text := item.get(key), str) and text:
            yield text if key != "error_code" else f"failed with {text}"
    references = item.get("tool_references")
    for each in references if isinstance(references, list) else ():
        if isinstance(each, Mapping) and isinstance(each.get("tool_name"), str):
            yield str(each["tool_name"])
