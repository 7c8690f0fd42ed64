"""The command line: `suture`, one file per noun.

Every command does one thing that `import suture` offers, takes `--json` (one JSON document on stdout and
nothing else), and ends with 0 when all is fine, 1 when something was found or is wrong with the data, and
2 when it could not do its work. Whatever is heavy is imported by the command that needs it.
"""

from __future__ import annotations

import click

from suture import __version__
from suture.cli.chat import chat
from suture.cli.checking import check
from suture.cli.console import Doors
from suture.cli.deciding import approvals, approve, deny, interrupt, settle, steer
from suture.cli.demo import demo
from suture.cli.erasing import erase
from suture.cli.explaining import explain
from suture.cli.following import tail
from suture.cli.histories import convert, heal
from suture.cli.logs import export, fork, verify
from suture.cli.rules import rules
from suture.cli.sessions import request, sessions, show

__all__ = ["main"]


@click.group(cls=Doors, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="suture")
def main() -> None:
    """Durable, self-healing sessions for LLM agents.

    Exit status: 0 fine, 1 something was found or is wrong with the data, 2 the command could not do its work.
    """


_COMMANDS = (
    *(demo, chat, heal, check, convert, explain, rules),
    *(sessions, show, tail, request, export, fork, erase, verify),
    *(approvals, approve, deny, steer, interrupt, settle),
)
for _command in _COMMANDS:
    main.add_command(_command)
