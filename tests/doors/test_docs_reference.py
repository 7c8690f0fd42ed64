"""The page for a bricked conversation runs as it stands; the reference is what the code says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from scripts import rules_page

import suture as library
from suture.formats import FORMATS
from tests.doors.shell import Said, suture
from tests.doors.test_histories import BROKEN, HEALED, VALID

DOCS = Path(__file__).parent.parent.parent / "docs"
BRICKED = (DOCS / "how-to" / "my-conversation-is-bricked.md").read_text(encoding="utf-8")
# Each command, and what the shell hands it on stdin.
SHELL = re.findall(
    r"^(\w[^\n]*?)(?: <<'EOF'\n(.*?)^EOF)?$",
    "".join(re.findall(r"```sh\n(.*?)```", BRICKED, re.DOTALL)),
    re.DOTALL | re.MULTILINE,
)


@pytest.fixture
def said(tmp_path: Path) -> dict[str, Said]:
    """What each command of the page says, run one after the other in a folder that has the files."""
    (tmp_path / "history.json").write_text(json.dumps({"model": "m", "messages": BROKEN}))
    (tmp_path / "conversations.jsonl").write_text("".join(json.dumps(each) + "\n" for each in (BROKEN, VALID)))
    told = {}
    for line, stdin in SHELL:
        program, *arguments = shlex.split(line)
        assert program == "suture"
        told[line.split(" -", 1)[0]] = suture(*arguments, cwd=tmp_path, stdin=stdin.encode())
    assert json.loads((tmp_path / "history.json").read_text())["messages"] == HEALED
    assert json.loads((tmp_path / "history.json.bak").read_text())["messages"] == BROKEN
    assert [json.loads(line) for line in (tmp_path / "healed.jsonl").read_text().splitlines()] == [HEALED, VALID]
    return told


def test_the_commands_of_the_page_do_what_it_says(said: dict[str, Said]) -> None:
    """Explained, healed, checked: each command ends as it should, and the explanation reads as shown."""
    explained = next(one for line, one in said.items() if line.startswith("suture explain"))
    shown = re.findall(r"```\n(OAI-.*?)```", BRICKED, re.DOTALL)[0]
    assert (explained.status, explained.out.startswith(shown)) == (0, True)
    assert [one.status for line, one in said.items() if "heal" in line] == [0, 0]
    assert said["suture check conversations.jsonl"].status == 1


def test_the_functions_of_the_page_heal() -> None:
    """Healing before each request, and healing when it was refused, as the page has it."""
    names: dict[str, object] = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", BRICKED, re.DOTALL)), names)
    sent: list[object] = []

    def strict(messages: object) -> str:
        sent.append(messages)
        if messages != HEALED:
            raise ValueError(library.refusal(library.diagnose(messages, format="openai-chat")[0]))
        return "answer"

    for name in ("ask", "ask_again"):
        ask = names[name]
        assert callable(ask)
        assert ask(strict, BROKEN) == "answer"
    assert sent == [HEALED, BROKEN, HEALED]


def test_every_format_that_the_page_names_has_a_page() -> None:
    """What is read and healed of each format stands in the reference, with a command that names it."""
    for name in FORMATS:
        page = (DOCS / "reference" / "formats" / f"{name}.md").read_text(encoding="utf-8")
        assert page.startswith(f"# {name}\n")
        assert f"--format {name}" in page
        assert f"`{name}`" in BRICKED


def test_the_rules_on_the_page_are_those_of_the_code() -> None:
    """Whoever changes a rule runs `make docs`."""
    assert rules_page.PAGE.read_text(encoding="utf-8") == rules_page.page()


def test_every_rule_is_on_the_page_once() -> None:
    """Each rule has one heading, and its format one section."""
    headings = re.findall(r"^### (.+)$", rules_page.page(), re.MULTILINE)
    assert sorted(headings) == sorted({rule.id for rule in library.rules()})
    assert re.findall(r"^## (.+)$", rules_page.page(), re.MULTILINE) == [*FORMATS, "handoff", "codes"]


def test_words_of_the_page_are_no_markdown() -> None:
    """Signs in a rule's words stand there as they are."""
    assert rules_page._plain("a_b, _ and <x> *y* [z]") == "a_b, \\_ and \\<x\\> \\*y\\* \\[z\\]"
