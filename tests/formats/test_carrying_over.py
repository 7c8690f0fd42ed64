"""What a request says of its tools, on its way to another provider: it goes over, or is told to stay behind."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suture.formats import FORMATS, detect, format_of
from suture.formats.base import Choice, Offer
from suture.healing import Healed, convert, fit
from suture.healing.converting import REST_ELSEWHERE
from suture.messages import Message, User

Json = dict[str, Any]

SCHEMA: Json = {"type": "object", "properties": {"q": {"type": "string"}}}
SAID: dict[str, Json] = {
    "openai-chat": {"messages": [{"role": "user", "content": "q"}]},
    "mistral": {"messages": [{"role": "user", "content": "q"}]},
    "openai-responses": {"input": [{"type": "message", "role": "user", "content": "q"}]},
    "anthropic": {"messages": [{"role": "user", "content": "q"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "q"}]}]},
    "bedrock": {"messages": [{"role": "user", "content": [{"text": "q"}]}]},
}
CHAT: Json = {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}}
PLAIN: Json = {"type": "function", "name": "f", "description": "d", "parameters": SCHEMA}
CLAUDE: Json = {"name": "f", "description": "d", "input_schema": SCHEMA}
SPEC: Json = {"name": "f", "description": "d", "inputSchema": {"json": SCHEMA}}
DECLARED: Json = {"name": "f", "description": "d", "parametersJsonSchema": SCHEMA}

CHOICES = (Choice("auto"), Choice("any"), Choice("none"), Choice("named", "f"))
every = pytest.mark.parametrize("target", list(FORMATS))


def offered(format: str, choice: Choice | None = None) -> Json:
    """A request with one tool, and a choice."""
    form = format_of(format)
    request = form.with_offers(SAID[format], [Offer("f", "d", SCHEMA)])
    return request if choice is None else form.with_choice(request, choice)


def told(out: Healed) -> dict[str, list[str]]:
    """By path, the fields that a change names."""
    found: dict[str, list[str]] = {}
    for change in out.changes:
        assert change.detail
        found.setdefault(change.path, []).append(change.action.rpartition(" ")[2].strip("'"))
    return found


@every
@pytest.mark.parametrize("source", list(FORMATS))
def test_a_tool_and_a_choice_go_over(source: str, target: str) -> None:
    """Name, description and schema do, and so does which tools may be called; that none may is told where it cannot be said."""
    form = format_of(target)
    for choice in (None, *CHOICES):
        given = offered(source, choice)
        out = convert(given, source, target)
        assert isinstance(out.history, dict)
        assert form.offers(out.history) == [Offer("f", "d", SCHEMA)]
        assert out.changes == []
        if format_of(source).choice(given) == form.choice(out.history):
            assert out.hints == []
        else:
            assert (target, choice) == ("bedrock", Choice("none"))
            assert out.hints == [f"not carried over: {format_of(source).choice_path}"]


@pytest.mark.parametrize(
    ("source", "more", "changes", "left"),
    [
        ("openai-chat", {"tools": [{**CHAT, "function": {**CHAT["function"], "strict": True}}]}, {"tools[0]": ["strict"]}, ""),
        ("openai-chat", {"tools": [{"type": "custom", "custom": {"name": "patch"}}, CHAT]}, {}, "tools[0] (patch)"),
        ("openai-chat", {"tools": [CHAT], "tool_choice": {"type": "allowed_tools"}}, {}, "tool_choice"),
        ("openai-chat", {"tools": [CHAT], "tool_choice": {"type": "function", "function": {"name": "gone"}}}, {}, "tool_choice"),
        ("openai-chat", {"functions": [{"name": "f"}], "stream": True}, {}, "functions, stream"),
        ("openai-chat", {"tools": "f"}, {}, "tools"),
        ("openai-chat", {"tools": [CHAT, 7]}, {}, "tools[1]"),
        ("openai-responses", {"tools": [{**PLAIN, "strict": True}]}, {"tools[0]": ["strict"]}, ""),
        ("openai-responses", {"tools": [{**PLAIN, "strict": False}]}, {}, ""),
        ("openai-responses", {"tools": [{"type": "web_search"}, {"type": "custom", "name": "p"}], "tool_choice": "required"}, {}, "tools[0] (web_search), tools[1] (p), tool_choice"),
        ("anthropic", {"tools": [{**CLAUDE, "type": "custom", "cache_control": {"type": "ephemeral"}}]}, {"tools[0]": ["cache"]}, ""),
        ("anthropic", {"tools": [CLAUDE, {"type": "bash_20250124", "name": "bash"}]}, {}, "tools[1] (bash)"),
        ("anthropic", {"tools": [CLAUDE], "tool_choice": {"type": "any", "disable_parallel_tool_use": True}}, {"tool_choice": ["disable_parallel_tool_use"]}, ""),
        ("bedrock", {"toolConfig": {"tools": [{"toolSpec": {**SPEC, "strict": True}}, {"cachePoint": {"type": "default"}}]}}, {"toolConfig.tools[0]": ["strict"], "toolConfig.tools[1]": ["cache"]}, ""),
        ("bedrock", {"toolConfig": {"tools": [{"systemTool": {"name": "nova_grounding"}}, {"toolSpec": SPEC}]}, "modelId": "m"}, {}, "modelId, toolConfig.tools[0] (nova_grounding)"),
        ("bedrock", {"toolConfig": {"tools": [{"toolSpec": SPEC}], "toolChoice": {"tool": {}}}}, {}, "toolConfig.toolChoice"),
        ("gemini", {"tools": [{"functionDeclarations": [{**DECLARED, "response": {"type": "STRING"}}]}, {"googleSearch": {}}]}, {"tools[0].functionDeclarations[0]": ["response"]}, "tools[1] (googleSearch)"),
        ("gemini", {"tools": [{"function_declarations": [DECLARED], "code_execution": {}}]}, {}, "tools[0] (code_execution)"),
        ("gemini", {"tools": [{"functionDeclarations": [DECLARED]}], "toolConfig": {"functionCallingConfig": {"mode": "VALIDATED"}, "retrievalConfig": {"x": 1}}}, {"toolConfig": ["retrievalConfig"]}, "toolConfig.functionCallingConfig"),
        ("gemini", {"tools": [{"functionDeclarations": [DECLARED]}], "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f", "g"]}}}, {}, "toolConfig.functionCallingConfig"),
        ("gemini", {"config": {"tools": [{"function_declarations": [DECLARED]}], "temperature": 1}}, {}, "config.temperature"),
        ("mistral", {"tools": [CHAT], "tool_choice": "any", "prompt_mode": "reasoning"}, {}, "prompt_mode"),
    ],
)  # fmt: skip
@every
def test_the_rest_is_told(source: str, more: Json, changes: dict[str, list[str]], left: str, target: str) -> None:
    """A field of a tool that goes over is a change; what stays behind whole, and where it was, is a hint."""
    if source == target:
        return
    out = convert({**SAID[source], **more}, source, target)
    assert told(out) == changes
    assert out.hints == ([f"not carried over: {left}"] if left else [])


@pytest.mark.parametrize("format", list(FORMATS))
def test_to_its_own_provider_tools_go_as_they_came(format: str) -> None:
    """Nothing of them is another's there."""
    given = offered(format, Choice("any"))
    key = format_of(format).tool_keys[0]
    tools = given[key]["tools"] if format == "bedrock" else given[key]
    tools.append({"cachePoint": {"type": "default"}} if format == "bedrock" else {"type": "web_search", "x": {}})
    out = convert(given, format, format)
    assert isinstance(out.history, dict)
    assert {name: out.history[name] for name in given} == given
    assert (out.changes, out.hints) == ([], [])


def test_a_model_that_cannot_be_made_to_call_is_not() -> None:
    """Llama at Bedrock takes no choice but its own, and Mistral there none by name."""
    for model, kept in (
        ("meta.llama4", ["auto"]),
        ("mistral.large", ["auto", "any"]),
        ("amazon.nova", ["auto", "any", "named"]),
    ):
        outs = [convert(offered("anthropic", choice), "anthropic", f"bedrock:{model}") for choice in CHOICES]
        choices = [format_of("bedrock").choice(out.history) for out in outs if isinstance(out.history, dict)]
        assert [choice.kind for choice in choices if choice] == kept
        assert [out.hints for out in outs if out.hints] == [["not carried over: tool_choice"]] * (4 - len(kept))


def test_a_schema_that_has_no_form_is_told() -> None:
    """Gemini takes no object without properties, and here that is not all that the schema says."""
    for schema, fields in ((SCHEMA, []), ({"type": "object", "properties": {}, "additionalProperties": False}, []), ({"type": "object", "additionalProperties": SCHEMA}, ["parameters"])):  # fmt: skip
        out = convert({**SAID["anthropic"], "tools": [{**CLAUDE, "input_schema": schema}]}, "anthropic", "gemini")
        assert told(out) == ({"tools (f)": fields} if fields else {})


@given(
    choice=st.sampled_from(CHOICES),
    format=st.sampled_from(list(FORMATS)),
    more=st.dictionaries(st.text("abc", min_size=1), st.integers(1, 9) | st.just({})),
)
def test_whatever_stands_beside_a_request_is_named(choice: Choice, format: str, more: Json) -> None:
    """Each key that its provider alone knows stands in the hint."""
    form = format_of(format)
    target = "anthropic" if format != "anthropic" else "openai-chat"
    out = convert({**offered(format, choice), **more}, format, target)
    named = " ".join(out.hints).removeprefix("not carried over: ").split(", ")
    assert [key for key in more if key not in named] == []
    assert form.left(offered(format, choice)) == []


def test_tools_of_a_request_of_our_own_are_held_to_rules() -> None:
    """They are part of what is fitted: a description that is too long, or a tool that a history calls and nobody offers."""
    said: list[Message] = [User.of("q")]
    out = fit(said, "openai-chat", "gpt-5", offers=[Offer("f", "x" * 5000, SCHEMA)])
    assert [change.rules for change in out.changes] == [("OAI-TOOL-DESC",)]
    assert fit(said, "openai-chat", "gpt-5", offers=[Offer("f", "d", SCHEMA)]).changes == []


FOUND = {"type": "web_search_result", "title": "TITLE", "url": "http://u", "encrypted_content": "x"}
SEARCHED = [
    {"role": "user", "content": "q"},
    {
        "role": "assistant",
        "content": [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [FOUND]},
            {"type": "text", "text": "a"},
        ],
    },
    {"role": "user", "content": "and?"},
]


@pytest.mark.parametrize("target", [name for name in FORMATS if name != "anthropic"])
def test_what_a_providers_tool_found_goes_over_as_words(target: str) -> None:
    """Its blocks are nobody else's; a few words say what was asked and found, and the report has the rest."""
    other = convert(SEARCHED, "anthropic", target)
    assert "[Used the tool web_search (x): TITLE (http://u)]" in str(other.history)
    assert "encrypted_content" in str([change.detail for change in other.changes])
    assert all(change.rules for change in other.changes)


@pytest.mark.parametrize("target", [name for name in FORMATS if name not in ("openai-chat", "mistral")])
def test_a_function_call_of_old_goes_over_as_a_call(target: str) -> None:
    """It is told as that, under the rule of who knew it, and not as something that was left out."""
    old = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}},
        {"role": "function", "name": "f", "content": "r"},
    ]
    other = convert(old, "openai-chat", target)
    assert {change.rules[0] for change in other.changes if change.code == "CALL_LEGACY"} == {"OAI-LEGACY-FUNCTION"}
    assert [change for change in other.changes if change.code == "FIELD_UNKNOWN"] == []


def test_a_request_that_goes_on_elsewhere_is_not_the_whole_conversation() -> None:
    """What the provider has cannot be converted, and the caller is told."""
    request = {"previous_response_id": "resp_1", "input": [{"role": "user", "content": "and?"}]}
    assert REST_ELSEWHERE in convert(request, "openai-responses", "anthropic").hints
    assert REST_ELSEWHERE not in convert({"input": request["input"]}, "openai-responses", "anthropic").hints


def test_a_slip_is_no_sign_of_mistral_beside_another_makers_model() -> None:
    """A picture's address as a text is Mistral's own shape, and a common slip elsewhere."""
    messages = [{"role": "user", "content": [{"type": "image_url", "image_url": "https://x"}]}]
    assert detect({"model": "gpt-4o", "messages": messages}) == "openai-chat"
    assert detect({"model": "mistral-large-latest", "messages": messages}) == "mistral"
    assert detect(messages) == "mistral"
