"""What every format of the chat form does alike: each says its name, its rules, its parts and its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from suture.formats.base import Choice, Decoded, Flaw, Json, Left, Offer, Rewritten, Settled, Written
from suture.formats.chat import functions
from suture.formats.chat.check import Check, FlawOf
from suture.formats.chat.demands import DEMANDS, Demand
from suture.formats.chat.read import DETAILS, Reader, ReadPart
from suture.formats.chat.settling import settled
from suture.formats.chat.write import Writer
from suture.formats.limits import Limits
from suture.formats.rule import Finding, Rule
from suture.formats.wire import has_words, kept_of, own, rest, without_role
from suture.messages import Message, Opaque, Part, Reasoning, System, ToolCall, ToolResult

# What `ext` says of the shape in which something came; a call's own are its type and that its arguments were an object.
NOTES = frozenset(("content", "role", "tool_calls", "function_call", "type", "arguments"))

# Parts that are words, and the key under which those stand.
_WORDS = {"text": "text"}


class Chat:
    """A format whose messages have the form of Chat Completions.

    `kinds` are the types of the parts of content that it knows, `demands` what only some of its targets demand.
    """

    name: ClassVar[str]
    key: ClassVar[str] = "messages"
    head_keys: ClassVar[tuple[str, ...]] = ()
    tool_keys: ClassVar[tuple[str, ...]] = ("tools", "tool_choice")
    choice_path: ClassVar[str] = "tool_choice"
    model_key: ClassVar[str] = "model"
    dialects: ClassVar[frozenset[str]] = frozenset()
    rules: ClassVar[Mapping[str, Rule]]
    rule_of: ClassVar[Mapping[str, str]]
    fields: ClassVar[frozenset[str]]
    notes: ClassVar[frozenset[str]] = NOTES
    bytes_under: ClassVar[frozenset[str]] = frozenset()
    borrowed: ClassVar[frozenset[str]] = frozenset()
    kinds: ClassVar[frozenset[str]]
    demands: ClassVar[tuple[Demand, ...]] = DEMANDS
    read_part: ClassVar[ReadPart]
    flaw_of: ClassVar[FlawOf]
    writer: ClassVar[Writer]

    def misfit(self, message: Json) -> str | None:
        """Why it can be no message: its role is missing."""
        return without_role(message)

    def check(self, request: Json, limits: Limits, *, open_tail: bool) -> list[Finding]:
        """Every rule that the request breaks, by place."""
        return Check(request, limits, self.rules, self.rule_of, self.kinds, type(self).flaw_of).run(
            self.demands, open_tail=open_tail
        )

    def decode(self, messages: Sequence[Json], *, arguments: bool = True) -> Decoded:
        """The neutral messages, one each."""
        reader = Reader(self.name, type(self).read_part, arguments=arguments)
        return Decoded([reader.message(raw, index) for index, raw in enumerate(messages)], list(range(len(messages))))

    def encode(self, messages: Sequence[Message]) -> list[Json]:
        """The wire messages, one each."""
        return [self.writer.message(message) for message in messages]

    def takes(self, part: Part) -> bool:
        """Whether there is a part for it in a list of content."""
        return self.writer.part(part) is not None

    def readable(self, part: Part) -> Part | None:
        """The part; none that is kept as it came without a type, or as a text without words."""
        return None if type(part) is Opaque and not has_words(part.raw, _WORDS) else part

    def flaw(self, part: Part) -> Flaw | None:
        """What is wrong with the content of a picture, sound or file as it would be written."""
        raw = self.writer.part(part)
        return None if raw is None else type(self).flaw_of(raw)

    def part_of(self, raw: Json) -> Part:
        """A part of a list of content, read."""
        return type(self).read_part(raw)

    def is_sound(self, part: Part) -> bool:
        """Whether a part that is kept as it came has a type."""
        return type(part) is not Opaque or (isinstance(part.raw, dict) and isinstance(part.raw.get("type"), str))

    def rewrite(self, raw: Sequence[Json], decoded: Decoded, written: Written) -> Rewritten:
        """The wire messages of a healed history; what did not change stays the very object that it was."""
        out: list[Json] = []
        for message, source in zip(*written, strict=True):
            if source is None:
                out.append(self.writer.message(message))
            elif decoded.messages[source] is message:
                out.append(raw[source])
            else:
                out.append(self.writer.overlay(raw[source], decoded.messages[source], message))
        return Rewritten(out, list(written.sources))

    def beside(self, thing: Message | Part) -> Json:
        """What a message or part holds for this format alone; calls where none may be are no note of shape."""
        known = self.notes - {"tool_calls"}
        return rest(kept_of(thing, self.name), known | {"name"} if type(thing) is ToolResult else known)

    def lift(self, _request: Json) -> list[System]:
        """Nothing: system text stands among the messages."""
        return []

    def head(self, _system: Sequence[System]) -> Json:
        """Nothing: system text stands among the messages."""
        return {}

    def offer(self, name: str, description: str, parameters: Json) -> Json:
        """A tool as `tools` lists it."""
        return functions.offer(name, description, parameters)

    def offers(self, request: Json) -> list[Offer]:
        """The functions under `tools`."""
        return functions.offers(request)

    def with_offers(self, request: Json, offers: Sequence[Offer]) -> Json:
        """The request with these functions behind its tools."""
        return functions.with_offers(request, offers)

    def left(self, request: Json) -> list[Left]:
        """What the request says of its tools that neither its offers nor its choice hold."""
        return list(functions.left(request))

    def choice(self, request: Json) -> Choice | None:
        """Which tools the model may call; None where the request does not say, or says it in words of its own."""
        return functions.choice(request)

    def with_choice(self, request: Json, choice: Choice) -> Json:
        """The request with that choice."""
        return functions.with_choice(request, choice)

    def renamed(self, request: Json, names: Mapping[str, str]) -> Json:
        """The request with its functions, and the choice among them, under other names."""
        return functions.renamed(request, names)

    def settle(self, request: Json, limits: Limits) -> tuple[Json, list[Settled]]:
        """The request with its tools, and the arguments of its calls, in the form that the target takes."""
        return settled(request, limits)

    def places(self, raw: Sequence[Json], decoded: Decoded, home: int) -> dict[int, list[str]]:
        """The wire path of the decoded message, then those of its parts."""
        path = f"messages[{home}]"
        listed = isinstance(raw[home].get("content"), list)
        places, calls, others = [path], 0, 0
        for part in decoded.messages[home].parts:
            if type(part) is ToolCall:
                places.append(f"{path}.tool_calls[{calls}]")
                calls += 1
            elif type(part) is Reasoning and not self.takes(part):
                places.append(f"{path}.{own(part.ext, self.name).get('field', DETAILS)}")
            else:
                places.append(f"{path}.content[{others}]" if listed else f"{path}.content")
                others += 1
        return {home: places}
