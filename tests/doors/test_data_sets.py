"""Data sets: files with a whole conversation in each line, mended and checked line by line however long they are."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.doors.shell import PATIENCE, Said, environment, on_terminal, suture
from tests.doors.test_histories import AGAIN, BROKEN, CALL, HEALED, HOPELESS, RESULT, STAND_IN, USER, VALID

MIB = 1024 * 1024


def line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def data_set(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"".join(lines))
    return path


def values(text: str) -> list[Any]:
    return [json.loads(each) for each in text.splitlines()]


def conversations(path: Path, count: int, *, every: int = 50) -> Path:
    """A data set of that many conversations of about a kilobyte, some of them broken."""
    valid, broken = (
        {"model": "m", "messages": [{**USER, "content": "hi " * 300}, *rest]} for rest in (VALID[1:], BROKEN[1:])
    )
    with path.open("wb") as file:
        for number in range(count):
            file.write(line(broken if number % every == 0 else valid))
    return path


# What is a data set ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["set.jsonl", "set.ndjson", "set.txt", "set"])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda messages: messages,
        lambda messages: {"messages": messages},
        lambda messages: {"model": "m", "messages": messages, "tools": []},
    ],
    ids=["list", "messages", "request"],
)
def test_each_line_keeps_its_shape(tmp_path: Path, name: str, wrap: Any) -> None:
    """Lists and requests stay what they are, a conversation in each line, whatever the file is called."""
    file = data_set(tmp_path / name, line(wrap(BROKEN)), line(wrap(VALID)), line(wrap(BROKEN)))
    said = suture("heal", file)
    assert (said.status, values(said.out)) == (0, [wrap(HEALED), wrap(VALID), wrap(HEALED)])
    assert f"{file}:1:messages[1].tool_calls[0]: CALL_UNANSWERED [OAI-CALL-UNANSWERED]: added a result\n" in said.err
    assert f"{file}:3:messages[1].tool_calls[0]: CALL_UNANSWERED" in said.err
    assert said.err.endswith(f"{file}: 3 conversations read as openai-chat, 2 healed with 2 changes, 1 as they were.\n")


def test_a_data_set_may_have_one_line_when_its_name_says_so(tmp_path: Path) -> None:
    """A list in a file of JSON Lines stays on its line; in another file it is a document like any other."""
    assert "1 conversation" in suture("heal", data_set(tmp_path / "one.jsonl", line(BROKEN))).err
    assert "conversation" not in suture("heal", data_set(tmp_path / "one.json", line(BROKEN))).err


def test_lines_that_were_fine_are_the_bytes_that_they_were(tmp_path: Path) -> None:
    """White space, escapes, order of keys and line ends of what had nothing wrong do not change."""
    odd = b'{"messages" : [ {"content":"h\\u00e9llo","role":"user"},{"role":"tool","tool_call_id":"c","content":"x"}][:0]}'
    fine = b'  {"x":1.50,  "messages":' + json.dumps(VALID, indent=None, separators=(" , ", " : ")).encode() + b"}\r\n"
    said = suture("heal", data_set(tmp_path / "set.jsonl", fine, b"\n", line(BROKEN), odd, b"\n", fine.rstrip()))
    assert said.status == 1
    assert said.out.encode() == fine + line(HEALED) + fine.rstrip() + b"\n"


def test_a_message_per_line_is_one_conversation(tmp_path: Path) -> None:
    """Items that have an `input` of their own, as some of Responses do, are messages and no conversations."""
    items = [{"type": "custom_tool_call", "input": "x", "call_id": "c"}, USER]
    said = suture("heal", data_set(tmp_path / "items.jsonl", *map(line, items)))
    assert (said.status, said.err.count("items.jsonl:1:"), "items.jsonl:input[0]: " in said.err) == (0, 0, True)
    said = suture("heal", data_set(tmp_path / "messages.jsonl", *map(line, BROKEN)))
    assert (said.status, values(said.out)) == (0, HEALED)


def test_a_document_over_many_lines_is_one(tmp_path: Path) -> None:
    """Lists inside of a document that is written over many lines are no data set."""
    given = "[\n" + ",\n".join(json.dumps(message) for message in BROKEN) + "\n]\n"
    said = suture("heal", data_set(tmp_path / "pretty.json", given.encode()))
    assert (said.status, said.json) == (0, HEALED)
    inside = b'{\n"messages":\n' + line(VALID) + b"}\n"
    assert suture("heal", data_set(tmp_path / "inside.json", inside)).out.encode() == inside


PLAIN = [USER, {"role": "assistant", "content": "hello"}]
OPENED = [{"role": "assistant", "content": "hello"}, USER]


@pytest.mark.parametrize("given", ["file", "stdin"])
def test_what_fits_several_formats_is_in_that_of_the_data_set(tmp_path: Path, given: str) -> None:
    """Lines of plain words are read as the first line that tells a format, wherever it stands; none is left out."""
    file = data_set(tmp_path / "set.jsonl", line(OPENED), line(PLAIN), line(BROKEN), line(PLAIN), line([]))
    source, stdin = (file, b"") if given == "file" else ("-", file.read_bytes())
    said = suture("heal", source, stdin=stdin)
    assert (said.status, values(said.out)) == (0, [OPENED, PLAIN, HEALED, PLAIN, []])
    documents = values(suture("check", source, "--json", stdin=stdin).out)
    assert [(one["format"], [each["code"] for each in one["findings"]]) for one in documents] == [
        ("openai-chat", []),
        ("openai-chat", []),
        ("openai-chat", ["CALL_UNANSWERED"]),
        ("openai-chat", []),
        ("openai-chat", ["MESSAGE_EMPTY"]),
    ]
    use = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f"}]},
    ]
    said = suture("check", data_set(tmp_path / "anthropic.jsonl", line(OPENED), line(use)), "--json")
    assert [each["code"] for each in values(said.out)[0]["findings"]] == ["FIRST_NOT_USER"]


def test_plain_words_alone_are_as_they_were(tmp_path: Path) -> None:
    """Where no line tells a format, what is fine in each that fits stays; only what they do not agree on is asked."""
    file = data_set(tmp_path / "set.jsonl", line(PLAIN), line({"messages": PLAIN}), line(OPENED))
    said = suture("heal", file)
    assert (said.status, values(said.out)) == (1, [PLAIN, {"messages": PLAIN}])
    assert f"Error: {file}:3: The history fits 'openai-chat'" in said.err
    assert said.err.endswith(f"{file}: 3 conversations, 2 as they were, 1 could not be healed.\n")
    said = suture("check", file, "--json")
    assert [one.get("findings") for one in values(said.out)] == [[], [], None]


@pytest.mark.parametrize("key", ["conversations", "dialog"])
def test_lines_of_another_programs_shape_are_named(tmp_path: Path, key: str) -> None:
    """What is no provider's shape is told with the shapes that are, alone and among others."""
    foreign = {key: [{"from": "human", "value": "hi"}]}
    shapes = "the line is no conversation: neither a list nor an object with 'messages', 'input' or 'contents'."
    advice = f" Write its {key!r} as 'messages' with 'role' and 'content'."
    for name, lines in (("all.jsonl", [foreign, foreign]), ("some.jsonl", [VALID, foreign])):
        file = data_set(tmp_path / name, *map(line, lines))
        said = suture("heal", file)
        assert f"Error: {file}:{lines.index(foreign) + 1}: {shapes}{advice}\n" in said.err


# What is broken -------------------------------------------------------------------------------

FAULTS = (
    (b'{"messages": [{"role": "us\n', ": not JSON: the line ends in the middle. It may have been cut off; get it whole."),
    (b"hello\n", ": not JSON at column 1: expecting value. Correct that line, then try again."),
    (b'["\xe9"]\n', ": byte 2 (0xe9) is not UTF-8. Save the file as UTF-8."),
    (line(USER), ": the line is one message, and others are whole conversations. Put its conversation into one line."),
    (b"5\n", ": the line is no conversation: neither a list nor an object with 'messages', 'input' or 'contents'."),
    (b'{"messages": [NaN]}\n', ": not JSON: NaN is no JSON number; use null or a text instead."),
    (b"[" * 100_000 + b"\n", ": nested deeper than suture reads. Flatten it."),
    (line([1]), ": messages[0] is a number, not an object. Pass plain JSON values."),
    (b"\x00\x00\n", ": not JSON at column 1: expecting value. Correct that line, then try again."),
)


@pytest.mark.parametrize(("fault", "says"), FAULTS, ids=range(len(FAULTS)))
def test_a_broken_line_is_named_and_the_rest_goes_on(tmp_path: Path, fault: bytes, says: str) -> None:
    """The line's number and fault stand on stderr; the lines around it are mended; the status is 1, also when checked."""
    file = data_set(tmp_path / "set.jsonl", line(BROKEN), fault, line(VALID))
    said = suture("heal", file, "--format", "openai-chat")
    assert (said.status, values(said.out)) == (1, [HEALED, VALID])
    assert f"Error: {file}:2{says}\n" in said.err
    assert said.err.endswith("3 conversations, 1 healed with 1 change, 1 as they were, 1 could not be healed.\n")
    said = suture("check", data_set(tmp_path / "set.jsonl", line(VALID), fault, line(VALID)), "--format", "openai-chat")
    assert (said.status, said.out) == (1, "")
    assert said.err == f"Error: {file}:2{says}\n{file}: 3 conversations, none would be refused, 1 could not be read.\n"


@pytest.mark.parametrize("name", ["set.jsonl", "set"])
def test_the_first_lines_may_be_the_broken_ones(tmp_path: Path, name: str) -> None:
    """What a file is is seen from the first line that can be read."""
    file = data_set(tmp_path / name, b"\xef\xbb\xbf" + b'{"messages": [\n', b"hello\n", line(BROKEN), line(VALID))
    said = suture("heal", file)
    assert (said.status, values(said.out)) == (1, [HEALED, VALID])
    assert [f"{file}:{number}: not JSON" in said.err for number in (1, 2, 3)] == [True, True, False]


def test_what_cannot_be_mended_is_left_out_and_told(tmp_path: Path) -> None:
    """A conversation that still breaks a rule is no line of what is written."""
    file = data_set(tmp_path / "set.jsonl", line(HOPELESS), line([USER]))
    said = suture("heal", file, "--format", "anthropic")
    assert (said.status, values(said.out)) == (1, [[USER]])
    assert f"{file}:1: After healing, the history still breaks a rule:" in said.err
    assert f"{file}:1:messages[0].content[0]: BLOCK_UNKNOWN [ANT-UNKNOWN-BLOCK]: " in said.err


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    """The mark at the beginning of the file is left out, and told."""
    said = suture("heal", data_set(tmp_path / "set.jsonl", b"\xef\xbb\xbf" + line(VALID), line(VALID)))
    assert (said.status, said.out.encode()) == (0, line(VALID) * 2)
    assert "set.jsonl: the byte order mark at the beginning was left out.\n" in said.err


def test_a_wrong_option_is_told_once(tmp_path: Path) -> None:
    """A format that there is not is one error, and no fault of each line."""
    said = suture("heal", data_set(tmp_path / "set.jsonl", line(VALID), line(VALID)), "--format", "x")
    assert (said.status, said.out, said.err.count("There is no format")) == (2, "", 1)


def test_a_huge_line_is_passed_over(tmp_path: Path) -> None:
    """A line that is longer than anything that a provider takes is named, never held whole, and stays in its place."""
    huge = b'["' + b"x" * (65 * MIB) + b'"]\n'
    file = data_set(tmp_path / "set.jsonl", line(VALID), huge, line(BROKEN))
    said, peak = measured("heal", str(file), "--in-place")
    assert said.status == 1
    assert f"Error: {file}:2: longer than 64 MiB, which no provider takes.\n" in said.err
    with file.open("rb") as written:
        assert [len(each) if len(each) > MIB else json.loads(each) for each in written] == [VALID, len(huge), HEALED]
    assert peak < 250 * MIB


# How much -------------------------------------------------------------------------------------

_MEASURE = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True)
print(json.dumps([done.returncode, done.stderr.decode(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss]))
"""


def measured(*arguments: str) -> tuple[Said, int]:
    """What a command said, without its stdout, and the most memory that it had."""
    command = [sys.executable, "-c", _MEASURE, sys.executable, "-m", "suture.cli", *arguments]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, env=environment(), check=True)
    status, said, peak = json.loads(done.stdout)
    return Said(status, "", said), peak * 1024


@pytest.mark.parametrize("command", [("heal", "-o", "out.jsonl"), ("check",)])
def test_memory_does_not_grow_with_the_data(tmp_path: Path, command: Sequence[str]) -> None:
    """20,000 conversations take no more memory than 500."""
    name, *options = [str(tmp_path / each) if each.startswith("o") else each for each in command]
    small, large = conversations(tmp_path / "small.jsonl", 500), conversations(tmp_path / "large.jsonl", 20_000)
    few, least = measured(name, str(small), *options)
    many, most = measured(name, str(large), *options)
    assert few.status == many.status
    assert "20,000 conversations" in many.err
    assert large.stat().st_size > 20 * MIB
    assert most - least < 8 * MIB


def test_what_is_done_is_said_at_once() -> None:
    """The first conversations of a pipe come out while its writer still writes."""
    command = [sys.executable, "-m", "suture.cli", "heal", "-"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment()
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line(BROKEN) * 2)
    process.stdin.flush()
    assert json.loads(process.stdout.readline()) == HEALED
    process.stdin.write(line(VALID))
    process.stdin.close()
    assert values(process.stdout.read().decode()) == [HEALED, VALID]
    process.stdout.close()
    assert process.wait(PATIENCE) == 0


# As JSON --------------------------------------------------------------------------------------


def test_a_document_for_each_conversation(tmp_path: Path) -> None:
    """With --json there is a document in each line, also for what is broken, and nothing on stderr."""
    file = data_set(tmp_path / "set.jsonl", line(BROKEN), b"hello\n", line(VALID))
    said = suture("heal", file, "--json")
    first, second, third = values(said.out)
    assert (said.status, said.err) == (1, "")
    assert (first["file"], first["line"], first["history"]) == (str(file), 1, HEALED)
    assert [change["code"] for change in first["changes"]] == ["CALL_UNANSWERED"]
    assert (second["line"], second["error"]["type"], "history" in second) == (2, "HistoryError", False)
    report = {"format": "openai-chat", "history": VALID, "changes": [], "hints": [], "refused": []}
    assert third == {"file": str(file), "line": 3, **report}


def test_findings_for_each_conversation(tmp_path: Path) -> None:
    """`check --json` prints a document for each conversation, those without a finding too."""
    file = data_set(tmp_path / "set.jsonl", line(BROKEN), line(VALID))
    said = suture("check", file, "--json")
    assert (said.status, said.err) == (1, "")
    assert [(one["line"], [each["code"] for each in one["findings"]]) for one in values(said.out)] == [
        (1, ["CALL_UNANSWERED"]),
        (2, []),
    ]


# On a terminal --------------------------------------------------------------------------------

HIDDEN_CURSOR = "\x1b[?25l"


def test_a_terminal_gets_a_bar(tmp_path: Path) -> None:
    """How far it is stands below what is told, and is gone at the end; the summary is the last line."""
    file = conversations(tmp_path / "set.jsonl", 3000)
    said = on_terminal("heal", file, "-o", tmp_path / "out.jsonl")
    assert (said.status, HIDDEN_CURSOR in said.out) == (0, True)
    assert re.search(r"set\.jsonl.*━.*%.*conversations", said.out)
    plain = re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", said.out)
    assert "3,000 conversations read as openai-chat, 60 healed with 60 changes, 2,940 as they were." in " ".join(
        plain.split()
    )
    found = on_terminal("check", file)
    assert (found.status, HIDDEN_CURSOR in found.out) == (1, True)


@pytest.mark.parametrize("options", [("heal",), ("heal", "--json"), ("check", "--json")], ids=" ".join)
def test_a_bar_is_not_where_histories_or_documents_go(tmp_path: Path, options: Sequence[str]) -> None:
    """What is to be read by programs is never mixed with a bar, not even on a terminal."""
    name, *rest = options
    said = on_terminal(name, conversations(tmp_path / "set.jsonl", 50), *rest)
    assert HIDDEN_CURSOR not in said.out


def test_a_pipe_gets_none(tmp_path: Path) -> None:
    """Without a terminal there is one line at the end, and no codes."""
    said = suture(
        "heal", conversations(tmp_path / "set.jsonl", 50, every=100), "-o", tmp_path / "out.jsonl", FORCE_COLOR="1"
    )
    assert said.err.splitlines()[-1].endswith(
        "50 conversations read as openai-chat, 1 healed with 1 change, 49 as they were."
    )
    assert "\x1b" not in said.err


# What goes wrong on the way -------------------------------------------------------------------


def beside(file: Path) -> list[str]:
    """What stands in the folder of a file, apart from it."""
    return sorted(each.name for each in file.parent.iterdir() if each != file)


def interrupted(*arguments: str | Path, folder: Path) -> Said:
    """A command that is interrupted as soon as it writes into that folder."""
    command = [sys.executable, "-m", "suture.cli", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment())
    assert process.stderr is not None
    until = time.monotonic() + PATIENCE
    while not any(each.name.startswith(".") and each.stat().st_size for each in files_of(folder)):
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    said = process.stderr.read().decode()
    process.stderr.close()
    return Said(process.wait(PATIENCE), "", said)


def files_of(folder: Path) -> Iterator[Path]:
    for each in list(folder.iterdir()):
        if each.exists():
            yield each


@pytest.mark.parametrize("in_place", [True, False], ids=["in place", "into a file"])
def test_an_interrupt_leaves_no_half_file(tmp_path: Path, in_place: bool) -> None:
    """Ctrl-C in the middle: the old file is there as it was, and nothing beside it."""
    file = conversations(tmp_path / "set.jsonl", 40_000, every=20_000)
    output = file if in_place else data_set(tmp_path / "out.jsonl", b"before")
    before = output.read_bytes()
    said = interrupted("heal", file, *(["--in-place"] if in_place else ["-o", output]), folder=tmp_path)
    assert (said.status, said.err.endswith("Interrupted.\n"), "Traceback" in said.err) == (130, True, False)
    assert output.read_bytes() == before
    assert beside(file) == ([] if in_place else ["out.jsonl"])


def limited(size: int, *arguments: str | Path) -> Said:
    """Run `suture` where no file may become larger than that, as on a disk that is full."""
    script = f'ulimit -f {size // 1024}; exec "$@"'
    command = ["bash", "-c", script, "bash", sys.executable, "-m", "suture.cli", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, env=environment(), check=False)
    return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize("in_place", [True, False], ids=["in place", "into a file"])
def test_a_full_disk_leaves_the_old_file(tmp_path: Path, in_place: bool) -> None:
    """What cannot be written whole is not written: the old file stays, and nothing is beside it."""
    file = conversations(tmp_path / "set.jsonl", 1000)
    output = file if in_place else data_set(tmp_path / "out.jsonl", b"before")
    before = output.read_bytes()
    said = limited(256 * 1024, "heal", file, *(["--in-place"] if in_place else ["-o", output]))
    assert said.status == 2
    assert said.err.endswith(f"Error: {output}: cannot be written: file too large.\n")
    assert output.read_bytes() == before
    assert beside(file) == ([] if in_place else ["out.jsonl"])


@pytest.mark.parametrize("command", [("heal",), ("heal", "--json"), ("check",), ("check", "--json")], ids=" ".join)
def test_a_full_stdout_is_told(tmp_path: Path, command: Sequence[str]) -> None:
    """What cannot be printed is an error, in words, and no traceback."""
    name, *options = command
    arguments = [sys.executable, "-m", "suture.cli", name, str(conversations(tmp_path / "set.jsonl", 50)), *options]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            arguments, stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE, env=environment(), check=False
        )
    assert done.returncode == 2
    assert done.stderr.decode().endswith("Error: stdout cannot be written: no space left on device.\n")


@pytest.mark.parametrize("command", [("heal",), ("heal", "--json"), ("check",)], ids=" ".join)
def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path, command: Sequence[str]) -> None:
    """A closed pipe ends the work, without a word."""
    name, *options = command
    file = conversations(tmp_path / "set.jsonl", 5000, every=2)
    arguments = [sys.executable, "-m", "suture.cli", name, str(file), *options]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    complaint = process.stderr.read().decode()
    process.stderr.close()
    process.wait(PATIENCE)
    assert "Traceback" not in complaint
    assert "Exception" not in complaint


# Many files -----------------------------------------------------------------------------------


def test_many_files_become_one_data_set(tmp_path: Path) -> None:
    """Several files go to stdout, or into a file, with a conversation in each line, whatever shape they had."""
    document = data_set(tmp_path / "a.json", json.dumps({"messages": BROKEN}, indent=2).encode())
    messages = data_set(tmp_path / "b.jsonl", *map(line, BROKEN))
    lines = data_set(tmp_path / "c.jsonl", line(VALID), line([*VALID, CALL]))
    said = suture("heal", document, messages, lines)
    assert (said.status, values(said.out)) == (0, [{"messages": HEALED}, HEALED, VALID, [*VALID, CALL, STAND_IN]])
    output = tmp_path / "out.jsonl"
    assert suture("heal", document, messages, lines, "-o", output).status == 0
    assert output.read_text() == said.out


def test_a_file_that_cannot_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    """Each file is mended; the status is the worst."""
    gone, broken = tmp_path / "gone.json", data_set(tmp_path / "b.json", line(BROKEN))
    said = suture("heal", gone, broken)
    assert (said.status, values(said.out)) == (2, [HEALED])
    assert f"Error: {gone}: cannot be read: no such file or directory.\n" in said.err
    documents = suture("heal", gone, broken, "--json")
    assert (documents.status, [sorted(one) for one in documents.json["files"]]) == (
        2,
        [["error", "file"], ["changes", "file", "format", "hints", "history", "refused"]],
    )


# In place -------------------------------------------------------------------------------------


def test_in_place_keeps_the_old_file_beside_the_new(tmp_path: Path) -> None:
    """The file is written anew in its shape and mode; what it was is FILE.bak, and never replaced."""
    file = data_set(tmp_path / "h.json", json.dumps(BROKEN).encode())
    file.chmod(0o640)
    said = suture("heal", file, "--in-place")
    assert (said.status, said.out, json.loads(file.read_bytes())) == (0, "", HEALED)
    assert said.err.endswith(f"{file}: read as openai-chat, healed with 1 change. The old one is {file}.bak.\n")
    assert file.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "h.json.bak").read_bytes() == json.dumps(BROKEN).encode()
    again = [*HEALED, {**RESULT, "tool_call_id": "gone"}]
    data_set(file, line(again))
    assert suture("heal", file, "--in-place").err.endswith(f"The old one is {file}.bak.2.\n")
    assert beside(file) == ["h.json.bak", "h.json.bak.2"]
    assert (tmp_path / "h.json.bak").read_bytes() == json.dumps(BROKEN).encode()
    assert json.loads((tmp_path / "h.json.bak.2").read_bytes()) == again


@pytest.mark.parametrize("lines", [[VALID], [VALID, VALID]], ids=["history", "data set"])
def test_in_place_leaves_what_is_fine(tmp_path: Path, lines: list[Any]) -> None:
    """A file in which nothing has to change is the very file that it was."""
    file = data_set(tmp_path / "h", *map(line, lines))
    before = file.stat()
    assert suture("heal", file, "--in-place").status == 0
    assert (file.stat().st_ino, file.stat().st_mtime_ns, beside(file)) == (before.st_ino, before.st_mtime_ns, [])


def test_in_place_keeps_the_lines_that_it_cannot_mend(tmp_path: Path) -> None:
    """Nobody's data vanish: a broken line stays where it is, as it is."""
    fault = b'{"messages": [{"role": "us\r\n'
    file = data_set(tmp_path / "set.jsonl", line(BROKEN), fault, line(HOPELESS), line(VALID))
    assert suture("heal", file, "--in-place", "--format", "anthropic").status == 1
    assert suture("heal", file, "--in-place", "--format", "openai-chat").status == 1
    with file.open("rb") as written:
        assert list(written) == [line(HEALED), fault, line(HOPELESS), line(VALID)]


def test_in_place_mends_what_a_link_points_to(tmp_path: Path) -> None:
    """A link stays a link."""
    folder = tmp_path / "there"
    folder.mkdir()
    file = data_set(folder / "h.json", line(BROKEN))
    (tmp_path / "link.json").symlink_to(file)
    assert suture("heal", tmp_path / "link.json", "--in-place").status == 0
    assert ((tmp_path / "link.json").is_symlink(), json.loads(file.read_bytes())) == (True, HEALED)
    assert beside(file) == ["h.json.bak"]


def test_in_place_does_what_it_can_of_many(tmp_path: Path) -> None:
    """A file that cannot be mended stays; the others are mended."""
    hopeless, gone, broken = (
        data_set(tmp_path / "a.json", line(HOPELESS)),
        tmp_path / "gone",
        data_set(tmp_path / "b", line(BROKEN)),
    )
    assert suture("heal", hopeless, gone, broken, "--in-place", "--format", "openai-chat").status in (1, 2)
    assert (json.loads(hopeless.read_bytes()), json.loads(broken.read_bytes())) == (HOPELESS, HEALED)


# Moving ---------------------------------------------------------------------------------------


def test_convert_moves_a_history(tmp_path: Path) -> None:
    """What comes out is a request in the target's format; what was done for that is told."""
    file = data_set(
        tmp_path / "h.json", line({"model": "m", "messages": [{"role": "system", "content": "Be brief."}, *BROKEN]})
    )
    said = suture("convert", file, "--from", "openai-chat", "--target", "anthropic")
    assert said.status == 0
    assert sorted(said.json) == ["messages", "system"]
    assert [block["type"] for message in said.json["messages"] for block in message["content"]] == [
        "text",
        "tool_use",
        "tool_result",
        "text",
    ]
    assert f"{file}: hint: not carried over: model\n" in said.err
    assert re.search(r"h\.json: converted with \d+ changes?; left behind: model\.\n$", said.err)
    document = suture("convert", file, "--format", "openai-chat", "--target", "anthropic", "--json")
    assert (document.status, document.err, document.json["history"]) == (0, "", said.json)
    assert sorted(document.json) == ["changes", "format", "hints", "history", "refused"]


def test_convert_moves_a_data_set(tmp_path: Path) -> None:
    """Each line becomes a request in the target's format; what cannot be read is told."""
    file = data_set(tmp_path / "set.jsonl", line(VALID), b"hello\n", line({"messages": [*VALID, AGAIN]}))
    said = suture("convert", file, "--target", "anthropic", "-o", tmp_path / "out.jsonl")
    assert (said.status, said.out) == (1, "")
    written = values((tmp_path / "out.jsonl").read_text())
    assert [len(request["messages"]) for request in written] == [3, 3]
    assert f"Error: {file}:2: not JSON" in said.err
    assert "2 converted" in said.err


def test_convert_says_that_nothing_was_lost(tmp_path: Path) -> None:
    """A move that loses nothing says so; one that leaves a key of the request behind does not."""
    file = data_set(tmp_path / "r.json", line({"model": "m", "messages": [USER]}))
    said = suture("convert", file, "--from", "openai-chat", "--to", "anthropic")
    assert (said.status, said.err.splitlines()[-1]) == (0, f"{file}: converted; left behind: model.")
    said = suture("convert", data_set(tmp_path / "h.json", line([USER])), "--from", "openai-chat", "--target", "anthropic")
    assert (said.status, said.err) == (0, f"{tmp_path}/h.json: converted, and nothing was lost.\n")


def test_convert_in_place_keeps_the_old_file(tmp_path: Path) -> None:
    """What it was before the move stands beside it."""
    file = data_set(tmp_path / "h.json", line(VALID))
    assert suture("convert", file, "--to", "anthropic", "--in-place").status == 0
    assert [message["role"] for message in json.loads(file.read_bytes())["messages"]] == ["user", "assistant", "user"]
    assert (tmp_path / "h.json.bak").read_bytes() == line(VALID)


# Warnings -------------------------------------------------------------------------------------


def test_a_warning_says_so_and_is_no_failure(tmp_path: Path) -> None:
    """What no provider is known to refuse is a warning, and the status stays 0."""
    file = data_set(tmp_path / "h.json", line([*VALID, {"role": "critic", "content": "No."}]))
    said = suture("check", file, "--format", "openai-chat")
    assert (said.status, said.err) == (0, "")
    assert re.fullmatch(rf"{file}:messages\[3\]: warning: ROLE_UNKNOWN \[OAI-ROLE\]: .+\n", said.out)
    document = suture("check", file, "--format", "openai-chat", "--json")
    (finding,) = document.json["files"][0]["findings"]
    assert (document.status, finding["refused"], finding["severity"]) == (0, False, "DEG")


def test_a_data_set_is_summed_up(tmp_path: Path) -> None:
    """One line says how many would be refused, how many have warnings, and how many could not be read."""
    odd = [*VALID, {"role": "critic", "content": "No."}]
    file = data_set(tmp_path / "set.jsonl", line(BROKEN), line(odd), b"x\n", line(VALID))
    said = suture("check", file, "--format", "openai-chat")
    summary = "4 conversations, 1 would be refused, 1 with warnings alone, 1 could not be read."
    assert (said.status, said.err.splitlines()[-1]) == (1, f"{file}: {summary}")
    assert [each.split(" ")[0] for each in said.out.splitlines()] == [
        f"{file}:1:messages[1].tool_calls[0]:",
        f"{file}:2:messages[3]:",
    ]
