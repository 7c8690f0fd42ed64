"""What Anthropic's Messages demand of thinking, of pictures, and of marks for the cache."""

from __future__ import annotations

from suture.formats.rule import Rule

RULES = (
    Rule(
        id="ANT-THINK-FIRST",
        statement="With thinking on, a turn that calls tools begins with its thinking.",
        mend="Only the caller can: turn thinking off for this request, or send the turn as the model made it.",
        error=(
            "messages.{i}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{block}`. When "
            "`thinking` is enabled, a final `assistant` message must start with a thinking block"
        ),
        texts=(r"expected '?thinking'? or '?redacted_thinking'?, but found",),
        evidence="anomalyco/opencode#3077, Kilo-Org/kilocode#5219, OpenRouterTeam/ai-sdk-provider#162",
        healed=False,
    ),
    Rule(
        id="ANT-THINK-SIG-REQ",
        statement="A thinking block carries its signature.",
        mend="The thinking is left out.",
        error="messages.{i}.content.{j}.thinking.signature: Field required",
        texts=(r"signature: field required",),
        evidence="anomalyco/opencode#25005, bigduu/Bamboo-agent#520",
    ),
    Rule(
        id="ANT-THINK-SIG-BAD",
        statement="A signature is genuine, and only good for the model that made it.",
        mend="Thinking of another model, and thinking whose signature can be none, is left out.",
        error="messages.{i}.content.{j}: Invalid `signature` in `thinking` block",
        texts=(
            "invalid 'data' in 'redacted_thinking' block",
            r"invalid '?signature'? in '?(?:redacted_)?thinking'? block",
        ),
        evidence="vybestack/llxprt-code#2335, can1357/oh-my-pi#6379, weave-os/router#279, openclaw/openclaw#91205",
    ),
    Rule(
        id="ANT-THINK-FROZEN",
        statement="Thinking and its neighbours stay as the model made them.",
        mend="A copy of a thought is left out; else all thinking of the turn, and thinking has to be off for this request.",
        error=(
            "messages.{i}.content.{j}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot "
            "be modified. These blocks must remain as they were in the original response."
        ),
        texts=(r"in the latest assistant message cannot be modified",),
        evidence="anthropics/claude-code#63203, #19539, #63246, microsoft/vscode#327646, vybestack/llxprt-code#1653",
    ),
    Rule(
        id="ANT-THINK-OFF-FINAL",
        statement="With thinking off, a final assistant message holds no thinking.",
        mend="The thinking is left out.",
        error=(
            "messages.{i}.content.{j}: When thinking is disabled, an `assistant` message in the final position cannot "
            "contain `thinking`. To use thinking blocks, enable `thinking` in your request."
        ),
        texts=(r"in the final position cannot contain 'thinking'",),
        certainty="R",
        evidence="tailcallhq/forgecode#1853, #1195",
    ),
    Rule(
        id="ANT-THINK-OLD",
        statement="Thinking of earlier turns is not read any more, but its signature is checked all the same.",
        mend="It stays as it is; where its signature is no good it is left out, and the model misses nothing.",
        severity="IGN",
        certainty="I",
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
        id="ANT-CACHE-EMPTY",
        statement="A mark for the cache stands on a block that says something, and on no thinking.",
        mend="The empty block goes and its mark with it; thinking loses the mark alone.",
        error="messages.{i}.content.{j}.{block}: cache_control cannot be set for empty text blocks",
        texts=(
            r"cache_control cannot be set for empty text",
            r"thinking\.cache_control: extra inputs are not permitted",
        ),
        evidence="anthropics/claude-code#54013, stakpak/agent#511, Wei-Shaw/sub2api#225",
    ),
    Rule(
        id="ANT-IMG-DIM",
        statement="A picture has at most 8000 pixels a side.",
        mend="A text says that it was omitted and why.",
        error=(
            "messages.{i}.content.{j}.image.source.base64.data: At least one of the image dimensions exceed max "
            "allowed size: {most} pixels"
        ),
        texts=(r"image dimensions exceed max allowed size: \d+ pixels",),
        evidence="anthropics/claude-code#14412, #4778, #8947",
    ),
    Rule(
        id="ANT-IMG-MANY",
        statement="In a request of more than 20 pictures none has more than 2000 pixels a side.",
        mend="The oldest of the large ones are omitted, until the others may stay; a text says so.",
        error=(
            "messages.{i}.content.{j}.image.source.base64.data: At least one of the image dimensions exceed max "
            "allowed size for many-image requests: {most} pixels"
        ),
        texts=(r"max allowed size for many-image requests",),
        since="2025; tightened within a year",
        evidence="anthropics/claude-code#34943, can1357/oh-my-pi#10633, anthropics/claude-code#55208",
    ),
    Rule(
        id="ANT-IMG-BYTES",
        statement="A picture has at most 10 MB of base64.",
        mend="A text says that it was omitted and why.",
        error="messages.{i}.content.{j}.image.source.base64: image exceeds {mb} MB maximum: {n} bytes > {most} bytes",
        texts=(r"image exceeds \d+ mb maximum",),
        since="10 MB lately, 5 MB before; above that a warning",
        evidence="anthropics/claude-code#10612, #19631, RooCodeInc/Roo-Code#8771",
    ),
    Rule(
        id="ANT-IMG-EMPTY",
        statement="A picture or document has a source, and that is not empty.",
        mend="For a picture without data a text says that it was omitted; what has no source is left out and reported.",
        error="messages.{i}.content.{j}.image.source.base64: image cannot be empty",
        texts=(
            r"\.(?:image|document)\.source(?:\.base64|\.url|\.file|\.text)?(?:\.data|\.url|\.file_id)?: field required",
            "pdf cannot be empty",
        ),
        evidence="anthropics/claude-code#12750, #34943, #55208",
    ),
    Rule(
        id="ANT-IMG-SHAPE",
        statement="A source says of which type it is, base64 its media type, and an address holds no data.",
        mend="The type is read from what the source holds, and data are taken out of an address.",
        texts=(r"\.source: unable to extract tag using discriminator 'type'",),
        certainty="D",
    ),
    Rule(
        id="ANT-IMG-BAD",
        statement="A picture is base64 of the kind that its media type names, one of PNG, JPEG, GIF and WebP.",
        mend="A wrong media type is corrected; for data that cannot be read a text says that it was omitted and why.",
        error=(
            "messages.{i}.content.{j}.image.source.base64: The image was specified using the {given} media type, but "
            "the image appears to be a {seen} image"
        ),
        texts=(
            r"base64\.data: invalid base64 data",
            r"(?:message|data|base64|source|invalid_request_error)\W{1,8}could not process image",
            r"does not match the provided media type",
            r"the image appears to be an? image/\w+ image",
            r"media_type: input should be 'image/jpeg', 'image/png'",
        ),
        evidence="anthropics/claude-code#55208, #13131, BerriAI/litellm#24900, vybestack/llxprt-code#2130",
    ),
)
