"""The contract of wire formats, for Bedrock's Converse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from suture.testing import FormatContract

Json = dict[str, Any]

CLAUDE, NOVA, LLAMA = "us.anthropic.claude-sonnet-4-5-v1:0", "amazon.nova-pro-v1:0", "meta.llama3-3-70b-instruct-v1:0"


def text(words: str = "q") -> Json:
    return {"text": words}


def use(id: str = "t1", **more: Any) -> Json:
    return {"toolUse": {"toolUseId": id, "name": "f", "input": {"n": 1}, **more}}


def result(id: str = "t1", content: Any = None, **more: Any) -> Json:
    return {"toolResult": {"toolUseId": id, "content": [text("r")] if content is None else content, **more}}


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def said(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


TOOLS: Json = {"tools": [{"toolSpec": {"name": "f", "description": "d", "inputSchema": {"json": {"type": "object"}}}}]}
THOUGHT: Json = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}}
PNG: Json = {"image": {"format": "png", "source": {"bytes": "iVBORw0KGgo="}}}
PDF: Json = {
    "document": {"format": "pdf", "name": "a report", "source": {"bytes": "JVBERi0="}, "citations": {"enabled": True}}
}
MARK: Json = {"cachePoint": {"type": "default"}}
GUARDED: Json = {"guardContent": {"text": {"text": "is this fine?", "qualifiers": ["query"]}}}
CITED: Json = {"citationsContent": {"content": [text("it says so")], "citations": [{"title": "a report"}]}}
SERVER: list[Json] = [
    {"toolUse": {"toolUseId": "s1", "name": "nova_grounding", "input": {}, "type": "server_tool_use"}},
    {"toolResult": {"toolUseId": "s1", "content": [], "type": "nova_grounding_result"}},
]


class TestBedrock(FormatContract):
    """Converse."""

    name = "bedrock"
    valid: ClassVar[Mapping[str, Json]] = {
        "a call and its result": {
            "modelId": CLAUDE,
            "system": [text("be kind"), MARK],
            "messages": [
                user(text()),
                said(THOUGHT, text("look"), use("t1"), use("t2")),
                user(result("t1", status="success"), result("t2", [{"json": {"n": 1}}], status="error"), text("and?")),
                said(text("done")),
                user(text("thanks"), MARK),
            ],
            "toolConfig": TOOLS,
        },
        "pictures, documents, sounds and what only Bedrock has": {
            "modelId": CLAUDE,
            "messages": [
                user(PNG, PDF, text(), {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://bucket/v"}}}}),
                said({"reasoningContent": {"redactedContent": "b3BhcXVl"}}, CITED),
                user(GUARDED),
                said(use()),
                user(result("t1", [PNG, {"searchResult": {"source": "x", "title": "y", "content": [text("z")]}}])),
                said(*SERVER, text("found")),
                user({"audio": {"format": "mp3", "source": {"bytes": "SUQz"}}}, text("listen")),
            ],
            "toolConfig": {**TOOLS, "toolChoice": {"tool": {"name": "f"}}},
        },
        "bytes, as boto3 has them": {
            "modelId": CLAUDE,
            "messages": [
                user(text(), {"image": {"format": "jpeg", "source": {"bytes": b"\xff\xd8"}}}),
                said({"reasoningContent": {"redactedContent": b"opaque"}}, text("so")),
                user(text("and?")),
            ],
        },
    }  # fmt: skip
    broken: ClassVar[Mapping[str, Json]] = {
        "CALL_UNANSWERED": {"messages": [user(text()), said(use()), user(text("x"))]},
        "RESULT_ORPHAN": {"messages": [user(result("gone"), text("x"))]},
        "RESULT_DUPLICATE": {"messages": [user(text()), said(use()), user(result(), result(content=[text("s")]))]},
        "ID_REUSED": {"messages": [user(text()), said(use()), user(result()), said(use()), user(result())]},
        "TOOLS_MISSING": {"modelId": CLAUDE, "messages": [user(text()), said(use()), user(result())]},
        f"USER_AFTER_TOOL:{LLAMA}": {"messages": [user(text()), said(use()), user(result(), text())]},
        f"TEXT_WITH_TOOL:{LLAMA}": {"messages": [user(text()), said(text("I look"), use()), user(result())]},
        f"IMAGE_ROLE:{LLAMA}": {"messages": [user(text()), said(use()), user(result(content=[PNG]))]},
        f"SIGNATURE_FORM:{NOVA}": {"messages": [user(text()), said(THOUGHT, text("a")), user(text())]},
        "THINKING_UNSIGNED": {
            "messages": [user(text()), said({"reasoningContent": {"reasoningText": {"text": "hm"}}}, text("a")), user(text())]
        },
        "TEXT_BLANK": {"system": [text(" ")], "messages": [user(text(), text(" "))]},
        "MESSAGE_EMPTY": {"messages": [user(text()), said(), user(text())]},
        "ROLE_REPEAT": {"messages": [user(text()), user(text("x"))]},
        "FIRST_NOT_USER": {"messages": [said(text()), user(text())]},
        "ID_CHARS": {"messages": [user(text()), said(use("a|b")), user(result("a|b"))]},
        "NAME_PATTERN": {"messages": [user(text()), said(use(name="f.g")), user(result())]},
        "ARGS_TYPE": {"messages": [user(text()), said(use(input='{"n": 1}')), user(result())]},
        "RESULT_SHAPE": {"messages": [user(text()), said(use()), user(result(content=[{"json": [1, 2]}]))]},
        "RESULT_EMPTY_ERROR": {"messages": [user(text()), said(use()), user(result(content=[], status="error"))]},
        "DOCUMENT_NAME": {"messages": [user(text(), PDF, PDF)]},
        "DOCUMENT_ALONE": {"messages": [user(PDF)]},
        "BLOCK_SHAPE": {"system": "be kind", "messages": [{"role": "user", "content": "q"}]},
        "LAST_ASSISTANT:anthropic.claude-opus-4-6-v1": {"messages": [user(text()), said(text("a"))]},
        "THINKING_NOT_FIRST": {
            "messages": [user(text()), said(use()), user(result())],
            "additionalModelRequestFields": {"thinking": {"type": "enabled"}},
        },
    }  # fmt: skip
