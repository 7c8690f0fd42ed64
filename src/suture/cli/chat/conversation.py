"""A conversation at a terminal: prompts, runs, and what a person says or decides between and during them.

Nothing is kept here that the log does not hold, so it may be left or killed anywhere. What was put off with "later"
is asked again when the conversation is picked up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, assert_never

from suture.cli.chat.answers import (
    HELP,
    QUESTION,
    Command,
    Decision,
    Edit,
    Later,
    No,
    NoCommand,
    Prompt,
    Unclear,
    Yes,
    answer,
    edited,
    said,
)
from suture.cli.chat.keyboard import Key, Keyboard
from suture.cli.chat.screen import Screen
from suture.cli.chat.setup import Setup
from suture.cli.chat.telling import Teller
from suture.cli.chat.waiting import tell_approval, tell_decision, tell_inbox, tell_parked, tell_recap, tell_unknown
from suture.cli.chat.words import DONE
from suture.cli.console import FINE, message_of
from suture.errors import AwaitingApproval, SessionBusy, SessionError, SessionNotFound

if TYPE_CHECKING:
    from suture import Approval, AsyncAgent, AsyncSession, Result, Signal
    from suture.stores import SessionInfo

INTERRUPTED = 130


class Leaving(Exception):
    """The person leaves; chat ends with that exit status."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status = status


def converse(setup: Setup) -> int:
    """Talk until the person leaves; the exit status."""
    import suture

    model, tools = setup.open_model(), setup.gather_tools()
    with setup.session() as plain:
        session = suture.AsyncSession.of(plain)
        agent = suture.AsyncAgent(model, session, system=setup.system, tools=tools)
        return asyncio.run(Conversation(setup, agent, session).talk())


class Conversation:
    """One person, one model, one session."""

    def __init__(self, setup: Setup, agent: AsyncAgent, session: AsyncSession) -> None:
        self._setup = setup
        self._agent = agent
        self._session = session
        self._screen = Screen()
        self._keyboard = Keyboard()
        self._teller = Teller(self._screen)
        self._put_off: set[str] = set()
        self._decided_here: set[str] = set()
        self._told_unknown: set[str] = set()
        self._hung_up = False

    async def talk(self) -> int:
        """Talk until the person leaves; the exit status."""
        with self._keyboard.listening():
            try:
                await self._unless_busy(self._open())
                while True:
                    await self._unless_busy(self._turn(await self._typed("> ")))
            except Leaving as leaving:
                await self._say_goodbye()
                return leaving.status

    async def _unless_busy(self, step: Coroutine[object, object, None]) -> None:
        """Take the step; when another process has the run by then, say so and keep the prompt."""
        try:
            await step
        except SessionBusy:
            self._screen.line(("Another process runs this session now; it takes up what is decided.", "yellow"))

    # Coming and going -------------------------------------------------------------------------

    async def _open(self) -> None:
        info = await self._info()
        new = " (new)" if info is None else ""
        self._screen.line(("Session ", "dim"), (self._session.id, "bold"), (f"{new}, with {self._agent.model.name}", "dim"))
        if info is None:
            self._screen.line(("/help says what else can be typed. To come back:", "dim"))
            self._screen.line((self._setup.come_back(self._session.id), "cyan"), indent=2)
            return
        pairs, open_calls = await self._session.replay(), await self._session.open_approvals()
        self._teller.know(pairs)
        tell_recap(self._screen, pairs, [one.key for one in open_calls])
        tell_inbox(self._screen, await self._session.pending_inbox())
        await self._tell_unknown()
        if info.status == "running":
            self._screen.line(("Another process runs this session now.", "yellow"))
        elif info.status == "abandoned" and not await self._is_stopped():
            self._screen.line(("The last run was cut off; going on with it.", "yellow"))
        await self._go_on()
        await self._tell_stopped()

    async def _say_goodbye(self) -> None:
        if await self._info() is None:
            self._screen.line("Goodbye. Nothing was said, so nothing is kept.")
            return
        self._screen.line("Goodbye. To come back:")
        self._screen.line((self._setup.come_back(self._session.id), "cyan"), indent=2)

    async def _tell_unknown(self) -> None:
        """Say of each call of unknown outcome, once, how it is settled."""
        for one in await self._session.unknown_outcomes():
            if one.key not in self._told_unknown:
                self._told_unknown.add(one.key)
                tell_unknown(self._screen, self._setup, self._session.id, one)

    async def _tell_stopped(self) -> None:
        """Say that something waits which a person stopped, if so."""
        info = await self._info()
        if info is not None and info.needs_runner and await self._is_stopped():
            self._screen.line(
                ("The last run was stopped. /resume goes on with it; a new message goes on past it.", "yellow")
            )

    async def _info(self) -> SessionInfo | None:
        """What the store knows of the session; None before the first message."""
        try:
            return await self._session.info()
        except SessionNotFound:
            return None

    async def _is_stopped(self) -> bool:
        """Whether a person stopped the last run, so that only a person goes on with it."""
        return (await self._session.refresh()).interrupt is not None

    async def _typed(self, prompt: str) -> str:
        """The line that a person types next.

        Raises:
            Leaving: they leave instead.
        """
        if self._hung_up:
            raise Leaving(FINE)
        self._screen.ask(prompt)
        match await self._keyboard.next():
            case Key.INTERRUPT:
                self._screen.struck()
                raise Leaving(INTERRUPTED)
            case Key.END:
                self._screen.struck()
                raise Leaving(FINE)
            case str() as line:
                self._screen.typed()
                return line

    # Turns ------------------------------------------------------------------------------------

    async def _turn(self, line: str) -> None:
        """Do what a line at the prompt says."""
        match said(line):
            case Prompt(text):
                await self._prompt(text)
            case Command.APPROVALS:
                self._put_off.clear()
                if not await self._session.open_approvals():
                    self._screen.line("No call waits for a person.")
                await self._go_on()
            case Command.RESUME:
                await self._resume()
            case Command.HELP:
                self._screen.line(HELP)
            case Command.QUIT:
                raise Leaving(FINE)
            case NoCommand(text):
                self._screen.line(f"{text} is no command. /help lists those there are.")
            case unknown:
                assert_never(unknown)

    async def _prompt(self, text: str) -> None:
        """Take up what happened elsewhere, then hand the model the words, if there are any."""
        try:
            await self._go_on()
        except Leaving:
            if text:
                self._screen.line(("Not sent: ", "yellow"), text)
            raise
        if not text:
            await self._tell_stopped()
            return
        try:
            await self._run(text)
        except SessionBusy:  # the run of another process takes it up, as it would a line of its own terminal
            await self._steer(text)
            return
        except AwaitingApproval:
            self._screen.line(("Not sent: a new message must wait until these calls are decided.", "yellow"))
            for one in await self._session.open_approvals():
                tell_parked(self._screen, self._setup, self._session.id, one)
            return
        await self._go_on()

    async def _resume(self) -> None:
        before = await self._head()
        if await self._continues():
            await self._go_on()
        elif await self._head() == before:
            self._screen.line("There is nothing to go on with.")

    async def _go_on(self) -> None:
        """Take up what waits for a run, and ask about what waits for the person, until neither is left."""
        while await self._decide() or await self._needs_runner():
            if await self._runs_elsewhere() or not await self._continues():
                return

    async def _continues(self) -> bool:
        """Go on with what was begun; whether that changed anything and nothing stands in the way of more."""
        before = await self._head()
        result = await self._run(None)
        return result.status in (*DONE, "awaiting_approval") and await self._head() > before

    async def _head(self) -> int:
        return (await self._session.refresh()).head

    async def _needs_runner(self) -> bool:
        info = await self._info()
        return info is not None and info.needs_runner and not await self._is_stopped()

    async def _runs_elsewhere(self) -> bool:
        """Whether another process has the run, which takes up what is decided."""
        info = await self._info()
        return info is not None and info.status == "running"

    # Runs -------------------------------------------------------------------------------------

    async def _run(self, prompt: str | None) -> Result:
        """A run, in which lines are left for the model and Ctrl-C stops it.

        Raises:
            Leaving: the person pressed Ctrl-C twice.
        """
        import suture

        signal = suture.Signal()
        self._teller.begin(prompt)
        run = asyncio.create_task(self._carry(prompt, signal))
        try:
            await self._listen(run, signal)
        except BaseException:
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)
            if signal.is_set:
                await self._record_stop()
            raise
        result = run.result()
        self._teller.end(result)
        await self._tell_unknown()
        return result

    async def _carry(self, prompt: str | None, signal: Signal) -> Result:
        async with self._agent.stream(prompt, signal=signal) as stream:
            async for event in stream:
                self._teller.tell(event)
        return stream.result

    async def _record_stop(self) -> None:
        """Record that a person stopped the run, if it was cut off before it could do so itself."""
        info = await self._info()
        if info is not None and info.status == "abandoned" and not await self._is_stopped():
            await self._session.interrupt()

    async def _listen(self, run: asyncio.Task[Result], signal: Signal) -> None:
        """Heed what is typed until the run is over."""
        while not run.done():
            typed = asyncio.create_task(self._keyboard.next())
            await asyncio.wait([run, typed], return_when=asyncio.FIRST_COMPLETED)
            if not typed.done():
                typed.cancel()  # a line that comes meanwhile stays where it is
                await asyncio.wait([typed])
                continue
            match typed.result():
                case Key.INTERRUPT:
                    self._screen.struck()
                    self._stop_or_leave(signal)
                case Key.END:
                    self._hung_up = True
                    self._screen.line(("Leaving when the run is over.", "dim"))
                case str() as line:
                    self._screen.typed()
                    await self._steer(line)

    def _stop_or_leave(self, signal: Signal) -> None:
        if signal.is_set:
            raise Leaving(INTERRUPTED)
        signal.set()
        self._screen.line(("Stopping; Ctrl-C again leaves.", "yellow"))

    async def _steer(self, line: str) -> None:
        match said(line):
            case Prompt(""):
                pass
            case NoCommand(text):
                self._screen.line((f"{text} is no command, and was not left for the model.", "dim"))
            case Prompt(text):
                await self._session.steer(text)
                self._screen.line(("Left for the model; it reads that with its next request.", "dim"))
            case Command.HELP:
                self._screen.line(HELP)
            case command:
                self._screen.line((f"{command.value} has to wait until the run is over; Ctrl-C stops it.", "dim"))

    # Approvals --------------------------------------------------------------------------------

    async def _decide(self) -> bool:
        """Ask about the calls that wait for a person; whether there are decisions that a run has to take up."""
        while True:
            waiting = await self._session.open_approvals()
            self._tell_decided_elsewhere(waiting)
            asked = [one for one in waiting if one.decision is None and one.key not in self._put_off]
            if not asked:
                return any(one.decision is not None for one in waiting)
            await self._ask(asked[0])

    def _tell_decided_elsewhere(self, waiting: list[Approval]) -> None:
        for one in waiting:
            if one.decision is not None and one.key not in self._decided_here:
                self._decided_here.add(one.key)
                tell_decision(self._screen, one)

    async def _ask(self, one: Approval) -> None:
        """Ask about one call, once; a blank line looks whether it was decided elsewhere."""
        await self._leave_what_was_typed()
        tell_approval(self._screen, one)
        line = await self._typed(QUESTION)
        if not line.strip():
            return
        try:
            await self._heed(one, await self._meant(line))
        except SessionError as error:
            self._screen.line((message_of(error), "red"))

    async def _leave_what_was_typed(self) -> None:
        """What was typed before a question is no answer to it, so it is left for the model."""
        for typed in self._keyboard.ahead():
            match typed:
                case Key.INTERRUPT:
                    raise Leaving(INTERRUPTED)
                case Key.END:
                    raise Leaving(FINE)
                case str() as line:
                    await self._steer(line)

    async def _meant(self, line: str) -> Decision:
        meant = answer(line)
        return edited(await self._typed("arguments as JSON: ")) if isinstance(meant, Edit) else meant

    async def _heed(self, one: Approval, meant: Decision) -> None:
        match meant:
            case Yes(note, arguments):
                await self._session.approve(one.key, note, arguments=arguments, digest=one.digest)
                self._decided_here.add(one.key)
            case No(note):
                await self._session.deny(one.key, note, digest=one.digest)
                self._decided_here.add(one.key)
            case Later():
                self._put_off.add(one.key)
                self._screen.line(("It waits. A new message must wait, too, until it is decided.", "yellow"))
                tell_parked(self._screen, self._setup, self._session.id, one)
            case Unclear(why):
                self._screen.line((why, "yellow"))
