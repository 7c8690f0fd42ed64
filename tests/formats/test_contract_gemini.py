"""The contract of wire formats, for Gemini's generateContent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from suture.testing import FormatContract

Json = dict[str, Any]

U: Json = {"role": "user", "parts": [{"text": "q"}]}
DONE: Json = {"role": "model", "parts": [{"text": "done"}]}
CALL: Json = {"functionCall": {"name": "f", "args": {"n": 1}}}
RESPONSE: Json = {"functionResponse": {"name": "f", "response": {"output": "r"}}}
PICTURE: Json = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}


def model(*parts: Json) -> Json:
    return {"role": "model", "parts": list(parts)}


def user(*parts: Json) -> Json:
    return {"role": "user", "parts": list(parts)}


class TestGemini(FormatContract):
    """generateContent."""

    name = "gemini"
    valid: ClassVar[Mapping[str, Json]] = {
        "a call and its response": {
            "contents": [U, model({"text": "look"}, CALL), user(RESPONSE), user({"text": "and?"})],
            "systemInstruction": {"role": "user", "parts": [{"text": "be kind"}]},
            "tools": [{"functionDeclarations": [{"name": "f", "description": "d", "parameters": {"type": "OBJECT"}}]}],
        },
        "ids, signatures, thoughts and code": {
            "contents": [
                U,
                model(
                    {"text": "hm", "thought": True, "thoughtSignature": "c2ln"},
                    {"executableCode": {"language": "PYTHON", "code": "1"}},
                    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                    {"functionCall": {"id": "a", "name": "f", "args": {}}, "thoughtSignature": "c2ln"},
                    {"functionCall": {"id": "b", "name": "g"}},
                ),
                user(
                    {"functionResponse": {"id": "a", "name": "f", "response": {"error": "no"}}},
                    {"functionResponse": {"id": "b", "name": "g", "response": {"rows": [1, 2.5]}, "scheduling": "SILENT"}},
                ),
                model({"text": "so", "thoughtSignature": "c2ln"}, {"text": "", "thoughtSignature": "c2ln"}),
                U,
            ],
            "system_instruction": "be kind",
        },
        "media, and a role of results": {
            "contents": [
                user(
                    {"text": "look"},
                    PICTURE,
                    {
                        "inlineData": {"mimeType": "audio/wav", "data": "AA==", "displayName": "a"},
                        "videoMetadata": {"fps": 1},
                    },
                    {"fileData": {"fileUri": "https://example.org/a.pdf", "mimeType": "application/pdf"}},
                    {"fileData": {"fileUri": "https://youtu.be/x"}},
                ),
                model(CALL),
                {
                    "role": "function",
                    "parts": [{"functionResponse": {"name": "f", "response": {"output": "see"}, "parts": [PICTURE]}}],
                },
                model({"text": "a picture"}, PICTURE),
                {"parts": [{"text": "no role"}]},
            ],
        },
        "as the Python SDK dumps it": {
            "contents": [
                {"role": "user", "parts": [{"text": "q", "thought": None, "inline_data": None}]},
                model({"function_call": {"id": None, "name": "f", "args": {"n": 1}}, "thought_signature": "c2ln"}),
                user({"function_response": {"name": "f", "response": {"output": "r"}}}),
                model({"inline_data": {"mime_type": "image/png", "data": "AA=="}}, {"text": "x", "thought": False}),
                U,
            ],
            "tools": [{"function_declarations": [{"name": "f", "parameters_json_schema": {"type": "object"}}]}],
        },
    }
    broken: ClassVar[Mapping[str, Json]] = {
        "CALL_UNANSWERED": {"contents": [U, model(CALL), U]},
        "RESULT_ORPHAN": {"contents": [user(RESPONSE), U]},
        "RESULT_NOT_PURE": {"contents": [U, model(CALL), user(RESPONSE, {"text": "x"})]},
        "CALL_AFTER_MODEL": {"contents": [U, DONE, model(CALL), user(RESPONSE)]},
        "SIGNATURE_MISSING:gemini-3-pro": {"contents": [U, model(CALL), user(RESPONSE)]},
        "NAME_UNDECLARED:gemini-3-pro": {
            "contents": [U, model(CALL), user(RESPONSE), DONE, U],
            "tools": [{"functionDeclarations": [{"name": "g"}]}],
        },
        "ID_MISSING:claude-sonnet-4-5": {"contents": [U, model(CALL), user(RESPONSE)]},
    }
