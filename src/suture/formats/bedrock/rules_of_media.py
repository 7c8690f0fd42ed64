"""What Converse demands of the content of pictures, sounds and files."""

from __future__ import annotations

from suture.formats.rule import Rule, by_id

MEDIA_RULES = by_id(
    Rule(
        id="BDR-IMG-EMPTY",
        statement="A picture, sound, video or document has a source that holds something.",
        mend="It is left out and reported.",
        texts=(
            r"missing required parameter in messages\[\d+\]\.content\[\d+\]\.(image|document|video|audio)(\.source)?: ",
            r"invalid length for parameter messages\[\d+\]\.content\[\d+\]\.(image|document|video|audio)\.source",
        ),
        certainty="D",
        evidence="botocore bedrock-runtime service-2.json",
    ),
    Rule(
        id="BDR-IMG-SHAPE",
        statement=("The format of a picture is png, jpeg, gif or webp, that of a document one of nine, in small letters."),
        mend="Another name of the format becomes the right one, a missing one is read from the data.",
        error=(
            "1 validation error detected: Value at 'messages.{i}.member.content.{j}.member.image.format' failed to "
            "satisfy constraint: Member must satisfy enum value set: [gif, jpeg, png, webp]"
        ),
        texts=(r"(image|document)\.format' failed to satisfy constraint",),
        certainty="R",
        evidence="NousResearch/hermes-agent#55429, #55438",
    ),
    Rule(
        id="BDR-IMG-BAD",
        statement="The bytes of a picture or document are base64, and their format is one that Converse knows.",
        mend="It is left out and reported.",
        texts=("invalid base64: ",),
        certainty="R",
        evidence="NousResearch/hermes-agent#55429",
    ),
)

MEDIA_RULE_OF = {
    "IMAGE_EMPTY": "BDR-IMG-EMPTY",
    "IMAGE_SHAPE": "BDR-IMG-SHAPE",
    "IMAGE_UNSUPPORTED": "BDR-IMG-BAD",
}
