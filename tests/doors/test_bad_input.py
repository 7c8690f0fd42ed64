"""Files that hold no history: each fault has one message, which names the file, the place, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from suture.formats import names_of_formats
from tests.doors.shell import suture

MESSAGE = '{"role": "user", "content": "hi"}'
FUNCTION = '{"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}'
CALL = f'{{"role": "assistant", "content": null, "tool_calls": [{FUNCTION}]}}'
CUT_OFF = "It may have been cut off; get it whole."


class Row(NamedTuple):
    """A file's name, its bytes, what is said of it behind its name, and the kind of error."""

    name: str
    content: bytes
    says: str
    type: str = "HistoryError"


ROWS = (
    Row("empty.json", b"", ": the file is empty. A history is at least a list: []."),
    Row("blank.json", b" \n\t\n", ": the file is empty. A history is at least a list: []."),
    Row("bom-only.json", b"\xef\xbb\xbf", ": the file is empty. A history is at least a list: []."),
    Row("cut.json", b'[{"role": "user", "content": "h', f":1: not JSON: the file ends in the middle. {CUT_OFF}"),
    Row("cut-pretty.json", b'{\n  "messages": [\n', f":3: not JSON: the file ends in the middle. {CUT_OFF}"),
    Row("no-json.txt", b"hello\n", ":1: not JSON at column 1: expecting value. Correct that file, then try again."),
    Row("more.json", b"[] []", ":1: not JSON at column 4: extra data. Correct that file, then try again."),
    Row(
        "broken.jsonl",
        f'{MESSAGE}\n{{"role": user}}\n{MESSAGE}\n'.encode(),
        ":2: not JSON at column 10: expecting value. Correct that line, then try again.",
    ),
    Row("torn.jsonl", f'{MESSAGE}\n\n{{"role": "us'.encode(), f":3: not JSON: the line ends in the middle. {CUT_OFF}"),
    Row("torn-first.jsonl", f'{{"role":\n{MESSAGE}\n'.encode(), f":1: not JSON: the line ends in the middle. {CUT_OFF}"),
    Row(
        "histories.jsonl",
        f'{MESSAGE}\n{{"messages": []}}\n'.encode(),
        ":2: the line is a whole conversation, and others are messages. Put each conversation into one line.",
    ),
    Row(
        "latin.json", b'[{"role": "user",\n"content": "\xe9"}]', ":2: byte 30 (0xe9) is not UTF-8. Save the file as UTF-8."
    ),
    Row("utf-16.json", f"[{MESSAGE}]".encode("utf-16"), ": the file is UTF-16, and JSON is UTF-8. Save it as UTF-8."),
    Row(
        "twice.json",
        b'[{"role": "tool", "tool_call_id": "c", "content": "real", "content": ""}]',
        ": not JSON: an object has the key 'content' twice; keep the one that is meant.",
    ),
    Row("nan.json", b'[{"role": "user", "n": NaN}]', ": not JSON: NaN is no JSON number; use null or a text instead."),
    Row(
        "infinite.json",
        b'[{"role": "user", "n": -Infinity}]',
        ": not JSON: -Infinity is no JSON number; use null or a text instead.",
    ),
    Row("huge.json", b'[{"role": "user", "n": 1e999}]', ": not JSON: 1e999 is no JSON number; use null or a text instead."),
    Row(
        "nan.jsonl", f'{MESSAGE}\n{{"n": NaN}}'.encode(), ":2: not JSON: NaN is no JSON number; use null or a text instead."
    ),
    Row("digits.json", b"[" + b"9" * 5000 + b"]", ": not JSON: a number has thousands of digits."),
    Row("deep.json", b"[" * 100_000, ": nested deeper than suture reads. Flatten it."),
    Row("deep.jsonl", f"{MESSAGE}\n".encode() + b'{"a":' * 100_000, ":2: nested deeper than suture reads. Flatten it."),
    Row("number.json", b"5", ": The history is a number, not a list of messages."),
    Row("text.json", b'"hi"', ": The history is a text, not a list of messages."),
    Row(
        "object.json",
        b'{"model": "m"}',
        ": The history has no 'messages'; it has 'model'. Pass the request, or just its list.",
    ),
    Row("numbers.json", b"[1]", ": messages[0] is a number, not an object. Pass plain JSON values."),
    Row("no-role.json", b'[{"content": "hi"}]', ": messages[0] has no role; every message needs one, such as 'user'."),
    Row(
        "either.json",
        f'[{{"role": "assistant", "content": "a"}}, {MESSAGE}]'.encode(),
        ": The history fits 'openai-chat', 'openai-responses', 'anthropic' and 'bedrock' alike; name the right one with --format F.",
        "AmbiguousFormat",
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_bad_file_is_named_with_what_is_wrong(tmp_path: Path, row: Row) -> None:
    """The message stands on stderr, and nothing on stdout."""
    (tmp_path / row.name).write_bytes(row.content)
    message = row.name + row.says
    said = suture("heal", row.name, cwd=tmp_path)
    assert (said.status, said.out, said.err) == (2, "", f"Error: {message}\n")


@pytest.mark.parametrize("row", [ROWS[0], ROWS[3], ROWS[-1]], ids=lambda row: row.name)
def test_check_says_the_same_and_json_says_it_in_a_document(tmp_path: Path, row: Row) -> None:
    """The same words for the same fault, in both commands and both voices."""
    (tmp_path / row.name).write_bytes(row.content)
    error = {"type": row.type, "message": row.name + row.says}
    said = suture("check", row.name, cwd=tmp_path)
    assert (said.status, said.out, said.err) == (2, "", f"Error: {error['message']}\n")
    said = suture("check", row.name, "--json", cwd=tmp_path)
    assert (said.status, said.err) == (2, "")
    assert said.json == {"files": [{"file": row.name, "error": error}]}
    said = suture("heal", row.name, "--json", cwd=tmp_path)
    assert (said.status, said.err, said.json) == (2, "", {"error": error})


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gone.json", "gone.json: cannot be read: no such file or directory."),
        (".", ".: cannot be read: is a directory."),
    ],
)
def test_a_file_that_cannot_be_opened(tmp_path: Path, name: str, says: str) -> None:
    """The system's reason is given."""
    said = suture("heal", name, cwd=tmp_path)
    assert (said.status, said.out, said.err) == (2, "", f"Error: {says}\n")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    """Size is bounded, and the bound is named."""
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(256 * 1024 * 1024 + 1)
    said = suture("heal", "large.json", cwd=tmp_path)
    assert said.status == 2
    assert said.err == "Error: large.json: larger than 256 MiB, which no provider takes. Cut the history first.\n"


def test_a_byte_order_mark_is_left_out_and_told(tmp_path: Path) -> None:
    """A UTF-8 file may begin with a byte order mark; what is written does not."""
    (tmp_path / "bom.json").write_bytes(b"\xef\xbb\xbf" + f"[{MESSAGE}]".encode())
    said = suture("heal", "bom.json", "--format", "openai-chat", cwd=tmp_path)
    assert (said.status, said.out) == (0, f"[{MESSAGE}]")
    assert said.err.startswith("bom.json: the byte order mark at the beginning was left out.\n")


@pytest.mark.parametrize("option", ["--format", "--target"])
def test_a_format_that_is_not_known(option: str) -> None:
    """A wrong name is answered with the right ones."""
    said = suture("heal", "-", option, "openai-chatt", stdin=f"[{MESSAGE}, {CALL}]".encode())
    assert said.status == 2
    assert f"There is no format 'openai-chatt'; there are {names_of_formats()}." in said.err


def test_a_history_in_another_format_than_said(tmp_path: Path) -> None:
    """A history that bears the signs of another format is refused, not mended by the wrong rules."""
    (tmp_path / "h.json").write_text(f"[{MESSAGE}, {CALL}]")
    said = suture("heal", "h.json", "--format", "anthropic", "--json", cwd=tmp_path)
    assert said.status == 2
    assert said.json["error"] == {
        "type": "UnknownFormat",
        "message": "h.json: messages[1] has 'tool_calls', which is openai-chat's and not anthropic's. "
        "Name the format that the history is in: --format 'openai-chat'. "
        "To move it there: `suture convert` with --target 'anthropic'.",
    }
