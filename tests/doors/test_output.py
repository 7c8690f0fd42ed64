"""What a person sees: colours on a terminal alone, plain lines in a pipe, and no command to the terminal from a conversation."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import suture as library
from suture.cli.render import call_text
from tests.doors.conftest import gift, play
from tests.doors.shell import COLUMNS, PATIENCE, environment, on_terminal, suture

ESCAPE = "\x1b"
COLOUR = re.compile("\x1b\\[[0-9;]*m")
BROKEN = b'[{"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "c1", "content": "x"}]'
TELLING = (("sessions",), ("show", "done"), ("show", "parked"), ("show", "unknown"), ("approvals",))


@pytest.mark.parametrize("command", TELLING, ids=" ".join)
def test_a_pipe_gets_plain_text(url: str, command: tuple[str, ...]) -> None:
    """No escape codes, no boxes, no blanks at line ends, whatever the environment says of colours."""
    said = suture(*command, "--store", url, FORCE_COLOR="1")
    assert ESCAPE not in said.out + said.err
    assert not set("─│╭╮╰╯") & set(said.out)
    assert [line for line in said.out.splitlines() if line != line.rstrip()] == []


@pytest.mark.parametrize("command", TELLING, ids=" ".join)
def test_a_terminal_gets_colours(url: str, command: tuple[str, ...]) -> None:
    """On a terminal the same is coloured, and fits into 80 columns."""
    said = on_terminal(*command, "--store", url)
    assert said.status == 0
    assert COLOUR.search(said.out)
    assert ESCAPE not in COLOUR.sub("", said.out)
    lines = [line for line in COLOUR.sub("", said.out).splitlines() if not line.startswith("  suture ")]
    assert max(map(len, lines)) <= COLUMNS  # commands to be copied are the terminal's to break


def test_no_color_is_respected(url: str) -> None:
    """With NO_COLOR nothing on a terminal has a colour."""
    said = on_terminal("show", "parked", "--store", url, NO_COLOR="1")
    assert not re.search("\x1b\\[[0-9;]*3[0-9]", said.out)


def test_a_conversation_does_not_command_the_terminal(url: str) -> None:
    """Escape codes and markup in a result are shown as what they are."""
    said = on_terminal("show", "done", "--store", url)
    assert "\\x1b[31mred\\x07 [bold]" in COLOUR.sub("", said.out)


FORGED = "good\n9:9  refund(total=1)  read"


def test_no_name_makes_a_line_of_its_own(tmp_path: Path) -> None:
    """What users, models and programs name, with a line end in it: nobody is shown a call, or a log that holds, which is
    not there; and the command that is shown to be copied means the session that it stands below.
    """
    url = f"sqlite:///{tmp_path}/agent.db"
    store = library.open_store(url)
    play(store, FORGED, gift("ann", 900, FORGED))
    library.Session(store, FORGED).fork(id="fork of it")
    store.close()
    (line,) = [line for line in suture("approvals", "--store", url).out.splitlines() if "suture approve" in line]
    assert (
        subprocess.check_output(
            ["bash", "-c", f"printf %s {line.split(' 3:0 ')[0].strip()[len('suture approve ') :]}"]
        ).decode()
        == FORGED
    )
    for command in (
        ("sessions",),
        ("verify",),
        ("approvals",),
        ("show", FORGED),
        ("show", "fork of it"),
        ("deny", FORGED, "3:0"),
    ):
        said = suture(*command, "--store", url)
        assert said.out
        assert not [line for line in said.out.splitlines() if line.strip().startswith("9:9")], command
    call = library.ToolCall("c1", FORGED, {FORGED: 1, "total": 2})
    assert call_text(call) == r"""good\n9:9  refund(total=1)  read("good\n9:9  refund(total=1)  read"=1, total=2)"""


def test_findings_and_errors_are_coloured_on_a_terminal(tmp_path: Path) -> None:
    """What `check` finds and what goes wrong stands out."""
    file = tmp_path / "h.json"
    file.write_bytes(BROKEN)
    found = on_terminal("check", file, "--format", "openai-chat")
    assert (found.status, bool(COLOUR.search(found.out))) == (1, True)
    assert f"{file}:messages[1]: RESULT_ORPHAN [" in COLOUR.sub("", found.out).replace("\n", "")
    gone = on_terminal("check", tmp_path / "gone.json")
    assert (gone.status, bool(COLOUR.search(gone.out))) == (2, True)


def test_any_encoding_will_do(url: str) -> None:
    """What an encoding lacks is shown as an escape."""
    suture("steer", "steered", "zwölf Körbe 🎁", "--store", url)
    said = suture("show", "steered", "--store", url, encoding="latin-1")
    assert (said.status, said.err) == (0, "")
    assert said.out.endswith("  zwölf Körbe \\U0001f381\n")


def test_a_document_is_utf_8_in_any_encoding(url: str) -> None:
    """What --json prints does not depend on the terminal."""
    suture("steer", "steered", "zwölf Körbe 🎁", "--store", url)
    document = suture("show", "steered", "--store", url, "--json", PYTHONIOENCODING="latin-1").json
    assert document["inbox"][-1] == "zwölf Körbe 🎁"


def test_a_closed_pipe_is_no_traceback(url: str) -> None:
    """A reader that goes away early is nobody's error."""
    command = [sys.executable, "-m", "suture.cli", "show", "parked", "--store", url]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    complaint = process.stderr.read().decode()
    process.wait(PATIENCE)
    process.stderr.close()
    assert "Traceback" not in complaint


@pytest.mark.parametrize("closed", ["<&- >&-", "2>&-", ">&- 2>&-"])
def test_a_closed_output_is_no_failure(url: str, closed: str) -> None:
    """Who closes stdout or stderr wants to hear nothing there: the command works, and writes into no file instead."""
    command = f'exec "$0" -m suture.cli show done --store "$1" {closed}'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, url], capture_output=True, timeout=PATIENCE, env=environment(), check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
