"""What Gemini demands of the content of pictures, sounds and files."""

from __future__ import annotations

from suture.formats.rule import Rule, by_id

MEDIA_RULES = by_id(
    Rule(
        id="GEM-IMG-EMPTY",
        statement="An inlineData part has data, and a fileData part a fileUri.",
        mend="It is left out and reported.",
        certainty="D",
        evidence="the API reference of Gemini",
    ),
    Rule(
        id="GEM-IMG-SHAPE",
        statement="An inlineData part has base64 data alone, and says its mimeType.",
        mend="The type is read from the data, an address is taken off.",
        error=(
            "* GenerateContentRequest.contents[{i}].parts[{j}].inline_data.mime_type: MIME type must be image/png, "
            "image/jpeg, image/webp, image/heic, or image/heif."
        ),
        texts=(r"inline_data\.mime_type: ", r"inlinedata\.mimetype: "),
        certainty="R",
        evidence="EvanZhouDev/gemini-ai#3, smg-project/smg#1407",
    ),
    Rule(
        id="GEM-IMG-BAD",
        statement="The data of an inlineData part are base64, whose type is known.",
        mend="It is left out and reported.",
        error=(
            "Invalid value at 'contents[{i}].parts[{j}].inline_data.data' (TYPE_BYTES), Base64 decoding failed for {data}"
        ),
        texts=(r"inline_data\.data' \(type_bytes\), base64 decoding failed",),
        certainty="R",
        evidence="bobrware/bobrchat#135",
    ),
)

MEDIA_RULE_OF = {
    "IMAGE_EMPTY": "GEM-IMG-EMPTY",
    "IMAGE_SHAPE": "GEM-IMG-SHAPE",
    "IMAGE_UNSUPPORTED": "GEM-IMG-BAD",
}
