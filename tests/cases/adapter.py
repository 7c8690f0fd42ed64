"""The case runner's door into suture: histories, tool calls and logs in, what suture makes of them out."""

from __future__ import annotations

import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from suture.agent import Agent
from suture.compaction import Compaction
from suture.errors import CompactionError
from suture.formats import format_of
from suture.formats.base import Format, Written
from suture.formats.limits import Limits
from suture.healing import fit, load_messages
from suture.healing.healing import healed
from suture.healing.work import Options
from suture.messages import Assistant, Message, Origin, ToolResult, User
from suture.pairing import pair
from suture.repair import Why, stand_in
from suture.session import Session
from suture.stores import Draft, JsonlStore, SqliteStore
from suture.testing import ScriptedModel
from suture.tools import check_call

# The runner knows this file alone, wherever it is run from.
sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.cases.logs import AT, ID, neutral, written

Case = dict[str, Any]

# Why a run stopped, as a case tells it: what is known of its open calls, and the words for it.
REASONS: dict[str, tuple[Why, str]] = {
    "max_steps": ("not_run", "the step limit was reached"),
    "user_interrupt": ("unknown", "the user interrupted it"),
}
LIMITS = {"max_id_length": "id_length", "id_pattern": "id_pattern", "name_pattern": "name_pattern", "prefill": "prefill"}


def history(case: Case) -> Case:
    """The healed list alone, as it would be sent to that provider."""
    given, form = case["input"], format_of(case["format"])
    messages = _forgetting(given, form)
    messages += [*_known_outcomes(messages, given, form), *_prompt(given, form)]
    if "minted_by" in given:
        return {form.key: _for_another_model(messages, given, form)}
    target = given.get("target", {})
    limits = _limits(form.limits(str(target.get("model") or target.get("family") or "")), target)
    return {form.key: healed(messages, form, limits, _options(given)).history}


def tool_call(case: Case) -> Case:
    """What `check_call` says of the call, its arguments as they may run."""
    given = case["input"]
    found = check_call(given["call"], given["tools"], given.get("finish_reason"))
    call = found.call and {"id": found.call.id, "name": found.call.name, "arguments": found.call.arguments}
    return {"status": found.status, "call": call, "reason": found.reason, "code": found.code}


def log(case: Case) -> Case:
    """What a JSONL store reads of the case's log, in the order of its replay, and what it reports."""
    given = case["input"]
    if "scenario" in given:
        return {"records": _under_load(given["scenario"]), "report": []}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "sessions"
        written(case, place)
        with closing(JsonlStore(place)) as store:
            info = store.info(ID)
            report = [what for _, what in info.damage] if info is not None else []
            entries = store.read(ID)
            if "file" in given:
                return {"records": [json.loads(entry.body) for entry in entries], "report": report}
            session, ats = Session(store, ID), {entry.seq: entry.at for entry in entries}
            if "compact" in given.get("then", {}):
                report += _compacted(session, given["then"]["compact"]["summary_response"])
            records = [neutral(message, seq, given["records"], ats) for message, seq in session.replay()]
            return {"records": records, "report": report + [str(finding) for finding in session.findings()]}


def _compacted(session: Session, answer: Case) -> list[str]:
    """What is said of a compaction whose every answer is that one."""
    model = ScriptedModel([{"text": answer["text"], "stop_reason": answer["stop"]}] * 3)
    try:
        Agent(model, session=session, compaction=Compaction(keep_recent=1)).compact()
    except CompactionError as error:
        return [str(error)]
    return []


def _under_load(scenario: Case) -> list[Case]:
    """What can be read after the load: many who open a new file at once, or a long log of which the end is asked for."""
    with tempfile.TemporaryDirectory() as folder:
        if "openers" in scenario:
            with ThreadPoolExecutor(scenario["openers"]) as pool:
                for number in range(scenario["repeat"]):
                    paths = [Path(folder) / f"{number}.db"] * scenario["openers"]
                    list(pool.map(lambda path: SqliteStore(path).close(), paths))
            return []
        with closing(JsonlStore(Path(folder) / "sessions")) as store:
            count = scenario["records"]
            store.append(ID, [Draft(f"{n}", "note", AT, b'"%s"' % (b"x" * scenario["bytes_each"])) for n in range(count)])
            return [{"seq": entry.seq, "type": entry.kind} for entry in store.read(ID, after=count - 50)]


def _prompt(given: Case, form: Format) -> list[Case]:
    """The user's next words, where the case has some, in the shape in which others of the user's came."""
    text = given.get("then", {}).get("new_user_prompt") or given.get("fork", {}).get("task")
    if text is None:
        return []
    said: Case = next((message for message in given[form.key] if message.get("role") == "user"), {})
    if not isinstance(said.get("content"), str):
        return form.encode([User.of(text)])
    return [{**{key: said[key] for key in ("type", "role") if key in said}, "content": text}]


def _forgetting(given: Case, form: Format) -> list[Case]:
    """The messages without the results that are to be forgotten; healing closes the gap."""
    raw: list[Case] = given[form.key]
    gone = {word for text in given.get("forget", []) for word in text.split()}
    if not gone:
        return list(raw)
    decoded = form.decode(raw)
    kept = [at for at, one in enumerate(decoded.messages) if not (isinstance(one, ToolResult) and one.call_id in gone)]
    return form.rewrite(raw, decoded, Written([decoded.messages[at] for at in kept], kept)).messages


def _known_outcomes(messages: list[Case], given: Case, form: Format) -> list[Case]:
    """Results for open calls of which the case knows more than healing can; healing puts them in their place."""
    decisions, waiting = given.get("decisions", {}), " ".join(given.get("pending_approval", []))
    if not decisions and not waiting:
        return []
    results: list[Message] = []
    for turn in reversed(pair(load_messages(messages, form.name)).turns.values()):
        for slot in turn.unanswered():
            call = turn.calls[slot]
            if decisions.get(call.id) in ("rejected", "reject", "denied", "deny"):
                results.append(stand_in(call, "denied", "the user rejected it"))
            elif waiting and call.id not in waiting:
                results.append(stand_in(call, "unknown"))
        break
    return form.encode(results) if results else []


def _limits(limits: Limits, target: Case) -> Limits:
    return msgspec.structs.replace(limits, **{LIMITS[key]: value for key, value in target.items() if key in LIMITS})


def _options(given: Case) -> Options:
    """What the case knows of its open calls."""
    if given.get("pending_approval"):
        return Options(pending="keep")
    if "forget" in given:
        return Options(why="lost", reason="it was removed from the conversation")
    if (reason := given.get("reason")) in REASONS:
        return Options(why=REASONS[reason][0], reason=REASONS[reason][1])
    return Options()


def _for_another_model(messages: list[Case], given: Case, form: Format) -> list[Case]:
    """The messages for a model that did not make them all."""
    decoded = form.decode(messages)
    loaded: list[Message] = []
    for message, home in zip(decoded.messages, decoded.homes, strict=True):
        made_by = given["minted_by"].get(str(home))
        known = isinstance(message, Assistant) and made_by
        loaded.append(msgspec.structs.replace(message, origin=Origin(form.name, model=made_by)) if known else message)
    request = fit(loaded, form.name, given.get("target", {}).get("model")).history
    assert isinstance(request, dict)
    found: list[Case] = request[form.key]
    return found
