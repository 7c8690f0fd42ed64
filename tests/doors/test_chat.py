"""`suture chat`, as a person meets it: at a real terminal, stopped, killed, picked up again, and in a pipe."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import suture as library
from suture.cli.chat.answers import Command, Edit, Later, No, NoCommand, Prompt, Unclear, Yes, answer, said
from suture.cli.chat.screen import Screen
from suture.cli.chat.setup import Setup
from suture.cli.chat.telling import Teller
from suture.cli.chat.words import bounded, ending
from suture.loop.events import Event, ReasoningDelta, RequestMended, Retrying, TextDelta
from tests.doors.shell import PATIENCE, Said, suture
from tests.doors.terminal import CTRL_C, CTRL_D, Terminal

URL = "sqlite:///agent.db"
GEAR = '''
import time
from pathlib import Path

import suture

NOTHING = None
NUMBER = 3
EMPTY = []


def look(what: str) -> str:
    """Look something up."""
    return f"seen {what}"


def until_there(file):
    Path("started").touch()
    until = time.monotonic() + 60
    while not Path(file).exists() and time.monotonic() < until:
        time.sleep(0.01)
        yield


@suture.tool(effect="read")
def wait(file: str, ctx: suture.ToolContext) -> str:
    """Wait until a file is there."""
    for _ in until_there(file):
        if ctx.interrupted:
            return "gave up"
    return f"{file} is there"


@suture.tool(effect="external")
def post(file: str) -> str:
    """Post a file once it is there, whatever happens."""
    list(until_there(file))
    return "posted"


@suture.tool(effect="external", needs_approval=True)
def send(to: str, total: int) -> str:
    """Send money."""
    return f"sent {total} to {to}"


@suture.tool(effect="read")
def fail() -> str:
    """Fail."""
    raise ValueError("no such luck")


@suture.tool(effect="read", ends_turn=True)
def leave() -> str:
    """Leave the rest to the host."""
    return "left"


class Look:
    """Look something up."""

    name = "look"

    def call(self, what: str) -> str:
        return f"seen {what}"


class Shelf:
    tools = (look, fail)
    LOOK = Look()


ALL = [leave, look, wait, post, send, fail]
'''

Start = Callable[..., Terminal]


def call(name: str, id: str = "c1", **arguments: object) -> dict[str, object]:
    return {"id": id, "name": name, "arguments": arguments}


def turn(text: str, *calls: dict[str, object]) -> dict[str, object]:
    return {"text": text, "calls": list(calls)}


SEND = turn("I send it.", call("send", to="ann", total=900))


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """A directory with a module of tools."""
    (tmp_path / "gear.py").write_text(GEAR, encoding="utf-8")
    (tmp_path / "broken.py").write_text("raise RuntimeError('out of order')", encoding="utf-8")
    return tmp_path


def options(room: Path, *script: dict[str, object], tools: str = "gear:ALL") -> list[str]:
    """The options of a chat in the session `talk` whose model says these turns."""
    file = room / f"script-{time.monotonic_ns()}.json"
    file.write_text(json.dumps(script), encoding="utf-8")
    return ["--model", f"scripted:{file.name}", "--store", URL, "--session", "talk", "--tools", tools]


@pytest.fixture
def start(room: Path) -> Iterator[Start]:
    """Starts a chat at a terminal and waits for its prompt."""
    with ExitStack() as stack:
        yield lambda *script: stack.enter_context(Terminal("chat", *options(room, *script), cwd=room))


def piped(room: Path, lines: str, *script: dict[str, object], more: tuple[str, ...] = ()) -> Said:
    return suture("chat", *options(room, *script), *more, stdin=lines.encode(), cwd=room)


def shown(room: Path) -> list[tuple[str, str, list[Any]]]:
    """The conversation as the store has it: role, text, and the texts of the results of its calls."""
    document = suture("show", "talk", "--store", URL, "--json", cwd=room).json
    return [
        (line["role"], line["text"], [one["result"] and one["result"]["text"] for one in line.get("calls", [])])
        for line in document["messages"]
    ]


def appears(file: Path) -> None:
    until = time.monotonic() + PATIENCE
    while not file.exists():
        assert time.monotonic() < until, f"{file.name} never appeared"
        time.sleep(0.01)


# Talking --------------------------------------------------------------------------------------


def test_it_talks_and_comes_back(room: Path, start: Start) -> None:
    """An answer is shown, Ctrl-D says how to come back, and the next chat begins with the end of this one."""
    first = start(turn("Hello, how are you?"))
    first.expect("Session talk (new), with scripted:")
    first.expect("> ")
    first.type("Hi.")
    first.expect("Hello, how are you?\n")
    first.expect("> ")
    first.press(CTRL_D)
    first.expect("Goodbye. To come back:\n  suture chat --model scripted:script-")
    first.expect(" --store sqlite:///agent.db --session talk --tools gear:ALL")
    assert first.status() == 0
    second = start(turn("Fine, too."))
    second.expect("> Hi.\nHello, how are you?\n> ")
    second.type("/quit")
    assert second.status() == 0
    assert shown(room) == [("user", "Hi.", []), ("assistant", "Hello, how are you?", [])]


def test_a_new_session_gets_an_id_and_nothing_said_is_nothing_kept(room: Path) -> None:
    """Without --session an id is made; a chat that is left at once leaves no session behind."""
    arguments = options(room, turn("Hello."))
    at = arguments.index("--session")
    with Terminal("chat", *arguments[:at], *arguments[at + 2 :], cwd=room) as chat:
        chat.expect(" (new)")
        chat.expect(" --session ")
        chat.expect("> ")
        chat.press(CTRL_C)
        chat.expect("Nothing was said, so nothing is kept.")
        assert chat.status() == 130
    assert suture("sessions", "--store", URL, "--json", cwd=room).json["sessions"] == []


def test_an_answer_streams(capsys: pytest.CaptureFixture[str]) -> None:
    """Each piece is on the terminal before the next one comes; thinking stands on lines of its own."""
    teller = Teller(Screen())
    seen = []
    for event in (ReasoningDelta("Hm"), ReasoningDelta("m."), TextDelta("Hel"), TextDelta("lo.")):
        teller.tell(event)
        seen.append(capsys.readouterr().out)
    assert seen == ["Hm", "m.", "\nHel", "lo."]


@pytest.mark.parametrize(
    ("made", "beside"),
    [
        (call("look", what="it"), 'look(what="it")  ->  seen it\n'),
        (call("fail"), "fail()  ->  error: "),
        (call("look", what=3), "look(what=3)  ->  error: "),
        (call("unheard"), "unheard()  ->  error: "),
        (call("look", what="x" * 900), f'3:0 look(what="{"x" * 180}'),
        (call("look", what="y" * 900), "y … ("),
    ],
    ids=["fine", "raises", "bad-arguments", "no-such-tool", "long-arguments", "long-result"],
)
def test_a_call_stands_beside_its_result(start: Start, made: dict[str, object], beside: str) -> None:
    """A call is shown with its arguments and what came of it, errors marked, both within bounds."""
    chat = start(turn("I look.", made), turn("Done."))
    chat.expect("> ")
    chat.type("Look.")
    chat.expect("I look.\n")
    chat.expect(beside)
    chat.expect("Done.\n")
    chat.expect("> ")


def test_escape_sequences_are_shown_and_not_sent(start: Start) -> None:
    """What model, tool and user say never reaches the terminal as a command to it."""
    evil = "\x1b[31mred\x07\x9b2J"
    chat = start(turn(evil, call("look", what=evil)), turn("Done."))
    chat.expect("> ")
    chat.type("Go.")
    chat.expect("Done.\n")
    assert chat.said.count(r"\x1b[31mred\x07\x9b2J") >= 2
    assert not set(chat.said) & {"\x1b", "\x07", "\x9b"}


def test_a_model_that_cannot_be_reached_is_told_and_the_prompt_stays(room: Path) -> None:
    """Retries and the last error take a line each; `/resume` asks again, without the words being typed again."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and nobody listens
        base = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        arguments = ["--model", "openai:any", "--base-url", base, "--store", URL, "--session", "talk"]
        with Terminal("chat", *arguments, cwd=room, OPENAI_API_KEY="none") as chat:
            chat.expect("> ")
            for line in ("Hi.", "/resume"):
                chat.type(line)
                chat.expect("Attempt 1 failed (TransportError: ")
                chat.expect("The model gave no answer: TransportError: ")
                chat.expect("/resume asks again.\n> ")
            chat.press(CTRL_D)
            assert chat.status() == 0
    assert shown(room) == [("user", "Hi.", [])]


# Steering and stopping ------------------------------------------------------------------------


def test_a_line_typed_while_the_model_works_is_read_before_its_next_answer(room: Path, start: Start) -> None:
    """A line during a run is acknowledged, waits in the inbox, and is delivered with the next request."""
    chat = start(turn("I wait.", call("wait", file="go")), turn("All done."))
    chat.expect("> ")
    chat.type("Wait.")
    chat.expect('wait(file="go")')
    chat.type("Be quick.")
    chat.expect("Left for the model")
    (room / "go").touch()
    chat.expect("go is there")
    chat.expect("> Be quick.\n")
    chat.expect("All done.\n")
    chat.expect("> ")
    roles = [(role, text) for role, text, _ in shown(room)]
    assert roles == [("user", "Wait."), ("assistant", "I wait."), ("user", "Be quick."), ("assistant", "All done.")]


@pytest.mark.parametrize(
    ("tool", "says"),
    [
        ("wait", ["gave up", "Stopped."]),
        ("post", ['stopped post(file="go")', "Stopped.", "suture settle talk 3:0 completed"]),
    ],
    ids=["heeds", "does-not"],
)
def test_ctrl_c_stops_the_run_and_not_the_chat(room: Path, start: Start, tool: str, says: list[str]) -> None:
    """Ctrl-C comes back to the prompt with what was stopped, and the conversation goes on."""
    chat = start(turn("I start.", call(tool, file="go")), turn("Going on."))
    chat.expect("> ")
    chat.type("Start.")
    appears(room / "started")
    chat.press(CTRL_C)
    chat.expect("Stopping; Ctrl-C again leaves.\n")
    for text in says:
        chat.expect(text)
    chat.expect("\n> ")
    chat.type("Go on.")
    chat.expect("Going on.\n")
    chat.expect("> ")
    chat.press(CTRL_D)
    assert chat.status() == 0


def test_ctrl_c_twice_leaves_and_nothing_goes_on_by_itself(room: Path, start: Start) -> None:
    """What a person stopped is not picked up by the next chat unless they ask for it."""
    chat = start(turn("I start.", call("post", file="go")))
    chat.expect("> ")
    chat.type("Start.")
    appears(room / "started")
    chat.press(CTRL_C)
    chat.expect("Stopping")
    chat.press(CTRL_C)
    chat.expect("Goodbye. To come back:")
    assert chat.status() == 130
    again = start(turn("Going on."))
    again.expect("The last run was stopped.")
    again.expect("> ")
    again.type("Go on.")
    again.expect("Going on.\n")


def test_ctrl_d_during_a_run_leaves_when_it_is_over(room: Path, start: Start) -> None:
    """The end of input does not cut a run off."""
    chat = start(turn("I wait.", call("wait", file="go")), turn("All done."))
    chat.expect("> ")
    chat.type("Wait.")
    appears(room / "started")
    chat.press(CTRL_D)
    chat.expect("Leaving when the run is over.")
    (room / "go").touch()
    chat.expect("All done.\n")
    chat.expect("Goodbye.")
    assert chat.status() == 0


def test_resume_goes_on_with_what_was_stopped(room: Path, start: Start) -> None:
    """`/resume` does what the stopped run would have done next, and says when there is nothing to do."""
    chat = start(turn("I wait.", call("wait", file="go")), turn("Going on."))
    chat.expect("> ")
    chat.type("/resume")
    chat.expect("There is nothing to go on with.\n")
    chat.expect("> ")
    chat.type("Wait.")
    appears(room / "started")
    chat.press(CTRL_C)
    chat.expect("Stopped. /resume goes on with it")
    chat.expect("> ")
    chat.type("/resume")
    chat.expect("Going on.\n")
    chat.expect("> ")
    chat.type("/resume")
    chat.expect("There is nothing to go on with.\n")
    assert [text for _, text, _ in shown(room)] == ["Wait.", "I wait.", "Going on."]


def test_commands_are_no_messages(room: Path, start: Start) -> None:
    """What begins with a slash is told or refused here, and never reaches the model or the log."""
    chat = start(turn("Hello."))
    chat.expect("> ")
    for line, says in (
        ("/help", "/approvals  ask again"),
        ("/unheard", "/unheard is no command."),
        ("/approvals", "No call"),
    ):
        chat.type(line)
        chat.expect(says)
        chat.expect("> ")
    chat.type("/quit")
    assert chat.status() == 0
    assert suture("sessions", "--store", URL, "--json", cwd=room).json["sessions"] == []


# Approvals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "result"),
    [
        (["y"], "sent 900 to ann"),
        (["yes it is owed"], "sent 900 to ann"),
        (["n too dear"], "A person decided that this call must not run: too dear."),
        (['e {"to": "bob", "total": 6}'], "sent 6 to bob"),
        (["perhaps", "", "y"], "sent 900 to ann"),
        (["e {to: 1}", "e [1]", 'e {"to": 1}', "y"], "sent 900 to ann"),
    ],
    ids=["yes", "yes-and-why", "no-and-why", "edited", "unclear-first", "bad-edits-first"],
)
def test_a_call_is_decided_in_place(room: Path, start: Start, typed: list[str], result: str) -> None:
    """The question shows all of the call, is asked again until it is answered, and the run goes on."""
    chat = start(SEND, turn("Done."))
    chat.expect("> ")
    chat.type("Send it.")
    for line in typed:
        chat.expect("May this run? 3:0 send  external\n  Send money.\n")
        chat.expect('"total": 900\n')
        chat.expect("[l]ater? ")
        chat.type(line)
    chat.expect(result)
    chat.expect("Done.\n")
    chat.expect("> ")
    assert shown(room)[1] == ("assistant", "I send it.", [result])


def test_edit_asks_for_other_arguments(room: Path, start: Start) -> None:
    """The call runs with what the person wrote instead, and the log keeps both."""
    chat = start(SEND, turn("Done."))
    chat.expect("> ")
    chat.type("Send it.")
    chat.expect("[l]ater? ")
    chat.type("e")
    chat.expect("arguments as JSON: ")
    chat.type('{"to": "ann", "total": 5}')
    chat.expect('send(to="ann", total=5)  ->  sent 5 to ann\n')
    chat.expect("Done.\n")
    assert shown(room)[1] == ("assistant", "I send it.", ["sent 5 to ann"])


def test_later_parks_the_call_and_a_decision_from_elsewhere_is_noticed(room: Path, start: Start) -> None:
    """A parked call keeps new messages waiting, says how it is decided, and the next turn meets the decision."""
    chat = start(SEND, turn("Done."))
    chat.expect("> ")
    chat.type("Send it.")
    chat.expect("[l]ater? ")
    chat.type("l")
    chat.expect("suture approve talk 3:0 --store sqlite:///agent.db")
    chat.expect("> ")
    chat.type("And now?")
    chat.expect("Not sent: a new message must wait")
    chat.expect("> ")
    assert suture("approve", "talk", "3:0", "--by", "ann", "--store", URL, cwd=room).status == 0
    chat.type("")
    chat.expect("3:0 send was approved by ann, elsewhere\n")
    chat.expect("sent 900 to ann")
    chat.expect("Done.\n")


def test_later_is_asked_again_on_demand_and_on_coming_back(start: Start) -> None:
    """`/approvals` asks again, and so does the next chat."""
    chat = start(SEND)
    chat.expect("> ")
    chat.type("Send it.")
    for line in ("l", "l"):
        chat.expect("[l]ater? ")
        chat.type(line)
        chat.expect("> ")
        chat.type("/approvals")
    chat.expect("[l]ater? ")
    chat.press(CTRL_D)
    assert chat.status() == 0
    again = start(turn("Done."))
    again.expect('3:0 send(to="ann", total=900)  ->  waits for a person\n')
    again.expect("[l]ater? ")
    again.type("y")
    again.expect("sent 900 to ann")
    again.expect("Done.\n")


def test_a_decision_that_comes_second_is_told(room: Path, start: Start) -> None:
    """Somebody decides while the question stands here: theirs counts, and the run takes it up."""
    chat = start(SEND, turn("Done."))
    chat.expect("> ")
    chat.type("Send it.")
    chat.expect("[l]ater? ")
    assert suture("deny", "talk", "3:0", "--by", "ann", "--store", URL, cwd=room).status == 0
    chat.type("y")
    chat.expect("was denied by ann before, and that decision stands.")
    chat.expect("3:0 send was denied by ann, elsewhere")
    chat.expect("Done.\n")


def test_what_was_typed_before_a_question_is_no_answer_to_it(room: Path, start: Start) -> None:
    """A "y" meant for the model does not approve the call that waits meanwhile."""
    chat = start(turn("Both.", call("wait", file="go"), call("send", "c2", to="ann", total=900)), turn("Done."))
    chat.expect("> ")
    chat.type("Do both.")
    chat.expect('send(to="ann", total=900)  ->  waits for a person\n')
    chat.type("y")
    chat.expect("Left for the model")
    (room / "go").touch()
    chat.expect("[l]ater? ")
    approvals = suture("approvals", "talk", "--store", URL, "--json", cwd=room).json["approvals"]
    assert [one["decision"] for one in approvals] == [None]
    chat.kill()
    again = start(turn("Done."))
    again.expect("Not delivered yet: y\n")
    again.expect("[l]ater? ")


@pytest.mark.parametrize(
    "typed", ["yes please use the blue one", "y\n" * 200, "y\x04"], ids=["half a line", "many lines", "Ctrl-D"]
)
def test_nothing_that_was_typed_ahead_approves_a_call(typed: str, room: Path, start: Start) -> None:
    """Neither a line that was begun, nor any number of whole ones: only what is typed behind the question answers it."""
    chat = start(turn("Both.", call("wait", file="go"), call("send", "c2", to="ann", total=900)), turn("Done."))
    chat.expect("> ")
    chat.type("Do both.")
    chat.expect('send(to="ann", total=900)  ->  waits for a person\n')
    chat.press(typed)
    (room / "go").touch()
    chat.expect("[l]ater? ")
    chat.press("\n")
    chat.expect("[l]ater? ")
    approvals = suture("approvals", "talk", "--store", URL, "--json", cwd=room).json["approvals"]
    assert [one["decision"] for one in approvals] == [None]


def test_a_second_chat_decides_for_the_run_of_the_first(room: Path, start: Start) -> None:
    """A run that is on elsewhere takes up what is decided here; this chat stays and leaves it alone."""
    first = start(turn("Both.", call("wait", file="go"), call("send", "c2", to="ann", total=900)), turn("Done."))
    first.expect("> ")
    first.type("Do both.")
    first.expect('send(to="ann", total=900)  ->  waits for a person\n')
    second = start()
    second.expect("Another process runs this session now.")
    second.expect("[l]ater? ")
    second.type("y")
    second.expect("> ")
    (room / "go").touch()
    first.expect("sent 900 to ann")
    first.expect("Done.\n")
    second.press(CTRL_D)
    assert second.status() == 0


# Dying ----------------------------------------------------------------------------------------


def killed_in(room: Path, start: Start, tool: str) -> None:
    """A chat that dies while that tool runs."""
    chat = start(turn("I start.", call(tool, file="go")))
    chat.expect("> ")
    chat.type("Start.")
    appears(room / "started")
    chat.kill()


def test_a_killed_external_call_is_never_repeated(room: Path, start: Start) -> None:
    """The next chat shows it with the line that settles it, and goes on once somebody did."""
    killed_in(room, start, "post")
    chat = start(turn("Posted, then."))
    chat.expect('Outcome unknown: 3:0 post(file="go")\n')
    chat.expect("  suture settle talk 3:0 completed --store sqlite:///agent.db\n")
    chat.expect("The last run was cut off; going on with it.\n")
    chat.expect("> ")
    settled = suture("settle", "talk", "3:0", "completed", "--content", "It is out.", "--store", URL, cwd=room)
    assert settled.status == 0
    chat.type("")
    chat.expect("Posted, then.\n")
    assert shown(room)[1:] == [("assistant", "I start.", ["It is out."]), ("assistant", "Posted, then.", [])]


def test_a_killed_read_runs_again_and_the_run_finishes(room: Path, start: Start) -> None:
    """The next chat says that a run was cut off, and goes on with it unasked."""
    killed_in(room, start, "wait")
    (room / "go").touch()
    chat = start(turn("It is there."))
    chat.expect("The last run was cut off; going on with it.\n")
    chat.expect('wait(file="go") (attempt 2)  ->  go is there\n')
    chat.expect("It is there.\n")
    chat.expect("> ")


# In a pipe ------------------------------------------------------------------------------------


def test_lines_of_a_pipe_are_prompts(room: Path) -> None:
    """Each line runs behind the one before, and at the end of input the chat ends with 0."""
    done = piped(room, "One.\n\nTwo.\n", turn("First.", call("look", what="it")), turn("And."), turn("Second."))
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith('> One.\nFirst.\n  3:0 look(what="it")  ->  seen it\nAnd.\n> Two.\nSecond.\n')
    assert "To come back: suture chat --model scripted:" in done.out


def test_a_pipe_ends_with_1_when_its_last_run_waits(room: Path) -> None:
    """A call that needs a person ends the lines, and what waits is told."""
    done = piped(room, "Send it.\nAnd now?\n", SEND)
    assert (done.status, done.err) == (1, "")
    assert "These calls wait for a person" in done.out
    assert "suture approve talk 3:0 --store sqlite:///agent.db" in done.out
    assert len(shown(room)) == 2


def test_json_is_one_document(room: Path) -> None:
    """With --json nothing but the document is on stdout: how the last run ended, and the messages that are new."""
    piped(room, "Before.\n", turn("Long ago."))
    done = piped(room, "Hi.\n", turn("Hello.") | {"usage": {"input_tokens": 7, "output_tokens": 2}}, more=("--json",))
    assert (done.status, done.err) == (0, "")
    document = done.json
    assert document["usage"]["input_tokens"] == 7
    assert [line["text"] for line in document["messages"]] == ["Hi.", "Hello."]
    kept = {name: document[name] for name in ("session", "status", "text", "pending", "error")}
    assert kept == {"session": "talk", "status": "completed", "text": "Hello.", "pending": [], "error": None}


def test_json_keeps_what_was_done_before_it_failed(room: Path) -> None:
    """A line that cannot be run ends with 2, and the document still holds the session and the runs before."""
    done = piped(room, "One.\nTwo.\n", turn("First."), more=("--json",))
    document = done.json
    assert (done.status, document["session"], document["error"]["type"]) == (2, "talk", "ConfigurationError")
    assert [line["text"] for line in document["messages"]] == ["One.", "First.", "Two."]
    told = piped(room, "Three.\nFour.\n", turn("Third."))
    assert told.status == 2
    assert "Third." in told.out
    assert "To come back: suture chat" in told.out
    assert "Add a step." in told.err


def test_json_says_what_waits_though_nothing_is_run(room: Path) -> None:
    """A look at a session with an open call shows the call."""
    piped(room, "Send it.\n", SEND)
    document = piped(room, "", more=("--json",)).json
    assert (document["status"], [one["why"] for one in document["pending"]]) == (None, ["approval"])


def test_json_says_what_waits(room: Path) -> None:
    """A run that waits ends with 1, and `pending` names the call."""
    done = piped(room, "Send it.\n", SEND, more=("--json",))
    assert (done.status, done.err, done.json["status"]) == (1, "", "awaiting_approval")
    waits = {"id": "c1", "name": "send", "arguments": {"to": "ann", "total": 900}}
    assert done.json["pending"] == [{"key": "3:0", "call": waits, "why": "approval"}]


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["words", "json"])
def test_a_pipe_without_lines_only_goes_on(room: Path, start: Start, more: tuple[str, ...]) -> None:
    """What was killed is finished by a chat that says nothing."""
    killed_in(room, start, "wait")
    (room / "go").touch()
    done = piped(room, "", turn("It is there."), more=more)
    assert (done.status, done.err) == (0, "")
    assert shown(room)[-1] == ("assistant", "It is there.", [])


def test_a_turn_that_a_tool_ends_is_done(room: Path) -> None:
    """A run that a tool hands off did all it was to do, so the exit status is 0."""
    done = piped(room, "Go.\n", turn("I leave.", call("leave")))
    assert (done.status, done.err) == (0, "")
    assert "A tool ended the turn.\n" in done.out


@pytest.mark.parametrize("named", ["gear:look", "gear:Look", "gear:ALL", "gear:Shelf.tools", "gear:Shelf.LOOK"])
def test_tools_are_named_as_python_finds_them(room: Path, named: str) -> None:
    """A function, a class with a `call`, an object of one, and lists of them, of a module in the current directory."""
    script = (turn("I look.", call("look", what="it")), turn("Done."))
    arguments = options(room, *script, tools=named)
    assert "->  seen it\n" in suture("chat", *arguments, stdin=b"Look.\n", cwd=room).out


# What cannot work -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--tools", "nowhere:x"), "there is no module 'nowhere'"),
        (("--tools", "gear.inner:x"), "there is no module 'gear.inner'"),
        (("--tools", "broken:x"), "the module cannot be imported: RuntimeError: out of order"),
        (("--tools", "gear:nothing"), "the module has no attribute 'nothing'"),
        (("--tools", "gear:NUMBER"), "Invalid value for --tools: 'gear:NUMBER': "),
        (("--tools", "gear:NOTHING"), "'gear:NOTHING' is None"),
        (("--tools", "gear:EMPTY"), "is an empty list"),
        (("--tools", "gear"), "is not MODULE:ATTR"),
        (("--tools", "gear:until_there"), "parameter 'file' cannot be offered to a model"),
        (("--tools", "gear:ALL", "--tools", "gear:look"), "Two tools are called 'look'"),
        (("--model", "nowhere:x"), "names no provider that suture knows"),
        (("--model", "scripted:nowhere.json"), "The script 'nowhere.json' cannot be read"),
        (("--store", "agent.db"), "is a path and no URL"),
        (("--store", "memory:"), "forgets the conversation when chat ends"),
        (("--store", "sqlite:///no/such/place.db"), "no/such/place.db"),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, tuple) else "",
)
def test_what_cannot_work_is_told_at_once(room: Path, given: tuple[str, ...], says: str) -> None:
    """It ends with 2 and a line that says what is wrong, before anything is said or written."""
    arguments = ["--model", "scripted:script.json", "--store", URL, *given]
    (room / "script.json").write_text("[]", encoding="utf-8")
    done = suture("chat", *arguments, stdin=b"Hi.\n", cwd=room)
    assert (done.status, done.out) == (2, "")
    assert says in done.err.replace("\n", " ")
    assert "Traceback" not in done.err


def test_json_tells_what_cannot_work(room: Path) -> None:
    """With --json an error is the one document, too."""
    done = piped(room, "Hi.\n", more=("--json", "--tools", "nowhere:x"))
    assert (done.status, done.err, done.json["error"]["type"]) == (2, "", "BadParameter")


def test_words_for_a_session_that_runs_elsewhere_go_to_that_run(room: Path, start: Start) -> None:
    """Whoever comes second is told so in a line, keeps the prompt, and what they say reaches the model there."""
    chat = start(turn("I wait.", call("wait", file="go")), turn("All done."))
    chat.expect("> ")
    chat.type("Wait.")
    appears(room / "started")
    second = start(turn("Me, too."))
    second.expect("Another process runs this session now.")
    second.expect("> ")
    second.type("Hi.")
    second.expect("> ")
    (room / "go").touch()
    chat.expect("All done.\n")
    assert [text for role, text, _ in shown(room) if role == "user"] == ["Wait.", "Hi."]
    assert "Traceback" not in second.said


def test_the_way_back_names_all_that_was_given() -> None:
    """The command that comes back is one that a shell reads as it was meant."""
    setup = Setup("scripted:a b.json", URL, None, ("gear:look", "gear:fail"), "Be brief.", "http://localhost:1")
    assert setup.come_back("it's") == (
        "suture chat --model 'scripted:a b.json' --store sqlite:///agent.db --session 'it'\"'\"'s' "
        "--tools gear:look --tools gear:fail --system 'Be brief.' --base-url http://localhost:1"
    )


# What is pure ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("y", Yes()),
        (" YES  because ", Yes("because")),
        ("n", No()),
        ("no too dear", No("too dear")),
        ("e", Edit()),
        ('e {"total": 5}', Yes(arguments={"total": 5})),
        ("l", Later()),
        ("later", Later()),
    ],
)
def test_an_answer_means_one_thing(line: str, meant: object) -> None:
    """The first word decides; what follows is a note, or arguments."""
    assert answer(line) == meant


@pytest.mark.parametrize("line", ["", "yesterday", "no, never", "later today", "ok", "e [1]", "e {", "/quit"])
def test_what_is_no_answer_decides_nothing(line: str) -> None:
    """A sentence that merely begins like an answer is none."""
    assert isinstance(answer(line), Unclear)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (" Hi. ", Prompt("Hi.")),
        ("/resume", Command.RESUME),
        ("/resumed", NoCommand("/resumed")),
        ("/", NoCommand("/")),
        ("/etc/hosts", Prompt("/etc/hosts")),
        ("/help me", NoCommand("/help me")),
        ("/resume now", NoCommand("/resume now")),
        ("/tmp is full", Prompt("/tmp is full")),
    ],
)
def test_a_line_is_a_prompt_unless_it_is_a_command(line: str, meant: object) -> None:
    """A command is one word behind a slash; a path is none."""
    assert said(line) == meant


@pytest.mark.parametrize(
    ("text", "shown"),
    [("abc", "abc"), ("abcdefgh", "abcde … (3 more characters)"), ("a\n" * 20, "a\n" * 2 + "a … (35 more characters)")],
)
def test_what_is_shown_is_bounded(text: str, shown: str) -> None:
    """Long texts end with how much of them is not shown."""
    assert bounded(text, 5) == shown


def mended(*actions: str) -> RequestMended:
    return RequestMended(tuple(library.Change(code="x", rules=(), path="", action=action) for action in actions))


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (Retrying(1, library.Overloaded("busy"), 2.0), "  Attempt 1 failed (Overloaded: busy); again in 2.0 s.\n"),
        (mended("cut an id"), "  The conversation was mended for this model: cut an id.\n"),
        (mended("cut an id", "b", "c"), "  The conversation was mended for this model: cut an id, and 2 more.\n"),
    ],
    ids=["retry", "mended", "mended-thrice"],
)
def test_what_it_took_is_told_in_a_line(capsys: pytest.CaptureFixture[str], event: Event, told: str) -> None:
    """Retries and mended requests take one line each."""
    Teller(Screen()).tell(event)
    assert capsys.readouterr().out == told


def test_a_retry_takes_back_what_was_streamed(capsys: pytest.CaptureFixture[str]) -> None:
    """Half an answer that stands above is said not to count."""
    teller = Teller(Screen())
    for event in (TextDelta("Half an"), Retrying(1, library.Overloaded("busy"), 2.0)):
        teller.tell(event)
    assert capsys.readouterr().out.endswith("again in 2.0 s. What stands above of an answer does not count.\n")


def test_a_model_that_does_not_answer_is_told() -> None:
    """The error is named, with the way to ask again."""
    result = library.Result("error", None, (), library.Usage(), 0, library.Overloaded())
    assert (
        ending(result)
        == "The model gave no answer: Overloaded: The provider is overloaded. Resume later. /resume asks again."
    )
