"""What OpenAI demands in Responses of the content of pictures, sounds and files."""

from __future__ import annotations

from suture.formats.rule import Rule, by_id

MEDIA_RULES = by_id(
    Rule(
        id="RSP-IMG-EMPTY",
        statement="A picture has an address or the id of a file, and a file one of these or data.",
        mend="It is left out and reported.",
        error=(
            "Invalid 'input[{i}].content[{j}].image_url'. Expected a base64-encoded data URL with an image MIME type "
            "(e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got empty base64-encoded bytes."
        ),
        texts=("but got empty base64-encoded bytes",),
        certainty="R",
        evidence="anomalyco/opencode#23983",
    ),
    Rule(
        id="RSP-IMG-SHAPE",
        statement="The address of a picture is a text.",
        mend="The text is taken out of its object, data are put into an address.",
        error="Invalid type for 'input[{i}].content[{j}].image_url': expected an image URL, but got an object instead.",
        texts=("expected an image url, but got an object",),
        certainty="R",
        evidence="0xPlaygrounds/rig#879, aplpolaris/promptfx#724",
    ),
    Rule(
        id="RSP-IMG-BAD",
        statement="What stands in the address of a picture or file is base64.",
        mend="It is left out and reported.",
        error=(
            "Invalid 'input[{i}].content[{j}].image_url'. Expected a base64-encoded data URL with an image MIME type "
            "(e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got a value with an invalid format."
        ),
        certainty="D",
        evidence="the API reference of OpenAI",
    ),
)

MEDIA_RULE_OF = {
    "IMAGE_EMPTY": "RSP-IMG-EMPTY",
    "IMAGE_SHAPE": "RSP-IMG-SHAPE",
    "IMAGE_UNSUPPORTED": "RSP-IMG-BAD",
}
