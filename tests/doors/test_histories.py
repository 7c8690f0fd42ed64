"""`suture heal` and `suture check` on files: shapes are kept, nothing is half written, faults are told like a compiler's."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from suture.cli.numbers import as_they_came
from tests.doors.shell import on_terminal, suture

USER = {"role": "user", "content": "hi"}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "found"}
WORDS = (
    "This call did not finish. No result of it was recorded. It may have run and taken effect; check before repeating it."
)
STAND_IN = {"role": "tool", "tool_call_id": "c1", "content": WORDS}
AGAIN = {"role": "user", "content": "and?"}

VALID = [USER, CALL, RESULT]
BROKEN = [USER, CALL, AGAIN]
HEALED = [USER, CALL, STAND_IN, AGAIN]
CHANGE = {
    "code": "CALL_UNANSWERED",
    "rules": ["OAI-CALL-UNANSWERED"],
    "path": "messages[1].tool_calls[0]",
    "call_id": "c1",
    "action": "added a result",
    "detail": WORDS,
    "lost": "none",
}
SENTENCE = "The call 'c1' has no tool message directly behind its turn."
# A block without a type: nobody can say what it was.
HOPELESS: list[Any] = [{"role": "user", "content": [{"words": "hi"}]}]


def lines(messages: list[Any]) -> str:
    return "".join(json.dumps(message) + "\n" for message in messages)


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# Healing --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("list.json", json.dumps(BROKEN), HEALED),
        ("request.json", json.dumps({"model": "m", "messages": BROKEN}), {"model": "m", "messages": HEALED}),
        ("pretty.json", json.dumps({"messages": BROKEN}, indent=2), {"messages": HEALED}),
        ("bom.json", "\ufeff" + json.dumps(BROKEN), HEALED),
    ],
    ids=lambda value: value if isinstance(value, str) and value.endswith(".json") else "",
)
def test_heal_keeps_the_shape(tmp_path: Path, name: str, given: str, expected: object) -> None:
    """A list stays a list, a request a request with all that it holds; the changes stand on stderr."""
    file = write(tmp_path / name, given)
    said = suture("heal", file)
    assert (said.status, said.json) == (0, expected)
    assert f"{file}:messages[1].tool_calls[0]: CALL_UNANSWERED [OAI-CALL-UNANSWERED]: added a result\n" in said.err
    assert f"now: {WORDS}" in said.err
    assert said.err.endswith(f"{file}: read as openai-chat, healed with 1 change.\n")


@pytest.mark.parametrize(
    ("name", "end"),
    [("history.jsonl", "\n"), ("history.ndjson", "\r\n"), ("history.txt", ""), ("history", "\n")],
)
def test_heal_keeps_a_message_per_line(tmp_path: Path, name: str, end: str) -> None:
    """JSONL stays JSONL, with the line ends that it had, and one at its end where there was one."""
    given, healed = ((end or "\n").join(json.dumps(message) for message in each) + end for each in (BROKEN, HEALED))
    file = write(tmp_path / name, given)
    assert (suture("heal", file).status, suture("heal", file).out) == (0, healed)


NUMBERS = (
    '{"a": 1.0, "b": 0.1000000000000000055, "c": [1E-7, 1.50, 5e-324, 123456789012345678901234567890]}',
    '{"a": [1e3, 1000.0], "b": [-0, 0, 0.0, -0.0]}',
    '{"a": "1.0e3, \\" 0.10", "b": 0.10}',
)


@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("is_pretty", [False, True])
def test_numbers_stay_as_they_were_written(tmp_path: Path, numbers: str, is_pretty: bool) -> None:
    """Mending does not write anew what no healing touched; so it is in a data set, and where files become one."""
    given, healed = (
        json.dumps({"metadata": "HERE", "messages": each}, indent=2 if is_pretty else None).replace('"HERE"', numbers)
        for each in (BROKEN, HEALED)
    )
    file = write(tmp_path / "h.json", given)
    out = suture("heal", file).out
    assert out == healed if not is_pretty else numbers_in(out) == numbers_in(healed)
    assert numbers_in(suture("heal", file, file).out) == numbers_in(healed) * 2
    if not is_pretty:
        data = write(tmp_path / "set.jsonl", f"{given}\n" * 2)
        assert suture("heal", data).out == f"{healed}\n" * 2


def numbers_in(text: str) -> list[str]:
    return re.findall(r"(?<![\w.\"])-?\d[\d.eE+-]*", text)


@pytest.mark.parametrize(
    ("content", "written", "expected"),
    [
        (b"[1.0e3, 0.10, 0.1]", b"[1000.0, 0.1, 0.1]", b"[1.0e3, 0.10, 0.1]"),
        (b"[1.0e3, 0.10, 0.1]", b"[1000.0, 0.1]", b"[1.0e3, 0.1]"),  # which of them is gone nobody knows
        (b"[0.10, 0.10]", b"[0.1, 0.1, 0.1]", b"[0.10, 0.10, 0.10]"),
        (b'["0.10", 1]', b'["0.1", "0.10", 0.1, 1]', b'["0.1", "0.10", 0.1, 1]'),
        (b'["\\"", 0.10]', b'["\\"", 0.1]', b'["\\"", 0.10]'),
        (b"[]", b"[0.1]", b"[0.1]"),
    ],
)
def test_a_number_is_that_of_its_value(content: bytes, written: bytes, expected: bytes) -> None:
    """Texts are none, and a number whose value was written in two ways is only written as one of them in its place."""
    assert as_they_came(written, content) == expected


@pytest.mark.parametrize("given", [json.dumps(VALID, indent=7), lines(VALID), lines(VALID).replace("\n", "\n\n")])
def test_a_valid_history_comes_back_byte_for_byte(tmp_path: Path, given: str) -> None:
    """What nothing had to change in is written as it was, white space included."""
    said = suture("heal", write(tmp_path / "valid", given))
    assert (said.status, said.out) == (0, given)
    assert said.err.endswith(": read as openai-chat, nothing had to change.\n")


LAYOUTS = (
    {"indent": None},
    {"indent": None, "separators": (",", ":")},
    {"indent": 2},
    {"indent": 4},
    {"indent": "\t"},
    {"indent": 2, "ensure_ascii": False},
)


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_what_is_mended_is_laid_out_as_it_was(tmp_path: Path, layout: dict[str, Any], end: str) -> None:
    """Indentation, spaces, escapes and line ends of a file stay, so that a difference shows what was healed."""
    given, healed = (
        (json.dumps([{**USER, "content": "h\u00e9llo"}, *rest[1:]], **layout) + "\n").replace("\n", end).encode()
        for rest in (BROKEN, HEALED)
    )
    file = write(tmp_path / "h.json", given)
    assert suture("heal", file, "--in-place").status == 0
    assert file.read_bytes() == healed


def test_heal_reads_stdin() -> None:
    """`-` is stdin, and is named so."""
    said = suture("heal", "-", stdin=json.dumps(BROKEN).encode())
    assert (said.status, said.json) == (0, HEALED)
    assert "<stdin>:messages[1].tool_calls[0]: CALL_UNANSWERED" in said.err


def test_heal_as_one_document(tmp_path: Path) -> None:
    """With --json all stands in one document on stdout."""
    said = suture("heal", write(tmp_path / "h.json", json.dumps(BROKEN)), "--json")
    assert (said.status, said.err) == (0, "")
    assert said.json == {"format": "openai-chat", "history": HEALED, "changes": [CHANGE], "hints": [], "refused": []}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--pending", "keep"), [USER, CALL]),
        (("--pending", "drop"), [USER]),
        (("--pending", "answer"), [USER, CALL, STAND_IN]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_heal_takes_its_options(options: tuple[str, ...], expected: list[Any]) -> None:
    """`--pending` decides about the open calls at the end."""
    said = suture("heal", "-", *options, stdin=json.dumps([USER, CALL]).encode())
    assert (said.status, said.json) == (0, expected)


def test_heal_quotes_orphans() -> None:
    """`--orphans quote` keeps the words of a result that no call asked for."""
    given = json.dumps([USER, {**RESULT, "tool_call_id": "gone"}, AGAIN]).encode()
    dropped = suture("heal", "-", "--format", "openai-chat", stdin=given)
    quoted = suture("heal", "-", "--format", "openai-chat", "--orphans", "quote", stdin=given)
    assert ("found" in dropped.out, "found" in quoted.out) == (False, True)
    assert "lost: found" in dropped.err


def test_heal_writes_a_file_whole(tmp_path: Path) -> None:
    """-o replaces a file in one step, keeps its mode, and leaves nothing beside it."""
    file, output = write(tmp_path / "h.json", json.dumps(BROKEN)), write(tmp_path / "out.json", "before")
    output.chmod(0o640)
    said = suture("heal", file, "-o", output)
    assert (said.status, said.out) == (0, "")
    assert json.loads(output.read_bytes()) == HEALED
    assert output.stat().st_mode & 0o777 == 0o640
    assert sorted(tmp_path.iterdir()) == [file, output]


@pytest.mark.parametrize("given", ["name", "other name", "link", "second name", "stdin", "one of two"])
@pytest.mark.parametrize("command", [("heal",), ("convert", "--target", "anthropic")], ids=lambda value: value[0])
def test_what_is_read_is_not_written_over(tmp_path: Path, command: tuple[str, ...], given: str) -> None:
    """-o never takes the place of an input, under whatever name: lines that cannot be healed would be lost."""
    file, other = write(tmp_path / "h.jsonl", lines([BROKEN, HOPELESS])), write(tmp_path / "o.json", json.dumps(BROKEN))
    before = file.read_bytes()
    (tmp_path / "link").symlink_to(file)
    (tmp_path / "second").hardlink_to(file)
    output = tmp_path / {"other name": "../" + tmp_path.name + "/h.jsonl", "link": "link", "second name": "second"}.get(
        given, "h.jsonl"
    )
    files: list[str | Path] = ["-"] if given == "stdin" else [other, file] if given == "one of two" else [file]
    with file.open("rb") as stdin:
        said = suture(*command, *files, "-o", output, stdin=stdin)
    assert (said.status, said.out, file.read_bytes()) == (2, "", before)
    assert f"-o would replace {str(output)!r}, which is read. Use --in-place; it keeps the old one." in said.err


def test_heal_writes_through_a_link_and_into_a_device(tmp_path: Path) -> None:
    """-o writes what a link points to, and into a device rather than in its place."""
    file, output = write(tmp_path / "h.json", json.dumps(BROKEN)), write(tmp_path / "out.json", "before")
    (tmp_path / "link").symlink_to(output)
    assert suture("heal", file, "-o", tmp_path / "link").status == 0
    assert (tmp_path / "link").is_symlink()
    assert json.loads(output.read_bytes()) == HEALED
    assert suture("heal", file, "-o", os.devnull).status == 0
    assert Path(os.devnull).is_char_device()


def test_heal_refuses_what_it_cannot_mend(tmp_path: Path) -> None:
    """What still breaks a rule is not written: it ends with 1 and says what is left."""
    file = write(tmp_path / "h.json", json.dumps(HOPELESS))
    output = write(tmp_path / "out.json", "before")
    said = suture("heal", file, "--format", "anthropic", "-o", output)
    assert (said.status, said.out, output.read_text()) == (1, "", "before")
    assert f"{file}: After healing, the history still breaks a rule:" in said.err
    assert f"{file}:messages[0].content[0]: BLOCK_UNKNOWN [ANT-UNKNOWN-BLOCK]: " in said.err
    said = suture("heal", file, "--format", "anthropic", "--json")
    assert (said.status, said.err, said.json["error"]["type"]) == (1, "", "UnhealableHistory")
    assert [one["severity"] for one in said.json["error"]["findings"]] == ["REJ"]


def test_heal_says_where_it_cannot_write(tmp_path: Path) -> None:
    """A place that is not there is named, and nothing is printed as if it had worked."""
    file = write(tmp_path / "h.json", json.dumps(BROKEN))
    output = tmp_path / "nowhere" / "out.json"
    said = suture("heal", file, "-o", output)
    assert (said.status, said.out) == (2, "")
    assert said.err == f"Error: {output}: cannot be written: no such file or directory.\n"


def test_what_only_the_request_can_mend_is_no_success(tmp_path: Path) -> None:
    """A history that is refused until the caller does something ends with 1, and says what; as a document too."""
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "r"}]}
    thinking = {"model": "m", "max_tokens": 9000, "thinking": {"type": "enabled", "budget_tokens": 2000}}
    file = write(tmp_path / "h.json", json.dumps({**thinking, "messages": [USER, use, result]}))
    said = suture("heal", file)
    assert (said.status, said.out) == (1, file.read_text())
    assert f"{file}:messages[1].content[0]: THINKING_NOT_FIRST [ANT-THINK-FIRST]: Thinking is on" in said.err
    unless = "still refused unless you send it with thinking off"
    assert said.err.endswith(f"{file}: read as anthropic, nothing had to change; {unless}.\n")
    document = suture("heal", file, "--json")
    assert (document.status, [each["code"] for each in document.json["refused"]]) == (1, ["THINKING_NOT_FIRST"])
    many = write(tmp_path / "h.jsonl", json.dumps({**thinking, "messages": [USER, use, result]}) + "\n")
    assert suture("heal", many).err.endswith(f"1 conversation read as anthropic, 1 as they were, 1 {unless}.\n")


# Checking -------------------------------------------------------------------------------------


def test_check_speaks_like_a_compiler(tmp_path: Path) -> None:
    """A line per finding, on stdout, and 1 when a provider would refuse the file."""
    file = write(tmp_path / "h.json", json.dumps(BROKEN))
    said = suture("check", file)
    assert (said.status, said.err) == (1, f"{file}: read as openai-chat.\n")
    assert suture("check", file, "--format", "openai-chat").err == ""
    assert said.out == f"{file}:messages[1].tool_calls[0]: CALL_UNANSWERED [OAI-CALL-UNANSWERED]: {SENTENCE}\n"


def test_check_as_one_document(tmp_path: Path) -> None:
    """With --json the findings of all files stand in one document."""
    broken, valid = write(tmp_path / "b.json", json.dumps(BROKEN)), write(tmp_path / "v.jsonl", lines(VALID))
    said = suture("check", broken, valid, "--json")
    finding: dict[str, Any] = {key: CHANGE[key] for key in ("code", "rules", "path", "call_id")}
    finding |= {"severity": "REJ", "certainty": "S", "sentence": SENTENCE, "hint": None, "refused": True}
    assert (said.status, said.err) == (1, "")
    fine, whole = (
        {"file": str(valid), "format": "openai-chat", "findings": []},
        {"file": str(broken), "format": "openai-chat"},
    )
    assert said.json == {"files": [{**whole, "findings": [finding]}, fine]}


def test_check_of_a_valid_file_is_silent(tmp_path: Path) -> None:
    """Nothing found, nothing said; a person at a terminal is told as which format it was read."""
    file = write(tmp_path / "v.json", json.dumps(VALID))
    said = suture("check", file)
    assert (said.status, said.out, said.err) == (0, "", "")
    shown = on_terminal("check", file)
    assert (shown.status, " ".join(shown.out.split())) == (0, f"{file}: read as openai-chat, and nothing is wrong with it.")


def test_check_goes_on_past_a_file_that_it_cannot_read(tmp_path: Path) -> None:
    """Every file is checked; one that cannot be read makes the status 2."""
    broken, gone = write(tmp_path / "b.json", json.dumps(BROKEN)), tmp_path / "gone.json"
    said = suture("check", gone, broken)
    assert said.status == 2
    assert said.err.startswith(f"Error: {gone}: cannot be read: no such file or directory.\n")
    assert "CALL_UNANSWERED" in said.out
    documents = suture("check", gone, broken, "--json").json["files"]
    assert [sorted(one) for one in documents] == [["error", "file"], ["file", "findings", "format"]]
