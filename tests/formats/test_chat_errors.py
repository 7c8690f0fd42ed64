"""What providers of the chat form answer, told by the texts of the rules."""

from __future__ import annotations

import re

import pytest

from suture.formats.mistral.rules import RULES as MISTRAL
from suture.formats.openai_chat.rules import RULES as OPENAI
from suture.formats.rule import Rule, fill

RULES: dict[str, Rule] = {**OPENAI, **MISTRAL}


def told(text: str) -> set[str]:
    """The rules with a text that is found in an error."""
    plain = text.lower().replace("`", "'").replace('"', "'")
    return {rule.id for rule in RULES.values() if any(re.search(each, plain, re.DOTALL) for each in rule.texts)}


@pytest.mark.parametrize("rule", [rule for rule in RULES.values() if rule.texts and rule.error], ids=lambda rule: rule.id)
def test_a_rule_knows_its_own_error(rule: Rule) -> None:
    """The words of the refusal are found by the texts of the rule."""
    facts: dict[str, str | int] = {
        "i": 1,
        "j": 0,
        "n": 41,
        "most": 40,
        "id": "call_1",
        "ids": "call_1",
        "role": "tool",
        "before": "assistant",
    }
    assert rule.id in told(fill(rule.error, facts | {"name": "f", "field": "reasoning"}))


@pytest.mark.parametrize(
    ("error", "rule"),
    [
        ("400 ... (insufficient tool messages following tool_calls message)", "OAI-CALL-UNANSWERED"),
        ("Messages with role 'tool' must be a response to a preceding message with 'tool_calls'", "OAI-ORPHAN-TOOL"),
        (
            "Invalid 'messages[3].tool_calls[0].id': string too long. Expected a string with maximum length 40",
            "OAI-CALL-ID-LEN",
        ),
        ("Invalid value for 'content': expected a string, got null.", "OAI-CONTENT-NULL"),
        ("invalid message content type: <nil>", "OAI-NULL-DIALECT"),
        ("Invalid 'content': 'content' field must be a string or an array of objects.", "OAI-NULL-DIALECT"),
        ("'messages.2.content' : value must be a string", "OAI-NULL-DIALECT"),
        ("invalid function arguments json string, tool_call_id: c1 (2013)", "OAI-ARGS-STRING"),
        ("messages[0].role: unknown variant `developer`, expected one of `system`, `user`", "OAI-DEV-ROLE"),
        ("chat content has invalid message role: system (2013)", "OAI-DEV-ROLE"),
        (
            "Invalid 'tools[6].function.description': string too long. Expected a string with maximum length 1024",
            "OAI-TOOL-DESC",
        ),
        ("The `reasoning_content` in the thinking mode must be passed back to the API.", "DS-REASONING"),
        ("Missing reasoning_content field in the assistant message at message index 4.", "DS-REASONING"),
        ("The `content[].thinking` in the thinking mode must be passed back to the API.", "DS-REASONING"),
        (
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
            "KIMI-REASONING",
        ),
        (
            '<400> InternalError.Algo.InvalidParameter: An assistant message with "tool_calls" must be followed by tool messages',
            "QWEN-PAIR",
        ),
        ('{"error":{"code":"1214","message":"messages \u53c2\u6570\u975e\u6cd5\u3002"}}', "GLM-1214"),
        ("invalid params, tool result's tool id(c9) not found (2013)", "MM-TOOLID"),
        ("tool call and result not match (2013)", "MM-TOOLID"),
        ("function parameters is empty (2013)", "MM-PARAMS"),
        ("property 'reasoning' is unsupported, did you mean 'role'?", "GRQ-UNKNOWN-PROP"),
        ("attempted to call tool 'old' which was not in request.tools", "GRQ-TOOL-NOT-LISTED"),
        ("{'message': \"Expecting ',' delimiter: line 1 column 9 (char 8)\"}", "VLLM-ARGS-JSON"),
        ("BadRequestError: Invalid \\escape: line 1 column 9", "VLLM-ARGS-JSON"),
        ("Failed to parse tool call arguments as JSON", "LCPP-ARGS-JSON"),
        ("conversation roles must alternate user/assistant, except for tool calls and results.", "TMPL-ALTERNATE"),
        ("After the (optional) system message(s), user and assistant roles should be alternating.", "TMPL-ALTERNATE"),
        ("cannot unmarshal array into Go struct field .tools.function.parameters.properties", "OLC-CONTENT"),
        (
            "json: cannot unmarshal string into Go struct field ChatRequest.messages.tool_calls.function.arguments",
            "OLL-ARGS-OBJ",
        ),
        ("cannot specify message if the last entry in chat history contains tool results", "COH-EMPTY"),
        ("Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.", "MIS-ID-9"),
        ("Not the same number of function calls and responses", "MIS-COUNT"),
        ("Unexpected role 'user' after role 'tool'", "MIS-TOOL-THEN-USER"),
        ("Unexpected role 'tool' after role 'user'", "MIS-USER-THEN-TOOL"),
        ("Unexpected role RoleEnum.tool", "MIS-USER-THEN-TOOL"),
        ("Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant", "MIS-LAST-ROLE"),
        ("Assistant message must have either content or tool_calls, but not both.", "MIS-EITHER"),
    ],
)
def test_other_wordings_are_known(error: str, rule: str) -> None:
    """What is reported of providers is found under its rule."""
    assert rule in told(error)


def test_the_tool_of_one_rule_is_not_that_of_another() -> None:
    """A user behind a result is not taken for a result behind the user, nor a description for an id."""
    assert told("Unexpected role 'user' after role 'tool'") == {"MIS-TOOL-THEN-USER"}
    assert told("Unexpected role 'tool' after role 'user'") == {"MIS-USER-THEN-TOOL"}
    assert "OAI-CALL-ID-LEN" not in told(fill(RULES["OAI-TOOL-DESC"].error, {}))
