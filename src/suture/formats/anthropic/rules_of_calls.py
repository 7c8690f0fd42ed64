"""What Anthropic's Messages demand of calls and results, those of the client and those of its own tools."""

from __future__ import annotations

from suture.formats.rule import Rule

_UNANSWERED = (
    "messages.{i}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each "
    "`tool_use` block must have a corresponding `tool_result` block in the next message."
)
_OLDER = (
    r"ids were found without",
    r"did not find \d+ '?tool_result'? block",
    r"must begin with a matching number of '?tool_result'? blocks",
)

RULES = (
    Rule(
        id="ANT-ADJ-RESULT",
        statement="Every tool_use is answered by a tool_result in the next message, all of a turn in that one.",
        mend="The results move into the message behind their calls; a stand-in for a missing one says so.",
        error=_UNANSWERED,
        texts=_OLDER,
        evidence="anthropics/claude-code#5989, #1237, #2697, #9346, Kilo-Org/kilocode#5163, aaif-goose/goose#2951",
    ),
    Rule(
        id="ANT-RESULT-FIRST",
        statement="In the message that answers calls, the results come before everything else.",
        mend="The results move before everything else in their message.",
        error=_UNANSWERED,
        texts=_OLDER,
        evidence="anthropics/anthropic-sdk-typescript#653, langchain-ai/langchain-aws#451",
    ),
    Rule(
        id="ANT-USE-TAIL",
        statement="In an assistant message, nothing but calls follows the first tool_use.",
        mend="What stands behind the calls moves before them; where thinking is in the way, it is left out too.",
        error=_UNANSWERED,
        texts=(r"ids were found without", r"must begin with a matching number of '?tool_result'? blocks"),
        certainty="C",
        evidence="anomalyco/opencode packages/opencode/src/provider/transform.ts, vercel/ai packages/anthropic",
    ),
    Rule(
        id="ANT-USE-ROLE",
        statement="Calls stand in assistant messages, and so do the calls and results of Anthropic's own tools.",
        mend="The call moves into an assistant message of its own, where its result finds it.",
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
        texts=(r"unexpected '?tool_use_id'? found in '?tool_result'? blocks",),
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
        texts=(
            r"must have a single result",
            r"multiple '?tool_result'? blocks with id",
        ),
        certainty="C",
        evidence="BerriAI/litellm prompt_templates/factory.py, Kilo-Org/kilocode#3772",
    ),
    Rule(
        id="ANT-DUP-USE-ID",
        statement="tool_use ids are unique in the whole request.",
        mend="The later call and its result get an id of their own; a copy of a call is left out.",
        error="messages.{i}.content.{j}: `tool_use` ids must be unique",
        texts=(r"'?tool_use'? ids must be unique",),
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
        texts=(
            r"tool_use\.name: string should have at (?:most|least) \d+ character",
            r"name'?: string should match pattern '\^\[a-za-z0-9_-\]\{1,\d{1,3}\}\$'",
        ),
        certainty="D",
    ),
    Rule(
        id="ANT-INPUT-OBJ",
        statement="The input of a call is an object.",
        mend="A text is read as an object; what cannot be read is kept under '_raw' of an object.",
        error="messages.{i}.content.{j}.tool_use.input: Input should be a valid dictionary",
        texts=(r"tool_use\.input: input should be (?:a valid dictionary|an object)",),
        certainty="M",
        evidence="its twin at Bedrock, BDR-INPUT-OBJ, is well known",
    ),
    Rule(
        id="ANT-ERR-EMPTY",
        statement="A result that is an error says something.",
        mend="The result says that the tool failed.",
        error="messages.{i}.content.{j}.tool_result: content cannot be empty if is_error is true",
        texts=(r"content cannot be empty if '?is_error'? is true",),
        certainty="R",
        evidence="bytedance/trae-agent#231",
    ),
    Rule(
        id="ANT-RESULT-CONTENT",
        statement="A result holds a text or blocks.",
        mend="Anything else is written as JSON text.",
        error="messages.{i}.content.{j}.tool_result.content: Input should be a valid string or a list of blocks",
        certainty="D",
        evidence="docs.anthropic.com Messages: tool_result content",
    ),
    Rule(
        id="ANT-SERVER-ID",
        statement="The id of a server_tool_use is one that Anthropic gave: srvtoolu_ and letters, digits, _.",
        mend="It is never renamed: call and result become a few words, and half a pair is left out.",
        error="messages.{i}.content.{j}.server_tool_use.id: String should match pattern '^srvtoolu_[a-zA-Z0-9_]+$'",
        texts=(r"string should match pattern '\^srvtoolu_",),
        certainty="R",
        evidence="BerriAI/litellm#31672, tingly-dev/tingly-box#1401",
    ),
    Rule(
        id="ANT-SRV-ORPHAN",
        statement="The result of a server tool follows its server_tool_use in the same message.",
        mend="The messages are joined where the call stands in the one before; else the result is left out.",
        error=(
            "messages.{i}.content.{j}: unexpected `tool_use_id` found in `{block}` blocks: {id}. Each `{block}` "
            "block must have a corresponding `server_tool_use` block before it."
        ),
        texts=(
            r"unexpected '?tool_use_id'? found in '?\w{1,60}_tool_result'? blocks",
            r"corresponding '?(?:server|mcp)_tool_use'? block before it",
        ),
        evidence="anthropics/claude-code#64383, #80439, #84783, #95406, #65726",
    ),
    Rule(
        id="ANT-SRV-UNPAIRED",
        statement=(
            "A server_tool_use has its result in the same message, unless the turn was paused and is the last, or its code "
            "waits for the result of a call that it made."
        ),
        mend="The call is left out.",
        error="messages.{i}: `server_tool_use` tool use with id `{id}` was found without a corresponding `{block}` block",
        texts=(
            r"tool use with id '?srvtoolu_\w{1,99}'? was found without",
            r"'?server_tool_use'? (?:tool use with id|ids) .{1,99}found without",
        ),
        certainty="R",
        evidence="code-yeongyu/senpi#117, withceleste/celeste-python#298",
    ),
    Rule(
        id="ANT-SRV-KEEP",
        statement=(
            "A finished pair of a server tool that stands between thoughts of the latest assistant message stays there."
        ),
        mend=(
            "Healing keeps it, also when its tool is no longer offered; one that is gone only the caller can restore, "
            "or turn thinking off."
        ),
        error=(
            "messages.{i}.content.{j}: `thinking` or `redacted_thinking` blocks in the latest assistant message "
            "cannot be modified. These blocks must remain as they were in the original response."
        ),
        evidence="anthropics/anthropic-sdk-csharp#242, dust-tt/dust#28541, can1357/oh-my-pi#6496",
        healed=False,
    ),
    Rule(
        id="ANT-CALLER-SRC",
        statement="A call that code made has the server_tool_use of that code before it.",
        mend="The call loses its 'caller'; nothing else of it changes.",
        error="messages.{i}: source tool '{source}' not found for tool use block '{id}'",
        texts=(r"source tool '.*' not found for tool use block",),
        certainty="R",
        evidence="vercel/ai packages/anthropic fixture anthropic-issue-12504-orphaned-caller-error.1.json",
    ),
    Rule(
        id="ANT-TOOLREF",
        statement="What a tool search found is among the tools of the request.",
        mend="The tool is defined as a stub that says that it is gone.",
        error="Tool reference '{name}' not found in available tools",
        certainty="R",
        evidence="vercel/ai packages/anthropic fixture anthropic-tool-choice-none-tool-search-history.error.json",
    ),
    Rule(
        id="ANT-MCP-PAIR",
        statement="An mcp_tool_use has its mcp_tool_result in the same message, and its server stands in the request.",
        mend="A call without its result becomes a few words, a result without its call is left out.",
        error=(
            "messages.{i}: `mcp_tool_use` tool use with id `{id}` was found without a corresponding `mcp_tool_result` block"
        ),
        certainty="I",
    ),
    Rule(
        id="ANT-TOOLS-REQ",
        statement="A history with calls comes with tools.",
        mend="Where it is refused each tool that was called is defined as a stub; elsewhere it is only said.",
        error="Requests which include `tool_use` or `tool_result` blocks must define tools.",
        certainty="R",
        since="2024; the API itself takes it now",
        models="relay, bedrock",
        evidence="anthropics/anthropic-sdk-python#494, BerriAI/litellm",
        variant="relay",
    ),
)
