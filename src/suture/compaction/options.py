"""When a conversation is compacted, and what stays."""

from __future__ import annotations

from dataclasses import dataclass

from suture.errors import ConfigurationError

# What is left free for the model's answer when nobody says how much: tokens.
RESERVE = 16_384


@dataclass(frozen=True)
class Compaction:
    """When a conversation is compacted: once its tokens exceed `window` minus `reserve`.

    `window` is the model's, in tokens; None takes what suture knows of the model, and where it knows nothing, compacts only
    when the provider says that the conversation is too long, or when asked to. `reserve` is kept free for the answer,
    16,384 tokens when left out. `keep_recent` is about how many tokens of the conversation's end stay as they are, half of
    what fits at most. `instructions` tell the summariser what matters to the host. `model` is a model's name or a
    `Model` that writes the summary, cheaper perhaps; None asks the agent's own.
    """

    window: int | None = None
    reserve: int | None = None
    keep_recent: int = 20_000
    instructions: str | None = None
    model: object | None = None

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        for name, least in (("window", 1), ("reserve", 0), ("keep_recent", 1)):
            value: object = getattr(self, name)
            if value is not None and (type(value) is not int or value < least):
                raise ConfigurationError(f"{name} of a Compaction is a number of tokens, {least} at least, not {value!r}.")
        if self.window is not None and self.window <= self.room_for_answer:
            raise ConfigurationError(
                f"A Compaction with a window of {self.window} tokens leaves nothing beside the reserve of "
                f"{self.room_for_answer} for the answer. Give a smaller reserve."
            )
        if self.instructions is not None and not isinstance(self.instructions, str):
            raise ConfigurationError(f"instructions of a Compaction are a text, not {self.instructions!r:.80}.")

    @property
    def room_for_answer(self) -> int:
        """The tokens kept free for the answer."""
        return RESERVE if self.reserve is None else self.reserve

    @property
    def limit(self) -> int | None:
        """The tokens that a conversation may have; None when the window is not known."""
        return None if self.window is None else self.window - self.room_for_answer

    @property
    def kept(self) -> int:
        """About how many tokens of the end stay."""
        return self.keep_recent if self.limit is None else min(self.keep_recent, max(1, self.limit // 2))
