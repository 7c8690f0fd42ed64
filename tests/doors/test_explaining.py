"""`suture explain` and `suture rules`: what an error means, what mends it, and all that providers demand."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import suture as library
from tests.doors.shell import PATIENCE, environment, on_terminal, suture

TEXT = (
    "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01A. Each `tool_use` block "
    "must have a corresponding `tool_result` block in the next message."
)
ENVELOPE = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": TEXT}})
COMMAND = "suture heal FILE --format anthropic --in-place"
FIRST = """\
ANT-ADJ-RESULT (anthropic)
  demands: {rule.statement}
  healing: {rule.mend}
  known:   refused; three or more independent reports.
  place:   messages.3
  ids:     toolu_01A

It may also mean (`suture rules RULE` says more):
  ANT-RESULT-FIRST (anthropic): {others[0].statement}
  ANT-USE-TAIL (anthropic): {others[1].statement}

run: suture heal FILE --format anthropic --in-place
"""


def rule(id: str) -> library.Rule:
    return next(rule for rule in library.rules() if rule.id == id)


def test_an_error_is_explained_with_what_mends_it() -> None:
    """The rule, what it demands, what healing does, where, how sure that is, and the command."""
    said = suture("explain", TEXT)
    assert (said.status, said.err) == (0, "")
    assert said.out == FIRST.format(rule=rule("ANT-ADJ-RESULT"), others=[rule("ANT-RESULT-FIRST"), rule("ANT-USE-TAIL")])


def test_what_only_the_caller_can_mend_has_no_line_to_run() -> None:
    """Where healing cannot help nothing is there to copy."""
    said = suture("explain", rule("ANT-THINK-FIRST").error)
    assert (said.status, said.out.split()[0], "run:" in said.out) == (0, "ANT-THINK-FIRST", False)
    assert "healing: Only the caller can: turn thinking off" in said.out


def test_an_error_through_a_relay_names_no_format() -> None:
    """Claude refused it, but the history is in the form that the relay takes; the clause says so."""
    raw = {"message": "Provider returned error", "metadata": {"raw": ENVELOPE, "provider_name": "Anthropic"}}
    said = suture("explain", json.dumps({"error": raw}))
    assert (
        "  relay:   the error came through OpenRouter, so the history is in the form that OpenRouter takes.\n" in said.out
    )
    assert said.out.endswith("\nrun: suture heal FILE --in-place\n")


@pytest.mark.parametrize("given", ["words", "text", "stdin", "dash", "file"])
def test_the_error_comes_from_wherever_it_is(tmp_path: Path, given: str) -> None:
    """As one argument or many, on stdin, with or without a dash, or in a file; in its envelope or out of it."""
    (tmp_path / "error.txt").write_text(ENVELOPE)
    match given:
        case "words":
            said = suture("explain", *TEXT.split())
        case "text":
            said = suture("explain", ENVELOPE)
        case "stdin":
            said = suture("explain", stdin=ENVELOPE.encode())
        case "dash":
            said = suture("explain", "-", stdin=b"\xff\xfe" + ENVELOPE.encode())
        case _:
            said = suture("explain", "error.txt", cwd=tmp_path)
    assert (said.status, said.out.split()[0], said.err) == (0, "ANT-ADJ-RESULT", "")


def test_an_error_as_one_document() -> None:
    """With --json the causes stand in one document, the fields of `suture.Cause`."""
    said = suture("explain", TEXT, "--json")
    assert (said.status, said.err) == (0, "")
    first = said.json["causes"][0]
    assert first == {field: json.loads(json.dumps(getattr(library.explain(TEXT)[0], field))) for field in first}
    assert (first["rule"], first["command"], first["paths"]) == ("ANT-ADJ-RESULT", COMMAND, ["messages.3"])


@pytest.mark.parametrize("text", ["The weather is fine", "x" * 5000])
def test_what_is_not_known_is_not_guessed(text: str) -> None:
    """An error that no rule has ends with 1, and with what to do instead."""
    said = suture("explain", text)
    assert (said.status, said.out) == (1, "")
    assert said.err.startswith("No rule that suture knows is refused in these words. `suture check FILE` says")
    said = suture("explain", text, "--json")
    assert (said.status, said.json, said.err) == (1, {"causes": []}, "")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Rate limit reached for gpt-4o", "too much was asked in a short time. Wait"),
        ('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "the provider has too much to do."),
        ("Incorrect API key provided: sk-x", "the key or its rights are wrong."),
        ("This model's maximum context length is 8192 tokens.", "the conversation is too long."),
    ],
)
def test_what_is_about_no_history_says_so(text: str, says: str) -> None:
    """An error that no healing can help is told as one, with what helps; the status is 1 all the same."""
    said = suture("explain", text)
    assert (said.status, said.out) == (1, "")
    assert said.err.startswith(f"This is no fault of the history: {says}")


@pytest.mark.parametrize("given", [("",), ("-",), ()], ids=["text", "dash", "stdin"])
def test_nothing_is_nothing_to_explain(given: tuple[str, ...]) -> None:
    """An empty text or stdin is a wrong use, and no unknown error."""
    said = suture("explain", *given, stdin=b" \n")
    assert (said.status, said.out, "There is nothing to explain." in said.err) == (2, "", True)


@pytest.mark.parametrize(("text", "is_told"), [("eror.txt", True), ("logs/error", True), ("400", False), (TEXT, False)])
def test_a_file_that_is_not_there_is_read_as_text(tmp_path: Path, text: str, is_told: bool) -> None:
    """What looks like the name of a file and is none is told."""
    said = suture("explain", text, cwd=tmp_path)
    assert said.err.startswith(f"{text}: no such file; read as text.\n") is is_told


def test_without_an_error_it_asks_for_one() -> None:
    """On a terminal nothing is waited for."""
    said = on_terminal("explain")
    assert said.status == 2
    assert "Missing argument 'TEXT'. Paste the error between quotes" in said.out.replace("\n", " ")


def test_the_command_that_is_told_mends(tmp_path: Path) -> None:
    """From the error to a history that is valid: the line behind `run:`, with the name of the file."""
    called = {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_01A", "name": "f", "input": {}}]}
    request = {"messages": [{"role": "user", "content": "hi"}, called, {"role": "user", "content": "and?"}]}
    (tmp_path / "history.json").write_text(json.dumps(request))
    told = re.search(r"run: +suture (.+)", suture("explain", TEXT).out)
    assert told is not None
    assert suture(*told[1].replace("FILE", "history.json").split(), cwd=tmp_path).status == 0
    assert suture("check", "history.json", cwd=tmp_path).status == 0


def test_a_terminal_gets_colours_and_a_command_to_copy() -> None:
    """Colours, and the command in one piece."""
    said = on_terminal("explain", TEXT)
    assert (said.status, "\x1b[" in said.out) == (0, True)
    assert COMMAND in re.sub("\x1b\\[[0-9;]*m", "", said.out)


# Rules ----------------------------------------------------------------------------------------


def test_the_rules_are_listed() -> None:
    """A line for each rule: format, id, severity, certainty, what it demands."""
    said = suture("rules")
    lines = said.out.splitlines()
    assert (said.status, said.err, lines[0].split()) == (0, "", ["FORMAT", "RULE", "SEVERITY", "SURE", "DEMANDS"])
    assert lines[-3:-1] == ["", "severity: REJ refused; DEG taken, with a worse answer; IGN ignored"]
    assert lines[-1].startswith("sure: S three or more independent reports; R one or two reports; D official")
    told = [(format, id) for format, id in (line.split()[:2] for line in lines[1:-3])]
    assert [id for format, id in told if format == "bedrock"] == [rule.id for rule in library.rules("bedrock")]
    assert {id for _, id in told} == {rule.id for rule in library.rules()}
    assert next(line for line in lines if "ANT-PREFILL" in line).endswith(rule("ANT-PREFILL").statement)


def test_the_rules_of_a_format() -> None:
    """--format shows those of one, --json gives all that is known of each."""
    said = suture("rules", "--format", "anthropic", "--json")
    known = library.rules("anthropic")
    assert [(one["format"], one["id"]) for one in said.json["rules"]] == [("anthropic", rule.id) for rule in known]
    assert said.json["rules"][0]["statement"] == known[0].statement
    assert suture("rules", "--format", "x").status == 2


@pytest.mark.parametrize("id", ["ANT-ADJ-RESULT", "ant-adj-result", "X-MIXED"])
def test_one_rule_whole(id: str) -> None:
    """A rule by its id, in any case: what it demands, what the provider answers, where it was seen."""
    found = rule(id.upper())
    said = suture("rules", id)
    assert (said.status, said.out.split()[0]) == (0, found.id)
    for words in (found.statement, found.mend, found.error, found.evidence):
        assert words in said.out
    document = suture("rules", id, "--json").json
    assert (document["id"], document["mend"], min(document)) == (found.id, found.mend, "certainty")


def test_a_rule_that_there_is_not() -> None:
    """A typo is answered with the nearest id."""
    said = suture("rules", "ANT-PREFIL")
    assert (said.status, "There is no rule 'ANT-PREFIL'. Near it is ANT-PREFILL." in said.err) == (2, True)
    assert "`suture rules` lists them" in suture("rules", "zzz").err


def test_rules_load_no_sdk() -> None:
    """Explaining needs nothing of a vendor's."""
    script = f"import sys, suture; suture.explain({TEXT!r}); suture.rules(); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, timeout=PATIENCE, env=environment(), check=True
    )
    assert not {"openai", "anthropic", "rich", "click", "pydantic", "apsw"} & set(done.stdout.decode().split())
