"""The logs of the cases as logs of ours: the same records, with the same damage around them, in files of a JSONL store."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from suture.entries import (
    ApprovalDecision,
    ApprovalRequest,
    Body,
    Draft,
    Interrupt,
    MessageBody,
    Retry,
    Steer,
    ToolStarted,
    call_digest,
    call_marks,
    draft,
    mark,
)
from suture.messages import Assistant, Message, Text, ToolCall, ToolResult, User
from suture.stores.base import link
from suture.stores.jsonl.lines import encoded, entry_line
from suture.stores.jsonl.scan import Damaged, Form, pieces

Record = dict[str, Any]

AT = "2026-03-01T12:00:00Z"
ID = "case"
_NEVER_WRITTEN = b"\xee" * 32


def _record(raw: bytes) -> Record | None:
    """A record in the neutral shape; None for bytes that are none."""
    try:
        value = json.loads(raw)
    except ValueError:
        return None
    return value if isinstance(value, dict) and {"seq", "type"} <= value.keys() else None


NEUTRAL = Form(re.compile(rb'\{"seq":'), _record)


def written(case: Record, place: Path) -> None:
    """Write the case's log as the one of session `case` of the JSONL store at that place."""
    given = case["input"]
    place.mkdir()
    if "file" in given:
        data = given["file"]["data"]
        raw = base64.b64decode(data) if given["file"]["encoding"] == "base64" else data.encode()
        (place / f"{ID}.jsonl").write_bytes(_with_lines_of_ours(raw))
    else:
        (place / f"{ID}.jsonl").write_bytes(b"".join(_lines(given["records"], given.get("tools", {}))))


# A file with damage ---------------------------------------------------------------------------


def _with_lines_of_ours(raw: bytes) -> bytes:
    """The file with each whole record as a line of ours, and every other byte as it is."""
    result, at, chains = bytearray(), 0, {0: b""}
    for piece in pieces(raw, NEUTRAL):
        if isinstance(piece, Damaged):
            continue
        record: Any = piece.line
        seq = record["seq"]
        kept = Draft(f"{seq}-{piece.start}", record["type"], AT, raw[piece.start : piece.end])
        # A record that another writer put at a position that is taken follows from the same one before it.
        before = chains[max(known for known in chains if known < seq)]
        chains[seq] = link(before, ID, seq, kept)
        result += raw[at : piece.start] + encoded(entry_line(seq, kept, 0, chains[seq])).rstrip(b"\n")
        at = piece.end
    return bytes(result + raw[at:])


# Records --------------------------------------------------------------------------------------


def _lines(records: list[Record], tools: Mapping[str, Record]) -> Iterator[bytes]:
    chain, ids = b"", {None}
    for seq, (made, record) in enumerate(zip(_drafts(records, tools), records, strict=True), 1):
        # A parent that was never written leaves a hole in our chain.
        before = chain if record.get("parent") in ids else _NEVER_WRITTEN
        chain = link(before, ID, seq, made)
        ids.add(record.get("id"))
        yield encoded(entry_line(seq, made, 0, chain))


def _drafts(records: list[Record], tools: Mapping[str, Record]) -> Iterator[Draft]:
    """The records as the entries that a run of ours would have written."""
    calls: dict[str, tuple[str, ToolCall]] = {}
    requests: dict[str, int] = {}
    for record in records:
        seq, at = record["seq"], record.get("ts", AT)
        key, call = calls.get(record.get("call_id", ""), ("", ToolCall("", "")))
        if record["type"] == "assistant":
            calls |= {one.id: (f"{seq}:{slot}", one) for slot, one in enumerate(_answer(record).calls)}
        if record["type"] == "approval_requested":
            requests[key] = seq
        if record["type"] == "progress":
            yield Draft(f"{seq}", "progress", at, json.dumps(record).encode())
            continue
        effect = "external" if tools.get(call.name, {}).get("side_effects") else "read"
        body, opens, closes = _entry(record, key, call, effect, requests.get(key, 0))
        yield draft(f"{seq}", at, body, opens, closes)


def _answer(record: Record) -> Assistant:
    words = (Text(record["text"]),) if "text" in record else ()
    calls = [
        ToolCall(one["id"], one["name"], json.loads(one["arguments"]), one["arguments"]) for one in record.get("calls", [])
    ]
    return Assistant((*words, *calls))


def _entry(
    record: Record, key: str, call: ToolCall, effect: Any, request: int
) -> tuple[Body, tuple[str, ...], tuple[str, ...]]:
    seal = call_digest(call)
    match record["type"]:
        case "user" | "steer":
            return MessageBody(User.of(record["text"])), (), ()
        case "assistant":
            return MessageBody(_answer(record)), (), ()
        case "result":
            return MessageBody(ToolResult.of(call.id, record["content"]), key=key), (), call_marks(key)
        case "call_started":
            return ToolStarted(key, effect, 1, "once"), (mark("started", key),), ()
        case "approval_requested":
            return ApprovalRequest(key, call, seal, effect), (mark("approval", key),), ()
        case "approval_decided":
            decision = ApprovalDecision(request, key, seal, record["decision"] == "approve", record.get("reason"))
            return decision, (mark("decided", key),), (mark("approval", key),)
        case "steer_accepted":
            return Steer("steer", User.of(record["text"])), (mark("inbox", "steer"),), ()
        case "aborted":
            return Interrupt(), (), ()
        case "model_error":
            return Retry(1, record["text"], 0.0), (), ()
        case other:
            raise AssertionError(other)


def neutral(message: Message, seq: int | None, given: list[Record], ats: Mapping[int, str]) -> Record:
    """A message of ours in the neutral shape. Whether a user's words came as a steer is no matter of the message's."""
    given_as = next((record for record in given if record["seq"] == seq), {})
    record: Record = {"seq": seq} | ({"ts": ats[seq]} if seq is not None and "ts" in given_as else {})
    match message:
        case Assistant():
            calls = [{"id": call.id, "name": call.name, "arguments": call.raw} for call in message.calls]
            words = {"text": message.text} if message.text else {}
            return {**record, "type": "assistant", **words, **({"calls": calls} if calls else {})}
        case ToolResult():
            said = {"type": "result", "call_id": message.call_id, "content": message.text}
            return {**record, **said, **({"synthetic": True} if seq is None else {})}
        case _:
            return {**record, "type": given_as.get("type", "user"), "text": message.text}
