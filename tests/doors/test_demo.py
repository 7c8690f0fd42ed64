"""`suture demo`, end to end: real processes, a real SIGKILL, every promise kept and none taken on trust."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from suture import open_store
from suture.cli.demo.processes import processes
from suture.cli.demo.report import Evidence, report
from suture.cli.demo.story import Stage, play
from tests.doors.shell import COLUMNS, PATIENCE, environment, on_terminal, suture
from tests.judges import FORMATS, problems

T = TypeVar("T")

STEPS = ["run", "resume", "settle", "continue", "approve", "steer", "finish"]
TOOL_RUNS = [
    {"call": "3:0", "tool": "reserve_box", "effect": "idempotent", "runs": 2},
    {"call": "3:1", "tool": "send_gift", "effect": "external", "runs": 1},
    {"call": "3:2", "tool": "find_customer", "effect": "read", "runs": 1},
    {"call": "14:0", "tool": "send_gift", "effect": "external", "runs": 1},
]
PROMISES = ("killed", "healed", "resumed", "settled", "approved", "steered", "completed", "repeated_safely")


def lives(pid: int) -> bool:
    """Whether the process runs; one that has ended and waits to be collected does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_the_demo_keeps_its_promises_twice_on_one_store(tmp_path: Path) -> None:
    """One document per demo; a second on the same store plays in a session of its own; no process is left."""
    url = f"sqlite:///{tmp_path / 'demo.db'}"
    told = [suture("demo", "--json", "--store", url, TMPDIR=str(tmp_path)) for _ in range(2)]
    for said in told:
        document = said.json
        assert (said.status, said.err) == (0, "")
        assert document["tool_runs"] == TOOL_RUNS
        assert (document["requests"], document["requests_valid"], document["refused"]) == (3, True, [])
        assert all(document[promise] is True for promise in PROMISES)
        assert (document["store"], list(document["pids"])) == (url, STEPS)
        assert len(set(document["pids"].values())) == len(STEPS)
        assert not [pid for pid in document["pids"].values() if lives(pid)]
    assert told[0].json["session"] != told[1].json["session"]
    listed = suture("sessions", "--store", url, "--json").json["sessions"]
    assert [(one["id"], one["status"]) for one in listed] == [
        (id, "idle") for id in sorted(said.json["session"] for said in told)
    ]
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


# What the story leaves, and how it is judged ---------------------------------------------------


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """What the story leaves when it is played here."""
    folder = tmp_path_factory.mktemp("story")
    url = f"sqlite:///{folder / 'demo.db'}"
    store = open_store(url)
    with processes() as started:
        stage = Stage(url, "demo-here", folder, started, store)
        scenes = list(play(stage))
    store.close()
    return Evidence(scenes, stage.runs(), stage.requests())


def test_every_request_of_the_story_is_valid_by_other_judges_too(evidence: Evidence) -> None:
    """The demo's own judge is not alone: the checkers of the cases and turnsafe agree."""
    assert len(evidence.requests) == 3
    assert [problems(format, one[format]) for one in evidence.requests for format in FORMATS] == [[]] * 6
    assert report(evidence)["as_promised"]


def without_a_result(requests: Sequence[Any]) -> list[Any]:
    """The requests, the last one without the result of its second call."""
    *others, last = json.loads(json.dumps(requests))
    last["openai-chat"]["messages"] = [
        one for one in last["openai-chat"]["messages"] if one.get("tool_call_id") != "call_2"
    ]
    return [*others, last]


def test_a_broken_request_is_no_valid_one(evidence: Evidence) -> None:
    """One request that lacks a result makes `requests_valid` false, and the demo not as promised."""
    found = report(evidence._replace(requests=without_a_result(evidence.requests)))
    assert (found["requests"], found["requests_valid"], found["as_promised"]) == (3, False, False)
    assert [(one["request"], one["format"]) for one in found["refused"]] == [(2, "openai-chat")]


@pytest.mark.parametrize("requests", [[], [{}]], ids=["none", "not-encoded"])
def test_no_requests_are_not_valid_ones(evidence: Evidence, requests: list[Any]) -> None:
    """Nothing to judge is nothing to be content with."""
    assert not report(evidence._replace(requests=requests))["requests_valid"]


@pytest.mark.parametrize("call", ["call_1", "call_2", "call_3", "call_4"])
def test_a_run_too_many_breaks_the_promise(evidence: Evidence, call: str) -> None:
    """Each handler ran as often as promised, neither more nor less."""
    more = [run for run in evidence.runs if run["call"] == call][:1]
    less = [run for run in evidence.runs if run["call"] != call]
    for runs in ([*evidence.runs, *more], less):
        found = report(evidence._replace(runs=runs))
        assert (found["repeated_safely"], found["as_promised"]) == (False, False)


def test_a_run_under_another_key_breaks_the_promise(evidence: Evidence) -> None:
    """A repeat under another idempotency key would be a second effect."""
    *others, last = evidence.runs
    runs = [*others, {**last, "idempotency_key": others[0]["idempotency_key"]}]
    assert not report(evidence._replace(runs=runs))["repeated_safely"]


# How it is told -------------------------------------------------------------------------------


def test_the_demo_is_told_in_plain_lines() -> None:
    """In a pipe the story is plain text, in five steps, and ends well."""
    said = suture("demo")
    assert (said.status, said.err) == (0, "")
    assert "\x1b" not in said.out
    assert re.findall(r"^\d\. ", said.out, re.MULTILINE) == ["1. ", "2. ", "3. ", "4. ", "5. "]
    for words in (
        "SIGKILL while reserve_box and send_gift run.",
        "An assistant message with 'tool_calls' must be followed by tool messages",
        "`tool_use` ids were found without `tool_result` blocks immediately after: call_1, call_2, call_3.",
        "->  [stand-in] This call was not run: the run ended first.",
        "3 changes, each reported:",
        "send_gift     may have happened         NOT repeated: outcome unknown",
        "3 requests, each valid for OpenAI chat and Anthropic",
        "nothing lost, nothing repeated that must not be, nothing refused",
    ):
        assert words in said.out


def test_the_demo_on_a_terminal() -> None:
    """On a terminal it has colours, calls beside results, and fits into 80 columns."""
    said = on_terminal("demo")
    plain = re.sub("\x1b\\[[0-9;]*m", "", said.out)
    assert (said.status, plain == said.out) == (0, False)
    assert max(len(line) for line in plain.splitlines()) <= COLUMNS
    assert '3:2 find_customer(name="Tom")    → Tom is customer 42.' in plain


def test_the_demo_keeps_its_folder_on_request(tmp_path: Path) -> None:
    """--keep leaves the folder, and says how to look at it; otherwise nothing is left."""
    kept = suture("demo", "--keep", TMPDIR=str(tmp_path))
    command = kept.out.splitlines()[-1].partition("look at it with: suture ")[2].split()
    assert kept.status == 0
    assert "Both boxes are on their way." in suture(*command).out
    (folder,) = tmp_path.iterdir()
    assert sorted(path.name for path in folder.iterdir() if path.suffix == ".jsonl") == ["requests.jsonl", "runs.jsonl"]


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("memory:", "'memory:' lives in one process, so this command cannot see what is in it."),
        ("sqlite:////nowhere/demo.db", "/nowhere"),
    ],
)
def test_the_demo_refuses_a_store_that_it_cannot_use(url: str, says: str, tmp_path: Path) -> None:
    """It ends with 2, and starts and leaves nothing."""
    said = suture("demo", "--store", url, TMPDIR=str(tmp_path))
    assert (said.status, said.out, list(tmp_path.iterdir())) == (2, "", [])
    assert says in said.err


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda sent: sent.name)
def test_a_demo_that_is_stopped_leaves_no_process(sent: signal.Signals, tmp_path: Path) -> None:
    """Stopped while its agent hangs in a handler, it takes that process along, even when it cannot say goodbye."""
    command = [sys.executable, "-m", "suture.cli", "demo", "--json", "--keep"]
    demo = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(TMPDIR=str(tmp_path)))
    runs = wait_for(lambda: list(tmp_path.glob("*/runs.jsonl")))
    demo.send_signal(sent)
    demo.communicate(timeout=PATIENCE)
    pids = {json.loads(line)["pid"] for line in runs[0].read_text().splitlines()}
    wait_for(lambda: not [pid for pid in pids if lives(pid)])


def wait_for(what: Callable[[], T]) -> T:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if found := what():
            return found
        time.sleep(0.01)
    raise AssertionError("it never came")
