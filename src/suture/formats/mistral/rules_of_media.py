"""What Mistral demands of the content of pictures, sounds and files."""

from __future__ import annotations

from suture.formats.rule import Rule, by_id

MEDIA_RULES = by_id(
    Rule(
        id="MIS-IMG-EMPTY",
        statement="A picture or document has an address, a sound data, and a file an id.",
        mend="It is left out and reported.",
        certainty="D",
        evidence="mistralai/mistral-common src/mistral_common/protocol/instruct/chunk.py",
    ),
    Rule(
        id="MIS-IMG-SHAPE",
        statement="The address of a picture is one, also where it holds the data.",
        mend="Data are put into an address.",
        error=(
            "Value error, Image content must be a URL (starting with 'https') or base64 encoded image (starting with "
            "'data:image/<format>;base64,<image-base64>')."
        ),
        texts=("image content must be a url",),
        certainty="R",
        evidence="neuron-core/neuron-ai#596",
    ),
    Rule(
        id="MIS-IMG-BAD",
        statement="What stands in the address of a picture or document is base64, and so are the data of a sound.",
        mend="It is left out and reported.",
        certainty="R",
        evidence="mistralai/platform-docs-public#269",
    ),
)

MEDIA_RULE_OF = {
    "IMAGE_EMPTY": "MIS-IMG-EMPTY",
    "IMAGE_SHAPE": "MIS-IMG-SHAPE",
    "IMAGE_UNSUPPORTED": "MIS-IMG-BAD",
}
