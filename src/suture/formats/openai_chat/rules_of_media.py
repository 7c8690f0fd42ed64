"""What OpenAI demands in Chat Completions of the content of pictures, sounds and files."""

from __future__ import annotations

from suture.formats.rule import Rule, by_id

MEDIA_RULES = by_id(
    Rule(
        id="OAI-IMG-EMPTY",
        statement="A picture has an address, a sound data, and a file data or an id.",
        mend="It is left out and reported.",
        texts=(r"missing required parameter: 'messages\[\d+\]\.content\[\d+\]\.(image_url|input_audio|file)",),
        certainty="D",
        evidence="the API reference of OpenAI",
    ),
    Rule(
        id="OAI-IMG-SHAPE",
        statement="A picture is an object whose 'url' is its address, and a sound says of which kind it is.",
        mend="The address is put into an object, data into an address.",
        error="Invalid type for 'messages[{i}].content[{j}].image_url': expected an object, but got a string instead.",
        texts=("image_url'?: expected an object, but got a string", "without the 'data:' prefix"),
        evidence=(
            "multimodal-interpretability/maia#3, microsoft/promptflow#3946, openai-php/client#249, Alibaba-NLP/OmniSearch#3"
        ),
    ),
    Rule(
        id="OAI-IMG-BAD",
        statement="What stands in the address of a picture or file is base64, and so is a sound, whose kind is known.",
        mend="It is left out and reported.",
        error="Invalid base64 image_url.",
        texts=("invalid base64 image_url", "must be a valid http or https url, or a data url with base64"),
        certainty="R",
        evidence="sipherxyz/comfyui-art-venture#75, labring/FastGPT#1697",
    ),
)

MEDIA_RULE_OF = {
    "IMAGE_EMPTY": "OAI-IMG-EMPTY",
    "IMAGE_SHAPE": "OAI-IMG-SHAPE",
    "IMAGE_UNSUPPORTED": "OAI-IMG-BAD",
}
