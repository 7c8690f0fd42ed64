"""A conversation as people read it: who says what, each call beside its result, stand-ins marked.

A stand-in is a result that nobody recorded: suture, or a person's decision, speaks where the tool did not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from suture.cli.console import Page, in_line, text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from suture import Message, Part, ToolCall, ToolResult
    from suture.entries import Correction

ROLES = {"user": "bold cyan", "assistant": "bold magenta", "system": "bold blue", "tool": "bold yellow"}

MARK = "[stand-in] "

_SEQ_WIDTH, _ROLE_WIDTH = 3, 9


@dataclass
class CallLine:
    """A call of a turn, and what answers it. The key is None where the turn's seq is not known.

    `corrected` is the call that runs, where the one that the model made could not; `correction` says who made it, and why.
    """

    key: str | None
    call: ToolCall
    correction: Correction | None = None
    answer: ToolResult | None = None
    stand_in: bool = False

    @property
    def corrected(self) -> ToolCall | None:
        """The call that runs in its place."""
        return None if self.correction is None else self.correction.call

    def answered_by(self, result: ToolResult) -> None:
        """Take that result."""
        self.answer = result
        self.stand_in = result.synthetic is not None


@dataclass
class Line:
    """A message, with its calls."""

    role: str
    words: str
    seq: int | None = None
    calls: list[CallLine] = field(default_factory=list)


class Transcript:
    """The lines of a conversation."""

    def __init__(self, lines: list[Line]) -> None:
        self.lines = lines

    @property
    def calls(self) -> list[CallLine]:
        """All calls, in order."""
        return [call for line in self.lines for call in line.calls]

    def document(self) -> list[dict[str, object]]:
        """The lines as JSON."""
        return [_line_document(line) for line in self.lines]

    def tell(self, page: Page, waiting: Mapping[str, str] | None = None, *, title: str = "") -> None:
        """Show the lines, under a title. `waiting` says of calls without a result, by key, what they wait for."""
        if page.fancy:
            grid = _grid(self.lines, waiting or {})
            page.show(_framed(title, grid) if title else grid)
            return
        if title:
            page.line(f"{title}:", indent=3)
        for line in self.lines:
            page.line(f"{_seq(line)}  {line.role:<{_ROLE_WIDTH}}  {_under(line.words, 16)}".rstrip())
            for call in line.calls:
                key = f"{call.key}  " if call.key else ""
                answer = "".join(words for words, _ in _answer(call, waiting or {}))
                page.line(f"{key}{call_text(call.call)}  ->  {_under(answer, 8)}", indent=16)
                if call.corrected is not None:
                    page.line(f"corrected: {call_text(call.corrected)}", indent=16 + len(key))


def transcript(
    pairs: Iterable[tuple[Message, int | None]], corrections: Mapping[str, Correction] | None = None
) -> Transcript:
    """The transcript of messages, each with its seq where that is known, and what was corrected, by the keys of calls."""
    import suture

    lines: list[Line] = []
    open_calls: list[CallLine] = []
    for message, seq in pairs:
        if isinstance(message, suture.ToolResult):
            waiting = [call for call in reversed(open_calls) if call.call.id == message.call_id]
            if waiting:
                # Of several calls with that id in a turn the first is answered first.
                _first_of_last_turn(waiting).answered_by(message)
                open_calls = [call for call in open_calls if call.answer is None]
            else:
                lines.append(Line("tool", _words(message.parts), seq))
            continue
        line = Line(_role(message), _words(message.parts), seq)
        if isinstance(message, suture.Assistant):
            keys = (None if seq is None else f"{seq}:{index}" for index in range(len(message.calls)))
            made = zip(keys, message.calls, strict=True)
            line.calls = [CallLine(key, call, (corrections or {}).get(key or "")) for key, call in made]
            open_calls += line.calls
        lines.append(line)
    return Transcript(lines)


def _first_of_last_turn(waiting: list[CallLine]) -> CallLine:
    """Of open calls with one id, latest first, the first of the latest turn."""
    turn = (waiting[0].key or "").partition(":")[0]
    return [call for call in waiting if (call.key or "").partition(":")[0] == turn][-1]


def _role(message: Message) -> str:
    return type(message).__name__.lower()


def _words(parts: Iterable[Part]) -> str:
    import suture

    shown = []
    for part in parts:
        match part:
            case suture.Text():
                shown.append(part.text)
            case suture.ToolCall():
                continue
            case suture.Reasoning():
                shown.append("[reasoning]")
            case _:
                shown.append(f"[{type(part).__name__.lower()}]")
    return "\n".join(shown)


def call_text(call: ToolCall) -> str:
    """A call as a line of code would have it."""
    if call.arguments is None:
        return f"{in_line(call.name)}({in_line(call.raw or '')})"
    given = ", ".join(f"{_key(name)}={json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items())
    return f"{in_line(call.name)}({given})"


def _key(name: str) -> str:
    """The name of an argument, which a model may have made to look like more than one."""
    return name if name.isidentifier() else json.dumps(name, ensure_ascii=False)


def _answer(call: CallLine, waiting: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What stands beside a call: words and their styles."""
    result = call.answer
    if (waits := waiting.get(call.key or "")) and (result is None or call.stand_in):
        yield waits, "yellow"
        return
    if result is None:
        yield "no result", "bold red"
        return
    if call.stand_in:
        yield MARK, "bold yellow"
    style = "yellow" if call.stand_in else "red" if result.error else "green"
    yield _words(result.parts) or "(nothing)", style


def _seq(line: Line) -> str:
    return f"{line.seq if line.seq is not None else '':>{_SEQ_WIDTH}}"


def _under(words: str, column: int) -> str:
    return words.replace("\n", "\n" + " " * column)


# On a terminal --------------------------------------------------------------------------------


def _framed(title: str, content: RenderableType) -> RenderableType:
    from rich.box import ROUNDED
    from rich.panel import Panel

    return Panel(content, title=title, title_align="left", box=ROUNDED, border_style="dim", padding=(0, 1))


def _grid(lines: Iterable[Line], waiting: Mapping[str, str]) -> RenderableType:
    from rich.console import Group

    shown: list[RenderableType] = []
    for line in lines:
        shown.append(_message(line))
        if line.calls:
            shown.append(_calls(line.calls, waiting))
    return Group(*shown)


def _message(line: Line) -> RenderableType:
    from rich.table import Table

    grid = Table.grid(padding=(0, 2, 0, 0), expand=True)
    grid.add_column(justify="right", style="dim", width=_SEQ_WIDTH)
    grid.add_column(width=_ROLE_WIDTH)
    grid.add_column(ratio=1, overflow="fold")
    grid.add_row(_seq(line).strip(), text((line.role, ROLES.get(line.role, ""))), text(line.words))
    return grid


def _calls(calls: Iterable[CallLine], waiting: Mapping[str, str]) -> RenderableType:
    from rich.padding import Padding
    from rich.table import Table

    table = Table.grid(padding=(0, 1, 0, 0), expand=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(ratio=4, overflow="fold")
    table.add_column(no_wrap=True, style="dim")
    table.add_column(ratio=5, overflow="fold")
    for call in calls:
        table.add_row(text(call.key or "·"), text(call_text(call.call)), "→", text(*_answer(call, waiting)))
        if call.corrected is not None:
            table.add_row("", text(("corrected: ", "dim"), call_text(call.corrected)), "", "")
    return Padding(table, (0, 0, 0, _SEQ_WIDTH + 2))


# As JSON --------------------------------------------------------------------------------------


def _line_document(line: Line) -> dict[str, object]:
    document: dict[str, object] = {"seq": line.seq, "role": line.role, "text": line.words}
    if line.calls:
        document["calls"] = [_call_document(call) for call in line.calls]
    return document


def _call_document(line: CallLine) -> dict[str, object]:
    call = line.call
    return {
        "key": line.key,
        "id": call.id,
        "name": call.name,
        "arguments": call.arguments if call.arguments is not None else call.raw,
        "corrected": _correction_document(line.correction),
        "result": None if line.answer is None else _result_document(line.answer),
    }


def _correction_document(made: Correction | None) -> dict[str, object] | None:
    if made is None or made.call is None:
        return None
    return {"name": made.call.name, "arguments": made.call.arguments, "by": made.by, "reason": made.reason}


def _result_document(result: ToolResult) -> dict[str, object]:
    return {"text": _words(result.parts), "error": result.error, "synthetic": result.synthetic}
