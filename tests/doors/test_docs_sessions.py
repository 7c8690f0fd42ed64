"""The pages on sessions: what they show runs, at a shell and in Python, and does what they say."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import suture as library
from suture import Child
from suture.stores import SessionInfo
from tests.doors.conftest import gift, play
from tests.doors.shell import PATIENCE, Said, environment, suture
from tests.test_parity import ONE_SIDED

HOW_TO = Path(__file__).parent.parent.parent / "docs" / "how-to"
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


def blocks(page: str, language: str) -> str:
    """All that a page says in a language, top to bottom."""
    text = (HOW_TO / f"{page}.md").read_text(encoding="utf-8")
    return "\n".join(re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL))


def ran(folder: Path, *parts: str) -> str:
    """What these parts of a program print, in a process of their own in that folder."""
    script = folder / "page.py"
    script.write_text("\n".join(parts), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=folder, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def typed(page: str, folder: Path) -> list[Said]:
    """What each command of a page says, one after the other; `export` holds for those behind it."""
    store = ""
    said: list[Said] = []
    for line in filter(None, blocks(page, "sh").splitlines()):
        program, *words = shlex.split(line)
        if program == "export":
            name, _, store = words[0].partition("=")
            assert name == "SUTURE_STORE"
        else:
            assert program == "suture"
            said.append(suture(*words, cwd=folder, SUTURE_STORE=store))
    return said


# Approvals ------------------------------------------------------------------------------------

PARKS, DECIDES = blocks("approvals", "python").split("\n\nimport json\n")

WEB = """
import threading
from urllib.error import HTTPError
from urllib.request import Request, urlopen


def asked(by, form=None):
    request = Request(f"http://127.0.0.1:{server.server_port}/", None if form is None else json.dumps(form).encode())
    if by:
        request.add_header("X-User", by)
    try:
        with urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


def behind_a_login(environ, start_response):
    return app(environ | {"REMOTE_USER": environ.get("HTTP_X_USER", "")}, start_response)


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *words):
        pass


server = make_server("127.0.0.1", 0, behind_a_login, handler_class=Quiet)
threading.Thread(target=server.serve_forever, daemon=True).start()
assert asked("")[0] == 401
status, listed = asked("bob")
assert (status, [one["session"] for one in listed]) == (200, ["order-41", "order-43", "order-45"]), listed
form = {"session": "order-41", "key": "3:0", "digest": listed[0]["digest"], "approved": True}
assert asked("bob", form | {"digest": "0" * 64})[0] == 409
assert asked("bob", form | {"arguments": {"to": 42}})[0] == 400
assert asked("bob", {"session": "order-41"})[0] == 400
assert asked("bob", form | {"session": "nobody"})[0] == 409
assert asked("bob", form) == (200, {"repeat": False})
assert asked("ann", form) == (200, {"repeat": True})
late = {"session": "order-42", "key": "3:0", "digest": EDITED, "approved": True}
assert asked("bob", late) == (409, {"error": LOSES.removeprefix("AlreadyDecided: ")}), asked("bob", late)
server.shutdown()
server.server_close()
"""

ASYNC = """
assert [id for id, _ in asyncio.run(waiting_async())] == ["order-43", "order-45"]
assert asyncio.run(decide_async({**form, "note": "fine"}, "eve")) == {"repeat": True}
"""

JOB = """
wait_and_go_on(0.1)
assert suture.open_approvals(store) == []
results = {info.id: suture.Session(store, info.id).final_assistant_message.text for info in store.sessions()}
assert results == {
    "order-41": "sent 700 to 42",
    "order-42": "sent 850 to 42",
    "order-43": "A person decided that this call must not run: more than 2000 is not sent; offer the small box.",
    "order-44": "A person decided that this call must not run: customer 42 moved; ask for the address.",
    "order-45": "sent 750 to 42",
}, results
(made,) = [entry.data for entry in suture.Session(store, "order-41").entries() if entry.kind == "approval_decision"]
assert (made["approved"], made["by"]) == (True, "bob")
assert asyncio.run(decide_async(form, "eve")) == {"repeat": True}  # once it has its result, too
assert {info.status for info in store.sessions()} == {"idle"}
"""


def test_the_page_on_approvals(tmp_path: Path) -> None:
    """Parked by one process, decided at a console, over HTTP, in a loop of events and by a job, then carried out: as the page says."""
    ran(tmp_path, PARKS)
    shown, edited, denied = typed("approvals", tmp_path)
    page = (HOW_TO / "approvals.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```\n(3:0  .*?)```", page, re.DOTALL)
    assert TIME.sub("TIME", example) in TIME.sub("TIME", shown.out)
    assert [said.status for said in (shown, edited, denied)] == [0, 0, 0]
    (digest,) = re.findall(r"digest (\w+)", example)
    (loses,) = re.findall(r"^AlreadyDecided: .*$", page, re.MULTILINE)
    opened = f'import suture\nstore = suture.open_store("sqlite:///agent.db")\nEDITED, LOSES = {digest!r}, {loses!r}\n'
    tools = PARKS[: PARKS.index('store = suture.open_store("')]
    ran(tmp_path, tools, opened, "import json, wsgiref.simple_server\n" + DECIDES, WEB, ASYNC, JOB)


# Looking after them ---------------------------------------------------------------------------

LOOKED_AFTER = """
assert waiting == ["order-42"]
assert (before, after) == ([("scout", "queued")], [("done", "Sarah lives in Lyon.")])
assert [entry["kind"] for entry in everything] == ["child", "child_report"]
assert [entry.erased != b"" for entry in session.entries()] == [False, True]
assert forget(store, "2020-01-01") == []
assert forget(store, "2999-01-01") == ["old"]
assert store.info("old") is None
"""


def test_the_page_on_looking_after_sessions(tmp_path: Path) -> None:
    """Its functions find what they say and forget what they say; its commands all do their work."""
    with closing(library.open_store(f"sqlite:///{tmp_path}/agent.db")) as store:
        play(store, "order-7", gift("slow", 9))
        play(store, "old", gift("bob", 9))
    ran(tmp_path, blocks("look-after-sessions", "python"), LOOKED_AFTER)
    copied = suture("verify", "--store", "sqlite:///agent-copy.db", "--json", cwd=tmp_path)
    assert (copied.status, len(copied.json["sessions"])) == (0, 4)
    said = typed("look-after-sessions", tmp_path)
    assert [(one.status, one.err) for one in said] == [(0, "")] * 9
    everything, abandoned, acme, shown, verified, steered, _, request, settled = (one.out for one in said)
    assert [name in everything for name in ("order-7", "order-42", "old")] == [True, True, False]
    assert ("order-7" in abandoned, "order-42" in abandoned) == (True, False)
    assert ("order-42" in acme, "order-7" in acme) == (True, False)
    assert "Inbox\n  Sarah asked for the executive box.\n" in shown
    assert "order-42  2 entries hold, 1 of them erased" in verified
    assert steered == "The next run of order-42 delivers it.\n"
    assert request.startswith("{")
    assert settled == "3:0 of order-7 is settled as completed; the next run goes on with it.\n"


def test_every_status_and_store_is_on_the_page() -> None:
    """Whoever meets a status at a shell finds what to do about it."""
    from suture.cli.sessions import STATUSES

    page = (HOW_TO / "look-after-sessions.md").read_text(encoding="utf-8")
    assert [status for status in STATUSES if f"| `{status}` |" not in page] == []
    for store in ("memory:", "sqlite:///", "jsonl:///", "postgresql://"):
        assert f"| `{store}" in page


# Compaction -----------------------------------------------------------------------------------

COMPACTED = """
assert usage.window == 8_000 and usage.tokens > 6_000
assert seen[1:3] == ["compacting", "compaction"] and seen[-1] == "finished"
assert boundary.summary.startswith("Goal: ") and boundary.tokens_before > 6_000 > boundary.tokens_after > 1_000
assert boundary.usage.input_tokens == 900
assert "Goal: gifts" in sent[0]["content"] and sent[1]["content"].startswith("Send the gift to customer ")
assert whole == len(session) == 82 and len(sent) < 20
assert "Keep every order number." in writer.requests[0].system
assert suture.Agent(ScriptedModel([{"text": "no"}])).compact() is None
failing = suture.Agent(ScriptedModel([{"text": ""}, {"text": " "}]), compaction=suture.Compaction(keep_recent=10))
for number in range(9):
    failing.session.add(suture.User.of("long " * 90))
    failing.session.add(suture.Assistant.of("yes " * 90))
try:
    failing.compact()
except suture.CompactionError:
    assert len(failing.session.entries()) == 18
else:
    raise AssertionError("a blank summary was taken")
"""


def test_the_page_on_compaction(tmp_path: Path) -> None:
    """A long conversation is summed up once, with the options that are shown; nothing is gone; a failure writes nothing."""
    ran(tmp_path, blocks("compact-a-session", "python"), COMPACTED)


def test_every_option_of_compaction_is_on_the_page() -> None:
    """An option that nobody can find is none."""
    page = (HOW_TO / "compact-a-session.md").read_text(encoding="utf-8")
    assert [name for name in library.Compaction.__dataclass_fields__ if f"{name}=" not in page] == []


# Reference, and serving ------------------------------------------------------------------------

REFERRED = """
assert said == ["Which box for Sarah?", "The executive box."]
assert first == "m1"
assert left == ["Only boxes that are in stock."]
assert [entry.kind for entry in known] == ["message", "message", "steer"] and nothing == []
assert words == "The executive box."
assert list(suture.AsyncSession(store, "order-42")) == []  # before it has read
"""


def test_the_reference_of_sessions(tmp_path: Path) -> None:
    """What it shows runs, and gives what it says."""
    ran(tmp_path, blocks("../reference/sessions", "python"), REFERRED)


@pytest.mark.parametrize("kind", [library.Session, SessionInfo, library.StartedCall, Child])
def test_every_name_of_a_session_is_in_the_reference(kind: type) -> None:
    """What nobody can look up is not there."""
    names = {name for name in {*dir(kind), *getattr(kind, "__dataclass_fields__", ())} if not name.startswith("_")}
    page = (HOW_TO.parent / "reference" / "sessions.md").read_text(encoding="utf-8")
    assert [name for name in sorted(names - ONE_SIDED.keys()) if not re.search(rf"`(?:session\.)?{name}\b", page)] == []


SERVED = """
assert asyncio.run(say("s1", "hello")) == {"status": "completed", "text": "You said: hello", "calls": []}


async def several():
    return await asyncio.gather(*(say(f"many-{n}", str(n)) for n in range(8)))


assert [one["text"] for one in asyncio.run(several())] == [f"You said: {n}" for n in range(8)]
claim = store.claim("s1", "another", 30)
left = asyncio.run(say("s1", "and this"))
assert left["status"] == "left", left
assert work("s1") == "busy"
store.release(claim)
assert work("s1") == "completed"
assert suture.Session(store, "s1").messages[-1].text == "You said: and this"
assert work("s1") == "completed" and len(suture.Session(store, "s1")) == 4
assert ask("s3", "quick") == "completed"

sent = []


async def receive():
    return {"type": "http.request", "body": json.dumps({"prompt": "hi"}).encode(), "more_body": False}


async def send(message):
    sent.append(message)


asyncio.run(app({"type": "http", "path": "/s2"}, receive, send))
assert b"".join(one.get("body", b"") for one in sent).startswith(b"data: ") and sent[-1] == {"type": "http.response.body", "body": b""}
assert in_child("s1") == 0
assert [one.text for one in suture.Session(store, "s1").pending_inbox()] == ["from a child"]
assert suture.Session(store, "s1").verify().ok
"""


def test_the_page_on_serving(tmp_path: Path) -> None:
    """Many requests share a store and an agent; a busy session is left a message; a task may come twice; a child writes."""
    ran(tmp_path, blocks("serve-sessions", "python"), SERVED)


@pytest.mark.parametrize("page", ["approvals", "look-after-sessions", "compact-a-session", "serve-sessions"])
def test_the_page_is_in_the_index(page: str) -> None:
    """Each page is found from the first one."""
    assert f"(how-to/{page}.md)" in (HOW_TO.parent / "README.md").read_text(encoding="utf-8")
