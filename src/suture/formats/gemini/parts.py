"""What can be said of a content of Gemini's and its parts without reading a whole request.

Keys come in two spellings: `functionCall` as the API has it, `function_call` as its Python SDK dumps it. A key whose value
is null counts as not there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from suture.errors import HistoryError
from suture.formats.base import Json
from suture.formats.wire import kind_of, not_a_list, not_an_object

NAME = "gemini"

# Every key that we read or write, as the SDK spells it; where the two are alike it is not listed.
SNAKE = {
    "inlineData": "inline_data",
    "fileData": "file_data",
    "functionCall": "function_call",
    "functionResponse": "function_response",
    "executableCode": "executable_code",
    "codeExecutionResult": "code_execution_result",
    "toolCall": "tool_call",
    "toolResponse": "tool_response",
    "thoughtSignature": "thought_signature",
    "videoMetadata": "video_metadata",
    "mediaResolution": "media_resolution",
    "partMetadata": "part_metadata",
    "mimeType": "mime_type",
    "fileUri": "file_uri",
    "displayName": "display_name",
    "systemInstruction": "system_instruction",
    "functionDeclarations": "function_declarations",
    "parametersJsonSchema": "parameters_json_schema",
    "toolConfig": "tool_config",
    "functionCallingConfig": "function_calling_config",
    "allowedFunctionNames": "allowed_function_names",
    "partialArgs": "partial_args",
    "willContinue": "will_continue",
    "finishReason": "finish_reason",
    "usageMetadata": "usage_metadata",
    "promptFeedback": "prompt_feedback",
    "blockReason": "block_reason",
    "responseId": "response_id",
    "modelVersion": "model_version",
}
CAMEL = {snake: camel for camel, snake in SNAKE.items()}

# What a part may hold, one of them each; and what may stand beside it.
KINDS = frozenset(
    (
        "text",
        "inlineData",
        "fileData",
        "functionCall",
        "functionResponse",
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
    )
)
_ABOUT = frozenset(("thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"))
_MEDIA = ("inlineData", "fileData")

# Roles that are read as what they are; `function` and `tool` are taken for results, and none at all for the user's.
_SIDES: dict[object, Side] = {
    None: "user",
    "user": "user",
    "function": "user",
    "tool": "user",
    "model": "model",
    "assistant": "model",
    "system": "system",
    "developer": "system",
}

Side: TypeAlias = Literal["user", "model", "system"]


def field(raw: Json, key: str) -> object:
    """The value of a key in either spelling; None when it is not there."""
    value = raw.get(key)
    if value is None and (snake := SNAKE.get(key)) is not None:
        return raw.get(snake)
    return value


def spelling_of(raw: Json, key: str) -> str:
    """The key as it is spelled there."""
    snake = SNAKE.get(key)
    return snake if snake is not None and raw.get(key) is None and snake in raw else key


def inner(raw: Json, key: str, path: str) -> Json:
    """The object under a key in either spelling.

    Raises:
        HistoryError: it is none.
    """
    value = field(raw, key)
    if not isinstance(value, dict):
        raise not_an_object(value, f"{path}.{key}")
    return value


def signature_of(raw: Json, path: str) -> str | None:
    """The signature beside a call or in a part; None when there is none, or a blank one.

    Raises:
        HistoryError: it is no text, as when bytes were not dumped as JSON.
    """
    value = field(raw, "thoughtSignature")
    if value is None or isinstance(value, str):
        return value or None
    raise HistoryError(
        f"{path}.thoughtSignature is {kind_of(value)}, not a text. Pass JSON values: content.model_dump(mode='json')."
    )


def text_of(raw: Json, path: str) -> str | None:
    """The text of a part; None when there is none.

    Raises:
        HistoryError: it is none.
    """
    text = raw.get("text")
    if text is None or isinstance(text, str):
        return text
    raise HistoryError(f"{path}.text is {kind_of(text)}, not a text.")


# Parts ----------------------------------------------------------------------------------------


def kinds(raw: Json) -> list[str]:
    """What a part holds, in the API's spelling; several are one too many. What is unknown counts where it stands alone."""
    found = [CAMEL.get(key, key) for key, value in raw.items() if value is not None]
    known = list(dict.fromkeys(key for key in found if key in KINDS))
    return known or [key for key in found if key not in _ABOUT]


def holds(raw: Json, key: str) -> bool:
    """Whether the part holds something under that key."""
    return field(raw, key) is not None


def is_as_written(raw: Json) -> bool:
    """Whether the part may go out as it came: what it holds is whole, and stands where it belongs."""
    call, response = field(raw, "functionCall"), field(raw, "functionResponse")
    if isinstance(call, dict):
        return has_id_or_none(call) and not holds(call, "thoughtSignature")
    if isinstance(response, dict):
        return has_id_or_none(response) and isinstance(response.get("response"), dict)
    return bool(kinds(raw)) or not holds(raw, "thoughtSignature")


def pictures_in(response: Json, path: str) -> list[Json] | None:
    """The parts inside a functionResponse, where there are any and all are media.

    Raises:
        HistoryError: they are no list, or one of them is no object.
    """
    if response.get("parts") is None:
        return None
    found = parts_of(response, path)
    return found if all(kinds(part)[:1] in (["inlineData"], ["fileData"]) for part in found) else None


def has_id_or_none(call: Json) -> bool:
    """Whether a call or response has an id that says something, or none."""
    id = call.get("id")
    return id is None or (isinstance(id, str) and id != "")


class Piece(NamedTuple):
    """A part that holds one thing, and the index of the part of the content that it is, or is cut out of."""

    at: int
    raw: Json


def pieces(parts: Sequence[Json]) -> Iterator[Piece]:
    """The parts; one that holds several things is cut. What is said about it goes to its call, else to the first."""
    for at, raw in enumerate(parts):
        if len(raw) == 1 or len(found := kinds(raw)) < 2 or found[0] not in KINDS:
            yield Piece(at, raw)
            continue
        main = "functionCall" if "functionCall" in found else found[0]
        for kind in found:
            cut = {key for key in raw if CAMEL.get(key, key) in found and CAMEL.get(key, key) != kind}
            keys = raw.keys() - cut if kind == main else {spelling_of(raw, kind)}
            yield Piece(at, {key: raw[key] for key in raw if key in keys})


# Contents -------------------------------------------------------------------------------------


def parts_of(content: Json, path: str) -> list[Json]:
    """The parts of a content; none when there is no list.

    Raises:
        HistoryError: they are no list, or one of them is no object.
    """
    parts = content.get("parts")
    if parts is None:
        return []
    if not isinstance(parts, list):
        raise not_a_list(parts, f"{path}.parts")
    for at, part in enumerate(parts):
        if not isinstance(part, dict):
            raise not_an_object(part, f"{path}.parts[{at}]")
    return parts


def side_of(content: Json, parts: Sequence[Json]) -> Side:
    """Who speaks, whatever the role is called; system text that holds calls or responses is none."""
    side = _SIDES.get(content.get("role"))
    if side is not None and not (side == "system" and any(_is_tool(part) for part in parts)):
        return side
    return "model" if any(holds(part, "functionCall") for part in parts) else "user"


def _is_tool(part: Json) -> bool:
    return holds(part, "functionCall") or holds(part, "functionResponse")


class Segment(NamedTuple):
    """What of a content is one message: words of a side, or a result with the pictures that stand behind it."""

    kind: Literal["user", "model", "system", "result"]
    pieces: list[Piece]


def segments(content: Json, path: str) -> list[Segment]:
    """The messages of a content, in their order; one without parts is a message that says nothing."""
    parts = parts_of(content, path)
    side = side_of(content, parts)
    each = list(pieces(parts))
    has_results = any(holds(piece.raw, "functionResponse") for piece in each)
    has_strangers = side == "user" and any(holds(piece.raw, "functionCall") for piece in each)
    if side == "system" or not (has_results or has_strangers):
        return [Segment(side, each)]
    if side == "model":
        said = [piece for piece in each if not holds(piece.raw, "functionResponse")]
        results = [Segment("result", [piece]) for piece in each if holds(piece.raw, "functionResponse")]
        return [Segment("model", said), *results] if said else results
    found = _in_order(each)
    if any(segment.kind == "model" for segment in found):
        return found
    words = [piece for segment in found if segment.kind == "user" for piece in segment.pieces]
    results = [segment for segment in found if segment.kind == "result"]
    return [*results, Segment("user", words)] if words else results


def _in_order(each: Sequence[Piece]) -> list[Segment]:
    """Results, calls and words of the user's side as they follow each other."""
    found: list[Segment] = []
    for piece in each:
        held = kinds(piece.raw)
        kind = held[0] if held else ""
        last = found[-1] if found else None
        if kind == "functionResponse":
            found.append(Segment("result", [piece]))
        elif kind in _MEDIA and last is not None and last.kind == "result":
            last.pieces.append(piece)
        else:
            side: Side = "model" if kind == "functionCall" else "user"
            if last is not None and last.kind == side:
                last.pieces.append(piece)
            else:
                found.append(Segment(side, [piece]))
    return found


def is_role_right(content: Json, found: Sequence[Segment]) -> bool:
    """Whether Gemini takes the role for what the content holds (GEM-ROLE)."""
    role = content.get("role")
    if role in ("function", "tool"):
        return all(segment.kind == "result" for segment in found)
    return role in (None, "user", "model")


def is_one_content(content: Json, found: Sequence[Segment]) -> bool:
    """Whether all of it may stand in one content (GEM-RESP-PURE, GEM-MIX), on the side that it is on."""
    if len(found) == 1 and found[0].kind != "result":
        return found[0].kind == ("model" if content.get("role") == "model" else "user")
    pure = all(segment.kind == "result" and len(segment.pieces) == 1 for segment in found)
    return pure and content.get("role") != "model"


def is_snake(contents: Sequence[Json]) -> bool:
    """Whether the contents are spelled as the Python SDK dumps them: the first key that has two spellings says so."""
    for content in contents:
        parts = content.get("parts")
        for part in parts if isinstance(parts, list) else ():
            for key in part if isinstance(part, dict) else ():
                if key in CAMEL or key in SNAKE:
                    return key in CAMEL
    return False


# What of a part is ours to spell; what a tool or a model said keeps its keys.
_OURS = frozenset(("functionCall", "functionResponse", "inlineData", "fileData"))


def snaked(part: Json) -> Json:
    """A part of ours as the Python SDK spells it."""
    return {
        SNAKE.get(key, key): _snaked(value) if key in _OURS and isinstance(value, dict) else value
        for key, value in part.items()
    }


def _snaked(value: Json) -> Json:
    """What the part holds, and the pictures inside it."""
    fresh = {SNAKE.get(key, key): item for key, item in value.items()}
    if isinstance(media := fresh.get("parts"), list):
        fresh["parts"] = [snaked(each) if isinstance(each, dict) else each for each in media]
    return fresh
