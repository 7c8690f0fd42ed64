"""What a target takes, as far as healing depends on it: data, so that no pass knows a provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

Reasons: TypeAlias = Literal["none", "signed", "text"]
ReasoningBack: TypeAlias = Literal["as it came", "unsigned", "none"]


class Pictures(msgspec.Struct, frozen=True, kw_only=True):
    """What pictures a request may hold: pixels a side, characters of base64, media types."""

    side: int = 8000
    many: int = 20  # so many pictures may be of any side up to `side`; with more of them `side_of_many` holds
    side_of_many: int = 2000
    size: int = 10 * 1024 * 1024
    size_once: int = 5 * 1024 * 1024  # what was refused before, and may be by some still
    types: frozenset[str] = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a format takes, or a dialect or model of it.

    `rules` names the rules that hold here in the place of the format's own, by the code of a finding.
    """

    model: str | None = None
    rules: Mapping[str, str] = {}

    # Calls: their ids, names and arguments, and where they stand.
    id_pattern: str = ".+"
    id_length: int | None = None
    ids_unique_in: Literal["turn", "history"] = "turn"
    ids_needed: bool = True
    result_names: bool = False  # a result carries the name of its call
    name_pattern: str = "^[a-zA-Z0-9_-]{1,64}$"
    arguments: Literal["text", "object", "either"] = "text"
    results_ordered: bool = False  # results are matched by their order, not by id
    calls_last: bool = False
    words_before_calls: bool = False  # words behind a call are another turn; thinking may stand there
    joins_turns: bool = False  # messages that only add calls to the one before count as one turn
    calls_after_words: bool = True  # a message with calls may follow another message of the assistant's
    text_with_calls: bool = True

    # The parts of messages.
    blank_text: bool = True
    white_space: bool = False  # a text of white space alone is none of the blank ones
    blank_results: bool = False  # results may say nothing, whatever texts must
    bare_calls: Literal["null", "text", "any"] = "any"  # the content of a message of Chat Completions that only has calls
    text_lists: bool = True  # content may be a list of parts where it is words alone
    silent: bool = True  # messages without words may be sent
    images_apart: bool = False  # pictures stand in a field `images` of their message, which is one text
    images_in_results: bool = True
    pictures: Pictures | None = None  # what is known of the pictures that it takes
    error_mark: bool = True  # a result can be marked as that of a failed call
    images_in_answers: bool = False  # an assistant's message keeps its pictures where results may have none
    fields: frozenset[str] | None = None  # what a message may carry; None leaves all that came
    result_lists: bool = False  # the content of a result is always a list, in which no text is blank
    reasoning: Reasons = "none"
    thought_pattern: str | None = None  # the form of the signature of signed reasoning
    server_ids: str | None = None  # the form of the ids of calls that the provider runs itself
    reasoning_back: ReasoningBack = "as it came"  # what goes back of the target's own where `reasoning` is none
    reasoning_field: str | None = None  # what stands in for reasoning that a message with calls must carry
    thinking: str | None = None  # the names of models that always think, and so need it whatever the history shows
    unthinking: str | None = None  # the names of models that do not think, and so need no stand-in
    signature: str | None = None  # what stands in for the signature that the first call of each step must carry
    signature_pattern: str | None = None  # the form of the signatures of words and calls, where they are sent

    # What the provider keeps: items with ids of their own, and requests that go on where it has the history.
    item_status: bool = True  # items of the model's may be sent back with the `status` that they came with
    item_ids: bool = False
    goes_on: frozenset[str] = frozenset()  # the keys of a request that say so
    references: frozenset[str] = frozenset()  # the types of what only names something that the provider has

    # Who speaks when.
    developer: bool = True
    functions: bool = True  # takes the role 'function', which tools replaced
    system: Literal["among", "first", "one", "apart"] = "among"  # one: the first alone, in one message
    system_inside: bool = True  # where it stands apart, later system text may still stand among the messages
    system_after_answer: bool = True  # system text may follow the assistant or a result
    first_user: bool = False
    opens_with_calls: bool = True  # the first message may be one with calls, or one alone that the model is to go on with
    needs_user: bool = False
    alternate: bool = False  # neighbours of one role are refused
    user_after_result: bool = True
    prefill: bool = True
    pauses: bool = True  # an answer may end in what only its provider reads, and goes on when it is sent back
    trailing_space: bool = True

    # The tools of a request.
    tools: Literal["free", "needed", "listed"] = "free"  # needed by a history with calls; listed: each tool of the history
    description_length: int | None = None
    choices: frozenset[str] = frozenset(("auto", "any", "none", "named"))  # what a request may say of them
    schemas: Literal["any", "given", "maps"] = "any"  # given: each function has one; maps: its properties are objects
