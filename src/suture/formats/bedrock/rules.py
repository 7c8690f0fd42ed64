"""What Bedrock's Converse demands: each rule with the words of the refusal and where they were seen.

Claude behind Bedrock refuses with Anthropic's words besides, wrapped as `The model returned the following errors: ...`; the
rules of those that hold here too are Anthropic's own.
"""

from __future__ import annotations

from suture.formats.anthropic.rules import RULES as ANTHROPIC
from suture.formats.bedrock.rules_of_media import MEDIA_RULE_OF, MEDIA_RULES
from suture.formats.rule import Rule, by_id

# Those of Anthropic's rules that a history for Claude behind Bedrock can break, and that Converse has none of its own for.
_OF_CLAUDE = (
    "ANT-RESULT-FIRST",
    "ANT-USE-TAIL",
    "ANT-TRAIL-WS",
    "ANT-PREFILL",
    "ANT-THINK-FROZEN",
    "ANT-THINK-FIRST",
    "ANT-CACHE-4",
    "ANT-SURROGATE",
)

RULES = by_id(
    Rule(
        id="BDR-RESULT-MISSING",
        statement="The message behind a turn that calls tools holds a toolResult for each of its calls.",
        mend="The results move into that message; a stand-in for a missing one says so.",
        error="Expected toolResult blocks at messages.{n}.content for the following Ids: {ids}",
        texts=("expected toolresult blocks",),
        evidence="camel-ai/camel#3954, agno-agi/agno#6698, genkit-ai/aws-bedrock-js-plugin#664",
    ),
    Rule(
        id="BDR-RESULT-EXTRA",
        statement="A message holds no more results than the turn before it made calls: one for each.",
        mend="A second result goes, the last real one stays; one without a call is left out, or quoted as the user's note.",
        error=(
            "The number of toolResult blocks at messages.{i}.content exceeds the number of toolUse blocks of previous turn."
        ),
        texts=("exceeds the number of tooluse",),
        certainty="R",
        evidence="strands-agents/harness-sdk#1435",
    ),
    Rule(
        id="BDR-DUP-ID",
        statement="The ids of calls are unique.",
        mend="The later call and its result get an id of their own; a copy of a call is left out.",
        error="The toolUse blocks at messages.{i}.content contain duplicate Ids: {id}",
        texts=("content contain duplicate ids",),
        certainty="R",
        evidence="bvcyber/Cyber-AutoAgent-ng#72",
    ),
    Rule(
        id="BDR-TOOLCONFIG",
        statement="A request whose history holds calls or results defines tools.",
        mend="A stub is added for each tool that was called; of a history alone, only the caller can add them.",
        error="The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        texts=("toolconfig field must be defined",),
        evidence="langgenius/dify#17545, patriceckhart/zot#18, elastic/kibana#246943",
    ),
    Rule(
        id="BDR-SAME-TURN",
        statement="Words and tool blocks stand in messages of their own.",
        mend="The assistant speaks a short message between a result and the user's words; words beside calls are left out.",
        error="messages.{i}.content: Conversation blocks and tool {block} blocks cannot be provided in the same turn.",
        texts=("cannot be provided in the same turn",),
        evidence="langchain-ai/langchain-aws#141, strands-agents/harness-sdk#1223, quarkiverse/quarkus-langchain4j#1983",
        models="Llama, Mistral, Cohere",
        variant="us.meta.llama3-3-70b-instruct-v1:0",
    ),
    Rule(
        id="BDR-BLANK-TEXT",
        statement="Texts are neither empty nor white space alone, in messages, results and system text.",
        mend="The block is left out; a message that held nothing else says that it had no content.",
        error=(
            "The text field in the ContentBlock object at messages.{i}.content.{j} is blank. Add text to the text field, "
            "and try again."
        ),
        texts=("text field in the contentblock object", "text content blocks must contain non-whitespace text"),
        evidence="continuedev/continue#9767, aws-samples/bedrock-engineer#8, NousResearch/hermes-agent#55092",
    ),
    Rule(
        id="BDR-EMPTY-MSG",
        statement="Messages hold a block.",
        mend="An assistant's message is left out, a user's says that it had no content.",
        error=(
            "The content field in the Message object at messages.{i} is empty. Add a ContentBlock object to the content "
            "field and try again."
        ),
        texts=("content field in the message object",),
        evidence="langchain-ai/langchain#26968, Portkey-AI/gateway#995, earendil-works/pi#3443",
    ),
    Rule(
        id="BDR-ALTERNATE",
        statement="User and assistant take turns.",
        mend="Neighbours of one role become one message; where a model thought, the user speaks in between.",
        error=(
            "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between "
            "user and assistant roles and try again."
        ),
        texts=("must alternate between user and assistant roles",),
        evidence="aws-samples/bedrock-access-gateway#25, langgenius/dify#9294",
    ),
    Rule(
        id="BDR-FIRST-USER",
        statement="The first message is the user's.",
        mend="A short message of the user's stands first.",
        error=(
            "A conversation must start with a user message. Try again with a conversation that starts with a user message."
        ),
        texts=("conversation must start with a user message",),
        evidence="elastic/kibana#246393, strands-agents/sdk-typescript#727",
    ),
    Rule(
        id="BDR-ID-NAME",
        statement="Ids of calls and names of tools are up to 64 letters, digits, _ and -.",
        mend="Other characters become _, and a changed id ends in a hash of the whole one; results and tools follow.",
        error=(
            "Value at 'messages.{m}.member.content.{k}.member.toolUse.{field}' failed to satisfy constraint: Member must "
            "have length less than or equal to 64; Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+"
        ),
        texts=(r"tool(use|result)\.(tooluseid|name)' failed to satisfy constraint",),
        evidence="openclaw/openclaw#12892, earendil-works/pi#781, BerriAI/litellm#28825",
    ),
    Rule(
        id="BDR-INPUT-OBJ",
        statement="The input of a call is an object.",
        mend="A text is read as an object; what cannot be read is kept under '_raw' of an object.",
        error=(
            "The format of the value at messages.{i}.content.{j}.toolUse.input is invalid. Provide a json object for the "
            "field and try again."
        ),
        texts=(r"tooluse\.input is invalid",),
        evidence="vercel/ai#19023, vercel/ai#16561",
    ),
    Rule(
        id="BDR-RESULT-JSON",
        statement="The json of a result is an object.",
        mend="A list or any other value goes as text, and so does a result that holds no blocks.",
        error=(
            "The format of the value at messages.{i}.content.{j}.toolResult.content.{k}.json is invalid. Provide a json "
            "object for the field and try again."
        ),
        texts=(r"toolresult\.content\.\d+\.json is invalid",),
        evidence="aws/aws-sdk-js-v3#7330, sigoden/aichat#1542, deepset-ai/haystack-core-integrations#3766",
    ),
    Rule(
        id="BDR-ERR-EMPTY",
        statement="A result that is an error says something.",
        mend="The result says that the tool failed.",
        error="The content field at messages.{i}.content.{j}.toolResult cannot be empty when status value is error.",
        texts=("cannot be empty when status value is error",),
        certainty="R",
        evidence="aws-samples/sample-multi-agent-orchestration-chat-on-agentcore#15",
    ),
    Rule(
        id="BDR-REASON-SIG",
        statement="Reasoning goes back signed to Claude, and without a signature to every other model.",
        mend="For Claude, reasoning without a signature is left out; for others, the signature is.",
        error="This model doesn't support the reasoningContent.reasoningText.signature field. Remove it and try again.",
        texts=(r"reasoningtext\.signature field", r"thinking\.signature: field required"),
        certainty="C",
        evidence="earendil-works/pi packages/ai amazon-bedrock.ts",
        models="all; which way depends on the model",
        variant="us.amazon.nova-pro-v1:0",
    ),
    Rule(
        id="BDR-REASON-MODEL",
        statement="No reasoning goes back to DeepSeek.",
        mend="It is left out and reported.",
        error="User messages cannot contain reasoning content. Please remove the reasoning content and try again.",
        texts=("cannot contain reasoning content",),
        evidence="langchain-ai/langchain-aws#401, strands-agents/harness-sdk#651, zed-industries/zed#32341",
        models="DeepSeek",
        variant="us.deepseek.r1-v1:0",
    ),
    Rule(
        id="BDR-DOC-NAME",
        statement="A document has a name of plain characters that no other has, and a text stands beside it.",
        mend="Other characters become -, a name that comes back gets a number, and a short text is put before a document.",
        error=(
            "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, "
            "and square brackets. The name can't contain more than one consecutive whitespace character."
        ),
        texts=("document file name can only contain", "can't contain duplicate document names"),
        certainty="C",
        evidence="BerriAI/litellm factory.py, simonw/llm-bedrock#8, vercel/ai#20365, maximhq/bifrost#7003",
    ),
    Rule(
        id="BDR-RESULT-MEDIA",
        statement="Results hold pictures and documents for Claude and Nova alone.",
        mend="They follow the batch in a message of the user's; a result that held nothing else says so.",
        certainty="D",
        models="Llama, Mistral, Cohere, DeepSeek",
        variant="us.meta.llama3-3-70b-instruct-v1:0",
    ),
    Rule(
        id="BDR-BLOCKS",
        statement="Content is a list of blocks, and each block an object with one member.",
        mend="A text becomes a block, and a block of several members becomes one for each.",
        error="Invalid number of parameters set for tagged union structure messages[{i}].content[{j}].",
        texts=("parameters set for tagged union structure", r"invalid type for parameter messages\[\d+\]\.content,"),
        certainty="D",
    ),
    Rule(
        id="BDR-USE-ROLE",
        statement="Calls stand in assistant messages.",
        mend="The call moves into an assistant message of its own, where its result finds it.",
        certainty="D",
    ),
    Rule(
        id="BDR-UNKNOWN-BLOCK",
        statement="Blocks are of the kinds that Converse has.",
        mend="The block is sent as it is; one that names no kind is left out.",
        error='Unknown parameter in messages[{i}].content[{j}]: "{block}"',
        texts=(r"unknown parameter in messages\[\d+\]\.content",),
        severity="DEG",
        certainty="D",
    ),
    Rule(
        id="BDR-SYSTEM",
        statement="System text stands in the request's `system`, not at the head of its messages.",
        mend="Leading system text moves to the request's `system`; what cannot, becomes words of the user's.",
        certainty="D",
    ),
    Rule(
        id="BDR-ROLE",
        statement="Roles are user and assistant.",
        mend="The message is sent as it is; only the newest models know system text among the messages.",
        error=(
            "Value '{role}' at 'messages.{m}.member.role' failed to satisfy constraint: Member must satisfy enum value "
            "set: [user, assistant]"
        ),
        texts=(r"member\.role' failed to satisfy constraint",),
        severity="DEG",
        certainty="D",
        healed=False,
    ),
    Rule(
        id="BDR-FIELD",
        statement="Messages hold a role and content.",
        mend="The field is sent as it is.",
        error='Unknown parameter in messages[{i}]: "{field}", must be one of: role, content',
        texts=(r"unknown parameter in messages\[\d+\]:",),
        severity="DEG",
        certainty="D",
        healed=False,
    ),
    *MEDIA_RULES.values(),
    *[ANTHROPIC[id] for id in _OF_CLAUDE],
)

RULE_OF = {
    **MEDIA_RULE_OF,
    "CALL_UNANSWERED": "BDR-RESULT-MISSING",
    "RESULT_ORPHAN": "BDR-RESULT-EXTRA",
    "RESULT_DUPLICATE": "BDR-RESULT-EXTRA",
    "RESULT_DISPLACED": "BDR-RESULT-MISSING",
    "RESULT_SPLIT": "BDR-RESULT-MISSING",
    "RESULT_ORDER": "BDR-RESULT-MISSING",
    "RESULT_NOT_FIRST": "ANT-RESULT-FIRST",
    "RESULT_NOT_PURE": "BDR-RESULT-EXTRA",
    "RESULT_EMPTY_ERROR": "BDR-ERR-EMPTY",
    "RESULT_SHAPE": "BDR-RESULT-JSON",
    "CALL_NOT_TAIL": "ANT-USE-TAIL",
    "TEXT_WITH_TOOL": "BDR-SAME-TURN",
    "USER_AFTER_TOOL": "BDR-SAME-TURN",
    "TOOLS_MISSING": "BDR-TOOLCONFIG",
    "NAME_UNDECLARED": "BDR-TOOLCONFIG",
    "ID_DUPLICATE": "BDR-DUP-ID",
    "ID_REUSED": "BDR-DUP-ID",
    "ID_MISSING": "BDR-ID-NAME",
    "ID_CHARS": "BDR-ID-NAME",
    "ID_LENGTH": "BDR-ID-NAME",
    "NAME_PATTERN": "BDR-ID-NAME",
    "ARGS_TYPE": "BDR-INPUT-OBJ",
    "ARGS_NOT_OBJECT": "BDR-INPUT-OBJ",
    "ARGS_UNPARSABLE": "BDR-INPUT-OBJ",
    "TEXT_EMPTY": "BDR-BLANK-TEXT",
    "TEXT_BLANK": "BDR-BLANK-TEXT",
    "MESSAGE_EMPTY": "BDR-EMPTY-MSG",
    "BLOCK_SHAPE": "BDR-BLOCKS",
    "BLOCK_UNKNOWN": "BDR-UNKNOWN-BLOCK",
    "CALL_MISPLACED": "BDR-USE-ROLE",
    "FIELD_UNKNOWN": "BDR-FIELD",
    "ROLE_REPEAT": "BDR-ALTERNATE",
    "ROLE_UNKNOWN": "BDR-ROLE",
    "FIRST_NOT_USER": "BDR-FIRST-USER",
    "SYSTEM_MISPLACED": "BDR-SYSTEM",
    "LAST_ASSISTANT": "ANT-PREFILL",
    "TRAILING_WHITESPACE": "ANT-TRAIL-WS",
    "THINKING_UNSIGNED": "BDR-REASON-SIG",
    "THINKING_FOREIGN": "BDR-REASON-MODEL",
    "THINKING_MODIFIED": "ANT-THINK-FROZEN",
    "THINKING_NOT_FIRST": "ANT-THINK-FIRST",
    "SIGNATURE_FORM": "BDR-REASON-SIG",
    "IMAGE_ROLE": "BDR-RESULT-MEDIA",
    "DOCUMENT_NAME": "BDR-DOC-NAME",
    "DOCUMENT_ALONE": "BDR-DOC-NAME",
    "CACHE_MARKS": "ANT-CACHE-4",
    "SURROGATE_LONE": "ANT-SURROGATE",
}
