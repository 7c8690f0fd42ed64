"""The contract of wire formats, for OpenAI's Responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from suture.testing import FormatContract

Json = dict[str, Any]

U: Json = {"type": "message", "role": "user", "content": "q"}
CALL: Json = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"n": 1}'}
OUT: Json = {"type": "function_call_output", "call_id": "c1", "output": "r"}
TOOL: Json = {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}
WORDS: Json = {"type": "output_text", "text": "done", "annotations": [], "logprobs": []}
TOKEN = "gAAAAABoNotReallyAToken"
PICTURE: Json = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"}
FILE: Json = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}
ACTION: Json = {"commands": ["ls"], "timeout_ms": 10}
SCREEN: Json = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}


def others() -> list[Json]:
    """A call of each kind that is no function's, with its output."""
    patch: Json = {"type": "update_file", "path": "a", "diff": "+b"}
    local: Json = {"type": "exec", "command": ["ls"], "env": {}}
    shown: Json = {"stdout": "a\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
    click: Json = {"type": "click", "x": 1, "y": 2, "button": "left"}
    done: Json = {"status": "completed"}
    return [
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "x1", "name": "g", "input": "raw\ntext", **done},
        {"type": "shell_call", "id": "sh_1", "call_id": "x2", "action": ACTION, **done},
        {"type": "local_shell_call", "id": "lsh_1", "call_id": "x3", "action": local, **done},
        {"type": "apply_patch_call", "id": "apc_1", "call_id": "x4", "operation": patch, **done},
        {"type": "computer_call", "id": "cu_1", "call_id": "x5", "action": click, "pending_safety_checks": [], **done},
        {
            "type": "tool_search_call",
            "id": "tsc_1",
            "call_id": "x6",
            "arguments": {"q": "x"},
            "execution": "client",
            **done,
        },
        {"type": "custom_tool_call_output", "call_id": "x1", "output": [{"type": "input_text", "text": "r1"}, PICTURE]},
        {"type": "shell_call_output", "call_id": "x2", "output": [shown], "max_output_length": 9},
        {"type": "local_shell_call_output", "id": "x3", "call_id": "x3", "output": "r3"},
        {"type": "apply_patch_call_output", "call_id": "x4", "status": "failed", "output": "no such file"},
        {"type": "computer_call_output", "call_id": "x5", "output": SCREEN, "acknowledged_safety_checks": []},
        {"type": "tool_search_output", "call_id": "x6", "execution": "client", "status": "completed", "tools": [TOOL]},
    ]


class TestOpenAIResponses(FormatContract):
    """Responses."""

    name = "openai-responses"
    valid: ClassVar[Mapping[str, Json]] = {
        "a call and its output": {
            "model": "gpt-5",
            "instructions": "be kind",
            "input": [U, CALL, OUT, {"type": "message", "role": "assistant", "content": "done"}],
            "tools": [TOOL],
        },
        "what the API sent, sent back": {
            "store": False,
            "input": [
                {"role": "developer", "content": [{"type": "input_text", "text": "be brief"}]},
                {"role": "user", "content": [{"type": "input_text", "text": "look"}, PICTURE, FILE]},
                {
                    "type": "reasoning",
                    "id": "rs_1",
                    "summary": [{"type": "summary_text", "text": "hm"}],
                    "encrypted_content": TOKEN,
                },
                {
                    "type": "message",
                    "id": "msg_1",
                    "role": "assistant",
                    "status": "completed",
                    "phase": "commentary",
                    "content": [WORDS],
                },
                {**CALL, "id": "fc_1", "status": "completed"},
                {**CALL, "id": "fc_2", "call_id": "c2", "status": "completed", "namespace": "n"},
                OUT,
                {**OUT, "call_id": "c2", "output": [{"type": "input_text", "text": "second"}]},
                {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": TOKEN, "content": None},
                {"type": "message", "id": "msg_2", "role": "assistant", "status": "completed", "content": [WORDS, WORDS]},
                {"type": "message", "id": "msg_3", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
            ],
        },
        "calls of every kind": {"input": [U, {"type": "reasoning", "id": "rs_1", "summary": []}, *others()]},
        "two messages of the model's in a row": {
            "input": [
                U,
                {"type": "message", "role": "assistant", "content": "one"},
                {"type": "message", "role": "assistant", "content": "two"},
                {"role": "assistant", "content": "three"},
            ]
        },
        "what the provider ran": {
            "input": [
                {"type": "compaction", "id": "cmp_1", "encrypted_content": TOKEN},
                U,
                {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
                {"type": "mcp_approval_request", "id": "mcpr_1", "name": "f", "arguments": "{}", "server_label": "s"},
                {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
                {"type": "reasoning", "id": "rs_1", "summary": []},
                {
                    "type": "web_search_call",
                    "id": "ws_1",
                    "status": "completed",
                    "action": {"type": "search", "query": "x"},
                },
                {"type": "message", "id": "msg_1", "role": "assistant", "content": [WORDS]},
                {"type": "additional_tools", "role": "developer", "tools": [TOOL]},
            ]
        },
    }
    broken: ClassVar[Mapping[str, Json]] = {
        "CALL_UNANSWERED": {"input": [U, CALL, U]},
        "RESULT_ORPHAN": {"input": [U, OUT]},
        "RESULT_DISPLACED": {"input": [U, CALL, U, OUT]},
        "RESULT_DUPLICATE": {"input": [U, CALL, OUT, OUT]},
        "RESULT_KIND_MISMATCH": {"input": [U, CALL, {**OUT, "type": "custom_tool_call_output"}]},
        "ID_DUPLICATE": {"input": [U, CALL, {**CALL, "arguments": "{}"}, OUT, OUT]},
        "ID_MISSING": {"input": [U, {**CALL, "call_id": ""}, {**OUT, "call_id": ""}]},
        "ID_LENGTH": {"input": [U, {**CALL, "call_id": "c" * 65}, {**OUT, "call_id": "c" * 65}]},
        "ID_CHARS two ids in one": {"input": [U, {**CALL, "call_id": "c1|fc_1"}, {**OUT, "call_id": "c1|fc_1"}]},
        "NAME_PATTERN": {"input": [U, {**CALL, "name": "f f"}, OUT]},
        "ARGS_TYPE": {"input": [U, {**CALL, "arguments": {"n": 1}}, OUT]},
        "ARGS_NOT_OBJECT": {"input": [U, {**CALL, "arguments": "[1]"}, OUT]},
        "ARGS_UNPARSABLE": {"input": [U, {**CALL, "arguments": '{"n":'}, OUT]},
        "FIELD_MISSING": {"input": [U, CALL, {"type": "function_call_output", "call_id": "c1"}]},
        "FIELD_UNKNOWN": {"input": [{**U, "status": "completed"}]},
        "FIELD_UNKNOWN:vllm a copy of the API": {"input": [U, {**CALL, "status": "completed"}, OUT]},
        "REASONING_DANGLING": {"input": [U, {"type": "reasoning", "id": "rs_1", "summary": []}, U]},
        "REASONING_MISSING": {"input": [U, {**CALL, "id": "fc_1"}, OUT]},
        "REASONING_MISSING:o3 of a message": {
            "input": [U, {"type": "message", "id": "msg_1", "role": "assistant", "content": "x"}]
        },
        "REASONING_SUMMARY_MISSING": {"input": [U, {"type": "reasoning", "id": "rs_1"}, {**CALL, "id": "fc_1"}, OUT]},
        "ENCRYPTED_FOREIGN": {"input": [U, {"type": "reasoning", "summary": [], "encrypted_content": "a b"}, CALL, OUT]},
        "ITEM_ID_UNRESOLVABLE": {"store": False, "input": [U, {"type": "item_reference", "id": "msg_1"}, U]},
        "ITEM_ID_PREFIX": {"input": [{**U, "id": "user_1"}]},
        "ITEM_ID_FORM": {"input": [{**U, "id": "msg 1"}]},
        "ITEM_ID_DUPLICATE": {"input": [{**U, "id": "msg_1"}, {**U, "id": "msg_1"}]},
        "CHAIN_CONFLICT": {"previous_response_id": "resp_1", "input": [U, CALL, OUT, U]},
        "CHAIN_CONFLICT for the caller": {"previous_response_id": "resp_1", "input": [U, CALL]},
        "PART_ROLE": {"input": [{"role": "user", "content": [WORDS]}]},
        "IMAGE_ROLE": {"input": [U, {"role": "assistant", "content": [WORDS, PICTURE]}]},
        "MESSAGE_EMPTY": {"input": [U, {"role": "assistant", "content": []}, U]},
        "CONTENT_NULL": {"input": [{"role": "user", "content": None}]},
        "TEXT_EMPTY": {"input": [{"role": "user", "content": []}]},
        "SURROGATE_LONE": {"input": [{**U, "content": "\ud83d"}]},
    }
