"""What OpenAI's Chat Completions demand: each rule with the words of the refusal and where they were seen.

The texts are searched for in an error in lower case, its quotes and backticks made plain. What those demand who copied
OpenAI stands in `copies`.
"""

from __future__ import annotations

from suture.formats.openai_chat.copies import COPIES
from suture.formats.openai_chat.rules_of_media import MEDIA_RULE_OF, MEDIA_RULES
from suture.formats.rule import Rule, by_id

_UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: {ids}"
)
_ORPHAN = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. "
    "(messages.[{i}].role)"
)

_OPENAI = by_id(
    Rule(
        id="OAI-CALL-UNANSWERED",
        statement="Each call is answered by a tool message before any other role speaks.",
        mend="A result that stands elsewhere moves behind its call; a stand-in for a missing one says so.",
        error=_UNANSWERED,
        texts=("must be followed by tool messages", "insufficient tool messages following"),
        evidence="agno-agi/agno#3105, QwenLM/qwen-code#606, BerriAI/litellm#10083",
    ),
    Rule(
        id="OAI-INTERLEAVED",
        statement="Nothing stands between a call and the last result of its turn.",
        mend="The results move to directly behind their call, in the order of the calls.",
        error=_UNANSWERED,
        texts=("must be followed by tool messages", "insufficient tool messages following"),
        certainty="I",
        evidence="evalstate/fast-agent#314, diegosouzapw/OmniRoute#2893",
    ),
    Rule(
        id="OAI-ORPHAN-TOOL",
        statement="A tool message answers a call of the assistant message before it.",
        mend="The result is left out and reported in full, or quoted as a note of the user's.",
        error=_ORPHAN,
        texts=("role '?tool'? must be a response to a prece",),
        evidence="miurla/morphic#136, FoundationAgents/OpenManus#23, smarter-sh/smarter#264",
    ),
    Rule(
        id="OAI-DUP-RESULT",
        statement="A call has one result.",
        mend="The last real result stays; a placeholder loses to anything real.",
        error=_ORPHAN,
        texts=("role '?tool'? must be a response to a prece", "invalid_tool_call_format"),
        certainty="R",
        evidence="Joouis/agent-maestro#251, BerriAI/litellm prompt_templates/factory.py",
    ),
    Rule(
        id="OAI-DUP-CALL-ID",
        statement="Ids are unique within an assistant message.",
        mend="The later call and its result get an id of their own; a copy of a call is left out.",
        error="The messages parameter is illegal. Please check the documentation.",
        certainty="R",
        evidence="MetaGLM/zhipuai-sdk-python-v4#14, NVIDIA-NeMo/Switchyard#502",
    ),
    Rule(
        id="OAI-CALL-ID-LEN",
        statement="Ids of calls have at most 40 characters.",
        mend="Call and result get a shorter id, with a hash of the whole one.",
        error=(
            "Invalid 'messages[{i}].tool_calls[{j}].id': string too long. Expected a string with maximum length {most}, "
            "but got a string with length {n} instead."
        ),
        texts=(r"(?:tool_calls\W{1,3}\d{1,6}\W{1,3}id|tool_call_id)'?: string too long",),
        evidence="vercel/ai#5171, microsoft/autogen#6377, openclaw/openclaw#875",
    ),
    Rule(
        id="OAI-CALL-ID",
        statement="A call has an id, and its result names it.",
        mend="Call and result get an id that depends on their place alone.",
        error="Invalid 'messages[{i}].tool_calls[{j}].id': empty string. Expected a string with minimum length 1.",
        texts=(
            r"missing required parameter: 'messages\[\d+\]\.(?:tool_call_id|tool_calls\[\d+\]\.id)'",
            r"(?:tool_calls\W{1,3}\d{1,6}\W{1,3}id|tool_call_id)'?: empty string",
            "role '?tool'? must have a '?tool_call_id",
        ),
        certainty="R",
        evidence="EvoScientist/EvoScientist#399, can1357/oh-my-pi#4108",
    ),
    Rule(
        id="OAI-CONTENT-NULL",
        statement="Content is a text or parts; null only beside calls.",
        mend="The content becomes an empty text; a result that is neither is written as JSON text.",
        error="Invalid value for 'content': expected a string, got null. (messages.[{i}].content)",
        evidence="docker/docker-agent#63, run-llama/llama_index#17555, songquanpeng/one-api#784",
        texts=(
            r"\.content'?: expected one of a string or array of objects, but got",
            "for 'content': expected a string, got null",
            r"content'?: .*got null",
        ),
    ),
    Rule(
        id="OAI-CONTENT-EMPTY",
        statement="A list of parts is not empty.",
        mend="The content becomes an empty text.",
        error="Invalid 'messages[{i}].content': empty array. Expected an array with minimum length 1.",
        certainty="I",
        texts=(r"content'?: empty array",),
    ),
    Rule(
        id="OAI-EMPTY-MSG",
        statement="An assistant message says something or calls something.",
        mend="The message is left out.",
        error="Invalid value for 'content': expected a string, got null. (messages.[{i}].content)",
        certainty="R",
        evidence="anomalyco/opencode#2557, songquanpeng/one-api#1153, and every strict copy",
    ),
    Rule(
        id="OAI-EMPTY-CALLS",
        statement="A list of calls is not empty; without calls there is no list.",
        mend="The key is left out.",
        error="Invalid 'messages[{i}].tool_calls': empty array. Expected an array with minimum length 1.",
        texts=(r"\[\] is too short.{1,40}tool_calls", "tool_calls'?: (?:empty array|array too short)"),
        certainty="M",
    ),
    Rule(
        id="OAI-ARGS-STRING",
        statement="Arguments are JSON text of an object.",
        mend="An object is written as text; a text that cannot be read is kept under '_raw' of an object.",
        error="Invalid type for 'messages[{i}].tool_calls[{j}].function.arguments': expected a JSON object as a string.",
        texts=(
            r"missing required parameter: 'messages\[\d+\]\.tool_calls\[\d+\]\.function\.arguments'",
            "invalid function arguments json string",
            r"function\.arguments'?: expected",
        ),
        evidence="earendil-works/pi#5468, vllm-project/vllm#48922",
    ),
    Rule(
        id="OAI-NAME-PATTERN",
        statement="Names of tools are up to 64 letters, digits, _ and -.",
        mend="Other characters become _, the same way in the tools and in the history.",
        error=(
            "Invalid 'messages[{i}].tool_calls[{j}].function.name': string does not match pattern. Expected a string "
            "that matches the pattern '^[a-zA-Z0-9_-]+$'."
        ),
        texts=(
            r"function\.name'?: (?:string too long|empty string)",
            r"function\.name'?: string does not match pattern",
        ),
        evidence="mcp-use/mcp-use#90, vercel/ai#1972, langchain-ai/langchain#7191",
    ),
    Rule(
        id="OAI-IMG-ROLE",
        statement="Pictures stand in the user's messages alone.",
        mend="That of a result moves into a message of the user's behind the batch; any other is left out and reported.",
        error=(
            "Invalid 'messages[{i}]'. Image URLs are only allowed for messages with role 'user', but this message with "
            "role '{role}' contains an image URL."
        ),
        texts=("image urls are only allowed for messages with role",),
        evidence="OpenHands/OpenHands#7700, openai/openai-node#1030",
    ),
    Rule(
        id="OAI-DEV-ROLE",
        statement="Only OpenAI and Azure know the role 'developer', and some copies take system text at the head alone.",
        mend="The role becomes 'system'; where that may only come first, later text becomes words of the user's.",
        error="messages[{i}].role: unknown variant 'developer', expected one of 'system', 'user', 'assistant', 'tool'",
        texts=(
            "unknown variant 'developer'",
            "'developer' is not one of",
            r"invalid value: 'developer'\. supported values are",
            "invalid message role: system",
        ),
        evidence="earendil-works/pi#1048, eclipse-theia/theia#15144",
        variant="compatible",
    ),
    Rule(
        id="OAI-LEGACY-FUNCTION",
        statement="The role 'function' and the field 'function_call' are refused by most copies; OpenAI still takes them.",
        mend="They become a tool message and a tool call, under an id made of their place; OpenAI gets them as they are.",
        error="messages[{i}].role: unknown variant 'function'",
        certainty="R",
        evidence="crazyyanchao/llmcompiler#1",
        texts=("unknown variant 'function'", "unknown variant 'function_call'"),
        variant="compatible",
    ),
    Rule(
        id="OAI-NULL-DIALECT",
        statement="Beside calls the content is null for some servers and an empty text for others; words are one text.",
        mend="The content takes the shape that the server wants.",
        error="invalid message content type: <nil>",
        certainty="R",
        evidence="SAIL-Research-Lab/cheetahclaws#72, lmstudio-ai/lmstudio-bug-tracker#261, ogx-ai/ogx#1751",
        texts=(
            "invalid message content type",
            "'content' field must be a string or an array of objects",
            r"content'? ?: ?value must be a string",
        ),
        models="ollama, lmstudio: an empty text; nim: null; groq and strict templates: no list of words",
        variant="ollama",
    ),
    Rule(
        id="OAI-TOOL-DESC",
        statement="The description of a function has at most 1024 characters.",
        mend="It is cut, and the report has all of it.",
        error=(
            "Invalid 'tools[{i}].function.description': string too long. Expected a string with maximum length {most}, but "
            "got a string with length {n} instead."
        ),
        certainty="R",
        evidence="nanbingxyz/5ire#33",
        texts=(r"function\.description'?: string too long",),
        models="OpenAI and Azure; the limit may have been lifted since",
    ),
    Rule(
        id="OAI-ROLE",
        statement="Roles are system, developer, user, assistant and tool.",
        mend="The message is sent as it is.",
        error="Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', ...",
        severity="DEG",
        certainty="M",
        healed=False,
    ),
    Rule(
        id="OAI-REASONING",
        statement="Chat Completions take no reasoning back.",
        mend="In a request of suture's own it is left out; in a history it is sent as it is.",
        error="'messages.{i}' : property 'reasoning' is unsupported",
        texts=(r"property 'reasoning\w{0,20}' is unsupported",),
        certainty="R",
        evidence="karthink/gptel#774, julep-ai/julep#885",
        healed=False,
    ),
    Rule(
        id="OAI-CALL-ROLE",
        statement="Calls stand in assistant messages.",
        mend="They move into an assistant message of their own, where their results find them.",
        certainty="D",
    ),
    Rule(
        id="OAI-PART",
        statement="A part of the conversation that has no form in Chat Completions is not sent.",
        mend="In a history it is sent as it is; an unreadable one, and any in a request of suture's own, is left out.",
        texts=("supported values are: 'text'(?:,| and) 'image_url'",),
        certainty="D",
        healed=False,
    ),
    Rule(
        id="OAI-SURROGATE",
        statement="Texts hold no halves of surrogate pairs.",
        mend="Split pairs are joined, lone halves become U+FFFD.",
        error="Your request contained invalid JSON: no low surrogate in string",
        texts=("no low surrogate", "lone leading surrogate", "surrogates not allowed"),
        evidence="anthropics/claude-code#3277, Aider-AI/aider#3693, agent0ai/agent-zero#1773",
    ),
)

RULES = {**_OPENAI, **MEDIA_RULES, **COPIES}

RULE_OF = {
    **MEDIA_RULE_OF,
    "CALL_MISPLACED": "OAI-CALL-ROLE",
    "CALL_UNANSWERED": "OAI-CALL-UNANSWERED",
    "RESULT_ORPHAN": "OAI-ORPHAN-TOOL",
    "RESULT_DUPLICATE": "OAI-DUP-RESULT",
    "RESULT_DISPLACED": "OAI-INTERLEAVED",
    "RESULT_ORDER": "OAI-INTERLEAVED",
    "ID_DUPLICATE": "OAI-DUP-CALL-ID",
    "ID_REUSED": "OAI-DUP-CALL-ID",
    "ID_MISSING": "OAI-CALL-ID",
    "ID_LENGTH": "OAI-CALL-ID-LEN",
    "ID_CHARS": "OAI-CALL-ID-LEN",
    "CONTENT_NULL": "OAI-CONTENT-NULL",
    "RESULT_SHAPE": "OAI-CONTENT-NULL",
    "TEXT_EMPTY": "OAI-CONTENT-EMPTY",
    "MESSAGE_EMPTY": "OAI-EMPTY-MSG",
    "FIELD_UNKNOWN": "OAI-EMPTY-CALLS",
    "ARGS_TYPE": "OAI-ARGS-STRING",
    "ARGS_NOT_OBJECT": "OAI-ARGS-STRING",
    "ARGS_UNPARSABLE": "OAI-ARGS-STRING",
    "NAME_PATTERN": "OAI-NAME-PATTERN",
    "IMAGE_ROLE": "OAI-IMG-ROLE",
    "ROLE_UNKNOWN": "OAI-ROLE",
    "SYSTEM_MISPLACED": "OAI-DEV-ROLE",
    "THINKING_FOREIGN": "OAI-REASONING",
    "THINKING_UNSIGNED": "OAI-REASONING",
    "BLOCK_UNKNOWN": "OAI-PART",
    "SURROGATE_LONE": "OAI-SURROGATE",
    "CALL_LEGACY": "OAI-LEGACY-FUNCTION",
    "CONTENT_SHAPE": "OAI-NULL-DIALECT",
    "SCHEMA_UNSUPPORTED": "OAI-TOOL-DESC",
    "FIELD_MISSING": "MM-PARAMS",
    "REASONING_FIELD_MISSING": "DS-REASONING",
    "NO_USER": "GLM-1214",
    "NAME_UNDECLARED": "GRQ-TOOL-NOT-LISTED",
    "TOOLS_MISSING": "GRQ-TOOL-NOT-LISTED",
    "ROLE_REPEAT": "TMPL-ALTERNATE",
    "FIRST_NOT_USER": "TMPL-ALTERNATE",
    "USER_AFTER_TOOL": "TMPL-ALTERNATE",
    "LAST_ASSISTANT": "TMPL-LAST",
}
