"""What a typed line means: a command, a prompt, or an answer to the question whether a call may run."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Command(Enum):
    """What a chat does when it is told so."""

    APPROVALS = "/approvals"
    RESUME = "/resume"
    HELP = "/help"
    QUIT = "/quit"


_ABOUT = {
    Command.APPROVALS: "ask again about the calls that wait for a person",
    Command.RESUME: "go on with what was begun: ask the model again, run what was stopped",
    Command.HELP: "say this",
    Command.QUIT: "leave; so do Ctrl-D, and Ctrl-C at the prompt",
}
HELP = "\n".join(
    [
        *(f"{command.value:<12}{_ABOUT[command]}" for command in Command),
        "While the model works, a line is left for it, and Ctrl-C stops it.",
    ]
)


@dataclass(frozen=True)
class Prompt:
    """Words for the model."""

    text: str


@dataclass(frozen=True)
class NoCommand:
    """What looks like a command and is none."""

    text: str


Said: TypeAlias = Command | Prompt | NoCommand


def said(line: str) -> Said:
    """What a line at the prompt means. A path such as /etc/hosts is no command; a command has nothing behind it."""
    words = line.strip()
    first, *more = words.split(maxsplit=1)[:2] or [""]
    known = {command.value: command for command in Command}
    if first in known and not more:
        return known[first]
    return NoCommand(words) if first in known or re.fullmatch(r"/[a-z]*", words) else Prompt(words)


# Approvals ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Yes:
    """The call may run, with `arguments` instead of its own when there are some."""

    note: str | None = None
    arguments: dict[str, object] | None = None


@dataclass(frozen=True)
class No:
    """The call must not run; the model reads the note."""

    note: str | None = None


@dataclass(frozen=True)
class Edit:
    """The person wants to write other arguments."""


@dataclass(frozen=True)
class Later:
    """The call stays as it is, waiting."""


@dataclass(frozen=True)
class Unclear:
    """It was none of these; `why` says what would be one."""

    why: str


Decision: TypeAlias = Yes | No | Later | Unclear
Answer: TypeAlias = Decision | Edit

QUESTION = "[y]es, [n]o and why, [e]dit, [l]ater? "


def answer(line: str) -> Answer:
    """What a line says to the question. What follows yes or no is a note, what follows edit the arguments."""
    word, _, rest = line.strip().partition(" ")
    more = rest.strip() or None
    match word.casefold():
        case "y" | "yes":
            return Yes(more)
        case "n" | "no":
            return No(more)
        case "e" | "edit":
            return Edit() if more is None else edited(more)
        case "l" | "later" if more is None:
            return Later()
        case _:
            return Unclear("Say y, n, e or l; words behind y or n are recorded as the reason.")


def edited(line: str) -> Yes | Unclear:
    """What a line says to the question which arguments instead."""
    try:
        arguments = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Unclear(f"That is not JSON ({error}).")
    if not isinstance(arguments, dict):
        return Unclear('That is not a JSON object, such as {"total": 100}.')
    return Yes(arguments=arguments)
