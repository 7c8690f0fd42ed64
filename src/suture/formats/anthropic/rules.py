"""What Anthropic's Messages demand: each rule with the words of the refusal and where they were seen."""

from __future__ import annotations

from suture.formats.rule import Rule, by_id

RULES = by_id(
    Rule(
        id="ANT-ADJ-RESULT",
        statement="Every tool_use is answered by a tool_result in the next message, all of a turn in that one.",
        mend="The results move into the message behind their calls; for a missing one a text says that it is unknown.",
        error=(
            "messages.{i}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each "
            "`tool_use` block must have a corresponding `tool_result` block in the next message."
        ),
        texts=("ids were found without", "must begin with a matching number of '?tool_result'? blocks"),
        evidence="anthropics/claude-code#5989, Kilo-Org/kilocode#5163, aaif-goose/goose#2951",
    ),
    Rule(
        id="ANT-RESULT-FIRST",
        statement="In the message that answers calls, the results come before everything else.",
        mend="The results move before everything else in their message.",
        error=(
            "messages.{i}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each "
            "`tool_use` block must have a corresponding `tool_result` block in the next message."
        ),
        texts=("ids were found without", "must begin with a matching number of '?tool_result'? blocks"),
        evidence="anthropics/anthropic-sdk-typescript#653, langchain-ai/langchain-aws#451",
    ),
    Rule(
        id="ANT-USE-TAIL",
        statement="In an assistant message, nothing but calls follows the first tool_use.",
        mend="What stands behind the calls moves before them; where thinking is in the way, it is left out too.",
        error=(
            "messages.{i}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each "
            "`tool_use` block must have a corresponding `tool_result` block in the next message."
        ),
        texts=("ids were found without", "must begin with a matching number of '?tool_result'? blocks"),
        certainty="C",
        evidence="anomalyco/opencode packages/opencode/src/provider/transform.ts, vercel/ai packages/anthropic",
    ),
    Rule(
        id="ANT-USE-ROLE",
        statement="Calls stand in assistant messages.",
        mend="The call is left out of the user's message.",
        error="messages.{i}.content.{j}: `{block}` blocks can only be in `assistant` messages",
        certainty="D",
    ),
    Rule(
        id="ANT-ORPHAN-RESULT",
        statement="A tool_result answers a tool_use of the previous message.",
        mend="The result is left out and reported in full, or quoted as a note of the user's.",
        error=(
            "messages.{i}.content.{j}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each "
            "`tool_result` block must have a corresponding `tool_use` block in the previous message."
        ),
        texts=("unexpected '?tool_use_id'? found in '?tool_result'? blocks",),
        evidence="anthropics/claude-code#13460, decocms/studio#1803, tghamm/Anthropic.SDK#184",
    ),
    Rule(
        id="ANT-DUP-RESULT",
        statement="A call has one result.",
        mend="The last real result stays; a placeholder loses to anything real.",
        error=(
            "messages.{i}.content.{j}: each tool_use must have a single result. Found multiple `tool_result` blocks "
            "with id: {id}"
        ),
        texts=("must have a single result",),
        certainty="C",
        evidence="BerriAI/litellm prompt_templates/factory.py, Kilo-Org/kilocode#3772",
    ),
    Rule(
        id="ANT-DUP-USE-ID",
        statement="tool_use ids are unique in the whole request.",
        mend="The later call and its result get an id of their own; a copy of a call is left out.",
        error="messages.{i}.content.{j}: `tool_use` ids must be unique",
        texts=("'?tool_use'? ids must be unique",),
        evidence="anthropics/claude-code#20901, BerriAI/litellm#23510, trycua/cua#524",
    ),
    Rule(
        id="ANT-ID-PATTERN",
        statement="Ids of calls are letters, digits, _ and - alone.",
        mend="Call and result get an id of allowed characters, with a hash of the one that they had.",
        error="messages.{i}.content.{j}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        texts=(r"string should match pattern '\^\[a-za-z0-9_-\]\+\$'",),
        evidence="maximhq/bifrost#5097, HKUDS/nanobot#4356, theopenco/llmgateway#3389",
    ),
    Rule(
        id="ANT-NAME",
        statement="Names of tools are up to 64 letters, digits, _ and -.",
        mend="Other characters become _, the same way in the tools and in the history.",
        error="messages.{i}.content.{j}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
        texts=(r"name'?: string should match pattern '\^\[a-za-z0-9_-\]\{1,\d{1,3}\}\$'",),
        certainty="D",
    ),
    Rule(
        id="ANT-INPUT-OBJ",
        statement="The input of a call is an object.",
        mend="A text is read as an object; what cannot be read is kept under '_raw' of an object.",
        error="messages.{i}.content.{j}.tool_use.input: Input should be a valid dictionary",
        texts=(r"tool_use\.input: input should be a valid dictionary",),
        certainty="R",
        evidence="its twin at Bedrock: litellm",
    ),
    Rule(
        id="ANT-SRV-ORPHAN",
        statement="The result of a server tool follows its server_tool_use in the same message.",
        mend="The messages are joined where the call stands in the one before; else the result is left out.",
        error=(
            "messages.{i}.content.{j}: unexpected `tool_use_id` found in `{block}` blocks: {id}. Each `{block}` "
            "block must have a corresponding `server_tool_use` block before it."
        ),
        texts=(r"unexpected '?tool_use_id'? found in '?\w{1,60}_tool_result'? blocks",),
        evidence="anthropics/claude-code#64383, #80439, #95406",
    ),
    Rule(
        id="ANT-SRV-UNPAIRED",
        statement="A server_tool_use has its result in the same message, unless the turn was paused and is the last.",
        mend="The call is left out.",
        error="messages.{i}: `server_tool_use` tool use with id {id} was found without a corresponding `{block}` block",
        texts=("'?server_tool_use'? (?:tool use with id|ids) .{1,99}found without",),
        certainty="R",
        evidence="code-yeongyu/senpi#117, withceleste/celeste-python#298",
    ),
    Rule(
        id="ANT-UNKNOWN-BLOCK",
        statement="Blocks are of the kinds that the API version knows.",
        mend="The block is sent as it is; one without a type is left out.",
        error="messages.{i}.content.{j}: Input tag '{block}' found using 'type' does not match any of the expected tags",
        texts=("input tag '[^']{1,64}' found using '?type'? does not match",),
        severity="DEG",
        certainty="R",
        evidence="vercel/ai packages/anthropic fixture anthropic-fallback-replay-without-beta.error.json",
    ),
    Rule(
        id="ANT-EMPTY-TEXT",
        statement="Text blocks are not empty.",
        mend="The block is left out; a message that held nothing else says that it had no content.",
        error="messages: text content blocks must be non-empty",
        texts=("text content blocks must be non-empty",),
        evidence="anthropics/claude-code#62150, anomalyco/opencode#3194",
    ),
    Rule(
        id="ANT-BLANK-TEXT",
        statement="Text blocks are not white space alone.",
        mend="The block is left out; a message that held nothing else says that it had no content.",
        error="messages: text content blocks must contain non-whitespace text",
        texts=("text content blocks must contain non-whitespace",),
        evidence="anthropics/claude-code#53436, NousResearch/hermes-agent#41985",
    ),
    Rule(
        id="ANT-EMPTY-MSG",
        statement="Messages are not empty.",
        mend="An assistant's message is left out, a user's says that it had no content.",
        error="messages.{i}: all messages must have non-empty content except for the optional final assistant message",
        texts=("all messages must have non-empty content",),
        evidence="anthropics/claude-code#3196, vercel/ai#5783",
    ),
    Rule(
        id="ANT-TRAIL-WS",
        statement="A final assistant message does not end in white space.",
        mend="The white space at the end is cut.",
        error="messages: final assistant content cannot end with trailing whitespace",
        texts=("cannot end with trailing whitespace",),
        evidence="langchain-ai/langchain#35072, crewAIInc/crewAI#4430",
    ),
    Rule(
        id="ANT-PREFILL",
        statement="Claude 4.6 and later want the last message to be the user's.",
        mend="A short message of the user's follows.",
        error="This model does not support assistant message prefill. The conversation must end with a user message.",
        texts=("assistant message prefill",),
        evidence="vercel/ai#12296, anomalyco/opencode#13768, langchain-ai/deepagents#1585",
    ),
    Rule(
        id="ANT-FIRST-USER",
        statement="The first message is the user's.",
        mend="A short message of the user's stands first.",
        error='messages: first message must use the "user" role',
        texts=("first message must use the '?user'? role",),
        certainty="C",
        evidence="BerriAI/litellm anthropic_messages_pt",
    ),
    Rule(
        id="ANT-SYSTEM-ROLE",
        statement="System text stands in the request's `system`, not at the head of its messages.",
        mend="Leading system text moves to the request's `system`; what cannot, becomes words of the user's.",
        error='messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter',
        texts=("accepts a top-level '?system'? parameter",),
        certainty="D",
    ),
    Rule(
        id="ANT-ROLE",
        statement="Roles are user and assistant.",
        mend="The message is sent as it is.",
        error='messages: Unexpected role "{role}". Allowed roles are "user" or "assistant"',
        severity="DEG",
        certainty="M",
    ),
    Rule(
        id="ANT-FIELD",
        statement="Messages hold a role and content.",
        mend="The field is sent as it is.",
        error="messages.{i}.{field}: Extra inputs are not permitted",
        severity="DEG",
        certainty="R",
        evidence="langchain-ai/langchain#31208, RooCodeInc/Roo-Code#11429",
    ),
    Rule(
        id="ANT-THINK-SIG-REQ",
        statement="A thinking block carries its signature.",
        mend="The thinking is left out.",
        error="messages.{i}.content.{j}.thinking.signature: Field required",
        texts=("signature: field required",),
        evidence="anomalyco/opencode#25005, bigduu/Bamboo-agent#520",
    ),
    Rule(
        id="ANT-THINK-SIG-BAD",
        statement="A signature is only good for the model that made it.",
        mend="Thinking of another model is left out.",
        error="messages.{i}.content.{j}: Invalid `signature` in `thinking` block",
        texts=("invalid '?signature'? in '?(?:redacted_)?thinking'? block",),
        evidence="vybestack/llxprt-code#2335, weave-os/router#279",
    ),
    Rule(
        id="ANT-THINK-FIRST",
        statement="With thinking on, a turn that calls tools begins with its thinking.",
        mend="Only the caller can: turn thinking off for this request, or send the turn as the model made it.",
        error=(
            "messages.{i}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{block}`. When "
            "`thinking` is enabled, a final `assistant` message must start with a thinking block"
        ),
        texts=("expected '?thinking'? or '?redacted_thinking'?, but found",),
        evidence="anomalyco/opencode#3077, Kilo-Org/kilocode#5219",
    ),
    Rule(
        id="ANT-THINK-FROZEN",
        statement="Thinking and its neighbours stay as the model made them.",
        mend="All thinking of the turn is left out, and thinking has to be off for this request.",
        error=(
            "messages.{i}.content.{j}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot "
            "be modified. These blocks must remain as they were in the original response."
        ),
        texts=("in the latest assistant message cannot be modified",),
        evidence="anthropics/claude-code#63203, microsoft/vscode#327646",
    ),
    Rule(
        id="ANT-ERR-EMPTY",
        statement="A result that is an error says something.",
        mend="The result says that the tool failed.",
        error="messages.{i}.content.{j}.tool_result: content cannot be empty if is_error is true",
        texts=("content cannot be empty if '?is_error'? is true",),
        certainty="R",
        evidence="bytedance/trae-agent#231",
    ),
    Rule(
        id="ANT-CACHE-4",
        statement="At most four blocks carry cache_control.",
        mend="The marks of tools and system text stay, then the latest.",
        error="A maximum of 4 blocks with cache_control may be provided. Found {n}.",
        texts=(r"maximum of \d{1,2} blocks with '?cache_control",),
        evidence="tghamm/Anthropic.SDK#50, Wei-Shaw/sub2api#176",
    ),
    Rule(
        id="ANT-SURROGATE",
        statement="Texts hold no halves of surrogate pairs.",
        mend="Split pairs are joined, lone halves become U+FFFD.",
        error="The request body is not valid JSON: no low surrogate in string: line 1 column {n}",
        texts=("no low surrogate", "lone leading surrogate", "surrogates not allowed"),
        evidence="anthropics/claude-code#3277, #6273, #60394",
    ),
)

RULE_OF = {
    "CALL_UNANSWERED": "ANT-ADJ-RESULT",
    "RESULT_ORPHAN": "ANT-ORPHAN-RESULT",
    "RESULT_DUPLICATE": "ANT-DUP-RESULT",
    "RESULT_DISPLACED": "ANT-ADJ-RESULT",
    "RESULT_SPLIT": "ANT-ADJ-RESULT",
    "RESULT_ORDER": "ANT-ADJ-RESULT",
    "RESULT_NOT_FIRST": "ANT-RESULT-FIRST",
    "RESULT_NOT_PURE": "ANT-ORPHAN-RESULT",
    "RESULT_EMPTY_ERROR": "ANT-ERR-EMPTY",
    "CALL_NOT_TAIL": "ANT-USE-TAIL",
    "SERVER_CALL_UNPAIRED": "ANT-SRV-UNPAIRED",
    "SERVER_RESULT_ORPHAN": "ANT-SRV-ORPHAN",
    "ID_DUPLICATE": "ANT-DUP-USE-ID",
    "ID_REUSED": "ANT-DUP-USE-ID",
    "ID_MISSING": "ANT-ID-PATTERN",
    "ID_CHARS": "ANT-ID-PATTERN",
    "ID_LENGTH": "ANT-ID-PATTERN",
    "NAME_PATTERN": "ANT-NAME",
    "ARGS_TYPE": "ANT-INPUT-OBJ",
    "ARGS_NOT_OBJECT": "ANT-INPUT-OBJ",
    "ARGS_UNPARSABLE": "ANT-INPUT-OBJ",
    "TEXT_EMPTY": "ANT-EMPTY-TEXT",
    "TEXT_BLANK": "ANT-BLANK-TEXT",
    "MESSAGE_EMPTY": "ANT-EMPTY-MSG",
    "TRAILING_WHITESPACE": "ANT-TRAIL-WS",
    "LAST_ASSISTANT": "ANT-PREFILL",
    "FIRST_NOT_USER": "ANT-FIRST-USER",
    "SYSTEM_MISPLACED": "ANT-SYSTEM-ROLE",
    "ROLE_UNKNOWN": "ANT-ROLE",
    "FIELD_UNKNOWN": "ANT-FIELD",
    "THINKING_UNSIGNED": "ANT-THINK-SIG-REQ",
    "THINKING_FOREIGN": "ANT-THINK-SIG-BAD",
    "THINKING_MODIFIED": "ANT-THINK-FROZEN",
    "THINKING_NOT_FIRST": "ANT-THINK-FIRST",
    "BLOCK_UNKNOWN": "ANT-UNKNOWN-BLOCK",
    "CACHE_MARKS": "ANT-CACHE-4",
    "SURROGATE_LONE": "ANT-SURROGATE",
}
