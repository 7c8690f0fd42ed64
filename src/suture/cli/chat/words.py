"""How a chat words things: calls, results, counts and ends of runs. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suture.cli.console import Piece, message_of
from suture.cli.render import MARK, call_text

if TYPE_CHECKING:
    from suture import Message, Result, ToolCall, ToolResult, Usage

DONE = ("completed", "handed_off")  # how a run ends that did all it was to do
CALL, RESULT, RECAP = 200, 600, 1000  # characters that are shown of each
_LINES = 12


def bounded(text: str, characters: int) -> str:
    """The text, or its beginning and how much more there is."""
    shown = "\n".join(text[:characters].split("\n")[:_LINES])
    return text if shown == text else f"{shown} … ({len(text) - len(shown)} more characters)"


def call_words(call: ToolCall) -> str:
    """A call with its arguments, shortened."""
    return bounded(call_text(call), CALL)


def spoken(message: Message) -> str:
    """What a message says, parts that are no words by their kind."""
    import suture

    silent = (suture.Text, suture.ToolCall, suture.Reasoning)
    others = [f"[{type(part).__name__.lower()}]" for part in message.parts if not isinstance(part, silent)]
    return "\n".join(filter(None, (message.text, *others)))


def result_piece(result: ToolResult) -> Piece:
    """What stands beside a call: its result, and whether it is one."""
    words = bounded(spoken(result) or "(nothing)", RESULT)
    if result.synthetic is not None:
        return MARK + words, "yellow"
    return (f"error: {words}", "red") if result.error else (words, "green")


def used(usage: Usage) -> str:
    """The tokens of a run; "" when none were counted."""
    if not (usage.input_tokens or usage.output_tokens):
        return ""
    cost = f", ${usage.cost:.4f}" if usage.cost else ""
    return f"{usage.input_tokens} tokens in, {usage.output_tokens} out{cost}"


def ending(result: Result) -> str:
    """What is to be said of a run that did not complete; "" of one that did, or that waits for an answer here."""
    match result.status:
        case "completed" | "awaiting_approval":
            return ""
        case "interrupted":
            return "Stopped. /resume goes on with it; a new message goes on past it."
        case "unknown_outcome":
            return "The run waits: nobody knows what became of a call. Settle it, or go on past it with a new message."
        case "handed_off":
            return "A tool ended the turn."
        case "max_steps":
            return "The run ended: the model has answered too often in a row. A new message lets it go on."
        case "error" if result.error is not None:
            return (
                f"The model gave no answer: {type(result.error).__name__}: {message_of(result.error)} /resume asks again."
            )
        case status:
            return f"The run ended: {status}."
