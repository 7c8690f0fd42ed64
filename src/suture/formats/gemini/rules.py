"""What Gemini's generateContent demands: each rule with the words of the refusal and where they were seen."""

from __future__ import annotations

from suture.formats.gemini.rules_of_media import MEDIA_RULE_OF, MEDIA_RULES
from suture.formats.rule import Rule, by_id

_INVALID = "Request contains an invalid argument."
_MODEL_LAST = "Requests ending with a model turn are not supported."
_STRUCT = (
    "Invalid value at 'contents[{i}].parts[{j}].function_%s' (type.googleapis.com/google.protobuf.Struct), "
    "Cannot bind a value of another type."
)

RULES = by_id(
    Rule(
        id="GEM-PARITY",
        statement="The content behind a batch of n functionCalls holds n functionResponses, one for each.",
        mend="The responses move into that content; a stand-in for a missing one says so; others go.",
        error=(
            "Please ensure that the number of function response parts is equal to the number of function call parts of "
            "the function call turn."
        ),
        texts=("number of function response parts",),
        evidence="google-gemini/gemini-cli#16415, #4217, #5443, #14590, microsoft/vscode#299295",
    ),
    Rule(
        id="GEM-CALL-AFTER",
        statement="Calls follow what the user says or functionResponses: no content of the model's, and not nothing.",
        mend="The content joins the model's before it; where it is the first, a short message of the user's precedes it.",
        error=(
            "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
        ),
        texts=("function call turn comes immediately after",),
        evidence="google-gemini/gemini-cli#11814, #26486, continuedev/continue#11164, lobehub/lobehub#10049",
    ),
    Rule(
        id="GEM-RESP-AFTER",
        statement="functionResponses follow their calls directly.",
        mend="They move there; one without a call is left out and reported in full, or quoted as a note of the user's.",
        error="Please ensure that function response turn comes immediately after a function call turn.",
        texts=("function response turn comes immediately after",),
        evidence="langchain-ai/langchain#27799, BerriAI/litellm#26755, GoogleCloudPlatform/generative-ai#368",
    ),
    Rule(
        id="GEM-RESP-PURE",
        statement="A content with functionResponses holds nothing else.",
        mend="What stands beside them moves into a content of its own behind them, which stays apart.",
        error=_MODEL_LAST,
        texts=("requests ending with a model turn are not supported",),
        certainty="R",
        evidence="vellum-ai/vellum-assistant#39495, anomalyco/opencode#43479",
    ),
    Rule(
        id="GEM-MIX",
        statement="A content holds functionCalls or functionResponses, never both.",
        mend="Each goes into a content of its own, the calls first.",
        error=(
            "Please ensure that function call turn contains at least one function_call part which can not be mixed with "
            "function_response parts."
        ),
        texts=("can not be mixed with function_response",),
        certainty="R",
        evidence="googleapis/python-genai#81",
    ),
    Rule(
        id="GEM-SIG-MISSING",
        statement="Since the user last spoke, the first functionCall of each step carries the signature that came with it.",
        mend="Where it is lost, the documented stand-in takes its place; calls beside the first stay unsigned.",
        error=(
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
            "correctly, and missing thought_signature may lead to degraded model performance. Additional data, function "
            "call `default_api:{name}` , position {n}."
        ),
        texts=(
            "content block is missing a '?thought_signature",
            "missing a thought_signature",
        ),
        evidence="ai.google.dev/gemini-api/docs/thought-signatures, vercel/ai#15550, earendil-works/pi#1829",
        since="2025-11",
        models="Gemini 3 and later",
        variant="gemini-3-pro",
    ),
    Rule(
        id="GEM-SIG-PLACE",
        statement="A signature stands beside what it came with: on that part, and one in each.",
        mend="One inside a functionCall moves beside it; parts with signatures are neither joined nor cut.",
        certainty="D",
        evidence="ai.google.dev/gemini-api/docs/thought-signatures",
    ),
    Rule(
        id="GEM-SIG-B64",
        statement="A signature is base64, and Gemini's own.",
        mend="One of another form or maker is left out; on Gemini 3 the stand-in takes its place where one is wanted.",
        error="Invalid value at 'contents[{i}].parts[{j}].thought_signature' (TYPE_BYTES), Base64 decoding failed",
        texts=(
            "corrupted thought signature",
            "thought signature is not valid",
            "thought_?signature.*base64",
        ),
        certainty="C",
        evidence="pi-mono google-shared.ts",
    ),
    Rule(
        id="GEM-PARTS-EMPTY",
        statement="A content has a part at least.",
        mend="One of the user's says that it was empty, but for one behind another of the user's; that and the model's go.",
        error="* GenerateContentRequest.contents[{i}].parts: contents.parts must not be empty.",
        texts=(r"contents\W.{0,40}parts must not be empty", "at least one parts field"),
        evidence="vercel/ai#3775, egoist/chatwise-releases#250, genkit-ai/genkit#3690, langgenius/dify#30566",
    ),
    Rule(
        id="GEM-PART-DATA",
        statement="A part holds one thing; an empty text is nothing, unless a signature stands beside it.",
        mend="A part that holds nothing is left out, one that holds several things is cut; a signature gets an empty text.",
        error=(
            "* GenerateContentRequest.contents[{i}].parts[{j}].data: required oneof field 'data' must have one "
            "initialized field"
        ),
        texts=(
            "because it must have a text parameter",
            "required oneof field 'data'",
        ),
        evidence="boldsoftware/sketch#68, router-for-me/CLIProxyAPI#1293, 54xzh/FLIT#69",
    ),
    Rule(
        id="GEM-ROLE",
        statement="Roles are user and model, and function or tool for functionResponses alone.",
        mend="Others are read as what they mean; system text moves to systemInstruction, or becomes words of the user's.",
        error="Please use a valid role: user, model.",
        texts=(
            "content with system role is not supported",
            "use a valid role: user, model",
        ),
        certainty="R",
        evidence="songquanpeng/one-api#1385",
    ),
    Rule(
        id="GEM-LAST-USER",
        statement="The last content is the user's, or holds functionResponses.",
        mend="A short message of the user's follows the model's.",
        error=_MODEL_LAST,
        texts=("multiturn requests ends with a user role", "single turn requests end with a user role"),
        evidence="songquanpeng/one-api#836, crewAIInc/crewAI#6973, microsoft/semantic-kernel#13288",
    ),
    Rule(
        id="GEM-DUP-ID",
        statement="No two functionCalls of a content share an id.",
        mend="The later call and its response get an id of their own; a copy of a call is left out.",
        error=_INVALID,
        texts=("request contains an invalid argument",),
        certainty="R",
        evidence="watt-mind/coach#280",
    ),
    Rule(
        id="GEM-RESP-NAME",
        statement="A functionResponse has the name of its call; Gemini 3 wants that function declared as well.",
        mend="The name is taken from the call; a function that is not declared any more gets a stub.",
        error=_INVALID,
        texts=("request contains an invalid argument",),
        certainty="R",
        evidence="watt-mind/coach#280",
    ),
    Rule(
        id="GEM-RESP-OBJ",
        statement="The response of a functionResponse is an object.",
        mend="Anything else goes under 'output' of an object.",
        error=_STRUCT % "response.response",
        texts=(r"function_?response.*google\.protobuf\.struct",),
        certainty="C",
        evidence="pi-mono google-shared.ts",
    ),
    Rule(
        id="GEM-NAME-PATTERN",
        statement="Names of functions begin with a letter or _ and go on with letters, digits, _, ., : and -, 64 in all.",
        mend="Other letters become _, and _ comes before a digit, the same in declarations and history.",
        error=(
            "* GenerateContentRequest.tools[0].function_declarations[{j}].name: Invalid function name. Must start with a "
            "letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), "
            "with a maximum length of 64."
        ),
        texts=(r"name\W{1,3}invalid function name",),
        certainty="R",
        evidence="google-gemini/gemini-cli#6704, su-kaka/gcli2api#146",
    ),
    Rule(
        id="GEM-IMG-RESP",
        statement="A function's picture stands inside its functionResponse on Gemini 3, and behind it for older models.",
        mend="It moves there; what stands behind is a content of the user's of its own.",
        error=_MODEL_LAST,
        certainty="C",
        evidence="pi-mono google-shared.ts",
        models="inside: Gemini 3 and later",
    ),
    Rule(
        id="GEM-CALL-ID",
        statement="Gemini needs no ids of calls; models of others behind Google's endpoints do.",
        mend="For those a call and its response get one that depends on their place alone; Gemini's own calls get none.",
        certainty="C",
        evidence="pi-mono requiresToolCallId",
        models="claude-*, gpt-oss-*",
        variant="claude-sonnet-4-5",
    ),
    # What the catalogue of rules has no name for.
    Rule(
        id="GEM-RESP-ID",
        statement="A functionResponse carries the id of its call, or neither carries one; a blank one is none.",
        mend="The response gets the id of its call; a blank id is left out.",
        certainty="I",
    ),
    Rule(
        id="GEM-FIRST-USER",
        statement="The first content is the user's.",
        mend="A short message of the user's precedes the model's.",
        certainty="I",
    ),
    Rule(
        id="GEM-CALL-ROLE",
        statement="functionCalls stand in contents of the model's.",
        mend="The call moves into one, in its place.",
        certainty="I",
    ),
    Rule(
        id="GEM-ARGS-OBJ",
        statement="The args of a functionCall are an object.",
        mend="A text is read; what cannot be read is kept under '_raw' of an object.",
        error=_STRUCT % "call.args",
        texts=(r"function_?call.*google\.protobuf\.struct",),
        certainty="I",
    ),
    Rule(
        id="GEM-PART-KIND",
        statement="A part holds what Gemini is known to take.",
        mend="Anything else is sent as it came.",
        error="Invalid JSON payload received. Unknown name {part} at 'contents[{i}].parts[{j}]': Cannot find field.",
        texts=(r"unknown name .* at 'contents\[\d+\]\.parts\[\d+\]'",),
        severity="DEG",
        certainty="M",
        healed=False,
    ),
    Rule(
        id="GEM-FIELD",
        statement="A content has a role and parts, and nothing else.",
        mend="Other fields are sent as they came.",
        error="Invalid JSON payload received. Unknown name {field} at 'contents[{i}]': Cannot find field.",
        texts=(r"unknown name .* at 'contents\[\d+\]'",),
        severity="DEG",
        certainty="M",
        healed=False,
    ),
    Rule(
        id="GEM-SURROGATE",
        statement="Texts hold no halves of surrogate pairs.",
        mend="Split pairs are joined, lone halves become U+FFFD.",
        evidence="anthropics/claude-code#3277, link-assistant/hive-mind#1324",
    ),
    *MEDIA_RULES.values(),
)

RULE_OF = {
    **MEDIA_RULE_OF,
    "CALL_UNANSWERED": "GEM-PARITY",
    "RESULT_SPLIT": "GEM-PARITY",
    "RESULT_DUPLICATE": "GEM-PARITY",
    "RESULT_ORDER": "GEM-PARITY",
    "RESULT_DISPLACED": "GEM-RESP-AFTER",
    "RESULT_ORPHAN": "GEM-RESP-AFTER",
    "RESULT_NOT_PURE": "GEM-RESP-PURE",
    "RESULT_NAME_MISMATCH": "GEM-RESP-NAME",
    "NAME_UNDECLARED": "GEM-RESP-NAME",
    "TOOLS_MISSING": "GEM-RESP-NAME",
    "RESULT_SHAPE": "GEM-RESP-OBJ",
    "CALL_AFTER_MODEL": "GEM-CALL-AFTER",
    "FIRST_NOT_USER": "GEM-CALL-AFTER",
    "CALL_MISPLACED": "GEM-CALL-ROLE",
    "SIGNATURE_MISSING": "GEM-SIG-MISSING",
    "SIGNATURE_PLACE": "GEM-SIG-PLACE",
    "SIGNATURE_FORM": "GEM-SIG-B64",
    "THINKING_FOREIGN": "GEM-SIG-B64",
    "MESSAGE_EMPTY": "GEM-PARTS-EMPTY",
    "TEXT_EMPTY": "GEM-PART-DATA",
    "TEXT_BLANK": "GEM-PART-DATA",
    "PART_SHAPE": "GEM-PART-DATA",
    "ROLE_UNKNOWN": "GEM-ROLE",
    "SYSTEM_MISPLACED": "GEM-ROLE",
    "LAST_ASSISTANT": "GEM-LAST-USER",
    "ID_DUPLICATE": "GEM-DUP-ID",
    "ID_REUSED": "GEM-DUP-ID",
    "ID_MISSING": "GEM-CALL-ID",
    "ID_BLANK": "GEM-RESP-ID",
    "ID_CHARS": "GEM-CALL-ID",
    "ID_LENGTH": "GEM-CALL-ID",
    "NAME_PATTERN": "GEM-NAME-PATTERN",
    "IMAGE_ROLE": "GEM-IMG-RESP",
    "IMAGE_BESIDE": "GEM-IMG-RESP",
    "ARGS_TYPE": "GEM-ARGS-OBJ",
    "ARGS_NOT_OBJECT": "GEM-ARGS-OBJ",
    "ARGS_UNPARSABLE": "GEM-ARGS-OBJ",
    "BLOCK_UNKNOWN": "GEM-PART-KIND",
    "FIELD_UNKNOWN": "GEM-FIELD",
    "SURROGATE_LONE": "GEM-SURROGATE",
}
