"""Pictures, sounds and files that hold nothing, or not in the form that they have in their format: found and healed."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest

from suture.formats import FORMATS
from suture.healing import convert, diagnose, fit, heal
from suture.messages import Audio, File, Image, Part, Text, User

Json: TypeAlias = dict[str, Any]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
JPEG = "/9j/4AAQSkZJRgABAQ=="
PDF = "JVBERi0xLjAKMSAwIG9iajw8"
AT = f"data:image/png;base64,{PNG}"
URL = "https://example.org/a.png"

WORDS: dict[str, Json] = {"gemini": {"text": "q"}, "bedrock": {"text": "q"}, "openai-responses": {"type": "input_text", "text": "q"}}  # fmt: skip
KEYS = {"gemini": "parts"}


def said(format: str, *parts: Json) -> list[Json]:
    typed = {"type": "message"} if format == "openai-responses" else {}
    return [{**typed, "role": "user", KEYS.get(format, "content"): list(parts)}]


def words(format: str) -> Json:
    return WORDS.get(format, {"type": "text", "text": "q"})


def picture(value: object, **more: str) -> Json:
    return {"type": "image_url", "image_url": value, **more}


def source(**fields: object) -> Json:
    return {"type": "image", "source": fields}


def document(**fields: object) -> Json:
    return {"type": "document", "source": fields}


def sound(**fields: object) -> Json:
    return {"type": "input_audio", "input_audio": fields}


def inline(**fields: object) -> Json:
    return {"inlineData": fields}


def block(kind: str, source: object, **fields: object) -> Json:
    return {kind: {**fields, "source": source}}


# A part, the end of the id of its rule, and what it becomes.
ROWS: list[tuple[str, Json, str, Json | None]] = [
    ("openai-chat", picture(URL), "SHAPE", picture({"url": URL})),
    ("openai-chat", picture(PNG), "SHAPE", picture({"url": AT})),
    ("openai-chat", picture({"url": PNG, "detail": "low"}), "SHAPE", picture({"url": AT, "detail": "low"})),
    ("openai-chat", sound(data="UklGRg=="), "SHAPE", sound(data="UklGRg==", format="wav")),
    ("openai-chat", sound(data="data:audio/wav;base64,UklGRg==", format="wav"), "SHAPE", sound(data="UklGRg==", format="wav")),
    ("openai-chat", {"type": "image_url"}, "EMPTY", None),
    ("openai-chat", picture(None), "EMPTY", None),
    ("openai-chat", picture(""), "EMPTY", None),
    ("openai-chat", picture({"url": " "}), "EMPTY", None),
    ("openai-chat", picture({"url": "data:image/png;base64,"}), "EMPTY", None),
    ("openai-chat", {"type": "input_audio"}, "EMPTY", None),
    ("openai-chat", sound(data="", format="wav"), "EMPTY", None),
    ("openai-chat", {"type": "file"}, "EMPTY", None),
    ("openai-chat", {"type": "file", "file": {"filename": "a.pdf"}}, "EMPTY", None),
    ("openai-chat", {"type": "file", "file": {"file_id": ""}}, "EMPTY", None),
    ("openai-chat", picture({"url": "data:image/png;base64,<binary>"}), "BAD", None),
    ("openai-chat", sound(data="<binary>", format="wav"), "BAD", None),
    ("openai-chat", sound(data="AAAA"), "BAD", None),
    ("openai-responses", {"type": "input_image", "image_url": {"url": URL, "detail": "low"}}, "SHAPE",
     {"type": "input_image", "image_url": URL, "detail": "low"}),
    ("openai-responses", {"type": "input_image", "image_url": PNG}, "SHAPE", {"type": "input_image", "image_url": AT}),
    ("openai-responses", {"type": "input_image"}, "EMPTY", None),
    ("openai-responses", {"type": "input_image", "image_url": None, "file_id": None}, "EMPTY", None),
    ("openai-responses", {"type": "input_image", "image_url": "data:image/png;base64,"}, "EMPTY", None),
    ("openai-responses", {"type": "input_file", "filename": "a.pdf"}, "EMPTY", None),
    ("openai-responses", {"type": "input_file", "file_data": "data:application/pdf;base64,"}, "EMPTY", None),
    ("openai-responses", {"type": "input_image", "image_url": "data:image/png;base64,<binary>"}, "BAD", None),
    ("anthropic", source(type="url", url=AT), "SHAPE", source(type="base64", media_type="image/png", data=PNG)),
    ("anthropic", source(media_type="image/png", data=PNG), "SHAPE", source(type="base64", media_type="image/png", data=PNG)),
    ("anthropic", source(url=URL), "SHAPE", source(type="url", url=URL)),
    ("anthropic", document(type="base64", data=PDF), "SHAPE",
     document(type="base64", data=PDF, media_type="application/pdf")),
    ("anthropic", {"type": "image"}, "EMPTY", None),
    ("anthropic", source(), "EMPTY", None),
    ("anthropic", source(type="url", url=""), "EMPTY", None),
    ("anthropic", source(type="file"), "EMPTY", None),
    ("anthropic", source(media_type="image/png"), "EMPTY", None),
    ("anthropic", document(type="base64", media_type="application/pdf", data=""), "EMPTY", None),
    ("anthropic", document(type="text", media_type="text/plain", data=""), "EMPTY", None),
    ("anthropic", document(type="content", content=[]), "EMPTY", None),
    ("anthropic", document(type="base64", media_type="application/pdf", data="<binary>"), "BAD", None),
    ("gemini", inline(data=PNG), "SHAPE", inline(data=PNG, mimeType="image/png")),
    ("gemini", inline(data=AT, mimeType="image/png"), "SHAPE", inline(data=PNG, mimeType="image/png")),
    ("gemini", {"inline_data": {"mime_type": "", "data": PNG}}, "SHAPE", {"inline_data": {"mime_type": "image/png", "data": PNG}}),
    ("gemini", inline(), "EMPTY", None),
    ("gemini", inline(mimeType="image/png", data=""), "EMPTY", None),
    ("gemini", {"fileData": {"mimeType": "image/png"}}, "EMPTY", None),
    ("gemini", inline(mimeType="image/png", data="/files/a.png?id=3"), "BAD", None),
    ("gemini", inline(data="AAAA"), "BAD", None),
    ("bedrock", block("image", {"bytes": JPEG}, format="jpg"), "SHAPE", block("image", {"bytes": JPEG}, format="jpeg")),
    ("bedrock", block("image", {"bytes": PNG}, format="jpg"), "SHAPE", block("image", {"bytes": PNG}, format="png")),
    ("bedrock", block("image", {"bytes": PNG}), "SHAPE", block("image", {"bytes": PNG}, format="png")),
    ("bedrock", block("document", {"bytes": PDF}, name="a", format="PDF"), "SHAPE",
     block("document", {"bytes": PDF}, name="a", format="pdf")),
    ("bedrock", {"image": {}}, "EMPTY", None),
    ("bedrock", block("image", {}, format="png"), "EMPTY", None),
    ("bedrock", block("image", {"bytes": b""}, format="png"), "EMPTY", None),
    ("bedrock", block("image", {"s3Location": {"uri": ""}}, format="png"), "EMPTY", None),
    ("bedrock", block("document", {"text": ""}, name="a", format="txt"), "EMPTY", None),
    ("bedrock", block("video", {}, format="mp4"), "EMPTY", None),
    ("bedrock", block("image", {"bytes": "<binary>"}, format="png"), "BAD", None),
    ("bedrock", block("image", {"bytes": "Qk0="}, format="bmp"), "BAD", None),
    ("mistral", picture(PNG), "SHAPE", picture(AT)),
    ("mistral", picture({"url": PNG}), "SHAPE", picture({"url": AT})),
    ("mistral", picture(""), "EMPTY", None),
    ("mistral", picture({}), "EMPTY", None),
    ("mistral", {"type": "document_url", "document_url": ""}, "EMPTY", None),
    ("mistral", {"type": "file"}, "EMPTY", None),
    ("mistral", {"type": "input_audio", "input_audio": ""}, "EMPTY", None),
    ("mistral", picture("data:image/png;base64,<binary>"), "BAD", None),
    ("mistral", sound(data="<binary>", format="wav"), "BAD", None),
]  # fmt: skip


@pytest.mark.parametrize(("format", "part", "rule", "instead"), ROWS, ids=str)
def test_what_holds_nothing_is_found_and_left_out(format: str, part: Json, rule: str, instead: Json | None) -> None:
    """The finding names rule and place; what can only be meant in one way is written so, the rest goes and is reported."""
    history = said(format, words(format), part)
    (found,) = diagnose(history, format)
    assert [id.rpartition("-")[2] for id in found.rules] == [rule]
    assert found.path.endswith("[1]")
    assert found.refused
    healed = heal(history, format)
    assert healed.history == said(format, words(format), *([instead] if instead else []))
    (change,) = healed.changes
    assert (change.code, change.path, change.rules) == (found.code, found.path, found.rules)
    assert change.lost == ("image" if rule == "BAD" else "none")
    assert heal(healed.history, format).history is healed.history


@pytest.mark.parametrize(("format", "part"), [row[:2] for row in ROWS], ids=str)
def test_a_message_of_nothing_else_is_no_empty_one(format: str, part: Json) -> None:
    """What is left of it is taken, whatever stands behind it; and nowhere else does it cost the conversion."""
    alone = heal(said(format, part) + said(format, words(format)), format)
    assert [each for each in diagnose(alone.history, format) if each.refused] == []
    for target in FORMATS:
        other = convert(said(format, words(format), part), format, target).history
        assert [each for each in diagnose(other, target) if each.refused] == []


@pytest.mark.parametrize(
    ("format", "part"),
    [(format, part) for format, part, rule, _ in ROWS if rule == "SHAPE" and PNG in str(part)],
    ids=str,
)
def test_what_can_be_meant_moves_on(format: str, part: Json) -> None:
    """A picture in the wrong form is a picture elsewhere, too."""
    for target in FORMATS:
        assert PNG in str(convert(said(format, words(format), part), format, target).history)


@pytest.mark.parametrize(
    ("format", "part"),
    [
        ("openai-chat", picture({"url": "gs://bucket/a.png"})),
        ("openai-chat", {"type": "file", "file": {"file_id": "file-1"}}),
        ("openai-chat", {"type": "file", "file": {"file_url": "https://example.org/a.pdf"}}),
        ("openai-responses", {"type": "input_image", "file_id": "file-1", "image_url": None}),
        ("anthropic", source(type="file", file_id="file_1")),
        ("anthropic", source(type="of tomorrow", place="x")),
        ("anthropic", document(type="content", content="words")),
        ("gemini", inline(mimeType="image/png", data=PNG.replace("+", "-").replace("/", "_"))),
        ("gemini", {"inlineData": {"mimeType": "image/png", "data": b"\x89PNG"}}),
        ("bedrock", block("image", {"s3Location": {"uri": "s3://bucket/a.png"}}, format="png")),
        ("bedrock", block("image", {"ofTomorrow": {"x": 1}}, format="png")),
        ("bedrock", block("document", {"text": "words"}, name="a", format="txt")),
        ("bedrock", block("audio", {"bytes": "AAAA"}, format="opus")),
        ("mistral", picture(URL)),
        ("mistral", {"type": "file", "file_id": "f1"}),
    ],
    ids=str,
)
def test_what_may_be_sent_is_not_touched(format: str, part: Json) -> None:
    """Nothing is demanded that nobody is known to demand."""
    history = said(format, words(format), part)
    assert [each for each in diagnose(history, format) if each.severity == "REJ"] == []
    assert heal(history, format).history is history


RESULTS: dict[str, tuple[Json, str]] = {
    "anthropic": ({"type": "image", "source": {}}, "messages[2].content[0].content[1]"),
    "bedrock": ({"image": {"format": "png", "source": {}}}, "messages[2].content[0].toolResult.content[1]"),
    "openai-responses": ({"type": "input_image"}, "input[2].output[1]"),
    "gemini": ({"inlineData": {"mimeType": "image/png"}}, "contents[2].parts[0].functionResponse.parts[0]"),
}


@pytest.mark.parametrize("format", RESULTS)
def test_results_are_looked_into(format: str) -> None:
    """A picture of a result is found there, and the words beside it stay."""
    part, path = RESULTS[format]
    history = with_result(format, part)
    assert [each.path for each in diagnose(history, format) if each.code == "IMAGE_EMPTY"] == [path]
    healed = heal(history, format)
    assert [change.code for change in healed.changes] == ["IMAGE_EMPTY"]
    assert [each for each in diagnose(healed.history, format) if each.refused and not each.hint] == []
    assert "it rains" in str(healed.history)


def with_result(format: str, part: Json) -> list[Json]:
    match format:
        case "anthropic":
            call: Json = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]}
            content = [{"type": "text", "text": "it rains"}, part]
            result: Json = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": content}]}
        case "bedrock":
            call = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}]}
            inner = {"toolUseId": "t1", "content": [{"text": "it rains"}, part]}
            result = {"role": "user", "content": [{"toolResult": inner}]}
        case "gemini":
            call = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
            response = {"name": "f", "response": {"output": "it rains"}, "parts": [part]}
            result = {"role": "user", "parts": [{"functionResponse": response}]}
        case _:
            call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
            output = [{"type": "input_text", "text": "it rains"}, part]
            result = {"type": "function_call_output", "call_id": "c1", "output": output}
    return [*said(format, words(format)), call, result]


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize(
    "part",
    [
        Image(), Image(""), Image(url=""), Image(url="data:image/png;base64,"), Image("<binary>", media_type="image/png"),
        File(), File("", name="a.pdf"), File(url="data:application/pdf;base64,<binary>"), Audio(), Audio("", media_type="audio/wav"),
        Audio("<binary>", media_type="audio/wav"), Image(url=PNG),
    ],
    ids=str,
)  # fmt: skip
def test_so_it_is_with_messages_of_our_own(target: str, part: Part) -> None:
    """A request made of them is valid wherever it goes, and says what it had to leave out."""
    made = fit([User((Text("q"), part))], target)
    assert [each for each in diagnose(made.history, target) if each.refused] == []
    assert made.changes or PNG in str(made.history)
