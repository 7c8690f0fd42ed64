"""A chat without a terminal: each line of stdin is a prompt, and at its end the chat ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from suture.cli.chat.screen import Screen
from suture.cli.chat.setup import Setup
from suture.cli.chat.telling import Teller
from suture.cli.chat.waiting import tell_parked, tell_unknown
from suture.cli.chat.words import DONE
from suture.cli.console import FAILED, FINE, FOUND, failure, message_of, print_json
from suture.cli.render import transcript
from suture.errors import AwaitingApproval, SessionNotFound, SutureError

if TYPE_CHECKING:
    from suture import Agent, Result, Session, ToolCall


def answer_lines(setup: Setup, *, as_json: bool) -> int:
    """Run the lines of stdin one after the other; the exit status says whether the last run completed."""
    import suture

    model, tools = setup.open_model(), setup.gather_tools()
    with setup.session() as session:
        agent = suture.Agent(model, session, system=setup.system, tools=tools)
        lines = _Lines(agent, session, None if as_json else Teller(Screen()))
        lines.run()
        if as_json:
            print_json(lines.document())
        else:
            lines.tell_end(setup, Screen())
        if lines.broken is not None and not as_json:
            raise lines.broken
        if lines.broken is not None:
            return FAILED
        return FINE if lines.is_fine else FOUND


def _prompts() -> Iterator[str]:
    for line in sys.stdin.buffer:
        if prompt := line.decode("utf-8", "replace").strip():
            yield prompt


class _Lines:
    """The runs of one chat, and how the last of them ended."""

    def __init__(self, agent: Agent, session: Session, teller: Teller | None) -> None:
        self._agent = agent
        self._session = session
        self._teller = teller
        self._before = session.refresh().head
        self._results: list[Result] = []
        self._refused: AwaitingApproval | None = None
        self.broken: SutureError | None = None
        if teller is not None:
            teller.know(session.replay())

    @property
    def is_fine(self) -> bool:
        """Whether the last run completed, if there was any, and no line was refused."""
        return self._refused is None and all(result.status in DONE for result in self._results[-1:])

    def run(self) -> None:
        """Go on with what was cut off, then run the lines, until one has to wait for a person, or cannot be run: `broken`
        is why.
        """
        try:
            self._run()
        except SutureError as error:
            self.broken = error

    def _run(self) -> None:
        if self._needs_runner():
            self._one(None)
        for prompt in _prompts():
            try:
                self._one(prompt)
            except AwaitingApproval as error:
                self._refused = error
                self._one(None)  # changes nothing, and says what waits
                return

    def _needs_runner(self) -> bool:
        try:
            return self._session.info().needs_runner and self._session.refresh().interrupt is None
        except SessionNotFound:
            return False

    def _one(self, prompt: str | None) -> None:
        with self._agent.stream(prompt) as stream:
            if self._teller is not None:
                self._teller.begin(None)
            for event in stream:
                if self._teller is not None:
                    self._teller.tell(event)
        self._results.append(stream.result)
        if self._teller is not None:
            self._teller.end(stream.result)

    def tell_end(self, setup: Setup, screen: Screen) -> None:
        """Say what waits, and how to come back."""
        if self._refused is not None:
            screen.line(message_of(self._refused))
        for one in self._session.open_approvals():
            tell_parked(screen, setup, self._session.id, one)
        for started in self._session.unknown_outcomes():
            tell_unknown(screen, setup, self._session.id, started)
        if self._session.refresh().head:
            screen.line("To come back: ", setup.come_back(self._session.id))

    def document(self) -> dict[str, object]:
        """All of it as JSON."""
        import suture

        last = self._results[-1] if self._results else None
        error = self.broken or self._refused or (None if last is None else last.error)
        usage = sum((result.usage for result in self._results), suture.Usage())
        news = [(message, seq) for message, seq in self._session.replay() if seq is not None and seq > self._before]
        return {
            "session": self._session.id,
            "status": None if last is None else last.status,
            "text": "" if last is None else last.text,
            "usage": {name: getattr(usage, name) for name in usage.__struct_fields__},
            "pending": self._pending() if last is None else [_pending(*one) for one in last.pending],
            "error": None if error is None else failure(error)["error"],
            "messages": transcript(news).document(),
        }

    def _pending(self) -> list[dict[str, object]]:
        """What waits for a person, though nothing was run."""
        parked = [_pending(one.key, one.call, "approval") for one in self._session.open_approvals() if one.decision is None]
        return [*parked, *(_pending(one.key, one.call, "unknown_outcome") for one in self._session.unknown_outcomes())]


def _pending(key: str, call: ToolCall, why: str) -> dict[str, object]:
    return {"key": key, "call": {"id": call.id, "name": call.name, "arguments": call.arguments}, "why": why}
