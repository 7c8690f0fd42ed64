"""`explain`: which rule a provider's error speaks of, whatever the error is wrapped in, and nothing where nobody knows."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

import suture
from suture.formats import FORMATS
from suture.formats.rule import Rule, fill
from suture.formats.wording import Wording
from tests.vectors.run import HERE, read

KNOWN = {rule.id: rule for rule in suture.rules()}
HEALED = {
    f"{path.parent.name}/{path.stem}": read(path) for path in sorted(HERE.glob("*/*.json")) if path.parent.name in FORMATS
}

# What providers answer, and the rule behind it; the texts of a format count from the day on which its rules are there.
TEXTS = [
    (rule, text)
    for line in (Path(__file__).parent / "errors.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
    for rule, text in [line.split(maxsplit=1)]
]
ROWS = [row for row in TEXTS if row[0] in KNOWN]
SAME_WORDS = {"ANT-SURROGATE": "OAI-SURROGATE"}  # the words are not the provider's, but those of its reader of JSON


def first(error: object) -> list[str]:
    return [cause.rule for cause in suture.explain(error)][:1]


def is_first(rule: str, error: object) -> bool:
    """Whether an error is explained by that rule first, or by one that is refused in the same words."""
    found = first(error)
    return found == [rule] or bool(found and alike(found[0], rule))


def alike(one: str, other: str) -> bool:
    """Whether two rules are refused in the same words, or one in those of the other and more."""
    words = [" ".join(re.findall(r"\w+", fill(KNOWN[id].error, {}).lower())) for id in (one, other)]
    return SAME_WORDS.get(other) == one or (all(words) and (words[0] in words[1] or words[1] in words[0]))


# What it is wrapped in ------------------------------------------------------------------------


def openai_body(text: str) -> dict[str, Any]:
    return {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": None}}


def anthropic_body(text: str) -> dict[str, Any]:
    error = {"type": "invalid_request_error", "message": text}
    return {"type": "error", "error": error, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"}


def openrouter_body(text: str) -> dict[str, Any]:
    raw = json.dumps(anthropic_body(text))
    return {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw, "provider_name": "X"}}}


def openai_error(text: str) -> Exception:
    response = httpx2.Response(400, request=httpx2.Request("POST", "https://x/v1"), json=openai_body(text))
    body = openai_body(text)["error"]
    return openai.BadRequestError(f"Error code: 400 - {openai_body(text)}", response=response, body=body)  # type: ignore[arg-type,unused-ignore]


def anthropic_error(text: str) -> Exception:
    body = anthropic_body(text)
    response = httpx2.Response(400, request=httpx2.Request("POST", "https://x/v1"), json=body)
    return anthropic.BadRequestError(f"Error code: 400 - {body}", response=response, body=body)  # type: ignore[arg-type,unused-ignore]


class ClientError(Exception):
    """As botocore raises it."""

    def __init__(self, text: str) -> None:
        super().__init__(f"An error occurred (ValidationException) when calling the Converse operation: {text}")
        self.response = {
            "Error": {"Message": text, "Code": "ValidationException"},
            "ResponseMetadata": {"RetryAttempts": 0},
        }


class APIError(Exception):
    """As google-genai raises it."""

    def __init__(self, text: str) -> None:
        super().__init__("400 INVALID_ARGUMENT.")
        self.details = {"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}


def http_error(text: str) -> Exception:
    response = httpx.Response(400, request=httpx.Request("POST", "https://x/v1"), json=openai_body(text))
    try:
        response.raise_for_status()
    except httpx.HTTPStatusError as error:
        return error
    raise AssertionError


def chained(text: str) -> Exception:
    outer = suture.ModelError("the model did not answer")
    outer.__cause__ = openai_error(text)
    return outer


def typographic(text: str) -> str:
    return re.sub("['`\"]([^'`\"]*)['`\"]", "“\\1”", text)


WRAPPINGS: dict[str, Callable[[str], object]] = {
    "as it is": lambda text: text,
    "bytes": str.encode,
    "OpenAI": openai_body,
    "Anthropic": anthropic_body,
    "Gemini": lambda text: {"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}},
    "Gemini in a list": lambda text: [{"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}],
    "Bedrock": lambda text: f"ValidationException: The model returned the following errors: {text}",
    "Mistral": lambda text: {
        "object": "error",
        "message": text,
        "type": "invalid_request_error",
        "param": None,
        "code": 3230,
    },
    "OpenRouter": openrouter_body,
    "OpenRouter as text": lambda text: json.dumps(openrouter_body(text)),
    "JSON in JSON in JSON": lambda text: json.dumps({"a": json.dumps({"b": json.dumps(anthropic_body(text))})}),
    "JSON with escapes for all": lambda text: "".join(f"\\u{ord(each):04x}" if each in "'`\"<" else each for each in text),
    "litellm": lambda text: (
        f"litellm.BadRequestError: AnthropicException - {json.dumps(anthropic_body(text))}. Received Model Group=claude"
    ),
    "a repr": lambda text: repr(ValueError(f"Error code: 400 - {openai_body(text)}")),
    "langchain": lambda text: ValueError(f"API request failed with status 400: {json.dumps(openai_body(text), indent=2)}"),
    "an SDK of OpenAI's": openai_error,
    "an SDK of Anthropic's": anthropic_error,
    "an SDK of Google's": APIError,
    "botocore": ClientError,
    "httpx": http_error,
    "an answer of httpx": lambda text: httpx.Response(400, json=openai_body(text)),
    "an error of ours": lambda text: suture.errors.InvalidRequest(f"openai:gpt answered 400: {text}"),
    "a cause": chained,
    "a group": lambda text: ExceptionGroup("many", [OSError("x"), anthropic_error(text)]),
    "a box on a terminal": lambda text: "│ \x1b[31m" + text.replace(" ", " │\n│ ", 3) + "\x1b[0m │",
    "HTML": lambda text: "<pre>" + text.replace("'", "&#39;").replace('"', "&quot;") + "</pre>",
    "upper case": str.upper,
    "other white space": lambda text: text.replace(" ", "\u00a0\n"),
    "typographic quotes": typographic,
    "backticks": lambda text: text.replace("'", "`").replace('"', "`"),
    "double quotes": lambda text: text.replace("'", '"').replace("`", '"'),
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_the_words_count_and_not_what_they_are_wrapped_in(wrapping: str) -> None:
    """Each known text is explained by its rule in each envelope, as text, as a document, and as an SDK's exception."""
    wrap = WRAPPINGS[wrapping]
    assert {text: first(wrap(text)) for rule, text in ROWS if not is_first(rule, wrap(text))} == {}


@pytest.mark.parametrize("add", [1, 4711])
def test_numbers_of_places_do_not_count(add: int) -> None:
    """A rule is known whatever message it is broken in."""
    for rule, text in ROWS:
        moved = re.sub(r"(?<=[\[.])\d+(?=[\].:])", lambda found: str(int(found[0]) + add), text)
        assert is_first(rule, moved), moved


def test_the_finished_formats_have_all_their_texts() -> None:
    """A row that names no rule is one of a format that is not there yet, or a mistake."""
    assert [rule for rule, _ in TEXTS if rule.startswith("ANT-") and rule not in KNOWN] == []
    assert len(ROWS) > 40


# Every rule -----------------------------------------------------------------------------------

FACTS: dict[str, str | int] = {
    "i": 3,
    "j": 1,
    "id": "call_9Z",
    "ids": "call_9Z, call_8",
    "n": 77,
    "most": 40,
    "role": "critic",
    "block": "text",
}


def rules_with_words() -> Iterator[tuple[str, Rule]]:
    for format in FORMATS:
        for rule in suture.rules(format):
            if rule.error and Wording(rule).has_words:
                yield format, rule


@pytest.mark.parametrize("facts", [{}, FACTS], ids=["unknown", "filled"])
def test_every_rule_is_known_by_its_own_words(facts: dict[str, str | int]) -> None:
    """What a rule says that a provider answers is explained by that rule first, or by one that is answered alike."""
    texts = {rule.id: fill(rule.error, facts) for _, rule in rules_with_words()}
    assert {id: first(text) for id, text in texts.items() if not is_first(id, text)} == {}


def test_equal_words_are_explained_by_all_their_rules() -> None:
    """Where several rules are refused in the same words, each is a cause; the most usual one is the first."""
    text = fill(KNOWN["ANT-ADJ-RESULT"].error, FACTS)
    assert [cause.rule for cause in suture.explain(text)] == ["ANT-ADJ-RESULT", "ANT-RESULT-FIRST", "ANT-USE-TAIL"]
    for _, rule in rules_with_words():
        causes = {cause.rule for cause in suture.explain(fill(rule.error, FACTS))}
        assert rule.id in causes, rule.id


@pytest.mark.parametrize(
    ("path", "family"), [("messages[3].tool_calls[0].id", "OAI"), ("input[3].call_id", "RSP"), ("input[3].id", "RSP")]
)
def test_the_path_tells_one_limit_from_another(path: str, family: str) -> None:
    """Chat Completions and Responses refuse long ids in the same words; the place says whose rule it is."""
    text = f"Invalid '{path}': string too long. Expected a string with maximum length 40, but got a string with length 90 instead."
    assert {cause.rule[:3] for cause in suture.explain(text)} <= {family}


# What nobody knows ----------------------------------------------------------------------------

UNKNOWN = (
    "",
    " \n ",
    "{}",
    "400 Bad Request",
    "Error code: 429 - {'error': {'message': 'Rate limit reached for gpt-5 in organization org-1 on tokens per min'}}",
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130020 tokens.",
    "prompt is too long: 204113 tokens > 200000 maximum",
    "Incorrect API key provided: sk-1. You can find your API key at https://platform.openai.com/account/api-keys.",
    "The model `gpt-9` does not exist or you do not have access to it.",
    "Internal server error",
    "upstream connect error or disconnect/reset before headers. reset reason: overflow",
    "Overloaded",
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade.",
    "Invalid value for 'temperature': expected a number, got a string.",
    "max_tokens: Field required",
    "thinking: Extra inputs are not permitted",
    "tools.0.custom.strict: Extra inputs are not permitted",
    "[] is too short - 'tools'",
    "Expecting value: line 1 column 1 (char 0)",
    "Traceback (most recent call last):\n  File 'x.py', line 3, in <module>\nKeyError: 'tool_calls'",
    "messages tool_calls tool_call_id role user assistant content must be string id error invalid",
    "The tool was called and the result of the tool was lost; the user and the assistant spoke of messages.",
)


@pytest.mark.parametrize("text", UNKNOWN, ids=lambda text: text[:30].strip() or "blank")
def test_what_is_not_known_is_not_guessed(text: str) -> None:
    """An error of another kind, or mere words of the trade, have no cause."""
    assert [suture.explain(each) for each in (text, openai_body(text), openai_error(text))] == [[], [], []]


OTHERS = [
    line
    for line in (Path(__file__).parent / "other_errors.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


@pytest.mark.parametrize("text", OTHERS, ids=lambda text: text[:30])
def test_what_others_say_means_no_rule(text: str) -> None:
    """Numbers, and words that merely sound alike, have no cause, whoever says them."""
    assert [suture.explain(each) for each in (text, ValueError(text), f"<html><body><p>{text}</p></body></html>")] == [
        [],
        [],
        [],
    ]


@pytest.mark.parametrize("text", ['{"a" 1}', '{"a":', "[1 2]", "{a: 1}", '"x', '{"a": 1} x', '"\\x"', "x"])
def test_a_text_of_the_callers_own_is_not_a_call_of_the_history(text: str) -> None:
    """What Python says of any text that is no JSON is vLLM's only where vLLM says it."""
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads(text)
    assert suture.explain(caught.value) == []


@pytest.mark.parametrize(
    "value", [range(10**9), [1214, 2013, 3280, 9], {"year": 2013, "order": 1214}, 1214, memoryview(b"1214")]
)
def test_what_is_no_error_says_nothing(value: object) -> None:
    """Numbers that somebody counts are no codes."""
    assert suture.explain(value) == []


@given(
    st.lists(
        st.sampled_from(sorted({word for rule in KNOWN.values() for word in re.findall(r"\w+", rule.error)})), max_size=40
    )
)
def test_words_in_any_order_are_no_error(words: list[str]) -> None:
    """The words of rules, shuffled, hardly ever make a rule; whatever comes out has its words in them."""
    text = " ".join(words)
    for cause in suture.explain(text):
        assert Wording(KNOWN[cause.rule]).has_words or KNOWN[cause.rule].texts


class Hostile(Exception):
    """An exception whose own code fails, and that holds itself."""

    def __str__(self) -> str:
        raise RuntimeError

    @property
    def body(self) -> object:
        raise KeyError

    @property
    def response(self) -> object:
        return self


class Digits:
    """Something whose text is no text."""

    def __str__(self) -> str:
        return 5  # type: ignore[return-value]


class Unaskable:
    """Something that answers no question about itself."""

    def __getattr__(self, name: str) -> object:
        raise ValueError(name)


class Broken(dict[str, object]):
    """An object whose entries cannot be listed."""

    def items(self) -> Any:
        raise RuntimeError


def test_anything_may_be_asked_about() -> None:
    """Whatever is given, `explain` answers: there are no errors about errors."""
    circle: list[Any] = []
    circle.append(circle)
    knot: dict[Any, Any] = {}
    knot["again"] = knot
    wide: list[Any] = []
    wide += [wide] * 5000
    deep: Any = "x"
    for _ in range(50_000):
        deep = [deep]
    for odd in (
        None,
        5,
        5.5,
        object(),
        object,
        Digits(),
        Hostile(),
        circle,
        knot,
        deep,
        Unaskable(),
        Broken(a=1),
        [Broken(a=1), Unaskable()],
        wide,
        10**5000,
        {1: {2: None}},
        b"\xff\xfe",
        "\ud800",
    ):
        assert suture.explain(odd) == []


def test_a_known_text_far_inside_is_found() -> None:
    """Twenty levels of documents, lists and JSON do not hide what was said."""
    inside: Any = ROWS[0][1]
    for level in range(20):
        inside = {"inner": inside} if level % 3 else json.dumps([inside]) if level < 6 else [inside]
    assert first(inside) == [ROWS[0][0]]


# Bounds ---------------------------------------------------------------------------------------


def nasty() -> Iterator[str]:
    """Texts that are long, and nearly what rules look for."""
    for _, rule in rules_with_words():
        for said in (fill(rule.error, {}), *rule.texts):
            yield from (said, " ".join(said.split()[:2]) + " ", said[: len(said) // 2])
    yield from ("'", "\\", "\\u0041", "&", "&#39;", "messages.1", "messages.1.a", "call_", "{", "[", "\x1b[", "a ", "1 ")


def test_long_texts_take_no_longer_than_their_length() -> None:
    """Whatever a text repeats, each rule is looked for in one go, and what is read is bounded."""
    slow = {}
    for unit in set(nasty()):
        text = unit * (8_000 // max(1, len(unit)))
        begun = time.process_time()
        suture.explain(text)
        if (took := time.process_time() - begun) > 1.5:
            slow[unit] = took
    assert slow == {}


@pytest.mark.parametrize("id", [id for id, rule in KNOWN.items() if rule.texts])
def test_patterns_are_for_plain_text(id: str) -> None:
    """A pattern is in lower case, has no repetition inside of one, and never fits where nothing was said."""
    for pattern in KNOWN[id].texts:
        bare = re.sub(r"\\.", "", pattern)
        assert bare == bare.lower(), pattern
        assert not re.search(r"[*+}]\)(?:[*+]|\{\d*,)", bare), pattern
        assert re.search(pattern, "") is None, pattern


def test_what_stands_behind_the_bound_is_not_read() -> None:
    """Of a text only the first 64 KiB count."""
    assert first(" " * 1000 + ROWS[0][1]) == [ROWS[0][0]]
    assert first("x " * 40_000 + ROWS[0][1]) == []


# What a cause says ----------------------------------------------------------------------------


def test_a_cause_says_what_it_means_and_what_to_do() -> None:
    """The whole of a cause: rule, meaning, mend, where, how sure, and what mends it."""
    rule = KNOWN["ANT-ADJ-RESULT"]
    assert suture.explain(anthropic_body(fill(rule.error, {"i": 3, "ids": "toolu_01A, f.b:0"})))[0] == suture.Cause(
        rule="ANT-ADJ-RESULT",
        format="anthropic",
        statement=rule.statement,
        mend=rule.mend,
        severity="REJ",
        certainty="S",
        paths=("messages.3",),
        call_ids=("toolu_01A", "f.b:0"),
        call='suture.heal(history, format="anthropic")',
        command="suture heal FILE --format anthropic --in-place",
    )


@pytest.mark.parametrize(
    ("text", "paths", "ids"),
    [
        (ROWS[0][1], (), ("call_7f3Ab", "call_8")),
        (
            (
                "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a "
                "string with length 54 instead."
            ),
            ("messages[2].tool_calls[0].id",),
            (),
        ),
        (
            (
                "messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: 17. Each `tool_result` block "
                "must have a corresponding `tool_use` block in the previous message."
            ),
            ("messages.0.content.1",),
            ("17",),
        ),
    ],
)
def test_a_cause_names_the_places_and_calls_of_the_error(text: str, paths: tuple[str, ...], ids: tuple[str, ...]) -> None:
    """What the error says of place and call is handed on, as it says it."""
    cause = suture.explain(text)[0]
    assert (cause.paths, cause.call_ids) == (paths, ids)


def leads_to_it(rule: Rule) -> bool:
    """Whether the rule's own words lead to it, and not to one of another format in the same words alone."""
    return bool(rule.error) and rule.id in [cause.rule for cause in suture.explain(fill(rule.error, FACTS))]


@pytest.mark.parametrize("name", [name for name, vector in HEALED.items() if leads_to_it(KNOWN[vector["rule"]])])
def test_what_a_cause_says_to_run_helps(name: str) -> None:
    """Whoever runs it on a history that breaks the rule has it found and mended; nothing is said that would change nothing."""
    vector = HEALED[name]
    rule = KNOWN[vector["rule"]]
    cause = next(each for each in suture.explain(fill(rule.error, FACTS)) if each.rule == rule.id)
    if cause.format != vector["format"] or not cause.call:
        assert cause.format != vector["format"] or not rule.healed
        return
    history = vector["violating"]
    goal = cause.command.split()[-2]
    findings = suture.diagnose(history, format=cause.format, target=goal)
    assert rule.id in {id for each in findings for id in each.rules}
    assert eval(cause.call, {"suture": suture, "history": history}).changed


@pytest.mark.parametrize(
    ("relay", "wrap"),
    [
        ("OpenRouter", openrouter_body),
        ("LiteLLM", lambda text: f"litellm.BadRequestError: AnthropicException - {json.dumps(anthropic_body(text))}"),
        ("LiteLLM", lambda text: {"error": {"message": f"litellm.BadRequestError: {text}", "code": "400"}}),
    ],
)
def test_behind_a_relay_the_history_is_in_the_form_that_it_takes(relay: str, wrap: Callable[[str], Any]) -> None:
    """Claude's words through a relay do not mean a history in Claude's format, so none is named; OpenAI's form is."""
    cause = suture.explain(wrap(fill(KNOWN["ANT-ADJ-RESULT"].error, FACTS)))[0]
    assert (cause.rule, cause.relay) == ("ANT-ADJ-RESULT", relay)
    assert (cause.call, cause.command) == ("suture.heal(history)", "suture heal FILE --in-place")
    assert suture.explain(wrap(ROWS[0][1]))[0].command == "suture heal FILE --format openai-chat --in-place"
    assert suture.explain(anthropic_body(ROWS[0][1]))[0].relay == ""


def test_what_only_the_caller_can_mend_has_no_command() -> None:
    """Healing cannot turn thinking off, so nothing is said that would not help."""
    cause = suture.explain(KNOWN["ANT-THINK-FIRST"].error)[0]
    assert (cause.rule, cause.call, cause.command) == ("ANT-THINK-FIRST", "", "")


def test_who_refused_it_is_who_it_is_healed_for() -> None:
    """Claude's words through Bedrock's Converse mean a history in Bedrock's format; a dialect's rule names the dialect."""
    text = fill(KNOWN["ANT-ADJ-RESULT"].error, FACTS)
    wrapped = f"An error occurred (ValidationException) when calling the {{}} operation: {text}"
    converse = "bedrock" if "bedrock" in FORMATS else "anthropic"
    assert suture.explain(wrapped.format("Converse"))[0].command == f"suture heal FILE --format {converse} --in-place"
    assert suture.explain(wrapped.format("InvokeModel"))[0].command == "suture heal FILE --format anthropic --in-place"
    causes = [
        cause for rule in KNOWN.values() for cause in suture.explain(fill(rule.error, FACTS)) if cause.rule == rule.id
    ]
    for cause in causes:
        if cause.rule in ("DS-REASONING", "GLM-1214", "MM-TOOLID"):
            assert cause.command.startswith("suture heal FILE --target openai-chat:"), cause
        if cause.rule == "ANT-PREFILL":
            assert cause.command == "suture heal FILE --target anthropic:claude-opus-4-6 --in-place"
        if cause.rule == "OAI-CALL-UNANSWERED":
            assert " --format " in cause.command, cause
