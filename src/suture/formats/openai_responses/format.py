"""OpenAI's Responses: a history is a list of items, of which a turn of the model takes several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from suture.errors import HistoryError
from suture.formats.base import Choice, Decoded, Flaw, Json, Left, Offer, Rewritten, Settled, Written, split
from suture.formats.limits import Limits
from suture.formats.openai_responses import check as responses_check
from suture.formats.openai_responses import read, tools, write
from suture.formats.openai_responses.items import NAME, is_reference, place_of, sign_of
from suture.formats.openai_responses.media import flaw_of
from suture.formats.openai_responses.parts import part_of, part_wire, readable
from suture.formats.openai_responses.rules import RULE_OF, RULES
from suture.formats.rule import Finding, Rule
from suture.formats.wire import kept_of, kind_of, rest, without_role
from suture.messages import Message, Opaque, Part, Reasoning, System, Text, ToolCall

# What `ext` says of the shape in which something came.
NOTES = frozenset(("content", "role", "type", "item", "held"))


class OpenAIResponses:
    """OpenAI's Responses, and who copies them."""

    name: ClassVar[str] = NAME
    key: ClassVar[str] = "input"
    head_keys: ClassVar[tuple[str, ...]] = ("instructions",)
    tool_keys: ClassVar[tuple[str, ...]] = ("tools", "tool_choice")
    choice_path: ClassVar[str] = "tool_choice"
    model_key: ClassVar[str] = "model"
    dialects: ClassVar[frozenset[str]] = responses_check.COPIES
    rules: ClassVar[Mapping[str, Rule]] = RULES
    rule_of: ClassVar[Mapping[str, str]] = RULE_OF
    bytes_under: ClassVar[frozenset[str]] = frozenset()
    borrowed: ClassVar[frozenset[str]] = frozenset()
    fields: ClassVar[frozenset[str]] = frozenset()
    notes: ClassVar[frozenset[str]] = NOTES

    def limits(self, variant: str) -> Limits:
        """What that dialect or model takes."""
        dialect, model = split(variant, self.dialects)
        return Limits(
            id_length=64,
            words_before_calls=True,
            error_mark=False,
            item_ids=True,
            goes_on=frozenset(("previous_response_id", "conversation")),
            references=frozenset(("item_reference",)),
            item_status=not dialect,
            model=model or None,
        )

    def misfit(self, message: Json) -> str | None:
        """Why it can be no item: it has no type, and as a message no role."""
        kind = message.get("type")
        if kind is None or kind == "message":
            return None if is_reference(message) else without_role(message)
        return None if isinstance(kind, str) and kind else f"has the type {kind!r}; a type is a text, such as 'message'."

    def sign(self, message: Json) -> str | None:
        """What in an item only this format has."""
        return sign_of(message)

    def check(self, request: Json, limits: Limits, *, open_tail: bool) -> list[Finding]:
        """Every rule that the request breaks, by place."""
        return responses_check.check(request, limits, open_tail=open_tail)

    def decode(self, messages: Sequence[Json], *, arguments: bool = True) -> Decoded:
        """The neutral messages; those of one turn of the model are one."""
        return read.decode(messages, arguments=arguments)

    def encode(self, messages: Sequence[Message]) -> list[Json]:
        """The input items."""
        return write.encode(messages)

    def takes(self, part: Part) -> bool:
        """Whether there is an item or a part of content for it."""
        if isinstance(part, Reasoning | ToolCall):
            return isinstance(part, ToolCall)
        return part_wire(part, "user") is not None

    def readable(self, part: Part) -> Part | None:
        """The part or item without parts that have no type, or words that are none."""
        return readable(part) if isinstance(part, Opaque) else part

    def flaw(self, part: Part) -> Flaw | None:
        """What is wrong with the content of a picture or file as it would be written."""
        raw = None if isinstance(part, Reasoning | ToolCall) else part_wire(part, "user")
        return None if raw is None else flaw_of(raw)

    def part_of(self, raw: Json) -> Part:
        """A part of a content list, read."""
        return part_of(raw)

    def is_sound(self, part: Part) -> bool:
        """Whether a part that is kept as it came means something to another request."""
        return type(part) is not Opaque or write.is_item(part.raw)

    def rewrite(self, raw: Sequence[Json], decoded: Decoded, written: Written) -> Rewritten:
        """The items of a healed history; what did not change stays the very object that it was."""
        return write.Rewriting(raw, decoded, written).run()

    def places(self, raw: Sequence[Json], decoded: Decoded, home: int) -> dict[int, list[str]]:
        """The wire path of the decoded message, then those of its parts."""
        first, last = decoded.range_of(home)
        path = f"input[{home}]"
        content = raw[home].get("content")
        if place_of(raw[home]) == "said":
            parts = len(decoded.messages[first].parts)
            listed = [f"{path}.content[{at}]" for at in range(parts)]
            return {first: [path, *(listed if isinstance(content, list) else [f"{path}.content"] * parts)]}
        return {
            index: [path, *[f"input[{decoded.items.get(id(part), home)}]" for part in decoded.messages[index].parts]]
            for index in range(first, last)
        }

    def beside(self, thing: Message | Part) -> Json:
        """What a message or part holds for this format alone; the id of an item is only its address at the provider."""
        kept = kept_of(thing, NAME)
        item = kept.get("item")
        found = rest({**kept, **(item if isinstance(item, dict) else {})}, NOTES | {"id"})
        if found.get("status") == "completed":
            del found["status"]
        return {**found, **read.unworded(kept.get("held"))}

    # The request around the items

    def lift(self, request: Json) -> list[System]:
        """The request's `instructions`; `role` in its `ext` tells it from a message among the items."""
        text = request.get("instructions")
        if text is not None and not isinstance(text, str):
            raise HistoryError(f"instructions is {kind_of(text)}, not a text.")
        return [System((Text(text),), None, {NAME: {"role": "instructions"}})] if text else []

    def head(self, system: Sequence[System]) -> Json:
        """The request's `instructions`, which are one text."""
        text = "\n\n".join(message.text for message in system)
        return {"instructions": text} if text else {}

    def offer(self, name: str, description: str, parameters: Json) -> Json:
        """A tool as `tools` lists it."""
        return tools.offer(name, description, parameters)

    def offers(self, request: Json) -> list[Offer]:
        """The functions under `tools`."""
        return tools.offers(request)

    def with_offers(self, request: Json, offers: Sequence[Offer]) -> Json:
        """The request with these functions behind its tools."""
        return tools.with_offers(request, offers)

    def left(self, request: Json) -> list[Left]:
        """What the request says of its tools that neither its offers nor its choice hold."""
        return list(tools.left(request))

    def choice(self, request: Json) -> Choice | None:
        """Which tools the model may call; None where the request does not say, or says it in words of its own."""
        return tools.choice(request)

    def with_choice(self, request: Json, choice: Choice) -> Json:
        """The request with that choice."""
        return tools.with_choice(request, choice)

    def renamed(self, request: Json, names: Mapping[str, str]) -> Json:
        """The request with its functions, and the choice among them, under other names."""
        return tools.renamed(request, names)

    def settle(self, request: Json, _limits: Limits) -> tuple[Json, list[Settled]]:
        """The request as it is."""
        return request, []
