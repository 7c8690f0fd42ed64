"""What Anthropic's Messages demand of messages, their roles and their words."""

from __future__ import annotations

from suture.formats.rule import Rule

RULES = (
    Rule(
        id="ANT-UNKNOWN-BLOCK",
        statement="Blocks are of the kinds that the API version knows.",
        mend="Words of another API become a text; an unknown block is sent as it is; one without a type is left out.",
        error="messages.{i}.content.{j}: Input tag '{block}' found using 'type' does not match any of the expected tags",
        texts=(r"input tag '[^']{1,64}' found using '?type'? does not match",),
        certainty="R",
        evidence="vercel/ai packages/anthropic fixture anthropic-fallback-replay-without-beta.error.json",
        healed=False,
    ),
    Rule(
        id="ANT-EMPTY-TEXT",
        statement="Text blocks are not empty.",
        mend="The block is left out; a message that held nothing else says that it had no content.",
        error="messages: text content blocks must be non-empty",
        texts=(r"text content blocks must be non-empty",),
        evidence="anthropics/claude-code#62150, #23440, anomalyco/opencode#3194",
    ),
    Rule(
        id="ANT-BLANK-TEXT",
        statement="Text blocks are not white space alone.",
        mend="The block is left out; a message that held nothing else says that it had no content.",
        error="messages: text content blocks must contain non-whitespace text",
        texts=(r"text content blocks must contain non-whitespace",),
        evidence="anthropics/claude-code#53436, anomalyco/opencode#31259, NousResearch/hermes-agent#41985",
    ),
    Rule(
        id="ANT-EMPTY-MSG",
        statement="Messages are not empty.",
        mend="An assistant's message is left out, a user's says that it had no content.",
        error="messages.{i}: all messages must have non-empty content except for the optional final assistant message",
        texts=(r"all messages must have non-empty content",),
        evidence="anthropics/claude-code#3196, #6774, dspinellis/ai-cli-lib#16, vercel/ai#5783",
    ),
    Rule(
        id="ANT-TRAIL-WS",
        statement="A final assistant message does not end in white space.",
        mend="The white space at the end is cut.",
        error="messages: final assistant content cannot end with trailing whitespace",
        texts=(r"cannot end with trailing whitespace",),
        evidence="langchain-ai/langchain#35072, crewAIInc/crewAI#4430",
    ),
    Rule(
        id="ANT-PREFILL",
        statement="Claude 4.6 and later want the last message to be the user's.",
        mend="A short message of the user's follows.",
        error="This model does not support assistant message prefill. The conversation must end with a user message.",
        texts=(r"assistant message prefill",),
        since="2026-02",
        models="Claude 4.6 and later",
        evidence="vercel/ai#12296, anomalyco/opencode#13768, langchain-ai/deepagents#1585",
        variant="claude-opus-4-6",
    ),
    Rule(
        id="ANT-ALTERNATE",
        statement="Roles alternate: no two messages of one role in a row.",
        mend="They are joined, results first; between turns in which a model thought the user speaks.",
        error='messages: roles must alternate between "user" and "assistant", but found multiple "{role}" roles in a row',
        texts=(r"roles must alternate between",),
        models="relay, bedrock",
        evidence="FlowiseAI/Flowise#2006, coaidev/coai#209, BerriAI/litellm#3474",
        variant="relay",
    ),
    Rule(
        id="ANT-FIRST-USER",
        statement="The first message is the user's.",
        mend="A short message of the user's stands first.",
        error='messages: first message must use the "user" role',
        texts=(r"first message must use the '?user'? role",),
        certainty="C",
        evidence="BerriAI/litellm anthropic_messages_pt",
    ),
    Rule(
        id="ANT-SYSTEM-ROLE",
        statement=(
            "System text stands in the request's `system`, not at the head of its messages; newer models take it "
            "between them."
        ),
        mend="Leading system text moves to the request's `system`; what cannot, becomes words of the user's.",
        error='messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter',
        texts=(
            r"messages: unexpected role 'system'",
            r"accepts a top-level '?system'? parameter",
        ),
        certainty="D",
    ),
    Rule(
        id="ANT-ROLE",
        statement="Roles are user and assistant.",
        mend="The message is sent as it is.",
        error='messages: Unexpected role "{role}". Allowed roles are "user" or "assistant"',
        texts=(r"\.role: input should be 'user'",),
        severity="DEG",
        certainty="M",
        healed=False,
    ),
    Rule(
        id="ANT-FIELD",
        statement="Messages hold a role and content.",
        mend="The field is sent as it is.",
        error="messages.{i}.{field}: Extra inputs are not permitted",
        severity="DEG",
        certainty="R",
        evidence="langchain-ai/langchain#31208, RooCodeInc/Roo-Code#11429",
        healed=False,
    ),
    Rule(
        id="ANT-SURROGATE",
        statement="Texts hold no halves of surrogate pairs.",
        mend="Split pairs are joined, lone halves become U+FFFD.",
        error="The request body is not valid JSON: no low surrogate in string: line 1 column {n}",
        texts=(r"no low surrogate", r"lone leading surrogate", r"surrogates not allowed"),
        evidence="anthropics/claude-code#3277, #6273, #60394",
    ),
)
