"""The contract of wire formats, for Mistral's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from suture.testing import FormatContract

Json = dict[str, Any]

ID, OTHER = "zZ9yY8xX7", "aA1bB2cC3"
U = {"role": "user", "content": "and?"}


def call(id: object = ID, arguments: object = '{"n": 1}', name: str = "f") -> Json:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*items: Json, content: object = "", **more: object) -> Json:
    return {"role": "assistant", "content": content, "tool_calls": list(items), **more}


def result(id: object = ID, content: object = "r", **more: object) -> Json:
    return {"role": "tool", "tool_call_id": id, "content": content, **more}


def said_and(*messages: Json) -> Json:
    return {"messages": [{"role": "user", "content": "q"}, *messages]}


PICTURE = {"type": "image_url", "image_url": "https://example.org/a.png"}


class TestMistral(FormatContract):
    """Mistral's Chat Completions."""

    name = "mistral"
    valid: ClassVar[Mapping[str, Json]] = {
        "calls and their results": {
            "model": "mistral-large-latest",
            "messages": [
                {"role": "system", "content": "be kind"},
                {"role": "user", "content": "q"},
                calls(call(), call(OTHER, {"n": 2}), content="look"),
                result(OTHER, "r2", name="f"),
                result(ID, [{"type": "text", "text": "r1"}]),
                calls(call(), content=None),
                result(),
                {"role": "assistant", "content": "done"},
                {"role": "user", "content": "thanks"},
            ],
            "tools": [
                {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}
            ],
        },
        "chunks of every kind": {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "see"},
                        PICTURE,
                        {"type": "image_url", "image_url": {"url": "https://example.org/b.png", "detail": "low"}},
                        {"type": "document_url", "document_url": "https://example.org/a.pdf", "document_name": "a.pdf"},
                        {"type": "document_url", "document_url": "https://example.org/b.pdf"},
                        {"type": "file", "file_id": "f1"},
                        {"type": "input_audio", "input_audio": "AA"},
                        {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
                        {"type": "hologram", "hologram": {"id": "h1"}},
                    ],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                        {"type": "text", "text": "a"},
                        {"type": "reference", "reference_ids": [1]},
                    ],
                },
                {"role": "user", "content": ""},
            ],
        },
        "thinking alone, thinking with calls, and in pieces": {
            "messages": [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
                {"role": "user", "content": "q"},
                calls(
                    call(),
                    content=[
                        {
                            "type": "thinking",
                            "thinking": [{"type": "text", "text": "a"}, {"type": "reference", "reference_ids": [2]}],
                            "closed": True,
                        }
                    ],
                ),
                result(),
            ],
        },
        "an answer to go on with": said_and({"role": "assistant", "content": "It is", "prefix": True}),
    }
    broken: ClassVar[Mapping[str, Json]] = {
        "CALL_UNANSWERED": said_and(calls(call(), call(OTHER)), result(), U),
        "RESULT_ORPHAN": said_and(result("gone00000")),
        "RESULT_DUPLICATE": said_and(calls(call()), result(), result(content="again")),
        "RESULT_DISPLACED": said_and(calls(call()), U, result()),
        "ID_DUPLICATE": said_and(calls(call(), call(arguments='{"n": 2}')), result(), result()),
        "ID_MISSING": said_and(calls(call(None)), result(None)),
        "ID_CHARS": said_and(calls(call("call_0fypS1hVX")), result("call_0fypS1hVX")),
        "ID_CHARS a short one": said_and(calls(call("1")), result("1")),
        "USER_AFTER_TOOL": said_and(calls(call()), result(), U),
        "LAST_ASSISTANT": said_and({"role": "assistant", "content": "a"}),
        "LAST_ASSISTANT behind a reference": said_and(
            {"role": "assistant", "content": [{"type": "reference", "reference_ids": [1]}]}
        ),
        "MESSAGE_EMPTY": said_and({"role": "assistant", "content": ""}, U),
        "TEXT_WITH_TOOL:devstral-medium": said_and(calls(call(), content="look"), result()),
        "SYSTEM_MISPLACED": said_and({"role": "assistant", "content": "a"}, {"role": "system", "content": "s"}),
        "SYSTEM_MISPLACED behind a result": said_and(calls(call()), result(), {"role": "system", "content": "s"}),
        "SYSTEM_MISPLACED of the developer": {"messages": [{"role": "developer", "content": "d"}, U]},
        "FIRST_NOT_USER": {"messages": [calls(call()), result()]},
        "FIRST_NOT_USER alone": {"messages": [{"role": "assistant", "content": "It is", "prefix": True}]},
        "PREFIX_NOT_LAST": said_and({"role": "assistant", "content": "a", "prefix": True}, U),
        "CONTENT_NULL": said_and(calls(call()), result(content=None)),
        "TEXT_EMPTY": {"messages": [{"role": "user", "content": []}]},
        "ARGS_UNPARSABLE": said_and(calls(call(arguments='{"n": ')), result()),
        "ARGS_NOT_OBJECT": said_and(calls(call(arguments="[1]")), result()),
        "ARGS_TYPE": said_and(calls(call(arguments=7)), result()),
        "NAME_PATTERN": said_and(calls(call(name="a b")), result(name="a b")),
        "IMAGE_ROLE": said_and(calls(call()), result(content=[PICTURE])),
        "CALL_LEGACY": said_and(
            {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "r"},
        ),
    }
