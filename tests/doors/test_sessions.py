"""`suture sessions`, `show`, `request` and `approvals`: looking changes nothing and makes nothing."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

import suture as library
from suture.stores import Draft, EncryptedStore
from suture.testing import ScriptedModel
from tests.doors.conftest import PROMPT, digest_of, gift, play
from tests.doors.shell import on_terminal, suture
from tests.judges import FORMATS, assert_valid

NOBODY = "The store holds no session 'nobody'. `suture sessions --store URL` lists those it has."


def test_sessions_are_listed(url: str) -> None:
    """A row per session: what it waits for, how long it is, whether it needs a runner."""
    said = suture("sessions", "--store", url)
    rows = [line.split()[:4] for line in said.out.splitlines()[1:]]
    assert (said.status, said.err) == (0, "")
    assert said.out.splitlines()[0].split("  ")[0] == "session"
    assert rows == [
        ["done", "idle", "7", "no"],
        ["parked", "awaiting_approval", "7", "no"],
        ["steered", "inbox_waiting", "1", "yes"],
        ["unknown", "abandoned", "4", "yes"],
    ]


def test_sessions_as_one_document(url: str) -> None:
    """With --json all that a store knows of a session is there."""
    (found,) = suture("sessions", "--store", url, "--status", "awaiting_approval", "--json").json["sessions"]
    assert (found["id"], found["status"], found["needs_runner"], found["head"]) == ("parked", "awaiting_approval", False, 7)
    assert found["marks"] == {"approval:3:0": 4}
    assert sorted(found) == [
        "created_at",
        "damage",
        "head",
        "id",
        "marks",
        "meta",
        "needs_runner",
        "status",
        "updated_at",
    ]


def test_show_has_the_meta(url: str) -> None:
    """What a session was filed under stands with it, and nothing where there is none."""
    store = library.open_store(url)
    library.Session(store, "done", meta={"tenant": "acme", "vip": True})
    store.close()
    assert '\n  {"tenant": "acme", "vip": true}\n' in suture("show", "done", "--store", url).out
    assert "{}" not in suture("show", "parked", "--store", url).out


def test_no_sessions_are_no_error(url: str) -> None:
    """An empty answer is an answer."""
    said = suture("sessions", "--store", url, "--status", "running")
    assert (said.status, said.out) == (0, "")
    assert said.err == f"{url}: no sessions of status running.\n"
    assert suture("sessions", "--store", url, "--status", "running", "--json").json == {"sessions": [], "next": None}


@pytest.fixture
def owned(url: str) -> str:
    """The same store, with meta on three of its sessions."""
    store = library.open_store(url)
    metas: dict[str, dict[str, object]] = {
        "done": {"user": "ann", "age": 7},
        "parked": {"user": "ann"},
        "unknown": {"user": "7"},
    }
    for id, meta in metas.items():
        library.Session(store, id, meta=meta)
    store.close()
    return url


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        (["--meta", "user=ann"], ["done", "parked"]),
        (["--meta", "user=ann", "--meta", "age=7"], ["done"]),
        (["--meta", "user=7"], []),
        (["--meta", 'user="7"'], ["unknown"]),
        (["--meta", "user=ann", "--status", "awaiting_approval"], ["parked"]),
        (["--limit", "2"], ["done", "parked"]),
        (["--limit", "2", "--after", "parked"], ["steered", "unknown"]),
        (["--after", "parked", "--meta", "user=ann"], []),
    ],
)
def test_some_sessions_are_listed(owned: str, options: list[str], ids: list[str]) -> None:
    """By what their meta holds, whole values alone, and a page at a time."""
    said = suture("sessions", "--store", owned, *options, "--json")
    assert (said.status, [one["id"] for one in said.json["sessions"]]) == (0, ids)


def test_a_page_says_how_to_get_the_next(url: str) -> None:
    """Whoever reads a page knows whether more follow, and what to say for it: a person, and a program."""
    page = suture("sessions", "--store", url, "--limit", "3")
    assert (len(page.out.splitlines()), page.err) == (4, "More follow: --after steered\n")
    assert suture("sessions", "--store", url, "--limit", "3", "--json").json["next"] == "steered"
    last = suture("sessions", "--store", url, "--limit", "1", "--after", "steered")
    assert (len(last.out.splitlines()), last.err) == (2, "")
    assert suture("sessions", "--store", url, "--limit", "4", "--json").json["next"] is None


def test_a_meta_option_that_is_no_pair(url: str) -> None:
    """What is missing is said by example."""
    said = suture("sessions", "--store", url, "--meta", "ann")
    assert said.status == 2
    assert "user=ann" in said.err


# Showing --------------------------------------------------------------------------------------


def test_a_lost_call_has_what_settles_it(url: str) -> None:
    """The key that the other side knows stands with it, and the command does what it says."""
    said = suture("show", "unknown", "--store", url)
    (lost,) = suture("show", "unknown", "--store", url, "--json").json["unknown_outcomes"]
    assert f", idempotency key {lost['idempotency_key']}\n" in said.out
    words = shlex.split(said.out.splitlines()[-1])
    assert words == ["suture", "settle", "unknown", "3:0", "completed", "--store", url]
    assert suture(*words[1:]).status == 0


def test_a_steer_finds_the_turn_that_it_names(url: str) -> None:
    """The ids that other commands and edits take are in the document."""
    asked, *_ = suture("show", "parked", "--store", url, "--json").json["messages"]
    assert asked["role"] == "user"
    assert suture("steer", "parked", "Hurry.", "--expected-turn", asked["id"], "--store", url).status == 0


@pytest.mark.parametrize(
    ("session", "lines"),
    [
        (
            "done",
            ['3:0  send_gift(to="nasty", total=10)  ->  sent 10 to nasty\\x1b[31mred\\x07 [bold]', "assistant  Done."],
        ),
        (
            "parked",
            [
                '3:0  send_gift(to="ann", total=900)  ->  waits for approval',
                '3:1  send_gift(to="bob", total=9)  ->  sent 9 to bob',
                "Approvals",
            ],
        ),
        (
            "unknown",
            [
                '3:0  send_gift(to="slow", total=9)  ->  [stand-in] This call did not finish.',
                "Outcome unknown",
                '3:0  send_gift(to="slow", total=9), started ',
            ],
        ),
        ("steered", ["steered  inbox_waiting, needs a runner, 1 entry,", "Inbox", "Be quick."]),
    ],
)
def test_show_puts_calls_beside_their_results(url: str, session: str, lines: list[str]) -> None:
    """Each call with what became of it, stand-ins marked, then all that waits for somebody."""
    said = suture("show", session, "--store", url)
    assert (said.status, said.err) == (0, "")
    for line in lines:
        assert line in said.out


def test_show_as_one_document(url: str) -> None:
    """With --json the conversation, approvals, inbox, unknown outcomes and findings stand in one document."""
    document = suture("show", "unknown", "--store", url, "--json").json
    user, assistant = document["messages"]
    assert (user["role"], user["text"], assistant["text"]) == ("user", PROMPT, "I send them.")
    (call,) = assistant["calls"]
    assert (call["key"], call["id"], call["arguments"]) == ("3:0", "c1", {"to": "slow", "total": 9})
    assert call["result"]["synthetic"] == "unknown"
    assert [one["key"] for one in document["unknown_outcomes"]] == ["3:0"]
    assert (document["approvals"], document["inbox"], document["findings"]) == ([], [], [])
    assert document["session"]["status"] == "abandoned"


def test_show_has_what_was_corrected_below_what_the_model_made(tmp_path: Path) -> None:
    """The call that ran stands below the one that could not, with who corrected it and why in the document."""

    @library.tool
    def order(item: str, count: int) -> str:
        """Order."""
        return f"{count} {item}"

    url = f"sqlite:///{tmp_path}/corrected.db"
    store = library.open_store(url)
    made = {"id": "c1", "name": "functions.order", "arguments": "{'item': 'tea', 'count': '3',}"}
    model = ScriptedModel([{"calls": [made]}, {"text": "Done."}])
    library.Agent(model, tools=[order], session=library.Session(store, "s")).run("Order.")
    store.close()
    lines = [line.strip() for line in suture("show", "s", "--store", url).out.splitlines()]
    at = next(at for at, line in enumerate(lines) if line.startswith("3:0"))
    assert lines[at] == "3:0  functions.order({'item': 'tea', 'count': '3',})  ->  3 tea"
    assert lines[at + 1] == 'corrected: order(item="tea", count=3)'
    (call,) = suture("show", "s", "--store", url, "--json").json["messages"][1]["calls"]
    reason = "name_junk, single_quotes, trailing_comma, string_for_integer"
    assert call["corrected"] == {"name": "order", "arguments": {"item": "tea", "count": 3}, "by": "rule", "reason": reason}
    assert "corrected:" in on_terminal("show", "s", "--store", url).out


def test_show_tells_what_replay_mended(url: str) -> None:
    """A result that no call wants is a finding, by its entry."""
    store = library.open_store(url)
    library.Session(store, "odd").add(library.ToolResult.of("gone", "found"))
    store.close()
    said = suture("show", "odd", "--store", url)
    assert said.status == 0
    assert "Findings\n  entry 1: RESULT_ORPHAN: " in said.out


# Requests -------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("session", ["done", "parked", "unknown"])
def test_request_prints_what_may_be_sent(url: str, session: str, format: str) -> None:
    """The request is valid by judges that share no code with suture, with --json and without."""
    said = suture("request", session, "--format", format, "--store", url)
    assert (said.status, said.err) == (0, "")
    assert_valid(format, said.json)
    assert suture("request", session, "--format", format, "--store", url, "--json").json == said.json


def test_request_in_a_format_that_is_not_there(url: str) -> None:
    """The formats that there are are listed."""
    said = suture("request", "done", "--format", "gemeni", "--store", url)
    assert (said.status, said.out) == (2, "")
    assert "There is no format 'gemeni'; there are 'openai-chat', 'openai-responses'" in said.err


# Approvals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [(), ("parked",)], ids=["all", "one"])
def test_approvals_show_what_a_person_needs(url: str, named: tuple[str, ...]) -> None:
    """Key, call, effect, description, digest and the command that approves."""
    digest = digest_of(url, "parked")
    said = suture("approvals", *named, "--store", url)
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith(
        '3:0  send_gift(to="ann", total=900)  external\n  Send a gift.\n  session parked, wire id c1, asked '
    )
    assert said.out.endswith(f"  digest {digest}\n  suture approve parked 3:0 --store {url}\n")
    (found,) = suture("approvals", *named, "--store", url, "--json").json["approvals"]
    assert (found["session"], found["key"], found["digest"], found["decision"]) == ("parked", "3:0", digest, None)
    assert found["call"] == {"id": "c1", "name": "send_gift", "arguments": {"to": "ann", "total": 900}}
    assert (found["effect"], found["description"]) == ("external", "Send a gift.")
    assert sorted(found["parameters"]["properties"]) == ["to", "total"]


def test_what_waits_too_long_says_so(tmp_path: Path) -> None:
    """Of a request that has expired no command is shown which would be refused; what comes of it is."""
    url = f"sqlite:///{tmp_path}/agent.db"

    @library.tool(effect="external", needs_approval=True, approval_expires=0.001)
    def pay(total: int) -> str:
        """Pay."""
        return f"paid {total}"

    store = library.open_store(url)
    script = ScriptedModel([{"calls": [{"id": "c1", "name": "pay", "arguments": {"total": 900}}]}])
    library.Agent(script, tools=[pay], session=library.Session(store, "late")).run("Pay.")
    store.close()
    said = suture("approvals", "--store", url)
    assert said.out.splitlines()[-1].endswith("; the next run answers that it was not run")
    assert "suture approve" not in said.out
    assert "nobody decided until " in suture("show", "late", "--store", url).out


def test_a_command_to_copy_is_one_for_a_shell(tmp_path: Path) -> None:
    """Whatever stands in ids and URLs, the shown command runs as it stands, unbroken on a narrow terminal."""
    url, id = f"sqlite:///{tmp_path}/agent of ann & bob.db", "order 42; $HOME 'x'"
    store = library.open_store(url)
    play(store, id, gift("ann", 900))
    store.close()
    for said in (suture("approvals", "--store", url), on_terminal("approvals", "--store", url, NO_COLOR="1")):
        (line,) = [each.strip() for each in said.out.splitlines() if each.strip().startswith("suture approve")]
        assert shlex.split(line) == ["suture", "approve", id, "3:0", "--store", url]


def test_no_approvals_are_no_error(url: str) -> None:
    """Nothing waits, and that is said beside the empty answer."""
    said = suture("approvals", "done", "--store", url)
    assert (said.status, said.out, said.err) == (0, "", "No call waits for a person.\n")


# What is not there ----------------------------------------------------------------------------

LOOKING = (
    ("sessions",),
    ("show", "nobody"),
    ("request", "nobody", "--format", "anthropic"),
    ("approvals",),
    ("approvals", "nobody"),
    ("approve", "nobody", "3:0"),
    ("deny", "nobody", "3:0"),
    ("steer", "nobody", "hello"),
    ("interrupt", "nobody"),
    ("settle", "nobody", "3:0", "completed"),
    ("tail", "nobody"),
    ("export", "nobody", "--format", "anthropic"),
    ("fork", "nobody"),
    ("verify",),
    ("verify", "nobody"),
)
NO_BODIES = (("sessions",), ("verify",), ("verify", "nobody"))  # what works on marks and hashes alone


@pytest.mark.parametrize("command", [one for one in LOOKING if "nobody" in one], ids=" ".join)
def test_an_unknown_session_is_named_and_not_made(url: str, command: tuple[str, ...]) -> None:
    """It ends with 2, says what lists the sessions, and leaves the store as it was."""
    said = suture(*command, "--store", url)
    assert (said.status, said.out, said.err) == (2, "", f"Error: {NOBODY}\n")
    store = library.open_store(url)
    assert [info.id for info in store.sessions()] == ["done", "parked", "steered", "unknown"]
    store.close()


@pytest.mark.parametrize(
    ("command", "id", "near"),
    [
        ("show", "Parked", "'parked'"),
        ("show", "park", "'parked'"),
        ("tail", "unknwn", "'unknown'"),
        ("verify", "parkd", "'parked'"),
        ("fork", "don", "'done'"),
    ],
)
def test_an_id_that_is_nearly_one_names_it(url: str, command: str, id: str, near: str) -> None:
    """Whoever mistypes an id reads which one was meant."""
    said = suture(command, id, "--store", url)
    assert said.status == 2
    assert f"Did you mean {near}? `suture sessions" in said.err


@pytest.mark.parametrize("command", [one for one in LOOKING if one not in NO_BODIES], ids=" ".join)
def test_an_encrypted_session_does_not_look_empty(tmp_path: Path, command: tuple[str, ...]) -> None:
    """No command shows it as if nothing were in it, or writes into it what is not encrypted."""
    url = f"sqlite:///{tmp_path}/agent.db"
    inside = library.open_store(url)
    sealed = EncryptedStore(inside, {"k": os.urandom(32)})
    play(sealed, "nobody", gift("ann", 900))
    library.Session(sealed, "nobody").fork(id="fork")
    for id in ("nobody", "fork"):
        before = inside.read(id)
        said = suture(*(id if word == "nobody" else word for word in command), "--store", url)
        assert (said.status, said.out) == (2, "")
        assert "is encrypted, and this store has no keys for bodies." in said.err
        assert inside.read(id) == before
    inside.close()


def test_chat_does_not_go_on_with_an_encrypted_session(tmp_path: Path) -> None:
    """It would answer as if nothing had been said, and write what is not encrypted."""
    url = f"sqlite:///{tmp_path}/agent.db"
    inside = library.open_store(url)
    library.Session(EncryptedStore(inside, {"k": os.urandom(32)}), "s").steer("Hello.")
    (tmp_path / "script.json").write_text('[{"text": "Hello?"}]')
    model = f"scripted:{tmp_path}/script.json"
    said = suture("chat", "--model", model, "--session", "s", "--store", url, stdin=b"Go on.\n")
    assert said.status == 2
    assert "session 's' is encrypted" in said.err
    assert len(inside.read("s")) == 1
    inside.close()


def test_show_tells_of_children_and_tokens(tmp_path: Path) -> None:
    """What children do, how large the conversation is, and where it was summarised, on a page and in the document."""
    url = f"sqlite:///{tmp_path}/agent.db"
    store = library.open_store(url)
    session = library.Session(store, "s")
    session.add(library.User.of("x" * 400))
    for name, id in (("scout", "c1"), ("miner", "c2")):
        body = json.dumps({"name": name, "session_id": id}).encode()
        store.append("s", [Draft(id, "child", "2026-01-01T00:00:00.000Z", body)])
    session.deliver_report("scout", "c1", "done", "All clear.")
    store.close()
    document = suture("show", "s", "--store", url, "--json").json
    assert document["children"] == [
        {"id": "c1", "name": "scout", "status": "done", "report": "All clear.", "error": None},
        {"id": "c2", "name": "miner", "status": "queued", "report": None, "error": None},
    ]
    assert (document["context_tokens"], document["first_kept"]) == (100, None)
    said = suture("show", "s", "--store", url).out
    assert "Children\n  scout  c1: done: All clear.\n  miner  c2: queued\n" in said


def test_an_unknown_session_as_one_document(url: str) -> None:
    """With --json the same stands in a document, alone."""
    said = suture("show", "nobody", "--store", url, "--json")
    assert (said.status, said.err) == (2, "")
    assert said.json == {"error": {"type": "SessionNotFound", "message": NOBODY}}


@pytest.mark.parametrize("command", LOOKING, ids=" ".join)
def test_a_missing_store_is_named_and_not_made(tmp_path: Path, command: tuple[str, ...]) -> None:
    """No command but a run makes a store."""
    url = f"sqlite:///{tmp_path / 'gone.db'}"
    said = suture(*command, "--store", url)
    assert (said.status, said.out) == (2, "")
    assert said.err == (f"Error: There is no store at {url!r}: nothing is there. Check the path; a first run makes it.\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("agent.db", "'agent.db' is a path and no URL. For a SQLite file say 'sqlite:///agent.db'."),
        ("memory:", "'memory:' lives in one process, so this command cannot see what is in it."),
        ("ftp://there", "'ftp://there' is no store that suture knows."),
    ],
)
def test_a_store_url_that_cannot_be(url: str, says: str) -> None:
    """A wrong URL is answered with a right one."""
    said = suture("sessions", "--store", url)
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith(f"Error: {says}")


def test_a_file_that_is_no_store_is_left_alone(tmp_path: Path) -> None:
    """Another program's file is refused, and stays as it is."""
    file = tmp_path / "notes.txt"
    file.write_text("not a database, just notes\n" * 100)
    before = file.read_bytes()
    said = suture("sessions", "--store", f"sqlite:///{file}", "--json")
    assert (said.status, said.err) == (2, "")
    assert said.json["error"]["type"] == "StoreError"
    assert file.read_bytes() == before
    assert json.dumps(str(file))[1:-1] in said.out
