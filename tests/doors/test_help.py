"""The command line itself: help at once, every command with --json, errors in one voice."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click import Group

from suture.cli import main
from suture.formats import FORMATS
from tests.doors.shell import PATIENCE, environment, suture

COMMANDS = (
    "approvals",
    "approve",
    "chat",
    "check",
    "convert",
    "demo",
    "deny",
    "erase",
    "explain",
    "export",
    "fork",
    "heal",
    "interrupt",
    "request",
    "rules",
    "sessions",
    "settle",
    "show",
    "steer",
    "tail",
    "verify",
)
HEAVY = (
    "rich",
    "pydantic",
    "apsw",
    "docstring_parser",
    "jsonschema_rs",
    "suture.stores",
    "suture.session",
    "suture.agent",
    "suture.loop",
)


def test_the_commands_are_these() -> None:
    """`suture` has the commands that its documentation names."""
    assert isinstance(main, Group)
    assert sorted(main.commands) == list(COMMANDS)


def test_help_loads_nothing_heavy() -> None:
    """Asking for help loads click and little else."""
    script = "import json, sys, suture.cli; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, timeout=PATIENCE, env=environment(), check=True
    )
    assert not set(HEAVY) & set(json.loads(done.stdout))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_speaks_json(command: str) -> None:
    """Every command says in a line what it does, and takes --json."""
    assert isinstance(main, Group)
    found = main.commands[command]
    assert found.get_short_help_str(62).endswith((".", "!"))
    assert "..." not in found.get_short_help_str(62)
    assert "--json" in [option for parameter in found.params for option in parameter.opts]


@pytest.mark.parametrize("command", ["heal", "check", "convert", "request", "export"])
def test_the_formats_are_named_where_one_is_chosen(command: str) -> None:
    """The help of --format names all that there are."""
    words = "".join(suture(command, "--help").out.split())  # lines are broken at hyphens, too
    assert all(name in words for name in FORMATS)


@pytest.mark.parametrize("module", ["suture", "suture.cli"])
def test_it_runs_as_a_module(module: str) -> None:
    """`python -m suture` is the command line, too."""
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"], capture_output=True, timeout=PATIENCE, env=environment(), check=True
    )
    assert done.stdout.decode().startswith("suture, version ")


@pytest.mark.parametrize(
    ("arguments", "type", "message"),
    [
        (("unheard",), "NoSuchCommand", "No such command 'unheard'."),
        (("show", "x"), "MissingParameter", "Missing option '--store' (env var: 'SUTURE_STORE')."),
        (("heal",), "MissingParameter", "Missing argument 'FILE...'."),
        (
            ("heal", "x", "--in-place", "-o", "y"),
            "UsageError",
            "--in-place writes each FILE anew, and -o another one. Leave one of them out.",
        ),
        (("heal", "-", "--in-place"), "UsageError", "--in-place writes files anew, and '-' is none. Use -o."),
        (("convert", "x"), "MissingParameter", "Missing option '--target' / '--to'."),
        (
            ("rules", "ANT-ADJ-RESULTS"),
            "UsageError",
            "There is no rule 'ANT-ADJ-RESULTS'. Near it is ANT-ADJ-RESULT.",
        ),
        (("check",), "MissingParameter", "Missing argument 'FILE...'."),
        (("heal", "x", "--unheard"), "NoSuchOption", "No such option '--unheard'."),
        (
            ("heal", "x", "--pending", "maybe"),
            "BadParameter",
            "Invalid value for '--pending': 'maybe' is not one of 'answer', 'keep', 'drop'.",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_wrong_command_line_is_told_in_both_voices(arguments: tuple[str, ...], type: str, message: str) -> None:
    """A bad option ends with 2: words on stderr, or with --json a document on stdout and nothing else."""
    said = suture(*arguments)
    assert (said.status, said.out) == (2, "")
    assert f"Error: {message.rstrip('.')}" in said.err
    said = suture(*arguments, "--json")
    assert (said.status, said.err) == (2, "")
    assert said.json == {"error": {"type": type, "message": message}}


def test_json_behind_two_dashes_is_an_argument() -> None:
    """What stands behind `--` is no option, so the error is for a person."""
    said = suture("show", "--", "--json")
    assert (said.status, said.out) == (2, "")
    assert "Missing option '--store'" in said.err
