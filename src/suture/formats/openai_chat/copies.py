"""What those demand who copied Chat Completions, beside OpenAI's rules or in other words; `dialects` says who is who."""

from __future__ import annotations

from suture.formats.rule import Rule, by_id

# Where the words of an error begin in what a provider sends.
_SAID = r"(?:message|badrequesterror)\W{1,8}"

COPIES = by_id(
    Rule(
        id="DS-REASONING",
        statement="While DeepSeek thinks, a message with calls carries the 'reasoning_content' before them.",
        mend="What is there stays; an empty one stands in for what is lost.",
        error="The `reasoning_content` in the thinking mode must be passed back to the API.",
        texts=(
            "reasoning_content'? in the thinking mode must be passed back",
            "missing reasoning_content field",
            r"'content\[\]\.thinking' in the thinking mode must be passed back",
        ),
        evidence="earendil-works/pi#3636, JohnnyZ93/oai-compatible-copilot#215, esengine/DeepSeek-Reasonix#8902",
        models="deepseek, with thinking on",
        variant="deepseek",
    ),
    Rule(
        id="KIMI-REASONING",
        statement="While Kimi thinks, each message with calls carries a 'reasoning_content' that is not empty.",
        mend="What is there stays; a full stop stands in for what is lost.",
        error="thinking is enabled but reasoning_content is missing in assistant tool call message at index {i}",
        texts=("thinking is enabled but reasoning_content is missing",),
        evidence="mastra-ai/mastra#12592, farion1231/cc-switch#2365, spacedriveapp/spacebot#364, HKUDS/nanobot#1313",
        models="kimi, moonshot, with thinking on",
        variant="kimi",
    ),
    Rule(
        id="KIMI-ID",
        statement="Kimi knows calls by ids of the form functions.NAME:N; a result under an id that no call has is refused.",
        mend="Ids stay as they came; such a result is left out, and another provider gets ids of its own form.",
        error="tool_call_id {id} is not found",
        texts=(r"tool_call_id \S* ?is not found",),
        certainty="R",
        evidence="maximhq/bifrost#5097",
        models="kimi, moonshot",
        variant="kimi",
    ),
    Rule(
        id="QWEN-PAIR",
        statement="DashScope wants each call answered before any other role speaks, as OpenAI does.",
        mend="A result that stands elsewhere moves behind its call; a stand-in for a missing one says so.",
        error=(
            '<400> InternalError.Algo.InvalidParameter: An assistant message with "tool_calls" must be followed by tool '
            'messages responding to each "tool_call_id". The following tool_call_ids did not have response messages: {ids}'
        ),
        texts=(
            r"internalerror\.algo\.invalidparameter.*(must be followed by tool messages|must be a response to a prece)",
        ),
        evidence="QwenLM/qwen-code#869, QwenLM/qwen-code#2360, philschmid/mcp-openai-gemini-llama-example#5",
        models="qwen",
        variant="qwen",
    ),
    Rule(
        id="GLM-1214",
        statement="GLM wants a message of the user's, ids once in a turn, and no assistant message that is empty.",
        mend="The user says that the conversation goes on; ids become unique; an empty message is left out.",
        error="The messages parameter is illegal. Please check the documentation. (1214)",
        texts=(
            r"(?:'code' ?: ?'?|; code ; )1214\b",
            "messages parameter is illegal",
            "messages \u53c2\u6570\u975e\u6cd5",
            "content\u548ctool_calls \u5b57\u6bb5\u4e0d\u80fd\u540c\u65f6\u4e3a\u7a7a",
        ),
        evidence="MetaGLM/zhipuai-sdk-python-v4#14, anomalyco/opencode#2557, songquanpeng/one-api#1153",
        models="glm",
        variant="glm",
    ),
    Rule(
        id="MM-TOOLID",
        statement="MiniMax wants each result under the id of a call in the history.",
        mend="The result is left out and reported in full, or quoted as a note of the user's.",
        error="invalid params, tool result's tool id({id}) not found (2013)",
        texts=(
            r"tool result's tool id\(.*\) not found",
            "tool call and result not match",
            "tool call id is invalid",
            r"invalid params(?=\W.{0,200}\(2013\))",
        ),
        evidence="MiniMax-AI/MiniMax-M2#76, Kilo-Org/kilocode#3967, agent0ai/agent-zero#1754",
        models="minimax",
        variant="minimax",
    ),
    Rule(
        id="MM-PARAMS",
        statement="MiniMax wants the parameters of each function, also where it takes none.",
        mend="A schema without properties is put in.",
        error="invalid params, function parameters is empty (2013)",
        texts=("function parameters is empty",),
        evidence="QwenLM/qwen-code#11834, QwenLM/qwen-code#11905",
        models="minimax",
        variant="minimax",
    ),
    Rule(
        id="GRQ-UNKNOWN-PROP",
        statement="Groq takes no field of a message that it does not know for the role.",
        mend="The field is left out and reported with what it held.",
        error=(
            "'messages.{i}' : for 'role:{role}' the following must be satisfied[('messages.{i}' : property '{field}' is "
            "unsupported, did you mean 'role'?)]"
        ),
        texts=("is unsupported, did you mean", r"property '\w+' is unsupported"),
        certainty="R",
        evidence="karthink/gptel#774, julep-ai/julep#885",
        models="groq",
        variant="groq",
    ),
    Rule(
        id="GRQ-TOOL-NOT-LISTED",
        statement="Groq refuses the call of a tool that is not listed, and old calls of it in the history lead to one.",
        mend="The tool is listed as a stub that says that it is gone.",
        error="attempted to call tool '{name}' which was not in request.tools",
        texts=(r"which was not in request\.tools",),
        certainty="R",
        evidence="mastra-ai/mastra#9688",
        models="groq",
        variant="groq",
    ),
    Rule(
        id="VLLM-ARGS-JSON",
        statement="vLLM reads the arguments of every call of the history again.",
        mend="A text that cannot be read is kept under '_raw' of an object.",
        error="BadRequestError: Unterminated string starting at: line 1 column {n} (char {n})",
        texts=(
            # As a provider says it: programs of their own have these words for any text that is no JSON.
            rf"{_SAID}unterminated string starting at",
            rf"{_SAID}expecting (?:',' delimiter|property name|':' delimiter).{{0,40}}: line \d{{1,9}} column",
            rf"{_SAID}invalid \\{{0,4}}escape: line \d{{1,9}} column",
        ),
        evidence="vllm-project/vllm#47761, #43995, #48922, huggingface/physics-intern#6",
        since="guarded since vllm-project/vllm#48922",
        models="vllm",
        variant="vllm",
    ),
    Rule(
        id="LCPP-ARGS-JSON",
        statement="llama.cpp reads the arguments of every call of the history again.",
        mend="A text that cannot be read is kept under '_raw' of an object.",
        error="Failed to parse tool call arguments as JSON",
        texts=("failed to parse tool call arguments as json",),
        certainty="R",
        evidence="OpenHands/software-agent-sdk#2887",
        models="llamacpp",
        variant="llamacpp",
    ),
    Rule(
        id="TMPL-ALTERNATE",
        statement="Strict chat templates want user and assistant in turn, behind at most one system message.",
        mend="Neighbours of one role become one message; a short message stands between where that cannot be.",
        error="After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
        texts=("conversation roles must alternate", r"user and assistant roles should be alternating"),
        evidence="vllm-project/vllm#6862, ggml-org/llama.cpp#19851, perplexityai/api-discussion#265",
        models="strict-template, perplexity; vllm, llamacpp, lmstudio serving Gemma, Mistral and the like",
        variant="strict-template",
    ),
    Rule(
        id="TMPL-LAST",
        statement="Some chat templates refuse an assistant message at the end, or two of them.",
        mend="Neighbours become one message, and a short message of the user's follows.",
        error="Cannot have 2 or more assistant messages at the end of the list.",
        texts=("assistant messages at the end of the list", "assistant response prefill is incompatible"),
        certainty="M",
        models="strict-template",
        variant="strict-template",
    ),
    Rule(
        id="OLC-CONTENT",
        statement="Ollama reads the 'properties' of a schema as an object.",
        mend="Where they are something else, an empty object stands in their place.",
        error=(
            "json: cannot unmarshal array into Go struct field .tools.function.parameters.properties of type "
            "map[string]api.ToolProperty"
        ),
        texts=(r"cannot unmarshal \w+ into go struct field \S*tools",),
        certainty="R",
        evidence="ollama/ollama#10328",
        models="ollama",
        variant="ollama",
    ),
    Rule(
        id="XAI-CONTENT",
        statement="Each message has at least one piece of content.",
        mend="A message that holds nothing says so.",
        error="Each message must have at least one content element.",
        texts=("each message must have at least one content element",),
        certainty="M",
        models="xai, openrouter",
        variant="xai",
    ),
    Rule(
        id="ORT-ID",
        statement="OpenRouter hands ids on to whom it routes to, so that they have to fit the strictest of them.",
        mend="Call and result get an id of letters, digits, _ and -, once in the history.",
        certainty="R",
        evidence="router-for-me/CLIProxyAPI#497, BerriAI/litellm#23510",
        models="openrouter",
        variant="openrouter",
    ),
    Rule(
        id="COH-CALL",
        statement="Cohere wants each call answered before any other role speaks, as OpenAI does.",
        mend="A result that stands elsewhere moves behind its call; a stand-in for a missing one says so.",
        error=(
            "invalid request: An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
        ),
        texts=("invalid request: .*must be followed by tool messages",),
        certainty="R",
        evidence="oracle/langchain-oracle#10",
        since="v2, Command A; Command R went on without the results",
        models="cohere",
        variant="cohere",
    ),
    Rule(
        id="COH-EMPTY",
        statement="Each message of a history with Cohere says something.",
        mend="A message that holds nothing says so.",
        error="invalid request: all elements in history must have a message.",
        texts=(
            "all elements in history must have a message",
            "cannot specify message if the last entry in chat history contains tool results",
        ),
        evidence="langchain-ai/langchain-cohere#15, oracle/langchain-oracle#9, cohere-ai/cohere-python#525",
        models="cohere",
        variant="cohere",
    ),
    Rule(
        id="OLL-ARGS-OBJ",
        statement="Ollama's own API takes arguments as an object.",
        mend="Text is read; what cannot be read is kept under '_raw' of an object.",
        error=(
            "json: cannot unmarshal string into Go struct field ChatRequest.messages.tool_calls.function.arguments of type "
            "api.ToolCallFunctionArguments"
        ),
        texts=(r"cannot unmarshal \w+ into go struct field \S*arguments",),
        evidence="aliasrobotics/cai#76, neuron-core/neuron-ai#219, rashadphz/farfalle#89",
        models="ollama-native",
        variant="ollama-native",
    ),
    Rule(
        id="OLL-CONTENT-STR",
        statement="Ollama's own API takes content as one text, and pictures beside it under 'images'.",
        mend="The words become one text, pictures at hand move to 'images', and the rest is left out and reported.",
        error="json: cannot unmarshal object into Go struct field ChatRequest.messages of type string",
        texts=(r"cannot unmarshal \w+ into go struct field chatrequest\.messages(\.content)? of type string",),
        certainty="R",
        evidence="lennartpollvogt/ollama-instructor#11",
        models="ollama-native",
        variant="ollama-native",
    ),
    Rule(
        id="OLL-ORDER",
        statement="Older servers of Ollama know no ids, and match results with calls by their order.",
        mend="Results are put into the order of their calls.",
        severity="DEG",
        certainty="I",
        models="ollama-native",
        variant="ollama-native",
    ),
)
