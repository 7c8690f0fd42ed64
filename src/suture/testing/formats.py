"""What every wire format promises, as tests: inherit `FormatContract` and say which format, and what is valid in it."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar

from suture.arguments import parse
from suture.errors import HistoryError
from suture.formats import FORMATS, format_of
from suture.formats.base import Format, Json
from suture.formats.rule import Finding, fill
from suture.healing import convert, diagnose, dump_messages, fit, heal, load_messages
from suture.messages import Assistant, Message, System, Text, ToolCall, ToolResult, User

# What is said to every provider: words, two calls at once, their results, one of them an error.
CONVERSATION: tuple[Message, ...] = (
    System.of("Be kind."),
    User.of("What is the weather in Bern and in Rome?"),
    Assistant(
        (
            Text("Let me look."),
            ToolCall("callAAAA1", "weather", {"city": "Bern"}),
            ToolCall("callAAAA2", "weather", {"city": "Rome"}),
        )
    ),
    ToolResult.of("callAAAA1", "sunny"),
    ToolResult.of("callAAAA2", "no such city", error=True),
    Assistant.of("It is sunny in Bern; I could not find Rome."),
    User.of("Thank you."),
)


class FormatContract:
    """A format reads and writes without loss, leaves what is valid alone, and says what breaks its rules.

    `name` is the format's. `valid` are requests in which nothing is wrong, by what they show; between them they hold every
    kind of message, part and call that the format has. `broken` are requests that break a rule, each by the code of the
    finding and, where one is needed, the dialect or model behind a colon.
    """

    name: ClassVar[str]
    valid: ClassVar[Mapping[str, Json]]
    broken: ClassVar[Mapping[str, Json]]

    @property
    def form(self) -> Format:
        """The format."""
        return format_of(self.name)

    def test_what_is_valid_is_left_alone(self) -> None:
        """It comes back as the same object, as a request and as a bare list."""
        for what, request in self.valid.items():
            assert _faults(request, self.name) == [], what
            assert heal(request, self.name).history is request, what
            bare = request[self.form.key]
            assert heal(bare, self.name).history is bare, what

    def test_what_is_read_is_written_back(self) -> None:
        """Neutral messages and back: equal to the byte, the layout of messages apart where a provider joins them."""
        for what, request in self.valid.items():
            read = self.form.decode(request[self.form.key]).messages
            assert self.form.encode(read) == request[self.form.key], what
            head = {key: request[key] for key in self.form.head_keys if key in request}
            assert self.form.head(self.form.lift(request)) == head, what

    def test_what_is_read_stays_what_it_is(self) -> None:
        """Reading what was written gives the same neutral messages."""
        for what, request in self.valid.items():
            read = load_messages(request, self.name)
            again = load_messages(dump_messages(read, self.name), self.name)
            assert again == read, what

    def test_a_conversation_is_a_valid_request(self) -> None:
        """Words, calls and results of anybody become a request in which nothing is wrong, and which reads the same."""
        request = fit(CONVERSATION, self.name).history
        assert isinstance(request, dict)
        assert _faults(request, self.name) == []
        assert heal(request, self.name).history is request
        read = load_messages(request, self.name)
        calls = [call for message in read if isinstance(message, Assistant) for call in message.calls]
        results = [message for message in read if isinstance(message, ToolResult)]
        assert [call.name for call in calls] == ["weather", "weather"]
        assert [parse(call.raw or call.arguments).arguments for call in calls] == [{"city": "Bern"}, {"city": "Rome"}]
        assert ["sunny" in results[0].text, "no such city" in results[1].text] == [True, True]
        said = " ".join(message.text for message in read if not isinstance(message, ToolResult))
        for words in ("Be kind.", "What is the weather", "I could not find Rome.", "Thank you."):
            assert words in said

    def test_each_finding_is_mended(self) -> None:
        """What is broken is found under its code, healed, and then nothing is left; the input stays as it was."""
        for case, request in self.broken.items():
            code, _, variant = case.partition(" ")[0].partition(":")
            target = f"{self.name}:{variant}" if variant else None
            before = copy.deepcopy(request)
            found = diagnose(request, self.name, target)
            assert code in {each.code for each in found}, (case, found)
            healed = heal(request, self.name, target)
            assert request == before, case
            left = [
                each for each in diagnose(healed.history, self.name, target) if each.severity == "REJ" and not each.hint
            ]
            assert left == [], case
            assert heal(healed.history, self.name, target).history is healed.history, case
            assert healed.changed or healed.hints, case

    def test_rules_are_whole(self) -> None:
        """Each says what must hold, what healing does, and where it was seen; each code has a rule."""
        for id, rule in self.form.rules.items():
            assert id == rule.id
            assert rule.statement.endswith("."), id
            assert rule.mend.endswith("."), id
            assert rule.evidence or rule.certainty in ("I", "M", "D"), id
        assert set(self.form.rule_of.values()) <= set(self.form.rules)

    def test_refusals_hold_no_unfilled_facts(self) -> None:
        """What the provider says to a finding names the place and the ids, as far as the finding knows them."""
        for case, request in self.broken.items():
            variant = case.partition(" ")[0].partition(":")[2]
            for each in diagnose(request, self.name, f"{self.name}:{variant}" if variant else None):
                for id in each.rules:
                    rule = self.form.rules.get(id)
                    text = fill(rule.error, each.facts) if rule else ""
                    assert not re.search(r"\{[a-z]\w*\}", text), (case, text)

    def test_what_goes_to_another_provider_comes_back(self) -> None:
        """Converted to every format, each valid history is valid there; its words and results are there or reported."""
        for what, request in self.valid.items():
            parts = [part for message in load_messages(request, self.name) for part in message.parts]
            texts = [part.text for part in parts if isinstance(part, Text) and part.text.strip()]
            for target in FORMATS:
                if target == self.name:
                    continue
                other = convert(request, self.name, target)
                assert _faults(other.history, target) == [], (what, target)
                details = [change.detail for change in other.changes]
                shown = json.dumps([other.history, details], ensure_ascii=False)
                for text in texts:
                    assert _inner(text) in shown or _inner(_inner(text)) in shown, (what, target, text)

    def test_odd_shapes_are_refused_by_name(self) -> None:
        """A value of the wrong type is named with its place, and nothing but a HistoryError comes of it."""
        for request in self.valid.values():
            for index, message in enumerate(request[self.form.key]):
                for key, value in message.items():
                    for odd in _odd(value):
                        changed = copy.deepcopy(request)
                        changed[self.form.key][index][key] = odd
                        with suppress(HistoryError):
                            heal(changed, self.name)


def _faults(history: object, format: str, target: str | None = None) -> list[Finding]:
    """What healing has to mend."""
    return [each for each in diagnose(history, format, target) if each.severity == "REJ" and not each.hint]


def _inner(text: str) -> str:
    """A text as it stands inside JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _odd(value: object) -> list[Any]:
    odd: list[Any] = [7, None, {}, [], [7], "x"]
    return [each for each in odd if type(each) is not type(value)]
