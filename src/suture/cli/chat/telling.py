"""What happens in a run, told as it happens."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from suture.cli.chat.screen import Screen
from suture.cli.chat.words import CALL, RESULT, bounded, call_words, ending, result_piece, spoken, used
from suture.cli.console import Piece, message_of

if TYPE_CHECKING:
    from suture import Assistant, Message, Result, ToolCall, User
    from suture.loop.events import (
        ApprovalNeeded,
        CallCorrected,
        Event,
        MessageRecorded,
        ReasoningDelta,
        RequestMended,
        Retrying,
        TextDelta,
        ToolFinished,
        ToolProgress,
        ToolStarting,
    )

_BESIDE = "  ->  "


class Teller:
    """Tells the events of one run after another; kinds that it does not know are skipped."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._calls: dict[str, ToolCall] = {}
        self._running: dict[str, ToolCall] = {}
        self._prompt: str | None = None
        self._streamed = False
        self._kinds: dict[str, Callable[[Any], None]] = {
            "text_delta": self._text,
            "reasoning_delta": self._reasoning,
            "request_mended": self._mended,
            "retry": self._retrying,
            "call_corrected": self._corrected,
            "tool_started": self._starting,
            "tool_progress": self._progress,
            "tool_result": self._finished,
            "approval_needed": self._approval,
            "message": self._recorded,
        }

    def know(self, pairs: Iterable[tuple[Message, int | None]]) -> None:
        """Learn the calls of a conversation, which later runs may answer."""
        import suture

        for message, seq in pairs:
            if seq is not None and isinstance(message, suture.Assistant):
                self._learn(message, seq)

    def begin(self, prompt: str | None) -> None:
        """A run begins; `prompt` needs no telling, since whoever typed it sees it."""
        self._prompt = prompt
        self._running.clear()
        self._streamed = False

    def tell(self, event: Event) -> None:
        """Tell one event."""
        if (tell := self._kinds.get(event.type)) is not None:
            tell(event)

    def end(self, result: Result) -> None:
        """Tell how the run ended, unless all is well, and what it used."""
        self._screen.break_line()
        if result.status == "interrupted":
            for call in self._running.values():
                self._screen.line(("stopped ", "yellow"), call_words(call), indent=2)
        if words := ending(result):
            self._screen.line((words, "red" if result.status == "error" else "yellow"))
        if words := used(result.usage):
            self._screen.line((words, "dim"))

    # The model --------------------------------------------------------------------------------

    def _text(self, event: TextDelta) -> None:
        self._streamed = True
        self._screen.flow(event.text)

    def _reasoning(self, event: ReasoningDelta) -> None:
        self._screen.flow(event.text, "dim")

    def _mended(self, event: RequestMended) -> None:
        first = event.changes[0].action if event.changes else ""
        more = f", and {len(event.changes) - 1} more" if len(event.changes) > 1 else ""
        self._note(f"The conversation was mended for this model: {bounded(first, CALL)}{more}.")

    def _retrying(self, event: Retrying) -> None:
        void = " What stands above of an answer does not count." if self._streamed else ""
        self._streamed = False
        why = f"{type(event.error).__name__}: {bounded(message_of(event.error), CALL)}"
        self._note(f"Attempt {event.attempt} failed ({why}); again in {event.delay:.1f} s.{void}")

    def _recorded(self, event: MessageRecorded) -> None:
        import suture

        match event.message:
            case suture.Assistant() as message:
                self._answered(message, event.seq)
            case suture.User() as message:
                self._delivered(message)
            case _:
                pass

    def _answered(self, message: Assistant, seq: int) -> None:
        self._learn(message, seq)
        if not self._streamed and (words := spoken(message)):
            self._screen.flow(words)
        self._streamed = False
        self._screen.break_line()
        if not message.is_whole:
            self._note(f"The answer ended early: {message.stop_reason}.")

    def _delivered(self, message: User) -> None:
        words = message.text
        if words == self._prompt:
            self._prompt = None
        else:
            self._screen.line(("> ", "cyan"), bounded(words, RESULT))

    # Calls ------------------------------------------------------------------------------------

    def _learn(self, message: Assistant, seq: int) -> None:
        self._calls.update({f"{seq}:{index}": call for index, call in enumerate(message.calls)})

    def _starting(self, event: ToolStarting) -> None:
        self._calls[event.key] = self._running[event.key] = event.call
        again = f" (attempt {event.attempt})" if event.attempt > 1 else ""
        self._screen.hang(event.key, *self._call(event.key), (again, "yellow"), indent=2)

    def _corrected(self, event: CallCorrected) -> None:
        self._calls[event.key] = event.call
        made, now = bounded(call_words(event.made), CALL), bounded(call_words(event.call), CALL)
        self._note(f"Corrected by the {event.by}: {made} is now {now}")

    def _progress(self, event: ToolProgress) -> None:
        self._screen.line((f"{event.call.name}: {bounded(event.text, CALL)}", "dim"), indent=4)

    def _finished(self, event: ToolFinished) -> None:
        self._running.pop(event.key, None)
        beside: tuple[Piece, ...] = ((_BESIDE, "dim"), result_piece(event.result))
        if self._screen.hanging == event.key:
            self._screen.end_hanging(*beside, indent=4)
        elif event.key in self._calls:
            self._screen.line(*self._call(event.key), *beside, indent=2)
        else:
            self._screen.line((event.key, "dim"), *beside, indent=2)

    def _approval(self, event: ApprovalNeeded) -> None:
        self._calls[event.key] = event.request.call
        self._screen.line(*self._call(event.key), (_BESIDE, "dim"), ("waits for a person", "yellow"), indent=2)

    def _call(self, key: str) -> tuple[Piece, ...]:
        return (f"{key} ", "dim"), (call_words(self._calls[key]), "magenta")

    def _note(self, words: str) -> None:
        self._screen.line((words, "yellow"), indent=2)
